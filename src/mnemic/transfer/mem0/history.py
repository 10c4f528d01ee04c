"""mem0's history.db: what happened to each memory, and in 2.x the last messages of each scope."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...checks import check_storable, check_text
from ...clock import Instant, parse_instant
from ...errors import ValidationError
from ...scope import clean_id
from .records import LeftMessage, LeftOut, PastEvent
from .sqlite import columns, reading

_HISTORY = {"memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at"}
_MESSAGES = {"id", "session_scope", "role", "content", "created_at"}
# Columns that early versions lack.
_LATER = ("is_deleted", "actor_id", "role", "name")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a history.db holds: the events of each memory in the order they were written, and messages.

    of_2: whether a mem0 of 2.x has had it open; one of 1.x makes no table for messages.
    """

    events: Mapping[str, tuple[PastEvent, ...]]
    of_2: bool
    messages: tuple[LeftMessage, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def read_history(path: Path, tz: tzinfo) -> Kept:
    """All of a history.db. Times without a zone are read in `tz`, unreadable ones are None.

    Raises `ValidationError` for a database without mem0's table.
    """
    with reading(path) as db:
        names = columns(db, "history")
        if not names >= _HISTORY:
            raise ValidationError(f"{path} has no table 'history' as mem0 writes it.")
        events: dict[str, list[PastEvent]] = defaultdict(list)
        for row in _rows(db, "SELECT * FROM history ORDER BY rowid"):
            events[str(row["memory_id"])].append(past_event(row, tz))
        of_2 = columns(db, "messages") >= _MESSAGES
        messages = _rows(db, "SELECT * FROM messages ORDER BY rowid") if of_2 else []
    found, left_out = _messages(messages, tz)
    return Kept({uid: tuple(each) for uid, each in events.items()}, of_2, tuple(found), tuple(left_out))


def _rows(db: Any, query: str) -> list[dict[str, Any]]:
    cursor = db.execute(query)
    names = [column[0] for column in cursor.description]
    return [{**dict.fromkeys(_LATER), **dict(zip(names, row, strict=True))} for row in cursor]


def past_event(row: Mapping[str, Any], tz: tzinfo) -> PastEvent:
    """A line of a history, as mem0 keeps it or as its `history()` returns it."""
    return PastEvent(
        event=str(row.get("event")).upper(),
        old_text=text_or_none(row.get("old_memory")),
        new_text=text_or_none(row.get("new_memory")),
        at=when(row.get("updated_at"), tz),
        created_at=when(row.get("created_at"), tz),
        actor_id=text_or_none(row.get("actor_id")),
        role=text_or_none(row.get("role")),
    )


def when(value: Any, tz: tzinfo) -> Instant | None:
    """The instant of a time as mem0 wrote it; None for none and for what is no time."""
    try:
        return None if value is None else parse_instant(value, tz, field="time")
    except ValidationError:
        return None


def text_or_none(value: Any) -> str | None:
    """A text that can be stored, else None."""
    try:
        return check_text(value, "text")
    except ValidationError:
        return None


def _messages(rows: list[dict[str, Any]], tz: tzinfo) -> tuple[list[LeftMessage], list[LeftOut]]:
    found, left_out = [], []
    for row in rows:
        try:
            found.append(_message(row, tz))
        except ValidationError as fault:
            left_out.append(LeftOut("message", fault.message, str(row["id"])))
    return found, left_out


def _message(row: Mapping[str, Any], tz: tzinfo) -> LeftMessage:
    ids = scope_ids(row["session_scope"])
    return LeftMessage(
        id=clean_id("id", row["id"]),
        role=check_text(row["role"], "role"),
        name=None if row["name"] is None else check_storable(str(row["name"]), "name"),
        content=check_text(row["content"], "content"),
        said_at=parse_instant(row["created_at"], tz, field="created_at"),
        user_id=ids.get("user_id"),
        agent_id=ids.get("agent_id"),
        run_id=ids.get("run_id"),
    )


def scope_ids(scope: Any) -> dict[str, str]:
    """The ids in mem0's session scope, `agent_id=..&run_id=..&user_id=..` with `%`, `&` and `=` escaped.

    Raises `ValidationError` where there is none or one cannot be an id.
    """
    pairs = [part.partition("=") for part in str(scope).split("&")]
    ids = {name: clean_id(name, unquote(value)) for name, _, value in pairs if value}
    if not ids.keys() & {"user_id", "agent_id", "run_id"}:
        raise ValidationError("It names no owner.")
    return ids
