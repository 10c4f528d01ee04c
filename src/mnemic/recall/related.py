"""Which memories a model is shown: those that the parts of a talk are near, of one owner, whatever the run."""

from __future__ import annotations

from collections.abc import Sequence
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
from .snapshot import Snapshot

# Below this score a hit has next to nothing to do with what was asked.
LEAST = 0.05
# Words kept as they were said, and records of tasks, are not for a model to edit.
FACTS = parse({"kind": "fact"}, UTC)


@dataclass(frozen=True, slots=True)
class Related:
    """Memories, best first, the ids near each query, and how far their owner had come when they were read."""

    items: tuple[Item, ...]
    near: tuple[frozenset[str], ...]
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
) -> Related:
    """The current facts of an owner that are near any of the queries: the best `each` of each, `most` in all.

    Of an owner who has no more than `most`, all: then it costs little to miss nothing.
    """
    scope = Scope(owner.tenant, (Pattern(owner.user_id, owner.agent_id, owner.app_id),))

    def work(tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot]) -> Related:
        best: dict[int, float] = {}
        near = []
        for query in queries if states else ():
            [snapshot] = snapshots
            ranking = ranked(tx, states, snapshots, Request(scope, FACTS, query, each, now))
            [eligible], hits = ranking.eligible, ranking.hits
            if np.count_nonzero(eligible) <= most:
                best = dict.fromkeys(map(int, snapshot.version_no[eligible]), 0.0) | best
            found = {int(snapshot.version_no[hit.row]): hit.score for hit in hits if hit.score >= LEAST}
            near.append(found.keys())
            for version_no, score in found.items():
                best[version_no] = max(score, best.get(version_no, 0.0))
        chosen = sorted(best, key=lambda no: (-best[no], no))[:most]
        items = reading.items_of_versions(tx, states[0].id, [*best]) if states else {}
        return Related(
            items=tuple(items[no] for no in chosen),
            near=tuple(frozenset(items[no].id for no in found) for found in near)
            or (frozenset(),) * len(queries),
            seen=states[0].seq if states else 0,
        )

    return on_snapshots(store, indexes, scope, space_id, work)
