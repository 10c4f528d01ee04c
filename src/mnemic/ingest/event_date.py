"""The day of the event that a statement tells."""

from __future__ import annotations

import re
from datetime import date

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\d-])(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})(?![\d-])",
        r"(?<!\d)(?P<year>\d{4})\s*年\s*(?P<number>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*[日号]",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH},?\s+(?P<year>\d{{4}})\b",
    )
)
_NOT_ONE_DAY = re.compile(
    r"\b(?:since|until|till|from|through|before|after|by|starting|every|each|expires?|valid|between)\b"
    r"|[自从到至前后起]|以来|每|为止|之间|有效",
    re.IGNORECASE,
)


def event_date(text: str) -> str:
    """The day of the one-time event that `text` states, as YYYY-MM-DD, or '' where that is not beyond doubt.

    One full date with its year, and no word that makes it the edge of a stretch of time or a repetition.
    """
    if not any(char.isdigit() for char in text):
        return ""
    found = [match for pattern in _FULL_DATES for match in pattern.finditer(text)]
    if len(found) != 1 or _NOT_ONE_DAY.search(text):
        return ""
    named = found[0].groupdict()
    month = int(named["number"]) if named.get("number") else _MONTHS.index(named["month"][:3].lower()) + 1
    try:
        return date(int(named["year"]), month, int(named["day"])).isoformat()
    except ValueError:
        return ""
