"""A disk that goes wrong on purpose, for tests: it fails a store where a real one would, in the middle of a write.

with FaultyDisk("notes.db", DiskFault.FULL, after=3) as disk:
    memory.add("never kept", user_id="ann")     # raises StoreFullError at the fourth statement that writes
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, event

from . import gate
from .sqlite import WRITE

_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE)\b", re.IGNORECASE)


class DiskFault(StrEnum):
    """What is wrong with a FaultyDisk."""

    FULL = "full"
    READ_ONLY = "read_only"
    IO_ERROR = "io_error"
    HANG = "hang"


_TOLD = {
    DiskFault.FULL: (sqlite3.SQLITE_FULL, "database or disk is full"),
    DiskFault.READ_ONLY: (sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    DiskFault.IO_ERROR: (sqlite3.SQLITE_IOERR, "disk I/O error"),
}


class FaultyDisk:
    """The disk under the SQLite file at `path`, faulty inside the `with` block, for every Memory of this process.

    after: how many writing steps still succeed; a step is a statement that writes, or the commit of a transaction
    that does. Every later one fails as SQLite reports such a disk, or with `HANG` waits until the block is
    left, and then goes on. Reading always works. `steps` counts the writing steps; `hanging` is set once one waits.
    """

    def __init__(self, path: str | PathLike[str], fault: DiskFault, *, after: int = 0) -> None:
        self.steps = 0
        self.hanging = threading.Event()
        self._path = Path(path).resolve()
        self._fault = fault
        self._after = after
        self._well = threading.Event()
        self._listeners: list[tuple[str, Callable[..., None]]] = [
            ("before_cursor_execute", self._statement),
            ("commit", self._commit),
        ]

    def __enter__(self) -> Self:
        # Listeners must not come or go while another thread's statement is going through them.
        with gate.emptied():
            for name, listener in self._listeners:
                event.listen(Engine, name, listener)
        return self

    def __exit__(self, *_: object) -> None:
        self._well.set()
        with gate.emptied():
            for name, listener in self._listeners:
                event.remove(Engine, name, listener)

    def _statement(self, connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if _WRITES.match(statement):
            self._step(connection)

    def _commit(self, connection: Connection) -> None:
        if connection.get_execution_options().items() >= WRITE.items():
            self._step(connection)

    def _step(self, connection: Connection) -> None:
        if self._well.is_set() or not self._holds(connection):
            return
        self.steps += 1
        if self.steps <= self._after:
            return
        if self._fault is DiskFault.HANG:
            self.hanging.set()
            self._well.wait()
            return
        code, message = _TOLD[self._fault]
        fault = sqlite3.OperationalError(message)
        fault.sqlite_errorcode = code
        raise fault

    def _holds(self, connection: Connection) -> bool:
        raw = connection.connection.driver_connection
        if not isinstance(raw, sqlite3.Connection):
            return False
        files = [file for _, _, file in raw.execute("PRAGMA database_list")]
        return any(file and Path(file).resolve() == self._path for file in files)
