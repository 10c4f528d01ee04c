"""What is deleted stays out of sight and can come back; what is purged is gone to the byte."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import MakeMemory, RowCounts, RunPython
from mnemic import Memory, NotFoundError, ScopeError
from mnemic.cli.app import app
from mnemic.models.fakes import HashEmbedder
from mnemic.store.schema import OWNED, tables
from mnemic.store.sqlite import BUSY_SECONDS
from raw_stores import raw_connection

TOKEN = "zq-9931-xy"
TALK = [
    {
        "role": "user",
        "content": f'I keep the key {TOKEN} under "Oma\'s" pot 🪴.\nI like jazz. 我对花生过敏。',
    },
    {"role": "assistant", "content": "Noted, thanks!"},
    {"role": "user", "content": "I work at Acme."},
]


def ids(result: Any) -> dict[str, str]:
    return {item["memory"]: item["id"] for item in result["results"]}


def named(found: dict[str, str], piece: str) -> str:
    [uid] = [uid for text, uid in found.items() if piece in text]
    return uid


def holds(store: str | Path, *tokens: str) -> list[str]:
    """The files beside a store, or the tables of one on PostgreSQL, that hold one of some texts.

    In UTF-8 or UTF-16, whole or by its start.
    """
    pieces = [piece for token in tokens for piece in (token.encode(), token.encode("utf-16-le"))]
    if "://" in str(store):
        with raw_connection(store) as raw:
            held = {name: b"".join(_bytes(raw.execute(f'SELECT * FROM "{name}"'))) for name in tables.tables}
    else:
        held = {path.name: path.read_bytes() for path in Path(store).parent.iterdir() if path.is_file()}
    return [name for name, content in held.items() if any(piece in content for piece in pieces)]


def _bytes(rows: list[tuple[Any, ...]]) -> Iterator[bytes]:
    for value in (value for row in rows for value in row):
        yield value if isinstance(value, bytes) else str(value).encode()


def on_file(store: str) -> bool:
    """Whether a purge can erase the store's bytes itself."""
    return "://" not in store


# --- deleted: tombstones ----------------------------------------------------------------------------------


def test_the_words_of_a_deleted_memory_are_quoted_no_more(m: Memory) -> None:
    fact = {"text": "Ann keeps a key under the pot", "source": 0}
    found = ids(m.add(TALK, user_id="ann", facts=[fact, {"text": "Ann likes jazz", "source": 0}]))
    m.delete(named(found, "key"))
    [left] = m.get_all(user_id="ann")["results"]
    assert left["source"]["quote"] is None
    assert len(left["source"]["message_ids"]) == 1
    assert TOKEN not in json.dumps(m.search("jazz", user_id="ann", explain=True))
    [first, *_] = m.messages(user_id="ann")["results"]
    assert first["deleted_spans"] == [[0, len(TALK[0]["content"])]]
    m.restore(named(found, "key"))
    [first, *_] = m.messages(user_id="ann")["results"]
    assert "deleted_spans" not in first
    assert all(TOKEN in item["source"]["quote"] for item in m.get_all(user_id="ann")["results"])


@pytest.mark.parametrize("reload", [False, True])
def test_deleted_words_lift_nothing_beside_them(make_memory: MakeMemory, reload: bool) -> None:
    m = make_memory(embedder="none")
    found = ids(m.add(TALK, user_id="ann"))

    def hits() -> dict[str, float]:
        reader = make_memory(embedder="none") if reload else m
        return {
            hit["memory"]: hit["score"] for hit in reader.search(f"key pot {TOKEN}", user_id="ann")["results"]
        }

    lifted = hits()
    assert any("jazz" in text for text in lifted)
    m.delete(named(found, "key"))
    assert hits() == {}
    m.restore(named(found, "key"))
    assert hits() == pytest.approx(lifted)


def test_delete_all_buries_too_and_what_is_restored_is_lifted_again(make_memory: MakeMemory) -> None:
    m, other = make_memory(embedder="none"), make_memory(embedder="none")
    found = ids(m.add(TALK, user_id="ann", metadata={"x": 1}))
    other.search("key pot", user_id="ann")
    m.delete_all(user_id="ann", filters={"text": {"contains": "key"}})
    assert other.search("key pot", user_id="ann")["results"] == []
    m.restore(named(found, "key"))
    assert other.search("key pot", user_id="ann")["results"] != []


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize("how", ["run", "timestamp", "own timestamp"])
def test_a_deleted_statement_that_is_merely_sent_again_stays_deleted(
    m: Memory, infer: bool, how: str
) -> None:
    who: dict[str, Any] = {"user_id": "ann", "infer": infer}
    talk: Any = TALK
    if how == "run":
        who["run_id"] = "chat-1"
    elif how == "timestamp":
        who["timestamp"] = "2024-05-01T10:00:00Z"
    else:
        talk = [{**turn, "timestamp": "2024-05-01T10:00:00Z"} for turn in TALK]
    found = ids(m.add(talk, **who))
    gone = named(found, "key")
    m.delete(gone)
    again = m.add([*talk, {"role": "user", "content": "My cat is called Tom."}], **who)
    assert TOKEN not in json.dumps(again["results"])
    assert [(r["messages"], r["reason"]) for r in again["rejected"] if TOKEN in r["text"]] == [
        ([0], "deleted")
    ]
    assert any("Tom" in item["memory"] for item in again["results"])
    assert m.get(gone) is None
    assert [e["event"] for e in m.history(gone)] == ["ADD", "DELETE"]
    # The copy is buried as the first one is, and comes back with it.
    assert [
        len(t.get("deleted_spans", []))
        for t in m.messages(user_id="ann")["results"]
        if t["content"] == TALK[0]["content"]
    ] == [1, 1]
    m.restore(gone)
    item = m.get(gone)
    assert item is not None
    assert len(item["source"]["message_ids"]) == 2


def test_what_is_said_anew_after_it_was_deleted_is_kept(m: Memory) -> None:
    found = ids(m.add("I live in Rome.", user_id="ann"))
    m.delete(found["I live in Rome."])
    [item] = m.add("I live in Rome.", user_id="ann")["results"]
    assert (item["event"], item["id"] != found["I live in Rome."]) == ("ADD", True)
    [fact] = m.add(facts=["Ann lives in Rome"], user_id="ann", run_id="r")["results"]
    m.delete(fact["id"])
    assert m.add(facts=["Ann lives in Rome"], user_id="ann", run_id="r")["results"][0]["event"] == "ADD"


def test_anothers_deletion_is_none_of_mine(m: Memory) -> None:
    who = {"run_id": "r", "timestamp": "2024-05-01"}
    found = ids(m.add(TALK, user_id="ann", **who))
    m.delete(named(found, "key"))
    assert named(ids(m.add(TALK, user_id="bob", **who)), "key")


def test_a_superseded_memory_that_was_deleted_comes_back_superseded(m: Memory) -> None:
    old = ids(m.add("I live in Rome.", user_id="ann", timestamp="2024-01-01"))["I live in Rome."]
    m.add("I moved to Oslo.", user_id="ann", timestamp="2024-06-01")
    m.delete(old)
    m.restore(old)
    assert m.get_all(user_id="ann")["total"] == 1
    # It holds no claim on its words, and is still found by them for its time.
    assert m.add("I live in Rome.", user_id="ann", timestamp="2024-02-01")["results"][0]["id"] == old


# --- purged -----------------------------------------------------------------------------------------------


def use(m: Memory, user: str, token: str) -> list[str]:
    """Everything that can leave a trace of a token."""
    talk = [{**TALK[0], "content": TALK[0]["content"].replace(TOKEN, token)}, *TALK[1:]]
    stated = ids(
        m.add(talk, user_id=user, run_id="r", metadata={"note": token}, idempotency_key="k1", trace=True)
    )
    [said] = m.add(f"say {token}", user_id=user, infer=False, idempotency_key="k2")["results"]
    parts = [{"type": "text", "text": f"part {token}"}, {"type": "text", "text": "two"}]
    m.add([{"role": "user", "name": token, "content": parts}], user_id=user, infer=False)
    m.update(said["id"], f"changed {token}", metadata={token: 1}, actor=token, reason=token)
    m.update(said["id"], "harmless now", metadata={}, replace_metadata=True, idempotency_key="k3")
    [fact] = m.add(facts=[{"text": "harmless", "categories": [token]}], user_id=user)["results"]
    m.delete(fact["id"], reason=token)
    m.search(f"where is {token}", user_id=user)
    return [*stated.values(), said["id"], fact["id"]]


def test_a_purged_user_is_gone_to_the_byte(store: str, make_memory: MakeMemory) -> None:
    m, other = make_memory(), make_memory()
    uids = use(m, "u1", TOKEN)
    use(m, "u2", "harmless-token")
    other.search("key", user_id="u1")
    kept = (m.get_all(user_id="u2", show_deleted=True), m.messages(user_id="u2"))
    assert holds(store, TOKEN)
    receipt = m.purge(user_id="u1", reason="asked for")
    assert receipt["bytes_erased"] is on_file(store)
    assert ("VACUUM FULL" in receipt.get("notice", "")) is not on_file(store)
    assert receipt["removed"]["owner"] == 1
    assert receipt["removed"]["message"] == 5
    assert set(receipt["removed"]) == {table.name for table in OWNED} | {"owner"}
    assert holds(store, TOKEN) == []
    for memory in (m, other):
        assert memory.search("key pot harmless", user_id="u1")["results"] == []
        assert memory.get_all(user_id="u1", show_deleted=True)["total"] == 0
        assert memory.messages(user_id="u1")["total"] == 0
        assert [memory.get(uid) for uid in uids] == [None] * len(uids)
        assert [memory.history(uid) for uid in uids] == [[]] * len(uids)
    assert (m.get_all(user_id="u2", show_deleted=True), m.messages(user_id="u2")) == kept
    m.close()
    other.close()
    assert holds(store, TOKEN, TOKEN[:8]) == []
    with raw_connection(store) as raw:
        if on_file(store):
            assert raw.execute("PRAGMA integrity_check") == [("ok",)]
            assert raw.execute("PRAGMA foreign_key_check") == []
        assert raw.execute("SELECT key FROM meta WHERE key = 'erase'") == []


@pytest.mark.parametrize("infer", [True, False])
def test_a_purged_memory_is_gone_to_the_byte_and_its_neighbours_stay(
    store: str, make_memory: MakeMemory, infer: bool
) -> None:
    m, other = make_memory(), make_memory()
    found = ids(m.add(TALK, user_id="u1", infer=infer, idempotency_key="k"))
    gone = named(found, "key")
    m.update(gone, f"changed {TOKEN} and Oma's", actor=TOKEN, reason=TOKEN, idempotency_key="k2")
    other.search("key", user_id="u1")
    receipt = m.purge(gone, user_id="u1")
    assert receipt["removed"]["version"] == 2
    m.close()
    assert holds(store, TOKEN, "Oma") == []
    m = make_memory()
    for memory in (m, other):
        assert memory.get(gone) is None
        assert memory.history(gone) == []
        texts = {hit["memory"] for hit in memory.search("jazz 花生 Acme", user_id="u1")["results"]}
        assert len(texts) == (3 if infer else 2)
    said = [turn["content"] for turn in m.messages(user_id="u1")["results"]]
    assert said[-1] == "I work at Acme."
    assert len(said) == (3 if infer else 2)
    if infer:
        assert "jazz" in said[0]
        assert len(said[0]) == len(TALK[0]["content"])
        [jazz] = [i for i in m.get_all(user_id="u1")["results"] if "jazz" in i["memory"]]
        assert jazz["source"]["quote"] == "I like jazz."


def test_a_purged_successor_leaves_the_old_one_closed(m: Memory) -> None:
    old = ids(m.add("I live in Rome.", user_id="ann", timestamp="2024-01-01"))["I live in Rome."]
    [new] = m.add("I moved to Oslo.", user_id="ann", timestamp="2024-06-01")["results"]
    m.purge(new["id"])
    assert m.get_all(user_id="ann")["total"] == 0
    [item] = m.get_all(user_id="ann", include_superseded=True)["results"]
    assert (item["id"], item["superseded_by"], item["valid_to"][:10]) == (old, None, "2024-06-01")
    assert m.search("Rome", user_id="ann", as_of="2024-02-01")["results"][0]["id"] == old


def test_purging_a_run_takes_what_only_it_said(store: str, make_memory: MakeMemory) -> None:
    m = make_memory()
    m.add(f"I like {TOKEN}. I like tea.", user_id="u1", run_id="r1", idempotency_key="k")
    m.add("I like tea. I like jazz.", user_id="u1", run_id="r2")
    tea = m.get_all(user_id="u1", filters={"text": {"contains": "tea"}})["results"][0]
    assert m.purge(user_id="u1", run_id="r1")["bytes_erased"] is on_file(store)
    assert {item["memory"] for item in m.get_all(user_id="u1")["results"]} == {"I like tea.", "I like jazz."}
    left = m.get(tea["id"])
    assert left is not None
    assert (left["run_id"], "run_ids" in left, len(left["source"]["message_ids"])) == ("r2", False, 1)
    assert m.messages(run_id="r1")["total"] == 0
    assert [turn["run_id"] for turn in m.messages(user_id="u1")["results"]] == ["r2"]
    assert [entry["event"] for entry in m.history(tea["id"])] == ["ADD"]
    m.close()
    assert holds(store, TOKEN) == []


def test_a_dry_run_counts_and_changes_nothing(m: Memory, row_counts: RowCounts) -> None:
    uids = use(m, "u1", TOKEN)
    before = row_counts()
    told = m.purge(user_id="u1", dry_run=True)["would_remove"]
    one = m.purge(uids[0], dry_run=True)["would_remove"]
    assert row_counts() == before
    assert one["memory"] == 1
    assert m.purge(user_id="u1")["removed"] == dict(sorted(told.items()))


def test_what_cannot_be_purged_is_an_error(m: Memory, row_counts: RowCounts) -> None:
    [added] = m.add("one", user_id="u1", infer=False)["results"]
    before = row_counts()
    attempts: list[tuple[Callable[[], Any], type[Exception]]] = [
        (m.purge, ScopeError),
        (lambda: m.purge("no-such-id"), NotFoundError),
        (lambda: m.purge(added["id"], user_id="u2"), NotFoundError),
        (lambda: m.purge(user_id="*"), ScopeError),
        (lambda: m.purge(user_id=""), ScopeError),
    ]
    for attempt, error in attempts:
        with pytest.raises(error):
            attempt()
    assert row_counts() == before
    assert m.purge(user_id="nobody")["removed"] == {}


def test_a_scoped_memory_purges_within_its_ids(m: Memory) -> None:
    [mine] = m.add("mine", user_id="u1", infer=False)["results"]
    [theirs] = m.add("theirs", user_id="u2", infer=False)["results"]
    scoped = m.scoped(user_id="u1")
    with pytest.raises(NotFoundError):
        scoped.purge(theirs["id"])
    assert scoped.purge()["removed"]["memory"] == 1
    assert (m.get(mine["id"]), m.get(theirs["id"])["memory"]) == (None, "theirs")  # type: ignore[index]


def test_a_reader_of_an_older_state_is_waited_for_and_then_told_of(
    store_path: Path, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.store.sqlite.ERASE_SECONDS", 0.2)
    m = make_memory()
    use(m, "u1", TOKEN)
    with closing(sqlite3.connect(store_path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory").fetchone()
        began = time.monotonic()
        receipt = m.purge(user_id="u1")
        assert time.monotonic() - began < BUSY_SECONDS / 2, "SQLite itself waited, as long as for a lock"
        assert receipt["bytes_erased"] is False
        assert "older state" in receipt["notice"]
        assert m.get_all(user_id="u1", show_deleted=True)["total"] == 0
    # The next one to open the store finishes it.
    again = make_memory()
    done = threading.Event()
    for _ in range(200):
        if holds(store_path, TOKEN) == []:
            break
        done.wait(0.05)
    assert holds(store_path, TOKEN) == []
    again.add("and on", user_id="u1", infer=False)


KILLED = """
import os, signal, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from mnemic.store import sqlite
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
sqlite.erase = die
with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    m.purge(user_id="u1")
"""


def test_a_purge_killed_before_its_bytes_were_erased_is_finished_on_opening(
    store_path: Path, make_memory: MakeMemory, run_warm: RunPython
) -> None:
    m = make_memory()
    use(m, "u1", TOKEN)
    m.close()
    with pytest.raises(AssertionError):
        run_warm(KILLED, store_path)
    assert holds(store_path, TOKEN)
    with Memory(str(store_path), embedder=HashEmbedder()) as again:
        assert again.get_all(user_id="u1", show_deleted=True)["total"] == 0
        pause = threading.Event()
        for _ in range(200):
            if holds(store_path, TOKEN) == []:
                break
            pause.wait(0.05)
    assert holds(store_path, TOKEN) == []


def test_reset_erases_the_bytes_too(tmp_path: Path) -> None:
    path = tmp_path / "own" / "notes.db"
    with Memory(str(path), embedder=HashEmbedder()) as m:
        use(m, "u1", TOKEN)
        m.reset()
    assert holds(path, TOKEN) == []


def test_many_are_purged_in_one_go(m: Memory) -> None:
    m.add(facts=[f"fact {i} 事实" for i in range(1200)], user_id="u1", run_id="r")
    m.add(facts=["another"], user_id="u1")
    assert m.purge(run_id="r")["removed"]["version"] == 1200
    assert [item["memory"] for item in m.get_all(user_id="u1")["results"]] == ["another"]
    assert m.search("another fact", user_id="u1")["results"][0]["memory"] == "another"


def test_the_command_purges_with_leave_only(store: str, make_memory: MakeMemory) -> None:
    m = make_memory(embedder="none")
    uid = ids(m.add(TALK, user_id="u1", infer=False))[TALK[2]["content"]]
    runner = CliRunner()

    def run(*arguments: str) -> Any:
        return runner.invoke(app, ["--store", store, *arguments], env={"MNEMIC_EMBEDDER": "none"})

    assert run("purge", uid).exit_code == 2
    assert "Nothing was removed" in run("purge", uid, "--dry-run").output
    assert json.loads(run("--json", "purge", uid, "--yes").output)["removed"]["memory"] == 1
    assert run("purge", "--all", "--yes").exit_code == 1
    assert run("purge", "--all", "-u", "u1", "--yes").exit_code == 0
    assert m.get_all(user_id="u1")["total"] == 0
    assert run("purge", uid, "--yes").exit_code == 1
