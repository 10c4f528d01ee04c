"""What users report of histories and of times and zones (2.15, 2.17).

The example of 2.15 itself is in test_contract_lifecycle.py, `test_history_tells_add_update_delete_in_order`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import MakeMemory, SetClock
from mnemic import Memory
from mnemic.models.fakes import ScriptedServer
from talk_with import asked, chats, fact, facts, llm_at

VAN = "Yesterday I sold my van"
A_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def times_in(value: Any) -> Iterator[str]:
    """Every time in a result, however deep."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from times_in(one)
    elif isinstance(value, str) and A_TIME.match(value):
        yield value


# --- history (2.15) ---------------------------------------------------------------------------------------


def test_a_history_is_in_order_though_the_clock_goes_back(m: Memory, set_clock: SetClock) -> None:
    set_clock("2024-03-02T12:00")
    [added] = m.add("Has a cat 猫\n🐈", user_id="u1", infer=False)["results"]
    set_clock("2024-03-01T12:00")
    m.update(added["id"], "Has two cats")
    set_clock("2024-02-01T12:00")
    m.delete(added["id"])
    entries = m.history(added["id"])
    assert [(one["event"], one["old_memory"], one["new_memory"]) for one in entries] == [
        ("ADD", None, "Has a cat 猫\n🐈"),
        ("UPDATE", "Has a cat 猫\n🐈", "Has two cats"),
        ("DELETE", "Has two cats", None),
    ]
    times = [one["updated_at"] for one in entries]
    assert times == sorted(times)
    check = m.check(full=True)
    assert check["sound"], check["faults"]


# --- times and zones (2.17) -------------------------------------------------------------------------------


@pytest.mark.parametrize("timezone", [None, "Asia/Shanghai", "America/Los_Angeles"])
@pytest.mark.parametrize("per_message", [False, True])
def test_a_model_is_told_the_day_of_the_talk_and_not_todays(
    make_memory: MakeMemory,
    server: ScriptedServer,
    set_clock: SetClock,
    timezone: str | None,
    per_message: bool,
) -> None:
    set_clock("2043-11-23T12:00")
    m = make_memory(llm=llm_at(server), timezone=timezone)
    server.enqueue(facts(fact("Sold a van", on="2021-03-09")))
    told = "2021-03-10T09:00:00+01:00"
    if per_message:
        talk = [{"role": "user", "content": VAN, "timestamp": told}]
        added = m.add(talk, user_id="u1", timestamp="2021-05-05T09:00:00+01:00")
    else:
        added = m.add(VAN, user_id="u1", timestamp=told)
    [(_, _, said, text)] = asked(server)[0].said
    assert ("2021-03-10" in said, text) == (True, VAN)
    body = json.dumps(chats(server)[0].body)
    assert "2043" not in body
    assert "11-23" not in body
    item = m.get(added["results"][0]["id"])
    assert item is not None
    assert item["created_at"] == "2043-11-23T12:00:00+00:00"
    assert item["observed_at"] == "2021-03-10T08:00:00+00:00"


def test_without_a_time_of_the_talk_the_clock_is_asked(
    make_memory: MakeMemory, server: ScriptedServer, set_clock: SetClock
) -> None:
    set_clock("2043-11-23T20:00")
    m = make_memory(llm=llm_at(server), timezone="Asia/Shanghai")
    server.enqueue(facts(fact("Sold a van")))
    m.add(VAN, user_id="u1")
    assert "2043-11-24" in asked(server)[0].said[0][2], "the day that it is there"


@pytest.mark.parametrize("operator", ["gte", "gt", "lt", "lte"])
@pytest.mark.parametrize("field", ["created_at", "updated_at", "valid_from", "valid_to"])
def test_a_filter_compares_instants_however_they_are_written(
    m: Memory, set_clock: SetClock, field: str, operator: str
) -> None:
    around = ("2024-04-30T23:59:59", "2024-05-01T00:00:00", "2024-05-01T00:00:01", "2024-05-01T01:00:00")
    for number, at in enumerate(around):
        set_clock(at)
        known = {"valid_from": at} if field == "valid_from" else {"valid_from": "2000", "valid_to": f"{at}Z"}
        m.add(facts=[{"text": f"fact {number} 事", **known}], user_id="u1")
    same = ("2024-05-01T02:00:00+02:00", "2024-05-01T00:00:00Z", "2024-04-30T14:00:00-10:00", 1_714_521_600)

    def ids(at: Any) -> list[str]:
        asked = {"filters": {field: {operator: at}}, "user_id": "u1", "include_superseded": True}
        listed = [item["id"] for item in m.get_all(**asked)["results"]]
        assert sorted(listed) == sorted(item["id"] for item in m.search("fact 事", **asked)["results"])
        return listed

    found = [ids(at) for at in same]
    assert len(found[0]) == {"gte": 3, "gt": 2, "lt": 1, "lte": 2}[operator]
    assert found == [found[0]] * len(same)


def test_every_time_that_goes_out_is_utc_and_says_so(make_memory: MakeMemory) -> None:
    m = make_memory(timezone="Asia/Kolkata")
    m.add("I live in Rome.", user_id="u1", timestamp="2021-03-10T09:00:00+01:00")
    moved = m.add("I moved to Oslo. 🦊", user_id="u1", timestamp="2022-03-10T09:00", trace=True)
    m.add(facts=[{"text": "x", "valid_from": "2023-03", "valid_to": "2024"}], user_id="u1")
    uid = moved["results"][0]["id"]
    m.update(uid, "I moved to Oslo for good.")
    shown = [
        moved,
        m.get(uid),
        m.get_all(user_id="u1", include_superseded=True),
        m.search("live", user_id="u1", explain=True, include_superseded=True),
        m.history(uid, chain=True),
        m.messages(user_id="u1"),
        m.log(user_id="u1"),
        m.trace(moved["trace_id"]),
    ]
    m.delete(uid)
    shown.append(m.trash(user_id="u1"))
    for number, result in enumerate(shown):
        times = list(times_in(result))
        assert times or number == 7, number
        assert [at for at in times if not at.endswith(("Z", "+00:00"))] == []
