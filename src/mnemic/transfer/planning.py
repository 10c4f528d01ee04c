"""What an import does: for each owner, what the store has already and what becomes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from .. import checks
from ..errors import DuplicateError, ScopeError, ValidationError
from ..records import OnConflict, Owner
from ..scope import Pattern
from ..store import import_rows
from ..store import schema as s
from ..store.import_rows import There
from ..store.schema import Place
from ..store.versions import Live, live_memories
from ..whole import WholeChange, WholeOwner
from .checking import Contents, Section

SHOWN = 5


@dataclass(frozen=True, slots=True)
class OwnerPlan:
    """What the store has of a file's section. Everything else of the section is new.

    kept: memories that are there and stay as they are. twins: memories whose words are live under another id,
    with that id. events: what happened to the owner itself.
    """

    episodes: dict[str, int] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    twins: dict[str, Live] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)
    events: frozenset[tuple[str, str]] = frozenset()

    def writes(self, uid: str) -> bool:
        """Whether a memory of the section is written."""
        return uid not in self.kept and uid not in self.twins

    def hears(self, change: WholeChange) -> bool:
        """Whether a change of the section is written, if its memory is."""
        if change.memory is not None:
            return self.writes(change.memory)
        return (change.trace_id, change.event) not in self.events

    def there(self) -> There:
        """The same for the store."""
        stand_ins = {uid: live.memory_no for uid, live in self.twins.items()}
        return There(self.episodes, self.messages, {**self.kept, **stand_ins}, self.replaced)


Plan = tuple[OwnerPlan, ...]


def read_on_conflict(value: Any) -> OnConflict:
    """The choice of a caller. Raises `ValidationError` for any other word."""
    if isinstance(value, str) and value in tuple(OnConflict):
        return OnConflict(value)
    raise ValidationError(
        f"on_conflict must be one of {', '.join(OnConflict)}, not {checks.shown(value)}.",
        details={"field": "on_conflict"},
    )


def refuse_strangers(contents: Contents, bound: Pattern) -> None:
    """Raise `ScopeError` for an owner in a file that an import bound to ids must not write."""
    if bound.run_id is not None:
        raise ScopeError("An import is of whole owners; use a memory that is not bound to a run_id.")
    for section in contents.sections:
        owner = section.owner
        if not bound.fits(Owner("", owner.user_id, owner.agent_id, owner.app_id)):
            raise ScopeError(
                f"The file has memories of {ids_of(owner)}, beyond the ids this memory is bound to."
            )


def make_plan(tx: Connection, tenant: str, contents: Contents, on_conflict: OnConflict) -> Plan:
    """Look up what the store has of a file.

    Raises `ValidationError` for ids that are there, where such are to fail, and for ids that other owners have;
    `DuplicateError` where a text is live under another id, unless such are to be skipped.
    """
    plans = [_plan_owner(tx, tenant, section, on_conflict) for section in contents.sections]
    if on_conflict is OnConflict.FAIL:
        _refuse_present(plans)
    for plan in plans:
        if plan.twins and on_conflict is not OnConflict.SKIP:
            raise DuplicateError(next(iter(plan.twins.values())).uid)
    return tuple(plans)


def _plan_owner(tx: Connection, tenant: str, section: Section, on_conflict: OnConflict) -> OwnerPlan:
    owner = section.owner
    owner_id = import_rows.owner_id_of(tx, Owner(tenant, owner.user_id, owner.agent_id, owner.app_id))
    memories = import_rows.places_of(tx, tenant, s.memory, list(section.memories))
    messages = import_rows.places_of(tx, tenant, s.message, list(section.messages))
    present = _own(memories, owner_id, owner, "memory")
    said = _own(messages, owner_id, owner, "message")
    if owner_id is None:
        return OwnerPlan()
    episodes = import_rows.episodes_there(tx, owner_id, section.episodes)
    replaces = on_conflict is OnConflict.OVERWRITE
    twins = _twins(tx, owner_id, section, present, freed=present if replaces else {})
    return OwnerPlan(
        episodes=episodes,
        messages=said,
        kept={} if replaces else present,
        twins=twins,
        replaced=present if replaces else {},
        events=frozenset(import_rows.owner_events(tx, owner_id)),
    )


def _own(places: dict[str, Place], owner_id: int | None, owner: WholeOwner, what: str) -> dict[str, int]:
    """The numbers of what is there, all of which must be the owner's."""
    for uid, (whose, _) in places.items():
        if whose != owner_id:
            raise ValidationError(
                f"The {what} {uid} of {ids_of(owner)} is in this store under other ids; nothing was imported.",
                details={"id": uid},
            )
    return {uid: no for uid, (_, no) in places.items()}


def _twins(
    tx: Connection, owner_id: int, section: Section, present: dict[str, int], freed: dict[str, int]
) -> dict[str, Live]:
    """The memories to be written whose words are live under another id, which keeps them."""
    keys = {
        (known.kind, known.key): uid
        for uid, known in section.memories.items()
        if known.key is not None and (uid not in present or uid in freed)
    }
    held = live_memories(tx, owner_id, [key for _, key in keys])
    return {
        keys[what]: live
        for what, live in held.items()
        if what in keys and live.uid != keys[what] and live.uid not in freed
    }


def _refuse_present(plans: Sequence[OwnerPlan]) -> None:
    there = [uid for plan in plans for uid in plan.kept]
    if there:
        first = ", ".join(there[:SHOWN])
        more = "" if len(there) <= SHOWN else f" and {len(there) - SHOWN:,} more"
        what = "1 memory" if len(there) == 1 else f"{len(there):,} memories"
        raise ValidationError(
            f"{what} of the file {'is' if len(there) == 1 else 'are'} in this store already: {first}{more}."
            " Nothing was imported.",
            details={"conflicts": there[:100], "total": len(there)},
            suggestion="Import with on_conflict 'skip' to leave them as they are, or 'overwrite' to replace them.",
        )


def ids_of(owner: WholeOwner) -> str:
    """The owner's ids for a message."""
    ids = {"user_id": owner.user_id, "agent_id": owner.agent_id, "app_id": owner.app_id}
    return ", ".join(f"{name} {value!r}" for name, value in ids.items() if value) or "no user, agent or app"


def writes_any(contents: Contents, plan: Plan) -> bool:
    """Whether any memory is written."""
    return any(
        len(section.memories) > len(owner.kept) + len(owner.twins)
        for section, owner in zip(contents.sections, plan, strict=True)
    )
