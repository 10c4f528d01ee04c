"""What the faces return: records turned into mem0's shapes, with mnemic's own keys beside them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from .clock import Instant, iso
from .errors import ValidationError
from .records import (
    VECTOR_FAULTS,
    Batch,
    Checkup,
    Entry,
    Event,
    FaultKind,
    Item,
    Kind,
    Outcome,
    Proposal,
    Rejected,
    StoredMessage,
    Usage,
    Verdict,
)
from .steps import TraceItem
from .text.instructions import looks_like_instructions

NOTHING_TO_KEEP = "Nothing in it was found worth keeping."


class SourceShape(TypedDict):
    """The messages that state a memory and the words of the first of them."""

    message_ids: list[str]
    quote: str | None


class MemoryItem(TypedDict, total=False):
    """A memory: mem0's keys (ids, role and the like only where there is one), then mnemic's."""

    id: str
    memory: str
    hash: str
    metadata: dict[str, Any] | None
    score: float | None
    created_at: str | None
    updated_at: str | None
    user_id: str
    agent_id: str
    app_id: str
    run_id: str
    run_ids: list[str]
    actor_id: str
    role: str
    attributed_to: str
    expiration_date: str
    event_date: str
    observed_at: str | None
    version: int
    kind: str
    categories: list[str]
    valid_from: str | None
    valid_to: str | None
    superseded_by: str | None
    source: SourceShape | None
    deleted_at: str | None
    deleted_by: str | None
    deleted_reason: str | None
    score_details: dict[str, Any]
    flags: list[str]


class SearchResult(TypedDict, total=False):
    """The hits of a search, best first; `notice` says why there are none, `explain` how they were found."""

    results: list[MemoryItem]
    notice: str
    explain: dict[str, Any]


class ListResult(TypedDict, total=False):
    """A page of memories: `total` on all pages, the cursor of the `next` one, whether any follow."""

    results: list[MemoryItem]
    total: int
    next: str | None
    truncated: bool
    notice: str


class AddedItem(TypedDict, total=False):
    """One memory of an add: ADD, NONE for what was kept already; with an LLM also UPDATE and DELETE.

    supersedes, corrects: ids of the memories that it ended, and that it took back. unreconciled: other memories
    changed while it was decided, twice.
    """

    id: str
    memory: str
    event: str
    actor_id: str | None
    role: str | None
    supersedes: list[str]
    corrects: list[str]
    previous_memory: str
    unreconciled: bool


class RejectedItem(TypedDict, total=False):
    """What was left out, or failed: its text, the numbers of its messages in the call, and why."""

    text: str
    messages: list[int]
    reason: str
    detail: str


class StageUsage(TypedDict):
    """What one stage of a call cost."""

    calls: int
    tokens_in: int
    tokens_out: int
    embeddings: int
    ms: float


class UsageItem(TypedDict):
    """What a call cost: LLM calls and tokens, texts embedded, milliseconds in all; and each stage by its name."""

    llm_calls: int
    tokens_in: int
    tokens_out: int
    embedded: int
    ms: float
    stages: dict[str, StageUsage]


class AddResult(TypedDict, total=False):
    """What became of an add."""

    results: list[AddedItem]
    rejected: list[RejectedItem]
    failed: list[RejectedItem]
    extractor: str
    usage: UsageItem
    trace_id: str
    trace: TraceItem
    notice: str


class HistoryItem(TypedDict):
    """One change of a memory: mem0's ten keys, then who changed it, why, and the metadata before and after."""

    id: str
    memory_id: str
    old_memory: str | None
    new_memory: str | None
    event: str
    created_at: str | None
    updated_at: str | None
    is_deleted: bool
    actor_id: str | None
    role: str | None
    actor: str | None
    reason: str | None
    old_metadata: dict[str, Any] | None
    new_metadata: dict[str, Any] | None


class LogItem(TypedDict):
    """One change, of whatever memory; the ids are None where the owner has none.

    `memory_id` is None for what is no change of one memory, such as EPISODE: messages that were kept.
    """

    id: str
    at: str | None
    event: str
    memory_id: str | None
    old_memory: str | None
    new_memory: str | None
    old_metadata: dict[str, Any] | None
    new_metadata: dict[str, Any] | None
    actor: str | None
    reason: str | None
    trace_id: str
    user_id: str | None
    agent_id: str | None
    app_id: str | None


class LogPage(TypedDict):
    """A page of the log, newest first: `total` on all pages, the cursor of the `next`, whether any follow."""

    results: list[LogItem]
    total: int
    next: str | None
    truncated: bool


class MessageItem(TypedDict, total=False):
    """A message as it was said."""

    id: str
    role: str
    name: str | None
    content: str
    timestamp: str | None
    user_id: str
    agent_id: str
    app_id: str
    run_id: str
    trace_id: str
    deleted_spans: list[list[int]]


class MessageList(TypedDict):
    """A page of messages in the order they were said."""

    results: list[MessageItem]
    total: int
    next: str | None
    truncated: bool


class StageItem(TypedDict):
    """One stage of `why`: whether the text passed it (None: does not apply), and what was seen there."""

    stage: str
    passed: bool | None
    detail: str


class WhyResult(TypedDict):
    """What became of an expected text; `missing_at` is None when the search returns it."""

    expect: str
    missing_at: str | None
    reason: str
    memory_id: str | None
    memory: str | None
    rank: int | None
    score: float | None
    score_details: dict[str, Any] | None
    stages: list[StageItem]


class FaultItem(TypedDict):
    """A kind of fault: how many, the first places of those left, whether repair mends it, how many it did."""

    kind: str
    count: int
    places: list[str]
    mendable: bool
    mended: int


class CheckResult(TypedDict, total=False):
    """What a check found: `sound` when no fault is left, and how many rows it looked at.

    `notice` says what to do about the faults that are left.
    """

    sound: bool
    faults: list[FaultItem]
    checked: dict[str, int]
    ms: float
    notice: str


class ChangeResult(TypedDict, total=False):
    """What a change did: mem0's message, and the memory concerned."""

    message: str
    id: str
    event: str
    version: int
    deleted: int
    would_delete: list[str]


class ReembedResult(TypedDict, total=False):
    """From which embedder to which a store was moved; versions `embedded`, and those the embedder refused."""

    from_embedder: str | None
    to_embedder: str
    dims: int
    embedded: int
    failed: int
    ms: float
    notice: str


class PurgeResult(TypedDict, total=False):
    """What a purge removed: rows by table, and whether the database's files are free of them too."""

    message: str
    removed: dict[str, int]
    would_remove: dict[str, int]
    bytes_erased: bool
    notice: str


class ExportResult(TypedDict):
    """How many of each an export holds."""

    owners: int
    episodes: int
    messages: int
    memories: int
    versions: int
    changes: int


class TwinItem(TypedDict):
    """A memory that was not imported, since its words are kept as another."""

    id: str
    existing_id: str


class ImportResult(TypedDict):
    """What became of an import's memories, and how many messages and episodes were new.

    `skipped` counts those whose id was there and the `duplicates`. `embedded`: texts that the embedder got.
    """

    added: int
    overwritten: int
    skipped: int
    episodes: int
    messages: int
    embedded: int
    duplicates: list[TwinItem]
    dry_run: bool


class Mem0OwnerItem(TypedDict, total=False):
    """What a mem0 store has of an owner (its ids where it has them): what is live, what is deleted, its history."""

    user_id: str
    agent_id: str
    app_id: str
    memories: int
    deleted: int
    messages: int
    changes: int


class LeftOutItem(TypedDict):
    """Things of a mem0 store that cannot be kept, and why."""

    what: str
    reason: str
    count: int
    ids: list[str]


class RemarkItem(TypedDict):
    """What did not fit about a memory that is kept."""

    id: str
    remark: str


class Mem0ImportResult(ImportResult):
    """An import with what was read, what it holds of each owner, and what it holds that was not taken over."""

    files: list[str]
    owners: list[Mem0OwnerItem]
    left_out: list[LeftOutItem]
    remarks: list[RemarkItem]


def memory_item(item: Item) -> MemoryItem:
    """A memory as `get_all` lists it (without a score)."""
    shape = MemoryItem(
        id=item.id,
        memory=item.memory,
        # mem0's hash; it identifies a text and protects nothing.
        hash=hashlib.md5(item.memory.encode(), usedforsecurity=False).hexdigest(),
        metadata=None if item.metadata is None else dict(item.metadata),
        created_at=iso(item.created_at),
        updated_at=iso(item.updated_at),
        observed_at=iso(item.observed_at),
        version=item.version,
        kind=item.kind,
        valid_from=iso(item.valid_from),
        valid_to=iso(item.valid_to),
        superseded_by=item.superseded_by,
        source=None
        if item.source is None
        else SourceShape(message_ids=list(item.source.message_ids), quote=item.source.quote),
    )
    owner = item.owner
    optional = {
        "user_id": owner.user_id,
        "agent_id": owner.agent_id,
        "app_id": owner.app_id,
        "run_id": item.runs[0] if item.runs else None,
        "run_ids": list(item.runs) if len(item.runs) > 1 else None,
        "actor_id": item.actor_id,
        "role": item.role,
        "attributed_to": item.attributed_to,
        "expiration_date": item.expiration_date,
        "event_date": item.event_date,
        "categories": None if item.categories is None else list(item.categories),
    }
    shape.update({key: value for key, value in optional.items() if value})  # type: ignore[typeddict-item]
    if looks_like_instructions(item.memory):
        shape["flags"] = ["instructions"]
    if item.deleted_at is not None:
        shape["deleted_at"] = iso(item.deleted_at)
        shape["deleted_by"] = item.deleted_by
        shape["deleted_reason"] = item.deleted_reason
    return shape


def history_item(memory_id: str, number: int, entry: Entry) -> HistoryItem:
    """A line of a memory's history, numbered from 1 for the first; its id outlasts export and import."""
    return HistoryItem(
        id=f"{memory_id}:{number}",
        memory_id=memory_id,
        old_memory=entry.old_memory,
        new_memory=entry.new_memory,
        event=entry.event,
        created_at=iso(entry.created_at),
        updated_at=iso(entry.at),
        is_deleted=entry.event == "DELETE",
        actor_id=entry.actor_id,
        role=entry.role,
        actor=entry.actor,
        reason=entry.reason,
        old_metadata=None if entry.old_metadata is None else dict(entry.old_metadata),
        new_metadata=None if entry.new_metadata is None else dict(entry.new_metadata),
    )


def log_item(entry: Entry) -> LogItem:
    """A line of the log; its id is stable within the store."""
    _, owner, seq = entry.place
    return LogItem(
        id=f"{owner}:{seq}",
        at=iso(entry.at),
        event=entry.event,
        memory_id=entry.memory_id,
        old_memory=entry.old_memory,
        new_memory=entry.new_memory,
        old_metadata=None if entry.old_metadata is None else dict(entry.old_metadata),
        new_metadata=None if entry.new_metadata is None else dict(entry.new_metadata),
        actor=entry.actor,
        reason=entry.reason,
        trace_id=entry.trace_id,
        user_id=entry.owner.user_id or None,
        agent_id=entry.owner.agent_id or None,
        app_id=entry.owner.app_id or None,
    )


def message_item(message: StoredMessage) -> MessageItem:
    """A message, with the ids it was said under."""
    shape = MessageItem(
        id=message.id,
        role=message.role,
        name=message.name,
        content=message.content,
        timestamp=iso(message.said_at),
        trace_id=message.trace_id,
    )
    owner = message.owner
    ids = {
        "user_id": owner.user_id,
        "agent_id": owner.agent_id,
        "app_id": owner.app_id,
        "run_id": message.run_id,
    }
    shape.update({key: value for key, value in ids.items() if value})  # type: ignore[typeddict-item]
    if message.deleted_spans:
        shape["deleted_spans"] = [list(span) for span in message.deleted_spans]
    return shape


def why_result(verdict: Verdict) -> WhyResult:
    """A verdict, its stages in order."""
    stages = [StageItem(stage=s.name, passed=s.passed, detail=s.detail) for s in verdict.stages]
    return WhyResult(
        expect=verdict.expect,
        missing_at=verdict.missing_at,
        reason=verdict.reason,
        memory_id=verdict.memory_id,
        memory=verdict.memory,
        rank=verdict.rank,
        score=verdict.score,
        score_details=verdict.score_details,
        stages=stages,
    )


def rejected_item(rejected: Rejected) -> RejectedItem:
    """What was left out of an add."""
    item = RejectedItem(text=rejected.text, messages=list(rejected.messages), reason=rejected.reason)
    if rejected.detail is not None:
        item["detail"] = rejected.detail
    return item


def usage(stages: Mapping[str, Usage], ms: float) -> UsageItem:
    """What a call cost in all, and by stages."""
    whole = Usage()
    for stage in stages.values():
        whole = whole.plus(stage)
    return UsageItem(
        llm_calls=whole.calls,
        tokens_in=whole.tokens_in,
        tokens_out=whole.tokens_out,
        embedded=whole.embeddings,
        ms=round(ms, 3),
        stages={
            name: StageUsage(
                calls=one.calls,
                tokens_in=one.tokens_in,
                tokens_out=one.tokens_out,
                embeddings=one.embeddings,
                ms=round(one.ms, 3),
            )
            for name, one in stages.items()
        },
    )


def add_result(
    batch: Batch,
    outcomes: Sequence[Outcome],
    rejected: Sequence[Rejected],
    failed: Sequence[Rejected],
    extractor: str,
    trace_id: str,
    usage: UsageItem,
) -> AddResult:
    """What became of an add; each outcome tells the number of its proposal in the batch."""
    shape = AddResult(
        results=[_added_item(outcome, batch.proposals[outcome.number]) for outcome in outcomes],
        rejected=[rejected_item(each) for each in rejected],
        failed=[rejected_item(each) for each in failed],
        extractor=extractor,
        usage=usage,
        trace_id=trace_id,
    )
    if not outcomes:
        shape["notice"] = "Nothing was kept; `rejected` says why." if rejected or failed else NOTHING_TO_KEEP
    return shape


def _added_item(outcome: Outcome, proposal: Proposal) -> AddedItem:
    item = AddedItem(id=outcome.uid, memory=outcome.text, event=outcome.event.value)
    if proposal.kind is Kind.MESSAGE:
        item["actor_id"] = proposal.provenance.actor_id
        item["role"] = proposal.provenance.role
    if outcome.supersedes:
        item["supersedes"] = list(outcome.supersedes)
    if outcome.corrects:
        item["corrects"] = list(outcome.corrects)
    if outcome.previous is not None:
        item["previous_memory"] = outcome.previous
    if proposal.unreconciled and outcome.event is not Event.NONE:
        item["unreconciled"] = True
    return item


def list_page(items: Sequence[Item], count: int, total: int) -> ListResult:
    """A page of at most `count` items, of which one more than that shows that others follow."""
    shown = items[:count]
    more = len(shown) < len(items)
    shape = ListResult(
        results=[memory_item(item) for item in shown],
        total=total,
        next=cursor_of(shown[-1].place) if more and shown else None,
        truncated=more,
    )
    if not total:
        shape["notice"] = "No memory of this scope meets the filters."
    return shape


def message_page(messages: Sequence[StoredMessage], count: int, total: int) -> MessageList:
    """A page of at most `count` messages, of which one more than that shows that others follow."""
    shown = messages[:count]
    more = len(shown) < len(messages)
    return MessageList(
        results=[message_item(message) for message in shown],
        total=total,
        next=cursor_of(shown[-1].place) if more and shown else None,
        truncated=more,
    )


def check_result(found: Checkup, ms: float) -> CheckResult:
    """What a check found, with advice where faults are left."""
    faults = [
        FaultItem(
            kind=fault.kind.value,
            count=fault.count,
            places=list(fault.places),
            mendable=fault.kind in found.mendable,
            mended=found.mended.get(fault.kind, 0),
        )
        for fault in found.faults
    ]
    left = [fault for fault in faults if fault["mended"] < fault["count"]]
    shape = CheckResult(sound=not left, faults=faults, checked=dict(found.checked), ms=ms)
    if left:
        shape["notice"] = _advice(left)
    return shape


def _advice(left: Sequence[FaultItem]) -> str:
    told = []
    if any(fault["mendable"] for fault in left):
        told.append("A repair makes anew what can be.")
    kinds = {fault["kind"] for fault in left if not fault["mendable"]}
    if kinds & VECTOR_FAULTS:
        told.append("Vectors can be made anew where the store's embedder is configured.")
    if FaultKind.FILE in kinds:
        told.append("The file itself is damaged: copy it, then save what is left with sqlite3's `.recover`.")
    if kinds - VECTOR_FAULTS - {FaultKind.FILE}:
        told.append(
            "The rest lies in messages, memories, versions or changes themselves, which nothing can be made"
            " from: keep a copy of the store, and export what is in it."
        )
    return " ".join(told)


def log_page(entries: Sequence[Entry], count: int, total: int) -> LogPage:
    """A page of at most `count` changes, of which one more than that shows that others follow."""
    shown = entries[:count]
    more = len(shown) < len(entries)
    return LogPage(
        results=[log_item(entry) for entry in shown],
        total=total,
        next=cursor_of(shown[-1].place) if more and shown else None,
        truncated=more,
    )


def cursor_of(place: tuple[Instant, int, int]) -> str:
    """An opaque cursor of a place in a list."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def read_cursor(cursor: object) -> tuple[Instant, int, int] | None:
    """The place in a cursor; None for no cursor. Raises `ValidationError` for anything else."""
    if cursor is None:
        return None
    try:
        found = json.loads(base64.urlsafe_b64decode(str(cursor).encode("ascii")))
    except (ValueError, binascii.Error, RecursionError) as fault:
        raise _bad_cursor(cursor) from fault
    if not isinstance(found, list) or len(found) != 3:
        raise _bad_cursor(cursor)
    if any(type(value) is not int or not -(2**63) <= value < 2**63 for value in found):
        raise _bad_cursor(cursor)
    return found[0], found[1], found[2]


def _bad_cursor(cursor: object) -> ValidationError:
    return ValidationError(f"cursor {str(cursor)[:80]!r} is not the 'next' of an earlier page.")
