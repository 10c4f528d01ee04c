"""What a model wrote, as JSON: the one parser for all replies. Pure; nothing a model writes is ever executed.

In this order:

1. Surrounding white space and byte order marks go. A text over `MAX_CHARS` is refused.
2. If what is left is one JSON value, that is the reply.
3. Else the text is read from the left. A closed reasoning block (`<think>...</think>`) is passed over; a closing
   tag alone discards all before it; a reasoning block that is never closed means the reply was cut.
4. Objects and lists in what remains are taken in order, those within code fences first. What does not look like
   one ("{name}", "[see above]") is chatter. One that is broken is passed over whole: nothing inside it is taken
   for the reply. One that never ends means the reply was cut.
5. The first of them is the reply, or the first that the caller's `read` takes.

Forgiven inside a value: trailing commas, single quotes, unquoted keys, True/False/None, line breaks in strings,
and `\\'`. Not forgiven: anything whose meaning would have to be guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mnemic.errors import LLMOutputError
from mnemic.models.embed.texts import clean_text

T = TypeVar("T")

MAX_CHARS = 1_000_000
MAX_DEPTH = 60
# What models call the text of a fact.
TEXT_NAMES = ("text", "fact", "memory", "statement")

_TAGS = "think|thinking|thought|reasoning"
_LANDMARK = re.compile(rf"[{{\[]|```|</?(?:{_TAGS})>", re.IGNORECASE)
_CLOSING_TAG = re.compile(rf"</(?:{_TAGS})>", re.IGNORECASE)
_OPENING_TAG = re.compile(rf"<(?:{_TAGS})>", re.IGNORECASE)
_WHOLE_FENCE = re.compile(r"```[\w+-]*\n(.*)\n```\Z", re.DOTALL)
_FENCE = re.compile(r"```[\w+-]*\s*")
_FENCE_END = re.compile(r"\s*(?:```|\Z)")
_SPACE = re.compile(r"\s*")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
# An apostrophe ends a string only where something follows that can follow a string.
_SINGLE = re.compile(r"'((?:[^'\\]|\\.|'(?!\s*(?:[,:}\]]|\Z)))*+)'", re.DOTALL)
_KEY = re.compile(r"[^\W\d][\w-]*(?=\s*:)")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", re.ASCII)
_WORD = re.compile(r"(?:true|false|null|True|False|None)\b")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_LOOKS_LIKE_JSON = re.compile(
    r"""\{\s*(?:["'}]|[^\W\d][\w-]*\s*:|\Z) | \[\s*(?:["'{\[\]]|-?\d|(?:true|false|null|True|False|None)\b|\Z)""",
    re.VERBOSE,
)
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)


class UnreadableError(ValueError):
    """A JSON value is not what was asked for; the message is written for the model, which may see it."""


def parse_json(text: str) -> Any:
    """The JSON value in a model's reply.

    U+0000 and lone surrogates in strings, which no store can hold, are replaced. Raises `LLMOutputError` with
    the text as `raw` where there is none or it was cut.
    """
    return read_reply(text, lambda value: value)


def read_reply(text: str, read: Callable[[Any], T]) -> T:
    """What `read` makes of the first JSON value in a reply that it takes; it refuses with `UnreadableError`.

    Raises `LLMOutputError`, `raw` being the text, with the first thing that was wrong.
    """
    values, fault = _values(text)
    refused: str | None = None
    for value in values:
        try:
            return read(value)
        except UnreadableError as error:
            refused = refused or str(error)
    raise LLMOutputError(refused or fault or "The reply holds no JSON.", raw=text)


def read_text(text: str) -> str:
    """A reply in plain words: without reasoning blocks, and without a fence around the whole.

    Raises `LLMOutputError` where nothing is left, or a reasoning block is never closed.
    """
    told = clean_text(text).strip("\ufeff \t\r\n")
    if (closing := list(_CLOSING_TAG.finditer(told))) and not _OPENING_TAG.search(told, closing[-1].end()):
        told = told[closing[-1].end() :].strip()
    elif _OPENING_TAG.match(told):
        raise LLMOutputError("The reply ends before its reasoning does.", raw=text)
    fenced = _WHOLE_FENCE.match(told)
    told = fenced[1].strip() if fenced else told
    if not told:
        raise LLMOutputError("The reply is empty.", raw=text)
    return told


def items_of(value: Any, name: str) -> list[dict[str, Any]]:
    """The items of a reply that should be `{name: [...]}`, each as an object.

    Also taken: a bare list, one object under `name` instead of a list, and an item alone. An item may be a
    string, for `{"text": ...}`, or name its text otherwise (`TEXT_NAMES`). Raises `UnreadableError` for the rest.
    """
    if isinstance(value, Mapping):
        found = value[name] if name in value else value if _text_of(value) is not None else None
    else:
        found = value if isinstance(value, list) else None
    if found is None:
        raise UnreadableError(f'The reply is not an object with a list "{name}".')
    items = found if isinstance(found, list) else [found]
    return [_item(item, name, number) for number, item in enumerate(items, 1)]


def _item(item: Any, name: str, number: int) -> dict[str, Any]:
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, Mapping) or (known := _text_of(item)) is None:
        raise UnreadableError(f'Item {number} of "{name}" is no object with a "text".')
    return {**{key: inner for key, inner in item.items() if key != known}, "text": item[known]}


def _text_of(item: Mapping[str, Any]) -> str | None:
    return next((name for name in TEXT_NAMES if isinstance(item.get(name), str)), None)


class _BrokenError(Exception):
    """What stands here is no JSON."""


class _CutError(_BrokenError):
    """The text ends inside a value."""


def _values(text: str) -> tuple[list[Any], str | None]:
    """The JSON values of a reply, best candidates first, and what was wrong with it if anything was."""
    if len(text) > MAX_CHARS:
        return [], f"The reply has {len(text):,} characters; at most {MAX_CHARS:,} are read."
    text = clean_text(text).strip("\ufeff \t\r\n")
    if not text:
        return [], "The reply is empty."
    try:
        value, end = _value(text, 0, 0)
        if end == len(text):
            return [value], None
    except _BrokenError:
        pass
    scan = _Scan(text)
    scan.run()
    found = [value for fenced, value in scan.found if fenced]
    found += [value for fenced, value in scan.found if not fenced]
    return found, scan.fault


class _Scan:
    """Goes through a reply from left to right, once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[tuple[bool, Any]] = []
        self.fault: str | None = None
        self._fenced = False

    def run(self) -> None:
        at: int | None = 0
        while at is not None:
            landmark = _LANDMARK.search(self.text, at)
            if landmark is None:
                return
            at = self._from(landmark)

    def _from(self, landmark: re.Match[str]) -> int | None:
        """Take in what begins at a landmark; where to go on, or None for nowhere."""
        mark = landmark.group()
        if mark == "```":
            return self._fence(landmark.start())
        if mark in "{[":
            return self._bracket(landmark.start())
        if mark.startswith("</"):
            self.found.clear()
            self._fenced, self.fault = False, None
            return landmark.end()
        closing = _CLOSING_TAG.search(self.text, landmark.end())
        if closing is None:
            self.fault = "The reply ends before its reasoning does."
            return None
        return closing.end()

    def _fence(self, start: int) -> int:
        self._fenced = not self._fenced
        opening = _FENCE.match(self.text, start)
        assert opening is not None, "a landmark is a fence"
        if not self._fenced or self.text[opening.end() : opening.end() + 1] in ("{", "["):
            return start + 3
        # Within a fence a value need be no object or list.
        try:
            value, end = _value(self.text, opening.end(), 0)
        except _BrokenError:
            return start + 3
        closing = _FENCE_END.match(self.text, end)
        if closing is None:
            return start + 3
        self.found.append((True, value))
        self._fenced = False
        return closing.end()

    def _bracket(self, start: int) -> int | None:
        if _LOOKS_LIKE_JSON.match(self.text, start) is None:
            return start + 1
        try:
            value, end = _value(self.text, start, 0)
        except _CutError:
            self.fault = self.fault or "The reply was cut off in the middle of its JSON."
            return None
        except _BrokenError as error:
            self.fault = self.fault or f"The JSON of the reply is broken: {error}"
            return _end_of_brackets(self.text, start)
        self.found.append((self._fenced, value))
        return end


def _end_of_brackets(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, brackets in strings not counted; None if never."""
    depth = 0
    for token in _BRACKET.finditer(text, start):
        if token.group() in "{[":
            depth += 1
        elif token.group() in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """The value at a place, and where it ends. Raises `_BrokenError`."""
    if depth > MAX_DEPTH:
        raise _BrokenError(f"it is nested more than {MAX_DEPTH} deep.")
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at, depth)
    if first == "[":
        return _list(text, at, depth)
    if first in ('"', "'") and first:
        return _string(text, at)
    if word := _WORD.match(text, at):
        return _WORDS[word.group()], word.end()
    if number := _NUMBER.match(text, at):
        return _number(number.group(), at), number.end()
    raise _broken(text, at, "a value")


def _list(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _skip(text, at + 1)
    while not text.startswith("]", at):
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _after_item(text, at, "]")
    return items, at + 1


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    members: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while not text.startswith("}", at):
        key, at = _key(text, at)
        at = _skip(text, at)
        if not text.startswith(":", at):
            raise _broken(text, at, "a colon")
        members[key], at = _value(text, _skip(text, at + 1), depth + 1)
        at = _after_item(text, at, "}")
    return members, at + 1


def _after_item(text: str, at: int, end: str) -> int:
    """Past a comma, trailing or not, or at the closing bracket."""
    at = _skip(text, at)
    if text.startswith(",", at):
        return _skip(text, at + 1)
    if text.startswith(end, at):
        return at
    raise _broken(text, at, f"a comma or {end!r}")


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] in ('"', "'") and at < len(text):
        return _string(text, at)
    bare = _KEY.match(text, at)
    if bare is None:
        raise _broken(text, at, "a key")
    return bare.group(), bare.end()


def _string(text: str, at: int) -> tuple[str, int]:
    if text[at] == '"':
        found = _DOUBLE.match(text, at)
        inner = None if found is None else found.group()[1:-1]
    else:
        found = _SINGLE.match(text, at)
        inner = None if found is None else re.sub(r'(\\.)|"', _escaped_quote, found.group(1), flags=re.DOTALL)
    if found is None or inner is None:
        raise _CutError("a string has no end.")
    try:
        # Not strict: models write line breaks as they are.
        made = json.loads(f'"{_bare_apostrophes(inner)}"', strict=False)
    except ValueError as error:
        raise _broken(text, at, "a string with known escapes") from error
    return clean_text(made), found.end()


def _escaped_quote(found: re.Match[str]) -> str:
    return found.group(1) or '\\"'


def _bare_apostrophes(inner: str) -> str:
    return re.sub(
        r"\\(.)", lambda found: "'" if found.group(1) == "'" else found.group(), inner, flags=re.DOTALL
    )


def _number(digits: str, at: int) -> int | float:
    try:
        made = json.loads(digits)
    except ValueError as error:
        raise _BrokenError(f"a number of {len(digits)} digits at character {at + 1}.") from error
    if isinstance(made, float) and not math.isfinite(made):
        raise _BrokenError(f"a number too large at character {at + 1}.")
    number: int | float = made
    return number


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _broken(text: str, at: int, wanted: str) -> _BrokenError:
    if at >= len(text):
        return _CutError(f"it ends where {wanted} should be.")
    return _BrokenError(f"{wanted} should be at character {at + 1}, before {text[at : at + 20]!r}.")
