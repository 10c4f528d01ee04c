"""What was found in a mem0 store, in neutral records: neither mem0's layout nor mnemic's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...clock import Instant
from ...records import Kind


@dataclass(frozen=True, slots=True)
class PastEvent:
    """A line of mem0's history: what an event made of a memory's text, and when, where that was kept."""

    event: str
    old_text: str | None
    new_text: str | None
    at: Instant | None
    created_at: Instant | None
    actor_id: str | None
    role: str | None


@dataclass(frozen=True, slots=True)
class LeftMemory:
    """A memory as mem0 has it, or had it before it was deleted; ids are clean, None for none.

    `history` is in the order in which it was written; it may have gaps.
    """

    id: str
    text: str
    kind: Kind
    created_at: Instant
    updated_at: Instant
    metadata: Mapping[str, Any] | None = None
    categories: tuple[str, ...] | None = None
    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    role: str | None = None
    attributed_to: str | None = None
    expires_on: str | None = None
    history: tuple[PastEvent, ...] = ()
    deleted: bool = False

    @property
    def has_owner(self) -> bool:
        """Whether it is told whose it is."""
        return any((self.user_id, self.agent_id, self.app_id, self.run_id))


@dataclass(frozen=True, slots=True)
class LeftMessage:
    """A message of those that mem0 2.x buffers, ten at most for each scope."""

    id: str
    role: str
    name: str | None
    content: str
    said_at: Instant
    user_id: str | None
    agent_id: str | None
    run_id: str | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that cannot be kept, and why. `what`: "memory", "deleted memory", "message", "entity", "row"."""

    what: str
    reason: str
    id: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about a memory that is kept which its owner should know."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Left:
    """All that was found at a place. `files` are those that were read."""

    files: tuple[str, ...]
    memories: tuple[LeftMemory, ...]
    messages: tuple[LeftMessage, ...]
    left_out: tuple[LeftOut, ...]
    remarks: tuple[Remark, ...]
