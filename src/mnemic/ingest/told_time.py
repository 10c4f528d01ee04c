"""What a statement says of its time: the day of the event that it tells, and since when it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import tzinfo

from ..clock import Instant
from ..records import Validity
from ..text.dates import NamedDate, find_dates
from .clauses_zh import OTHERS
from .sentences import split

# Before or after a date: it is an edge of a stretch of time, not the day of an event. A beginning is one too.
_BEGINS_BEFORE = re.compile(
    r"\b(?:since|starting(?: on| in)?|as of|effective)\s*(?:the\s+)?$|^from\s*$|[自从]$", re.IGNORECASE
)
_BEGINS_AFTER = re.compile(r"\s*(?:起|以来|开始|之后就?一直|onwards?\b)", re.IGNORECASE)
_EDGE_BEFORE = re.compile(
    r"\b(?:until|till|through|before|after|by|to|every|each|between|around|about|expires?|valid)\s*(?:the\s+)?$"
    r"|[至到每]$",
    re.IGNORECASE,
)
_EDGE_AFTER = re.compile(r"\s*(?:之?[前后]|以前|以后|为止|之间|左右)|[-–](?=\w)")
# What makes a day the edge of a stretch of time, or one of many, wherever it stands.
_NOT_ONE_DAY = re.compile(
    r"\b(?:until|till|through|before|after|by|every|each|expires?|valid|between|birthday|anniversary|always|usually)\b"
    r"|每|为止|之间|有效|生日|纪念日|到期",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|sold|bought|met|left|lost|found|made|took|came|saw|ran|won|began|started|quit|flew"
    r"|drove|gave|told|ate|broke|fell|felt|held|kept|knew|paid|said|sent|slept|spent|spoke|taught|thought"
    r"|wore|wrote|built|chose|became|brought|caught|drew|grew|heard|led|rode|sang|swam|tore"
    r"|(?!need|speed|feed|seed|indeed|hundred|breed|weed)\w{2,}ed)\b|(?<!为)了(?!解)|过(?![敏年节来去分程渡于])|刚",
    re.IGNORECASE,
)
_TO_COME = re.compile(
    r"\b(?:will|going to|plans?|planning|next|tomorrow|(?:is|are) (?:on|in|set for|scheduled for|due)|due|upcoming"
    r"|(?:i'm|i am|we're|we are|is|are) (?!living\b|working\b|studying\b)\w+ing|i have an?|we have an?)\b|'ll\b"
    r"|(?<![重需主])要(?!求|点)|将|(?<![开社机聚晚约体学])会(?![议计员])|打算|准备|计划|预计|下个?[周月]|明[天年]|定在",
    re.IGNORECASE,
)
# A state that has held since a day began no earlier, though it is told in the past tense.
_LASTS = re.compile(r"\b(?:i've|we've|have|has|been|i'm|i am|we're)\b|一直|已经", re.IGNORECASE)
# The statement is about something else than what happened then.
_ASIDE = re.compile(
    r"\b(?:who|which|whose|whom|that|when|because|while|although|though|if|where|before|after|used to|remember|called"
    r"|named)\b|因为|虽然|如果|以前|曾经|的时候|那时",
    re.IGNORECASE,
)
_OF_IT = re.compile(r"\s*的")
_MINE = re.compile(r"(?:\b(?:i|we|my|our)\b|\b(?:i|we)['’]|我|咱|俺)", re.IGNORECASE)
# "Tickets for the concert on Friday": the date is that of the noun before it.
_ITS_DATE = re.compile(
    r"\b(?:concert|gig|show|game|match|race|appointment|meeting|interview|exam|test|flight|train|trip|wedding|party"
    r"|surgery|operation|class|course|festival|conference|dinner|delivery|deadline|tickets?)\s+(?:is\s+)?(?:on|in)\s*$",
    re.IGNORECASE,
)
_WAS = re.compile(r"\b(?:had|was|were|is|are|have|has)\b", re.IGNORECASE)
# Words between figures and their units.
_SPACED = re.compile(r"(?<=\d)\s+(?=[年月日号])|(?<=[年月])\s+(?=\d)")
# How exactly a start is told that is told by a stretch of time of this kind.
_PRECISION = {
    "year": "year", "half": "month", "season": "month", "quarter": "month", "month": "month", "week": "day",
    "weekend": "day", "day": "day",
}  # fmt: skip
_HAN = re.compile(r"[\u4e00-\u9fff]")
# How far ahead a date without its year or week is looked for: a weekday, a day of the month, a day of the year.
_AHEAD = (8, 31, 366)
_DAY = 86_400_000_000
# Days: where of the last and the next date of a name one is nearer, the other is as far at least, and twice as far.
_FAR = 60


@dataclass(frozen=True, slots=True)
class ToldTime:
    """The day of a one-time event as YYYY-MM-DD, or ''; and since when the statement holds, where it says so."""

    day: str = ""
    validity: Validity = field(default_factory=Validity)


def told_time(text: str, said_at: Instant, tz: tzinfo) -> ToldTime:
    """What `text`, said at an instant in the zone `tz`, tells of its time, where that is beyond doubt.

    One date only. Relative ones are resolved against `said_at`. A date that may be past or to come ("on May 1") is
    what the tense says, else the nearer one, if the other is far; a plan has a day, and holds since it was said.
    What began, or happened, by then holds since; nothing is told to have ended.
    """
    text = _SPACED.sub("", text)
    found = find_dates(text, said_at, tz)
    if len(found) != 1:
        return ToldTime()
    before, after = text[: found[0].start], text[found[0].end :]
    begins = (_BEGINS_BEFORE.search(before) or _BEGINS_AFTER.match(after)) is not None
    named = _placed(text, found[0], said_at, tz, begins)
    if named is None:
        return ToldTime()
    rest = f"{before}\0{after}"
    edge = _EDGE_BEFORE.search(before) or _EDGE_AFTER.match(after) or _NOT_ONE_DAY.search(rest)
    if edge is not None:
        return ToldTime()
    day = named.first.isoformat() if named.precision == "day" and not _is_state(rest, begins) else ""
    return ToldTime(day, _since(text, rest, named, said_at, begins))


def _is_state(rest: str, begins: bool) -> bool:
    """Whether a beginning is that of a state, not an event of its own ("I've been sober since June 8")."""
    return begins and (_LASTS.search(rest) is not None or _PAST.search(rest) is None)


def _since(text: str, rest: str, named: NamedDate, said_at: Instant, begins: bool) -> Validity:
    """Since when a statement holds: one sentence of the speaker, told to begin then or to have happened by then."""
    precision = _PRECISION.get(named.precision)
    happened = named.begins <= said_at and _PAST.search(rest) is not None
    if precision is None or not (begins or happened):
        return Validity()
    if (
        _ASIDE.search(rest)
        or not _is_mine(rest)
        or _OF_IT.match(rest.partition("\0")[2])
        or len(split(text)) > 1
    ):
        return Validity()
    return Validity(start=named.begins, start_precision=precision)


def _is_mine(text: str) -> bool:
    """Whether the speaker is who a sentence speaks of; Chinese leaves 我 out where nobody else is named."""
    return _MINE.search(text) is not None or (_HAN.search(text) is not None and not OTHERS.search(text))


def _placed(text: str, found: NamedDate, said_at: Instant, tz: tzinfo, begins: bool) -> NamedDate | None:
    """The date that is meant, past or to come; None where it may be either."""
    if not found.assumed:
        return found
    noun = _ITS_DATE.search(text[: found.start])
    if _ASIDE.search(text) or (noun is not None and not _WAS.search(text)):
        return None
    past = _PAST.search(text) is not None or (begins and _LASTS.search(text) is not None)
    to_come = _TO_COME.search(text) is not None
    if past != to_come:
        return found if past else _coming(text, found, said_at, tz)
    coming = _coming(text, found, said_at, tz)
    if coming is None or past:
        return None
    gone, ahead = (said_at - found.begins) // _DAY, (coming.begins - said_at) // _DAY
    nearer = found if gone < ahead else coming
    is_plain = max(gone, ahead) >= max(_FAR, 2 * min(gone, ahead))
    return nearer if begins or is_plain else None


def _coming(text: str, found: NamedDate, said_at: Instant, tz: tzinfo) -> NamedDate | None:
    """The next date of that name."""
    for days in _AHEAD:
        again = find_dates(text, said_at + days * _DAY, tz)
        if len(again) == 1 and again[0].begins > said_at and again[0].start == found.start:
            return again[0]
    return None
