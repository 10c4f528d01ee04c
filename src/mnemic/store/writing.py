"""Storing an add: one function inside one write transaction.

What was decided before the transaction (that a text is new) is checked again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, insert, select

from ..clock import Instant
from ..ids import new_id
from ..records import Act, Batch, BatchTerms, Claim, Embedded, Event, Outcome, Proposal
from ..text.normal import live_key
from . import schema as s
from .owners import Numbers, owner_for_write
from .rows import (
    Rows,
    change_row,
    claim_rows,
    episode_row,
    first_version,
    insert_all,
    memory_row,
    message_row,
    open_version,
    support_rows,
)
from .versions import OPEN, SET_KEY, Live, live_memories, not_before, replace_version

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

# Whether a statement that makes the first claims ends one that made the second.
Closes = Callable[[Sequence[Claim], Sequence[Claim]], bool]


def add(tx: Connection, batch: Batch, terms: BatchTerms, act: Act, closes: Closes) -> list[Outcome]:
    """Store one episode and its proposals; the outcomes come in the order of the proposals.

    A proposal whose text is live already under its owner adds support and the run label to that memory and
    comes back as `NONE` with its id. A new one supersedes the older memories of the owner that `closes` says
    its claims end.
    """
    state = owner_for_write(tx, batch.owner, act.at)
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
        found = live.get((proposal.kind, key))
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
        rows.support.extend(support_rows(proposal, memory_no, messages, state.id))
    rows.change.append(change_row(state.id, numbers, Event.EPISODE, act, None))
    _drop_twin_supports(rows)
    rows.write(tx)
    for i, memory_no, proposal in added:
        said_at = batch.observed_at if proposal.said_at is None else proposal.said_at
        ended = _supersede(tx, numbers, proposal, memory_no, said_at, act, closes)
        outcomes[i] = replace(outcomes[i], supersedes=tuple(ended))
    numbers.save(tx)
    return outcomes


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


def _drop_twin_supports(rows: Rows) -> None:
    """Two proposals of one call may state the same memory by the same words; that is one support."""
    seen = {(r["memory_no"], r["message_no"], r["start"]): r for r in rows.support}
    rows.support = list(seen.values())


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
        row = tx.execute(OPEN, {"owner": owner_id, "memory": old_no}).one()
        begun = row.observed_at if row.valid_from is None else row.valid_from
        if begun <= end and closes(proposal.claims, claimed):
            fields = {
                "valid_to": end,
                "valid_to_precision": validity.start_precision,
                "successor_no": memory_no,
            }
            replace_version(tx, numbers, row, fields, None, Event.SUPERSEDE, act)
            tx.execute(SET_KEY, {"owner": owner_id, "memory": old_no, "key": None})
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
