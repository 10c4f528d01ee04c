"""Owners: finding whose rows a scope may see, and counting an owner's rows and changes."""

from __future__ import annotations

from dataclasses import astuple
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    exists,
    false,
    or_,
    select,
    text,
    true,
    update,
)

from ..clock import Instant
from ..errors import StoreFormatError
from ..records import Owner, OwnerState
from ..scope import ID_FIELDS, Scope
from .schema import episode, memory_run, owner

_INSERT = text(
    "INSERT INTO owner (tenant, user_id, agent_id, app_id, seq, created_at)"
    " VALUES (:tenant, :user_id, :agent_id, :app_id, 0, :at) ON CONFLICT DO NOTHING"
)
_FIND = (
    select(owner.c.id, owner.c.seq)
    .where(
        owner.c.tenant == bindparam("tenant"),
        owner.c.user_id == bindparam("user_id"),
        owner.c.agent_id == bindparam("agent_id"),
        owner.c.app_id == bindparam("app_id"),
    )
    .with_for_update()
)
_ADVANCE = (
    update(owner)
    .where(owner.c.id == bindparam("owner_id"), owner.c.tenant == bindparam("in_tenant"))
    .values(seq=bindparam("to_seq"))
)


class Numbers:
    """Hands out an owner's next numbers, inside one write transaction that holds the owner's row."""

    def __init__(self, state: OwnerState) -> None:
        self.state = state
        self._last = state.seq

    def next(self) -> int:
        self._last += 1
        return self._last

    def save(self, tx: Connection) -> None:
        """Write back how far the owner has come; without this the numbers are handed out again."""
        values = {"owner_id": self.state.id, "in_tenant": self.state.owner.tenant, "to_seq": self._last}
        tx.execute(_ADVANCE, values)


def owner_for_write(tx: Connection, who: Owner, at: Instant) -> OwnerState:
    """The owner's state, made on first use and locked against other writers until the transaction ends."""
    names = dict(zip(("tenant", "user_id", "agent_id", "app_id"), astuple(who), strict=True))
    row = tx.execute(_FIND, names).first()
    if row is None:
        tx.execute(_INSERT, {**names, "at": at})
        row = tx.execute(_FIND, names).one()
    return OwnerState(row.id, row.seq, who)


def lock_owner(tx: Connection, tenant: str, owner_id: int) -> OwnerState:
    """The state of an owner known by number, locked against other writers until the transaction ends."""
    query = select(owner).where(owner.c.id == owner_id, owner.c.tenant == tenant).with_for_update()
    row = tx.execute(query).first()
    if row is None:
        raise StoreFormatError(f"Owner {owner_id} is missing from the store.")
    return OwnerState(row.id, row.seq, Owner(row.tenant, row.user_id, row.agent_id, row.app_id))


def owners_in(scope: Scope) -> Select[tuple[int]]:
    """The numbers of all owners the scope may see, for use as `owner_id IN (...)`."""
    return _states(_shape(scope)).with_only_columns(owner.c.id).order_by(None).params(_values(scope))


def owner_states(tx: Connection, scope: Scope) -> list[OwnerState]:
    """All owners the scope may see, in order of their numbers, each with how far it has come."""
    rows = tx.execute(_states(_shape(scope)), _values(scope))
    return [OwnerState(r.id, r.seq, Owner(r.tenant, r.user_id, r.agent_id, r.app_id)) for r in rows]


Shape = tuple[tuple[str, ...], ...]


def _shape(scope: Scope) -> Shape:
    return tuple(tuple(name for name in ID_FIELDS if getattr(p, name) is not None) for p in scope.patterns)


def _values(scope: Scope) -> dict[str, str]:
    ids = {
        f"{name}_{i}": getattr(pattern, name)
        for i, pattern in enumerate(scope.patterns)
        for name in ID_FIELDS
        if getattr(pattern, name) is not None
    }
    return {"tenant": scope.tenant, **ids}


@lru_cache(maxsize=256)
def _states(shape: Shape) -> Select[Any]:
    """One statement per shape of scope, so that it is built and compiled once."""
    seen = [and_(true(), *(_is(name, f"{name}_{i}") for name in names)) for i, names in enumerate(shape)]
    return (
        select(owner).where(owner.c.tenant == bindparam("tenant"), or_(false(), *seen)).order_by(owner.c.id)
    )


def _is(name: str, parameter: str) -> ColumnElement[bool]:
    if name != "run_id":
        return owner.c[name] == bindparam(parameter)
    # A run is a label on memories and episodes: its owners are those that have something under it.
    run: BindParameter[str] = bindparam(parameter)
    labelled = exists().where(memory_run.c.owner_id == owner.c.id, memory_run.c.run_id == run)
    talked = exists().where(episode.c.owner_id == owner.c.id, episode.c.run_id == run)
    return or_(labelled, talked)
