"""The parts an engine works with, opened on first use and shared by all engines scoped from it."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from . import runtime
from .clock import Clock, now, zone
from .config import Config, store_location
from .errors import ConfigError, EmbedderError, EmbedderMismatchError, StoreClosedError
from .models.embed import Embedder, open_embedder
from .models.embed.background import measure_background
from .models.settings import ModelSettings
from .recall.cache import IndexCache
from .records import Background, Embeddings, Space
from .store import gate, spaces
from .store.database import Store
from .store.spaces import SpaceChangedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

MIB = 1024 * 1024
# So many texts that fail one after another, and none before them that did not, are an outage.
GIVE_UP_AFTER = 2


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


class Parts:
    """Store, embedder, indexes and clock of one configuration."""

    def __init__(self, settings: Config, clock: Clock = now) -> None:
        if settings.llm is not None:
            raise ConfigError("llm: this version extracts without an LLM; leave the setting out.")
        self.settings = settings
        self.clock = clock
        self.tz: tzinfo = zone(settings.timezone)
        self.embedder: Embedder | None = open_embedder(
            settings.embedder, ModelSettings(off_loop_model, on_loop)
        )
        self._location = store_location(settings)
        self._store: Store | None = None
        self._space: Space | None = None
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._opening = threading.Lock()
        self.indexes = IndexCache(self.settings.index_mb * MIB)
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
        with self._opening:
            self._closed = True
            if self._store is not None:
                self._store.close()
        self.indexes.clear()

    async def space(self) -> Space | None:
        """The space the store's vectors lie in; None while there is none.

        Raises `EmbedderMismatchError` where it is not that of the configured embedder.
        """
        if self._space is None:
            self._space = await off_loop(self._read_space)
        if self._space is not None and self.embedder is not None:
            _check_fit(self._space, self.embedder.name, self.embedder.dims)
        return self._space

    async def space_for_writing(self) -> Space | None:
        """Like `space`, made with the configured embedder on the first write; None without an embedder."""
        found = await self.space()
        if found is not None or self.embedder is None:
            return found if self.embedder is not None else None
        background = await self._on_loop_if_it_awaits(measure_background(self.embedder))
        name, dims = self.embedder.name, self.embedder.dims
        assert dims is not None, "an embedder that has embedded knows its dims"
        claimed = await off_loop(lambda: self._claim_space(name, dims, background))
        _check_fit(claimed, name, dims)
        self._space = claimed
        return claimed

    async def embed(
        self, texts: Sequence[str], purpose: Literal["query", "passage"]
    ) -> NDArray[np.float32] | None:
        """One vector per text, float32 (n, dims); None without an embedder.

        Raises `EmbedderMismatchError` for vectors of another size than the store's.
        """
        if self.embedder is None or not texts:
            return None
        return await self._embed(texts, purpose)

    async def _embed(self, texts: Sequence[str], purpose: Literal["query", "passage"]) -> NDArray[np.float32]:
        assert self.embedder is not None
        vectors = await self._on_loop_if_it_awaits(self.embedder.embed(texts, purpose))
        if self._space is not None:
            _check_fit(self._space, self.embedder.name, vectors.shape[1])
        return vectors

    async def _on_loop_if_it_awaits(self, work: Coroutine[Any, Any, T]) -> T:
        return await on_loop(work) if getattr(self.embedder, "awaits", True) else await work

    async def embeddings(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of texts about to be stored.

        A text that the embedder cannot take fails alone. Raises `EmbedderError` where it takes none, and for
        an outage: a time-out, or the first `GIVE_UP_AFTER` texts failing one by one.
        """
        space = await self.space_for_writing() if texts else None
        if space is None:
            return Embeddings()
        try:
            rows = await self._embed(texts, "passage")
            return Embeddings(tuple(row.tobytes() for row in rows), space.id)
        except EmbedderMismatchError:
            raise
        except EmbedderError:
            if len(texts) == 1:
                raise
        return await self._embed_each(texts, space.id)

    async def _embed_each(self, texts: Sequence[str], space_id: int) -> Embeddings:
        """The texts one by one, after they failed together."""
        rows: list[bytes | None] = []
        failed: dict[int, str] = {}
        for i, text in enumerate(texts):
            try:
                [row] = await self._embed([text], "passage")
                rows.append(row.tobytes())
            except EmbedderMismatchError:
                raise
            except EmbedderError as fault:
                rows.append(None)
                failed[i] = fault.message
                if len(failed) == i + 1 == GIVE_UP_AFTER:
                    raise
        return Embeddings(tuple(rows), space_id, failed)

    async def in_current_space(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do something for the store's embedding space; again where another process changed it meanwhile."""
        try:
            return await attempt()
        except SpaceChangedError:
            self.forget_space()
            return await attempt()

    def forget_space(self) -> None:
        """Read the space anew on next use; the store may have been emptied."""
        self._space = None

    def _read_space(self) -> Space | None:
        with self.store().read() as tx:
            return spaces.active_space(tx)

    def _claim_space(self, name: str, dims: int, background: Background) -> Space:
        with self.store().write() as tx:
            return spaces.claim_space(tx, name, dims, background, self.clock())


def _check_fit(space: Space, name: str, dims: int | None) -> None:
    if space.name == name and dims in (None, space.dims):
        return
    size = "unknown size" if dims is None else f"{dims} dimensions"
    raise EmbedderMismatchError(
        f"The store holds vectors of {space.name!r} ({space.dims} dimensions), but the embedder is {name!r}"
        f" ({size}).",
        details={"store": space.name, "store_dims": space.dims, "embedder": name, "dims": dims},
        suggestion=f"Open the store with {space.name!r}; changing a store's model is what"
        f" `mnemic reembed --to {name}` will do in a later version.",
    )
