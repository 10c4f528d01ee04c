"""Answers: from a ranking to what search() returns, with the reasons where there is little or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..records import Space
from ..shapes import MemoryItem, SearchResult, memory_item
from .fuse import Query
from .search import Found

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_EMBEDDER = "No embedder is configured, so only words were compared."
NO_RERANKER = "No reranker is configured, so the order is that of the search itself."


def query(groups: Sequence[Sequence[int]], vectors: NDArray[np.float32] | None, space: Space | None) -> Query:
    """A query for ranking: its words as term hashes, and its vector where there is one."""
    words = tuple(tuple(group) for group in groups)
    if vectors is None or space is None:
        return Query(words, None, None)
    return Query(words, vectors[0], (space.background.mean, space.background.same))


def search_result(
    found: Found, threshold: float | None, *, explain: bool, rerank: bool, dense: bool
) -> SearchResult:
    """The result of a search. The threshold cuts last, on the final score."""
    results: list[MemoryItem] = []
    for hit, item in zip(found.ranking.hits, found.items, strict=True):
        if threshold is not None and hit.score < threshold:
            break
        one = memory_item(item)
        one["score"] = hit.score
        if explain:
            one["score_details"] = found.ranking.details(hit)
        results.append(one)
    shape = SearchResult(results=results)
    notices = [NO_EMBEDDER] if not dense else []
    notices += [NO_RERANKER] if rerank else []
    if not results:
        notices.append(_why_empty(found, threshold))
    if notices:
        shape["notice"] = " ".join(notices)
    if explain:
        shape["explain"] = found.ranking.overview()
    return shape


def _why_empty(found: Found, threshold: float | None) -> str:
    if not found.owners:
        return "Nothing was ever stored under these ids."
    if not found.memories:
        return "Nothing is kept under these ids."
    if not found.eligible:
        return f"The filters, expiry or validity leave none of {found.memories} memories."
    if found.ranking.hits:
        best = found.ranking.hits[0].score
        return (
            f"The best of {len(found.ranking.hits)} hits scores {best:.3f}, below the threshold {threshold}."
        )
    return f"None of {found.eligible} memories shares a word with the query or comes near its meaning."
