"""Claims in Chinese: every pattern takes a whole clause of the speaker; a clause with any doubt says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations

from ..records import Claim
from . import claims_zh_life as life
from . import claims_zh_self as who
from . import claims_zh_work as work
from .clauses_zh import ME, Clause, clauses


def read(sentence: str) -> Iterator[Claim]:
    """The claims of one Chinese sentence that is no question."""
    said: list[Clause] = []
    for clause in clauses(sentence):
        for reader in _EARLY:
            yield from reader(clause)
        if not clause.doubtful:
            said.append(clause)
            for reader in _EVENTS if clause.fresh else _READERS:
                yield from reader(clause)
    for first, second in combinations(said, 2):
        yield from _across(first, second)
        yield from who.across(first, second)
        yield from life.named(first, second)
    yield from life.turned_off(sentence)


_TURNED = re.compile(r"(?:我的?)?(?P<what>\S{1,6}?)(?:我)?(?:改|换|涨|降|变|调)了")
_NOW_IS = re.compile(r"现在(?:是)?(?:每月|每个月|一个月)?(?P<value>[\w.@+-]+?)(?:块|元)?了?")
_EVENT_MOVED = re.compile(rf"(?:{ME}的?)?{life.EVENT}(?:改期|推迟|提前|延期|改|挪)了")
_MOVED_TO = re.compile(r"(?:改|推迟|提前|延|挪)(?:到|成|至)了?(?P<when>[^，]+?)了?|不是\S+")


def _across(first: Clause, second: Clause) -> Iterator[Claim]:
    """What two clauses say together: what was changed, and to what."""
    turned, now = _TURNED.fullmatch(first.text), _NOW_IS.fullmatch(second.text)
    if turned is not None and now is not None:
        yield Claim(f"my:{turned['what']}", now["value"], True, True)
    event, moved = _EVENT_MOVED.fullmatch(first.text), _MOVED_TO.fullmatch(second.text)
    if event is not None and moved is not None and moved["when"]:
        yield Claim(f"date:{event['what']}", moved["when"], True, True)


_Reader = Callable[[Clause], Iterator[Claim]]
# These name other people or plans themselves; the others stop at any mention of them.
_EARLY: tuple[_Reader, ...] = (who.dwelling, who.marital_status, life.chief, life.plan)
# These tell what happened, too, and so read what happened today.
_EVENTS: tuple[_Reader, ...] = (
    who.residence,
    who.address,
    who.contact,
    who.age,
    work.employer,
    work.school,
    life.possession,
)
_READERS: tuple[_Reader, ...] = (
    *_EVENTS,
    who.name,
    work.being,
    life.habit,
    life.liking,
    life.mine,
    life.date,
)
