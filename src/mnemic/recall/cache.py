"""The ScopeIndexes of a store, and working with them inside a transaction that sees exactly what they hold."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

from sqlalchemy import Connection

from ..clock import Instant
from ..records import OwnerState
from ..scope import Scope
from ..store import loading, owners, spaces
from ..store.database import Store
from ..store.sound import decoding
from .index import ScopeIndex
from .snapshot import Snapshot

T = TypeVar("T")

# More changes than this are cheaper to load anew than to apply one by one.
RELOAD_FROM = 5_000


class _OwnerLock:
    """A lock that lives as long as somebody holds it or waits for it."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()


# An owner's number, and the instant for which an index was asked for: None for the present.
_Key = tuple[int, Instant | None]


class IndexCache:
    """The ScopeIndexes of a store, by owner, least recently used ones dropped beyond a number of bytes.

    Those of what was known at an instant are good until the owner's next change: a purge reaches back. An index only
    goes forward. Who calls `refreshed` holds the owners' locks, and took them before the transaction began: so no
    index can be ahead of that transaction.
    """

    def __init__(self, budget: int) -> None:
        self._owners: weakref.WeakValueDictionary[int, _OwnerLock] = weakref.WeakValueDictionary()
        self._budget = budget
        self._indexes: OrderedDict[_Key, ScopeIndex] = OrderedDict()
        # Kept as they come and go: adding up thousands of small indexes at each write would be slow.
        self._sizes: dict[_Key, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything; the next searches load anew."""
        with self._lock:
            for key in list(self._indexes):
                self._take_out(key)

    @contextmanager
    def locked(self, states: Sequence[OwnerState]) -> Iterator[None]:
        """Hold the locks of these owners: nobody else takes in their changes, and no other owner waits."""
        with self._lock:
            locks = [self._owners.setdefault(state.id, _OwnerLock()) for state in states]
        with ExitStack() as held:
            # The states come in the order of their numbers, so that no two callers wait for each other.
            for one in locks:
                held.enter_context(one.lock)
            yield

    def fresh(
        self, states: Sequence[OwnerState], space_id: int | None, known_at: Instant | None = None
    ) -> list[Snapshot] | None:
        """The snapshots of these owners, if all are loaded, in this space and exactly as far as the states say."""
        with self._lock:
            found = [self._indexes.get((state.id, known_at)) for state in states]
            for state, index in zip(states, found, strict=True):
                if index is None or (index.seq, index.space_id) != (state.seq, space_id):
                    return None
            for state in states:
                self._indexes.move_to_end((state.id, known_at))
            return [index.snapshot() for index in found if index is not None]

    def refreshed(
        self,
        tx: Connection,
        states: Sequence[OwnerState],
        space_id: int | None,
        known_at: Instant | None = None,
    ) -> list[Snapshot]:
        """The snapshots of these owners, loaded or brought up to what the transaction sees."""
        return [self._refreshed(tx, state, space_id, known_at) for state in states]

    def _refreshed(
        self, tx: Connection, state: OwnerState, space_id: int | None, known_at: Instant | None
    ) -> Snapshot:
        key = state.id, known_at
        # Taken out meanwhile: an index that is half changed, or could not be, must not be found by others.
        with self._lock:
            index = self._take_out(key)
        with decoding("a memory's index rows"):
            if (
                index is None
                or index.space_id != space_id
                or not _catch_up(tx, index, state, space_id, known_at)
            ):
                index = _loaded(tx, state, space_id, known_at)
        with self._lock:
            self._put(key, index)
        return index.snapshot()

    def _put(self, key: _Key, index: ScopeIndex) -> None:
        size = index.nbytes
        self._take_out(key)
        self._indexes[key], self._sizes[key] = index, size
        self._bytes += size
        while self._bytes > self._budget and len(self._indexes) > 1:
            self._take_out(next(iter(self._indexes)))

    def _take_out(self, key: _Key) -> ScopeIndex | None:
        self._bytes -= self._sizes.pop(key, 0)
        return self._indexes.pop(key, None)


def _loaded(tx: Connection, state: OwnerState, space_id: int | None, known_at: Instant | None) -> ScopeIndex:
    return ScopeIndex(
        state.owner,
        loading.index_rows(tx, state.id, space_id, known_at),
        loading.message_rows(tx, state.id)
        if known_at is None
        else loading.messages_until(tx, state.id, known_at),
        loading.run_rows(tx, state.id),
        state.seq,
        space_id,
    )


def _catch_up(
    tx: Connection, index: ScopeIndex, state: OwnerState, space_id: int | None, known_at: Instant | None
) -> bool:
    if index.seq == state.seq:
        return True
    if known_at is not None:
        return False
    delta = loading.changed_since(tx, state.id, index.seq, space_id, RELOAD_FROM)
    if delta is None:
        return False
    gone = delta.memory_nos - {row.memory_no for row in delta.rows}
    return index.apply(delta.rows, gone, delta.messages, delta.runs, state.seq, labels_of=delta.memory_nos)


def on_snapshots(
    store: Store,
    indexes: IndexCache,
    scope: Scope,
    space_id: int | None,
    work: Callable[[Connection, Sequence[OwnerState], Sequence[Snapshot]], T],
    known_at: Instant | None = None,
) -> T:
    """Do something with the indexes of a scope, inside a read transaction that sees exactly what they hold.

    known_at: with what the store believed at that instant instead. Raises
    `SpaceChangedError` where `space_id` is not the store's space any more. Blocking.
    """
    with store.read() as tx:
        states = _states(tx, scope, space_id)
        snapshots = indexes.fresh(states, space_id, known_at)
        if snapshots is not None:
            return work(tx, states, snapshots)
    while True:
        with ExitStack() as transaction:
            with indexes.locked(states):
                tx = transaction.enter_context(store.read())
                locked, states = {state.id for state in states}, _states(tx, scope, space_id)
                if not locked.issuperset(state.id for state in states):
                    continue  # an owner has come meanwhile, whose lock must be taken too
                snapshots = indexes.refreshed(tx, states, space_id, known_at)
            return work(tx, states, snapshots)


def _states(tx: Connection, scope: Scope, space_id: int | None) -> list[OwnerState]:
    spaces.expect_space(tx, space_id)
    return owners.owner_states(tx, scope)
