"""Many at once: threads (2.10), the loop (2.9), processes on one file (2.13), forks, cancellation."""

from __future__ import annotations

import asyncio
import contextvars
import json
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeMemory, RowCounts, RunPython
from mnemic import AsyncMemory, DuplicateError, Memory
from mnemic.models.fakes import ConstantEmbedder, HashEmbedder


def all_at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the calls return, or raise, when they start at the same moment."""
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return work()
        except Exception as fault:  # noqa: BLE001
            return fault

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


# --- threads (2.10) ---------------------------------------------------------------------------------------


def test_sixteen_threads_adding_one_text_make_one_memory(m: Memory) -> None:
    results = all_at_once([lambda: m.add("Allergic to kiwi", user_id="u1", infer=False)] * 16)
    items = [result["results"][0] for result in results]
    assert Counter(item["event"] for item in items) == {"ADD": 1, "NONE": 15}
    [uid] = {item["id"] for item in items}
    assert m.get_all(user_id="u1")["total"] == 1
    assert len(m.history(uid)) == 1
    assert m.messages(user_id="u1")["total"] == 16


def test_threads_on_several_memories_of_one_file_make_one_memory(make_memory: MakeMemory) -> None:
    memories = [make_memory() for _ in range(4)]
    works = [
        lambda m=m: m.add("Allergic to kiwi", user_id="u1", infer=False) for m in memories for _ in range(3)
    ]
    items = [result["results"][0] for result in all_at_once(works)]
    assert Counter(item["event"] for item in items) == {"ADD": 1, "NONE": 11}
    assert len({item["id"] for item in items}) == 1


def test_of_two_updates_into_one_text_one_wins(m: Memory) -> None:
    ids = [m.add(text, user_id="u1", infer=False)["results"][0]["id"] for text in ("one", "two")]
    done = all_at_once([lambda uid=uid: m.update(uid, text="three") for uid in ids])
    assert sum(isinstance(result, DuplicateError) for result in done) == 1
    assert sum(isinstance(result, dict) for result in done) == 1


def test_a_delete_wins_once(m: Memory) -> None:
    [added] = m.add("one", user_id="u1", infer=False)["results"]
    done = all_at_once([lambda: m.delete(added["id"])] * 6)
    assert sum(isinstance(result, dict) for result in done) == 1
    assert [e["event"] for e in m.history(added["id"])] == ["ADD", "DELETE"]


def test_searches_during_writes_always_answer_rightly(m: Memory) -> None:
    [kept] = m.add("the red kayak", user_id="u1", infer=False)["results"]

    def write(number: int) -> None:
        for i in range(10):
            [added] = m.add(f"note {number}-{i}", user_id="u1", infer=False)["results"]
            if i % 3 == 0:
                m.delete(added["id"])

    def read() -> set[str]:
        return {m.search("red kayak", user_id="u1", top_k=1)["results"][0]["id"] for _ in range(20)}

    found = all_at_once([*(lambda n=n: write(n) for n in range(4)), read, read])
    assert found == [None] * 4 + [{kept["id"]}] * 2
    assert m.get_all(user_id="u1")["total"] == 1 + 4 * 6


# --- the loop (2.9) ---------------------------------------------------------------------------------------


class Slow:
    """An embedder that takes its time, in a thread or awaiting."""

    name = "fake:hash-64"
    dims = 64
    pause = 0.5

    def __init__(self) -> None:
        self._inner = HashEmbedder()


class SlowSync(Slow):
    def embed(self, texts: Sequence[str], purpose: str) -> Any:
        time.sleep(self.pause)
        return self._inner.vectors(texts)


class SlowAsync(Slow):
    async def embed(self, texts: Sequence[str], purpose: str) -> Any:
        await asyncio.sleep(self.pause)
        return self._inner.vectors(texts)


async def longest_gap(work: Callable[[], Any]) -> float:
    """The longest pause, in seconds, of a ticker that runs beside some work."""
    gap, done = 0.0, False

    async def tick() -> None:
        nonlocal gap
        last = time.perf_counter()
        while not done:
            await asyncio.sleep(0.01)
            now = time.perf_counter()
            gap, last = max(gap, now - last), now

    ticker = asyncio.create_task(tick())
    await work()
    done = True
    await ticker
    return gap


@pytest.mark.parametrize("kind", [SlowSync, SlowAsync])
def test_a_slow_embedder_holds_up_no_loop(store: str, kind: type[Slow]) -> None:
    async def measure() -> tuple[float, float]:
        async with AsyncMemory(store, embedder=kind()) as m:

            async def work() -> None:
                await asyncio.gather(*(m.add(f"fact {i}", user_id="u1", infer=False) for i in range(20)))

            began = time.perf_counter()
            gap = await longest_gap(work)
            assert (await m.get_all(user_id="u1"))["total"] == 20
            return gap, time.perf_counter() - began

    gap, took = asyncio.run(measure())
    assert gap < Slow.pause, "the caller's loop stood still while the embedder worked"
    assert took < 20 * Slow.pause / 2, "the adds ran one after another"
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("mnemic-")]
    assert len(ours) < 20, "each add got a thread of its own"


def test_many_calls_start_no_more_threads(m: Memory) -> None:
    for i in range(30):
        m.add(f"note {i}", user_id="u1", infer=False)
    before = threading.active_count()
    for i in range(100):
        m.search(f"note {i}", user_id="u1")
        m.get_all(user_id="u1")
    assert threading.active_count() <= before + 2


def test_one_async_memory_serves_several_loops_one_after_another(store: str) -> None:
    m = AsyncMemory(store, embedder=SlowAsync())
    Slow.pause, pause = 0.0, Slow.pause
    try:
        for i in range(3):
            asyncio.run(m.add(f"loop {i}", user_id="u1", infer=False))
        listed = asyncio.run(m.get_all(user_id="u1"))
        asyncio.run(m.close())
    finally:
        Slow.pause = pause
    assert listed["total"] == 3


def test_a_blocking_memory_works_inside_a_running_loop(m: Memory) -> None:
    async def use() -> int:
        m.add("hi", user_id="u1", infer=False)
        return m.get_all(user_id="u1")["total"]

    assert asyncio.run(use()) == 1


# --- context and cancellation -----------------------------------------------------------------------------

REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


class Contextual:
    """Notes in which context it was called, and fills the barrier it was given."""

    name = "fake:hash-64"
    dims = 64

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str], purpose: str) -> Any:
        self.seen.append(REQUEST.get())
        return HashEmbedder().vectors(texts)


class ContextualAsync(Contextual):
    async def embed(self, texts: Sequence[str], purpose: str) -> Any:
        return super().embed(texts, purpose)


@pytest.mark.parametrize("kind", [Contextual, ContextualAsync])
def test_context_variables_reach_the_users_embedder(store: str, kind: type[Contextual]) -> None:
    embedder = kind()
    with Memory(store, embedder=embedder) as m:
        REQUEST.set("blocking")
        m.add("hi", user_id="u1", infer=False)
    assert embedder.seen == ["blocking"]

    async def use() -> None:
        async with AsyncMemory(store, embedder=embedder) as m:
            REQUEST.set("awaited")
            await m.search("hi", user_id="u1")

    asyncio.run(use())
    assert embedder.seen == ["blocking", "awaited"]


class Waiting:
    """Waits in every call until it is let go, in a thread or in the loop."""

    name = "fake:hash-64"
    dims = 64

    def __init__(self) -> None:
        self.called, self.go = threading.Event(), threading.Event()


class WaitingSync(Waiting):
    def embed(self, texts: Sequence[str], purpose: str) -> Any:
        self.called.set()
        self.go.wait(30)
        return HashEmbedder().vectors(texts)


class WaitingAsync(Waiting):
    async def embed(self, texts: Sequence[str], purpose: str) -> Any:
        self.called.set()
        while not self.go.is_set():
            await asyncio.sleep(0.005)
        return HashEmbedder().vectors(texts)


@pytest.mark.parametrize("kind", [WaitingSync, WaitingAsync])
@pytest.mark.parametrize("verb", ["add", "update"])
def test_cancelling_before_the_commit_stores_nothing(
    store: str, row_counts: RowCounts, kind: type[Waiting], verb: str
) -> None:
    with Memory(store, embedder=HashEmbedder()) as plain:
        [known] = plain.add("known", user_id="u1", infer=False)["results"]
    embedder = kind()
    calls: dict[str, Any] = {
        "add": lambda m: m.add("never", user_id="u1", infer=False),
        "update": lambda m: m.update(known["id"], text="never"),
    }

    async def use() -> None:
        async with AsyncMemory(store, embedder=embedder) as m:
            call = asyncio.ensure_future(calls[verb](m))
            while not embedder.called.is_set():
                await asyncio.sleep(0.005)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            embedder.go.set()
            assert (await m.add("later", user_id="u2", infer=False))["results"][0]["event"] == "ADD"
            assert (await m.get(known["id"]))["memory"] == "known"
            assert (await m.get_all(user_id="u1"))["total"] == 1

    asyncio.run(use())
    assert row_counts()["memory"] == 3 + 1 + 1


# --- processes (2.13) -------------------------------------------------------------------------------------

WRITER = """
import sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    for i in range(20):
        m.add(f"process {sys.argv[2]} says {i}", user_id="u1", infer=False)
        assert m.search(f"process {sys.argv[2]} says {i}", user_id="u1", top_k=100)["results"]
"""


def refuse_damage(store: str) -> None:
    """Let SQLite look for damage itself; a PostgreSQL server looks after its files."""
    if "://" not in store:
        with closing(sqlite3.connect(store)) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert raw.execute("PRAGMA foreign_key_check").fetchall() == []


def test_processes_on_one_store_lose_nothing_and_never_lock(store: str, m: Memory, warm: Path) -> None:
    writers = [
        subprocess.Popen(
            [warm / "warm-python", "-c", WRITER, store, str(n)], stderr=subprocess.PIPE, text=True
        )
        for n in range(3)
    ]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        listed = m.get_all(user_id="u1", top_k=100)["total"]
        assert listed >= seen
        seen = listed
        m.search("process says", user_id="u1")
    faults = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0], faults
    assert m.get_all(user_id="u1")["total"] == 60
    assert len(m.search("process says", user_id="u1", top_k=100)["results"]) == 60
    refuse_damage(store)


FORK = """
import json, os, sys, threading
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

m = Memory(sys.argv[1], embedder=HashEmbedder())
m.add("said before the fork", user_id="u1", infer=False)
m.search("fork", user_id="u1")
child = os.fork()
if child == 0:
    m.add("said by the child", user_id="u1", infer=False)
    found = {r["memory"] for r in m.search("said", user_id="u1")["results"]}
    assert {"said before the fork", "said by the child"} <= found, found
    m.close()
    sys.stdout.flush()
    os._exit(0)
m.add("said by the parent", user_id="u1", infer=False)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
m.add("said after the child", user_id="u1", infer=False)
print(json.dumps(sorted(r["memory"] for r in m.search("said", user_id="u1")["results"])))
m.close()
"""


def test_a_forked_child_and_its_parent_both_go_on(store: str, run_warm: RunPython) -> None:
    said = json.loads(run_warm(FORK, store))
    assert said == ["said after the child", "said before the fork", "said by the child", "said by the parent"]
    refuse_damage(store)


FORK_MID_WRITE = """
import os, sys, threading, time
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

m = Memory(sys.argv[1], embedder=HashEmbedder())
stop = False
def write(name):
    i = 0
    while not stop:
        m.add(f"{name} {i}", user_id=f"u{name}", infer=False)
        i += 1
threads = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(3)]
for t in threads: t.start()
stuck = 0
for n in range(12):
    time.sleep(0.02)
    child = os.fork()
    if child == 0:
        m.add(f"child {n}", user_id="child", infer=False)
        os._exit(0)
    until = time.time() + 4
    while time.time() < until and not os.waitpid(child, os.WNOHANG)[0]:
        time.sleep(0.01)
    if time.time() >= until:
        os.kill(child, 9); os.waitpid(child, 0)
        stuck += 1
        break
stop = True
print(stuck)
sys.stdout.flush()
os._exit(0)
"""


def test_a_child_forked_during_a_write_can_write(store: str, run_warm: RunPython) -> None:
    assert run_warm(FORK_MID_WRITE, store).split() == ["0"]


KILLED = """
import os, signal, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

class Deadly(HashEmbedder):
    async def embed(self, texts, purpose):
        if any("die" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().embed(texts, purpose)

m = Memory(sys.argv[1], embedder=Deadly())
m.add("kept", user_id="u1", infer=False)
m.add("die", user_id="u1", infer=False)
"""


def test_what_was_acknowledged_survives_a_kill(store: str, m: Memory, warm: Path) -> None:
    done = subprocess.run([warm / "warm-python", "-c", KILLED, store], check=False, timeout=60)
    assert done.returncode < 0
    assert [i["memory"] for i in m.get_all(user_id="u1")["results"]] == ["kept"]
    assert m.search("kept", user_id="u1")["results"][0]["score"] == pytest.approx(1, abs=0.1)


# --- resets elsewhere, long queries, calls within calls --------------------------------------------------


@pytest.fixture
def one(empty_store: str) -> Iterator[Memory]:
    """A memory on a store that holds no second tenant, so that a reset empties it."""
    with Memory(empty_store, embedder=HashEmbedder()) as m:
        yield m


@pytest.fixture
def two(empty_store: str, one: Memory) -> Iterator[Memory]:
    """Another memory on the same store."""
    with Memory(empty_store, embedder=HashEmbedder()) as m:
        yield m


def test_a_search_after_anothers_reset_ranks_what_is_there_now(one: Memory, two: Memory) -> None:
    one.add("apples are red", user_id="u1", infer=False)
    assert one.search("apples are red", user_id="u1")["results"]
    two.reset()
    two.add("zebra crossing street", user_id="u1", infer=False)
    found = one.search("apples are red", user_id="u1")
    assert found["results"] == two.search("apples are red", user_id="u1")["results"]


def test_an_add_after_anothers_reset_works(one: Memory, two: Memory) -> None:
    one.add("one", user_id="u1", infer=False)
    two.reset()
    assert one.add("two", user_id="u1", infer=False)["results"][0]["event"] == "ADD"


def test_a_long_query_holds_up_no_other_call(memory_with: MakeMemory) -> None:
    m = memory_with(ConstantEmbedder())
    m.add("hello", user_id="u1", infer=False)
    waits: list[float] = []
    done = threading.Event()

    def ping() -> None:
        while not done.is_set():
            began = time.perf_counter()
            m.get_all(user_id="u1")
            waits.append(time.perf_counter() - began)

    thread = threading.Thread(target=ping)
    thread.start()
    began = time.perf_counter()
    m.search("what about this and that " * 40_000, user_id="u1")
    took = time.perf_counter() - began
    done.set()
    thread.join()
    assert max(waits) < took / 2


def test_an_embedder_may_use_a_blocking_memory(store: str, tmp_path: Path, run_warm: RunPython) -> None:
    script = """
import os, sys, time
from concurrent.futures import ThreadPoolExecutor, wait
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

cache = Memory(sys.argv[2], embedder="none")

class Cached:
    name = "fake:hash-64"
    dims = 64
    def embed(self, texts, purpose):
        time.sleep(0.1)
        cache.get_all(user_id="u1")
        return HashEmbedder().vectors(texts)

m = Memory(sys.argv[1], embedder=Cached())
pool = ThreadPoolExecutor(8)
calls = [pool.submit(m.add, f"text {i}", user_id="u1", infer=False) for i in range(8)]
print(len(wait(calls, timeout=5).done), flush=True)
os._exit(0)
"""
    assert run_warm(script, store, tmp_path / "cache.db").split() == ["8"]
