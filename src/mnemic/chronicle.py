"""The verbs that tell history: what became of a memory, what held when, what changed between two instants."""

from __future__ import annotations

from collections import Counter

from . import checks, shapes
from .bound import Bound
from .ingest.commit import claims_of
from .parts import off_loop
from .records import TakenBack
from .store import chains, reading, undoing
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

    async def undo(
        self,
        trace_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> shapes.UndoResult:
        """Take back all that one call did to memories: an add, update, delete, restore, delete_all, or an undo.

        trace_id: of the call, as an add's result, a memory's messages and the log tell it. What the call added is
        deleted; what it changed, ended or deleted is again as it was before, as a new version; nothing is removed
        from any history. What another add has stated since stays, and what gave way to that stays ended. The messages
        stay: they were said. Ids, when given, guard the access.

        Returns `results`: DELETE, RESTORE, or NONE with `kept`, the reason why it stays; and `trace_id`, by which the
        undo can be undone. All or nothing: raises `NotFoundError` where nothing was done under the trace id,
        `ChangedSinceError` where a memory was changed since, `DuplicateError` where the text of what comes back is
        live under another memory by now, `ValidationError` for a purge or a repair.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        asked, act = checks.check_text(trace_id, "trace_id").strip(), self._act(actor, reason)

        def work() -> list[TakenBack]:
            with self._parts.store().write() as tx:
                return undoing.undo(tx, scope, asked, act, claims_of)

        results = [shapes.undone_item(one) for one in await off_loop(work)]
        return {"message": "Undone.", "undone": asked, "trace_id": act.trace_id, "results": results}
