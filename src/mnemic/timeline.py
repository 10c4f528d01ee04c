"""When statements hold, and which of two that exclude one another gives way from when on. Pure: no clock, no store.

A statement holds in [begin, end). Where nobody told since when, it holds since it was said. Of two that exclude one
another, what was said later is believed where both speak of the same time; so the outcome depends on when things were
said and since when they hold, never on the order in which the store came to know them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from .clock import Instant, Precision


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a statement begins or ends, and how exactly that was told; None where nobody told it."""

    at: Instant
    precision: Precision | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """What was said at an instant and holds from `begin` to `end`, open where None.

    heir: which statement took its place at its end, if one did.
    """

    said_at: Instant
    begin: Edge
    end: Edge | None = None
    heir: int | None = None

    def ended(self, at: Edge, heir: int | None) -> Statement:
        """The same, with another end and heir."""
        return replace(self, end=at, heir=heir)

    def holds_at(self, at: Instant) -> bool:
        """Whether it holds at an instant."""
        return self.begin.at <= at and (self.end is None or self.end.at > at)


class Parted(NamedTuple):
    """Two statements that exclude one another, so that no instant is both's."""

    earlier: Statement
    later: Statement


def since(valid_from: Instant | None, said_at: Instant) -> Instant:
    """Since when a statement holds: as told, else since it was said."""
    return said_at if valid_from is None else valid_from


def part(earlier: Statement, later: Statement, earlier_id: int, later_id: int) -> Parted:
    """What becomes of two statements that exclude one another; `later` was said after `earlier`.

    Where the later one begins after the earlier, it takes its place. Where it begins before: it is over by then, or
    gives way, if it was told with an end or the earlier speaks of a time that was yet to come; else the earlier
    one never held, as what was said last says so.
    """
    both = max(earlier.begin, later.begin, key=lambda edge: edge.at)
    if not (earlier.holds_at(both.at) and later.holds_at(both.at)):
        return Parted(earlier, later)
    is_over = _told_as_over(later) or earlier.begin.at > later.said_at
    if later.begin.at <= earlier.begin.at and is_over:
        return Parted(earlier, later.ended(earlier.begin, earlier_id))
    return Parted(earlier.ended(both, later_id), later)


def _told_as_over(statement: Statement) -> bool:
    """Whether it was told with its end; one with an heir may have got its end from that."""
    return statement.end is not None and statement.heir is None


def inserted(old: Statement, new: Statement, new_id: int) -> Statement:
    """What takes the place of a statement that had given way to another already: until that one begins, so that
    their chain stays whole. `old` is as it was before `new` came."""
    if old.end is None or old.heir in (None, new_id) or old.end.at <= new.begin.at:
        return new
    if new.end is not None and new.end.at < old.end.at:
        return new
    return new.ended(old.end, old.heir)


def corrected(wrong: Statement, right: Statement, begins_told: bool) -> Statement:
    """What is right, in the place of what was wrong: since then, if nobody told since when (and it was not over by
    then), and until that ended, if it begins before."""
    was_over = right.end is not None and right.end.at <= wrong.begin.at
    if not begins_told and not was_over and wrong.begin.at < right.begin.at:
        right = replace(right, begin=wrong.begin)
    if wrong.end is not None and right.end is None and right.begin.at < wrong.end.at:
        right = right.ended(wrong.end, wrong.heir)
    return right


def kept_on(before: Statement, wrong: Statement) -> Statement:
    """What had given way to a statement that was wrong, and is itself what is right: until that would have ended."""
    return replace(before, end=wrong.end, heir=wrong.heir)


def relinked(before: Statement, wrong: Statement, right: Statement, right_id: int) -> Statement:
    """What had given way to a statement that was wrong, as it gives way to the right one, where that begins; or to the
    next one, where that begins before."""
    at, heir = right.begin, right_id
    if wrong.end is not None and wrong.heir is not None and wrong.end.at <= at.at:
        at, heir = wrong.end, wrong.heir
    if before.end is not None and before.end.at != wrong.begin.at:
        at = before.end
    return before.ended(at if at.at > before.begin.at else before.begin, heir)


def over(statement: Statement, said_at: Instant, told: Edge | None) -> Edge:
    """Where a statement ends that is said to be no longer true: at the edge that was told, if it had begun by then,
    else when that was said; not later than it was to end anyway."""
    end = told if told is not None and told.at > statement.begin.at else None
    if end is None:
        end = Edge(max(said_at, statement.begin.at + 1))
    if statement.end is not None and statement.end.at < end.at:
        return statement.end
    return end
