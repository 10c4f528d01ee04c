"""Taking chunks apart: identifiers whole and in parts, numbers, addresses, apostrophes, phone numbers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mnemic.text.language import script_of
from mnemic.text.stems import fold, fold_case


class Unit(NamedTuple):
    """A word of a script ('latin', ...) to be stemmed, or, with script '', an identifier that stands as it is."""

    text: str
    script: str


_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS_DIGITS = re.compile(r"([^\W\d_]{2,})(\d{2,})|(\d+)([^\W\d_]{2,})")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+")
_JOINED = re.compile(r"([^\W\d_]+)[-_.]?(\d+)")
_PARTS = re.compile(r"[-_.'&/@+:,]+")
_CONTRACTION = re.compile(r"(.+)'(s|m|re|ve|ll|d)")
_PHONE = re.compile(r"\+?\(?\d[\d().\- ]{5,}\d")
_DATE_OR_ADDRESS = re.compile(r"\d{4}[-.]\d{1,2}[-.]\d{1,2}\b|\d{1,3}(?:\.\d{1,3}){3}(?![.\d])")

# What French, Italian and Catalan put before a word that starts with a vowel.
_ELISIONS = frozenset(
    (
        *("l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"),
        *("un", "dell", "all", "nell", "sull", "dall", "quest", "quell", "bell", "sant"),
    )
)
_ADDRESS_WORDS = frozenset(("www", "com", "org", "net", "http", "https", "ftp", "html", "htm"))
_SENTENCE_JOIN = re.compile(r"[^\W\d_]{2,}\.[A-Z][a-z]*")
_PHONE_DIGITS = range(7, 16)
_PHONE_KEY_DIGITS = 9
_MOST_PARTS = 12
_MOST_PARTS_OF_LONG = 64
# Longer ones are no words: they would fill the caches (64) or make the analysis slow (256).
_LONGEST_CACHED = 64
_LONGEST_ANALYSED = 256
_CACHED_CHUNKS = 16_384
_CACHED_READINGS = 1024


def chunk_units(chunk: str) -> tuple[Unit, ...]:
    """Return the units of one chunk in order, no duplicates; never empty."""
    if len(chunk) <= _LONGEST_CACHED:
        return _cached_units(chunk)
    if len(chunk) <= _LONGEST_ANALYSED:
        return tuple(dict.fromkeys(_units(chunk)))
    return tuple(dict.fromkeys([_exact(chunk), *_parts(chunk, _MOST_PARTS_OF_LONG)]))


@lru_cache(maxsize=_CACHED_CHUNKS)
def _cached_units(chunk: str) -> tuple[Unit, ...]:
    if chunk.isalpha() and (chunk.islower() or chunk.istitle() or chunk.isupper()):
        return (_word(chunk),)
    return tuple(dict.fromkeys(_units(chunk)))


def _units(chunk: str) -> list[Unit]:
    suffix = chunk[len(chunk.rstrip("+#")) :]
    if suffix:
        return _with_suffix(chunk[: -len(suffix)], suffix)
    if chunk.startswith("."):
        return [_exact(chunk), *_units(chunk[1:])]
    if "@" in chunk:
        return [_exact(chunk), *_parts(chunk)]
    if "/" in chunk and not _NUMBER.fullmatch(chunk):
        return _path(chunk)
    if "'" in chunk:
        return _with_apostrophe(chunk)
    if any(char.isdigit() for char in chunk):
        return _with_digits(chunk)
    if "_" in chunk or "&" in chunk:
        return [_exact(chunk), *_parts(chunk)]
    if "." in chunk:
        return _dotted(chunk)
    if "-" in chunk or "+" in chunk:
        return [_word(re.sub(r"[-+]", "", chunk)), *_parts(chunk)]
    return _plain(chunk)


def _word(text: str) -> Unit:
    folded = fold_case(text)
    if len(folded) > _LONGEST_CACHED:
        return Unit(fold(folded), "")
    return Unit(folded, script_of(folded[0]))


def _exact(text: str) -> Unit:
    return Unit(fold(fold_case(text)), "")


def _with_suffix(base: str, suffix: str) -> list[Unit]:
    """C++, C#, A+ are names of their own; the plus of '18+' says nothing."""
    if base.isalpha() and (len(base) <= 3 or suffix == "++"):
        rest = _units(base) if len(base) > 3 else []
        return [_exact(base + suffix), *rest]
    return _units(base)


def _plain(word: str) -> list[Unit]:
    """A word of letters, and the parts of a camelCase name (three letters each where the first is upper)."""
    if not word.isascii() or word[1:].islower() or word.isupper() or not word.isalpha():
        return [_word(word)]
    parts = _CAMEL.findall(word)
    least = 2 if word[0].islower() else 3
    if len(parts) < 2 or min(map(len, parts)) < least:
        return [_word(word)]
    return [_word(word), *map(_word, parts)]


def _parts(chunk: str, most: int = _MOST_PARTS) -> list[Unit]:
    """The parts of an identifier that are worth finding on their own."""
    units: list[Unit] = []
    for part in _PARTS.split(chunk)[: 2 * most]:
        if part.isdigit():
            if len(part) > 1:
                units.append(_exact(part))
        elif len(part) > 1 and part.lower() not in _ADDRESS_WORDS:
            units += _with_digits(part) if any(char.isdigit() for char in part) else _plain(part)
    return units[:most]


def _with_digits(chunk: str) -> list[Unit]:
    if chunk.isdigit():
        return [_exact(chunk)]
    if _THOUSANDS.fullmatch(chunk):
        return [_exact(chunk.replace(",", ""))]
    pieces = _PARTS.split(chunk)
    if all(piece.isdigit() for piece in pieces) or _VERSION.fullmatch(chunk.lower()):
        # Of a date or a range only the years and the like: '05' would hit everything.
        return [_exact(chunk.replace(",", ".")), *(_exact(piece) for piece in pieces if len(piece) > 2)]
    units = [_exact(chunk)]
    if len(pieces) > 1:
        return [*units, *_parts(chunk)]
    match = _LETTERS_DIGITS.fullmatch(chunk)
    if match:
        letters, digits = match[1] or match[4], match[2] or match[3]
        units.append(_word(letters))
        if len(digits) > 1:
            units.append(_exact(digits))
    return units


def _dotted(chunk: str) -> list[Unit]:
    pieces = chunk.split(".")
    if all(len(piece) == 1 for piece in pieces):
        return [_exact("".join(pieces))]  # U.S., e.g.
    if _SENTENCE_JOIN.fullmatch(chunk):
        return [*_plain(pieces[0]), *_plain(pieces[1])]  # a blank is missing after the full stop
    return [_exact(chunk), *_parts(chunk)]


def _path(chunk: str) -> list[Unit]:
    pieces = [piece for piece in chunk.split("/") if piece]
    units = [] if all(piece.isalpha() for piece in pieces) else [_exact(chunk)]
    for piece in pieces[:_MOST_PARTS]:
        units += _units(piece)
    return units


def _with_apostrophe(chunk: str) -> list[Unit]:
    lower = chunk.lower()
    if lower.endswith("n't"):
        return [_word("not")]
    match = _CONTRACTION.fullmatch(lower)
    if match:
        return _units(chunk[: len(match[1])])  # Ann's, I'm, we'll
    head, tail = chunk.split("'", 1)
    if head.lower() in _ELISIONS and len(tail) > 1:
        return _units(tail)
    if any(char.isdigit() for char in chunk):
        return [_exact(chunk.replace("'", "")), *_parts(chunk)]
    return [_word(chunk.replace("'", "")), *(_word(part) for part in _PARTS.split(chunk) if len(part) > 2)]


def url_units(url: str) -> tuple[Unit, ...]:
    """Return a web address without scheme, 'www.' and closing punctuation, its host, and the words in it."""
    bare = re.sub(r"^\w+://(?:www\.)?", "", url).rstrip(".,;:!?)]}'\"/*")
    if not bare:
        return (_exact(url),)
    host = re.split(r"[/?#]", bare, maxsplit=1)[0]
    words = re.findall(r"[^\W_]+(?:[-_.][^\W_]+)*", bare)
    parts = [unit for word in words[:_MOST_PARTS] for unit in _parts(word)]
    return tuple(dict.fromkeys([_exact(bare), _exact(host), *parts[:_MOST_PARTS]]))


def phone_numbers(prepared: str) -> list[str]:
    """Return the digits of what is written like a phone number: +86 138-0013-8000 -> 8613800138000.

    Numbers without separators are left to `phone_key`.
    """
    found = []
    for match in _PHONE.finditer(prepared):
        written = match[0]
        groups = re.findall(r"\d+", written)
        digits = "".join(groups)
        if len(groups) < 2 or len(digits) not in _PHONE_DIGITS or _DATE_OR_ADDRESS.match(written):
            continue
        marked = written[0] in "+0(" or any(char in written for char in "-.)")
        if written[0] == "+" or (marked and (len(groups) > 2 or len(groups[-1]) == 4)):
            found.append(digits)
    return found


def phone_key(digits: str) -> str | None:
    """Return the term of the last nine digits, which no country or trunk code changes; None for fewer than ten."""
    return (
        f"tel|{digits[-_PHONE_KEY_DIGITS:]}" if _PHONE_KEY_DIGITS < len(digits) < _PHONE_DIGITS.stop else None
    )


def exact_readings(text: str) -> tuple[str, ...]:
    """Return the terms under which an exact unit of a query may stand in an index, likeliest first."""
    return _cached_readings(text) if len(text) <= _LONGEST_CACHED else (text,)


@lru_cache(maxsize=_CACHED_READINGS)
def _cached_readings(text: str) -> tuple[str, ...]:
    readings = [text]
    match = _JOINED.fullmatch(text)
    if match:
        readings += [match[1] + joint + match[2] for joint in ("", "-", "_", ".")]  # err-7731, err7731
    key = phone_key(text) if text.isdigit() else None
    if key:
        readings.append(key)
    if _VERSION.fullmatch(text):
        readings.append(text[1:] if text.startswith("v") else f"v{text}")
    return tuple(dict.fromkeys(readings))
