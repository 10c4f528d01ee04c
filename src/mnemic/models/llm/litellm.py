"""Whatever LiteLLM reaches. It takes and gives what OpenAI's protocol does."""

from __future__ import annotations

from typing import Any

from mnemic.errors import LLMError
from mnemic.models.endpoint import NO_KEY, SDK, Client, Endpoint, EndpointConfig
from mnemic.models.llm.config import LLMConfig
from mnemic.models.providers import LLMS
from mnemic.models.settings import RunBlocking

from .openai import OpenAILLM
from .remote import endpoint_config


def open_litellm(config: LLMConfig, run_blocking: RunBlocking) -> OpenAILLM:
    """A model by LiteLLM's name for it. LiteLLM finds the keys of the provider that this name says by itself."""
    prefix = LLMS[config.provider].prefix
    model = config.model if config.model.startswith(prefix) else prefix + config.model

    def client(settings: EndpointConfig) -> Client:
        return _LiteLLMClient(settings, model, config.base_url)

    settings = endpoint_config(
        config, config.base_url or f"LiteLLM ({model})", config.api_key or NO_KEY, config.headers
    )
    return OpenAILLM(
        config, Endpoint(settings, LLMError, run_blocking, SDK("litellm", "litellm", "openai", client))
    )


class _LiteLLMClient:
    """LiteLLM as a client of OpenAI's protocol. Its errors are subclasses of those of the `openai` package."""

    def __init__(self, settings: EndpointConfig, model: str, base_url: str | None) -> None:
        import litellm

        self._complete: Any = litellm.acompletion
        self._given: dict[str, Any] = {
            "model": model,
            "timeout": settings.timeout,
            "num_retries": 0,
            "max_retries": 0,
            "api_key": None if settings.api_key == NO_KEY else settings.api_key,
            "base_url": base_url,
            "extra_headers": dict(settings.headers) or None,
        }

    async def post(self, path: str, *, cast_to: type[object], body: dict[str, object]) -> object:  # noqa: ARG002
        """The reply as the body that OpenAI's API would send."""
        given = {name: value for name, value in self._given.items() if value is not None}
        made = await self._complete(**{**body, **given})
        plain: object = made.model_dump()
        return plain

    async def close(self) -> None:
        """LiteLLM keeps its own connections."""
