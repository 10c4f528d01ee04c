"""Finding by their words what was said and what was kept of it, believed or not; for `why`."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, and_, select

from ..records import Stated, StoredMessage
from ..scope import Scope
from . import filter_sql, reading
from . import schema as s
from .owners import owners_in

AT_MOST = 50

_heir = s.version.alias("heir")


def messages_holding(tx: Connection, scope: Scope, text: str) -> list[StoredMessage]:
    """The first messages of a scope that hold a text, whatever its case."""
    return reading.messages(
        tx, scope, limit=AT_MOST, condition=filter_sql.holds(s.message.c.content, text, tx.dialect.name)
    )


def versions_holding(tx: Connection, scope: Scope, text: str) -> list[Stated]:
    """The versions of a scope's memories that hold a text, believed ones first, then the latest."""
    return _versions(tx, scope, filter_sql.holds(s.version.c.text, text, tx.dialect.name))


def versions_of(tx: Connection, scope: Scope, uid: str) -> list[Stated]:
    """The versions of a memory of a scope, in the same order."""
    return _versions(tx, scope, s.memory.c.uid == uid)


def _versions(tx: Connection, scope: Scope, condition: ColumnElement[bool]) -> list[Stated]:
    v, c = s.version.c, s.change.c
    joined = (
        s.version.join(s.memory, and_(s.memory.c.owner_id == v.owner_id, s.memory.c.no == v.memory_no))
        .join(s.owner, s.owner.c.id == v.owner_id)
        .outerjoin(s.change, and_(c.owner_id == v.owner_id, c.closed_no == v.no, v.tx_to.is_not(None)))
        .outerjoin(
            _heir,
            and_(
                _heir.c.owner_id == v.owner_id,
                _heir.c.memory_no == v.successor_no,
                _heir.c.tx_to.is_(None),
            ),
        )
    )
    query = (
        select(
            s.memory.c.uid,
            v.owner_id,
            v.no.label("version_no"),
            v.text,
            v.valid_to,
            v.expires_at,
            _heir.c.text.label("superseded_by"),
            v.tx_from.label("opened_at"),
            v.tx_to.label("closed_at"),
            c.event.label("closed_by_event"),
            c.actor.label("closed_by"),
            c.reason.label("closed_because"),
        )
        .select_from(joined)
        .where(
            v.owner_id.in_(owners_in(scope)),
            reading.sees(scope),
            condition,
        )
        .order_by(v.tx_to.is_not(None), v.tx_from.desc(), v.no.desc())
        .limit(AT_MOST)
    )
    return [Stated(**row._mapping) for row in tx.execute(query)]
