"""Asking an LLM: for JSON, once, and once more with what was wrong; or for plain words."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from mnemic.errors import LLMOutputError
from mnemic.models.embed.texts import clean_text
from mnemic.models.llm import LLM, ChatMessage, Completion
from mnemic.records import Usage

from .reply import read_reply, read_text

T = TypeVar("T")

# How providers say that a reply ended because it grew too long.
CUT_REASONS = frozenset({"length", "max_tokens"})
_QUOTED_CHARS = 4_000
_CUT = "The reply was cut off because it grew too long; be shorter."


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request, as sent, and its reply; `fault` is what was wrong with that."""

    sent: tuple[ChatMessage, ...]
    raw: str
    model: str
    usage: Usage
    fault: LLMOutputError | None = None


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What an LLM was asked for, as read; and each request that it took, the last of which gave it."""

    value: T
    attempts: tuple[Attempt, ...]

    @property
    def raw(self) -> str:
        """The model's own words."""
        return self.attempts[-1].raw

    @property
    def model(self) -> str:
        """The model, as it calls itself."""
        return self.attempts[-1].model

    @property
    def usage(self) -> Usage:
        """What it cost."""
        return functools.reduce(Usage.plus, (one.usage for one in self.attempts))


async def complete_json(
    llm: LLM, messages: Sequence[ChatMessage], schema: Mapping[str, Any], read: Callable[[Any], T]
) -> Asked[T]:
    """Ask for JSON and read it.

    schema: the JSON schema of the reply; all its properties required and no others allowed, as strict endpoints
    demand. read: turns a JSON value into what is wanted, and raises UnreadableError with words for the model.

    A reply that was cut or cannot be read is quoted to the model with the fault, once. Raises LLMOutputError
    with the text of the second, LLMError or ModelTimeoutError for an outage.
    """
    reading: Callable[[str], T] = functools.partial(read_reply, read=read)
    first, values = await _attempt(llm, messages, schema, reading)
    if first.fault is None:
        return Asked(values[0], (first,))
    complaint = _complaint(first.raw, first.fault.message)
    last, values = await _attempt(llm, [*messages, *complaint], schema, reading)
    if last.fault is not None:
        raise last.fault
    return Asked(values[0], (first, last))


async def complete_text(llm: LLM, messages: Sequence[ChatMessage]) -> Asked[str]:
    """Ask for plain words, as `read_text` reads them.

    Raises LLMOutputError for a reply that was cut, or says nothing; LLMError or ModelTimeoutError for an outage.
    """
    attempt, values = await _attempt(llm, messages, None, read_text)
    if attempt.fault is not None:
        raise attempt.fault
    return Asked(values[0], (attempt,))


async def _attempt(
    llm: LLM, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None, read: Callable[[str], T]
) -> tuple[Attempt, tuple[T, ...]]:
    """One call: an attempt with one value, or with a fault and none."""
    began = time.perf_counter()
    raw, model, usage = "", llm.name, Usage(calls=1)
    values: tuple[T, ...] = ()
    found: LLMOutputError | None = None
    try:
        completion = await llm.complete(messages, schema)
        # What a store cannot hold is no part of any reply.
        raw, model = clean_text(completion.text), clean_text(completion.model)
        usage = cost_of(completion)
        if completion.finish_reason in CUT_REASONS:
            raise LLMOutputError(_CUT, raw=raw)
        values = (read(raw),)
    except LLMOutputError as fault:
        found = fault
    usage = replace(usage, ms=(time.perf_counter() - began) * 1000)
    return Attempt(tuple(messages), raw, model, usage, found), values


def cost_of(completion: Completion) -> Usage:
    """What one call cost, as far as its model tells."""
    return Usage(calls=1, tokens_in=completion.tokens_in or 0, tokens_out=completion.tokens_out or 0)


def _complaint(raw: str, fault: str) -> list[ChatMessage]:
    """What the model wrote, cut to a bearable length, and what was wrong with it."""
    told = ChatMessage("user", f"That reply could not be used: {fault} Reply again, with the JSON only.")
    return [ChatMessage("assistant", raw[:_QUOTED_CHARS]), told] if raw.strip() else [told]
