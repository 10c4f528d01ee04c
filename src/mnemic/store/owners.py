"""Owners: finding whose rows a scope may see, and counting an owner's rows and changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    Table,
    bindparam,
    exists,
    false,
    or_,
    select,
    text,
    true,
    tuple_,
    update,
)

from ..clock import Instant
from ..errors import NotFoundError
from ..records import Owner, OwnerState
from ..scope import ID_FIELDS, Scope
from .schema import AnyRow, episode, memory_run, owner

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
    names = _named(who)
    while (row := tx.execute(_FIND, names).first()) is None:
        tx.execute(_INSERT, {**names, "at": at})
    return OwnerState(row.id, row.seq, who)


def owners_for_write(tx: Connection, made: Mapping[Owner, Instant]) -> None:
    """Make those of some owners that are not there, each at its instant, and lock all of them.

    Made by name and locked by number, as all do, so that no two writers wait for each other.
    """
    for who in sorted(made, key=astuple):
        if owner_number(tx, who) is None:
            tx.execute(_INSERT, {**_named(who), "at": made[who]})
    found = {owner_number(tx, who): who for who in made}
    for number in sorted(number for number in found if number is not None):
        lock_owner_if_there(tx, found[number].tenant, number)


def _named(who: Owner) -> dict[str, str]:
    return dict(zip(("tenant", "user_id", "agent_id", "app_id"), astuple(who), strict=True))


def owner_number(tx: Connection, who: Owner) -> int | None:
    """The number of an owner; None where it has nothing yet."""
    state = owner_state(tx, who)
    return None if state is None else state.id


def owner_state(tx: Connection, who: Owner) -> OwnerState | None:
    """An owner as the store knows it; None where it has nothing yet."""
    o = owner.c
    query = select(o.id, o.seq).where(
        o.tenant == who.tenant,
        o.user_id == who.user_id,
        o.agent_id == who.agent_id,
        o.app_id == who.app_id,
    )
    row = tx.execute(query).first()
    return None if row is None else OwnerState(row.id, row.seq, who)


def lock_owner(tx: Connection, tenant: str, owner_id: int) -> OwnerState:
    """The state of an owner known by number, locked against other writers until the transaction ends.

    Raises `NotFoundError` for one that was removed since the caller looked, as a reset does.
    """
    found = lock_owner_if_there(tx, tenant, owner_id)
    if found is None:
        raise NotFoundError("all of its owner was removed meanwhile")
    return found


def lock_owner_if_there(tx: Connection, tenant: str, owner_id: int) -> OwnerState | None:
    """Like `lock_owner`, None for an owner that was removed."""
    query = select(owner).where(owner.c.id == owner_id, owner.c.tenant == tenant).with_for_update()
    row = tx.execute(query).first()
    return None if row is None else _state(row)


def owner_by_number(tx: Connection, owner_id: int) -> OwnerState | None:
    """The state of an owner of any tenant; None for one that was removed."""
    row = tx.execute(select(owner).where(owner.c.id == owner_id)).first()
    return None if row is None else _state(row)


def every_owner(tx: Connection) -> list[OwnerState]:
    """The owners of all tenants, in order of their numbers: for what concerns the store as a whole."""
    return [_state(row) for row in tx.execute(select(owner).order_by(owner.c.id))]


def _state(row: AnyRow) -> OwnerState:
    return OwnerState(row.id, row.seq, Owner(row.tenant, row.user_id, row.agent_id, row.app_id))


def lock_owners(tx: Connection, scope: Scope) -> list[OwnerState]:
    """All owners the scope may see, locked like one, in order of their numbers: so no two writers can block
    each other for ever."""
    told = told_by(scope)
    rows = tx.execute(_states(tuple(told)).with_for_update(of=owner), _values(scope.tenant, told))
    return [OwnerState(r.id, r.seq, Owner(r.tenant, r.user_id, r.agent_id, r.app_id)) for r in rows]


def owners_in(scope: Scope) -> Select[tuple[int]]:
    """The numbers of all owners the scope may see, for use as `owner_id IN (...)`."""
    told = told_by(scope)
    query = _states(tuple(told)).with_only_columns(owner.c.id).order_by(None)
    return query.params(_values(scope.tenant, told))


def owner_states(tx: Connection, scope: Scope) -> list[OwnerState]:
    """All owners the scope may see, in order of their numbers, each with how far it has come."""
    told = told_by(scope)
    rows = tx.execute(_states(tuple(told)), _values(scope.tenant, told))
    return [_state(row) for row in rows]


def fits(scope: Scope, columns: Mapping[str, ColumnElement[str]]) -> ColumnElement[bool]:
    """The condition that one of the scope's patterns sets on columns named like the ids."""
    parts = [
        among([columns[name] for name in names], values) if names else true()
        for names, values in told_by(scope).items()
    ]
    return or_(false(), *parts)


def among(columns: Sequence[ColumnElement[str]], told: Any) -> ColumnElement[bool]:
    """Whether the columns have one of the values told: strings for one column, tuples for several."""
    return columns[0].in_(told) if len(columns) == 1 else tuple_(*columns).in_(told)


# The ids told by some of a scope's patterns, and what these patterns tell.
Told = dict[tuple[str, ...], list[Any]]


def told_by(scope: Scope) -> Told:
    """The patterns by the ids that they tell, so that many users are one `IN` and not many `OR`s."""
    told: Told = {}
    for pattern in scope.patterns:
        ids = {name: getattr(pattern, name) for name in ID_FIELDS if getattr(pattern, name) is not None}
        values = tuple(ids.values())
        told.setdefault(tuple(ids), []).append(values[0] if len(values) == 1 else values)
    return told


def _values(tenant: str, told: Told) -> dict[str, Any]:
    return {"scope_tenant": tenant, **{_parameter(names): values for names, values in told.items() if names}}


def _parameter(names: tuple[str, ...]) -> str:
    return "scope_" + "_".join(names)


@lru_cache(maxsize=256)
def _states(shape: tuple[tuple[str, ...], ...]) -> Select[Any]:
    """One statement per shape of scope, so that it is built and compiled once."""
    seen = or_(false(), *(_are(names) if names else true() for names in shape))
    return select(owner).where(owner.c.tenant == bindparam("scope_tenant"), seen).order_by(owner.c.id)


def _are(names: tuple[str, ...]) -> ColumnElement[bool]:
    told: BindParameter[Any] = bindparam(_parameter(names), expanding=True)
    if "run_id" not in names:
        return among([owner.c[name] for name in names], told)
    # A run is a label on memories and episodes: its owners are those that have something under it.
    return or_(*(_have_run(names, rows, told) for rows in (memory_run, episode)))


def _have_run(names: tuple[str, ...], rows: Table, told: BindParameter[Any]) -> ColumnElement[bool]:
    columns = [rows.c.run_id if name == "run_id" else owner.c[name] for name in names]
    return exists().where(rows.c.owner_id == owner.c.id, among(columns, told))
