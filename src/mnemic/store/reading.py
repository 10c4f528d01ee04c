"""Reading memories and messages. Every function takes the owners or the tenant it may see."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    or_,
    select,
    true,
    tuple_,
)

from ..clock import Instant
from ..filters import EVERYTHING, Node, type_fault
from ..records import Item, Owner, Source, StoredMessage
from ..scope import Pattern, Scope
from . import filter_sql, tombstones
from . import schema as s
from .owners import among, fits, owners_in, told_by
from .schema import AnyRow, Place, chunks
from .sound import decoding, instant, json_object, optional_instant

QUOTE_CHARS = 300

# The memory that superseded the one an item shows.
_heir = s.memory.alias("heir")


class _ItemRow(NamedTuple):
    """What an item is made of; a named tuple, since SQLAlchemy's rows cost several times as much to read."""

    owner_id: int
    memory_no: int
    uid: str
    kind: str
    role: str | None
    actor_id: str | None
    attributed_to: str | None
    created_at: Instant
    version_no: int
    number: int
    text: str
    metadata: str | None
    categories: str | None
    valid_from: Instant | None
    valid_to: Instant | None
    expires_on: str | None
    observed_at: Instant
    event_date: str
    tx_from: Instant
    tx_to: Instant | None
    superseded_by: str | None
    tenant: str
    user_id: str
    agent_id: str
    app_id: str


_ITEM_COLUMNS = (
    s.memory.c.owner_id,
    s.memory.c.no.label("memory_no"),
    s.memory.c.uid,
    s.memory.c.kind,
    s.memory.c.role,
    s.memory.c.actor_id,
    s.memory.c.attributed_to,
    s.memory.c.created_at,
    s.version.c.no.label("version_no"),
    s.version.c.number,
    s.version.c.text,
    s.version.c.metadata,
    s.version.c.categories,
    s.version.c.valid_from,
    s.version.c.valid_to,
    s.version.c.expires_on,
    s.version.c.observed_at,
    s.version.c.event_date,
    s.version.c.tx_from,
    s.version.c.tx_to,
    _heir.c.uid.label("superseded_by"),
    s.owner.c.tenant,
    s.owner.c.user_id,
    s.owner.c.agent_id,
    s.owner.c.app_id,
)
_JOINED = (
    s.version.join(
        s.memory, and_(s.memory.c.owner_id == s.version.c.owner_id, s.memory.c.no == s.version.c.memory_no)
    )
    .join(s.owner, s.owner.c.id == s.version.c.owner_id)
    .outerjoin(_heir, and_(_heir.c.owner_id == s.version.c.owner_id, _heir.c.no == s.version.c.successor_no))
)


def items_of_versions(tx: Connection, owner_id: int, version_nos: Sequence[int]) -> dict[int, Item]:
    """The items of some versions of one owner, by version number; a missing version is left out."""
    rows: list[AnyRow] = []
    for some in chunks(version_nos):
        rows += tx.execute(_items_by_version(), {"owner": owner_id, "versions": some})
    return dict(zip((row.version_no for row in rows), _items(tx, rows), strict=True))


def texts_of_versions(tx: Connection, owner_id: int, version_nos: Sequence[int]) -> dict[int, str]:
    """The texts of some versions of one owner, by version number."""
    texts: dict[int, str] = {}
    for some in chunks(version_nos):
        rows = tx.execute(_texts(), {"owner": owner_id, "versions": some})
        texts.update({row.no: row.text for row in rows})
    return texts


@lru_cache(maxsize=1)
def _texts() -> Select[Any]:
    c = s.version.c
    return select(c.no, c.text).where(
        c.owner_id == bindparam("owner"), c.no.in_(bindparam("versions", expanding=True))
    )


@lru_cache(maxsize=1)
def _items_by_version() -> Select[Any]:
    return (
        select(*_ITEM_COLUMNS)
        .select_from(_JOINED)
        .where(
            s.version.c.owner_id == bindparam("owner"),
            s.version.c.no.in_(bindparam("versions", expanding=True)),
        )
    )


def place_of(tx: Connection, scope: Scope, uid: str) -> Place | None:
    """Where a memory lies, (owner_id, memory_no), if the scope may see it, retired ones too.

    A pattern without any id stands for the whole tenant.
    """
    m = s.memory.c
    # From the memory to its owner: the owners that a scope may see can be a whole tenant's.
    joined = s.memory.join(s.owner, s.owner.c.id == m.owner_id)
    query = select(m.owner_id, m.no).select_from(joined)
    row = tx.execute(query.where(m.uid == uid, s.owner.c.tenant == scope.tenant, sees(scope))).first()
    return None if row is None else (row.owner_id, row.no)


def sees(scope: Scope) -> ColumnElement[bool]:
    """The memories, joined with their owners, that a scope may see: where it tells a run, those labelled so."""
    run, parts = s.memory_run.c, []
    for names, values in told_by(scope).items():
        columns = [run.run_id if name == "run_id" else s.owner.c[name] for name in names]
        told = among(columns, values) if names else true()
        if "run_id" in names:
            own = and_(run.owner_id == s.memory.c.owner_id, run.memory_no == s.memory.c.no)
            # SQLite 3.51.1 gives a row once per match of a bare EXISTS; compared with true it does not.
            told = exists().where(own, told).is_(True)
        parts.append(told)
    return or_(false(), *parts)


def item_at(tx: Connection, place: Place) -> Item | None:
    """The memory at a place as it is believed now; None when it is retired."""
    owner_id, memory_no = place
    query = (
        select(*_ITEM_COLUMNS)
        .select_from(_JOINED)
        .where(
            s.version.c.owner_id == owner_id,
            s.version.c.memory_no == memory_no,
            s.version.c.tx_to.is_(None),
        )
    )
    rows = tx.execute(query).all()
    return _items(tx, rows)[0] if rows else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a list call asks for: owners, filters, which states, and a page.

    `now`, `as_of`, `known_at` are those of a search; `known_at` goes with no deleted ones. `after` is the place of
    the last item of the page before.
    """

    scope: Scope
    tree: Node
    now: Instant
    show_deleted: bool = False
    only_deleted: bool = False
    show_expired: bool = False
    include_superseded: bool = False
    as_of: Instant | None = None
    known_at: Instant | None = None
    limit: int | None = None
    after: tuple[Instant, int, int] | None = None

    def page(self, limit: int, after: tuple[Instant, int, int] | None) -> Listing:
        """The same listing, one page of it."""
        return replace(self, limit=limit, after=after)


def list_items(tx: Connection, listing: Listing) -> list[Item]:
    """A page of items, newest first."""
    order = (s.memory.c.created_at, s.memory.c.owner_id, s.memory.c.no)
    query = select(*_ITEM_COLUMNS).select_from(_JOINED).where(listed(tx, listing))
    if listing.after is not None:
        query = query.where(tuple_(*order) < listing.after)
    query = query.order_by(*(column.desc() for column in order))
    if listing.limit is not None:
        query = query.limit(listing.limit)
    rows = tx.execute(query).all()
    return _items(tx, rows, with_deletion=listing.show_deleted or listing.only_deleted)


def count_items(tx: Connection, listing: Listing) -> int:
    """How many items the listing has on all its pages."""
    query = select(func.count()).select_from(_JOINED).where(listed(tx, listing))
    return int(tx.execute(query).scalar_one())


def listed_places(tx: Connection, listing: Listing) -> list[Place]:
    """Where the listing's memories lie."""
    query = select(s.memory.c.owner_id, s.memory.c.no).select_from(_JOINED).where(listed(tx, listing))
    return [(row.owner_id, row.no) for row in tx.execute(query)]


def stated_in_other_runs(
    tx: Connection, owner_id: int, memory_nos: Sequence[int], run_ids: frozenset[str]
) -> set[int]:
    """Those of some memories that were stated in other runs than these too; of no runs, none."""
    label = s.memory_run.c
    found: set[int] = set()
    for some in chunks(memory_nos) if run_ids else ():
        others = select(label.memory_no).where(
            label.owner_id == owner_id, label.memory_no.in_(some), label.run_id.not_in(run_ids)
        )
        found.update(tx.execute(others).scalars())
    return found


def matching_versions(
    tx: Connection, owner_id: int, condition: ColumnElement[bool], known_at: Instant | None = None
) -> set[int]:
    """The versions of an owner that are believed, or were at `known_at`, and meet a condition on text or columns."""
    query = (
        select(s.version.c.no)
        .select_from(_JOINED)
        .where(s.version.c.owner_id == owner_id, s.believed(known_at), condition)
    )
    return set(tx.execute(query).scalars())


def refuse_mixed_types(tx: Connection, listing: Listing) -> None:
    """Raise `FilterError` where a filter compares a value with one of another type in the listing's scope."""
    odd = filter_sql.guard_condition(listing.tree, tx.dialect.name)
    if odd is None:
        return
    query = select(s.memory.c.uid, s.version.c.metadata).select_from(_JOINED)
    row = tx.execute(query.where(_in_state(listing), odd).limit(1)).first()
    if row is not None:
        with decoding("metadata"):
            metadata = json.loads(row[1])
        fault = type_fault(listing.tree, row.uid, metadata)
        if fault is not None:
            raise fault


def counts(tx: Connection, scope: Scope, now: Instant) -> dict[str, Any]:
    """How many owners, messages and memories (by state and kind) a scope has."""
    current = Listing(scope=scope, tree=EVERYTHING, now=now)
    everything = replace(current, show_expired=True, include_superseded=True)
    kind = s.memory.c.kind

    def by_kind(listing: Listing) -> dict[str, int]:
        query = select(kind, func.count()).select_from(_JOINED).where(_in_state(listing), sees(scope))
        return {str(name): int(many) for name, many in tx.execute(query.group_by(kind))}

    kinds = by_kind(current)
    believed = sum(by_kind(everything).values())
    return {
        "owners": int(tx.execute(select(func.count()).select_from(owners_in(scope).subquery())).scalar_one()),
        "messages": count_messages(tx, scope),
        "memories": sum(kinds.values()),
        "by_kind": kinds,
        "superseded_or_expired": believed - sum(kinds.values()),
        "deleted": sum(by_kind(replace(everything, only_deleted=True)).values()),
    }


def listed(tx: Connection, listing: Listing) -> ColumnElement[bool]:
    """The versions, joined with their memories, that a listing lists on all its pages."""
    return and_(_in_state(listing), filter_sql.condition(listing.tree, tx.dialect.name))


def _in_state(listing: Listing) -> ColumnElement[bool]:
    v = s.version.c
    parts: list[ColumnElement[bool]] = [v.owner_id.in_(owners_in(listing.scope))]
    if listing.only_deleted:
        parts.append(_is_last_of_retired())
    elif listing.show_deleted:
        parts.append(or_(v.tx_to.is_(None), _is_last_of_retired()))
    else:
        parts.append(s.believed(listing.known_at))
    if not listing.show_expired:
        parts.append(or_(v.expires_at.is_(None), v.expires_at > listing.now))
    if not listing.include_superseded:
        at = listing.now if listing.as_of is None else listing.as_of
        parts.append(or_(v.valid_to.is_(None), v.valid_to > at))
        if listing.as_of is not None:
            parts.append(func.coalesce(v.valid_from, v.observed_at) <= at)
    return and_(*parts)


def _is_last_of_retired() -> ColumnElement[bool]:
    later = s.version.alias("later")
    newest = (
        select(func.max(later.c.number))
        .where(later.c.owner_id == s.version.c.owner_id, later.c.memory_no == s.version.c.memory_no)
        .scalar_subquery()
    )
    return and_(s.version.c.tx_to.is_not(None), s.version.c.number == newest)


def _items(tx: Connection, found: Sequence[AnyRow], *, with_deletion: bool = False) -> list[Item]:
    rows = [_ItemRow._make(row) for row in found]
    by_owner: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        by_owner[row.owner_id].append(row.memory_no)
    runs: dict[Place, tuple[str, ...]] = {}
    sources: dict[Place, Source] = {}
    deletions: dict[Place, AnyRow] = {}
    for owner_id, memory_nos in by_owner.items():
        for some in chunks(memory_nos):
            values = {"owner": owner_id, "memories": some}
            runs.update(_runs(tx, values))
            sources.update(_sources(tx, values))
            if with_deletion:
                deletions.update({(owner_id, r.memory_no): r for r in tx.execute(_deletions(), values)})
    with decoding("a memory"):
        return [_item(row, runs, sources, deletions if with_deletion else None) for row in rows]


def _item(
    row: _ItemRow,
    runs: dict[Place, tuple[str, ...]],
    sources: dict[Place, Source],
    deletions: dict[Place, AnyRow] | None,
) -> Item:
    place = (row.owner_id, row.memory_no)
    # Without deletions asked for, a version that is believed no more is what was known once.
    gone = deletions is not None and row.tx_to is not None
    deletion = deletions.get(place) if deletions is not None and gone else None
    return Item(
        id=row.uid,
        memory=row.text,
        kind=row.kind,
        owner=Owner(row.tenant, row.user_id, row.agent_id, row.app_id),
        runs=runs.get(place, ()),
        metadata=None if row.metadata is None else json_object(row.metadata),
        categories=None if row.categories is None else tuple(json.loads(row.categories)),
        role=row.role,
        actor_id=row.actor_id,
        attributed_to=row.attributed_to,
        created_at=instant(row.created_at),
        updated_at=instant(row.tx_from),
        version=row.number,
        observed_at=instant(row.observed_at),
        valid_from=optional_instant(row.valid_from),
        valid_to=optional_instant(row.valid_to),
        expiration_date=row.expires_on,
        superseded_by=row.superseded_by,
        source=sources.get(place),
        deleted_at=optional_instant(row.tx_to) if gone else None,
        deleted_by=None if deletion is None else deletion.actor,
        deleted_reason=None if deletion is None else deletion.reason,
        place=(row.created_at, row.owner_id, row.memory_no),
        event_date=row.event_date,
    )


def _runs(tx: Connection, values: dict[str, Any]) -> dict[Place, tuple[str, ...]]:
    found: dict[Place, list[str]] = defaultdict(list)
    for memory_no, run_id in tx.execute(_runs_of(), values).all():
        if run_id:
            found[values["owner"], memory_no].append(run_id)
    return {place: tuple(names) for place, names in found.items()}


def _sources(tx: Connection, values: dict[str, Any]) -> dict[Place, Source]:
    found: dict[Place, list[tuple[str, str | None]]] = defaultdict(list)
    for memory_no, uid, quote in tx.execute(_supports_of(), values).all():
        found[values["owner"], memory_no].append((uid, quote))
    return {place: Source(tuple(uid for uid, _ in stated), stated[0][1]) for place, stated in found.items()}


@lru_cache(maxsize=1)
def _runs_of() -> Select[Any]:
    return (
        select(s.memory_run.c.memory_no, s.memory_run.c.run_id)
        .where(
            s.memory_run.c.owner_id == bindparam("owner"),
            s.memory_run.c.memory_no.in_(bindparam("memories", expanding=True)),
        )
        .order_by(s.memory_run.c.memory_no, s.memory_run.c.run_id)
    )


@lru_cache(maxsize=1)
def _supports_of() -> Select[Any]:
    length = s.support.c.end - s.support.c.start
    length = case((length > QUOTE_CHARS, QUOTE_CHARS), else_=length)
    words = func.substr(s.message.c.content, s.support.c.start + 1, length)
    quote = case((tombstones.states_a_retired_memory(), None), else_=words)
    return (
        select(s.support.c.memory_no, s.message.c.uid, quote.label("quote"))
        .join_from(
            s.support,
            s.message,
            and_(s.message.c.owner_id == s.support.c.owner_id, s.message.c.no == s.support.c.message_no),
        )
        .where(
            s.support.c.owner_id == bindparam("owner"),
            s.support.c.memory_no.in_(bindparam("memories", expanding=True)),
        )
        .order_by(s.support.c.memory_no, s.support.c.message_no, s.support.c.start)
    )


@lru_cache(maxsize=1)
def _deletions() -> Select[Any]:
    return (
        select(s.change.c.memory_no, s.change.c.actor, s.change.c.reason)
        .where(
            s.change.c.owner_id == bindparam("owner"),
            s.change.c.memory_no.in_(bindparam("memories", expanding=True)),
            s.change.c.event == "DELETE",
        )
        .order_by(s.change.c.seq)
    )


def messages(
    tx: Connection,
    scope: Scope,
    *,
    limit: int | None = None,
    after: tuple[Instant, int, int] | None = None,
    condition: ColumnElement[bool] | None = None,
) -> list[StoredMessage]:
    """Messages of a scope in the order they were said; `after` is the place of the last one before.

    `condition` narrows them further.
    """
    m = s.message.c
    query = _messages_of(scope).order_by(m.said_at, m.owner_id, m.no)
    if after is not None:
        query = query.where(tuple_(m.said_at, m.owner_id, m.no) > after)
    if condition is not None:
        query = query.where(condition)
    if limit is not None:
        query = query.limit(limit)
    with decoding("a message"):
        found = [_stored_message(row) for row in tx.execute(query)]
    return _with_deletions(tx, found)


def recent_messages(
    tx: Connection, owner: Owner, run_id: str, *, since: Instant, until: Instant, limit: int
) -> list[StoredMessage]:
    """The last messages of an owner's run said after `since` and up to `until`, in the order in which they came."""
    m = s.message.c
    scope = Scope(owner.tenant, (Pattern(owner.user_id, owner.agent_id, owner.app_id, run_id),))
    then = and_(m.said_at > since, m.said_at <= until)
    query = _messages_of(scope).where(then).order_by(m.owner_id.desc(), m.no.desc()).limit(limit)
    with decoding("a message"):
        found = [_stored_message(row) for row in tx.execute(query)]
    return _with_deletions(tx, found[::-1])


def _messages_of(scope: Scope) -> Select[Any]:
    """Each message of a scope with its episode's run and trace, and its owner's ids."""
    m, e = s.message.c, s.episode.c
    return (
        select(s.message, e.run_id, e.trace_id, *(c for c in s.owner.c if c.name not in ("id", "created_at")))
        .select_from(
            s.message.join(s.episode, and_(e.owner_id == m.owner_id, e.no == m.episode_no)).join(
                s.owner, s.owner.c.id == m.owner_id
            )
        )
        .where(_message_in(scope))
    )


def _with_deletions(tx: Connection, found: Sequence[StoredMessage]) -> list[StoredMessage]:
    by_owner: dict[int, list[int]] = defaultdict(list)
    for message in found:
        by_owner[message.place[1]].append(message.place[2])
    spans = {
        (owner_id, no): tuple(buried)
        for owner_id, nos in by_owner.items()
        for no, buried in tombstones.buried_spans(tx, owner_id, nos).items()
    }
    return [replace(message, deleted_spans=spans.get(message.place[1:], ())) for message in found]


def count_messages(tx: Connection, scope: Scope) -> int:
    """How many messages the scope has."""
    m, e = s.message.c, s.episode.c
    joined = s.message.join(s.episode, and_(e.owner_id == m.owner_id, e.no == m.episode_no)).join(
        s.owner, s.owner.c.id == m.owner_id
    )
    return int(tx.execute(select(func.count()).select_from(joined).where(_message_in(scope))).scalar_one())


def _message_in(scope: Scope) -> ColumnElement[bool]:
    """The messages a scope may see: a message belongs to the one run it was said in."""
    o = s.owner.c
    columns = {"user_id": o.user_id, "agent_id": o.agent_id, "app_id": o.app_id, "run_id": s.episode.c.run_id}
    return and_(s.message.c.owner_id.in_(owners_in(scope)), fits(scope, columns))


def _stored_message(row: AnyRow) -> StoredMessage:
    return StoredMessage(
        id=row.uid,
        owner=Owner(row.tenant, row.user_id, row.agent_id, row.app_id),
        run_id=row.run_id,
        trace_id=row.trace_id,
        position=row.position,
        role=row.role,
        name=row.name,
        content=row.content,
        said_at=instant(row.said_at),
        place=(row.said_at, row.owner_id, row.no),
    )
