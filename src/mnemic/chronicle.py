"""The verbs that tell history: what became of a memory, what held when, what changed between two instants."""

from __future__ import annotations

from collections import Counter
from typing import Any

from . import checks, chronicle_shapes, shapes
from .bound import Bound, Filters
from .clock import LAST_INSTANT, Instant, iso, parse_when
from .errors import ValidationError
from .ingest.commit import claims_of, closes
from .parts import off_loop
from .recall import answers
from .recall.search import Request
from .records import Course, TakenBack
from .scope import Ids
from .store import chains, held, reading, undoing
from .store import history as changes
from .store.changes_between import Between, changes_between

# How many changes of each kind a diff tells unless told otherwise.
LARGEST = 1_000


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
    ) -> chronicle_shapes.UndoResult:
        """Take back all that one call did to memories: an add, update, delete, restore, delete_all, or an undo.

        trace_id: of the call, as an add's result, a memory's messages and the log tell it. What the call added is
        deleted; what it changed, ended or deleted is again as it was before, as a new version; nothing is removed
        from any history. What another add has stated since stays, and what gave way to that stays ended. The messages
        stay: they were said. Ids, when given, guard the access: with a run_id an add must have been told in the run,
        and the memories of any other call must carry its label.

        Returns `results`: DELETE, RESTORE, or NONE with `kept`, the reason why it stays; and `trace_id`, by which the
        undo can be undone. All or nothing: raises `NotFoundError` where nothing was done under the trace id,
        `ChangedSinceError` where a memory was changed since, `DuplicateError` where the text of what comes back is
        live under another memory by now, `ValidationError` for a purge or a repair.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        asked, act = checks.check_text(trace_id, "trace_id").strip(), self._act(actor, reason)

        def work() -> list[TakenBack]:
            with self._parts.store().write() as tx:
                return undoing.undo(tx, scope, asked, act, claims_of, closes)

        results = [chronicle_shapes.undone_item(one) for one in await off_loop(work)]
        return {"message": "Undone.", "undone": asked, "trace_id": act.trace_id, "results": results}

    async def timeline(
        self,
        about: str | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        filters: Filters | None = None,
        since: Any = None,
        until: Any = None,
        show_expired: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> chronicle_shapes.TimelineResult:
        """What held when, oldest first: also what was superseded or has ended.

        about: words for a topic, such as "work": only what a search for it finds, down to half of the best one's
        evidence (0.8 of it where nothing says that in the same words), each with all that it superseded and that
        superseded it. since, until: only what held at some time from the one to the other, both included; a day,
        month or year is its whole span. show_expired: also what is past its last day. limit: how many at most, 20
        if not given. Without `about` that is a page, and cursor the `next` of the page before; with it the best
        are shown, and there are no pages.

        Returns `results`: items with `began` (since when it holds, else the day of its event, else when it was
        said), `began_precision` (year, month, day, instant; None where only the time of saying is known) and
        `ended`; those that began together keep the order in which they came. `total` counts what is not shown
        too, `truncated` says whether any is not, `notice` why there are none. Raises as `search`.
        """
        ids = self._ids(user_id, agent_id, app_id, run_id)
        window = self._window(since, until)
        checks.check_flag(show_expired, "show_expired")
        count, after = checks.check_page(None, limit), shapes.read_cursor(cursor)
        if about is None:
            return await self._course(ids, filters, window, after, count, show_expired=show_expired)
        if after is not None:
            raise ValidationError("cursor goes on with a timeline of everything; with about, give a limit.")

        def work(
            asked: answers.Asked, request: Request, space_id: int | None
        ) -> chronicle_shapes.TimelineResult:
            from .recall.topic import topic

            course = topic(self._parts.store(), self._parts.indexes, request, window, space_id)
            told = [answers.NO_EMBEDDER] if asked.query.vector is None else []
            told += [] if course.total else ["Nothing about that held in that time."]
            return chronicle_shapes.timeline_page(course, count, paged=False, notice=" ".join(told) or None)

        text = checks.check_text(about, "about")
        states = {"show_expired": show_expired, "include_superseded": True}
        return await self._ask(work, text, ids, filters, count, None, None, None, states)

    async def diff(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        since: Any,
        until: Any = None,
        filters: Filters | None = None,
        limit: int | None = None,
    ) -> chronicle_shapes.DiffResult:
        """What changed in what is believed between two instants of the store's time, memory by memory.

        since, until (else now): what was believed at the one is compared with what was at the other; a day, month
        or year is its whole span, so that the changes of its first and of its last instant are among those told.
        filters: what a memory must meet at one of the two. limit: how many of each kind at most, 1000 if not given.

        Returns `added`, `changed` (`id`, the items `before` and `after`, the `fields` that differ), `ended` (those
        that were superseded or got an end), `removed` (those deleted or corrected, as they were, with
        `deleted_at`, `deleted_by`, `deleted_reason`) and `restored`, each in the order of the last change; `since`,
        `until` and `truncated`. What came and went in between is not told, nor what became as it was; one that
        ended and changed otherwise too is told twice. Expiry changes nothing in what is believed. Raises
        `ValidationError`, `StoreError`.
        """
        ids, tz = self._ids(user_id, agent_id, app_id, run_id), self._parts.tz
        first = parse_when(since, tz, field="since")
        last = None if until is None else parse_when(until, tz, field="until")
        count = LARGEST if limit is None else checks.check_count(limit, "limit")
        listing = self._listing(filters, ids, show_expired=True, include_superseded=True)
        # At the end of time all is as it is believed now, whatever the clock did.
        end = LAST_INSTANT if last is None else last.end - 1
        told = listing.now if last is None else end
        if told < first.start:
            raise ValidationError(f"until ({iso(told)}) lies before since ({iso(first.start)}).")
        before = first.start if first.precision == "instant" else first.start - 1
        asked = Between(listing.scope, listing.tree, before, end, count)

        def work() -> chronicle_shapes.DiffResult:
            with self._parts.store().read() as tx:
                reading.refuse_mixed_types(tx, listing)
                return chronicle_shapes.diff_result(changes_between(tx, asked), first.start, told)

        return await off_loop(work)

    async def _course(
        self,
        ids: Ids,
        filters: Filters | None,
        window: held.Window,
        after: tuple[Instant, int, int] | None,
        count: int,
        *,
        show_expired: bool,
    ) -> chronicle_shapes.TimelineResult:
        """A page of all that held."""
        listing = self._listing(filters, ids, show_expired=show_expired, include_superseded=True)

        def work() -> chronicle_shapes.TimelineResult:
            with self._parts.store().read() as tx:
                reading.refuse_mixed_types(tx, listing)
                found = held.page(tx, listing, window, after, count + 1)
                course = Course(held.with_items(tx, found), held.count(tx, listing, window))
            notice = None if course.total else "Nothing of this scope held in that time."
            return chronicle_shapes.timeline_page(course, count, paged=True, notice=notice)

        return await off_loop(work)

    def _window(self, since: Any, until: Any) -> held.Window:
        """The stretch of time from `since` to `until`, both included."""
        tz = self._parts.tz
        first = None if since is None else parse_when(since, tz, field="since")
        last = None if until is None else parse_when(until, tz, field="until")
        if first is not None and last is not None and last.end <= first.start:
            raise ValidationError(f"until ({iso(last.start)}) lies before since ({iso(first.start)}).")
        return held.Window(tz, None if first is None else first.start, None if last is None else last.end)
