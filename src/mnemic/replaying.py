"""Replaying an add with a model: what today's code makes of the replies that its trace has kept, or of another one.

The model's second decisions are replayed with the reply that is kept; only "live", and for the classic editor, asks
for them anew. Nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from . import steps
from .adding import wishes
from .checks import shown
from .clock import parse_instant, zone_named
from .config import Editing
from .editing import EXTRACTOR, Call, calls_of
from .errors import ConfigError, ValidationError
from .ingest import briefing, reconcile, verify
from .ingest.ask import Asked, complete_json, complete_text
from .ingest.briefing import Brief, Known
from .ingest.drawn import FACTS, MEMORY, Drawn, read_decisions, read_edits, read_facts
from .ingest.given import Common
from .ingest.messages import Heard
from .ingest.reply import read_reply, read_text
from .ingest.verify import Judged
from .models.llm import LLM, ChatMessage
from .parts import Parts, off_loop, on_loop
from .prompts import Prompt, load
from .records import Message, Owner, StoredMessage
from .steps import CallItem, DifferenceItem, OfferedItem, ReplayResult, SaidItem, TraceItem, VerdictItem
from .text.normal import normal_form
from .text.tokens import index_terms

T = TypeVar("T")

LIVE, RECORDED, GIVEN = "live", "recorded", "given"
REJECTED, PROPOSED = "rejected", "proposed"
# What of a fact may differ; whether it was refused beside these.
FIELDS = (
    "text",
    "sources",
    "about",
    "category",
    "on",
    "since",
    "until",
    "entities",
    "relations",
    "meets",
    "reason",
    "detail",
    "remarks",
)
# Facts in other words that share so much of them are the same fact, told otherwise.
SAME_FACT = 0.5
KEPT_DECISION = "The second decision is the one that is kept: it was made on other facts."
NO_DECISION = "The second decision of that time is left out: it was made on other facts."


async def replay(parts: Parts, kept: TraceItem, answer: Any) -> ReplayResult:
    """Judge an add again. Raises as `Care.replay`."""
    if not kept.get("calls"):
        raise ValidationError(
            f"No model was asked in trace {kept['trace_id']}: there is nothing to replay.",
            details={"field": "trace_id"},
        )
    if answer is not None and not isinstance(answer, str | Mapping | list):
        raise ValidationError(f"answer must be 'live', a text or a JSON value, not {shown(answer)}.")
    if answer == LIVE and parts.llm is None:
        raise ConfigError("answer='live' needs an llm: configure one, or leave it out.")
    told = _Recorded(kept)
    again = _Again(parts, told, answer)
    if told.prompt.startswith("procedure/"):
        after = await on_loop(again.record())
    else:
        after = [_proposed(one) for one in await on_loop(again.facts())]
    before = kept.get("verdicts", [])
    result = ReplayResult(
        trace_id=kept["trace_id"],
        answer=again.answer,
        prompt={"before": told.prompt, "after": again.prompt.id},
        model={"before": told.first["model"], "after": again.model},
        same_request=[message.as_dict() for message in again.request] == told.first["sent"],
        before=before,
        after=after,
        differences=differences(before, after),
        calls=[steps.call_item(call) for call in again.calls],
    )
    if again.notice is not None:
        result["notice"] = again.notice
    return result


class _Recorded:
    """A trace as what it was made from. What older traces lack is taken from what they have."""

    def __init__(self, kept: TraceItem) -> None:
        self.kept = kept
        self.first: CallItem = next(call for call in kept["calls"] if "fault" not in call)
        self.prompt: str = self.first["prompt"]
        self.mode = Editing(kept.get("mode") or Editing.SUPERSEDE)
        self.tz = zone_named(kept.get("timezone", "UTC"))
        messages = [self._message(one) for one in kept["messages"]]
        self.brief = Brief(
            messages=tuple(messages),
            numbers=tuple(one["number"] for one in kept["messages"]),
            observed_at=self._instant(kept.get("observed_at") or kept["at"]),
            tz=self.tz,
            earlier=tuple(self._earlier(one) for one in kept.get("context", [])),
            known=self.known_to(self.first),
            for_agent=kept.get("for_agent", bool(kept.get("agent_id"))),
        )

    @property
    def decided(self) -> CallItem | None:
        """The last decision on how the facts meet memories, if there was one."""
        calls = [call for call in self.kept["calls"] if call["stage"] == "decide" and "fault" not in call]
        return calls[-1] if calls else None

    def known_to(self, call: CallItem) -> tuple[Known, ...]:
        """The memories that were shown in a call."""
        offered: list[OfferedItem] = call.get("offered", self.kept.get("offered", []))
        return tuple(
            Known(
                label=one["label"],
                uid=one["id"],
                no=0,
                version=one["version"],
                text=one["memory"],
                since=None if one.get("since") is None else self._instant(one["since"]),
            )
            for one in offered
        )

    def _message(self, one: SaidItem) -> Message:
        said_at = None if one.get("timestamp") is None else self._instant(one["timestamp"])
        return Message(
            one["role"], one["content"], one.get("name"), said_at=said_at, offset=one.get("offset")
        )

    def _earlier(self, one: SaidItem) -> StoredMessage:
        said_at = self._instant(one["timestamp"])
        return StoredMessage(
            id=one.get("id", ""),
            owner=Owner(""),
            run_id="",
            trace_id="",
            position=0,
            role=one["role"],
            name=one.get("name"),
            content=one["content"],
            said_at=said_at,
            place=(said_at, 0, 0),
        )

    def _instant(self, text: str | None) -> int:
        return parse_instant(text, self.tz, field="a time of the trace")


class _Again:
    """One replay: the request as it would be made today, and what comes of a reply to it."""

    def __init__(self, parts: Parts, told: _Recorded, answer: Any) -> None:
        self._parts = parts
        self._told = told
        self._given = answer
        self.answer = RECORDED if answer is None else LIVE if answer == LIVE else GIVEN
        self.prompt: Prompt = load(told.prompt.partition("/")[0])
        self.wishes = wishes(parts.settings, told.kept.get("prompt"))
        self.request: list[ChatMessage] = []
        self.model: str | None = None
        self.calls: list[Call] = []
        self.notice: str | None = None

    async def record(self) -> list[VerdictItem]:
        """The record of a task that a reply is."""
        told = self._told
        settings = self._parts.settings
        self.request = briefing.procedure(
            self.prompt, told.brief, told.kept.get("prompt"), settings.custom_instructions
        )
        if self.answer == LIVE:
            assert self._parts.llm is not None, "checked before"
            async with self._parts.turns.slots:
                asked = await complete_text(self._parts.llm, self.request)
            self.calls += calls_of("extract", self.prompt.id, asked)
            text, self.model = asked.value, asked.model
        else:
            text = read_text(self._reply())
        fact = Drawn(text, told.brief.numbers, "assistant")
        return [{**steps.verdict_on(Judged(fact, None)), "verdict": PROPOSED}]

    async def facts(self) -> list[Judged]:
        """The facts, judged; and how they meet memories by the second decision, where there is one."""
        told, brief = self._told, self._told.brief
        self.request = briefing.extraction(self.prompt, brief, self.wishes)
        if self.answer == LIVE:
            assert self._parts.llm is not None, "checked before"
            asked = await self._asked(
                "extract", self._parts.llm, self.prompt, self.request, FACTS, read_facts
            )
            facts, self.model = asked.value, asked.model
        else:
            facts = read_reply(self._reply(), read_facts)
        judged = await off_loop(lambda: self._judged(facts))
        decided = told.decided
        if decided is None:
            return judged
        if told.mode == Editing.RECONCILE:
            return await self._reconciled(judged, decided)
        if self.answer != RECORDED:
            self.notice = NO_DECISION
            return judged
        return self._decided_again(judged, decided)

    def _reply(self) -> str:
        """The reply to the first request that is kept, or was given."""
        if self.answer == RECORDED:
            self.model = self._told.first["model"]
            return self._told.first["raw"]
        return self._given if isinstance(self._given, str) else json.dumps(self._given, ensure_ascii=False)

    def _judged(self, facts: Sequence[Drawn]) -> list[Judged]:
        told, brief = self._told, self._told.brief
        return verify.judge(
            facts,
            brief,
            Heard(brief.messages, brief.numbers, ()),
            Common(metadata=None, expires=(None, None), timestamp=None, tz=told.tz),
            verify.Provenances(f"{EXTRACTOR}:{told.mode}", self.prompt.id, self.model or ""),
            self.wishes.known_categories,
            self.prompt,
            only_adds=told.mode == Editing.APPEND,
        )

    async def _reconciled(self, judged: Sequence[Judged], decided: CallItem) -> list[Judged]:
        """The classic editor's second step, on the memories that it was shown then."""
        facts = [one for one in judged if one.proposal is not None]
        if not facts:
            return list(judged)
        known, prompt = self._told.known_to(decided), load("reconcile")
        texts = [one.fact.text for one in facts]
        if self.answer == LIVE:
            assert self._parts.decider is not None, (
                "where there is a model, there is one for second decisions"
            )
            sent = briefing.reconciliation(prompt, texts, known, self.wishes)
            asked = await self._asked("decide", self._parts.decider, prompt, sent, MEMORY, read_edits)
            edits, model = asked.value, asked.model
        else:
            edits, model = read_reply(decided["raw"], read_edits), decided["model"]
            if texts != decided.get("facts", texts):
                self.notice = KEPT_DECISION
        refused = [one for one in judged if one.proposal is None]
        edited = await off_loop(lambda: reconcile.judge_edits(edits, facts, known, prompt.id, model))
        return [*refused, *edited]

    def _decided_again(self, judged: Sequence[Judged], decided: CallItem) -> list[Judged]:
        """The facts that were decided once more, as they were then."""
        meets = read_reply(decided["raw"], read_decisions)
        known = {one.label: one for one in self._told.known_to(decided)}
        number_of = {text: number for number, text in reversed(list(enumerate(decided.get("facts", []))))}
        again = [
            verify.decided_again(one, meets.get(number_of[one.fact.text]), known)
            if one.proposal is not None and one.fact.text in number_of
            else one
            for one in judged
        ]
        return verify.without_clashes(again)

    async def _asked(
        self,
        stage: str,
        llm: LLM,
        prompt: Prompt,
        sent: Sequence[ChatMessage],
        schema: Mapping[str, Any],
        read: Callable[[Any], T],
    ) -> Asked[T]:
        async with self._parts.turns.slots:
            asked = await complete_json(llm, sent, schema, read)
        self.calls += calls_of(stage, prompt.id, asked)
        return asked


def _proposed(judged: Judged) -> VerdictItem:
    return {**steps.verdict_on(judged), "verdict": REJECTED if judged.proposal is None else PROPOSED}


# --- what differs -----------------------------------------------------------------------------------------


def differences(before: Sequence[VerdictItem], after: Sequence[VerdictItem]) -> list[DifferenceItem]:
    """The facts that only one of two verdicts has, or both have otherwise; those before first, in their order.

    The same fact is one of the same words; else, of those left over, the one that shares most of its words.
    """
    partner = _partners(before, after)
    found: list[DifferenceItem] = []
    for i, old in enumerate(before):
        if i not in partner:
            found.append(DifferenceItem(change="dropped", text=old["text"], fields={}))
        elif fields := _fields(old, after[partner[i]]):
            found.append(DifferenceItem(change="changed", text=old["text"], fields=fields))
    new = set(range(len(after))) - set(partner.values())
    found += [DifferenceItem(change="added", text=after[i]["text"], fields={}) for i in sorted(new)]
    return found


def _partners(before: Sequence[VerdictItem], after: Sequence[VerdictItem]) -> dict[int, int]:
    partner: dict[int, int] = {}
    left = dict(enumerate(normal_form(one["text"]) for one in after))
    for i, old in enumerate(before):
        same = next((j for j, text in left.items() if text == normal_form(old["text"])), None)
        if same is not None:
            partner[i] = same
            del left[same]
    alike = [
        (-_alike(old["text"], after[j]["text"]), i, j)
        for i, old in enumerate(before)
        if i not in partner
        for j in left
    ]
    for likeness, i, j in sorted(alike):
        if -likeness >= SAME_FACT and i not in partner and j in left:
            partner[i] = j
            del left[j]
    return partner


def _alike(one: str, other: str) -> float:
    """How much of the words of both is in both, 0 to 1."""
    words, others = index_terms(one).keys(), index_terms(other).keys()
    return len(words & others) / len(words | others) if words and others else 0.0


def _fields(old: VerdictItem, new: VerdictItem) -> dict[str, dict[str, Any]]:
    one, other = _comparable(old), _comparable(new)
    return {
        name: {"before": one[name], "after": other[name]}
        for name in ("verdict", *FIELDS)
        # An older trace may lack what is empty.
        if (one[name] or None) != (other[name] or None)
    }


def _comparable(item: VerdictItem) -> dict[str, Any]:
    """A verdict as replays tell it: what was stored, was there already or could not be embedded was proposed."""
    values: dict[str, Any] = {name: item.get(name) for name in FIELDS}
    if item.get("verdict") == REJECTED:
        return {**values, "verdict": REJECTED}
    return {**values, "verdict": PROPOSED, "reason": None}
