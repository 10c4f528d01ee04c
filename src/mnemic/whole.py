"""Everything of an owner, episode, memory or change, free of the store's own numbers.

These records are what an export writes and an import reads. They refer to each other by the ids that users see
(messages, memories) and by trace ids (episodes). Instants are those of `clock`; JSON fields are JSON texts.
"""

from __future__ import annotations

from dataclasses import dataclass

from .clock import Instant
from .records import Claim


@dataclass(frozen=True, slots=True)
class WholeOwner:
    """Whose the records are that follow. A missing id is ''; the tenant is that of whoever reads them."""

    created_at: Instant
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""


@dataclass(frozen=True, slots=True)
class WholeMessage:
    """One turn word for word. `parts`: the JSON of a content that came in parts."""

    id: str
    position: int
    role: str
    content: str
    said_at: Instant
    name: str | None = None
    parts: str | None = None


@dataclass(frozen=True, slots=True)
class WholeEpisode:
    """One add: its trace id, which no other episode of the owner has, and its messages by position."""

    trace_id: str
    observed_at: Instant
    created_at: Instant
    run_id: str = ""
    messages: tuple[WholeMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class WholeVersion:
    """What a memory said, and from when to when the store believed it (`tx_to` of None: it does now).

    number: 1 for the first, then without a gap. successor: the id of the memory that superseded it. vector:
    float32, little endian, in the space that the export names.
    """

    number: int
    text: str
    observed_at: Instant
    tx_from: Instant
    extractor: str
    tx_to: Instant | None = None
    metadata: str | None = None
    categories: str | None = None
    event_date: str = ""
    valid_from: Instant | None = None
    valid_from_precision: str | None = None
    valid_to: Instant | None = None
    valid_to_precision: str | None = None
    expires_on: str | None = None
    expires_at: Instant | None = None
    successor: str | None = None
    prompt: str | None = None
    model: str | None = None
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class WholeSupport:
    """The message that states a memory, and the characters [start, end) of it that do."""

    message: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WholeMemory:
    """A memory with all its versions.

    episode: the trace id of the one that it first came from; position: its place there. live: whether it holds
    its words, so that no other memory of its owner and kind may say the same; never so without a believed
    version, nor once superseded. runs: its labels, '' for an add outside of any run.
    """

    id: str
    kind: str
    created_at: Instant
    episode: str
    position: int
    live: bool
    versions: tuple[WholeVersion, ...]
    runs: tuple[str, ...] = ()
    role: str | None = None
    actor_id: str | None = None
    attributed_to: str | None = None
    support: tuple[WholeSupport, ...] = ()
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class WholeChange:
    """What happened to a memory, or (`memory` of None) to its owner; by whom and why.

    opened, closed: the numbers of the memory's versions that it opened and closed.
    """

    at: Instant
    event: str
    trace_id: str
    memory: str | None = None
    opened: int | None = None
    closed: int | None = None
    actor: str | None = None
    reason: str | None = None
