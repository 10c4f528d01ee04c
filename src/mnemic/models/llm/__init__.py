"""LLMs: messages to text. Importing this package loads no provider's library."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mnemic.errors import ConfigError
from mnemic.models.settings import ModelSettings

if TYPE_CHECKING:
    from .config import LLMConfig

# Requests to a model under way at once, unless told.
CONCURRENCY = 16

__all__ = ["CONCURRENCY", "LLM", "ChatMessage", "Completion", "Image", "config_of", "open_llm"]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture to be looked at. detail: how closely ("auto", "low", "high"), for models that can be told."""

    media_type: str
    data: bytes = field(repr=False)
    detail: str = "auto"

    @property
    def base64(self) -> str:
        """The picture as text."""
        return b64encode(self.data).decode("ascii")

    def as_dict(self) -> dict[str, Any]:
        """The picture as most chat endpoints take it. The detail is left out where it is their own choice."""
        told = {} if self.detail == "auto" else {"detail": self.detail}
        return {
            "type": "image_url",
            "image_url": {"url": f"data:{self.media_type};base64,{self.base64}", **told},
        }


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a request. role: "system", "user" or "assistant". images: for models that see."""

    role: str
    content: str
    images: tuple[Image, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The message as most chat endpoints take it: with images, in parts."""
        if not self.images:
            return {"role": self.role, "content": self.content}
        text = [{"type": "text", "text": self.content}] if self.content.strip() else []
        return {"role": self.role, "content": [*text, *(image.as_dict() for image in self.images)]}


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
    """Completes a chat. `name` is what results and traces call it; `concurrency`: how many at once."""

    name: str
    concurrency: int

    async def complete(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """The reply to `messages`; with `schema` (a JSON schema) the text should be JSON that fits it.

        The text is returned as it came, empty or cut included: callers judge it with `finish_reason`.
        Raises LLMError for an outage, ModelTimeoutError when the model took longer than its `timeout`.
        """
        ...

    async def close(self) -> None:
        """Give back connections; the LLM opens them again when it is used again."""
        ...


def open_llm(spec: object = None, settings: ModelSettings | None = None) -> LLM | None:
    """The LLM that `spec` gives, or None for None: no LLM is ever chosen from the environment.

    spec: a name ("openai:gpt-4o-mini", "anthropic:<model>", "ollama:llama3.1", "litellm:<model>", ...); an
    LLMConfig; a mapping with its keys or mem0's; an object with `complete(messages, schema=None)`, handed
    ChatMessages, returning a Completion or a string; a chat model of LangChain's (`ainvoke` or `invoke`); or a
    function from messages to text, handed plain dicts with "role" and "content", which with images is a list of
    OpenAI's parts. User code may be sync or
    async; sync code runs off the event loop, and its own exceptions pass through unchanged.

    Raises ConfigError for anything else, MissingDependencyError when the provider's package is not installed.
    """
    if spec is None:
        return None
    settings = settings or ModelSettings()
    config = config_of(spec)
    return _open_object(spec, settings) if config is None else _open(config, settings)


def config_of(spec: object) -> LLMConfig | None:
    """The settings in what `open_llm` takes; None for an object of the user's own, and for None.

    Raises ConfigError for wrong settings.
    """
    from .config import LLMConfig, config_from_mapping, config_from_name

    if isinstance(spec, LLMConfig):
        return spec
    if isinstance(spec, str):
        return config_from_name(spec)
    return config_from_mapping(spec) if isinstance(spec, Mapping) else None


def _open(config: LLMConfig, settings: ModelSettings) -> LLM:
    if config.adapter == "openai":
        from .openai import open_openai

        return open_openai(config, settings.run_blocking)
    if config.adapter == "anthropic":
        from .anthropic import open_anthropic

        return open_anthropic(config, settings.run_blocking)
    if config.adapter == "litellm":
        from .litellm import open_litellm

        return open_litellm(config, settings.run_blocking)
    from .langchain import is_langchain

    if not is_langchain(config.model):
        raise ConfigError(
            "llm.model must be a chat model of LangChain's with ainvoke or invoke, given as an object."
        )
    return _open_object(config.model, settings)


def _open_object(source: object, settings: ModelSettings) -> LLM:
    from .custom import CustomLLM
    from .langchain import LangChainLLM, is_langchain
    from .remote import RemoteLLM

    if isinstance(source, CustomLLM | LangChainLLM | RemoteLLM):
        return source
    if isinstance(source, type):
        raise ConfigError(f"llm is the class {source.__name__}; pass an instance of it.")
    if callable(getattr(source, "complete", None)):
        return CustomLLM(source, settings.run_blocking, settings.on_loop)
    if is_langchain(source):
        return LangChainLLM(source, settings.run_blocking, settings.on_loop)
    if callable(source):
        return CustomLLM(source, settings.run_blocking, settings.on_loop)
    raise ConfigError(
        f"llm is {type(source).__name__}; accepted: None, a name such as 'openai:<model>', a config, an object "
        "with complete(messages, schema=None), or a function from messages to text."
    )
