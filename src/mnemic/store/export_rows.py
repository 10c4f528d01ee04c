"""Reading all that an owner has, in the order of its numbers, as records without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, and_, bindparam, func, select

from ..records import Claim, OwnerState
from ..scope import Scope
from ..whole import (
    WholeChange,
    WholeEpisode,
    WholeMemory,
    WholeMessage,
    WholeOwner,
    WholeSupport,
    WholeVersion,
)
from . import schema as s
from .owners import owner_states, owners_in
from .schema import AnyRow, chunks
from .sound import decoding, instant, optional_instant

T = TypeVar("T")

# Memories whose rows are read together.
TOGETHER = 500
_STREAMED = {"yield_per": 2_000}


@dataclass(frozen=True, slots=True)
class Within:
    """What of an owner lies within some runs, by number.

    memories: those with such a label. heard: the episodes of these runs. origins: other episodes, in which such
    a memory was first stated. traces: of the episodes heard.
    """

    memories: frozenset[int]
    heard: frozenset[int]
    origins: frozenset[int]
    traces: frozenset[str]


def store_id(tx: Connection) -> str:
    """The id that the store was given when it was made."""
    with decoding("meta"):
        return str(tx.execute(select(s.meta.c.value).where(s.meta.c.key == "store_id")).scalar_one())


def count_memories(tx: Connection, scope: Scope) -> int:
    """How many memories the owners of a scope have, in whatever run and state."""
    query = select(func.count()).select_from(s.memory).where(s.memory.c.owner_id.in_(owners_in(scope)))
    return int(tx.execute(query).scalar_one())


def owners(tx: Connection, scope: Scope) -> list[tuple[OwnerState, WholeOwner]]:
    """The owners of a scope, in an order that does not hang on the store."""
    made = select(s.owner.c.id, s.owner.c.created_at).where(s.owner.c.id.in_(owners_in(scope)))
    created: dict[int, int] = {row.id: row.created_at for row in tx.execute(made)}
    with decoding("an owner"):
        found = [
            (
                state,
                WholeOwner(
                    instant(created[state.id]), state.owner.user_id, state.owner.agent_id, state.owner.app_id
                ),
            )
            for state in owner_states(tx, scope)
        ]
    return sorted(found, key=lambda one: (one[1].user_id, one[1].agent_id, one[1].app_id))


def within_runs(tx: Connection, owner_id: int, run_ids: frozenset[str]) -> Within:
    """What of an owner lies within some runs."""
    label, e, m = s.memory_run.c, s.episode.c, s.memory.c
    runs = sorted(run_ids)
    labelled = select(label.memory_no).where(label.owner_id == owner_id, label.run_id.in_(runs))
    memories = frozenset(tx.execute(labelled).scalars())
    said = select(e.no, e.trace_id).where(e.owner_id == owner_id, e.run_id.in_(runs))
    heard: dict[int, str] = {row.no: row.trace_id for row in tx.execute(said)}
    origins: set[int] = set()
    for some in chunks(sorted(memories)):
        first = select(m.episode_no).where(m.owner_id == owner_id, m.no.in_(some))
        origins.update(tx.execute(first).scalars())
    return Within(memories, frozenset(heard), frozenset(origins - heard.keys()), frozenset(heard.values()))


# --- Episodes -----------------------------------------------------------------------------------------------

_EPISODES = select(s.episode).where(s.episode.c.owner_id == bindparam("owner")).order_by(s.episode.c.no)
_MESSAGES = (
    select(s.message)
    .where(s.message.c.owner_id == bindparam("owner"))
    .order_by(s.message.c.episode_no, s.message.c.position)
)


def episodes(tx: Connection, owner_id: int, within: Within | None = None) -> Iterator[WholeEpisode]:
    """The owner's episodes with their messages; within runs, the episodes of origin come without any."""
    values = {"owner": owner_id}
    messages = tx.execute(_MESSAGES, values, execution_options=_STREAMED)
    groups = groupby(messages, key=attrgetter("episode_no"))
    number, group = next(groups, (None, iter(())))
    for row in tx.execute(_EPISODES, values, execution_options=_STREAMED):
        said: tuple[AnyRow, ...] = ()
        if number == row.no:
            said = tuple(group)
            number, group = next(groups, (None, iter(())))
        if within is None or row.no in within.heard:
            yield _read("an episode", _episode, row, said)
        elif row.no in within.origins:
            yield _read("an episode", _episode, row, ())


def _episode(row: AnyRow, messages: Sequence[AnyRow]) -> WholeEpisode:
    return WholeEpisode(
        trace_id=row.trace_id,
        run_id=row.run_id,
        observed_at=instant(row.observed_at),
        created_at=instant(row.created_at),
        messages=tuple(map(_message, messages)),
    )


def _message(row: AnyRow) -> WholeMessage:
    return WholeMessage(
        id=row.uid,
        position=row.position,
        role=row.role,
        content=row.content,
        said_at=instant(row.said_at),
        name=row.name,
        parts=row.parts,
    )


# --- Memories -----------------------------------------------------------------------------------------------

_heir = s.memory.alias("heir")
_PAGE = (
    select(s.memory, s.episode.c.trace_id)
    .join_from(
        s.memory,
        s.episode,
        and_(s.episode.c.owner_id == s.memory.c.owner_id, s.episode.c.no == s.memory.c.episode_no),
    )
    .where(s.memory.c.owner_id == bindparam("owner"), s.memory.c.no > bindparam("after"))
    .order_by(s.memory.c.no)
    .limit(TOGETHER)
)


def _of_memories(query: Select[Any], table: Any) -> Select[Any]:
    memory_no = table.c.memory_no
    return query.where(
        table.c.owner_id == bindparam("owner"), memory_no.in_(bindparam("memories", expanding=True))
    )


_VERSIONS = _of_memories(
    select(s.version, _heir.c.uid.label("successor"), s.vector.c.data.label("vector"))
    .join_from(
        s.version,
        _heir,
        and_(_heir.c.owner_id == s.version.c.owner_id, _heir.c.no == s.version.c.successor_no),
        isouter=True,
    )
    .outerjoin(
        s.vector,
        s.VECTOR_OF_VERSION,
    ),
    s.version,
).order_by(s.version.c.memory_no, s.version.c.number)
_SUPPORTS = _of_memories(
    select(s.support, s.message.c.uid, s.message.c.episode_no).join_from(
        s.support,
        s.message,
        and_(s.message.c.owner_id == s.support.c.owner_id, s.message.c.no == s.support.c.message_no),
    ),
    s.support,
).order_by(s.support.c.memory_no, s.message.c.episode_no, s.message.c.position, s.support.c.start)
_CLAIMS = _of_memories(select(s.claim), s.claim)
_RUNS = _of_memories(select(s.memory_run), s.memory_run)


def memories(
    tx: Connection, owner_id: int, space_id: int | None, within: Within | None = None
) -> Iterator[WholeMemory]:
    """The owner's memories; with the vectors of a space where one is named.

    Within runs, what lies outside is not referred to: supports by other messages and other successors are
    left out.
    """
    after = 0
    while page := tx.execute(_PAGE, {"owner": owner_id, "after": after}).all():
        after = page[-1].no
        chosen = [row for row in page if within is None or row.no in within.memories]
        yield from _with_their_rows(tx, owner_id, space_id, chosen, within)


def _with_their_rows(
    tx: Connection, owner_id: int, space_id: int | None, page: Sequence[AnyRow], within: Within | None
) -> Iterator[WholeMemory]:
    if not page:
        return
    values = {"owner": owner_id, "memories": [row.no for row in page], "space": space_id}
    versions, supports = _grouped(tx, _VERSIONS, values), _grouped(tx, _SUPPORTS, values)
    claims, runs = _grouped(tx, _CLAIMS, values), _grouped(tx, _RUNS, values)
    for row in page:
        support = [r for r in supports[row.no] if within is None or r.episode_no in within.heard]
        yield _read("a memory", _memory, row, versions[row.no], support, claims[row.no], runs[row.no], within)


def _grouped(tx: Connection, query: Select[Any], values: dict[str, Any]) -> dict[int, list[AnyRow]]:
    """The rows of some memories, by the number of the memory."""
    found: dict[int, list[AnyRow]] = defaultdict(list)
    for row in tx.execute(query, values):
        found[row.memory_no].append(row)
    return found


def _memory(
    row: AnyRow,
    versions: Sequence[AnyRow],
    supports: Sequence[AnyRow],
    claims: Sequence[AnyRow],
    runs: Sequence[AnyRow],
    within: Within | None,
) -> WholeMemory:
    return WholeMemory(
        id=row.uid,
        kind=row.kind,
        created_at=instant(row.created_at),
        episode=row.trace_id,
        position=row.position,
        # That of a superseded memory ends in a number.
        live=row.live_key is not None and ":" not in row.live_key,
        versions=tuple(_version(one, within) for one in versions),
        runs=tuple(sorted(label.run_id for label in runs)),
        role=row.role,
        actor_id=row.actor_id,
        attributed_to=row.attributed_to,
        support=tuple(WholeSupport(one.uid, one.start, one.end) for one in supports),
        claims=tuple(
            Claim(*claim)
            for claim in sorted((c.attribute, c.value, bool(c.holds), bool(c.changes)) for c in claims)
        ),
    )


def _version(row: AnyRow, within: Within | None) -> WholeVersion:
    outside = within is not None and row.successor_no not in within.memories
    return WholeVersion(
        number=row.number,
        text=row.text,
        observed_at=instant(row.observed_at),
        tx_from=instant(row.tx_from),
        extractor=row.extractor,
        tx_to=optional_instant(row.tx_to),
        metadata=row.metadata,
        categories=row.categories,
        event_date=row.event_date,
        valid_from=optional_instant(row.valid_from),
        valid_from_precision=row.valid_from_precision,
        valid_to=optional_instant(row.valid_to),
        valid_to_precision=row.valid_to_precision,
        expires_on=row.expires_on,
        expires_at=optional_instant(row.expires_at),
        successor=None if outside else row.successor,
        prompt=row.prompt,
        model=row.model,
        vector=row.vector,
    )


# --- Changes ------------------------------------------------------------------------------------------------

_opened = s.version.alias("opened")
_closed = s.version.alias("closed")
_CHANGES = (
    select(
        s.change,
        s.memory.c.uid,
        _opened.c.number.label("opened"),
        _closed.c.number.label("closed"),
    )
    .select_from(
        s.change.outerjoin(
            s.memory,
            and_(s.memory.c.owner_id == s.change.c.owner_id, s.memory.c.no == s.change.c.memory_no),
        )
        .outerjoin(
            _opened, and_(_opened.c.owner_id == s.change.c.owner_id, _opened.c.no == s.change.c.opened_no)
        )
        .outerjoin(
            _closed, and_(_closed.c.owner_id == s.change.c.owner_id, _closed.c.no == s.change.c.closed_no)
        )
    )
    .where(s.change.c.owner_id == bindparam("owner"))
    .order_by(s.change.c.seq)
)


def changes(tx: Connection, owner_id: int, within: Within | None = None) -> Iterator[WholeChange]:
    """What happened to the owner and its memories, in order; within runs, to theirs and by their adds."""
    for row in tx.execute(_CHANGES, {"owner": owner_id}, execution_options=_STREAMED):
        if within is None or _is_within(row, within):
            yield _read("a change", _change, row)


def _is_within(row: AnyRow, within: Within) -> bool:
    if row.memory_no is None:
        return row.trace_id in within.traces
    return row.memory_no in within.memories


def _change(row: AnyRow) -> WholeChange:
    return WholeChange(
        at=instant(row.at),
        event=row.event,
        trace_id=row.trace_id,
        memory=row.uid,
        opened=row.opened,
        closed=row.closed,
        actor=row.actor,
        reason=row.reason,
    )


def _read(what: str, make: Callable[..., T], *rows: Any) -> T:
    """A record of some rows; a value that is none of ours is damage."""
    with decoding(what):
        return make(*rows)
