"""Chains: memories that superseded one another, found from any of them in both directions.

What counts is the newest version of a memory: the one that is believed, or the last of a retired one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, exists, select

from ..scope import Scope
from . import schema as s
from .reading import sees
from .schema import chunks


def chains(tx: Connection, owner_id: int, memory_nos: Collection[int]) -> dict[int, frozenset[int]]:
    """The whole chain of each of some memories of an owner, itself included."""
    linked: dict[int, set[int]] = defaultdict(set)
    known, new = set(memory_nos), set(memory_nos)
    while new:
        for memory_no, successor_no in _links(tx, owner_id, sorted(new)):
            linked[memory_no].add(successor_no)
            linked[successor_no].add(memory_no)
        new = {no for one in new for no in linked[one]} - known
        known |= new
    found: dict[int, frozenset[int]] = {}
    for memory_no in memory_nos:
        if memory_no not in found:
            whole = _reached(memory_no, linked)
            found.update(dict.fromkeys(whole, whole))
    return {memory_no: found[memory_no] for memory_no in memory_nos}


def seen_by(tx: Connection, scope: Scope, owner_id: int, memory_nos: Collection[int]) -> set[int]:
    """Those of some memories of an owner that a scope may see."""
    m = s.memory.c
    joined = s.memory.join(s.owner, s.owner.c.id == m.owner_id)
    found: set[int] = set()
    for some in chunks(sorted(memory_nos)):
        query = select(m.no).select_from(joined).where(m.owner_id == owner_id, m.no.in_(some))
        found.update(tx.execute(query.where(s.owner.c.tenant == scope.tenant, sees(scope))).scalars())
    return found


def _reached(start: int, linked: dict[int, set[int]]) -> frozenset[int]:
    reached, left = {start}, [start]
    while left:
        new = linked[left.pop()] - reached
        reached |= new
        left += new
    return frozenset(reached)


def _links(tx: Connection, owner_id: int, memory_nos: Collection[int]) -> set[tuple[int, int]]:
    """The links (memory, successor) at either end of which one of some memories stands."""
    found: set[tuple[int, int]] = set()
    for some in chunks(sorted(memory_nos)):
        for query in (_from(), _to()):
            rows = tx.execute(query, {"owner": owner_id, "memories": some})
            found.update((row.memory_no, row.successor_no) for row in rows)
    return found


@lru_cache(maxsize=1)
def _from() -> Select[Any]:
    return _newest().where(s.version.c.memory_no.in_(bindparam("memories", expanding=True)))


@lru_cache(maxsize=1)
def _to() -> Select[Any]:
    return _newest().where(s.version.c.successor_no.in_(bindparam("memories", expanding=True)))


def _newest() -> Select[Any]:
    v, later = s.version.c, s.version.alias("later").c
    newer = exists().where(
        later.owner_id == v.owner_id, later.memory_no == v.memory_no, later.number > v.number
    )
    return select(v.memory_no, v.successor_no).where(
        v.owner_id == bindparam("owner"), v.successor_no.is_not(None), newer.is_(False)
    )
