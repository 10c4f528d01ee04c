"""Terms of one version as one blob: hashes and counts, ready for numpy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from struct import pack as pack_numbers

import numpy as np
from numpy.typing import NDArray

_HASH_BYTES = 8
_BYTES_PER_TERM = _HASH_BYTES + 1
MAX_COUNT = 255


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    """Return the signed 64-bit number that stands for `term`: blake2b of 8 bytes, read little-endian."""
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)


def pack(terms: Mapping[str, int]) -> bytes:
    """Return `terms` (term -> count) as 9 n bytes: n int64 hashes, ascending, then n uint8 counts.

    Little-endian on every machine. Counts above 255 become 255, counts below 1 are left out. Two terms of one
    hash (chance about 3 in 10^8 for a vocabulary of a million) become one entry with the sum of their counts.
    """
    merged: dict[int, int] = {}
    for term, count in terms.items():
        if count > 0:
            key = term_hash(term)
            merged[key] = merged.get(key, 0) + count
    keys = sorted(merged)
    return pack_numbers(f"<{len(keys)}q", *keys) + bytes(min(merged[key], MAX_COUNT) for key in keys)


def unpack(blob: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return (hashes int64 (n,), counts uint8 (n,)) of a blob made by `pack`; the arrays are read-only views.

    Raises ValueError when the length is not a multiple of 9.
    """
    size, rest = divmod(len(blob), _BYTES_PER_TERM)
    if rest:
        raise ValueError(
            f"packed terms of {len(blob)} bytes: the length must be a multiple of {_BYTES_PER_TERM}"
        )
    hashes = np.frombuffer(blob, dtype="<i8", count=size).astype(np.int64, copy=False)
    counts = np.frombuffer(blob, dtype="u1", count=size, offset=size * _HASH_BYTES)
    return hashes, counts
