"""What happened to one memory, step by step, as far as mem0 noted it. Pure.

mem0's history has gaps (a change of ids is not noted, a crash loses a line) and not always an order. The text in
the vector store is the truth for the present; the history tells the past.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...clock import Instant
from ...records import Event
from .records import LeftMemory, PastEvent

GAP = "mem0's history does not tell when its text became this"
UNNOTED = "mem0 changed it without a line in its history"
STILL_THERE = "its history says that it was deleted, but it is there"
OTHER_TEXT = "its text is not the last one of its history"
_PLACE = {Event.ADD.value: 0, Event.DELETE.value: 2}


@dataclass(frozen=True, slots=True)
class Step:
    """A change of a memory: its text from then on (None once deleted), and why, where mem0 does not say."""

    event: Event
    at: Instant
    text: str | None
    reason: str | None = None


@dataclass(slots=True)
class _Steps:
    """The steps so far. Time does not go back, whatever the history says."""

    found: list[Step]

    @property
    def text(self) -> str | None:
        return self.found[-1].text if self.found else None

    def add(self, event: Event, at: Instant, text: str | None, reason: str | None = None) -> None:
        last = self.found[-1].at if self.found else at
        self.found.append(Step(event, max(at, last), text, reason))


def replay(memory: LeftMemory) -> tuple[list[Step], list[str]]:
    """The steps of a memory, the first an ADD when it was made, and what of its history did not fit.

    The last step leaves it with its present text, or is the DELETE of a deleted one.
    """
    steps, remarks = _Steps([]), []
    for event in _in_order(memory.history):
        at = next((t for t in (event.at, event.created_at) if t is not None), memory.created_at)
        if event.event == Event.DELETE and not memory.deleted:
            remarks.append(STILL_THERE)
        elif event.event in (Event.ADD, Event.UPDATE):
            _tell(steps, memory, event, at)
        elif event.event == Event.DELETE:
            _catch_up(steps, memory, event.old_text or (None if steps.found else memory.text), at)
            steps.add(Event.DELETE, at, None)
            break
    if not memory.deleted:
        if steps.text not in (None, memory.text):
            remarks.append(OTHER_TEXT)
        _arrive(steps, memory)
    return steps.found, remarks


def _in_order(history: Iterable[PastEvent]) -> list[PastEvent]:
    """By time where that is known, else as written; an ADD first and a DELETE last at any rate."""

    def key(event: PastEvent) -> tuple[int, Instant]:
        at = event.at if event.at is not None else event.created_at
        return _PLACE.get(event.event, 1), 0 if at is None else at

    return sorted(history, key=key)


def _tell(steps: _Steps, memory: LeftMemory, event: PastEvent, at: Instant) -> None:
    _catch_up(steps, memory, event.old_text, at)
    if event.new_text is None:
        return
    if not steps.found:
        steps.add(Event.ADD, memory.created_at, event.new_text)
    elif event.event == Event.UPDATE or event.new_text != steps.text:
        steps.add(Event.UPDATE, at, event.new_text)


def _catch_up(steps: _Steps, memory: LeftMemory, text: str | None, at: Instant) -> None:
    """Bring in the text that a line says there was before, where the lines so far do not lead to it."""
    if text is None or text == steps.text:
        return
    if steps.found:
        steps.add(Event.UPDATE, at, text, GAP)
    else:
        steps.add(Event.ADD, memory.created_at, text)


def _arrive(steps: _Steps, memory: LeftMemory) -> None:
    """Lead to the present, where the history does not."""
    if not steps.found:
        steps.add(Event.ADD, memory.created_at, memory.text)
    if steps.text != memory.text or steps.found[-1].at < memory.updated_at:
        steps.add(Event.UPDATE, memory.updated_at, memory.text, UNNOTED)
