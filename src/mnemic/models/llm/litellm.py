"""Whatever LiteLLM reaches. It takes and gives what OpenAI's protocol does."""

from __future__ import annotations

from mnemic.errors import LLMError
from mnemic.models.endpoint import NO_KEY, Endpoint
from mnemic.models.litellm import litellm_sdk
from mnemic.models.llm.config import LLMConfig
from mnemic.models.providers import LLMS
from mnemic.models.settings import RunBlocking

from .openai import OpenAILLM
from .remote import endpoint_config


def open_litellm(config: LLMConfig, run_blocking: RunBlocking) -> OpenAILLM:
    """A model by LiteLLM's name for it. LiteLLM finds the keys of the provider that this name says by itself."""
    model = LLMS[config.provider].prefix + config.model.removeprefix(LLMS[config.provider].prefix)
    place = config.base_url or f"LiteLLM ({model})"
    settings = endpoint_config(config, place, config.api_key or NO_KEY, config.headers)
    return OpenAILLM(config, Endpoint(settings, LLMError, run_blocking, litellm_sdk(model, config.base_url)))
