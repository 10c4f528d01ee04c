"""Filters (2.6) and scopes (2.5), hostile keys and values (2.32), through every verb that takes them."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import RowCounts
from mnemic import FilterError, Memory, ValidationError

PRICES = (5, 15, 25)


@pytest.fixture
def shop(m: Memory) -> Memory:
    """Three memories of u1 that differ in their price."""
    for price in PRICES:
        m.add(f"item at {price} 价格", user_id="u1", infer=False, metadata={"price": price})
    return m


def by_verb(m: Memory, filters: dict[str, Any]) -> dict[str, set[int]]:
    """The prices that each verb finds."""
    price_of = {item["id"]: item["metadata"]["price"] for item in m.get_all(user_id="u1")["results"]}
    found = {
        "search": m.search("item 价格", user_id="u1", filters=filters)["results"],
        "get_all": m.get_all(user_id="u1", filters=filters)["results"],
    }
    prices = {verb: {price_of[item["id"]] for item in items} for verb, items in found.items()}
    dry = m.delete_all(user_id="u1", filters=filters, dry_run=True)["would_delete"]
    return {**prices, "delete_all": {price_of[uid] for uid in dry}}


@pytest.mark.parametrize(
    ("filters", "prices"),
    [
        ({"AND": [{"price": {"gte": 10}}, {"price": {"lt": 20}}]}, {15}),
        ({"OR": [{"price": 5}, {"price": 25}]}, {5, 25}),
        ({"NOT": [{"price": 5}]}, {15, 25}),
        ({"price": {"gte": 10, "lt": 20}}, {15}),
        ({"AND": [{"OR": [{"price": 5}, {"price": 15}]}, {"OR": [{"price": 15}, {"price": 25}]}]}, {15}),
        ({"AND": [{"price": 5}, {"price": 25}]}, set()),
        ({"price": [5, 15]}, {5, 15}),
        ({"price": []}, set()),
        ({"price": {"in": []}}, set()),
        ({"price": {"nin": [5]}}, {15, 25}),
        ({"price": "*"}, {5, 15, 25}),
        ({"colour": "*"}, set()),
        ({"colour": {"ne": "red"}}, {5, 15, 25}),
        ({"price": {"ne": 5.0}}, {15, 25}),
        ({"text": {"icontains": "AT 15"}}, {15}),
        ({"created_at": {"gte": "2000-01-01"}}, {5, 15, 25}),
        ({"created_at": {"lt": "2000-01-01"}}, set()),
    ],
)
def test_a_filter_is_a_tree_and_the_same_for_every_verb(
    shop: Memory, filters: dict[str, Any], prices: set[int]
) -> None:
    assert by_verb(shop, filters) == {"search": prices, "get_all": prices, "delete_all": prices}


@pytest.mark.parametrize("verb", ["search", "get_all", "trash", "delete_all"])
def test_an_unknown_operator_is_an_error_that_names_it(shop: Memory, verb: str) -> None:
    query = ("item",) if verb == "search" else ()
    with pytest.raises(FilterError, match="near"):
        getattr(shop, verb)(*query, user_id="u1", filters={"price": {"near": 10}})
    assert shop.get_all(user_id="u1")["total"] == 3


@pytest.mark.parametrize("verb", ["search", "get_all", "delete_all"])
def test_a_comparison_across_types_is_an_error_and_deletes_nothing(shop: Memory, verb: str) -> None:
    shop.add("free", user_id="u1", infer=False, metadata={"price": "nothing"})
    query = ("item",) if verb == "search" else ()
    with pytest.raises(FilterError, match="price"):
        getattr(shop, verb)(*query, user_id="u1", filters={"price": {"gt": 10}})
    assert shop.get_all(user_id="u1")["total"] == 4


def test_the_filter_comes_before_the_limit(shop: Memory) -> None:
    shop.add(facts=[f"item number {i}" for i in range(60)], user_id="u1")
    [found] = shop.search("item", user_id="u1", filters={"price": 15}, top_k=1)["results"]
    assert found["metadata"] == {"price": 15}
    listed = shop.get_all(user_id="u1", filters={"price": {"gte": 15}}, top_k=1)
    assert (listed["total"], listed["truncated"]) == (2, True)


def test_instants_are_compared_whatever_their_offset(m: Memory) -> None:
    m.add(facts=[{"text": "a move", "valid_from": "2024-05-01T00:00:00Z"}], user_id="u1")
    for bound in ("2024-05-01T02:00:00+02:00", "2024-05-01T00:00:00Z", "2024-04-30T20:00:00-04:00"):
        assert m.get_all(user_id="u1", filters={"valid_from": {"gte": bound}})["total"] == 1
        assert m.get_all(user_id="u1", filters={"valid_from": {"gt": bound}})["total"] == 0


# --- odd rows do not spoil the others ---------------------------------------------------------------------

ODD = [
    {"price": 10**300},
    {"price": -(10**300)},
    {"price": 2**63},
    {"price": 1e308},
    {"price": 5e-324},
    {"price": None},
    {"": 1},
    {"price.x": 1, '"': 2, "$": 3, "a\\b": 4, "ключ 🔑": 5},
]


@pytest.mark.parametrize("metadata", ODD, ids=[str(next(iter(odd.items())))[:20] for odd in ODD])
def test_odd_metadata_of_one_row_leaves_filters_working(shop: Memory, metadata: dict[str, Any]) -> None:
    [odd] = shop.add("odd", user_id="u1", infer=False, metadata=metadata)["results"]
    assert shop.get(odd["id"])["metadata"] == metadata
    for filters in ({"price": {"gte": 10, "lt": 20}}, {"price": 15}, {"price": {"in": [15]}}):
        assert [i["metadata"] for i in shop.get_all(user_id="u1", filters=filters)["results"]] == [
            {"price": 15}
        ]
        found = shop.search("item odd", user_id="u1", filters=filters)["results"]
        assert [i["metadata"] for i in found] == [{"price": 15}]


# --- hostile keys and values (2.32) -----------------------------------------------------------------------

HOSTILE = [
    "a' OR 1=1 --",
    'a") or ("1',
    '") or true or ("',
    "'); DROP TABLE memory;--",
    "price' IS NOT NULL OR '1'='1",
    "$.price",
    "price') IS NOT NULL --",
    "%",
    "_",
    ":owner",
    "?1",
    "{0}",
    "a\\",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_keys_and_values_find_nothing_and_break_nothing(
    shop: Memory, row_counts: RowCounts, text: str
) -> None:
    before = row_counts()
    for filters in (
        {f"metadata.{text}": 1},
        {f"metadata.{text}": "*"},
        {f"metadata.{text}": {"gte": 0}},
        {"price": text},
        {"price": {"in": [text]}},
        {"price": {"contains": text}},
        {"text": {"contains": text}},
        {"text": {"icontains": text}},
        {"id": text},
        {f"metadata.{text}": text},
    ):
        assert by_verb(shop, filters) == {"search": set(), "get_all": set(), "delete_all": set()}
    assert row_counts() == before


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_keys_and_ids_come_back_letter_by_letter(m: Memory, text: str) -> None:
    user = text.replace(" ", "_")
    [added] = m.add(text, user_id=user, infer=False, metadata={text: text})["results"]
    assert m.get(added["id"])["memory"] == text
    assert m.get(added["id"])["metadata"] == {text: text}
    assert m.get(added["id"])["user_id"] == user
    assert [i["id"] for i in m.get_all(user_id=user, filters={f"metadata.{text}": text})["results"]] == [
        added["id"]
    ]
    assert [i["id"] for i in m.search(text, user_id=user)["results"]] == [added["id"]]
    m.update(added["id"], text=f"{text}!", actor=text, reason=text)
    assert m.history(added["id"])[-1]["reason"] == text
    assert m.get(text) is None
    assert m.history(text) == []


# --- scope (2.5) ------------------------------------------------------------------------------------------


def test_metadata_cannot_move_a_row_to_another_user(m: Memory) -> None:
    [figs] = m.add("Mara likes figs", user_id="u1", infer=False)["results"]
    [chess] = m.add("Mara likes chess", user_id="u2", infer=False)["results"]
    m.update(figs["id"], metadata={"user_id": "u2", "owner_id": 2, "tenant": "other"})
    assert m.get(figs["id"])["user_id"] == "u1"
    assert [r["id"] for r in m.search("Mara", user_id="u2")["results"]] == [chess["id"]]
    assert [r["id"] for r in m.get_all(user_id="u2")["results"]] == [chess["id"]]


def test_metadata_of_an_add_cannot_name_another_user(m: Memory) -> None:
    m.add("Mara likes figs", user_id="u1", infer=False, metadata={"user_id": "u2", "run_id": "r2"})
    assert m.get_all(user_id="u2")["total"] == 0
    assert m.get_all(run_id="r2")["total"] == 0
    assert m.get_all(user_id="u1")["total"] == 1


@pytest.mark.parametrize("verb", ["search", "get_all", "delete_all", "messages"])
@pytest.mark.parametrize("nobody", ["", " ", "\u3000", "*"])
def test_an_empty_or_wild_user_is_an_error_and_never_everyone(m: Memory, verb: str, nobody: str) -> None:
    m.add("Mara likes figs", user_id="u1", infer=False)
    query = ("Mara",) if verb == "search" else ()
    with pytest.raises(ValidationError, match="user_id"):
        getattr(m, verb)(*query, user_id=nobody)
    assert m.get_all(user_id="u1")["total"] == 1


@pytest.mark.parametrize("ids", [[], {"in": []}])
def test_an_empty_allow_list_gives_nothing(m: Memory, ids: Any) -> None:
    m.add("Mara likes figs", user_id="u1", infer=False)
    filters = {"user_id": ids}
    assert m.get_all(filters=filters)["total"] == 0
    assert m.search("Mara", filters=filters)["results"] == []
    assert m.delete_all(filters=filters)["deleted"] == 0
    assert m.get_all(user_id="u1")["total"] == 1


def test_a_union_of_users_is_asked_for_in_so_many_words(m: Memory) -> None:
    for user in ("u1", "u2", "u3"):
        m.add(f"Mara knows {user}", user_id=user, infer=False)
    for filters in ({"user_id": ["u1", "u3"]}, {"OR": [{"user_id": "u1"}, {"user_id": "u3"}]}):
        assert {i["user_id"] for i in m.get_all(filters=filters)["results"]} == {"u1", "u3"}
        assert {i["user_id"] for i in m.search("Mara", filters=filters)["results"]} == {"u1", "u3"}
    with pytest.raises(ValidationError):
        m.get_all(filters={"OR": [{"user_id": "u1"}, {"price": 5}]})


# --- runs and many ids -----------------------------------------------------------------------------------


RUNS: list[Any] = [
    {"run_id": ["r1", "r2"]},
    {"OR": [{"run_id": "r1"}, {"run_id": "r2"}]},
    {"OR": [{"price": 5}, {"run_id": "r1"}]},
]


@pytest.mark.parametrize("filters", RUNS, ids=str)
@pytest.mark.parametrize("verb", ["get_all", "trash", "delete_all"])
def test_several_runs_can_be_listed_and_deleted(m: Memory, verb: str, filters: Any) -> None:
    for run in ("r1", "r2"):
        m.add(f"said in {run}", user_id="u1", run_id=run, infer=False)
    m.add("said outside", user_id="u1", infer=False, metadata={"price": 5})
    result = getattr(m, verb)(user_id="u1", filters=filters)
    assert result.get("total", result.get("deleted")) == (0 if verb == "trash" else 2)


def test_a_union_of_scopes_with_runs_deletes_only_what_is_in_it(m: Memory) -> None:
    for run in ("r1", "r2"):
        m.add("shared", user_id="a", run_id=run, infer=False)
    union = {"OR": [{"AND": [{"user_id": "a"}, {"run_id": "r1"}]}, {"user_id": "b"}]}
    m.delete_all(filters=union)
    assert m.get_all(user_id="a", run_id="r2")["total"] == 1


def test_five_hundred_users_can_be_asked_for_at_once(m: Memory) -> None:
    m.add("hello", user_id="u1", infer=False)
    many = {"user_id": [f"u{i}" for i in range(500)]}
    assert m.get_all(filters=many)["total"] == 1
    assert len(m.search("hello", filters=many)["results"]) == 1


def test_six_hundred_conditions_are_accepted_everywhere_and_more_nowhere(m: Memory) -> None:
    many = {"OR": [{f"k{i}": i} for i in range(600)]}
    assert m.search("hello", user_id="u1", filters=many)["results"] == []
    assert m.get_all(user_id="u1", filters=many)["total"] == 0
    more = {"OR": [{f"k{i}": i} for i in range(601)]}
    for read in (
        lambda: m.search("hello", user_id="u1", filters=more),
        lambda: m.get_all(user_id="u1", filters=more),
    ):
        with pytest.raises(FilterError, match="at most 600"):
            read()
