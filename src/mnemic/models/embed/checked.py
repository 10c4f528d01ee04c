"""The promise of every embedder, kept in one place: whatever a provider does, callers see checked vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np

from mnemic.errors import ValidationError

from .texts import clean_text
from .vectors import Vectors, check_rows

Purpose = Literal["query", "passage"]
PROBE = "The quick brown fox jumps over the lazy dog."


class CheckedEmbedder(ABC):
    """Base of the adapters: subclasses return raw rows, callers get normalised float32 of the right shape.

    A text without anything but white space is never sent; its vector is zero. U+0000 and lone surrogates,
    which end or break a request, are replaced for embedding only.

    awaits: whether `embed` needs a running event loop for anything but the `run_blocking` and `on_loop` it was
    handed; a blocking caller steps through an adapter that does not.
    """

    awaits = True

    def __init__(self, name: str, dims: int | None) -> None:
        self.name = name
        self.dims = dims

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """One vector per text: float32 of shape (len(texts), dims), rows of length 1 (zero for a blank text).

        Raises ValidationError for arguments of the wrong kind, EmbedderError for an outage or a wrong reply,
        ModelTimeoutError when a request took longer than its `timeout` option.
        """
        _check_arguments(texts, purpose)
        sent = {at: cleaned for at, text in enumerate(texts) if (cleaned := clean_text(text)).strip()}
        if sent:
            rows = await self._checked(list(sent.values()), purpose)
            if len(sent) == len(texts):
                return rows
        elif self.dims is None and texts:
            await self._checked([PROBE], purpose)
        full = np.zeros((len(texts), self.dims or 0), dtype=np.float32)
        if sent:
            full[list(sent)] = rows
        return full

    async def _checked(self, texts: list[str], purpose: Purpose) -> Vectors:
        raw = await self._rows(texts, purpose)
        rows = check_rows(raw, count=len(texts), dims=self.dims, name=self.name)
        self.dims = rows.shape[1]
        return rows

    @abstractmethod
    async def _rows(self, texts: list[str], purpose: Purpose) -> object:
        """Array-like of shape (len(texts), dims) for texts that are not blank; need not be normalised."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what the adapter itself opened. It opens again when used again."""


def _check_arguments(texts: Sequence[str], purpose: str) -> None:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise ValidationError(
            f"texts must be a sequence of strings, not {type(texts).__name__} {texts!r:.80}."
        )
    if purpose not in ("query", "passage"):
        raise ValidationError(f"purpose is {purpose!r}; accepted: 'query', 'passage'.")
