"""Vectors of versions that lack them in a space: finding what lacks one, putting it in, dropping a whole space's.

Owner by owner. Numbers of an owner only grow, so who has seen all versions up to a number need not look there
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, select

from ..records import Act, Event, OwnerState
from . import schema as s
from .owners import Numbers, lock_owner_if_there
from .rows import insert_all
from .schema import chunks
from .versions import reload_indexes

_LACKING = (
    select(s.version.c.no, s.version.c.text)
    .join_from(
        s.version,
        s.vector,
        s.VECTOR_OF_VERSION,
        isouter=True,
    )
    .where(
        s.version.c.owner_id == bindparam("owner"),
        s.version.c.no > bindparam("after"),
        s.vector.c.version_no.is_(None),
    )
    .order_by(s.version.c.no)
    .limit(bindparam("at_most"))
)


@dataclass(frozen=True, slots=True)
class Lacking:
    """A version without a vector."""

    owner: OwnerState
    version_no: int
    text: str


def lacking(tx: Connection, state: OwnerState, space_id: int, after: int, at_most: int) -> list[Lacking]:
    """The first versions of an owner, from number `after` on, that have no vector in a space."""
    values = {"owner": state.id, "space": space_id, "after": after, "at_most": at_most}
    return [Lacking(state, row.no, row.text) for row in tx.execute(_LACKING, values)]


def put_vectors(tx: Connection, space_id: int, vectors: Iterable[tuple[Lacking, bytes]]) -> None:
    """Give versions their vectors, as far as they are still there and still lack one."""
    by_owner: dict[int, dict[int, bytes]] = {}
    tenants: dict[int, str] = {}
    for one, data in vectors:
        by_owner.setdefault(one.owner.id, {})[one.version_no] = data
        tenants[one.owner.id] = one.owner.owner.tenant
    for owner_id in sorted(by_owner):
        if lock_owner_if_there(tx, tenants[owner_id], owner_id) is not None:
            _put(tx, owner_id, space_id, by_owner[owner_id])


def _put(tx: Connection, owner_id: int, space_id: int, vectors: dict[int, bytes]) -> None:
    v, held = s.version.c, s.vector.c
    for some in chunks(sorted(vectors)):
        there = select(v.no).where(v.owner_id == owner_id, v.no.in_(some))
        having = select(held.version_no).where(
            held.owner_id == owner_id, held.space_id == space_id, held.version_no.in_(some)
        )
        wanted = set(tx.execute(there).scalars()) - set(tx.execute(having).scalars())
        rows = [
            {"owner_id": owner_id, "version_no": no, "space_id": space_id, "data": vectors[no]}
            for no in some
            if no in wanted
        ]
        insert_all(tx, s.vector, rows)


def drop_vectors(tx: Connection, state: OwnerState, space_id: int, at_most: int) -> bool:
    """Drop some of an owner's vectors in a space; whether any were there."""
    owner_id, c = state.id, s.vector.c
    # Locked, since a restore copies what is there.
    if lock_owner_if_there(tx, state.owner.tenant, owner_id) is None:
        return False
    some = select(c.version_no).where(c.owner_id == owner_id, c.space_id == space_id).limit(at_most)
    nos: Sequence[int] = tx.execute(some).scalars().all()
    for few in chunks(nos):
        tx.execute(
            delete(s.vector).where(c.owner_id == owner_id, c.space_id == space_id, c.version_no.in_(few))
        )
    return bool(nos)


def tell_indexes(tx: Connection, state: OwnerState, act: Act) -> None:
    """Have all processes load an owner's index anew, for the vectors that its versions have now."""
    locked = lock_owner_if_there(tx, state.owner.tenant, state.id)
    if locked is None:
        return
    reload_indexes(tx, Numbers(locked), Event.REPAIR, act)
