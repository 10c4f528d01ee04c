"""The time words of a question: what time it asks about, and what is left of it to rank by. Pure.

What English and Chinese say is data, in `time_words_en` and `time_words_zh`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cache
from types import ModuleType
from typing import Literal

from ..clock import Instant
from ..text.dates import NamedDate, find_dates

Notion = Literal["none", "current", "past", "change", "when"]
Relation = Literal["", "before", "after", "since", "until", "during"]
Span = tuple[int, int]

DAY = 86_400_000_000

# A longer text is no question, and is taken as it is.
LONGEST = 400

# Without one of these words a question in English has no time words; and with one, it still needs a phrase.
_WORD = re.compile(r"[a-z]+|\d")
_TELLING = """
    now nowadays current currently presently these moment present first time used former formerly previous previously
    past originally earlier then longer more anymore when while whilst before after since until till prior following
    during ago last old ex next yesterday today tonight tomorrow soon once long many change changed year month date day
    week weekend spring summer autumn fall winter quarter morning afternoon evening january february march april may
    june july august september october november december monday tuesday wednesday thursday friday saturday sunday
    use years months weeks days jan feb mar apr jun jul aug sep sept oct nov dec 0 1 2 3 4 5 6 7 8 9"""
_ENGLISH_WORDS = frozenset(_TELLING.split())
_ENGLISH = re.compile(
    r"\b(?:now|nowadays|current|currently|presently|these days|at (?:the moment|present|first|the time)|used to|former"
    r"|did (?:i|we|he|she|they) use to"
    r"|formerly|previous|previously|past|originally|earlier|back then|no longer|any ?more|when|while|whilst|before"
    r"|after|since|until|till|prior|following|during|ago|last|(?:my|his|her|their|our) old|ex|next|yesterday|today"
    r"|tonight|tomorrow|as soon|by the time|in my time|how long|how many|changed?|once (?:i|we|he|she|they)"
    r"|(?:this|which|what) (?:year|month|date|day|week|weekend|spring|summer|autumn|fall|winter|quarter|morning)"
    r"|this (?:afternoon|evening)|(?:on|this) (?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april"
    r"|may|june|july|august|september|october|november|december)\b|\d",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_CHINESE = re.compile(
    r"现[在今]|現在|[当當目][前年时時]|如今|眼下|[这這]会儿|以[前后後来來]|之[前后後]|曾|原[来來先]|[从從]前|[过過]去|先前"
    r"|上一|上个?[工公老城]|小[时時]候|不再|[没沒]再|[变變换換改]了|[什甚][么麼][时時]候|何[时時]|哪[一个個]?[年月天]"
    r"|几[月号年]|多[久长長]|多少年|的[时時]候|期[间間]|那会儿|那段时间|[前后後时時](?=[，,我你他她咱住在是做开開去养養有])"
    r"|前[公老同雇任]|为止|\d|[年月周週]|昨|今|前[天晚]|明[天日]|星期|[礼禮]拜|[春夏秋冬][天季]"
)


@dataclass(frozen=True, slots=True)
class TimeWords:
    """What a question says of time.

    notion: what it asks for. window: the instants [begin, end) that it names, or else anchor: the words for
    something whose time is to be looked up; relation: how what is asked for lies to either. lasting: whether the
    anchor tells of something that lasts ("I was at Acme"), not of something that happens; ending: whether it tells
    of something's end ("I left Acme"). rest: the question
    without its time words, which ranks; bare: that this asks for anything at all ("What did I do"); happens: whether
    it asks for what happened rather than for what held ("Where did I go"). words: the time words as they stand.
    """

    notion: Notion
    rest: str
    words: tuple[str, ...]
    relation: Relation = ""
    window: tuple[Instant, Instant] | None = None
    anchor: str = ""
    lasting: bool = False
    ending: bool = False
    bare: bool = False
    happens: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A phrase with what relates it to the question: where both stand, and the phrase alone."""

    relation: Relation
    whole: Span
    phrase: Span


@dataclass(frozen=True, slots=True)
class Step:
    """How far from a date something is: a unit of so many days, and between which multiples of it; `start`: where
    the words for that begin."""

    start: int
    days: int
    between: tuple[float, float]


@dataclass(frozen=True, slots=True)
class NotionRule:
    """Words that tell a notion; taken out of the question where they tell nothing else."""

    notion: Notion
    pattern: str
    out: bool


def read_time_words(text: str, now: Instant, tz: tzinfo) -> TimeWords | None:
    """The time words of a question asked at an instant; None where it has none. English and Chinese.

    Dates and other relative words are resolved against `now` in `tz`, by `text.dates`.
    """
    chinese = _HAN.search(text) is not None
    if len(text) > LONGEST or not (_may_tell_time(text) or (chinese and _CHINESE.search(text))):
        return None
    dates = find_dates(text, now, tz)
    clause = _clause(text, dates, chinese)
    if clause is not None:
        for date in dates:
            if _overlap(clause.whole, (date.start, date.end)):
                # Words that follow a date belong to the question again.
                told = date.start == clause.phrase[0]
                whole = (clause.whole[0], date.end) if told and not chinese else clause.whole
                return _in_window(text, date, clause.relation, whole)
        return _by_anchor(text, clause)
    if dates:
        relation, whole = _language(chinese).related(text, (dates[0].start, dates[0].end))
        return _in_window(text, dates[0], relation, whole)
    return _by_notion(text)


def _may_tell_time(text: str) -> bool:
    return not _ENGLISH_WORDS.isdisjoint(_WORD.findall(text.lower())) and _ENGLISH.search(text) is not None


def _language(chinese: bool) -> ModuleType:
    # Their patterns take a while to compile, which only questions with time words should pay.
    from . import time_words_en, time_words_zh

    return time_words_zh if chinese else time_words_en


def _clause(text: str, dates: Sequence[NamedDate], chinese: bool) -> Clause | None:
    """The clause that places a question in time. The words of a date, as in "the day before yesterday", begin none."""
    for date in dates:
        text = text[: date.start] + "X" * (date.end - date.start) + text[date.end :]
    found: Clause | None = _language(chinese).clause(text)
    return found


def without_clauses(text: str) -> str:
    """A statement without what it only says to place itself in time: "before I moved to Porto", 搬家之前."""
    clause = _clause(text, (), _HAN.search(text) is not None) if len(text) <= LONGEST else None
    return text if clause is None else _rest(text, [clause.whole])


def _in_window(text: str, date: NamedDate, relation: Relation, whole: Span) -> TimeWords:
    window = (date.begins, date.ends)
    step = _language(False).step(text[: whole[0]]) if relation in ("before", "after") else None
    if step is not None:
        # "Two weeks before" a date is a time of its own.
        window, whole = _stepped(window, relation, step), (step.start, whole[1])
        relation = "during"
    notion, spans, cuts = _notion(text, [whole])
    rest = _rest(text, cuts)
    bare = _is_bare(rest)
    return TimeWords(
        notion, rest or text, _words(text, spans), relation, window, bare=bare, happens=bare or _happens(rest)
    )


def _by_anchor(text: str, clause: Clause) -> TimeWords:
    notion, spans, cuts = _notion(text, [clause.whole])
    rest, phrase = _rest(text, cuts), text[slice(*clause.phrase)].strip()
    language = _language(_HAN.search(text) is not None)
    return TimeWords(
        notion,
        rest or text,
        _words(text, spans),
        clause.relation,
        anchor=phrase,
        lasting=re.search(language.LASTING, phrase) is not None,
        ending=re.search(language.ENDING, phrase) is not None,
        bare=_is_bare(rest),
    )


def _by_notion(text: str) -> TimeWords | None:
    notion, spans, cuts = _notion(text, [])
    return None if notion == "none" else TimeWords(notion, _rest(text, cuts) or text, _words(text, spans))


def _stepped(window: tuple[Instant, Instant], relation: Relation, step: Step) -> tuple[Instant, Instant]:
    near, far = (int(step.days * DAY * share) for share in step.between)
    if relation == "before":
        return window[0] - far, window[0] - near
    return window[1] + near, window[1] + far


@cache
def _notion_rules() -> tuple[tuple[re.Pattern[str], NotionRule], ...]:
    rules = (*_language(False).NOTIONS, *_language(True).NOTIONS)
    return tuple((re.compile(rule.pattern, re.IGNORECASE), rule) for rule in rules)


def _notion(text: str, cuts: list[Span]) -> tuple[Notion, list[Span], list[Span]]:
    """The first notion told outside what is cut already; all that tells of time, and what of it is cut."""
    for pattern, rule in _notion_rules():
        for match in pattern.finditer(text):
            if not any(_overlap(match.span(), span) for span in cuts):
                told = [*cuts, match.span()]
                return rule.notion, told, told if rule.out else cuts
    return "none", cuts, cuts


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _rest(text: str, cuts: Sequence[Span]) -> str:
    kept, at = [], 0
    for start, end in sorted(cuts):
        kept.append(text[at:start])
        at = max(at, end)
    kept.append(text[at:])
    joined = " ".join(part.strip(" ,，、") for part in kept if part.strip(" ,，、"))
    joined = re.sub(r"\s+(?=[?？!！.。,，])", "", joined).strip()
    return re.sub(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])", "", joined)


def _words(text: str, cuts: Sequence[Span]) -> tuple[str, ...]:
    return tuple(text[start:end].strip(" ,，") for start, end in sorted(cuts))


def _happens(rest: str) -> bool:
    """Whether what is left asks for something that happened."""
    language = _language(_HAN.search(rest) is not None)
    return re.search(language.HAPPENS, rest, re.IGNORECASE) is not None


def _is_bare(rest: str) -> bool:
    """Whether nothing is left that a memory could be about."""
    fillers = "|".join(_language(chinese).FILLER for chinese in (False, True))
    return re.fullmatch(rf"(?:{fillers}|[\W_])*", rest, re.IGNORECASE) is not None
