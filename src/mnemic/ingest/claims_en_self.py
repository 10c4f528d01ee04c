"""Claims in English about who the speaker is: name, age, family."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_en import I_HAVE, LONG_AGO, NAME, NO_MORE, WHEN, Clause, match, named, value_of
from .rules import words

_NAMED = match(
    rf"(?:i'm called|my (?:full )?name is|my name's|{I_HAVE}?changed my name(?: from {NAME})? to)"
    rf"(?: now)? (?P<name>{NAME})"
    r"(?: now| from now on)?"
)
_CALLED = match(
    rf"(?:i(?: now)? go by|(?P<others>everyone calls me|people call me)|(?:please )?call me|i'm going by)"
    rf"(?: now)? (?P<name>{NAME})(?: now| from now on| these days)?"
)
_NOT_CALLED = match(
    rf"(?:please )?(?:don't|do not|stop) (?:call|calling) me (?P<a>{NAME})(?:{NO_MORE})?"
    rf"|i no longer go by (?P<b>{NAME})|(?:nobody|no one) calls me (?P<c>{NAME})(?:{NO_MORE})"
)
_SURNAME = match(
    rf"my(?P<new> new)? (?:surname|last name|family name) is(?P<now> now)?(?: just)? (?P<name>{NAME})"
    rf"(?P<later> now| since .*)?"
    rf"|{I_HAVE}?changed my (?:surname|last name|family name)(?: from {NAME})? to (?P<to>{NAME})(?: .*)?"
)
_TITLED = match(rf"(?:i'm|i am)(?: now)? (?:mr|mrs|ms|mx|dr)\.? (?P<name>{NAME})(?: now)?")
_NOW_NAMED = match(rf"(?:i'm|i am)(?: now)? (?P<name>{NAME} {NAME})(?: now)?")
_NO_NAME = words(
    "asap monday tuesday wednesday thursday friday saturday sunday uber mobile home cell mom mum dad boss sir back"
)
_NEW_NAME = re.compile(
    r"\b(?:took (?:my|his|her) (?:\w+'s )?name|surname|last name|family name|maiden name|changed my name)\b"
)


def name(clause: Clause) -> Iterator[Claim]:
    found = _NAMED.fullmatch(clause.text)
    whole = value_of(found["name"]) if found else ""
    if found is None and clause.changes and _NEW_NAME.search(clause.sentence.casefold()):
        renamed = _NOW_NAMED.fullmatch(clause.text)
        whole = value_of(renamed["name"]) if renamed else ""
        titled = _TITLED.fullmatch(clause.text)
        if titled is not None:
            yield Claim("surname", value_of(titled["name"]), True, True)
    if whole:
        yield Claim("name", whole, True, True)
        if " " in whole:
            yield Claim("surname", whole.rpartition(" ")[2], True, False)
    surname = _SURNAME.fullmatch(clause.text)
    if surname is not None:
        told = any(surname[one] for one in ("new", "now", "later", "to"))
        yield Claim("surname", value_of(named(surname, "name", "to")), True, told or clause.changes)
    called, no_more = _CALLED.fullmatch(clause.text), _NOT_CALLED.fullmatch(clause.text)
    if called is not None and called["name"].casefold() not in _NO_NAME:
        known = called["others"] is not None
        yield Claim("known" if known else "called", value_of(called["name"]), True, not known)
    if no_more is not None:
        by = value_of(named(no_more, "a", "b", "c"))
        yield from (Claim(kind, by, False, True) for kind in ("called", "known"))


_UNITS = (
    *(
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
    ),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_YEARS = rf"(?:\d{{1,3}}|(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[:9])}))?|{'|'.join(_UNITS)})"
_AGED = match(
    rf"(?:i'm|i am)(?: (?:now|already|officially|finally))? (?P<a>{_YEARS})(?: years? old| yo| y/o)?"
    rf"(?: now| already| as of today)?"
    rf"|my age is(?: now)? (?P<b>{_YEARS})(?: now)?"
)
_TURNED = match(
    rf"{I_HAVE}?(?:turned|hit) (?P<c>{_YEARS}){WHEN}"
    rf"|{I_HAVE}?(?:had|celebrated) my (?P<d>\d{{1,3}})(?:st|nd|rd|th) birthday{WHEN}"
    r"|(?:it's|it is|it was|is|was) my (?P<e>\d{1,3})(?:st|nd|rd|th) birthday(?: yesterday| last \w+)?"
)
_AGES = range(4, 121)


def age(clause: Clause) -> Iterator[Claim]:
    found = _TURNED.fullmatch(clause.text)
    if found is not None and found["e"] and _not_today(clause):
        return
    found = found or (None if _not_today(clause) else _AGED.fullmatch(clause.text))
    if found is None or LONG_AGO.search(clause.text):
        return
    years = _number(named(found, *found.re.groupindex).casefold())
    if years in _AGES:
        yield Claim("age", str(years), True, True)


def _not_today(clause: Clause) -> bool:
    """Whether a clause speaks of a time near by that is not the birthday itself."""
    lower = clause.sentence.casefold()
    return clause.fresh and not ("birthday" in lower and re.search(r"\btoday\b", lower))


def _number(told: str) -> int:
    if told.isdecimal():
        return int(told)
    tens, _, units = told.replace("-", " ").partition(" ")
    whole = 10 * (_TENS.index(tens) + 2) if tens in _TENS else 0
    rest = units if whole else tens
    return whole + (_UNITS.index(rest) + 1 if rest else 0)


_MY_PARTNER = r"my (?:girlfriend|boyfriend|partner|fiancée?) and i "
_US = rf"(?:{I_HAVE}|{NAME} and i |{_MY_PARTNER}|my (?:wife|husband) and i )"
# Status, whether it is an event, and how it is told.
_MARITAL = (
    ("married", False, match(
        rf"(?:i'm|i am|we're)(?: happily)? married(?: to {NAME}| now)?{WHEN}|my (?:wife|husband) is (?:called "
        rf"|named )?{NAME}"
    )),
    ("married", True, match(
        rf"(?:{_US}|i |we )(?:all )?(?:got (?:re)?married(?: again)?|remarried|tied the knot|eloped|got hitched){WHEN}"
    )),
    ("divorced", True, match(
        rf"(?:{_US})(?:got |are |have )?(?:divorced|separated){WHEN}"
        rf"|(?:my|our|the) divorce (?:is final|came through|is finali[sz]ed|was finali[sz]ed){WHEN}"
    )),
    ("divorced", False, match(rf"i'm divorced{WHEN}")),
    ("single", False, match(r"(?:i'm|i am) single(?: now| again)?")),
    ("single", True, match(
        rf"(?:{I_HAVE}|{NAME} and i |{_MY_PARTNER})(?:broke|split) up(?: with {NAME})?{WHEN}"
    )),
    ("engaged", False, match(rf"(?:i'm|i am|we're) engaged(?: to {NAME})?{WHEN}")),
    ("engaged", True, match(rf"(?:{I_HAVE}|{NAME} and i )got engaged{WHEN}")),
    ("partnered", False, match(
        r"(?:i'm|i am)(?: now)? in a (?:new )?relationship(?: now)?|(?:i'm|i am) (?:seeing|dating) someone(?: now)?"
        r"|i(?: now)? have a (?:new )?(?:girlfriend|boyfriend|partner)(?: now)?"
    )),
    ("widowed", False, match(r"(?:i'm|i am) (?:widowed|a widow|a widower)(?: now)?")),
    ("widowed", True, match(rf"my (?:wife|husband)(?: {NAME})? (?:died|passed away){WHEN}")),
)  # fmt: skip
_CALLED_OFF = match(
    rf"{_US}?(?:called off|cancelled|canceled|broke off) (?:the|our|my) (?:engagement|wedding){WHEN}"
)


def marital_status(clause: Clause) -> Iterator[Claim]:
    for status, happened, pattern in _MARITAL:
        if (happened or not clause.fresh) and pattern.fullmatch(clause.text):
            yield Claim("marital_status", status, True, not LONG_AGO.search(clause.text))
    if _CALLED_OFF.fullmatch(clause.text):
        yield Claim("marital_status", "engaged", False, True)


_PARTNER = (
    (True, match(
        rf"my (?:girlfriend|boyfriend|partner|wife|husband|fiancée?|fiance) is (?:called "
        rf"|named )?(?P<name>{NAME})"
    )),
    (True, match(rf"(?:i'm|i am) (?:happily )?(?:married|engaged) to (?P<name>{NAME})")),
    (False, match(
        rf"(?P<name>{NAME}) and i (?:broke up|split up|separated|got divorced|are divorced"
        rf"|called off the engagement){WHEN}"
    )),
    (False, match(rf"{I_HAVE}?(?:broke|split) up with (?P<name>{NAME}){WHEN}")),
)  # fmt: skip


def partner(clause: Clause) -> Iterator[Claim]:
    for holds, pattern in _PARTNER:
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim("partner", value_of(found["name"]), holds, not holds)
