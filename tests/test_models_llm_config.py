"""Which LLM a name or a mapping stands for, ours and mem0's."""

from typing import Any

import pytest

from mnemic.errors import ConfigError
from mnemic.models.endpoint import NO_KEY, azure_url, resolve_address
from mnemic.models.llm import config_of, open_llm
from mnemic.models.llm.config import LLMConfig, config_from_mapping, config_from_name
from mnemic.models.providers import LLMS

MEM0 = {
    *("ollama", "openai", "groq", "together", "aws_bedrock", "litellm", "azure_openai", "openai_structured"),
    *("anthropic", "azure_openai_structured", "gemini", "deepseek", "minimax", "xai", "sarvam", "lmstudio"),
    *("vllm", "langchain"),
}
KEYS = {name for provider in LLMS.values() for name in (*provider.key_names, *provider.url_names)}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def test_all_of_mem0s_names_are_known() -> None:
    assert len(MEM0) == 18
    assert set(LLMS) == MEM0


def test_names() -> None:
    assert config_from_name("ollama:llama3.1:8b") == LLMConfig("ollama", "llama3.1:8b")
    assert config_from_name(" openai:gpt-4o-mini ").name == "openai:gpt-4o-mini"
    assert LLMConfig("openai", "m").temperature == 0


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"provider": "openai", "model": "m", "temperature": "0.5", "max_retries": "3"},
         LLMConfig("openai", "m", temperature=0.5, max_retries=3)),
        ({"provider": "openai", "config": {"model": "m", "openai_base_url": "http://h", "top_p": 0.1, "top_k": 1}},
         LLMConfig("openai", "m", base_url="http://h", top_p=0.1, top_k=1)),
        ({"provider": "ollama", "ollama_base_url": "http://h", "model": "m", "max_tokens": 2000},
         LLMConfig("ollama", "m", base_url="http://h", max_tokens=2000)),
        ({"provider": "openai", "config": {"model": "m", "is_reasoning_model": True, "temperature": 0.1}},
         LLMConfig("openai", "m", temperature=None)),
        ({"provider": "anthropic", "config": {"model": "m", "enable_sampling_parameters": False}},
         LLMConfig("anthropic", "m", temperature=None)),
        ({"provider": "openai", "config": {"model": "m", "openrouter_base_url": "http://h", "models": ["a"],
          "store": False, "site_url": "s", "app_name": "n", "route": None}},
         LLMConfig("openai", "m", base_url="http://h", body={"models": ["a"], "store": False},
                   headers={"HTTP-Referer": "s", "X-Title": "n"})),
        ({"provider": "azure_openai", "config": {"model": "m", "azure_kwargs": {"azure_deployment": "d", "api_key": "k",
          "azure_endpoint": "https://r", "api_version": "v", "default_headers": {"a": "b"}}}},
         LLMConfig("azure_openai", "d", base_url="https://r", api_key="k", api_version="v", headers={"a": "b"})),
        ({"provider": "aws_bedrock", "config": {"model": "m", "aws_region": "eu", "model_kwargs": {"x": 1}}},
         LLMConfig("aws_bedrock", "m", body={"x": 1, "aws_region_name": "eu"})),
        ({"provider": "lmstudio", "config": {"model": "m", "lmstudio_base_url": "http://h", "enable_vision": False,
          "vision_details": "auto", "lmstudio_response_format": {"type": "json_object"}, "http_client_proxies": None}},
         LLMConfig("lmstudio", "m", base_url="http://h")),
        ({"provider": "openai", "config": {"model": "m", "enable_vision": True, "vision_details": "low"}},
         LLMConfig("openai", "m", vision=True, image_detail="low")),
        ({"provider": "openai", "model": "m", "vision": "False", "image_detail": "high"},
         LLMConfig("openai", "m", image_detail="high")),
    ],
)  # fmt: skip
def test_mappings_of_both_kinds(given: dict[str, Any], made: LLMConfig) -> None:
    assert config_from_mapping(given) == made


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"provider": "openai", "model": "m", "temprature": 0}, r"llm\.temprature.*temperature"),
        (
            {"provider": "openai", "config": {"model": "m", "opnai_base_url": "x"}},
            r"opnai_base_url.*openai_base_url",
        ),
        ({"provider": "openia", "model": "m"}, r"llm\.provider is 'openia'.*openai"),
        ({"model": "m"}, r"llm\.provider"),
        ({"provider": "openai"}, r"llm\.model"),
        ({"provider": "openai", "config": "x"}, r"llm\.config"),
        ({"provider": "openai", "model": "m", "temperature": "hot"}, r"llm\.temperature is 'hot'"),
        ({"provider": "openai", "model": "m", "max_concurrency": 0}, r"llm\.max_concurrency"),
        ({"provider": "openai", "model": "m", "timeout": 0}, r"llm\.timeout"),
        ({"provider": "openai", "model": "m", "timeout": 10**400}, r"llm\.timeout"),
        ({"provider": "openai", "model": "m", "body": 3}, r"llm\.body"),
        ({"provider": "openai", "model": "m", "api_version": "v"}, r"llm\.api_version does not apply"),
        (
            {"provider": "openai", "model": "m", "response_callback": print},
            r"response_callback is not supported",
        ),
        ({"provider": "openai", "model": "m", "enable_vision": "perhaps"}, r"llm\.vision is 'perhaps'"),
        (
            {"provider": "openai", "model": "m", "vision_details": "max"},
            r"llm\.image_detail.*auto, low, high",
        ),
        ({"provider": "gemini", "model": "m", "vertexai": True}, r"vertex_ai/"),
        ({"provider": "azure_openai", "azure_kwargs": {"model": "m"}}, r"azure_kwargs\.model"),
        (
            {"provider": "azure_openai", "model": "m", "api_key": "k"},
            r"llm\.base_url is not set and neither is LLM_AZURE",
        ),
        ({"provider": "openai", "model": "m", "base_url": "ftp://x"}, r"llm\.base_url"),
        ({"provider": "langchain", "model": "m"}, r"ainvoke"),
        ({"provider": "groq", "model": "m"}, r"GROQ_API_KEY"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_llm(given)


def test_settings_are_told_of_models_that_are_not_opened() -> None:
    assert config_of("ollama:llava") == LLMConfig("ollama", "llava")
    assert config_of({"provider": "openai", "model": "m", "vision": True}) == LLMConfig(
        "openai", "m", vision=True
    )
    assert config_of(LLMConfig("openai", "m")) == LLMConfig("openai", "m")
    assert config_of(None) is None
    assert config_of(print) is None
    with pytest.raises(ConfigError, match="provider"):
        config_of({"model": "m"})


def test_keys_are_never_shown() -> None:
    config = LLMConfig(
        "openai", "m", api_key="sk-1", body={"aws_secret_access_key": "a"}, headers={"x": "h-1"}
    )
    assert not any(secret in repr(config) for secret in ("sk-1", "'a'", "h-1"))
    with pytest.raises(ConfigError) as caught:
        LLMConfig("openai", "m", api_key=["sk-1"])  # type: ignore[arg-type]
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in LLMS if LLMS[name].key_names])
def test_only_the_chosen_providers_key_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {key: f"value of {key}" for key in KEYS if not key.endswith(("URL", "BASE", "ENDPOINT"))}
    provider = LLMS[name]
    address = None if provider.base_url else "https://mine.example"
    assert resolve_address(address, None, "llm", environ, provider)[1] == f"value of {provider.key_names[0]}"
    assert resolve_address(address, "given", "llm", environ, provider)[1] == "given"


def test_no_key_goes_to_a_server_that_the_settings_name() -> None:
    environ = {"OPENAI_API_KEY": "o", "GROQ_API_KEY": "g", "OPENROUTER_API_KEY": "r"}
    for name in ("openai", "groq", "ollama"):
        assert resolve_address("http://elsewhere", None, "llm", environ, LLMS[name])[1] == NO_KEY


def test_the_environment_chooses_no_llm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS | {"OPENROUTER_API_KEY"}:
        monkeypatch.setenv(name, "there-but-not-asked-for")
    assert open_llm(None) is None


def test_addresses_of_azure() -> None:
    assert azure_url("https://r.example/v1", None) == "https://r.example/openai/v1"
    assert azure_url("https://r.example/v1", "2024") == "https://r.example/openai"
    assert azure_url("https://r.example/openai/v1", None) == "https://r.example/openai/v1"
