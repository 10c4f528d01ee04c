"""The rows of a write: made from records, collected, and written table by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Table, insert, text

from ..clock import Instant
from ..ids import new_id
from ..records import Act, Batch, Claim, Embedded, Event, Message, Proposal, Span
from . import schema as s
from .owners import Numbers

Values = dict[str, Any]

_LABEL = text(
    "INSERT INTO memory_run (owner_id, memory_no, run_id) VALUES (:owner_id, :memory_no, :run_id)"
    " ON CONFLICT DO NOTHING"
)


def insert_all(tx: Connection, table: Table, rows: Sequence[Values]) -> None:
    """Insert rows that have a value for every column.

    The statement goes to the driver as compiled text: SQLAlchemy's own handling of each value would cost
    more than the database does.
    """
    if not rows:
        return
    statement, order = _compiled(table, tx.dialect)
    if order is None:
        tx.exec_driver_sql(statement, list(rows))
    else:
        pick = itemgetter(*order)
        tx.exec_driver_sql(statement, [pick(row) for row in rows])


@lru_cache(maxsize=64)
def _compiled(table: Table, dialect: Dialect) -> tuple[str, tuple[str, ...] | None]:
    """The insert of a table in a dialect, and the order of its parameters where they go by position."""
    compiled = insert(table).compile(dialect=dialect)
    order = compiled.positiontup
    return str(compiled), None if order is None else tuple(order)


@dataclass(slots=True)
class Rows:
    """The rows of one write, collected so that each table is written once."""

    memory: list[Values] = field(default_factory=list)
    version: list[Values] = field(default_factory=list)
    support: list[Values] = field(default_factory=list)
    claim: list[Values] = field(default_factory=list)
    memory_run: list[Values] = field(default_factory=list)
    vector: list[Values] = field(default_factory=list)
    terms: list[Values] = field(default_factory=list)
    change: list[Values] = field(default_factory=list)

    def write(self, tx: Connection) -> None:
        """Write them all, those that others refer to first."""
        for table, rows in (
            (s.memory, self.memory),
            (s.version, self.version),
            (s.support, self.support),
            (s.claim, self.claim),
            (s.vector, self.vector),
            (s.terms, self.terms),
        ):
            insert_all(tx, table, rows)
        if self.memory_run:
            tx.execute(_LABEL, self.memory_run)
        insert_all(tx, s.change, self.change)


def episode_row(batch: Batch, no: int, owner_id: int, act: Act) -> Values:
    """The episode of an add."""
    return {
        "owner_id": owner_id,
        "no": no,
        "run_id": batch.run_id,
        "observed_at": batch.observed_at,
        "created_at": act.at,
        "trace_id": act.trace_id,
    }


def message_row(
    message: Message, no: int, position: int, episode: int, owner_id: int, observed_at: Instant, act: Act
) -> Values:
    """A message, said when the episode was observed where it has no instant of its own."""
    return {
        "owner_id": owner_id,
        "no": no,
        "uid": new_id(act.at),
        "episode_no": episode,
        "position": position,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "parts": message.parts,
        "said_at": observed_at if message.said_at is None else message.said_at,
    }


def memory_row(
    proposal: Proposal, key: str, no: int, uid: str, episode: int, owner_id: int, at: Instant
) -> Values:
    """The identity of a proposal's memory."""
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


def first_version(
    proposal: Proposal, memory_no: int, no: int, observed_at: Instant, owner_id: int, at: Instant
) -> Values:
    """The first version of a proposal's memory."""
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


def open_version(rows: Rows, version: Values, embedded: Embedded) -> None:
    """Add a version and its index rows."""
    key = {"owner_id": version["owner_id"], "version_no": version["no"]}
    rows.version.append(version)
    rows.terms.append({**key, "data": embedded.terms})
    if embedded.vector is not None:
        rows.vector.append({**key, "space_id": embedded.space_id, "data": embedded.vector})


def change_row(
    owner_id: int,
    numbers: Numbers,
    event: Event,
    act: Act,
    memory_no: int | None,
    *,
    opened: int | None = None,
    closed: int | None = None,
) -> Values:
    """What happened, with the next number of the owner: to a memory, or (None) to the owner."""
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


def support_row(span: Span, memory_no: int, messages: Sequence[int], owner_id: int) -> Values:
    """That a span of a message states a memory; `messages` are the numbers of the call's messages in the store."""
    return {
        "owner_id": owner_id,
        "memory_no": memory_no,
        "message_no": messages[span.message],
        "start": span.start,
        "end": span.end,
    }


def claim_rows(claims: Sequence[Claim], memory_no: int, owner_id: int) -> Iterable[Values]:
    for claim in claims:
        yield {
            "owner_id": owner_id,
            "memory_no": memory_no,
            "attribute": claim.attribute,
            "value": claim.value,
            "holds": claim.holds,
            "changes": claim.changes,
        }
