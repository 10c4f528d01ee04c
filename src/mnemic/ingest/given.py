"""Proposals without any model: messages word for word (`infer=False`) and facts the caller states himself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any

from ..checks import canonical_json, check_categories, check_memory_id, check_metadata, check_text, shown
from ..clock import (
    LAST_INSTANT,
    Instant,
    day_of,
    iso,
    parse_day,
    parse_duration,
    parse_instant,
    parse_when,
    zone_at,
)
from ..errors import ValidationError, nearest
from ..records import Content, How, Kind, Meeting, Proposal, Provenance, Span, Validity
from .messages import Heard

FACT_KEYS = (
    "text",
    "valid_from",
    "valid_to",
    "event_date",
    "metadata",
    "categories",
    "expiration_date",
    "ttl",
    "source",
    "attributed_to",
    "supersedes",
    "corrects",
)

# From the last days that a calendar has on, a date means no end.
FOREVER = date(9999, 12, 30)


@dataclass(frozen=True, slots=True)
class Common:
    """What one add() says of all its memories: metadata, expiry, the instant of the talk, the user's zone.

    offset: minutes east of UTC in which the instant of the talk was told, if it was.
    """

    metadata: Mapping[str, Any] | None
    expires: tuple[str | None, Instant | None]
    timestamp: Instant | None
    tz: tzinfo
    offset: int | None = None

    @property
    def zone(self) -> tzinfo:
        """The zone in which the talk took place."""
        return zone_at(self.offset, self.tz)


def expiry(value: Any, tz: tzinfo, field: str = "expiration_date") -> tuple[str | None, Instant | None]:
    """The last day a memory is kept, as written, and the instant after it in the user's zone."""
    if value is None:
        return None, None
    day = parse_day(value, tz, field=field)
    if day >= FOREVER:
        return day.isoformat(), None
    return day.isoformat(), parse_when(day, tz, field=field).end


def kept_until(
    expiration_date: Any, ttl: Any, stored_at: Instant, tz: tzinfo, of: str = ""
) -> tuple[str | None, Instant | None]:
    """How long a memory is kept: through a day, or for a time from when it is stored; and that day in the user's zone.

    of: what the two belong to, for errors. Raises `ValidationError` where both are given.
    """
    if ttl is None:
        return expiry(expiration_date, tz, f"{of}expiration_date")
    if expiration_date is not None:
        raise ValidationError(
            f"Give {of}ttl or {of}expiration_date, not both: each says how long it is kept.",
            details={"field": f"{of}ttl"},
        )
    at = stored_at + parse_duration(ttl, field=f"{of}ttl")
    if at > LAST_INSTANT:
        raise ValidationError(
            f"{of}ttl ends after the year 9999; leave it out for what is kept for good.",
            details={"field": f"{of}ttl"},
        )
    return day_of(at, tz).isoformat(), at


def read_timestamp(value: Any, tz: tzinfo, field: str = "timestamp") -> Instant:
    """The instant of a talk: a time, or the first instant of a day, month or year."""
    return parse_instant(value, tz, field=field)


def verbatim(heard: Heard, common: Common) -> list[Proposal]:
    """One proposal per message, its text word for word.

    The same words said on two days, where the days are known, stay two memories.
    """
    return [
        Proposal(
            kind=Kind.MESSAGE,
            content=Content(
                text=message.content,
                metadata=canonical_json(common.metadata),
                event_date=_day_said(message.said_at, common),
                expires_on=common.expires[0],
                expires_at=common.expires[1],
            ),
            provenance=Provenance(role=message.role, actor_id=message.name),
            spans=(Span(i, 0, len(message.content)),),
            position=i,
            said_at=message.said_at,
        )
        for i, message in enumerate(heard.messages)
    ]


def _day_said(said_at: Instant | None, common: Common) -> str:
    told = common.timestamp if said_at is None else said_at
    return "" if told is None else day_of(told, common.tz).isoformat()


def given_facts(facts: Any, heard: Heard, common: Common, stored_at: Instant) -> list[Proposal]:
    """The proposals of `facts=[...]`: strings, or dicts with `FACT_KEYS`.

    `source` is the number, or numbers, of the messages of this call that state the fact. A `ttl` counts from
    `stored_at` on. Raises `ValidationError` naming the fact's number and field.
    """
    if isinstance(facts, str | Mapping) or not isinstance(facts, Sequence):
        raise ValidationError(f"facts must be a list of dicts or strings, not {shown(facts)}.")
    if not facts:
        raise ValidationError("facts is empty: there is nothing to add.")
    return [_fact(fact, i, heard, common, stored_at) for i, fact in enumerate(facts)]


def _fact(fact: Any, number: int, heard: Heard, common: Common, stored_at: Instant) -> Proposal:
    field = f"facts[{number}]"
    if isinstance(fact, str):
        fact = {"text": fact}
    if not isinstance(fact, Mapping):
        raise ValidationError(f"{field} must be a dict or a string, not {type(fact).__name__}.")
    for key in fact:
        if key not in FACT_KEYS:
            raise ValidationError(
                f"{field} has the unknown key {shown(key)}{nearest(str(key), FACT_KEYS)};"
                f" known are {', '.join(FACT_KEYS)}."
            )
    own = check_metadata(fact.get("metadata"), f"{field}.metadata")
    day = fact.get("event_date")
    last_day, ttl = fact.get("expiration_date"), fact.get("ttl")
    expires = common.expires
    if last_day is not None or ttl is not None:
        expires = kept_until(last_day, ttl, stored_at, common.tz, f"{field}.")
    spans = _spans(fact.get("source"), heard, field)
    attributed = fact.get("attributed_to")
    first = heard.messages[spans[0].message] if spans else None
    return Proposal(
        kind=Kind.FACT,
        content=Content(
            text=check_text(fact.get("text"), f"{field}.text"),
            metadata=canonical_json({**(common.metadata or {}), **(own or {})}),
            categories=canonical_json(check_categories(fact.get("categories"), f"{field}.categories")),
            event_date=""
            if day is None
            else parse_day(day, common.tz, field=f"{field}.event_date").isoformat(),
            validity=read_validity(fact.get("valid_from"), fact.get("valid_to"), common.tz, field),
            expires_on=expires[0],
            expires_at=expires[1],
        ),
        provenance=Provenance(
            role=first.role if first else None,
            actor_id=first.name if first else None,
            attributed_to=None if attributed is None else check_text(attributed, f"{field}.attributed_to"),
            extractor="given",
        ),
        spans=spans,
        position=spans[0].message if spans else number,
        said_at=first.said_at if first else None,
        meets=_meets(fact, field) or None,
    )


def _meets(fact: Mapping[str, Any], field: str) -> tuple[Meeting, ...]:
    """The memories that a fact takes the place of, and those that it puts right."""
    found: list[Meeting] = []
    for key, how in (("supersedes", How.CHANGES), ("corrects", How.CORRECTS)):
        ids = fact.get(key)
        named = [ids] if isinstance(ids, str) else [] if ids is None else ids
        if not isinstance(named, list | tuple):
            raise ValidationError(f"{field}.{key} must be a memory id or a list of them, not {shown(ids)}.")
        for uid in map(check_memory_id, named):
            if any(one.uid == uid for one in found):
                raise ValidationError(f"{field} names memory {uid} twice in supersedes and corrects.")
            found.append(Meeting(how, uid, None))
    return tuple(found)


def read_validity(valid_from: Any, valid_to: Any, tz: tzinfo, field: str) -> Validity:
    """When something holds. Partial dates are ranges: from their first instant, to the end of their last."""
    start = None if valid_from is None else parse_when(valid_from, tz, field=f"{field}.valid_from")
    end = None if valid_to is None else parse_when(valid_to, tz, field=f"{field}.valid_to")
    until = None if end is None else end.over
    if start is not None and until is not None and until <= start.start:
        raise ValidationError(
            f"{field}.valid_to ({iso(until)}) is not after valid_from ({iso(start.start)})."
        )
    return Validity(
        start=None if start is None else start.start,
        start_precision=None if start is None else start.precision,
        end=until,
        end_precision=None if end is None else end.precision,
    )


def _spans(source: Any, heard: Heard, field: str) -> tuple[Span, ...]:
    if source is None:
        return ()
    numbers = [source] if isinstance(source, int) else source
    if not isinstance(numbers, list | tuple):
        raise ValidationError(
            f"{field}.source must be a message number or a list of them, not {shown(source)}."
        )
    found = [_span(number, heard, field) for number in numbers]
    return tuple(dict.fromkeys(found))


def _span(number: Any, heard: Heard, field: str) -> Span:
    if type(number) is not int or number not in heard.numbers:
        raise ValidationError(
            f"{field}.source names message {shown(number)}; this call has {shown(list(heard.numbers))}."
        )
    at = heard.numbers.index(number)
    return Span(at, 0, len(heard.messages[at].content))
