"""Which language a text is in, from its script, its function words and its letters. No model, no download."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import islice

from mnemic.text.scan import prepare, scan
from mnemic.text.words import COMMON_WORDS, FUNCTION_WORDS

# Languages that share a script and are told apart by words. Any other script has one language, or none we know.
_SHARED: dict[str, str] = {
    "latin": "en de fr es it pt nl sv da no fi hu pl cs sk ro tr ca id et lt lv ga eu eo st hr sl is tl vi sw af",
    "cyrillic": "ru uk be bg mk sr",
    "arabic": "ar fa ur",
    "devanagari": "hi ne mr",
    "hebrew": "he yi",
}

# Letters that few languages of their script use. Names carry them into other languages, so they weigh less.
_LETTERS: dict[str, str] = {
    "de": "ßäöü", "fr": "çœêèù", "es": "ñ", "it": "èùò", "pt": "ãõçê", "sv": "åäö", "da": "åøæ", "no": "åøæ",
    "fi": "äö", "hu": "öüőű", "pl": "łąęśźżńć", "cs": "řěůčšžť", "sk": "äčšžľť", "ro": "ășțţ", "tr": "öüçşğı",
    "ca": "çèò", "et": "äöüõšž", "lt": "ąęėųįčšžū", "lv": "āēīūņļķčšž", "eu": "ñ", "eo": "ĉĝŝŭ", "hr": "ćčšžđ",
    "sl": "čšž", "is": "öæðþ", "vi": "ãõêèùòăđơưạếộảớị",
    "ru": "ыэёщ", "uk": "щіїєґ", "be": "ыэёіў", "bg": "щъѝ", "mk": "ѝљњјѓќѕ", "sr": "љњјћђ",
    "ar": "ةيكأإى", "fa": "پچگیک", "ur": "پچگیکٹڈڑےںہ", "mr": "ळ", "yi": "װױײ",
}  # fmt: skip

# First word of a letter's Unicode name -> script.
_NAMES: dict[str, str] = {
    "CJK": "han", "IDEOGRAPHIC": "han", "HIRAGANA": "kana", "KATAKANA": "kana", "KATAKANA-HIRAGANA": "kana",
}  # fmt: skip

_ONE_LANGUAGE: dict[str, str] = {
    "greek": "el", "armenian": "hy", "tamil": "ta", "bengali": "bn", "telugu": "te", "gujarati": "gu",
    "kannada": "kn", "malayalam": "ml", "gurmukhi": "pa", "georgian": "ka", "ethiopic": "am", "sinhala": "si",
    "oriya": "or", "thai": "th", "lao": "lo", "khmer": "km", "myanmar": "my", "tibetan": "bo", "hangul": "ko",
    "han": "zh", "kana": "ja",
}  # fmt: skip

# The blocks in which nearly all text is written: comparing is cheaper than asking for a Unicode name.
_BLOCKS: tuple[tuple[int, int, str], ...] = (
    (0xC0, 0x24F, "latin"), (0x370, 0x3FF, "greek"), (0x400, 0x52F, "cyrillic"), (0x590, 0x5FF, "hebrew"),
    (0x600, 0x6FF, "arabic"), (0x900, 0x97F, "devanagari"), (0x1E00, 0x1EFF, "latin"), (0x3400, 0x9FFF, "han"),
    (0xAC00, 0xD7A3, "hangul"), (0xFB50, 0xFEFC, "arabic"),
)  # fmt: skip

# Languages that few texts are in need two words, or chance hits of short words would carry them.
_SELDOM = frozenset(("ga", "eu", "eo", "st", "sl", "is", "tl", "sw", "af", "lv", "et", "ca"))

_SAMPLE_WORDS = 256
_SAMPLE_LETTERS = 2000
_LETTER_WEIGHT = 0.4
_LEAST = 0.3
_LEAD = 1.1
_CACHED_LETTERS = 4096
# Japanese text mixes kana with Han; Chinese text quotes a kana word at most.
KANA_SHARE = 0.15

_Evidence = dict[str, tuple[tuple[str, float], ...]]


@lru_cache(maxsize=_CACHED_LETTERS)
def script_of(char: str) -> str:
    """Return the script of a letter or sign as one lower-case word ('latin', 'han', 'kana', 'tamil', ...)."""
    point = ord(char)
    if point < 0x80:
        return "latin"
    for low, high, script in _BLOCKS:
        if low <= point <= high:
            return script
    name = unicodedata.name(char, "other").split(" ", 1)[0]
    return _NAMES.get(name, name.lower())


@cache
def _evidence() -> _Evidence:
    """Word -> (language, weight): a word shared by k languages counts 1/k for each of them."""
    owners: dict[str, list[str]] = {}
    for language in " ".join(_SHARED.values()).split():
        words = f"{FUNCTION_WORDS[language]} {COMMON_WORDS.get(language, '')}"
        for word in dict.fromkeys(words.casefold().split()):
            owners.setdefault(word, []).append(language)
    return {word: tuple((language, 1 / len(known)) for language in known) for word, known in owners.items()}


@cache
def _letter_evidence() -> _Evidence:
    owners: dict[str, list[str]] = {}
    for language, letters in _LETTERS.items():
        for letter in letters:
            owners.setdefault(letter, []).append(language)
    return {
        letter: tuple((language, _LETTER_WEIGHT / len(known)) for language in known)
        for letter, known in owners.items()
    }


@cache
def _languages_of(script: str) -> frozenset[str]:
    return frozenset(_SHARED.get(script, "").split())


def language_of_words(words: Iterable[str], script: str) -> str | None:
    """Return the language of case-folded words of a script, or None when evidence is thin, split or not known.

    Looks at the first 256 words. One function word that no other language uses is enough.
    """
    candidates = _languages_of(script)
    if not candidates:
        return None
    evidence = _evidence()
    scores: dict[str, float] = {}
    seen: dict[str, int] = {}
    letters: set[str] = set()
    for word in islice(words, _SAMPLE_WORDS):
        for language, weight in evidence.get(word, ()):
            scores[language] = scores.get(language, 0.0) + weight
            seen[language] = seen.get(language, 0) + 1
        if not word.isascii():
            letters.update(word)
    hints = _letter_evidence() if letters else {}
    for letter in sorted(letters):
        for language, weight in hints.get(letter, ()):
            scores[language] = scores.get(language, 0.0) + weight
            seen[language] = seen.get(language, 0) + 1
    ranked = sorted(
        (-score, language)
        for language, score in scores.items()
        if language in candidates and (seen[language] > 1 or language not in _SELDOM)
    )
    if not ranked or -ranked[0][0] < _LEAST:
        return None
    if len(ranked) > 1 and ranked[0][0] > _LEAD * ranked[1][0]:
        return None
    return ranked[0][1]


def guess_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the language that most of `text` is in, or None when unsure.

    Decided by the commonest script of its first 2,000 characters and then, where languages share the script, by
    function words and letters. A name or a single word is seldom enough: expect None for it.
    """
    sample = prepare(text[:_SAMPLE_LETTERS])
    counts: dict[str, int] = {}
    for char in sample:
        if char.isalpha():
            script = script_of(char)
            counts[script] = counts.get(script, 0) + 1
    if not counts:
        return None
    if counts.get("kana", 0) >= KANA_SHARE * (counts.get("han", 0) + counts.get("kana", 0)) > 0:
        counts["kana"] += counts.pop("han", 0)
    script = max(sorted(counts), key=lambda name: counts[name])
    if script in _SHARED:
        words = (token.text for token in scan(sample) if token.kind == "chunk")
        return language_of_words((word.casefold() for word in words if script_of(word[0]) == script), script)
    return _ONE_LANGUAGE.get(script)
