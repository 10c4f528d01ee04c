"""undo: what one call did is taken back as new versions, all of it or nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import ChangedSinceError, DuplicateError, Memory, NotFoundError, ValidationError
from mnemic.models.fakes import HashEmbedder, ScriptedLLM

ANN = {"user_id": "ann"}


def current(m: Memory, **more: Any) -> list[str]:
    listed = sorted(item["memory"] for item in m.get_all(**ANN, **more)["results"])
    found = {item["memory"] for item in m.search("live 住 move", **ANN, top_k=100, **more)["results"]}
    assert found <= set(listed)
    return listed


def state(m: Memory) -> Any:
    """All that is believed, with what makes a version, whatever its number and times of change."""
    items = m.get_all(**ANN, include_superseded=True, show_expired=True, limit=100)["results"]
    hidden = ("updated_at", "version", "hash")
    return sorted((sorted((k, str(v)) for k, v in item.items() if k not in hidden)) for item in items)


def labels(m: Memory) -> list[list[str]]:
    """The runs of each memory."""
    items = m.get_all(**ANN)["results"]
    return [sorted(item.get("run_ids") or [item["run_id"]]) for item in items]


def last_trace(m: Memory, **more: Any) -> str:
    return m.log(**ANN, **more, limit=1)["results"][0]["trace_id"]


def test_an_add_is_taken_back_whole_and_again(m: Memory) -> None:
    m.add("I live in Rome. I have a cat named Mia.", **ANN, timestamp="2024-01-01")
    before = state(m)
    moved = m.add("I moved to Oslo. 我对花生过敏。", **ANN, timestamp="2024-06-01", run_id="r1")
    after = state(m)
    undone = m.undo(moved["trace_id"], **ANN, actor="ann", reason="a slip")
    assert state(m) == before
    assert undone["undone"] == moved["trace_id"]
    assert sorted(one["event"] for one in undone["results"]) == ["DELETE", "DELETE", "RESTORE"]
    rome = next(item for item in m.get_all(**ANN)["results"] if "Rome" in item["memory"])
    events = [(entry["event"], entry["actor"], entry["reason"]) for entry in m.history(rome["id"])]
    assert events[-1] == ("RESTORE", "ann", f"undo of {moved['trace_id']}; a slip")
    assert [event for event, _, _ in events] == ["ADD", "SUPERSEDE", "RESTORE"]
    assert {message["content"] for message in m.messages(**ANN)["results"]} >= {
        "I moved to Oslo. 我对花生过敏。"
    }

    again = m.undo(undone["trace_id"], **ANN)
    assert state(m) == after
    m.undo(again["trace_id"], **ANN)
    assert state(m) == before
    assert m.check(full=True)["sound"]
    # What was undone is open to be said again.
    m.add("I moved to Oslo.", **ANN, timestamp="2024-07-01")
    assert "I moved to Oslo." in current(m)


def test_every_change_is_taken_back(m: Memory) -> None:
    talk = [{"role": "user", "content": "I keep bees 🐝"}, {"role": "user", "content": "天 tea"}]
    added = m.add(talk, **ANN, infer=False, metadata={"k": 1})["results"]
    bees, tea = (item["id"] for item in added)
    seen = [state(m)]
    m.update(bees, "I keep hens", metadata={"k": 2}, expiration_date="2099-01-01")
    traces = [last_trace(m, event="UPDATE")]
    seen.append(state(m))
    m.delete(tea)
    traces.append(last_trace(m, event="DELETE"))
    seen.append(state(m))
    m.restore(tea)
    traces.append(last_trace(m, event="RESTORE"))
    seen.append(state(m))
    m.delete_all(**ANN)
    traces.append(last_trace(m, event="DELETE"))
    while traces:
        m.undo(traces.pop(), **ANN)
        assert state(m) == seen.pop()
    assert m.search("I keep bees", **ANN)["results"][0]["id"] == bees
    assert m.check(full=True)["sound"]


def test_what_was_changed_since_is_not_taken_back(m: Memory) -> None:
    moved = m.add("I live in Rome.", **ANN, timestamp="2024-01-01")
    m.add("I moved to Oslo.", **ANN, timestamp="2024-06-01")
    before = state(m)
    with pytest.raises(ChangedSinceError, match="SUPERSEDE") as fault:
        m.undo(moved["trace_id"])
    assert state(m) == before
    m.undo(fault.value.trace_id)
    m.undo(moved["trace_id"])
    assert current(m) == []
    with pytest.raises(ChangedSinceError, match="DELETE"):
        m.undo(moved["trace_id"])


def test_what_others_filed_before_it_stands_against_an_undo(m: Memory) -> None:
    moved = m.add("I moved to Oslo.", **ANN, timestamp="2024-06-01")
    m.add("I live in Rome.", **ANN, timestamp="2024-01-01")
    with pytest.raises(ChangedSinceError):
        m.undo(moved["trace_id"])
    assert current(m) == ["I moved to Oslo."]


def test_what_others_state_too_stays(m: Memory) -> None:
    m.add("I live in Rome.", **ANN, timestamp="2024-01-01")
    moved = m.add("I moved to Oslo. I have a cat named Mia.", **ANN, timestamp="2024-06-01")
    again = m.add("I moved to Oslo.", **ANN, timestamp="2024-06-02", run_id="r2")
    assert [item["event"] for item in again["results"]] == ["NONE"]
    undone = m.undo(moved["trace_id"])
    assert current(m) == ["I moved to Oslo."]
    kept = {one["memory"]: one.get("kept", "") for one in undone["results"] if one["event"] == "NONE"}
    assert set(kept) == {"I live in Rome.", "I moved to Oslo."}
    assert again["trace_id"] in kept["I moved to Oslo."]

    # Without the repeat it is the first one's alone.
    m.undo(undone["trace_id"])
    m.undo(again["trace_id"])
    assert m.get_all(**ANN, run_id="r2")["total"] == 0
    m.undo(moved["trace_id"])
    assert current(m) == ["I live in Rome."]


@pytest.mark.parametrize("first", ["supersedes", "corrects"])
def test_what_one_call_ended_and_took_back_comes_back(m: Memory, first: str) -> None:
    old = m.add(facts=["home: Rome 🏛"], **ANN, timestamp="2024-01-01")["results"][0]["id"]
    before = state(m)
    facts = [{"text": "家：奥斯陆", "supersedes": old}, {"text": "home: Lund", "corrects": old}]
    told = m.add(facts=facts if first == "supersedes" else facts[::-1], **ANN, timestamp="2024-06-01")
    after = state(m)
    undone = m.undo(told["trace_id"])
    assert state(m) == before
    m.undo(undone["trace_id"])
    assert state(m) == after


def test_a_repeat_that_counts_again_states_it_again(m: Memory) -> None:
    first = m.add("I live in Rome.", **ANN, timestamp="2024-01-01", run_id="r1")
    again = m.add("I live in Rome.", **ANN, timestamp="2024-01-02", run_id="r2")
    after = state(m)
    undone = m.undo(again["trace_id"])
    assert labels(m) == [["r1"]]
    redone = m.undo(undone["trace_id"])
    assert state(m) == after
    assert labels(m) == [["r1", "r2"]]
    m.undo(redone["trace_id"])
    assert labels(m) == [["r1"]]
    m.undo(m.log(**ANN, limit=1)["results"][0]["trace_id"])
    kept = m.undo(first["trace_id"])
    assert [one["event"] for one in kept["results"]] == ["NONE"]
    assert current(m) == ["I live in Rome."]


def test_what_was_refined_in_a_run_is_not_of_the_run_any_more(make_memory: MakeMemory) -> None:
    meets = [{"memory": "m1", "how": "refines"}]
    drawn = {"facts": [{"text": "Ann loves green tea 绿茶", "source": [0], "meets": meets}]}
    m = make_memory(llm=ScriptedLLM([drawn, {"facts": []}]))
    m.add(facts=["Ann loves tea"], **ANN, run_id="r1")
    told = m.add("It has to be green tea 绿茶!", **ANN, run_id="r2")
    assert labels(m) == [["r1", "r2"]]
    undone = m.undo(told["trace_id"])
    assert (current(m), labels(m)) == (["Ann loves tea"], [["r1"]])
    m.undo(undone["trace_id"])
    assert (current(m), labels(m)) == (["Ann loves green tea 绿茶"], [["r1", "r2"]])


def test_the_ids_guard_an_undo(m: Memory) -> None:
    added = m.add("bob lives 住", user_id="bob", run_id="r1", infer=False)
    for ids in ({"user_id": "ann"}, {"run_id": "r2"}, {"user_id": "bob", "app_id": "x"}):
        with pytest.raises(NotFoundError):
            m.undo(added["trace_id"], **ids)
    with pytest.raises(NotFoundError):
        m.scoped(user_id="ann").undo(added["trace_id"])
    assert m.get_all(user_id="bob")["total"] == 1
    m.undo(added["trace_id"], user_id="bob", run_id="r1")
    assert m.get_all(user_id="bob")["total"] == 0


def test_within_a_run_what_was_done_to_its_memories_can_be_undone(m: Memory) -> None:
    run = m.scoped(user_id="ann", run_id="r1")
    uid = run.add("tea 茶", infer=False)["results"][0]["id"]
    m.add("coffee", **ANN, infer=False, run_id="r2")

    def last() -> str:
        return str(run.log(limit=1)["results"][0]["trace_id"])

    run.update(uid, "green tea 绿茶")
    undone = run.undo(last())
    assert current(m, run_id="r1") == ["tea 茶"]
    run.undo(undone["trace_id"])
    assert current(m, run_id="r1") == ["green tea 绿茶"]
    run.delete(uid)
    with pytest.raises(NotFoundError):
        m.undo(last(), **ANN, run_id="r2")
    run.undo(last())
    m.delete_all(**ANN)
    with pytest.raises(NotFoundError):
        run.undo(last())
    m.undo(last())
    assert current(m) == ["coffee", "green tea 绿茶"]


def test_what_cannot_be_taken_back_says_so(m: Memory) -> None:
    added = m.add("words", **ANN, infer=False)
    m.purge(added["results"][0]["id"])
    with pytest.raises(ValidationError, match="PURGE"):
        m.undo(last_trace(m, event="PURGE"))
    for odd in ("no such trace", "x" * 5000):
        with pytest.raises(NotFoundError):
            m.undo(odd)
    for wrong in ("", None, 7):
        with pytest.raises(ValidationError):
            m.undo(wrong)  # type: ignore[arg-type]


def test_words_that_are_live_again_stand_against_an_undo(m: Memory) -> None:
    first = m.add("a 天 note", **ANN, infer=False)["results"][0]["id"]
    m.delete(first)
    gone = last_trace(m, event="DELETE")
    m.add("a 天 note", **ANN, infer=False)
    with pytest.raises(DuplicateError):
        m.undo(gone)
    assert m.get_all(**ANN)["total"] == 1


@pytest.mark.sqlite
def test_an_older_store_learns_to_find_by_trace(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with Memory(path, embedder=HashEmbedder()) as m:
        trace_id = m.add("words", **ANN, infer=False)["trace_id"]
    with sqlite3.connect(path) as raw:
        for index in ("change_trace", "episode_trace"):
            raw.execute(f"DROP INDEX {index}")
        raw.execute("UPDATE meta SET value = '5' WHERE key = 'schema_version'")
    with Memory(path, embedder=HashEmbedder()) as m:
        m.undo(trace_id)
        assert m.get_all(**ANN)["total"] == 0
    with sqlite3.connect(path) as raw:
        names = {row[0] for row in raw.execute("SELECT name FROM sqlite_master")}
    assert {"change_trace", "episode_trace"} <= names
