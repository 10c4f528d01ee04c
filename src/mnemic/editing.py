"""Editing: an add with an LLM. What the model is shown, what it proposes, what code makes of that, and the commit.

The memories that a model was shown may change while it thinks. What it said then is committed only where nothing
that matters did; else the facts concerned are decided once more, on what there is by now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from .checks import canonical_json
from .clock import Instant
from .config import Editing
from .errors import EmbedderError, EmbedderMismatchError, StoreBusyError
from .ingest import briefing, reconcile, verify
from .ingest.ask import Asked, complete_json, complete_text
from .ingest.briefing import Brief, Known, Wishes
from .ingest.commit import Answered, commit, embedded_batch
from .ingest.drawn import (
    DECISIONS,
    FACTS,
    MEMORY,
    Drawn,
    Met,
    read_decisions,
    read_edits,
    read_facts,
)
from .ingest.given import Common
from .ingest.messages import Heard
from .ingest.parts_of_talk import parts_of
from .ingest.verify import Judged
from .models.llm import LLM, ChatMessage
from .parts import Parts, off_loop
from .prompts import load
from .recall.answers import asked as read_query
from .recall.fuse import Query
from .recall.related import Related, related
from .records import (
    Act,
    Batch,
    Buried,
    Content,
    Embeddings,
    Item,
    Kind,
    Outcome,
    Owner,
    Proposal,
    Provenance,
    Rejected,
    Seen,
    Space,
    Span,
    StoredMessage,
    Usage,
)
from .store import reading, tombstones
from .store.meeting import OwnerMovedError, OwnerPurgedError, moved_since
from .store.owners import owner_state
from .store.replays import Once

T = TypeVar("T")

# Memories shown: so many near each part of a talk, or each fact, and so many in all.
NEAR_EACH, SHOWN = 5, 20
# Messages of the same run that explain the new ones: so many, and not older than these by more than a week.
EARLIER, EARLIER_MICROSECONDS = 10, 7 * 24 * 3600 * 1_000_000
# How often a commit is tried while others write for the same owner.
TRIES = 5
EXTRACTOR = "llm"


@dataclass(frozen=True, slots=True)
class Task:
    """One add for a model to edit."""

    owner: Owner
    run: str
    talk: Heard
    observed_at: Instant
    common: Common
    buried: tuple[Buried, ...]
    act: Act
    once: Once | None
    mode: Editing
    wishes: Wishes


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a model, as sent, and its reply.

    known: the memories shown. facts: those to be decided on. fault: why the reply could not be used, and the model
    was asked once more.
    """

    stage: str
    prompt: str
    model: str
    sent: tuple[ChatMessage, ...]
    raw: str
    usage: Usage
    known: tuple[Known, ...] = ()
    facts: tuple[str, ...] = ()
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What an add has come to: what was shown, what was decided, and by which calls.

    seen: what the model was shown of the owner; None where it was shown nothing. facts: as they
    were drawn, before anything was decided on how they meet memories.
    """

    brief: Brief
    judged: tuple[Judged, ...] = ()
    facts: tuple[Judged, ...] = ()
    seen: Seen | None = None
    calls: tuple[Call, ...] = ()

    def seen_at(self, seq: int | None) -> Seen | None:
        """What was shown, with memories that were read when the owner had come so far."""
        return None if self.seen is None else replace(self.seen, seq=seq)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The facts that were refused, and what of the messages was too long to be sent."""
        return (*self.brief.unsent, *(one.as_rejected() for one in self.judged if one.proposal is None))


@dataclass(frozen=True, slots=True)
class Committed:
    """A draft with the batch that was stored, and what of the draft's proposals (by number) could not be embedded."""

    draft: Draft
    batch: Batch
    failed: Mapping[int, Rejected]
    embedded: int


# Makes of what was stored the call's result, and of that what is kept for `trace`.
Answer = Callable[[Committed, list[Outcome]], Answered[T]]


@dataclass(slots=True)
class _Vectors:
    """The vectors of an add's texts: each is embedded once."""

    parts: Parts
    space_id: int | None = None
    rows: dict[str, bytes] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    embedded: int = 0

    async def of(self, texts: Sequence[str]) -> Embeddings:
        """The vectors of some texts; those that are new are embedded in one go."""
        space = await self.parts.space_for_writing() if texts else None
        if space is None:
            return Embeddings()
        if space.id != self.space_id:
            self.rows, self.failed, self.space_id = {}, {}, space.id
        new = [text for text in dict.fromkeys(texts) if text not in self.rows and text not in self.failed]
        made = await self._made(space, new, alone=len(new) == len(set(texts)))
        self.embedded += len(new)
        for i, text in enumerate(new):
            row = None if made.rows is None else made.rows[i]
            if row is None:
                self.failed[text] = made.failed[i]
            else:
                self.rows[text] = row
        failed = {i: self.failed[text] for i, text in enumerate(texts) if text in self.failed}
        return Embeddings(tuple(self.rows.get(text) for text in texts), space.id, failed)

    async def _made(self, space: Space, texts: Sequence[str], *, alone: bool) -> Embeddings:
        """New vectors. Where all of some texts fail, that is an outage; not beside others that have theirs."""
        try:
            return await self.parts.embeddings_in(space, texts)
        except EmbedderMismatchError:
            raise
        except EmbedderError as fault:
            if alone:
                raise
            return Embeddings((None,) * len(texts), space.id, dict.fromkeys(range(len(texts)), fault.message))


class Editor:
    """One add with an LLM. Needs an event loop: run it with `on_loop`."""

    def __init__(self, parts: Parts, extractor: LLM, decider: LLM, task: Task) -> None:
        self._parts = parts
        self._extractor = extractor
        self._decider = decider
        self._task = task
        self._vectors = _Vectors(parts)

    async def add(self, answer: Answer[T]) -> T:
        """Do it and return the answer. Raises `LLMError`, `ModelTimeoutError`, `EmbedderError`, `StoreError`."""
        brief = await off_loop(self._brief)
        if not brief.has_sources:
            return await self._stored(Draft(brief), answer)
        for _ in range(TRIES):
            try:
                return await self._edited(brief, answer)
            except OwnerPurgedError:
                # What the model was shown, and may have said again, is gone for good: begin anew.
                self._vectors = _Vectors(self._parts)
        raise StoreBusyError("The owner's memories were purged again and again while a model decided.")

    async def _edited(self, brief: Brief, answer: Answer[T]) -> T:
        turns = self._parts.turns
        async with turns.slots:
            draft = await self._drafted(brief)
            async with turns.of(self._task.owner):
                stored, stale = await self._tried(draft, answer)
        if stored is not None:
            return stored[0]
        draft = await self._decided_again(draft, stale)
        async with turns.of(self._task.owner):
            return await self._settled(draft, answer)

    async def record(self, answer: Answer[T], instructions: str | None) -> T:
        """Keep a record of how an agent did what the messages tell; `instructions` stand for the prompt's own."""
        brief = await off_loop(self._brief)
        if not brief.messages:
            return await self._stored(Draft(brief), answer)
        prompt = load("procedure")
        sent = briefing.procedure(prompt, brief, instructions, self._task.wishes.instructions)
        async with self._parts.turns.slots:
            asked = await complete_text(self._extractor, sent)
        judged = Judged(Drawn(asked.value, brief.numbers, "assistant"), self._procedure(asked, prompt.id))
        return await self._stored(
            Draft(brief, (judged,), calls=calls_of("extract", prompt.id, asked)), answer
        )

    def _procedure(self, asked: Asked[str], prompt_id: str) -> Proposal:
        """The record as a memory that rests on all messages."""
        common = self._task.common
        return Proposal(
            kind=Kind.PROCEDURE,
            content=Content(
                text=asked.value,
                metadata=canonical_json(common.metadata),
                expires_on=common.expires[0],
                expires_at=common.expires[1],
            ),
            provenance=Provenance(
                attributed_to="assistant",
                extractor=f"{EXTRACTOR}:procedure",
                prompt=prompt_id,
                model=asked.model,
            ),
            spans=tuple(Span(at, 0, len(one.content)) for at, one in enumerate(self._task.talk.messages)),
            meets=(),
        )

    # --- what the model is shown ------------------------------------------------------------------------

    def _brief(self) -> Brief:
        """The messages as they may be sent: without words that were deleted."""
        task = self._task
        buried = tombstones.by_message(task.buried)
        messages = tuple(
            replace(message, content=tombstones.masked(message.content, buried.get(at, ())))
            for at, message in enumerate(task.talk.messages)
        )
        told = [(m, n) for m, n in zip(messages, task.talk.numbers, strict=True) if m.content.strip()]
        return briefing.cut_to_size(
            Brief(
                messages=tuple(message for message, _ in told),
                numbers=tuple(number for _, number in told),
                observed_at=task.observed_at,
                tz=task.common.zone,
                for_agent=bool(task.owner.agent_id),
            )
        )

    async def _informed(self, brief: Brief) -> tuple[Brief, Seen]:
        """The brief with the recent messages of its run, and how far the owner had come when they were read."""
        task = self._task
        begun = min(map(brief.said_at, brief.messages))

        def look() -> tuple[tuple[StoredMessage, ...], Seen]:
            with self._parts.store().read() as tx:
                state = owner_state(tx, task.owner)
                if state is None:
                    return (), Seen(None, 0)
                since = begun - EARLIER_MICROSECONDS
                found = reading.recent_messages(
                    tx, task.owner, task.run, since=since, until=begun, limit=EARLIER
                )
            said = {message.content for message in brief.messages}
            return tuple(_unburied(one) for one in found if one.content not in said), Seen(
                state.id, state.seq
            )

        earlier, seen = await off_loop(look)
        return replace(brief, earlier=tuple(one for one in earlier if one.content.strip())), seen

    async def _offered(self, brief: Brief, seen: Seen) -> tuple[Brief, Seen]:
        """The brief with the memories that its parts are near, and how far the owner had come by then."""
        if seen.owner_id is None:
            return brief, replace(seen, seq=0)
        found = await self._related(await off_loop(lambda: parts_of(brief)))
        return replace(brief, known=_labelled(found.items, self._task.mode)), replace(seen, seq=found.seen)

    async def _related(self, texts: Sequence[str], also: Collection[int] = ()) -> Related:
        """The owner's facts near some texts, and those with the numbers `also`."""

        async def attempt() -> Related:
            vectors = await self._vectors.of(texts)
            space = await self._parts.space()

            def look() -> Related:
                queries: list[Query] = []
                for i, text in enumerate(texts):
                    row = None if vectors.rows is None else vectors.rows[i]
                    vector = None if row is None else np.frombuffer(row, np.float32)[None]
                    queries.append(read_query(text, vector, space).query)
                return related(
                    self._parts.store(),
                    self._parts.indexes,
                    self._task.owner,
                    queries,
                    None if space is None else space.id,
                    self._parts.clock(),
                    each=NEAR_EACH,
                    most=SHOWN,
                    also=also,
                )

            return await off_loop(look)

        return await self._parts.in_current_space(attempt)

    # --- what it decides --------------------------------------------------------------------------------

    async def _drafted(self, brief: Brief) -> Draft:
        """Ask for facts, and judge them."""
        task = self._task
        classic = task.mode == Editing.RECONCILE
        brief, seen = await self._informed(brief)
        if not classic:
            brief, seen = await self._offered(brief, seen)
        prompt = load("extract")
        calls, facts = await self._asked(
            "extract",
            self._extractor,
            prompt.id,
            briefing.extraction(prompt, brief, task.wishes),
            FACTS,
            read_facts,
        )
        calls = tuple(replace(call, known=brief.known) for call in calls)
        made_with = verify.Provenances(f"{EXTRACTOR}:{task.mode}", prompt.id, calls[-1].model)
        categories = task.wishes.known_categories
        judged = await off_loop(
            lambda: verify.judge(
                facts,
                brief,
                task.talk,
                task.common,
                made_with,
                categories,
                prompt,
                only_adds=task.mode == Editing.APPEND,
            )
        )
        drawn = tuple(judged)
        if task.mode == Editing.APPEND:
            seen = replace(seen, seq=None)
        draft = Draft(brief, drawn, drawn, seen, calls)
        return await self._reconciled(draft) if classic else draft

    async def _reconciled(self, draft: Draft) -> Draft:
        """mem0's second step: what becomes of each memory near the facts. No call where there is none."""
        facts = [one for one in draft.judged if one.proposal is not None]
        if not facts:
            return draft
        found = await self._related([one.fact.text for one in facts])
        known = _labelled(found.items, Editing.RECONCILE)
        if not known:
            return replace(draft, seen=draft.seen_at(found.seen))
        prompt = load("reconcile")
        sent = briefing.reconciliation(prompt, [one.fact.text for one in facts], known, self._task.wishes)
        calls, edits = await self._asked("decide", self._decider, prompt.id, sent, MEMORY, read_edits)
        texts = tuple(one.fact.text for one in facts)
        calls = tuple(replace(call, known=known, facts=texts) for call in calls)
        judged = await off_loop(
            lambda: reconcile.judge_edits(edits, facts, known, prompt.id, calls[-1].model)
        )
        refused = [one for one in draft.judged if one.proposal is None]
        brief = replace(draft.brief, known=known)
        return replace(
            draft,
            brief=brief,
            judged=(*refused, *judged),
            seen=draft.seen_at(found.seen),
            calls=(*draft.calls, *calls),
        )

    async def _decided_again(self, draft: Draft, stale: frozenset[int]) -> Draft:
        """Decide once more how some facts, by number, meet what there is by now."""
        task = self._task
        if task.mode == Editing.RECONCILE:
            return await self._reconciled(replace(draft, judged=draft.facts))
        numbers = sorted(stale)
        texts = [draft.judged[i].fact.text for i in numbers]
        numbers_of = {one.uid: one.no for one in draft.brief.known}
        met = {each.uid for i in numbers for each in draft.judged[i].meetings}
        found = await self._related(texts, {numbers_of[uid] for uid in met if uid in numbers_of})
        known = _labelled(found.items, task.mode)
        decided: Mapping[int, tuple[Met, ...]] = {}
        calls = draft.calls
        if known:
            prompt = load("decide")
            sent = briefing.decision(
                prompt, [self._said(draft.judged[i]) for i in numbers], known, task.common.zone
            )
            more, decided = await self._asked(
                "decide", self._decider, prompt.id, sent, DECISIONS, read_decisions
            )
            calls += tuple(replace(call, known=known, facts=tuple(texts)) for call in more)
        judged = list(draft.judged)
        shown = {one.label: one for one in known}
        for at, i in enumerate(numbers):
            judged[i] = verify.decided_again(judged[i], decided.get(at), shown)
        whole = tuple(verify.without_clashes(judged))
        brief = replace(draft.brief, known=known)
        return replace(draft, brief=brief, judged=whole, seen=draft.seen_at(found.seen), calls=calls)

    def _said(self, judged: Judged) -> tuple[str, Instant]:
        """The text of a fact, and when it was said."""
        said_at = judged.proposal.said_at if judged.proposal else None
        return judged.fact.text, self._task.observed_at if said_at is None else said_at

    async def _asked(
        self,
        stage: str,
        llm: LLM,
        prompt_id: str,
        sent: list[ChatMessage],
        schema: Mapping[str, object],
        read: Callable[[object], T],
    ) -> tuple[tuple[Call, ...], T]:
        asked: Asked[T] = await complete_json(llm, sent, schema, read)
        return calls_of(stage, prompt_id, asked), asked.value

    # --- the commit -------------------------------------------------------------------------------------

    async def _tried(self, draft: Draft, answer: Answer[T]) -> tuple[tuple[T] | None, frozenset[int]]:
        """Commit, unless facts have to be decided once more: their numbers then."""
        for _ in range(TRIES):
            try:
                return (await self._stored(draft, answer),), frozenset()
            except OwnerMovedError:
                stale, seen = await self._stale(draft)
                if stale:
                    return None, stale
                draft = replace(draft, seen=draft.seen_at(seen))
        return None, frozenset(i for i, one in enumerate(draft.judged) if one.proposal is not None)

    async def _settled(self, draft: Draft, answer: Answer[T]) -> T:
        """Commit what was decided twice; facts that should be decided anew are marked."""
        for _ in range(TRIES):
            try:
                return await self._stored(draft, answer)
            except OwnerMovedError:
                stale, seen = await self._stale(draft)
                draft = replace(_unreconciled(draft, stale), seen=draft.seen_at(seen))
        everything = frozenset(range(len(draft.judged)))
        draft = replace(_unreconciled(draft, everything), seen=draft.seen_at(None))
        return await self._stored(draft, answer)

    async def _stale(self, draft: Draft) -> tuple[frozenset[int], int]:
        """The numbers of the facts for which other memories matter since the model was shown them: one that it
        meets is another by now, or one came or changed that it is near."""
        facts = [(i, one) for i, one in enumerate(draft.judged) if one.proposal is not None]
        found = await self._related([one.fact.text for _, one in facts])
        seen = 0 if draft.seen is None else draft.seen.seq or 0

        def look() -> set[int]:
            with self._parts.store().read() as tx:
                state = owner_state(tx, self._task.owner)
                return set() if state is None else moved_since(tx, state.id, seen)

        moved = await off_loop(look)
        numbers = {one.uid: one.no for one in draft.brief.known}
        stale = set()
        for at, (i, one) in enumerate(facts):
            met = {each.uid for each in one.meetings}
            if found.near[at] & moved or any(numbers.get(uid) in moved for uid in met):
                stale.add(i)
        return frozenset(stale), found.seen

    async def _stored(self, draft: Draft, answer: Answer[T]) -> T:
        """Embed what is to be stored, and store it. Raises `OwnerMovedError`."""
        task = self._task
        proposals = [one.proposal for one in draft.judged if one.proposal is not None]
        batch = Batch(
            owner=task.owner,
            run_id=task.run,
            observed_at=task.observed_at,
            messages=task.talk.messages,
            proposals=tuple(proposals),
            buried=task.buried,
            seen=draft.seen,
        )

        async def attempt() -> T:
            embedded = await self._vectors.of([p.content.text for p in proposals if not p.only_touches])
            whole, failed = embedded_batch(batch, task.talk.numbers, embedded)
            committed = Committed(draft, whole, failed, self._vectors.embedded)
            return await off_loop(
                lambda: commit(
                    self._parts.store(),
                    whole,
                    task.act,
                    task.once,
                    lambda outcomes: answer(committed, outcomes),
                )
            )

        return await self._parts.in_current_space(attempt)


def calls_of(stage: str, prompt_id: str, asked: Asked[T]) -> tuple[Call, ...]:
    """The requests that a stage took, the last of which it goes by."""
    return tuple(
        Call(
            stage,
            prompt_id,
            one.model,
            one.sent,
            one.raw,
            one.usage,
            fault=None if one.fault is None else one.fault.message,
        )
        for one in asked.attempts
    )


def _unreconciled(draft: Draft, numbers: frozenset[int]) -> Draft:
    judged = [
        replace(one, proposal=replace(one.proposal, unreconciled=True))
        if i in numbers and one.proposal
        else one
        for i, one in enumerate(draft.judged)
    ]
    return replace(draft, judged=tuple(judged))


def _unburied(message: StoredMessage) -> StoredMessage:
    """A message without the words of it that were deleted."""
    return replace(message, content=tombstones.masked(message.content, message.deleted_spans))


def _labelled(items: Sequence[Item], mode: Editing) -> tuple[Known, ...]:
    """Memories with the labels by which a model names them; mem0's are numbers from 0."""
    return tuple(
        Known(
            label=str(i) if mode == Editing.RECONCILE else f"m{i + 1}",
            uid=item.id,
            no=item.place[2],
            version=item.version,
            text=item.memory,
            since=item.valid_from,
        )
        for i, item in enumerate(items)
    )
