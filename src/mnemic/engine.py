"""The engine: one short method per verb, wiring scope, ingest, recall and store.

The methods are written once, asynchronously; their docstrings are the contracts of `Memory` and `AsyncMemory`.
Model calls are awaited here; each store transaction and all CPU work is one hop into the worker pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4

from . import adding, checks, config, shapes
from .bound import Filters
from .care import Care
from .chronicle import Chronicle
from .clock import offset_of
from .errors import ScopeError, ValidationError
from .ingest import given
from .ingest import messages as heard
from .ingest.commit import amend, closes
from .parts import off_loop
from .recall import answers
from .recall.search import Request, search
from .recall.why import Question, why
from .records import UNSET, Act, Event, Item, Revision
from .scope import NO_IDS_TO_DELETE, read_scope, write_scope
from .store import changing, reading, replays
from .store.database import Store
from .store.schema import Place
from .store.traces import kept_since
from .transfers import Transfers


class Engine(Care, Chronicle, Transfers):
    """The verbs of every day, over one set of parts, bound to ids or not."""

    async def add(
        self,
        messages: Any = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        facts: Sequence[Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: Any = None,
        expiration_date: Any = None,
        ttl: Any = None,
        infer: bool = True,
        editing: str | None = None,
        prompt: str | None = None,
        memory_type: str | None = None,
        idempotency_key: str | None = None,
        trace: bool = False,
    ) -> shapes.AddResult:
        """Keep what was said, or what is known.

        messages: a string, a message or a list of messages (`role`, `content`, optional `name`, `timestamp`).
        The user's statements are kept as facts, in the user's own words, with speaker, time and source; a plain
        change of state ("I moved to Oslo") closes the statement that it ends. With `infer=False` each message
        is kept word for word as a memory instead, system messages aside. facts: statements to
        keep as they are (strings, or dicts with text, valid_from, valid_to, event_date, metadata, categories,
        expiration_date, ttl, source, attributed_to, supersedes, corrects); `source` numbers the messages of this call
        that state it, supersedes and corrects name the memories whose place it takes, or that it puts right.
        metadata: any JSON dict, kept and returned as given. timestamp: when it was said (default: now).
        expiration_date: the last day it is kept. ttl: for how long it is kept from now on, whatever the timestamp:
        a timedelta, seconds, or a text such as "45m", "12h", "30d", "2w"; not together with expiration_date.
        At least one id says whose it is; run_id is a label.
        idempotency_key: your name for this call; made again with it, by any process within 30 days, it stores
        nothing and returns the first result.

        With an LLM it draws the facts, sees the run's recent messages and the memories that the talk is near, and
        says how they meet; code checks each of its words. editing: "supersede" (changes, corrects, refines,
        repeats, ends), "append" (only adds) or "reconcile" (mem0 1.x), for this call. prompt: instructions, instead
        of those configured. memory_type: "procedural_memory" keeps a record of how the agent (agent_id) did a task.
        trace: return every step too; `trace(trace_id)` shows it later.

        Returns `results` (one per memory: id, memory, event ADD, with `supersedes` where it closed others and
        `corrects` where it took them back, NONE with the existing id for a repeat, UPDATE with `previous_memory`,
        DELETE for what ended), `rejected` (what was left out and why), `failed` (what could not be embedded and
        why; add it again later), `extractor`, `usage`, `trace_id`. All else is stored, or nothing where it raises:
        `ValidationError` (`KeyReuseError` for a key of another call), `EmbedderError` when the embedder takes no
        text, `LLMError` (`LLMOutputError` for a reply that cannot be read), `ModelTimeoutError`, `StoreError`.
        """
        began = perf_counter()
        owner, run = write_scope(self._tenant, self._ids(user_id, agent_id, app_id, run_id))
        for name, flag in (("infer", infer), ("trace", trace)):
            checks.check_flag(flag, name)
        once = replays.once(
            checks.check_key(idempotency_key),
            "add",
            messages=messages,
            run=run,
            facts=facts,
            metadata=metadata,
            timestamp=timestamp,
            expiration_date=expiration_date,
            infer=infer,
            **{
                k: v
                for k, v in (("editing", editing), ("prompt", prompt), ("type", memory_type), ("ttl", ttl))
                if v is not None
            },
        )
        if messages is None and facts is None:
            raise ValidationError("Give messages or facts: there is nothing to add.")
        tz, act = self._parts.tz, Act(trace_id=uuid4().hex, at=self._parts.clock())
        told = None if timestamp is None else given.read_timestamp(timestamp, tz)
        request = adding.Request(
            owner=owner,
            run=run,
            talk=heard.NOTHING
            if messages is None
            else heard.read_messages(messages, tz, images=self._parts.vision is not None),
            facts=facts,
            infer=infer,
            common=given.Common(
                checks.check_metadata(metadata),
                given.kept_until(expiration_date, ttl, act.at, tz),
                told,
                tz,
                offset_of(timestamp),
            ),
            told_at=told,
            act=act,
            once=once,
            editing=checks.check_choice(editing, "editing", config.EDITING),
            prompt=None if prompt is None else checks.check_text(prompt, "prompt"),
            procedural=adding.is_procedural(memory_type, owner),
            traced=trace,
            began=began,
        )
        adding.refuse_wishes_without_model(self._parts, request)
        first: shapes.AddResult | None = await self._replayed(owner, once, act)
        if first is not None:
            return first
        request = await adding.with_images(self._parts, request)
        buried = () if facts is not None else await self._buried(owner, run, request.talk, told)
        return await adding.add(self._parts, request, buried)

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        filters: Filters | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
        include_superseded: bool = False,
        as_of: Any = None,
        known_at: Any = None,
        reference_date: Any = None,
    ) -> shapes.SearchResult:
        """Find the memories that a question needs, best first.

        The ids, as keywords or in `filters`, say whose memories may be seen. filters: mem0's grammar over
        columns and metadata. top_k (or limit): how many at most, 20 if not given. threshold: least score,
        0 to 1, applied last. show_expired, include_superseded: also what is past its day, or was replaced.
        as_of: what held at that time. known_at: what the store knew at that time, as a search found it then;
        with as_of, what it knew then of that time. Time words of the query itself ("last summer", "before I moved",
        以前) order the hits by time, and let those in that have ended; reference_date: what "now" means for them
        (default: the clock; with known_at, that). explain: how each hit came about. rerank needs a reranker;
        without one a notice says so.

        Returns `results`, each with `score` in 0..1, absolute (a nonsense query scores below 0.3), falling
        along the list; `notice` says why there are none. Raises `ValidationError`, `EmbedderError`,
        `StoreError`; never an empty list for an outage.
        """
        least = checks.check_threshold(threshold)
        for name, flag in (("rerank", rerank), ("explain", explain)):
            checks.check_flag(flag, name)
        states = {"show_expired": show_expired, "include_superseded": include_superseded}
        ids = self._ids(user_id, agent_id, app_id, run_id)

        def work(asked: answers.Asked, request: Request, space_id: int | None) -> shapes.SearchResult:
            found = search(self._parts.store(), self._parts.indexes, request, space_id)
            return answers.search_result(found, asked, least, explained=explain, rerank=rerank)

        count = checks.check_page(top_k, limit)
        return await self._ask(work, query, ids, filters, count, as_of, known_at, reference_date, states)

    async def why(
        self,
        query: str,
        *,
        expect: str,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        filters: Filters | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        show_expired: bool = False,
        include_superseded: bool = False,
        as_of: Any = None,
        known_at: Any = None,
        reference_date: Any = None,
    ) -> shapes.WhyResult:
        """Follow a text from what was said to its rank in a search, and name the first stage that lacks it.

        expect: words that the wanted memory holds, in any case. The other arguments are those of `search`.
        Returns `missing_at` (said, kept, believed, eligible, found, returned; None when it is returned), the
        `reason`, the memory with its rank and score where there is one, and every stage passed on the way.
        """
        wanted, least = checks.check_text(expect, "expect").strip(), checks.check_threshold(threshold)
        states = {"show_expired": show_expired, "include_superseded": include_superseded}
        ids = self._ids(user_id, agent_id, app_id, run_id)

        def work(asked: answers.Asked, request: Request, space_id: int | None) -> shapes.WhyResult:
            from .ingest.reasons import why_not_kept

            told = partial(why_not_kept, with_model=self._parts.llm is not None)
            since = kept_since(request.now, self._parts.settings.trace_days)
            question = Question(wanted, request, least, asked, told, since)
            return shapes.why_result(why(self._parts.store(), self._parts.indexes, question, space_id))

        count = checks.check_page(top_k, limit)
        return await self._ask(work, query, ids, filters, count, as_of, known_at, reference_date, states)

    async def get(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> shapes.MemoryItem | None:
        """The memory with this id, also when expired or superseded; None when there is none or it is deleted.

        Ids, when given, guard the access: another owner's memory is not found.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        uid = checks.check_memory_id(memory_id)

        def work() -> Item | None:
            with self._parts.store().read() as tx:
                place = reading.place_of(tx, scope, uid)
                return None if place is None else reading.item_at(tx, place)

        item = await off_loop(work)
        return None if item is None else {**shapes.memory_item(item), "score": None}

    async def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        filters: Filters | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        show_expired: bool = False,
        show_deleted: bool = False,
        include_superseded: bool = False,
        as_of: Any = None,
        known_at: Any = None,
    ) -> shapes.ListResult:
        """All memories of a scope that meet the filters, newest first, a page at a time.

        as_of, known_at: as for `search`; known_at not together with show_deleted, which is about the present.
        top_k (or limit): items a page, 20 if not given. cursor: the `next` of the page before; pages stay
        stable while memories are added. Returns `results`, `total` over all pages, `next` and `truncated`.
        """
        if checks.check_flag(show_deleted, "show_deleted") and known_at is not None:
            raise ValidationError("known_at shows what was known then, and show_deleted the trash of today.")
        listing = self._listing(
            filters,
            self._ids(user_id, agent_id, app_id, run_id),
            show_expired=checks.check_flag(show_expired, "show_expired"),
            show_deleted=show_deleted,
            include_superseded=checks.check_flag(include_superseded, "include_superseded"),
            as_of=self._instant(as_of, "as_of"),
            known_at=self._instant(known_at, "known_at"),
        )
        return await self._page(listing, checks.check_page(top_k, limit), cursor)

    async def trash(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        filters: Filters | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> shapes.ListResult:
        """The deleted memories of a scope with who deleted them, when and why; paged like `get_all`."""
        ids = self._ids(user_id, agent_id, app_id, run_id)
        listing = self._listing(filters, ids, only_deleted=True, show_expired=True, include_superseded=True)
        return await self._page(listing, checks.check_page(top_k, limit), cursor)

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        data: str | None = None,
        replace_metadata: bool = False,
        expiration_date: Any = UNSET,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> shapes.ChangeResult:
        """Give a memory a new version; the old one stays in its history.

        text (mem0 1.x: data): the new text; metadata is merged at its top level, or replaces the old with
        `replace_metadata`; expiration_date: a day, or None for no end. What is not given stays as it is.
        expected_version: the `version` that you read; raises `ConflictError` when it is another by now.
        idempotency_key: as for `add`. actor, reason: who changes it and why. Returns the new `version`; event
        NONE where nothing differs. Raises `NotFoundError`, `DuplicateError` where the new text is live under
        another memory of the owner, `ValidationError` when there is nothing to change.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        uid, wanted = checks.check_memory_id(memory_id), checks.check_one_text(text, data)
        if wanted is None and metadata is None and expiration_date is UNSET:
            raise ValidationError("At least one of text, metadata, or expiration_date must be provided.")
        expires = UNSET if expiration_date is UNSET else given.expiry(expiration_date, self._parts.tz)
        revision = Revision(
            text=wanted,
            metadata=checks.check_metadata(metadata),
            replace_metadata=checks.check_flag(replace_metadata, "replace_metadata"),
            expires=expires,
            expected_version=checks.check_version(expected_version),
        )
        act = self._act(actor, reason)
        once = replays.once(checks.check_key(idempotency_key), "update", id=uid, **asdict(revision))

        def answer(event: Event, version: int) -> shapes.ChangeResult:
            message = "Memory updated successfully!"
            return {"message": message, "id": uid, "event": event.value, "version": version}

        async def embed_and_amend() -> shapes.ChangeResult:
            embedded = await self._parts.embeddings([] if wanted is None else [wanted])
            vector = None if embedded.rows is None else embedded.rows[0]

            def work(store: Store, place: Place) -> shapes.ChangeResult:
                call = (vector, embedded.space_id, act, once, answer)
                return amend(store, self._tenant, place, revision, *call)

            return await self._at(scope, uid, work, ". Please provide a valid 'memory_id'")

        return await self._parts.in_current_space(embed_and_amend)

    async def delete(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        expected_version: int | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> shapes.ChangeResult:
        """Retire a memory: it is found no more, stays in history and trash, and can be restored.

        expected_version, idempotency_key: as for `update`. Raises `NotFoundError` when there is none or it is
        deleted already, `ConflictError`.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        uid, act = checks.check_memory_id(memory_id), self._act(actor, reason)
        expected = checks.check_version(expected_version)
        once = replays.once(checks.check_key(idempotency_key), "delete", id=uid, version=expected)
        done = shapes.ChangeResult(message="Memory deleted successfully!", id=uid, event="DELETE")

        def work(store: Store, place: Place) -> shapes.ChangeResult:
            with store.write() as tx:
                first: shapes.ChangeResult | None = replays.first_result(
                    tx, self._tenant, place[0], once, act.at
                )
                if first is not None:
                    return first
                changing.retire(tx, self._tenant, place, expected, act)
                return replays.keep(tx, place[0], once, done, act)

        return await self._at(scope, uid, work)

    async def restore(
        self,
        memory_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> shapes.ChangeResult:
        """Bring a deleted memory back as it was; one that is not deleted stays (event NONE).

        What was said meanwhile stands: a home that was deleted is a former home where another was told since.
        Raises `NotFoundError`, or `DuplicateError` where its text is live under another memory by now.
        """
        scope = self._guard(self._ids(user_id, agent_id, app_id, run_id))
        uid, act = checks.check_memory_id(memory_id), self._act(actor, reason)

        def work(store: Store, place: Place) -> bool:
            with store.write() as tx:
                return changing.restore(tx, self._tenant, place, act, closes)

        restored = await self._at(scope, uid, work)
        event = "RESTORE" if restored else "NONE"
        return {"message": "Memory restored successfully!", "id": uid, "event": event}

    async def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        *,
        app_id: str | None = None,
        filters: Filters | None = None,
        dry_run: bool = False,
        actor: str | None = None,
        reason: str | None = None,
    ) -> shapes.ChangeResult:
        """Delete every memory of a scope that meets the filters, in one transaction.

        Within a run, a memory that was stated outside it too only loses the run's label. dry_run: only tell
        the ids, as `would_delete`. Returns how many were `deleted`. Raises `ScopeError` without any id.
        """
        ids = self._ids(user_id, agent_id, app_id, run_id)
        if filters is None and all(value is None for value in ids.values()):
            raise ScopeError(NO_IDS_TO_DELETE)
        listing = self._listing(filters, ids, show_expired=True, include_superseded=True)
        act = self._act(actor, reason)
        if checks.check_flag(dry_run, "dry_run"):

            def tell() -> list[str]:
                with self._parts.store().read() as tx:
                    return changing.would_retire(tx, listing)

            return {"message": "Nothing was deleted.", "would_delete": await off_loop(tell)}

        def work() -> int:
            with self._parts.store().write() as tx:
                return changing.retire_all(tx, listing, act)

        return {"message": "Memories deleted successfully!", "deleted": await off_loop(work)}

    async def messages(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> shapes.MessageList:
        """The messages of a scope word for word, in the order they were said, 100 a page if not told.

        They are the ground truth: deleting or updating memories leaves them as they are. `deleted_spans` tells
        the characters [start, end) that state memories which were deleted; purge() removes them.
        """
        scope, _ = read_scope(self._tenant, self._ids(user_id, agent_id, app_id, run_id))
        count = 100 if limit is None else checks.check_count(limit, "limit")
        after = shapes.read_cursor(cursor)

        def work() -> shapes.MessageList:
            with self._parts.store().read() as tx:
                found = reading.messages(tx, scope, limit=count + 1, after=after)
                return shapes.message_page(found, count, reading.count_messages(tx, scope))

        return await off_loop(work)
