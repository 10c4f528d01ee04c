"""search(), from a request to items: one hop, one snapshot of the store, whatever others write meanwhile."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection

from ..clock import Instant
from ..errors import StoreBusyError
from ..filter_masks import mask as filter_mask
from ..filters import Leaf, Node
from ..records import Item, OwnerState
from ..scope import Scope
from ..store import filter_sql, loading, owners, reading, spaces
from ..store.database import Store
from ..store.sound import decoding
from .fuse import Query, Ranking, rank
from .index import ScopeIndex
from .snapshot import NULL_INSTANT, Mask, Snapshot

T = TypeVar("T")

# More changes than this are cheaper to load anew than to apply one by one.
RELOAD_FROM = 5_000


@dataclass(frozen=True, slots=True)
class Request:
    """What one search asks for. `tree` is what is left of the filters once the scope is taken out."""

    scope: Scope
    tree: Node
    query: Query
    limit: int
    now: Instant
    show_expired: bool = False
    include_superseded: bool = False
    as_of: Instant | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The ranking, at most `limit` items in its order, and how many memories were there to be found."""

    limit: int
    ranking: Ranking
    items: tuple[Item, ...]
    owners: int
    memories: int
    eligible: int


class IndexCache:
    """The ScopeIndexes of a store, by owner, least recently used ones dropped beyond a number of bytes."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._indexes: OrderedDict[int, ScopeIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()

    def clear(self) -> None:
        """Forget everything; the next searches load anew."""
        with self._lock:
            self._indexes.clear()

    def fresh(self, states: Sequence[OwnerState]) -> list[Snapshot] | None:
        """The snapshots of these owners, if all are loaded and exactly as far as the states say."""
        with self._lock:
            found = [self._indexes.get(state.id) for state in states]
            for state, index in zip(states, found, strict=True):
                if index is None or index.seq != state.seq:
                    return None
            for state in states:
                self._indexes.move_to_end(state.id)
            return [index.snapshot() for index in found if index is not None]

    def refresh(self, store: Store, scope: Scope, space_id: int | None) -> None:
        """Load or update the indexes of a scope, one caller at a time."""
        with self._refreshing, store.read() as tx:
            for state in owners.owner_states(tx, scope):
                self._refresh(tx, state, space_id)

    def _refresh(self, tx: Connection, state: OwnerState, space_id: int | None) -> None:
        with self._lock:
            index = self._indexes.get(state.id)
        with decoding("a memory's index rows"):
            if index is None or not _catch_up(tx, index, state, space_id):
                index = ScopeIndex(
                    state.owner,
                    loading.index_rows(tx, state.id, space_id),
                    loading.message_rows(tx, state.id),
                    loading.run_rows(tx, state.id),
                    state.seq,
                )
        with self._lock:
            self._indexes[state.id] = index
            self._indexes.move_to_end(state.id)
            self._drop(keep=state.id)

    def _drop(self, keep: int) -> None:
        total = sum(index.nbytes for index in self._indexes.values())
        for owner_id in list(self._indexes):
            if total <= self._budget:
                break
            if owner_id != keep:
                total -= self._indexes.pop(owner_id).nbytes


def _catch_up(tx: Connection, index: ScopeIndex, state: OwnerState, space_id: int | None) -> bool:
    if index.seq == state.seq:
        return True
    delta = loading.changed_since(tx, state.id, index.seq, space_id, RELOAD_FROM)
    if delta is None:
        return False
    gone = delta.memory_nos - {row.memory_no for row in delta.rows}
    return index.apply(delta.rows, gone, delta.messages, delta.runs, state.seq)


def search(store: Store, indexes: IndexCache, request: Request, space_id: int | None) -> Found:
    """Rank what the scope may see and fetch the best items. Raises `FilterError` for a comparison across types."""

    def work(tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot]) -> Found:
        return _answer(tx, states, snapshots, request)

    return on_snapshots(store, indexes, request.scope, space_id, work)


def on_snapshots(
    store: Store,
    indexes: IndexCache,
    scope: Scope,
    space_id: int | None,
    work: Callable[[Connection, Sequence[OwnerState], Sequence[Snapshot]], T],
) -> T:
    """Do something with the indexes of a scope, inside a read transaction that sees exactly what they hold.

    Where a writer comes in between, the indexes are refreshed and it is tried again.
    """
    for _ in range(20):
        with store.read() as tx:
            spaces.expect_space(tx, space_id)
            states = owners.owner_states(tx, scope)
            snapshots = indexes.fresh(states)
            if snapshots is not None:
                return work(tx, states, snapshots)
        indexes.refresh(store, scope, space_id)
    raise StoreBusyError("The store changed faster than this search could follow; try again.")


def ranked(
    tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot], request: Request
) -> Ranking:
    """The ranking of a request over the snapshots of its owners."""
    masks = [
        _eligible(tx, state, snapshot, request) for state, snapshot in zip(states, snapshots, strict=True)
    ]
    return rank(snapshots, request.query, masks, request.limit)


def _answer(
    tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot], request: Request
) -> Found:
    ranking = ranked(tx, states, snapshots, request)
    items: dict[tuple[int, int], Item] = {}
    for i, (state, snapshot) in enumerate(zip(states, snapshots, strict=True)):
        version_nos = [int(snapshot.version_no[hit.row]) for hit in ranking.hits if hit.snapshot == i]
        found = reading.items_of_versions(tx, state.id, version_nos)
        items.update({(i, version_no): item for version_no, item in found.items()})
    return Found(
        limit=request.limit,
        ranking=ranking,
        items=tuple(
            items[hit.snapshot, int(snapshots[hit.snapshot].version_no[hit.row])] for hit in ranking.hits
        ),
        owners=len(states),
        memories=sum(int(np.count_nonzero(snapshot.live)) for snapshot in snapshots),
        eligible=sum(int(np.count_nonzero(mask)) for mask in ranking.eligible),
    )


def _eligible(tx: Connection, state: OwnerState, snapshot: Snapshot, request: Request) -> Mask:
    """The rows that may be returned: believed, in the state asked for, and meeting the filters."""
    valid_to, expires_at = snapshot.column("valid_to"), snapshot.column("expires_at")
    eligible: Mask = snapshot.live.copy()
    if not request.show_expired:
        eligible &= (expires_at == NULL_INSTANT) | (expires_at > request.now)
    if not request.include_superseded:
        at = request.now if request.as_of is None else request.as_of
        eligible &= (valid_to == NULL_INSTANT) | (valid_to > at)
        if request.as_of is not None:
            begun = snapshot.column("valid_from")
            begun = np.where(begun == NULL_INSTANT, snapshot.column("observed_at"), begun)
            eligible &= begun <= at
    rows = _text_rows(tx, state, snapshot)
    return eligible & filter_mask(request.tree, snapshot, rows, among=eligible)


def _text_rows(tx: Connection, state: OwnerState, snapshot: Snapshot) -> Callable[[Leaf], Mask]:
    """Texts are not held in memory: conditions on them are asked of the store."""

    def rows(leaf: Leaf) -> Mask:
        meeting = reading.matching_versions(tx, state.id, filter_sql.condition(leaf))
        return np.isin(snapshot.version_no, np.fromiter(meeting, np.int64, len(meeting)))

    return rows
