"""The signals of a ranking, each from 0 (tells nothing) to 1, absolute: none is scaled by what else is found.

A word weighs what it weighs among the live rows of all snapshots given, whatever may be returned of them; an
everyday word less, the less there are of them (`lexical.tempered_rarity`).

- dense: the cosine on the scale of the embedder's own background (`records.Background`).
- lexical: BM25 over what a row of average length that holds every word of the query once would get if none
  of them was an everyday word: those prove little, so a query of nothing else is never answered by words.
- window: the same for the turns around a row taken together; a fact's source message lies among them.
- near: the dense signal averaged over the turns around a row.
- episode_lexical, episode_dense: BM25 over whole episodes; root mean square of the dense signal in the episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import EmbedderMismatchError
from ..records import Background
from ..text.common import everyday_shares
from .columns import cosines
from .lexical import Floats, Hits, Longs, Mask, Saturation, rarity, tempered_rarity
from .recipe import Recipe
from .snapshot import Lengths, Snapshot

# Plain cosines, for vectors that come without a measured background.
PLAIN = Background(mean=0.0, high=0.3, same=0.6, own=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A question as ranking reads it.

    `groups`: for each word the hashes of its alternatives (`text.tokens.query_terms`, `text.pack.term_hash`).
    `whole`: the same for the question with its time words, where it has some; a memory's own text is known by them.
    `bare`: nothing is left without them. `vector`: float32 (dims,), not zero, of any length; None without an
    embedder. `background`: what its cosines are worth; where a text is no more like itself than noise, the vector
    is left out.
    """

    groups: tuple[tuple[int, ...], ...]
    vector: NDArray[np.float32] | None = None
    background: Background = PLAIN
    whole: tuple[tuple[int, ...], ...] = ()
    bare: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What one snapshot holds on a query.

    `words` and `told`: the hits of each word among rows and among messages. `cosines`, `bm25`: raw, per row.
    `same`: how much of a row's words are the query's, time words and all, for rows that hold all of the query's; else
    0. `related`: per slot, whether any text on it shares a word. `rows`, `slots`, `episodes`: the signals.
    """

    snapshot: Snapshot
    words: list[Hits]
    told: list[Hits]
    cosines: NDArray[np.float32] | None
    bm25: Floats
    same: Floats
    related: Mask
    rows: dict[str, Floats]
    slots: dict[str, Floats]
    episodes: dict[str, Floats]


@dataclass(frozen=True, slots=True)
class _Weighing:
    """What the words of a query count: each one's weight, the sum they would have were none of them an everyday
    word, and the curve for each kind of text."""

    weights: tuple[float, ...]
    total: float
    row: Saturation
    window: Saturation
    episode: Saturation


def gather(snapshots: Sequence[Snapshot], query: Query, recipe: Recipe) -> list[Evidence]:
    """The evidence of each snapshot. A signal is missing in all of them where the query gives it nothing to
    go by. Raises `EmbedderMismatchError` for a query vector of another length than those held."""
    words = [_held(s, query.groups) for s in snapshots]
    weighing = _weigh(snapshots, words, query, recipe)
    dense = query.vector is not None and query.background.own > query.background.high
    dense = dense and any(s.dims for s in snapshots)
    found = []
    for snapshot, own in zip(snapshots, words, strict=True):
        told = snapshot.message_words.words(query.groups, snapshot.heard if snapshot.retold else None)
        evidence = _empty(snapshot, own, told, _cosines(snapshot, query) if dense else None)
        if query.groups:
            _add_lexical(evidence, weighing)
            _add_same(evidence, _held(snapshot, query.whole) if query.whole else own)
            _add_context(evidence, weighing, recipe)
        if evidence.cosines is not None:
            _add_dense(evidence, query.background, recipe)
        found.append(evidence)
    return found


def _empty(
    snapshot: Snapshot, words: list[Hits], told: list[Hits], cosine: NDArray[np.float32] | None
) -> Evidence:
    nothing, related = np.zeros(snapshot.n), np.zeros(snapshot.slots.size, np.bool_)
    return Evidence(snapshot, words, told, cosine, nothing.copy(), nothing, related, {}, {}, {})


def _held(snapshot: Snapshot, groups: tuple[tuple[int, ...], ...]) -> list[Hits]:
    return snapshot.words.words(groups, snapshot.live if snapshot.dead else None)


def _cosines(snapshot: Snapshot, query: Query) -> NDArray[np.float32]:
    if query.vector is None or not snapshot.dims:
        return np.zeros(snapshot.n, np.float32)
    if len(query.vector) != snapshot.dims:
        found, dims = len(query.vector), snapshot.dims
        raise EmbedderMismatchError(f"The query vector has {found} dimensions, the vectors held {dims}.")
    return cosines(snapshot.blocks, query.vector)


def word_weights(query: Query, held: Sequence[int], size: int, recipe: Recipe) -> tuple[float, ...]:
    """What each word of the query weighs where `held` of `size` rows hold it."""
    shares = everyday_shares()
    return tuple(
        tempered_rarity(size, many, max(shares.get(term, 0.0) for term in group), recipe.talk)
        for many, group in zip(held, query.groups, strict=True)
    )


def _weigh(
    snapshots: Sequence[Snapshot], words: Sequence[list[Hits]], query: Query, recipe: Recipe
) -> _Weighing:
    rows = [s.row_lengths for s in snapshots]
    size = sum(lengths.many for lengths in rows)
    held = [sum(len(found[i].docs) for found in words) for i in range(len(query.groups))]
    return _Weighing(
        word_weights(query, held, size, recipe),
        sum(rarity(size, many) for many in held),
        _saturation(rows, recipe),
        _saturation([s.window_lengths(recipe.window) for s in snapshots], recipe),
        _saturation([s.episode_lengths for s in snapshots], recipe),
    )


def _saturation(lengths: Sequence[Lengths], recipe: Recipe) -> Saturation:
    many = sum(part.many for part in lengths)
    total = sum(part.total for part in lengths)
    return Saturation(recipe.k1, recipe.b, total / many if total else 1.0)


def _add_lexical(evidence: Evidence, weighing: _Weighing) -> None:
    snapshot, words = evidence.snapshot, evidence.words
    docs = np.concatenate([hits.docs for hits in words])
    counts = np.concatenate([hits.counts for hits in words])
    weights = np.repeat(weighing.weights, [len(hits.docs) for hits in words])
    lengths = snapshot.row_lengths.of
    parts = weights * weighing.row.of(counts, weighing.row.norms(lengths[docs]))
    evidence.bm25[:] = np.bincount(docs, parts, snapshot.n)
    evidence.rows["lexical"] = np.minimum(evidence.bm25 / weighing.total, 1.0)


def _add_same(evidence: Evidence, words: Sequence[Hits]) -> None:
    snapshot = evidence.snapshot
    docs = np.concatenate([hits.docs for hits in words])
    whole = np.flatnonzero(np.bincount(docs, minlength=snapshot.n) == len(words))
    if len(whole):
        matched = np.bincount(docs, np.concatenate([hits.counts for hits in words]), snapshot.n)[whole]
        evidence.same[whole] = np.minimum(matched / snapshot.row_lengths.of[whole], 1.0)


def _add_context(evidence: Evidence, weighing: _Weighing, recipe: Recipe) -> None:
    snapshot, slots = evidence.snapshot, evidence.snapshot.slots
    kernel, beside = np.array(recipe.window), slots.within(len(recipe.window))
    window, episode = np.zeros(slots.size), np.zeros(slots.episodes)
    window_norms = weighing.window.norms(snapshot.window_lengths(recipe.window).of)
    episode_norms = weighing.episode.norms(snapshot.episode_lengths.of)
    for own, told, weight in zip(evidence.words, evidence.told, weighing.weights, strict=True):
        at, counts = slots.rows[own.docs], own.counts
        if len(told.docs):
            at = np.concatenate((at, slots.messages[told.docs]))
            counts = np.concatenate((counts, told.counts))
        if not len(at):
            continue
        evidence.related[at] = True
        wide = np.bincount(beside[:, at].ravel(), np.outer(kernel, counts).ravel(), slots.size)
        _accumulate(window, wide, weight, weighing.window, window_norms)
        whole = np.bincount(slots.episode[at], counts, slots.episodes)
        _accumulate(episode, whole, weight, weighing.episode, episode_norms)
    evidence.slots["window"] = np.minimum(window / weighing.total, 1.0)
    evidence.episodes["episode_lexical"] = np.minimum(episode / weighing.total, 1.0)


def _accumulate(
    scores: Floats, counts: Floats | Longs, weight: float, curve: Saturation, norms: Floats
) -> None:
    held = np.flatnonzero(counts > 0)
    scores[held] += weight * curve.of(counts[held], norms[held])


def _add_dense(evidence: Evidence, background: Background, recipe: Recipe) -> None:
    snapshot, slots = evidence.snapshot, evidence.snapshot.slots
    assert evidence.cosines is not None
    dense = np.where(snapshot.vectored, _scaled(evidence.cosines, background, recipe), 0.0)
    evidence.rows["dense"] = dense
    of_slot = np.bincount(slots.rows, dense, slots.size) / snapshot.slot_vectors
    evidence.slots["near"] = slots.around(of_slot, recipe.window) / sum(recipe.window)
    squares = np.bincount(snapshot.episode_of_row, dense * dense, slots.episodes)
    evidence.episodes["episode_dense"] = np.sqrt(squares / snapshot.episode_vectors)


def _scaled(cosine: NDArray[np.float32], background: Background, recipe: Recipe) -> Floats:
    """1 from the mean cosine of a text with itself on, `recipe.unrelated` at that of unrelated texts, 0 only for
    opposites (-1), straight lines in between: one above that mean if it leaves the noise at or below
    `recipe.noise`, else two that meet there."""
    mean, high, own, unrelated = background.mean, background.high, background.own, recipe.unrelated
    share = min(recipe.noise, unrelated + (1.0 - unrelated) * (high - mean) / (own - mean))
    scaled = np.interp(cosine, (-1.0, mean, high, own), (0.0, unrelated, share, 1.0))
    # On a grid, so that sums over an episode come out the same in any order.
    return np.rint(scaled * 2.0**20) * 2.0**-20
