"""Moving over from mem0: stores made by real mem0s of both generations, against what these say of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from conftest import MakeMemory, RowCounts
from mnemic import Memory, ScopeError, ValidationError
from mnemic.cli.app import app
from test_mem0_reader import by_name, make_collection, payload_of, pickled

ROOT = Path(__file__).parent.parent
GENERATIONS = ("1", "2")
BERLIN = ZoneInfo("Europe/Berlin")
OWNERS: list[dict[str, str]] = [
    {"user_id": "ann"},
    {"user_id": "björn"},
    {"user_id": "李雷"},
    {"user_id": "42"},
    {"agent_id": "support-bot"},
    {"agent_id": "browser"},
    {"run_id": "night-shift"},
]


@pytest.fixture(scope="session", params=GENERATIONS, ids=lambda number: f"mem0-{number}")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as a real mem0 left it, with what it says of it in said.json."""
    python = ROOT / f".venv-mem0-{request.param}" / "bin" / "python"
    assert python.exists(), "`make test` makes the environments of mem0; run it once"
    folder = tmp_path_factory.mktemp("mem0") / "left"
    done = subprocess.run(
        [python, Path(__file__).with_name("make_mem0_store.py"), folder],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def left(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it, which must be unchanged when the test is over."""
    copy = tmp_path / "left"
    shutil.copytree(made, copy)
    yield copy
    assert content(copy) == content(made), "mem0's files changed"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def said(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "said.json").read_text(encoding="utf-8"))
    return found


def instant(time: str | None) -> datetime | None:
    """A time of mem0's or mnemic's; without a zone it is Berlin's, as the stores here are configured."""
    if time is None:
        return None
    found = datetime.fromisoformat(time)
    return (found if found.tzinfo else found.replace(tzinfo=BERLIN)).astimezone(UTC)


KEYS = ("id", "memory", "hash", "agent_id", "run_id", "actor_id", "role", "attributed_to", "expiration_date")


def comparable(item: dict[str, Any]) -> dict[str, Any]:
    # mem0 does not give out a user's metadata key "id"; it keeps it.
    metadata = {key: value for key, value in (item["metadata"] or {}).items() if key != "id"}
    user_id = None if item.get("user_id") is None else str(item["user_id"])
    times = {name: instant(item[name]) for name in ("created_at", "updated_at")}
    return {**{key: item.get(key) for key in KEYS}, **times, "user_id": user_id, "metadata": metadata}


def past(entry: dict[str, Any]) -> tuple[Any, ...]:
    at = instant(entry["updated_at"] or entry["created_at"])
    names = ("memory_id", "old_memory", "new_memory", "event", "is_deleted", "actor_id", "role")
    return (at, instant(entry["created_at"]), *(entry[name] for name in names))


def left_out(result: Any, what: str) -> list[str]:
    return [uid for one in result["left_out"] if one["what"] == what for uid in one["ids"]]


def all_of(m: Memory) -> dict[str, Any]:
    found = [item for ids in OWNERS for item in m.get_all(**ids, top_k=1000, show_expired=True)["results"]]
    return {item["id"]: item for item in found}


def test_all_that_mem0_gives_out_is_given_out_again(left: Path, make_memory: MakeMemory) -> None:
    m = make_memory(timezone="Europe/Berlin")
    result = m.import_from_mem0(left)
    theirs = said(left)
    (twin,) = left_out(result, "memory")
    kept = [item for item in theirs["memories"] if item["id"] != twin]
    ours = all_of(m)
    assert [comparable(ours[item["id"]]) for item in kept] == [comparable(item) for item in kept]
    assert ours.keys() == {item["id"] for item in kept}
    assert result["added"] == len(kept) > 12
    for uid in ours:
        there = theirs["history"].get(uid)
        if there is not None:  # mem0 was not asked for those of the second collection
            assert [past(dict(entry)) for entry in m.history(uid)] == [past(entry) for entry in there]
    assert len(theirs["history"].keys() & ours.keys()) == len(ours) - 1


def test_metadata_of_all_types_and_of_any_spelling_is_the_users(left: Path, m: Memory) -> None:
    m.import_from_mem0(left)
    (cat,) = m.get_all(user_id="ann", filters={"number": 7})["results"]
    assert cat["metadata"] is not None
    assert cat["metadata"]["big"] == 2**70
    assert cat["metadata"]["list"] == [1, "zwei", [3.5, {"vier": None}]]
    (clashing,) = m.get_all(user_id="björn")["results"]
    assert clashing["metadata"] is not None
    assert clashing["metadata"]["id"] == "ours"
    assert clashing["kind"] == "message"
    assert "app_id" not in clashing
    assert "attributed_to" not in clashing
    assert ("expiration_date" in clashing["metadata"]) is said(left)["version"].startswith("1.")


def test_what_was_taken_over_is_found_changed_and_labelled(left: Path, m: Memory) -> None:
    m.import_from_mem0(left)
    assert m.search("Müsli cat", user_id="ann")["results"][0]["memory"] == "Ann's cat is called Müsli 🐈"
    (thanks,) = m.search("Thanks!", user_id="ann", run_id="chat-2")["results"]
    assert thanks["run_ids"] == ["chat-1", "chat-2"]
    (procedure,) = m.get_all(agent_id="browser")["results"]
    assert procedure["kind"] == "procedure"
    m.update(thanks["id"], "Many thanks!")
    assert [entry["event"] for entry in m.history(thanks["id"])] == ["ADD", "UPDATE"]
    m.add("I play chess.", user_id="ann", infer=False)
    assert m.search("chess", user_id="ann")["results"][0]["memory"] == "I play chess."


def test_deleted_memories_come_with_an_owner_or_not_at_all(left: Path, make_memory: MakeMemory) -> None:
    m = make_memory(timezone="Europe/Berlin")
    gone = left_out(m.import_from_mem0(left, dry_run=True), "deleted memory")
    assert len(gone) == 3
    result = m.import_from_mem0(left, user_id="archive")
    assert left_out(result, "deleted memory") == []
    trash = {item["id"]: item for item in m.trash(user_id="archive")["results"]}
    assert trash.keys() == set(gone)
    assert "Deleted: no crush at all" in [item["memory"] for item in trash.values()]
    assert {item.get("actor_id") for item in trash.values()} == {None, "Zoë"}
    for uid in gone:
        assert [past(dict(entry)) for entry in m.history(uid)] == [
            past(each) for each in said(left)["history"][uid]
        ]
    assert m.get_all(user_id="archive")["results"] == []
    m.restore(gone[0])
    assert [item["id"] for item in m.get_all(user_id="archive")["results"]] == [gone[0]]


def test_the_messages_that_2_keeps_come_too(left: Path, m: Memory) -> None:
    m.import_from_mem0(left)
    found = m.messages(user_id="ann", agent_id="a&b=c%", run_id="chat-3")["results"]
    expected = [("user", "I play the cello & the oboe=both"), ("assistant", "好")]
    assert [(message["role"], message["content"]) for message in found] == (
        expected if said(left)["version"].startswith("2.") else []
    )


def test_what_has_expired_stays_hidden_until_asked_for(left: Path, m: Memory) -> None:
    m.import_from_mem0(left)
    if said(left)["version"].startswith("2."):
        text = "A ticket that has run out"
        assert text not in [item["memory"] for item in m.get_all(user_id="ann", top_k=100)["results"]]
        (past,) = m.get_all(user_id="ann", filters={"only": "metadata"}, show_expired=True)["results"]
        assert (past["memory"], past["expiration_date"]) == (text, "2020-02-29")


def test_a_dry_run_tells_the_same_and_writes_nothing(left: Path, m: Memory, row_counts: RowCounts) -> None:
    before = row_counts()
    dry = m.import_from_mem0(left, dry_run=True)
    assert row_counts() == before
    real = m.import_from_mem0(left)
    assert {**dry, "dry_run": False, "embedded": real["embedded"]} == real
    assert sum(owner["memories"] for owner in real["owners"]) == real["added"]


def test_importing_again_fails_skips_or_overwrites(left: Path, m: Memory) -> None:
    first = m.import_from_mem0(left)
    before = all_of(m)
    with pytest.raises(ValidationError):
        m.import_from_mem0(left)
    again = m.import_from_mem0(left, on_conflict="skip")
    assert (again["added"], again["skipped"], again["messages"]) == (0, first["added"], 0)
    m.update(next(iter(before)), "Changed since")
    assert m.import_from_mem0(left, on_conflict="overwrite")["overwritten"] == first["added"]
    assert all_of(m) == before


def test_what_get_all_gave_is_an_export_too(left: Path, make_memory: MakeMemory, tmp_path: Path) -> None:
    m = make_memory(timezone="Europe/Berlin")
    export = tmp_path / "export.json"
    items = said(left)["memories"]
    for item in items:
        item["history"] = said(left)["history"].get(item["id"], [])
    export.write_text(json.dumps({"results": items}, ensure_ascii=False), encoding="utf-8")
    (twin,) = left_out(m.import_from_mem0(export), "memory")
    kept = [item for item in items if item["id"] != twin]
    assert [comparable(all_of(m)[item["id"]]) for item in kept] == [comparable(item) for item in kept]
    for item in kept:
        if item["history"]:
            assert [past(dict(entry)) for entry in m.history(item["id"])] == [
                past(entry) for entry in item["history"]
            ]


def test_a_bound_memory_takes_only_what_is_its_own(left: Path, m: Memory, row_counts: RowCounts) -> None:
    before = row_counts()
    with pytest.raises(ScopeError, match="beyond the ids"):
        m.scoped(user_id="ann").import_from_mem0(left)
    with pytest.raises(ScopeError, match="is bound to"):
        m.scoped(user_id="ann").import_from_mem0(left, user_id="bob")
    assert row_counts() == before


def test_harm_in_one_point_keeps_all_out(m: Memory, row_counts: RowCounts, tmp_path: Path) -> None:
    make_collection(tmp_path / "left", pickled("a", payload_of()), by_name("os", "getcwd"))
    before = row_counts()
    with pytest.raises(ValidationError, match=r"os\.getcwd"):
        m.import_from_mem0(tmp_path / "left")
    assert row_counts() == before


def run_cli(*args: str) -> str:
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_tells_first_and_then_does(
    left: Path, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_STORE", str(store_path))
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    dry = run_cli("import", "--from", "mem0", str(left), "--dry-run")
    assert "ann" in dry
    assert "same text as" in dry
    assert "history.db does not tell whose it was" in dry
    assert run_cli("list", "-u", "björn").count("Oslo") == 0
    done = run_cli("import", "--from", "mem0", str(left), "--user-id", "archive", "--json")
    assert json.loads(done)["added"] > 12
    assert "Oslo" in run_cli("list", "-u", "björn")
    assert "crush" in run_cli("trash", "-u", "archive")
    again = CliRunner().invoke(app, ["import", "--from", "mem0", str(left)])
    assert again.exit_code == 1
    assert re.match("Error: ", again.stderr)
