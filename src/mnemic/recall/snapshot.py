"""A snapshot of a ScopeIndex: the columns that ranking and filtering read, as they were at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..filter_masks import NULL_INSTANT, Coded
from ..records import Owner
from .columns import Coder, JsonKeys
from .lexical import Floats, Ints, Longs, Mask, Postings
from .slots import Slots

__all__ = ["NULL_INSTANT", "Coded", "Mask", "Snapshot"]

# What the successor column holds where there is none.
NO_MEMORY = -1
# What the event_day column (days since 1970) holds where no day is told.
NO_DAY = -(2**31)

TIMES = ("created_at", "updated_at", "observed_at", "valid_from", "valid_to", "expires_at")
CODED = ("kind", "role", "actor_id", "attributed_to", "expires_on", "categories", "metadata")
_OWNER_IDS = ("user_id", "agent_id", "app_id")
_MASKS_HELD = 32


class Lengths(NamedTuple):
    """Words in each text of one kind; and how many words all texts that count have, and how many those are."""

    of: Floats
    total: float
    many: int


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What an index held at one moment: rows 0 to n - 1, some of them dead. It never changes.

    It answers for the columns that filters ask for (`mnemic.filter_masks.ColumnView`). `rows` and `messages`
    have the raw columns, `heard` tells the messages that count; `blocks` the unit vectors, row after row.
    """

    owner: Owner
    seq: int
    n: int
    live: Mask
    rows: dict[str, NDArray[Any]]
    messages: dict[str, NDArray[Any]]
    heard: Mask
    labels: dict[str, NDArray[Any]]
    coders: dict[str, Coder]
    blocks: tuple[NDArray[np.float32], ...]
    words: Postings
    message_words: Postings
    slots: Slots
    json_keys: JsonKeys
    _masks: dict[str, Mask] = field(default_factory=dict)
    _windows: dict[tuple[float, ...], Lengths] = field(default_factory=dict)

    def column(self, name: str) -> Longs:
        """A time column in microseconds, int64 (n,), NULL_INSTANT where there is none.

        Raises `KeyError` for a name other than created_at, updated_at, observed_at, valid_from, valid_to,
        expires_at.
        """
        if name not in TIMES:
            raise KeyError(name)
        return self.rows[name]

    def coded(self, name: str) -> Coded:
        """Any other column by code: kind, role, actor_id, attributed_to, expiration_date, categories (as
        tuples), id, user_id, agent_id, app_id. Raises `KeyError` for another name."""
        if name == "id":
            return Coded(np.arange(self.n, dtype=np.int32), self._uids)
        if name in _OWNER_IDS:
            return Coded(np.zeros(self.n, np.int32), (getattr(self.owner, name),))
        key = "expires_on" if name == "expiration_date" else name
        return Coded(self.rows[key], self.coders[key].values)

    def metadata_key(self, key: str) -> Coded:
        """The values under a metadata key, decoded from the distinct metadata texts when first asked for."""
        of_row = self.rows["metadata"]
        codes, values = self.json_keys.of(key, int(of_row.max(initial=-1)) + 1)
        return Coded(np.append(codes, np.int32(-1))[of_row], values)

    def runs(self, run_id: str) -> Mask:
        """The rows whose memory has a run label, bool (n,)."""
        found = self._masks.get(run_id)
        if found is None:
            chosen = self.labels["run"] == self.coders["run"].code(run_id)
            found = np.isin(self.rows["memory_no"], self.labels["memory_no"][chosen])
            if len(self._masks) >= _MASKS_HELD:
                self._masks.clear()
            self._masks[run_id] = found
        return found

    @property
    def version_no(self) -> Longs:
        """The version behind each row."""
        return self.rows["version_no"]

    @cached_property
    def heirs(self) -> tuple[Longs, Longs]:
        """The live rows that were superseded, and the live row that superseded each."""
        old = np.flatnonzero((self.rows["successor_no"] != NO_MEMORY) & self.live)
        wanted = self.rows["successor_no"][old]
        new = np.flatnonzero(np.isin(self.rows["memory_no"], wanted) & self.live) if len(old) else old
        new = new[np.argsort(self.rows["memory_no"][new])]
        numbers = self.rows["memory_no"][new]
        at = np.searchsorted(numbers, wanted)
        held = np.isin(wanted, numbers)
        return old[held], new[at[held]]

    @cached_property
    def dead(self) -> bool:
        """Whether any row is dead."""
        return not bool(self.live.all())

    @cached_property
    def retold(self) -> bool:
        """Whether any message does not count any more."""
        return not bool(self.heard.all())

    @cached_property
    def row_lengths(self) -> Lengths:
        """Words in each row; of all live ones."""
        lengths: Floats = self.rows["length"]
        return Lengths(lengths, float(lengths.sum(where=self.live)), int(np.count_nonzero(self.live)))

    @cached_property
    def slot_lengths(self) -> Floats:
        """Words on each slot, live rows and messages together."""
        rows = np.where(self.live, self.rows["length"], 0.0)
        return self.slots.sums(rows, np.where(self.heard, self.messages["length"], 0.0))

    def window_lengths(self, window: tuple[float, ...]) -> Lengths:
        """Words in the window around each slot; of all slots that have words."""
        found = self._windows.get(window)
        if found is None:
            lengths = self.slots.around(self.slot_lengths, window)
            held = self.slot_lengths > 0
            found = Lengths(lengths, float(lengths.sum(where=held)), int(np.count_nonzero(held)))
            self._windows[window] = found
        return found

    @cached_property
    def episode_lengths(self) -> Lengths:
        """Words in each episode; of all episodes that have words."""
        lengths = np.bincount(self.slots.episode, self.slot_lengths, self.slots.episodes).astype(np.float64)
        return Lengths(lengths, float(lengths.sum()), int(np.count_nonzero(lengths)))

    @cached_property
    def vectored(self) -> Mask:
        """The live rows that have a vector."""
        both: Mask = self.rows["vectored"] & self.live
        return both

    @cached_property
    def dims(self) -> int:
        """The length of the vectors of live rows, 0 where none has one."""
        return self.blocks[0].shape[1] if self.vectored.any() else 0

    @cached_property
    def slot_vectors(self) -> Ints:
        """How many vectors lie on each slot, 1 where none does."""
        return np.maximum(np.bincount(self.slots.rows[self.vectored], minlength=self.slots.size), 1)

    @cached_property
    def episode_of_row(self) -> Ints:
        """The episode of each row."""
        return self.slots.episode[self.slots.rows]

    @cached_property
    def episode_vectors(self) -> Ints:
        """How many vectors an episode has, 1 where none."""
        of_vector = self.episode_of_row[self.vectored]
        return np.maximum(np.bincount(of_vector, minlength=self.slots.episodes), 1)

    @cached_property
    def _uids(self) -> tuple[str, ...]:
        return tuple(uid.decode() for uid in self.rows["uid"].tolist())
