"""How long things are kept: `ttl`, `expiration_date`, and that what has expired is looked past everywhere."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeMemory, SetClock
from mnemic import DuplicateError, KeyReuseError, Memory, ValidationError
from mnemic.clock import parse_duration
from mnemic.models.fakes import ScriptedServer
from talk_with import asked, llm_at, meeting

ANN = {"user_id": "ann"}
NOON = "2024-03-10T12:00"


def texts(found: Any) -> list[str]:
    return sorted(item["memory"] for item in found["results"])


# --- lengths of time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        (90, 90),
        (0.5, 0.5),
        ("90", 90),
        ("90s", 90),
        ("45m", 45 * 60),
        ("12h", 12 * 3600),
        ("30d", 30 * 86_400),
        (" 2 W ", 14 * 86_400),
        ("1.5h", 5400),
        (timedelta(days=1, microseconds=1), 86_400.000001),
    ],
)
def test_lengths_of_time_are_read(ttl: Any, seconds: float) -> None:
    assert parse_duration(ttl, field="ttl") == round(seconds * 1_000_000)


BAD = [
    0,
    -1,
    "0d",
    "-1d",
    "",
    "d",
    "30 days",
    "1y",
    "1h30m",
    True,
    [1],
    float("nan"),
    float("inf"),
    1e-9,
    "1e3",
]
BAD += [timedelta(0), timedelta(days=-1), "٣d", "9" * 400 + "d"]


@pytest.mark.parametrize("ttl", BAD)
def test_what_is_no_length_of_time_is_refused(m: Memory, ttl: Any) -> None:
    with pytest.raises(ValidationError, match=r"^ttl "):
        m.add("x", infer=False, ttl=ttl, **ANN)
    with pytest.raises(ValidationError, match=r"^facts\[0\]\.ttl "):
        m.add(facts=[{"text": "x", "ttl": ttl}], **ANN)
    assert m.get_all(**ANN)["total"] == 0


@given(
    st.integers(1, 10**6), st.sampled_from([("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)])
)
def test_a_text_is_as_long_as_its_seconds(many: int, unit: tuple[str, int]) -> None:
    assert parse_duration(f"{many}{unit[0]}", field="x") == parse_duration(many * unit[1], field="x")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ttl": "1d", "expiration_date": "2030-01-01"}, "ttl or expiration_date"),
        ({"ttl": "999999w"}, "ttl ends after the year 9999"),
        (
            {"facts": [{"text": "x", "ttl": 1, "expiration_date": "2030-01-01"}]},
            r"facts\[0\]\.ttl or facts\[0\]\.exp",
        ),
    ],
)
def test_only_one_end_that_there_can_be(m: Memory, given: dict[str, Any], words: str) -> None:
    given = {"facts": ["x"], **given}
    with pytest.raises(ValidationError, match=words):
        m.add(**given, **ANN)


# --- until when ---------------------------------------------------------------------------------------------


def test_it_is_kept_to_the_instant_by_the_clock(make_memory: MakeMemory, set_clock: SetClock) -> None:
    m = make_memory(timezone="Asia/Tokyo")
    set_clock(NOON)
    [item] = m.add("会议室在三楼 🚪", infer=False, ttl="12h", timestamp="1999-01-01", **ANN)["results"]
    shown = m.get(item["id"])
    assert shown is not None
    assert shown["expiration_date"] == "2024-03-11"
    set_clock("2024-03-10T23:59:59.999999")
    for found in (m.get_all(**ANN), m.search("会议室", **ANN), m.timeline(**ANN)):
        assert texts(found) == ["会议室在三楼 🚪"]
    set_clock("2024-03-11T00:00:00")
    for found in (
        m.get_all(**ANN),
        m.search("会议室", **ANN),
        m.timeline(**ANN),
        m.timeline("会议室", **ANN),
    ):
        assert texts(found) == []
    assert m.get_all(**ANN)["total"] == 0
    assert m.stats(**ANN)["superseded_or_expired"] == 1
    verdict = m.why("会议室", expect="三楼", **ANN)
    assert (verdict["missing_at"], verdict["reason"]) == ("eligible", "it expired on 2024-03-11")
    assert m.why("会议室", expect="三楼", show_expired=True, **ANN)["missing_at"] is None
    assert texts(m.get_all(show_expired=True, **ANN)) == ["会议室在三楼 🚪"]
    assert texts(m.search("会议室", known_at="2024-03-10T18:00Z", **ANN)) == ["会议室在三楼 🚪"]


def test_each_fact_has_its_own_end(m: Memory, set_clock: SetClock) -> None:
    set_clock(NOON)
    facts = [
        "as the call says",
        {"text": "an hour", "ttl": timedelta(hours=1)},
        {"text": "a day", "expiration_date": "2024-03-10"},
        {"text": "всегда", "expiration_date": "9999-12-31"},
    ]
    m.add(facts=facts, ttl="2w", **ANN)
    left = []
    for moment in ("2024-03-10T13:00", "2024-03-11T00:00", "2024-03-24T11:59:59", "2024-03-24T12:00"):
        set_clock(moment)
        left.append(texts(m.get_all(**ANN)))
    assert left == [
        ["a day", "as the call says", "всегда"],
        ["as the call says", "всегда"],
        ["as the call says", "всегда"],
        ["всегда"],
    ]


def test_statements_that_are_drawn_are_kept_as_long(m: Memory, set_clock: SetClock) -> None:
    set_clock(NOON)
    m.add("I'm in Leeds this week. I keep bees.", ttl=7 * 86_400, **ANN)
    assert m.get_all(**ANN)["total"] == 2
    set_clock("2024-03-17T12:00")
    assert m.get_all(**ANN)["total"] == 0


def test_an_update_puts_the_end_off_or_takes_it_away(m: Memory, set_clock: SetClock) -> None:
    set_clock(NOON)
    uid = m.add("a note", infer=False, ttl=60, **ANN)["results"][0]["id"]
    m.update(uid, metadata={"n": 1})
    set_clock("2024-03-10T12:01")
    assert texts(m.get_all(**ANN)) == []
    m.update(uid, expiration_date="2024-03-10")
    assert texts(m.get_all(**ANN)) == ["a note"]
    m.update(uid, expiration_date=None)
    set_clock("2999-01-01")
    assert texts(m.get_all(**ANN)) == ["a note"]


def test_a_key_belongs_to_one_ttl(m: Memory) -> None:
    call: Callable[..., Any] = lambda **more: m.add(facts=["x"], idempotency_key="k", **more, **ANN)  # noqa: E731
    assert call(ttl="1d") == call(ttl="1d")
    for other in ({}, {"ttl": "2d"}, {"expiration_date": "2030-01-01"}):
        with pytest.raises(KeyReuseError):
            call(**other)


def test_the_instant_goes_along_in_an_export(m: Memory, make_memory: MakeMemory, set_clock: SetClock) -> None:
    set_clock(NOON)
    m.add("a note 便条", infer=False, ttl="90m", **ANN)
    file = io.BytesIO()
    m.export_to(file, **ANN)
    third = make_memory(tenant="third")
    m.reset()
    file.seek(0)
    third.import_from(file)
    set_clock("2024-03-10T13:29:59")
    assert texts(third.get_all(**ANN)) == ["a note 便条"]
    set_clock("2024-03-10T13:30")
    assert texts(third.get_all(**ANN)) == []


# --- what has expired does not count -------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [{"ttl": "1h"}, {"expiration_date": "2024-03-10"}])
def test_many_that_expired_hide_none_of_those_that_are_kept(
    m: Memory, set_clock: SetClock, kept: dict[str, Any]
) -> None:
    set_clock(NOON)
    live = ["bees in spring 🐝", "пчёлы bees"]
    m.add(facts=live[:1], **ANN)
    m.add(facts=[f"bees {n} 蜂" for n in range(61)], **kept, **ANN)
    m.add(facts=live[1:], **ANN)
    set_clock("2024-03-11T00:00")
    for found in (
        m.get_all(limit=2, **ANN),
        m.get_all(limit=2, filters={"text": {"contains": "bees"}}, **ANN),
        m.search("bees", limit=2, **ANN),
        m.timeline(limit=2, **ANN),
        m.timeline("bees", limit=2, **ANN),
    ):
        assert texts(found) == live
        assert found.get("total", 2) == 2
        assert not found.get("truncated")
    assert m.get_all(limit=2, show_expired=True, **ANN)["total"] == 63
    assert m.stats(**ANN)["memories"] == 2
    assert m.delete_all(dry_run=True, **ANN)["would_delete"] != []


def test_a_model_is_not_shown_what_has_expired(make_memory: MakeMemory, set_clock: SetClock) -> None:
    with ScriptedServer() as server:
        m = make_memory(llm=llm_at(server))
        set_clock(NOON)
        m.add(facts=["Lives in Oslo 住"], ttl="1h", **ANN)
        m.add(facts=["Keeps bees 住"], **ANN)
        set_clock("2024-03-10T13:00")
        meeting(server, ("Lives in Turku 住", {}))
        m.add("I live in Turku 住", **ANN)
        sent = str(asked(server)[-1])
    assert "Keeps bees 住" in sent
    assert "Lives in Oslo 住" not in sent


def test_what_has_expired_can_be_said_again(m: Memory, set_clock: SetClock) -> None:
    set_clock(NOON)
    [first] = m.add(facts=["The door code is 4711 🔑"], ttl="1h", **ANN)["results"]
    [repeat] = m.add(facts=["the door code is 4711 🔑"], ttl="9h", **ANN)["results"]
    assert (repeat["id"], repeat["event"]) == (first["id"], "NONE")
    set_clock("2024-03-10T13:00")
    [again] = m.add(facts=["The door code is 4711 🔑"], ttl="1h", **ANN)["results"]
    assert again["event"] == "ADD"
    assert [i["id"] for i in m.get_all(**ANN)["results"]] == [again["id"]]
    [twin] = m.add(facts=["The door code is 4711 🔑"], **ANN)["results"]
    assert twin["id"] == again["id"]
    assert m.check(full=True)["sound"]
    with pytest.raises(DuplicateError):
        m.update(first["id"], expiration_date=None)
    m.delete(again["id"])
    m.update(first["id"], expiration_date=None)
    assert [i["id"] for i in m.get_all(**ANN)["results"]] == [first["id"]]
    with pytest.raises(DuplicateError):
        m.restore(again["id"])
    set_clock("2024-03-10T14:00")
    m.restore(again["id"])
    assert [i["id"] for i in m.get_all(**ANN)["results"]] == [first["id"]], (
        "it came back, and has expired since"
    )
    assert m.check(full=True)["sound"]


def test_the_words_of_what_has_expired_are_free_for_an_update(m: Memory, set_clock: SetClock) -> None:
    set_clock(NOON)
    [old] = m.add(facts=["Das Café öffnet um 9"], ttl="1h", **ANN)["results"]
    [other] = m.add(facts=["Das Café öffnet um 8"], **ANN)["results"]
    with pytest.raises(DuplicateError):
        m.update(other["id"], "Das Café öffnet um 9")
    set_clock("2024-03-10T13:00")
    m.update(other["id"], "Das Café öffnet um 9")
    assert texts(m.get_all(**ANN)) == ["Das Café öffnet um 9"]
    trace = m.log(memory_id=other["id"], event="UPDATE")["results"][0]["trace_id"]
    m.undo(trace)
    assert texts(m.get_all(**ANN)) == ["Das Café öffnet um 8"]
    assert m.get(old["id"]) is not None
    assert m.check(full=True, repair=True)["sound"]
