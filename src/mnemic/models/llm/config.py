"""The settings of an LLM: a short name such as "openai:gpt-4o-mini", our keys, or mem0's."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mnemic.checks import is_number, shown
from mnemic.errors import ConfigError, nearest
from mnemic.models.llm import CONCURRENCY
from mnemic.models.providers import LLMS, Adapter
from mnemic.models.translate import (
    AWS,
    PROXIES,
    Translate,
    azure,
    into,
    into_body,
    needless,
    same_as,
    translated,
    unsupported,
)

_NUMBERS: Mapping[str, type[int] | type[float]] = {
    "temperature": float,
    "top_p": float,
    "timeout": float,
    "top_k": int,
    "max_tokens": int,
    "max_retries": int,
    "max_concurrency": int,
}
_DETAILS = ("auto", "low", "high")


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """Which LLM, and how to reach it.

    provider: one of `LLMS`. model: the provider's name of the model; for "langchain" the chat model itself.
    base_url: of the API, where it is not the provider's own; for OpenAI-compatible ones with or without "/v1".
    api_key: never shown. Without it, and without a base_url of your own, the provider's environment variable.
    temperature, top_p, top_k, max_tokens, reasoning_effort: sent when set; a field that the server refuses is
    left out from then on. The temperature is 0 unless set; None leaves it out.
    timeout: seconds one request may take. max_retries: further tries after 429, 5xx or a lost connection.
    max_concurrency: requests to the model in flight at once.
    api_version: of Azure's older API; without it, its newer one.
    vision: whether the model sees, and is to describe the images in messages. image_detail: how closely it looks
    at them, "auto", "low" or "high".
    body, headers: further fields and headers of each request; never shown.

    Raises ConfigError naming the setting, its value and what is accepted.
    """

    provider: str
    model: Any = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    api_version: str | None = None
    timeout: float = 60.0
    max_retries: int = 2
    max_concurrency: int = CONCURRENCY
    vision: bool = False
    image_detail: str = "auto"
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.provider not in LLMS:
            raise _wrong("provider", self.provider, f"one of {', '.join(LLMS)}", LLMS)
        texts = ["base_url", "api_key", "reasoning_effort", "api_version"]
        if self.adapter != "langchain":
            texts.append("model")
        for name in texts:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise _wrong(
                    name, "a value of another type" if name == "api_key" else value, "a non-empty string"
                )
        if self.model is None:
            raise _wrong("model", None, "the provider's name of the model, as in 'openai:gpt-4o-mini'")
        for name, least in (("max_retries", 0), ("max_concurrency", 1), ("top_k", 1), ("max_tokens", 1)):
            value = getattr(self, name)
            if not (value is None and name in ("top_k", "max_tokens")) and not _is_int(value, least):
                raise _wrong(name, value, f"a whole number of at least {least}")
        for name, highest in (("temperature", 2.0), ("top_p", 1.0)):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0 <= value <= highest):
                raise _wrong(name, value, f"a number from 0 to {highest:g}, or None")
        if not is_number(self.timeout) or self.timeout <= 0:
            raise _wrong("timeout", self.timeout, "a number of seconds above 0")
        if not isinstance(self.vision, bool):
            raise _wrong("vision", self.vision, "true or false")
        if self.image_detail not in _DETAILS:
            raise _wrong("image_detail", self.image_detail, f"one of {', '.join(_DETAILS)}")
        for name in ("body", "headers"):
            if not isinstance(getattr(self, name), Mapping):
                raise _wrong(name, "a value of another type", "a mapping")
        if self.api_version is not None and not self.provider.startswith("azure"):
            raise ConfigError(f"llm.api_version does not apply to the provider {self.provider!r}.")

    @property
    def adapter(self) -> Adapter:
        """Which library reaches the provider."""
        return LLMS[self.provider].adapter

    @property
    def name(self) -> str:
        """What results and traces call the model."""
        return f"{self.provider}:{self.model}"


def config_from_name(name: str) -> LLMConfig:
    """An LLMConfig from "provider:model", as in "ollama:llama3.1:8b"."""
    provider, _, model = name.strip().partition(":")
    return LLMConfig(provider=provider, model=model or None)


def config_from_mapping(settings: Mapping[str, Any]) -> LLMConfig:
    """An LLMConfig from a mapping: our keys, or mem0's, flat or as `{"provider": ..., "config": {...}}`.

    Numbers may be strings, and mappings JSON. Settings of mem0 that are None count as not given. Raises
    ConfigError for an unknown key (with the nearest known one), for a setting of mem0 that means nothing here, or a
    wrong value.
    """
    made = translated(settings, "llm", [each.name for each in fields(LLMConfig)], _MEM0)
    if "provider" not in made:
        raise _wrong("provider", None, f"one of {', '.join(LLMS)}")
    return LLMConfig(**{key: _from_text(key, value) for key, value in made.items()})


def _without_sampling(when: bool) -> Translate:
    def leave_out(made: dict[str, Any], value: Any, path: str) -> None:  # noqa: ARG001
        if bool(value) is when:
            made.update(temperature=None, top_p=None, top_k=None)

    return leave_out


def _vertex(made: dict[str, Any], value: Any, path: str) -> None:  # noqa: ARG001
    if value is True:
        raise ConfigError(
            "llm.vertexai is reached through LiteLLM: provider 'litellm', model 'vertex_ai/<model>', and the project"
            " and location as llm.body = {'vertex_project': ..., 'vertex_location': ...}."
        )


_MEM0: Mapping[str, Translate] = {
    **{
        f"{name}_base_url": same_as("base_url")
        for name in (
            "openai",
            "openrouter",
            "anthropic",
            "ollama",
            "lmstudio",
            "vllm",
            "deepseek",
            "minimax",
            "xai",
            "sarvam",
        )
    },
    "azure_kwargs": azure,
    "models": into("body"),
    "route": into("body"),
    "store": into("body"),
    "site_url": into("headers", "HTTP-Referer"),
    "app_name": into("headers", "X-Title"),
    **AWS,
    "model_kwargs": into_body,
    "is_reasoning_model": _without_sampling(True),
    "enable_sampling_parameters": _without_sampling(False),
    "lmstudio_response_format": needless,
    "enable_vision": same_as("vision"),
    "vision_details": same_as("image_detail"),
    "http_client_proxies": PROXIES,
    "response_callback": unsupported("every result has its usage"),
    "provider_override": unsupported("name the provider in the model, as LiteLLM does"),
    "vertexai": _vertex,
    "project": unsupported("it belongs to Vertex AI; see llm.vertexai"),
    "location": unsupported("it belongs to Vertex AI; see llm.vertexai"),
}


def _from_text(key: str, value: Any) -> Any:
    if isinstance(value, str) and key in ("body", "headers"):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    if isinstance(value, str) and key == "vision":
        return {"true": True, "false": False}.get(value.lower(), value)
    if isinstance(value, str) and key in _NUMBERS:
        with contextlib.suppress(ValueError):
            return _NUMBERS[key](value)
    return value


def _is_int(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _wrong(key: str, value: object, accepted: str, known: Mapping[str, object] | None = None) -> ConfigError:
    hint = nearest(str(value), known or ())
    return ConfigError(f"llm.{key} is {shown(value)}{hint}; accepted: {accepted}.")
