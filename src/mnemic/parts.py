"""The parts an engine works with, opened on first use and shared by all engines scoped from it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from . import runtime
from .clock import Clock, now, zone
from .config import Config, store_location
from .errors import EmbedderError, EmbedderMismatchError, StoreBusyError, StoreClosedError
from .models.embed import Embedder, open_embedder
from .models.embed.background import measure_background
from .models.fetch import Guard
from .models.llm import LLM, config_of, open_llm
from .models.settings import ModelSettings
from .recall.cache import IndexCache
from .recall.recency import read_recency
from .records import Background, Embeddings, Owner, Space
from .store import gate, spaces
from .store.database import Store
from .store.spaces import SpaceChangedError, SpaceClosingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

MIB = 1024 * 1024
# So many texts that fail one after another, and none before them that did not, are an outage.
GIVE_UP_AFTER = 2
# Writers wait so long in all, and so long at a time, while the store changes its embedding space.
CLOSING_SECONDS = 30.0
CLOSING_PAUSE = 0.02
# How often the space may change under one call.
CHANGES = 5


async def off_loop(work: Callable[[], T], /) -> T:
    """Run blocking work on the store in the process's worker pool."""
    here = runtime.current()
    return await here.off_loop(work, here.pool)


async def off_loop_model(work: Callable[[], T], /) -> T:
    """Run a model's blocking work in the process's pool for models."""
    here = runtime.current()
    return await here.off_loop(work, here.models)


async def on_loop(work: Coroutine[Any, Any, T], /) -> T:
    """Await what needs an event loop, on the process's own."""
    return await runtime.current().on_loop(work)


MODEL_SETTINGS = ModelSettings(off_loop_model, on_loop)


@dataclass(frozen=True, slots=True)
class Measured:
    """An embedder's name and size, and what its cosines are worth."""

    name: str
    dims: int
    background: Background


class Turns:
    """Who may go on: so many talk to a model at once, and of one owner one at a time commits what it said.

    What a model is shown is read when its turn has come, not while a call waits for it.
    """

    def __init__(self, slots: int) -> None:
        self.slots = asyncio.Semaphore(slots)
        self._locks: WeakValueDictionary[Owner, asyncio.Lock] = WeakValueDictionary()

    def of(self, owner: Owner) -> asyncio.Lock:
        """The lock of an owner, for as long as anybody holds it."""
        lock = self._locks.get(owner)
        if lock is None:
            lock = self._locks[owner] = asyncio.Lock()
        return lock


def _nothing() -> None:
    """What is done for a store that lacks vectors, unless somebody says more."""


class Parts:
    """Store, embedder, indexes and clock of one configuration."""

    def __init__(self, settings: Config, clock: Clock = now) -> None:
        self.settings = settings
        self.clock = clock
        self.tz: tzinfo = zone(settings.timezone)
        self.embedder: Embedder | None = open_embedder(settings.embedder, MODEL_SETTINGS)
        # A model for each stage; the limit of requests under way at once is each one's own.
        self.llm: LLM | None = open_llm(settings.llm, MODEL_SETTINGS)
        decider = settings.llm if settings.decide_llm is None else settings.decide_llm
        self.decider: LLM | None = open_llm(decider, MODEL_SETTINGS)
        # The model that sees: one of its own, or that for talk where its settings (mem0's) say that it does.
        talks = config_of(settings.llm)
        sees = (
            settings.llm
            if settings.vision_llm is None and talks is not None and talks.vision
            else settings.vision_llm
        )
        self.vision: LLM | None = open_llm(sees, MODEL_SETTINGS)
        self.image_detail = "auto" if talks is None else talks.image_detail
        self.guard = Guard()
        self.recency = read_recency(settings.recency)
        self._location = store_location(settings)
        self._store: Store | None = None
        self._space: Space | None = None
        self._admitted: Embedder | None = None
        self._background: Future[None] | None = None
        # Called when the store got an embedder whose vectors its earlier versions lack.
        self.when_unfilled: Callable[[], None] = _nothing
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._opening = threading.Lock()
        self.indexes = IndexCache(self.settings.index_mb * MIB)
        self.turns = Turns(1 if self.llm is None else self.llm.concurrency)
        self._pid = os.getpid()

    def _renew_after_fork(self) -> None:
        """Make anew what a thread of the parent, which does not exist here, may hold locked."""
        if self._pid != os.getpid():
            with gate.renewing():
                if self._pid != os.getpid():
                    self._start()

    def store(self) -> Store:
        """The open store. Blocking on first use; call it in the pool."""
        self._renew_after_fork()
        with self._opening:
            if self._closed:
                raise StoreClosedError("This memory was closed; open a new one.")
            if self._store is None:
                self._store = Store(self._location)
                if self._store.must_erase():
                    runtime.current().pool.submit(self._store.erase)
            return self._store

    def close(self) -> None:
        """Give back the store's connections. Blocking."""
        self._renew_after_fork()
        if self._background is not None:
            self._background.cancel()
        with self._opening:
            self._closed = True
            if self._store is not None:
                self._store.close()
        self.indexes.clear()

    async def space(self) -> Space | None:
        """The space the store's vectors lie in; None while there is none.

        Raises `EmbedderMismatchError` where it is not that of the configured embedder.
        """
        space = self._space
        if space is None:
            space = self._space = await off_loop(self._read_space)
        if space is not None and self.embedder is not None:
            embedder = self._embedder_of(space)
            _check_fit(space, embedder.name, embedder.dims)
        return space

    async def space_for_writing(self) -> Space | None:
        """Like `space`, made with the configured embedder on the first write; None without an embedder."""
        found = await self.space()
        if found is not None or self.embedder is None:
            return found if self.embedder is not None else None
        measured = await self.measured(self.embedder)
        claimed, unfilled = await off_loop(lambda: self._claim_space(measured))
        _check_fit(claimed, measured.name, measured.dims)
        self._space = claimed
        if unfilled:
            self.when_unfilled()
        return claimed

    async def measured(self, embedder: Embedder) -> Measured:
        """An embedder's name, size and what its cosines are worth."""
        background = await _on_loop_if_it_awaits(embedder, measure_background(embedder))
        assert embedder.dims is not None, "an embedder that has embedded knows its dims"
        return Measured(embedder.name, embedder.dims, background)

    async def embed_queries(self, texts: Sequence[str], space: Space | None) -> NDArray[np.float32] | None:
        """The vectors of queries in the store's space, float32 (n, dims); None without space or embedder."""
        if self.embedder is None or space is None:
            return None
        return await self._embed(texts, "query", space)

    async def embeddings(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of texts about to be stored, as by `embeddings_in` the space that is searched."""
        space = await self.space_for_writing() if texts else None
        return Embeddings() if space is None else await self.embeddings_in(space, texts)

    async def embeddings_in(self, space: Space, texts: Sequence[str]) -> Embeddings:
        """The vectors of texts in a space.

        A text that the embedder cannot take fails alone. Raises `EmbedderError` where it takes none, and for
        an outage: a time-out, or the first `GIVE_UP_AFTER` texts failing one by one.
        """
        if not texts:
            return Embeddings((), space.id)
        try:
            rows = await self._embed(texts, "passage", space)
            return Embeddings(tuple(row.tobytes() for row in rows), space.id)
        except EmbedderMismatchError:
            raise
        except EmbedderError:
            if len(texts) == 1:
                raise
        return await self._embed_each(texts, space)

    async def all_embedded(self, texts: Sequence[str]) -> list[bytes] | None:
        """The vectors of texts of which none may fail; None without an embedder. Raises `EmbedderError`."""
        embedded = await self.embeddings(texts)
        if embedded.failed:
            raise EmbedderError(next(iter(embedded.failed.values())))
        return None if embedded.rows is None else [row for row in embedded.rows if row is not None]

    async def _embed_each(self, texts: Sequence[str], space: Space) -> Embeddings:
        """The texts one by one, after they failed together."""
        rows: list[bytes | None] = []
        failed: dict[int, str] = {}
        for i, text in enumerate(texts):
            try:
                [row] = await self._embed([text], "passage", space)
                rows.append(row.tobytes())
            except EmbedderMismatchError:
                raise
            except EmbedderError as fault:
                rows.append(None)
                failed[i] = fault.message
                if len(failed) == i + 1 == GIVE_UP_AFTER:
                    raise
        return Embeddings(tuple(rows), space.id, failed)

    async def _embed(
        self, texts: Sequence[str], purpose: Literal["query", "passage"], space: Space
    ) -> NDArray[np.float32]:
        embedder = self._embedder_of(space)
        vectors = await _on_loop_if_it_awaits(embedder, embedder.embed(texts, purpose))
        _check_fit(space, embedder.name, vectors.shape[1])
        return vectors

    async def in_current_space(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do something for the store's embedding space; again where another process changed it meanwhile.

        Raises `StoreBusyError` where writers have to wait for too long while it is being changed.
        """
        until = time.monotonic() + CLOSING_SECONDS
        changes = 0
        while True:
            try:
                return await attempt()
            except SpaceClosingError as fault:
                if time.monotonic() > until:
                    raise StoreBusyError(
                        "The store was changing its embedding space for too long."
                    ) from fault
                await on_loop(asyncio.sleep(CLOSING_PAUSE))
            except SpaceChangedError:
                changes += 1
                if changes > CHANGES:
                    raise
            self.forget_space()

    def forget_space(self) -> None:
        """Read the space anew on next use; the store may have been emptied."""
        self._space = None

    def admit(self, embedder: Embedder) -> None:
        """Use another embedder too, where the store's space is its own: it may be from any moment on."""
        self._admitted = embedder

    def prefer(self, embedder: Embedder) -> None:
        """Use an embedder that was admitted as the configured one."""
        self._admitted, self.embedder = self.embedder, embedder
        self.forget_space()

    async def close_models(self) -> None:
        """Give back what the models hold."""
        for model in (self.embedder, self._admitted, self.llm, self.decider, self.vision):
            if model is not None:
                await on_loop(model.close())

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on the process's loop until this is closed; once more at a time is not done."""
        if self._background is None or self._background.done():
            self._background = runtime.current().submit(work)
        else:
            work.close()

    def _embedder_of(self, space: Space) -> Embedder:
        """The embedder that a space belongs to, the configured one if to none."""
        admitted, configured = self._admitted, self.embedder
        if admitted is not None and (
            configured is None or not _fits(space, configured.name, configured.dims)
        ):
            return admitted
        assert configured is not None
        return configured

    def _read_space(self) -> Space | None:
        with self.store().read() as tx:
            return spaces.active_space(tx)

    def _claim_space(self, measured: Measured) -> tuple[Space, bool]:
        with self.store().write() as tx:
            made = (measured.name, measured.dims, measured.background, self.clock())
            return spaces.claim_space(tx, *made), spaces.is_unfilled(tx)


async def _on_loop_if_it_awaits(embedder: Embedder, work: Coroutine[Any, Any, T]) -> T:
    return await on_loop(work) if getattr(embedder, "awaits", True) else await work


def _fits(space: Space, name: str, dims: int | None) -> bool:
    return space.name == name and dims in (None, space.dims)


def _check_fit(space: Space, name: str, dims: int | None) -> None:
    if _fits(space, name, dims):
        return
    size = "unknown size" if dims is None else f"{dims} dimensions"
    raise EmbedderMismatchError(
        f"The store holds vectors of {space.name!r} ({space.dims} dimensions), but the embedder is {name!r}"
        f" ({size}).",
        details={"store": space.name, "store_dims": space.dims, "embedder": name, "dims": dims},
        suggestion=f"Open the store with {space.name!r}, or move it to the other: mnemic reembed --to {name}",
    )
