"""Packed postings: which documents hold a term and how often, in a few flat arrays; and the BM25 parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Counts = NDArray[np.uint8]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_HASH_BYTES = 8


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings by term: those of `terms[i]` (hashes, ascending) are `docs[starts[i]:starts[i + 1]]`.

    The documents of a term ascend. All postings of a document lie in the same segment.
    """

    terms: Longs
    starts: Longs
    docs: Ints
    counts: Counts

    @property
    def size(self) -> int:
        """How many postings."""
        return len(self.docs)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.terms.nbytes + self.starts.nbytes + self.docs.nbytes + self.counts.nbytes


def segment(hashes: Longs, docs: Ints, counts: Counts) -> Segment:
    """The segment of postings given in any order in which the documents of each term ascend."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if len(ordered) else order
    starts = np.append(first, len(ordered)).astype(np.int64)
    return Segment(ordered[first], starts, docs[order], counts[order])


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The terms of several documents, one after another: document i has `sizes[i]` of them."""

    hashes: Longs
    counts: Counts
    sizes: Longs

    @classmethod
    def joined(cls, parts: Sequence[Unpacked]) -> Unpacked:
        """Several as one."""
        return cls(
            np.concatenate([part.hashes for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.sizes for part in parts]),
        )

    def lengths(self) -> Floats:
        """Words per document."""
        ends = np.concatenate(([0.0], np.cumsum(self.counts, dtype=np.float64)))
        bounds = np.concatenate(([0], np.cumsum(self.sizes)))
        return np.diff(ends[bounds])

    def postings(self, first: int) -> Segment:
        """Their segment, the documents numbered from `first`."""
        docs = np.repeat(np.arange(first, first + len(self.sizes), dtype=np.int32), self.sizes)
        return segment(self.hashes, docs, self.counts)


def unpack_all(blobs: Sequence[bytes]) -> Unpacked:
    """Unpack many blobs of `mnemic.text.pack` at once (one by one costs six times as much).

    Raises `ValueError` for a length that is none of a blob's.
    """
    sizes = [len(blob) // (_HASH_BYTES + 1) for blob in blobs]
    if sum(map(len, blobs)) != sum(sizes) * (_HASH_BYTES + 1):
        raise ValueError(f"packed terms whose length is not a multiple of {_HASH_BYTES + 1}")
    hashes = b"".join([blob[: size * _HASH_BYTES] for blob, size in zip(blobs, sizes, strict=True)])
    counts = b"".join([blob[size * _HASH_BYTES :] for blob, size in zip(blobs, sizes, strict=True)])
    return Unpacked(
        np.frombuffer(hashes, "<i8").astype(np.int64, copy=False),
        np.frombuffer(counts, np.uint8),
        np.array(sizes, dtype=np.int64),
    )


@dataclass(frozen=True, slots=True)
class Hits:
    """The documents that hold one query word (ascending, each once), and how often they do."""

    docs: Ints
    counts: Floats


@dataclass(frozen=True, slots=True)
class Postings:
    """Segments from big to small. Immutable: `plus` gives a new one, so a reader keeps what it has."""

    segments: tuple[Segment, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(part.nbytes for part in self.segments)

    def plus(self, new: Segment) -> Postings:
        """With one more segment; a segment is merged into the one before once it is a quarter of its size.

        So there are at most log4 of the number of postings, and a posting is moved that often.
        """
        if not new.size:
            return self
        parts = [*self.segments, new]
        while len(parts) > 1 and parts[-1].size * 4 >= parts[-2].size:
            small = parts.pop()
            parts[-1] = _merged(parts[-1], small)
        return Postings(tuple(parts))

    def words(self, groups: Sequence[Sequence[int]], live: Mask | None) -> list[Hits]:
        """The hits of each group of alternatives among the live documents; alternatives count as one word."""
        terms = np.array([term for group in groups for term in group], dtype=np.int64)
        found: list[list[tuple[Ints, Counts]]] = [[] for _ in range(len(terms))]
        for part in self.segments:
            at = np.minimum(part.terms.searchsorted(terms), len(part.terms) - 1)
            for i in np.flatnonzero(part.terms[at] == terms).tolist():
                span = slice(part.starts[at[i]], part.starts[at[i] + 1])
                found[i].append((part.docs[span], part.counts[span]))
        hits, i = [], 0
        for group in groups:
            hits.append(_word(found[i : i + len(group)], live))
            i += len(group)
        return hits


def _merged(big: Segment, small: Segment) -> Segment:
    hashes = np.concatenate([np.repeat(part.terms, np.diff(part.starts)) for part in (big, small)])
    return segment(hashes, np.concatenate((big.docs, small.docs)), np.concatenate((big.counts, small.counts)))


def _word(alternatives: Iterable[list[tuple[Ints, Counts]]], live: Mask | None) -> Hits:
    matched = [spans for spans in alternatives if spans]
    spans = [span for spans in matched for span in spans]
    if not spans:
        return Hits(np.empty(0, np.int32), np.empty(0))
    docs = spans[0][0] if len(spans) == 1 else np.concatenate([span[0] for span in spans])
    raw = spans[0][1] if len(spans) == 1 else np.concatenate([span[1] for span in spans])
    if live is not None:
        kept = live[docs]
        docs, raw = docs[kept], raw[kept]
    counts = raw.astype(np.float64)
    if len(matched) > 1:
        sums = np.bincount(docs, counts)
        docs = np.flatnonzero(sums).astype(np.int32)
        counts = sums[docs]
    return Hits(docs, counts)


def rarity(documents: float, holding: float) -> float:
    """How much a word tells (idf): ln(1 + (N - n + 1/2) / (n + 1/2)), as in Lucene; never below 0."""
    return math.log1p((documents - holding + 0.5) / (holding + 0.5))


def tempered_rarity(documents: int, holding: int, share: float, talk: float) -> float:
    """`rarity` for a word of which it is known in what `share` of general talk it stands (0: not known).

    It falls by as much as the rarity among the documents and `talk` more falls when that share of the `talk`
    holds the word. So a word that is rare only by accident counts little in a small collection, and a big one
    trusts its own counts.
    """
    everything = documents + talk
    known = rarity(everything, holding + share * talk) / rarity(everything, holding)
    return rarity(documents, holding) * known


@dataclass(frozen=True, slots=True)
class Saturation:
    """The term-frequency part of BM25 (Robertson and Zaragoza 2009): tf (k1 + 1) / (tf + norm) with
    norm = k1 (1 - b + b length / average). It is 1 for a word that stands once in a text of average length."""

    k1: float
    b: float
    average: float

    def norms(self, lengths: Floats) -> Floats:
        """The norms for texts of some lengths."""
        return lengths * (self.k1 * self.b / self.average) + self.k1 * (1.0 - self.b)

    def of(self, counts: Floats | Longs, norms: Floats) -> Floats:
        """The part for each text."""
        return counts * (self.k1 + 1.0) / (counts + norms)
