"""A store: one database, opened, migrated, and entered only through `read()` and `write()`.

Both are plain context managers, so no `await`, and with it no model call, can stand inside a transaction.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, Self

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from .. import runtime
from ..errors import StoreBusyError, StoreClosedError, StoreError
from . import gate, migrations, schema
from .sqlite import Sqlite

# A file, None for private memory, or the URL of a PostgreSQL database.
Location = Path | str | None


class Backend(Protocol):
    """What differs between the databases: connections, whose turn it is, what faults mean, upkeep."""

    @property
    def name(self) -> str:
        """Where the store is, for people: without any secret."""

    @property
    def faults(self) -> tuple[type[Exception], ...]:
        """What `transaction` raises when the database fails."""

    def turn(self, *, writing: bool) -> AbstractContextManager[None]:
        """Where a thread waits for others of this process that must not work at the same time."""

    def transaction(self, *, writing: bool) -> AbstractContextManager[Connection]:
        """A transaction, committed at the end of its block and rolled back on any exception."""

    def prepare(self, tx: Connection) -> None:
        """Make room for the tables inside a write transaction, and keep other processes from doing the same."""

    def translate(self, fault: Exception) -> StoreError:
        """The typed error of one of its faults, which says where but never shows a secret or a value."""

    def grown(self) -> bool:
        """Whether `checkpoint` has something to do, and nobody does it yet."""

    def checkpoint(self) -> None:
        """Tidy up after writes."""

    @property
    def leftover(self) -> str | None:
        """What is not erased even when `erase` is through, in words for people; None for nothing."""

    def erase(self) -> bool:
        """Leave nothing in free space and logs of what was removed; False where that is not finished."""

    def damage(self, tx: Connection) -> list[str]:
        """What is wrong with the database file, where there is one."""

    def size(self) -> int:
        """Bytes of the store."""

    def renewed(self) -> Self:
        """The same for a child of the process, which must not touch its parent's connections."""

    def close(self) -> None:
        """Give back all connections."""


class Store:
    """An open store.

    Threads and processes may use one store together. Raises `StoreError` subclasses only; a failed `write()`
    leaves nothing behind. making: whether a store that is not there yet is made; migrated it is in any case.
    """

    def __init__(self, location: Location, *, making: bool = True) -> None:
        self.path = location if isinstance(location, Path) else None
        self._closed = False
        self._abandoned: list[Backend] = []
        self._backend: Backend = _backend(location)
        self._pid = os.getpid()
        try:
            self._open(making)
        except BaseException:
            self._backend.close()
            raise

    def _open(self, making: bool) -> None:
        with self.read() as tx:
            version = migrations.schema_version(tx)
        if version < len(migrations.MIGRATIONS) and (version or making):
            with self.write() as tx:
                self._backend.prepare(tx)
                migrations.migrate(tx)

    @property
    def name(self) -> str:
        """Where the store is, for people: a path, ":memory:" or a URL without password."""
        return self._backend.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: one snapshot of the store."""
        self._check()
        with self._backend.turn(writing=False), self._transaction(writing=False) as tx:
            yield tx

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: committed whole, or rolled back on any exception.

        What was read before the owner was locked (`store.owners`) may be outdated by then: lock first, then
        read. Work whose caller was cancelled is rolled back too, up to the moment of the commit.
        """
        self._check()
        with self._backend.turn(writing=True):
            runtime.give_up_if_cancelled()
            with self._transaction(writing=True) as tx:
                yield tx
                runtime.give_up_if_cancelled()
        if self.grown():
            runtime.current().aside(self.checkpoint)

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[Connection]:
        # Once more: it may have been closed while this waited for its turn.
        self._refuse_if_closed()
        with self._typed_faults(), self._backend.transaction(writing=writing) as tx:
            yield tx

    @contextmanager
    def _typed_faults(self) -> Iterator[None]:
        """Where the database may fail: with a typed error."""
        try:
            yield
        except PoolTimeoutError as fault:
            raise StoreBusyError(
                "All connections of this process to the store were in use too long."
            ) from fault
        except self._backend.faults as fault:
            raise self._backend.translate(fault) from fault

    def grown(self) -> bool:
        """Whether `checkpoint` has something to do, and nobody does it yet."""
        return self._backend.grown()

    def checkpoint(self) -> None:
        """Tidy up after writes; never needed for correctness."""
        with self._typed_faults():
            self._backend.checkpoint()

    @property
    def leftover(self) -> str | None:
        """What of a purge is not erased even when `erase` is through, in words for people; None for nothing."""
        return self._backend.leftover

    def erase(self) -> bool:
        """Finish what purges began: nothing they removed is left in the database, its log or its free space.

        True also when there was nothing to do; False where it could not be finished, because others still
        read an older state. It is finished then when the store is next opened, or purged. Raises `StoreError`.
        """
        mark = self._erase_mark()
        if mark is None:
            return True
        with self._typed_faults():
            if not self._backend.erase():
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
        """What is wrong with the database file itself, however long the search takes; a server tells nothing."""
        with self.read() as tx:
            return self._backend.damage(tx)

    def size(self) -> int:
        """Bytes of the store; 0 for one in memory."""
        with self._typed_faults():
            return self._backend.size()

    def close(self) -> None:
        """Give back all connections; what is under way ends first where they are shared.

        Closing twice is fine; any other call afterwards raises `StoreClosedError`.
        """
        self._closed = True
        if self._pid == os.getpid():
            self._backend.close()

    def _check(self) -> None:
        self._refuse_if_closed()
        if self._pid != os.getpid():
            with gate.renewing():
                if self._pid != os.getpid():
                    # Kept, so that Python does not collect, and thereby close, what belongs to the parent.
                    self._abandoned.append(self._backend)
                    self._backend = self._backend.renewed()
                    self._pid = os.getpid()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreClosedError("This memory was closed; open a new one.")


def _backend(location: Location) -> Backend:
    if isinstance(location, str):
        from .postgres import Postgres

        return Postgres(location)
    return Sqlite(location)
