"""What mem0 left, as mnemic's own records. Pure; what cannot be kept beside something else is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from ...checks import canonical_json
from ...clock import Instant
from ...ingest.given import expiry
from ...records import Event
from ...text.normal import live_key
from ...whole import WholeChange, WholeEpisode, WholeMemory, WholeMessage, WholeOwner, WholeVersion
from .records import Left, LeftMemory, LeftMessage, LeftOut, Remark
from .replay import Step, replay

EXTRACTOR = "mem0"
# user_id, agent_id, app_id
_Whose = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class OwnerPart:
    """Everything of one owner, in the order in which an import takes it; changes by time."""

    owner: WholeOwner
    episodes: tuple[WholeEpisode, ...]
    memories: tuple[WholeMemory, ...]
    changes: tuple[WholeChange, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """All owners, and what is to be told of what was left out or does not fit."""

    parts: tuple[OwnerPart, ...]
    left_out: tuple[LeftOut, ...]
    remarks: tuple[Remark, ...]


def convert(left: Left, tz: tzinfo) -> Converted:
    """The records of all owners. Of several memories that say the same under one owner, the oldest is kept."""
    memories: dict[_Whose, list[LeftMemory]] = defaultdict(list)
    messages: dict[_Whose, list[LeftMessage]] = defaultdict(list)
    for memory in left.memories:
        memories[memory.user_id or "", memory.agent_id or "", memory.app_id or ""].append(memory)
    for message in left.messages:
        messages[message.user_id or "", message.agent_id or "", ""].append(message)
    left_out, remarks, parts = [*left.left_out], [*left.remarks], []
    for whose in sorted(memories.keys() | messages.keys()):
        runs, twins = _labels(memories[whose])
        left_out += twins
        parts.append(_part(whose, memories[whose], runs, messages[whose], tz, remarks))
    return Converted(tuple(parts), tuple(left_out), tuple(remarks))


def _labels(memories: Iterable[LeftMemory]) -> tuple[dict[str, list[str]], list[LeftOut]]:
    """The runs of each memory that is kept, those of its twins with it, and the twins."""
    first: dict[tuple[str, str], LeftMemory] = {}
    runs: dict[str, list[str]] = {}
    twins = []
    for memory in memories:
        key = memory.kind, live_key(memory.text)
        kept = memory if memory.deleted else first.setdefault(key, memory)
        if kept is not memory:
            other = ", with other metadata" if kept.metadata != memory.metadata else ""
            twins.append(LeftOut("memory", f"same text as {kept.id}{other}", memory.id))
        labels = runs.setdefault(kept.id, [])
        if (memory.run_id or "") not in labels:
            labels.append(memory.run_id or "")
    return runs, twins


def _part(
    whose: _Whose,
    memories: Sequence[LeftMemory],
    runs: dict[str, list[str]],
    messages: Sequence[LeftMessage],
    tz: tzinfo,
    remarks: list[Remark],
) -> OwnerPart:
    episodes: list[WholeEpisode] = []
    whole: list[WholeMemory] = []
    changes: list[WholeChange] = []
    for memory in memories:
        if memory.id in runs:
            steps, unfit = replay(memory)
            remarks.extend(Remark(memory.id, text) for text in unfit)
            episodes.append(_episode_of(memory))
            whole.append(_whole_memory(memory, steps, runs[memory.id], tz))
            changes += _changes(memory, steps)
    for episode in _talks(messages):
        episodes.append(episode)
        changes.append(WholeChange(episode.created_at, Event.EPISODE, episode.trace_id))
    begun = min(episode.created_at for episode in episodes)
    user_id, agent_id, app_id = whose
    return OwnerPart(
        WholeOwner(begun, user_id, agent_id, app_id),
        tuple(sorted(episodes, key=lambda episode: episode.created_at)),
        tuple(whole),
        tuple(sorted(changes, key=lambda change: change.at)),
    )


def _trace(uid: str) -> str:
    return f"mem0:{uid}"


def _episode_of(memory: LeftMemory) -> WholeEpisode:
    # One of its own: mem0 does not keep which memories came of the same talk.
    return WholeEpisode(_trace(memory.id), memory.created_at, memory.created_at, memory.run_id or "")


def _whole_memory(memory: LeftMemory, steps: Sequence[Step], runs: Sequence[str], tz: tzinfo) -> WholeMemory:
    return WholeMemory(
        id=memory.id,
        kind=memory.kind,
        created_at=memory.created_at,
        episode=_trace(memory.id),
        position=0,
        live=not memory.deleted,
        versions=tuple(_versions(memory, steps, tz)),
        runs=tuple(runs),
        role=memory.role,
        actor_id=memory.actor_id,
        attributed_to=memory.attributed_to,
    )


def _versions(memory: LeftMemory, steps: Sequence[Step], tz: tzinfo) -> Iterable[WholeVersion]:
    """A version for each text it had. mem0 keeps no other metadata than the present one."""
    expires_on, expires_at = expiry(memory.expires_on, tz)
    ends: list[Instant | None] = [step.at for step in steps[1:]]
    for number, (step, end) in enumerate(zip(steps, [*ends, None], strict=True), 1):
        if step.text is not None:
            yield WholeVersion(
                number=number,
                text=step.text,
                observed_at=memory.created_at,
                tx_from=step.at,
                tx_to=end,
                extractor=EXTRACTOR,
                metadata=canonical_json(memory.metadata),
                categories=canonical_json(memory.categories),
                expires_on=expires_on,
                expires_at=expires_at,
            )


def _changes(memory: LeftMemory, steps: Sequence[Step]) -> Iterable[WholeChange]:
    for number, step in enumerate(steps, 1):
        yield WholeChange(
            at=step.at,
            event=step.event,
            trace_id=_trace(memory.id),
            memory=memory.id,
            opened=None if step.text is None else number,
            closed=number - 1 if number > 1 else None,
            reason=step.reason,
        )


def _talks(messages: Sequence[LeftMessage]) -> Iterable[WholeEpisode]:
    """The messages of each call: mem0 gives all of one call the same time."""
    calls: dict[tuple[str, Instant], list[LeftMessage]] = defaultdict(list)
    for message in messages:
        calls[message.run_id or "", message.said_at].append(message)
    for (run_id, said_at), call in calls.items():
        whole = tuple(
            WholeMessage(one.id, position, one.role, one.content, one.said_at, one.name)
            for position, one in enumerate(call)
        )
        yield WholeEpisode(_trace(call[0].id), said_at, said_at, run_id, whole)
