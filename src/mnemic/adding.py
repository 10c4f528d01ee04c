"""add(), from checked arguments to the result: what is proposed, by whom, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

from . import shapes, steps
from .checks import shown
from .clock import Instant
from .config import Config, Editing
from .errors import ValidationError
from .ingest import propose
from .ingest.commit import Answered, commit, embedded_batch
from .ingest.given import Common
from .ingest.messages import Heard
from .ingest.propose import Proposed
from .parts import Parts, off_loop, on_loop
from .records import Act, Batch, Buried, Outcome, Owner, Rejected, Usage
from .store.replays import Once

if TYPE_CHECKING:
    from .ingest.briefing import Wishes

PROCEDURE = "procedural_memory"


def is_procedural(memory_type: Any, owner: Owner) -> bool:
    """Whether a record of how an agent did a task is wanted. Raises `ValidationError` for any other type."""
    if memory_type is None:
        return False
    if memory_type != PROCEDURE:
        raise ValidationError(f"memory_type must be {PROCEDURE!r}, or left out, not {shown(memory_type)}.")
    if not owner.agent_id:
        raise ValidationError(f"memory_type={PROCEDURE!r} is about what an agent did: give its agent_id.")
    return True


@dataclass(frozen=True, slots=True)
class Request:
    """One add, its arguments checked.

    told_at: the instant of the talk, where one was given.
    seen: what the description of its images cost.
    """

    owner: Owner
    run: str
    talk: Heard
    facts: Sequence[Any] | None
    infer: bool
    common: Common
    told_at: Instant | None
    act: Act
    once: Once | None
    editing: str | None
    prompt: str | None
    procedural: bool
    traced: bool
    began: float
    seen: Usage = field(default_factory=Usage)

    @property
    def observed_at(self) -> Instant:
        """When the talk took place."""
        return self.act.at if self.told_at is None else self.told_at


def refuse_wishes_without_model(parts: Parts, request: Request) -> None:
    """Raise `ValidationError` where a call wishes what only a model does, and asks none."""
    if asks_model(parts, request):
        return
    for name, given in (
        ("editing", request.editing),
        ("prompt", request.prompt),
        ("memory_type", request.procedural),
    ):
        if given:
            raise ValidationError(
                f"{name} is for a model, and this call asks none: it needs an llm, messages, and infer=True."
            )


def asks_model(parts: Parts, request: Request) -> bool:
    """Whether a model says what is to be kept."""
    return parts.llm is not None and request.facts is None and request.infer


async def with_images(parts: Parts, request: Request) -> Request:
    """The request with its messages' images in words, where a model sees. Raises as `described`."""
    if parts.vision is None:
        return request
    # With a model that sees only: what it needs takes a while to load.
    from .ingest.images import described, has_images

    if not has_images(request.talk):
        return request
    made = await on_loop(described(request.talk, parts.vision, parts.guard, parts.image_detail))
    return replace(request, talk=made.heard, seen=made.usage)


async def add(parts: Parts, request: Request, buried: tuple[Buried, ...]) -> shapes.AddResult:
    """Propose, decide and commit. Raises as `Engine.add`."""
    if asks_model(parts, request):
        return await _edited(parts, request, buried)
    return await _committed(parts, request, await _proposed(request, buried), buried)


async def _proposed(request: Request, buried: Sequence[Buried]) -> Proposed:
    """What is to be kept without a model's help."""
    if request.facts is not None:
        return propose.as_given(request.facts, request.talk, request.common, request.act.at)
    if not request.infer:
        return propose.without_buried(propose.as_said(request.talk, request.common), request.talk, buried)
    stated = await off_loop(lambda: propose.as_stated(request.talk, request.common, request.observed_at))
    return propose.without_buried(stated, request.talk, buried)


async def _committed(
    parts: Parts, request: Request, proposed: Proposed, buried: tuple[Buried, ...]
) -> shapes.AddResult:
    batch = Batch(
        owner=request.owner,
        run_id=request.run,
        observed_at=request.observed_at,
        messages=request.talk.messages,
        proposals=proposed.proposals,
        buried=buried,
    )

    async def embed_and_commit() -> shapes.AddResult:
        embedded = await parts.embeddings([p.content.text for p in batch.proposals])
        whole, failed = embedded_batch(batch, request.talk.numbers, embedded)
        told = steps.Told(
            mode=None,
            extractor=proposed.extractor,
            entries=steps.of_proposals(proposed, failed, request.talk.numbers),
            stages={"embed": Usage(embeddings=len(embedded.rows or ()))},
        )

        def answer(outcomes: list[Outcome]) -> Answered[shapes.AddResult]:
            return answered(parts, request, told, whole, outcomes, proposed.rejected, tuple(failed.values()))

        return await off_loop(lambda: commit(parts.store(), whole, request.act, request.once, answer))

    return await parts.in_current_space(embed_and_commit)


async def _edited(parts: Parts, request: Request, buried: tuple[Buried, ...]) -> shapes.AddResult:
    """What a model makes of the talk."""
    # With an LLM only, and off the loop: the rooms it brings in take a while to load, for which no loop should wait.
    await off_loop(lambda: import_module("mnemic.editing"))
    from .editing import Committed, Editor, Task

    settings = parts.settings
    assert parts.llm is not None, "there is a model"
    assert parts.decider is not None, "where there is a model, there is one for second decisions"
    task = Task(
        owner=request.owner,
        run=request.run,
        talk=request.talk,
        observed_at=request.observed_at,
        common=request.common,
        buried=buried,
        act=request.act,
        once=request.once,
        mode=settings.mode if request.editing is None else Editing(request.editing),
        wishes=wishes(settings, None if request.procedural else request.prompt),
    )

    def answer(stored: Committed, outcomes: list[Outcome]) -> Answered[shapes.AddResult]:
        told = steps.of_draft(stored, f"llm:{task.mode}", task.mode)
        rejected = (*request.talk.rejected, *stored.draft.rejected)
        return answered(parts, request, told, stored.batch, outcomes, rejected, tuple(stored.failed.values()))

    editor = Editor(parts, parts.llm, parts.decider, task)
    return await on_loop(editor.record(answer, request.prompt) if request.procedural else editor.add(answer))


def wishes(settings: Config, prompt: str | None) -> Wishes:
    """What the configuration asks of extraction; a call's own `prompt` comes before it."""
    from .ingest.briefing import Wishes

    return Wishes(
        instructions=settings.custom_instructions if prompt is None else prompt,
        body=settings.custom_fact_extraction_prompt,
        reconcile_body=settings.custom_update_memory_prompt,
        categories=settings.categories,
    )


def answered(
    parts: Parts,
    request: Request,
    told: steps.Told,
    batch: Batch,
    outcomes: Sequence[Outcome],
    rejected: Sequence[Rejected],
    failed: Sequence[Rejected],
) -> Answered[shapes.AddResult]:
    """The result of an add, and its steps where they are kept: always with a model, else where asked for."""
    stages = told.stages if request.seen == Usage() else {"vision": request.seen, **told.stages}
    usage = shapes.usage(stages, (perf_counter() - request.began) * 1000)
    result = shapes.add_result(batch, outcomes, rejected, failed, told.extractor, request.act.trace_id, usage)
    if told.mode is None and not request.traced:
        return Answered(result)
    trace = steps.trace_item(request, told, outcomes, usage)
    if request.traced:
        result["trace"] = trace
    return Answered(result, json.dumps(trace, ensure_ascii=False), parts.settings.trace_days)
