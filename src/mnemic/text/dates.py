"""Dates that a text names, resolved against the instant at which it was said. Pure; the clock is never asked.

What a language calls a date is data, in `dates_en` and `dates_zh`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, tzinfo
from functools import cache

from ..clock import Instant, day_of, day_start
from .stretches import Precision, Stretch

# Without one of these a text names no date.
_LIKELY = re.compile(
    r"\d|[年月周週天日晚星礼禮早季]|day|tomorrow|night|morning|afternoon|evening|week|month|year|quarter|ago\b|last|past"
    r"|summer|winter|spring|autumn|fall|january|february|march|april|may\b|june|july|august|tember|tober|vember"
    r"|cember",
    re.IGNORECASE,
)
# Days that every zone can tell the instant of.
_FIRST, _LAST = date(1, 1, 5), date(9999, 12, 25)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to name a date: a pattern, and what the days are, None where the words name none after all.

    The group `at`, where the pattern has one, holds the words that name the date. assumed: as in `NamedDate`.
    """

    pattern: str
    resolve: Callable[[re.Match[str], date], Stretch | None]
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A date or stretch of days that a text names.

    start, end: the characters that name it, prepositions left out. first, after: its days, half-open; begins and
    ends: the instants at which they begin, half-open too. precision: what was named. assumed: the year or week was
    not told ("in March", "on Monday"), and the latest in the past was taken.
    """

    start: int
    end: int
    first: date
    after: date
    begins: Instant
    ends: Instant
    precision: Precision
    assumed: bool


def find_dates(text: str, said_at: Instant, tz: tzinfo) -> tuple[NamedDate, ...]:
    """The dates that `text` names, in order and without overlap, English and Chinese.

    Relative ones ("last summer", 去年三月) are resolved against the day in `tz` on which `said_at` lies; days are
    those of the calendar in `tz`, whatever their length. Seasons are those of the northern half of the world,
    a winter that of the year in which it begins, weeks begin on Monday. Where a date could be past or to come, the
    past one is taken and marked as `assumed`. Strict: words that may be no date ("May" as a name, "the other day")
    give none, and so do days that no calendar has. Never raises, for any text.
    """
    if _LIKELY.search(text) is None:
        return ()
    today = day_of(said_at, tz)
    found = sorted(_all(text, today), key=lambda one: (one[0], -one[1]))
    named: list[NamedDate] = []
    taken = 0
    for start, end, stretch, assumed in found:
        if start < taken:
            continue
        taken = end
        if stretch is None:
            continue
        begins, ends = day_start(stretch.first, tz), day_start(stretch.after, tz)
        days = (stretch.first, stretch.after, begins, ends, stretch.precision)
        named.append(NamedDate(start, end, *days, assumed))
    return tuple(named)


def _all(text: str, today: date) -> Iterator[tuple[int, int, Stretch | None, bool]]:
    """All that the rules find, overlaps too; without a stretch where no calendar has it: its parts are none then."""
    for pattern, rule in _rules():
        for match in pattern.finditer(text):
            start, end = match.span("at" if "at" in pattern.groupindex else 0)
            try:
                stretch = rule.resolve(match, today)
            except (ValueError, OverflowError):
                yield start, end, None, rule.assumed
                continue
            if stretch is not None and _FIRST <= stretch.first < stretch.after <= _LAST:
                yield start, end, stretch, rule.assumed


@cache
def _rules() -> tuple[tuple[re.Pattern[str], Rule], ...]:
    # Compiling them takes a while, which only texts with dates should pay.
    from . import dates_en, dates_zh

    rules = (*dates_en.RULES, *dates_zh.RULES)
    return tuple((re.compile(rule.pattern, re.IGNORECASE), rule) for rule in rules)
