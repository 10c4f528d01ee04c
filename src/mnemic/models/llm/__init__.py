"""LLMs: messages to text. Importing this package loads no provider's library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from mnemic.errors import ConfigError
from mnemic.models.settings import ModelSettings

__all__ = ["LLM", "ChatMessage", "Completion", "open_llm"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a request. role: "system", "user" or "assistant"."""

    role: str
    content: str

    def as_dict(self) -> dict[str, str]:
        """The message as most chat endpoints take it."""
        return {"role": self.role, "content": self.content}


@dataclass(frozen=True, slots=True)
class Completion:
    """What an LLM replied. Token counts and `finish_reason` ("stop", "length") are None where unknown."""

    text: str
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None


@runtime_checkable
class LLM(Protocol):
    """Completes a chat. `name` is what results and traces call it."""

    name: str

    async def complete(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The reply to `messages`; with `schema` (a JSON schema) the text should be JSON that fits it.

        The text is returned as it came, empty or cut included: callers judge it with `finish_reason`.
        Raises LLMError for an outage, ModelTimeoutError when the model took longer than its `timeout`.
        """
        ...


def open_llm(spec: object = None, settings: ModelSettings | None = None) -> LLM | None:
    """The LLM that `spec` gives, or None for None: no LLM is ever chosen from the environment.

    spec: an object with `complete(messages, schema=None)`, handed ChatMessages, returning a Completion or a
    string; or a function from messages to text, handed plain dicts with "role" and "content". Sync or async;
    sync code runs off the event loop, and its own exceptions pass through unchanged.

    Raises ConfigError for anything else.
    """
    if spec is None:
        return None
    from .custom import CustomLLM

    if isinstance(spec, CustomLLM):
        return spec
    if isinstance(spec, type):
        raise ConfigError(f"llm is the class {spec.__name__}; pass an instance of it.")
    if not callable(getattr(spec, "complete", None)) and not callable(spec):
        raise ConfigError(
            f"llm is {type(spec).__name__}; accepted: None, an object with complete(messages, schema=None), "
            "or a function from messages to text."
        )
    return CustomLLM(spec, (settings or ModelSettings()).run_blocking)
