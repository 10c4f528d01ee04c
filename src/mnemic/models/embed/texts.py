"""Making texts fit for a model, for embedding only: the stored text is never touched."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
_SMALLEST_LIMIT = 8


def size_of(text: str) -> int:
    """The size of a text in UTF-8 bytes: a fair stand-in for tokens over scripts of all kinds."""
    return len(text.encode())


def clean_text(text: str) -> str:
    """The text as valid UTF-8 without U+0000: split surrogate pairs are joined, lone ones become U+FFFD.

    Servers and C libraries refuse or cut what is not: a NUL ends a C string.
    """
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", " ")


def split_text(text: str, limit: int) -> list[str]:
    """The text in order, in pieces of about equal size, none over `limit` UTF-8 bytes.

    Cuts at the white space nearest to an even share, else between two characters. `limit` is at least 8.
    The pieces' non-space characters are exactly those of the text.
    """
    if limit < _SMALLEST_LIMIT:
        raise AssertionError(f"a limit of {limit} bytes cannot hold every character")
    data = text.encode()
    pieces: list[str] = []
    start = 0
    while len(data) - start > limit:
        share = -(-(len(data) - start) // -(-(len(data) - start) // limit))
        end = _cut(data, start, start + share, start + limit)
        pieces.append(data[start:end].decode())
        start = end
    pieces.append(data[start:].decode())
    return [piece for piece in pieces if piece.strip()]


def _cut(data: bytes, start: int, wanted: int, last: int) -> int:
    """The place nearest to `wanted`, at most `last`, that is just after a space; else between characters."""
    nearest_before = max(data.rfind(space, start + (wanted - start) // 2, wanted) for space in (b" ", b"\n"))
    after = [at for space in (b" ", b"\n") if (at := data.find(space, wanted, last)) >= 0]
    candidates = [at + 1 for at in (nearest_before, *after) if at >= 0]
    if candidates:
        return min(candidates, key=lambda at: abs(at - wanted))
    while data[wanted] & 0xC0 == 0x80:
        wanted -= 1
    return wanted


def spread(pieces: list[str], most: int) -> list[str]:
    """At most `most` (2 or more) of the pieces, evenly spread, the first and the last always among them."""
    if len(pieces) <= most:
        return pieces
    return [pieces[round(place * (len(pieces) - 1) / (most - 1))] for place in range(most)]
