"""Changing memories one by one or by the scope, each function inside one write transaction.

What was decided before the transaction (that a memory is there, that a text is new) is checked again here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select

from ..checks import canonical_json
from ..clock import Instant
from ..errors import ConflictError, NotFoundError
from ..records import UNSET, Act, Claim, Embedded, Event, Kind, Revision
from . import reading, tombstones
from . import schema as s
from .owners import Numbers, lock_owner, lock_owners
from .reading import Listing
from .rows import Values, change_row
from .schema import AnyRow, Place, chunks
from .spaces import hold_space
from .succession import Closes, part_anew
from .versions import (
    CLOSE,
    LATEST,
    OPEN,
    SET_KEY,
    claim_key,
    key_at,
    key_of,
    not_before,
    replace_claims,
    replace_version,
    retire_version,
)


def revise(
    tx: Connection,
    tenant: str,
    place: Place,
    revision: Revision,
    embedded: Embedded | None,
    claims: Sequence[Claim],
    act: Act,
) -> tuple[Event, int]:
    """Give a believed memory a new version, and tell its number; event NONE where nothing changes.

    `place` is (owner_id, memory_no).
    `embedded` and `claims` go with a changed text; they are not looked at when it is not changed. Raises
    `NotFoundError` for a retired memory, `ConflictError` for one that is not at the version the revision
    expects, `DuplicateError` where its text is live under another memory of the owner.
    """
    owner_id, memory_no = place
    state = lock_owner(tx, tenant, owner_id)
    if embedded is not None:
        hold_space(tx, embedded.space_id, act.at)
    act = not_before(tx, owner_id, act)
    row = tx.execute(OPEN, {"owner": owner_id, "memory": memory_no}).first()
    if row is None:
        raise NotFoundError("it was deleted; restore it before updating it")
    _expect_version(row, revision.expected_version)
    changed = _changes(row, revision)
    if not changed:
        return Event.NONE, row.number
    numbers = Numbers(state)
    if "text" in changed:
        key = key_of(changed["text"], row.event_date, memory_no, row.successor_no)
        claim_key(tx, owner_id, memory_no, row.kind, key, act.at)
        replace_claims(tx, owner_id, memory_no, claims if row.kind == Kind.FACT else ())
    elif "expires_at" in changed and _is_kept(row.valid_to, act) and _is_kept(changed["expires_at"], act):
        # It may have expired before, when its words were free for others.
        key = key_of(row.text, row.event_date, memory_no, row.successor_no)
        claim_key(tx, owner_id, memory_no, row.kind, key, act.at)
    replace_version(tx, numbers, row, changed, embedded if "text" in changed else None, Event.UPDATE, act)
    numbers.save(tx)
    return Event.UPDATE, row.number + 1


def _is_kept(end: Instant | None, act: Act) -> bool:
    return end is None or end > act.at


def _expect_version(row: AnyRow, expected: int | None) -> None:
    if expected is not None and row.number != expected:
        raise ConflictError(row.uid, expected=expected, found=row.number)


def _changes(row: AnyRow, revision: Revision) -> Values:
    """The version's fields that a revision really changes."""
    wanted: Values = {}
    if revision.text is not None:
        wanted["text"] = revision.text
    if revision.metadata is not None:
        old = {} if revision.replace_metadata or row.metadata is None else json.loads(row.metadata)
        wanted["metadata"] = canonical_json({**old, **revision.metadata})
    if revision.expires is not UNSET:
        wanted["expires_on"], wanted["expires_at"] = revision.expires
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def retire(tx: Connection, tenant: str, place: Place, expected_version: int | None, act: Act) -> None:
    """Close a memory's open version because it was wrong or is deleted.

    Raises `NotFoundError` if retired, `ConflictError` where it is not at the expected version.
    """
    owner_id, memory_no = place
    state = lock_owner(tx, tenant, owner_id)
    act = not_before(tx, owner_id, act)
    row = tx.execute(OPEN, {"owner": owner_id, "memory": memory_no}).first()
    if row is None:
        raise NotFoundError("it was deleted already")
    _expect_version(row, expected_version)
    numbers = Numbers(state)
    retire_version(tx, numbers, row, act)
    numbers.save(tx)


def restore(tx: Connection, tenant: str, place: Place, act: Act, closes: Closes) -> bool:
    """Open a retired memory's last version again; False where it was not retired.

    What was said meanwhile stands: as far as its claims exclude one another (`closes`), the memory is filed in the
    past, like one that arrives late. Raises `DuplicateError` where its text is live under another memory by now.
    """
    owner_id, memory_no = place
    state = lock_owner(tx, tenant, owner_id)
    act = not_before(tx, owner_id, act)
    row = tx.execute(LATEST, {"owner": owner_id, "memory": memory_no}).first()
    if row is None:
        raise NotFoundError("it has no version that could be restored")
    if row.tx_to is None:
        return False
    kind = select(s.memory.c.kind).where(s.memory.c.owner_id == owner_id, s.memory.c.no == memory_no)
    claim_key(tx, owner_id, memory_no, tx.execute(kind).scalar_one(), key_at(row, memory_no, act.at), act.at)
    numbers = Numbers(state)
    replace_version(tx, numbers, row, {}, None, Event.RESTORE, act)
    tombstones.retell(tx, owner_id, [memory_no])
    part_anew(tx, numbers, memory_no, act, closes)
    numbers.save(tx)
    return True


def retire_all(tx: Connection, listing: Listing, act: Act) -> int:
    """Retire the believed memories that a listing without a page lists, and return how many those were.

    Where its scope is bound to runs, a memory that was also stated outside them only loses their labels:
    what another run said stays. Raises `FilterError` for a comparison across types.
    """
    states = {state.id: state for state in lock_owners(tx, listing.scope)}
    reading.refuse_mixed_types(tx, listing)
    retired = 0
    for owner_id, memory_nos in _by_owner(reading.listed_places(tx, listing)).items():
        if owner_id not in states:
            continue  # an owner that came meanwhile, and is not locked
        numbers = Numbers(states[owner_id])
        done = not_before(tx, owner_id, act)
        run_ids = listing.scope.runs_of(numbers.state.owner)
        kept = reading.stated_in_other_runs(tx, owner_id, memory_nos, run_ids)
        _unlabel(tx, owner_id, sorted(kept), run_ids)
        gone = [no for no in memory_nos if no not in kept]
        changes = [change_row(owner_id, numbers, Event.NONE, done, no) for no in sorted(kept)]
        opened = _open_numbers(tx, owner_id, gone)
        for no in gone:
            changes.append(change_row(owner_id, numbers, Event.DELETE, done, no, closed=opened[no]))
        if gone:
            tx.execute(CLOSE, [{"owner": owner_id, "version": opened[no], "at": done.at} for no in gone])
            tx.execute(SET_KEY, [{"owner": owner_id, "memory": no, "key": None} for no in gone])
        if changes:
            tx.execute(insert(s.change), changes)
        tombstones.retell(tx, owner_id, gone)
        numbers.save(tx)
        retired += len(gone)
    return retired


def would_retire(tx: Connection, listing: Listing) -> list[str]:
    """The ids of the memories that `retire_all` would retire, newest first."""
    reading.refuse_mixed_types(tx, listing)
    items = reading.list_items(tx, listing)
    owners = {item.place[1]: item.owner for item in items}
    kept: set[Place] = set()
    for owner_id, memory_nos in _by_owner([item.place[1:] for item in items]).items():
        run_ids = listing.scope.runs_of(owners[owner_id])
        others = reading.stated_in_other_runs(tx, owner_id, memory_nos, run_ids)
        kept.update((owner_id, no) for no in others)
    return [item.id for item in items if item.place[1:] not in kept]


def _by_owner(places: Sequence[Place]) -> dict[int, list[int]]:
    """The memories of each owner, both in order of their numbers."""
    found: dict[int, list[int]] = {}
    for owner_id, memory_no in sorted(places):
        found.setdefault(owner_id, []).append(memory_no)
    return found


def _unlabel(tx: Connection, owner_id: int, memory_nos: Sequence[int], run_ids: frozenset[str]) -> None:
    label = s.memory_run.c
    for some in chunks(memory_nos):
        tx.execute(
            delete(s.memory_run).where(
                label.owner_id == owner_id, label.memory_no.in_(some), label.run_id.in_(run_ids)
            )
        )


def _open_numbers(tx: Connection, owner_id: int, memory_nos: Sequence[int]) -> dict[int, int]:
    v = s.version.c
    found: dict[int, int] = {}
    for some in chunks(memory_nos):
        query = select(v.memory_no, v.no).where(
            v.owner_id == owner_id, v.memory_no.in_(some), v.tx_to.is_(None)
        )
        found.update({row.memory_no: row.no for row in tx.execute(query)})
    return found
