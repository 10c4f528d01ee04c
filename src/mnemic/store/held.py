"""What held when: believed versions in the order in which what they say began in the world.

It began at `valid_from`; else with the day of the event that is told, in the user's zone; else when it was said at the
latest, or just before its end where that came first. What ended where it began never held. SQL knows no zones, so
those that have only a day are read apart, ordered by it, and the two are merged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from operator import attrgetter

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select, tuple_

from ..clock import FIRST_INSTANT, LAST_INSTANT, Instant, day_of, day_start
from ..records import Held, Item, Kind
from . import schema as s
from .reading import Listing, items_of_versions, listed
from .schema import AnyRow, chunks
from .sound import decoding, instant, optional_instant

# Days of which every zone has the first instant.
_FIRST_DAY, _LAST_DAY = date(1, 1, 4), date(9999, 12, 29)
_DAY = timedelta(days=1)

_JOINED = s.version.join(
    s.memory, and_(s.memory.c.owner_id == s.version.c.owner_id, s.memory.c.no == s.version.c.memory_no)
)
_COLUMNS = (
    s.version.c.owner_id,
    s.version.c.no,
    s.version.c.memory_no,
    s.memory.c.kind,
    s.version.c.event_date,
    s.version.c.observed_at,
    s.version.c.valid_from,
    s.version.c.valid_from_precision,
    s.version.c.valid_to,
)
_QUERY = select(*_COLUMNS).select_from(_JOINED)
# The day of a message is that on which it was said, of which more is known.
_HAS_DAY_ONLY = and_(
    s.version.c.valid_from.is_(None), s.version.c.event_date != "", s.memory.c.kind != Kind.MESSAGE
)
_began = case(
    (s.version.c.valid_from.is_not(None), s.version.c.valid_from),
    (s.version.c.valid_to < s.version.c.observed_at, s.version.c.valid_to - 1),
    else_=s.version.c.observed_at,
)
_EVER_HELD = or_(
    s.version.c.valid_to.is_(None),
    s.version.c.valid_to != func.coalesce(s.version.c.valid_from, s.version.c.observed_at),
)


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of time [since, until) that something must overlap, open where None, and the zone of days."""

    tz: tzinfo
    since: Instant | None = None
    until: Instant | None = None

    def holds(self, held: Held) -> bool:
        """Whether the time in which something held overlaps it."""
        return (self.until is None or held.began < self.until) and (
            self.since is None or held.ended is None or held.ended > self.since
        )


def page(
    tx: Connection, listing: Listing, window: Window, after: tuple[Instant, int, int] | None, limit: int
) -> list[Held]:
    """At most `limit` of those that a listing without a page lists and the window holds, in the order of `Held.order`.

    after: where the last one of the page before stands in it.
    """
    whole, place = _in(tx, listing, window), (s.memory.c.owner_id, s.memory.c.no)
    told = _QUERY.where(whole, ~_HAS_DAY_ONLY, *_began_before(window)).order_by(_began, *place)
    days = _QUERY.where(whole, _HAS_DAY_ONLY, *_day_before(window)).order_by(s.version.c.event_date, *place)
    if after is not None:
        began, *last = after
        told = told.where(tuple_(_began, *place) > after)
        first = _first_day(began, window.tz)
        if _day_began(first, window.tz) == began:
            days = days.where(tuple_(s.version.c.event_date, *place) > (first.isoformat(), *last))
        else:
            days = days.where(s.version.c.event_date >= first.isoformat())
    found = [
        *_held(tx.execute(told.limit(limit)).all(), window.tz),
        *_held(tx.execute(days.limit(limit)).all(), window.tz),
    ]
    return sorted(found, key=attrgetter("order"))[:limit]


def count(tx: Connection, listing: Listing, window: Window) -> int:
    """How many of those that a listing lists the window holds."""
    began = or_(and_(~_HAS_DAY_ONLY, *_began_before(window)), and_(_HAS_DAY_ONLY, *_day_before(window)))
    query = select(func.count()).select_from(_JOINED).where(_in(tx, listing, window), began)
    return int(tx.execute(query).scalar_one())


def of_versions(tx: Connection, owner_id: int, version_nos: Sequence[int], window: Window) -> list[Held]:
    """When what some versions of an owner say held, in no order; only those that the window holds."""
    found: list[Held] = []
    for some in chunks(version_nos):
        query = _QUERY.where(s.version.c.owner_id == owner_id, s.version.c.no.in_(some), _EVER_HELD)
        found += [one for one in _held(tx.execute(query).all(), window.tz) if window.holds(one)]
    return found


def with_items(tx: Connection, found: Sequence[Held]) -> tuple[tuple[Held, Item], ...]:
    """Each with the memory that it is of, in their order."""
    by_owner: dict[int, list[int]] = defaultdict(list)
    for one in found:
        by_owner[one.owner_id].append(one.version_no)
    items = {
        (owner_id, version_no): item
        for owner_id, version_nos in by_owner.items()
        for version_no, item in items_of_versions(tx, owner_id, version_nos).items()
    }
    return tuple((one, items[one.owner_id, one.version_no]) for one in found)


def _in(tx: Connection, listing: Listing, window: Window) -> ColumnElement[bool]:
    """Those that are listed, ever held, and were not over before the window."""
    v = s.version.c
    parts = [listed(tx, listing), _EVER_HELD]
    if window.since is not None:
        parts.append(or_(v.valid_to.is_(None), v.valid_to > window.since))
    return and_(*parts)


def _began_before(window: Window) -> list[ColumnElement[bool]]:
    return [] if window.until is None else [_began < window.until]


def _day_before(window: Window) -> list[ColumnElement[bool]]:
    if window.until is None:
        return []
    return [s.version.c.event_date < _first_day(window.until, window.tz).isoformat()]


def _day_began(day: date, tz: tzinfo) -> Instant:
    return day_start(min(max(day, _FIRST_DAY), _LAST_DAY), tz)


def _first_day(at: Instant, tz: tzinfo) -> date:
    """The first day that begins at an instant or after it."""
    day = day_of(min(max(at, FIRST_INSTANT), LAST_INSTANT), tz)
    while day > date.min and _day_began(day - _DAY, tz) >= at:
        day -= _DAY
    return day if day == date.max or _day_began(day, tz) >= at else day + _DAY


def _held(rows: Sequence[AnyRow], tz: tzinfo) -> list[Held]:
    with decoding("a memory's times"):
        return [_one(row, tz) for row in rows]


def _one(row: AnyRow, tz: tzinfo) -> Held:
    ended, precision = optional_instant(row.valid_to), None
    if row.valid_from is not None:
        began, precision = instant(row.valid_from), row.valid_from_precision or "instant"
    elif row.event_date and row.kind != Kind.MESSAGE:
        began, precision = _day_began(date.fromisoformat(row.event_date), tz), "day"
    else:
        began = instant(row.observed_at)
        began = began if ended is None or ended >= began else ended - 1
    return Held(row.owner_id, row.memory_no, row.no, began, precision, ended)
