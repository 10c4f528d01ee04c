"""The steps of an add, as `trace` shows them: what was said, what a model was shown and replied, what code decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from .clock import iso
from .ingest.propose import Proposed
from .records import Outcome, Proposal, Rejected, Usage

if TYPE_CHECKING:
    from .adding import Request
    from .editing import Committed
    from .shapes import UsageItem


class SaidItem(TypedDict, total=False):
    """A message, as a model was sent it (without words that were deleted); `number` in the call."""

    number: int
    role: str
    name: str | None
    content: str
    timestamp: str | None


class OfferedItem(TypedDict):
    """A memory that a model was shown, and the label by which it could name it."""

    label: str
    id: str
    memory: str
    version: int


class CallItem(TypedDict):
    """A request to a model and its reply, word for word."""

    stage: str
    prompt: str
    model: str
    sent: list[dict[str, str]]
    raw: str
    usage: dict[str, Any]


class VerdictItem(TypedDict, total=False):
    """A fact that was proposed, and what became of it: stored, unchanged, rejected, failed or superseded others."""

    text: str
    sources: list[int]
    about: str
    category: str | None
    on: str | None
    since: str | None
    until: str | None
    entities: list[dict[str, str]]
    relations: list[dict[str, str]]
    meets: list[dict[str, str]]
    verdict: str
    reason: str | None
    detail: str | None
    remarks: list[str]
    unreconciled: bool
    ids: list[str]
    events: list[str]


class TraceItem(TypedDict, total=False):
    """Each step of an add."""

    trace_id: str
    at: str | None
    mode: str | None
    extractor: str
    user_id: str
    agent_id: str
    app_id: str
    run_id: str
    messages: list[SaidItem]
    context: list[SaidItem]
    offered: list[OfferedItem]
    calls: list[CallItem]
    verdicts: list[VerdictItem]
    usage: UsageItem


@dataclass(frozen=True, slots=True)
class Entry:
    """A proposal, or what was refused: the number of its proposal in the batch is None for the latter."""

    item: VerdictItem
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What an add has to tell of its steps besides its arguments. `mode` is None where no model had a part."""

    mode: str | None
    extractor: str
    entries: tuple[Entry, ...] = ()
    stages: Mapping[str, Usage] = field(default_factory=dict)
    messages: tuple[SaidItem, ...] | None = None
    context: tuple[SaidItem, ...] = ()
    offered: tuple[OfferedItem, ...] = ()
    calls: tuple[CallItem, ...] = ()


def of_proposals(
    proposed: Proposed, failed: Mapping[int, Rejected], numbers: Sequence[int]
) -> tuple[Entry, ...]:
    """What became of proposals that no model made. `numbers`: those of the messages in the call."""
    entries: list[Entry] = []
    stored = 0
    for i, proposal in enumerate(proposed.proposals):
        sources = list(dict.fromkeys(numbers[span.message] for span in proposal.spans))
        item = VerdictItem(text=proposal.content.text, sources=sources)
        if i in failed:
            entries.append(Entry(_with(item, "failed", failed[i].reason)))
        else:
            entries.append(Entry(item, stored))
            stored += 1
    for one in proposed.rejected:
        refused = VerdictItem(text=one.text, sources=list(one.messages))
        entries.append(Entry(_with(refused, "rejected", one.reason)))
    return tuple(entries)


def of_draft(stored: Committed, extractor: str, mode: str) -> Told:
    """What an add with a model has to tell."""
    draft = stored.draft
    brief = draft.brief
    entries: list[Entry] = []
    proposals = kept = 0
    for one in draft.judged:
        item = VerdictItem(
            text=one.fact.text,
            sources=list(one.fact.sources or ()),
            about=one.fact.about,
            category=one.fact.category,
            on=one.fact.on,
            since=one.fact.since,
            until=one.fact.until,
            entities=[asdict(entity) for entity in one.fact.entities],
            relations=[asdict(relation) for relation in one.fact.relations],
            meets=_meets(one.proposal),
        )
        if one.remarks:
            item["remarks"] = list(one.remarks)
        if one.proposal is None:
            rejected = _with(item, "rejected", one.reason)
            entries.append(Entry(rejected if one.detail is None else {**rejected, "detail": one.detail}))
            continue
        if one.proposal.unreconciled:
            item["unreconciled"] = True
        if proposals in stored.failed:
            entries.append(Entry(_with(item, "failed", stored.failed[proposals].reason)))
        else:
            entries.append(Entry(item, kept))
            kept += 1
        proposals += 1
    stages = {"embed": Usage(embeddings=stored.embedded)}
    for call in draft.calls:
        stages[call.stage] = stages.get(call.stage, Usage()).plus(call.usage)
    return Told(
        mode=mode,
        extractor=extractor,
        entries=tuple(entries),
        stages=stages,
        messages=tuple(
            SaidItem(
                number=number,
                role=message.role,
                name=message.name,
                content=message.content,
                timestamp=iso(brief.observed_at if message.said_at is None else message.said_at),
            )
            for number, message in zip(brief.numbers, brief.messages, strict=True)
        ),
        context=tuple(
            SaidItem(role=one.role, name=one.name, content=one.content, timestamp=iso(one.said_at))
            for one in brief.earlier
        ),
        offered=tuple(
            OfferedItem(label=one.label, id=one.uid, memory=one.text, version=one.version)
            for one in brief.known
        ),
        calls=tuple(
            CallItem(
                stage=call.stage,
                prompt=call.prompt,
                model=call.model,
                sent=[message.as_dict() for message in call.sent],
                raw=call.raw,
                usage=asdict(call.usage),
            )
            for call in draft.calls
        ),
    )


def trace_item(request: Request, told: Told, outcomes: Sequence[Outcome], usage: UsageItem) -> TraceItem:
    """All steps of an add that was committed with these outcomes."""
    said = told.messages
    if said is None:
        said = tuple(
            SaidItem(
                number=number,
                role=message.role,
                name=message.name,
                content=message.content,
                timestamp=iso(request.observed_at if message.said_at is None else message.said_at),
            )
            for number, message in zip(request.talk.numbers, request.talk.messages, strict=True)
        )
    item = TraceItem(
        trace_id=request.act.trace_id,
        at=iso(request.act.at),
        mode=told.mode,
        extractor=told.extractor,
        messages=list(said),
        context=list(told.context),
        offered=list(told.offered),
        calls=list(told.calls),
        verdicts=[_decided(entry, outcomes) for entry in told.entries],
        usage=usage,
    )
    owner = request.owner
    ids = {
        "user_id": owner.user_id,
        "agent_id": owner.agent_id,
        "app_id": owner.app_id,
        "run_id": request.run,
    }
    item.update({key: value for key, value in ids.items() if value})  # type: ignore[typeddict-item]
    return item


def _decided(entry: Entry, outcomes: Sequence[Outcome]) -> VerdictItem:
    """The verdict on a proposal by its outcomes."""
    if entry.number is None:
        return entry.item
    own = [outcome for outcome in outcomes if outcome.number == entry.number]
    events = [outcome.event.value for outcome in own]
    verdict = "stored" if any(event != "NONE" for event in events) else "unchanged"
    item = _with(entry.item, verdict, None)
    item["ids"], item["events"] = [outcome.uid for outcome in own], events
    return item


def _with(item: VerdictItem, verdict: str, reason: str | None) -> VerdictItem:
    return {**item, "verdict": verdict, "reason": reason}


def _meets(proposal: Proposal | None) -> list[dict[str, str]]:
    return [{"memory": one.uid, "how": one.how.value} for one in (proposal.meets if proposal else None) or ()]
