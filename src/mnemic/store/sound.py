"""Telling damage in the store from everything else: only where stored values are decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..clock import FIRST_INSTANT, LAST_INSTANT, Instant
from ..errors import MnemicError, StoreFormatError


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Where values of the store are decoded: one that cannot be is damage, told as `StoreFormatError`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError) as fault:
        if isinstance(fault, MnemicError):
            raise
        raise StoreFormatError(f"The store holds a damaged value in {what}: {fault}") from fault


def instant(value: Instant) -> Instant:
    """The instant, if it is one that mnemic could have written; `ValueError` otherwise."""
    if not FIRST_INSTANT <= value <= LAST_INSTANT + 1:
        raise ValueError(f"{value} is no instant")
    return value


def optional_instant(value: Instant | None) -> Instant | None:
    """The instant, or None."""
    return None if value is None else instant(value)


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a text; `ValueError` for anything else."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("metadata that is no object")
    return found
