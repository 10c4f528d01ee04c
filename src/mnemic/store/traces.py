"""What is kept of each step of an add, in the transaction of the add, for as long as is configured."""

from __future__ import annotations

import zlib

from sqlalchemy import Connection, delete, insert, select

from ..records import Act
from ..scope import Scope
from . import schema as s
from .owners import fits
from .sound import decoding

_DAY = 24 * 3600 * 1_000_000


def keep(tx: Connection, owner_id: int, act: Act, steps: str | None, days: int) -> None:
    """Keep the steps of an add (JSON), and let go of the owner's old ones; nothing without any, or for no days."""
    if steps is None or not days:
        return
    t = s.trace.c
    tx.execute(delete(s.trace).where(t.owner_id == owner_id, t.at <= act.at - days * _DAY))
    values = {
        "owner_id": owner_id,
        "trace_id": act.trace_id,
        "at": act.at,
        "data": zlib.compress(steps.encode(), 6),
    }
    tx.execute(insert(s.trace), values)


def steps_of(tx: Connection, scope: Scope, trace_id: str) -> str | None:
    """The steps of an add that the scope may see, as they were kept; None where there are none."""
    o = s.owner.c
    columns = {"user_id": o.user_id, "agent_id": o.agent_id, "app_id": o.app_id}
    query = (
        select(s.trace.c.data)
        .select_from(s.trace.join(s.owner, o.id == s.trace.c.owner_id))
        .where(s.trace.c.trace_id == trace_id, o.tenant == scope.tenant, fits(scope, columns))
    )
    data = tx.execute(query).scalar()
    if data is None:
        return None
    with decoding("a trace"):
        try:
            return zlib.decompress(data).decode()
        except zlib.error as fault:
            raise ValueError(str(fault)) from fault
