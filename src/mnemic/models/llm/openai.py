"""Chat completions from any endpoint that speaks OpenAI's protocol: OpenAI, Azure, Ollama, vLLM and others."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.errors import LLMError, LLMRefusedError
from mnemic.models.endpoint import OPENAI_SDK, Endpoint, Refusal, azure_url, resolve_address
from mnemic.models.llm import ChatMessage, Completion
from mnemic.models.llm.config import LLMConfig
from mnemic.models.providers import LLMS
from mnemic.models.settings import RunBlocking

from .remote import Fields, RemoteLLM, Schema, count_of, endpoint_config, text_of, unusable

_JSON_OBJECT = 1
_PLAIN = 2
# A refusal of how JSON is asked for, and not of asking for it.
_ABOUT_THE_KIND = re.compile(r"schema|\btype\b", re.IGNORECASE)


def open_openai(config: LLMConfig, run_blocking: RunBlocking) -> OpenAILLM:
    """The model of an OpenAI-compatible provider. Raises ConfigError where its address or key is missing."""
    provider = LLMS[config.provider]
    base_url, api_key = resolve_address(config.base_url, config.api_key, "llm", os.environ, provider)
    headers = dict(config.headers)
    if config.provider.startswith("azure"):
        base_url = azure_url(base_url, config.api_version)
        headers.setdefault("api-key", api_key)
    settings = endpoint_config(config, base_url, api_key, headers)
    return OpenAILLM(config, Endpoint(settings, LLMError, run_blocking, OPENAI_SDK))


class OpenAILLM(RemoteLLM):
    """One model at one endpoint.

    With a schema it asks for JSON by that schema; where the server refuses that, for a JSON object; where it
    refuses that too, for nothing, and the prompt alone has to do. Where `max_tokens` is refused in favour of
    `max_completion_tokens`, that is sent.
    """

    path = "/chat/completions"

    def _fields(self, messages: list[ChatMessage]) -> Fields:
        return {"model": self._config.model, "messages": [message.as_dict() for message in messages]}

    def _optional(self, left_out: frozenset[str]) -> Fields:
        fields = super()._optional(left_out)
        if "max_tokens" in left_out and self._config.max_tokens is not None:
            fields["max_completion_tokens"] = self._config.max_tokens
        return fields

    def _ways(self, schema: Schema) -> Sequence[Fields]:
        by_schema = {"name": "reply", "schema": dict(schema), "strict": True}
        return (
            {"response_format": {"type": "json_schema", "json_schema": by_schema}},
            {"response_format": {"type": "json_object"}},
            {},
        )

    def _next_form(self, form: int, refusal: Refusal) -> int:
        """The JSON object where a schema is refused; nothing where the field itself is."""
        return _JSON_OBJECT if form < _JSON_OBJECT and _ABOUT_THE_KIND.search(refusal.message) else _PLAIN

    def _read(self, body: object) -> Completion:
        choices: Any = body.get("choices") if isinstance(body, Mapping) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if (
            not isinstance(body, Mapping)
            or not isinstance(choice, Mapping)
            or not isinstance(message, Mapping)
        ):
            raise unusable(self.name, body)
        text = text_of(message.get("content"))
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        if not text and isinstance(message.get("refusal"), str):
            raise LLMRefusedError(f"The LLM {self.name!r} refused to reply: {message['refusal']:.200}")
        if not text and isinstance(reasoning, str):
            # Reasoning is no reply, but all there is to look at when there is no other.
            text = f"<think>{reasoning}</think>"
        usage, finish = body.get("usage"), choice.get("finish_reason")
        return Completion(
            text=text,
            model=self.name,
            tokens_in=count_of(usage, "prompt_tokens"),
            tokens_out=count_of(usage, "completion_tokens"),
            finish_reason=finish if isinstance(finish, str) else None,
        )
