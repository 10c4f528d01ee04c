"""Answers: from a ranking to what search() returns, with the reasons for what is there and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any

from ..clock import Instant, iso
from ..records import Space
from ..shapes import MemoryItem, SearchResult, memory_item
from ..text.pack import term_hash
from ..text.tokens import query_terms
from .explain import Explanation, Share, explain, overview
from .fuse import Query, Ranking
from .search import Found, TimeAsked
from .time_words import TimeWords
from .timing import Timing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_EMBEDDER = "No embedder is configured, so only words were compared."
NO_RERANKER = "No reranker is configured, so the order is that of the search itself."

Words = tuple[tuple[str, ...], ...]
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A search query as read: its words, each with the forms looked up, and the query that ranks.

    time: its time words, with the queries that they need; the words and the query are then those of the rest, and
    `plain` those of the whole.
    """

    words: Words
    query: Query
    time: TimeAsked | None = None
    plain: Words = ()

    def words_of(self, ranking: Ranking) -> Words:
        """The words that a ranking went by."""
        return self.words if ranking.query is self.query else self.plain


def texts_to_embed(text: str, time: TimeWords | None) -> list[str]:
    """The texts that a query needs vectors of: what ranks, then its anchor where it has one."""
    return [text] if time is None else [time.rest, time.anchor] if time.anchor else [time.rest]


def asked(
    text: str,
    vectors: NDArray[np.float32] | None,
    space: Space | None,
    time: TimeWords | None = None,
    at: Instant = 0,
    tz: tzinfo = UTC,
) -> Asked:
    """Read a query: its words, and its vectors, of `texts_to_embed`, in the store's space where there are any.

    time: its time words, asked at an instant in a zone.
    """

    def query(words: Words, number: int, whole: Groups = (), bare: bool = False) -> Query:
        if vectors is None or space is None:
            return Query(_hashed(words), whole=whole, bare=bare)
        return Query(_hashed(words), vectors[number], space.background, whole, bare)

    words = query_terms(text)
    if time is None:
        return Asked(words, query(words, 0))
    plain, rest = query(words, 0), query_terms(time.rest)
    ranks = query(rest, 0, _hashed(words), time.bare)
    anchor = query(query_terms(time.anchor), 1) if time.anchor else None
    return Asked(rest, ranks, TimeAsked(time, at, tz, plain, anchor), words)


def _hashed(words: Words) -> Groups:
    return tuple(tuple(term_hash(form) for form in forms) for forms in words)


def search_result(
    found: Found,
    asked: Asked,
    threshold: float | None,
    *,
    explained: bool,
    rerank: bool,
) -> SearchResult:
    """The result of a search. The threshold cuts last, on the final score."""
    words = asked.words_of(found.ranking)
    results: list[MemoryItem] = []
    for hit, item in zip(found.ranking.hits, found.items, strict=True):
        if threshold is not None and hit.score < threshold:
            break
        one = memory_item(item)
        one["score"] = hit.score
        if explained:
            one["score_details"] = score_details(explain(found.ranking, hit.snapshot, hit.row), words)
        results.append(one)
    shape = SearchResult(results=results)
    notices = [NO_EMBEDDER] if asked.query.vector is None and found.memories else []
    notices += [NO_RERANKER] if rerank else []
    if not results:
        notices.append(_why_empty(found, threshold))
    if notices:
        shape["notice"] = " ".join(notices)
    if explained:
        whole = overview(found.ranking)
        shape["explain"] = {
            "memories": whole.memories,
            "eligible": whole.eligible,
            "found": whole.found,
            "arms": whole.arms,
            "words": {
                forms[0]: {"forms": list(forms), **asdict(word)}
                for forms, word in zip(words, whole.words, strict=True)
            },
            "threshold": threshold,
        }
        if asked.time is not None:
            shape["explain"]["time"] = _time_asked(asked.time, found.ranking.timing)
    return shape


def _time_asked(time: TimeAsked, timing: Timing | None) -> dict[str, Any]:
    """The time words of a query and what they came to; no window where the temporal arm is silent."""
    words = time.words
    told: dict[str, Any] = {
        "words": list(words.words),
        "notion": words.notion,
        "relation": words.relation or None,
        "asked_at": iso(time.at),
        "rest": words.rest,
    }
    if words.anchor:
        found = None if timing is None else timing.anchor
        told["anchor"] = {"words": words.anchor, "memory_id": None if found is None else found.uid}
    if timing is not None and timing.relation:
        told["from"], told["to"] = iso(timing.begins), iso(timing.ends)
    return told


def score_details(explanation: Explanation, words: Words) -> dict[str, Any]:
    """How a score came about: mem0's keys, then each arm and lift with what it gave, and a line to read."""
    held = [words[i][0] for i in explanation.words]
    return {
        "semantic_score": explanation.cosine,
        "bm25_score": explanation.bm25,
        "final_score": explanation.score,
        "rank": explanation.rank,
        "direct": explanation.direct,
        "same_words": explanation.same,
        "inherited": explanation.inherited,
        "arms": {share.name: _share(share) for share in explanation.arms},
        "lifts": {share.name: _share(share) for share in explanation.lifts},
        **({} if explanation.left is None else {"recency": explanation.left}),
        "words": held,
        "words_of_source": [words[i][0] for i in explanation.told],
        "reason": reason(explanation, held),
    }


def reason(explanation: Explanation, held: Sequence[str]) -> str:
    """The score in one line: what each arm and the surroundings added, and the words that matched."""
    parts = [f"{share.name} {share.contribution:.2f}" for share in explanation.arms if share.contribution > 0]
    lifted = sum(share.contribution for share in explanation.lifts)
    if explanation.inherited:
        parts = [f"what it superseded {explanation.inherited:.2f}"]
    elif explanation.same >= explanation.direct > 0:
        parts = [f"its own words {explanation.same:.2f}"]
    if lifted > 0.005:
        parts.append(f"neighbours {lifted:.2f}")
    whole = " + ".join(parts) or "0"
    if explanation.left is not None and explanation.left < 1:
        whole = f"({whole}) * recency {explanation.left:.2f}"
    line = f"{explanation.score:.2f} = {whole}"
    return f"{line}; words: {', '.join(held)}" if held else line


def _share(share: Share) -> dict[str, Any]:
    return {
        "value": share.value,
        "weight": share.weight,
        "contribution": share.contribution,
        "rank": share.rank,
    }


def _why_empty(found: Found, threshold: float | None) -> str:
    if not found.owners:
        return "Nothing was ever stored under these ids."
    if not found.memories and found.known_at is not None:
        return f"Nothing was kept under these ids by {iso(found.known_at)}."
    if not found.memories:
        return "Nothing is kept under these ids."
    if not found.eligible:
        return f"The filters, expiry or validity leave none of {found.memories} memories."
    if not found.limit:
        return "top_k is 0, so nothing is returned."
    if found.ranking.hits:
        best = found.ranking.hits[0].score
        return (
            f"The best of {len(found.ranking.hits)} hits scores {best:.3f}, below the threshold {threshold}."
        )
    return f"None of {found.eligible} memories shares a word with the query or comes near its meaning."
