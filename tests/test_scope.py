"""Whose memories a call is about: every way of not saying it is an error, and nothing widens silently."""

from __future__ import annotations

import itertools
from datetime import UTC
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.errors import FilterError, ScopeError
from mnemic.filters import EVERYTHING, Column, FilterRecord, Leaf, Metadata, Op, matches, parse
from mnemic.records import Owner
from mnemic.scope import ID_FIELDS, MAX_PATTERNS, Pattern, Scope, clean_id, read_scope, write_scope


def read(filters: Any = None, **ids: Any) -> tuple[Scope, Any]:
    return read_scope("t", ids, parse(filters, UTC))


def patterns(filters: Any = None, **ids: Any) -> tuple[Pattern, ...]:
    return read(filters, **ids)[0].patterns


# --- one id ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ("ana", "ana"),
        ("  ana\n", "ana"),
        (42, "42"),
        (-1, "-1"),
        ("李雷", "李雷"),
        ("o'brien; --", None),
        ("o'brien;--", "o'brien;--"),
        ("👩‍👩‍👧", "👩‍👩‍👧"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        ("x" * 512, "x" * 512),
    ],
)
def test_ids_are_trimmed_and_coerced(value: Any, clean: str | None) -> None:
    if clean is None:
        with pytest.raises(ScopeError, match="whitespace"):
            clean_id("user_id", value)
    else:
        assert clean_id("user_id", value) == clean


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "Invalid user_id: cannot be empty or whitespace-only. Provide a valid identifier."),
        (" \t\u3000", "Invalid user_id: cannot be empty or whitespace-only. Provide a valid identifier."),
        ("a b", "Invalid user_id: cannot contain whitespace. Provide a valid identifier without spaces."),
        (
            "a\u00a0b",
            "Invalid user_id: cannot contain whitespace. Provide a valid identifier without spaces.",
        ),
        ("a\0b", "Invalid user_id: cannot contain control characters or half a surrogate pair."),
        ("a\x7f", "Invalid user_id: cannot contain control characters or half a surrogate pair."),
        ("a\ud800", "Invalid user_id: cannot contain control characters or half a surrogate pair."),
        ("x" * 513, "Invalid user_id: cannot be longer than 512 characters."),
        (10**512, "Invalid user_id: cannot be longer than 512 characters."),
        pytest.param(10**100_000, "Invalid user_id: cannot be longer than 512 characters.", id="huge"),
        (True, "Invalid user_id: must be a string or an integer, not bool."),
        (1.5, "Invalid user_id: must be a string or an integer, not float."),
        (["ana"], "Invalid user_id: must be a string or an integer, not list."),
        ("*", "Invalid user_id: '*' names no one. Name the ids, or list them with 'in'."),
    ],
)
def test_bad_ids_are_refused_by_name(value: Any, message: str) -> None:
    for use in (
        lambda: clean_id("user_id", value),
        lambda: write_scope("t", {"user_id": value, "agent_id": "bot"}),
        lambda: read_scope("t", {"user_id": value, "agent_id": "bot"}),
    ):
        with pytest.raises(ScopeError) as caught:
            use()
        assert str(caught.value) == message
        assert caught.value.details == {"field": "user_id"}


# --- writing --------------------------------------------------------------------------------------------------


def test_an_add_is_for_one_owner_and_maybe_a_run() -> None:
    assert write_scope("t", {"user_id": " ana ", "run_id": 7}) == (Owner("t", user_id="ana"), "7")
    assert write_scope("t", {"app_id": "a", "agent_id": "b", "user_id": None}) == (
        Owner("t", agent_id="b", app_id="a"),
        "",
    )
    assert write_scope("t", {"run_id": "r"}) == (Owner("t"), "r")
    longest = dict.fromkeys(ID_FIELDS, "x" * 512)
    assert write_scope("t" * 512, longest)[0].app_id == "x" * 512
    with pytest.raises(ScopeError, match="user_id, app_id have 3,073 bytes together"):
        write_scope("t", {"user_id": "李" * 512, "app_id": "雷" * 512})


@pytest.mark.parametrize("ids", [{}, dict.fromkeys(ID_FIELDS)])
def test_no_id_at_all_is_mem0s_error(ids: dict[str, Any]) -> None:
    message = "At least one of 'user_id', 'agent_id', 'app_id' or 'run_id' must be provided."
    for use in (lambda: write_scope("t", ids), lambda: read_scope("t", ids, parse({"color": "red"}, UTC))):
        with pytest.raises(ScopeError) as caught:
            use()
        assert (str(caught.value), caught.value.error_code) == (message, "VALIDATION_001")


def test_an_unknown_id_names_the_nearest() -> None:
    with pytest.raises(ScopeError, match=r"'userid' is not an id \(did you mean 'user_id'\?\)"):
        write_scope("t", {"userid": "ana"})


# --- reading --------------------------------------------------------------------------------------------------


def test_ids_come_as_keywords_at_the_top_and_in_ands() -> None:
    ana = (Pattern(user_id="ana"),)
    assert (
        patterns(user_id="ana")
        == patterns({"user_id": " ana "})
        == patterns({"user_id": {"eq": "ana"}})
        == ana
    )
    assert patterns({"AND": [{"AND": [{"user_id": "ana"}]}, {"color": "red"}]}) == ana
    assert patterns({"AND": [{"user_id": "ana"}, {"agent_id": 3}]}, app_id="app") == (
        Pattern(user_id="ana", agent_id="3", app_id="app"),
    )
    assert patterns({"user_id": "ana"}, user_id="ana") == ana
    assert patterns({"user_id": UUID(int=7)}) == patterns(user_id=UUID(int=7))


def test_what_the_scope_fulfils_leaves_the_tree_and_runs_stay() -> None:
    scope, tree = read({"user_id": "ana", "color": "red"}, agent_id="bot")
    assert scope == Scope("t", (Pattern(user_id="ana", agent_id="bot"),))
    assert tree == Leaf(Metadata("color"), Op.EQ, "red")
    assert read(user_id="ana")[1] == EVERYTHING
    scope, tree = read(run_id="r1", user_id="ana")
    assert scope.patterns == (Pattern(user_id="ana", run_id="r1"),)
    assert tree == Leaf(Column.RUN_ID, Op.EQ, "r1")
    assert read({"OR": [{"user_id": "a"}, {"user_id": "b"}]})[1] == EVERYTHING
    assert read({"user_id": ["a", "b"]})[1] == EVERYTHING


def test_or_and_in_are_an_explicit_union() -> None:
    both = (Pattern(user_id="a"), Pattern(user_id="b"))
    assert patterns({"user_id": ["a", "b", "a"]}) == both
    assert patterns({"user_id": {"in": ["a", "b"]}}) == both
    assert patterns({"OR": [{"user_id": "a"}, {"user_id": "b"}]}) == both
    assert patterns({"OR": [{"user_id": "a"}, {"agent_id": "x", "color": "red"}]}) == (
        Pattern(user_id="a"),
        Pattern(agent_id="x"),
    )
    assert patterns({"user_id": ["a", "b"], "agent_id": ["x", "y"]}) == tuple(
        Pattern(user_id=u, agent_id=g) for u, g in itertools.product("ab", "xy")
    )


def test_a_mixed_or_is_exact() -> None:
    scope, tree = read({"OR": [{"user_id": "a", "category": "x"}, {"user_id": "b"}]})
    assert scope.patterns == (Pattern(user_id="a"), Pattern(user_id="b"))
    rows = [
        FilterRecord(f"{user}{category}", "", "fact", 0, 0, user_id=user, metadata={"category": category})
        for user, category in itertools.product("ab", "xy")
    ]
    assert [row.id for row in rows if matches(tree, row)] == ["ax", "bx", "by"]


def test_with_an_id_outside_an_or_its_branches_need_none() -> None:
    scope, tree = read({"user_id": "a", "OR": [{"agent_id": "x"}, {"color": "red"}]})
    assert scope.patterns == (Pattern(user_id="a", agent_id="x"), Pattern(user_id="a"))
    assert tree == parse({"OR": [{"agent_id": "x"}, {"color": "red"}]}, UTC)


@pytest.mark.parametrize(
    "filters",
    [
        {"OR": [{"user_id": "a"}, {"color": "red"}]},
        {"OR": [{"user_id": "a"}, {"OR": [{"user_id": "b"}, {"color": "red"}]}]},
        {"color": "red", "OR": [{"AND": [{"color": "red"}]}, {"user_id": "a"}]},
    ],
)
def test_an_or_branch_without_an_id_is_an_error(filters: Any) -> None:
    with pytest.raises(ScopeError, match="Every branch of an OR must name at least one of"):
        read(filters)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"user_id": "zzz", "AND": [{"user_id": "a"}]}, {}),
        ({"user_id": "a"}, {"user_id": "zzz"}),
        ({"AND": [{"AND": [{"user_id": "a"}]}]}, {"user_id": "zzz"}),
        ({"OR": [{"user_id": "a"}, {"user_id": "zzz"}]}, {"user_id": "zzz"}),
        ({"user_id": ["a", "zzz"]}, {"user_id": "zzz"}),
        ({"AND": [{"user_id": ["zzz", "a"]}, {"user_id": ["zzz", "q"]}]}, {}),
    ],
)
def test_two_values_for_one_id_are_an_error_that_names_both(filters: Any, ids: dict[str, Any]) -> None:
    with pytest.raises(ScopeError, match="user_id is given with two different values") as caught:
        read(filters, **ids)
    assert set(caught.value.details["values"]) <= {"a", "zzz", "q"}
    assert len(set(caught.value.details["values"])) == 2


@pytest.mark.parametrize("name", ID_FIELDS)
@pytest.mark.parametrize(
    "test",
    [
        "*",
        None,
        {"exists": True},
        {"ne": "a"},
        {"nin": ["a"]},
        {"nin": []},
        {"gt": "a"},
        {"contains": "a"},
        {"icontains": "a"},
        {"in": [None, "a"]},
        {"eq": "*"},
        ["*"],
        {"in": [""]},
    ],
)
def test_no_operator_but_eq_and_in_tells_a_scope(name: str, test: Any) -> None:
    for filters in (
        {name: test},
        {"OR": [{name: test}, {"app_id": "z"}]},
        {"NOT": [{name: test}]},
        {"AND": [{"app_id": "z"}, {name: test}]},
    ):
        with pytest.raises(ScopeError):
            read(filters)
        with pytest.raises(ScopeError):
            read(filters, user_id="a", agent_id="b", app_id="z", run_id="r")


@pytest.mark.parametrize(
    "filters", [{"NOT": [{"user_id": "a"}]}, {"NOT": {"OR": [{"color": 1}, {"run_id": "r"}]}}]
)
def test_not_over_ids_is_an_error(filters: Any) -> None:
    with pytest.raises(ScopeError, match="only 'eq' and 'in'"):
        read(filters, user_id="b")


def test_an_id_that_is_no_json_value_is_an_error() -> None:
    with pytest.raises(FilterError):
        read({"user_id": {"eq": ["a"]}})
    with pytest.raises(ScopeError, match="must be a string or an integer, not bool"):
        read({"user_id": True})
    with pytest.raises(ScopeError, match="not float"):
        read({"user_id": [1.5]})


def test_an_empty_list_of_ids_sees_nothing() -> None:
    assert patterns({"user_id": []}) == ()
    assert patterns({"user_id": {"in": []}, "agent_id": "x"}) == ()
    assert patterns({"user_id": []}, user_id="a") == ()
    assert patterns({"OR": [{"user_id": []}, {"user_id": "b"}]}) == (Pattern(user_id="b"),)


def test_an_empty_list_of_anything_else_is_still_a_question_of_whose() -> None:
    for filters in ({"color": []}, {"created_at": []}):
        with pytest.raises(ScopeError, match="At least one of"):
            read(filters)
        scope, tree = read(filters, user_id="a")
        assert scope.patterns == (Pattern(user_id="a"),)
        assert not matches(tree, FilterRecord("m", "", "fact", 0, 0, user_id="a"))


def test_unions_are_bounded() -> None:
    users = [f"u{i}" for i in range(MAX_PATTERNS + 1)]
    assert len(patterns({"user_id": users[1:]})) == MAX_PATTERNS
    for filters in (
        {"user_id": users},
        {"OR": [{"user_id": user} for user in users]},
        {"user_id": users[:30], "agent_id": users[:30]},
        {"OR": [{"user_id": users}, {"agent_id": users}]},
    ):
        with pytest.raises(ScopeError, match="more than"):
            read(filters)


# --- nothing leaks --------------------------------------------------------------------------------------------

USERS = ("a", "b")
leaf = (
    st.fixed_dictionaries({"user_id": st.sampled_from(USERS) | st.lists(st.sampled_from(USERS), max_size=2)})
    | st.fixed_dictionaries({"agent_id": st.sampled_from(("x", "y"))})
    | st.fixed_dictionaries({"run_id": st.sampled_from(("r", "s"))})
    | st.fixed_dictionaries({"color": st.sampled_from(("red", "blue"))})
    | st.fixed_dictionaries({"NOT": st.just({"color": "red"})})
)
trees = st.recursive(
    leaf,
    lambda inner: (
        st.fixed_dictionaries({"AND": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"OR": st.lists(inner, min_size=1, max_size=3)})
    ),
    max_leaves=6,
)
EVERY_RECORD = [
    FilterRecord(
        f"{user}{agent}{run}{color}", "", "fact", 0, 0, user, agent, "", run, metadata={"color": color}
    )
    for user in (*USERS, "")
    for agent in ("x", "y", "")
    for run in ((), ("r",), ("r", "s"))
    for color in ("red", "blue")
]


def fits(pattern: Pattern, row: FilterRecord) -> bool:
    owner = all(getattr(pattern, f) in (None, getattr(row, f)) for f in ("user_id", "agent_id", "app_id"))
    return owner and (pattern.run_id is None or pattern.run_id in row.run_id)


@settings(max_examples=300, deadline=None)
@given(filters=trees, user=st.none() | st.sampled_from(USERS))
def test_scope_and_remaining_tree_together_are_the_filter(filters: Any, user: str | None) -> None:
    whole = parse({"AND": [filters, *([] if user is None else [{"user_id": user}])]}, UTC)
    try:
        scope, tree = read(filters, user_id=user)
    except ScopeError:
        return
    seen = [r.id for r in EVERY_RECORD if any(fits(p, r) for p in scope.patterns) and matches(tree, r)]
    assert seen == [r.id for r in EVERY_RECORD if matches(whole, r)]
    # The owner bound alone lets the tree see no more than the patterns do: runs are only a help to find owners.
    bound = [Pattern(p.user_id, p.agent_id, p.app_id) for p in scope.patterns]
    assert seen == [r.id for r in EVERY_RECORD if any(fits(p, r) for p in bound) and matches(tree, r)]
    for row in EVERY_RECORD:
        if row.id in seen and user is not None:
            assert row.user_id == user
