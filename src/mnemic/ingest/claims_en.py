"""Claims in English: every pattern takes a whole clause that starts with the speaker; any doubt says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

from ..records import Claim
from . import claims_en_contact as contact
from . import claims_en_home as home
from . import claims_en_life as life
from . import claims_en_self as who
from . import claims_en_work as work
from .clauses_en import NAME, Clause, clauses, match, value_of


def read(sentence: str) -> Iterator[Claim]:
    """The claims of one English sentence that is no question."""
    said = list(clauses(sentence))
    for clause in said:
        for reader in _EVENTS if clause.fresh else _READERS:
            yield from reader(clause)
    for first, second in pairwise(said):
        yield from _across(first, second)
        yield from home.address_across(first, second)
    for first, second in combinations(said, 2):
        yield from contact.contact_across(first, second)
    yield from life.turned_off(sentence)


_WAS_MOVED = match(
    r"(?:the|my|our) (?P<what>[\w ]+?) (?:got|was|has been|is) (?:moved|postponed|rescheduled|pushed back|delayed)"
)
_IT_IS_ON = match(r"it(?:'s| is)(?: now)? (?:on )?(?P<when>[\w ]*?\d\w*|\w+day)(?: now)?(?: instead of .*)?")
_APPOSED = re.compile(rf"an? ({NAME})")


def _across(first: Clause, second: Clause) -> Iterator[Claim]:
    """What two clauses say together: what was changed, and to what."""
    moved, when = _WAS_MOVED.fullmatch(first.text), _IT_IS_ON.fullmatch(second.text)
    if moved is not None and when is not None:
        yield Claim(f"date:{moved['what'].casefold()}", value_of(when["when"]), True, True)
    apposed = _APPOSED.fullmatch(second.text)
    if apposed is not None and life.HAS.fullmatch(first.text):
        for value in (apposed[1], apposed[1].split()[0]):
            yield Claim("has", value_of(value), True, second.changes)


_Reader = Callable[[Clause], Iterator[Claim]]
# These tell what happened, too, and so read what happened today.
_EVENTS: tuple[_Reader, ...] = (
    home.residence,
    home.address,
    contact.contact,
    who.age,
    who.marital_status,
    who.partner,
    work.employer,
    work.job_title,
    work.being,
    work.school,
    life.ended,
)
_READERS: tuple[_Reader, ...] = (
    *_EVENTS,
    who.name,
    life.possession,
    life.habit,
    life.liking,
    life.mine,
    life.date,
    life.plan,
)
