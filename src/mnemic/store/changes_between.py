"""What changed in what the store believes, from one instant of its time to another: the net effect by memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, FromClause, and_, exists, func, or_, select

from ..clock import Instant
from ..filters import Node
from ..records import Change, Difference, Event, Item
from ..scope import Scope
from . import filter_sql
from . import schema as s
from .owners import owners_in
from .reading import items_of_versions
from .schema import AnyRow, Place, chunks

_before, _after = s.version.alias("earlier"), s.version.alias("later")
_known = s.version.alias("known")

# What of a version can differ, by the key that shows it.
_COMPARED = {
    "memory": ("text",),
    "metadata": ("metadata",),
    "categories": ("categories",),
    "event_date": ("event_date",),
    "valid_from": ("valid_from",),
    "valid_to": ("valid_to",),
    "superseded_by": ("successor_no",),
    "expiration_date": ("expires_on", "expires_at"),
}
_ENDS = ("valid_to", "superseded_by")
_CHANGING = (Event.ADD, Event.UPDATE, Event.SUPERSEDE, Event.DELETE, Event.RESTORE)
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Between:
    """What is asked for: whose memories, and the instants at which what was believed of them is compared.

    tree: what one of the two versions must meet. limit: how many are wanted of each kind.
    """

    scope: Scope
    tree: Node
    since: Instant
    until: Instant
    limit: int


def changes_between(tx: Connection, asked: Between) -> Difference:
    """What differs between the two instants, each kind in the order of the last change.

    What came and went in between is not told, nor what became as it was.
    """
    kinds: dict[str, list[_Compared]] = {
        name: [] for name in ("added", "changed", "ended", "removed", "restored")
    }
    truncated = False
    for one in _compared(tx, asked):
        for kind in one.kinds():
            if len(kinds[kind]) < asked.limit:
                kinds[kind].append(one)
            else:
                truncated = True
    items = _items(tx, [one for found in kinds.values() for one in found])
    deletions = _deletions(tx, kinds["removed"], asked.until)

    def after(kind: str) -> tuple[Item, ...]:
        return tuple(items[one.owner_id, one.after_no] for one in kinds[kind] if one.after_no is not None)

    return Difference(
        added=after("added"),
        changed=tuple(
            Change(items[one.owner_id, one.before_no], items[one.owner_id, one.after_no], one.fields)
            for one in kinds["changed"]
            if one.before_no is not None and one.after_no is not None
        ),
        ended=after("ended"),
        removed=tuple(
            _removed(items[one.owner_id, one.before_no], deletions.get(one.place))
            for one in kinds["removed"]
            if one.before_no is not None
        ),
        restored=after("restored"),
        truncated=truncated,
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """A memory with the numbers of its versions at either instant, None where it was not believed then.

    was_known: whether it was there before the first one. fields: the keys that differ. ends: whether it has got an
    end, another end, or a successor.
    """

    owner_id: int
    memory_no: int
    before_no: int | None
    after_no: int | None
    was_known: bool
    fields: tuple[str, ...]
    ends: bool

    @property
    def place(self) -> Place:
        """Where the memory lies."""
        return self.owner_id, self.memory_no

    def kinds(self) -> Iterator[str]:
        """Under which it is told: under two where it ended and also changed otherwise; none where nothing differs."""
        if self.before_no is None:
            yield "restored" if self.was_known else "added"
        elif self.after_no is None:
            yield "removed"
        else:
            if self.ends:
                yield "ended"
            if self.fields and not (self.ends and set(self.fields) <= {*_ENDS}):
                yield "changed"


def _compared(tx: Connection, asked: Between) -> Iterator[_Compared]:
    """The memories that changed between the instants, in the order of the last change."""
    c, m, mine = s.change.c, s.memory.c, owners_in(asked.scope)
    touched = (
        select(c.owner_id, c.memory_no, func.max(c.at).label("at"), func.max(c.seq).label("seq"))
        .where(
            c.owner_id.in_(mine),
            c.memory_no.is_not(None),
            c.event.in_(_CHANGING),
            c.at > asked.since,
            c.at <= asked.until,
        )
        .group_by(c.owner_id, c.memory_no)
        .subquery("touched")
    )
    known = exists().where(
        _known.c.owner_id == m.owner_id, _known.c.memory_no == m.no, _known.c.tx_from <= asked.since
    )
    query = (
        select(
            m.owner_id,
            m.no.label("memory_no"),
            _before.c.no.label("before_no"),
            _after.c.no.label("after_no"),
            known.label("was_known"),
            _after.c.valid_to.is_not(None).label("has_end"),
            _after.c.successor_no.is_not(None).label("has_heir"),
            *(_differs(columns).label(f"other_{key}") for key, columns in _COMPARED.items()),
        )
        .select_from(
            touched.join(s.memory, and_(m.owner_id == touched.c.owner_id, m.no == touched.c.memory_no))
            .outerjoin(_before, _believed_at(_before, asked.since))
            .outerjoin(_after, _believed_at(_after, asked.until))
        )
        .where(m.owner_id.in_(mine), or_(*(_meets(tx, asked.tree, version) for version in (_before, _after))))
        .order_by(touched.c.at, touched.c.owner_id, touched.c.seq)
    )
    for row in tx.execute(query, execution_options={"yield_per": _CHUNK}):
        if row.before_no != row.after_no:
            yield _one(row)


def _one(row: AnyRow) -> _Compared:
    fields = tuple(key for key in _COMPARED if getattr(row, f"other_{key}"))
    return _Compared(
        owner_id=row.owner_id,
        memory_no=row.memory_no,
        before_no=row.before_no,
        after_no=row.after_no,
        was_known=bool(row.was_known),
        fields=fields,
        ends=bool((row.has_end and "valid_to" in fields) or (row.has_heir and "superseded_by" in fields)),
    )


def _believed_at(version: FromClause, at: Instant) -> ColumnElement[bool]:
    """The version of the memory that was believed at an instant, of which there is one at most."""
    v, m = version.c, s.memory.c
    return and_(v.owner_id == m.owner_id, v.memory_no == m.no, s.believed(at, version))


def _meets(tx: Connection, tree: Node, version: FromClause) -> ColumnElement[bool]:
    return and_(version.c.no.is_not(None), filter_sql.condition(tree, tx.dialect.name, version=version))


def _differs(columns: Sequence[str]) -> ColumnElement[bool]:
    return or_(*(_before.c[name].is_distinct_from(_after.c[name]) for name in columns))


def _items(tx: Connection, found: Sequence[_Compared]) -> dict[tuple[int, int | None], Item]:
    """The items of all versions, by owner and number."""
    by_owner: dict[int, set[int]] = defaultdict(set)
    for one in found:
        by_owner[one.owner_id] |= {no for no in (one.before_no, one.after_no) if no is not None}
    return {
        (owner_id, no): item
        for owner_id, version_nos in by_owner.items()
        for no, item in items_of_versions(tx, owner_id, sorted(version_nos)).items()
    }


def _deletions(tx: Connection, found: Sequence[_Compared], until: Instant) -> dict[Place, AnyRow]:
    """The last deletion of each memory up to an instant."""
    c = s.change.c
    by_owner: dict[int, list[int]] = defaultdict(list)
    for one in found:
        by_owner[one.owner_id].append(one.memory_no)
    last: dict[Place, AnyRow] = {}
    for owner_id, memory_nos in by_owner.items():
        for some in chunks(memory_nos):
            query = select(c.memory_no, c.at, c.actor, c.reason).where(
                c.owner_id == owner_id, c.memory_no.in_(some), c.event == Event.DELETE, c.at <= until
            )
            last.update({(owner_id, row.memory_no): row for row in tx.execute(query.order_by(c.seq))})
    return last


def _removed(item: Item, deletion: AnyRow | None) -> Item:
    if deletion is None:
        return item
    told = {"deleted_at": deletion.at, "deleted_by": deletion.actor, "deleted_reason": deletion.reason}
    return replace(item, **told)
