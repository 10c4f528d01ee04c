"""What must not be shown: keys, passwords and addresses with credentials, in settings and in messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mnemic.checks import masked_url
from mnemic.config import load, shown_settings
from mnemic.errors import ConfigError, EmbedderError
from mnemic.models.embed import EmbedderConfig, open_embedder


@pytest.mark.parametrize("section", ["vector_store", "graph_store"])
@pytest.mark.parametrize(
    "inner", [{"password": "hunter2"}, {"url": "bolt://neo4j:hunter2@db", "api_key": "hunter2"}]
)
def test_a_store_that_is_not_ours_is_named_by_its_provider_alone(section: str, inner: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="neo4j") as caught:
        load({section: {"config": inner, "provider": "neo4j"}}, {})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "setting",
    [
        {"api_key": "hunter2"},
        {"aws_secret_access_key": "hunter2"},
        {"azure_ad_token": "hunter2"},
        {"password": "hunter2"},
        {"aws_access_key_id": "hunter2"},
        {"vertex_credentials_json": "hunter2"},
        {"azure_kwargs": {"api_key": "hunter2"}},
        {"headers": {"x-anything": "hunter2"}},
        {"body": '{"anything": "hunter2"}'},
        {"base_url": "https://me:hunter2@models.example/v1"},
        {"base_url": "https://models.example/v1?key=hunter2"},
    ],
)
@pytest.mark.parametrize("key", ["embedder", "llm"])
def test_settings_are_shown_without_secrets(key: str, setting: dict[str, Any]) -> None:
    rows = shown_settings(load({key: {"provider": "openai", "model": "m", **setting}}, {}))
    assert "hunter2" not in str(rows)
    assert "***" in str(rows)


def test_an_address_is_shown_without_credentials() -> None:
    assert masked_url("http://127.0.0.1:11434/v1") == "http://127.0.0.1:11434/v1"
    assert masked_url("https://a:b@h:1/v1?key=c&d=e") == "https://***@h:1/v1?***"


def test_an_endpoint_out_of_reach_is_told_without_credentials() -> None:
    settings = EmbedderConfig("openai", model="m", base_url="http://me:hunter2@127.0.0.1:9/v1", max_retries=0)
    embedder = open_embedder(settings)
    assert embedder is not None
    with pytest.raises(EmbedderError) as caught:
        asyncio.run(embedder.embed(["a"], "query"))
    assert "127.0.0.1:9" in str(caught.value)
    assert "hunter2" not in f"{caught.value} {caught.value.details}"
