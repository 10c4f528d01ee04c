"""Bad input is refused by a typed error that names the field, before anything is written."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from conftest import MakeMemory, RowCounts, add_bystanders, counted, rows_of, unchanged_bystanders
from mnemic import AsyncMemory, Memory, MnemicError, ScopeError, ValidationError
from mnemic.models.fakes import ConstantEmbedder, HashEmbedder
from raw_stores import raw_connection

IDS = ("user_id", "agent_id", "app_id", "run_id")
LONG = "x" * 4_000_001


class Thing:
    """Nothing that any argument takes."""

    def __repr__(self) -> str:
        return "<thing>"


def cyclic() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["self"] = found
    return found


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"k": found}
    return found


BAD_TEXT = [
    None,
    5,
    1.5,
    True,
    b"x",
    ["x"],
    {"a": 1},
    Thing(),
    "",
    " \n\t\u3000",
    "half \ud83e",
    "nul \0 nul",
    LONG,
]
BAD_ID = ["", " ", "a b", "a\tb", "*", True, 1.5, b"x", ["u"], {"a": 1}, "\ud83e", "a\0b", "x" * 513, 10**600]
BAD_METADATA = [
    "x",
    5,
    [1],
    [("a", 1)],
    {"at": datetime(2024, 1, 1)},
    {"set": {1}},
    {"n": math.nan},
    {"n": -math.inf},
    {"n": Decimal(1)},
    {"n": 1j},
    {"n": 10**400},
    {"n": 10**5000},
    {"b": b"x"},
    {"deep": {"list": [{"x": object()}]}},
    {1: "x"},
    {None: "x"},
    {"inner": {2: "x"}},
    {("a",): 1},
    {"half": "\ud83e"},
    {"\ud83e": 1},
    {"nul": "a\0b"},
    {"a\0": 1},
    {"much": "x" * 1_000_001},
    cyclic(),
    nested(5_000),
]
BAD_FLAG = [0, 1, "yes", "", [], Thing()]
BAD_COUNT = ["3", 2.0, True, -1, [1], b"1", math.nan, Thing()]
BAD_TIME = [
    "",
    "yesterday",
    "2024-13-01",
    "2024-02-30",
    "2024-07-20T25:00:00Z",
    "2024-07-20T09:00:00+99:00",
    "٢٠٢٤x",
    True,
    math.nan,
    math.inf,
    10**30,
    10**5000,
    -(10**30),
    b"2024",
    [2024],
    {"y": 2024},
    Thing(),
]
BAD_DAY = [
    "",
    "tomorrow",
    "2024-13-01",
    "2024-02-30",
    "2024",
    20240101,
    1.5,
    True,
    b"2024-01-01",
    [1],
    Thing(),
]
BAD_FILTERS = [
    "user_id",
    5,
    [{"a": 1}],
    {1: "x"},
    {"a": {"near": 1}},
    {"a": {}},
    {"a": {"gt": True}},
    {"a": {"gt": None}},
    {"a": {"in": "x"}},
    {"a": Thing()},
    {"a": math.nan},
    {"a": "\ud83e"},
    {"a\0": 1},
    {"AND": {"a": 1}},
    {"OR": []},
    {"OR": [5]},
    {"NOT": []},
    {"NOT": [{}]},
    {"$xor": [{"a": 1}]},
    {"metadata": {"a": 1}},
    {"kind": "opinion"},
    {"created_at": "yesterday"},
    {"created_at": {"contains": "2024"}},
    {"user_id": {"ne": "u"}},
    {"user_id": "*"},
    {"user_id": None},
    {"NOT": [{"user_id": "x"}]},
    {"user_id": "someone-else"},
]
BAD_CURSOR = [
    "",
    "x",
    "====",
    "bm90IGpzb24=",
    "W10=",
    "WzEsMiwiMyJd",
    "é",
    "a\0",
    5,
    1.5,
    True,
    b"W10=",
    [1],
    Thing(),
]
BAD_MESSAGES = [
    5,
    1.5,
    True,
    b"x",
    {"a", "b"},
    Thing(),
    [],
    "",
    " \n",
    "half \ud83e",
    "nul \0",
    LONG,
    [5],
    [None],
    ["plain string"],
    [["nested"]],
    {},
    {"role": "user"},
    {"content": "x"},
    {"role": 5, "content": "x"},
    {"role": "", "content": "x"},
    {"role": None, "content": "x"},
    {"role": "us\0er", "content": "x"},
    {"role": "user", "content": ""},
    {"role": "user", "content": None},
    {"role": "user", "content": 5},
    {"role": "user", "content": [5]},
    {"role": "user", "content": b"x"},
    {"role": "user", "content": [{"type": "text", "text": "x", "at": datetime(2024, 1, 1)}]},
    {"role": "user", "content": [{"type": "text", "text": "\ud83e"}]},
    {"role": "user", "content": "x", "name": 5},
    {"role": "user", "content": "x", "name": " "},
    {"role": "user", "content": "x", "timestamp": "yesterday"},
    [{"role": "user", "content": "fine"}, {"role": "user", "content": "\0"}],
]
BAD_FACTS = [
    "x",
    5,
    True,
    {"text": "x"},
    [],
    {"a", "b"},
    [5],
    [None],
    [["x"]],
    [""],
    [" "],
    ["nul \0"],
    [LONG],
    [{}],
    [{"text": None}],
    [{"text": 5}],
    [{"txt": "x"}],
    [{"text": "x", "valid_form": "2019"}],
    [{"text": "x", 5: 1}],
    [{"text": "x", "valid_from": "long ago"}],
    [{"text": "x", "valid_to": True}],
    [{"text": "x", "valid_from": "2020", "valid_to": "2019"}],
    [{"text": "x", "valid_from": "2020-01-02T00:00:00Z", "valid_to": "2020-01-02T00:00:00Z"}],
    [{"text": "x", "event_date": "one day"}],
    [{"text": "x", "expiration_date": "one day"}],
    [{"text": "x", "metadata": [1]}],
    [{"text": "x", "metadata": {"n": math.nan}}],
    [{"text": "x", "categories": "health"}],
    [{"text": "x", "categories": [5]}],
    [{"text": "x", "categories": [""]}],
    [{"text": "x", "categories": ["c"] * 101}],
    [{"text": "x", "attributed_to": 5}],
    [{"text": "x", "source": 0}],
    [{"text": "x", "source": "0"}],
    ["fine", {"text": "nul \0"}],
]

ADD: dict[str, Any] = {"messages": "hello", "user_id": "u", "infer": False}
VALID: dict[str, dict[str, Any]] = {
    "add": ADD,
    "search": {"query": "hello", "user_id": "u"},
    "why": {"query": "hello", "expect": "known", "user_id": "u"},
    "get": {"memory_id": "KNOWN"},
    "get_all": {"user_id": "u"},
    "trash": {"user_id": "u"},
    "update": {"memory_id": "KNOWN", "text": "new"},
    "delete": {"memory_id": "KNOWN"},
    "restore": {"memory_id": "KNOWN"},
    "delete_all": {"user_id": "u"},
    "history": {"memory_id": "KNOWN"},
    "messages": {"user_id": "u"},
    "stats": {"user_id": "u"},
}
READS = ("search", "why", "get_all", "trash")
LISTS = ("get_all", "trash", "messages")
BY_ID = ("get", "update", "delete", "restore", "history")
CHANGES = ("update", "delete", "restore", "delete_all")
SET = [value for value in BAD_TEXT if value is not None]

CASES: list[tuple[str, str, list[Any]]] = [
    *((verb, name, BAD_ID) for verb in VALID for name in IDS),
    *((verb, "memory_id", BAD_TEXT) for verb in BY_ID),
    *((verb, name, SET) for verb in CHANGES for name in ("actor", "reason")),
    *((verb, "filters", BAD_FILTERS) for verb in (*READS, "delete_all")),
    *((verb, name, BAD_COUNT) for verb in READS for name in ("top_k", "limit")),
    *((verb, "cursor", BAD_CURSOR) for verb in LISTS),
    *((verb, "as_of", BAD_TIME) for verb in ("search", "why", "get_all")),
    *(("search", name, BAD_FLAG) for name in ("rerank", "explain", "show_expired", "include_superseded")),
    *(("why", name, BAD_FLAG) for name in ("show_expired", "include_superseded")),
    *(("get_all", name, BAD_FLAG) for name in ("show_expired", "show_deleted", "include_superseded")),
    ("why", "expect", BAD_TEXT),
    ("search", "query", [None, 5, b"x", ["x"], "", " \n", "\ud83e", "a\0b", Thing()]),
    ("search", "threshold", ["high", True, -0.1, 1.1, math.nan, math.inf, [0.5], Thing()]),
    ("messages", "limit", BAD_COUNT),
    ("update", "text", SET),
    ("update", "metadata", BAD_METADATA),
    ("update", "replace_metadata", BAD_FLAG),
    ("update", "expiration_date", BAD_DAY),
    ("delete_all", "dry_run", BAD_FLAG),
    ("add", "messages", BAD_MESSAGES),
    ("add", "facts", BAD_FACTS),
    ("add", "metadata", BAD_METADATA),
    ("add", "timestamp", BAD_TIME),
    ("add", "expiration_date", BAD_DAY),
    ("add", "infer", BAD_FLAG),
]


@dataclass(frozen=True)
class Lasting:
    """A memory that knows one thing."""

    memory: Memory
    known: str
    row_counts: RowCounts


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def lasting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lasting]:
    """One for all bad arguments, since nothing of them may be written; with a second tenant beside."""
    if request.param == "sqlite":
        place: Any = nullcontext(str(tmp_path_factory.mktemp("lasting") / "notes.db"))
    else:
        place = request.getfixturevalue("postgres").schema()
    with place as store:
        add_bystanders(store, HashEmbedder())
        with (
            raw_connection(store, autocommit=True) as raw,
            unchanged_bystanders(lambda: rows_of(raw, "other")),
            Memory(store, embedder=HashEmbedder()) as m,
        ):
            [added] = m.add("something known", user_id="u", infer=False)["results"]
            yield Lasting(m, added["id"], lambda: counted(raw))


@pytest.mark.parametrize(("verb", "argument", "values"), CASES, ids=[f"{v}-{a}" for v, a, _ in CASES])
def test_a_bad_argument_is_refused_and_nothing_is_written(
    lasting: Lasting, verb: str, argument: str, values: list[Any]
) -> None:
    m, known = lasting.memory, lasting.known
    before = lasting.row_counts()
    for value in values:
        arguments = {k: known if v == "KNOWN" else v for k, v in VALID[verb].items()}
        if argument == "facts":
            del arguments["messages"]
        arguments[argument] = value
        with pytest.raises(ValidationError) as caught:
            getattr(m, verb)(**arguments)
        assert_names(caught.value, argument, value)
        assert lasting.row_counts() == before, f"{value!r:.80}"
    assert m.get(known)["memory"] == "something known"
    assert [r["id"] for r in m.search("known", user_id="u")["results"]] == [known]


def assert_names(fault: MnemicError, argument: str, value: Any) -> None:
    """The message is for people: short, and it has the field, or the key of it that is wrong."""
    words = str(fault)
    assert 10 < len(words) < 1_000
    inner = {"filters": "", "facts": "", "messages": "", "query": "query"}.get(argument, argument)
    assert inner in words, f"{argument} = {value!r:.80}: {words}"


def test_a_message_names_field_number_and_value(m: Memory) -> None:
    with pytest.raises(ValidationError, match=r"messages\[1\]\.content.*U\+0000 at position 2"):
        m.add(
            [{"role": "user", "content": "ok"}, {"role": "user", "content": "ab\0"}], user_id="u", infer=False
        )
    with pytest.raises(ValidationError, match=r"facts\[1\]\.metadata\.a\[0\] is a set"):
        m.add(facts=["ok", {"text": "x", "metadata": {"a": [{1}]}}], user_id="u")
    with pytest.raises(ValidationError, match="did you mean 'valid_from'"):
        m.add(facts=[{"text": "x", "valid_form": "2019"}], user_id="u")
    with pytest.raises(ValidationError, match="near"):
        m.get_all(user_id="u", filters={"price": {"near": 3}})


# --- keywords ---------------------------------------------------------------------------------------------

NEAREST = [
    ("search", "top_n", None),
    ("search", "treshold", "threshold"),
    ("search", "filter", "filters"),
    ("add", "meta_data", "metadata"),
    ("add", "time_stamp", "timestamp"),
    ("get_all", "show_expire", "show_expired"),
    ("update", "replace_metdata", "replace_metadata"),
    ("delete", "userid", "user_id"),
    ("messages", "curser", "cursor"),
]


@pytest.mark.parametrize(("verb", "given", "meant"), NEAREST)
def test_an_unknown_keyword_is_a_type_error_that_names_the_nearest(
    m: Memory, verb: str, given: str, meant: str | None
) -> None:
    with pytest.raises(TypeError, match=f"{verb}.*{given}") as caught:
        getattr(m, verb)(**{given: 1})
    if meant:
        assert meant in str(caught.value)


@pytest.mark.parametrize(("verb", "given", "meant"), NEAREST)
def test_the_async_face_refuses_unknown_keywords_alike(verb: str, given: str, meant: str | None) -> None:
    async def call() -> None:
        await getattr(AsyncMemory(":memory:", embedder="none"), verb)(**{given: 1})

    with pytest.raises(TypeError, match=f"{verb}.*{given}"):
        asyncio.run(call())


# --- what looks bad and is good ---------------------------------------------------------------------------

OUR_NAMES = (
    "id",
    "text",
    "memory",
    "kind",
    "user_id",
    "agent_id",
    "run_id",
    "owner_id",
    "tenant",
    "categories",
    "created_at",
    "valid_to",
    "expiration_date",
    "score",
    "hash",
    "metadata",
    "AND",
    "$or",
)


def test_metadata_with_our_names_is_kept_as_given_and_touches_no_column(m: Memory) -> None:
    hostile = {name: f"hostile-{name}" for name in OUR_NAMES}
    [added] = m.add("a book", user_id="u", infer=False, metadata=hostile)["results"]
    item = m.get(added["id"])
    assert item["metadata"] == hostile
    assert (item["id"], item["memory"], item["user_id"], item["kind"]) == (
        added["id"],
        "a book",
        "u",
        "message",
    )
    m.update(added["id"], metadata={"user_id": "v", "id": 5})
    assert m.get(added["id"])["user_id"] == "u"
    assert m.get(added["id"])["metadata"] == {**hostile, "user_id": "v", "id": 5}
    assert m.get_all(user_id="v")["total"] == 0


@pytest.mark.parametrize("name", OUR_NAMES)
def test_a_metadata_key_of_any_name_can_be_asked_for(m: Memory, name: str) -> None:
    m.add("a book", user_id="u", infer=False, metadata={name: "mine"})
    m.add("a pen", user_id="u", infer=False, metadata={name: "yours"})
    wanted = {f"metadata.{name}": "mine"}
    assert [i["memory"] for i in m.get_all(user_id="u", filters=wanted)["results"]] == ["a book"]
    assert [i["memory"] for i in m.search("a", user_id="u", filters=wanted)["results"]] == ["a book"]


def test_a_text_of_a_megabyte_is_kept_whole_and_found(memory_with: MakeMemory) -> None:
    m = memory_with(ConstantEmbedder())
    text = "Long note. " + "füllwort 填充 " * 70_000 + "marzipan"
    assert len(text.encode()) > 1_000_000
    [added] = m.add(text, user_id="u", infer=False)["results"]
    m.add("something else", user_id="u", infer=False)
    assert m.get(added["id"])["memory"] == text
    assert m.messages(user_id="u")["results"][0]["content"] == text
    assert m.search("marzipan", user_id="u")["results"][0]["id"] == added["id"]


def test_a_text_of_four_million_characters_is_the_longest(m: Memory) -> None:
    with pytest.raises(ValidationError, match="4,000,001 characters; at most 4,000,000"):
        m.add(LONG, user_id="u", infer=False)


@pytest.mark.parametrize(
    "text",
    [
        "...",
        "?",
        "🦊🐝",
        "e\u0301\u0301\u0301",
        "'; DROP TABLE memory; --",
        '{"facts": []}',
        "\\x00 \\u0000 %s {0} $1 :x ?1",
        "a\r\nb\u2028c\x1f",
        "\U0010ffff",
        "مرحبا",
        "\u202eright to left",
    ],
)
def test_odd_texts_come_back_letter_by_letter(m: Memory, text: str) -> None:
    [added] = m.add(text, user_id="u", infer=False)["results"]
    assert m.get(added["id"])["memory"] == text
    assert m.search(text, user_id="u")["results"][0]["id"] == added["id"]
    assert m.messages(user_id="u")["results"][0]["content"] == text


def test_two_texts_without_letters_stay_two(m: Memory) -> None:
    m.add("...", user_id="u", infer=False)
    m.add("?!", user_id="u", infer=False)
    assert m.get_all(user_id="u")["total"] == 2


def test_a_query_of_a_megabyte_is_answered(memory_with: MakeMemory) -> None:
    m = memory_with(ConstantEmbedder())
    [added] = m.add("marzipan", user_id="u", infer=False)["results"]
    query = "what about " * 100_000 + "marzipan"
    assert [r["id"] for r in m.search(query, user_id="u")["results"]] == [added["id"]]


@pytest.mark.parametrize(
    ("given", "instant"),
    [
        ("2024-07-20T09:00:00+08:00", "2024-07-20T01:00:00+00:00"),
        ("2024-07-20T09:00:00", "2024-07-20T07:00:00+00:00"),
        ("2024-07-20", "2024-07-19T22:00:00+00:00"),
        (datetime(2024, 7, 20, 9), "2024-07-20T07:00:00+00:00"),
        (1_721_437_200, "2024-07-20T01:00:00+00:00"),
        (1_721_437_200_000, "2024-07-20T01:00:00+00:00"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59+00:00"),
    ],
)
def test_naive_times_are_read_in_the_configured_zone(
    make_memory: MakeMemory, given: Any, instant: str
) -> None:
    m = make_memory(timezone="Europe/Berlin")
    m.add("hi", user_id="u", infer=False, timestamp=given)
    assert m.messages(user_id="u")["results"][0]["timestamp"] == instant


def test_a_scope_error_is_a_validation_error_and_a_value_error(m: Memory) -> None:
    with pytest.raises(ScopeError) as caught:
        m.get_all(user_id="*")
    assert isinstance(caught.value, ValidationError)
    assert isinstance(caught.value, ValueError)


def test_a_closed_memory_says_so(empty_store: str) -> None:
    memory = Memory(empty_store, embedder=HashEmbedder())
    memory.close()
    memory.close()
    for verb, arguments in VALID.items():
        with pytest.raises(MnemicError, match="closed"):
            getattr(memory, verb)(**arguments)


# --- the ends of every range -----------------------------------------------------------------------------


def cursor(payload: str) -> str:
    return base64.urlsafe_b64encode(payload.encode()).decode()


UNTYPED: dict[str, Callable[[Memory], Any]] = {
    "cursor beyond 64 bits": lambda m: m.get_all(user_id="u", cursor=cursor(json.dumps([10**30, 1, 1]))),
    "cursor of messages": lambda m: m.messages(user_id="u", cursor=cursor(json.dumps([1, 10**30, 1]))),
    "cursor nested deep": lambda m: m.get_all(user_id="u", cursor=cursor("[" * 100_000)),
    "metadata with a mapping inside": lambda m: m.add(
        "x", user_id="u", infer=False, metadata={"a": MappingProxyType({"b": 1})}
    ),
    "metadata with a huge integer": lambda m: m.add("x", user_id="u", infer=False, metadata={"a": 10**5000}),
    "source of a source": lambda m: m.add("x", user_id="u", facts=[{"text": "y", "source": [[0]]}]),
    "first expiration of all": lambda m: m.add(
        "x", user_id="u", infer=False, expiration_date=datetime.min.replace(tzinfo=UTC)
    ),
    "first instant of all": lambda m: m.add("x", user_id="u", infer=False, timestamp=-62_135_596_800),
}


@pytest.mark.parametrize("case", UNTYPED)
def test_odd_input_is_accepted_or_a_typed_error(make_memory: MakeMemory, case: str) -> None:
    m = make_memory(timezone="America/New_York")
    try:
        UNTYPED[case](m)
    except MnemicError as fault:
        assert isinstance(fault, ValidationError)


@pytest.mark.parametrize("count", [2**63 - 1, 10**30])
@pytest.mark.parametrize("verb", ["get_all", "trash", "messages", "search"])
def test_a_huge_limit_is_a_limit_like_any_other(m: Memory, verb: str, count: int) -> None:
    m.add("hello", user_id="u1", infer=False)
    query = ("hello",) if verb == "search" else ()
    assert len(getattr(m, verb)(*query, user_id="u1", limit=count)["results"]) == (verb != "trash")


def test_the_last_day_of_all_means_never(m: Memory) -> None:
    [added] = m.add("hello", user_id="u1", infer=False, expiration_date="9999-12-31")["results"]
    assert m.get(added["id"])["expiration_date"] == "9999-12-31"


def test_text_and_data_that_differ_are_an_error(m: Memory) -> None:
    [added] = m.add("hello", user_id="u1", infer=False)["results"]
    with pytest.raises(ValidationError, match="data"):
        m.update(added["id"], text="one", data="two")
    with pytest.raises(ValidationError, match="data"):
        m.update(added["id"], data=5)


@pytest.mark.parametrize("text", ["\u200b\u200d", "\ufeff", "\u2060"])
def test_an_invisible_text_is_refused_or_found(m: Memory, text: str) -> None:
    try:
        [added] = m.add(text, user_id="u1", infer=False)["results"]
    except ValidationError:
        return
    assert m.search(text, user_id="u1")["results"][0]["id"] == added["id"]
