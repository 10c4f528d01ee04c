"""Which memories a model is shown: those that the parts of a talk are near, of one owner, whatever the run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC

import numpy as np
from sqlalchemy import Connection

from ..clock import Instant
from ..filters import parse
from ..records import Item, Owner, OwnerState
from ..scope import Pattern, Scope
from ..store import reading
from ..store.database import Store
from .cache import IndexCache, on_snapshots
from .fuse import Query
from .search import Request, ranked
from .snapshot import NULL_INSTANT, Snapshot

# Below this score a hit has next to nothing to do with what was asked.
LEAST = 0.05
# Words kept as they were said, and records of tasks, are not for a model to edit.
FACTS = parse({"kind": "fact"}, UTC)


@dataclass(frozen=True, slots=True)
class Related:
    """Memories, best first, the numbers of those near each query, and how far their owner had come when they were
    read."""

    items: tuple[Item, ...]
    near: tuple[frozenset[int], ...]
    seen: int


def related(
    store: Store,
    indexes: IndexCache,
    owner: Owner,
    queries: Sequence[Query],
    space_id: int | None,
    now: Instant,
    *,
    each: int,
    most: int,
    also: Collection[int] = (),
) -> Related:
    """The current facts of an owner that are near any of the queries: the best `each` of each, `most` in all.

    Of an owner who has no more than `most`, all: then it costs little to miss nothing. also: the numbers of
    memories that are wanted in any case, as far as they are believed and have not expired.
    """
    scope = Scope(owner.tenant, (Pattern(owner.user_id, owner.agent_id, owner.app_id),))

    def work(tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot]) -> Related:
        if not states:
            return Related((), (frozenset(),) * len(queries), 0)
        [state], [snapshot] = states, snapshots
        numbers = snapshot.rows["memory_no"]
        expires_at = snapshot.column("expires_at")
        wanted = snapshot.live & np.isin(numbers, np.fromiter(also, np.int64, len(also)))
        wanted &= (expires_at == NULL_INSTANT) | (expires_at > now)
        best = dict.fromkeys(np.flatnonzero(wanted).tolist(), 1.0)
        near = []
        for query in queries:
            ranking = ranked(tx, states, snapshots, Request(scope, FACTS, query, each, now))
            [eligible] = ranking.eligible
            if np.count_nonzero(eligible) <= most:
                best = dict.fromkeys(np.flatnonzero(eligible).tolist(), 0.0) | best
            found = {hit.row: hit.score for hit in ranking.hits if hit.score >= LEAST}
            near.append(frozenset(int(numbers[row]) for row in found))
            for row, score in found.items():
                best[row] = max(score, best.get(row, 0.0))
        chosen = sorted(best, key=lambda row: (-best[row], int(snapshot.version_no[row])))[:most]
        version_nos = [int(snapshot.version_no[row]) for row in chosen]
        items = reading.items_of_versions(tx, state.id, version_nos)
        return Related(tuple(items[no] for no in version_nos), tuple(near), state.seq)

    return on_snapshots(store, indexes, scope, space_id, work)
