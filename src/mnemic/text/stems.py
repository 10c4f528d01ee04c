"""From a word to the terms under which it is indexed, and to all terms under which it may stand in an index.

A document pays for one term per word: the stem in its own language. A stem of another language than the script's
default carries that language's code ("de|wohn"), so that the many readings a query has to offer - it does not know
which language a document was taken for - meet only documents of that language: without the code, between 13% and
27% of the commonest words of fourteen languages run into the stem of an unrelated word.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache
from typing import Protocol

from mnemic.text.language import script_of

# ISO 639-1 code -> (code on the term, Snowball algorithm). Slovak, Malay and Croatian borrow a close relative's.
_ALGORITHMS: dict[str, tuple[str, str]] = {
    "en": ("en", "english"), "de": ("de", "german"), "fr": ("fr", "french"), "es": ("es", "spanish"),
    "it": ("it", "italian"), "pt": ("pt", "portuguese"), "nl": ("nl", "dutch"), "sv": ("sv", "swedish"),
    "da": ("da", "danish"), "no": ("no", "norwegian"), "fi": ("fi", "finnish"), "hu": ("hu", "hungarian"),
    "pl": ("pl", "polish"), "cs": ("cs", "czech"), "sk": ("cs", "czech"), "ro": ("ro", "romanian"),
    "tr": ("tr", "turkish"), "ca": ("ca", "catalan"), "id": ("id", "indonesian"), "et": ("et", "estonian"),
    "lt": ("lt", "lithuanian"), "ga": ("ga", "irish"), "eu": ("eu", "basque"), "eo": ("eo", "esperanto"),
    "st": ("st", "sesotho"), "hr": ("sr", "serbian"), "sr": ("sr", "serbian"), "ru": ("ru", "russian"),
    "el": ("el", "greek"), "hy": ("hy", "armenian"), "ar": ("ar", "arabic"), "fa": ("fa", "persian"),
    "hi": ("hi", "hindi"), "ne": ("ne", "nepali"), "ta": ("ta", "tamil"), "yi": ("yi", "yiddish"),
}  # fmt: skip

# The language a script's words are read in when nothing speaks for another; its terms carry no code.
DEFAULT_LANGUAGE: dict[str, str] = {
    "latin": "en", "cyrillic": "ru", "greek": "el", "armenian": "hy", "arabic": "ar", "devanagari": "hi",
    "tamil": "ta", "hebrew": "he",
}  # fmt: skip

_OTHER_READINGS: dict[str, str] = {
    "latin": "de fr es it pt nl sv da no fi hu pl cs ro tr ca id et lt ga eu eo st sr",
    "cyrillic": "sr",
    "arabic": "fa",
    "devanagari": "ne",
    "hebrew": "yi",
}
# Scripts in which some languages have no stemmer: their words stand in the index as they are, under this code.
_UNSTEMMED = "-"
_HAS_UNSTEMMED = frozenset(("latin", "cyrillic", "arabic", "devanagari"))

_LOOSE_MARKS = re.compile(
    "(?<=[A-Za-z\u00aa-\u024f\u0370-\u03ff\u1e00-\u1fff\u0300-\u036f])[\u0300-\u036f]+"
    "|(?<=[\u0435\u0415])\u0308|(?<=[\u0400-\u052f])[\u0300\u0301]+"
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]+|[\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+|\u093c"
)
_LETTERS = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
        "ŋ": "n", "ß": "ss", "ς": "σ", "ک": "ك", "ی": "ي", "ى": "ي", "ہ": "ه", "ھ": "ه", "ة": "ه", "ۀ": "ه", "ٱ": "ا",
    }
)  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_SPELLED_UMLAUT = re.compile(r"(?<![gq])([aou])e(?=\w)")
_HEBREW_PREFIXES = "והבלמשכ"
_CACHED_WORDS = 16384
_CACHED_READINGS = 1024


class _Stemmer(Protocol):
    maxCacheSize: int

    def stemWord(self, word: str) -> str: ...


class _PerThread(threading.local):
    """Snowball objects hold their working buffer, so no two threads may share one."""

    def __init__(self) -> None:
        self.stemmers: dict[str, _Stemmer] = {}


_per_thread = _PerThread()


@cache
def _available() -> frozenset[str]:
    import Stemmer

    return frozenset(Stemmer.algorithms())


def _stem(word: str, algorithm: str) -> str:
    stemmer = _per_thread.stemmers.get(algorithm)
    if stemmer is None:
        import Stemmer

        # Results are kept per word by the callers here; a second cache inside would only cost memory.
        stemmer = Stemmer.Stemmer(algorithm, 0)
        _per_thread.stemmers[algorithm] = stemmer
    return str(stemmer.stemWord(word)) or word


def fold(word: str) -> str:
    """Return a case-folded word without accents and points, with letters that are typed either way as one.

    Latin and Greek accents, Cyrillic ё and stress, Hebrew and Arabic points, forms of alef, kaf, yeh and heh,
    the Devanagari nukta. Signs that make another letter or vowel (й, ї, Indic vowels) stay.
    """
    if word.isascii():
        return word
    bare = _LOOSE_MARKS.sub("", unicodedata.normalize("NFD", word)).translate(_LETTERS)
    return unicodedata.normalize("NFC", bare) or word


def fold_case(text: str) -> str:
    """Return the case-folded form of a prepared token, NFKC again where folding left that form."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.casefold())


def _stems(word: str, algorithm: str) -> tuple[str, ...]:
    """The stem of the word and, where a Latin accent changes it, that of the word typed without accents.

    The stemmers of other scripts leave accents and points out by themselves.
    """
    stem = fold(_stem(word, algorithm))
    if word.isascii() or script_of(word[0]) != "latin":
        return (stem,)
    bare = fold(word)
    plain = fold(_stem(bare, algorithm))
    return (stem,) if plain == stem else (stem, plain)


@lru_cache(maxsize=_CACHED_WORDS)
def word_terms(word: str, language: str | None) -> tuple[str, ...]:
    """Return the terms (nearly always one) under which a document of `language` indexes a case-folded word.

    `language` is an ISO 639-1 code, or None for the default of the word's script.
    """
    script = script_of(word[0])
    default = DEFAULT_LANGUAGE.get(script, "")
    code, algorithm = _ALGORITHMS.get(language or default, ("", ""))
    if algorithm not in _available():
        bare = fold(word)
        return (f"{_UNSTEMMED}|{bare}" if script in _HAS_UNSTEMMED else bare,)
    stems = _stems(word, algorithm)
    return stems if code == default else tuple([f"{code}|{stem}" for stem in stems])


@lru_cache(maxsize=_CACHED_READINGS)
def word_readings(word: str) -> tuple[str, ...]:
    """Return all terms under which a case-folded word may stand in an index, likeliest first, no duplicates."""
    script = script_of(word[0])
    terms = list(word_terms(word, None))
    if script == "latin":
        terms += _umlaut_readings(word)
    elif script == "hebrew":
        terms += _hebrew_readings(word)
    elif script == "arabic":
        terms += _arabic_readings(word)
    for code, algorithm in _other_readings(script):
        terms += [f"{code}|{stem}" for stem in _stems(word, algorithm)]
    if script in _HAS_UNSTEMMED:
        terms.append(f"{_UNSTEMMED}|{fold(word)}")
    return tuple(dict.fromkeys(terms))


@cache
def _other_readings(script: str) -> tuple[tuple[str, str], ...]:
    readings = (_ALGORITHMS[language] for language in _OTHER_READINGS.get(script, "").split())
    return tuple(reading for reading in readings if reading[1] in _available())


def _umlaut_readings(word: str) -> list[str]:
    """'jürgen' may have been written 'juergen', and the reverse."""
    if word.isascii():
        other = _SPELLED_UMLAUT.sub(r"\1", word) if len(word) > 4 else word
    else:
        other = fold(word.translate(_UMLAUTS))
    return [] if other in (word, fold(word)) else list(word_terms(other, None))


def _hebrew_readings(word: str) -> list[str]:
    """The word without a one-letter prefix (and, the, in, to, from, that, as), and with each of them."""
    bare = fold(word)
    bases = [bare]
    if len(bare) > 3 and bare[0] in _HEBREW_PREFIXES:
        bases.append(bare[1:])
    return [*bases, *(prefix + base for base in bases for prefix in _HEBREW_PREFIXES)]


def _arabic_readings(word: str) -> list[str]:
    """The word typed without points and hamza, with the other final h, with and without 'and' before it."""
    bare = fold(word)
    readings = [*word_terms(bare, None), *word_terms("\u0648" + bare, None)]
    if bare[-1] == "\u0647":
        readings += word_terms(bare[:-1] + "\u0629", None)
    if len(bare) > 3 and bare[0] == "\u0648":
        readings += word_terms(bare[1:], None)
    return readings
