"""timeline(): what held when, oldest first, a page at a time, or what belongs to a topic."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeMemory
from mnemic import FilterError, Memory, MnemicError, ScopeError, ValidationError
from mnemic.clock import day_start
from mnemic.shapes import cursor_of
from mnemic.store.held import _first_day

ANN = {"user_id": "ann"}
BERLIN = {"timezone": "Europe/Berlin"}

Rows = list[tuple[str, str | None, str | None, str | None]]


def rows(found: Any) -> Rows:
    return [(i["memory"], i["began"], i["began_precision"], i["ended"]) for i in found["results"]]


def texts(found: Any) -> list[str]:
    return [item["memory"] for item in found["results"]]


def walked(m: Memory, size: int, **asked: Any) -> list[str]:
    """The ids on all pages."""
    found: list[str] = []
    page = m.timeline(limit=size, **asked)
    while True:
        found += [item["id"] for item in page["results"]]
        assert page["truncated"] == (page["next"] is not None)
        if page["next"] is None:
            return found
        page = m.timeline(limit=size, cursor=page["next"], **asked)


# --- when something began ---------------------------------------------------------------------------------


def test_each_began_as_exactly_as_it_was_told(make_memory: MakeMemory) -> None:
    m = make_memory(**BERLIN)
    facts = [
        {"text": "Ann was at школа №5 ✏️", "valid_from": "2009", "valid_to": "2013-06"},
        {"text": "Ann plays the cello", "valid_from": "2012-03"},
        {"text": 'Ann saw "Blur"\nin Leeds', "event_date": "2012-03-25"},
        {"text": "安住在上海", "valid_from": "2012-03-25T10:00:00+02:00"},
        {"text": "Ann keeps bees"},
        {"text": "Ann was in a choir", "valid_to": "2011"},
    ]
    m.add(facts=facts, timestamp="2020-02-29T12:00:00Z", **ANN)
    m.add("Hello there", infer=False, timestamp="2012-03-25T20:00:00Z", **ANN)
    assert rows(m.timeline(**ANN)) == [
        ("Ann was at школа №5 ✏️", "2008-12-31T23:00:00+00:00", "year", "2013-06-30T22:00:00+00:00"),
        ("Ann was in a choir", "2011-12-31T22:59:59.999999+00:00", None, "2011-12-31T23:00:00+00:00"),
        ("Ann plays the cello", "2012-02-29T23:00:00+00:00", "month", None),
        ('Ann saw "Blur"\nin Leeds', "2012-03-24T23:00:00+00:00", "day", None),
        ("安住在上海", "2012-03-25T08:00:00+00:00", "instant", None),
        ("Hello there", "2012-03-25T20:00:00+00:00", None, None),
        ("Ann keeps bees", "2020-02-29T12:00:00+00:00", None, None),
    ]


def test_an_item_is_as_get_all_returns_it(m: Memory) -> None:
    m.add("I live in Leeds.", timestamp="2021-08-01", metadata={"源": 1}, run_id="r1", **ANN)
    m.add("I moved to York.", timestamp="2022-09-17", **ANN)
    whole = {i["id"]: i for i in m.get_all(include_superseded=True, **ANN)["results"]}
    told = m.timeline(**ANN)["results"]
    assert [
        {**whole[i["id"]], **{k: i[k] for k in ("began", "began_precision", "ended")}} for i in told
    ] == told
    assert [i["ended"] for i in told] == [told[1]["began"], None]
    assert told[0]["superseded_by"] == told[1]["id"]


def test_what_was_deleted_or_never_held_is_left_out(m: Memory) -> None:
    [gone] = m.add("I keep bees.", **ANN)["results"]
    m.delete(gone["id"])
    m.add("I live in Leeds.", timestamp="2022-01-01", **ANN)
    [new] = m.add("I moved to York.", timestamp="2022-01-01", **ANN)["results"]
    found = m.timeline(**ANN)
    assert new["supersedes"]
    assert texts(found) == texts(m.timeline("live", **ANN)) == ["I moved to York."]
    assert found["total"] == 1


# --- the window -------------------------------------------------------------------------------------------

HELD = [
    {"text": "A", "valid_from": "2019-12-31", "valid_to": "2019-12-31"},
    {"text": "B", "valid_from": "2020-02-29", "valid_to": "2020-03-01"},
    {"text": "C", "valid_from": "2020"},
    {"text": "D", "event_date": "2020-02-29"},
    {"text": "E", "event_date": "2020-03-02"},
]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({}, "ACBDE"),
        ({"until": "2019"}, "A"),
        ({"since": "2020"}, "CBDE"),
        ({"since": "2020-03-02"}, "CDE"),
        ({"until": "2020-02"}, "ACBD"),
        ({"until": "2020-02-28"}, "AC"),
        ({"until": "2020-02-28T22:59:59Z"}, "AC"),
        ({"until": "2020-02-28T23:00:00Z"}, "ACBD"),
        ({"since": "2020-03-01T22:59:59Z", "until": 1583103599}, "CBD"),
        ({"since": "2020-03-01T23:00:00Z", "until": 1583103600}, "CDE"),
        ({"since": "2019-12-31", "until": date(2019, 12, 31)}, "A"),
        ({"until": "0999-12-31"}, ""),
        ({"since": "9999-12-31"}, "CDE"),
    ],
)
def test_a_window_holds_what_overlaps_it(
    make_memory: MakeMemory, window: dict[str, Any], expected: str
) -> None:
    m = make_memory(**BERLIN)
    m.add(facts=HELD, **ANN)
    found = m.timeline(**ANN, **window)
    assert "".join(texts(found)) == expected
    assert found["total"] == len(expected)
    assert ("notice" in found) == (not expected)
    of_topic = m.timeline("A B C D E", **ANN, **window)
    assert set(texts(of_topic)) <= set(expected)


def test_a_window_that_ends_before_it_begins_is_refused(m: Memory) -> None:
    m.timeline(since="2020-05-01", until="2020-05-01", **ANN)
    with pytest.raises(ValidationError, match="lies before since"):
        m.timeline(since="2020-05-01", until="2020-04", **ANN)


# --- pages ------------------------------------------------------------------------------------------------


@pytest.fixture
def many(make_memory: MakeMemory) -> Memory:
    m = make_memory(**BERLIN)
    chance = random.Random(7)
    facts: list[dict[str, Any]] = []
    for number in range(70):
        day = (date(2020, 3, 20) + timedelta(days=chance.randrange(12))).isoformat()
        facts.append(
            {"text": f"事实 {number}", **chance.choice([{"valid_from": day}, {"event_date": day}, {}])}
        )
    for i in range(0, 70, 10):
        m.add(facts=facts[i : i + 10], timestamp=f"2020-03-{20 + i // 10}", **ANN)
    return m


@pytest.mark.parametrize("size", [1, 7, 69, 70])
def test_pages_hold_each_once_in_order(many: Memory, size: int) -> None:
    whole = many.timeline(limit=100, **ANN)
    came = [i["id"] for i in many.get_all(limit=100, **ANN)["results"]][::-1]
    order = [(i["began"], came.index(i["id"])) for i in whole["results"]]
    assert order == sorted(order)
    assert len(order) == whole["total"] == 70
    assert walked(many, size, **ANN) == [i["id"] for i in whole["results"]]
    asked = {"since": "2020-03-24", "until": "2020-03-27", **ANN}
    assert walked(many, size, **asked) == [i["id"] for i in many.timeline(limit=100, **asked)["results"]]


def test_pages_are_stable_while_memories_are_added(many: Memory) -> None:
    first = many.timeline(limit=25, **ANN)
    rest = [i["id"] for i in many.timeline(limit=100, **ANN)["results"]][25:]
    many.add(facts=[{"text": "早", "valid_from": "1999"}, {"text": "late", "valid_from": "2030"}], **ANN)
    second = many.timeline(limit=100, cursor=first["next"], **ANN)
    assert [i["id"] for i in second["results"]][:-1] == rest
    assert texts(second)[-1] == "late"
    assert second["total"] == 72


def test_no_page_of_nothing(m: Memory) -> None:
    m.add(facts=["one", "two"], **ANN)
    found = m.timeline(limit=0, **ANN)
    assert (found["results"], found["next"], found["truncated"], found["total"]) == ([], None, True, 2)


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.integers(-90_000_000_000, 90_000_000_000))
@pytest.mark.parametrize("name", ["Europe/Berlin", "Asia/Kathmandu", "America/Sao_Paulo", "Pacific/Apia"])
def test_the_first_day_from_an_instant_on(name: str, day: date, off: int) -> None:
    tz = ZoneInfo(name)
    at = day_start(day, tz) + off
    first = _first_day(at, tz)
    assert day_start(first, tz) >= at
    assert day_start(first - timedelta(days=1), tz) < at


def test_days_at_the_ends_of_the_calendar_do_no_harm(make_memory: MakeMemory) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        m = make_memory(timezone=zone)
        who = {"user_id": zone}
        m.add(facts=[{"text": d, "event_date": d} for d in ("0001-01-01", "2000-02-29", "9999-12-31")], **who)
        assert texts(m.timeline(**who)) == ["0001-01-01", "2000-02-29", "9999-12-31"]
        assert len(walked(m, 1, **who)) == 3
        assert texts(m.timeline(until="9999-12-31", **who))[:2] == ["0001-01-01", "2000-02-29"]


# --- a topic ----------------------------------------------------------------------------------------------


def test_a_topic_shows_each_in_turn_with_whole_chains(m: Memory) -> None:
    living = ["I live in Leeds.", "I moved to York.", "I moved to Oslo."]
    for day, text in enumerate(living, 1):
        m.add(text, timestamp=f"2024-01-{day:02}", **ANN)
    m.add("I play tennis on Sundays. 🎾\n我对花生过敏", timestamp="2023-01-01", **ANN)
    m.add("I live in Rome.", user_id="bob")
    assert texts(m.timeline("live", **ANN)) == living
    assert texts(m.timeline("花生", **ANN)) == ["我对花生过敏"]
    window = m.timeline("live", since="2024-01-02", until="2024-01-02T12:00:00Z", **ANN)
    assert texts(window) == ["I moved to York."]
    assert (window["total"], window["truncated"], window["next"]) == (1, False, None)
    cut = m.timeline("live", limit=2, **ANN)
    assert len(cut["results"]) == 2
    assert (cut["total"], cut["truncated"], cut["next"]) == (3, True, None)
    assert texts(cut) == [text for text in living if text in texts(cut)]


def test_the_chain_goes_through_what_was_deleted_and_stays_in_the_scope(m: Memory) -> None:
    ids = []
    for day, text in enumerate(["I live in Leeds.", "I moved to York.", "I moved to Oslo."], 1):
        [item] = m.add(text, timestamp=f"2024-01-{day:02}", run_id=f"r{day}", metadata={"n": day}, **ANN)[
            "results"
        ]
        ids.append(item["id"])
    m.delete(ids[1])
    assert texts(m.timeline("Leeds", **ANN)) == ["I live in Leeds.", "I moved to Oslo."]
    assert texts(m.timeline("Leeds", filters={"n": {"lt": 3}}, **ANN)) == ["I live in Leeds."]
    assert texts(m.timeline("Leeds", run_id="r1", **ANN)) == ["I live in Leeds."]
    assert texts(m.scoped(run_id="r3").timeline()) == ["I moved to Oslo."]
    assert m.timeline("Leeds", run_id="r2", **ANN)["results"] == []


def test_a_topic_of_several_owners_and_none(m: Memory, make_memory: MakeMemory) -> None:
    m.add("I live in Leeds.", timestamp="2024-01-02", **ANN)
    m.add("我住在上海。", timestamp="2024-01-01", user_id="李")
    both = {"filters": {"user_id": {"in": ["ann", "李", "nobody"]}}}
    assert texts(m.timeline(**both)) == ["我住在上海。", "I live in Leeds."]
    assert set(texts(m.timeline("live 住", **both))) == {"我住在上海。", "I live in Leeds."}
    nothing = m.timeline("zebra", user_id="nobody")
    assert nothing["results"] == []
    assert "held" in nothing["notice"]
    assert texts(make_memory(tenant="other").timeline("live", user_id="bystander")) != ["I live in Leeds."]


def test_without_an_embedder_words_find_a_topic_and_a_notice_says_so(store: str) -> None:
    with Memory(store, embedder="none") as m:
        m.add("I work at Acme.", timestamp="2024-01-01", **ANN)
        m.add("I now work at Birch.", timestamp="2024-02-01", **ANN)
        m.add("I keep bees.", **ANN)
        found = m.timeline("work", **ANN)
        assert texts(found) == ["I work at Acme.", "I now work at Birch."]
        assert "only words" in found["notice"]


def test_what_is_past_its_day_is_left_out(m: Memory) -> None:
    m.add("I work at Acme.", expiration_date="2020-01-01", **ANN)
    m.add("I work at Birch.", expiration_date="2999-01-01", **ANN)
    for about in (None, "work"):
        assert texts(m.timeline(about, **ANN)) == ["I work at Birch."]
        assert len(m.timeline(about, show_expired=True, **ANN)["results"]) == 2


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({}, ScopeError, "user_id"),
        ({**ANN, "about": " "}, ValidationError, "about"),
        ({**ANN, "about": 3}, ValidationError, "about"),
        ({**ANN, "limit": -1}, ValidationError, "limit"),
        ({**ANN, "since": "one day"}, ValidationError, "since"),
        ({**ANN, "until": "2023-02-29"}, ValidationError, "until"),
        ({**ANN, "show_expired": 1}, ValidationError, "show_expired"),
        ({**ANN, "cursor": "nonsense"}, ValidationError, "cursor"),
        ({**ANN, "about": "work", "cursor": "WzEsICJ4Il0="}, ValidationError, "cursor"),
        ({**ANN, "filters": {"n": {"near": 1}}}, FilterError, "near"),
    ],
)
def test_bad_arguments_are_refused(
    m: Memory, asked: dict[str, Any], error: type[MnemicError], words: str
) -> None:
    with pytest.raises(error, match=words):
        m.timeline(**asked)


@pytest.mark.parametrize("cursor", ["WzFd", "WyJ4IiwgMSwgMV0=", "e30="])
def test_a_cursor_of_another_list_is_refused(m: Memory, cursor: str) -> None:
    with pytest.raises(ValidationError, match="cursor"):
        m.timeline(cursor=cursor, **ANN)


@pytest.mark.parametrize("began", [-(2**63), 2**63 - 1])
def test_a_cursor_beyond_all_time_does_no_harm(m: Memory, began: int) -> None:
    m.add(facts=["one", {"text": "two", "event_date": "2020-01-01"}], **ANN)
    found = m.timeline(cursor=cursor_of((began, 1, 1)), **ANN)
    assert len(found["results"]) == (2 if began < 0 else 0)


# --- against a plain model of the world -------------------------------------------------------------------


def test_at_an_instant_the_timeline_has_what_held_then(make_memory: MakeMemory) -> None:
    m = make_memory(**BERLIN)
    chance = random.Random(3)
    world: list[tuple[str, int, int | None]] = []
    for number in range(60):
        began = chance.randrange(0, 400) * 86_400
        ended = None if chance.random() < 0.4 else began + chance.randrange(1, 90) * 86_400
        fact = {"text": f"положение {number}", "valid_from": began, "valid_to": ended}
        m.add(facts=[fact], **ANN)
        world.append((fact["text"], began, ended))
    for at in (0, 86_400 * 30, 86_400 * 200 + 5, 86_400 * 399, 86_400 * 2_000):
        held = {text for text, began, ended in world if began <= at and (ended is None or ended > at)}
        told = m.timeline(since=at, until=at, limit=100, **ANN)
        assert set(texts(told)) == held
        assert {i["memory"] for i in m.get_all(as_of=at, limit=100, **ANN)["results"]} == held
        assert told["total"] == len(held)
