"""From a text to what the store keeps of it for word search."""

from __future__ import annotations

from .pack import pack
from .tokens import index_terms


def packed_terms(text: str) -> bytes:
    """The packed terms of a text."""
    return pack(index_terms(text))
