"""The temporal arm: how the time of each memory fits the time that a question asks about, from 0 to 1.

A memory holds from its `valid_from`, or the day of its event, or else from when it was said, to its `valid_to`, or
without end. One that tells an event, with its day and no more, is over with that day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

import numpy as np

from ..clock import Instant, day_start
from .lexical import Floats, Longs, Mask
from .snapshot import NO_DAY, NO_MEMORY, NULL_INSTANT, Snapshot
from .time_words import Notion, Relation, TimeWords

DAY = 86_400_000_000.0
FOR_EVER = 2.0**63
# How long before something what held then is half as near to it as what held just before.
_YEAR, _SEASON, _MONTH = 365.0 * DAY, 90.0 * DAY, 30.0 * DAY
# What a memory is worth that held then too, when another one began, ended or happened just then.
_HELD, _HELD_AS_FAR_AS_KNOWN = 0.9, 0.5
# How many steps along a chain of successors are followed.
_STEPS = 8


@dataclass(frozen=True, slots=True)
class Anchor:
    """The memory whose time a question goes by: its snapshot (by index), row and id, since and until when it held.

    is_told: whether that was told, or shown by a change; else it is only known when it was said.
    """

    snapshot: int
    row: int
    uid: str
    begins: Instant
    ends: Instant | None
    is_event: bool
    is_told: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """What time a question asks about: [begins, ends), how memories are to lie to it, and what led there.

    relation is '' where only the notion tells. now: the instant the question is asked at.
    """

    asked: TimeWords
    now: Instant
    tz: tzinfo
    notion: Notion
    relation: Relation = ""
    begins: Instant = 0
    ends: Instant = 0
    anchor: Anchor | None = None


def timing(asked: TimeWords, now: Instant, tz: tzinfo, anchor: Anchor | None) -> Timing | None:
    """What a question asks about; None where it asks for no particular time, or for one that cannot be told."""
    notion = "none" if asked.notion in ("when", "current") else asked.notion
    if asked.window is not None:
        begins, ends = asked.window
        begins = ends if asked.relation == "after" else begins
        return Timing(asked, now, tz, notion, asked.relation, begins, ends)
    if anchor is not None:
        begins, ends = _around(asked, now, anchor)
        return Timing(asked, now, tz, notion, asked.relation, begins, ends, anchor)
    return None if notion == "none" else Timing(asked, now, tz, notion)


def is_known(snapshots: Sequence[Snapshot], asked: Timing) -> bool:
    """Whether any memory is of the time asked about: one that began, ended or happened then, or surely held."""
    found = zip(fits(snapshots, asked), snapshots, strict=True)
    return any(bool(np.any(fit[snapshot.live] > _HELD_AS_FAR_AS_KNOWN)) for fit, snapshot in found)


def _around(asked: TimeWords, now: Instant, anchor: Anchor) -> tuple[Instant, Instant]:
    """When the anchor was: all of the time that it lasted, or the day on which it began or ended."""
    ends = max(now, anchor.begins) + 1 if anchor.ends is None else anchor.ends
    if asked.ending and anchor.ends is not None and not anchor.is_event:
        return ends, ends + int(DAY)
    if asked.relation == "during" and (asked.lasting or anchor.is_event):
        return anchor.begins, max(ends, anchor.begins + 1)
    return anchor.begins, anchor.begins + int(DAY)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Since and until when each row of a snapshot holds, in microseconds; which only tell an event of a day, of
    which it is told since when they hold, and which are a link in a chain of changes."""

    begins: Floats
    ends: Floats
    is_event: Mask
    is_dated: Mask
    is_linked: Mask


def held(snapshot: Snapshot, tz: tzinfo) -> Held:
    """The times of all rows."""
    valid_from, valid_to = snapshot.column("valid_from"), snapshot.column("valid_to")
    told, days = valid_from != NULL_INSTANT, snapshot.rows["event_day"]
    dated, open_ended = days != NO_DAY, valid_to == NULL_INSTANT
    starts = np.zeros(snapshot.n)
    starts[dated] = _starts(days[dated], tz)
    observed = snapshot.column("observed_at")
    begins = np.where(dated, starts, observed.astype(np.float64))
    # An event's day is its time, also where that is told as the time since when it holds.
    is_event = dated & open_ended
    begins = np.where(told & ~is_event, valid_from, begins)
    ends = np.where(open_ended, FOR_EVER, valid_to.astype(np.float64))
    ends = np.where(is_event, begins + DAY, ends)
    linked = snapshot.rows["successor_no"] != NO_MEMORY
    linked[snapshot.heirs[1]] = True
    return Held(begins, ends, is_event, told, linked | ~open_ended)


def _starts(days: Longs, tz: tzinfo) -> Floats:
    """The instants at which days begin in a zone."""
    distinct, at = np.unique(days, return_inverse=True)
    epoch = datetime(1970, 1, 1, tzinfo=UTC).date()
    return np.array([day_start(epoch + timedelta(days=int(day)), tz) for day in distinct], np.float64)[at]


def fits(snapshots: Sequence[Snapshot], asked: Timing) -> list[Floats]:
    """How each row of each snapshot fits. It depends on the row's own times and those asked for, and for an anchor
    on the chain of memories that superseded one another up to it and from it on."""
    return [_fit(i, snapshot, asked) for i, snapshot in enumerate(snapshots)]


def _fit(number: int, snapshot: Snapshot, asked: Timing) -> Floats:
    times = held(snapshot, asked.tz)
    if not asked.relation:
        return _ended(times, asked.now) if asked.notion == "past" else _changed(snapshot, times, asked.now)
    begins, ends = float(asked.begins), float(asked.ends)
    happens = asked.relation == "during" and asked.asked.happens
    fit: Floats = (_happened if happens else _RELATIONS[asked.relation])(times, begins, ends)
    if asked.notion == "past":
        fit *= np.where(times.ends <= asked.now, 1.0, 0.8)
    anchor = asked.anchor
    if anchor is not None and anchor.snapshot == number:
        _along_the_chain(fit, snapshot, anchor.row, asked.relation)
    return np.clip(fit, 0.0, 1.0)


def ruled_in(scores: Floats, snapshot: Snapshot, number: int, asked: Timing) -> Floats:
    """Scores in a snapshot (by index), 0 for an anchor that is no answer itself, and for what is told to lie on the
    other side of it."""
    anchor = asked.anchor
    if anchor is None or asked.relation not in ("before", "after", "until"):
        return scores
    times = held(snapshot, asked.tz)
    beyond = times.ends <= asked.begins if asked.relation == "after" else times.begins >= asked.begins
    left = np.where(beyond & (times.is_dated | times.is_linked), 0.0, scores)
    if anchor.snapshot == number:
        left[anchor.row] = 0.0
    return left


def _nearness(gap: Floats, half: float) -> Floats:
    """1 for no distance, a half at `half`, less and less beyond."""
    return 1.0 / (1.0 + np.maximum(gap, 0.0) / half)


def _during(times: Held, begins: float, ends: float) -> Floats:
    """Best what began within, or happened; then what held then, the more the larger a part of either that was."""
    length = np.minimum(times.ends - times.begins, ends - begins)
    shared = np.minimum(times.ends, ends) - np.maximum(times.begins, begins)
    part = np.clip(shared / np.maximum(length, 1.0), 0.0, 1.0)
    within = (times.begins >= begins) & (times.begins < ends)
    is_state = times.is_dated | times.is_linked
    held_then = np.where(is_state, _HELD, _HELD_AS_FAR_AS_KNOWN) * (0.5 + 0.5 * part)
    fit = np.where(within, np.where(is_state, 0.6 + 0.4 * part, 1.0), held_then)
    # What is told of an event may tell of what came of it; what was said soon after may tell of then.
    after = np.where(times.is_event & (times.ends <= begins), 0.3, 0.1)
    said_later = 0.4 * _nearness(times.begins - ends, _MONTH)
    apart = np.where(times.begins >= ends, np.where(times.is_dated, 0.0, said_later), after)
    return np.where(shared > 0, fit, apart)


def _happened(times: Held, begins: float, ends: float) -> Floats:
    """As `during`; but what held longer than that counts by how much of its own time that was."""
    shared = np.minimum(times.ends, ends) - np.maximum(times.begins, begins)
    own = np.clip(shared / np.maximum(times.ends - times.begins, 1.0), 0.0, 1.0)
    began_before = (times.begins < begins) & (shared > 0)
    return np.where(began_before, 0.3 + 0.6 * own, _during(times, begins, ends))


def _before(times: Held, begins: float, _: float) -> Floats:
    """Best what ended just then, give or take a day; then what held until later, and what was over by then."""
    over = 0.4 + 0.6 * _nearness(begins - times.ends, _SEASON * 2)
    over = np.where(times.is_event, 0.4 + 0.5 * _nearness(begins - times.ends, _SEASON), over)
    lasting = 0.6 + 0.2 * _nearness(begins - times.begins, _YEAR)
    return np.where(times.begins >= begins, 0.0, np.where(times.ends <= begins + DAY, over, lasting))


def _after(times: Held, begins: float, _: float) -> Floats:
    """Best what began soon after."""
    begun = 0.5 + 0.5 * _nearness(times.begins - begins, _YEAR)
    return np.where(times.begins >= begins, begun, np.where(times.ends > begins, 0.2, 0.0))


def _since(times: Held, begins: float, _: float) -> Floats:
    """Best what began since, then what has held since."""
    return np.where(times.begins >= begins, 1.0, np.where(times.ends > begins, _HELD_AS_FAR_AS_KNOWN, 0.0))


def _until(times: Held, begins: float, ends: float) -> Floats:
    """Best what ended then, then what held before, as for `before`."""
    then = (times.ends >= begins) & (times.ends <= ends) & (times.begins < begins)
    return np.where(then, 1.0, 0.9 * _before(times, begins, ends))


_RELATIONS = {"during": _during, "before": _before, "after": _after, "since": _since, "until": _until}


def _ended(times: Held, now: Instant) -> Floats:
    """What is over, best what has been so for the shortest time; an event is not over as a state is.

    Of what is not known to be over, the older is likelier to be.
    """
    age = 1.0 - _nearness(now - times.begins, 3 * _YEAR)
    over = np.where(times.is_event, 0.4, 0.75 + 0.25 * _nearness(now - times.ends, _YEAR))
    return np.where(times.ends <= now, over, 0.1 + 0.3 * age)


def _changed(snapshot: Snapshot, times: Held, now: Instant) -> Floats:
    """What has ended, then what came in its place."""
    fit = np.where((times.ends <= now) & ~times.is_event, 1.0, 0.2)
    new = snapshot.heirs[1]
    fit[new] = np.maximum(fit[new], 0.6)
    return fit


def _along_the_chain(fit: Floats, snapshot: Snapshot, anchor: int, relation: Relation) -> None:
    """An anchor is not before or after itself; what it superseded, or what superseded it, is, by every step less."""
    if relation in ("before", "after", "until"):
        fit[anchor] = 0.0
    if relation in ("during", "since"):
        return
    old, new = snapshot.heirs
    came, follows = (new, old) if relation in ("before", "until") else (old, new)
    at, worth, seen = np.array([anchor]), 1.0, {anchor}
    for _ in range(_STEPS):
        at = np.array([row for row in follows[np.isin(came, at)].tolist() if row not in seen], np.int64)
        if not len(at):
            return
        seen.update(at.tolist())
        fit[at] = np.maximum(fit[at], worth)
        worth -= 0.12
