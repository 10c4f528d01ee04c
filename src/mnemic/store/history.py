"""Reading the change sequence: as the history of one memory, and as the log of a scope."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, tuple_

from ..clock import Instant
from ..records import Entry, Event, Owner
from ..scope import Scope
from . import schema as s
from .owners import fits, owners_in
from .schema import AnyRow, chunks
from .sound import decoding, instant, json_object, optional_instant

_opened = s.version.alias("opened")
_closed = s.version.alias("closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which changes of a scope are asked for: those in [since, until), by an actor, of some events, of a memory."""

    scope: Scope
    since: Instant | None = None
    until: Instant | None = None
    actor: str | None = None
    events: tuple[Event, ...] = ()
    memory_id: str | None = None


def history(tx: Connection, owner_id: int, memory_nos: Collection[int]) -> list[Entry]:
    """All changes of some memories' texts, metadata and states, in order; repeats are left out."""
    c = s.change.c
    found: list[Entry] = []
    for some in chunks(sorted(memory_nos)):
        query = _entries().where(c.owner_id == owner_id, c.memory_no.in_(some), c.event != Event.NONE)
        with decoding("a history"):
            found += [_entry(row) for row in tx.execute(query)]
    return sorted(found, key=attrgetter("place"))


def log(tx: Connection, asked: LogQuery, limit: int, after: tuple[Instant, int, int] | None) -> list[Entry]:
    """The changes asked for, newest first, at most `limit`; `after` is the place of the last one before."""
    order = (s.change.c.at, s.change.c.owner_id, s.change.c.seq)
    query = _entries().where(_asked_for(asked))
    if after is not None:
        query = query.where(tuple_(*order) < after)
    query = query.order_by(*(column.desc() for column in order)).limit(limit)
    with decoding("the log"):
        return [_entry(row) for row in tx.execute(query)]


def count_log(tx: Connection, asked: LogQuery) -> int:
    """How many changes are asked for."""
    query = select(func.count()).select_from(s.change)
    if asked.memory_id is not None:
        query = query.join(s.memory, _of_memory())
    return int(tx.execute(query.where(_asked_for(asked))).scalar_one())


def _entries() -> Select[Any]:
    c, m, o = s.change.c, s.memory.c, s.owner.c
    return select(
        c.owner_id,
        c.seq,
        c.event,
        c.at,
        c.actor,
        c.reason,
        c.trace_id,
        _opened.c.text.label("new_text"),
        _opened.c.metadata.label("new_metadata"),
        _closed.c.text.label("old_text"),
        _closed.c.metadata.label("old_metadata"),
        m.uid,
        m.created_at,
        m.actor_id,
        m.role,
        o.tenant,
        o.user_id,
        o.agent_id,
        o.app_id,
    ).select_from(
        s.change.join(s.owner, o.id == c.owner_id)
        .outerjoin(s.memory, _of_memory())
        .outerjoin(_opened, and_(_opened.c.owner_id == c.owner_id, _opened.c.no == c.opened_no))
        .outerjoin(_closed, and_(_closed.c.owner_id == c.owner_id, _closed.c.no == c.closed_no))
    )


def _of_memory() -> ColumnElement[bool]:
    return and_(s.memory.c.owner_id == s.change.c.owner_id, s.memory.c.no == s.change.c.memory_no)


def _asked_for(asked: LogQuery) -> ColumnElement[bool]:
    c = s.change.c
    parts: list[ColumnElement[bool]] = [c.owner_id.in_(owners_in(asked.scope))]
    if any(pattern.run_id is not None for pattern in asked.scope.patterns):
        parts.append(_in_runs(asked.scope))
    if asked.since is not None:
        parts.append(c.at >= asked.since)
    if asked.until is not None:
        parts.append(c.at < asked.until)
    if asked.actor is not None:
        parts.append(c.actor == asked.actor)
    if asked.events:
        parts.append(c.event.in_(asked.events))
    if asked.memory_id is not None:
        parts.append(s.memory.c.uid == asked.memory_id)
    return and_(*parts)


def _in_runs(scope: Scope) -> ColumnElement[bool]:
    """The changes of the memories that carry a run's label, and the episodes that were told in the run."""
    c, o, label, told = s.change.c, s.owner.c, s.memory_run.c, s.episode.c
    ids = {"user_id": o.user_id, "agent_id": o.agent_id, "app_id": o.app_id}
    # One set for all changes, not one look per change: an episode is not found by its trace.
    labelled = (
        select(label.owner_id, label.memory_no)
        .join_from(s.memory_run, s.owner, o.id == label.owner_id)
        .where(label.owner_id.in_(owners_in(scope)), fits(scope, {**ids, "run_id": label.run_id}))
    )
    episodes = (
        select(told.owner_id, told.trace_id)
        .join_from(s.episode, s.owner, o.id == told.owner_id)
        .where(told.owner_id.in_(owners_in(scope)), fits(scope, {**ids, "run_id": told.run_id}))
    )
    return or_(
        tuple_(c.owner_id, c.memory_no).in_(labelled),
        and_(c.event == Event.EPISODE, tuple_(c.owner_id, c.trace_id).in_(episodes)),
    )


def _entry(row: AnyRow) -> Entry:
    return Entry(
        memory_id=row.uid,
        old_memory=row.old_text,
        new_memory=row.new_text,
        event=row.event,
        at=instant(row.at),
        created_at=optional_instant(row.created_at),
        actor_id=row.actor_id,
        role=row.role,
        old_metadata=None if row.old_metadata is None else json_object(row.old_metadata),
        new_metadata=None if row.new_metadata is None else json_object(row.new_metadata),
        actor=row.actor,
        reason=row.reason,
        trace_id=row.trace_id,
        owner=Owner(row.tenant, row.user_id, row.agent_id, row.app_id),
        place=(row.at, row.owner_id, row.seq),
    )
