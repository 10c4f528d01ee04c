"""Cases: what an add() is handed, and which facts a model should draw from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Literal

from mnemic.errors import ValidationError

from .fields import Fields, read_lines

Scope = Literal["user", "agent"]

# How a fact may meet a memory that is kept.
HOWS = ("changes", "corrects", "refines", "repeats", "ends")
ROLES = ("user", "assistant")
PERIOD = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@dataclass(frozen=True, slots=True)
class Said:
    """A message. timestamp: an ISO instant with its offset, None where the case gives none."""

    role: str
    content: str
    name: str | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that is kept already. since: the day from which it holds."""

    text: str
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Meets:
    """How a fact meets a memory, which is named by its number in the case, from 1 on."""

    memory: int
    how: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What one fact must satisfy. when: a day, month or year in ISO form."""

    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    about: str | None = None
    when: str | None = None
    meets: Meets | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What must come of a case. never: the file's `not`."""

    keep: tuple[Entry, ...] = ()
    ends: tuple[int, ...] = ()
    never: tuple[str, ...] = ()
    untouched: tuple[int, ...] = ()
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One case. context: earlier messages of the same conversation, from which alone nothing is kept."""

    id: str
    language: str
    topic: str
    messages: tuple[Said, ...]
    expect: Expected
    context: tuple[Said, ...] = ()
    memories: tuple[Known, ...] = ()
    scope: Scope = "user"

    @property
    def zone(self) -> tzinfo:
        """The zone in which the case's days are meant: that of its last message with an instant, else UTC."""
        told = [said.timestamp for said in (*self.context, *self.messages) if said.timestamp is not None]
        zone = datetime.fromisoformat(told[-1]).tzinfo if told else None
        return zone or UTC


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a JSON-lines file, in order.

    Raises `ValidationError` naming line and field for what is no case, for an id that occurs twice, and for a
    file without cases.
    """
    found: dict[str, Case] = {}
    for row in read_lines(path):
        case = _case(row)
        if case.id in found:
            raise row.wrong("id", f"{case.id!r} occurs twice")
        found[case.id] = case
    if not found:
        raise ValidationError(f"{str(path)!r} holds no cases.")
    return tuple(found.values())


def _case(row: Fields) -> Case:
    row.only(("id", "language", "topic", "messages", "expect", "context", "memories", "scope"))
    memories = tuple(_known(one) for one in row.inners("memories"))
    messages = tuple(_said(one) for one in row.inners("messages"))
    if not messages:
        raise row.wrong("messages", "must hold at least one message")
    agent = "scope" in row.values and row.one_of("scope", ("user", "agent")) == "agent"
    return Case(
        id=row.text("id"),
        language=row.text("language"),
        topic=row.text("topic"),
        messages=messages,
        expect=_expected(row.inner("expect"), len(memories)),
        context=tuple(_said(one) for one in row.inners("context")),
        memories=memories,
        scope="agent" if agent else "user",
    )


def _said(row: Fields) -> Said:
    row.only(("role", "content", "name", "timestamp"))
    timestamp = row.maybe_text("timestamp")
    if timestamp is not None and not _is_instant(timestamp):
        raise row.wrong("timestamp", f"must be an ISO time with its offset, not {timestamp!r}")
    return Said(row.one_of("role", ROLES), row.text("content"), row.maybe_text("name"), timestamp)


def _is_instant(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _known(row: Fields) -> Known:
    row.only(("text", "since"))
    return Known(row.text("text"), _period(row, "since"))


def _expected(row: Fields, memories: int) -> Expected:
    row.only(("keep", "ends", "not", "untouched", "at_most"))
    if "keep" not in row.values:
        raise row.wrong("keep", "is missing; an empty list says that nothing may be kept")
    return Expected(
        keep=tuple(_entry(one, memories) for one in row.inners("keep")),
        ends=row.numbers("ends", 1, memories),
        never=row.texts("not"),
        untouched=row.numbers("untouched", 1, memories),
        at_most=row.number("at_most", 0) if "at_most" in row.values else None,
    )


def _entry(row: Fields, memories: int) -> Entry:
    row.only(("any", "all", "about", "when", "meets"))
    if not row.values:
        raise row.wrong("any", "is missing, and so is all else: any fact would do")
    return Entry(
        any_of=row.texts("any"),
        all_of=row.texts("all"),
        about=row.maybe_text("about"),
        when=_period(row, "when"),
        meets=_meets(row.inner("meets"), memories) if "meets" in row.values else None,
    )


def _meets(row: Fields, memories: int) -> Meets:
    row.only(("memory", "how"))
    return Meets(row.number("memory", 1, memories), row.one_of("how", HOWS))


def _period(row: Fields, name: str) -> str | None:
    """A year, month or day that there is."""
    text = row.maybe_text(name)
    if text is None:
        return None
    try:
        if not PERIOD.fullmatch(text):
            raise ValueError(text)
        datetime.fromisoformat(f"{text}-01-01"[:10])
    except ValueError as fault:
        raise row.wrong(name, f"must be a year, month or day such as 2024-05, not {text!r}") from fault
    return text
