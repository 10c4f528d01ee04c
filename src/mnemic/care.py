"""The verbs by which a store is looked after: counting it, removing things for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection

from . import checks, shapes
from .bound import Bound
from .errors import ScopeError
from .parts import off_loop
from .store import purging, reading
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
            return {**counts, "store": str(store.path or ":memory:"), "bytes": store.size()}

        model = None if space is None else {"name": space.name, "dims": space.dims}
        return {**await off_loop(work), "embedder": model}

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
        in the middle of a message they are replaced by blocks. By ids, all goes: messages, memories, history;
        with a run_id what that run said, and the memories that no other run states. On SQLite the bytes are
        erased from file, log and free pages too. dry_run: only count.

        Returns `removed`, rows by table, and `bytes_erased`, which is False with a `notice` where others still
        read an older state. Raises `NotFoundError`, and `ScopeError` without a memory_id and any id.
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
    erased = store.erase()
    result = shapes.PurgeResult(
        message="Removed for good.", removed=dict(sorted(removed.items())), bytes_erased=erased
    )
    if not erased:
        result["notice"] = "Others still read an older state; the bytes go when the store is next opened."
    return result
