"""What each form of a filter means, and which are errors: mem0's grammar as a tree."""

from __future__ import annotations

import enum
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from mnemic.clock import to_instant
from mnemic.errors import FilterError, ValidationError
from mnemic.filters import (
    EVERYTHING,
    MAX_DEPTH,
    MAX_LEAVES,
    MAX_VALUES,
    And,
    Column,
    FilterRecord,
    Guard,
    Leaf,
    Metadata,
    Not,
    Op,
    Or,
    guard_scope,
    parse,
    select,
    type_fault,
    type_guards,
)


def record(uid: str, metadata: dict[str, Any] | None = None, **columns: Any) -> FilterRecord:
    whole = {"text": f"text of {uid}", "kind": "fact", "created_at": 0, "updated_at": 0, **columns}
    return FilterRecord(id=uid, metadata=metadata or {}, **whole)


def found(filters: Any, records: list[FilterRecord], tz: Any = UTC) -> list[str]:
    return [row.id for row in select(parse(filters, tz), records)]


PRICES = [record(str(price), {"price": price}) for price in (5, 15, 25)]
MIXED = [
    record("food", {"k": "food"}),
    record("travel", {"k": "travel"}),
    record("both", {"k": ["food", "travel"]}),
    record("null", {"k": None}),
    record("none"),
]


def test_the_four_filters_of_the_fault_report() -> None:
    assert found({"AND": [{"price": {"gte": 10}}, {"price": {"lt": 20}}]}, PRICES) == ["15"]
    with pytest.raises(FilterError, match="unknown operator 'near'") as caught:
        parse({"price": {"near": 10}}, UTC)
    assert caught.value.details == {"key": "price", "operator": "near"}
    assert found({"OR": [{"price": 5}, {"price": 25}]}, PRICES) == ["5", "25"]
    assert found({"NOT": [{"price": 5}]}, PRICES) == ["15", "25"]


def test_conditions_on_one_key_in_an_and_all_hold() -> None:
    assert found({"AND": [{"k": "food"}, {"k": "travel"}]}, MIXED) == ["both"]
    assert found({"price": {"gte": 5, "lt": 20, "ne": 5}}, PRICES) == ["15"]


def test_or_and_not_nest_in_and_as_a_tree() -> None:
    filters = {
        "AND": [
            {"OR": [{"price": 5}, {"price": 15}]},
            {"OR": [{"price": 15}, {"price": 25}]},
            {"NOT": [{"price": {"gt": 20}}]},
        ]
    }
    assert found(filters, PRICES) == ["15"]
    assert found(
        {"OR": [{"AND": [{"price": 5}, {"price": 15}]}, {"NOT": {"price": {"lt": 20}}}]}, PRICES
    ) == ["25"]
    assert found({"$or": [{"$and": [{"price": 5}]}, {"$not": [{"price": {"lt": 20}}]}]}, PRICES) == [
        "5",
        "25",
    ]


def test_siblings_are_anded_and_nothing_means_everything() -> None:
    assert found({"price": {"gte": 10}, "text": {"contains": "25"}}, PRICES) == ["25"]
    assert (
        parse({}, UTC)
        == parse(None, UTC)
        == parse({"AND": []}, UTC)
        == parse({"AND": [{}]}, UTC)
        == EVERYTHING
    )
    assert found({}, PRICES) == ["5", "15", "25"]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("food", ["food", "both"]),
        (["food", "x"], ["food", "both"]),
        ("*", ["food", "travel", "both"]),
        ({"exists": True}, ["food", "travel", "both"]),
        ({"exists": False}, ["null", "none"]),
        (None, ["null", "none"]),
        ({"eq": None}, ["null", "none"]),
        ({"ne": None}, ["food", "travel", "both"]),
        ({"ne": "food"}, ["travel", "null", "none"]),
        ({"nin": ["food"]}, ["travel", "null", "none"]),
        ({"in": ["travel", None]}, ["travel", "both", "null", "none"]),
        ({"in": []}, []),
        ({"nin": []}, ["food", "travel", "both", "null", "none"]),
        ({"eq": ["food", "travel"]}, ["both"]),
        ({"eq": ["travel", "food"]}, []),
        ({"eq": "*"}, []),
        ({"contains": "oo"}, ["food"]),
        ({"contains": "food"}, ["food", "both"]),
        ({"icontains": "FOO"}, ["food"]),
        ({"icontains": "FOOD"}, ["food", "both"]),
    ],
)
def test_each_test_on_strings_lists_null_and_absence(test: Any, expected: list[str]) -> None:
    assert found({"k": test}, MIXED) == expected
    assert found({"NOT": [{"k": test}]}, MIXED) == [row.id for row in MIXED if row.id not in expected]


def test_values_are_compared_by_type_and_value() -> None:
    values = [5, 5.0, "5", True, 1, [1], [True], [[1]], {"a": 1}, False, 0, ""]
    rows = [record(str(i), {"k": value}) for i, value in enumerate(values)]
    assert found({"k": 5}, rows) == found({"k": 5.0}, rows) == ["0", "1"]
    assert found({"k": "5"}, rows) == ["2"]
    assert found({"k": True}, rows) == ["3", "6"]
    assert found({"k": 1}, rows) == ["4", "5"]
    assert found({"k": [False]}, rows) == ["9"]
    assert found({"k": {"eq": [1]}}, rows) == ["5"]
    assert found({"k": {"contains": 1}}, rows) == ["5"]
    assert found({"k": ""}, rows) == ["11"]


def test_contains_takes_wildcards_and_backslashes_literally() -> None:
    rows = [record(text, text=text) for text in ("100%", "1000", "a_b", "axb", "c\\d", "c/d")]
    assert found({"text": {"contains": "0%"}}, rows) == ["100%"]
    assert found({"text": {"contains": "a_b"}}, rows) == ["a_b"]
    assert found({"text": {"icontains": "C\\D"}}, rows) == ["c\\d"]
    assert found({"text": {"contains": ""}}, rows) == [row.id for row in rows]


def test_a_metadata_key_of_any_name_can_be_reached() -> None:
    for key in ("text", "user_id", "metadata.x", "AND", "$or", "", "a.b", "名前", "a' OR 1=1 --", "metadata"):
        rows = [record("has", {key: "v"}, text="v2"), record("not", text="v", user_id="v")]
        assert found({"metadata." + key: "v"}, rows) == ["has"], key
    assert parse({"memory": "x", "data": "y"}, UTC) == And(
        (Leaf(Metadata("memory"), Op.EQ, "x"), Leaf(Metadata("data"), Op.EQ, "y"))
    )


def test_strings_are_ordered_by_code_point() -> None:
    rows = [record(word, {"k": word}) for word in ("B", "a", "é", "z", "東", "\uffff", "😀")]
    assert found({"k": {"gt": "z"}}, rows) == ["é", "東", "\uffff", "😀"]
    assert found({"k": {"lt": "a"}}, rows) == ["B"]
    assert found({"k": {"gt": "東", "lt": "😀"}}, rows) == ["\uffff"]


def test_a_comparison_across_types_is_an_error_wherever_it_stands() -> None:
    rows = [
        record("a", {"price": 5}),
        record("b", {"price": "cheap"}),
        record("c", {"price": None}),
        record("d"),
    ]
    for filters in (
        {"price": {"gt": 1}},
        {"NOT": [{"price": {"lte": 1}}]},
        {"AND": [{"price": {"gt": 1}}, {"text": "no such"}]},
        {"OR": [{"id": "a"}, {"price": {"gt": 1}}]},
    ):
        with pytest.raises(
            FilterError, match=r"price: memory b has a value of type string.*with a number"
        ) as caught:
            found(filters, rows)
        assert caught.value.details["found"] == "string"
    assert found({"price": {"gt": 1}}, [rows[0], *rows[2:]]) == ["a"]
    for value, name in (([5], "list"), (True, "boolean"), ({"a": 1}, "object")):
        with pytest.raises(FilterError, match=f"of type {name}"):
            found({"price": {"gt": 1}}, [record("x", {"price": value})])
    with pytest.raises(FilterError, match="of type number there, which cannot be compared with a string"):
        found({"price": {"lt": "m"}}, rows)


def test_guards_name_each_key_once_and_are_bounded_by_the_ids_at_the_top() -> None:
    node = parse(
        {
            "AND": [
                {"run_id": "r"},
                {"p": {"gt": 1, "lt": 9.5}},
                {"OR": [{"q": {"lt": "x"}}, {"run_id": "s"}]},
            ]
        },
        UTC,
    )
    assert type_guards(node) == (Guard("p", "number"), Guard("q", "string"))
    assert guard_scope(node) == Leaf(Column.RUN_ID, Op.EQ, "r")
    assert type_fault(node, "m", {"p": 1, "q": None}) is None
    assert str(type_fault(node, "m", {"q": 2})).startswith("q: memory m has a value of type number")
    rows = [
        record("a", {"p": "odd"}, run_id=("other",)),
        record("b", {"p": 2, "q": "a"}, run_id=("r", "other")),
    ]
    assert [row.id for row in select(node, rows)] == ["b"]


NOON = datetime(2024, 7, 3, 12, tzinfo=UTC)


def times(*moments: datetime | None) -> list[FilterRecord]:
    return [record(str(i), valid_from=None if m is None else to_instant(m)) for i, m in enumerate(moments)]


def test_times_are_compared_as_instants_in_any_notation() -> None:
    rows = times(NOON - timedelta(microseconds=1), NOON, NOON + timedelta(microseconds=1), None)
    for noon in (
        *("2024-07-03T12:00:00Z", "2024-07-03T14:00:00+02:00", "2024-07-03T12:00:00"),
        *(NOON, NOON.replace(tzinfo=None), NOON.astimezone(ZoneInfo("Asia/Tokyo")), NOON.timestamp()),
    ):
        assert found({"valid_from": noon}, rows) == ["1"]
        assert found({"valid_from": {"ne": noon}}, rows) == ["0", "2", "3"]
        assert found({"valid_from": {"gt": noon}}, rows) == ["2"]
        assert found({"valid_from": {"gte": noon}}, rows) == ["1", "2"]
        assert found({"valid_from": {"lt": noon}}, rows) == ["0"]
        assert found({"valid_from": {"lte": noon}}, rows) == ["0", "1"]
        assert found({"valid_from": [noon, None]}, rows) == ["1", "3"]
    assert found({"valid_from": "2024-07-03T14:00:00"}, rows, ZoneInfo("Europe/Berlin")) == ["1"]
    assert found({"valid_from": None}, rows) == ["3"]
    assert found({"valid_from": "*"}, rows) == ["0", "1", "2"]
    assert found({"valid_from": []}, rows) == []


def test_a_day_a_month_or_a_year_is_its_whole_span() -> None:
    day = timedelta(days=1)
    first = datetime(2024, 7, 1, tzinfo=UTC)
    rows = times(
        first - timedelta(microseconds=1), first, datetime(2024, 7, 31, 23, 59, tzinfo=UTC), first + 31 * day
    )
    assert found({"valid_from": {"gte": "2024-07-01", "lte": "2024-07-31"}}, rows) == ["1", "2"]
    assert found({"valid_from": "2024-07"}, rows) == ["1", "2"]
    assert found({"valid_from": {"gt": "2024-07"}}, rows) == ["3"]
    assert found({"valid_from": {"lt": "2024-07"}}, rows) == ["0"]
    assert found({"valid_from": {"ne": date(2024, 7, 1)}}, rows) == ["0", "2", "3"]
    assert found({"valid_from": ["2024-07-01", "2024-07-31"]}, rows) == ["1", "2"]
    assert found({"valid_from": {"lte": "9999"}}, rows) == ["0", "1", "2", "3"]


def test_an_expiration_date_is_a_day() -> None:
    rows = [record("a", expiration_date="2024-07-01"), record("b", expiration_date="2024-12-31"), record("c")]
    assert found({"expiration_date": {"lte": date(2024, 7, 1)}}, rows) == ["a"]
    assert found({"expiration_date": {"gt": "2024-07-01"}}, rows) == ["b"]
    assert found({"expiration_date": ["2024-07-01", None]}, rows) == ["a", "c"]
    assert found({"expiration_date": {"exists": False}}, rows) == ["c"]
    with pytest.raises(FilterError, match="expiration_date must be a valid date in YYYY-MM-DD format"):
        parse({"expiration_date": "soon"}, UTC)


def test_categories_are_a_list() -> None:
    rows = [record("a", categories=("food", "travel")), record("b", categories=("food",)), record("c")]
    assert found({"categories": "travel"}, rows) == ["a"]
    assert found({"categories": ["travel", "food"]}, rows) == ["a", "b"]
    assert found({"categories": {"contains": "food"}}, rows) == ["a", "b"]
    assert found({"categories": {"icontains": "FOOD"}}, rows) == ["a", "b"]
    assert found({"categories": {"eq": ["food"]}}, rows) == ["b"]
    assert found({"categories": {"ne": "travel"}}, rows) == ["b", "c"]


class Colour(str, enum.Enum):  # noqa: UP042
    RED = "red"


def test_subclasses_of_json_types_become_plain_values() -> None:
    leaf = parse({"k": Colour.RED}, UTC)
    assert isinstance(leaf, Leaf)
    assert type(leaf.value) is str
    assert leaf.value == "red"
    assert parse({"k": {"eq": (1, "a")}}, UTC) == Leaf(Metadata("k"), Op.EQ, (1, "a"))


def test_negations_and_null_become_a_not_around_a_plain_test() -> None:
    k, exists = Metadata("k"), Leaf(Metadata("k"), Op.EXISTS)
    assert parse({"k": {"ne": 1}}, UTC) == Not(Leaf(k, Op.EQ, 1))
    assert parse({"k": {"nin": [1, None]}}, UTC) == Not(Or((Not(exists), Leaf(k, Op.IN, (1,)))))
    assert parse({"NOT": [{"k": 1}, {"k": 2}]}, UTC) == Not(Or((Leaf(k, Op.EQ, 1), Leaf(k, Op.EQ, 2))))


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ("price > 5", "filters must be a dict, not str"),
        ([{"a": 1}], "filters must be a dict, not list"),
        ({1: "x"}, "keys must be strings, not 1"),
        ({"a": {}}, "a: an empty dict has no operator"),
        ({"a": {"gte ": 1}}, r"a: unknown operator 'gte ' \(did you mean 'gte'\?\); accepted are eq, in, gt"),
        ({"a": {"$gt": 1}}, r"unknown operator '\$gt' \(did you mean 'gt'\?\)"),
        ({"a": {1: 1}}, "unknown operator 1"),
        ({"metadata": {"city": "Rome"}}, "unknown operator 'city'.*'metadata.city'"),
        ({"$nor": [{"a": 1}]}, r"'\$nor' is no operator here \(did you mean '\$or'\?\).*'metadata.\$nor'"),
        ({"OR": []}, "OR operator requires a non-empty list of conditions"),
        ({"NOT": []}, "NOT operator requires a non-empty list of conditions"),
        ({"AND": {"a": 1}}, "AND operator requires a list of conditions"),
        ({"OR": "x"}, "OR operator requires a non-empty list of conditions"),
        ({"OR": ["x"]}, "OR operator requires a list of dicts; 'x' is none"),
        ({"OR": [{"a": 1}, {}]}, "OR operator: an empty condition would match every memory"),
        ({"NOT": {}}, "NOT operator: an empty condition"),
        ({"NOT": [{"AND": []}]}, "NOT operator: an empty condition"),
        ({"a": float("nan")}, "a: eq accepts a string, a finite number or true/false, not nan"),
        ({"a": {"gt": float("inf")}}, "a: gt accepts a string or a number, not inf"),
        ({"a": {"gt": True}}, "a: gt accepts a string or a number, not True"),
        ({"a": {"gt": None}}, "a: gt accepts a string or a number, not None"),
        ({"a": {"gt": [1]}}, "a: gt accepts a string or a number"),
        ({"a": {"eq": {"b": 1}}}, "a: eq accepts"),
        ({"a": [[1]]}, "a: in accepts"),
        ({"a": {"in": "x"}}, "a: in accepts a list, not 'x'"),
        ({"a": {"exists": 1}}, "a: exists accepts true or false, not 1"),
        ({"a": {"contains": None}}, "a: contains accepts"),
        ({"a": {"icontains": 5}}, "a: icontains accepts a string, not 5"),
        ({"a": b"x"}, "a: eq accepts"),
        ({"a": 10**400}, "a: eq accepts a string, a finite number or true/false, not 1000"),
        pytest.param(
            {"role": [10**9_999]}, "role: in accepts a string, not a value of type int too long", id="long"
        ),
        ({"a": NOON}, "a: eq accepts"),
        ({"a": "x\0"}, r"U\+0000"),
        ({"a\0": "x"}, r"U\+0000"),
        ({"a": "\ud83d"}, "surrogate"),
        ({"role": 5}, "role: eq accepts a string, not 5"),
        ({"text": {"gt": 5}}, "text: gt accepts a string, not 5"),
        ({"text": {"eq": ["a"]}}, "text: eq accepts one value"),
        (
            {"kind": "facts"},
            r"kind: eq accepts one of fact, message, procedure \(did you mean 'fact'\?\), not 'facts'",
        ),
        ({"categories": {"gt": "a"}}, "categories: gt does not apply to a list"),
        ({"created_at": {"contains": "2024"}}, "created_at: contains does not apply to a time"),
        ({"created_at": "yesterday"}, "created_at must be an ISO 8601 time"),
        ({"created_at": True}, "created_at must be an ISO 8601 time"),
    ],
)
def test_what_is_not_understood_is_an_error_that_says_what_is(filters: Any, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        parse(filters, UTC)


def nested(levels: int) -> dict[str, Any]:
    filters: dict[str, Any] = {"a": 1}
    for _ in range(levels - 1):
        filters = {"NOT": [filters]}
    return filters


def test_depth_conditions_and_values_are_bounded() -> None:
    parse(nested(MAX_DEPTH), UTC)
    with pytest.raises(FilterError, match="deeper than 32"):
        parse(nested(MAX_DEPTH + 1), UTC)
    with pytest.raises(FilterError, match="deeper than 32"):
        parse(nested(5_000), UTC)
    parse({"OR": [{"a": i} for i in range(MAX_LEAVES)]}, UTC)
    with pytest.raises(FilterError, match="601 conditions; at most 600"):
        parse({"OR": [{"a": i} for i in range(MAX_LEAVES + 1)]}, UTC)
    with pytest.raises(FilterError, match="10001 values; at most 10000"):
        parse({"a": [0] * (MAX_VALUES + 1)}, UTC)


def test_a_filter_error_is_a_value_error_with_a_code() -> None:
    with pytest.raises(ValueError) as caught:
        parse({"a": {"near": 1}}, UTC)
    assert isinstance(caught.value, ValidationError)
    assert caught.value.error_code == "FILTER_001"


def test_the_last_day_is_the_same_as_a_date_and_as_text() -> None:
    assert parse({"created_at": {"lte": date.max}}, UTC) == parse({"created_at": {"lte": "9999-12-31"}}, UTC)
