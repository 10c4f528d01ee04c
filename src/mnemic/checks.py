"""Bad input is refused here, before anything is embedded or written; errors name field, value, remedy."""

from __future__ import annotations

import json
import math
import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from .errors import ValidationError

# Longer texts are documents: split them before they become memories.
MAX_TEXT_CHARS = 4_000_000
MAX_METADATA_CHARS = 1_000_000
MAX_CATEGORIES = 100
MAX_INTEGER_BITS = 1024
MAX_KEY_CHARS = 200
NO_LIMIT = 2**62
PAGE = 20

# What UTF-8 or PostgreSQL cannot hold: lone surrogates and U+0000.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def shown(value: Any) -> str:
    """A short form of a value for an error message."""
    try:
        text = repr(value)
    except ValueError:  # an integer of too many digits
        text = f"a value of type {type(value).__name__} too long to show"
    return text if len(text) <= 80 else f"{text[:77]}..."


def masked_url(url: str) -> str:
    """An address for messages and logs: without user, password and query, any of which may be a secret."""
    return re.sub(r"(?s)\?.*", "?***", re.sub(r"(?s)//.*@", "//***@", url))


def _wrong(field: str, wanted: str, value: Any) -> ValidationError:
    return ValidationError(
        f"{field} must be {wanted}, not {type(value).__name__} {shown(value)}.", details={"field": field}
    )


def check_storable(text: str, field: str) -> str:
    """The text, if the store can hold all its characters."""
    found = UNSTORABLE.search(text)
    if found:
        raise ValidationError(
            f"{field} holds U+{ord(found.group()):04X} at position {found.start()}, which cannot be stored.",
            details={"field": field},
            suggestion="Remove NUL characters and lone surrogates first.",
        )
    return text


def check_text(value: Any, field: str) -> str:
    """A text with something in it, storable and not longer than `MAX_TEXT_CHARS` characters, unchanged."""
    if not isinstance(value, str):
        raise _wrong(field, "a string", value)
    if not any(map(_is_visible, value)):
        raise ValidationError(f"{field} cannot be empty or whitespace-only.", details={"field": field})
    if len(value) > MAX_TEXT_CHARS:
        raise ValidationError(
            f"{field} has {len(value):,} characters; at most {MAX_TEXT_CHARS:,} are accepted.",
            details={"field": field},
            suggestion="Split it into several messages.",
        )
    return check_storable(value, field)


def _is_visible(char: str) -> bool:
    return not char.isspace() and unicodedata.category(char) not in ("Cf", "Cc")


def check_one_text(text: Any, data: Any) -> str | None:
    """The text of an update: `text`, or mem0 1.x's name for it, `data`; None for neither."""
    given_as = {"text": text, "data": data}
    found = {check_text(value, name) for name, value in given_as.items() if value is not None}
    if len(found) > 1:
        raise ValidationError("text and data mean the same, and they differ; give one of them.")
    return found.pop() if found else None


def check_memory_id(value: Any) -> str:
    """The id of a memory, trimmed."""
    return check_text(value, "memory_id").strip()


def check_key(value: Any) -> str | None:
    """An idempotency key of at most 200 characters; None for none."""
    if value is None:
        return None
    key = check_text(value, "idempotency_key")
    if len(key) > MAX_KEY_CHARS:
        raise ValidationError(f"idempotency_key has {len(key)} characters; at most {MAX_KEY_CHARS} do.")
    return key


def check_choice(value: Any, field: str, among: Sequence[str]) -> str | None:
    """One of some words; None for none."""
    if value is None or value in among:
        return None if value is None else str(value)
    raise ValidationError(
        f"{field} must be one of {', '.join(among)}, not {shown(value)}.", details={"field": field}
    )


def check_version(value: Any) -> int | None:
    """The number of a version, from 1 on; None for none."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValidationError(f"expected_version must be a whole number from 1 on, not {shown(value)}.")
    return value


def check_query(value: Any) -> str:
    """A search query, with mem0's wording for what is wrong with it."""
    if not isinstance(value, str):
        raise ValidationError("Invalid query: must be a non-empty string.")
    if not any(map(_is_visible, value)):
        raise ValidationError("Invalid query: cannot be empty or whitespace-only.")
    return check_storable(value, "query")


def check_count(value: Any, field: str) -> int:
    """A whole number from 0 on, with mem0's wording otherwise; beyond what a store can hold it is no limit."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"{field} must be a valid integer, not {shown(value)}.")
    if value < 0:
        raise ValidationError(f"Invalid {field}: {value}. Must be a non-negative integer.")
    return min(value, NO_LIMIT)


def check_page(top_k: Any, limit: Any) -> int:
    """The page size of a call: top_k, or mem0 1.x's limit; 20 if neither is given."""
    if top_k is not None and limit is not None and top_k != limit:
        raise ValidationError(f"top_k ({top_k}) and limit ({limit}) mean the same; give one of them.")
    if top_k is not None:
        return check_count(top_k, "top_k")
    return PAGE if limit is None else check_count(limit, "limit")


def check_threshold(value: Any) -> float | None:
    """A score from 0 to 1, or None for no threshold, with mem0's wording otherwise."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationError(f"threshold must be a valid number, not {shown(value)}.")
    if not 0 <= value <= 1:
        raise ValidationError(f"Invalid threshold: {value}. Must be between 0 and 1 (inclusive).")
    return float(value)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number that a float can hold: neither True nor infinite, nor an integer beyond."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_flag(value: Any, field: str) -> bool:
    """True or False and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise ValidationError(f"{field} must be True or False, not {shown(value)}.")
    return value


def check_metadata(value: Any, field: str = "metadata") -> dict[str, Any] | None:
    """The user's own namespace: a dict with string keys and JSON values, any keys, returned as given."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wrong(field, "a dict", value)
    found: dict[str, Any] = check_json(value, field)
    size = len(canonical_json(found) or "")
    if size > MAX_METADATA_CHARS:
        raise ValidationError(f"{field} has {size:,} characters as JSON; at most {MAX_METADATA_CHARS:,} do.")
    return found


def check_json(value: Any, field: str) -> Any:
    """The same value in dicts and lists, if JSON and the store can hold it."""
    try:
        return _plain(value, field)
    except RecursionError as fault:
        raise ValidationError(f"{field} is nested too deeply or contains itself.") from fault


def check_categories(value: Any, field: str = "categories") -> list[str] | None:
    """A list of category names, without repeats."""
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) > MAX_CATEGORIES:
        raise _wrong(field, f"a list of at most {MAX_CATEGORIES} names", value)
    return list(dict.fromkeys(check_text(name, f"{field}[{i}]") for i, name in enumerate(value)))


def canonical_json(value: Mapping[str, Any] | Sequence[Any] | None) -> str | None:
    """Compact JSON that keeps key order and all characters; None for nothing."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else None


def _plain(value: Any, path: str) -> Any:
    """The same value in dicts and lists, if JSON can hold it."""
    if isinstance(value, str):
        return check_storable(value, path)
    if isinstance(value, Mapping):
        return {key: _plain(inner, f"{path}.{key}") for key, inner in _keyed(value, path)}
    if isinstance(value, list | tuple):
        return [_plain(inner, f"{path}[{i}]") for i, inner in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValidationError(f"{path} is {value}, which JSON cannot hold.")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        raise ValidationError(f"{path} is an integer of more than {MAX_INTEGER_BITS} bits.")
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ValidationError(
        f"{path} is a {type(value).__name__}, which JSON cannot hold.",
        suggestion="Use strings, numbers, booleans, None, lists and dicts.",
    )


def _keyed(value: Mapping[Any, Any], path: str) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if not isinstance(key, str):
            raise ValidationError(f"{path} has the key {shown(key)}; keys must be strings.")
        yield check_storable(key, f"a key of {path}"), inner
