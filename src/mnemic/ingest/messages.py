"""Reading the `messages` argument: what mem0 and OpenAI clients send, checked and normalised."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from ..checks import check_storable, check_text, shown
from ..clock import offset_of, parse_instant
from ..errors import ValidationError
from ..records import Message, Rejected
from .image_parts import image_part

# Keys whose presence explains a message without text.
CALL_KEYS = ("tool_calls", "function_call")


@dataclass(frozen=True, slots=True)
class Heard:
    """The messages to keep, with their numbers in the call, and those left out with the reason."""

    messages: tuple[Message, ...]
    numbers: tuple[int, ...]
    rejected: tuple[Rejected, ...]


NOTHING = Heard((), (), ())


def read_messages(given: Any, tz: tzinfo, images: bool = False) -> Heard:
    """Normalise a string, a message or a list of messages.

    System messages are instructions rather than talk, so they are left out, as are tool calls and images
    without any text; each is listed as rejected, and so is an image beside a text. images: whether those will be
    described; a message of images alone is kept then, with an empty content. Raises `ValidationError` for
    anything that is no message, naming its number and field.
    """
    kept: list[tuple[int, Message]] = []
    rejected: list[Rejected] = []
    for number, one in enumerate(_as_list(given)):
        message = _read(one, number, tz, images)
        if isinstance(message, Rejected):
            rejected.append(message)
        else:
            kept.append((number, message))
            if not images and message.parts is not None and any(map(image_part, json.loads(message.parts))):
                rejected.append(Rejected("", (number,), "image_not_described"))
    return Heard(tuple(m for _, m in kept), tuple(n for n, _ in kept), tuple(rejected))


def _as_list(given: Any) -> Sequence[Any]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if isinstance(given, Mapping):
        return [given]
    if isinstance(given, Sequence) and not isinstance(given, bytes | bytearray):
        if not given:
            raise ValidationError("messages is empty: there is nothing to add.")
        return given
    raise ValidationError(
        f"messages must be str, dict, or list[dict], not {type(given).__name__}.",
        details={"provided_type": type(given).__name__, "valid_types": ["str", "dict", "list[dict]"]},
    )


def _read(one: Any, number: int, tz: tzinfo, images: bool) -> Message | Rejected:
    field = f"messages[{number}]"
    if not isinstance(one, Mapping):
        raise ValidationError(
            f"messages must be str, dict, or list[dict]; {field} is {type(one).__name__}.",
            details={"provided_type": type(one).__name__, "valid_types": ["str", "dict", "list[dict]"]},
        )
    role = one.get("role")
    if not isinstance(role, str) or not role.strip():
        raise ValidationError(f"{field}.role must be a string such as 'user', not {shown(role)}.")
    check_storable(role, f"{field}.role")
    if "content" not in one and not any(key in one for key in CALL_KEYS):
        raise ValidationError(f"{field} has no 'content'; its keys are {shown(sorted(map(str, one)))}.")
    text, parts = _content(one.get("content"), f"{field}.content")
    if role == "system":
        return Rejected(text, (number,), "system_message")
    to_see = images and parts is not None and any(map(image_part, _listed(one["content"])))
    if not text.strip() and not to_see:
        if parts is not None:
            return Rejected("", (number,), "image_without_text")
        if any(one.get(key) for key in CALL_KEYS):
            return Rejected("", (number,), "tool_call_without_text")
    said = one.get("timestamp")
    return Message(
        role=role,
        content=text if to_see and not text.strip() else check_text(text, f"{field}.content"),
        name=None if one.get("name") is None else check_text(one["name"], f"{field}.name"),
        parts=parts,
        said_at=None if said is None else parse_instant(said, tz, field=f"{field}.timestamp"),
        offset=offset_of(said),
    )


def _content(content: Any, field: str) -> tuple[str, str | None]:
    """The text of a content and, when it came in parts, the JSON of all parts."""
    if content is None:
        return "", None
    if isinstance(content, str):
        return content, None
    parts = _listed(content)
    if not isinstance(parts, list | tuple) or not all(isinstance(part, Mapping | str) for part in parts):
        raise ValidationError(f"{field} must be a string or a list of parts, not {shown(content)}.")
    texts = [part if isinstance(part, str) else part.get("text") for part in parts]
    try:
        as_json = json.dumps(parts, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as fault:
        raise ValidationError(f"{field} has parts that JSON cannot hold: {fault}") from fault
    return " ".join(text for text in texts if isinstance(text, str)), check_storable(as_json, field)


def _listed(content: Any) -> Any:
    """The parts of a content; a single part may come alone."""
    return [content] if isinstance(content, Mapping) else content
