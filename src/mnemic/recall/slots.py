"""Turn slots: where memories and messages lie in the talk.

A slot is one (episode, position); a fact and the message that states it share one. The neighbours of a slot
are those whose positions in the same episode are at most REACH away: so what lies around a turn depends on
positions alone, not on what was deleted in between nor on the order in which rows came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .lexical import Floats, Ints, Longs

REACH = 2
_POSITION_BITS = 24
_LAST_POSITION = (1 << _POSITION_BITS) - 1 - REACH


def place(episodes: Sequence[int], positions: Sequence[int]) -> Longs:
    """Episodes and positions as numbers that sort like the pairs."""
    within = np.minimum(np.array(positions, dtype=np.int64), _LAST_POSITION)
    return (np.array(episodes, dtype=np.int64) << _POSITION_BITS) | within


def _none() -> Ints:
    return np.zeros(1, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """The slots of all rows and messages. Slot 0 is no place: what is missing beside a slot lies there.

    `rows`, `messages`: the slot of each. `episode`: that of each slot, numbered from 0. `beside`: for each slot
    the one at the distance -REACH ... REACH, int32 (2 * REACH + 1, size). `places`: of each slot, for finding.
    """

    rows: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    messages: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    episode: Ints = field(default_factory=_none)
    episodes: int = 1
    beside: Ints = field(default_factory=lambda: np.zeros((2 * REACH + 1, 1), np.int32))
    places: Longs = field(default_factory=lambda: np.full(1, -(2**63)))

    @property
    def size(self) -> int:
        """How many slots there are, slot 0 included."""
        return len(self.places)

    def grown(self, rows: Longs, messages: Longs) -> Slots:
        """The slots for the places of all rows and messages: those known already, then new ones.

        Slots are in the order of their places; new ones that come after all episodes known are laid behind
        them, any other new place lays out all anew.
        """
        known = self
        new = np.unique(np.concatenate((rows[len(self.rows) :], messages[len(self.messages) :])))
        new = new[self.places[self._of(new)] != new]
        if len(new):
            if new[0] >> _POSITION_BITS <= self.places[-1] >> _POSITION_BITS:
                known, new = Slots(), np.sort(np.append(self.places[1:], new))
            known = _laid_behind(known, new)
        return Slots(
            np.append(known.rows, known._of(rows[len(known.rows) :])),
            np.append(known.messages, known._of(messages[len(known.messages) :])),
            known.episode,
            known.episodes,
            known.beside,
            known.places,
        )

    def sums(self, rows: Floats, messages: Floats) -> Floats:
        """The sum on each slot of a number per row and one per message."""
        sums: Floats = np.bincount(self.rows, rows, self.size).astype(np.float64)
        sums += np.bincount(self.messages, messages, self.size)
        return sums

    def around(self, values: Floats, window: Sequence[float]) -> Floats:
        """For each slot the weighted sum of a number per slot (0 on slot 0) over its neighbours and itself."""
        sums = np.zeros(self.size)
        for weight, there in zip(window, self.within(len(window)), strict=True):
            sums += weight * values[there]
        return sums

    def within(self, width: int) -> Ints:
        """The middle `width` rows of `beside`."""
        return self.beside[REACH - width // 2 : REACH + width // 2 + 1]

    def _of(self, places: Longs) -> Ints:
        """The slots of places; some slot for one that is not there."""
        return np.minimum(self.places.searchsorted(places), self.size - 1).astype(np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = (self.rows, self.messages, self.episode, self.beside, self.places)
        return sum(array.nbytes for array in arrays)


def _laid_behind(known: Slots, places: Longs) -> Slots:
    """`known` with slots for some more places, which ascend and are all of later episodes."""
    of_episode = np.cumsum(np.diff(places >> _POSITION_BITS, prepend=-1) != 0) - 1
    beside = np.zeros((2 * REACH + 1, len(places)), np.int32)
    for i, distance in enumerate(range(-REACH, REACH + 1)):
        at = np.minimum(places.searchsorted(places + distance), len(places) - 1)
        beside[i] = np.where(places[at] == places + distance, known.size + at, 0)
    return Slots(
        known.rows,
        known.messages,
        np.append(known.episode, (known.episodes + of_episode).astype(np.int32)),
        known.episodes + int(of_episode[-1]) + 1,
        np.concatenate((known.beside, beside), axis=1),
        np.append(known.places, places),
    )
