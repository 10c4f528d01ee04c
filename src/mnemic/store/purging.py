"""Removing every trace, physically: of a memory, of runs, of whole owners. Each function is one transaction's.

What is counted is rows per table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    bindparam,
    delete,
    select,
    text,
    update,
)

from ..records import Act, Event
from ..scope import ANYONE, Scope
from ..text.terms import packed_terms
from . import reading, replays, tombstones, traces
from . import schema as s
from .owners import Numbers, lock_owner, lock_owners
from .schema import Place, chunks
from .versions import reload_indexes

# Stands for each character that was removed from the middle of a message.
REMOVED_CHARACTER = "█"

_CLEAN = (
    update(s.message)
    .where(s.message.c.owner_id == bindparam("owner"), s.message.c.no == bindparam("number"))
    .values(content=bindparam("clean"), parts=None)
)
_ERASE = text(
    "INSERT INTO meta (key, value) VALUES ('erase', :trace) ON CONFLICT (key) DO UPDATE SET value = :trace"
)


class Removed(Counter[str]):
    """How many rows were removed, by table."""

    def rows(self, tx: Connection, table: Table, *conditions: ColumnElement[bool]) -> None:
        """Remove the rows that meet all conditions."""
        many = tx.execute(delete(table).where(*conditions)).rowcount
        if many:
            self[table.name] += many


def purge_memory(tx: Connection, tenant: str, place: Place, act: Act) -> Removed:
    """Remove one memory with all its versions, and the words of messages that state it; and the steps and results
    of calls that were about it, or were shown it or those messages.

    A message of which nothing else is left goes too; in any other, each of these characters is replaced. Other
    memories that rest on the same words lose them as their source.
    """
    owner_id, memory_no = place
    numbers = Numbers(lock_owner(tx, tenant, owner_id))
    removed = Removed()
    _remove_memories(tx, owner_id, [memory_no], removed)
    reload_indexes(tx, numbers, Event.PURGE, act)
    _ask_to_erase(tx, act)
    return removed


def purge_scope(tx: Connection, scope: Scope, act: Act) -> Removed:
    """Remove the owners of a scope with all that is theirs.

    Of an owner for whom the scope is bound to runs, only what these runs said goes, and the memories that no
    other run states.
    """
    removed = Removed()
    for state in lock_owners(tx, scope):
        run_ids = scope.runs_of(state.owner)
        if run_ids:
            numbers = Numbers(state)
            _remove_runs(tx, state.id, run_ids, removed)
            reload_indexes(tx, numbers, Event.PURGE, act)
        else:
            _remove_owners(tx, [state.id], removed)
    _ask_to_erase(tx, act)
    return removed


def purge_tenant(tx: Connection, tenant: str, act: Act) -> Removed:
    """Remove every row of a tenant; the embedding space too when the store is empty then."""
    removed = Removed()
    for some in chunks([state.id for state in lock_owners(tx, Scope(tenant, (ANYONE,)))]):
        _remove_owners(tx, some, removed)
    anyone = select(s.owner.c.id).limit(1)
    if tx.execute(anyone).first() is None:
        # Who has begun to add meanwhile holds the space: wait for him, and look again.
        tx.execute(select(s.space.c.id).with_for_update()).all()
        if tx.execute(anyone).first() is None:
            tx.execute(delete(s.space))
    _ask_to_erase(tx, act)
    return removed


def _ask_to_erase(tx: Connection, act: Act) -> None:
    """Note that the database's free space holds what was removed, until `Store.erase` is through."""
    tx.execute(_ERASE, {"trace": act.trace_id})


def _remove_owners(tx: Connection, owners: Sequence[int], removed: Removed) -> None:
    for table in reversed(s.tables.sorted_tables):
        if table in s.OWNED:
            removed.rows(tx, table, table.c.owner_id.in_(owners))
    removed.rows(tx, s.owner, s.owner.c.id.in_(owners))


def _remove_memories(tx: Connection, owner_id: int, memory_nos: Sequence[int], removed: Removed) -> None:
    change, version, support = s.change.c, s.version.c, s.support.c
    told: set[str] = set()
    for some in chunks(sorted(memory_nos)):
        told |= _told_of(tx, owner_id, some)
        own = select(change.trace_id).where(change.owner_id == owner_id, change.memory_no.in_(some))
        for traced in chunks(sorted(set(tx.execute(own).scalars()))):
            _remove_traced(tx, owner_id, traced, removed)
        spans = select(support.message_no, support.start, support.end).where(
            support.owner_id == owner_id, support.memory_no.in_(some)
        )
        stated: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for row in tx.execute(spans):
            stated[row.message_no].append((row.start, row.end))
        succeeded = version.owner_id == owner_id, version.successor_no.in_(some)
        tx.execute(update(s.version).where(*succeeded).values(successor_no=None))
        versions = select(version.no).where(version.owner_id == owner_id, version.memory_no.in_(some))
        for numbers in chunks(list(tx.execute(versions).scalars())):
            for table in (s.vector, s.terms):
                removed.rows(tx, table, table.c.owner_id == owner_id, table.c.version_no.in_(numbers))
        for table in (s.support, s.claim, s.memory_run, s.change, s.version):
            removed.rows(tx, table, table.c.owner_id == owner_id, table.c.memory_no.in_(some))
        removed.rows(tx, s.memory, s.memory.c.owner_id == owner_id, s.memory.c.no.in_(some))
        _redact(tx, owner_id, stated, removed)
    shown = [*traces.mentioning(tx, owner_id, told), *replays.mentioning(tx, owner_id, told)] if told else []
    for traced in chunks(sorted(set(shown))):
        _remove_traced(tx, owner_id, traced, removed)
    _remove_empty_episodes(tx, owner_id, removed)


def _told_of(tx: Connection, owner_id: int, memory_nos: Sequence[int]) -> set[str]:
    """By what the steps of other calls can be known to tell of some memories: their ids and texts, and the ids of
    the messages that state them."""
    m, v, support, said = s.memory.c, s.version.c, s.support.c, s.message.c
    queries = (
        select(m.uid).where(m.owner_id == owner_id, m.no.in_(memory_nos)),
        select(v.text).where(v.owner_id == owner_id, v.memory_no.in_(memory_nos)),
        select(said.uid)
        .join_from(
            s.support,
            s.message,
            and_(said.owner_id == support.owner_id, said.no == support.message_no),
        )
        .where(support.owner_id == owner_id, support.memory_no.in_(memory_nos)),
    )
    return {text for query in queries for text in tx.execute(query).scalars()}


def _remove_traced(tx: Connection, owner_id: int, trace_ids: Sequence[str], removed: Removed) -> None:
    """Remove what is kept of calls: their results and their steps, which repeat what was said."""
    for table in (s.replay, s.trace):
        removed.rows(tx, table, table.c.owner_id == owner_id, table.c.trace_id.in_(trace_ids))


def _redact(
    tx: Connection, owner_id: int, stated: dict[int, list[tuple[int, int]]], removed: Removed
) -> None:
    """Take the words out of messages, and out of what these lend to others."""
    m = s.message.c
    for some in chunks(sorted(stated)):
        buried = tombstones.buried_spans(tx, owner_id, some)
        empty: list[int] = []
        query = select(m.no, m.content).where(m.owner_id == owner_id, m.no.in_(some))
        for no, content in tx.execute(query).all():
            clean = tombstones.masked(content, stated[no], REMOVED_CHARACTER)
            if not any(character.isalnum() for character in clean):
                empty.append(no)
                continue
            tx.execute(_CLEAN, {"owner": owner_id, "number": no, "clean": clean})
            left = tombstones.masked(content, [*stated[no], *buried.get(no, ())])
            values = {"owner": owner_id, "message": no, "terms": packed_terms(left)}
            tx.execute(tombstones.PACK, values)
        _remove_messages(tx, owner_id, empty, removed)


def _remove_messages(tx: Connection, owner_id: int, message_nos: Sequence[int], removed: Removed) -> None:
    for some in chunks(message_nos):
        for table in (s.support, s.message_terms):
            removed.rows(tx, table, table.c.owner_id == owner_id, table.c.message_no.in_(some))
        removed.rows(tx, s.message, s.message.c.owner_id == owner_id, s.message.c.no.in_(some))


def _remove_runs(tx: Connection, owner_id: int, run_ids: frozenset[str], removed: Removed) -> None:
    label, e, change = s.memory_run.c, s.episode.c, s.change.c
    of_runs = label.owner_id == owner_id, label.run_id.in_(run_ids)
    labelled = sorted(set(tx.execute(select(label.memory_no).where(*of_runs)).scalars()))
    others = reading.stated_in_other_runs(tx, owner_id, labelled, run_ids)
    _remove_memories(tx, owner_id, [no for no in labelled if no not in others], removed)
    removed.rows(tx, s.memory_run, *of_runs)
    episodes = tx.execute(select(e.no, e.trace_id).where(e.owner_id == owner_id, e.run_id.in_(run_ids))).all()
    for some in chunks([row.no for row in episodes]):
        said = select(s.message.c.no).where(
            s.message.c.owner_id == owner_id, s.message.c.episode_no.in_(some)
        )
        _remove_messages(tx, owner_id, list(tx.execute(said).scalars()), removed)
        # What other runs stated too may have come from these: its episode stays, and tells no run.
        tx.execute(update(s.episode).where(e.owner_id == owner_id, e.no.in_(some)).values(run_id=""))
    for some in chunks([row.trace_id for row in episodes]):
        _remove_traced(tx, owner_id, some, removed)
        noted = change.event.in_((Event.EPISODE.value, Event.NONE.value))
        removed.rows(tx, s.change, change.owner_id == owner_id, change.trace_id.in_(some), noted)
    _remove_empty_episodes(tx, owner_id, removed)


def _remove_empty_episodes(tx: Connection, owner_id: int, removed: Removed) -> None:
    e = s.episode.c
    unused = [
        ~select(table.c.no)
        .where(table.c.owner_id == e.owner_id, table.c.episode_no == e.no)
        .correlate(s.episode)
        .exists()
        for table in (s.message, s.memory)
    ]
    removed.rows(tx, s.episode, e.owner_id == owner_id, *unused)
