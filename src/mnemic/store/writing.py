"""Storing an add: one function inside one write transaction.

What was decided before the transaction (that a text is new) is checked again here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, exists, insert, or_, select

from ..clock import Instant
from ..ids import new_id
from ..records import Act, Batch, BatchTerms, Buried, Embedded, Event, How, Outcome, Proposal
from ..text.normal import live_key
from . import meeting
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
from .succession import Closes, part_by_claims
from .versions import (
    BELIEVED,
    Live,
    free_key,
    live_memories,
    not_before,
    past_key,
)

# A superseded memory of the same words, for the time in which it held, or said at the same instant;
# not one whose successor was deleted.
_heir = s.version.alias("heir")
_HELD_THEN = BELIEVED.where(
    s.memory.c.owner_id == bindparam("owner"),
    s.memory.c.kind == bindparam("kind"),
    s.memory.c.live_key > bindparam("from_key"),
    s.memory.c.live_key < bindparam("to_key"),
    s.version.c.observed_at <= bindparam("said_at"),
    or_(s.version.c.valid_to > bindparam("said_at"), s.version.c.observed_at == bindparam("said_at")),
    exists()
    .where(
        _heir.c.owner_id == s.version.c.owner_id,
        _heir.c.memory_no == s.version.c.successor_no,
        _heir.c.tx_to.is_(None),
    )
    .is_(True),
).limit(1)


def add(
    tx: Connection, batch: Batch, terms: BatchTerms, act: Act, closes: Closes
) -> tuple[int, list[Outcome]]:
    """Store one episode and its proposals; the owner's number, and the outcomes in the order of the proposals.

    A proposal whose text is live already under its owner adds support and the run label to that memory and
    comes back as `NONE` with its id; so does one that repeats a superseded memory for the time in which that
    held. A new one supersedes the older memories of the owner that `closes` says its claims end; one that
    arrives late is itself filed as superseded by what was said after it. Where a model said how a proposal meets
    memories, that is done instead (`meeting`); so a proposal may have several outcomes.

    Raises `OwnerMovedError` where the owner's memories changed since the model was shown them, `NotFoundError` where
    the caller names one that is not there.
    """
    state = owner_for_write(tx, batch.owner, act.at)
    hold_space(tx, batch.space_id, act.at)
    act = not_before(tx, state.id, act)
    meeting.refuse_if_moved(tx, state, batch.seen)
    numbers = Numbers(state)
    keys = [live_key(p.content.text, p.content.event_date) for p in batch.proposals]
    live = live_memories(tx, state.id, keys)
    episode = numbers.next()
    tx.execute(insert(s.episode), episode_row(batch, episode, state.id, act))
    messages = _write_messages(tx, batch, terms, episode, numbers, act)
    rows = Rows()
    met = meeting.open_rows(tx, state.id, batch.proposals)
    meeting.refuse_unknown(batch.proposals, met)
    kept = [
        _take_in(tx, rows, numbers, episode, batch, proposal, key, embedded, live, met, act)
        for proposal, key, embedded in zip(batch.proposals, keys, _embedded(batch, terms), strict=True)
    ]
    for one in kept:
        stated = [one.memory_no] if one.memory_no is not None else meeting.forgotten(one.proposal, met)
        for memory_no in stated:
            # A wish to forget something names it: it is buried with what it is about.
            spans = one.proposal.spans
            rows.support.extend(support_row(span, memory_no, messages, state.id) for span in spans)
        if one.memory_no is not None:
            label = {"owner_id": state.id, "memory_no": one.memory_no, "run_id": batch.run_id}
            rows.memory_run.append(label)
    rows.support.extend(_buried_support(tx, state.id, batch.buried, messages))
    rows.change.append(change_row(state.id, numbers, Event.EPISODE, act, None))
    _drop_twin_supports(rows)
    rows.write(tx)
    outcomes = [
        replace(outcome, number=number)
        for number, one in enumerate(kept)
        for outcome in _settle(tx, numbers, one, met, batch, act, closes)
    ]
    numbers.save(tx)
    return state.id, outcomes


class _Kept(NamedTuple):
    """A proposal, and the memory that it became or was; `refines` is the version whose place it takes."""

    proposal: Proposal
    embedded: Embedded
    outcome: Outcome | None = None
    memory_no: int | None = None
    refines: AnyRow | None = None


def _take_in(
    tx: Connection,
    rows: Rows,
    numbers: Numbers,
    episode: int,
    batch: Batch,
    proposal: Proposal,
    key: str,
    embedded: Embedded,
    live: dict[tuple[str, str], Live],
    met: Mapping[str, AnyRow],
    act: Act,
) -> _Kept:
    """Make a proposal a memory, or find the one that it is."""
    if proposal.only_touches:
        return _Kept(proposal, embedded)
    owner_id = numbers.state.id
    said_at = _said_at(proposal, batch.observed_at)
    found = live.get((proposal.kind, key))
    if found is not None and (found.has_expired(act.at) or _is_over(found, proposal, said_at)):
        free_key(tx, owner_id, found, key)
        found = None
    found = found or _held_then(tx, owner_id, proposal, key, batch.observed_at)
    same = None if found else meeting.same_memory(proposal, met, said_at)
    if same is not None:
        how, row = same
        if how is How.REFINES:
            # Its words may be those of another memory once they have its day.
            dated = meeting.key_of_refined(row, proposal)
            found = (live | live_memories(tx, owner_id, [dated])).get((proposal.kind, dated))
            if found is None:
                outcome = Outcome(row.uid, proposal.content.text, Event.UPDATE, previous=row.text)
                # Who says the same again in this call repeats it.
                for one in (key, dated):
                    live[proposal.kind, one] = Live(row.memory_no, row.uid, proposal.content.text)
                return _Kept(proposal, embedded, outcome, row.memory_no, row)
        else:
            found = Live(row.memory_no, row.uid, row.text)
    if found is not None:
        rows.change.append(change_row(owner_id, numbers, Event.NONE, act, found.memory_no))
        return _Kept(proposal, embedded, Outcome(found.uid, found.text, Event.NONE), found.memory_no)
    proposal = meeting.as_corrected(proposal, met, said_at)
    memory_no, uid = numbers.next(), new_id(act.at)
    live[proposal.kind, key] = Live(memory_no, uid, proposal.content.text)
    rows.memory.append(memory_row(proposal, key, memory_no, uid, episode, owner_id, act.at))
    first = first_version(proposal, memory_no, numbers.next(), batch.observed_at, owner_id, act.at)
    open_version(rows, first, embedded)
    told = replace(act, reason=meeting.UNRECONCILED) if proposal.unreconciled else act
    rows.change.append(change_row(owner_id, numbers, Event.ADD, told, memory_no, opened=first["no"]))
    rows.claim.extend(claim_rows(proposal.claims, memory_no, owner_id))
    return _Kept(proposal, embedded, Outcome(uid, proposal.content.text, Event.ADD), memory_no)


def _is_over(found: Live, proposal: Proposal, said_at: Instant) -> bool:
    """Whether what a memory says had ended when the same was said again, which is a memory of its own then."""
    end = proposal.content.validity.end
    return found.valid_to is not None and found.valid_to <= said_at and (end is None or end > said_at)


def _settle(
    tx: Connection,
    numbers: Numbers,
    one: _Kept,
    met: Mapping[str, AnyRow],
    batch: Batch,
    act: Act,
    closes: Closes,
) -> list[Outcome]:
    """Do to other memories what a proposal does to them; its outcomes."""
    said_at = _said_at(one.proposal, batch.observed_at)
    if one.proposal.unreconciled:
        act = replace(act, reason=meeting.UNRECONCILED)
    if one.refines is not None:
        meeting.refine(tx, numbers, one.refines, one.proposal, one.embedded, act)
    if one.proposal.meets is not None:
        told = (one.outcome, one.memory_no, batch.run_id, said_at)
        return meeting.settle(tx, numbers, one.proposal, met, *told, act)
    assert one.outcome is not None, "only a model says that something only ends others"
    assert one.memory_no is not None, "what has an outcome is a memory"
    if one.outcome.event is not Event.ADD:
        return [one.outcome]
    if not one.proposal.claims:
        return [one.outcome]
    number, attributes = one.memory_no, {claim.attribute for claim in one.proposal.claims}
    # Those of the same call that come after it meet it in their turn.
    ended = part_by_claims(tx, numbers, number, attributes, act, closes, others=lambda other: other < number)
    return [replace(one.outcome, supersedes=tuple(ended))]


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
    if not proposal.claims and proposal.meets is None:
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
