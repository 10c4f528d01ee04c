"""How English names dates, and dates in figures. Data, and the small functions that read a match."""

from __future__ import annotations

import re
from datetime import date, timedelta

from . import stretches as s
from .dates import Rule
from .stretches import Stretch

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SHORT = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNT = (
    ("zero",), ("one", "a", "an"), ("two", "a couple of"), ("three",), ("four",), ("five",), ("six",), ("seven",),
    ("eight",), ("nine",), ("ten",), ("eleven",), ("twelve",), ("thirteen",), ("fourteen",), ("fifteen",),
    ("sixteen",), ("seventeen",), ("eighteen",), ("nineteen",), ("twenty",),
)  # fmt: skip
_NUMBERS = {word: number for number, words in enumerate(_COUNT) for word in words}
_STEPS = {"last": -1, "past": -1, "this": 0, "this past": -1, "next": 1, "previous": -1}

_YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d]|[.,]\d|\s?[%€$£])"
_MONTH = r"(?P<month>" + "|".join(_MONTHS) + r")"
_ANY_MONTH = r"(?P<month>" + "|".join(_MONTHS) + r"|(?:" + "|".join(_SHORT) + r"|sept)\b\.?)"
# Names and verbs too, so that they need clearer company than the others.
_CLEAR = r"(?P<month>january|february|july|september|october|november|december)"
_UNCLEAR = r"(?P<month>march|april|may|june|august)"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_TH = r"(?P<th>st|nd|rd|th)"
_WEEKDAY = r"(?P<weekday>" + "|".join(_DAYS) + r")"
_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"
_UNIT = r"(?P<unit>day|week|weekend|month|quarter|year|decade)"
_NUMBER = r"(?P<number>\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")"
_STEP = r"(?P<step>this past|last|past|this|next|previous)"
# The end of a sentence or clause, where a word that could go on to be something else does not.
_CLOSED = r"(?=\s*(?:[,.;:!?)\"'”]|$|\n|[-–—]))"
_WEEKDAY_BEFORE = r"(?:(?:" + "|".join(_DAYS) + r"),?\s+(?:the\s+)?)?"
_OF_YEAR = rf"(?:,?\s+(?:of\s+|in\s+)?(?:{_YEAR}|(?P<step>last|this|next)\s+year\b))"
# What a number counts cannot be a year or a day.
_COUNTED = (
    r"(?!\s*-?\s*(?:people|persons|users|words|times|steps|dollars|euros|pounds|bucks|miles|metres|meters|km|m|kg|kcal"
    r"|calories|pieces|years|days|hours|hrs|minutes|mins|weeks|months|percent|points|euro|dollar|am|pm|x|rpm|watts?"
    r"|degrees|square|items|pages|files|rows|customers|employees|kilometers|kilometres|feet|yards|ft|lbs?)\b)"
)
_NOT_MINE = r"(?<!\bmy )(?<!\bher )(?<!\bhis )(?<!\bour )(?<!\byour )(?<!\btheir )"
_NO_HABIT = r"(?<!\bevery )(?<!\beach )(?<!\bany )"


def _month(match: re.Match[str]) -> int:
    return _SHORT.index(match["month"][:3].lower()) + 1


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]


def _year(match: re.Match[str], today: date) -> int | None:
    """The year named: by its number, or as that before or after today's; None where none is."""
    named = match.groupdict()
    if named.get("year"):
        return int(named["year"])
    return today.year + _STEPS[named["step"].lower()] if named.get("step") else None


def _is_verb(match: re.Match[str], day: str) -> bool:
    """Whether "may" and "march" in small letters are no months, as in "I may 2 times"."""
    small = match["month"] in ("may", "march", "mar")
    before = match.string[: match.start("month")].rstrip().rpartition(" ")[2].lower()
    return small and not day and before not in ("in", "on", "since", "until", "last", "of", "early", "late")


def _month_day(match: re.Match[str], today: date) -> Stretch | None:
    year, month, day = _year(match, today), _month(match), int(match["day"])
    if year is not None:
        return s.of_day(date(year, month, day))
    return None if _is_verb(match, match["th"] or "") else s.day_past(month, day, today)


def _month_year(match: re.Match[str], today: date) -> Stretch | None:
    year = _year(match, today)
    assert year is not None
    return None if _is_verb(match, match["year"] or "") else s.of_month(year, _month(match))


def _bare_month(match: re.Match[str], today: date) -> Stretch:
    return s.month_past(_month(match), today)


def _stepped_month(match: re.Match[str], today: date) -> Stretch | None:
    """ "Last March" is the latest that is over, "this March" this year's, "next March" the next to begin."""
    if match["month"][0].islower() and match["month"] in ("may", "march") and match["closed"] is None:
        return None
    step, month = _STEPS[match["step"].lower()], _month(match)
    if step < 0:
        return s.of_month(today.year - (month >= today.month), month)
    return s.of_month(today.year + (step > 0 and month <= today.month), month)


def _season(name: str) -> str:
    return "autumn" if name.lower() == "fall" else name.lower()


def _stepped_season(match: re.Match[str], today: date) -> Stretch:
    return s.season_near(_season(match["season"]), today, _STEPS[match["step"].lower()])


def _season_year(match: re.Match[str], today: date) -> Stretch:
    year = _year(match, today)
    assert year is not None
    return s.of_season(_season(match["season"]), year)


def _stepped(match: re.Match[str], today: date) -> Stretch:
    return s.shifted(match["unit"].lower(), today, _STEPS[match["step"].lower()])


def _before_last(match: re.Match[str], today: date) -> Stretch:
    name = match["unit"].lower()
    return (
        s.season_near(_season(name), today, -2) if _season(name) in s.SEASONS else s.shifted(name, today, -2)
    )


def _ago(match: re.Match[str], today: date) -> Stretch | None:
    many, unit = _number(match["number"]), match["unit"].lower()
    if many == 0:
        return None
    if _season(unit) in s.SEASONS:
        return s.season_near(_season(unit), today, -many)
    return s.shifted(unit, today, -many if match["way"].lower() == "ago" else many)


def _rolling(match: re.Match[str], today: date) -> Stretch:
    return s.last_so_many(_number(match["number"]), match["unit"].lower(), today)


def _day_word(match: re.Match[str], today: date) -> Stretch:
    word = " ".join(match[0].lower().split())
    days = {
        "the day before yesterday": -2,
        "day before yesterday": -2,
        "the day after tomorrow": 2,
        "day after tomorrow": 2,
        "last night": -1,
        "yesterday": -1,
        "tomorrow": 1,
    }
    return s.of_day(today + timedelta(days=days.get(word, 0)))


def _weekday(match: re.Match[str], today: date) -> Stretch:
    weekday, step = _DAYS.index(match["weekday"].lower()), match.groupdict().get("step")
    if step is None or _STEPS[step.lower()] < 0:
        return s.weekday_before(weekday, today)
    return s.weekday_of(weekday, today, _STEPS[step.lower()])


def _coming(match: re.Match[str], today: date) -> Stretch:
    return s.weekday_before(_DAYS.index(match["weekday"].lower()), today + timedelta(days=8))


def _weekday_of_week(match: re.Match[str], today: date) -> Stretch:
    return s.weekday_of(_DAYS.index(match["weekday"].lower()), today, _STEPS[match["step"].lower()])


def _figures(match: re.Match[str], _: date) -> Stretch:
    return s.of_day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _slashed(match: re.Match[str], _: date) -> Stretch | None:
    """Day and month in one or the other order, where only one of them is possible."""
    one, other, year = int(match["one"]), int(match["other"]), int(match["year"])
    if one == other or one > 12:
        return s.of_day(date(year, other, one))
    return s.of_day(date(year, one, other)) if other > 12 else None


def _figures_month(match: re.Match[str], _: date) -> Stretch:
    return s.of_month(int(match["year"]), int(match["month"]))


def _bare_day(match: re.Match[str], today: date) -> Stretch:
    day = int(match["day"])
    month = today.month - (day > today.day)
    return s.of_day(s.of_month(today.year, month).first.replace(day=day))


def _plain_year(match: re.Match[str], _: date) -> Stretch:
    return s.of_year(int(match["year"]))


def _part_of_year(match: re.Match[str], today: date) -> Stretch | None:
    year = _year(match, today)
    which = match["which"].lower()
    number = int(which) if which.isdecimal() else ("first", "second", "third", "fourth").index(which) + 1
    if year is None:
        year = today.year - (s.of_quarter(today.year, number).first > today)
    if match["part"].lower() in ("q", "quarter"):
        return s.of_quarter(year, number)
    return s.of_half(year, number) if number < 3 else None


def _decade(match: re.Match[str], _: date) -> Stretch:
    return s.of_decade(int(match["year"]))


def _years_between(match: re.Match[str], _: date) -> Stretch:
    return s.joined(s.of_year(int(match["year"])), s.of_year(int(match["year2"])))


def _months_between(match: re.Match[str], today: date) -> Stretch:
    first, last = (_SHORT.index(match[group][:3].lower()) + 1 for group in ("month", "month2"))
    named, first_named = match["year"], match["year1"]
    year = int(named) if named else today.year - (last > today.month)
    begun = int(first_named) if first_named else year - (first > last)
    return s.joined(s.of_month(begun, first), s.of_month(year, last))


RULES = (
    # 2023-05-01, 2023/5/1, 13.5.2023, 31/12/2023, 2023-05
    Rule(r"(?<![\w./#:+-])(?P<year>[12]\d{3})([-/])(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?![\d]|[-/.]\d)", _figures),
    Rule(r"(?<![\w./#:+-])(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>(?:19|20)\d\d)(?![\d]|[-/.]\d)", _figures),
    Rule(r"(?<![\w./#:+-])(?P<one>\d{1,2})/(?P<other>\d{1,2})/(?P<year>(?:19|20)\d\d)(?![\d]|[-/.]\d)", _slashed),
    Rule(r"(?<![\w./#:+-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\w]|[-/.]\w)", _figures_month),
    # 4 March, the 4th of March 2023, Monday, 4 March last year
    Rule(
        rf"(?<![\d.,:/$€£#-])(?P<at>\b{_WEEKDAY_BEFORE}{_DAY}{_TH}?(?:\s+of|\s+day\s+of)?\s+{_ANY_MONTH}\b"
        rf"{_OF_YEAR})",
        _month_day,
    ),
    Rule(
        rf"(?<![\d.,:/$€£#-])(?P<at>\b{_WEEKDAY_BEFORE}{_DAY}{_TH}?(?:\s+of)?\s+{_ANY_MONTH})\b(?!\s+\d{{4}})",
        _month_day,
        assumed=True,
    ),
    # March 4th, Mar 4, 2023, May the 4th
    Rule(rf"(?P<at>\b{_WEEKDAY_BEFORE}{_ANY_MONTH}\s+(?:the\s+)?{_DAY}{_TH}?\b{_OF_YEAR})", _month_day),
    Rule(
        rf"(?P<at>\b{_WEEKDAY_BEFORE}{_ANY_MONTH}\s+(?:the\s+)?{_DAY}{_TH}?)(?![\w:%/-]|[.,]\d){_COUNTED}",
        _month_day,
        assumed=True,
    ),
    # March 2023, March of last year, last year in March
    Rule(rf"\b{_ANY_MONTH}{_OF_YEAR}", _month_year),
    Rule(rf"\b(?P<step>last|this|next)\s+year,?\s+in\s+{_MONTH}\b(?P<year>(?!))?", _month_year),
    # in March, since July, before July
    Rule(
        rf"\b{_NO_HABIT}(?:in|since|until|till|during|early|mid|late|early in|late in|back in|around)[\s-]+"
        rf"(?P<at>{_MONTH})\b(?!\s+\d)",
        _bare_month,
        assumed=True,
    ),
    Rule(
        rf"\b(?:before|after|from|by|to|through|of|for|prior\s+to|between)\s+(?P<at>{_CLEAR})\b(?!\s+\d)",
        _bare_month,
        assumed=True,
    ),
    Rule(
        rf"\b(?:before|after|prior\s+to|(?:start|beginning|middle|end|week|weekend)\s+of)\s+(?P<at>{_UNCLEAR})\b"
        rf"{_CLOSED}",
        _bare_month,
        assumed=True,
    ),
    Rule(rf"\b{_STEP}\s+{_MONTH}\b(?!\s+(?:not|be|have|well|the)\b)(?P<closed>{_CLOSED})?", _stepped_month),
    # last summer, summer 2022, the summer before last
    Rule(
        rf"\b{_NOT_MINE}{_STEP}\s+{_SEASON}\b(?!\s+(?:rolls?|onions?|water|mattress|dress|was broken))", _stepped_season
    ),
    Rule(rf"\b{_SEASON}{_OF_YEAR}", _season_year),
    Rule(
        r"\bthe\s+(?P<unit>week|weekend|month|year|spring|summer|autumn|fall|winter)\s+before\s+last\b", _before_last
    ),
    # last month, this week, next year
    Rule(rf"\b(?P<step>this past|last|this|next)\s+{_UNIT}\b(?!\s*(?:-|of\b|before\b|in\b|to\b))", _stepped),
    Rule(r"\b(?P<step>last|this|next)\s+(?P<unit>year)\s+(?=(?:in|to)\b)", _stepped),
    Rule(
        rf"\b(?:in|over|during|within|for)\s+(?P<at>the\s+(?:last|past)\s+{_NUMBER}\s+(?P<unit>day|week|month|year)s)\b",
        _rolling,
    ),
    # two years ago, three weeks from now, two summers ago
    Rule(
        rf"(?<!more than )(?<!less than )(?<!over )(?<!at least )(?<![\d.,/-])\b(?P<at>{_NUMBER}\s+(?P<unit>day|week"
        r"|month|year|decade|weekend|spring|summer|autumn|fall|winter)s?\s+(?P<way>ago|from now|from today))\b",
        _ago,
    ),
    Rule(
        r"\b(?:the\s+)?day\s+before\s+yesterday\b|\b(?:the\s+)?day\s+after\s+tomorrow\b|\byesterday\b|\btomorrow\b"
        r"|\btoday\b|\btonight\b|\blast\s+night\b|\bthis\s+(?:morning|afternoon|evening)\b",
        _day_word,
    ),
    # last Saturday, on Saturday, Saturday last week
    Rule(rf"\b(?P<step>this past|last|past|this|next)\s+{_WEEKDAY}\b", _weekday),
    Rule(rf"\b(?:this\s+)?coming\s+{_WEEKDAY}\b", _coming),
    Rule(rf"\b{_WEEKDAY}\s+(?:of\s+)?(?P<step>last|this|next)\s+week\b", _weekday_of_week),
    Rule(
        rf"\b(?:on|since|until|till)\s+(?P<at>{_WEEKDAY})\b(?!\s+(?:\d|and|or|to)\b|,?\s+(?:the\s+)?\d)",
        _weekday,
        assumed=True,
    ),
    Rule(rf"\bon\s+(?P<at>the\s+{_DAY}{_TH}){_CLOSED}", _bare_day, assumed=True),
    # in 2023, the year 2010, back in 2015
    Rule(
        r"\b(?:in|since|until|till|during|before|after|by|from|of|around|about|early|mid|late|than|to|year|back in"
        rf"|end of|start of|prior to|throughout|between|through)[\s-]+(?P<at>{_YEAR})(?!\s*[-–/]\s*\d){_COUNTED}",
        _plain_year,
    ),
    Rule(
        r"\b(?:from|between)\s+(?P<at>(?P<year>(?:19|20)\d\d)\s*(?:to|until|till|and|through|-|–)\s*"
        rf"(?P<year2>(?:19|20)\d\d))\b{_COUNTED}",
        _years_between,
    ),
    Rule(r"(?<![\w./#:+-])(?P<year>(?:19|20)\d\d)\s?[-–]\s?(?P<year2>(?:19|20)\d\d)(?![\w]|[-/.]\d)", _years_between),
    Rule(
        rf"\b(?:from|between)\s+(?P<at>{_MONTH}(?:\s+(?P<year1>(?:19|20)\d\d))?\s+(?:to|until|till|and|through)\s+"
        rf"(?P<month2>{'|'.join(_MONTHS)})\b(?:,?\s+{_YEAR})?)",
        _months_between,
    ),
    # Q3 2022, 2022 Q3, the third quarter of last year, the first half of 2023
    Rule(rf"\b(?P<part>q)(?P<which>[1-4])(?:{_OF_YEAR}|\s*[/-]\s*(?P<year_>(?!)))", _part_of_year),
    Rule(rf"\b{_YEAR}[\s-]*(?P<part>q)(?P<which>[1-4])\b(?P<step>(?!))?", _part_of_year),
    Rule(rf"\b(?P<part>h)(?P<which>[12])\s+{_YEAR}(?P<step>(?!))?", _part_of_year),
    Rule(
        rf"\b(?:the\s+)?(?P<which>first|second|third|fourth)\s+(?P<part>quarter|half){_OF_YEAR}", _part_of_year
    ),
    Rule(r"\b(?:in|during|since|until)\s+(?P<at>(?P<part>q)(?P<which>[1-4]))\b", _part_of_year, assumed=True),
    Rule(
        r"\b(?:in|of|during|since|from)\s+(?P<at>the\s+(?:early\s+|mid[\s-]+|late\s+)?(?P<year>(?:19|20)\d0)'?s)\b",
        _decade,
    ),
)  # fmt: skip
