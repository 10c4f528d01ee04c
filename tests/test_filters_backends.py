"""The masks and the SQL give what the reference evaluator gives, for any filter on any memories."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, and_, create_engine, event, select

from mnemic.errors import FilterError
from mnemic.filter_masks import NULL_INSTANT, Coded, Mask, mask
from mnemic.filters import (
    Column,
    FilterRecord,
    Leaf,
    Metadata,
    Node,
    Op,
    matches,
    parse,
    predicate,
    type_fault,
)
from mnemic.filters import select as law
from mnemic.store import schema as s
from mnemic.store.filter_sql import condition, guard_condition
from raw_stores import PostgresServer

KEYS = (
    *("price", "名前", "ключ", "", " ", "text", "user_id", "metadata.x", "$and", "AND", "😀"),
    *(
        'a"b',
        "a.b",
        "a' OR 1=1 --",
        'a") or ("1',
        "back\\slash",
        "new\nline",
        "%",
        "$.a[0]",
        "[0]",
        "é",
        "e\u0301",
    ),
)
TEXTS = (
    *("", "a", "A", "abc", "5", "true", "null", "[1]", "100%", "_", "\\", '"', "'", '") or true or ("'),
    *(
        "straße",
        "STRASSE",
        "ß",
        "ss",
        "ẞ",
        "ﬁn",
        "İstanbul",
        "i\u0307",
        "Ελλάς",
        "ΕΛΛΆΣ",
        "東京",
        "हिन्दी",
        "😀 né\nO",
    ),
    *("ſ", "K", "k", "\U00010400", "\U00010428", "\uffff", "\U00010000", "ab\u200d", "%a_"),
)
NUMBERS = (
    0,
    -0.0,
    1,
    1.0,
    5,
    5.0,
    5.5,
    -3,
    0.1,
    1e-9,
    1e300,
    2**53,
    2**53 + 1,
    float(2**53),
    2**63 - 1,
    -(2**63),
)
HUGE = (2**63, 2**63 + 1, -(2**70), 10**300, 1e19, -(10**300), 1e300)
INSTANTS = (-1, 0, 1_720_000_000_000_000, 1_720_000_000_000_001, 1_719_792_000_000_000, 1_722_470_399_999_999)
TIMES = (
    "2024-07",
    "2024-07-01",
    "2024-07-03T09:46:40Z",
    "2024-07-03T11:46:40+02:00",
    1_720_000_000,
    0,
    "1970",
)
DAYS = ("2024-07-01", "2023-12-31", "0999-01-01")
USERS = ("ana", "李", "o'brien")
RUNS = ("r1", "r2")

texts = st.sampled_from(TEXTS) | st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=5
)
numbers = (
    st.sampled_from(NUMBERS) | st.integers(-9, 9) | st.floats(width=32, allow_nan=False, allow_infinity=False)
)


@dataclass(frozen=True)
class World:
    """Some memories and a filter about the same few keys and values, so that they meet often."""

    rows: list[FilterRecord]
    filters: dict[str, Any]


@st.composite
def worlds(draw: st.DrawFn, scalars: st.SearchStrategy[Any]) -> World:
    keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2))
    pool = draw(st.lists(scalars, min_size=2, max_size=5))
    maker = Maker(draw, keys, pool)
    rows = [maker.record(f"id-{i}") for i in range(draw(st.integers(3, 6)))]
    return World(rows, maker.filters(3))


class Maker:
    """Draws memories and filters over some keys and a pool of values."""

    def __init__(self, draw: st.DrawFn, keys: list[str], pool: list[Any]) -> None:
        self.draw = draw
        self.keys = keys
        self.pool = pool
        self.strings = [value for value in pool if isinstance(value, str)] or ["a", "ß"]

    def one_of(self, values: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(values))

    def some(self, values: Sequence[Any], at_least: int = 0) -> list[Any]:
        return self.draw(st.lists(st.sampled_from(values), min_size=at_least, max_size=3))

    def record(self, uid: str) -> FilterRecord:
        return FilterRecord(
            id=uid,
            text=self.one_of(self.strings),
            kind=self.one_of(("fact", "message")),
            created_at=self.one_of(INSTANTS),
            updated_at=self.one_of(INSTANTS),
            user_id=self.one_of(USERS),
            agent_id=self.one_of(("", "bot")),
            run_id=tuple(sorted(set(self.some(RUNS)))),
            categories=tuple(self.some(self.strings)) or None,
            valid_from=self.one_of((None, *INSTANTS)),
            valid_to=self.one_of((None, *INSTANTS)),
            expiration_date=self.one_of((None, *DAYS)),
            role=self.one_of((None, *self.strings)),
            actor_id=self.one_of((None, *self.strings)),
            attributed_to=self.one_of((None, *self.strings)),
            metadata={key: self.stored() for key in self.keys if self.one_of((True, True, True, False))},
        )

    def stored(self) -> Any:
        form = self.one_of(("pool", "pool", "pool", "null", "list", "list", "dict"))
        if form == "pool":
            return self.one_of(self.pool)
        if form == "list":
            nested: list[Any] = [[self.pool[0]], {self.keys[0]: self.pool[0]}, None]
            return self.some([*self.pool, *self.pool, *nested])
        return None if form == "null" else {self.keys[0]: self.one_of(self.pool)}

    def filters(self, depth: int) -> dict[str, Any]:
        form = self.one_of(("leaf", "leaf", "leaf", "AND", "$or", "NOT") if depth else ("leaf",))
        if form == "leaf":
            return self.leaf()
        parts = [self.filters(depth - 1) for _ in range(self.draw(st.integers(0 if form == "AND" else 1, 3)))]
        return {form: parts if form == "AND" else [part for part in parts if weighty(part)] or [self.leaf()]}

    def leaf(self) -> dict[str, Any]:
        if self.one_of((True, True, False)):
            keys = set(self.some(self.keys, at_least=1))
            return {
                "metadata." + key: self.test(self.pool, ("order", "parts", "whole")) for key in sorted(keys)
            }
        name = self.one_of([column.value for column in Column])
        match name:
            case "user_id" | "agent_id" | "app_id" | "run_id":
                ids = {"user_id": USERS, "run_id": RUNS}.get(name, ("bot",))
                return {name: self.one_of((self.one_of(ids), self.some(ids)))}
            case "created_at" | "updated_at" | "valid_from" | "valid_to":
                return {name: self.test(TIMES, ("order",))}
            case "expiration_date":
                return {name: self.test(DAYS, ("order",))}
            case "categories":
                return {name: self.test(self.strings, ("parts", "whole"))}
            case "kind":
                return {name: self.test(("fact", "message", "procedure"), ())}
            case _:
                return {name: self.test([*self.strings, "id-1"], ("order", "parts"))}

    def test(self, values: Sequence[Any], also: tuple[str, ...]) -> Any:
        """What can stand behind a key: a bare value or operators."""
        value, maybe = self.one_of(values), self.one_of((*values, None))
        match self.one_of(("bare", "eq", "ne", "in", "nin", "exists", *also, *also)):
            case "bare":
                return self.one_of((value, "*", None))
            case "eq":
                return {"eq": maybe}
            case "ne":
                return {"ne": maybe}
            case "in":
                return self.some([*values, None])
            case "nin":
                return {"nin": self.some([*values, None])}
            case "exists":
                return {"exists": self.one_of((True, False))}
            case "order":
                bounds = [bound for bound in values if not isinstance(bound, bool)] or ["x"]
                return {op: self.one_of(bounds) for op in self.some(("gt", "gte", "lt", "lte"), at_least=1)}
            case "parts":
                piece = self.one_of([value, value[1:], value[-1:]]) if isinstance(value, str) else value
                letters = piece if isinstance(piece, str) else "S"
                return self.one_of(
                    ({"contains": piece}, {"icontains": letters}, {"icontains": letters.swapcase()})
                )
            case _:
                return {"eq": self.some([*values, None])}


def weighty(filters: dict[str, Any]) -> bool:
    """Not an empty AND, which OR and NOT refuse."""
    return any(weighty(part) for part in filters["AND"]) if "AND" in filters else True


class View:
    """A `ColumnView` over records."""

    def __init__(self, rows: list[FilterRecord], live: Mask | None = None) -> None:
        self.rows = rows
        self.n = len(rows)
        self.live = np.ones(self.n, dtype=np.bool_) if live is None else live

    def column(self, name: str) -> Any:
        values = [getattr(row, name) for row in self.rows]
        return np.array([NULL_INSTANT if v is None else v for v in values], dtype=np.int64)

    def coded(self, name: str) -> Coded:
        return self._coded([getattr(row, name) for row in self.rows])

    def metadata_key(self, key: str) -> Coded:
        return self._coded([row.metadata.get(key) for row in self.rows])

    def runs(self, run_id: str) -> Mask:
        return np.array([run_id in row.run_id for row in self.rows], dtype=np.bool_)

    def text_rows(self, leaf: Leaf) -> Mask:
        return np.array([predicate(leaf)(row.text) for row in self.rows], dtype=np.bool_)

    def _coded(self, values: list[Any]) -> Coded:
        """Codes from the back, with a value that no row uses and a null that has a code."""
        distinct: list[Any] = [{"no": "row"}, None]
        codes = []
        for value in values:
            same = [i for i, known in enumerate(distinct) if i and repr(known) == repr(value)]
            if not same:
                distinct.append(value)
            codes.append(same[0] if same else len(distinct) - 1)
        return Coded(np.array(codes, dtype=np.int32), distinct)


@pytest.fixture(scope="session")
def sqlite() -> Iterator[Connection]:
    with connected(create_engine("sqlite://")) as open_connection:
        yield open_connection


# Not by module: a worker may come back to this file, and the schema is there already.
@pytest.fixture(scope="session")
def postgresql(postgres: PostgresServer) -> Iterator[Connection]:
    engine = create_engine("postgresql+psycopg://", creator=postgres.connection_in("filters"))
    with connected(engine) as open_connection:
        yield open_connection


@pytest.fixture
def both(sqlite: Connection, postgresql: Connection) -> list[Connection]:
    """For examples that cost more to make up than to ask for."""
    return [sqlite, postgresql]


@pytest.fixture(params=["sqlite", "postgresql"])
def connection(request: pytest.FixtureRequest) -> Connection:
    return request.getfixturevalue(request.param)


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """A connection to a database with the tables of a store."""

    @event.listens_for(engine, "connect")
    def _(raw: Any, _record: Any) -> None:
        if isinstance(raw, sqlite3.Connection):
            raw.create_function(
                "mnemic_casefold", 1, lambda text: text and text.casefold(), deterministic=True
            )

    s.tables.create_all(engine)
    with engine.connect() as open_connection:
        yield open_connection
    engine.dispose()


def fill(tx: Connection, rows: list[FilterRecord]) -> None:
    tx.rollback()
    names = ("user_id", "agent_id", "app_id")
    owners = {key: i for i, key in enumerate({(r.user_id, r.agent_id, r.app_id) for r in rows}, start=1)}
    who = [{"id": i, **dict(zip(names, key, strict=True))} for key, i in owners.items()]
    tx.execute(s.owner.insert().values(tenant="t", seq=0, created_at=0), who)
    episode = {"no": 0, "run_id": "", "observed_at": 0, "created_at": 0, "trace_id": "t"}
    tx.execute(s.episode.insert(), [{**episode, "owner_id": i} for i in owners.values()])
    placed = [(owners[r.user_id, r.agent_id, r.app_id], no, r) for no, r in enumerate(rows, start=1)]
    tx.execute(s.memory.insert(), [_memory(*one) for one in placed])
    tx.execute(s.version.insert(), [_version(*one) for one in placed])
    labels = [(owner, no, run_id) for owner, no, r in placed for run_id in r.run_id or ("",)]
    tx.execute(
        s.memory_run.insert(),
        [dict(zip(("owner_id", "memory_no", "run_id"), one, strict=True)) for one in labels],
    )


def _memory(owner: int, no: int, row: FilterRecord) -> dict[str, Any]:
    same = {name: getattr(row, name) for name in ("kind", "role", "actor_id", "attributed_to", "created_at")}
    return {"owner_id": owner, "no": no, "uid": row.id, "episode_no": 0, "position": no, **same}


def _version(owner: int, no: int, row: FilterRecord) -> dict[str, Any]:
    return {
        "owner_id": owner,
        "no": no,
        "memory_no": no,
        "number": 1,
        "text": row.text,
        "metadata": _json(row.metadata),
        "categories": _json(row.categories),
        "event_date": "",
        "observed_at": 0,
        "valid_from": row.valid_from,
        "valid_to": row.valid_to,
        "expires_on": row.expiration_date,
        "tx_from": row.updated_at,
        "extractor": "given",
    }


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if value else None


JOINED = s.version.join(
    s.memory, and_(s.memory.c.owner_id == s.version.c.owner_id, s.memory.c.no == s.version.c.memory_no)
)
ROWS = select(s.memory.c.uid, s.version.c.metadata).select_from(
    JOINED.join(s.owner, s.owner.c.id == s.memory.c.owner_id)
)


def sql_ids(tx: Connection, node: Node) -> list[str]:
    """The ids that SQL finds, or the error of the first row of a wrong type."""
    dialect = tx.dialect.name
    odd = guard_condition(node, dialect)
    row = None if odd is None else tx.execute(ROWS.where(odd).limit(1)).first()
    if row is not None:
        fault = type_fault(node, row.uid, json.loads(row.metadata))
        assert fault is not None
        raise fault
    return sorted(tx.execute(ROWS.where(condition(node, dialect))).scalars())


def mask_ids(rows: list[FilterRecord], node: Node) -> list[str]:
    view = View(rows)
    return [rows[i].id for i in np.flatnonzero(mask(node, view, view.text_rows))]


def outcome(find: Any, *given: Any) -> list[str] | str:
    try:
        return find(*given)
    except FilterError as fault:
        return "wrong type: " + fault.details["key"]


def check_agreement(databases: Sequence[Connection], rows: list[FilterRecord], node: Node) -> None:
    # Several rows may be of a wrong type: which is named is not promised, so the errors are compared by name.
    by_law = outcome(lambda: [row.id for row in law(node, rows)])
    found = [outcome(mask_ids, rows, node)]
    for tx in databases:
        fill(tx, rows)
        found.append(outcome(sql_ids, tx, node))
    if isinstance(by_law, str):
        assert [type(one) for one in found] == [str] * len(found)
    else:
        assert found == [by_law] * len(found)


QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@QUICK
@given(world=worlds(texts | numbers | st.booleans()))
def test_masks_and_sql_agree_with_the_law(both: list[Connection], world: World) -> None:
    check_agreement(both, world.rows, parse(world.filters, UTC))


@QUICK
@given(world=worlds(numbers))
def test_numbers_agree(both: list[Connection], world: World) -> None:
    check_agreement(both, world.rows, parse(world.filters, UTC))


@QUICK
@given(world=worlds(st.sampled_from(NUMBERS + HUGE)))
def test_numbers_beyond_64_bits_agree_on_sqlite(sqlite: Connection, world: World) -> None:
    check_agreement([sqlite], world.rows, parse(world.filters, UTC))


@QUICK
@given(world=worlds(texts))
def test_strings_of_all_scripts_agree(both: list[Connection], world: World) -> None:
    check_agreement(both, world.rows, parse(world.filters, UTC))


@QUICK
@given(data=st.data())
def test_not_is_the_complement_or_the_union_and_the_intersection(data: st.DataObject) -> None:
    world = data.draw(worlds(texts | numbers))
    a = world.filters
    b = {f"metadata.{key}": value for row in world.rows[:1] for key, value in row.metadata.items()}
    b = {key: value for key, value in b.items() if not isinstance(value, list | dict)}
    assume(weighty(a) and b)
    assume(all(not isinstance(outcome(mask_ids, world.rows, parse({"NOT": x}, UTC)), str) for x in (a, b)))
    ids = {row.id for row in world.rows}

    def found(filters: Any) -> set[str]:
        return set(mask_ids(world.rows, parse(filters, UTC)))

    of_a, of_b = found(a), found(b)
    assert found({"NOT": [a]}) == found({"NOT": a}) == ids - of_a
    assert found({"NOT": [a, b]}) == ids - of_a - of_b
    assert found({"OR": [a, b]}) == of_a | of_b
    assert found({"AND": [a, b]}) == of_a & of_b
    assert found({"NOT": [{"NOT": [a]}]}) == of_a


def record(number: int, **fields: Any) -> FilterRecord:
    whole: dict[str, Any] = {"text": f"memory {number}", "kind": "fact", "created_at": 0, "updated_at": 0}
    return FilterRecord(**{"id": f"id-{number:04}", **whole, **fields})


def test_many_distinct_values_take_the_short_ways_to_the_same_rows(connection: Connection) -> None:
    big: list[Any] = [2**53 + i for i in range(4)] + [float(2**53), 1e300]
    columns = {
        "int": [*range(300)],
        "float": [i / 7 for i in range(300)],
        "mixed": [i if i % 2 else i / 4 for i in range(300)],
        "large": [*range(300 - len(big)), *big],
        "text": [f"名 {i % 290}" for i in range(300)],
        "huge": [10**400 if i == 7 else i for i in range(300)],
    }
    rows = [record(i, metadata={key: values[i] for key, values in columns.items()}) for i in range(300)]
    fill(connection, rows)
    tried: list[dict[str, Any]] = [{"metadata.text": "名 3"}, {"metadata.text": ["名 3", "名 4", 5]}]
    tried += [
        {"metadata.text": {"ne": "名 3"}},
        {"metadata.text": {"eq": ["名 3"]}},
        {"metadata.text": {"gt": "名 3"}},
    ]
    for key in ("int", "float", "mixed", "large", "huge"):
        for bound in (7, 7.25, 2**53 + 1, float(2**53), 2**62, 10**300):
            tried += [{f"metadata.{key}": {op: bound}} for op in ("gt", "lte")]
    for filters in tried:
        node = parse(filters, UTC)
        expected = [row.id for row in law(node, rows)]
        assert mask_ids(rows, node) == expected, filters
        assert sql_ids(connection, node) == expected, filters


def test_the_widest_and_deepest_filters_work_in_sql(connection: Connection) -> None:
    rows = [record(i, metadata={"n": i}, categories=("x",)) for i in range(30)]
    fill(connection, rows)
    wide = {"OR": [{"n": {"gte": i, "lte": i}} for i in range(20, 320)]}
    assert sql_ids(connection, parse(wide, UTC)) == [f"id-{i:04}" for i in range(20, 30)]
    deep: dict[str, Any] = {"n": 3}
    for _ in range(30):
        deep = {"NOT": [deep, {"n": 4}]}
    node = parse(deep, UTC)
    assert sql_ids(connection, node) == mask_ids(rows, node) == [row.id for row in law(node, rows)]
    listed = {"n": [*range(25, 10_020)], "NOT": {"categories": {"contains": "y"}}}
    assert sql_ids(connection, parse(listed, UTC)) == [f"id-{i:04}" for i in range(25, 30)]


def test_rows_that_do_not_count_are_not_looked_at_for_types() -> None:
    rows = [record(1, metadata={"price": "cheap"}), record(2, metadata={"price": 5})]
    node = parse({"price": {"gt": 1}}, UTC)
    with pytest.raises(FilterError, match="id-0001"):
        mask_ids(rows, node)
    view = View(rows, live=np.array([False, True]))
    assert mask(node, view, view.text_rows).tolist()[1]
    view = View(rows)
    assert mask(node, view, view.text_rows, among=np.array([False, True])).tolist()[1]


def test_a_run_demanded_at_the_top_bounds_what_is_looked_at_for_types(both: list[Connection]) -> None:
    rows = [
        record(1, metadata={"price": "cheap"}, run_id=("r1",)),
        record(2, metadata={"price": 5}, run_id=("r2",)),
    ]
    inside, outside = {"price": {"gt": 1}, "run_id": "r2"}, {"OR": [{"price": {"gt": 1}}, {"run_id": "r2"}]}
    check_agreement(both, rows, parse(inside, UTC))
    assert mask_ids(rows, parse(inside, UTC)) == ["id-0002"]
    check_agreement(both, rows, parse(outside, UTC))
    with pytest.raises(FilterError, match="price: memory id-0001 has a value of type string"):
        mask_ids(rows, parse(outside, UTC))


def test_a_row_that_matches_twice_comes_once(connection: Connection) -> None:
    rows = [record(1, user_id="a", run_id=("r1", "r2"), metadata={"k": [1, 1, 2]}), record(2, user_id="a")]
    fill(connection, rows)
    for filters in ({"run_id": ["r1", "r2"]}, {"k": [1, 2]}, {"k": {"contains": 1}, "run_id": ["r1", "r2"]}):
        assert sql_ids(connection, parse(filters, UTC)) == ["id-0001"]


def test_a_list_of_integers_and_floats_rounds_none(both: list[Connection]) -> None:
    rows = [record(i, metadata={"n": number}) for i, number in enumerate((2**53, 2**53 + 1, 0.5, 0))]
    for listed in ([0.0, 2**53 + 1], [2**53 + 1, 0.5], [0, 0.5]):
        check_agreement(both, rows, parse({"n": listed}, UTC))
        check_agreement(both, rows, parse({"n": {"eq": listed}}, UTC))


@QUICK
@given(text=texts, part=texts)
@example(text="Maß", part="S")
@example(text="ﬃ", part="fi")
@example(text="ΌΣΟΣ", part="όσος")
def test_icontains_is_by_case_folding(both: list[Connection], text: str, part: str) -> None:
    rows = [record(1, text=text, metadata={"k": text}), record(2, metadata={"k": [text, "x"]})]
    leaf = Leaf(Metadata("k"), Op.ICONTAINS, part)
    assert matches(leaf, rows[0]) == (part.casefold() in text.casefold())
    assert matches(leaf, rows[1]) == (part.casefold() in (text.casefold(), "x"))
    check_agreement(both, rows, leaf)
    check_agreement(both, rows, Leaf(Column.TEXT, Op.ICONTAINS, part))


def test_keys_and_values_of_an_attacker_find_nothing_and_break_nothing(connection: Connection) -> None:
    rows = [record(1, metadata={"a": "x"}), record(2, text="'); DROP TABLE memory;--", metadata={"a": "y"})]
    fill(connection, rows)
    for filters in (
        {"a' OR 1=1 --": "x"},
        {'a") or ("1': "*"},
        {"metadata.a' OR 1=1 --": {"exists": True}},
        {"a": '") or true or ("'},
        {"a": {"contains": "%"}},
        {"a": {"icontains": "_"}},
        {"text": {"contains": "' OR '1'='1"}},
    ):
        assert sql_ids(connection, parse(filters, UTC)) == []
    assert sql_ids(connection, parse({"text": "'); DROP TABLE memory;--"}, UTC)) == ["id-0002"]
