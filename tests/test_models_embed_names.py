"""mem0's names and settings of embedders: which embedder they stand for, and what it sends."""

import asyncio
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mnemic.errors import ConfigError, MissingDependencyError
from mnemic.models.embed import Embedder, EmbedderConfig, open_embedder
from mnemic.models.embed.config import PROVIDERS, config_from_mapping
from mnemic.models.fakes import HashEmbedder, ScriptedServer

TEXTS = ["I moved to Bergen", '她说 "hi" 🐝\nand left']
MEM0 = {
    *("openai", "ollama", "huggingface", "azure_openai", "gemini", "vertexai", "together", "lmstudio"),
    *("langchain", "aws_bedrock", "fastembed"),
}


def embed(spec: object) -> np.ndarray:
    embedder = open_embedder(spec)
    assert embedder is not None

    async def run(opened: Embedder) -> np.ndarray:
        try:
            return await opened.embed(TEXTS, "passage")
        finally:
            await opened.close()

    return asyncio.run(run(embedder))


def module(monkeypatch: pytest.MonkeyPatch, name: str, **names: Any) -> None:
    made = ModuleType(name)
    made.__spec__ = ModuleSpec(name, None)
    for each, value in names.items():
        setattr(made, each, value)
    monkeypatch.setitem(sys.modules, name, made)


def test_all_of_mem0s_names_are_known() -> None:
    assert len(MEM0) == 11
    assert set(PROVIDERS) >= MEM0


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"provider": "openai", "config": {"model": "m", "embedding_dims": "256", "openai_base_url": "http://h"}},
         EmbedderConfig("openai", "m", base_url="http://h", dims=256)),
        ({"provider": "ollama", "config": {"model": "nomic-embed-text", "ollama_base_url": None}},
         EmbedderConfig("ollama", "nomic-embed-text")),
        ({"provider": "azure_openai", "config": {"azure_kwargs": {"azure_deployment": "d", "azure_endpoint": "https://r"}}},
         EmbedderConfig("azure_openai", "d", base_url="https://r")),
        ({"provider": "vertexai", "config": {"model": "m", "vertex_credentials_json": "c",
          "output_dimensionality": 64}},
         EmbedderConfig("vertexai", "m", dims=64, body={"vertex_credentials": "c"})),
        ({"provider": "openai", "model": "m", "body": '{"user": "u"}', "headers": '{"x": "y"}'},
         EmbedderConfig("openai", "m", body={"user": "u"}, headers={"x": "y"})),
        ({"provider": "aws_bedrock", "config": {"model": "m", "aws_region": "eu"}},
         EmbedderConfig("aws_bedrock", "m", body={"aws_region_name": "eu"})),
    ],
)  # fmt: skip
def test_mappings_of_mem0(given: dict[str, Any], made: EmbedderConfig) -> None:
    assert config_from_mapping(given) == made


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"provider": "openai", "config": {"model": "m", "embeding_dims": 3}},
            r"embedder\.embeding_dims.*embedding_dims",
        ),
        ({"provider": "gemini"}, r"embedder\.model"),
        ({"provider": "together", "model": "m"}, "TOGETHER_API_KEY"),
        (
            {"provider": "azure_openai", "model": "m"},
            r"embedder\.base_url is not set and neither is EMBEDDING_AZURE",
        ),
        ({"provider": "fastembed", "body": {"a": 1}}, r"embedder\.body does not apply"),
        ({"provider": "openai", "model": "m", "api_version": "v"}, r"embedder\.api_version does not apply"),
        ({"provider": "openai", "model": "m", "body": "[1"}, r"embedder\.body"),
        ({"provider": "openai", "model": "m", "http_client_proxies": "p"}, "HTTPS_PROXY"),
        ({"provider": "langchain", "model": "m"}, "embed_query"),
    ],
)
def test_what_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], told: str) -> None:
    monkeypatch.delenv("TOGETHER_API_KEY", raising=False)
    with pytest.raises(ConfigError, match=told):
        open_embedder(given)


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "huggingface", "gemini", "together"])
def test_compatible_providers_are_spoken_to_alike(provider: str) -> None:
    with ScriptedServer() as server:
        given = {"provider": provider, "config": {"model": "m", "api_key": "k"}, "base_url": server.base_url}
        assert np.allclose(embed(given), HashEmbedder().vectors(TEXTS), atol=1e-6)
        embedder = open_embedder(given)
        assert embedder is not None
        assert embedder.name == f"{provider}:m"
        assert server.requests[0].body == {"model": "m", "input": TEXTS}


def test_vertex_goes_by_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    async def aembedding(**given: Any) -> object:
        asked.append(given)
        data = [{"index": at, "embedding": [1.0, at]} for at in range(len(given["input"]))]
        return SimpleNamespace(model_dump=lambda: {"data": data})

    module(monkeypatch, "litellm", acompletion=None, aembedding=aembedding)
    rows = embed({"provider": "vertexai", "config": {"model": "m", "vertex_credentials_json": "c"}})
    assert rows.shape == (2, 2)
    assert (asked[0]["model"], asked[0]["vertex_credentials"]) == ("vertex_ai/m", "c")
    assert "api_key" not in asked[0]


def test_langchains_embeddings_are_given_as_an_object() -> None:
    class Embeddings:
        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[0.0, 1.0] for _ in texts]

    assert embed({"provider": "langchain", "config": {"model": Embeddings()}}).tolist() == [[0, 1]] * 2


def test_huggingface_without_an_address_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[str, dict[str, Any]]] = []

    class SentenceTransformer:
        def __init__(self, name: str, **settings: Any) -> None:
            if name == "no/such":
                raise OSError("not found")
            loaded.append((name, settings))

        def encode(self, texts: list[str], batch_size: int, show_progress_bar: bool) -> np.ndarray:
            return np.eye(len(texts), 3)

    with pytest.raises(MissingDependencyError, match=r"mnemic\[huggingface\]"):
        open_embedder("huggingface:a/b")
    module(monkeypatch, "sentence_transformers", SentenceTransformer=SentenceTransformer)
    given = {"provider": "huggingface", "config": {"model": "a/b", "model_kwargs": {"device": "cpu"}}}
    assert embed(given).shape == (2, 3)
    assert loaded == [("a/b", {"device": "cpu"})]
    with pytest.raises(Exception, match="cannot be loaded: not found"):
        embed("huggingface:no/such")
