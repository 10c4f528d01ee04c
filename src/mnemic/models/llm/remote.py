"""What the adapters of models behind endpoints share: what is sent, and what is learnt about a server."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnemic.errors import LLMOutputError, LLMRefusedError, ValidationError
from mnemic.models.embed.texts import clean_text
from mnemic.models.endpoint import Endpoint, EndpointConfig, Refusal, secrets_of
from mnemic.models.llm import ChatMessage, Completion
from mnemic.models.llm.config import LLMConfig

# A server may refuse this many things of a request, one after the other.
_MAX_CONCESSIONS = 6
_RAW_CHARS = 2_000

Fields = dict[str, object]
# One way of asking for JSON: the fields that ask for it, given the schema.
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Manners:
    """What a server turned out to take: how JSON may be asked for, and which fields it wants left out.

    form: an index into the adapter's ways of asking, the last of which is not to ask at all.
    """

    form: int = 0
    left_out: frozenset[str] = frozenset()

    def joined(self, other: Manners) -> Manners:
        """What is taken by all that both have seen; calls learn side by side."""
        return Manners(max(self.form, other.form), self.left_out | other.left_out)


class RemoteLLM(ABC):
    """A model behind an endpoint.

    Blank messages are never sent. U+0000 and lone surrogates, which end or break a request, are replaced. What
    the server refuses of a request is left out and, once a request without it has passed, never sent again.
    """

    # `complete` needs a running event loop.
    awaits = True

    path: str

    def __init__(self, config: LLMConfig, endpoint: Endpoint) -> None:
        self.name = config.name
        self.concurrency = config.max_concurrency
        self._config = config
        self._endpoint = endpoint
        self._manners = Manners()

    async def complete(self, messages: Sequence[ChatMessage], schema: Schema | None = None) -> Completion:
        """As `LLM.complete`. Raises ValidationError where there is nothing to send, LLMRefusedError for a refusal."""
        sent = [
            ChatMessage(message.role, text, message.images)
            for message in messages
            if (text := clean_text(message.content)).strip() or message.images
        ]
        if all(message.role == "system" for message in sent):
            raise ValidationError("messages hold no text for the LLM to reply to.")
        manners = self._manners
        for _ in range(_MAX_CONCESSIONS):
            fields = self._fields(sent)
            asked = {} if schema is None else self._ways(schema)[manners.form]
            optional = {**self._optional(manners.left_out), **asked}
            fields |= {name: value for name, value in optional.items() if name not in manners.left_out}
            outcome = await self._endpoint.post(self.path, fields)
            if not isinstance(outcome, Refusal):
                self._manners = self._manners.joined(manners)
                return self._read(outcome.body)
            refusal = outcome
            conceded = self._conceded(manners, refusal, asked, fields)
            if conceded is None:
                break
            manners = conceded
        raise LLMRefusedError(
            f"The LLM {self.name!r} refused the request: {refusal.status}: {refusal.message}",
            details={"status": refusal.status},
        )

    async def close(self) -> None:
        """Close this loop's connections; they are opened again when needed."""
        await self._endpoint.close()

    def _conceded(self, manners: Manners, refusal: Refusal, asked: Fields, fields: Fields) -> Manners | None:
        """What to try after a refusal; None when it is about nothing that can be left out."""
        if any(refusal.names(name) for name in asked) or (asked and "schema" in refusal.message.lower()):
            return replace(manners, form=self._next_form(manners.form, refusal))
        for name in self._optional(manners.left_out):
            if name in fields and refusal.names(name):
                return replace(manners, left_out=manners.left_out | {name})
        return None

    def _next_form(self, form: int, refusal: Refusal) -> int:  # noqa: ARG002
        return form + 1

    def _optional(self, left_out: frozenset[str]) -> Fields:  # noqa: ARG002
        """The fields that are sent only if set; the server wants those in `left_out` left out."""
        config = self._config
        values = {
            "temperature": config.temperature,
            "top_p": config.top_p,
            "top_k": config.top_k,
            "max_tokens": config.max_tokens,
            "reasoning_effort": config.reasoning_effort,
            **config.body,
        }
        return {name: value for name, value in values.items() if value is not None}

    @abstractmethod
    def _fields(self, messages: list[ChatMessage]) -> Fields:
        """What every request holds."""

    @abstractmethod
    def _ways(self, schema: Schema) -> Sequence[Fields]:
        """The ways of asking for JSON, best first; the last asks for nothing."""

    @abstractmethod
    def _read(self, body: object) -> Completion:
        """The completion in the body of a reply."""


def endpoint_config(
    config: LLMConfig, base_url: str, api_key: str, headers: Mapping[str, str]
) -> EndpointConfig:
    """The endpoint of a model."""
    return EndpointConfig(
        option="llm",
        base_url=base_url,
        api_key=api_key,
        timeout=config.timeout,
        max_retries=config.max_retries,
        max_concurrency=config.max_concurrency,
        headers=dict(headers),
        api_version=config.api_version,
        secrets=secrets_of(config.body, headers),
    )


def unusable(name: str, body: object) -> LLMOutputError:
    """The error for a reply that is none."""
    raw = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
    return LLMOutputError(
        f"The LLM {name!r} sent a reply without a message: {raw[:200]}", raw=raw[:_RAW_CHARS]
    )


def count_of(usage: object, *names: str) -> int | None:
    """A number of tokens by the first of these names that the usage has; None where it has none."""
    if not isinstance(usage, Mapping):
        return None
    found = (usage.get(name) for name in names)
    return next((value for value in found if isinstance(value, int) and not isinstance(value, bool)), None)


def text_of(content: object) -> str:
    """The text of a message's content: a string, or parts of which those with a text count."""
    if isinstance(content, str):
        return content
    parts: Sequence[Any] = content if isinstance(content, list) else []
    texts = [
        part if isinstance(part, str) else part.get("text")
        for part in parts
        if isinstance(part, str | Mapping)
    ]
    return "".join(text for text in texts if isinstance(text, str))
