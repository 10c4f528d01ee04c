"""Checking what an embedder gave back, and the little arithmetic on it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.errors import EmbedderError

Vectors = NDArray[np.float32]


def check_rows(raw: object, *, count: int, dims: int | None, name: str) -> Vectors:
    """What an embedder returned, as float32 of shape (count, dims) with rows of length 1.

    raw: anything array-like. count: how many texts were sent, at least 1. dims: the size if known.
    A zero row stays zero. Raises EmbedderError, naming what was asked for and what came, for a wrong number
    of vectors, a wrong or uneven size, values that are no numbers, or numbers that are not finite in float32.
    """
    rows = _as_array(raw, count, name)
    if rows.ndim != 2 or rows.shape[0] != count:
        came = f"{rows.shape[0]} vectors" if rows.ndim == 2 else f"an array of shape {rows.shape}"
        raise EmbedderError(f"The embedder {name!r} was asked for {count} vectors and returned {came}.")
    if rows.shape[1] == 0 or (dims is not None and rows.shape[1] != dims):
        wanted = "at least one number" if dims is None else f"{dims} numbers"
        raise EmbedderError(
            f"The embedder {name!r} was asked for vectors of {wanted} and returned some of {rows.shape[1]}.",
            details={"wanted": dims, "came": rows.shape[1]},
        )
    with np.errstate(over="ignore"):
        finite = np.isfinite(rows.astype(np.float32)).all(axis=1)
    if not finite.all():
        first = int(np.argmin(finite))
        raise EmbedderError(
            f"The embedder {name!r} returned numbers that are not finite for text {first + 1} of {count}."
        )
    return normalise(rows)


def _as_array(raw: object, count: int, name: str) -> NDArray[Any]:
    wrong = f"The embedder {name!r} was asked for {count} vectors of one size and returned"
    try:
        rows = np.asarray(raw)
    except (ValueError, TypeError) as error:
        raise EmbedderError(f"{wrong} something uneven: {error}.") from error
    if rows.dtype.kind not in "fiu":
        raise EmbedderError(f"{wrong} {type(raw).__name__} whose values are not real numbers.")
    return rows


def normalise(rows: NDArray[Any]) -> Vectors:
    """Each row divided by its Euclidean length, as float32; a zero row stays zero."""
    wide = rows.astype(np.float64)
    # Scaling by the largest value first keeps the squares of very small and very large numbers in range.
    peak = np.abs(wide).max(axis=1, keepdims=True)
    scaled = np.divide(wide, peak, out=np.zeros_like(wide), where=peak > 0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: Vectors = np.divide(scaled, length, out=scaled, where=length > 0).astype(np.float32)
    return unit


def merge_parts(rows: Vectors, counts: Sequence[int], weights: Sequence[int]) -> Vectors:
    """One vector per text from the vectors of its parts: their mean weighted by `weights`, of length 1.

    rows: one per part, in order. counts: parts of each text, at least 1 each. weights: one per part, above 0.
    A text of one part keeps its vector bit for bit.
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.intp)
    weighted = rows.astype(np.float64) * np.asarray(weights, dtype=np.float64)[:, None]
    merged = normalise(np.add.reduceat(weighted, starts, axis=0))
    single = np.asarray(counts) == 1
    merged[single] = rows[starts[single]]
    return merged
