"""The verbs by which a store is looked after: counting it, emptying it."""

from __future__ import annotations

from typing import Any

from .bound import Bound
from .errors import ScopeError
from .parts import off_loop
from .store import changing, reading


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

    async def reset(self) -> None:
        """Remove everything of this tenant, physically and for good. Not on a scoped memory: use delete_all."""
        if any(value is not None for value in self._bound.values()):
            raise ScopeError("reset() would reach beyond the ids this memory is bound to; use delete_all().")

        def work() -> None:
            with self._parts.store().write() as tx:
                changing.erase_tenant(tx, self._tenant)

        await off_loop(work)
        self._parts.indexes.clear()
        self._parts.forget_space()
