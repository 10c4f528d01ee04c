"""Terms of a document and of a query: the two sides of the keyword arm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from mnemic.text import scripts
from mnemic.text.identifiers import (
    Unit,
    chunk_units,
    exact_readings,
    phone_key,
    phone_numbers,
    url_units,
)
from mnemic.text.language import KANA_SHARE, language_of_words
from mnemic.text.scan import Token, prepare, scan, starts_sentence, symbols
from mnemic.text.stems import DEFAULT_LANGUAGE, word_readings, word_terms
from mnemic.text.words import FUNCTION_WORDS

TOKENISER_VERSION: int = 1
"""Goes up whenever this package changes the terms of some text. See `tokeniser_fingerprint`."""

_NO_LETTER = ("", "'")


def index_terms(text: str) -> dict[str, int]:
    """Return the terms of a document with how often each occurs.

    One term per word that is no stop word: the stem in the text's own language, without accents; two where an
    accent changes the stem. Identifiers whole and in parts, unspaced scripts in pairs of characters. A text of
    stop words only is indexed by them, one without letters and digits by its visible characters; so the result
    is empty only for a text of white space and control characters. Pure, the same in every process and thread.
    """
    prepared = prepare(text)
    document = _Reading(prepared)
    for terms in (document.terms(False), document.terms(True), symbols(prepared)):
        counts: dict[str, int] = {}
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        if counts:
            return counts
    return {}


def tokeniser_fingerprint() -> str:
    """Return what the terms of a text depend on, as one short line: this version, the stemmers', the segmenter's.

    Terms packed under another fingerprint may differ from those of today's queries and must be made anew.
    """
    from importlib.metadata import version

    return f"{TOKENISER_VERSION}/PyStemmer {version('PyStemmer')}/rjieba {version('rjieba')}"


def query_terms(text: str) -> tuple[tuple[str, ...], ...]:
    """Return one group per word of a query, in order, without duplicates.

    A group holds the terms under which its word may stand in an index, the likeliest first, whichever language
    a document was taken for: a document that holds any of them has the word. The whole of an identifier and its
    parts are groups of their own, as are the pairs of an unspaced script. Stop words are left out unless nothing
    else remains; empty only for a text of white space and control characters. Pure, like `index_terms`.
    """
    prepared = prepare(text)
    query = _Reading(prepared)
    for groups in (query.groups(False), query.groups(True), zip(symbols(prepared))):
        found = tuple(dict.fromkeys(groups))
        if found:
            return found
    return ()


@cache
def _stop_words(language: str) -> frozenset[str]:
    return frozenset(FUNCTION_WORDS.get(language, "").casefold().split())


class _Reading:
    """One text cut into tokens and units, with the language of each script in it."""

    __slots__ = ("_japanese", "_languages", "_phones", "_shouted", "_stops", "_text", "_tokens", "_units")

    def __init__(self, prepared: str) -> None:
        self._text = prepared
        self._shouted = prepared.isupper()
        self._tokens = scan(prepared)
        self._units = [_units_of(token) for token in self._tokens]
        self._languages = _languages(self._units)
        self._stops = {
            script: _stop_words(language) for script, language in self._languages.items() if language
        }
        self._japanese = not prepared.isascii() and _is_japanese(self._tokens)
        self._phones = phone_numbers(prepared)

    def terms(self, keep_stops: bool) -> Iterator[str]:
        for token, units in zip(self._tokens, self._units, strict=True):
            if units is None:
                yield from self._run_terms(token, keep_stops)
                continue
            for unit in units:
                if not unit.script:
                    yield from _exact_terms(unit.text)
                elif keep_stops or not self._is_stop(unit, token):
                    yield from word_terms(unit.text, self._languages[unit.script])
        for digits in self._phones:
            yield from _exact_terms(digits)

    def groups(self, keep_stops: bool) -> Iterator[tuple[str, ...]]:
        for digits in self._phones:
            yield exact_readings(digits)
        for token, units in zip(self._tokens, self._units, strict=True):
            if units is None:
                yield from self._run_groups(token, keep_stops)
                continue
            for unit in units:
                if not unit.script:
                    yield exact_readings(unit.text)
                elif keep_stops or not self._is_stop(unit, token):
                    yield word_readings(unit.text)

    def _is_stop(self, unit: Unit, token: Token) -> bool:
        if unit.text not in self._stops.get(unit.script, ()):
            return False
        # A capital inside an English sentence makes a name of it: The Who, IT, US. "I'm" is none.
        written = token.text
        named = (
            written[0].isupper() and written[1:2] not in _NO_LETTER and self._languages[unit.script] == "en"
        )
        return not named or self._shouted or starts_sentence(self._text, token.start)

    def _run_terms(self, token: Token, keep_stops: bool) -> Iterable[str]:
        run = token.text
        if token.kind == "han" and not self._japanese:
            return scripts.chinese_terms(run, keep_stops)
        if token.kind == "hangul":
            return scripts.korean_terms(run, keep_stops)
        return _plain_run(token.kind, run, keep_stops)

    def _run_groups(self, token: Token, keep_stops: bool) -> Iterable[tuple[str, ...]]:
        run = token.text
        if token.kind == "han" and not self._japanese:
            return scripts.chinese_groups(run, keep_stops)
        if token.kind == "hangul":
            return scripts.korean_groups(run, keep_stops)
        return ((term,) for term in _plain_run(token.kind, run, keep_stops))


def _exact_terms(text: str) -> tuple[str, ...]:
    key = phone_key(text) if text.isdigit() else None
    return (text, key) if key else (text,)


def _plain_run(kind: str, run: str, keep_stops: bool) -> list[str]:
    if kind == "han":
        return scripts.kanji_terms(run)
    if kind == "hiragana":
        return scripts.hiragana_terms(run, keep_stops)
    if kind == "katakana":
        return scripts.katakana_terms(run)
    if kind == "tibetan":
        return scripts.tibetan_terms(run)
    return scripts.unspaced_terms(run)


def _units_of(token: Token) -> tuple[Unit, ...] | None:
    if token.kind == "chunk":
        return chunk_units(token.text)
    return url_units(token.text) if token.kind == "url" else None


def _languages(units: Iterable[tuple[Unit, ...] | None]) -> dict[str, str | None]:
    """Return the language of each script's words: the guess, or the script's default."""
    words: dict[str, list[str]] = {}
    for group in units:
        for text, script in group or ():
            if script:
                words.setdefault(script, []).append(text)
    return {
        script: language_of_words(found, script) or DEFAULT_LANGUAGE.get(script)
        for script, found in words.items()
    }


def _is_japanese(tokens: Iterable[Token]) -> bool:
    kana = han = 0
    for token in tokens:
        if token.kind in ("hiragana", "katakana"):
            kana += len(token.text)
        elif token.kind == "han":
            han += len(token.text)
    return kana >= KANA_SHARE * (kana + han) > 0
