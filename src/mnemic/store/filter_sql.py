"""Filters in SQL: a tree becomes one condition, with every key and value bound.

Each leaf is true or false, never null, so that NOT means the same as in `filters`. What differs between the
databases is how a JSON value is tested, and stands at the end of this file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol
from typing import cast as typed

from sqlalchemy import Column as SqlColumn
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    literal_column,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.elements import Grouping

from ..errors import ConfigError
from ..filters import (
    IDS,
    ORDERING,
    TIMES,
    And,
    Column,
    Guard,
    Leaf,
    Metadata,
    Node,
    Not,
    Op,
    Or,
    Scalar,
    as_number,
    guard_scope,
    type_guards,
)
from . import schema

Condition = ColumnElement[bool]
Sql = ColumnElement[Any]

# SQLite refuses expressions nested deeper than 1000, and `a OR b OR c` nests once per term.
LONGEST_CHAIN = 16


def condition(
    node: Node,
    dialect: str,
    memory: FromClause = schema.memory,
    version: FromClause = schema.version,
) -> Condition:
    """The condition that a tree sets on the rows of `memory` joined with `version`.

    `memory` and `version` are the tables, or aliases of them, in the statement it goes into; owners and run
    labels are looked up by subquery. `dialect` is SQLAlchemy's name. On SQLite the connection needs the
    function `mnemic_casefold`. The condition narrows what is read and never bounds it: the statement must
    have its owner predicate beside it.
    """
    return _Rows(_dialect(dialect), memory, version).condition(node)


def guard_condition(
    node: Node,
    dialect: str,
    memory: FromClause = schema.memory,
    version: FromClause = schema.version,
) -> Condition | None:
    """The condition for rows whose metadata has a value that the tree cannot compare; None if none can have.

    Arguments as for `condition`. A statement with a filter first asks for one such row among all that it could
    return without the filter, and gives its id and metadata to `filters.type_fault` for the error to raise.
    """
    guards = type_guards(node)
    if not guards:
        return None
    rows = _Rows(_dialect(dialect), memory, version)
    odd = or_(*(rows.odd(guard) for guard in guards))
    return and_(rows.condition(guard_scope(node)), odd)


def holds(text: Sql, part: str, dialect: str) -> Condition:
    """The condition that a text column holds a part, whatever the case of both."""
    return _text_test(_dialect(dialect), text, Leaf(Column.TEXT, Op.ICONTAINS, part))


class _Rows:
    """The condition of each node over one pair of tables."""

    def __init__(self, dialect: _Dialect, memory: FromClause, version: FromClause) -> None:
        self.dialect = dialect
        self.memory = memory
        self.version = version
        m, v = memory.c, version.c
        self.columns: dict[Column, Sql] = {
            Column.ID: m.uid,
            Column.TEXT: v.text,
            Column.KIND: m.kind,
            Column.CREATED_AT: m.created_at,
            Column.UPDATED_AT: v.tx_from,
            Column.VALID_FROM: v.valid_from,
            Column.VALID_TO: v.valid_to,
            Column.EXPIRATION_DATE: v.expires_on,
            Column.ROLE: m.role,
            Column.ACTOR_ID: m.actor_id,
            Column.ATTRIBUTED_TO: m.attributed_to,
        }

    def condition(self, node: Node) -> Condition:
        match node:
            case And(parts):
                return _chain(and_, [self.condition(part) for part in parts], true())
            case Or(parts):
                return _chain(or_, [self.condition(part) for part in parts], false())
            case Not(part):
                return not_(self.condition(part))
            case Leaf():
                return self._leaf(node)

    def odd(self, guard: Guard) -> Condition:
        def test(found: _Json) -> Condition:
            fits = found.is_text if guard.wanted == "string" else found.is_number
            return not_(or_(fits, found.is_any([None])))

        return _has_value(self.dialect, self.version.c.metadata, guard.key, test)

    def _leaf(self, leaf: Leaf) -> Condition:
        if isinstance(leaf.field, Metadata):
            return self._json(self.version.c.metadata, leaf.field.key, leaf)
        if leaf.field is Column.CATEGORIES:
            return self._json(self.version.c.categories, None, leaf)
        if leaf.field in IDS:
            return self._id(leaf.field, _values(leaf))
        column = self.columns[leaf.field]
        if leaf.op is Op.EXISTS:
            return column.is_not(None)
        if leaf.field not in TIMES:
            return and_(column.is_not(None), _text_test(self.dialect, column, leaf))
        if leaf.op in ORDERING:
            return and_(column.is_not(None), _compare(leaf.op, column, leaf.value))
        return and_(column.is_not(None), column.in_(_values(leaf)))

    def _json(self, document: Sql, key: str | None, leaf: Leaf) -> Condition:
        return _has_value(self.dialect, document, key, lambda found: _json_test(self.dialect, found, leaf))

    def _id(self, name: Column, values: Sequence[Any]) -> Condition:
        if name is Column.RUN_ID:
            run = schema.memory_run.alias()
            return _any(
                select(literal(1))
                .where(
                    run.c.owner_id == self.memory.c.owner_id,
                    run.c.memory_no == self.memory.c.no,
                    run.c.run_id.in_(values),
                )
                .correlate(self.memory)
            )
        owner = schema.owner.alias()
        return self.memory.c.owner_id.in_(select(owner.c.id).where(owner.c[name.value].in_(values)))


def _has_value(
    dialect: _Dialect, document: Sql, key: str | None, test: Callable[[_Json], Condition]
) -> Condition:
    """Whether there is a value under `key` (for None: the document itself) and it meets the test."""
    if key is not None:
        row = dialect.members(document)
        return _any(select(literal(1)).select_from(row).where(row.c.key == key, test(dialect.value(row))))
    row = dialect.elements(literal("[") + document + literal("]"))
    return _any(select(literal(1)).select_from(row).where(test(dialect.value(row))))


def _any(query: Select[Any]) -> Condition:
    # SQLite 3.51.1 makes a join of a bare EXISTS and then gives a row once for each match.
    return exists(query).is_(true())


def _compare(op: Op, left: Sql, right: object) -> Condition:
    return typed(Condition, ORDERING[op](left, right))


def _text_test(dialect: _Dialect, text: Sql, leaf: Leaf) -> Condition:
    """A leaf on a string that is there."""
    if leaf.op in ORDERING:
        return _compare(leaf.op, dialect.by_code_point(text), leaf.value)
    if leaf.op is Op.CONTAINS:
        return dialect.position(text, str(leaf.value)) > 0
    if leaf.op is Op.ICONTAINS:
        folded = str(leaf.value).casefold()
        return dialect.position(dialect.folded(text, folded), folded) > 0
    return text.in_(_values(leaf))


def _json_test(dialect: _Dialect, found: _Json, leaf: Leaf) -> Condition:
    """A leaf on a JSON value that is there, as `filters.predicate` has it."""
    values = _values(leaf)
    in_text = (
        found.is_text & _text_test(dialect, found.text, leaf) if isinstance(leaf.value, str) else false()
    )
    if leaf.op is Op.EXISTS:
        return not_(found.is_any([None]))
    if leaf.op in ORDERING:
        return found.compares(leaf.op, leaf.value) if isinstance(leaf.value, int | float) else in_text
    if leaf.op is Op.EQ and isinstance(leaf.value, tuple):
        return found.is_list(leaf.value)
    if leaf.op is Op.ICONTAINS:
        folded = str(leaf.value).casefold()
        return in_text | found.has_element(
            lambda item: item.is_text & (dialect.folded(item.text, folded) == folded)
        )
    element = found.has_element(lambda item: item.is_any(values))
    return (in_text if leaf.op is Op.CONTAINS else found.is_any(values)) | element


def _values(leaf: Leaf) -> Sequence[Scalar | None]:
    return leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)


def _chain(join: Callable[..., Condition], parts: Sequence[Condition], empty: Condition) -> Condition:
    while len(parts) > LONGEST_CHAIN:
        groups = (parts[i : i + LONGEST_CHAIN] for i in range(0, len(parts), LONGEST_CHAIN))
        parts = [Grouping(join(*group)) for group in groups]
    return join(*parts) if parts else empty


# --- what differs between the databases ---------------------------------------------------------------------


class _Json(Protocol):
    """A JSON value in SQL. Every condition on it is true or false."""

    @property
    def is_text(self) -> Condition: ...

    @property
    def is_number(self) -> Condition: ...

    @property
    def text(self) -> Sql:
        """Its letters, if it is a string."""

    def is_any(self, values: Sequence[Scalar | None]) -> Condition:
        """Whether it is one of some strings, numbers, booleans and nulls."""

    def is_list(self, values: Sequence[Scalar | None]) -> Condition:
        """Whether it is the list of just these, in order."""

    def compares(self, op: Op, number: int | float) -> Condition:
        """Whether it is a number and compares so."""

    def has_element(self, test: Callable[[_Json], Condition]) -> Condition:
        """Whether it is a list with an element that meets the test."""


class _Dialect(Protocol):
    """What a database has to say about JSON and text."""

    def members(self, document: Sql) -> FromClause:
        """The rows (key, value) of a text that is a JSON object; of null, none."""

    def elements(self, document: Sql) -> FromClause:
        """The rows (value) of a text that is a JSON list; of null, none."""

    def value(self, row: FromClause) -> _Json:
        """The value of such a row."""

    def by_code_point(self, text: Sql) -> Sql:
        """The text, so that it is ordered by code point."""

    def position(self, text: Sql, part: str) -> Sql:
        """Where `part` first stands in the text, letter by letter; 0 for nowhere."""

    def folded(self, text: Sql, part: str) -> Sql:
        """The text, changed to have (or be) the case-folded `part` just if, case-folded, it has (or is)."""


@dataclass(frozen=True, slots=True)
class _SqliteJson:
    """A row of json_each, whose `type` tells true from 1 and a string from a number."""

    row: FromClause

    @property
    def is_text(self) -> Condition:
        return self.row.c.type == "text"

    @property
    def text(self) -> Sql:
        return self.row.c.value

    def is_any(self, values: Sequence[Scalar | None]) -> Condition:
        words = [_to_json(value) for value in values if value is None or isinstance(value, bool)]
        texts = [value for value in values if isinstance(value, str)]
        numbers = [as_number(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        tests: list[Condition] = [self.row.c.type.in_(words)] if words else []
        if texts:
            tests.append(and_(self.is_text, self.row.c.value.in_(texts)))
        # Apart, because SQLAlchemy binds a whole list by the type of its first item: integers would be rounded.
        for kind in (int, float):
            alike = [number for number in numbers if type(number) is kind]
            if alike:
                tests.append(and_(self.is_number, self.row.c.value.in_(alike)))
        return or_(false(), *tests)

    def is_list(self, values: Sequence[Scalar | None]) -> Condition:
        mine, wanted = _each(self._elements), _each(literal(_to_json(values)))
        numbers = and_(_SqliteJson(mine).is_number, _SqliteJson(wanted).is_number)
        same = and_(
            mine.c.key == wanted.c.key,
            or_(mine.c.type == wanted.c.type, numbers),
            mine.c.value.is_not_distinct_from(wanted.c.value),
        )
        agreeing = select(func.count()).select_from(mine.join(wanted, same)).scalar_subquery()
        size = len(values)
        length = func.json_array_length(self._elements)
        return and_(self.row.c.type == "array", length == size, agreeing == size)

    def compares(self, op: Op, number: int | float) -> Condition:
        return and_(self.is_number, _compare(op, self.row.c.value, as_number(number)))

    def has_element(self, test: Callable[[_Json], Condition]) -> Condition:
        row = _each(self._elements)
        return _any(select(literal(1)).select_from(row).where(test(_SqliteJson(row))))

    @property
    def is_number(self) -> Condition:
        return self.row.c.type.in_(("integer", "real"))

    @property
    def _elements(self) -> Sql:
        return case((self.row.c.type == "array", self.row.c.value), else_="[]")


class _Sqlite:
    def members(self, document: Sql) -> FromClause:
        return _each(document)

    def elements(self, document: Sql) -> FromClause:
        return _each(document)

    def value(self, row: FromClause) -> _Json:
        return _SqliteJson(row)

    def by_code_point(self, text: Sql) -> Sql:
        return text

    def position(self, text: Sql, part: str) -> Sql:
        return func.instr(text, part)

    def folded(self, text: Sql, part: str) -> Sql:  # noqa: ARG002
        return func.mnemic_casefold(text)


def _each(document: Sql) -> FromClause:
    return func.json_each(document).table_valued("key", "value", "type").alias()


@dataclass(frozen=True, slots=True)
class _PostgresJson:
    """A jsonb value. jsonb compares as the law does, but for the order of strings, which is the locale's."""

    value: Sql

    @property
    def is_text(self) -> Condition:
        return func.jsonb_typeof(self.value) == "string"

    @property
    def is_number(self) -> Condition:
        return func.jsonb_typeof(self.value) == "number"

    @property
    def text(self) -> Sql:
        return self.value.op("#>>", return_type=Text())(literal_column("'{}'::text[]"))

    def is_any(self, values: Sequence[Scalar | None]) -> Condition:
        return self.value.in_([_jsonb(value) for value in values])

    def is_list(self, values: Sequence[Scalar | None]) -> Condition:
        return self.value == _jsonb(values)

    def compares(self, op: Op, number: int | float) -> Condition:
        return and_(self.is_number, _compare(op, self.value, _jsonb(number)))

    def has_element(self, test: Callable[[_Json], Condition]) -> Condition:
        elements = case((func.jsonb_typeof(self.value) == "array", self.value), else_=_jsonb([]))
        row = _elements(elements)
        return _any(select(literal(1)).select_from(row).where(test(_PostgresJson(row.c.value))))


class _Postgres:
    def members(self, document: Sql) -> FromClause:
        pairs = func.jsonb_each(cast(document, JSONB))
        return pairs.table_valued(SqlColumn("key", Text), SqlColumn("value", JSONB)).alias()

    def elements(self, document: Sql) -> FromClause:
        return _elements(cast(document, JSONB))

    def value(self, row: FromClause) -> _Json:
        return _PostgresJson(row.c.value)

    def by_code_point(self, text: Sql) -> Sql:
        return text.collate("C")

    def position(self, text: Sql, part: str) -> Sql:
        return func.strpos(text, part)

    def folded(self, text: Sql, part: str) -> Sql:
        # lower() goes by the server's locale, so the letters that fold into those of `part` are given to it.
        singles = [(char, fold) for char, fold in _folds() if len(fold) == 1 and fold in part]
        for char, fold in _folds():
            if len(fold) > 1 and not set(fold).isdisjoint(part):
                text = func.replace(text, char, fold)
        return func.translate(
            text, "".join(char for char, _ in singles), "".join(fold for _, fold in singles)
        )


@lru_cache(maxsize=1)
def _folds() -> tuple[tuple[str, str], ...]:
    """Every letter that case folding changes, with what it becomes."""
    letters = ((char, char.casefold()) for char in map(chr, range(sys.maxunicode + 1)))
    return tuple((char, fold) for char, fold in letters if char != fold)


def _elements(array: Sql) -> FromClause:
    return func.jsonb_array_elements(array).table_valued(SqlColumn("value", JSONB)).alias()


def _jsonb(value: object) -> Sql:
    return cast(literal(_to_json(value), Text), JSONB)


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dialect(name: str) -> _Dialect:
    known: dict[str, _Dialect] = {"sqlite": _Sqlite(), "postgresql": _Postgres()}
    if name not in known:
        raise ConfigError(f"store: no filters for the database {name!r}; known are {', '.join(known)}.")
    return known[name]
