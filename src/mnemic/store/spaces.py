"""Embedding spaces: which model the store's vectors come from. They belong to the store, not to an owner."""

from __future__ import annotations

import json
from dataclasses import asdict

from sqlalchemy import Connection, insert, select

from ..clock import Instant
from ..errors import StoreError
from ..records import Background, Space
from . import schema as s
from .sound import decoding

_ACTIVE_ID = select(s.space.c.id).where(s.space.c.state == "active")
_HELD = _ACTIVE_ID.with_for_update(read=True, key_share=True)
_ACTIVE = select(s.space).where(s.space.c.state == "active")


# A row that every store has, locked by who makes a space.
_ONE_AT_A_TIME = select(s.meta.c.value).where(s.meta.c.key == "store_id").with_for_update()


class SpaceChangedError(StoreError):
    """The store was emptied, or given another embedding space, since the caller looked; look again."""

    default_code = "DB_SPACE_CHANGED"


def expect_space(tx: Connection, space_id: int | None) -> None:
    """Raise `SpaceChangedError` unless the active space is the one the caller embedded for."""
    if tx.execute(_ACTIVE_ID).scalar() != space_id:
        raise SpaceChangedError("The store's embedding space changed during the call.")


def hold_space(tx: Connection, space_id: int | None) -> None:
    """Like `expect_space`, for one who writes vectors of it: nobody can remove it until the transaction ends.

    Lock the owner first: who empties the store locks its owners, and then the space.
    """
    if space_id is not None and tx.execute(_HELD).scalar() != space_id:
        raise SpaceChangedError("The store's embedding space changed during the call.")


def active_space(tx: Connection) -> Space | None:
    """The space in which the store searches; None while nothing was embedded."""
    row = tx.execute(_ACTIVE).first()
    if row is None:
        return None
    with decoding("the embedding space"):
        background = Background(**json.loads(row.background))
    return Space(row.id, row.name, row.dims, background)


def claim_space(tx: Connection, name: str, dims: int, background: Background, at: Instant) -> Space:
    """Make the active space, or find the one another process has made meanwhile."""
    tx.execute(_ONE_AT_A_TIME)
    found = active_space(tx)
    if found is None:
        values = {
            "name": name,
            "dims": dims,
            "state": "active",
            "background": json.dumps(asdict(background)),
            "created_at": at,
        }
        tx.execute(insert(s.space), values)
        found = active_space(tx)
        assert found is not None
    return found
