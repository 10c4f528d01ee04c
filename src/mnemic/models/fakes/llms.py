"""LLMs without a model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mnemic.errors import LLMError
from mnemic.models.llm import CONCURRENCY, LLM, ChatMessage, Completion

Reply = str | Mapping[str, Any] | Completion | BaseException | Callable[[Sequence[ChatMessage]], str]


@dataclass(frozen=True, slots=True)
class LLMRequest:
    """What an LLM was asked."""

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None


class ScriptedLLM:
    """Replies from a script, in order; `requests` records what was asked.

    A reply is a text, a mapping (sent as JSON), a Completion, an exception to raise, or a function from the
    messages to a text. Token counts are words, so that usage can be tested.
    """

    def __init__(self, replies: Iterable[Reply] = (), name: str = "fake:scripted") -> None:
        self.name = name
        self.concurrency = CONCURRENCY
        self.requests: list[LLMRequest] = []
        self._replies: list[Reply] = list(replies)

    def enqueue(self, *replies: Reply) -> None:
        """Add replies to the end of the script."""
        self._replies.extend(replies)

    async def complete(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The next reply. Raises LLMError when the script has come to its end."""
        self.requests.append(LLMRequest(tuple(messages), schema))
        if not self._replies:
            raise LLMError(
                f"{self.name} has no reply left for request {len(self.requests)}.",
                suggestion="Give it more replies, or add some with enqueue().",
            )
        reply = self._replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, Completion):
            return reply
        if isinstance(reply, Mapping):
            text = json.dumps(reply, ensure_ascii=False)
        else:
            text = reply(messages) if callable(reply) else reply
        return Completion(
            text=text,
            model=self.name,
            tokens_in=sum(len(message.content.split()) for message in messages),
            tokens_out=len(text.split()),
            finish_reason="stop",
        )

    async def close(self) -> None:
        """Does nothing: there are no connections."""


class LLMFault(StrEnum):
    """What goes wrong in one call of a FaultyLLM."""

    RAISE = "raise"
    HANG = "hang"
    EMPTY = "empty"
    CUT = "cut"
    CHATTER = "chatter"


class FaultyLLM:
    """Another LLM that goes wrong as planned.

    plan: by call number, from 1. The value is an LLMFault or an exception to raise. `RAISE` raises LLMError,
    `HANG` waits until cancelled, `CUT` keeps the first half of the text with finish_reason "length",
    `CHATTER` puts a sentence before and after it.
    """

    def __init__(self, inner: LLM, plan: Mapping[int, LLMFault | BaseException]) -> None:
        self.name = inner.name
        self.concurrency = inner.concurrency
        self.calls = 0
        self._inner = inner
        self._plan = dict(plan)

    async def complete(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """What `inner` replies, or what the plan makes of it."""
        self.calls += 1
        fault = self._plan.get(self.calls)
        if isinstance(fault, BaseException):
            raise fault
        if fault is LLMFault.RAISE:
            raise LLMError(f"{self.name} fails at call {self.calls}, as planned.")
        if fault is LLMFault.HANG:
            await asyncio.Event().wait()
        reply = await self._inner.complete(messages, schema)
        return reply if fault is None else _spoiled(reply, fault)

    async def close(self) -> None:
        """Close the LLM inside."""
        await self._inner.close()


def _spoiled(reply: Completion, fault: LLMFault) -> Completion:
    if fault is LLMFault.EMPTY:
        return replace(reply, text="")
    if fault is LLMFault.CUT:
        return replace(reply, text=reply.text[: len(reply.text) // 2], finish_reason="length")
    return replace(reply, text=f"Sure, here it is:\n{reply.text}\nLet me know if you need more.")
