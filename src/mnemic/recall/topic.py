"""What belongs to a topic: what a search for it finds near the best, each with its whole chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection

from ..records import Course, Held, OwnerState
from ..store import chains, held
from ..store.database import Store
from .cache import IndexCache, on_snapshots
from .fuse import Ranking
from .search import Request, ranked
from .snapshot import Snapshot

# What has less than this share of the best one's direct evidence is about something else. Where the best is faint, no
# memory says it in the same words, and all lie closer together (docs/decisions.md has the figures).
SHARE = 0.5
FAINT = 0.3
SHARE_OF_FAINT = 0.8
# How many hits are looked at, however many are near the best.
MOST = 1_000

# Where a version lies: the number of its snapshot, and its own.
_At = tuple[int, int]


def topic(
    store: Store, indexes: IndexCache, request: Request, window: held.Window, space_id: int | None
) -> Course:
    """What a request finds down to a share of the best evidence, with those of their chains that may be returned too.

    What the window does not hold is left out then, and the `request.limit` best are shown, those of a chain one
    after the other, in the order in which they began. Blocking.
    """

    def work(tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot]) -> Course:
        chosen = _chosen(tx, states, ranked(tx, states, snapshots, replace(request, limit=0)))
        found: dict[_At, Held] = {}
        for i, state in enumerate(states):
            own = [version_no for at, version_no in chosen if at == i]
            found |= {(i, one.version_no): one for one in held.of_versions(tx, state.id, own, window)}
        best = [found[at] for at in chosen if at in found]
        shown = sorted(best[: request.limit], key=attrgetter("order"))
        return Course(held.with_items(tx, shown), len(best))

    return on_snapshots(store, indexes, request.scope, space_id, work)


def _chosen(tx: Connection, states: Sequence[OwnerState], ranking: Ranking) -> list[_At]:
    """The versions of the topic: the best hit with its chain first, then the next that is not among them."""
    hits = _hits(ranking)
    of_chain, version_of = [], []
    for i, state in enumerate(states):
        whole = chains.chains(tx, state.id, [memory_no for at, memory_no in hits if at == i])
        members = np.array(sorted(frozenset().union(*whole.values())), np.int64)
        rows = ranking.evidence[i].snapshot.rows
        at = np.flatnonzero(ranking.eligible[i] & np.isin(rows["memory_no"], members))
        of_chain.append(whole)
        version_of.append(
            dict(zip(rows["memory_no"][at].tolist(), rows["version_no"][at].tolist(), strict=True))
        )
    return list(
        dict.fromkeys(
            (i, version_of[i][memory_no])
            for i, hit in hits
            for memory_no in sorted(of_chain[i][hit])
            if memory_no in version_of[i]
        )
    )


def _hits(ranking: Ranking) -> list[tuple[int, int]]:
    """The memories near the best one, best first: (number of the snapshot, number of the memory).

    By direct evidence: what else was said in the same breath is lifted, but about something else.
    """
    scores = [np.where(may, score, 0.0) for score, may in zip(ranking.direct, ranking.eligible, strict=True)]
    best = max((float(score.max(initial=0.0)) for score in scores), default=0.0)
    least = max(ranking.recipe.floor, best * (SHARE if best >= FAINT else SHARE_OF_FAINT))
    found: list[tuple[float, bytes, int, int]] = []
    for i, (score, evidence) in enumerate(zip(scores, ranking.evidence, strict=True)):
        rows = evidence.snapshot.rows
        near = np.flatnonzero(score >= least)
        found += zip(
            (-score[near]).tolist(),
            rows["uid"][near].tolist(),
            [i] * len(near),
            rows["memory_no"][near].tolist(),
            strict=True,
        )
    return [(i, memory_no) for _, _, i, memory_no in sorted(found)[:MOST]]
