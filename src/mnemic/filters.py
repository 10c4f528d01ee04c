"""Filters: mem0's grammar, parsed once into a typed tree, and the evaluator that is the law for back ends.

Grammar. `{"k": v}` is equality, `{"k": [...]}` in, `{"k": "*"}` "has a value",
`{"k": {"eq|ne|gt|gte|lt|lte|in|nin|contains|icontains|exists": v}}` one or more operators, all of which must
hold; `AND`, `OR`, `NOT` (also `$and`, `$or`, `$not`) take lists of conditions (NOT: none may hold, also with
one dict); siblings are ANDed. A key is a column (`Column`) or else user metadata; `metadata.<key>` is the
metadata key of any name. There are no aliases: `memory` and `data` are plain metadata keys, as in `metadata`.

Meaning. Null and absent are the same, "no value": `None` equals it, `"*"` and `exists` are its opposite, and
`ne`, `nin`, NOT match it. Strings compare by code point, numbers by value (5 is 5.0), and true is not 1.
A list matches `eq` and `in` if one of its elements does; `{"eq": [...]}` is the whole list. `contains` is a
substring of a string or an element of a list, `icontains` the same on case-folded text. An ordering operator
on a metadata key is an error when any row in scope has a value of another type there, whatever the rest of
the filter says: the outcome never depends on the order of evaluation.

Times. On `created_at`, `updated_at`, `valid_from`, `valid_to` a date, month or year is its whole span:
`{"gte": "2024-07", "lte": "2024-07"}` is July, `eq` a date is that day; back ends only see instants.
`expiration_date` is a day.

Limits. An integer beyond 64 bits is compared as the nearest double (PostgreSQL: exactly), and PostgreSQL may
tell a float above 2**53 from the integer it equals. U+0000 and lone surrogates can neither be stored nor
asked for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from enum import StrEnum
from typing import Any
from uuid import UUID

from .checks import UNSTORABLE, shown
from .clock import Instant, When, parse_day, parse_when
from .errors import FilterError, ValidationError, nearest
from .records import Kind

MAX_DEPTH = 32
MAX_LEAVES = 600
MAX_VALUES = 10_000
MAX_INT_BITS = 1_023
INT64 = range(-(2**63), 2**63)

Scalar = str | int | float | bool
Operand = Scalar | tuple[Scalar | None, ...] | None


class Op(StrEnum):
    """What a leaf tests. `ne`, `nin`, `exists: False` and null become a NOT around one of these."""

    EQ = "eq"
    IN = "in"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"
    ICONTAINS = "icontains"
    EXISTS = "exists"


class Column(StrEnum):
    """The keys that are not metadata."""

    ID = "id"
    TEXT = "text"
    KIND = "kind"
    CATEGORIES = "categories"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"
    VALID_FROM = "valid_from"
    VALID_TO = "valid_to"
    EXPIRATION_DATE = "expiration_date"
    ROLE = "role"
    ACTOR_ID = "actor_id"
    ATTRIBUTED_TO = "attributed_to"
    USER_ID = "user_id"
    AGENT_ID = "agent_id"
    APP_ID = "app_id"
    RUN_ID = "run_id"


@dataclass(frozen=True, slots=True)
class Metadata:
    """A key of the user's own metadata."""

    key: str


Field = Column | Metadata


@dataclass(frozen=True, slots=True)
class Leaf:
    """One test. `value`: a tuple for IN and for EQ with a whole list, None for EXISTS, instants for times."""

    field: Field
    op: Op
    value: Operand = None


@dataclass(frozen=True, slots=True)
class And:
    """All parts hold; of no parts, true."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds; of no parts, false."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Node


Node = And | Or | Not | Leaf
EVERYTHING = And(())

IDS = frozenset({Column.USER_ID, Column.AGENT_ID, Column.APP_ID, Column.RUN_ID})
TIMES = frozenset({Column.CREATED_AT, Column.UPDATED_AT, Column.VALID_FROM, Column.VALID_TO})
TEXTS = frozenset(
    {Column.ID, Column.TEXT, Column.KIND, Column.ROLE, Column.ACTOR_ID, Column.ATTRIBUTED_TO}
    | {Column.EXPIRATION_DATE}
)
ORDERING: Mapping[Op, Callable[[Any, Any], Any]] = {
    Op.GT: operator.gt,
    Op.GTE: operator.ge,
    Op.LT: operator.lt,
    Op.LTE: operator.le,
}
NEGATED = {"ne": Op.EQ, "nin": Op.IN}
OPERATORS = (*(op.value for op in Op), *NEGATED)
COLUMNS = {column.value: column for column in Column}
KINDS = tuple(kind.value for kind in Kind)
LOGIC = {"AND": "AND", "OR": "OR", "NOT": "NOT", "$and": "AND", "$or": "OR", "$not": "NOT"}
METADATA_PREFIX = "metadata."


# --- the tree -----------------------------------------------------------------------------------------------


def all_of(nodes: Iterable[Node]) -> Node:
    """The AND of some nodes, without an AND inside an AND."""
    parts = tuple(part for node in nodes for part in (node.parts if isinstance(node, And) else (node,)))
    return parts[0] if len(parts) == 1 else And(parts)


def any_of(nodes: Iterable[Node]) -> Node:
    """The OR of some nodes, without an OR inside an OR."""
    parts = tuple(part for node in nodes for part in (node.parts if isinstance(node, Or) else (node,)))
    return parts[0] if len(parts) == 1 else Or(parts)


def conjuncts(node: Node) -> tuple[Node, ...]:
    """The nodes that must all hold at the top of a tree."""
    return node.parts if isinstance(node, And) else (node,)


def leaves(node: Node) -> Iterator[Leaf]:
    """Every leaf of a tree, left to right."""
    match node:
        case Leaf():
            yield node
        case Not(part):
            yield from leaves(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)


# --- parsing ------------------------------------------------------------------------------------------------


def parse(filters: object, tz: tzinfo) -> Node:
    """The tree of a filter as a user writes it; `None` and `{}` give `EVERYTHING`.

    Naive times are read in `tz`. Leaves on ids hold the values as given: `scope.read_scope` checks them.
    Raises `FilterError` naming the key, what was wrong and what is accepted.
    """
    if filters is None:
        return EVERYTHING
    if not isinstance(filters, Mapping):
        raise FilterError(f"filters must be a dict, not {type(filters).__name__}.")
    node = _conditions(filters, tz, 1)
    found = list(leaves(node))
    if len(found) > MAX_LEAVES:
        raise FilterError(f"filters has {len(found)} conditions; at most {MAX_LEAVES} are accepted.")
    values = sum(len(leaf.value) for leaf in found if isinstance(leaf.value, tuple))
    if values > MAX_VALUES:
        raise FilterError(f"filters lists {values} values; at most {MAX_VALUES} are accepted.")
    return node


def _conditions(filters: Mapping[Any, Any], tz: tzinfo, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise FilterError(f"filters is nested deeper than {MAX_DEPTH} levels.")
    return all_of([_condition(key, value, tz, depth) for key, value in filters.items()])


def _condition(key: object, value: object, tz: tzinfo, depth: int) -> Node:
    if not isinstance(key, str):
        raise FilterError(f"filters: keys must be strings, not {shown(key)}.")
    name = _text(key, "filters")
    if name in LOGIC:
        return _logic(name, value, tz, depth)
    if name.startswith("$"):
        known = nearest(name, [logic for logic in LOGIC if logic.startswith("$")])
        raise FilterError(
            f"filters: {name!r} is no operator here{known}; accepted are {', '.join(LOGIC)}.",
            suggestion=f"A metadata key of that name is 'metadata.{name}'.",
            details={"key": name},
        )
    where = _field(name)
    if isinstance(value, Mapping):
        if not value:
            raise FilterError(f"{name}: an empty dict has no operator; accepted are {', '.join(OPERATORS)}.")
        return all_of([_operation(where, name, op, operand, tz) for op, operand in value.items()])
    if isinstance(value, str) and value == "*":
        return Leaf(where, Op.EXISTS)
    return _operation(where, name, Op.IN if isinstance(value, list | tuple) else Op.EQ, value, tz)


def _logic(key: str, value: object, tz: tzinfo, depth: int) -> Node:
    name = LOGIC[key]
    if name == "NOT" and isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple) or not (value or name == "AND"):
        size = "" if name == "AND" else "non-empty "
        raise FilterError(f"{name} operator requires a {size}list of conditions, not {shown(value)}.")
    parts = []
    for item in value:
        if not isinstance(item, Mapping):
            raise FilterError(f"{name} operator requires a list of dicts; {shown(item)} is none.")
        part = _conditions(item, tz, depth + 1)
        if part == EVERYTHING and name != "AND":
            raise FilterError(f"{name} operator: an empty condition would match every memory.")
        parts.append(part)
    if name == "AND":
        return all_of(parts)
    return any_of(parts) if name == "OR" else Not(any_of(parts))


def _field(name: str) -> Field:
    if name.startswith(METADATA_PREFIX):
        return Metadata(name.removeprefix(METADATA_PREFIX))
    return COLUMNS.get(name) or Metadata(name)


def _operation(where: Field, name: str, op: object, value: object, tz: tzinfo) -> Node:
    if not isinstance(op, str) or op not in OPERATORS:
        known = nearest(op, OPERATORS) if isinstance(op, str) else ""
        raise FilterError(
            f"{name}: unknown operator {shown(op)}{known}; accepted are {', '.join(OPERATORS)}.",
            suggestion=f"A condition on metadata is written as 'metadata.{op}'."
            if name == "metadata"
            else None,
            details={"key": name, "operator": str(op)[:80]},
        )
    if op in NEGATED:
        return Not(_test(where, name, NEGATED[op], value, tz))
    return _test(where, name, Op(op), value, tz)


def _test(where: Field, name: str, op: Op, value: object, tz: tzinfo) -> Node:
    _check_applies(where, name, op)
    exists = Leaf(where, Op.EXISTS)
    if op is Op.EXISTS:
        if not isinstance(value, bool):
            raise _unfit(name, op, value, "true or false")
        return exists if value else Not(exists)
    if op is Op.EQ and value is None:
        return Not(exists)
    if op is Op.IN:
        if not isinstance(value, list | tuple):
            raise _unfit(name, op, value, "a list")
        given = [item for item in value if item is not None]
        some = _members(where, name, given, tz)
        return some if len(given) == len(value) else any_of([Not(exists), some])
    if where in TIMES:
        return _time_test(where, op, _when(name, value, tz))
    return Leaf(where, op, _operand(where, name, op, value, tz))


def _check_applies(where: Field, name: str, op: Op) -> None:
    parts = op in (Op.CONTAINS, Op.ICONTAINS)
    if parts and (where in TIMES or where is Column.EXPIRATION_DATE):
        raise FilterError(f"{name}: {op} does not apply to a time; compare with gte, lt and the like.")
    if op in ORDERING and where is Column.CATEGORIES:
        raise FilterError(
            f"{name}: {op} does not apply to a list; accepted are eq, in, contains and the like."
        )


def _members(where: Field, name: str, values: list[object], tz: tzinfo) -> Node:
    if where in TIMES and values:
        return any_of([_time_test(where, Op.EQ, _when(name, value, tz)) for value in values])
    return Leaf(where, Op.IN, tuple(_scalar(where, name, Op.IN, value, tz) for value in values))


def _operand(where: Field, name: str, op: Op, value: object, tz: tzinfo) -> Operand:
    if op is Op.EQ and isinstance(value, list | tuple):
        if where is not Column.CATEGORIES and not isinstance(where, Metadata):
            raise _unfit(name, op, value, "one value (a list goes with 'in')")
        return tuple(None if item is None else _scalar(where, name, op, item, tz) for item in value)
    if op in ORDERING and isinstance(value, bool):
        raise _unfit(name, op, value, None)
    if op is Op.ICONTAINS and not isinstance(value, str):
        raise _unfit(name, op, value, "a string")
    return _scalar(where, name, op, value, tz)


def _scalar(where: Field, name: str, op: Op, value: object, tz: tzinfo) -> Scalar:
    """The value as exactly a str, bool, int or float that the field can be compared with."""
    if where is Column.EXPIRATION_DATE:
        try:
            return parse_day(value, tz, field=name).isoformat()
        except ValidationError as fault:
            raise FilterError(fault.message, details={"key": name}) from fault
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, str):
        text = _text(value, name)
        if where is Column.KIND and op in (Op.EQ, Op.IN) and text not in KINDS:
            raise _unfit(name, op, text, f"one of {', '.join(KINDS)}{nearest(text, KINDS)}")
        return text
    if where in TEXTS or where is Column.CATEGORIES:
        raise _unfit(name, op, value, "a string")
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= MAX_INT_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise _unfit(name, op, value, None)


def _text(value: str, name: str) -> str:
    # A plain str also of an Enum member, which drivers would bind by its own rules.
    text = str.__str__(value)
    if UNSTORABLE.search(text):
        raise FilterError(
            f"{name}: {shown(text)} has U+0000 or half a surrogate pair, which no memory can hold."
        )
    return text


def _when(name: str, value: object, tz: tzinfo) -> When:
    try:
        return parse_when(value, tz, field=name)
    except ValidationError as fault:
        raise FilterError(fault.message, details={"key": name}) from fault


def _time_test(where: Field, op: Op, when: When) -> Node:
    from_start, before_end = Leaf(where, Op.GTE, when.start), Leaf(where, Op.LT, when.end)
    match op:
        case Op.GTE:
            return from_start
        case Op.LTE:
            return before_end
        case Op.GT:
            return Leaf(where, Op.GTE, when.end)
        case Op.LT:
            return Leaf(where, Op.LT, when.start)
        case _:
            return And((from_start, before_end))


def _unfit(name: str, op: Op, value: object, wanted: str | None) -> FilterError:
    accepted = wanted or (
        "a string or a number" if op in ORDERING else "a string, a finite number or true/false"
    )
    return FilterError(
        f"{name}: {op} accepts {accepted}, not {shown(value)}.", details={"key": name, "operator": str(op)}
    )


# --- the law ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FilterRecord:
    """What a filter can see of one memory. A missing id is ''; no categories is None."""

    id: str
    text: str
    kind: str
    created_at: Instant
    updated_at: Instant
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: tuple[str, ...] = ()
    categories: tuple[str, ...] | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    expiration_date: str | None = None
    role: str | None = None
    actor_id: str | None = None
    attributed_to: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


def select(node: Node, records: Iterable[FilterRecord]) -> list[FilterRecord]:
    """The records that match, in order. Raises `FilterError` where a comparison meets another type."""
    rows = list(records)
    within = guard_scope(node)
    for row in rows:
        fault = type_fault(node, row.id, row.metadata) if matches(within, row) else None
        if fault is not None:
            raise fault
    return [row for row in rows if matches(node, row)]


def matches(node: Node, record: FilterRecord) -> bool:
    """Whether a record meets the tree; a comparison with another type is false here (`select` raises)."""
    match node:
        case And(parts):
            return all(matches(part, record) for part in parts)
        case Or(parts):
            return any(matches(part, record) for part in parts)
        case Not(part):
            return not matches(part, record)
        case Leaf():
            value = _value(node.field, record)
            return value is not None and predicate(node)(value)


def _value(where: Field, record: FilterRecord) -> object:
    return record.metadata.get(where.key) if isinstance(where, Metadata) else getattr(record, where.value)


def predicate(leaf: Leaf) -> Callable[[object], bool]:
    """The test of a leaf on one value that is not null: a JSON value, or an instant for a time column."""
    value = leaf.value
    if leaf.op in ORDERING:
        return _ordering(ORDERING[leaf.op], value)
    if leaf.op is Op.IN and isinstance(value, tuple):
        return _membership(value)
    if leaf.op is Op.EQ:
        return _whole_list(value) if isinstance(value, tuple) else _membership((value,))
    if leaf.op is Op.CONTAINS:
        return _containment(value)
    if leaf.op is Op.ICONTAINS and isinstance(value, str):
        return _folded_containment(value.casefold())
    return lambda _: True


def _ordering(compare: Callable[[Any, Any], Any], bound: Operand) -> Callable[[object], bool]:
    kind, limit = _tag(bound)

    def test(found: object) -> bool:
        tag = _tag(found)
        return tag[0] == kind and bool(compare(tag[1], limit))

    return test


def _membership(values: tuple[Scalar | None, ...]) -> Callable[[object], bool]:
    wanted = frozenset(map(_tag, values))

    def test(found: object) -> bool:
        if isinstance(found, list | tuple):
            return any(_tag(item) in wanted for item in found)
        return _tag(found) in wanted

    return test


def _whole_list(values: tuple[Scalar | None, ...]) -> Callable[[object], bool]:
    wanted = tuple(map(_tag, values))
    return lambda found: isinstance(found, list | tuple) and tuple(map(_tag, found)) == wanted


def _containment(value: Operand) -> Callable[[object], bool]:
    wanted = _tag(value)

    def test(found: object) -> bool:
        if isinstance(found, str):
            return isinstance(value, str) and value in found
        return isinstance(found, list | tuple) and any(_tag(item) == wanted for item in found)

    return test


def _folded_containment(folded: str) -> Callable[[object], bool]:
    def test(found: object) -> bool:
        if isinstance(found, str):
            return folded in found.casefold()
        if isinstance(found, list | tuple):
            return any(isinstance(item, str) and item.casefold() == folded for item in found)
        return False

    return test


def _tag(value: object) -> tuple[str, Any]:
    """A value with its JSON type, so that equal tags are equal values and true is not 1."""
    if isinstance(value, str):
        return "string", value
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int | float):
        return "number", as_number(value)
    if value is None:
        return "null", None
    # Objects and lists inside lists equal nothing that a filter can ask for.
    return type_name(value), id(value)


def as_number(value: int | float) -> int | float:
    """The number as it is compared: an integer beyond 64 bits as the nearest double."""
    if isinstance(value, int) and value not in INT64:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def type_name(value: object) -> str:
    """The JSON name of a value's type."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "number", float: "number", list: "list", tuple: "list", type(None): "null"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "object")


# --- types --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guard:
    """Every value under a metadata key has to be of `wanted` ("number" or "string") or null."""

    key: str
    wanted: str


def type_guards(node: Node) -> tuple[Guard, ...]:
    """What the ordering operators of a tree demand of all rows in scope."""
    guards = (
        Guard(leaf.field.key, type_name(leaf.value))
        for leaf in leaves(node)
        if leaf.op in ORDERING and isinstance(leaf.field, Metadata)
    )
    return tuple(dict.fromkeys(guards))


def guard_scope(node: Node) -> Node:
    """The rows that the guards of a tree are about: those of the ids it demands at its top (a run, say)."""
    return all_of(part for part in conjuncts(node) if all(leaf.field in IDS for leaf in leaves(part)))


def type_fault(node: Node, memory_id: str, metadata: Mapping[str, object]) -> FilterError | None:
    """The error for a row whose metadata has a value of a type the tree cannot compare, if it has one."""
    for guard in type_guards(node):
        found = type_name(metadata.get(guard.key))
        if found not in (guard.wanted, "null"):
            return mismatch(guard, found, memory_id)
    return None


def mismatch(guard: Guard, found: str, memory_id: str) -> FilterError:
    """The error for a memory that has a `found` ("string", "list", ...) where a guard wants another type."""
    return FilterError(
        f"{guard.key}: memory {memory_id} has a value of type {found} there, which cannot be compared with a "
        f"{guard.wanted}. Ordering needs one type under a key in all memories in scope.",
        details={"key": guard.key, "wanted": guard.wanted, "found": found, "memory_id": memory_id},
    )
