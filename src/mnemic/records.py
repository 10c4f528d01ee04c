"""The records that travel between rooms: frozen, typed, free of behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, NamedTuple

from .clock import Instant


class Kind(StrEnum):
    """What a memory is."""

    FACT = "fact"
    MESSAGE = "message"
    PROCEDURE = "procedure"


class Event(StrEnum):
    """What a change did.

    `NONE` is a repeat that added support or a run label; `EPISODE` stored messages; `REPAIR` made index rows anew.
    """

    ADD = "ADD"
    UPDATE = "UPDATE"
    SUPERSEDE = "SUPERSEDE"
    DELETE = "DELETE"
    RESTORE = "RESTORE"
    NONE = "NONE"
    EPISODE = "EPISODE"
    PURGE = "PURGE"
    REPAIR = "REPAIR"


# Events after which rows that an index holds may be other ones, or gone: it has to be loaded anew.
RELOADING = (Event.PURGE, Event.REPAIR)


class How(StrEnum):
    """How a new fact meets a memory that is kept.

    `CHANGES`: that was true until now. `CORRECTS`: that was wrong. `REFINES`: that says the same with less.
    `REPEATS`: that says it already. `ENDS`: that is no longer true, and nothing follows. `FORGETS`: its user wants
    it forgotten. The classic editor's: `CONTRADICTS`, that is wrong by now; `KEEPS`, nothing is to be
    done about that, which gains the run's label.
    """

    CHANGES = "changes"
    CORRECTS = "corrects"
    REFINES = "refines"
    REPEATS = "repeats"
    ENDS = "ends"
    FORGETS = "forgets"
    CONTRADICTS = "contradicts"
    KEEPS = "keeps"


# What does only this to memories is none itself.
ONLY_TOUCHING = frozenset({How.ENDS, How.FORGETS, How.CONTRADICTS, How.KEEPS})


class OnConflict(StrEnum):
    """What becomes of a memory of an import whose id the store has already."""

    FAIL = "fail"
    SKIP = "skip"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose rows these are. A missing id is ''."""

    tenant: str
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""


@dataclass(frozen=True, slots=True)
class OwnerState:
    """An owner as the store knows it: its number and how far its change sequence has come."""

    id: int
    seq: int
    owner: Owner


@dataclass(frozen=True, slots=True)
class Message:
    """One verbatim turn on its way in. `said_at` is the message's own instant, if one was given.

    `offset`: minutes east of UTC in which that was told, if it was.
    """

    role: str
    content: str
    name: str | None = None
    parts: str | None = None
    said_at: Instant | None = None
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of message number `message` of the same call (0-based)."""

    message: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Buried:
    """Words of a call's message that state a memory which was deleted: they are not to be extracted again."""

    uid: str
    span: Span


@dataclass(frozen=True, slots=True)
class Validity:
    """When a statement holds in the world: [start, end), open where None, and how exactly each was told."""

    start: Instant | None = None
    start_precision: str | None = None
    end: Instant | None = None
    end_precision: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """Everything of a version that a user can set. JSON fields are canonical JSON texts."""

    text: str
    metadata: str | None = None
    categories: str | None = None
    event_date: str = ""
    validity: Validity = field(default_factory=Validity)
    expires_on: str | None = None
    expires_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a memory came from; never changed afterwards."""

    role: str | None = None
    actor_id: str | None = None
    attributed_to: str | None = None
    extractor: str = "verbatim"
    prompt: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """Something a speaker says of themselves, in a form that can be compared.

    attribute: a short stable name: "residence", "employer", "phone", "is", "has", "habit:drink", "my:manager".
    value: what it is, case-folded, without articles and time words; '' where the attribute says all.
    holds: false where it is denied or has ended. changes: whether the words tell a change ("now", "no longer").
    """

    attribute: str
    value: str
    holds: bool = True
    changes: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a new fact meets a memory: its id, and the number of the version that the model was shown; None where the
    caller says so, of whatever version there is."""

    how: How
    uid: str
    version: int | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """A memory about to be stored: its content, its sources in this call, and what it claims.

    `said_at` is when it was said, where that differs from the episode's instant. `meets`: how a model said that
    it meets older memories; where that is None, its `claims` decide which of them it ends. `unreconciled`: other
    memories changed while the model decided, and again while it decided once more.
    """

    kind: Kind
    content: Content
    provenance: Provenance
    spans: tuple[Span, ...] = ()
    position: int = 0
    said_at: Instant | None = None
    claims: tuple[Claim, ...] = ()
    meets: tuple[Meeting, ...] | None = None
    unreconciled: bool = False

    @property
    def only_touches(self) -> bool:
        """Whether it only does something to memories, and becomes none."""
        return bool(self.meets) and all(one.how in ONLY_TOUCHING for one in self.meets or ())


class Unset(Enum):
    """Marks an argument that was not given where None means something."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Revision:
    """A change to a memory: what is not given stays as it is.

    `metadata` is merged at its top level unless `replace_metadata`; `expires_on`/`expires_at` of None clear.
    `expected_version`: the version that must be the believed one.
    """

    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    replace_metadata: bool = False
    expires: tuple[str | None, Instant | None] | Unset = UNSET
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Embeddings:
    """What became of texts: for each its float32 bytes, or None where the embedder failed (`failed` says why).

    `rows` and `space_id` are None without an embedder.
    """

    rows: tuple[bytes | None, ...] | None = None
    space_id: int | None = None
    failed: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model was shown of an owner.

    owner_id: its number; None where it had nothing yet. since: how far it had come when the first of that was read,
    after which nothing may have been purged. seq: when its memories were read, after which none may have changed;
    None where that does not matter.
    """

    owner_id: int | None
    since: int
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One add, ready to be written.

    `vectors` has one row of float32 bytes per proposal, None for those that only touch others, and lies in the
    space `space_id`; both are None without an embedder. `buried` becomes further support of memories that
    stay deleted. `seen`: what a model was shown; None if none was asked.
    """

    owner: Owner
    run_id: str
    observed_at: Instant
    messages: tuple[Message, ...]
    proposals: tuple[Proposal, ...]
    vectors: tuple[bytes | None, ...] | None = None
    space_id: int | None = None
    buried: tuple[Buried, ...] = ()
    seen: Seen | None = None


@dataclass(frozen=True, slots=True)
class BatchTerms:
    """The packed terms of a batch, one entry per message and per proposal."""

    messages: tuple[bytes, ...]
    proposals: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """The index rows of a text: packed terms, and its float32 vector in a space where there is an embedder."""

    terms: bytes
    vector: bytes | None = None
    space_id: int | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """Who does something, why, and under which trace."""

    trace_id: str
    at: Instant
    actor: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Background:
    """What an embedder's cosines between a query and a passage are worth.

    mean: the two have nothing to do with each other, on average. high: their 99th percentile: noise reaches
    no further. same: the passage answers the question, on average. own: the query is the passage's own text,
    on average.
    """

    mean: float
    high: float
    same: float
    own: float


@dataclass(frozen=True, slots=True)
class Space:
    """The embedding model whose vectors the store searches."""

    id: int
    name: str
    dims: int
    background: Background


class IndexRow(NamedTuple):
    """What a ScopeIndex holds of one believed version."""

    memory_no: int
    version_no: int
    uid: str
    kind: str
    episode_no: int
    position: int
    role: str | None
    actor_id: str | None
    attributed_to: str | None
    created_at: Instant
    updated_at: Instant
    observed_at: Instant
    valid_from: Instant | None
    valid_to: Instant | None
    expires_at: Instant | None
    expires_on: str | None
    metadata: str | None
    categories: str | None
    terms: bytes
    vector: bytes | None
    successor_no: int | None = None
    event_date: str = ""


class MessageRow(NamedTuple):
    """A message that is no memory: it has terms and a place in its episode, and lends lift."""

    message_no: int
    episode_no: int
    position: int
    terms: bytes


class RunRow(NamedTuple):
    """A run label of a memory."""

    memory_no: int
    run_id: str


@dataclass(frozen=True, slots=True)
class Source:
    """The messages that state a memory, and the words of the first one that do."""

    message_ids: tuple[str, ...]
    quote: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """A memory as handed out; `place` orders it among all memories of a scope."""

    id: str
    memory: str
    kind: str
    owner: Owner
    runs: tuple[str, ...]
    metadata: Mapping[str, Any] | None
    categories: tuple[str, ...] | None
    role: str | None
    actor_id: str | None
    attributed_to: str | None
    created_at: Instant
    updated_at: Instant
    version: int
    observed_at: Instant
    valid_from: Instant | None
    valid_to: Instant | None
    expiration_date: str | None
    superseded_by: str | None
    source: Source | None
    place: tuple[Instant, int, int]
    deleted_at: Instant | None = None
    deleted_by: str | None = None
    deleted_reason: str | None = None
    event_date: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """When what a version says held in the world: [began, ended), open where None.

    began_precision: how exactly the beginning was told (year, month, day, instant); None where only the time of
    saying is known.
    """

    owner_id: int
    memory_no: int
    version_no: int
    began: Instant
    began_precision: str | None
    ended: Instant | None

    @property
    def order(self) -> tuple[Instant, int, int]:
        """Where it stands among all that held: by its beginning, then as the memories came."""
        return self.began, self.owner_id, self.memory_no


@dataclass(frozen=True, slots=True)
class Course:
    """What held when, oldest first, with its memory; `total` counts what is not shown too."""

    shown: tuple[tuple[Held, Item], ...]
    total: int


@dataclass(frozen=True, slots=True)
class Change:
    """A memory as it was believed at one instant and at a later one, and the keys of an item that differ."""

    before: Item
    after: Item
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed in what is believed between two instants, memory by memory.

    added, ended, restored: as believed at the later one; removed: as at the earlier, with who deleted it and why.
    truncated: whether there are more of any kind.
    """

    added: tuple[Item, ...]
    changed: tuple[Change, ...]
    ended: tuple[Item, ...]
    removed: tuple[Item, ...]
    restored: tuple[Item, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One change: a line of a memory's history, and of the log.

    What tells of the memory is None where the change is none of one memory. `place` orders it among all changes
    of a scope: (at, owner, seq).
    """

    memory_id: str | None
    old_memory: str | None
    new_memory: str | None
    event: str
    at: Instant
    created_at: Instant | None
    actor_id: str | None
    role: str | None
    old_metadata: Mapping[str, Any] | None
    new_metadata: Mapping[str, Any] | None
    actor: str | None
    reason: str | None
    trace_id: str
    owner: Owner
    place: tuple[Instant, int, int]


@dataclass(frozen=True, slots=True)
class Stated:
    """A version that holds some text: where it lies, since when it was believed, and, if it is no longer, what
    ended it."""

    uid: str
    owner_id: int
    version_no: int
    text: str
    valid_to: Instant | None
    expires_at: Instant | None
    superseded_by: str | None
    opened_at: Instant
    closed_at: Instant | None
    closed_by_event: str | None
    closed_by: str | None
    closed_because: str | None


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of words that a message holds and no memory states; `uid`: the memory that they went into."""

    detail: str
    uid: str | None = None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as handed out; `place` orders it among all messages of a scope.

    `deleted_spans`: the characters [start, end) that state deleted memories.
    """

    id: str
    owner: Owner
    run_id: str
    trace_id: str
    position: int
    role: str
    name: str | None
    content: str
    said_at: Instant
    place: tuple[Instant, int, int]
    deleted_spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an add did to one memory: its event, and the number of the proposal that did it.

    supersedes, corrects: the memories that it ended, and that it took back. previous: the text before an UPDATE.
    """

    uid: str
    text: str
    event: Event
    supersedes: tuple[str, ...] = ()
    number: int = 0
    corrects: tuple[str, ...] = ()
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A memory after a call was taken back: DELETE where the call had made it, RESTORE where it is again as it was,
    NONE where it stays, and why."""

    uid: str
    text: str
    event: Event
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A text that was not kept, the messages of the call it came from (0-based), and why.

    It was left out on purpose, or (among the failed) something went wrong with it alone. `detail` says more.
    """

    text: str
    messages: tuple[int, ...]
    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the way: whether the text passed it (None: not asked for), and what was seen there."""

    name: str
    passed: bool | None
    detail: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a text: the first stage that lacks it (None when it is returned), and all stages."""

    expect: str
    missing_at: str | None
    reason: str
    memory_id: str | None
    memory: str | None
    rank: int | None
    score: float | None
    score_details: dict[str, Any] | None
    stages: tuple[Stage, ...]


class FaultKind(StrEnum):
    """What a check of the store can find wrong."""

    FILE = "damaged_file"
    TOKENISER = "other_tokeniser"
    NO_TERMS = "missing_terms"
    WRONG_TERMS = "wrong_terms"
    NO_VECTOR = "missing_vector"
    WRONG_VECTOR = "wrong_vector"
    KEY = "wrong_key"
    COUNTER = "low_counter"
    STRAY = "stray_index_row"
    ORPHAN = "orphan_row"
    TWINS = "same_memory_twice"
    NO_VERSION = "memory_without_version"
    VERSIONS = "broken_versions"
    CHANGES = "broken_changes"
    TRACE = "damaged_trace"


# What can be made anew by the embedder only.
VECTOR_FAULTS = frozenset({FaultKind.NO_VECTOR, FaultKind.WRONG_VECTOR})
# Faults of rows that can be made anew from others, or done without. The rest lie in what was said, kept and done.
MENDABLE = frozenset(
    {
        FaultKind.TOKENISER,
        FaultKind.NO_TERMS,
        FaultKind.WRONG_TERMS,
        *VECTOR_FAULTS,
        FaultKind.KEY,
        FaultKind.COUNTER,
        FaultKind.STRAY,
        FaultKind.TRACE,
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault, how often it was found, and where it was found first. Places hold ids, never texts."""

    kind: FaultKind
    count: int
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mending:
    """What of an owner has to be made anew, by number.

    terms, vectors: of versions. message_terms: of messages. keys: of memories. low_counter: numbers were given
    beyond it. strays: there are index rows of what is not there. traces: the ids of those that cannot be read.
    """

    tenant: str
    owner_id: int
    terms: tuple[int, ...] = ()
    message_terms: tuple[int, ...] = ()
    vectors: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    low_counter: bool = False
    strays: bool = False
    traces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkup:
    """What a check found: faults, of which so many were mended, and how many rows it looked at."""

    faults: tuple[Fault, ...]
    mendable: frozenset[FaultKind]
    mended: Mapping[FaultKind, int]
    checked: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Usage:
    """What asking models cost: calls, tokens in and out (what is told of them), texts embedded, milliseconds."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    embeddings: int = 0
    ms: float = 0.0

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(
            self.calls + other.calls,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.embeddings + other.embeddings,
            self.ms + other.ms,
        )
