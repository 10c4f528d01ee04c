"""search(), from a request to items: one hop, one snapshot of the store, whatever others write meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

import numpy as np
from sqlalchemy import Connection

from ..clock import Instant
from ..filter_masks import mask as filter_mask
from ..filters import Leaf, Node
from ..records import Item, OwnerState
from ..scope import Scope
from ..store import filter_sql, reading
from ..store.database import Store
from .anchors import find_anchor
from .cache import IndexCache, on_snapshots
from .fuse import Query, Ranking, rank
from .lexical import Floats
from .recency import Recency, fading
from .snapshot import NULL_INSTANT, Mask, Snapshot
from .time_words import TimeWords
from .timing import is_known, timing


@dataclass(frozen=True, slots=True)
class TimeAsked:
    """The time words of a query with what they are resolved by: the instant and zone of the question, and the query
    with its time words left in, and the one for its anchor where it has one."""

    words: TimeWords
    at: Instant
    tz: tzinfo
    plain: Query
    anchor: Query | None = None

    @property
    def admits_past(self) -> bool:
        """Whether what was superseded or has ended may answer too."""
        return self.words.notion != "current" or bool(self.words.relation)


@dataclass(frozen=True, slots=True)
class Request:
    """What one search asks for. `tree` is what is left of the filters once the scope is taken out.

    now: the instant by which things have expired or ended. as_of: what held then is asked for. known_at: what the
    store believed then, which makes that instant `now` too. time: the time that the query asks about.
    recency: how scores fade with time, if they do.
    """

    scope: Scope
    tree: Node
    query: Query
    limit: int
    now: Instant
    show_expired: bool = False
    include_superseded: bool = False
    as_of: Instant | None = None
    known_at: Instant | None = None
    time: TimeAsked | None = None
    recency: Recency | None = None

    @property
    def at(self) -> Instant:
        """The instant that is asked about: `as_of`, else now."""
        return self.now if self.as_of is None else self.as_of

    @property
    def admits_ended(self) -> bool:
        """Whether what was superseded or has ended may be returned too."""
        asks = self.as_of is None and self.time is not None and self.time.admits_past
        return self.include_superseded or asks


@dataclass(frozen=True, slots=True)
class Found:
    """The ranking, at most `limit` items in its order, and how many memories were there to be found.

    known_at: the instant as of which they were, None for now.
    """

    limit: int
    ranking: Ranking
    items: tuple[Item, ...]
    owners: int
    memories: int
    eligible: int
    known_at: Instant | None = None


def search(store: Store, indexes: IndexCache, request: Request, space_id: int | None) -> Found:
    """Rank what the scope may see and fetch the best items. Raises `FilterError` for a comparison across types."""

    def work(tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot]) -> Found:
        return _answer(tx, states, snapshots, request)

    return on_snapshots(store, indexes, request.scope, space_id, work, request.known_at)


def ranked(
    tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot], request: Request
) -> Ranking:
    """The ranking of a request over the snapshots of its owners."""
    masks = [
        _eligible(tx, state, snapshot, request) for state, snapshot in zip(states, snapshots, strict=True)
    ]
    recency = request.recency
    left = None if recency is None else [fading(one, recency, request.at) for one in snapshots]
    if request.time is None:
        return rank(snapshots, request.query, masks, request.limit, fading=left)
    return _ranked_in_time(tx, states, snapshots, request, request.time, masks, left)


def _ranked_in_time(
    tx: Connection,
    states: Sequence[OwnerState],
    snapshots: Sequence[Snapshot],
    request: Request,
    time: TimeAsked,
    masks: Sequence[Mask],
    left: Sequence[Floats] | None,
) -> Ranking:
    """The ranking by the time asked about; by the question as it stands where its anchor is not found."""
    anchor = None
    if time.anchor is not None:

        def texts(number: int, rows: Sequence[int]) -> dict[int, str]:
            numbers = {int(snapshots[number].version_no[row]): row for row in rows}
            found = reading.texts_of_versions(tx, states[number].id, [*numbers])
            return {numbers[no]: text for no, text in found.items()}

        named, rest = (rank(snapshots, query, masks, 0) for query in (time.anchor, request.query))
        anchor = find_anchor(time.words, named, rest, texts, time.tz)
        if anchor is None and time.words.notion == "none":
            return rank(snapshots, time.plain, masks, request.limit, fading=left)
    asked = timing(time.words, time.at, time.tz, anchor)
    if asked is None:
        return rank(snapshots, request.query, masks, request.limit, fading=left)
    if not is_known(snapshots, asked):
        return rank(snapshots, time.plain, masks, request.limit, fading=left)
    # A memory may name the time that is asked about; what "used to" or 以前 ask for none does.
    timeless = rank(snapshots, time.plain, masks, 0) if asked.relation else None
    return rank(snapshots, request.query, masks, request.limit, timing=asked, fading=left, timeless=timeless)


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
        known_at=request.known_at,
    )


def _eligible(tx: Connection, state: OwnerState, snapshot: Snapshot, request: Request) -> Mask:
    """The rows that may be returned: believed, in the state asked for, and meeting the filters."""
    valid_to, expires_at = snapshot.column("valid_to"), snapshot.column("expires_at")
    eligible: Mask = snapshot.live.copy()
    if not request.show_expired:
        eligible &= (expires_at == NULL_INSTANT) | (expires_at > request.now)
    if not request.admits_ended:
        at = request.at
        eligible &= (valid_to == NULL_INSTANT) | (valid_to > at)
        if request.as_of is not None:
            begun = snapshot.column("valid_from")
            begun = np.where(begun == NULL_INSTANT, snapshot.column("observed_at"), begun)
            eligible &= begun <= at
    rows = _text_rows(tx, state, snapshot, request.known_at)
    return eligible & filter_mask(request.tree, snapshot, rows, among=eligible)


def _text_rows(
    tx: Connection, state: OwnerState, snapshot: Snapshot, known_at: Instant | None
) -> Callable[[Leaf], Mask]:
    """Texts are not held in memory: conditions on them are asked of the store."""

    def rows(leaf: Leaf) -> Mask:
        condition = filter_sql.condition(leaf, tx.dialect.name)
        meeting = reading.matching_versions(tx, state.id, condition, known_at)
        return np.isin(snapshot.version_no, np.fromiter(meeting, np.int64, len(meeting)))

    return rows
