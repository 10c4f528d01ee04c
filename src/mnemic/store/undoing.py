"""Taking back what one call did, as new versions: nothing of what was done is removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, and_, bindparam, delete, exists, insert, or_, select

from ..clock import iso
from ..errors import ChangedSinceError, NotFoundError, ValidationError
from ..records import RELOADING, Act, Claim, Event, Kind, TakenBack
from ..scope import Scope
from . import schema as s
from . import tombstones
from .owners import Numbers, fits, lock_owner
from .rows import change_row
from .schema import AnyRow, chunks
from .versions import (
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

_AS_VERSION = select(s.version, s.memory.c.uid, s.memory.c.kind).join_from(
    s.version,
    s.memory,
    and_(s.memory.c.owner_id == s.version.c.owner_id, s.memory.c.no == s.version.c.memory_no),
)
_VERSION = _AS_VERSION.where(
    s.version.c.owner_id == bindparam("owner"), s.version.c.no == bindparam("version")
)
_GAVE_WAY_TO = _AS_VERSION.where(
    s.version.c.owner_id == bindparam("owner"),
    s.version.c.successor_no.in_(bindparam("memories", expanding=True)),
    s.version.c.tx_to.is_(None),
)
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
_own_message = s.message.alias("own_message")
_any_message = s.message.alias("any_message")
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
        s.change.c.event.in_((Event.ADD, Event.NONE)),
        or_(
            exists()
            .where(
                s.support.c.owner_id == s.change.c.owner_id,
                s.support.c.memory_no == s.change.c.memory_no,
                _own_message.c.owner_id == s.support.c.owner_id,
                _own_message.c.no == s.support.c.message_no,
                _own_message.c.episode_no == s.episode.c.no,
            )
            .is_(True),
            exists()
            .where(
                _any_message.c.owner_id == s.episode.c.owner_id,
                _any_message.c.episode_no == s.episode.c.no,
            )
            .is_(False),
        ),
    )
)


@dataclass(frozen=True, slots=True)
class _Done:
    """What the call did to a memory: the version that it closed first (None where none was believed), and the one
    that it left open (None where it deleted it). made: whether it made the memory."""

    memory_no: int
    found: int | None
    left: int | None
    made: bool


def undo(tx: Connection, scope: Scope, trace_id: str, act: Act, claims_of: ClaimsOf) -> list[TakenBack]:
    """Put back all that the call with a trace id did to the memories of a scope, and tell of each.

    What it added is retired; what it changed, ended or deleted gets a new version, as it was before. A memory that
    another add has stated since stays, and what gave way to it stays ended. Messages stay: they were said.

    Raises `NotFoundError` where nothing was done under the trace id, `ChangedSinceError` where a memory was changed
    since, `DuplicateError` where what comes back is live under another memory by now, `ValidationError` for what
    cannot be taken back.
    """
    done = _done_by(tx, scope, trace_id)
    if not done:
        raise NotFoundError(f"Nothing was done under the trace id {trace_id}.")
    why = _undoing(trace_id)
    act = replace(act, reason=why if act.reason is None else f"{why}; {act.reason}")
    told: list[TakenBack] = []
    for owner_id in sorted(done):
        numbers = Numbers(lock_owner(tx, scope.tenant, owner_id))
        call = _Call(tx, numbers, trace_id, not_before(tx, owner_id, act), claims_of)
        told += call.undo(done[owner_id])
        numbers.save(tx)
    return told


def _undoing(trace_id: str) -> str:
    """The reason that taking back a call leaves in the history."""
    return f"undo of {trace_id}"


def _done_by(tx: Connection, scope: Scope, trace_id: str) -> dict[int, list[AnyRow]]:
    """The changes of a call, by owner, in order."""
    c, o, e = s.change.c, s.owner.c, s.episode.c
    run = select(e.run_id).where(e.owner_id == c.owner_id, e.trace_id == c.trace_id).limit(1)
    columns = {
        "user_id": o.user_id,
        "agent_id": o.agent_id,
        "app_id": o.app_id,
        "run_id": run.scalar_subquery(),
    }
    query = (
        select(s.change)
        .select_from(s.change.join(s.owner, o.id == c.owner_id))
        .where(c.trace_id == trace_id, o.tenant == scope.tenant, fits(scope, columns))
        .order_by(c.owner_id, c.seq)
    )
    found: dict[int, list[AnyRow]] = defaultdict(list)
    for row in tx.execute(query):
        if row.event in RELOADING:
            raise ValidationError(f"{row.event} is for good: it cannot be taken back.")
        found[row.owner_id].append(row)
    return found


class _Call:
    """One call of one owner, being taken back."""

    def __init__(
        self, tx: Connection, numbers: Numbers, trace_id: str, act: Act, claims_of: ClaimsOf
    ) -> None:
        self._tx = tx
        self._numbers = numbers
        self._owner = numbers.state.id
        self._trace_id = trace_id
        self._act = act
        self._claims_of = claims_of

    def undo(self, changes: Sequence[AnyRow]) -> list[TakenBack]:
        done, repeated = _summed(changes)
        lefts = {one.memory_no: self._version(one.left) for one in done if one.left is not None}
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
        told += [TakenBack(lefts[no].uid, lefts[no].text, Event.NONE, why) for no, why in kept.items()]
        return told + self._unlabelled(repeated)

    def _version(self, version_no: int) -> AnyRow:
        return self._tx.execute(_VERSION, {"owner": self._owner, "version": version_no}).one()

    def _stated_since(self, memory_nos: Collection[int]) -> dict[int, str]:
        """Those of some memories that other adds have stated too, which were not taken back; with the reason."""
        found: dict[int, str] = {}
        for memory_no, traces in self._other_adds(memory_nos).items():
            for trace_id in sorted(traces):
                found[memory_no] = f"the add {trace_id} states it too"
        return found

    def _other_adds(self, memory_nos: Collection[int]) -> dict[int, dict[str, str]]:
        """The adds that stated some memories, this call aside, and what was taken back: trace ids, each with its
        run."""
        found: dict[int, dict[str, str]] = defaultdict(dict)
        for some in chunks(sorted(memory_nos)):
            values = {"owner": self._owner, "memories": some, "trace": self._trace_id}
            taken_back = {
                (row.memory_no, row.reason.partition(";")[0])
                for row in self._tx.execute(_BY_OTHERS, values)
                if row.reason is not None
            }
            for row in self._tx.execute(_STATED_BY, {"owner": self._owner, "memories": some}):
                undone = (row.memory_no, _undoing(row.trace_id)) in taken_back
                if row.trace_id != self._trace_id and not undone:
                    found[row.memory_no][row.trace_id] = row.run_id
        return found

    def _refuse_changed_since(self, done: Sequence[_Done]) -> None:
        """Raise `ChangedSinceError` where a memory is not as the call left it, or another gave way to it since."""
        for one in done:
            values = {"owner": self._owner, "memory": one.memory_no}
            row = self._tx.execute(OPEN if one.left is not None else LATEST, values).first()
            as_left = one.found if one.left is None else one.left
            if row is None or as_left is None or not self._is_like(row, as_left, closed=one.left is None):
                raise self._changed(one.memory_no)
        own = {one.memory_no for one in done}
        for some in chunks(sorted(one.memory_no for one in done if one.found is None)):
            for row in self._tx.execute(_GAVE_WAY_TO, {"owner": self._owner, "memories": some}):
                if row.memory_no not in own:
                    raise self._changed(row.memory_no)

    def _is_like(self, row: AnyRow, version_no: int, *, closed: bool) -> bool:
        """Whether a version says what another said, as after an undo that was undone; and whether it is closed."""
        other = self._version(version_no)
        same = all(getattr(row, name) == getattr(other, name) for name in _SAID)
        return same and (row.tx_to is not None) == closed

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

    def _unlabelled(self, repeated: Sequence[int]) -> list[TakenBack]:
        """Memories that the call only stated again: they lose its run's label, where no other add of it states
        them."""
        if not repeated:
            return []
        e = s.episode.c
        query = select(e.run_id).where(e.owner_id == self._owner, e.trace_id == self._trace_id)
        run = self._tx.execute(query).scalar()
        others, told = self._other_adds(repeated), []
        for memory_no in repeated:
            row = self._tx.execute(OPEN, {"owner": self._owner, "memory": memory_no}).first()
            if row is None:
                continue
            if run is not None and run not in others[memory_no].values():
                label = s.memory_run.c
                mine = and_(label.owner_id == self._owner, label.memory_no == memory_no, label.run_id == run)
                self._tx.execute(delete(s.memory_run).where(mine))
            change = change_row(self._owner, self._numbers, Event.NONE, self._act, memory_no)
            self._tx.execute(insert(s.change), change)
            told.append(TakenBack(row.uid, row.text, Event.NONE, "it was there before"))
        return told


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
            made = any(row.event == Event.ADD for row in moved)
            done.append(_Done(memory_no, moved[0].closed_no, moved[-1].opened_no, made))
    return done, repeated
