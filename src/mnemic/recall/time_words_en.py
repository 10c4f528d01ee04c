"""What English questions say of time. Data, and the functions that find clauses by it."""

from __future__ import annotations

import re
from functools import cache

from .time_words import Clause, NotionRule, Relation, Span, Step

_RELATIONS: dict[str, Relation] = {
    "before": "before",
    "prior to": "before",
    "previous to": "before",
    "by the time": "before",
    "after": "after",
    "following": "after",
    "as soon as": "after",
    "once": "after",
    "since": "since",
    "ever since": "since",
    "until": "until",
    "up until": "until",
    "till": "until",
    "while": "during",
    "whilst": "during",
    "during": "during",
    "when": "during",
    "back when": "during",
    "at the time of": "during",
    "in my time": "during",
}
_RELATION = (
    r"\b(?:right |just |shortly |soon |long )?(?P<relation>"
    + "|".join(sorted(_RELATIONS, key=len, reverse=True))
    + r")\s+(?:(?:my|his|her|their|our|your|the) time (?:at|in|with|as)\s+|at\s+(?=[A-Z]))?"
)
_ASKS = r"(?:where|what|who|whom|whose|which|how|why)"
# The dot of "St.", "Dr." or an initial ends no sentence.
_SHORT = r"(?-i:(?<=\b[A-Z][a-z])|(?<=\b[A-Z]))\."
_LEADING = rf"\s*(?:and |so |but )?{_RELATION}(?P<phrase>[^,?]+?)(?:\s*,\s*|\s+(?={_ASKS}\b))(?=\S)"
_TRAILING = rf"(?<=\w),?\s+{_RELATION}(?P<phrase>[^?!.]*(?:(?:\.(?=\w)|{_SHORT})[^?!.]*)*)"
# What a clause that tells an event begins with.
_SUBJECT = r"(?:(?:i|we|you|he|she|they|it|my|our|his|her|their|your|the)\b|[A-Z]|\w+ing\b)"
_NO_EVENT = re.compile(
    r"(?:that|this|then|now|all|work|school|dinner|lunch|breakfast|bed|bedtime|noon|midnight|sunset|sunrise|meals?"
    r"|hours|long|me|you|him|us|them|when|every|each"
    r"|(?:he|she|they|i|we) (?:was|were) (?:younger|little|young|small|a (?:kid|child|teenager))|going to"
    r"|sleep(?:ing)?|eating)\b\W*(?:\w+ing\b)?\W*",
    re.IGNORECASE,
)
_NO_PLACE_FOR_AFTER = re.compile(
    r"\b(?:look(?:s|ed|ing)?|named?|call(?:ed)?|takes?|took|go|run|time)\s*$", re.IGNORECASE
)
_ASKED_WHEN = re.compile(
    r"\b(?:know|remember|recall|tell me|told|say|said|ask|sure|remind me|forgot|about|of|is|was|exactly)\s*$",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"\b(?:do|does|is|are|am|can|should|must|will|would|don't|doesn't)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were|had|have|has|been|used|ever|didn't|wasn't)\b", re.IGNORECASE)
_AUXILIARY = re.compile(
    r"(?:did|do|does|is|was|were|are|am|have|has|had|will|would|can|could|should|'s|didn't)\b", re.IGNORECASE
)

# Phrases that tell something that lasts.
LASTING = (
    r"\b(?i:was|were|been|lived|living|worked|working|studied|studying|had|stayed|staying|owned|dated|dating)\b"
    r"|^(?:[A-Z][\w'-]*\s*)+$"
)
ENDING = r"(?i:\b(?:left|leave|leaving|quit|quitting|sold|selling|broke up|gave up|stopped|finished)\b)"
FILLER = (
    r"\b(?:what|did|do|does|i|we|you|he|she|they|was|were|happen(?:ed|ing)?|anything|everything|going|on|up|to|me|us|the"
    r"|have|has|had|been|done|doing|news|my|life|in|events?|things?|tell|about)\b"
)

_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_UNITS = {"day": 1, "night": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_STEP = re.compile(
    rf"(?:\b(?:on|in|during)\s+)?\b(?:the|(?P<many>a|\d{{1,2}}|{'|'.join(_COUNTS)}))\s+"
    rf"(?:(?P<unit>{'|'.join(_UNITS)})s?|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\s*$",
    re.IGNORECASE,
)

NOTIONS = (
    NotionRule("when", r"^\W*(?:since |until |till |by |from )?when\b|\b(?:since|until|till|by) when\b", False),
    NotionRule("when", r"\b(?:know|remember|recall|tell me|sure|remind me|exactly) when\b", False),
    NotionRule("when", r"\bhow long (?:have|has|had|did|was|were|ago|do|does|am|are|since)\b", False),
    NotionRule("when", r"\b(?:what|which) (?:year|month|date|day|week)\b", False),
    NotionRule("when", r"\bhow many (?:years|months|weeks|days) (?:ago|have|has|did|was|were)\b", False),
    NotionRule("change", r"\bno longer\b|\bany ?more\b", True),
    NotionRule("change", r"\b(?:what|how) (?:has|have|did)\b.*\bchanged?\b|\bhas\b.*\bchanged\b", False),
    NotionRule("past", r"(?:(?<=\bdid i )|(?<=\bdid (?:we|he) )|(?<=\bdid she )|(?<=\bdid they ))use to\b", True),
    NotionRule("past", r"\bused to\b|\bformer(?:ly)?\b|\bprevious(?:ly)?\b|\boriginally\b|\bback then\b", True),
    NotionRule("past", r"\bin (?:the|my|his|her|their) past\b|\bat first\b|\bearlier\b", True),
    NotionRule("past", r"\bbefore(?: (?:that|then|now|this))?(?=\W*$)", True),
    NotionRule(
        "past",
        r"\bex-(?=[a-z])|(?<=\bmy )(?:last|old)(?= (?:job|employer|boss|company|address|apartment|flat|house|home|city"
        r"|car|phone|team|role|school)\b)",
        True,
    ),
    NotionRule("current", r"\b(?:right )?(?<!by )(?<!from )now(?! that\b)\b|\bcurrent(?:ly)?\b|\bnowadays\b", True),
    NotionRule("current", r"\bthese days\b|\bat (?:the moment|present)\b|\bpresently\b", True),
)  # fmt: skip


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(_LEADING, re.IGNORECASE), re.compile(_TRAILING, re.IGNORECASE)


def clause(text: str) -> Clause | None:
    """The clause or phrase that places a question in time: "before I moved", "prior to Porto", "during the war"."""
    leading, trailing = _patterns()
    first = leading.match(text)
    if first is not None and _tells(first, text[first.end() :], ""):
        return _clause(first, (first.start(), first.end()))
    at = 0
    # The words after one that is none may hold another.
    while (match := trailing.search(text, at)) is not None:
        before = text[: match.start("relation")]
        if _tells(match, before, before):
            return _clause(match, (match.start(), match.end()))
        at = match.start("relation") + 1
    return None


def _clause(match: re.Match[str], whole: Span) -> Clause:
    return Clause(_RELATIONS[match["relation"].lower()], whole, match.span("phrase"))


def _tells(match: re.Match[str], question: str, before: str) -> bool:
    """Whether a match places the question in time: it could be another sense of the word, or a habit."""
    relation, phrase = match["relation"].lower(), match["phrase"].strip()
    if len(phrase) < 2 or _NO_EVENT.fullmatch(phrase):
        return False
    if relation in ("when", "since", "once", "while") and _AUXILIARY.match(phrase):
        return False
    if relation in ("when", "once", "while", "as soon as", "back when", "by the time", "following"):
        if (
            not re.match(_SUBJECT, phrase, re.IGNORECASE if relation != "when" else 0)
            and phrase[:2].lower() != "i "
        ):
            return False
        if relation == "when" and (_ASKED_WHEN.search(before) or re.match(r"[A-Z]\w*$", phrase)):
            return False
    if relation == "after" and _NO_PLACE_FOR_AFTER.search(before):
        return False
    is_habit = _PRESENT.search(question) is not None and _PAST.search(question) is None
    return relation in ("since", "until", "till", "ever since") or not is_habit


def step(before: str) -> Step | None:
    """How far from a date, by the words before "before" or "after": "the week before", "two months after"."""
    match = _STEP.search(before)
    if match is None:
        return None
    many = (match["many"] or "").lower()
    count = int(many) if many.isdecimal() else _COUNTS.index(many) + 1 if many in _COUNTS else 1
    between = (count - 0.5, count + 0.5) if many else (0.0, 1.0)
    return Step(match.start(), _UNITS.get((match["unit"] or "week").lower(), 7), between)


_BEFORE_DATE = re.compile(
    r"(?:\b(?P<relation>before|prior to|after|following|since|until|till|up to|by|from)\s+|"
    r"\b(?:in|on|during|over|within|around|throughout|at|back in|as of|of|for|about)\s+)"
    r"(?:(?:the|early|mid|late|about|around|start|beginning|middle|end|of|in)[\s-]+)*$",
    re.IGNORECASE,
)
_DATE_RELATIONS: dict[str, Relation] = {"up to": "until", "by": "until", "from": "since"}


def related(text: str, date: Span) -> tuple[Relation, Span]:
    """How a date relates to the question, and the words for both."""
    match = _BEFORE_DATE.search(text[: date[0]])
    if match is None:
        return "during", date
    word = (match["relation"] or "").lower()
    return _DATE_RELATIONS.get(word) or _RELATIONS.get(word) or "during", (match.start(), date[1])


# A question for something that happened.
HAPPENS = r"\b(?:go|went|travel(?:led)?|fly|flew|visit(?:ed)?|happen(?:ed)?|celebrate[d]?|attend(?:ed)?)\b"
