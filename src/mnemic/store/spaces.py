"""Embedding spaces: which model the store's vectors come from. They belong to the store, not to an owner.

One space is active: it is the one that is searched. A store that moves to another model has a second one, which
is filling; when no version lacks a vector there, the two change places in one transaction, and the vectors of
the retired one are dropped.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from sqlalchemy import Connection, Row, delete, insert, select, text, update

from ..clock import Instant
from ..errors import StoreBusyError, StoreError
from ..records import Background, Space
from . import schema as s
from .sound import decoding


class State(StrEnum):
    """What a space is to the store."""

    ACTIVE = "active"
    FILLING = "filling"
    RETIRED = "retired"


# Somebody who was not heard of for so long has died; writers wait for him no longer than that.
LEASE_MICROSECONDS = 30 * 1_000_000
CLOSING_MICROSECONDS = 10 * 1_000_000

_ACTIVE_ID = select(s.space.c.id).where(s.space.c.state == State.ACTIVE.value)
_HELD = _ACTIVE_ID.with_for_update(read=True, key_share=True)
_ACTIVE = select(s.space).where(s.space.c.state == State.ACTIVE.value)
_NOTED = {key: select(s.meta.c.value).where(s.meta.c.key == key) for key in ("mover", "unfilled")}
_NOTE = text(
    "INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = :value"
)


# A row that every store has, locked by who makes or moves a space.
_ONE_AT_A_TIME = select(s.meta.c.value).where(s.meta.c.key == "store_id").with_for_update()


class SpaceChangedError(StoreError):
    """The store was emptied, or given another embedding space, since the caller looked; look again."""

    default_code = "DB_SPACE_CHANGED"


class SpaceClosingError(SpaceChangedError):
    """The store is about to change its embedding space, which takes moments; write again after them."""


@dataclass(frozen=True, slots=True)
class Mover:
    """Who moves the store to another model: alive until an instant, and whether all writers wait for him."""

    token: str
    until: Instant
    closing: bool = False


def expect_space(tx: Connection, space_id: int | None) -> None:
    """Raise `SpaceChangedError` unless the active space is the one the caller embedded for."""
    if tx.execute(_ACTIVE_ID).scalar() != space_id:
        raise SpaceChangedError("The store's embedding space changed during the call.")


def hold_space(tx: Connection, space_id: int | None, at: Instant) -> None:
    """Like `expect_space`, for one who writes vectors of it: nobody can remove it until the transaction ends.

    Lock the owner first: who empties the store locks its owners, and then the space. Raises `SpaceClosingError`
    while writers have to wait.
    """
    if space_id is None:
        return
    if tx.execute(_HELD).scalar() != space_id:
        raise SpaceChangedError("The store's embedding space changed during the call.")
    mover = _mover(tx)
    if mover is not None and mover.closing and at < mover.until:
        raise SpaceClosingError("The store is changing its embedding space.")


def active_space(tx: Connection) -> Space | None:
    """The space in which the store searches; None while nothing was embedded."""
    row = tx.execute(_ACTIVE).first()
    return None if row is None else _space(row)


def claim_space(tx: Connection, name: str, dims: int, background: Background, at: Instant) -> Space:
    """Make the active space, or find the one another process has made meanwhile."""
    tx.execute(_ONE_AT_A_TIME)
    found = active_space(tx)
    if found is not None:
        return found
    if tx.execute(select(s.owner.c.id).limit(1)).first() is not None:
        tx.execute(_NOTE, {"key": "unfilled", "value": ""})
    return _made(tx, name, dims, background, State.ACTIVE, at)


def is_unfilled(tx: Connection) -> bool:
    """Whether the active space came to a store that had versions already, and some may lack their vectors."""
    return tx.execute(_NOTED["unfilled"]).first() is not None


def note_filled(tx: Connection) -> None:
    """No version lacks a vector in the active space any more."""
    tx.execute(delete(s.meta).where(s.meta.c.key == "unfilled"))


# --- moving to another model ------------------------------------------------------------------------------


def lead(tx: Connection, token: str, at: Instant, *, closing: bool = False) -> None:
    """Be the one who moves the store, for another lease. Raises `StoreBusyError` where somebody else is.

    Call it before anything else is locked: who makes or moves spaces waits here for others who do.
    """
    tx.execute(_ONE_AT_A_TIME)
    mover = _mover(tx)
    if mover is not None and mover.token != token and at < mover.until:
        raise StoreBusyError("The store is being moved to another embedder by somebody else already.")
    lease = CLOSING_MICROSECONDS if closing else LEASE_MICROSECONDS
    told = json.dumps(asdict(Mover(token, at + lease, closing)))
    tx.execute(_NOTE, {"key": "mover", "value": told})


def end_lead(tx: Connection, token: str) -> None:
    """Be it no longer."""
    tx.execute(_ONE_AT_A_TIME)
    mover = _mover(tx)
    if mover is not None and mover.token == token:
        tx.execute(delete(s.meta).where(s.meta.c.key == "mover"))


def target_space(tx: Connection, name: str, dims: int, background: Background, at: Instant) -> Space:
    """The space to fill: one that an earlier move began for this model, else a new one.

    What was begun for any other model is retired.
    """
    c = s.space.c
    filling = tx.execute(select(s.space).where(c.state == State.FILLING.value)).all()
    for row in filling:
        if (row.name, row.dims) == (name, dims):
            return _space(row)
        _set_state(tx, row.id, State.RETIRED)
    return _made(tx, name, dims, background, State.FILLING, at)


def hold_spaces(tx: Connection) -> None:
    """Keep all others from writing vectors until the transaction ends."""
    tx.execute(select(s.space.c.id).order_by(s.space.c.id).with_for_update()).all()


def switch(tx: Connection, target: Space) -> None:
    """Make the target the active space; call `hold_spaces` first."""
    old = active_space(tx)
    if old is not None:
        _set_state(tx, old.id, State.RETIRED)
    _set_state(tx, target.id, State.ACTIVE)
    note_filled(tx)


def retired_spaces(tx: Connection) -> list[int]:
    """The numbers of spaces whose vectors nobody needs any more."""
    c = s.space.c
    return list(tx.execute(select(c.id).where(c.state == State.RETIRED.value).order_by(c.id)).scalars())


def remove_space(tx: Connection, space_id: int) -> None:
    """Forget a retired space, of which no vector is left."""
    tx.execute(delete(s.space).where(s.space.c.id == space_id, s.space.c.state == State.RETIRED.value))


def _made(tx: Connection, name: str, dims: int, background: Background, state: State, at: Instant) -> Space:
    values = {
        "name": name,
        "dims": dims,
        "state": state.value,
        "background": json.dumps(asdict(background)),
        "created_at": at,
    }
    tx.execute(insert(s.space), values)
    made = select(s.space).where(s.space.c.name == name, s.space.c.state == state.value)
    return _space(tx.execute(made.order_by(s.space.c.id.desc()).limit(1)).one())


def _set_state(tx: Connection, space_id: int, state: State) -> None:
    tx.execute(update(s.space).where(s.space.c.id == space_id).values(state=state.value))


def _space(row: Row[tuple[object, ...]]) -> Space:
    with decoding("the embedding space"):
        return Space(row.id, row.name, row.dims, Background(**json.loads(row.background)))


def _mover(tx: Connection) -> Mover | None:
    told = tx.execute(_NOTED["mover"]).scalar()
    with decoding("the note of a move"):
        return None if told is None else Mover(**json.loads(told))
