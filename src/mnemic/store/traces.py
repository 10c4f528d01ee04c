"""What is kept of each step of an add, in the transaction of the add, for as long as is configured."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from ..clock import Instant
from ..errors import StoreFormatError
from ..records import Act
from ..scope import Scope
from . import schema as s
from .owners import fits
from .sound import decoding, json_object

_DAY = 24 * 3600 * 1_000_000


def kept_since(now: Instant, days: int) -> Instant:
    """The instant up to which steps are not kept any more."""
    return now - days * _DAY


def keep(tx: Connection, owner_id: int, act: Act, steps: str | None, days: int) -> None:
    """Keep the steps of an add (JSON), and let go of the owner's old ones; nothing without any. For no days, none
    is kept."""
    if steps is None:
        return
    t = s.trace.c
    tx.execute(delete(s.trace).where(t.owner_id == owner_id, t.at <= kept_since(act.at, days)))
    if not days:
        return
    values = {
        "owner_id": owner_id,
        "trace_id": act.trace_id,
        "at": act.at,
        "data": zlib.compress(steps.encode(), 6),
    }
    tx.execute(insert(s.trace), values)


def steps_of(tx: Connection, scope: Scope, trace_id: str, since: Instant) -> dict[str, Any] | None:
    """The steps of an add that the scope may see, as they were kept; None where there are none, or none younger."""
    o, t, e = s.owner.c, s.trace.c, s.episode.c
    run = select(e.run_id).where(e.owner_id == t.owner_id, e.trace_id == t.trace_id).limit(1)
    columns = {
        "user_id": o.user_id,
        "agent_id": o.agent_id,
        "app_id": o.app_id,
        "run_id": run.scalar_subquery(),
    }
    query = (
        select(t.data)
        .select_from(s.trace.join(s.owner, o.id == t.owner_id))
        .where(t.trace_id == trace_id, t.at > since, o.tenant == scope.tenant, fits(scope, columns))
    )
    data = tx.execute(query).scalar()
    return None if data is None else decoded(data)


def decoded(data: bytes) -> dict[str, Any]:
    """Steps as they were kept. Raises `StoreFormatError` where they are damaged."""
    with decoding("a trace"):
        try:
            return json_object(zlib.decompress(data).decode())
        except (zlib.error, RecursionError) as fault:
            raise ValueError(str(fault)) from fault


def damaged(tx: Connection, owner_id: int) -> Iterator[tuple[str, bool]]:
    """The ids of an owner's traces, each with whether it cannot be decoded."""
    for trace_id, data in _all_of(tx, owner_id):
        yield trace_id, _or_none(data) is None


def mentioning(tx: Connection, owner_id: int, wanted: Collection[str]) -> list[str]:
    """The ids of an owner's traces that hold one of some ids or texts; what cannot be decoded may hold any."""
    return [
        trace_id
        for trace_id, data in _all_of(tx, owner_id)
        if (steps := _or_none(data)) is None or mentions(steps, wanted)
    ]


def mentions(value: Any, wanted: Collection[str]) -> bool:
    """Whether one of the texts in a JSON value is one of those wanted."""
    if isinstance(value, str):
        return value in wanted
    if isinstance(value, dict):
        return any(mentions(inner, wanted) for inner in value.values())
    return isinstance(value, list) and any(mentions(inner, wanted) for inner in value)


def _all_of(tx: Connection, owner_id: int) -> Iterator[tuple[str, bytes]]:
    query = select(s.trace.c.trace_id, s.trace.c.data).where(s.trace.c.owner_id == owner_id)
    for row in tx.execute(query, execution_options={"yield_per": 100}):
        yield row.trace_id, row.data


def _or_none(data: bytes) -> dict[str, Any] | None:
    try:
        return decoded(data)
    except StoreFormatError:
        return None
