"""Every change to memories, each one function inside one write transaction.

A change closes at most one version of a memory, opens at most one, and leaves one row in the change sequence.
What was decided before the transaction (that a text is new, that a memory is there) is checked again here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, Row, bindparam, delete, insert, literal, select, text, update

from ..checks import canonical_json
from ..clock import Instant
from ..errors import DuplicateError, NotFoundError
from ..records import (
    UNSET,
    Act,
    Batch,
    BatchTerms,
    Claim,
    Embedded,
    Event,
    Kind,
    Message,
    Outcome,
    Proposal,
    Revision,
)
from ..scope import Scope
from ..text.normal import live_key
from . import schema as s
from .owners import Numbers, lock_owner, owner_for_write

_LIVE = (
    select(s.memory.c.kind, s.memory.c.live_key, s.memory.c.no, s.memory.c.uid, s.version.c.text)
    .join_from(
        s.memory,
        s.version,
        (s.version.c.owner_id == s.memory.c.owner_id)
        & (s.version.c.memory_no == s.memory.c.no)
        & s.version.c.tx_to.is_(None),
    )
    .where(
        s.memory.c.owner_id == bindparam("owner"),
        s.memory.c.live_key.in_(bindparam("keys", expanding=True)),
    )
)
_OPEN = (
    select(s.version, s.memory.c.uid, s.memory.c.kind)
    .join_from(
        s.version,
        s.memory,
        (s.memory.c.owner_id == s.version.c.owner_id) & (s.memory.c.no == s.version.c.memory_no),
    )
    .where(
        s.version.c.owner_id == bindparam("owner"),
        s.version.c.memory_no == bindparam("memory"),
        s.version.c.tx_to.is_(None),
    )
)
_LATEST = (
    select(s.version)
    .where(s.version.c.owner_id == bindparam("owner"), s.version.c.memory_no == bindparam("memory"))
    .order_by(s.version.c.number.desc())
    .limit(1)
)
_CLOSE = (
    update(s.version)
    .where(s.version.c.owner_id == bindparam("owner"), s.version.c.no == bindparam("version"))
    .values(tx_to=bindparam("at"))
)
_SET_KEY = (
    update(s.memory)
    .where(s.memory.c.owner_id == bindparam("owner"), s.memory.c.no == bindparam("memory"))
    .values(live_key=bindparam("key"))
)
_LABEL = text(
    "INSERT INTO memory_run (owner_id, memory_no, run_id) VALUES (:owner_id, :memory_no, :run_id)"
    " ON CONFLICT DO NOTHING"
)

# The claims of memories that are current, older than a new one and not said after it.
_CLAIMED = (
    select(s.claim)
    .join_from(
        s.claim,
        s.version,
        (s.version.c.owner_id == s.claim.c.owner_id)
        & (s.version.c.memory_no == s.claim.c.memory_no)
        & s.version.c.tx_to.is_(None)
        & s.version.c.valid_to.is_(None),
    )
    .where(
        s.claim.c.owner_id == bindparam("owner"),
        s.claim.c.attribute.in_(bindparam("attributes", expanding=True)),
        s.claim.c.memory_no < bindparam("memory"),
        s.version.c.observed_at <= bindparam("said_at"),
    )
    .order_by(s.claim.c.memory_no)
)
_LAST_AT = (
    select(s.change.c.at)
    .where(s.change.c.owner_id == bindparam("owner"))
    .order_by(s.change.c.seq.desc())
    .limit(1)
)

# Whether a statement that makes the first claims ends one that made the second.
Closes = Callable[[Sequence[Claim], Sequence[Claim]], bool]
Values = dict[str, Any]
AnyRow = Row[*tuple[Any, ...]]


@dataclass(slots=True)
class _Rows:
    """The rows of one write, collected so that each table is written once."""

    memory: list[Values]
    version: list[Values]
    support: list[Values]
    claim: list[Values]
    memory_run: list[Values]
    vector: list[Values]
    terms: list[Values]
    change: list[Values]

    def write(self, tx: Connection) -> None:
        for table, rows in (
            (s.memory, self.memory),
            (s.version, self.version),
            (s.support, self.support),
            (s.claim, self.claim),
            (s.vector, self.vector),
            (s.terms, self.terms),
        ):
            if rows:
                tx.execute(insert(table), rows)
        if self.memory_run:
            tx.execute(_LABEL, self.memory_run)
        if self.change:
            tx.execute(insert(s.change), self.change)


class _Live(NamedTuple):
    """A memory that holds a live key."""

    memory_no: int
    uid: str
    text: str


def _rows() -> _Rows:
    return _Rows([], [], [], [], [], [], [], [])


def add(tx: Connection, batch: Batch, terms: BatchTerms, act: Act, closes: Closes) -> list[Outcome]:
    """Store one episode and its proposals; the outcomes come in the order of the proposals.

    A proposal whose text is live already under its owner adds support and the run label to that memory and
    comes back as `NONE` with its id. A new one supersedes the older memories of the owner that `closes` says
    its claims end.
    """
    state = owner_for_write(tx, batch.owner, act.at)
    act = _not_before(tx, state.id, act)
    numbers = Numbers(state)
    keys = [live_key(p.content.text, p.content.event_date) for p in batch.proposals]
    live = _live(tx, state.id, keys)
    episode = numbers.next()
    tx.execute(insert(s.episode), _episode(batch, episode, state.id, act))
    messages = _write_messages(tx, batch, terms, episode, numbers)
    rows = _rows()
    outcomes: list[Outcome] = []
    added: list[tuple[int, int, Proposal]] = []
    for proposal, key, embedded in zip(batch.proposals, keys, _embedded(batch, terms), strict=True):
        found = live.get((proposal.kind, key))
        if found is None:
            memory_no, uid = numbers.next(), str(uuid4())
            live[proposal.kind, key] = _Live(memory_no, uid, proposal.content.text)
            rows.memory.append(_memory(proposal, key, memory_no, uid, episode, state.id, act.at))
            first = _version(proposal, memory_no, numbers.next(), batch.observed_at, state.id, act.at)
            _open(rows, first, embedded)
            rows.change.append(_change(state.id, numbers, Event.ADD, act, memory_no, opened=first["no"]))
            rows.claim.extend(_claims(proposal.claims, memory_no, state.id))
            outcomes.append(Outcome(uid, proposal.content.text, Event.ADD))
            added.append((len(outcomes) - 1, memory_no, proposal))
        else:
            memory_no = found.memory_no
            rows.change.append(_change(state.id, numbers, Event.NONE, act, memory_no))
            outcomes.append(Outcome(found.uid, found.text, Event.NONE))
        rows.memory_run.append({"owner_id": state.id, "memory_no": memory_no, "run_id": batch.run_id})
        rows.support.extend(_supports(proposal, memory_no, messages, state.id))
    rows.change.append(_change(state.id, numbers, Event.EPISODE, act, None))
    _drop_twin_supports(rows)
    rows.write(tx)
    for i, memory_no, proposal in added:
        said_at = batch.observed_at if proposal.said_at is None else proposal.said_at
        ended = _supersede(tx, numbers, proposal, memory_no, said_at, act, closes)
        outcomes[i] = replace(outcomes[i], supersedes=tuple(ended))
    numbers.save(tx)
    return outcomes


def _not_before(tx: Connection, owner_id: int, act: Act) -> Act:
    """The act, not earlier than the owner's last change: history never goes back with the clock."""
    last = tx.execute(_LAST_AT, {"owner": owner_id}).scalar()
    return act if last is None or last <= act.at else replace(act, at=last)


def _embedded(batch: Batch, terms: BatchTerms) -> Iterable[Embedded]:
    if batch.vectors is None:
        return map(Embedded, terms.proposals)
    return (
        Embedded(data, vector, batch.space_id)
        for data, vector in zip(terms.proposals, batch.vectors, strict=True)
    )


def _live(tx: Connection, owner_id: int, keys: Sequence[str]) -> dict[tuple[str, str], _Live]:
    found: dict[tuple[str, str], _Live] = {}
    unique = sorted(set(keys))
    for i in range(0, len(unique), 500):
        for row in tx.execute(_LIVE, {"owner": owner_id, "keys": unique[i : i + 500]}):
            found[row.kind, row.live_key] = _Live(row.no, row.uid, row.text)
    return found


def _episode(batch: Batch, no: int, owner_id: int, act: Act) -> Values:
    return {
        "owner_id": owner_id,
        "no": no,
        "run_id": batch.run_id,
        "observed_at": batch.observed_at,
        "created_at": act.at,
        "trace_id": act.trace_id,
    }


def _write_messages(
    tx: Connection, batch: Batch, terms: BatchTerms, episode: int, numbers: Numbers
) -> list[int]:
    """Write the messages; those that become memories word for word keep their terms there."""
    owner_id = numbers.state.id
    nos = [numbers.next() for _ in batch.messages]
    verbatim = {span.message for p in batch.proposals if p.kind == "message" for span in p.spans}
    if batch.messages:
        rows = [
            _message(message, no, i, episode, owner_id, batch.observed_at)
            for i, (message, no) in enumerate(zip(batch.messages, nos, strict=True))
        ]
        tx.execute(insert(s.message), rows)
    lent = [
        {"owner_id": owner_id, "message_no": no, "data": data}
        for i, (no, data) in enumerate(zip(nos, terms.messages, strict=True))
        if i not in verbatim
    ]
    if lent:
        tx.execute(insert(s.message_terms), lent)
    return nos


def _message(message: Message, no: int, position: int, episode: int, owner_id: int, at: Instant) -> Values:
    return {
        "owner_id": owner_id,
        "no": no,
        "uid": str(uuid4()),
        "episode_no": episode,
        "position": position,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "parts": message.parts,
        "said_at": at if message.said_at is None else message.said_at,
    }


def _memory(
    proposal: Proposal, key: str, no: int, uid: str, episode: int, owner_id: int, at: Instant
) -> Values:
    return {
        "owner_id": owner_id,
        "no": no,
        "uid": uid,
        "kind": proposal.kind,
        "live_key": key,
        "episode_no": episode,
        "position": proposal.position,
        "role": proposal.provenance.role,
        "actor_id": proposal.provenance.actor_id,
        "attributed_to": proposal.provenance.attributed_to,
        "created_at": at,
    }


def _version(
    proposal: Proposal, memory_no: int, no: int, observed_at: Instant, owner_id: int, at: Instant
) -> Values:
    content, validity = proposal.content, proposal.content.validity
    return {
        "owner_id": owner_id,
        "no": no,
        "memory_no": memory_no,
        "number": 1,
        "text": content.text,
        "metadata": content.metadata,
        "categories": content.categories,
        "event_date": content.event_date,
        "observed_at": observed_at if proposal.said_at is None else proposal.said_at,
        "valid_from": validity.start,
        "valid_from_precision": validity.start_precision,
        "valid_to": validity.end,
        "valid_to_precision": validity.end_precision,
        "expires_on": content.expires_on,
        "expires_at": content.expires_at,
        "tx_from": at,
        "tx_to": None,
        "successor_no": None,
        "extractor": proposal.provenance.extractor,
        "prompt": proposal.provenance.prompt,
        "model": proposal.provenance.model,
    }


def _open(rows: _Rows, version: Values, embedded: Embedded) -> None:
    key = {"owner_id": version["owner_id"], "version_no": version["no"]}
    rows.version.append(version)
    rows.terms.append({**key, "data": embedded.terms})
    if embedded.vector is not None:
        rows.vector.append({**key, "space_id": embedded.space_id, "data": embedded.vector})


def _change(
    owner_id: int,
    numbers: Numbers,
    event: Event,
    act: Act,
    memory_no: int | None,
    *,
    opened: int | None = None,
    closed: int | None = None,
) -> Values:
    return {
        "owner_id": owner_id,
        "seq": numbers.next(),
        "at": act.at,
        "event": event,
        "memory_no": memory_no,
        "opened_no": opened,
        "closed_no": closed,
        "actor": act.actor,
        "reason": act.reason,
        "trace_id": act.trace_id,
    }


def _supports(proposal: Proposal, memory_no: int, messages: Sequence[int], owner_id: int) -> Iterable[Values]:
    for span in proposal.spans:
        yield {
            "owner_id": owner_id,
            "memory_no": memory_no,
            "message_no": messages[span.message],
            "start": span.start,
            "end": span.end,
        }


def _drop_twin_supports(rows: _Rows) -> None:
    """Two proposals of one call may state the same memory by the same words; that is one support."""
    seen = {(r["memory_no"], r["message_no"], r["start"]): r for r in rows.support}
    rows.support = list(seen.values())


def _replace_claims(tx: Connection, owner_id: int, memory_no: int, claims: Sequence[Claim]) -> None:
    """What a memory claimed by its old words it claims no more."""
    c = s.claim.c
    tx.execute(delete(s.claim).where(c.owner_id == owner_id, c.memory_no == memory_no))
    rows = list(_claims(claims, memory_no, owner_id))
    if rows:
        tx.execute(insert(s.claim), rows)


def _claims(claims: Sequence[Claim], memory_no: int, owner_id: int) -> Iterable[Values]:
    for claim in claims:
        yield {
            "owner_id": owner_id,
            "memory_no": memory_no,
            "attribute": claim.attribute,
            "value": claim.value,
            "holds": claim.holds,
        }


def _supersede(
    tx: Connection,
    numbers: Numbers,
    proposal: Proposal,
    memory_no: int,
    said_at: Instant,
    act: Act,
    closes: Closes,
) -> list[str]:
    """End the older memories that the new one contradicts, from its own start on, and link them to it.

    Returns their ids. What was said later than the new one, or began later, is left alone.
    """
    owner_id, validity = numbers.state.id, proposal.content.validity
    end = said_at if validity.start is None else validity.start
    ended = []
    for old_no, claimed in _claimed(tx, owner_id, proposal, memory_no, said_at).items():
        row = tx.execute(_OPEN, {"owner": owner_id, "memory": old_no}).one()
        begun = row.observed_at if row.valid_from is None else row.valid_from
        if begun <= end and closes(proposal.claims, claimed):
            fields = {
                "valid_to": end,
                "valid_to_precision": validity.start_precision,
                "successor_no": memory_no,
            }
            _replace(tx, numbers, row, fields, None, Event.SUPERSEDE, act)
            tx.execute(_SET_KEY, {"owner": owner_id, "memory": old_no, "key": None})
            ended.append(row.uid)
    return ended


def _claimed(
    tx: Connection, owner_id: int, proposal: Proposal, memory_no: int, said_at: Instant
) -> dict[int, list[Claim]]:
    """What older current memories claim of the attributes that the new one speaks of, by memory."""
    if not proposal.claims:
        return {}
    attributes = sorted({claim.attribute for claim in proposal.claims})
    values = {"owner": owner_id, "attributes": attributes, "memory": memory_no, "said_at": said_at}
    older: dict[int, list[Claim]] = {}
    for row in tx.execute(_CLAIMED, values):
        older.setdefault(row.memory_no, []).append(Claim(row.attribute, row.value, row.holds))
    return older


def _replace(
    tx: Connection,
    numbers: Numbers,
    row: AnyRow,
    changed: Mapping[str, Any],
    embedded: Embedded | None,
    event: Event,
    act: Act,
) -> None:
    """Close a version (where it is open) and open its successor with some fields changed.

    Without `embedded` the index rows of the old version are copied: its text is unchanged.
    """
    owner_id, new_no = numbers.state.id, numbers.next()
    closed = row.no if row.tx_to is None else None
    if closed is not None:
        tx.execute(_CLOSE, {"owner": owner_id, "version": closed, "at": act.at})
    fields = {column.name: getattr(row, column.name) for column in s.version.columns}
    opened = {**fields, **changed, "no": new_no, "number": row.number + 1, "tx_from": act.at, "tx_to": None}
    rows = _rows()
    if embedded is None:
        tx.execute(insert(s.version), opened)
        _copy_index_rows(tx, owner_id, row.no, new_no)
    else:
        _open(rows, opened, embedded)
    rows.change.append(_change(owner_id, numbers, event, act, row.memory_no, opened=new_no, closed=closed))
    rows.write(tx)


def _copy_index_rows(tx: Connection, owner_id: int, old_no: int, new_no: int) -> None:
    for table in (s.terms, s.vector):
        names = [column.name for column in table.columns]
        columns = [literal(new_no) if n == "version_no" else table.c[n] for n in names]
        old = select(*columns).where(table.c.owner_id == owner_id, table.c.version_no == old_no)
        tx.execute(insert(table).from_select(names, old))


def revise(
    tx: Connection,
    tenant: str,
    place: tuple[int, int],
    revision: Revision,
    embedded: Embedded | None,
    claims: Sequence[Claim],
    act: Act,
) -> bool:
    """Give a believed memory a new version; False where nothing changes. `place` is (owner_id, memory_no).

    `embedded` and `claims` go with a changed text; they are not looked at when it is not changed. Raises
    `NotFoundError` for a retired memory, `DuplicateError` where the
    new text is live under another memory of the owner.
    """
    owner_id, memory_no = place
    state = lock_owner(tx, tenant, owner_id)
    act = _not_before(tx, owner_id, act)
    row = tx.execute(_OPEN, {"owner": owner_id, "memory": memory_no}).first()
    if row is None:
        raise NotFoundError("it was deleted; restore it before updating it")
    changed = _changes(row, revision)
    if not changed:
        return False
    numbers = Numbers(state)
    if "text" in changed:
        key = live_key(changed["text"], row.event_date)
        _claim_key(tx, owner_id, memory_no, row.kind, key, live=row.successor_no is None)
        _replace_claims(tx, owner_id, memory_no, claims if row.kind == Kind.FACT else ())
    _replace(tx, numbers, row, changed, embedded if "text" in changed else None, Event.UPDATE, act)
    numbers.save(tx)
    return True


def _changes(row: AnyRow, revision: Revision) -> Values:
    """The version's fields that a revision really changes."""
    wanted: Values = {}
    if revision.text is not None:
        wanted["text"] = revision.text
    if revision.metadata is not None:
        old = {} if revision.replace_metadata or row.metadata is None else json.loads(row.metadata)
        wanted["metadata"] = canonical_json({**old, **revision.metadata})
    if revision.expires is not UNSET:
        wanted["expires_on"], wanted["expires_at"] = revision.expires
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _claim_key(tx: Connection, owner_id: int, memory_no: int, kind: str, key: str, *, live: bool) -> None:
    """Make `key` the memory's own among the live ones, or raise `DuplicateError`."""
    if not live:
        return
    other = _live(tx, owner_id, [key]).get((kind, key))
    if other is not None and other.memory_no != memory_no:
        raise DuplicateError(other.uid)
    tx.execute(_SET_KEY, {"owner": owner_id, "memory": memory_no, "key": key})


def retire(tx: Connection, tenant: str, place: tuple[int, int], act: Act) -> None:
    """Close a memory's open version because it was wrong or is deleted. Raises `NotFoundError` if retired."""
    owner_id, memory_no = place
    state = lock_owner(tx, tenant, owner_id)
    act = _not_before(tx, owner_id, act)
    row = tx.execute(_OPEN, {"owner": owner_id, "memory": memory_no}).first()
    if row is None:
        raise NotFoundError("it was deleted already")
    numbers = Numbers(state)
    tx.execute(_CLOSE, {"owner": owner_id, "version": row.no, "at": act.at})
    tx.execute(_SET_KEY, {"owner": owner_id, "memory": memory_no, "key": None})
    tx.execute(insert(s.change), _change(owner_id, numbers, Event.DELETE, act, memory_no, closed=row.no))
    numbers.save(tx)


def restore(tx: Connection, tenant: str, place: tuple[int, int], act: Act) -> bool:
    """Open a retired memory's last version again; False where it was not retired.

    Raises `DuplicateError` where its text is live under another memory by now.
    """
    owner_id, memory_no = place
    state = lock_owner(tx, tenant, owner_id)
    act = _not_before(tx, owner_id, act)
    row = tx.execute(_LATEST, {"owner": owner_id, "memory": memory_no}).first()
    if row is None:
        raise NotFoundError("it has no version that could be restored")
    if row.tx_to is None:
        return False
    kind = select(s.memory.c.kind).where(s.memory.c.owner_id == owner_id, s.memory.c.no == memory_no)
    key = live_key(row.text, row.event_date)
    _claim_key(tx, owner_id, memory_no, tx.execute(kind).scalar_one(), key, live=row.successor_no is None)
    numbers = Numbers(state)
    _replace(tx, numbers, row, {}, None, Event.RESTORE, act)
    numbers.save(tx)
    return True


def retire_all(
    tx: Connection, scope: Scope, places: Sequence[tuple[int, int]], act: Act
) -> list[tuple[int, int]]:
    """Retire many believed memories of a scope and return the places of those retired.

    Where the scope is bound to runs, a memory that was also stated outside them only loses their labels:
    what another run said stays.
    """
    retired: list[tuple[int, int]] = []
    for owner_id in sorted({place[0] for place in places}):
        memory_nos = sorted(no for owner, no in places if owner == owner_id)
        numbers = Numbers(lock_owner(tx, scope.tenant, owner_id))
        act = _not_before(tx, owner_id, act)
        run_ids = scope.runs_of(numbers.state.owner)
        kept = _unlabel(tx, owner_id, memory_nos, run_ids) if run_ids else set()
        gone = [no for no in memory_nos if no not in kept]
        changes = [_change(owner_id, numbers, Event.NONE, act, no) for no in sorted(kept)]
        opened = _open_numbers(tx, owner_id, gone)
        for no in gone:
            changes.append(_change(owner_id, numbers, Event.DELETE, act, no, closed=opened[no]))
        if gone:
            tx.execute(_CLOSE, [{"owner": owner_id, "version": opened[no], "at": act.at} for no in gone])
            tx.execute(_SET_KEY, [{"owner": owner_id, "memory": no, "key": None} for no in gone])
        if changes:
            tx.execute(insert(s.change), changes)
        numbers.save(tx)
        retired.extend((owner_id, no) for no in gone)
    return retired


def _unlabel(tx: Connection, owner_id: int, memory_nos: Sequence[int], run_ids: frozenset[str]) -> set[int]:
    """Take the labels of `run_ids` from those memories that have others too; return these memories."""
    label = s.memory_run.c
    kept: set[int] = set()
    for some in _chunks(memory_nos):
        others = select(label.memory_no).where(
            label.owner_id == owner_id, label.memory_no.in_(some), label.run_id.not_in(run_ids)
        )
        kept.update(tx.execute(others).scalars())
    for some in _chunks(sorted(kept)):
        tx.execute(
            delete(s.memory_run).where(
                label.owner_id == owner_id, label.memory_no.in_(some), label.run_id.in_(run_ids)
            )
        )
    return kept


def _open_numbers(tx: Connection, owner_id: int, memory_nos: Sequence[int]) -> dict[int, int]:
    v = s.version.c
    found: dict[int, int] = {}
    for some in _chunks(memory_nos):
        query = select(v.memory_no, v.no).where(
            v.owner_id == owner_id, v.memory_no.in_(some), v.tx_to.is_(None)
        )
        found.update({row.memory_no: row.no for row in tx.execute(query)})
    return found


def _chunks(numbers: Sequence[int], size: int = 500) -> Iterable[Sequence[int]]:
    return (numbers[i : i + size] for i in range(0, len(numbers), size))


def erase_tenant(tx: Connection, tenant: str) -> None:
    """Remove every row of a tenant from every table; the embedding space too when the store is empty then."""
    owners = select(s.owner.c.id).where(s.owner.c.tenant == tenant)
    for table in reversed(s.tables.sorted_tables):
        if table in s.OWNED:
            tx.execute(delete(table).where(table.c.owner_id.in_(owners)))
    tx.execute(delete(s.owner).where(s.owner.c.tenant == tenant))
    if tx.execute(select(s.owner.c.id).limit(1)).first() is None:
        tx.execute(delete(s.space))
