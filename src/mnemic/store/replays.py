"""Idempotency: the first result of a call, kept in the transaction that it tells of, for calls with its key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, delete, insert, select

from ..clock import Instant
from ..errors import KeyReuseError
from ..records import Act, Owner
from . import schema as s
from . import traces
from .owners import lock_owner, owner_number
from .sound import decoding

T = TypeVar("T")

# Long after any retry; what a key holds is a copy of what its owner's memories hold anyway.
KEPT_MICROSECONDS = 30 * 24 * 3600 * 1_000_000

_OF_OWNER = select(s.replay.c.fingerprint, s.replay.c.result).where(
    s.replay.c.owner_id == bindparam("owner"),
    s.replay.c.key == bindparam("replay_key"),
    s.replay.c.at > bindparam("since"),
)


@dataclass(frozen=True, slots=True)
class Once:
    """A call that shall have one effect however often it is made: its key, and what tells it from others."""

    key: str
    fingerprint: str


def once(key: str | None, verb: str, **given: Any) -> Once | None:
    """The call with this key and these arguments; None where no key was given."""
    if key is None:
        return None
    told = json.dumps([verb, _in_order(given)], default=str)
    return Once(key, hashlib.sha256(told.encode()).hexdigest())


def _in_order(value: Any) -> Any:
    """The value with its mappings as sorted pairs: their keys may be of any type, and come in any order."""
    if isinstance(value, Mapping):
        return sorted(([str(key), _in_order(inner)] for key, inner in value.items()), key=itemgetter(0))
    if isinstance(value, list | tuple):
        return [_in_order(inner) for inner in value]
    return value


def first_result(tx: Connection, tenant: str, owner_id: int, call: Once | None, at: Instant) -> Any:
    """Like `replayed`, in a write: whoever makes the same call waits until this one is committed."""
    if call is None:
        return None
    lock_owner(tx, tenant, owner_id)
    return replayed(tx, owner_id, call, at)


def replayed(tx: Connection, owner_id: int, call: Once | None, at: Instant) -> Any:
    """The result that this call had before; None where it is made for the first time.

    Raises `KeyReuseError` where its key belongs to a different call.
    """
    if call is None:
        return None
    values = {"owner": owner_id, "replay_key": call.key, "since": at - KEPT_MICROSECONDS}
    row = tx.execute(_OF_OWNER, values).first()
    if row is None:
        return None
    if row.fingerprint != call.fingerprint:
        raise KeyReuseError(call.key)
    with decoding("a kept result"):
        return json.loads(row.result)


def replayed_to(tx: Connection, who: Owner, call: Once | None, at: Instant) -> Any:
    """Like `replayed`, for an owner that may not exist yet."""
    if call is None:
        return None
    owner_id = owner_number(tx, who)
    return None if owner_id is None else replayed(tx, owner_id, call, at)


def mentioning(tx: Connection, owner_id: int, wanted: Collection[str]) -> list[str]:
    """The trace ids of an owner's kept results that hold, in the steps of their call, one of some ids or texts."""
    query = select(s.replay.c.trace_id, s.replay.c.result).where(s.replay.c.owner_id == owner_id)
    return [trace_id for trace_id, result in tx.execute(query).all() if _tells_of(result, wanted)]


def _tells_of(result: str, wanted: Collection[str]) -> bool:
    """Whether a kept result has steps that hold one of some ids or texts; what cannot be read may hold any."""
    if '"trace":' not in result:
        return False
    try:
        return traces.mentions(json.loads(result).get("trace"), wanted)
    except (ValueError, AttributeError, RecursionError):
        return True


def keep(tx: Connection, owner_id: int, call: Once | None, result: T, act: Act) -> T:
    """Keep a call's result for those who make it again, and let go of the owner's old ones."""
    if call is None:
        return result
    r = s.replay.c
    stale = (r.at <= act.at - KEPT_MICROSECONDS) | (r.key == call.key)
    tx.execute(delete(s.replay).where(r.owner_id == owner_id, stale))
    values = {
        "owner_id": owner_id,
        "key": call.key,
        "fingerprint": call.fingerprint,
        "result": json.dumps(result, ensure_ascii=False),
        "trace_id": act.trace_id,
        "at": act.at,
    }
    tx.execute(insert(s.replay), values)
    return result
