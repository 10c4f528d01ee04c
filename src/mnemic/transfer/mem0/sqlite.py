"""mem0's SQLite files, opened so that nothing of them is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ...errors import StoreBusyError, StoreFormatError

_HEADER = b"SQLite format 3\0"
_WAIT_S = 5.0


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as a SQLite database does."""
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read.

    A file that another process holds locked is read as it stands if no half-written change lies beside it.
    Raises `StoreBusyError` otherwise, `StoreFormatError` for a file that is damaged or no database.
    """
    try:
        with closing(_open(path)) as db:
            yield db
    except sqlite3.DatabaseError as fault:
        if isinstance(fault, sqlite3.OperationalError) and "locked" in str(fault):
            raise StoreBusyError(f"{path} is locked by another program.") from fault
        raise StoreFormatError(f"{path} cannot be read as a SQLite database: {fault}.") from fault


def _open(path: Path) -> sqlite3.Connection:
    settled = not any(_has_bytes(path.with_name(path.name + end)) for end in ("-wal", "-journal"))
    # Reading a database in WAL mode would make files beside it.
    if settled and _in_wal_mode(path):
        return _connect(path, "immutable=1")
    db = _connect(path, "mode=ro")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        if not settled:
            raise
        return _connect(path, "immutable=1")
    return db


def _connect(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=_WAIT_S, isolation_level=None)
    # One damaged text must not end the reading.
    db.text_factory = lambda data: data.decode(errors="replace")
    return db


def _has_bytes(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _in_wal_mode(path: Path) -> bool:
    with path.open("rb") as file:
        header = file.read(20)
    return header[18:20] == b"\2\2"


def columns(db: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns; none where there is no such table."""
    return {row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))}
