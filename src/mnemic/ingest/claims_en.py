"""Claims in English: every pattern takes a whole clause that starts with the speaker; any doubt says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from ..records import Claim
from . import claims_en_life as life
from . import claims_en_self as who
from .clauses_en import I_HAVE, NAME, WHEN, Clause, clauses, match, value_of


def read(sentence: str) -> Iterator[Claim]:
    """The claims of one English sentence that is no question."""
    said = list(clauses(sentence))
    for clause in said:
        for reader in _READERS:
            yield from reader(clause)
    for first, second in pairwise(said):
        yield from _across(first, second)


_NEW_NUMBER = match(
    rf"{I_HAVE}?(?:changed|got a new|have a new|switched) (?:my )?(?:phone |cell |mobile )?number{WHEN}"
)
_IT_IS = match(rf"it(?:'s| is)(?: now)? (?P<phone>{who.PHONE})(?: now)?")
_WAS_MOVED = match(
    r"(?:the|my|our) (?P<what>[\w ]+?) (?:got|was|has been|is) (?:moved|postponed|rescheduled|pushed back|delayed)"
)
_IT_IS_ON = match(r"it(?:'s| is)(?: now)? (?:on )?(?P<when>[\w ]*?\d\w*|\w+day)(?: now)?(?: instead of .*)?")
_APPOSED = re.compile(rf"an? ({NAME})")


def _across(first: Clause, second: Clause) -> Iterator[Claim]:
    """What two clauses say together: what was changed, and to what."""
    number = _IT_IS.fullmatch(second.text)
    if number is not None and _NEW_NUMBER.fullmatch(first.text):
        yield Claim("phone", who.digits(number["phone"]), True, True)
    moved, when = _WAS_MOVED.fullmatch(first.text), _IT_IS_ON.fullmatch(second.text)
    if moved is not None and when is not None:
        yield Claim(f"date:{moved['what'].casefold()}", value_of(when["when"]), True, True)
    apposed = _APPOSED.fullmatch(second.text)
    if apposed is not None and life.HAS.fullmatch(first.text):
        for value in (apposed[1], apposed[1].split()[0]):
            yield Claim("has", value_of(value), True, second.changes)


_READERS: tuple[Callable[[Clause], Iterator[Claim]], ...] = (
    who.residence,
    who.employer,
    who.contact,
    who.name,
    who.marital_status,
    who.partner,
    who.being,
    who.school,
    life.job_title,
    life.possession,
    life.habit,
    life.liking,
    life.mine,
    life.date,
    life.plan,
)
