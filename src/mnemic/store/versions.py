"""One version closed, the next one opened: what every change to a memory comes down to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, literal, select, update

from ..clock import Instant
from ..errors import DuplicateError
from ..records import Act, Claim, Embedded, Event
from ..text.normal import live_key
from . import schema as s
from . import tombstones
from .owners import Numbers
from .rows import Rows, change_row, claim_rows, open_version
from .schema import AnyRow, chunks

# A memory with the version of it that is believed.
BELIEVED = select(
    s.memory.c.kind,
    s.memory.c.live_key,
    s.memory.c.no,
    s.memory.c.uid,
    s.version.c.text,
    s.version.c.valid_to,
    s.version.c.expires_at,
).join_from(
    s.memory,
    s.version,
    (s.version.c.owner_id == s.memory.c.owner_id)
    & (s.version.c.memory_no == s.memory.c.no)
    & s.version.c.tx_to.is_(None),
)
_LIVE = BELIEVED.where(
    s.memory.c.owner_id == bindparam("owner"),
    s.memory.c.live_key.in_(bindparam("keys", expanding=True)),
)
# Versions of an owner whole, each with its memory; and those of them that are believed.
EVER = (
    select(s.version, s.memory.c.uid, s.memory.c.kind)
    .join_from(
        s.version,
        s.memory,
        (s.memory.c.owner_id == s.version.c.owner_id) & (s.memory.c.no == s.version.c.memory_no),
    )
    .where(s.version.c.owner_id == bindparam("owner"))
)
WITH_MEMORY = EVER.where(s.version.c.tx_to.is_(None))
# The memories that gave way to some.
GAVE_WAY_TO = WITH_MEMORY.where(
    s.version.c.successor_no.in_(bindparam("successors", expanding=True))
).order_by(s.version.c.memory_no)
OPEN = WITH_MEMORY.where(s.version.c.memory_no == bindparam("memory"))
LATEST = (
    select(s.version)
    .where(s.version.c.owner_id == bindparam("owner"), s.version.c.memory_no == bindparam("memory"))
    .order_by(s.version.c.number.desc())
    .limit(1)
)
CLOSE = (
    update(s.version)
    .where(s.version.c.owner_id == bindparam("owner"), s.version.c.no == bindparam("version"))
    .values(tx_to=bindparam("at"))
)
SET_KEY = (
    update(s.memory)
    .where(s.memory.c.owner_id == bindparam("owner"), s.memory.c.no == bindparam("memory"))
    .values(live_key=bindparam("key"))
)
_LAST_AT = (
    select(s.change.c.at)
    .where(s.change.c.owner_id == bindparam("owner"))
    .order_by(s.change.c.seq.desc())
    .limit(1)
)


class Live(NamedTuple):
    """A memory that holds a live key, the end of what it says, if that has one, and until when it is kept."""

    memory_no: int
    uid: str
    text: str
    valid_to: Instant | None = None
    expires_at: Instant | None = None

    def has_expired(self, at: Instant) -> bool:
        """Whether it is not kept any more, so that its words are free for who says them again."""
        return self.expires_at is not None and self.expires_at <= at


def not_before(tx: Connection, owner_id: int, act: Act) -> Act:
    """The act, not earlier than the owner's last change: history never goes back with the clock."""
    last = tx.execute(_LAST_AT, {"owner": owner_id}).scalar()
    return act if last is None or last <= act.at else replace(act, at=last)


def live_memories(tx: Connection, owner_id: int, keys: Sequence[str]) -> dict[tuple[str, str], Live]:
    """The memories of an owner that hold one of the keys, by (kind, key)."""
    found: dict[tuple[str, str], Live] = {}
    for some in chunks(sorted(set(keys))):
        for row in tx.execute(_LIVE, {"owner": owner_id, "keys": some}):
            found[row.kind, row.live_key] = Live(row.no, row.uid, row.text, row.valid_to, row.expires_at)
    return found


def reload_indexes(tx: Connection, numbers: Numbers, event: Event, act: Act) -> None:
    """Write the change, of no one memory, after which all indexes of an owner load anew, and save its numbers."""
    owner_id = numbers.state.id
    tx.execute(insert(s.change), change_row(owner_id, numbers, event, not_before(tx, owner_id, act), None))
    numbers.save(tx)


def key_of(text: str, event_date: str, memory_no: int, successor_no: int | None) -> str:
    """The live key of a believed memory: its words' own, or that for the past once it is superseded."""
    key = live_key(text, event_date)
    return key if successor_no is None else past_key(key, str(memory_no))


def past_key(key: str, number: int | str = "") -> str:
    """What a superseded memory has for a live key: no claim on its words, but a way to find it by them."""
    return f"{key}:{number}"


def key_at(row: AnyRow, memory_no: int, at: Instant) -> str:
    """The live key that a version is to have at an instant: that for the past too once it is over, or has expired."""
    key = key_of(row.text, row.event_date, memory_no, row.successor_no)
    gone = any(end is not None and end <= at for end in (row.valid_to, row.expires_at))
    return past_key(key, memory_no) if gone and row.successor_no is None else key


def free_key(tx: Connection, owner_id: int, live: Live, key: str) -> None:
    """Have a memory let go of its words, for who says them again."""
    tx.execute(SET_KEY, {"owner": owner_id, "memory": live.memory_no, "key": past_key(key, live.memory_no)})


def claim_key(tx: Connection, owner_id: int, memory_no: int, kind: str, key: str, at: Instant) -> None:
    """Make `key` the memory's own among those that are live at an instant, or raise `DuplicateError`."""
    other = live_memories(tx, owner_id, [key]).get((kind, key))
    if other is not None and other.memory_no != memory_no:
        if not other.has_expired(at):
            raise DuplicateError(other.uid)
        free_key(tx, owner_id, other, key)
    tx.execute(SET_KEY, {"owner": owner_id, "memory": memory_no, "key": key})


def end_version(
    tx: Connection,
    numbers: Numbers,
    row: AnyRow,
    at: Instant,
    precision: str | None,
    successor_no: int | None,
    act: Act,
) -> None:
    """Close a memory in the world's time, and link it to its successor where it has one."""
    fields = {"valid_to": at, "valid_to_precision": precision, "successor_no": successor_no}
    replace_version(tx, numbers, row, fields, None, Event.SUPERSEDE, act)
    key = past_key(live_key(row.text, row.event_date), str(row.memory_no))
    tx.execute(SET_KEY, {"owner": numbers.state.id, "memory": row.memory_no, "key": key})


def retire_version(tx: Connection, numbers: Numbers, row: AnyRow, act: Act) -> None:
    """Close a memory's open version because it was wrong or is deleted, and bury its words."""
    owner_id, memory_no = numbers.state.id, row.memory_no
    tx.execute(CLOSE, {"owner": owner_id, "version": row.no, "at": act.at})
    tx.execute(SET_KEY, {"owner": owner_id, "memory": memory_no, "key": None})
    tx.execute(insert(s.change), change_row(owner_id, numbers, Event.DELETE, act, memory_no, closed=row.no))
    tombstones.retell(tx, owner_id, [memory_no])


def replace_claims(tx: Connection, owner_id: int, memory_no: int, claims: Sequence[Claim]) -> None:
    """What a memory claimed by its old words it claims no more."""
    c = s.claim.c
    tx.execute(delete(s.claim).where(c.owner_id == owner_id, c.memory_no == memory_no))
    rows = list(claim_rows(claims, memory_no, owner_id))
    if rows:
        tx.execute(insert(s.claim), rows)


def replace_version(
    tx: Connection,
    numbers: Numbers,
    row: AnyRow,
    changed: Mapping[str, Any],
    embedded: Embedded | None,
    event: Event,
    act: Act,
    *,
    like: AnyRow | None = None,
) -> None:
    """Close a version (where it is open) and open its successor with some fields changed.

    like: the version of the memory that the new one is like; the one before it, if not given. Without `embedded` its
    index rows are copied: its text is unchanged.
    """
    like = row if like is None else like
    owner_id, new_no = numbers.state.id, numbers.next()
    closed = row.no if row.tx_to is None else None
    if closed is not None:
        tx.execute(CLOSE, {"owner": owner_id, "version": closed, "at": act.at})
    fields = {column.name: getattr(like, column.name) for column in s.version.columns}
    opened = {**fields, **changed, "no": new_no, "number": row.number + 1, "tx_from": act.at, "tx_to": None}
    rows = Rows()
    if embedded is None:
        tx.execute(insert(s.version), opened)
        _copy_index_rows(tx, owner_id, like.no, new_no)
    else:
        open_version(rows, opened, embedded)
    rows.change.append(change_row(owner_id, numbers, event, act, row.memory_no, opened=new_no, closed=closed))
    rows.write(tx)


def _copy_index_rows(tx: Connection, owner_id: int, old_no: int, new_no: int) -> None:
    for table in (s.terms, s.vector):
        names = [column.name for column in table.columns]
        columns = [literal(new_no) if n == "version_no" else table.c[n] for n in names]
        old = select(*columns).where(table.c.owner_id == owner_id, table.c.version_no == old_no)
        tx.execute(insert(table).from_select(names, old))
