"""A store: one database, opened, migrated, and entered only through `read()` and `write()`.

Both are plain context managers, so no `await`, and with it no model call, can stand inside a transaction.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from .. import runtime
from ..errors import StoreBusyError, StoreClosedError, StoreReadOnlyError
from . import gate, migrations, schema, sqlite

POOL_SIZE = 8
# Writes closer together than a gap are a row; after so long a row, other processes get a pause to begin in.
GAP_SECONDS = 0.0005
ROW_SECONDS = 0.05
PAUSE_SECONDS = 0.006
# How long a purge waits for readers of an older state.
ERASE_SECONDS = 10.0


class Store:
    """An open SQLite store.

    Threads and processes may use one file together. Raises `StoreError` subclasses only; a failed `write()`
    leaves nothing behind.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._closed = False
        self._abandoned: list[Engine] = []
        self._start()
        self._open()

    def _start(self) -> None:
        self._engine = sqlite.make_engine(self.path, POOL_SIZE)
        self._unlock()

    def _unlock(self) -> None:
        # One that knows whose it is: who gave up waiting for it cannot release it.
        self._writer = threading.RLock()
        self._tidying = threading.Lock()
        self._wrote = self._row_began = 0.0
        # A database in memory has one connection: who reads, writes or closes it waits for the others.
        self._alone: AbstractContextManager[object] = self._writer if self.path is None else nullcontext()
        self._pid = os.getpid()

    def _open(self) -> None:
        if self.path is not None:
            _make_directory(self.path.parent)
        with self.read() as tx:
            behind = migrations.schema_version(tx) < len(migrations.MIGRATIONS)
        if behind:
            with self.write() as tx:
                migrations.migrate(tx)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: one snapshot of the store."""
        self._check()
        with self._alone, self._transaction({}) as tx:
            yield tx

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction, begun as a writer: committed whole, or rolled back on any exception.

        Work whose caller was cancelled is rolled back too, up to the moment of the commit.
        """
        self._check()
        try:
            # Inside the block: between the two, Ctrl-C would leave the lock held for ever.
            self._queue()
            runtime.give_up_if_cancelled()
            self._let_others_in()
            with self._transaction(sqlite.WRITE) as tx:
                yield tx
            self._wrote = time.monotonic()
        finally:
            # `suppress` would be one more call, and Ctrl-C could fall into it.
            try:  # noqa: SIM105
                self._writer.release()
            except RuntimeError:
                pass  # It was never taken.
        if self.grown():
            runtime.current().aside(self.checkpoint)

    def _queue(self) -> None:
        """Wait here for other threads' writes, where waking is immediate, not in SQLite's sleeping retry."""
        if not self._writer.acquire(timeout=sqlite.BUSY_SECONDS):
            raise StoreBusyError("Another writer held the store for longer than the busy timeout.")

    def _let_others_in(self) -> None:
        """Pause in a long row of writes without a gap, in which no other process could begin one."""
        now = time.monotonic()
        if now - self._wrote > GAP_SECONDS:
            self._row_began = now
        elif now - self._row_began > ROW_SECONDS:
            time.sleep(PAUSE_SECONDS)
            self._row_began = time.monotonic()

    @contextmanager
    def _transaction(self, options: dict[str, bool]) -> Iterator[Connection]:
        # Once more: it may have been closed while this waited for its turn.
        self._refuse_if_closed()
        with (
            _faults(self.path),
            gate.inside(),
            self._engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection
            if options:
                runtime.give_up_if_cancelled()

    def grown(self) -> bool:
        """Whether `checkpoint` has something to do, and nobody does it yet."""
        if self.path is None or self._tidying.locked():
            return False
        return sqlite.wal_bytes(self.path) > sqlite.CHECKPOINT_BYTES

    def checkpoint(self) -> None:
        """Tidy up after writes; never needed for correctness."""
        with self._tidying, gate.inside():
            if not self._closed:
                sqlite.checkpoint(self._engine)

    def erase(self) -> bool:
        """Finish what purges began: nothing they removed is left in the database, its log or its free space.

        True also when there was nothing to do; False where it could not be finished, because others still
        read an older state. It is finished then when the store is next opened, or purged. Raises `StoreError`.
        """
        mark = self._erase_mark()
        if mark is None:
            return True
        with self._alone, self._tidying, _faults(self.path), gate.inside():
            self._refuse_if_closed()
            if not sqlite.erase(self._engine, ERASE_SECONDS):
                return False
        with self.write() as tx:
            # Another purge may have come meanwhile: that one is for whoever made it to finish.
            done = schema.meta.c.key == "erase", schema.meta.c.value == mark
            tx.execute(delete(schema.meta).where(*done))
        return True

    def must_erase(self) -> bool:
        """Whether a purge was not finished."""
        return self._erase_mark() is not None

    def _erase_mark(self) -> str | None:
        with self.read() as tx:
            pending = select(schema.meta.c.value).where(schema.meta.c.key == "erase")
            return tx.execute(pending).scalar()

    def damage(self) -> list[str]:
        """What is wrong with the database file itself, however long the search takes."""
        with self.read() as tx:
            raw = tx.connection.driver_connection
            assert isinstance(raw, sqlite3.Connection)
            return sqlite.damage(raw) or []

    def size(self) -> int:
        """Bytes of the store's files; 0 for one in memory."""
        return 0 if self.path is None else sqlite.file_bytes(self.path) + sqlite.wal_bytes(self.path)

    def close(self) -> None:
        """Give back all connections; what is under way ends first where they are shared.

        Closing twice is fine; any other call afterwards raises `StoreClosedError`.
        """
        self._closed = True
        if self._pid == os.getpid():
            with self._alone, self._tidying, gate.inside():
                self._engine.dispose()

    def _check(self) -> None:
        self._refuse_if_closed()
        if self._pid != os.getpid():
            with gate.renewing():
                if self._pid != os.getpid():
                    self._renew()

    def _renew(self) -> None:
        if self.path is None:
            # All of it was copied with the process, and the gate let nobody be inside meanwhile.
            self._unlock()
        else:
            # Connections to a file must not cross a fork, and their pool's lock may be held for ever: the child
            # opens its own and never touches, nor lets Python collect, those of the parent.
            self._abandoned.append(self._engine)
            self._start()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreClosedError("This memory was closed; open a new one.")


@contextmanager
def _faults(path: Path | None) -> Iterator[None]:
    """Where the database may fail: with a typed error."""
    try:
        yield
    except PoolTimeoutError as fault:
        raise StoreBusyError("All connections of this process to the store were in use too long.") from fault
    except (DBAPIError, sqlite3.Error) as fault:
        orig = fault.orig if isinstance(fault, DBAPIError) else None
        raise sqlite.translate(orig or fault, path) from fault


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise StoreReadOnlyError(
            f"The directory {path} of the store cannot be made: {fault.strerror}.",
            details={"path": str(path)},
        ) from fault
