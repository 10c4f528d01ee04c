"""The days, months and years that a text names, as far as they can be told with their year. For judging only."""

from __future__ import annotations

import re
import unicodedata
from datetime import date

_MONTHS = (
    "january jan enero januar jänner январь января январе",
    "february feb febrero februar февраль февраля феврале",
    "march mar marzo märz март марта марте",
    "april apr abril апрель апреля апреле",
    "may mayo mai май мая мае",
    "june jun junio juni июнь июня июне",
    "july jul julio juli июль июля июле",
    "august aug agosto август августа августе",
    "september sept sep septiembre setiembre сентябрь сентября сентябре",
    "october oct octubre oktober okt октябрь октября октябре",
    "november nov noviembre ноябрь ноября ноябре",
    "december dec diciembre dezember dez декабрь декабря декабре",
)
_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAME = "|".join(sorted(map(re.escape, _NUMBERS), key=len, reverse=True))
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.|º|-?го)?"
_YEAR = r"(?P<year>\d{4})(?!\d)"
_FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<![\d.-])(?P<year>\d{4})(?P<mark>[-/.])(?P<number>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d)",
        r"(?<![\d.-])(?P<year>\d{4})[-/](?P<number>\d{2})(?![\d/-])",
        r"(?<!\d)(?P<year>\d{4})\s*年\s*(?P<number>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号號])?",
        rf"(?<![\d.])(?P<day>\d{{1,2}})\.\s?(?P<number>\d{{1,2}})\.\s?{_YEAR}",
        rf"(?<!\d){_DAY}\s+(?:of\s+|de\s+)?(?P<month>{_NAME})\.?,?\s+(?:of\s+|del?\s+)?{_YEAR}",
        rf"\b(?P<month>{_NAME})\.?\s+{_DAY},?\s+{_YEAR}",
        rf"\b(?P<month>{_NAME})\.?,?\s+(?:of\s+|del?\s+)?{_YEAR}",
        r"(?<![\d.,])(?P<year>(?:19|20)\d{2})(?![\d,.]\d|\d)",
    )
)


def dates_in(text: str) -> frozenset[str]:
    """Each date with its year in a text, in ISO form: `2024-05-04`, `2024-05`, `2024`.

    Read are numbers, years alone, and the months of English, Chinese, Japanese, Spanish, German and Russian. The
    month and the year of a day may be told beside it.
    """
    folded = unicodedata.normalize("NFC", text).lower()
    return frozenset(found for form in _FORMS for match in form.finditer(folded) if (found := _date(match)))


def _date(match: re.Match[str]) -> str:
    """The date as exact as it is told, or '' for one that there is not."""
    told = match.groupdict()
    day = told.get("day")
    month = told.get("number") or _NUMBERS.get(told.get("month") or "")
    try:
        first = date(int(told["year"]), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return first.isoformat()[: 10 if day else 7 if month else 4]
