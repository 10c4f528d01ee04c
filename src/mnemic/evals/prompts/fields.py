"""Reading JSON-lines files field by field, with errors that name the file, the line and the field."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mnemic.checks import shown
from mnemic.errors import ValidationError, nearest


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of a line. place: the file and the line; path: where in the line it stands, '' for its top."""

    place: str
    path: str
    values: Mapping[str, Any]

    def only(self, known: Collection[str]) -> None:
        """Raise `ValidationError` for a field that is none of these."""
        for name in self.values:
            if name not in known:
                raise self.wrong(name, f"is unknown{nearest(name, known)}; known are {', '.join(known)}")

    def text(self, name: str) -> str:
        """A text with something in it."""
        value = self.values.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, f"must be a text, not {shown(value)}")
        return value

    def maybe_text(self, name: str) -> str | None:
        """A text, None where there is none."""
        return None if self.values.get(name) is None else self.text(name)

    def one_of(self, name: str, known: Collection[str]) -> str:
        """One of some words."""
        value = self.text(name)
        if value not in known:
            raise self.wrong(name, f"must be one of {', '.join(known)}, not {shown(value)}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Texts, none where the field is missing."""
        found = self._list(name)
        if not all(isinstance(one, str) and one for one in found):
            raise self.wrong(name, f"must be a list of texts, not {shown(found)}")
        return tuple(found)

    def number(self, name: str, lowest: int, highest: int | None = None) -> int:
        """A whole number, both ends included."""
        return self._number(name, self.values.get(name), lowest, highest)

    def numbers(self, name: str, lowest: int, highest: int) -> tuple[int, ...]:
        """Whole numbers, none where the field is missing."""
        return tuple(
            self._number(f"{name}[{at}]", one, lowest, highest) for at, one in enumerate(self._list(name))
        )

    def amount(self, name: str) -> float | None:
        """A number from 0 on, None where it is not known."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise self.wrong(name, f"must be a number from 0 on, not {shown(value)}")
        return value

    def inner(self, name: str) -> Fields:
        """The object in a field."""
        return self._object(name, self.values.get(name))

    def inners(self, name: str) -> tuple[Fields, ...]:
        """The objects in a field, none where it is missing."""
        return tuple(self._object(f"{name}[{at}]", one) for at, one in enumerate(self._list(name)))

    def wrong(self, name: str, what: str) -> ValidationError:
        """The error that says what is wrong with a field."""
        return ValidationError(
            f"{self.place}: {self._path(name)} {what}.", details={"field": self._path(name)}
        )

    def _list(self, name: str) -> list[Any]:
        value = self.values.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, f"must be a list, not {shown(value)}")
        return value

    def _number(self, name: str, value: Any, lowest: int, highest: int | None) -> int:
        if type(value) is not int or value < lowest or (highest is not None and value > highest):
            span = f"from {lowest} on" if highest is None else f"from {lowest} to {highest}"
            raise self.wrong(name, f"must be a whole number {span}, not {shown(value)}")
        return value

    def _object(self, name: str, value: Any) -> Fields:
        if not isinstance(value, dict):
            raise self.wrong(name, f"must be an object, not {shown(value)}")
        return replace(self, path=self._path(name), values=value)

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def read_lines(path: Path) -> Iterator[Fields]:
    """The objects of a JSON-lines file, blank lines passed over.

    Raises `ValidationError` where the file cannot be read or a line is no JSON object.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8 text"
        raise ValidationError(f"{str(path)!r} cannot be read: {reason}.") from fault
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _line(f"{path.name}, line {number}", line)


def _line(place: str, line: str) -> Fields:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise ValidationError(f"{place}: this is not JSON: {fault}.") from fault
    if not isinstance(value, dict):
        raise ValidationError(f"{place}: this is not an object but {shown(value)}.")
    return Fields(place, "", value)
