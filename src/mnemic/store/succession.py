"""Which memories give way to which, from when on: the rules of `timeline` applied to the rows of an owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from .. import timeline
from ..clock import Instant
from ..records import Act, Claim, Event, Validity
from ..timeline import Edge, Statement
from . import schema as s
from .owners import Numbers
from .schema import AnyRow
from .versions import GAVE_WAY_TO, LATEST, OPEN, claim_key, end_version, key_of, replace_version

# Whether a statement that makes the first claims ends one that made the second.
Closes = Callable[[Sequence[Claim], Sequence[Claim]], bool]

# What the believed memories of an owner claim of some attributes, in the order in which they were said.
_CLAIMED = (
    select(s.claim, s.version.c.observed_at, s.memory.c.uid)
    .join_from(
        s.claim,
        s.version,
        (s.version.c.owner_id == s.claim.c.owner_id)
        & (s.version.c.memory_no == s.claim.c.memory_no)
        & s.version.c.tx_to.is_(None),
    )
    .join(s.memory, (s.memory.c.owner_id == s.claim.c.owner_id) & (s.memory.c.no == s.claim.c.memory_no))
    .where(
        s.claim.c.owner_id == bindparam("owner"),
        s.claim.c.attribute.in_(bindparam("attributes", expanding=True)),
    )
    .order_by(s.version.c.observed_at, s.claim.c.memory_no)
)


class _Claimed(NamedTuple):
    """What a memory claims, and its place in the order in which things were said."""

    observed_at: Instant
    memory_no: int
    uid: str
    claims: list[Claim]

    @property
    def said(self) -> tuple[Instant, int]:
        return self.observed_at, self.memory_no


def statement(row: AnyRow) -> Statement:
    """A version as a statement on the line of time."""
    begin = timeline.since(row.valid_from, row.observed_at)
    end = None if row.valid_to is None else Edge(row.valid_to, row.valid_to_precision)
    return Statement(row.observed_at, Edge(begin, row.valid_from_precision), end, row.successor_no)


def part_anew(tx: Connection, numbers: Numbers, memory_no: int, act: Act, closes: Closes) -> None:
    """Part a memory that comes back from what was said meanwhile."""
    owner_id, c = numbers.state.id, s.claim.c
    query = select(c.attribute).where(c.owner_id == owner_id, c.memory_no == memory_no).distinct()
    attributes = tx.execute(query).scalars().all()
    part_by_claims(tx, numbers, memory_no, attributes, act, closes)


def part_by_claims(
    tx: Connection,
    numbers: Numbers,
    memory_no: int,
    attributes: Collection[str],
    act: Act,
    closes: Closes,
    *,
    others: Callable[[int], bool] = lambda _: True,
) -> list[str]:
    """Part a memory from the owner's others that its claims end, or whose claims end it, whichever was said later.

    attributes: those that it speaks of. others: which memories, by number, are looked at. Returns the ids of those
    that gave way to it.
    """
    if not attributes:
        return []
    found = {one.memory_no: one for one in _claimed(tx, numbers.state.id, attributes)}
    own = found.get(memory_no)
    ended: list[str] = []
    if own is None:
        return ended
    for other in found.values():
        if other is own or not others(other.memory_no):
            continue
        is_later = other.said < own.said
        if closes(own.claims, other.claims) if is_later else closes(other.claims, own.claims):
            pair = (other.memory_no, memory_no) if is_later else (memory_no, other.memory_no)
            ended += [uid for uid in part(tx, numbers, *pair, act) if uid != own.uid]
    return ended


def part(tx: Connection, numbers: Numbers, earlier_no: int, later_no: int, act: Act) -> list[str]:
    """Part two memories that exclude one another, and return the ids of those whose time became shorter.

    later_no: the one that was said after the other. Nothing happens where one of them is not believed.
    """
    rows = [_open(tx, numbers, no) for no in (earlier_no, later_no)]
    if rows[0] is None or rows[1] is None:
        return []
    parted = timeline.part(statement(rows[0]), statement(rows[1]), earlier_no, later_no)
    changed = zip(rows, parted, strict=True)
    return [row.uid for row, now in changed if row is not None and _put(tx, numbers, row, now, act)]


def replace_by(
    tx: Connection, numbers: Numbers, old: AnyRow, new_no: int, told: Statement, act: Act
) -> str | None:
    """Let a memory give way to another that was said to take its place.

    told: how the other was told this time; a memory that was kept before stays as it is otherwise. Where the old one
    had given way already, its successor comes in between, or takes the place of what held by then. One that was said
    later than its successor stays: it is the successor that arrived late, and is filed as past. Returns the id of the
    memory that gave way, None where none did.
    """
    new = _open(tx, numbers, new_no)
    if new is None:
        return None
    if old.observed_at <= told.said_at:
        old = _holding(tx, numbers, old, new_no, told.begin.at)
    if old.observed_at > told.said_at:
        # Not so where the successor was said later too: it is a memory that was kept already.
        if new.observed_at < old.observed_at:
            part(tx, numbers, new_no, old.memory_no, act)
        return None
    before = statement(old)
    parted = timeline.part(before, told, old.memory_no, new_no)
    if new.observed_at == told.said_at:
        _put(tx, numbers, new, timeline.inserted(before, parted.later, new_no), act)
    return old.uid if _put(tx, numbers, old, parted.earlier, act) else None


def _holding(tx: Connection, numbers: Numbers, row: AnyRow, new_no: int, at: Instant) -> AnyRow:
    """The memory of a chain, from one on, that holds at an instant: what took the place of what had ended by then."""
    seen = {new_no}
    while not statement(row).holds_at(at) and row.successor_no is not None:
        seen.add(row.memory_no)
        heir = None if row.successor_no in seen else _open(tx, numbers, row.successor_no)
        if heir is None or statement(heir).begin.at >= at:
            break
        row = heir
    return row


def as_corrected(validity: Validity, said_at: Instant, wrong: AnyRow) -> Validity:
    """When what corrects a memory holds: as long as that was thought to hold, as far as nobody told."""
    begin = Edge(timeline.since(validity.start, said_at), validity.start_precision)
    end = None if validity.end is None else Edge(validity.end, validity.end_precision)
    old = replace(statement(wrong), heir=None)
    new = timeline.corrected(old, Statement(said_at, begin, end), validity.start is not None)
    if new.begin != begin:
        validity = replace(validity, start=new.begin.at, start_precision=new.begin.precision)
    if new.end is not None and wrong.successor_no is None:
        validity = replace(validity, end=new.end.at, end_precision=new.end.precision)
    return validity


def put_right(tx: Connection, numbers: Numbers, wrong: AnyRow, right_no: int, act: Act) -> None:
    """Let a memory stand where one stood that was wrong (and is retired): what had given way to that one gives way
    to it, and it gives way to what that one had given way to."""
    right = _open(tx, numbers, right_no)
    if right is None:
        return
    if right.successor_no == wrong.memory_no:
        _put_on(tx, numbers, right, timeline.kept_on(statement(right), statement(wrong)), act)
    elif wrong.successor_no not in (None, right_no):
        _put(tx, numbers, right, timeline.corrected(statement(wrong), statement(right), True), act)
        _file_later(tx, numbers, wrong, right, act)
    before = tx.execute(GAVE_WAY_TO, {"owner": numbers.state.id, "successors": [wrong.memory_no]}).all()
    for row in before:
        if row.memory_no != right_no:
            now = timeline.relinked(statement(row), statement(wrong), statement(right), right_no)
            _put(tx, numbers, row, now, act)


def _file_later(tx: Connection, numbers: Numbers, wrong: AnyRow, right: AnyRow, act: Act) -> None:
    """Let what is right, where it begins only after what was wrong had given way, take the place of what came then."""
    following = _open(tx, numbers, wrong.successor_no)
    if following is not None and statement(following).begin.at <= statement(right).begin.at:
        replace_by(tx, numbers, following, right.memory_no, statement(right), act)


def _open(tx: Connection, numbers: Numbers, memory_no: int) -> AnyRow | None:
    return tx.execute(OPEN, {"owner": numbers.state.id, "memory": memory_no}).first()


def _put(tx: Connection, numbers: Numbers, row: AnyRow, now: Statement, act: Act) -> bool:
    """Give a memory the end that it has by now, and tell whether that is another than before."""
    if now.end is None or now == statement(row):
        return False
    if (
        now.heir is not None
        and now.heir != row.successor_no
        and _leads_to(tx, numbers, now.heir, row.memory_no)
    ):
        return False  # It comes later in the chain already, of which the beginning must not be its end.
    end_version(tx, numbers, row, now.end.at, now.end.precision, now.heir, act)
    return True


def _put_on(tx: Connection, numbers: Numbers, row: AnyRow, now: Statement, act: Act) -> None:
    """Give a memory that had given way the end that it has by now, or none."""
    if now.end is not None:
        _put(tx, numbers, row, now, act)
        return
    owner_id, key = numbers.state.id, key_of(row.text, row.event_date, row.memory_no, None)
    claim_key(tx, owner_id, row.memory_no, row.kind, key, act.at)
    fields = {"valid_to": None, "valid_to_precision": None, "successor_no": None}
    replace_version(tx, numbers, row, fields, None, Event.UPDATE, act)


def _leads_to(tx: Connection, numbers: Numbers, first_no: int, memory_no: int) -> bool:
    """Whether a chain leads from one memory to another, by what was last believed of each."""
    seen: set[int] = set()
    found: int | None = first_no
    while found is not None and found not in seen:
        if found == memory_no:
            return True
        seen.add(found)
        row = tx.execute(LATEST, {"owner": numbers.state.id, "memory": found}).first()
        found = None if row is None else row.successor_no
    return False


def _claimed(tx: Connection, owner_id: int, attributes: Collection[str]) -> list[_Claimed]:
    """What the owner's memories claim of some attributes, in the order in which they were said."""
    found: dict[int, _Claimed] = {}
    for row in tx.execute(_CLAIMED, {"owner": owner_id, "attributes": sorted(attributes)}):
        one = found.setdefault(row.memory_no, _Claimed(row.observed_at, row.memory_no, row.uid, []))
        one.claims.append(Claim(row.attribute, row.value, row.holds, row.changes))
    return list(found.values())
