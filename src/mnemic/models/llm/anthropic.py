"""Anthropic's messages."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.errors import LLMError
from mnemic.models.endpoint import SDK, Client, Endpoint, EndpointConfig, resolve_address
from mnemic.models.llm import ChatMessage, Completion
from mnemic.models.llm.config import LLMConfig
from mnemic.models.providers import LLMS
from mnemic.models.settings import RunBlocking

from .remote import Fields, RemoteLLM, Schema, count_of, endpoint_config, unusable

# The API wants a limit; this many tokens hold the facts of a long conversation.
DEFAULT_MAX_TOKENS = 4096
_TOOL = "reply"
_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "max_tokens": "length"}


def open_anthropic(config: LLMConfig, run_blocking: RunBlocking) -> AnthropicLLM:
    """A model of Anthropic's. Raises ConfigError where the key is missing."""
    provider = LLMS[config.provider]
    base_url, api_key = resolve_address(config.base_url, config.api_key, "llm", os.environ, provider)
    settings = endpoint_config(config, base_url.removesuffix("/v1"), api_key, config.headers)
    return AnthropicLLM(config, Endpoint(settings, LLMError, run_blocking, _SDK))


class AnthropicLLM(RemoteLLM):
    """One model. With a schema it has to answer by calling a tool of that schema; where that is refused, in text."""

    path = "/v1/messages"

    def _fields(self, messages: list[ChatMessage]) -> Fields:
        fields: Fields = {
            "model": self._config.model,
            "max_tokens": self._config.max_tokens or DEFAULT_MAX_TOKENS,
            "messages": [_as_dict(message) for message in messages if message.role != "system"],
        }
        system = [message.content for message in messages if message.role == "system"]
        if system:
            fields["system"] = "\n\n".join(system)
        return fields

    def _optional(self, left_out: frozenset[str]) -> Fields:
        fields = super()._optional(left_out)
        # Not optional here; and the API knows no efforts.
        return {
            name: value for name, value in fields.items() if name not in ("max_tokens", "reasoning_effort")
        }

    def _ways(self, schema: Schema) -> Sequence[Fields]:
        tool = {"name": _TOOL, "description": "Give the reply.", "input_schema": dict(schema)}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": _TOOL}}, {}

    def _read(self, body: object) -> Completion:
        content: Any = body.get("content") if isinstance(body, Mapping) else None
        if not isinstance(body, Mapping) or not isinstance(content, list):
            raise unusable(self.name, body)
        blocks = [block for block in content if isinstance(block, Mapping)]
        called = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        told = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
        usage, reason = body.get("usage"), body.get("stop_reason")
        return Completion(
            text=json.dumps(called[0], ensure_ascii=False) if called else "".join(told),
            model=self.name,
            tokens_in=count_of(usage, "input_tokens"),
            tokens_out=count_of(usage, "output_tokens"),
            finish_reason=_FINISH.get(reason, reason) if isinstance(reason, str) else None,
        )


def _as_dict(message: ChatMessage) -> dict[str, Any]:
    """A message in Anthropic's form; images come before what is said of them."""
    if not message.images:
        return message.as_dict()
    sources = [
        {"type": "base64", "media_type": image.media_type, "data": image.base64} for image in message.images
    ]
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return {
        "role": message.role,
        "content": [*({"type": "image", "source": source} for source in sources), *text],
    }


def _client(config: EndpointConfig) -> Client:
    import anthropic

    client: Client = anthropic.AsyncAnthropic(
        base_url=config.base_url,
        api_key=config.api_key,
        timeout=config.timeout,
        max_retries=0,
        default_headers=dict(config.headers),
    )
    return client


_SDK = SDK("anthropic", "anthropic", "anthropic", _client)
