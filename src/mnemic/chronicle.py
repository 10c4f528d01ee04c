"""The verbs that tell history: what became of a memory, what held when, what changed between two instants."""

from __future__ import annotations

from collections import Counter

from . import checks, shapes
from .bound import Bound
from .parts import off_loop
from .store import chains, reading
from .store import history as changes


class Chronicle(Bound):
    """The verbs that look back."""

    async def history(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        chain: bool = False,
    ) -> list[shapes.HistoryItem]:
        """Every change of a memory, oldest first: mem0's ten keys, then actor, reason and both metadata.

        Events are ADD, UPDATE, SUPERSEDE, DELETE, RESTORE. chain: also the changes of the memories that it
        superseded and that superseded it, and so on in both directions, each entry with its `memory_id`, in the
        order in which they were made. An unknown id has no history: an empty list.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        uid, whole = checks.check_memory_id(memory_id), checks.check_flag(chain, "chain")

        def work() -> list[shapes.HistoryItem]:
            with self._parts.store().read() as tx:
                place = reading.place_of(tx, scope, uid)
                if place is None:
                    return []
                owner_id, memory_no = place
                told = {memory_no}
                if whole:
                    told |= chains.seen_by(tx, scope, owner_id, chains.chains(tx, owner_id, told)[memory_no])
                entries = changes.history(tx, owner_id, told)
            numbers: Counter[str] = Counter()
            items = []
            for entry in entries:
                of = entry.memory_id or uid
                numbers[of] += 1
                items.append(shapes.history_item(of, numbers[of], entry))
            return items

        return await off_loop(work)
