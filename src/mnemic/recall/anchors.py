"""The memory that a question's "before I moved" or 入职青禾以前 means: whose time what is asked for goes by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

import numpy as np

from ..text.tokens import index_terms, query_terms
from .fuse import Ranking
from .lexical import Mask
from .snapshot import Snapshot
from .time_words import TimeWords, without_clauses
from .timing import FOR_EVER, Anchor, held

# A memory with less direct evidence than that is not what the words mean.
LEAST = 0.25
# So many of the best are looked at; of those nearly as good as the best, the one that began first is meant.
LOOKED_AT = 12
NEARLY = 0.8
# What a memory's bearing on the rest of the question adds: of "moved to Porto" and "ran in Porto" one is about homes.
BEARING = 0.15

Texts = Callable[[int, Sequence[int]], dict[int, str]]


def find_anchor(asked: TimeWords, named: Ranking, rest: Ranking, texts: Texts, tz: tzinfo) -> Anchor | None:
    """The memory that the anchor's words mean; None where no memory does.

    named, rest: the rankings of all that is believed by the anchor's words, and by the rest of the question. texts:
    those of some rows of a snapshot (by index). Of several that the words fit, the one that began first: a car is
    meant from when it was bought, not from when it was sold.
    """
    found = []
    for number, evidence in enumerate(named.evidence):
        snapshot = evidence.snapshot
        worth = named.own[number] + BEARING * rest.own[number]
        # What was kept word for word tells when something was talked about, not when it was.
        rows = np.flatnonzero(snapshot.live & (named.own[number] >= LEAST) & ~_verbatim(snapshot))
        found += [(float(worth[row]), snapshot.rows["uid"][row], number, int(row)) for row in rows]
    best = sorted(found, key=lambda one: (-one[0], one[1]))[:LOOKED_AT]
    best = _meant(asked.anchor, best, texts)
    if not best:
        return None
    near = [one for one in best if one[0] >= NEARLY * best[0][0]]
    times = {number: held(named.evidence[number].snapshot, tz) for _, _, number, _ in near}
    _, uid, number, row = min(near, key=lambda one: (times[one[2]].begins[one[3]], one[1]))
    own = times[number]
    ends = None if own.ends[row] >= FOR_EVER else int(own.ends[row])
    is_event, is_told = bool(own.is_event[row]), bool(own.is_dated[row] | own.is_linked[row])
    return Anchor(number, row, uid.decode(), int(own.begins[row]), ends, is_event, is_told or is_event)


def _verbatim(snapshot: Snapshot) -> Mask:
    kinds = snapshot.coded("kind")
    told: Mask = (
        kinds.codes == kinds.values.index("message")
        if "message" in kinds.values
        else np.zeros(snapshot.n, np.bool_)
    )
    return told


def _meant(
    phrase: str, found: Sequence[tuple[float, bytes, int, int]], texts: Texts
) -> list[tuple[float, bytes, int, int]]:
    """Those that do not merely place something else in time by the same words: "I lived in Rome before Porto"."""
    told: dict[tuple[int, int], str] = {}
    for number in {number for _, _, number, _ in found}:
        rows = [row for _, _, of, row in found if of == number]
        told.update({(number, row): text for row, text in texts(number, rows).items()})
    wanted = query_terms(phrase)
    return [one for one in found if not _only_aside(wanted, told.get((one[2], one[3]), ""))]


def _only_aside(wanted: Sequence[Sequence[str]], text: str) -> bool:
    plain = without_clauses(text)
    if plain == text:
        return False
    whole, left = index_terms(text), index_terms(plain)
    return any(
        any(form in whole for form in group) and not any(form in left for form in group) for group in wanted
    )
