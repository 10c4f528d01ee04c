"""Giving versions the vectors they lack: in the space that is searched, or in one that the store moves to.

Any step may be the last before a crash: what is embedded is stored batch by batch, and whoever goes on later
finds what still lacks a vector.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection

from .errors import ModelError, StoreClosedError, StoreError
from .models.embed import Embedder
from .parts import Measured, Parts, off_loop
from .records import Act, Embeddings, OwnerState, Space
from .store import filling, owners, spaces
from .store.filling import Lacking

# Called with what is being done, how much of it is done, and how much there is in all.
Progress = Callable[[str, int, int], object]

BATCH = 128
# Small, since a process that ends waits for the batch under way.
BACKGROUND_BATCH = 16
# Vectors dropped in one transaction.
DROPPED = 2_000
# After so many looks that found something lacking, since others write, these are made to wait for a moment.
LOOKS = 3

log = logging.getLogger("mnemic")


@dataclass(frozen=True, slots=True)
class Moved:
    """From which model to which, how many versions were embedded, and how many the embedder refused."""

    old: Space | None
    new: Space
    embedded: int
    failed: int


class Filler:
    """Gives the versions of a store their vectors in one space, in the order of owners and numbers.

    `told`: whether indexes are told of each owner that is done: for the space that is searched. `renew` is called
    in each write.
    """

    def __init__(
        self, parts: Parts, space: Space, *, batch: int, told: bool, renew: Callable[[Connection], None]
    ) -> None:
        self._parts = parts
        self._space = space
        self._batch = batch
        self._told = told
        self._renew = renew
        # The number up to which each owner's versions have been seen to.
        self._seen: dict[int, int] = {}
        self._touched: set[int] = set()
        self.embedded = 0
        self.failed = 0

    async def fill(self, progress: Progress) -> None:
        """Embed all that lacks a vector by now."""
        todo = deque(await off_loop(self._changed_owners))
        total = len(todo)
        while todo:
            progress("owners embedded", total - len(todo), total)
            batch, done = await off_loop(partial(self._next, todo))
            embedded = await self._parts.embeddings_in(self._space, [one.text for one in batch])
            await off_loop(partial(self._put, batch, embedded, done))
        progress("owners embedded", total, total)

    def lacks_none(self, tx: Connection) -> bool:
        """Whether every version that is there now was seen to."""
        return not any(
            filling.lacking(tx, state, self._space.id, self._seen_of(state), 1)
            for state in owners.every_owner(tx)
            if self._is_behind(state)
        )

    def _changed_owners(self) -> list[OwnerState]:
        with self._parts.store().read() as tx:
            return [state for state in owners.every_owner(tx) if self._is_behind(state)]

    def _next(self, todo: deque[OwnerState]) -> tuple[list[Lacking], list[OwnerState]]:
        """What to embed next, and the owners of whom nothing is left then."""
        batch: list[Lacking] = []
        done: list[OwnerState] = []
        with self._parts.store().read() as tx:
            while todo and len(batch) < self._batch:
                room = self._batch - len(batch)
                found = filling.lacking(tx, todo[0], self._space.id, self._seen_of(todo[0]), room)
                batch += found
                if len(found) < room:
                    done.append(todo.popleft())
        return batch, done

    def _put(self, batch: Sequence[Lacking], embedded: Embeddings, done: Sequence[OwnerState]) -> None:
        pairs = [(one, row) for one, row in zip(batch, embedded.rows or (), strict=True) if row is not None]
        self._touched.update(one.owner.id for one in batch)
        act = Act(trace_id=uuid4().hex, at=self._parts.clock())
        with self._parts.store().write() as tx:
            self._renew(tx)
            filling.put_vectors(tx, self._space.id, pairs)
            for state in done:
                if self._told and state.id in self._touched:
                    filling.tell_indexes(tx, state, act)
        self.embedded += len(pairs)
        self.failed += len(embedded.failed)
        for one in batch:
            self._seen[one.owner.id] = one.version_no
        for state in done:
            self._seen[state.id] = max(state.seq, self._seen_of(state))

    def _is_behind(self, state: OwnerState) -> bool:
        return state.seq > self._seen_of(state)

    def _seen_of(self, state: OwnerState) -> int:
        return self._seen.get(state.id, 0)


class Move:
    """Moves a store to another model, while others search it and write to it. One at a time per store."""

    def __init__(self, parts: Parts, to: Embedder, progress: Progress) -> None:
        self._parts = parts
        self._to = to
        self._progress = progress
        self._token = uuid4().hex
        self._closing = False

    async def run(self) -> Moved:
        """Do all that is left to do, also of a move that was broken off.

        Raises `StoreBusyError` where another move runs, `EmbedderError`, `StoreError`.
        """
        measured = await self._parts.measured(self._to)
        old, target = await off_loop(partial(self._begin, measured))
        filler = Filler(self._parts, target, batch=BATCH, told=old == target, renew=self._lead)
        try:
            self._parts.admit(self._to)
            await filler.fill(self._progress)
            if old != target:
                looks = 0
                while not await off_loop(partial(self._switch, filler, target)):
                    looks += 1
                    self._closing = looks >= LOOKS
                    await filler.fill(self._progress)
            self._parts.prefer(self._to)
            await off_loop(self._drop_retired)
        finally:
            await off_loop(self._end)
        return Moved(old, target, filler.embedded, filler.failed)

    def _lead(self, tx: Connection) -> None:
        spaces.lead(tx, self._token, self._parts.clock(), closing=self._closing)

    def _begin(self, measured: Measured) -> tuple[Space | None, Space]:
        with self._parts.store().write() as tx:
            self._lead(tx)
            old = spaces.active_space(tx)
            if old is not None and (old.name, old.dims) == (measured.name, measured.dims):
                return old, old
            made = (measured.name, measured.dims, measured.background, self._parts.clock())
            return old, spaces.target_space(tx, *made)

    def _switch(self, filler: Filler, target: Space) -> bool:
        """Make the target the space that is searched, if no version lacks a vector in it."""
        with self._parts.store().write() as tx:
            self._lead(tx)
            spaces.hold_spaces(tx)
            if not filler.lacks_none(tx):
                return False
            spaces.switch(tx, target)
            return True

    def _drop_retired(self) -> None:
        store = self._parts.store()
        with store.read() as tx:
            retired, states = spaces.retired_spaces(tx), owners.every_owner(tx)
        for space_id in retired:
            for done, state in enumerate(states):
                self._progress("owners freed of old vectors", done, len(states))
                dropped = True
                while dropped:
                    with store.write() as tx:
                        dropped = filling.drop_vectors(tx, state, space_id, DROPPED)
            self._progress("owners freed of old vectors", len(states), len(states))
            with store.write() as tx:
                spaces.remove_space(tx, space_id)

    def _end(self) -> None:
        with self._parts.store().write() as tx:
            spaces.end_lead(tx, self._token)


async def fill_in_background(parts: Parts) -> None:
    """Give the versions that were there before the store had an embedder their vectors. Never raises for outages:
    it goes on when the store is next opened."""
    try:
        space = await parts.space()
        if space is None or parts.embedder is None:
            return
        filler = Filler(parts, space, batch=BACKGROUND_BATCH, told=True, renew=lambda _: None)
        await filler.fill(lambda *_: None)
        await off_loop(partial(_note_filled, parts))
    except StoreClosedError:
        return
    except (ModelError, StoreError) as fault:
        log.warning(
            "Not all memories have their vectors yet, and it goes on when the store is opened: %s", fault
        )


def _note_filled(parts: Parts) -> None:
    with parts.store().write() as tx:
        spaces.note_filled(tx)
