"""fastembed: ONNX models inside the process; it downloads a model when that is first used."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from mnemic.errors import EmbedderError, MissingDependencyError
from mnemic.models.settings import RunBlocking

from .checked import CheckedEmbedder, Purpose
from .config import EmbedderConfig

# The smallest model in its list that knows many languages.
DEFAULT_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"


class FastEmbedder(CheckedEmbedder):
    """A fastembed model, loaded when first used. Texts over the model's window are cut by the model."""

    awaits = False

    def __init__(self, config: EmbedderConfig, run_blocking: RunBlocking) -> None:
        if importlib.util.find_spec("fastembed") is None:
            raise MissingDependencyError("The embedder 'fastembed'", package="fastembed", extra="fastembed")
        self._model = config.model or DEFAULT_MODEL
        super().__init__(f"fastembed:{self._model}", config.dims)
        self._batch_size = config.batch_size
        self._run_blocking = run_blocking

    async def close(self) -> None:
        """Does nothing: the model stays loaded for others."""

    async def _rows(self, texts: list[str], purpose: Purpose) -> object:
        return await self._run_blocking(functools.partial(self._embed, texts, purpose))

    def _embed(self, texts: list[str], purpose: Purpose) -> object:
        model = _load(self._model)
        encode = model.query_embed if purpose == "query" else model.passage_embed
        return list(encode(texts, batch_size=self._batch_size))


@functools.cache
def _load(name: str) -> Any:
    from fastembed import TextEmbedding

    try:
        return TextEmbedding(model_name=name)
    except (ValueError, OSError, RuntimeError) as error:
        raise EmbedderError(
            f"The embedder 'fastembed:{name}' cannot be loaded: {error}",
            suggestion="A model that is not in its cache is downloaded when first used.",
        ) from error
