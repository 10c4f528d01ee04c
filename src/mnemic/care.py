"""The verbs by which a store is looked after: counting, telling what happened, checking, removing for good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from sqlalchemy import Connection

from . import checks, checkup, shapes
from .bound import Bound
from .clock import parse_when
from .errors import ConfigError, NotFoundError, ScopeError, StoreError, ValidationError, nearest
from .models.embed import open_embedder
from .parts import MODEL_SETTINGS, off_loop
from .records import Event
from .reembed import Move, Progress
from .steps import ReplayResult, TraceItem
from .store import history, purging, reading, traces
from .store.database import Store
from .store.purging import Removed
from .store.schema import Place


class Care(Bound):
    """The verbs that concern a store as a whole, or a scope of it."""

    async def stats(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, Any]:
        """Counts of a scope, or of the whole tenant without ids: owners, messages, memories by state and kind.

        With them the store's path and size in bytes, and its embedding model.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        now, space = self._parts.clock(), await self._parts.space()

        def work() -> dict[str, Any]:
            store = self._parts.store()
            with store.read() as tx:
                counts = reading.counts(tx, scope, now)
            return {**counts, "store": store.name, "bytes": store.size()}

        model = None if space is None else {"name": space.name, "dims": space.dims}
        return {**await off_loop(work), "embedder": model}

    async def log(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        memory_id: str | None = None,
        since: Any = None,
        until: Any = None,
        actor: str | None = None,
        event: str | Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> shapes.LogPage:
        """All changes of a scope, or of the whole tenant without ids, newest first, 20 a page if not told.

        With run_id those of memories that carry the run's label, and what was told in the run. memory_id: only
        those of one memory. since, until: both included; a day, month or year is its whole span. actor: only
        those by exactly this one. event: one or several of ADD, UPDATE, SUPERSEDE, DELETE, RESTORE, NONE (a
        repeat, which changed support or run labels only), EPISODE (messages kept), PURGE, REPAIR (index rows
        made anew by `check`). limit: changes a page; cursor: the `next` of the page before; pages stay stable
        while changes are added. Returns `results`, `total` over all pages, `next` and `truncated`.
        """
        tz = self._parts.tz
        asked = history.LogQuery(
            scope=self._guard(self._ids(user_id, agent_id, app_id, run_id)),
            since=None if since is None else parse_when(since, tz, field="since").start,
            until=None if until is None else parse_when(until, tz, field="until").end,
            actor=None if actor is None else checks.check_text(actor, "actor"),
            events=_events(event),
            memory_id=None if memory_id is None else checks.check_memory_id(memory_id),
        )
        count, after = checks.check_page(None, limit), shapes.read_cursor(cursor)

        def work() -> shapes.LogPage:
            with self._parts.store().read() as tx:
                found = history.log(tx, asked, count + 1, after)
                return shapes.log_page(found, count, history.count_log(tx, asked))

        return await off_loop(work)

    async def trace(
        self,
        trace_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> TraceItem:
        """Each step of an add: what was said, what a model was shown and replied, what code decided.

        trace_id: of the add, as its result, its messages and the log tell it. Steps are kept of each add with a
        model, else where asked for with `trace=True`, for the days that are configured. They tell what happened,
        also of what was deleted since; purge removes them. Ids, when given, guard the access. Raises
        `NotFoundError` where none are kept, or not any more.
        """
        scope, asked = self._guard(self._ids(user_id, agent_id, app_id, run_id)), _trace_id(trace_id)
        since = traces.kept_since(self._parts.clock(), self._parts.settings.trace_days)

        def work() -> Any:
            with self._parts.store().read() as tx:
                return traces.steps_of(tx, scope, asked, since)

        found: TraceItem | None = await off_loop(work)
        if found is None:
            days = self._parts.settings.trace_days
            raise NotFoundError(
                f"Trace with id {asked} not found: steps are kept for {days} days (trace_days), of each add with"
                " an llm and else where trace=True asked for them."
            )
        return found

    async def replay(
        self,
        trace_id: str,
        *,
        answer: Any = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> ReplayResult:
        """Do an add with a model again, on the messages and memories that it was shown then; store nothing.

        trace_id and ids: as for `trace`. answer: None judges the replies that are kept, as today's code does;
        "live" asks the configured model again, with today's prompt and settings, and sends it what it was sent then, so
        also words that were deleted since; any other text, or a JSON value, stands for the reply to the first
        request.

        Returns the verdicts `before` and `after`, the `differences` between them, whether today's request is the
        `same_request`, `prompt` and `model` before and after, and the `calls` made now. Raises `NotFoundError`,
        `ValidationError` where no model had a part in the add, `ConfigError` for "live" without a model,
        `LLMOutputError` for a reply that cannot be read, and `LLMError`.
        """
        from . import replaying

        ids = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
        kept = await self.trace(trace_id, **ids)
        return await replaying.replay(self._parts, kept, answer)

    async def purge(
        self,
        memory_id: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        dry_run: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> shapes.PurgeResult:
        """Remove every trace of a memory, or of all that belongs to the ids, for good.

        A memory goes with all its versions and its history, and with the words of the messages that state it:
        in the middle of a message they are replaced by blocks. The traces of adds that stated it, or were shown it
        or those messages, go too. By ids, all goes: messages, memories, history;
        with a run_id what that run said, and the memories that no other run states. On SQLite the bytes are
        erased from file, log and free pages too. dry_run: only count.

        Returns `removed`, rows by table, and `bytes_erased`, which is False with a `notice` where others still
        read an older state, and always on PostgreSQL, whose files are not a client's to rewrite. Raises
        `NotFoundError`, and `ScopeError` without a memory_id and any id.
        """
        ids, act = self._ids(user_id, agent_id, app_id, run_id), self._act(actor, reason)
        checks.check_flag(dry_run, "dry_run")
        if memory_id is None and all(value is None for value in ids.values()):
            raise ScopeError("purge() needs a memory_id or at least one id; reset() removes everything.")
        scope = self._guard(ids)

        if memory_id is None:

            def whole() -> shapes.PurgeResult:
                store = self._parts.store()
                return purged(store, lambda tx: purging.purge_scope(tx, scope, act), dry_run=dry_run)

            result = await off_loop(whole)
        else:
            uid = checks.check_memory_id(memory_id)

            def one(store: Store, place: Place) -> shapes.PurgeResult:
                return purged(
                    store, lambda tx: purging.purge_memory(tx, self._tenant, place, act), dry_run=dry_run
                )

            result = await self._at(scope, uid, one)
        if not dry_run:
            self._parts.indexes.clear()
        return result

    async def check(
        self, *, repair: bool = False, full: bool = False, progress: checkup.Progress | None = None
    ) -> shapes.CheckResult:
        """Verify the whole store, all tenants, and with `repair` make anew what can be made from the rest.

        Looked at are the database file, the index rows of each version and message (terms, vectors), the keys
        by which repeats are found, the order of versions, the sequence of changes, and rows that belong to
        nothing. full: also make the terms of all texts again and compare. repair: make terms, vectors and keys
        anew, a limited number in one transaction; messages, versions and changes are never touched. Others may
        read and write meanwhile. progress: called as `progress(what, done, total)` between steps.

        Returns `sound` (whether no fault is left), `faults` (kind, count, the first places as ids and never as
        texts, whether it is mendable, how many were mended), how many rows were `checked`, `ms`, and a `notice`
        where faults are left. Not on a scoped memory. Raises `EmbedderError` and `StoreError`.
        """
        if any(value is not None for value in self._bound.values()):
            raise ScopeError("check() looks at the whole store, beyond the ids this memory is bound to.")
        began = perf_counter()
        found = await checkup.check(
            self._parts,
            repair=checks.check_flag(repair, "repair"),
            full=checks.check_flag(full, "full"),
            progress=_unheard if progress is None else progress,
        )
        return shapes.check_result(found, round((perf_counter() - began) * 1000, 3))

    async def reembed(self, to: Any, *, progress: Progress | None = None) -> shapes.ReembedResult:
        """Move the whole store, all tenants, to another embedder, while it is searched and written.

        to: a name, a mapping of settings or an object, as for `Memory(embedder=...)`. Searches are answered from
        the old vectors until every version has a new one; then the two change places in one transaction, and
        the old ones are dropped. Ids, texts, times and history stay as they are. Broken off at any moment, it
        is called again and goes on. Named for the store's own embedder it embeds what lacks a vector.
        progress: called as `progress(what, done, total)` between steps.

        This memory uses the new embedder afterwards; other processes must be opened with it, and get
        `EmbedderMismatchError` until they are. `failed` texts, which the embedder refused, are found by their
        words only. Not on a scoped memory. Raises `StoreBusyError` where another move runs, `EmbedderError`,
        `StoreError`, `ConfigError` for an embedder that there is not.
        """
        if any(value is not None for value in self._bound.values()):
            raise ScopeError("reembed() concerns the whole store, beyond the ids this memory is bound to.")
        began = perf_counter()
        embedder = open_embedder(to, MODEL_SETTINGS)
        if embedder is None:
            raise ConfigError(
                "to: a store cannot be moved to no embedder; open it with embedder='none' instead."
            )
        moved = await Move(self._parts, embedder, _unheard if progress is None else progress).run()
        result = shapes.ReembedResult(
            from_embedder=None if moved.old is None else moved.old.name,
            to_embedder=moved.new.name,
            dims=moved.new.dims,
            embedded=moved.embedded,
            failed=moved.failed,
            ms=round((perf_counter() - began) * 1000, 3),
        )
        if moved.failed:
            result["notice"] = "The embedder refused some texts; `mnemic check` names them."
        return result

    async def reset(self) -> None:
        """Remove everything of this tenant, physically and for good. Not on a scoped memory: use purge."""
        if any(value is not None for value in self._bound.values()):
            raise ScopeError("reset() would reach beyond the ids this memory is bound to; use purge().")
        act = self._act(None, None)

        def work() -> None:
            store = self._parts.store()
            purged(store, lambda tx: purging.purge_tenant(tx, self._tenant, act), dry_run=False)

        await off_loop(work)
        self._parts.indexes.clear()
        self._parts.forget_space()


class _Counted(Exception):
    """Ends a transaction that was only to count."""


def purged(store: Store, remove: Callable[[Connection], Removed], *, dry_run: bool) -> shapes.PurgeResult:
    """Remove something and erase its bytes, or, to count it, remove it and roll that back. Blocking."""
    try:
        with store.write() as tx:
            removed = remove(tx)
            if dry_run:
                raise _Counted
    except _Counted:
        return {"message": "Nothing was removed.", "would_remove": dict(removed)}
    waiting = "Others still read an older state; the bytes go when the store is next opened."
    try:
        notice = store.leftover if store.erase() else waiting
    except StoreError as fault:
        # What is removed stays removed: an error would say that nothing happened.
        notice = f"The bytes go when the store is next opened: {fault.message}"
    result = shapes.PurgeResult(
        message="Removed for good.", removed=dict(sorted(removed.items())), bytes_erased=notice is None
    )
    if notice is not None:
        result["notice"] = notice
    return result


def _trace_id(value: Any) -> str:
    return checks.check_text(value, "trace_id").strip()


def _unheard(_what: str, _done: int, _total: int) -> None:
    """Progress that nobody asked for."""


def _events(given: str | Sequence[str] | None) -> tuple[Event, ...]:
    """The events of a call, none for all. Raises `ValidationError` for one that there is not."""
    if given is None:
        return ()
    named = [given] if isinstance(given, str) else given
    if not isinstance(named, Sequence) or not named:
        raise ValidationError(f"event must be the name of an event or a list of some, not {given!r}.")
    known = [event.value for event in Event]
    for name in named:
        if name not in known:
            hint = nearest(str(name), known)
            raise ValidationError(
                f"event {checks.shown(name)} is unknown{hint}; the events are {', '.join(known)}.",
                details={"field": "event"},
            )
    return tuple(map(Event, named))
