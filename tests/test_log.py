"""`log`: all changes of a scope, newest first, in pages that stay as they are while changes are added."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import MakeMemory
from mnemic import Memory, NotFoundError, ScopeError, ValidationError
from mnemic.cli.app import app

pytestmark = pytest.mark.usefixtures("ticking")

PEANUTS = '对花生过敏 🥜\n"really"'


def lived(m: Memory) -> dict[str, str]:
    """A store in which something of every kind happened; the ids by a word."""
    said = m.add("I live in Hangzhou.", user_id="ann", run_id="chat-1", timestamp="2024-01-02")["results"]
    [peanuts] = m.add(PEANUTS, user_id="ann", agent_id="pip", infer=False)["results"]
    m.add("I now live in Shanghai.", user_id="ann", run_id="chat-2", timestamp="2024-05-06")
    m.add(PEANUTS, user_id="ann", agent_id="pip", run_id="chat-2", infer=False)
    m.update(peanuts["id"], metadata={"价": 1}, actor="ann", reason="запас")
    m.delete(peanuts["id"], actor="admin", reason="not true")
    m.restore(peanuts["id"], actor="ann")
    m.add("Bob keeps bees", user_id="bob", infer=False)
    return {"hangzhou": said[0]["id"], "peanuts": peanuts["id"]}


def events(page: Any) -> list[str]:
    return [entry["event"] for entry in page["results"]]


def test_it_holds_every_change_newest_first(m: Memory) -> None:
    ids = lived(m)
    page = m.log(user_id="ann", limit=50)
    told = ["RESTORE", "DELETE", "UPDATE"]
    adds = ["EPISODE", "NONE", "SUPERSEDE", "EPISODE", "ADD", "EPISODE", "ADD", "EPISODE", "ADD"]
    assert events(page) == told + adds
    assert page["total"] == 12
    assert (page["next"], page["truncated"]) == (None, False)
    times = [entry["at"] for entry in page["results"]]
    assert times == sorted(times, reverse=True)
    deleted = page["results"][1]
    assert deleted == {
        "id": deleted["id"],
        "at": deleted["at"],
        "event": "DELETE",
        "memory_id": ids["peanuts"],
        "old_memory": PEANUTS,
        "new_memory": None,
        "old_metadata": {"价": 1},
        "new_metadata": None,
        "actor": "admin",
        "reason": "not true",
        "trace_id": deleted["trace_id"],
        "user_id": "ann",
        "agent_id": "pip",
        "app_id": None,
    }
    assert len({entry["id"] for entry in page["results"]}) == 12


def test_an_add_is_found_by_its_trace(m: Memory) -> None:
    added = m.add("Mara likes chess", user_id="ann", infer=False)
    assert {entry["trace_id"] for entry in m.log(user_id="ann")["results"]} == {added["trace_id"]}


def test_a_memory_has_the_same_changes_as_in_its_history(m: Memory) -> None:
    ids = lived(m)
    for uid in ids.values():
        page = m.log(memory_id=uid, limit=50)
        assert page["total"] == len(page["results"])
        line = [
            (e["memory_id"], e["event"], e["old_memory"], e["new_memory"], e["actor"], e["reason"], e["at"])
            for e in reversed(page["results"])
            if e["event"] != "NONE"
        ]
        assert line == [
            (
                e["memory_id"],
                e["event"],
                e["old_memory"],
                e["new_memory"],
                e["actor"],
                e["reason"],
                e["updated_at"],
            )
            for e in m.history(uid)
        ]
    assert m.log(memory_id="no-such-id")["total"] == 0
    assert m.log(memory_id=ids["peanuts"], user_id="bob")["total"] == 0


def test_without_ids_it_is_that_of_the_tenant(m: Memory, make_memory: MakeMemory) -> None:
    lived(m)
    assert {entry["user_id"] for entry in m.log(limit=50)["results"]} == {"ann", "bob"}
    assert make_memory(tenant="third").log() == {"results": [], "total": 0, "next": None, "truncated": False}


def test_another_owner_changes_nothing_in_it(m: Memory, make_memory: MakeMemory) -> None:
    lived(m)
    before = m.log(user_id="ann", limit=50)
    m.add(PEANUTS, user_id="eve", run_id="chat-1", infer=False)
    make_memory(tenant="third").add(PEANUTS, user_id="ann", run_id="chat-1", infer=False)
    assert m.log(user_id="ann", limit=50) == before
    assert m.scoped(user_id="ann").log(limit=50) == before
    with pytest.raises(ScopeError):
        m.scoped(user_id="ann").log(user_id="bob")


def test_a_run_has_the_changes_of_its_memories_and_its_talks(m: Memory) -> None:
    lived(m)
    assert events(m.log(run_id="chat-1")) == ["SUPERSEDE", "EPISODE", "ADD"]
    second = m.log(run_id="chat-2", user_id="ann", limit=50)
    # The peanuts were said there too, so all that happens to them belongs there.
    peanuts = ["RESTORE", "DELETE", "UPDATE", "EPISODE", "NONE"]
    assert events(second) == [*peanuts, "EPISODE", "ADD", "ADD"]
    assert second["total"] == 8
    assert m.log(run_id="chat-1", user_id="bob")["total"] == 0
    assert m.log(run_id="no-such-run")["total"] == 0


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"actor": "ann"}, ["RESTORE", "UPDATE"]),
        ({"actor": "an"}, []),
        ({"event": "DELETE"}, ["DELETE"]),
        ({"event": ["DELETE", "RESTORE"]}, ["RESTORE", "DELETE"]),
        ({"event": ("ADD", "ADD"), "user_id": "bob"}, ["ADD"]),
        ({"event": "UPDATE", "actor": "admin"}, []),
        ({"since": "2023-11", "until": "2023-11", "event": "UPDATE"}, ["UPDATE"]),
        ({"since": "2023-12"}, []),
        ({"until": "2023-10-31"}, []),
    ],
)
def test_what_is_asked_for(m: Memory, asked: dict[str, Any], expected: list[str]) -> None:
    lived(m)
    page = m.log(**asked)
    assert events(page) == expected
    assert page["total"] == len(expected)


def test_both_ends_of_a_time_are_included(m: Memory) -> None:
    lived(m)
    whole = m.log(limit=50)["results"]
    at = whole[4]["at"]
    assert m.log(since=at, until=at, limit=50)["results"] == [e for e in whole if e["at"] == at]
    assert (
        m.log(since=at)["total"] + m.log(until=at)["total"] == len(whole) + m.log(since=at, until=at)["total"]
    )


def in_pages(m: Memory, between: Callable[[], object], **asked: Any) -> list[Any]:
    found: list[Any] = []
    page = m.log(**asked)
    while True:
        found += page["results"]
        if page["next"] is None:
            return found
        between()
        page = m.log(**asked, cursor=page["next"])


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_pages_stay_as_they_are_while_changes_are_added(m: Memory, size: int) -> None:
    lived(m)
    whole = m.log(limit=100)["results"]
    numbers = iter(range(1000))

    def write() -> None:
        m.add(f"заметка {next(numbers)}", user_id="ann", infer=False)
        m.add(f"note {next(numbers)}", user_id=f"user-{next(numbers)}", infer=False)

    assert in_pages(m, write, limit=size) == whole


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"event": "DELETED"}, "did you mean 'DELETE'"),
        ({"event": ["ADD", "x"]}, "the events are ADD, UPDATE"),
        ({"event": []}, "event must be"),
        ({"event": 3}, "event must be"),
        ({"event": [["ADD"]]}, "is unknown"),
        ({"since": "one day"}, "since must be"),
        ({"until": True}, "until must be"),
        ({"actor": " "}, "actor cannot be empty"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"limit": -1}, "limit"),
        ({"user_id": "*"}, "user_id"),
        ({"memory_id": ""}, "memory_id"),
    ],
)
def test_wrong_arguments_are_told(m: Memory, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        m.log(**wrong)


def test_a_reset_leaves_no_log(m: Memory) -> None:
    ids = lived(m)
    m.reset()
    assert m.log()["total"] == 0
    with pytest.raises(NotFoundError):
        m.delete(ids["peanuts"])


# --- the command ------------------------------------------------------------------------------------------


def shown(store: Path, *args: str) -> str:
    command = ["log", "--store", str(store), *args]
    done = CliRunner().invoke(app, command, env={"MNEMIC_EMBEDDER": "none"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_shows_a_change_after_the_other(m: Memory, store_path: Path) -> None:
    ids = lived(m)
    text = shown(store_path, "-u", "ann")
    for words in (
        "UPDATE    对花生过敏 🥜",
        'metadata: {"价": 1}',
        "by ann: запас",
        "DELETE    (deleted)",
        "EPISODE   (messages kept)",
        "NONE      (said again, or out of a run)",
        f"{ids['peanuts']}  ann pip",
    ):
        assert words in text, words
    assert "bob" not in text
    assert "Bob keeps bees" in shown(store_path, "--limit", "2")
    assert "2 of 14 changes shown; --all shows all." in shown(store_path, "--limit", "2")
    assert shown(store_path, ids["hangzhou"], "--actor", "nobody") == "No such change.\n"


def test_the_command_takes_what_the_verb_takes(m: Memory, store_path: Path) -> None:
    ids = lived(m)

    def found(*args: str) -> Any:
        return json.loads(shown(store_path, "--json", *args))

    assert found("--event", "ADD", "--event", "UPDATE", "--all") == m.log(event=["ADD", "UPDATE"], limit=50)
    assert found(ids["peanuts"], "--since", "2023-11", "--until", "2023-11-30") == m.log(
        memory_id=ids["peanuts"], since="2023-11", until="2023-11-30"
    )
    first = found("--limit", "3")
    assert found("--limit", "3", "--cursor", first["next"]) == m.log(limit=3, cursor=first["next"])
