"""A chat model of LangChain's, given as an object."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.errors import LLMOutputError
from mnemic.models.llm import CONCURRENCY, ChatMessage, Completion
from mnemic.models.settings import OnLoop, RunBlocking, name_of

from .remote import count_of, text_of


def is_langchain(source: object) -> bool:
    """Whether an object is called as LangChain's models are."""
    return callable(getattr(source, "ainvoke", None)) or callable(getattr(source, "invoke", None))


class LangChainLLM:
    """Calls the user's model, which stays theirs: its settings, its retries, its own exceptions.

    It is asked in plain text; the prompt has to say what JSON is wanted.
    """

    awaits = False
    concurrency = CONCURRENCY

    def __init__(self, source: object, run_blocking: RunBlocking, on_loop: OnLoop) -> None:
        model = getattr(source, "model_name", None) or getattr(source, "model", None)
        self.name = f"langchain:{model}" if isinstance(model, str) else name_of(source)
        self._ainvoke: Any = getattr(source, "ainvoke", None)
        self._invoke: Any = getattr(source, "invoke", None)
        self._run_blocking = run_blocking
        self._on_loop = on_loop

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Completion:
        """As `LLM.complete`. Raises LLMOutputError when the model returns neither a message nor a string."""
        given = [message.as_dict() for message in messages]
        if callable(self._ainvoke):
            made: Any = await self._on_loop(self._ainvoke(given))
        else:
            made = await self._run_blocking(functools.partial(self._invoke, given))
        content = getattr(made, "content", made)
        if not isinstance(content, str | list):
            raise LLMOutputError(
                f"The LLM {self.name!r} returned {type(made).__name__}, no message.", raw=repr(made)
            )
        usage, meta = getattr(made, "usage_metadata", None), getattr(made, "response_metadata", None)
        reasons = [meta.get(name) for name in ("finish_reason", "stop_reason", "done_reason")] if meta else []
        return Completion(
            text=text_of(content),
            model=self.name,
            tokens_in=count_of(usage, "input_tokens"),
            tokens_out=count_of(usage, "output_tokens"),
            finish_reason=next((reason for reason in reasons if isinstance(reason, str)), None),
        )

    async def close(self) -> None:
        """Does nothing: the user's model stays open."""
