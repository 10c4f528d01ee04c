"""The format of an export: one record a line, as JSON. Pure; `docs/transfer.md` describes it for others.

What is read is checked as strictly as what `add` takes: each error names field, value and what is accepted.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..checks import canonical_json, check_json, check_storable, check_text, shown
from ..clock import FIRST_INSTANT, LAST_INSTANT, Instant, to_datetime, to_instant
from ..errors import ScopeError, ValidationError, nearest
from ..records import Claim, Event, Kind
from ..scope import MAX_ID_LENGTH, clean_id
from ..whole import (
    WholeChange,
    WholeEpisode,
    WholeMemory,
    WholeMessage,
    WholeOwner,
    WholeSupport,
    WholeVersion,
)

FORMAT = "mnemic"
VERSION = 1

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]")
_LARGEST = 2**31 - 1
_PRECISIONS = ("year", "month", "day", "instant")
# What happens to an owner rather than to one of its memories.
_OF_OWNERS = (Event.EPISODE, Event.PURGE)


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The embedding model that the vectors inside come from."""

    name: str
    dims: int


@dataclass(frozen=True, slots=True)
class ExportedIds:
    """The ids that narrowed an export."""

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: what wrote the file, when, from which store, and what is inside."""

    format: str
    version: int
    mnemic: str
    created_at: Instant
    store_id: str | None = None
    ids: ExportedIds | None = None
    vectors: VectorSpace | None = None


@dataclass(frozen=True, slots=True)
class Footer:
    """The last line: how many of each there are, so that a file which was cut off is known as such."""

    owners: int
    episodes: int
    messages: int
    memories: int
    versions: int
    changes: int


Line = Header | WholeOwner | WholeEpisode | WholeMemory | WholeChange | Footer


def encode(record: Line) -> str:
    """The record as one line of JSON, without the line break."""
    name = _NAMES[type(record)]
    whole = {"line": name, **_SHAPES[name].write(record)}
    return _ENCODER.encode(whole)


def decode(text: str) -> Line:
    """The record of a line. Raises `ValidationError` naming the field, its value and what is accepted."""
    value = _load(text)
    if not isinstance(value, dict):
        raise _wrong("The line", "a JSON object", value)
    name = value.pop("line", None)
    shape = _SHAPES.get(name) if isinstance(name, str) else None
    if shape is None:
        raise ValidationError(f"line must be one of {', '.join(_SHAPES)}, not {shown(name)}.")
    if name == "header":
        _check_format(value)
    record: Line = shape.read(value, "")
    if isinstance(record, WholeEpisode):
        _check_episode(record)
    elif isinstance(record, WholeMemory):
        _check_memory(record)
    elif isinstance(record, WholeChange):
        _check_change(record)
    return record


# --- JSON ---------------------------------------------------------------------------------------------------


def _load(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except ValidationError:
        raise
    except ValueError as fault:
        raise ValidationError(f"It is not JSON: {fault}.") from fault
    except RecursionError as fault:
        raise ValidationError("It is nested too deeply.") from fault


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValidationError(f"An object has the key {_twin(names)!r} twice.")
    return found


def _twin(values: list[Any]) -> Any:
    """The first value that comes a second time."""
    return next(value for i, value in enumerate(values) if value in values[:i])


def _constant(name: str) -> Any:
    raise ValidationError(f"{name} is no JSON number.")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _wrong(field: str, wanted: str, value: Any) -> ValidationError:
    kind = "null" if value is None else f"{type(value).__name__} {shown(value)}"
    return ValidationError(f"{field} must be {wanted}, not {kind}.", details={"field": field})


# --- Values: each kind with how it is read from JSON and how it is written ------------------------------------


class Value(NamedTuple):
    """How a field of a record is read from JSON, given its path for errors, and written as JSON."""

    read: Callable[[Any, str], Any]
    write: Callable[[Any], Any] = lambda value: value


def _string(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise _wrong(field, "a string", value)
    return check_storable(value, field)


def _words(value: Any, field: str) -> str:
    text = _string(value, field)
    if not text.strip():
        raise ValidationError(f"{field} cannot be empty.", details={"field": field})
    return text


def _id(value: Any, field: str) -> str:
    text = _words(value, field)
    if len(text) > MAX_ID_LENGTH or _BLANK.search(text):
        raise _wrong(field, f"an id of at most {MAX_ID_LENGTH} characters without white space", value)
    return text


def _owner_id(value: Any, field: str) -> str:
    if value == "":
        return ""
    text = _string(value, field)
    try:
        clean = clean_id(field, text)
    except ScopeError as fault:
        raise ValidationError(fault.message, details={"field": field}) from fault
    if clean != text:
        raise _wrong(field, "an id without white space around it", value)
    return text


def _count(value: Any, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST:
        raise _wrong(field, f"a whole number from 0 to {_LARGEST}", value)
    return value


def _flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(field, "true or false", value)
    return value


def _instant(value: Any, field: str) -> Instant:
    if not isinstance(value, str):
        raise _wrong(field, "an ISO 8601 time with its offset from UTC", value)
    try:
        return _parse_instant(value)
    except (ValueError, OverflowError) as fault:
        raise _wrong(field, "an ISO 8601 time with its offset from UTC", value) from fault


@lru_cache(maxsize=4096)
def _parse_instant(text: str) -> Instant:
    if _TIME.fullmatch(text) is None:
        raise ValueError("no time of this format")
    found = to_instant(datetime.fromisoformat(text))
    if not FIRST_INSTANT <= found <= LAST_INSTANT + 1:
        raise ValueError("outside of what a store can hold")
    return found


@lru_cache(maxsize=4096)
def _format_instant(instant: Instant) -> str:
    return to_datetime(instant).isoformat(timespec="microseconds")


def _day(value: Any, field: str) -> str:
    try:
        if isinstance(value, str) and date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise _wrong(field, "a day as YYYY-MM-DD", value)


def _optional_day(value: Any, field: str) -> str:
    return "" if value == "" else _day(value, field)


def _one_of(*accepted: str) -> Value:
    def read(value: Any, field: str) -> str:
        if not isinstance(value, str) or value not in accepted:
            raise _wrong(field, f"one of {', '.join(accepted)}", value)
        return value

    return Value(read)


def _metadata(value: Any, field: str) -> str | None:
    if not isinstance(value, dict):
        raise _wrong(field, "an object", value)
    return canonical_json(check_json(value, field))


def _categories(value: Any, field: str) -> str | None:
    if not isinstance(value, list):
        raise _wrong(field, "a list of names", value)
    return canonical_json([_words(name, f"{field}[{i}]") for i, name in enumerate(value)])


def _parts(value: Any, field: str) -> str:
    if not isinstance(value, list):
        raise _wrong(field, "a list of parts", value)
    try:
        # As `ingest.messages` writes them.
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as fault:
        raise ValidationError(
            f"{field} holds what JSON cannot: {fault}.", details={"field": field}
        ) from fault
    return check_storable(text, field)


def _vector(value: Any, field: str) -> bytes:
    try:
        data = base64.b64decode(_string(value, field), validate=True)
    except (ValueError, binascii.Error) as fault:
        raise _wrong(field, "the base64 of float32 numbers", value) from fault
    if not data or len(data) % 4 or not np.isfinite(np.frombuffer(data, "<f4")).all():
        raise _wrong(field, "the base64 of finite float32 numbers", value)
    return data


def _written_vector(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _many(one: Value) -> Value:
    def read(value: Any, field: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _wrong(field, "a list", value)
        return tuple([one.read(inner, f"{field}[{i}]") for i, inner in enumerate(value)])

    return Value(read, lambda values: [one.write(inner) for inner in values])


class Shape:
    """A record as a JSON object with the record's own field names; what has its default is left out."""

    def __init__(self, record: type, **values: Value) -> None:
        self._record = record
        self._values = values
        self._defaults = {f.name: f.default for f in fields(record)}
        self._required = {name for name, default in self._defaults.items() if default is MISSING}
        assert self._defaults.keys() == values.keys(), record

    def read(self, value: Any, at: str) -> Any:
        """The record of an object. Raises `ValidationError` for unknown, missing and wrong fields."""
        if not isinstance(value, dict):
            raise _wrong(at or "The line", "an object", value)
        lead = f"{at}." if at else ""
        if not value.keys() <= self._values.keys():
            name = next(name for name in value if name not in self._values)
            raise ValidationError(f"{lead}{shown(name)[1:-1]} is not known{nearest(name, self._values)}.")
        if not value.keys() >= self._required:
            name = next(name for name in self._values if name in self._required and name not in value)
            raise ValidationError(f"{lead}{name} is missing.", details={"field": f"{lead}{name}"})
        found = {}
        for name, inner in value.items():
            if inner is not None or self._defaults[name] is not None:
                found[name] = self._values[name].read(inner, lead + name)
        return self._record(**found)

    def write(self, record: Any) -> dict[str, Any]:
        """The object of a record."""
        found = {}
        for name, value in self._values.items():
            inner = getattr(record, name)
            if inner != self._defaults[name]:
                found[name] = value.write(inner)
        return found


def _check_format(value: Mapping[str, Any]) -> None:
    """Tell a newer format, or another program's file, before its keys are looked at."""
    if value.get("format") != FORMAT:
        raise ValidationError(f"format must be {FORMAT!r}, not {shown(value.get('format'))}.")
    version = value.get("version")
    if type(version) is int and version > VERSION:
        raise ValidationError(
            f"version is {shown(version)}; this mnemic reads exports of version {VERSION}.",
            suggestion="Upgrade mnemic to import it.",
        )
    if type(version) is not int or version != VERSION:
        raise ValidationError(f"version must be {VERSION}, not {shown(version)}.")


TEXT = Value(check_text)
STRING = Value(_string)
WORDS = Value(_words)
ID = Value(_id)
OWNER_ID = Value(_owner_id)
COUNT = Value(_count)
FLAG = Value(_flag)
INSTANT = Value(_instant, _format_instant)
DAY = Value(_day)
OPTIONAL_DAY = Value(_optional_day)
PRECISION = _one_of(*_PRECISIONS)
METADATA = Value(_metadata, json.loads)
CATEGORIES = Value(_categories, json.loads)
PARTS = Value(_parts, json.loads)
VECTOR = Value(_vector, _written_vector)


def _nested(shape: Shape) -> Value:
    return Value(shape.read, shape.write)


_MESSAGE = Shape(
    WholeMessage,
    id=ID,
    position=COUNT,
    role=WORDS,
    name=WORDS,
    content=TEXT,
    parts=PARTS,
    said_at=INSTANT,
)
_VERSION = Shape(
    WholeVersion,
    number=COUNT,
    text=TEXT,
    metadata=METADATA,
    categories=CATEGORIES,
    event_date=OPTIONAL_DAY,
    observed_at=INSTANT,
    valid_from=INSTANT,
    valid_from_precision=PRECISION,
    valid_to=INSTANT,
    valid_to_precision=PRECISION,
    expires_on=DAY,
    expires_at=INSTANT,
    tx_from=INSTANT,
    tx_to=INSTANT,
    successor=ID,
    extractor=WORDS,
    prompt=WORDS,
    model=WORDS,
    vector=VECTOR,
)
_SUPPORT = Shape(WholeSupport, message=ID, start=COUNT, end=COUNT)
_CLAIM = Shape(Claim, attribute=WORDS, value=STRING, holds=FLAG, changes=FLAG)
_SPACE = Shape(VectorSpace, name=WORDS, dims=COUNT)
_IDS = Shape(ExportedIds, user_id=OWNER_ID, agent_id=OWNER_ID, app_id=OWNER_ID, run_id=OWNER_ID)

_SHAPES: dict[str, Shape] = {
    "header": Shape(
        Header,
        format=WORDS,
        version=COUNT,
        mnemic=WORDS,
        created_at=INSTANT,
        store_id=WORDS,
        ids=_nested(_IDS),
        vectors=_nested(_SPACE),
    ),
    "owner": Shape(WholeOwner, user_id=OWNER_ID, agent_id=OWNER_ID, app_id=OWNER_ID, created_at=INSTANT),
    "episode": Shape(
        WholeEpisode,
        trace_id=ID,
        run_id=OWNER_ID,
        observed_at=INSTANT,
        created_at=INSTANT,
        messages=_many(_nested(_MESSAGE)),
    ),
    "memory": Shape(
        WholeMemory,
        id=ID,
        kind=_one_of(*Kind),
        live=FLAG,
        runs=_many(OWNER_ID),
        role=WORDS,
        actor_id=WORDS,
        attributed_to=WORDS,
        created_at=INSTANT,
        episode=ID,
        position=COUNT,
        versions=_many(_nested(_VERSION)),
        support=_many(_nested(_SUPPORT)),
        claims=_many(_nested(_CLAIM)),
    ),
    "change": Shape(
        WholeChange,
        at=INSTANT,
        event=_one_of(*Event),
        memory=ID,
        opened=COUNT,
        closed=COUNT,
        actor=WORDS,
        reason=WORDS,
        trace_id=ID,
    ),
    "footer": Shape(
        Footer,
        owners=COUNT,
        episodes=COUNT,
        messages=COUNT,
        memories=COUNT,
        versions=COUNT,
        changes=COUNT,
    ),
}
_NAMES: dict[type, str] = {
    Header: "header",
    WholeOwner: "owner",
    WholeEpisode: "episode",
    WholeMemory: "memory",
    WholeChange: "change",
    Footer: "footer",
}


# --- What the fields of one record owe each other -------------------------------------------------------------


def _check_episode(episode: WholeEpisode) -> None:
    positions = [message.position for message in episode.messages]
    if any(later <= earlier for earlier, later in pairwise(positions)):
        raise ValidationError(f"messages must come by rising position, not {shown(positions)}.")


def _check_memory(memory: WholeMemory) -> None:
    if not memory.versions:
        raise ValidationError("versions is empty; a memory has at least one.")
    for i, version in enumerate(memory.versions):
        _check_version(version, i, memory.versions[i - 1] if i else None)
    last = memory.versions[-1]
    if memory.live and (last.tx_to is not None or last.successor is not None):
        raise ValidationError(
            "live must be false where no version is believed, or the last one has a successor."
        )
    for name, values in (
        ("runs", list(memory.runs)),
        ("support", [(one.message, one.start) for one in memory.support]),
        ("claims", list(memory.claims)),
    ):
        if len(set(values)) < len(values):
            raise ValidationError(f"{name} has {shown(_twin(values))} twice.")
    for i, one in enumerate(memory.support):
        if one.end < one.start:
            raise ValidationError(f"support[{i}].end ({one.end}) lies before its start ({one.start}).")


def _check_version(version: WholeVersion, i: int, before: WholeVersion | None) -> None:
    at = f"versions[{i}]"
    if version.number != i + 1:
        raise ValidationError(
            f"{at}.number must be {i + 1}, since versions come in order, not {version.number}."
        )
    if before is not None and before.tx_to is None:
        raise ValidationError(f"versions[{i - 1}].tx_to is missing; only the last version can be believed.")
    if before is not None and before.tx_to is not None and before.tx_to > version.tx_from:
        raise ValidationError(f"{at}.tx_from lies before the tx_to of the version before it.")
    if version.tx_to is not None and version.tx_to < version.tx_from:
        raise ValidationError(f"{at}.tx_to lies before its tx_from.")
    for name, needs in (
        ("valid_from_precision", "valid_from"),
        ("valid_to_precision", "valid_to"),
        ("expires_at", "expires_on"),
    ):
        if getattr(version, name) is not None and getattr(version, needs) is None:
            raise ValidationError(f"{at}.{name} needs {needs}, which is missing.")


def _check_change(change: WholeChange) -> None:
    if change.memory is None:
        if change.event not in _OF_OWNERS:
            raise ValidationError(f"memory is missing; only {' and '.join(_OF_OWNERS)} can do without.")
        if change.opened is not None or change.closed is not None:
            raise ValidationError("opened and closed need memory, which is missing.")
