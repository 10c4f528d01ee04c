"""The ScopeIndex: all that ranking and filtering read of one owner, in flat arrays.

The believed version of a memory is a row; a new version is a new row and the old one is dead from then on.
Nothing that a snapshot can see is ever written again: rows are appended behind its end, and what has to
change is copied first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from ..records import IndexRow, MessageRow, Owner, RunRow
from .columns import Coder, Columns, JsonKeys, Matrix
from .lexical import Longs, Mask, Postings, Unpacked, unpack_all
from .slots import Slots, place
from .snapshot import CODED, NO_DAY, NO_MEMORY, NULL_INSTANT, TIMES, Snapshot

_CHUNK = 1024
_ROW: dict[str, DTypeLike] = {
    "memory_no": np.int64,
    "version_no": np.int64,
    "successor_no": np.int64,
    "event_day": np.int32,
    "uid": "S36",
    "place": np.int64,
    "length": np.float64,
    "vectored": np.bool_,
    **dict.fromkeys(TIMES, np.int64),
    **dict.fromkeys(CODED, np.int32),
}
_LABEL: dict[str, DTypeLike] = {"memory_no": np.int64, "run": np.int32}
_MESSAGE: dict[str, DTypeLike] = {"message_no": np.int64, "place": np.int64, "length": np.float64}

# A reload pays once more than a third of the rows are dead; up to this many do not matter.
_DEAD_ALLOWED = 1000

_Row = TypeVar("_Row")


class ScopeIndex:
    """The index of one owner. One writer at a time; its snapshots may be read from any thread.

    The order of the given rows does not matter: two indexes over the same rows rank alike to the bit, however
    they were built. Raises `ValueError` for vectors of different lengths.
    """

    def __init__(
        self,
        owner: Owner,
        rows: Iterable[IndexRow] = (),
        messages: Iterable[MessageRow] = (),
        runs: Iterable[RunRow] = (),
        seq: int = 0,
        space_id: int | None = None,
    ) -> None:
        self.owner = owner
        self.seq = seq
        self.space_id = space_id
        self._rows = Columns(_ROW)
        self._messages = Columns(_MESSAGE)
        self._labels = Columns(_LABEL)
        self._coders = {name: Coder(_DECODE.get(name)) for name in (*CODED, "run")}
        self._json_keys = JsonKeys(self._coders["metadata"].values)
        self._matrix = Matrix()
        self._words, self._message_words = Postings(), Postings()
        self._slots = Slots()
        self._live: Mask = np.empty(0, np.bool_)
        self._heard: Mask = np.empty(0, np.bool_)
        self._take(rows, messages, runs)

    def apply(
        self,
        rows_replaced: Iterable[IndexRow],
        memory_nos_gone: Iterable[int],
        messages: Iterable[MessageRow],
        runs: Iterable[RunRow],
        seq: int,
        labels_of: Iterable[int] = (),
    ) -> bool:
        """Take in what changed: new and replaced rows, memories without a believed version, messages, labels.

        A message that is known already has other terms from now on. Labels that are known may be among them;
        those of the memories `labels_of` are told in full: any other that they had is gone. Returns False,
        with nothing changed, where the caller must reload: the sequence would go back, a vector has another
        length than those held, or too many rows would be dead. A purge, after which messages are missing,
        needs one too.
        """
        rows = {row.memory_no: row for row in rows_replaced}
        gone = np.array([*rows, *memory_nos_gone], dtype=np.int64)
        stale = np.flatnonzero(np.isin(self._rows["memory_no"], gone) & self._live)
        told = {message.message_no: message for message in messages}
        retold = np.flatnonzero(
            np.isin(self._messages["message_no"], np.array([*told], dtype=np.int64)) & self._heard
        )
        if (
            seq < self.seq
            or _too_many_dead(self._live, len(stale), len(rows))
            or _too_many_dead(self._heard, len(retold), len(told))
            or not self._matrix.fits(row.vector for row in rows.values())
        ):
            return False
        self._live, self._heard = self._live.copy(), self._heard.copy()
        self._live[stale] = self._heard[retold] = False
        self._forget_labels(np.array([*labels_of], dtype=np.int64))
        self.seq = seq
        self._take(rows.values(), told.values(), runs)
        return True

    def snapshot(self) -> Snapshot:
        """What the index holds now; it stays the same for as long as it is kept."""
        return self._snapshot

    @property
    def nbytes(self) -> int:
        """Bytes held, near enough for a budget."""
        parts = (self._rows, self._messages, self._labels, self._words, self._message_words, self._slots)
        coded = sum(coder.nbytes for coder in self._coders.values())
        return (
            sum(part.nbytes for part in parts)
            + self._live.nbytes
            + self._heard.nbytes
            + self._matrix.nbytes
            + coded
        )

    def _take(self, rows: Iterable[IndexRow], messages: Iterable[MessageRow], runs: Iterable[RunRow]) -> None:
        terms = [self._append_rows(chunk) for chunk in _chunks(rows)]
        message_terms = [self._append_messages(chunk) for chunk in _chunks(messages)]
        for chunk in _chunks(runs):
            numbers, ids = zip(*chunk, strict=True)
            self._labels.extend({"memory_no": numbers, "run": self._coders["run"].encode(ids)})
        self._words = _plus(self._words, terms, self._rows.n)
        self._message_words = _plus(self._message_words, message_terms, self._messages.n)
        self._live = np.append(self._live, np.ones(self._rows.n - len(self._live), np.bool_))
        self._heard = np.append(self._heard, np.ones(self._messages.n - len(self._heard), np.bool_))
        self._slots = self._slots.grown(self._rows["place"], self._messages["place"])
        self._snapshot = Snapshot(
            self.owner,
            self.seq,
            self._rows.n,
            self._live,
            self._rows.views(),
            self._messages.views(),
            self._heard,
            self._labels.views(),
            self._coders,
            self._matrix.views(),
            self._words,
            self._message_words,
            self._slots,
            self._json_keys,
        )

    def _forget_labels(self, memory_nos: Longs) -> None:
        kept = ~np.isin(self._labels["memory_no"], memory_nos)
        if not kept.all():
            labels, self._labels = self._labels, Columns(_LABEL)
            self._labels.extend({name: labels[name][kept] for name in _LABEL})

    def _append_rows(self, rows: Sequence[IndexRow]) -> Unpacked:
        columns: dict[str, Any] = dict(zip(IndexRow._fields, zip(*rows, strict=True), strict=True))
        terms, vectors = unpack_all(columns.pop("terms")), columns.pop("vector")
        self._matrix.append(vectors)
        columns["vectored"] = [vector is not None for vector in vectors]
        columns["length"] = terms.lengths()
        columns["uid"] = [uid.encode() for uid in columns["uid"]]
        columns["place"] = place(columns.pop("episode_no"), columns.pop("position"))
        for name in ("valid_from", "valid_to", "expires_at"):
            columns[name] = [NULL_INSTANT if at is None else at for at in columns[name]]
        columns["successor_no"] = [NO_MEMORY if no is None else no for no in columns["successor_no"]]
        columns["event_day"] = [NO_DAY if not day else _day_number(day) for day in columns.pop("event_date")]
        for name in CODED:
            columns[name] = self._coders[name].encode(columns[name])
        self._rows.extend(columns)
        return terms

    def _append_messages(self, messages: Sequence[MessageRow]) -> Unpacked:
        numbers, episodes, positions, blobs = zip(*messages, strict=True)
        terms = unpack_all(blobs)
        self._messages.extend(
            {"message_no": numbers, "place": place(episodes, positions), "length": terms.lengths()}
        )
        return terms


def _too_many_dead(live: Mask, more: int, new: int) -> bool:
    dead = len(live) - int(np.count_nonzero(live)) + more
    return dead > max(_DEAD_ALLOWED, (len(live) + new) // 3)


def _categories(text: str) -> tuple[object, ...]:
    return tuple(json.loads(text))


def _day_number(day: str) -> int:
    """An ISO day as a number of days since 1970-01-01."""
    return date.fromisoformat(day).toordinal() - date(1970, 1, 1).toordinal()


_DECODE = {"categories": _categories}


def _chunks(rows: Iterable[_Row]) -> Iterator[list[_Row]]:
    rest = iter(rows)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


def _plus(postings: Postings, parts: Sequence[Unpacked], documents: int) -> Postings:
    if not parts:
        return postings
    terms = parts[0] if len(parts) == 1 else Unpacked.joined(parts)
    return postings.plus(terms.postings(documents - len(terms.sizes)))
