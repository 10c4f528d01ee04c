"""Feeding ScopeIndexes: all rows of an owner, or those of the memories that changed since a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, select

from ..clock import Instant
from ..records import RELOADING, IndexRow, MessageRow, RunRow
from . import schema as s

# Rows are fetched as they are used: all at once would be too much to hold.
IN_CHUNKS = {"yield_per": 2_000}
# They change what the messages that state a memory lend to others.
_BURYING = ("DELETE", "RESTORE")


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed for an owner: the memories touched, the rows they have now, labels, and the messages that are
    new or have other terms."""

    memory_nos: frozenset[int]
    rows: tuple[IndexRow, ...]
    messages: tuple[MessageRow, ...]
    runs: tuple[RunRow, ...]


def index_rows(
    tx: Connection, owner_id: int, space_id: int | None, known_at: Instant | None = None
) -> Iterator[IndexRow]:
    """Every version of an owner that is believed, or was at `known_at`, in no order: sorting them would hold all
    vectors at once."""
    values = {"owner": owner_id, "space": space_id}
    query = _rows(some=False) if known_at is None else _all_rows().where(s.believed(known_at))
    rows = tx.execute(query, values, execution_options=IN_CHUNKS)
    yield from map(IndexRow._make, rows)


def run_rows(tx: Connection, owner_id: int) -> Iterator[RunRow]:
    """Every run label of an owner; '' means outside any run."""
    rows = tx.execute(_runs(some=False), {"owner": owner_id}, execution_options=IN_CHUNKS)
    yield from map(RunRow._make, rows)


def message_rows(tx: Connection, owner_id: int, after: int = 0) -> Iterator[MessageRow]:
    """The messages of an owner that are no memories, from number `after` on."""
    values = {"owner": owner_id, "after": after}
    rows = tx.execute(_messages(), values, execution_options=IN_CHUNKS)
    yield from map(MessageRow._make, rows)


def messages_until(tx: Connection, owner_id: int, known_at: Instant) -> Iterator[MessageRow]:
    """The messages of an owner that are no memories and had been told the store by an instant."""
    e = s.episode.c
    told = and_(e.owner_id == s.message.c.owner_id, e.no == s.message.c.episode_no, e.created_at <= known_at)
    query = _messages().join(s.episode, told)
    rows = tx.execute(query, {"owner": owner_id, "after": 0}, execution_options=IN_CHUNKS)
    yield from map(MessageRow._make, rows)


def changed_since(
    tx: Connection, owner_id: int, seq: int, space_id: int | None, at_most: int
) -> Delta | None:
    """What changed after `seq`; None when that is more than `at_most` changes, or one that asks for loading anew."""
    changes = tx.execute(_changes(), {"owner": owner_id, "seq": seq, "at_most": at_most + 1}).all()
    if len(changes) > at_most or any(row.event in RELOADING for row in changes):
        return None
    memory_nos = sorted({row.memory_no for row in changes if row.memory_no is not None})
    rows: list[IndexRow] = []
    runs: list[RunRow] = []
    for some in s.chunks(memory_nos):
        values = {"owner": owner_id, "space": space_id, "memories": some}
        rows.extend(map(IndexRow._make, tx.execute(_rows(some=True), values)))
        runs.extend(map(RunRow._make, tx.execute(_runs(some=True), values)))
    messages = [*message_rows(tx, owner_id, seq)]
    buried = sorted({row.memory_no for row in changes if row.event in _BURYING})
    for some in s.chunks(buried):
        retold = tx.execute(_retold(), {"owner": owner_id, "memories": some})
        messages.extend(map(MessageRow._make, retold))
    return Delta(frozenset(memory_nos), tuple(rows), tuple(messages), tuple(runs))


@lru_cache(maxsize=2)
def _rows(*, some: bool) -> Select[Any]:
    query = _all_rows().where(s.believed(None))
    if some:
        query = query.where(s.version.c.memory_no.in_(bindparam("memories", expanding=True)))
    return query


def _all_rows() -> Select[Any]:
    """The versions of an owner, whenever they were believed."""
    m, v = s.memory.c, s.version.c
    columns = (
        m.no,
        v.no.label("version_no"),
        m.uid,
        m.kind,
        m.episode_no,
        m.position,
        m.role,
        m.actor_id,
        m.attributed_to,
        m.created_at,
        v.tx_from,
        v.observed_at,
        v.valid_from,
        v.valid_to,
        v.expires_at,
        v.expires_on,
        v.metadata,
        v.categories,
        s.terms.c.data.label("term_data"),
        s.vector.c.data.label("vector_data"),
        v.successor_no,
        v.event_date,
    )
    joined = (
        s.version.join(s.memory, and_(m.owner_id == v.owner_id, m.no == v.memory_no))
        .join(s.terms, and_(s.terms.c.owner_id == v.owner_id, s.terms.c.version_no == v.no))
        .outerjoin(
            s.vector,
            s.VECTOR_OF_VERSION,
        )
    )
    return select(*columns).select_from(joined).where(v.owner_id == bindparam("owner"))


@lru_cache(maxsize=2)
def _runs(*, some: bool) -> Select[Any]:
    c = s.memory_run.c
    query = select(c.memory_no, c.run_id).where(c.owner_id == bindparam("owner"))
    if some:
        query = query.where(c.memory_no.in_(bindparam("memories", expanding=True)))
    return query


@lru_cache(maxsize=1)
def _messages() -> Select[Any]:
    m, t = s.message.c, s.message_terms.c
    return (
        select(m.no, m.episode_no, m.position, t.data)
        .join_from(s.message, s.message_terms, and_(t.owner_id == m.owner_id, t.message_no == m.no))
        .where(m.owner_id == bindparam("owner"), t.message_no > bindparam("after"))
    )


@lru_cache(maxsize=1)
def _retold() -> Select[Any]:
    """The messages that state some memories."""
    m, t, support = s.message.c, s.message_terms.c, s.support.c
    return (
        select(m.no, m.episode_no, m.position, t.data)
        .distinct()
        .join_from(s.message, s.message_terms, and_(t.owner_id == m.owner_id, t.message_no == m.no))
        .join(s.support, and_(support.owner_id == m.owner_id, support.message_no == m.no))
        .where(m.owner_id == bindparam("owner"), support.memory_no.in_(bindparam("memories", expanding=True)))
    )


@lru_cache(maxsize=1)
def _changes() -> Select[Any]:
    c = s.change.c
    return (
        select(c.seq, c.event, c.memory_no)
        .where(c.owner_id == bindparam("owner"), c.seq > bindparam("seq"))
        .order_by(c.seq)
        .limit(bindparam("at_most"))
    )
