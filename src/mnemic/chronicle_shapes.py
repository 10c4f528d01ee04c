"""What the verbs that look back return: what held when, and what changed between two instants."""

from __future__ import annotations

from typing import TypedDict

from .clock import Instant, iso
from .records import Course, Difference, Held, Item, TakenBack
from .shapes import MemoryItem, cursor_of, memory_item


class TimelineItem(MemoryItem, total=False):
    """A memory, and when what it says held; `ended` is None where it has no end."""

    began: str | None
    began_precision: str | None
    ended: str | None


class TimelineResult(TypedDict, total=False):
    """What held when, oldest first: `total` with what is not shown, the cursor of the `next` page, whether any is cut.

    `notice` says why there is none.
    """

    results: list[TimelineItem]
    total: int
    next: str | None
    truncated: bool
    notice: str


class ChangedItem(TypedDict):
    """A memory that changed: as it was believed before and after, and the keys that differ."""

    id: str
    before: MemoryItem
    after: MemoryItem
    fields: list[str]


class DiffResult(TypedDict):
    """What changed in what is believed between two instants; `truncated` where there is more of any kind."""

    since: str | None
    until: str | None
    added: list[MemoryItem]
    changed: list[ChangedItem]
    ended: list[MemoryItem]
    removed: list[MemoryItem]
    restored: list[MemoryItem]
    truncated: bool


class UndoneItem(TypedDict, total=False):
    """A memory after an undo: DELETE where the call had made it, RESTORE where it is as it was before, NONE where it
    stays (`kept` says why)."""

    id: str
    memory: str
    event: str
    kept: str


class UndoResult(TypedDict):
    """What an undo did; `trace_id` is its own, by which it can be taken back in turn."""

    message: str
    undone: str
    trace_id: str
    results: list[UndoneItem]


def timeline_page(course: Course, count: int, *, paged: bool, notice: str | None) -> TimelineResult:
    """At most `count` of a course; one more than that shows that others follow, which a page has a cursor for."""
    shown = course.shown[:count]
    more = len(shown) < (len(course.shown) if paged else course.total)
    last = shown[-1][0] if more and paged and shown else None
    shape = TimelineResult(
        results=[_timeline_item(held, item) for held, item in shown],
        total=course.total,
        next=None if last is None else cursor_of(last.order),
        truncated=more,
    )
    if notice is not None:
        shape["notice"] = notice
    return shape


def _timeline_item(held: Held, item: Item) -> TimelineItem:
    return TimelineItem(
        **memory_item(item),
        began=iso(held.began),
        began_precision=held.began_precision,
        ended=iso(held.ended),
    )


def diff_result(found: Difference, since: Instant, until: Instant) -> DiffResult:
    """What changed between two instants."""
    return DiffResult(
        since=iso(since),
        until=iso(until),
        added=[memory_item(item) for item in found.added],
        changed=[
            ChangedItem(
                id=change.after.id,
                before=memory_item(change.before),
                after=memory_item(change.after),
                fields=list(change.fields),
            )
            for change in found.changed
        ],
        ended=[memory_item(item) for item in found.ended],
        removed=[memory_item(item) for item in found.removed],
        restored=[memory_item(item) for item in found.restored],
        truncated=found.truncated,
    )


def undone_item(one: TakenBack) -> UndoneItem:
    """A memory after an undo, in its shape."""
    shape = UndoneItem(id=one.uid, memory=one.text, event=one.event.value)
    if one.kept is not None:
        shape["kept"] = one.kept
    return shape
