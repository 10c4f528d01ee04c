"""What ranking adds up, as data: the signals with their weights, and the numbers in the formulas."""

from __future__ import annotations

from dataclasses import dataclass

Weights = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The ingredients of `fuse.rank`; names are those of the signals in `arms`.

    `arms` are direct evidence, and what finds candidates; only their proportions count. `lifts` are what the
    surroundings lend; together at most 1. `window` is what a turn counts by its distance from the turn in the
    middle: an odd number of powers of two, so that sums are exact in any order; 2 * REACH + 1 at most. `k1`
    and `b` are those of BM25. `talk` is how many texts of general talk stand beside those held when an
    everyday word is weighed. `timeless` is what the score by the
    question as it stands, time words and all, counts beside, and `anchored` where that time is told of
    another memory. `unrelated` is what the mean cosine of unrelated texts counts, `noise` at most
    the highest. A score below `floor` is no hit.
    """

    arms: Weights
    lifts: Weights
    window: tuple[float, ...] = (0.5, 1.0, 1.0, 1.0, 0.5)
    k1: float = 1.2
    b: float = 0.75
    talk: float = 2000.0
    unrelated: float = 0.05
    noise: float = 0.3
    heir: float = 0.9
    alike: float = 0.97
    temporal: float = 0.9
    timely: float = 0.25
    timeless: float = 0.6
    anchored: float = 0.3
    floor: float = 0.01


DEFAULT = Recipe(
    arms=(("dense", 0.5), ("lexical", 0.5)),
    lifts=(("window", 0.3), ("near", 0.2), ("episode_lexical", 0.2), ("episode_dense", 0.1)),
)
