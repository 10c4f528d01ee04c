"""How new facts meet memories, as a model said and code allowed: inside the transaction of an add.

A model's word never destroys: a memory is ended, taken back or given a new version, and its history stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, select

from ..clock import Instant
from ..errors import NotFoundError, StoreError
from ..records import Act, Embedded, Event, How, Meeting, Outcome, OwnerState, Proposal, Seen
from ..text.normal import live_key
from ..timeline import Edge, over, since
from . import schema as s
from . import succession
from .owners import Numbers
from .rows import Rows, change_row
from .schema import AnyRow, chunks
from .succession import put_right, replace_by, statement
from .versions import (
    OPEN,
    SET_KEY,
    WITH_MEMORY,
    end_version,
    replace_claims,
    replace_version,
    retire_version,
)

# Events after which a memory is not what a model was shown any more, or is one that it was not shown.
_MOVING = (Event.ADD, Event.UPDATE, Event.SUPERSEDE, Event.DELETE, Event.RESTORE, Event.PURGE)
_MOVED = select(s.change.c.memory_no, s.change.c.seq, s.change.c.event).where(
    s.change.c.owner_id == bindparam("owner"),
    s.change.c.seq > bindparam("seen"),
    s.change.c.event.in_(_MOVING),
)
_MET = WITH_MEMORY.where(s.memory.c.uid.in_(bindparam("uids", expanding=True)))
# Why a change may not fit what came while it was decided.
UNRECONCILED = "unreconciled: other memories changed while this was decided"
# Why a memory has the label of a run that does not state it.
LOOKED_AT = "it was looked at, and stays as it is"
_RETIRING = {
    How.FORGETS: "the user wants it forgotten",
    How.CONTRADICTS: "it is contradicted by what was said",
}
# They say what their fact is, rather than what becomes of another memory.
_SAME = (How.REFINES, How.REPEATS)


class OwnerMovedError(StoreError):
    """The memories of the owner changed since a model was shown them."""


class OwnerPurgedError(StoreError):
    """Something of the owner was purged since a model was shown it: what the model said may hold its words."""


def moved_since(tx: Connection, owner_id: int, seq: int) -> set[int]:
    """The memories of an owner that came, changed or went after number `seq` of its changes."""
    rows = tx.execute(_MOVED, {"owner": owner_id, "seen": seq})
    return {row.memory_no for row in rows if row.memory_no is not None}


def refuse_if_moved(tx: Connection, state: OwnerState, seen: Seen | None) -> None:
    """Raise `OwnerMovedError` or `OwnerPurgedError` where what a model was shown is not what there is."""
    if seen is None:
        return
    if seen.owner_id not in (None, state.id):
        raise OwnerPurgedError("All of the owner was removed while a model decided.")
    if state.seq == seen.since:
        return
    rows = tx.execute(_MOVED, {"owner": state.id, "seen": seen.since}).all()
    if any(row.event == Event.PURGE for row in rows):
        raise OwnerPurgedError("Something of the owner was purged while a model decided.")
    if seen.seq is not None and any(row.seq > seen.seq for row in rows):
        raise OwnerMovedError("The owner's memories changed while a model decided.")


def open_rows(tx: Connection, owner_id: int, proposals: Sequence[Proposal]) -> dict[str, AnyRow]:
    """The believed versions of the memories that proposals meet, by the id of their memory."""
    uids = sorted({one.uid for proposal in proposals for one in proposal.meets or ()})
    found: dict[str, AnyRow] = {}
    for some in chunks(uids):
        found.update({row.uid: row for row in tx.execute(_MET, {"owner": owner_id, "uids": some})})
    return found


def _as_shown(one: Meeting, opened: Mapping[str, AnyRow]) -> AnyRow | None:
    """The memory that is met; None where it is gone, or not any more what the model was shown."""
    row = opened.get(one.uid)
    return row if row is not None and one.version in (None, row.number) else None


def refuse_unknown(proposals: Sequence[Proposal], opened: Mapping[str, AnyRow]) -> None:
    """Raise `NotFoundError` where the caller says that a fact meets a memory that the owner does not have."""
    for one in (one for proposal in proposals for one in proposal.meets or ()):
        if one.version is None and one.uid not in opened:
            raise NotFoundError(f"Memory with id {one.uid} not found: a fact of these ids {one.how} it.")


def as_corrected(proposal: Proposal, opened: Mapping[str, AnyRow], said_at: Instant) -> Proposal:
    """A proposal that becomes a memory; what corrects another holds for the time for which that was wrong."""
    for one in proposal.meets or ():
        wrong = _as_shown(one, opened)
        if one.how is How.CORRECTS and wrong is not None and wrong.observed_at <= said_at:
            validity = succession.as_corrected(proposal.content.validity, said_at, wrong)
            return replace(proposal, content=replace(proposal.content, validity=validity))
    return proposal


def same_memory(
    proposal: Proposal, opened: Mapping[str, AnyRow], said_at: Instant
) -> tuple[How, AnyRow] | None:
    """The memory that a proposal says again, or more fully; None where it is one of its own.

    As it is where that was superseded or changed meanwhile, and where that was said later: what is told more fully
    by an older talk is older.
    """
    for one in proposal.meets or ():
        row = _as_shown(one, opened)
        if row is None or one.how not in _SAME or row.successor_no is not None:
            continue
        if one.how is How.REPEATS or row.observed_at <= said_at:
            return one.how, row
    return None


def forgotten(proposal: Proposal, opened: Mapping[str, AnyRow]) -> list[int]:
    """The memories that a proposal wants forgotten."""
    return [
        row.memory_no
        for one in proposal.meets or ()
        if one.how is How.FORGETS and (row := _as_shown(one, opened)) is not None
    ]


def key_of_refined(row: AnyRow, proposal: Proposal) -> str:
    """The live key of a memory with the fuller text of a proposal."""
    return live_key(proposal.content.text, proposal.content.event_date or row.event_date)


def refine(
    tx: Connection,
    numbers: Numbers,
    row: AnyRow,
    proposal: Proposal,
    embedded: Embedded,
    act: Act,
) -> None:
    """Give a memory the fuller text of a proposal as a new version, which is nobody else's.

    What the user set stays: metadata, expiry; and when it was first said, since when it holds.
    """
    content, validity = proposal.content, proposal.content.validity
    changed: dict[str, Any] = {
        "text": content.text,
        "event_date": content.event_date or row.event_date,
        "categories": content.categories or row.categories,
        "extractor": proposal.provenance.extractor,
        "prompt": proposal.provenance.prompt,
        "model": proposal.provenance.model,
    }
    if validity.start is not None:
        changed |= {"valid_from": validity.start, "valid_from_precision": validity.start_precision}
    if validity.end is not None:
        changed |= {"valid_to": validity.end, "valid_to_precision": validity.end_precision}
    owner_id = numbers.state.id
    if row.successor_no is None:
        key = key_of_refined(row, proposal)
        tx.execute(SET_KEY, {"owner": owner_id, "memory": row.memory_no, "key": key})
    replace_claims(tx, owner_id, row.memory_no, proposal.claims)
    replace_version(tx, numbers, row, changed, embedded, Event.UPDATE, act)


def settle(
    tx: Connection,
    numbers: Numbers,
    proposal: Proposal,
    opened: Mapping[str, AnyRow],
    memory: Outcome | None,
    memory_no: int | None,
    run_id: str,
    said_at: Instant,
    act: Act,
) -> list[Outcome]:
    """Do to other memories what a proposal does to them, and return all its outcomes.

    memory, memory_no: the memory that it became or was; None where it only touches others. run_id: of the call.
    """
    supersedes: list[str] = []
    corrects: list[str] = []
    others: list[Outcome] = []
    for how, row in _others(tx, numbers.state.id, proposal, opened, memory_no):
        late = row.observed_at > said_at
        if how is How.KEEPS:
            _keep(tx, numbers, row, run_id, act)
            others.append(Outcome(row.uid, row.text, Event.NONE))
        elif how is How.FORGETS or (how in _RETIRING and not late):
            retire_version(tx, numbers, row, replace(act, reason=_because(act, _RETIRING[how])))
            others.append(Outcome(row.uid, row.text, Event.DELETE))
        elif how is How.CORRECTS and memory is not None and not late:
            retire_version(tx, numbers, row, replace(act, reason=_because(act, f"corrected by {memory.uid}")))
            if memory_no is not None:
                # As it was before this call: what took its place in the same call does not end what is right.
                put_right(tx, numbers, opened[row.uid], memory_no, act)
            corrects.append(row.uid)
        elif how in (How.CHANGES, How.CORRECTS) and memory_no is not None:
            gone = _change(tx, numbers, row, proposal, memory_no, said_at, act)
            if gone is not None:
                supersedes.append(gone)
        elif how is How.ENDS and not late:
            end_version(tx, numbers, row, *_end_of(row, proposal, said_at), None, act)
            others.append(Outcome(row.uid, row.text, Event.DELETE))
    if memory is None:
        # What was said later, or has ended already, stays as it is; that is told too.
        met = [opened[one.uid] for one in proposal.meets or () if one.uid in opened]
        return others or [Outcome(row.uid, row.text, Event.NONE) for row in met]
    return [replace(memory, supersedes=tuple(supersedes), corrects=tuple(corrects)), *others]


def _because(act: Act, reason: str) -> str:
    """The reason, with that of the act where it has one."""
    return reason if act.reason is None else f"{reason}; {act.reason}"


def _keep(tx: Connection, numbers: Numbers, row: AnyRow, run_id: str, act: Act) -> None:
    """Give a memory the label of a run in which it was looked at."""
    owner_id = numbers.state.id
    rows = Rows()
    rows.memory_run.append({"owner_id": owner_id, "memory_no": row.memory_no, "run_id": run_id})
    told = replace(act, reason=_because(act, LOOKED_AT))
    rows.change.append(change_row(owner_id, numbers, Event.NONE, told, row.memory_no))
    rows.write(tx)


def _others(
    tx: Connection, owner_id: int, proposal: Proposal, opened: Mapping[str, AnyRow], memory_no: int | None
) -> Iterator[tuple[How, AnyRow]]:
    """The memories that a proposal does something to, as they are by now: not its own, nor those that have ended
    already, if only by another proposal of the same call."""
    for one in proposal.meets or ():
        shown = _as_shown(one, opened)
        if shown is None or one.how in _SAME or shown.memory_no == memory_no:
            continue
        row = tx.execute(OPEN, {"owner": owner_id, "memory": shown.memory_no}).first()
        if row is not None and (row.successor_no is None or one.how not in (How.ENDS, How.KEEPS)):
            yield one.how, row


def _change(
    tx: Connection,
    numbers: Numbers,
    row: AnyRow,
    proposal: Proposal,
    memory_no: int,
    said_at: Instant,
    act: Act,
) -> str | None:
    """Let a memory give way to its successor, and return the id of the one that ended, if any did."""
    own = tx.execute(OPEN, {"owner": numbers.state.id, "memory": memory_no}).first()
    if own is None:
        return None
    validity = proposal.content.validity
    told = replace(
        statement(own),
        said_at=said_at,
        begin=Edge(since(validity.start, said_at), validity.start_precision),
    )
    return replace_by(tx, numbers, row, memory_no, told, act)


def _end_of(row: AnyRow, proposal: Proposal, said_at: Instant) -> tuple[Instant, str | None]:
    """When a memory ends of which a proposal says that it is no longer true, and how exactly that was told."""
    start, precision = proposal.content.validity.start, proposal.content.validity.start_precision
    end = over(statement(row), said_at, None if start is None else Edge(start, precision))
    return end.at, end.precision
