"""One mem0 memory, as a payload of its vector store or an item of its platform, in mnemic's terms.

In a payload the user's metadata lies flat beside mem0's own keys, and 2.x has more of these than 1.x: what is a
key of mem0's in one is a key of the user's in the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ...checks import canonical_json, check_categories, check_metadata, check_text
from ...clock import Instant, day_of, parse_day, parse_instant
from ...errors import ValidationError
from ...records import Kind
from ...scope import ID_FIELDS, clean_id
from .history import past_event, when
from .records import LeftMemory, PastEvent, Remark

IDS_OF_1 = ("user_id", "agent_id", "run_id")
_OWN_OF_1 = {"data", "hash", "created_at", "updated_at", "actor_id", "role", *IDS_OF_1}
_OWN_OF_2 = {*_OWN_OF_1, "text_lemmatized", "attributed_to", "expiration_date"}
# What the platform says of an item beside what is kept; `score` comes with what was searched for.
_PLATFORM_ONLY = {
    "hash", "input", "owner", "organization", "immutable", "structured_attributes", "type", "internal_metadata",
    "score", "score_details", "lastAccessedAt", "last_accessed_at", "deleted_at", "project_id", "org_id",
}  # fmt: skip
_PLATFORM_KEPT = {
    "id", "memory", "metadata", "categories", "created_at", "updated_at", "actor_id", "role", "attributed_to",
    "expiration_date", "history", *ID_FIELDS,
}  # fmt: skip
_PROCEDURE = "procedural_memory"


def is_entity(payload: Mapping[str, Any]) -> bool:
    """Whether a payload is a row of the index of names that 2.x keeps beside the memories."""
    return "entity_type" in payload and "linked_memory_ids" in payload and "hash" not in payload


def is_memory(payload: Mapping[str, Any]) -> bool:
    """Whether a payload is a memory, and not a row of mem0's telemetry."""
    return isinstance(payload.get("data"), str) and not is_entity(payload)


def from_payload(
    uid: str, payload: Mapping[str, Any], events: tuple[PastEvent, ...], tz: tzinfo, *, maybe_of_2: bool
) -> tuple[LeftMemory, list[Remark]]:
    """The memory in a payload, with its history. Raises `ValidationError` where it cannot be kept.

    maybe_of_2: whether a mem0 of 2.x may have written it. One that did has left its `text_lemmatized`.
    """
    own = _OWN_OF_2 if maybe_of_2 and "text_lemmatized" in payload else _OWN_OF_1
    metadata = {key: value for key, value in payload.items() if key not in own}
    fields = {key: value for key, value in payload.items() if key in own}
    return _memory(uid, {**fields, "memory": payload["data"]}, metadata, events, tz, ids=IDS_OF_1)


def from_item(item: Mapping[str, Any], tz: tzinfo) -> tuple[LeftMemory, list[Remark]]:
    """The memory in an item of a platform's export, with the history that may have been put into it.

    An item without an id is given one that depends on its owner and text, so that it is the same next time.
    Raises `ValidationError` where it cannot be kept.
    """
    metadata = item.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise ValidationError(f"metadata is a {type(metadata).__name__}, not an object.")
    uid = item.get("id")
    if uid is None:
        whose = [str(item.get(name)) for name in ID_FIELDS]
        uid = str(uuid5(NAMESPACE_URL, f"mem0:{canonical_json([*whose, str(item.get('memory'))])}"))
    history = item.get("history") or []
    if not isinstance(history, list) or not all(isinstance(row, Mapping) for row in history):
        raise ValidationError("history must be a list of what history() returned.")
    events = tuple(past_event(row, tz) for row in history)
    found, remarks = _memory(str(uid), item, metadata, events, tz, ids=ID_FIELDS)
    unknown = sorted(str(key) for key in item.keys() - _PLATFORM_KEPT - _PLATFORM_ONLY)
    if unknown:
        remarks.append(Remark(found.id, f"not kept, being unknown: {', '.join(unknown)}"))
    return found, remarks


def _memory(
    uid: str,
    fields: Mapping[str, Any],
    metadata: Mapping[str, Any],
    events: tuple[PastEvent, ...],
    tz: tzinfo,
    *,
    ids: Sequence[str],
) -> tuple[LeftMemory, list[Remark]]:
    remarks: list[Remark] = []
    kept, lost = _without_nan(metadata)
    if lost:
        remarks.append(Remark(uid, "metadata: NaN and infinity are kept as null"))
    created_at, updated_at = _times(uid, fields, events, tz, remarks)
    expires_on = _expires_on(uid, fields.get("expiration_date"), tz, remarks)
    role, attributed_to = _word(fields, "role"), _word(fields, "attributed_to")
    given = {name: clean_id(name, fields[name]) for name in ids if fields.get(name) not in (None, "")}
    memory = LeftMemory(
        id=clean_id("id", uid),
        text=check_text(fields.get("memory"), "memory"),
        kind=_kind(metadata, role),
        created_at=created_at,
        updated_at=updated_at,
        metadata=check_metadata(kept) or None,
        categories=tuple(check_categories(fields.get("categories") or []) or ()) or None,
        actor_id=_word(fields, "actor_id"),
        role=role,
        attributed_to=attributed_to,
        expires_on=expires_on,
        history=events,
        user_id=given.get("user_id"),
        agent_id=given.get("agent_id"),
        app_id=given.get("app_id"),
        run_id=given.get("run_id"),
    )
    return memory, remarks


def _kind(metadata: Mapping[str, Any], role: str | None) -> Kind:
    """mem0 notes a role only with what it keeps word for word."""
    if metadata.get("memory_type") == _PROCEDURE:
        return Kind.PROCEDURE
    return Kind.FACT if role is None else Kind.MESSAGE


def _word(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return None if value in (None, "") else check_text(value if isinstance(value, str) else str(value), name)


def _times(
    uid: str, fields: Mapping[str, Any], events: Sequence[PastEvent], tz: tzinfo, remarks: list[Remark]
) -> tuple[Instant, Instant]:
    """When it was made and last changed; from the history where the memory itself does not tell."""
    made, changed = when(fields.get("created_at"), tz), when(fields.get("updated_at"), tz)
    known = list(_known_times(events))
    if made is None:
        if not known and changed is None:
            raise ValidationError(
                f"created_at is {fields.get('created_at')!r}, and nothing else tells its time."
            )
        made = min(known) if known else changed
        remarks.append(Remark(uid, f"created_at is {fields.get('created_at')!r}; taken from its history"))
    assert made is not None
    return made, max(made, changed if changed is not None else made)


def _known_times(events: Sequence[PastEvent]) -> Iterator[Instant]:
    for event in events:
        yield from (at for at in (event.created_at, event.at) if at is not None)


def _expires_on(uid: str, value: Any, tz: tzinfo, remarks: list[Remark]) -> str | None:
    if value in (None, ""):
        return None
    try:
        if isinstance(value, str) and len(value) > len("2026-01-31"):
            return day_of(parse_instant(value, tz, field="expiration_date"), tz).isoformat()
        return parse_day(value, tz, field="expiration_date").isoformat()
    except ValidationError:
        # mem0 itself takes such a memory for one that does not expire.
        remarks.append(Remark(uid, f"expiration_date {value!r} is no date; it does not expire"))
        return None


def _without_nan(value: Any) -> tuple[Any, bool]:
    """The value with NaN and infinities as None, and whether there were any: JSON cannot hold them."""
    if isinstance(value, float) and not math.isfinite(value):
        return None, True
    if isinstance(value, Mapping):
        pairs = {key: _without_nan(inner) for key, inner in value.items()}
        return {key: kept for key, (kept, _) in pairs.items()}, any(lost for _, lost in pairs.values())
    if isinstance(value, list):
        items = [_without_nan(inner) for inner in value]
        return [kept for kept, _ in items], any(lost for _, lost in items)
    return value, False
