"""The hosted platform's memories as JSON: a list of items, or an object with the list inside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ValidationError

# get_all() and search() of v1.1 and later, the dashboard's export, and a structured export's own envelope.
_LISTS = ("results", "memories", "data", "items")
_EXPECTED = 'a list of memories, {"results": [...]} or {"memories": [...]}'


def read_items(path: Path) -> list[Mapping[str, Any]]:
    """The items of an export, pages joined.

    Raises `ValidationError` for a file that is not JSON or has no list of memories in it.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as fault:
        raise ValidationError(f"{path} is not JSON: {fault}.", suggestion=f"Expected {_EXPECTED}.") from fault
    items = list(_items(found))
    if items and not any("memory" in item for item in items):
        raise ValidationError(
            f"{path} holds no memories: its items have no key 'memory'.",
            suggestion="A structured export has the shape of your own schema; export with get_all() instead.",
        )
    return items


def _items(found: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, Mapping):
        lists = [found[name] for name in _LISTS if isinstance(found.get(name), Sequence | Mapping)]
        if not lists or isinstance(lists[0], str):
            raise ValidationError(f"The JSON has no list of memories. Expected {_EXPECTED}.")
        yield from _items(lists[0])
    elif isinstance(found, list):
        for item in found:
            if isinstance(item, Mapping) and "memory" not in item and isinstance(item.get("results"), list):
                yield from _items(item)
            elif isinstance(item, Mapping):
                yield item
            else:
                raise ValidationError(f"The JSON lists a {type(item).__name__}. Expected {_EXPECTED}.")
    else:
        raise ValidationError(f"The JSON is a {type(found).__name__}. Expected {_EXPECTED}.")
