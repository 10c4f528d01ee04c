"""sentence-transformers: models of Hugging Face inside the process, downloaded when first used."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from mnemic.errors import EmbedderError, MissingDependencyError
from mnemic.models.settings import RunBlocking

from .checked import CheckedEmbedder, Purpose
from .config import EmbedderConfig


class HuggingFaceEmbedder(CheckedEmbedder):
    """A sentence-transformers model, loaded when first used. Texts over the model's window are cut by the model."""

    awaits = False

    def __init__(self, config: EmbedderConfig, run_blocking: RunBlocking) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingDependencyError(
                "The embedder 'huggingface' without a base_url",
                package="sentence-transformers",
                extra="huggingface",
            )
        super().__init__(f"huggingface:{config.model}", config.dims)
        self._config = config
        self._run_blocking = run_blocking
        # sentence-transformers takes the settings of a model by keyword.
        self._load = functools.cache(functools.partial(_load, config.model, **config.body))

    async def close(self) -> None:
        """Does nothing: the model stays loaded."""

    async def _rows(self, texts: list[str], purpose: Purpose) -> object:  # noqa: ARG002
        return await self._run_blocking(functools.partial(self._embed, texts))

    def _embed(self, texts: list[str]) -> object:
        return self._load().encode(texts, batch_size=self._config.batch_size, show_progress_bar=False)


def _load(name: str, **settings: Any) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        return SentenceTransformer(name, **settings)
    except (ValueError, OSError, RuntimeError) as error:
        raise EmbedderError(
            f"The embedder 'huggingface:{name}' cannot be loaded: {error}",
            suggestion="A model that is not in its cache is downloaded when first used.",
        ) from error
