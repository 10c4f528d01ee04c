"""The points of an embedded Qdrant: each is a Python pickle in SQLite, and may have been written by anyone.

A pickle can name any function to be called. Here it may name only what qdrant-client is known to write: inert
stand-ins take the place of its classes, and a few built-in types that do nothing but hold a value are let
through. Everything else is refused before it is looked up.
"""

from __future__ import annotations

import datetime
import decimal
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple
from uuid import UUID

from ...errors import ValidationError
from .sqlite import reading

_MODELS = ("qdrant_client.http.models.models", "qdrant_client.http.models", "qdrant_client.models")
_NUMPY = (
    "numpy",
    "numpy.core.multiarray",
    "numpy._core.multiarray",
    "numpy.core.numeric",
    "numpy._core.numeric",
)
# Their objects are never used, only passed over: a vector, or the shell around a payload.
_STOOD_IN_FOR = {
    *((module, name) for module in _MODELS for name in ("PointStruct", "SparseVector")),
    *(
        (module, name)
        for module in _NUMPY
        for name in ("ndarray", "dtype", "_reconstruct", "_frombuffer", "scalar")
    ),
    ("uuid", "UUID"),
    ("uuid", "SafeUUID"),
}
# These are written in C and cannot be altered through a pickle's "set this attribute".
_HARMLESS: dict[tuple[str, str], Any] = {
    **{
        ("datetime", name): getattr(datetime, name)
        for name in ("datetime", "date", "time", "timedelta", "timezone")
    },
    ("decimal", "Decimal"): decimal.Decimal,
    ("collections", "OrderedDict"): dict,
}
_PAGE = 500
# What a pickle that is cut short or makes no sense can raise while it is read.
_BROKEN = (
    pickle.UnpicklingError,
    EOFError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)


class Point(NamedTuple):
    """A point's id and payload, as they were written."""

    id: str
    payload: dict[str, Any]


class _StandIn:
    """Takes whatever a pickle gives an object and does nothing with it."""

    def __new__(cls, *_args: Any, **_more: Any) -> _StandIn:
        return object.__new__(cls)

    def __init__(self, *_args: Any, **_more: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Refused(ValidationError):
    """A pickle that names what no point of Qdrant's has."""


class _PointReader(pickle.Unpickler):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self._made: dict[tuple[str, str], type] = {}

    def find_class(self, module: str, name: str, /) -> Any:
        key = (module, name)
        if key in _HARMLESS:
            return _HARMLESS[key]
        if key not in _STOOD_IN_FOR:
            raise _Refused(f"it names {module[:80]}.{name[:80]}")
        # A class for this pickle alone: what it may set on the class is gone with it.
        return self._made.setdefault(key, type(name, (_StandIn,), {}))

    def persistent_load(self, _pid: Any, /) -> Any:
        raise _Refused("it refers to something outside of itself")


def read_point(data: bytes) -> Point:
    """The point in a pickle. Raises `ValidationError` for anything else, and never runs what it says."""
    try:
        found = _PointReader(data).load()
        state = found.state["__dict__"] if isinstance(found, _StandIn) else None
        if not isinstance(state, dict) or not isinstance(state["payload"], dict | None):
            raise _Refused("it is no point")
        return Point(str(_value(state["id"])), _value(state["payload"] or {}))
    except _BROKEN as fault:
        # _Refused is a ValueError, so it arrives here too.
        why = fault.message if isinstance(fault, _Refused) else f"{type(fault).__name__} while reading it"
        raise ValidationError(f"A point cannot be read: {why}.") from None


def _value(value: Any) -> Any:
    """What mem0 gives out for a value: that of JSON. What JSON cannot hold stays, to be told by name."""
    if isinstance(value, dict):
        return {key: _value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(inner) for inner in value]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, _StandIn) and type(value).__name__ == "UUID":
        return str(UUID(int=value.state["int"]))
    return value


def read_points(path: Path) -> Iterator[Point]:
    """The points of a collection's storage.sqlite, oldest write first.

    An id may come twice, as some versions of qdrant-client wrote it; the last one counts. Raises
    `ValidationError` for a file that is no such storage or holds anything but points.
    """
    with reading(path) as db:
        for data in _pages(db):
            try:
                yield read_point(data)
            except ValidationError as fault:
                raise ValidationError(
                    f"{path} was refused. {fault.message}",
                    suggestion="Only what qdrant-client writes is read; nothing of the file was run.",
                ) from fault


def _pages(db: Connection) -> Iterator[bytes]:
    # In pages, so that a mem0 that is running can write in between.
    last = -1
    while True:
        rows = db.execute(
            "SELECT rowid, point FROM points WHERE rowid > ? ORDER BY rowid LIMIT ?", (last, _PAGE)
        ).fetchall()
        if not rows:
            return
        for last, data in rows:  # noqa: B007
            yield bytes(data) if isinstance(data, bytes) else b""
