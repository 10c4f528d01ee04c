"""Asking an LLM for JSON: once, and once more with what was wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from mnemic.errors import LLMOutputError
from mnemic.models.llm import LLM, ChatMessage, Completion
from mnemic.records import Usage

from .reply import read_reply

T = TypeVar("T")

# How providers say that a reply ended because it grew too long.
CUT_REASONS = frozenset({"length", "max_tokens"})
_QUOTED_CHARS = 4_000
_CUT = "The reply was cut off because it grew too long; be shorter."


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What an LLM was asked for: as read, its own words, the model, and what it cost."""

    value: T
    raw: str
    model: str
    usage: Usage


async def complete_json(
    llm: LLM, messages: Sequence[ChatMessage], schema: Mapping[str, Any], read: Callable[[Any], T]
) -> Asked[T]:
    """Ask for JSON and read it.

    schema: the JSON schema of the reply; all its properties required and no others allowed, as strict endpoints
    demand. read: turns a JSON value into what is wanted, and raises UnreadableError with words for the model.

    A reply that was cut or cannot be read is quoted to the model with the fault, once. Raises LLMOutputError
    with the text of the second, LLMError or ModelTimeoutError for an outage.
    """
    began = time.perf_counter()
    first = await _attempt(llm, messages, schema, read)
    last, usage = first, first.usage
    if first.fault is not None:
        last = await _attempt(llm, [*messages, *_complaint(first.raw, first.fault.message)], schema, read)
        usage = usage.plus(last.usage)
    if last.fault is not None:
        raise last.fault
    [value] = last.values
    return Asked(value, last.raw, last.model, replace(usage, ms=(time.perf_counter() - began) * 1000))


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[T]):
    """One call: one value, or a fault."""

    values: tuple[T, ...]
    fault: LLMOutputError | None
    raw: str
    model: str
    usage: Usage


async def _attempt(
    llm: LLM, messages: Sequence[ChatMessage], schema: Mapping[str, Any], read: Callable[[Any], T]
) -> _Attempt[T]:
    raw, model, usage = "", llm.name, Usage(calls=1)
    try:
        completion = await llm.complete(messages, schema)
        raw, model, usage = completion.text, completion.model, cost_of(completion)
        if completion.finish_reason in CUT_REASONS:
            raise LLMOutputError(_CUT, raw=raw)
        return _Attempt((read_reply(raw, read),), None, raw, model, usage)
    except LLMOutputError as fault:
        return _Attempt((), fault, raw, model, usage)


def cost_of(completion: Completion) -> Usage:
    """What one call cost, as far as its model tells."""
    return Usage(calls=1, tokens_in=completion.tokens_in or 0, tokens_out=completion.tokens_out or 0)


def _complaint(raw: str, fault: str) -> list[ChatMessage]:
    """What the model wrote, cut to a bearable length, and what was wrong with it."""
    told = ChatMessage("user", f"That reply could not be used: {fault} Reply again, with the JSON only.")
    return [ChatMessage("assistant", raw[:_QUOTED_CHARS]), told] if raw.strip() else [told]
