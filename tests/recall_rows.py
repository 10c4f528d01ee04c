"""Rows for the tests of ranking: short ways to make index rows, messages and queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from mnemic.recall.fuse import Query, Ranking
from mnemic.recall.snapshot import Snapshot
from mnemic.records import IndexRow, MessageRow, Owner
from mnemic.text import pack

OWNER = Owner("t", "u")


def row(no: int, words: str, episode: int = 1, position: int = 0, **fields: Any) -> IndexRow:
    """A row whose terms are the words as they stand; `vector` may be a list of numbers."""
    vector = fields.pop("vector", None)
    plain: dict[str, Any] = {
        "memory_no": no,
        "version_no": fields.pop("version_no", no),
        "uid": f"{no:08d}",
        "kind": "message",
        "episode_no": episode,
        "position": position,
        "role": None,
        "actor_id": None,
        "attributed_to": None,
        "created_at": no,
        "updated_at": no,
        "observed_at": no,
        "valid_from": None,
        "valid_to": None,
        "expires_at": None,
        "expires_on": None,
        "metadata": None,
        "categories": None,
        "terms": terms(words),
        "vector": None if vector is None else np.array(vector, "<f4").tobytes(),
    }
    return IndexRow(**(plain | fields))


def message(no: int, words: str, episode: int = 1, position: int = 0) -> MessageRow:
    """A message that is no memory."""
    return MessageRow(no, episode, position, terms(words))


def terms(words: str) -> bytes:
    """Packed terms of words divided by spaces."""
    return pack.pack(Counter(words.split()))


def query(words: str, vector: Sequence[float] | None = None, **fields: Any) -> Query:
    """A query; alternatives of a word are divided by '|'."""
    groups = tuple(tuple(pack.term_hash(term) for term in word.split("|")) for word in words.split())
    return Query(groups, None if vector is None else np.array(vector, np.float32), **fields)


def everything(*snapshots: Snapshot) -> list[np.ndarray]:
    """Masks that let all rows through."""
    return [np.ones(snapshot.n, np.bool_) for snapshot in snapshots]


def scored(ranking: Ranking) -> list[tuple[str, float]]:
    """The hits as (id, score)."""
    return [(row_id(ranking.evidence[hit.snapshot].snapshot, hit.row), hit.score) for hit in ranking.hits]


def row_id(snapshot: Snapshot, at: int) -> str:
    """The memory id of a row."""
    uid: bytes = snapshot.rows["uid"][at]
    return uid.decode()


def row_of(snapshot: Snapshot, uid: str) -> int | None:
    """The live row of a memory id; None where there is none."""
    found = np.flatnonzero((snapshot.rows["uid"] == uid.encode()) & snapshot.live)
    return int(found[0]) if len(found) else None
