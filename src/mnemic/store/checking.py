"""Verifying rows, one owner at a time: is all there that belongs together, and does it agree? Changes nothing.

Rows are read as they come, so that a store of any size can be checked; what is found is told by ids and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    select,
    true,
)

from ..clock import Instant
from ..records import Event, Fault, FaultKind, Kind, Mending, OwnerState, Space
from ..text.pack import unpack
from . import schema as s
from . import tombstones, traces
from .schema import chunks
from .sound import decoding
from .versions import key_of, past_key

_STREAMED = {"yield_per": 2_000}
MOST_PLACES = 5
# Tables whose rows are made from others: one that belongs to nothing can go.
DERIVED = (s.vector, s.terms, s.message_terms, s.claim)


class Tally:
    """Faults by kind: how many, and where the first of them are."""

    def __init__(self) -> None:
        self._counts: dict[FaultKind, int] = {}
        self._places: dict[FaultKind, list[str]] = {}

    def add(self, kind: FaultKind, place: str, count: int = 1) -> None:
        """Count a fault, or several of one place."""
        self._counts[kind] = self._counts.get(kind, 0) + count
        places = self._places.setdefault(kind, [])
        if len(places) < MOST_PLACES:
            places.append(place)

    def faults(self) -> tuple[Fault, ...]:
        """What was counted, in the order of the kinds."""
        return tuple(
            Fault(kind, self._counts[kind], tuple(self._places[kind]))
            for kind in FaultKind
            if kind in self._counts
        )


@dataclass(frozen=True, slots=True)
class Measure:
    """What rows are held against: the active space, and how terms are made where all are to be made again."""

    space: Space | None
    terms_of: Callable[[str], bytes] | None = None


@dataclass(slots=True)
class _Found:
    """What the check of an owner goes by and has found so far."""

    state: OwnerState
    measure: Measure
    tally: Tally
    checked: dict[str, int]
    opened: dict[int, int] = field(default_factory=dict)
    closed: dict[int, int] = field(default_factory=dict)
    terms: list[int] = field(default_factory=list)
    message_terms: list[int] = field(default_factory=list)
    vectors: list[int] = field(default_factory=list)
    keys: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    uids: dict[int, str] = field(default_factory=dict)

    def count(self, what: str, many: int = 1) -> None:
        self.checked[what] = self.checked.get(what, 0) + many


def packed_by(tx: Connection) -> str | None:
    """The fingerprint of the tokeniser that made the store's terms."""
    return tx.execute(select(s.meta.c.value).where(s.meta.c.key == "tokeniser")).scalar()


def examine(
    tx: Connection, state: OwnerState, measure: Measure, tally: Tally, checked: dict[str, int]
) -> Mending | None:
    """Check an owner's rows: count faults and rows, and return what can be made anew, None for nothing.

    `state` is the owner as the transaction sees it.
    """
    found = _Found(state, measure, tally, checked)
    found.count("owners")
    with decoding(f"a row of owner {state.id}"):
        _changes(tx, found)
        _versions(tx, found)
        _memories_without_version(tx, found)
        _messages(tx, found)
        strays = _orphans(tx, found)
    _keys(tx, found)
    low = highest_number(tx, state.id) > state.seq
    if low:
        tally.add(FaultKind.COUNTER, f"owner {state.id}")
    mending = Mending(
        state.owner.tenant,
        state.id,
        tuple(found.terms),
        tuple(found.message_terms),
        tuple(found.vectors),
        tuple(found.keys),
        low,
        strays,
        _damaged_traces(tx, found),
    )
    return mending if mending != Mending(state.owner.tenant, state.id) else None


def highest_number(tx: Connection, owner_id: int) -> int:
    """The highest number that a row or a change of an owner has."""
    columns = [table.c.no for table in (s.episode, s.message, s.memory, s.version)]
    found = 0
    for column in (*columns, s.change.c.seq):
        query = select(func.max(column)).where(column.table.c.owner_id == owner_id)
        found = max(found, tx.execute(query).scalar() or 0)
    return found


# --- changes and versions ---------------------------------------------------------------------------------


def _changes(tx: Connection, found: _Found) -> None:
    """The order of the changes; notes which versions they opened and closed."""
    c = s.change.c
    query = select(c.seq, c.at, c.opened_no, c.closed_no).where(c.owner_id == found.state.id).order_by(c.seq)
    last: Instant | None = None
    for seq, at, opened, closed in _streamed(tx, query):
        found.count("changes")
        if last is not None and at < last:
            _fault_of_change(found, seq, "is older than the one before")
        last = at
        for number, by, what in ((opened, found.opened, "opens"), (closed, found.closed, "closes")):
            if number in by:
                _fault_of_change(found, seq, f"{what} a version once more")
            elif number is not None:
                by[number] = seq
    lost = _without(s.memory, s.memory.c.owner_id == c.owner_id, s.memory.c.no == c.memory_no)
    missing = select(c.seq).where(
        c.owner_id == found.state.id, c.memory_no.is_not(None), c.event != Event.PURGE, lost
    )
    for (seq,) in _streamed(tx, missing):
        _fault_of_change(found, seq, "names a memory that is not there")


class _VersionRow(NamedTuple):
    """A version with its memory and its index rows, None where there are none."""

    no: int
    memory_no: int
    number: int
    text: str
    event_date: str
    tx_from: Instant
    tx_to: Instant | None
    successor_no: int | None
    valid_to: Instant | None
    expires_at: Instant | None
    uid: str | None
    kind: str
    live_key: str | None
    terms: bytes | None
    vector: bytes | None


def _versions(tx: Connection, found: _Found) -> None:
    """Each version's index rows, and each memory's versions with the key it holds."""
    space = found.measure.space
    values = {"owner": found.state.id, "space": None if space is None else space.id}
    rows = map(_VersionRow._make, _streamed(tx, _version_rows(), values))
    for _, versions in groupby(rows, key=attrgetter("memory_no")):
        found.count("memories")
        before: _VersionRow | None = None
        for row in versions:
            found.count("versions")
            _index_rows(found, row)
            for words in (_out_of_order(row, before), *_unlike_changes(found, row)):
                if words is not None:
                    found.tally.add(FaultKind.VERSIONS, f"{_version(row)}: {words}")
            before = row
        if before is not None and before.uid is not None:
            _note_key(found, before)
    for by, what in ((found.opened, "opens"), (found.closed, "closes")):
        for seq in by.values():
            _fault_of_change(found, seq, f"{what} a version that is not there")


@cache
def _version_rows() -> Select[Any]:
    v, m = s.version.c, s.memory.c
    joined = (
        s.version.outerjoin(s.memory, and_(m.owner_id == v.owner_id, m.no == v.memory_no))
        .outerjoin(s.terms, and_(s.terms.c.owner_id == v.owner_id, s.terms.c.version_no == v.no))
        .outerjoin(
            s.vector,
            s.VECTOR_OF_VERSION,
        )
    )
    columns = (
        v.no,
        v.memory_no,
        v.number,
        v.text,
        v.event_date,
        v.tx_from,
        v.tx_to,
        v.successor_no,
        v.valid_to,
        v.expires_at,
    )
    index_rows = (s.terms.c.data.label("terms"), s.vector.c.data.label("vector"))
    query = select(*columns, m.uid, m.kind, m.live_key, *index_rows).select_from(joined)
    return query.where(v.owner_id == bindparam("owner")).order_by(v.memory_no, v.number)


def _index_rows(found: _Found, row: _VersionRow) -> None:
    wrong = _wrong_terms(found.measure, row.terms, row.text)
    if wrong is not None:
        found.terms.append(row.no)
        found.tally.add(wrong, _version(row))
    space = found.measure.space
    if space is not None and not (row.vector is not None and _is_vector(row.vector, space.dims)):
        found.vectors.append(row.no)
        kind = FaultKind.NO_VECTOR if row.vector is None else FaultKind.WRONG_VECTOR
        found.tally.add(kind, _version(row))


def _wrong_terms(measure: Measure, data: bytes | None, text: str) -> FaultKind | None:
    if data is None:
        return FaultKind.NO_TERMS
    sound = _are_terms(data) if measure.terms_of is None else data == measure.terms_of(text)
    return None if sound else FaultKind.WRONG_TERMS


def _are_terms(data: bytes) -> bool:
    try:
        hashes, counts = unpack(data)
    except (ValueError, TypeError):
        return False
    return bool((hashes[1:] > hashes[:-1]).all() and counts.all())


def _is_vector(data: bytes, dims: int) -> bool:
    return len(data) == 4 * dims and bool(np.isfinite(np.frombuffer(data, dtype="<f4")).all())


def _out_of_order(row: _VersionRow, before: _VersionRow | None) -> str | None:
    """What is wrong with a version's place among those of its memory."""
    if row.number != (1 if before is None else before.number + 1):
        return "a number before it is missing"
    if row.tx_to is not None and row.tx_to < row.tx_from:
        return "closed before it was opened"
    if before is not None and before.tx_to is None:
        return "opened while the one before was open"
    if before is not None and before.tx_to is not None and row.tx_from < before.tx_to:
        return "opened before the one before was closed"
    return None


def _unlike_changes(found: _Found, row: _VersionRow) -> Iterator[str]:
    """Where a version and the changes do not agree; what is left over afterwards names no version."""
    if found.opened.pop(row.no, None) is None:
        yield "opened by no change"
    closed = found.closed.pop(row.no, None) is not None
    if closed != (row.tx_to is not None):
        yield "closed by a change, and open" if closed else "closed by no change"


# --- memories ---------------------------------------------------------------------------------------------


def _note_key(found: _Found, last: _VersionRow) -> None:
    """Note a memory that does not hold the key that its latest version says."""
    key = None
    if last.tx_to is None:
        key = key_of(last.text, last.event_date, last.memory_no, last.successor_no)
        ends = last.valid_to is not None or last.expires_at is not None
        if ends and last.live_key == past_key(key, last.memory_no):
            return  # what superseded it was purged, or it was over when its words were said again
    if last.live_key != key:
        found.keys[last.memory_no] = (last.kind, key)
        found.uids[last.memory_no] = str(last.uid)


def _keys(tx: Connection, found: _Found) -> None:
    """The keys noted as wrong; those that another memory holds rightly cannot be mended."""
    free = free_keys(tx, found.state.id, found.keys)
    for memory_no, uid in found.uids.items():
        if memory_no in free:
            found.tally.add(FaultKind.KEY, uid)
        else:
            found.tally.add(FaultKind.TWINS, uid)
            del found.keys[memory_no]


def free_keys(
    tx: Connection, owner_id: int, wanted: Mapping[int, tuple[str, str | None]]
) -> dict[int, str | None]:
    """The keys that memories without the right one can have: those that no other memory holds.

    `wanted` has their (kind, key) by number; a key of None, for a retired memory, is always free.
    """
    m = s.memory.c
    taken: set[tuple[str, str]] = set()
    for some in chunks(sorted({key for _, key in wanted.values() if key is not None})):
        query = select(m.no, m.kind, m.live_key).where(m.owner_id == owner_id, m.live_key.in_(some))
        taken.update((kind, key) for no, kind, key in tx.execute(query) if no not in wanted)
    free: dict[int, str | None] = {}
    for memory_no, (kind, key) in wanted.items():
        if key is None or (kind, key) not in taken:
            free[memory_no] = key
            if key is not None:
                taken.add((kind, key))
    return free


def _memories_without_version(tx: Connection, found: _Found) -> None:
    m, v = s.memory.c, s.version.c
    lost = _without(s.version, v.owner_id == m.owner_id, v.memory_no == m.no)
    for (uid,) in _streamed(tx, select(m.uid).where(m.owner_id == found.state.id, lost)):
        found.count("memories")
        found.tally.add(FaultKind.NO_VERSION, uid)


# --- messages ---------------------------------------------------------------------------------------------


def _messages(tx: Connection, found: _Found) -> None:
    """The terms of the messages; those that became memories word for word have theirs there."""
    buried = tombstones.all_buried_spans(tx, found.state.id) if found.measure.terms_of is not None else {}
    for no, uid, content, data, is_memory in _streamed(tx, _message_rows(), {"owner": found.state.id}):
        found.count("messages")
        content = tombstones.masked(content, buried.get(no, ()))
        wrong = None if data is None and is_memory else _wrong_terms(found.measure, data, content)
        if wrong is not None:
            found.message_terms.append(no)
            found.tally.add(wrong, f"message {uid}")


@cache
def _message_rows() -> Select[Any]:
    m, t, stated = s.message.c, s.message_terms.c, s.support.c
    # One set for all messages: asked for each of them, SQLite would read all of an owner's support each time.
    verbatim = (
        select(stated.message_no)
        .join_from(
            s.support,
            s.memory,
            and_(s.memory.c.owner_id == stated.owner_id, s.memory.c.no == stated.memory_no),
        )
        .where(stated.owner_id == bindparam("owner"), s.memory.c.kind == Kind.MESSAGE)
    )
    return (
        select(m.no, m.uid, m.content, t.data, m.no.in_(verbatim).label("is_memory"))
        .join_from(
            s.message, s.message_terms, and_(t.owner_id == m.owner_id, t.message_no == m.no), isouter=True
        )
        .where(m.owner_id == bindparam("owner"))
    )


def _damaged_traces(tx: Connection, found: _Found) -> tuple[str, ...]:
    """The traces that cannot be read."""
    lost = []
    for trace_id, damaged in traces.damaged(tx, found.state.id):
        found.count("traces")
        if damaged:
            lost.append(trace_id)
            found.tally.add(FaultKind.TRACE, f"trace {trace_id}")
    return tuple(lost)


# --- rows that belong to nothing --------------------------------------------------------------------------


def _orphans(tx: Connection, found: _Found) -> bool:
    """Count the rows whose parent is not there; whether any of them can go."""
    strays = False
    for table, parent, query in _orphan_queries():
        names = [column.name for column in query.selected_columns]
        for row in _streamed(tx, query, {"owner": found.state.id}):
            told = ", ".join(f"{name} {value}" for name, value in zip(names, row, strict=True))
            found.tally.add(kind_of(table), f"{table.name} of {told}: no such {parent.name}")
            strays |= table in DERIVED
    return strays


@cache
def _orphan_queries() -> tuple[tuple[Table, Table, Select[Any]], ...]:
    """For each reference of the schema the rows that refer to nothing, by those of their keys that are numbers."""
    queries = []
    for table in s.OWNED:
        numbers = [column for column in table.primary_key.columns if column.type.python_type is int]
        for key in _references(table):
            mine = table.c.owner_id == bindparam("owner")
            queries.append((table, key.referred_table, select(*numbers).where(mine, is_lost(key))))
    return tuple(queries)


def _references(table: Table) -> list[ForeignKeyConstraint]:
    """A table's references to rows of its owner, or of no one, in the order of their columns."""
    keys = [key for key in table.foreign_key_constraints if key.referred_table is not s.owner]
    return sorted(keys, key=lambda key: [column.name for column in key.columns])


def stray(table: Table) -> list[ColumnElement[bool]]:
    """The conditions of which a row of a derived table that belongs to nothing meets one."""
    return [is_lost(key) for key in _references(table)]


def is_lost(key: ForeignKeyConstraint) -> ColumnElement[bool]:
    """Whether a row refers to something by this key that is not there."""
    told = [pair.parent.is_not(None) for pair in key.elements if pair.parent.nullable]
    return and_(true(), *told, _without(key.referred_table, *(e.column == e.parent for e in key.elements)))


def _without(table: Table, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return ~exists(select(table.c[next(iter(table.c.keys()))]).where(*conditions).correlate_except(table))


def nobodys(table: Table) -> ColumnElement[bool]:
    """Whether a row belongs to an owner that is not there."""
    return table.c.owner_id.not_in(select(s.owner.c.id))


def count_nobodys(tx: Connection, tally: Tally) -> bool:
    """Count the rows that belong to an owner who is not there; whether any of them can go."""
    strays = False
    for table in s.OWNED:
        owner_id = table.c.owner_id
        query = select(owner_id, func.count()).where(nobodys(table)).group_by(owner_id).order_by(owner_id)
        for number, many in tx.execute(query).all():
            tally.add(kind_of(table), f"{table.name} of owner_id {number}: no such owner", many)
            strays |= table in DERIVED
    return strays


def kind_of(table: Table) -> FaultKind:
    """What it is when a row of this table belongs to nothing."""
    return FaultKind.STRAY if table in DERIVED else FaultKind.ORPHAN


def _streamed(tx: Connection, query: Select[Any], values: Mapping[str, Any] | None = None) -> Iterator[Any]:
    yield from tx.execute(query, values or {}, execution_options=_STREAMED)


def _version(row: _VersionRow) -> str:
    return f"memory {row.uid or f'no {row.memory_no}'}, version {row.number}"


def _fault_of_change(found: _Found, seq: int, words: str) -> None:
    found.tally.add(FaultKind.CHANGES, f"change {seq} of owner {found.state.id}: it {words}")
