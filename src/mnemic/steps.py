"""The steps of an add, as `trace` shows them: what was said, what a model was shown and replied, what code decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from .clock import Instant, iso, zone_name
from .ingest.propose import Proposed
from .records import Message, Outcome, Proposal, Rejected, Usage

if TYPE_CHECKING:
    from .adding import Request
    from .editing import Call, Committed
    from .ingest.briefing import Known
    from .ingest.verify import Judged
    from .shapes import UsageItem


class SaidItem(TypedDict, total=False):
    """A message, as a model was sent it (without words that were deleted); `number` in the call, or the stored
    message's `id`. `offset`: minutes east of UTC in which its time was told."""

    number: int
    id: str
    role: str
    name: str | None
    content: str
    timestamp: str | None
    offset: int


class OfferedItem(TypedDict):
    """A memory that a model was shown, and the label by which it could name it."""

    label: str
    id: str
    memory: str
    version: int
    since: str | None


class CallItem(TypedDict, total=False):
    """A request to a model and its reply, word for word; the memories offered in it, and the facts asked about.

    fault: why the reply could not be used, so that the model was asked once more.
    """

    stage: str
    prompt: str
    model: str
    sent: list[dict[str, str]]
    raw: str
    usage: dict[str, Any]
    offered: list[OfferedItem]
    facts: list[str]
    fault: str


class VerdictItem(TypedDict, total=False):
    """A fact that was proposed, and what became of it: `verdict` is stored, unchanged, rejected or failed; of a
    replay proposed or rejected."""

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
    """Each step of an add.

    observed_at, timezone: of messages that tell no time, or no zone. prompt: the call's own instructions.
    for_agent: whether the assistant's own deeds were wanted. offered: the memories shown last.
    """

    trace_id: str
    at: str | None
    mode: str | None
    extractor: str
    user_id: str
    agent_id: str
    app_id: str
    run_id: str
    observed_at: str | None
    timezone: str
    for_agent: bool
    prompt: str
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
    timezone: str | None = None
    for_agent: bool = False


class DifferenceItem(TypedDict):
    """A fact that one of two replies gave, or both gave differently: `change` is added, dropped or changed.

    fields: what changed, each with its value `before` and `after`.
    """

    change: str
    text: str
    fields: dict[str, dict[str, Any]]


class ReplayResult(TypedDict, total=False):
    """What today's code makes of a trace's replies, or of another reply to the same messages.

    answer: recorded, live or given. prompt, model: of the first request, `before` and `after`. same_request:
    whether today's first request is, word for word, the one that was sent. before, after: the verdicts. calls: the
    requests made now.
    """

    trace_id: str
    answer: str
    prompt: dict[str, str | None]
    model: dict[str, str | None]
    same_request: bool
    before: list[VerdictItem]
    after: list[VerdictItem]
    differences: list[DifferenceItem]
    calls: list[CallItem]
    notice: str


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
        item = verdict_on(one)
        if one.proposal is None:
            entries.append(Entry(item))
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
            _said(number, message, brief.observed_at)
            for number, message in zip(brief.numbers, brief.messages, strict=True)
        ),
        context=tuple(
            SaidItem(id=one.id, role=one.role, name=one.name, content=one.content, timestamp=iso(one.said_at))
            for one in brief.earlier
        ),
        offered=tuple(map(_offered, brief.known)),
        calls=tuple(map(call_item, draft.calls)),
        timezone=zone_name(brief.tz),
        for_agent=brief.for_agent,
    )


def verdict_on(judged: Judged) -> VerdictItem:
    """What was decided on a fact: rejected with its reason, else a proposal that is yet to be stored."""
    fact = judged.fact
    item = VerdictItem(
        text=fact.text,
        sources=list(fact.sources or ()),
        about=fact.about,
        category=fact.category,
        on=fact.on,
        since=fact.since,
        until=fact.until,
        entities=[asdict(entity) for entity in fact.entities],
        relations=[asdict(relation) for relation in fact.relations],
        meets=_meets(judged.proposal),
    )
    if judged.remarks:
        item["remarks"] = list(judged.remarks)
    if judged.proposal is None:
        item = _with(item, "rejected", judged.reason)
        if judged.detail is not None:
            item["detail"] = judged.detail
    return item


def call_item(call: Call) -> CallItem:
    """A request and its reply."""
    item = CallItem(
        stage=call.stage,
        prompt=call.prompt,
        model=call.model,
        sent=[message.as_dict() for message in call.sent],
        raw=call.raw,
        usage=asdict(call.usage),
        offered=[_offered(one) for one in call.known],
    )
    if call.fault is not None:
        item["fault"] = call.fault
    if call.facts:
        item["facts"] = list(call.facts)
    return item


def _said(number: int, message: Message, observed_at: Instant) -> SaidItem:
    item = SaidItem(
        number=number,
        role=message.role,
        name=message.name,
        content=message.content,
        timestamp=iso(observed_at if message.said_at is None else message.said_at),
    )
    if message.offset is not None:
        item["offset"] = message.offset
    return item


def _offered(known: Known) -> OfferedItem:
    return OfferedItem(
        label=known.label, id=known.uid, memory=known.text, version=known.version, since=iso(known.since)
    )


def trace_item(request: Request, told: Told, outcomes: Sequence[Outcome], usage: UsageItem) -> TraceItem:
    """All steps of an add that was committed with these outcomes."""
    said = told.messages
    if said is None:
        said = tuple(
            _said(number, message, request.observed_at)
            for number, message in zip(request.talk.numbers, request.talk.messages, strict=True)
        )
    item = TraceItem(
        trace_id=request.act.trace_id,
        at=iso(request.act.at),
        mode=told.mode,
        extractor=told.extractor,
        observed_at=iso(request.observed_at),
        messages=list(said),
        context=list(told.context),
        offered=list(told.offered),
        calls=list(told.calls),
        verdicts=[_decided(entry, outcomes) for entry in told.entries],
        usage=usage,
    )
    if told.timezone is not None:
        item["timezone"], item["for_agent"] = told.timezone, told.for_agent
    if request.prompt is not None:
        item["prompt"] = request.prompt
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
