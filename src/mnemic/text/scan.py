"""Cutting a text into tokens: runs of unspaced scripts, and chunks of everything that puts spaces between words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

# Character classes, written for use inside [...].
HAN = "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
HIRAGANA = "\u3041-\u3096\u309d-\u309f"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
HANGUL = "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"
TIBETAN = "\u0f00\u0f18\u0f19\u0f20-\u0f39\u0f3e-\u0f84\u0f86-\u0fbc"
# Thai, Lao, Burmese, Khmer: letters and signs, without their punctuation.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd"
)
# Combining marks that sit inside words of spaced scripts: `\w` leaves them out and would cut Hindi words apart.
MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u07fd"
    "\u0816-\u082d\u0859-\u085b\u0897-\u089f\u08ca-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983"
    "\u09bc-\u09d7\u09e2\u09e3\u09fe\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc-\u0acd"
    "\u0ae2\u0ae3\u0afa-\u0aff\u0b01-\u0b03\u0b3c-\u0b57\u0b62\u0b63\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3c-\u0c56"
    "\u0c62\u0c63\u0c81-\u0c83\u0cbc-\u0cd6\u0ce2\u0ce3\u0cf3\u0d00-\u0d03\u0d3b-\u0d57\u0d62\u0d63\u0d81-\u0d83"
    "\u0dca-\u0ddf\u0df2\u0df3\u135d-\u135f\u1885\u1886\u18a9\u1dc0-\u1dff"
)

_WORD = rf"(?:[^\W_{HAN}{HIRAGANA}{KATAKANA}{HANGUL}{TIBETAN}{UNSPACED}]|[{MARKS}])+"
_URL = r"(?:https?|ftp)://[^\s<>\"]+"
# One connector between two words makes one chunk; ':' and ',' connect digits only.
_CHUNK = (
    r"(?:(?<![\w.])\.(?=[^\W\d_]))?{word}(?:(?:_+|[-.'&/@+]|(?<=\d)[:,](?=\d)){word})*(?:\+\+?|\#(?!\w))?"
)

_INVISIBLE = (
    "\u00ad\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
_UNIFIED = {
    "\u2018": "'", "\u2019": "'", "\u201b": "'", "\u02bc": "'", "\u00b4": "'", "\u055a": "'", "\u05f3": "'",
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2212": "-", "\u05be": "-", "\u2044": "/",
}  # fmt: skip

_SENTENCE_ENDS = frozenset(".!?…:;。！？：；*•–—\n\r\u2028\u2029")
_OPENERS = frozenset(" \t\u00a0\u3000\"'“”„«»‘’([{<¿¡-")


class Token(NamedTuple):
    """One cut of a text: `kind` is 'chunk', 'url', 'han', 'hiragana', 'katakana', 'hangul', 'tibetan' or 'unspaced'."""

    kind: str
    text: str
    start: int


def prepare(text: str) -> str:
    """Return the form that is cut: NFKC, invisible joiners out, apostrophes and hyphens unified, digits ASCII."""
    if text.isascii():
        return text
    table, other_digits = _clean_up()
    normal = unicodedata.normalize("NFKC", text).translate(table)
    return other_digits.sub(lambda match: str(unicodedata.decimal(match[0])), normal)


@cache
def _clean_up() -> tuple[dict[int, str | None], re.Pattern[str]]:
    table: dict[int, str | None] = {ord(char): None for char in _INVISIBLE}
    table.update(dict.fromkeys(range(0xFE00, 0xFE10)))
    table.update({ord(char): plain for char, plain in _UNIFIED.items()})
    return table, re.compile(r"(?![0-9])\d")


@cache
def _ascii_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?P<url>{_URL})|(?P<chunk>{_CHUNK.format(word='[A-Za-z0-9]+')})", re.ASCII)


@cache
def _unicode_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<url>{_URL})|(?P<han>[{HAN}]+)|(?P<hiragana>[{HIRAGANA}][{HIRAGANA}ー]*)|(?P<katakana>[{KATAKANA}]+)"
        rf"|(?P<hangul>[{HANGUL}]+)|(?P<tibetan>[{TIBETAN}]+(?:[་༌]+[{TIBETAN}]+)*)|(?P<unspaced>[{UNSPACED}]+)"
        rf"|(?P<chunk>{_CHUNK.format(word=_WORD)})"
    )


def scan(prepared: str) -> list[Token]:
    """Return the tokens of a prepared text in order; what is neither letter, digit nor mark is left out."""
    pattern = _ascii_pattern() if prepared.isascii() else _unicode_pattern()
    return [
        Token(match.lastgroup or "chunk", match[0], match.start()) for match in pattern.finditer(prepared)
    ]


def starts_sentence(prepared: str, start: int) -> bool:
    """Return whether the token at `start` opens a sentence, so that its capital says nothing about it."""
    index = start - 1
    while index >= 0 and prepared[index] in _OPENERS:
        index -= 1
    return index < 0 or prepared[index] in _SENTENCE_ENDS


def symbols(prepared: str) -> Iterator[str]:
    """Yield every visible character of a prepared text: what stands for a text without letters and digits."""
    for char in prepared:
        if unicodedata.category(char) not in _UNSEEN:
            yield char


_UNSEEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))
