"""What is special about SQLite: how a connection is set up, how writers begin, what its faults mean."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from .. import runtime
from ..errors import (
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreReadOnlyError,
)
from . import gate
from .schema import MARKS
from .sound import decoding

POOL_SIZE = 8
BUSY_SECONDS = 30.0
# Writes closer together than a gap are a row; after so long a row, other processes get a pause to begin in.
GAP_SECONDS = 0.0005
ROW_SECONDS = 0.05
PAUSE_SECONDS = 0.006
# How long a purge waits for readers of an older state.
ERASE_SECONDS = 10.0
# Pages of log before SQLite itself checkpoints inside a commit; `checkpoint` comes earlier, off that path.
WAL_PAGES = 16_000
CHECKPOINT_BYTES = 16 * 1024 * 1024
WRITE = {"mnemic_write": True}
# Lines of damage to read: enough to see what is hit.
MOST_DAMAGE = 5

BUSY = "Another writer held the store for longer than the busy timeout."
FAULTS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusyError, BUSY),
    sqlite3.SQLITE_LOCKED: (StoreBusyError, BUSY),
    sqlite3.SQLITE_FULL: (StoreFullError, "The disk, or the size allowed to the store, is full."),
    sqlite3.SQLITE_READONLY: (StoreReadOnlyError, "The store's file or directory cannot be written."),
    sqlite3.SQLITE_PERM: (StoreReadOnlyError, "The store's file or directory cannot be written."),
    sqlite3.SQLITE_CANTOPEN: (StoreReadOnlyError, "The store's file cannot be opened or created."),
    sqlite3.SQLITE_NOTADB: (StoreFormatError, "The file is not an SQLite database."),
    sqlite3.SQLITE_CORRUPT: (StoreFormatError, "The database file is damaged."),
}


class Sqlite:
    """A store in one file, or (path None) in the private memory of this process.

    The protocol is `database.Backend`.
    """

    faults: tuple[type[Exception], ...] = (DBAPIError, sqlite3.Error)
    leftover: str | None = None

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            _make_directory(path.parent)
        self.path = path
        self.name = ":memory:" if path is None else str(path)
        self._engine = make_engine(path)
        self._closed = False
        self._unlock()

    def _unlock(self) -> None:
        # One that knows whose it is: who gave up waiting for it cannot release it.
        self._writer = threading.RLock()
        self._tidying = threading.Lock()
        self._wrote = self._row_began = 0.0
        # A database in memory has one connection: who reads, writes or closes it waits for the others.
        self._alone: AbstractContextManager[object] = self._writer if self.path is None else nullcontext()

    @contextmanager
    def turn(self, *, writing: bool) -> Iterator[None]:
        if not writing:
            with self._alone:
                yield
            return
        try:
            # Inside the block: between the two, Ctrl-C would leave the lock held for ever.
            self._queue()
            self._let_others_in()
            yield
            self._wrote = time.monotonic()
        finally:
            # `suppress` would be one more call, and Ctrl-C could fall into it.
            try:  # noqa: SIM105
                self._writer.release()
            except RuntimeError:
                pass  # It was never taken.

    def _queue(self) -> None:
        """Wait here for other threads' writes, where waking is immediate, not in SQLite's sleeping retry."""
        if not self._writer.acquire(timeout=BUSY_SECONDS):
            raise StoreBusyError(BUSY)

    def _let_others_in(self) -> None:
        """Pause in a long row of writes without a gap, in which no other process could begin one."""
        now = time.monotonic()
        if now - self._wrote > GAP_SECONDS:
            self._row_began = now
        elif now - self._row_began > ROW_SECONDS:
            time.sleep(PAUSE_SECONDS)
            self._row_began = time.monotonic()

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        options = WRITE if writing else {}
        with (
            gate.inside(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    def prepare(self, tx: Connection) -> None:
        """Nothing to do: a file needs no room made, and a writer is alone in it."""

    def translate(self, fault: Exception) -> StoreError:
        orig = fault.orig if isinstance(fault, DBAPIError) else None
        return translate(orig or fault, self.path)

    def grown(self) -> bool:
        if self.path is None or self._tidying.locked():
            return False
        return wal_bytes(self.path) > CHECKPOINT_BYTES

    def checkpoint(self) -> None:
        with self._tidying, gate.inside():
            if not self._closed and self.path is not None:
                checkpoint(self.path)

    def erase(self) -> bool:
        with self._alone, self._tidying, gate.inside():
            if self._closed:
                raise StoreClosedError("This memory was closed; open a new one.")
            return erase(self._engine, ERASE_SECONDS)

    def damage(self, tx: Connection) -> list[str]:
        """As `Backend.damage`."""
        raw = tx.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        return damage(raw) or []

    def size(self) -> int:
        """Bytes of the store's files; 0 for one in memory."""
        return 0 if self.path is None else file_bytes(self.path) + wal_bytes(self.path)

    def renewed(self) -> Sqlite:
        if self.path is not None:
            # Connections to a file must not cross a fork, and their pool's lock may be held for ever.
            return Sqlite(self.path)
        # All of it was copied with the process, and the gate let nobody be inside meanwhile.
        self._unlock()
        return self

    def close(self) -> None:
        with self._alone, self._tidying, gate.inside():
            self._closed = True
            self._engine.dispose()


def make_engine(path: Path | None) -> Engine:
    """An engine over the file at `path`, or over private memory when it is None."""

    def connect() -> sqlite3.Connection:
        return _connected(path)

    if path is None:
        engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool, hide_parameters=True)
    else:
        engine = create_engine(
            "sqlite://",
            creator=connect,
            poolclass=QueuePool,
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=BUSY_SECONDS,
            hide_parameters=True,
        )
    event.listen(engine, "begin", _begin)
    return engine


def _connected(path: Path | None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        ":memory:" if path is None else str(path),
        timeout=BUSY_SECONDS,
        check_same_thread=False,
        isolation_level=None,
    )
    _set_up(connection, in_file=path is not None)
    return connection


def _set_up(connection: sqlite3.Connection, *, in_file: bool) -> None:
    connection.create_function("mnemic_casefold", 1, _casefold, deterministic=True)
    pragmas = ["foreign_keys=ON", "synchronous=FULL", "temp_store=MEMORY", "cache_size=-16000"]
    if in_file and not _is_foreign(connection):
        # Once its pages are in the file, the log is cut back, so that its size tells when it has grown again.
        log = [f"wal_autocheckpoint={WAL_PAGES}", f"journal_size_limit={CHECKPOINT_BYTES // 2}"]
        pragmas = ["journal_mode=WAL", *log, *pragmas]
    # The first of them reads the schema, which may be damaged.
    with decoding("the schema"):
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")


def _is_foreign(connection: sqlite3.Connection) -> bool:
    """Whether the file holds another program's tables: it will be refused, and must stay as it is."""
    with decoding("the schema"):
        names = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    return bool(names) and not names >= {table.name for table in MARKS}


def _casefold(text: Any) -> Any:
    return text.casefold() if isinstance(text, str) else text


def _begin(connection: Connection) -> None:
    # A writer that began as a reader could find its snapshot outdated and fail: writers begin as writers.
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    if connection.get_execution_options().get("mnemic_write"):
        _begin_writing(raw)
    else:
        raw.execute("BEGIN")


def _begin_writing(raw: sqlite3.Connection) -> None:
    """Begin as a writer, waiting for other processes' writers.

    SQLite itself would look again only ten times a second, and so hardly ever get in between the writes of
    a busy process; this looks every few milliseconds.
    """
    until = time.monotonic() + BUSY_SECONDS
    raw.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                raw.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as fault:
                if fault.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            runtime.give_up_if_cancelled()
            time.sleep(random.uniform(0.001, 0.004))
    finally:
        raw.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")


def checkpoint(path: Path) -> None:
    """Move the write-ahead log into the file; readers and writers go on meanwhile.

    On a connection of its own: Ctrl-C can leave the lock of SQLAlchemy's pool with another thread for ever.
    """
    with closing(_connected(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(PASSIVE)")


def erase(engine: Engine, seconds: float) -> bool:
    """Rewrite the file without what was deleted, and empty the log.

    False where somebody kept reading an older state for that long, which the log must then still hold.
    """
    until = time.monotonic() + seconds
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.execute("VACUUM")
        # SQLite itself would wait as long as for a lock, and let no writer in meanwhile.
        raw.execute("PRAGMA busy_timeout=0")
        try:
            while raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > until:
                    return False
                time.sleep(0.01)
        finally:
            raw.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")
    return True


def damage(raw: sqlite3.Connection, seconds: float | None = None) -> list[str] | None:
    """What SQLite finds wrong with the file; None where the time was up before all was searched.

    Without a limit of seconds it also holds indexes against their tables.
    """
    until = None if seconds is None else time.monotonic() + seconds
    pragma = "integrity_check" if until is None else "quick_check"
    raw.set_progress_handler(lambda: until is not None and time.monotonic() > until, 10_000)
    try:
        rows = [str(row[0]) for row in raw.execute(f"PRAGMA {pragma}({MOST_DAMAGE})")]
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return None
        raise
    finally:
        raw.set_progress_handler(None, 0)
    return [] if rows == ["ok"] else rows


def wal_bytes(path: Path) -> int:
    """Size of the write-ahead log."""
    return file_bytes(path.with_name(path.name + "-wal"))


def file_bytes(path: Path) -> int:
    """Size of a file; 0 when there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def translate(fault: BaseException, path: Path | None) -> StoreError:
    """The typed error of an SQLite fault; the words say which file."""
    code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
    kind, meaning = FAULTS.get(code, (StoreError, f"SQLite failed: {fault}"))
    where = str(path) if path else ":memory:"
    return kind(f"{meaning} ({where})", details={"path": where})


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise StoreReadOnlyError(
            f"The directory {path} of the store cannot be made: {fault.strerror}.",
            details={"path": str(path)},
        ) from fault
