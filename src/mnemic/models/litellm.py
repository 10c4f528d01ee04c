"""LiteLLM as a client of OpenAI's protocol. Its errors are subclasses of those of the `openai` package."""

from __future__ import annotations

from typing import Any

from mnemic.models.endpoint import NO_KEY, SDK, Client, EndpointConfig


def litellm_sdk(model: str, base_url: str | None) -> SDK:
    """LiteLLM for one model, by LiteLLM's own name for it. It finds the provider's keys by itself."""

    def client(settings: EndpointConfig) -> Client:
        return _LiteLLMClient(settings, model, base_url)

    return SDK("litellm", "litellm", "openai", client)


class _LiteLLMClient:
    def __init__(self, settings: EndpointConfig, model: str, base_url: str | None) -> None:
        import litellm

        self._calls: dict[str, Any] = {
            "/chat/completions": litellm.acompletion,
            "/embeddings": litellm.aembedding,
        }
        self._given: dict[str, Any] = {
            "model": model,
            "timeout": settings.timeout,
            "num_retries": 0,
            "max_retries": 0,
            "api_key": None if settings.api_key == NO_KEY else settings.api_key,
            "api_base": base_url,
            "extra_headers": dict(settings.headers) or None,
        }

    async def post(self, path: str, *, cast_to: type[object], body: dict[str, object]) -> object:  # noqa: ARG002
        """The reply as the body that OpenAI's API would send."""
        given = {name: value for name, value in self._given.items() if value is not None}
        made = await self._calls[path](**{**body, **given})
        plain: object = made.model_dump()
        return plain

    async def close(self) -> None:
        """LiteLLM keeps its own connections."""
