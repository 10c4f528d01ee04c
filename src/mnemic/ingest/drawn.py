"""What a model drew from messages, as read from its reply: typed, and not yet believed. Pure.

A reply is data: whatever has the wrong type is left out rather than guessed at, and numbers and labels mean nothing
until `verify` has looked them up among those that were offered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..records import How
from .reply import UnreadableError, items_of

_DIGITS = re.compile(r"\d{1,9}")
# How a model may say that a fact meets a memory.
_HOWS = {how.value: how for how in How if how not in (How.CONTRADICTS, How.KEEPS)}
_MOST = 100

DATE = {"type": ["string", "null"]}
MEETS: Mapping[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"memory": {"type": "string"}, "how": {"type": "string", "enum": list(_HOWS)}},
        "required": ["memory", "how"],
        "additionalProperties": False,
    },
}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


_STRING = {"type": "string"}
FACTS = _object(
    facts=_list(
        text=_STRING,
        source={"type": "array", "items": {"type": "integer"}},
        about=_STRING,
        category=DATE,
        on=DATE,
        since=DATE,
        until=DATE,
        entities=_list(name=_STRING, type=_STRING),
        relations=_list(subject=_STRING, relation=_STRING, object=_STRING),
        meets=MEETS,
    )
)
DECISIONS = _object(decisions=_list(fact={"type": "integer"}, meets=MEETS))
EVENTS = ("ADD", "UPDATE", "DELETE", "NONE")
MEMORY = _object(
    memory=_list(id=_STRING, text=_STRING, event={"type": "string", "enum": list(EVENTS)}, old_memory=DATE)
)


@dataclass(frozen=True, slots=True)
class Named:
    """An entity as a fact names it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Related:
    """A relation that a fact states."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Met:
    """How a fact is said to meet the memory with a label."""

    label: str
    how: How


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fact as a model gave it. `sources` is None where it named none."""

    text: str
    sources: tuple[int, ...] | None = None
    about: str = "user"
    category: str | None = None
    on: str | None = None
    since: str | None = None
    until: str | None = None
    entities: tuple[Named, ...] = ()
    relations: tuple[Related, ...] = ()
    meets: tuple[Met, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """One entry of the classic editor's reply: what becomes of the memory with a label."""

    label: str
    text: str
    event: str


def read_facts(value: Any) -> tuple[Drawn, ...]:
    """The facts of a reply to `extract`. Raises `UnreadableError` where it is no list of facts."""
    return tuple(_drawn(item) for item in items_of(value, "facts"))


def read_decisions(value: Any) -> dict[int, tuple[Met, ...]]:
    """How each fact, by its number, meets memories, from a reply to `decide`."""
    found = value.get("decisions") if isinstance(value, Mapping) else value
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise UnreadableError('The reply is not an object with a list "decisions".')
    decided: dict[int, tuple[Met, ...]] = {}
    for one in found:
        for number in _numbers(one.get("fact")) or ():
            decided.setdefault(number, _meets(one.get("meets")))
    return decided


def read_edits(value: Any) -> tuple[Edit, ...]:
    """The entries of a reply to `reconcile`, in mem0's form."""
    edits = []
    for number, item in enumerate(items_of(value, "memory"), 1):
        event = str(item.get("event", "")).strip().upper()
        if event not in EVENTS:
            raise UnreadableError(f'Item {number} of "memory" has no "event" of {", ".join(EVENTS)}.')
        edits.append(Edit(_label(item.get("id")), item["text"].strip(), event))
    return tuple(edits)


def _drawn(item: Mapping[str, Any]) -> Drawn:
    return Drawn(
        text=item["text"].strip(),
        sources=_numbers(item.get("source", item.get("sources"))),
        about=_text(item.get("about")) or "user",
        category=_text(item.get("category")),
        on=_text(item.get("on")),
        since=_text(item.get("since")),
        until=_text(item.get("until")),
        entities=tuple(
            Named(name, _text(one.get("type")) or "")
            for one in _mappings(item.get("entities"))
            if (name := _text(one.get("name")))
        ),
        relations=tuple(
            Related(subject, relation, target)
            for one in _mappings(item.get("relations"))
            if (subject := _text(one.get("subject")))
            and (relation := _text(one.get("relation")))
            and (target := _text(one.get("object")))
        ),
        meets=_meets(item.get("meets")),
    )


def _numbers(value: Any) -> tuple[int, ...] | None:
    """Message numbers: an integer, digits in a text ("[2]"), or a list of such; None for none."""
    found: dict[int, None] = {}
    for one in (value if isinstance(value, list) else [value])[:_MOST]:
        if isinstance(one, int) and not isinstance(one, bool):
            found[one] = None
        elif isinstance(one, str):
            found.update((int(digits), None) for digits in _DIGITS.findall(one))
    return tuple(found) or None


def _meets(value: Any) -> tuple[Met, ...]:
    """Meetings: a list of `{"memory", "how"}`, or `{label: how}`. What is no known way to meet is left out."""
    if isinstance(value, Mapping) and "memory" not in value:
        value = [{"memory": label, "how": how} for label, how in value.items()]
    found = []
    for one in _mappings(value):
        how = _HOWS.get(str(one.get("how", "")).strip().casefold())
        label = _label(one.get("memory"))
        if how is not None and label:
            found.append(Met(label, how))
    return tuple(dict.fromkeys(found))


def _label(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip().strip("[]()").casefold()[:40]


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    listed = value if isinstance(value, list) else [value]
    return [one for one in listed[:_MOST] if isinstance(one, Mapping)]


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    text = value.strip()
    return None if not text or text.casefold() in ("null", "none", "n/a", "unknown") else text[:500]
