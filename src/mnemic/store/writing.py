"""Storing an add: one function inside one write transaction.

What was decided before the transaction (that a text is new) is checked again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, exists, insert, select

from ..clock import Instant
from ..ids import new_id
from ..records import Act, Batch, BatchTerms, Buried, Claim, Embedded, Event, Outcome, Proposal
from ..text.normal import live_key
from . import schema as s
from .owners import Numbers, owner_for_write
from .rows import (
    Rows,
    Values,
    change_row,
    claim_rows,
    episode_row,
    first_version,
    insert_all,
    memory_row,
    message_row,
    open_version,
    support_row,
)
from .schema import AnyRow, chunks
from .spaces import hold_space
from .versions import (
    BELIEVED,
    OPEN,
    SET_KEY,
    Live,
    key_of,
    live_memories,
    not_before,
    past_key,
    replace_version,
)

# The claims of other memories that are current, in the order in which they were said.
_CLAIMED = (
    select(s.claim, s.version.c.observed_at)
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
        s.claim.c.memory_no != bindparam("memory"),
    )
    .order_by(s.version.c.observed_at, s.claim.c.memory_no)
)
# A superseded memory of the same words, for the time in which it held; not one whose successor was deleted.
_heir = s.version.alias("heir")
_HELD_THEN = BELIEVED.where(
    s.memory.c.owner_id == bindparam("owner"),
    s.memory.c.kind == bindparam("kind"),
    s.memory.c.live_key > bindparam("from_key"),
    s.memory.c.live_key < bindparam("to_key"),
    s.version.c.observed_at <= bindparam("said_at"),
    s.version.c.valid_to > bindparam("said_at"),
    exists()
    .where(
        _heir.c.owner_id == s.version.c.owner_id,
        _heir.c.memory_no == s.version.c.successor_no,
        _heir.c.tx_to.is_(None),
    )
    .is_(True),
).limit(1)

# Whether a statement that makes the first claims ends one that made the second.
Closes = Callable[[Sequence[Claim], Sequence[Claim]], bool]


def add(
    tx: Connection, batch: Batch, terms: BatchTerms, act: Act, closes: Closes
) -> tuple[int, list[Outcome]]:
    """Store one episode and its proposals; the owner's number, and the outcomes in the order of the proposals.

    A proposal whose text is live already under its owner adds support and the run label to that memory and
    comes back as `NONE` with its id; so does one that repeats a superseded memory for the time in which that
    held. A new one supersedes the older memories of the owner that `closes` says its claims end; one that
    arrives late is itself filed as superseded by what was said after it.
    """
    state = owner_for_write(tx, batch.owner, act.at)
    hold_space(tx, batch.space_id, act.at)
    act = not_before(tx, state.id, act)
    numbers = Numbers(state)
    keys = [live_key(p.content.text, p.content.event_date) for p in batch.proposals]
    live = live_memories(tx, state.id, keys)
    episode = numbers.next()
    tx.execute(insert(s.episode), episode_row(batch, episode, state.id, act))
    messages = _write_messages(tx, batch, terms, episode, numbers, act)
    rows = Rows()
    outcomes: list[Outcome] = []
    added: list[tuple[int, int, Proposal]] = []
    for proposal, key, embedded in zip(batch.proposals, keys, _embedded(batch, terms), strict=True):
        found = live.get((proposal.kind, key)) or _held_then(tx, state.id, proposal, key, batch.observed_at)
        if found is None:
            memory_no, uid = numbers.next(), new_id(act.at)
            live[proposal.kind, key] = Live(memory_no, uid, proposal.content.text)
            rows.memory.append(memory_row(proposal, key, memory_no, uid, episode, state.id, act.at))
            first = first_version(proposal, memory_no, numbers.next(), batch.observed_at, state.id, act.at)
            open_version(rows, first, embedded)
            rows.change.append(change_row(state.id, numbers, Event.ADD, act, memory_no, opened=first["no"]))
            rows.claim.extend(claim_rows(proposal.claims, memory_no, state.id))
            outcomes.append(Outcome(uid, proposal.content.text, Event.ADD))
            added.append((len(outcomes) - 1, memory_no, proposal))
        else:
            memory_no = found.memory_no
            rows.change.append(change_row(state.id, numbers, Event.NONE, act, memory_no))
            outcomes.append(Outcome(found.uid, found.text, Event.NONE))
        rows.memory_run.append({"owner_id": state.id, "memory_no": memory_no, "run_id": batch.run_id})
        rows.support.extend(support_row(span, memory_no, messages, state.id) for span in proposal.spans)
    rows.support.extend(_buried_support(tx, state.id, batch.buried, messages))
    rows.change.append(change_row(state.id, numbers, Event.EPISODE, act, None))
    _drop_twin_supports(rows)
    rows.write(tx)
    for i, memory_no, proposal in added:
        ended = _meet_others(
            tx, numbers, proposal, memory_no, _said_at(proposal, batch.observed_at), act, closes
        )
        outcomes[i] = replace(outcomes[i], supersedes=tuple(ended))
    numbers.save(tx)
    return state.id, outcomes


def _embedded(batch: Batch, terms: BatchTerms) -> Iterable[Embedded]:
    if batch.vectors is None:
        return map(Embedded, terms.proposals)
    return (
        Embedded(data, vector, batch.space_id)
        for data, vector in zip(terms.proposals, batch.vectors, strict=True)
    )


def _write_messages(
    tx: Connection, batch: Batch, terms: BatchTerms, episode: int, numbers: Numbers, act: Act
) -> list[int]:
    """Write the messages; those that become memories word for word keep their terms there."""
    owner_id = numbers.state.id
    nos = [numbers.next() for _ in batch.messages]
    verbatim = {span.message for p in batch.proposals if p.kind == "message" for span in p.spans}
    rows = [
        message_row(message, no, i, episode, owner_id, batch.observed_at, act)
        for i, (message, no) in enumerate(zip(batch.messages, nos, strict=True))
    ]
    insert_all(tx, s.message, rows)
    lent = [
        {"owner_id": owner_id, "message_no": no, "data": data}
        for i, (no, data) in enumerate(zip(nos, terms.messages, strict=True))
        if i not in verbatim
    ]
    insert_all(tx, s.message_terms, lent)
    return nos


def _buried_support(
    tx: Connection, owner_id: int, buried: Sequence[Buried], messages: Sequence[int]
) -> Iterable[Values]:
    """Deleted words that were sent again support what they state: so they stay buried as long as that does."""
    m = s.memory.c
    numbers: dict[str, int] = {}
    for some in chunks(sorted({one.uid for one in buried})):
        query = select(m.uid, m.no).where(m.owner_id == owner_id, m.uid.in_(some))
        numbers.update((row.uid, row.no) for row in tx.execute(query))
    for uid, span in ((one.uid, one.span) for one in buried):
        if uid in numbers:
            yield support_row(span, numbers[uid], messages, owner_id)


def _drop_twin_supports(rows: Rows) -> None:
    """Two proposals of one call may state the same memory by the same words; that is one support."""
    seen = {(r["memory_no"], r["message_no"], r["start"]): r for r in rows.support}
    rows.support = list(seen.values())


def _said_at(proposal: Proposal, observed_at: Instant) -> Instant:
    return observed_at if proposal.said_at is None else proposal.said_at


def _held_then(
    tx: Connection, owner_id: int, proposal: Proposal, key: str, observed_at: Instant
) -> Live | None:
    """The superseded memory that a proposal merely says again, as when an old talk is added once more."""
    if not proposal.claims:
        return None
    values = {
        "owner": owner_id,
        "kind": proposal.kind,
        "from_key": past_key(key),
        "to_key": past_key(key, "~"),
        "said_at": _said_at(proposal, observed_at),
    }
    row = tx.execute(_HELD_THEN, values).first()
    return None if row is None else Live(row.no, row.uid, row.text)


def _meet_others(
    tx: Connection,
    numbers: Numbers,
    proposal: Proposal,
    memory_no: int,
    said_at: Instant,
    act: Act,
    closes: Closes,
) -> list[str]:
    """End the older memories that the new one contradicts, from its own start on, and link them to it.

    Returns their ids. Where something that was said later contradicts the new one, it is the new one that ends:
    it arrived late, and changes no present.
    """
    if not proposal.claims:
        return []
    owner_id, validity = numbers.state.id, proposal.content.validity
    start = said_at if validity.start is None else validity.start
    ended, late = [], False
    for other in _claimed(tx, owner_id, proposal, memory_no):
        row = tx.execute(OPEN, {"owner": owner_id, "memory": other.memory_no}).one()
        begun = row.observed_at if row.valid_from is None else row.valid_from
        if other.observed_at <= said_at and other.memory_no < memory_no:
            if begun <= start and closes(proposal.claims, other.claims):
                _end(tx, numbers, row, start, validity.start_precision, memory_no, act)
                ended.append(row.uid)
        elif not late and other.observed_at > said_at and closes(other.claims, proposal.claims):
            own = tx.execute(OPEN, {"owner": owner_id, "memory": memory_no}).one()
            at = begun if begun > start else other.observed_at
            _end(tx, numbers, own, at, row.valid_from_precision, other.memory_no, act)
            late = True
    return ended


def _end(
    tx: Connection,
    numbers: Numbers,
    row: AnyRow,
    at: Instant,
    precision: str | None,
    successor_no: int,
    act: Act,
) -> None:
    """Close a memory in the world's time, and link it to its successor."""
    fields = {"valid_to": at, "valid_to_precision": precision, "successor_no": successor_no}
    replace_version(tx, numbers, row, fields, None, Event.SUPERSEDE, act)
    key = key_of(row.text, row.event_date, row.memory_no, successor_no)
    tx.execute(SET_KEY, {"owner": numbers.state.id, "memory": row.memory_no, "key": key})


class _Claimed(NamedTuple):
    """What a current memory claims, and when it was said."""

    memory_no: int
    observed_at: Instant
    claims: list[Claim]


def _claimed(tx: Connection, owner_id: int, proposal: Proposal, memory_no: int) -> list[_Claimed]:
    """What the owner's other current memories claim of the attributes that a new one speaks of, as said."""
    attributes = sorted({claim.attribute for claim in proposal.claims})
    found: dict[int, _Claimed] = {}
    for row in tx.execute(_CLAIMED, {"owner": owner_id, "attributes": attributes, "memory": memory_no}):
        one = found.setdefault(row.memory_no, _Claimed(row.memory_no, row.observed_at, []))
        one.claims.append(Claim(row.attribute, row.value, row.holds, row.changes))
    return list(found.values())
