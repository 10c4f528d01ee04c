"""A user's own LLM: an object with `complete` or a plain function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mnemic.errors import LLMOutputError
from mnemic.models.llm import CONCURRENCY, ChatMessage, Completion
from mnemic.models.settings import OnLoop, RunBlocking, name_of


class CustomLLM:
    """Calls the user's code; its own exceptions pass through unchanged. The object stays the user's."""

    awaits = False
    concurrency = CONCURRENCY

    def __init__(self, source: object, run_blocking: RunBlocking, on_loop: OnLoop) -> None:
        complete: Any = getattr(source, "complete", None)
        self._is_object = callable(complete)
        call: Any = complete if self._is_object else source
        self._call: Callable[..., object] = call
        self._run_blocking = run_blocking
        self._on_loop = on_loop
        self.name = name_of(source)

    async def complete(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """As `LLM.complete`. Raises LLMOutputError when the user's code returns no text."""
        if self._is_object:
            call = functools.partial(self._call, list(messages), schema=schema)
        else:
            call = functools.partial(self._call, [message.as_dict() for message in messages])
        made = call() if inspect.iscoroutinefunction(self._call) else await self._run_blocking(call)
        if inspect.isawaitable(made):
            made = await self._on_loop(_awaited(made))
        if isinstance(made, Completion):
            return made
        if isinstance(made, str):
            return Completion(text=made, model=self.name)
        raise LLMOutputError(
            f"The LLM {self.name!r} returned {type(made).__name__}; accepted: a string or a Completion.",
            raw=repr(made),
        )

    async def close(self) -> None:
        """Does nothing: the user's object stays open."""


async def _awaited(made: Awaitable[object]) -> object:
    return await made
