"""Ranking: from the evidence of all arms to one absolute score per row, and the best rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arms import Evidence, Query, gather
from .lexical import Floats, Longs, Mask
from .recipe import DEFAULT, Recipe, Weights
from .snapshot import Snapshot
from .timing import Timing, fits, ruled_in

__all__ = ["Hit", "Query", "Ranking", "rank"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A row of one of the snapshots (by index) and its score."""

    snapshot: int
    row: int
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The hits, best first, and what they came from, which `recall.explain` reads.

    `arms` are the weights of the arms that could speak (their sum is 1), without the temporal one; `timing` is what
    that goes by, None where it is silent; `timeless` the ranking by the question as it stands. For each
    snapshot: the evidence; the direct score of every row by its `own` evidence and with what it inherits; its lift and
    score; which rows might be returned; and in `fading` what recency leaves of each score, None where that is off.
    """

    hits: tuple[Hit, ...]
    query: Query
    recipe: Recipe
    arms: Weights
    evidence: list[Evidence]
    own: list[Floats]
    direct: list[Floats]
    lift: list[Floats]
    scores: list[Floats]
    eligible: list[Mask]
    timing: Timing | None = None
    fading: Sequence[Floats] | None = None
    timeless: Ranking | None = None

    @property
    def temporal(self) -> float:
        """The share of a score that hangs on the time asked about."""
        return 0.0 if self.timing is None else self.recipe.temporal


def rank(
    snapshots: Sequence[Snapshot],
    query: Query,
    masks: Sequence[Mask],
    limit: int,
    recipe: Recipe = DEFAULT,
    timing: Timing | None = None,
    fading: Sequence[Floats] | None = None,
    timeless: Ranking | None = None,
) -> Ranking:
    """The `limit` best of the rows that the masks (bool (n,) per snapshot) and their being live allow.

    The score of a row is absolute and lies in [0, 1]:

        direct = weighted mean of the arms that can speak to this query
        score  = direct + (1 - direct) * sum of weight * lift

    so direct evidence counts in full, and the surroundings fill a part of what it leaves open. Where a row
    holds every word of the query, `direct` is at least the share of the row's words that these are: a
    memory's own text as query scores 1 whatever the embedder. A row is found by direct evidence (a vector is
    always some) or by a word on its slot (the message that states it); without, what only its neighbours or
    its episode suggest is not. Scores below `recipe.floor` are no hits. An arm is silent, and its weight goes
    to the others, without a query vector, without any vector held or with an embedder that tells nothing
    (dense); without a word in the query (lexical).

    A memory that superseded another inherits `recipe.heir` of the direct evidence for it, where that is more
    than its own. Where a time is asked about, all of a chain inherit `recipe.alike` of one another's.

    Where a time is asked about (`timing`), a row keeps of its direct evidence and of its lift the share

        1 - recipe.temporal * (1 - temporal signal)

    which its own text as query never falls below. A memory may tell the time in its words, as "in summer 2021" or
    "after the accident"; so the score in a ranking by the question as it stands (`timeless`) counts
    `recipe.timeless` beside, where that is more: `recipe.anchored` where the time is one that was told of an anchor,
    nothing for an anchor that is no answer itself. A question that asks for nothing else is answered by time alone,
    at `recipe.timely`.

    fading: what is left of the score of each row, per snapshot; all of it, if not given.

    Hits are ordered by score, then id. A score depends on the live rows and messages of all the snapshots
    together, on nothing else: not on the masks, not on the order of the snapshots or of the rows in them.
    Raises `EmbedderMismatchError` for a query vector of another length than those held.
    """
    evidence = gather(snapshots, query, recipe)
    speaking = [(name, weight) for name, weight in recipe.arms if any(name in e.rows for e in evidence)]
    total = sum(weight for _, weight in speaking)
    arms = tuple((name, weight / total) for name, weight in speaking)
    own = [_direct(e, arms) for e in evidence]
    direct = [_inherited(e, found, recipe.heir) for e, found in zip(evidence, own, strict=True)]
    lift = [_lift(e, recipe) for e in evidence]
    if timing is not None:
        for e, fit in zip(evidence, fits(snapshots, timing), strict=True):
            e.rows["temporal"] = fit
        direct = [_alike(e, of, recipe.alike) for e, of in zip(evidence, own, strict=True)]
        lift = [
            np.maximum(of, np.minimum(_alike(e, of, recipe.alike), shared))
            for e, of, shared in zip(evidence, lift, direct, strict=True)
        ]
    if query.whole:
        own, direct = (
            [_in_time(*one, query, recipe) for one in zip(evidence, of, strict=True)] for of in (own, direct)
        )
        lift = [up * _kept(e, recipe) for e, up in zip(evidence, lift, strict=True)]
    scores = [_score(e, d, up) for e, d, up in zip(evidence, direct, lift, strict=True)]
    if timeless is not None and timing is not None:
        share = beside(timing, recipe)
        scores = [
            np.maximum(by_time, share * ruled_in(timeless.scores[i], e.snapshot, i, timing))
            for i, (by_time, e) in enumerate(zip(scores, evidence, strict=True))
        ]
    if fading is not None:
        scores = [score * left for score, left in zip(scores, fading, strict=True)]
    eligible = [mask & s.live for mask, s in zip(masks, snapshots, strict=True)]
    hits = _best(snapshots, scores, eligible, limit, recipe.floor)
    found = (hits, query, recipe, arms, evidence, own, direct, lift, scores, eligible)
    return Ranking(*found, timing=timing, fading=fading, timeless=timeless)


def _direct(evidence: Evidence, arms: Weights) -> Floats:
    mean = np.zeros(evidence.snapshot.n)
    for name, weight in arms:
        mean += weight * evidence.rows[name]
    return np.minimum(np.maximum(mean, evidence.same), 1.0)


def beside(timing: Timing, recipe: Recipe) -> float:
    """What the score by the question as it stands counts beside that by the time asked about."""
    return recipe.anchored if timing.anchor is not None and timing.anchor.is_told else recipe.timeless


def _in_time(evidence: Evidence, direct: Floats, query: Query, recipe: Recipe) -> Floats:
    """What is left of direct evidence by the time asked about: all of it for a memory in the words of the query."""
    kept = direct * _kept(evidence, recipe)
    if query.bare and "temporal" in evidence.rows:
        kept = np.maximum(kept, recipe.timely * evidence.rows["temporal"])
    return np.maximum(kept, evidence.same)


def _kept(evidence: Evidence, recipe: Recipe) -> Floats | float:
    """The share of its evidence that each row keeps; all where the temporal arm is silent."""
    fit = evidence.rows.get("temporal")
    return 1.0 if fit is None else 1.0 - recipe.temporal * (1.0 - fit)


def _inherited(evidence: Evidence, own: Floats, share: float) -> Floats:
    """What each row has of its own or inherits: "I moved to Oslo" answers what "I live in Rome" answered.

    A chain of successors passes it on, each step by the same share.
    """
    old, new = evidence.snapshot.heirs
    return _passed_on(own, old, new, share)


def _alike(evidence: Evidence, values: Floats, share: float) -> Floats:
    """What the rows of a chain of successors have together: which of them answers is for the time to say."""
    old, new = evidence.snapshot.heirs
    return _passed_on(values, np.concatenate((old, new)), np.concatenate((new, old)), share)


def _passed_on(own: Floats, givers: Longs, takers: Longs, share: float) -> Floats:
    passed = own
    for _ in range(len(givers)):
        before, passed = passed, passed.copy()
        np.maximum.at(passed, takers, share * before[givers])
        if np.array_equal(before, passed):
            break
    return passed


def _lift(evidence: Evidence, recipe: Recipe) -> Floats:
    """The weighted sum of the lifts: episodes first, then slots, then rows, so that little is moved about."""
    slots = evidence.snapshot.slots
    of_episode, of_slot, of_row = np.zeros(slots.episodes), np.zeros(slots.size), np.zeros(len(slots.rows))
    for name, weight in recipe.lifts:
        for signals, sums in (
            (evidence.episodes, of_episode),
            (evidence.slots, of_slot),
            (evidence.rows, of_row),
        ):
            if name in signals:
                sums += weight * signals[name]
    of_slot += of_episode[slots.episode]
    return of_row + of_slot[slots.rows]


def _score(evidence: Evidence, direct: Floats, lift: Floats) -> Floats:
    found = (direct > 0) | evidence.related[evidence.snapshot.slots.rows]
    return np.where(found, direct + (1.0 - direct) * lift, 0.0)


def _best(
    snapshots: Sequence[Snapshot],
    scores: Sequence[Floats],
    eligible: Sequence[Mask],
    limit: int,
    floor: float,
) -> tuple[Hit, ...]:
    if limit < 1 or not snapshots:
        return ()
    rows = [_top(score, mask, limit, floor) for score, mask in zip(scores, eligible, strict=True)]
    owners = np.repeat(np.arange(len(rows)), [len(of_one) for of_one in rows])
    found = np.concatenate([score[of_one] for score, of_one in zip(scores, rows, strict=True)])
    uids = np.concatenate([s.rows["uid"][of_one] for s, of_one in zip(snapshots, rows, strict=True)])
    order = np.lexsort((uids, -found))[:limit]
    joined = np.concatenate(rows)
    return tuple(
        Hit(owner, row, score)
        for owner, row, score in zip(
            owners[order].tolist(), joined[order].tolist(), found[order].tolist(), strict=True
        )
    )


def _top(scores: Floats, eligible: Mask, limit: int, floor: float) -> Longs:
    """The rows with the best scores, those that tie with the last one too, in any order."""
    rows = np.flatnonzero((scores >= floor) & eligible)
    if len(rows) > limit:
        found = scores[rows]
        least = np.partition(found, len(found) - limit)[len(found) - limit]
        rows = rows[found >= least]
    return rows
