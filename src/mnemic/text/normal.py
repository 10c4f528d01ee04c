"""The normal form that decides when two texts are the same memory."""

from __future__ import annotations

import unicodedata
from hashlib import blake2b

_KEY_BYTES = 16


def normal_form(text: str) -> str:
    """Return the form in which two texts are compared for being the same.

    NFC, case-folded, NFC again, trimmed, every run of Unicode white space one space. All else is kept:
    punctuation ("C++" is not "C") and compatibility forms ("x²" is not "x2"), which is why this is not NFKC.
    Idempotent. Empty for a text of white space only. Accepts any `str`, lone surrogates included.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    folded = _canonical_fold(text)
    # One pass is enough for nearly every text; a few orderings of combining marks settle only in the second.
    again = _canonical_fold(folded)
    while again != folded:
        folded, again = again, _canonical_fold(again)
    return " ".join(folded.split())


def _canonical_fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def live_key(text: str, event_date: str = "") -> str:
    """Return the 32 hex digits under which a live memory is unique within its owner and kind.

    blake2b (16 bytes) over the normal form, a NUL and `event_date` (ISO day or ''). The same on every machine.
    """
    payload = f"{normal_form(text)}\0{event_date}".encode("utf-8", "surrogatepass")
    return blake2b(payload, digest_size=_KEY_BYTES).hexdigest()
