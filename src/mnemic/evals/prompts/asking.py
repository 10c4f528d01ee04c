"""The model of one stage of one case: it answers from what was recorded, or asks a live model, and notes both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from mnemic.errors import LLMError
from mnemic.models.llm import LLM, ChatMessage, Completion

from .answers import Answer, Answers, Recording, Request, fingerprint

NOTHING = '{"facts": []}'


class UnansweredError(LLMError):
    """There is no answer to what would be sent."""

    def __init__(self, request: Request, *, stale: bool) -> None:
        to_other = "The answer is to something else than what is sent now"
        super().__init__(f"{to_other if stale else 'There is no answer'} (stage {request.stage!r}).")
        self.request = request
        self.stale = stale


@dataclass(slots=True)
class Sheet:
    """What is known of one run of a case, and what comes of it.

    prompts: the prompt of each stage. listening: while True, the model is told of the talk so far and has nothing
    to say. used: the answers that were taken, in order.
    """

    case: str
    mode: str
    prompts: Mapping[str, str]
    recorded: Answers
    live: Mapping[str, LLM]
    recording: Recording | None = None
    listening: bool = False
    used: list[Answer] = field(default_factory=list)


class CaseModel:
    """An LLM for one stage, as `Memory(llm=...)` takes it."""

    def __init__(self, sheet: Sheet, stage: str) -> None:
        self._sheet = sheet
        self._stage = stage
        live = sheet.live.get(stage)
        self.name = "recorded" if live is None else live.name

    async def complete(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The answer. Raises `UnansweredError` where there is none and no live model."""
        sheet = self._sheet
        if sheet.listening:
            return Completion(text=NOTHING, model=self.name)
        sent = tuple(message.as_dict() for message in messages)
        prompt = sheet.prompts[self._stage]
        request = Request(sheet.case, sheet.mode, self._stage, prompt, fingerprint(sent), sent)
        live = sheet.live.get(self._stage)
        answer = sheet.recorded.of(request) if live is None else await _ask(live, request, messages, schema)
        if answer is None:
            # What is asked again, since the first reply could not be read, was never asked before.
            again = any(one.stage == self._stage for one in sheet.used)
            raise UnansweredError(request, stale=not again and sheet.recorded.has_stage(request))
        sheet.used.append(answer)
        if live is not None and sheet.recording is not None:
            sheet.recording.add(answer)
        # Not how it finished, which no file of answers tells: a live reply is read as its record will be.
        return Completion(answer.reply, answer.model, answer.tokens_in, answer.tokens_out)


async def _ask(
    live: LLM, request: Request, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None
) -> Answer:
    began = perf_counter()
    reply = await live.complete(messages, schema)
    ms = (perf_counter() - began) * 1000
    return Answer(
        case=request.case,
        mode=request.mode,
        stage=request.stage,
        prompt=request.prompt,
        sha256=request.sha256,
        model=reply.model,
        date=datetime.now(UTC).date().isoformat(),
        reply=reply.text,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        ms=round(ms, 1),
    )
