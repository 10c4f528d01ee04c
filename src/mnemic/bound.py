"""What every verb stands on: the parts, the ids bound, and how arguments become scopes, listings and acts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any, Self, TypeVar
from uuid import uuid4

from . import checks, config, filters, shapes
from .clock import Instant
from .errors import ConfigError, NotFoundError
from .ingest import given
from .ingest.messages import Heard
from .parts import Parts, off_loop
from .recall import answers
from .recall.search import Request
from .recall.time_words import read_time_words
from .records import Act, Buried, Owner
from .reembed import fill_in_background
from .scope import NO_IDS, Ids, Pattern, Scope, joined_ids, read_scope
from .store import reading, replays, spaces, tombstones
from .store.database import Store
from .store.reading import Listing
from .store.replays import Once
from .store.schema import Place

T = TypeVar("T")
Filters = Mapping[str, Any]


class Bound:
    """One set of parts, bound to ids or not."""

    def __init__(self, parts: Parts, bound: Ids = NO_IDS) -> None:
        self._parts = parts
        self._bound = bound

    @classmethod
    def configured(cls, store: Any, settings: Mapping[str, Any]) -> Self:
        """An engine for a store (path, or a mapping as whole configuration) and settings; nothing opened yet."""
        if isinstance(store, Mapping):
            if settings:
                raise ConfigError("Give either a configuration mapping or keyword settings, not both.")
            return cls(Parts(config.load(store)))
        path = fspath(store) if isinstance(store, PathLike) else store
        return cls(Parts(config.load({"store": path, **settings})))

    def scoped(self, **ids: Any) -> Self:
        """The same engine bound to ids."""
        return type(self)(self._parts, self._ids(**ids))

    async def open(self) -> None:
        """Open the store and check that its vectors are the embedder's.

        Raises `StoreError` when it cannot be opened, `EmbedderMismatchError` for another model's vectors.
        """
        parts = self._parts
        parts.when_unfilled = lambda: parts.in_background(fill_in_background(parts))
        unfilled = await off_loop(self._is_unfilled)
        if await parts.space() is not None and unfilled and parts.embedder is not None:
            parts.when_unfilled()

    def _is_unfilled(self) -> bool:
        with self._parts.store().read() as tx:
            return spaces.is_unfilled(tx)

    async def close(self) -> None:
        """Give back files and connections. Closing twice is fine; other calls afterwards raise."""
        await off_loop(self._parts.close)
        await self._parts.close_models()

    @property
    def _tenant(self) -> str:
        return self._parts.settings.tenant

    def _ids(
        self, user_id: Any = None, agent_id: Any = None, app_id: Any = None, run_id: Any = None
    ) -> dict[str, Any]:
        """The ids of a call joined with those bound; raises `ScopeError` where they differ."""
        ids = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
        return joined_ids(self._bound, ids)

    def _guard(self, ids: Ids) -> Scope:
        return Scope(self._tenant, (Pattern(**ids),))

    def _read_scope(self, given_filters: Filters | None, ids: Ids) -> tuple[Scope, filters.Node]:
        tree = None if given_filters is None else filters.parse(given_filters, self._parts.tz)
        return read_scope(self._tenant, ids, tree)

    async def _ask(
        self,
        work: Callable[[answers.Asked, Request, int | None], T],
        query: Any,
        ids: Ids,
        given_filters: Filters | None,
        limit: int,
        as_of: Any,
        known_at: Any,
        reference_date: Any,
        states: Mapping[str, bool],
    ) -> T:
        """Check a search's arguments, embed the query, and do `work` with what was asked, in the pool."""
        text = checks.check_query(query)
        for name, flag in states.items():
            checks.check_flag(flag, name)
        scope, tree = self._read_scope(given_filters, ids)
        moment, known = self._instant(as_of, "as_of"), self._instant(known_at, "known_at")
        at = self._instant(reference_date, "reference_date")
        if at is None:
            at = self._parts.clock() if known is None else known
        time = read_time_words(text, at, self._parts.tz)

        async def attempt() -> T:
            space = await self._parts.space()
            texts = answers.texts_to_embed(text, time)
            vectors = await self._parts.embed_queries(texts, space)

            def ranked() -> T:
                asked = answers.asked(text, vectors, space, time, at, self._parts.tz)
                now = self._parts.clock() if known is None else known
                request = Request(
                    scope,
                    tree,
                    asked.query,
                    limit,
                    now,
                    as_of=moment,
                    known_at=known,
                    time=asked.time,
                    recency=self._parts.recency,
                    **states,
                )
                return work(asked, request, None if space is None else space.id)

            return await off_loop(ranked)

        return await self._parts.in_current_space(attempt)

    def _listing(
        self, given_filters: Filters | None, ids: Ids, *, known_at: Instant | None = None, **states: Any
    ) -> Listing:
        scope, tree = self._read_scope(given_filters, ids)
        now = self._parts.clock() if known_at is None else known_at
        return Listing(scope=scope, tree=tree, now=now, known_at=known_at, **states)

    def _instant(self, value: Any, field: str) -> Instant | None:
        """The instant of an argument, in the configured zone where it tells none; None for None."""
        return None if value is None else given.read_timestamp(value, self._parts.tz, field)

    def _act(self, actor: str | None, reason: str | None) -> Act:
        return Act(
            trace_id=uuid4().hex,
            at=self._parts.clock(),
            actor=None if actor is None else checks.check_text(actor, "actor"),
            reason=None if reason is None else checks.check_text(reason, "reason"),
        )

    async def _replayed(self, owner: Owner, once: Once | None, act: Act) -> Any:
        """The first result of a call that is made again; None for one that is not."""
        if once is None:
            return None

        def look() -> Any:
            with self._parts.store().read() as tx:
                return replays.replayed_to(tx, owner, once, act.at)

        return await off_loop(look)

    async def _buried(
        self, owner: Owner, run: str, talk: Heard, told_at: Instant | None
    ) -> tuple[Buried, ...]:
        """What was deleted among words that are merely sent again."""

        def look() -> tuple[Buried, ...]:
            with self._parts.store().read() as tx:
                return tuple(tombstones.resent(tx, owner, run, talk.messages, told_at))

        return await off_loop(look)

    async def _page(self, listing: Listing, count: int, cursor: str | None) -> shapes.ListResult:
        page = listing.page(count + 1, shapes.read_cursor(cursor))

        def work() -> shapes.ListResult:
            with self._parts.store().read() as tx:
                reading.refuse_mixed_types(tx, listing)
                return shapes.list_page(reading.list_items(tx, page), count, reading.count_items(tx, listing))

        return await off_loop(work)

    async def _at(self, scope: Scope, uid: str, work: Callable[[Store, Place], T], hint: str = "") -> T:
        """Do something to the memory with this id, where the scope may see it; `hint` ends the error if not."""

        def found() -> T:
            store = self._parts.store()
            with store.read() as tx:
                place = reading.place_of(tx, scope, uid)
            if place is None:
                raise NotFoundError(f"Memory with id {uid} not found{hint}")
            try:
                return work(store, place)
            except NotFoundError as fault:
                raise NotFoundError(f"Memory with id {uid} not found: {fault.message}.") from fault

        return await off_loop(found)
