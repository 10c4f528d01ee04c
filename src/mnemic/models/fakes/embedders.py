"""Embedders without a model."""

from __future__ import annotations

import asyncio
import re
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from mnemic.errors import EmbedderError
from mnemic.models.embed import Embedder
from mnemic.models.embed.checked import Purpose
from mnemic.models.embed.vectors import Vectors, normalise

_WORD = re.compile(r"\w+")
_WORD_WEIGHT = 3.0
_FIRST_EAST_ASIAN = "\u2e80"


class HashEmbedder:
    """A bag of hashed words and pieces of words: texts that share spelling have close vectors.

    Deterministic over processes and machines, the same for every script, blind to meaning. Two texts without
    a word in common have a cosine of about 0 +- 1/sqrt(dims).
    """

    def __init__(self, dims: int = 64, name: str | None = None) -> None:
        self.name = name or f"fake:hash-{dims}"
        self.dims: int | None = dims
        self._dims = dims

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:  # noqa: ARG002
        """As `Embedder.embed`; `purpose` makes no difference."""
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The same without an event loop."""
        rows = np.zeros((len(texts), self._dims))
        for row, text in zip(rows, texts, strict=True):
            for piece, weight in _pieces(text):
                code = zlib.crc32(piece.encode("utf-8", "replace"))
                row[code % self._dims] += weight if code & 0x8000_0000 else -weight
        return normalise(rows)

    async def close(self) -> None:
        """Nothing is held open."""


def _pieces(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if max(word) >= _FIRST_EAST_ASIAN:
            # Written without spaces: two characters are often a word.
            yield from ((piece, 1.0) for piece in word)
            yield from ((piece, _WORD_WEIGHT) for piece in _slices(word, 2))
        else:
            yield word, _WORD_WEIGHT
            yield from ((piece, 1.0) for piece in _slices(f"<{word}>", 3))


def _slices(word: str, length: int) -> Iterator[str]:
    return (word[at : at + length] for at in range(len(word) - length + 1))


class ConstantEmbedder:
    """The same vector for every text, so that the dense arm says nothing."""

    def __init__(self, dims: int = 8) -> None:
        self.name = f"fake:constant-{dims}"
        self.dims: int | None = dims
        self._dims = dims

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:  # noqa: ARG002
        """As `Embedder.embed`."""
        return np.full((len(texts), self._dims), 1 / np.sqrt(self._dims), dtype=np.float32)

    async def close(self) -> None:
        """Nothing is held open."""


class Fault(StrEnum):
    """What goes wrong in one call of a FaultyEmbedder."""

    RAISE = "raise"
    HANG = "hang"
    TOO_FEW = "too_few"
    SHUFFLED = "shuffled"
    NAN = "nan"
    WRONG_DIMS = "wrong_dims"


class FaultyEmbedder:
    """Another embedder that goes wrong as planned.

    plan: by call number (from 1) or by a piece of text; a call goes wrong when its number is there or when
    one of its texts contains the piece. The value is a Fault or an exception to raise. `RAISE` raises
    EmbedderError, `HANG` waits until cancelled, `SHUFFLED` turns the rows round. `calls` holds the texts of
    every call.
    """

    def __init__(self, inner: Embedder, plan: Mapping[int | str, Fault | BaseException]) -> None:
        self.name = inner.name
        self.dims = inner.dims
        self.calls: list[tuple[str, ...]] = []
        self._inner = inner
        self._plan = dict(plan)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Any:
        """What `inner` returns, or what the plan makes of it."""
        self.calls.append(tuple(texts))
        fault = self._fault(len(self.calls), texts)
        if isinstance(fault, BaseException):
            raise fault
        if fault is Fault.RAISE:
            raise EmbedderError(f"{self.name} fails at call {len(self.calls)}, as planned.")
        if fault is Fault.HANG:
            await asyncio.Event().wait()
        rows = await self._inner.embed(texts, purpose)
        return rows if fault is None else _spoiled(rows, fault)

    def _fault(self, call: int, texts: Sequence[str]) -> Fault | BaseException | None:
        if call in self._plan:
            return self._plan[call]
        for piece, fault in self._plan.items():
            if isinstance(piece, str) and any(piece in text for text in texts):
                return fault
        return None

    async def close(self) -> None:
        """Close `inner`."""
        await self._inner.close()


def _spoiled(rows: Vectors, fault: Fault) -> Vectors:
    if fault is Fault.TOO_FEW:
        return rows[:-1]
    if fault is Fault.SHUFFLED:
        return rows[::-1]
    if fault is Fault.WRONG_DIMS:
        return rows[:, :-1]
    spoiled = rows.copy()
    spoiled[-1, 0] = np.nan
    return spoiled
