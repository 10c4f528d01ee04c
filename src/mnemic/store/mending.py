"""Making index rows anew, in write transactions of bounded size. What was said, kept and done is never touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, or_, select, update

from ..records import Act, Event, Mending
from . import schema as s
from . import tombstones
from .checking import DERIVED, free_keys, highest_number, nobodys, stray
from .owners import Numbers, lock_owner_if_there
from .rows import Values, insert_all
from .schema import chunks
from .spaces import expect_space
from .versions import SET_KEY, key_of, reload_indexes


def texts_of_versions(tx: Connection, owner_id: int, nos: Sequence[int]) -> dict[int, str]:
    """The texts of some versions of an owner, by number; one that is not there any more is left out."""
    v = s.version.c
    query = select(v.no, v.text).where(v.owner_id == owner_id, v.no.in_(nos))
    return {row.no: row.text for row in tx.execute(query)}


def texts_of_messages(tx: Connection, owner_id: int, nos: Sequence[int]) -> dict[int, str]:
    """What some messages of an owner say, without what is buried, by number; those not there are left out."""
    m = s.message.c
    buried = tombstones.buried_spans(tx, owner_id, nos)
    query = select(m.no, m.content).where(m.owner_id == owner_id, m.no.in_(nos))
    return {row.no: tombstones.masked(row.content, buried.get(row.no, ())) for row in tx.execute(query)}


def put_terms(tx: Connection, mending: Mending, packed: Mapping[int, bytes]) -> None:
    """Give versions these terms, by number."""
    _put(tx, mending, s.terms, s.version, {no: {"data": data} for no, data in packed.items()})


def put_message_terms(tx: Connection, mending: Mending, packed: Mapping[int, bytes]) -> None:
    """Give messages these terms, by number."""
    _put(tx, mending, s.message_terms, s.message, {no: {"data": data} for no, data in packed.items()})


def put_vectors(tx: Connection, mending: Mending, space_id: int, vectors: Mapping[int, bytes]) -> None:
    """Give versions these vectors in a space, by number. Raises `SpaceChangedError` if it is not active."""
    expect_space(tx, space_id)
    rows = {no: {"space_id": space_id, "data": data} for no, data in vectors.items()}
    _put(tx, mending, s.vector, s.version, rows)


def _put(tx: Connection, mending: Mending, table: Table, parent: Table, rows: Mapping[int, Values]) -> None:
    """Replace the index rows of an owner that hang on these numbers, as far as those are there still."""
    if lock_owner_if_there(tx, mending.tenant, mending.owner_id) is None:
        return
    number = f"{parent.name}_no"
    for some in chunks(sorted(rows)):
        query = select(parent.c.no).where(parent.c.owner_id == mending.owner_id, parent.c.no.in_(some))
        there = tx.execute(query).scalars().all()
        old = delete(table).where(table.c.owner_id == mending.owner_id, table.c[number].in_(some))
        if table is s.vector:
            old = old.where(s.vector.c.space_id == rows[some[0]]["space_id"])
        tx.execute(old)
        insert_all(tx, table, [{"owner_id": mending.owner_id, number: no, **rows[no]} for no in there])


def drop_traces(tx: Connection, mending: Mending) -> None:
    """Remove the traces of an owner that cannot be read."""
    t = s.trace.c
    for some in chunks(mending.traces):
        tx.execute(delete(s.trace).where(t.owner_id == mending.owner_id, t.trace_id.in_(some)))


def finish(tx: Connection, mending: Mending, act: Act) -> None:
    """Mend an owner's keys, counter and stray index rows, and write the change that has indexes loaded anew."""
    owner_id = mending.owner_id
    state = lock_owner_if_there(tx, mending.tenant, owner_id)
    if state is None:
        return
    _mend_keys(tx, owner_id, mending.keys)
    if mending.strays:
        for table in DERIVED:
            tx.execute(delete(table).where(table.c.owner_id == owner_id, or_(*stray(table))))
    numbers = Numbers(replace(state, seq=max(state.seq, highest_number(tx, owner_id))))
    reload_indexes(tx, numbers, Event.REPAIR, act)


def _mend_keys(tx: Connection, owner_id: int, memory_nos: Sequence[int]) -> None:
    wanted: dict[int, tuple[str, str | None]] = {}
    for row in _latest(tx, owner_id, memory_nos):
        key = None if row.tx_to is not None else key_of(row.text, row.event_date, row.no, row.successor_no)
        if key != row.live_key:
            wanted[row.no] = (row.kind, key)
    free = free_keys(tx, owner_id, wanted)
    # All let go of theirs first: one may hold what another needs.
    for keys in (dict.fromkeys(free), free):
        values = [{"owner": owner_id, "memory": no, "key": key} for no, key in keys.items()]
        if values:
            tx.execute(SET_KEY, values)


def _latest(tx: Connection, owner_id: int, memory_nos: Sequence[int]) -> list[Any]:
    """Memories with what their latest version says."""
    m, v = s.memory.c, s.version.c
    found: dict[int, Any] = {}
    for some in chunks(memory_nos):
        query = (
            select(m.no, m.kind, m.live_key, v.text, v.event_date, v.tx_to, v.successor_no)
            .join_from(s.memory, s.version, (v.owner_id == m.owner_id) & (v.memory_no == m.no))
            .where(m.owner_id == owner_id, m.no.in_(some))
            .order_by(v.memory_no, v.number)
        )
        found.update((row.no, row) for row in tx.execute(query))
    return list(found.values())


def remove_nobodys(tx: Connection) -> None:
    """Remove the index rows of owners that are not there."""
    for table in DERIVED:
        tx.execute(delete(table).where(nobodys(table)))


def set_packed_by(tx: Connection, fingerprint: str) -> None:
    """Note which tokeniser has made all terms of the store."""
    known = s.meta.c.key == "tokeniser"
    if tx.execute(select(s.meta.c.key).where(known)).first() is None:
        tx.execute(insert(s.meta), {"key": "tokeniser", "value": fingerprint})
    else:
        tx.execute(update(s.meta).where(known).values(value=fingerprint))
