"""What is special about SQLite: how a connection is set up, how writers begin, what its faults mean."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import QueuePool, StaticPool

from .. import runtime
from ..errors import (
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreReadOnlyError,
)
from .schema import MARKS
from .sound import decoding

BUSY_SECONDS = 30.0
# Pages of log before SQLite itself checkpoints inside a commit; `checkpoint` comes earlier, off that path.
WAL_PAGES = 16_000
CHECKPOINT_BYTES = 16 * 1024 * 1024
WRITE = {"mnemic_write": True}
# Lines of damage to read: enough to see what is hit.
MOST_DAMAGE = 5

FAULTS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusyError, "Another writer held the store for longer than the busy timeout."),
    sqlite3.SQLITE_LOCKED: (
        StoreBusyError,
        "Another writer held the store for longer than the busy timeout.",
    ),
    sqlite3.SQLITE_FULL: (StoreFullError, "The disk, or the size allowed to the store, is full."),
    sqlite3.SQLITE_READONLY: (StoreReadOnlyError, "The store's file or directory cannot be written."),
    sqlite3.SQLITE_PERM: (StoreReadOnlyError, "The store's file or directory cannot be written."),
    sqlite3.SQLITE_CANTOPEN: (StoreReadOnlyError, "The store's file cannot be opened or created."),
    sqlite3.SQLITE_NOTADB: (StoreFormatError, "The file is not an SQLite database."),
    sqlite3.SQLITE_CORRUPT: (StoreFormatError, "The database file is damaged."),
}


def make_engine(path: Path | None, pool_size: int) -> Engine:
    """An engine over the file at `path`, or over private memory when it is None."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if path is None else str(path),
            timeout=BUSY_SECONDS,
            check_same_thread=False,
            isolation_level=None,
        )
        _set_up(connection, in_file=path is not None)
        return connection

    if path is None:
        engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    else:
        engine = create_engine(
            "sqlite://",
            creator=connect,
            poolclass=QueuePool,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=BUSY_SECONDS,
        )
    event.listen(engine, "begin", _begin)
    return engine


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


def checkpoint(engine: Engine) -> None:
    """Move the write-ahead log into the file; readers and writers go on meanwhile."""
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
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
        while raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
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
