"""Ids that users see: UUIDs of version 7 (RFC 9562), so that those made together lie together in an index."""

from __future__ import annotations

from os import urandom
from uuid import UUID

from .clock import Instant


def new_id(at: Instant) -> str:
    """A UUID whose first 48 bits are the milliseconds of `at`, the rest random."""
    milliseconds = max(at // 1000, 0) & (2**48 - 1)
    random = int.from_bytes(urandom(10), "big")
    high = milliseconds << 80 | 0x7 << 76 | (random >> 68 & 0xFFF) << 64
    return str(UUID(int=high | 0b10 << 62 | random & (2**62 - 1)))
