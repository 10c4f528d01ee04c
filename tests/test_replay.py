"""replay(): today's code on the replies that a trace has kept, or on another one; nothing is stored."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeMemory, RowCounts
from mnemic import ConfigError, LLMError, LLMOutputError, Memory, ValidationError
from mnemic.replaying import NO_DECISION, differences
from mnemic.steps import VerdictItem
from raw_stores import raw_connection
from test_trace import Edited, edited, fact, reply

__all__ = ["edited"]

TALK = [
    {
        "role": "user",
        "name": "Ann",
        "content": '我五月搬到了杭州,\n"finally" 🏙',
        "timestamp": "2024-05-03T10:00+08:00",
    },
    {"role": "assistant", "content": "Congratulations!"},
    {"role": "user", "content": "I've a cat, Миша"},
]
MOVED = fact(
    "住在杭州", since="2024-05", category="personal_details", meets=[{"memory": "m1", "how": "changes"}]
)
CAT = fact("Has a cat, Миша", 2, entities=[{"name": "Миша", "type": "cat"}])


def talked(m: Memory, **more: Any) -> str:
    """Adds a talk that changes a memory; its trace."""
    m.add("I live in Oslo.", user_id="ann", run_id="r1", timestamp="2024-01-02")
    return m.add(TALK, user_id="ann", run_id="r1", timestamp="2024-05-03T02:01Z", **more)["trace_id"]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
@pytest.mark.parametrize("mode", ["supersede", "append"])
def test_the_same_code_makes_the_same_of_the_same_reply(
    edited: Edited, row_counts: RowCounts, mode: str, zone: str
) -> None:
    wrong = fact("Invented", 9, on="soon", meets=[{"memory": "m7", "how": "ends"}])
    m, llm = edited(reply(fact("Lives in Oslo")), reply(MOVED, CAT, CAT, wrong), editing=mode, timezone=zone)
    traced = talked(m, prompt='Keep "names" as they are,\nalways.')
    before = row_counts()
    again = m.replay(traced)
    assert row_counts() == before
    assert len(llm.requests) == 2
    assert again["differences"] == []
    assert again["same_request"] is True
    assert (again["answer"], again["calls"], again.get("notice")) == ("recorded", [], None)
    assert again["prompt"] == {"before": "extract/1", "after": "extract/1"}
    assert again["model"] == {"before": llm.name, "after": llm.name}
    assert again["before"] == m.trace(traced)["verdicts"]
    assert [one["verdict"] for one in again["after"]] == ["proposed", "proposed", "rejected", "rejected"]


def test_the_classic_editor_is_replayed_in_both_steps(edited: Edited) -> None:
    edits = [
        {"id": "0", "text": "住在杭州, 以前住在 Oslo", "event": "UPDATE", "old_memory": "Lives in Oslo"},
        {"id": "5", "text": CAT["text"], "event": "ADD"},
    ]
    m, llm = edited(reply(fact("Lives in Oslo")), reply(MOVED, CAT), {"memory": edits}, editing="reconcile")
    traced = talked(m)
    again = m.replay(traced)
    assert (again["differences"], again["same_request"]) == ([], True)
    assert {one["text"] for one in again["after"]} == {one["text"] for one in edits}
    other = m.replay(traced, answer=reply(fact("Has two cats", 2), CAT))
    assert "second decision" in other["notice"]
    edits[0] |= {"event": "DELETE", "text": "Lives in Oslo"}
    llm.enqueue(reply(MOVED, CAT), {"memory": edits})
    live = m.replay(traced, answer="live")
    assert [call["stage"] for call in live["calls"]] == ["extract", "decide"]
    assert {(one["change"], one["text"]) for one in live["differences"]} >= {("added", "Lives in Oslo")}
    assert m.get_all(user_id="ann")["total"] == 2


def test_a_second_decision_is_replayed_on_what_it_was_shown(make_memory: MakeMemory) -> None:
    other = make_memory()

    def first(_: Any) -> Any:
        return reply(fact("Lives in Oslo"))

    def meanwhile(_: Any) -> Any:
        other.add(facts=["Has a cat called Mischa"], user_id="ann")
        return reply(MOVED, CAT)

    def decide(lines: list[str]) -> Any:
        label = next(line for line in lines if "Mischa" in line).partition(":")[0]
        number = next(line for line in lines if "Миша" in line and line.startswith("["))[1]
        return {"decisions": [{"fact": int(number), "meets": [{"memory": label, "how": "repeats"}]}]}

    script = [first, meanwhile, decide, lambda _: reply(MOVED)]

    def model(messages: list[dict[str, str]]) -> str:
        return json.dumps(script.pop(0)(messages[-1]["content"].splitlines()), ensure_ascii=False)

    m = make_memory(llm=model)
    traced = talked(m)
    told = m.trace(traced)
    assert [call["stage"] for call in told["calls"]] == ["extract", "decide"]
    assert told["calls"][0]["offered"] != told["calls"][1]["offered"]
    assert CAT["text"] in told["calls"][1]["facts"]
    again = m.replay(traced)
    assert (again["differences"], again["same_request"]) == ([], True)
    given_again = m.replay(traced, answer=reply(MOVED, CAT))
    assert given_again["notice"] == NO_DECISION
    assert m.replay(traced, answer="live")["notice"] == NO_DECISION


def test_another_answer_is_compared_fact_by_fact(edited: Edited, row_counts: RowCounts) -> None:
    m, _ = edited(reply(fact("Lives in Oslo")), reply(MOVED, CAT, fact("Likes the city", 0)))
    traced, [oslo] = talked(m), m.get_all(user_id="ann", include_superseded=True)["results"][-1:]
    before = row_counts()
    new = reply(
        {**MOVED, "since": "2024-04", "meets": []},
        {**CAT, "text": "Has a cat called Миша", "source": [1]},
        "住在 🏙",
    )
    for answer in (new, json.dumps(new), f"Here you are:\n```json\n{json.dumps(new)}\n```", new["facts"]):
        again = m.replay(traced, answer=answer)
        assert (again["answer"], again["model"]["after"]) == ("given", None)
        moved, cat, dropped, added = again["differences"]
        assert moved == {
            "change": "changed",
            "text": "住在杭州",
            "fields": {
                "since": {"before": "2024-05", "after": "2024-04"},
                "meets": {"before": [{"memory": oslo["id"], "how": "changes"}], "after": []},
            },
        }
        assert (cat["change"], cat["text"]) == ("changed", CAT["text"])
        assert cat["fields"]["verdict"] == {"before": "proposed", "after": "rejected"}
        assert cat["fields"]["reason"] == {"before": None, "after": "source_not_allowed"}
        assert (dropped["change"], dropped["text"]) == ("dropped", "Likes the city")
        assert (added["change"], added["text"]) == ("added", "住在 🏙")
    assert row_counts() == before


def test_live_asks_the_model_of_today(edited: Edited, row_counts: RowCounts) -> None:
    m, old = edited(reply(fact("Lives in Oslo")), reply(MOVED, CAT))
    traced = talked(m)
    today, llm = edited(
        reply({**MOVED, "category": "where"}),
        custom_instructions="Only homes.",
        categories={"where": "homes"},
    )
    llm.name = "fake:newer"
    before = row_counts()
    again = today.replay(traced, answer="live")
    assert row_counts() == before
    assert (again["same_request"], again["model"]) == (False, {"before": old.name, "after": "fake:newer"})
    [call] = again["calls"]
    assert call["sent"] == [one.as_dict() for one in llm.requests[0].messages]
    assert "Only homes." in call["sent"][0]["content"]
    assert call["sent"][1] == m.trace(traced)["calls"][0]["sent"][1]
    assert {one["change"] for one in again["differences"]} == {"changed", "dropped"}
    with pytest.raises(LLMError):
        today.replay(traced, answer="live")
    llm.enqueue("no JSON", "again none")
    with pytest.raises(LLMOutputError):
        today.replay(traced, answer="live")


def test_a_procedure_is_replayed(edited: Edited) -> None:
    m, llm = edited("1. Opened the page.\n2. 点了按钮。")
    traced = m.add(TALK, agent_id="pip", memory_type="procedural_memory", prompt="In steps.")["trace_id"]
    again = m.replay(traced)
    assert (again["differences"], again["same_request"]) == ([], True)
    llm.enqueue("1. Opened the page.\n2. Fell over.")
    live = m.replay(traced, answer="live")
    assert live["model"]["after"] == llm.name
    [changed] = live["differences"]
    assert changed["fields"]["text"]["after"] == "1. Opened the page.\n2. Fell over."
    assert m.get_all(agent_id="pip")["total"] == 1


def test_what_cannot_be_replayed_is_an_error(edited: Edited, make_memory: MakeMemory) -> None:
    m, _ = edited(reply(MOVED))
    traced = m.add(TALK, user_id="ann")["trace_id"]
    plain = make_memory()
    by_rules = plain.add("I like tea.", user_id="ann", trace=True)["trace_id"]
    unasked = m.add([{"role": "assistant", "content": "I like tea."}], user_id="ann")["trace_id"]
    for nothing in (by_rules, unasked):
        with pytest.raises(ValidationError, match="nothing to replay"):
            m.replay(nothing)
    for wrong in (5, True, object()):
        with pytest.raises(ValidationError, match="answer"):
            m.replay(traced, answer=wrong)
    with pytest.raises(ConfigError, match="needs an llm"):
        plain.replay(traced, answer="live")
    for unread in ("", "sorry, no", {"nothing": 1}):
        with pytest.raises(LLMOutputError):
            m.replay(traced, answer=unread)


OLDER = ("timezone", "for_agent", "observed_at", "prompt")


def test_an_older_trace_with_less_in_it_is_still_told_and_replayed(edited: Edited, store: str) -> None:
    m, _ = edited(reply(fact("Lives in Oslo")), reply(MOVED, CAT))
    traced = talked(m)
    steps: dict[str, Any] = {key: value for key, value in m.trace(traced).items() if key not in OLDER}
    for call in steps["calls"]:
        del call["offered"]
    for one in (*steps["offered"], *steps["context"]):
        one.pop("since", None)
        one.pop("id" if "role" in one else "since", None)
    with raw_connection(store) as raw:
        data = zlib.compress(json.dumps(steps).encode())
        raw.execute(
            "UPDATE trace SET data = :data WHERE trace_id = :traced", {"data": data, "traced": traced}
        )
    assert m.trace(traced) == steps
    assert m.replay(traced)["differences"] == []


# --- differences: pure ------------------------------------------------------------------------------------


verdicts = st.lists(
    st.builds(
        VerdictItem,
        text=st.sampled_from(
            ["Lives in Oslo", "lives in  oslo", "Lives in Bergen, Norway", "有一只猫", "Has a cat", ""]
        ),
        sources=st.lists(st.integers(0, 2), max_size=2),
        about=st.sampled_from(["user", "assistant"]),
        verdict=st.sampled_from(["stored", "proposed", "rejected", "unchanged"]),
        reason=st.sampled_from([None, "too_long"]),
    ),
    max_size=5,
)


@given(verdicts)
def test_nothing_differs_from_itself(one: list[VerdictItem]) -> None:
    assert differences(one, one) == []


@given(verdicts, verdicts)
def test_every_fact_is_accounted_for_once(before: list[VerdictItem], after: list[VerdictItem]) -> None:
    found = differences(before, after)
    many = {
        change: sum(one["change"] == change for one in found) for change in ("added", "dropped", "changed")
    }
    assert len(before) - many["dropped"] == len(after) - many["added"] >= many["changed"]
    back = differences(after, before)
    assert sum(one["change"] == "added" for one in back) == many["dropped"]
    assert all(bool(one["fields"]) == (one["change"] == "changed") for one in found)
