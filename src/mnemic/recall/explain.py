"""Why a row ranks where it does: read off the arrays of a ranking, for hits and for any other row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose

import numpy as np

from .arms import Evidence, word_weights
from .fuse import Ranking, beside

# Sums of floats differ by less.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Share:
    """What one signal gave: its value in [0, 1], its weight, and what it added to the score.

    `rank` is its place in this arm among the rows that might be returned (ties share one); None for a lift and
    for an arm that did not find the row.
    """

    name: str
    value: float
    weight: float
    contribution: float
    rank: int | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a row came to its score: `direct` plus the contributions of the lifts.

    rank: its place in the whole ranking; where it is not eligible (masked or dead), the one it would have.
    found: whether it counts as a hit at all. cosine: raw, None without a vector of query or row. bm25: raw.
    direct: the sum of the arms' contributions, or `same` where that is higher: the share of the row's words
    that are the query's, if it holds all of the query's; or `inherited`, from the memory it superseded, where
    that is higher still (else 0). words: which words of the query (by index of their
    group) the row holds, and `told` which ones the messages on its slot hold. left: the share of the score that recency
    left of it; None where that is off.
    """

    score: float
    rank: int
    eligible: bool
    found: bool
    cosine: float | None
    bm25: float
    direct: float
    same: float
    inherited: float
    arms: tuple[Share, ...]
    lifts: tuple[Share, ...]
    words: tuple[int, ...]
    told: tuple[int, ...]
    left: float | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query: in how many of the memories it stands, and what it weighs."""

    memories: int
    weight: float


@dataclass(frozen=True, slots=True)
class Overview:
    """A ranking as a whole: the memories it weighed words by, how many might be returned and were found, the
    arms that could speak with their weights, and the words of the query in order."""

    memories: int
    eligible: int
    found: int
    arms: dict[str, float]
    words: tuple[Word, ...]


def explain(ranking: Ranking, snapshot: int, row: int) -> Explanation:
    """The explanation of a row of a snapshot (by index), be it a hit or not.

    Where its score comes from the question as it stands, so do the shares, and the temporal arm gives nothing.
    """
    seen = _by_time(ranking, snapshot, row)
    if ranking.timeless is None or ranking.timing is None:
        return seen
    whole, share = _by_time(ranking.timeless, snapshot, row), beside(ranking.timing, ranking.recipe)
    left = 1.0 if seen.left is None else seen.left
    if not whole.score or not isclose(seen.score, left * share * whole.score):
        return seen
    groups = ranking.timeless.query.groups
    return replace(
        seen,
        direct=share * whole.direct,
        same=share * whole.same,
        inherited=share * whole.inherited,
        arms=(
            *(_part(one, share) for one in whole.arms),
            *(_part(one, 0.0) for one in seen.arms if one.name == "temporal"),
        ),
        lifts=tuple(_part(one, share) for one in whole.lifts),
        words=_same_words(groups, whole.words, ranking),
        told=_same_words(groups, whole.told, ranking),
    )


def _part(one: Share, share: float) -> Share:
    return replace(one, weight=share * one.weight, contribution=share * one.contribution)


def _same_words(
    groups: tuple[tuple[int, ...], ...], words: tuple[int, ...], ranking: Ranking
) -> tuple[int, ...]:
    """Words of another query, as far as they are words of the ranking's own, by its numbers."""
    held = {groups[i] for i in words}
    return tuple(i for i, group in enumerate(ranking.query.groups) if group in held)


def _by_time(ranking: Ranking, snapshot: int, row: int) -> Explanation:
    evidence = ranking.evidence[snapshot]
    held = evidence.snapshot
    slot = held.slots.rows[row]
    direct, score = float(ranking.direct[snapshot][row]), float(ranking.scores[snapshot][row])
    eligible = bool(ranking.eligible[snapshot][row])
    seen = evidence.cosines is not None and bool(held.vectored[row])
    kept = 1.0 - ranking.temporal * (1.0 - _value(evidence, "temporal", row))
    lifts = tuple(
        _lift(name, weight * kept, evidence, row, score, direct) for name, weight in ranking.recipe.lifts
    )
    # What the surroundings of another link of its chain lend to it, beyond its own.
    lent = float(ranking.lift[snapshot][row]) - sum(one.weight * one.value for one in lifts)
    if score > 0 and lent > _NOTHING:
        lifts = (*lifts, Share("chain", lent, 1.0, (1.0 - direct) * lent, None))
    return Explanation(
        score=score,
        rank=_place(ranking, score, held.rows["uid"][row]),
        eligible=eligible,
        found=eligible and score >= ranking.recipe.floor,
        cosine=float(evidence.cosines[row]) if evidence.cosines is not None and seen else None,
        bm25=float(evidence.bm25[row]),
        direct=direct,
        same=float(evidence.same[row]),
        inherited=direct if direct > float(ranking.own[snapshot][row]) else 0.0,
        arms=_arms(ranking, evidence, row),
        lifts=lifts,
        words=tuple(i for i, hits in enumerate(evidence.words) if np.any(hits.docs == row)),
        told=tuple(
            i for i, hits in enumerate(evidence.told) if np.any(held.slots.messages[hits.docs] == slot)
        ),
        left=None if ranking.fading is None else float(ranking.fading[snapshot][row]),
    )


def overview(ranking: Ranking) -> Overview:
    """What can be said of a ranking as a whole."""
    size = sum(evidence.snapshot.row_lengths.many for evidence in ranking.evidence)
    holding = [
        sum(len(evidence.words[i].docs) for evidence in ranking.evidence)
        for i in range(len(ranking.query.groups))
    ]
    found = [
        mask & (scores >= ranking.recipe.floor)
        for mask, scores in zip(ranking.eligible, ranking.scores, strict=True)
    ]
    return Overview(
        memories=size,
        eligible=sum(int(np.count_nonzero(mask)) for mask in ranking.eligible),
        found=sum(int(np.count_nonzero(mask)) for mask in found),
        arms=_weights(ranking),
        words=tuple(map(Word, holding, word_weights(ranking.query, holding, size, ranking.recipe))),
    )


def _weights(ranking: Ranking) -> dict[str, float]:
    if ranking.timing is None:
        return dict(ranking.arms)
    hangs = ranking.temporal
    return {name: (1.0 - hangs) * weight for name, weight in ranking.arms} | {"temporal": hangs}


def _arms(ranking: Ranking, evidence: Evidence, row: int) -> tuple[Share, ...]:
    """The arms; of each the temporal one takes a part, and gives it back as far as the time fits."""
    hangs = ranking.temporal
    arms = [_arm(ranking, name, (1.0 - hangs) * weight, evidence, row) for name, weight in ranking.arms]
    if not hangs:
        return tuple(arms)
    timeless = sum(weight * _value(evidence, name, row) for name, weight in ranking.arms)
    timed = _arm(ranking, "temporal", hangs, evidence, row)
    return (*arms, replace(timed, contribution=timed.contribution * timeless))


def _arm(ranking: Ranking, name: str, weight: float, evidence: Evidence, row: int) -> Share:
    value = _value(evidence, name, row)
    above = sum(
        int(np.count_nonzero(mask & (other.rows[name] > value)))
        for mask, other in zip(ranking.eligible, ranking.evidence, strict=True)
    )
    return Share(name, value, weight, weight * value, above + 1 if value > 0 else None)


def _lift(name: str, weight: float, evidence: Evidence, row: int, score: float, direct: float) -> Share:
    value = _value(evidence, name, row)
    return Share(name, value, weight, (1.0 - direct) * weight * value if score > 0 else 0.0, None)


def _value(evidence: Evidence, name: str, row: int) -> float:
    slots = evidence.snapshot.slots
    slot = slots.rows[row]
    if name in evidence.rows:
        return float(evidence.rows[name][row])
    if name in evidence.slots:
        return float(evidence.slots[name][slot])
    return float(evidence.episodes[name][slots.episode[slot]]) if name in evidence.episodes else 0.0


def _place(ranking: Ranking, score: float, uid: bytes) -> int:
    above = 0
    for mask, scores, evidence in zip(ranking.eligible, ranking.scores, ranking.evidence, strict=True):
        above += int(np.count_nonzero(mask & (scores > score)))
        ties = np.flatnonzero(mask & (scores == score))
        above += int(np.count_nonzero(evidence.snapshot.rows["uid"][ties] < uid))
    return above + 1
