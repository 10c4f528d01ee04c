"""Instants. Inside, an instant is an integer: microseconds since 1970-01-01T00:00:00Z.

Times go out as ISO 8601 in UTC with offset; naive times come in through the configured zone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .checks import shown
from .errors import ConfigError, ValidationError

Instant = int
Clock = Callable[[], Instant]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

# What datetime can hold in every zone, so that whatever is stored can be shown again: the years 1 to 9999,
# less two days at either end.
FIRST_INSTANT = -62_135_424_000_000_000
LAST_INSTANT = 253_402_127_999_999_999
# What people write for "for ever": the end of the year 9999. It is taken as the last instant.
NEVER = 253_402_300_800_000_000

# Epoch numbers from here on are read as milliseconds (as seconds they would lie after the year 5000).
MILLISECONDS_FROM = 100_000_000_000

OFFSET = re.compile(r"UTC([+-])(\d{2}):(\d{2})\Z")
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)\Z", re.ASCII)
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# ISO's other ways to write a day alone: 20240229, 2024-W09-4, 2024W094.
_DAY_ALONE = re.compile(r"(?:\d{8}|\d{4}-?W\d{2}-?\d)\Z")
PARTIAL_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?\Z")

Precision = str  # "year", "month", "day" or "instant"


@dataclass(frozen=True, slots=True)
class When:
    """A time as told: the half-open range [start, end) it may lie in, and how exactly it was told."""

    start: Instant
    end: Instant
    precision: Precision

    @property
    def over(self) -> Instant:
        """Where what lasts until then is over: at an instant itself, or at the end of a day, month or year."""
        return self.start if self.precision == "instant" else self.end


def now() -> Instant:
    """The present instant of the system clock."""
    return time.time_ns() // 1000


def to_instant(moment: datetime) -> Instant:
    """The instant of an aware datetime."""
    return (moment.astimezone(UTC) - EPOCH) // MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    """The aware UTC datetime of an instant."""
    return EPOCH + timedelta(microseconds=instant)


@lru_cache(maxsize=4096)
def iso(instant: Instant | None) -> str | None:
    """ISO 8601 in UTC with offset, `None` for `None`."""
    return None if instant is None else to_datetime(instant).isoformat()


def zone(name: str | tzinfo | None) -> tzinfo:
    """The time zone of an IANA name; `None` is UTC. Raises `ConfigError` for an unknown name."""
    if name is None:
        return UTC
    if isinstance(name, tzinfo):
        return name
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError) as fault:
        raise ConfigError(f"timezone: {name!r} is not an IANA time zone such as 'Europe/Berlin'.") from fault


def zone_name(tz: tzinfo) -> str:
    """What `zone_named` finds a zone by: its IANA name, or "UTC+02:00" for an offset."""
    return tz.key if isinstance(tz, ZoneInfo) and tz.key is not None else str(tz)


def zone_named(name: str) -> tzinfo:
    """The zone that `zone_name` gave this name. Raises `ConfigError` for an unknown one."""
    offset = OFFSET.match(name)
    if offset is None:
        return zone(name)
    minutes = 60 * int(offset[2]) + int(offset[3])
    return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))


def day_start(day: date, tz: tzinfo) -> Instant:
    """The first instant of a day in a zone."""
    return to_instant(datetime(day.year, day.month, day.day, tzinfo=tz))


def day_of(instant: Instant, tz: tzinfo) -> date:
    """The day in a zone on which an instant lies."""
    return to_datetime(instant).astimezone(tz).date()


def parse_when(value: Any, tz: tzinfo, *, field: str) -> When:
    """Read a time: datetime, date, ISO string (also `2023`, `2023-03`), epoch seconds or milliseconds.

    Naive times are read in `tz`. Raises `ValidationError` naming `field` for anything else, including
    booleans, impossible dates and instants outside the years 1 to 9999.
    """
    try:
        found = _read(value, tz)
    except (ValueError, OverflowError) as fault:
        raise _not_a_time(value, field) from fault
    if found is None or not FIRST_INSTANT <= found.start <= NEVER:
        raise _not_a_time(value, field)
    return replace(found, start=min(found.start, LAST_INSTANT), end=min(found.end, LAST_INSTANT + 1))


def parse_instant(value: Any, tz: tzinfo, *, field: str) -> Instant:
    """Like `parse_when`, giving the first instant of what was told."""
    return parse_when(value, tz, field=field).start


def parse_day(value: Any, tz: tzinfo, *, field: str) -> date:
    """Read a whole day: date, datetime (its day in `tz` if aware), or `YYYY-MM-DD`.

    Raises `ValidationError` with mem0's wording otherwise.
    """
    if isinstance(value, datetime):
        return _day_of_moment(value, tz, field)
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError as fault:
            message = f"{field} must be a valid date in YYYY-MM-DD format, not {value[:80]!r}."
            raise ValidationError(message) from fault
    raise ValidationError(f"{field} must be a date string in YYYY-MM-DD format, not {type(value).__name__}.")


def parse_duration(value: Any, *, field: str) -> int:
    """Read a length of time: a timedelta, seconds, or a number with s, m, h, d or w as in "45m"; in microseconds.

    A day is 24 hours. Raises `ValidationError` naming `field` for anything else, and for what is not positive.
    """
    try:
        length = _read_duration(value)
    except (OverflowError, ValueError) as fault:
        raise _no_duration(value, field) from fault
    if length is None or length <= 0:
        raise _no_duration(value, field)
    return length


def _read_duration(value: Any) -> int | None:
    if isinstance(value, timedelta):
        return value // MICROSECOND
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * 1_000_000)
    found = DURATION.match(value.strip().casefold()) if isinstance(value, str) else None
    return None if found is None else round(float(found[1]) * SECONDS[found[2]] * 1_000_000)


def _no_duration(value: Any, field: str) -> ValidationError:
    return ValidationError(
        f"{field} must be a timedelta, seconds, or a text such as '45m', '12h', '30d' or '2w', and more than nothing,"
        f" not {shown(value)}.",
        details={"field": field},
    )


def offset_of(value: Any) -> int | None:
    """The minutes east of UTC in which a time was told; None where it tells none.

    UTC itself tells none: it is how machines write times, wherever their users are.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    offset = value.utcoffset() if isinstance(value, datetime) else None
    return None if not offset else int(offset / timedelta(minutes=1))


def zone_at(offset: int | None, otherwise: tzinfo) -> tzinfo:
    """The zone of an offset that `offset_of` gave; where it gave none, another."""
    return otherwise if offset is None else timezone(timedelta(minutes=offset))


def _day_of_moment(moment: datetime, tz: tzinfo, field: str) -> date:
    try:
        return moment.astimezone(tz).date() if moment.tzinfo else moment.date()
    except (ValueError, OverflowError) as fault:
        raise _not_a_time(moment, field) from fault


def _read(value: Any, tz: tzinfo) -> When | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, datetime):
        return _point(to_instant(value if value.tzinfo else value.replace(tzinfo=tz)))
    if isinstance(value, date):
        return _day(value, tz)
    if isinstance(value, int | float):
        seconds = value / 1000 if abs(value) >= MILLISECONDS_FROM else value
        return _point(round(seconds * 1_000_000))
    if isinstance(value, str):
        return _read_text(value.strip(), tz)
    return None


def _read_text(text: str, tz: tzinfo) -> When:
    partial = PARTIAL_DATE.match(text)
    if partial is None:
        if _DAY_ALONE.match(text):
            return _day(date.fromisoformat(text), tz)
        moment = datetime.fromisoformat(text)
        return _point(to_instant(moment if moment.tzinfo else moment.replace(tzinfo=tz)))
    year, month, day = (int(part) if part else None for part in partial.groups())
    assert year is not None
    if month is None:
        return _span(date(year, 1, 1), date(year + 1, 1, 1) if year < 9999 else date.max, "year", tz)
    if day is None:
        after = date(year + month // 12, month % 12 + 1, 1) if (year, month) < (9999, 12) else date.max
        return _span(date(year, month, 1), after, "month", tz)
    return _day(date(year, month, day), tz)


def _point(instant: Instant) -> When:
    return When(instant, instant + 1, "instant")


def _day(day: date, tz: tzinfo) -> When:
    return _span(day, day + timedelta(days=1) if day < date.max else day, "day", tz)


def _span(first: date, after: date, precision: Precision, tz: tzinfo) -> When:
    return When(day_start(first, tz), day_start(after, tz), precision)


def _not_a_time(value: Any, field: str) -> ValidationError:
    return ValidationError(
        f"{field} must be an ISO 8601 time, a date, a datetime or epoch seconds, not {shown(value)}.",
        details={"field": field},
    )
