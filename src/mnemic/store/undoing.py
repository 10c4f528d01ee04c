"""Taking back what one call did, as new versions: nothing of what was done is removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, and_, bindparam, delete, exists, func, insert, or_, select

from ..clock import iso
from ..errors import ChangedSinceError, NotFoundError, ValidationError
from ..records import RELOADING, Act, Claim, Event, Kind, TakenBack
from ..scope import Scope
from . import schema as s
from . import tombstones
from .meeting import LOOKED_AT
from .owners import Numbers, fits, lock_owner, owners_in
from .rows import Rows, change_row
from .schema import AnyRow, chunks
from .succession import Closes, part_anew
from .versions import (
    EVER,
    GAVE_WAY_TO,
    LATEST,
    OPEN,
    claim_key,
    key_at,
    not_before,
    replace_claims,
    replace_version,
    retire_version,
)

ClaimsOf = Callable[[str], Sequence[Claim]]

# What a version says, whenever it was believed.
_SAID = tuple(
    column.name for column in s.version.columns if column.name not in ("no", "number", "tx_from", "tx_to")
)
# Events that leave the memory itself as it was.
_BESIDE = (Event.NONE, Event.EPISODE)
# By which an add states a memory as it is, or says more of one that is there.
_STATING = (Event.ADD, Event.NONE)
_REPEATING = (Event.NONE, Event.UPDATE)
_UNDO_OF = "undo of "

_VERSION = EVER.where(s.version.c.no == bindparam("version"))
# What other calls did to some memories, latest first.
_BY_OTHERS = (
    select(s.change)
    .where(
        s.change.c.owner_id == bindparam("owner"),
        s.change.c.memory_no.in_(bindparam("memories", expanding=True)),
        s.change.c.trace_id != bindparam("trace"),
    )
    .order_by(s.change.c.seq.desc())
)
# The adds that stated some memories, with their runs; what a model only looked at was not stated.
_STATED_BY = (
    select(s.change.c.memory_no, s.change.c.trace_id, s.episode.c.run_id)
    .join_from(
        s.change,
        s.episode,
        and_(s.episode.c.owner_id == s.change.c.owner_id, s.episode.c.trace_id == s.change.c.trace_id),
    )
    .where(
        s.change.c.owner_id == bindparam("owner"),
        s.change.c.memory_no.in_(bindparam("memories", expanding=True)),
        s.change.c.event.in_(bindparam("events", expanding=True)),
        func.coalesce(s.change.c.reason, "").startswith(LOOKED_AT).is_(False),
    )
)


@dataclass(frozen=True, slots=True)
class _Done:
    """What the call did to a memory: the version that it closed first (None where none was believed), and the last
    one that it opened or closed. believed: whether it left that open. made: whether it made the memory."""

    memory_no: int
    found: int | None
    left: int
    believed: bool
    made: bool


def undo(
    tx: Connection, scope: Scope, trace_id: str, act: Act, claims_of: ClaimsOf, closes: Closes
) -> list[TakenBack]:
    """Put back all that the call with a trace id did to the memories of a scope, and tell of each.

    What it added is retired; what it changed, ended or deleted gets a new version, as it was before. A memory that
    another add has stated since stays, and what gave way to it stays ended. What was deleted comes back as if restored:
    what was said meanwhile stands, as far as claims exclude one another (`closes`). Messages stay: they were said.

    Raises `NotFoundError` where nothing was done under the trace id, `ChangedSinceError` where a memory was changed
    since, `DuplicateError` where what comes back is live under another memory by now, `ValidationError` for what
    cannot be taken back.
    """
    locked = {no: Numbers(lock_owner(tx, scope.tenant, no)) for no in sorted(_done_by(tx, scope, trace_id))}
    # Read again: what was purged before the lock was held is not there any more.
    done = _done_by(tx, scope, trace_id)
    if not done:
        raise NotFoundError(f"Nothing was done under the trace id {trace_id}.")
    why = _undoing(trace_id)
    act = replace(act, reason=why if act.reason is None else f"{why}; {act.reason}")
    told: list[TakenBack] = []
    for owner_id, numbers in locked.items():
        call = _Call(tx, numbers, trace_id, not_before(tx, owner_id, act), claims_of, closes)
        told += call.undo(done.get(owner_id, ()))
        numbers.save(tx)
    return told


def _undoing(trace_id: str) -> str:
    """The reason that taking back a call leaves in the history."""
    return f"{_UNDO_OF}{trace_id}"


def _undone_for(reason: str | None) -> str | None:
    """The call that was taken back for a reason; None where the reason is another."""
    head = (reason or "").partition(";")[0]
    return head.removeprefix(_UNDO_OF) if head.startswith(_UNDO_OF) else None


def _done_by(tx: Connection, scope: Scope, trace_id: str) -> dict[int, list[AnyRow]]:
    """The changes of a call, by owner, in order; of those owners of which the scope may see all that it did.

    What was told in a run is of that run; what was not told at all, of the runs of each memory that it was done to.
    """
    c, o, e, label = s.change.c, s.owner.c, s.episode.c, s.memory_run.c
    ids = {"user_id": o.user_id, "agent_id": o.agent_id, "app_id": o.app_id}
    told = select(e.run_id).where(e.owner_id == c.owner_id, e.trace_id == c.trace_id).limit(1)
    run = told.scalar_subquery()
    labelled = exists().where(
        label.owner_id == c.owner_id,
        label.memory_no == c.memory_no,
        fits(scope, {**ids, "run_id": label.run_id}),
    )
    seen = or_(fits(scope, {**ids, "run_id": run}), and_(run.is_(None), labelled))
    query = (
        select(s.change, seen.label("seen"))
        .select_from(s.change.join(s.owner, o.id == c.owner_id))
        .where(c.trace_id == trace_id, o.tenant == scope.tenant, c.owner_id.in_(owners_in(scope)))
        .order_by(c.owner_id, c.seq)
    )
    found: dict[int, list[AnyRow]] = defaultdict(list)
    hidden: set[int] = set()
    for row in tx.execute(query):
        if not row.seen:
            if row.event not in _BESIDE:
                hidden.add(row.owner_id)
        elif row.event in RELOADING:
            raise ValidationError(f"{row.event} is for good: it cannot be taken back.")
        else:
            found[row.owner_id].append(row)
    return {owner_id: rows for owner_id, rows in found.items() if owner_id not in hidden}


class _Call:
    """One call of one owner, being taken back."""

    def __init__(
        self,
        tx: Connection,
        numbers: Numbers,
        trace_id: str,
        act: Act,
        claims_of: ClaimsOf,
        closes: Closes,
    ) -> None:
        self._tx = tx
        self._numbers = numbers
        self._owner = numbers.state.id
        self._trace_id = trace_id
        self._act = act
        self._claims_of = claims_of
        self._closes = closes

    def undo(self, changes: Sequence[AnyRow]) -> list[TakenBack]:
        done, repeated = _summed(changes)
        lefts = {one.memory_no: self._version(one.left) for one in done}
        kept = self._stated_since([one.memory_no for one in done if one.made])
        kept |= {
            no: "what took its place stays"
            for no, left in lefts.items()
            if left.successor_no in kept and no not in kept
        }
        undone = [one for one in done if one.memory_no not in kept]
        self._refuse_changed_since(undone)
        # What was added goes first: its words may be those of what comes back.
        told = [self._retired(one) for one in undone if one.found is None]
        told += [self._put_back(one.memory_no, one.found) for one in undone if one.found is not None]
        self._part([one.memory_no for one in undone if one.found is not None and not one.believed])
        told += [TakenBack(lefts[no].uid, lefts[no].text, Event.NONE, why) for no, why in kept.items()]
        told += self._beside(repeated)
        self._relabel()
        return told

    def _version(self, version_no: int) -> AnyRow:
        return self._tx.execute(_VERSION, {"owner": self._owner, "version": version_no}).one()

    def _stated_since(self, memory_nos: Collection[int]) -> dict[int, str]:
        """Those of some memories that other adds have stated too, which were not taken back; with the reason."""
        found: dict[int, str] = {}
        for memory_no, traces in self._other_adds(memory_nos, _STATING).items():
            for trace_id in sorted(traces):
                found[memory_no] = f"the add {trace_id} states it too"
        return found

    def _other_adds(
        self, memory_nos: Collection[int], events: Collection[Event]
    ) -> dict[int, dict[str, str]]:
        """The adds that stated some memories, this call aside, and what was taken back: trace ids, each with its
        run."""
        found: dict[int, dict[str, str]] = defaultdict(dict)
        for some in chunks(sorted(memory_nos)):
            values = {"owner": self._owner, "memories": some}
            taken_back: set[tuple[int, str | None]] = set()
            # Latest first: so what took something back is known to be taken back itself.
            for row in self._tx.execute(_BY_OTHERS, {**values, "trace": self._trace_id}):
                if (row.memory_no, row.trace_id) not in taken_back:
                    taken_back.add((row.memory_no, _undone_for(row.reason)))
            for row in self._tx.execute(_STATED_BY, {**values, "events": list(events)}):
                if row.trace_id != self._trace_id and (row.memory_no, row.trace_id) not in taken_back:
                    found[row.memory_no][row.trace_id] = row.run_id
        return found

    def _refuse_changed_since(self, done: Sequence[_Done]) -> None:
        """Raise `ChangedSinceError` where a memory is not as the call left it, or another gave way to it since."""
        for one in done:
            values = {"owner": self._owner, "memory": one.memory_no}
            row = self._tx.execute(LATEST, values).one()
            if not self._is_like(row, one.left, believed=one.believed):
                raise self._changed(one.memory_no)
        own = {one.memory_no for one in done}
        for some in chunks(sorted(one.memory_no for one in done if one.made)):
            for row in self._tx.execute(GAVE_WAY_TO, {"owner": self._owner, "successors": some}):
                if row.memory_no not in own:
                    raise self._changed(row.memory_no)

    def _is_like(self, row: AnyRow, version_no: int, *, believed: bool) -> bool:
        """Whether a version says what another said, as after an undo that was undone; and whether it is believed."""
        other = self._version(version_no)
        same = all(getattr(row, name) == getattr(other, name) for name in _SAID)
        return same and (row.tx_to is None) == believed

    def _changed(self, memory_no: int) -> ChangedSinceError:
        values = {"owner": self._owner, "memories": [memory_no], "trace": self._trace_id}
        last = next(row for row in self._tx.execute(_BY_OTHERS, values) if row.event not in _BESIDE)
        m = s.memory.c
        query = select(m.uid).where(m.owner_id == self._owner, m.no == memory_no)
        uid = self._tx.execute(query).scalar_one()
        return ChangedSinceError(uid, event=last.event, at=iso(last.at) or "", trace_id=last.trace_id)

    def _retired(self, one: _Done) -> TakenBack:
        row = self._tx.execute(OPEN, {"owner": self._owner, "memory": one.memory_no}).one()
        retire_version(self._tx, self._numbers, row, self._act)
        return TakenBack(row.uid, row.text, Event.DELETE)

    def _put_back(self, memory_no: int, version_no: int) -> TakenBack:
        """Give a memory a version like the one that the call found."""
        tx, owner_id = self._tx, self._owner
        values = {"owner": owner_id, "memory": memory_no}
        like, now = self._version(version_no), tx.execute(LATEST, values).one()
        at = self._act.at
        claim_key(tx, owner_id, memory_no, like.kind, key_at(like, memory_no, at), at)
        if like.kind == Kind.FACT and like.text != now.text:
            replace_claims(tx, owner_id, memory_no, self._claims_of(like.text))
        replace_version(tx, self._numbers, now, {}, None, Event.RESTORE, self._act, like=like)
        if now.tx_to is not None:
            tombstones.retell(tx, owner_id, [memory_no])
        return TakenBack(like.uid, like.text, Event.RESTORE)

    def _part(self, memory_nos: Sequence[int]) -> None:
        """Part what comes back, as what is restored, from what was said meanwhile."""
        for memory_no in memory_nos:
            part_anew(self._tx, self._numbers, memory_no, self._act, self._closes)

    def _beside(self, memory_nos: Sequence[int]) -> list[TakenBack]:
        """Of memories that the call only stated again, nothing but labels can be taken back."""
        told = []
        for memory_no in memory_nos:
            row = self._tx.execute(OPEN, {"owner": self._owner, "memory": memory_no}).first()
            if row is not None:
                change = change_row(self._owner, self._numbers, Event.NONE, self._act, memory_no)
                self._tx.execute(insert(s.change), change)
                told.append(TakenBack(row.uid, row.text, Event.NONE, "it was there before"))
        return told

    def _relabel(self) -> None:
        """The memories that the add repeated or refined which is taken back, or whose undo is, have its run's label
        where an add of that run states them."""
        add, e, c = self._first_call(), s.episode.c, s.change.c
        query = select(e.run_id).where(e.owner_id == self._owner, e.trace_id == add)
        run = self._tx.execute(query).scalar()
        if run is None:
            return
        query = select(c.memory_no, c.event).where(c.owner_id == self._owner, c.trace_id == add)
        did = self._tx.execute(query).all()
        memory_nos = {row.memory_no for row in did if row.event in _REPEATING}
        memory_nos -= {row.memory_no for row in did if row.event == Event.ADD}
        others = self._other_adds(memory_nos, (*_STATING, Event.UPDATE))
        rows = Rows()
        for memory_no in sorted(memory_nos):
            label = {"owner_id": self._owner, "memory_no": memory_no, "run_id": run}
            if run in others[memory_no].values():
                rows.memory_run.append(label)
            else:
                mine = (s.memory_run.c[name] == value for name, value in label.items())
                self._tx.execute(delete(s.memory_run).where(*mine))
        rows.write(self._tx)

    def _first_call(self) -> str:
        """The call that is taken back, or, where that is an undo, the one that it took back, and so on."""
        chain, c = [self._trace_id], s.change.c
        while True:
            query = select(c.reason).where(c.owner_id == self._owner, c.trace_id == chain[-1]).limit(1)
            undone = _undone_for(self._tx.execute(query).scalar())
            if undone is None or undone in chain:
                return chain[-1]
            chain.append(undone)


def _summed(changes: Sequence[AnyRow]) -> tuple[list[_Done], list[int]]:
    """What a call did to each memory in all; and those that it only stated again."""
    by_memory: dict[int, list[AnyRow]] = defaultdict(list)
    for row in changes:
        if row.memory_no is not None:
            by_memory[row.memory_no].append(row)
    done, repeated = [], []
    for memory_no, rows in by_memory.items():
        moved = [row for row in rows if row.event not in _BESIDE]
        if not moved:
            repeated.append(memory_no)
        elif moved[0].closed_no is not None or moved[-1].opened_no is not None:
            opened, closed = moved[-1].opened_no, moved[-1].closed_no
            made = any(row.event == Event.ADD for row in moved)
            left = closed if opened is None else opened
            done.append(_Done(memory_no, moved[0].closed_no, left, opened is not None, made))
    return done, repeated
