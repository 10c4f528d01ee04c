"""What a deletion buries: the words of messages that state a retired memory.

Nothing is marked anywhere: a span is buried for as long as a memory that it states is retired. So `restore`
brings it back, and the two can never disagree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import ColumnElement, Connection, and_, bindparam, exists, func, select, update

from ..clock import Instant
from ..records import Buried, Message, Owner, Span
from ..text.terms import packed_terms
from . import schema as s
from .owners import owner_number
from .schema import chunks

Spans = Sequence[tuple[int, int]]

_retired = s.memory.alias("retired")
_buried = s.support.alias("buried")
_IS_RETIRED = and_(
    _retired.c.owner_id == _buried.c.owner_id,
    _retired.c.no == _buried.c.memory_no,
    _retired.c.live_key.is_(None),
)
# Other terms for a message, if it has any.
PACK = (
    update(s.message_terms)
    .where(
        s.message_terms.c.owner_id == bindparam("owner"), s.message_terms.c.message_no == bindparam("message")
    )
    .values(data=bindparam("terms"))
)
# Messages with terms of their own: some of them, and those that state some memories.
_OWN_TERMS = and_(
    s.message_terms.c.owner_id == s.message.c.owner_id, s.message_terms.c.message_no == s.message.c.no
)
_AMONG = (
    select(s.message.c.no, s.message.c.content)
    .join_from(s.message, s.message_terms, _OWN_TERMS)
    .where(
        s.message.c.owner_id == bindparam("owner"), s.message.c.no.in_(bindparam("messages", expanding=True))
    )
)
_TOLD = (
    select(s.message.c.no, s.message.c.content)
    .distinct()
    .join_from(
        s.support,
        s.message,
        and_(s.message.c.owner_id == s.support.c.owner_id, s.message.c.no == s.support.c.message_no),
    )
    .join(s.message_terms, _OWN_TERMS)
    .where(
        s.support.c.owner_id == bindparam("owner"),
        s.support.c.memory_no.in_(bindparam("memories", expanding=True)),
    )
)
_SPANS = (
    select(_buried.c.message_no, _buried.c.start, _buried.c.end)
    .join_from(_buried, _retired, _IS_RETIRED)
    .where(
        _buried.c.owner_id == bindparam("owner"),
        _buried.c.message_no.in_(bindparam("messages", expanding=True)),
    )
    .order_by(_buried.c.message_no, _buried.c.start)
)
_last = s.version.alias("last")
_DELETED_AT = (
    select(func.max(_last.c.tx_to))
    .where(_last.c.owner_id == _retired.c.owner_id, _last.c.memory_no == _retired.c.no)
    .scalar_subquery()
)
# Messages with buried words, found from the retired memories: those are few.
_BURIED_IN = (
    select(
        _retired.c.uid,
        _buried.c.start,
        _buried.c.end,
        s.message.c.role,
        s.message.c.content,
        s.episode.c.run_id,
        _DELETED_AT.label("deleted_at"),
    )
    .join_from(_retired, _buried, _IS_RETIRED)
    .join(
        s.message,
        and_(s.message.c.owner_id == _buried.c.owner_id, s.message.c.no == _buried.c.message_no),
    )
    .join(
        s.episode,
        and_(s.episode.c.owner_id == s.message.c.owner_id, s.episode.c.no == s.message.c.episode_no),
    )
    .where(
        _retired.c.owner_id == bindparam("owner"),
        _retired.c.live_key.is_(None),
        s.message.c.content.in_(bindparam("contents", expanding=True)),
    )
    .order_by(_retired.c.no, _buried.c.message_no, _buried.c.start)
)


def states_a_retired_memory() -> ColumnElement[bool]:
    """Whether words that support a memory also state another one, which is retired."""
    overlap = and_(
        _buried.c.owner_id == s.support.c.owner_id,
        _buried.c.message_no == s.support.c.message_no,
        _buried.c.memory_no != s.support.c.memory_no,
        _buried.c.start < s.support.c.end,
        _buried.c.end > s.support.c.start,
    )
    return exists().where(overlap, _IS_RETIRED).is_(True)


def buried_spans(
    tx: Connection, owner_id: int, message_nos: Sequence[int]
) -> dict[int, list[tuple[int, int]]]:
    """The buried words [start, end) of some messages of an owner, by message; those without any are left out."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for some in chunks(message_nos):
        for row in tx.execute(_SPANS, {"owner": owner_id, "messages": some}):
            found[row.message_no].append((row.start, row.end))
    return dict(found)


def all_buried_spans(tx: Connection, owner_id: int) -> dict[int, list[tuple[int, int]]]:
    """The same for all messages of an owner."""
    query = (
        select(_buried.c.message_no)
        .distinct()
        .join_from(_buried, _retired, _IS_RETIRED)
        .where(_buried.c.owner_id == owner_id)
    )
    return buried_spans(tx, owner_id, list(tx.execute(query).scalars()))


def masked(content: str, spans: Iterable[tuple[int, int]], by: str = " ") -> str:
    """The content with every character of the spans replaced: all others stay where they are."""
    for start, end in spans:
        content = content[:start] + by * (min(end, len(content)) - start) + content[end:]
    return content


def retell(tx: Connection, owner_id: int, memory_nos: Sequence[int]) -> None:
    """After memories were retired or restored: pack the terms of the messages that state them anew, without what
    is buried now, so that it lends nothing to what stands beside it."""
    told: dict[int, str] = {}
    for some in chunks(memory_nos):
        rows = tx.execute(_TOLD, {"owner": owner_id, "memories": some})
        told.update((row.no, row.content) for row in rows)
    _pack(tx, owner_id, told)


def retell_messages(tx: Connection, owner_id: int, message_nos: Sequence[int]) -> None:
    """The same for some messages, after what they state became another."""
    for some in chunks(message_nos):
        rows = tx.execute(_AMONG, {"owner": owner_id, "messages": some})
        _pack(tx, owner_id, {row.no: row.content for row in rows})


def _pack(tx: Connection, owner_id: int, told: Mapping[int, str]) -> None:
    """Pack the terms of messages anew, given their contents."""
    spans = buried_spans(tx, owner_id, sorted(told))
    packed = [
        {"owner": owner_id, "message": no, "terms": packed_terms(masked(content, spans.get(no, ())))}
        for no, content in told.items()
    ]
    if packed:
        tx.execute(PACK, packed)


def resent(
    tx: Connection, who: Owner, run_id: str, messages: Sequence[Message], told_at: Instant | None
) -> list[Buried]:
    """The buried words among messages that an application merely sends once more.

    That is: the same words under the same role, said before they were deleted (by the instant given with the
    message, or `told_at` for all of them), or sent again in the same run. Said anew, they are no tombstone.
    """
    owner_id = owner_number(tx, who)
    if owner_id is None:
        return []
    found: dict[tuple[int, int, int], Buried] = {}
    for some in chunks(sorted({message.content for message in messages})):
        for row in tx.execute(_BURIED_IN, {"owner": owner_id, "contents": some}):
            for number, message in enumerate(messages):
                said_at = told_at if message.said_at is None else message.said_at
                again = said_at is not None and said_at <= row.deleted_at
                again = again or (bool(run_id) and run_id == row.run_id)
                if again and (message.role, message.content) == (row.role, row.content):
                    span = Span(number, row.start, row.end)
                    found.setdefault((number, row.start, row.end), Buried(row.uid, span))
    return list(found.values())


def by_message(buried: Iterable[Buried]) -> Mapping[int, list[tuple[int, int]]]:
    """The spans of each message of a call, by its number."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for one in buried:
        found[one.span.message].append((one.span.start, one.span.end))
    return found
