"""Stretches of whole days: a year, a season, a month, a week, a day, and steps between them. Calendar only, no zone.

Each function raises `ValueError` or `OverflowError` for what no calendar has: a 30th of February, the year 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Precision = Literal["decade", "year", "half", "season", "quarter", "month", "week", "weekend", "day", "range"]

# The month in which a season begins (northern half of the world, whole months); it takes three.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Days from `first` up to, and without, `after`; and how exactly they were told."""

    first: date
    after: date
    precision: Precision


def of_day(at: date) -> Stretch:
    """One day."""
    return Stretch(at, at + timedelta(days=1), "day")


def of_week(at: date) -> Stretch:
    """The week from Monday on in which a day lies."""
    first = at - timedelta(days=at.weekday())
    return Stretch(first, first + timedelta(days=7), "week")


def of_weekend(at: date) -> Stretch:
    """Saturday and Sunday of the week in which a day lies."""
    saturday = at + timedelta(days=5 - at.weekday())
    return Stretch(saturday, saturday + timedelta(days=2), "weekend")


def months(year: int, month: int, many: int, precision: Precision) -> Stretch:
    """Whole months from one on; months beyond December, or before January, lie in the next or previous years."""
    return Stretch(_month_first(year, month), _month_first(year, month + many), precision)


def of_month(year: int, month: int) -> Stretch:
    """A month."""
    return months(year, month, 1, "month")


def of_quarter(year: int, quarter: int) -> Stretch:
    """A quarter, counted from 1."""
    return months(year, 3 * quarter - 2, 3, "quarter")


def of_half(year: int, half: int) -> Stretch:
    """A half of a year, 1 or 2."""
    return months(year, 6 * half - 5, 6, "half")


def of_year(year: int) -> Stretch:
    """A year."""
    return months(year, 1, 12, "year")


def of_decade(year: int) -> Stretch:
    """The ten years from one on."""
    return months(year, 1, 120, "decade")


def of_season(name: str, year: int) -> Stretch:
    """The season that begins in a year; a winter ends in the next."""
    return months(year, SEASONS[name], 3, "season")


def joined(one: Stretch, other: Stretch) -> Stretch:
    """From the first day of one to the last of the other. Raises `ValueError` where that is no way forward."""
    if one.first >= other.after:
        raise ValueError("a stretch that ends before it begins")
    return Stretch(one.first, other.after, "range")


def shifted(unit: str, today: date, by: int) -> Stretch:
    """The unit ("day", "week", "weekend", "month", "quarter", "year", "decade") so many units from that of today."""
    if unit == "day":
        return of_day(today + timedelta(days=by))
    if unit in ("week", "weekend"):
        then = today + timedelta(days=7 * by)
        return of_week(then) if unit == "week" else of_weekend(then)
    if unit == "month":
        return of_month(today.year, today.month + by)
    if unit == "quarter":
        return of_quarter(today.year, (today.month + 2) // 3 + by)
    if unit == "decade":
        return of_decade(today.year // 10 * 10 + 10 * by)
    return of_year(today.year + by)


def last_so_many(many: int, unit: str, today: date) -> Stretch:
    """The so many days, weeks, months or years up to the end of today."""
    after = today + timedelta(days=1)
    if unit in ("day", "week"):
        return Stretch(after - timedelta(days=many * (7 if unit == "week" else 1)), after, "range")
    begun = _month_first(after.year, after.month - many * (12 if unit == "year" else 1))
    # The same day of the month, or the last one that this month has.
    length = (_month_first(begun.year, begun.month + 1) - begun).days
    return Stretch(begun.replace(day=min(after.day, length)), after, "range")


def season_near(name: str, today: date, by: int) -> Stretch:
    """The season of today's year (0), the latest that is over (-1, and so on back), the next to come (1)."""
    year = today.year - (1 if name == "winter" and today.month < 3 else 0)
    if by < 0 and of_season(name, year).after <= today:
        by += 1
    if by > 0 and of_season(name, year).first > today:
        by -= 1
    return of_season(name, year + by)


def month_past(month: int, today: date) -> Stretch:
    """The latest month of that number that has begun."""
    return of_month(today.year - (month > today.month), month)


def day_past(month: int, day: int, today: date) -> Stretch:
    """The latest such day that is not yet to come; the 29th of February is looked for in leap years."""
    date(2000, month, day)
    for year in range(today.year, today.year - 9, -1):
        if (month, day) == (2, 29) and not _is_leap(year):
            continue
        at = date(year, month, day)
        if at <= today:
            return of_day(at)
    raise ValueError("no such day within eight years")


def weekday_before(weekday: int, today: date) -> Stretch:
    """The latest such weekday (Monday is 0) before today."""
    return of_day(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))


def weekday_of(weekday: int, today: date, weeks: int) -> Stretch:
    """A weekday of the week so many weeks from that of today."""
    return of_day(today + timedelta(days=7 * weeks + weekday - today.weekday()))


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _month_first(year: int, month: int) -> date:
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
