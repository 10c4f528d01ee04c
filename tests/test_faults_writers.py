"""Many writers and readers: tasks, threads and processes on one file, each seeing what was acknowledged before."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import RowCounts
from mnemic import AsyncMemory, Memory, NotFoundError
from mnemic.models.fakes import HashEmbedder
from mnemic.store.schema import OWNED, tables

pytestmark = pytest.mark.timeout(300)


class Talker:
    """A process that does what it is told, line by line, in JSON."""

    def __init__(self, python: Path, script: str, *args: object) -> None:
        self._process = subprocess.Popen(
            [python, "-c", script, *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, *words: Any) -> Any:
        self.tell(*words)
        return self.hear()

    def tell(self, *words: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def stop(self) -> int:
        self._process.communicate()
        return self._process.returncode


@contextmanager
def talkers(python: Path, script: str, count: int, *args: object) -> Iterator[list[Talker]]:
    started = [Talker(python, script, *args) for _ in range(count)]
    try:
        yield started
    finally:
        codes = [one.stop() for one in started]
    assert codes == [0] * count


SERVE = """
import json, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

def texts(found):
    return sorted(item["memory"] for item in found["results"])

verbs = {
    "add": lambda text: m.add(text, user_id="u1", infer=False)["results"][0],
    "update": lambda uid, text: m.update(uid, text=text),
    "delete": lambda uid: m.delete(uid),
    "restore": lambda uid: m.restore(uid),
    "search": lambda query: texts(m.search(query, user_id="u1", top_k=1000)),
    "list": lambda: texts(m.get_all(user_id="u1", top_k=1000)),
}
with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    for line in sys.stdin:
        verb, *args = json.loads(line)
        print(json.dumps(verbs[verb](*args)), flush=True)
"""


def test_processes_adding_one_text_make_one_memory(store: str, m: Memory, warm: Path) -> None:
    with talkers(warm / "warm-python", SERVE, 4, store) as processes:
        for process in processes:
            process.ask("list")
        for n in range(10):
            for process in processes:
                process.tell("add", f"Allergic to kiwi {n} 🥝")
            items = [process.hear() for process in processes]
            assert Counter(item["event"] for item in items) == {"ADD": 1, "NONE": 3}
            [uid] = {item["id"] for item in items}
            assert len(m.history(uid)) == 1
    assert m.get_all(user_id="u1")["total"] == 10
    assert m.messages(user_id="u1")["total"] == 40


def test_what_one_process_has_written_the_next_search_of_another_finds(store: str, warm: Path) -> None:
    with talkers(warm / "warm-python", SERVE, 2, store) as (writer, reader):
        reader.ask("search", "tea")
        for n in range(20):
            uid = writer.ask("add", f"tea number {n}")["id"]
            assert f"tea number {n}" in reader.ask("search", f"tea number {n}")
            writer.ask("update", uid, f"coffee number {n}")
            found = reader.ask("search", f"tea coffee number {n}")
            assert f"coffee number {n}" in found
            assert f"tea number {n}" not in found
            if n % 2:
                writer.ask("delete", uid)
                assert f"coffee number {n}" not in reader.ask("search", f"coffee number {n}")
                assert reader.ask("list") == writer.ask("list")
            if n % 4 == 3:
                writer.ask("restore", uid)
                assert f"coffee number {n}" in reader.ask("search", f"coffee number {n}")
            # The other way round: the reader's own writes stand among those it has read.
            reader.ask("add", f"cocoa number {n}")
            assert f"cocoa number {n}" in writer.ask("search", f"cocoa number {n}")


WRITE_OR_READ = """
import json, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

role, me = sys.argv[2], sys.argv[3]
with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    print("ready", flush=True)
    sys.stdin.readline()
    if role == "writer":
        for i in range(50):
            m.add(f"process {me} says {i}", user_id="u1", infer=False)
    else:
        seen, rounds, known = 0, 0, set()
        while seen < 200:
            listed = m.get_all(user_id="u1", top_k=1)["total"]
            found = {hit["id"] for hit in m.search("process says", user_id="u1", top_k=1000)["results"]}
            assert listed >= seen, "the list went back"
            assert found >= known, "the search went back"
            assert len(found) >= listed, "the search is behind the list"
            seen, known, rounds = listed, found, rounds + 1
        print(json.dumps(rounds), flush=True)
"""


def test_four_writers_and_four_readers_share_a_store(store: str, m: Memory, warm: Path) -> None:
    roles = [(role, n) for role in ("writer", "reader") for n in range(4)]
    processes = [
        subprocess.Popen(
            [warm / "warm-python", "-c", WRITE_OR_READ, store, role, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for role, n in roles
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    with ThreadPoolExecutor(len(processes)) as pool:
        told = list(pool.map(lambda process: process.communicate("go\n"), processes))
    assert [process.returncode for process in processes] == [0] * 8, [faults for _, faults in told]
    assert all("locked" not in faults for _, faults in told)
    assert m.get_all(user_id="u1")["total"] == 200
    if "://" not in store:
        with closing(sqlite3.connect(store)) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


BUSY = """
import sys, threading
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

m = Memory(sys.argv[1], embedder=HashEmbedder())
done = [0] * 4
stop = False

def write(n):
    while not stop:
        m.add(f"writer {n} says {done[n]}", user_id=f"busy{n}", infer=False)
        done[n] += 1

threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
for line in sys.stdin:
    print(sum(done), flush=True)
stop = True
for thread in threads:
    thread.join()
m.close()
"""


def test_a_process_that_never_stops_writing_lets_others_in(store: str, m: Memory, warm: Path) -> None:
    with talkers(warm / "warm-python", BUSY, 1, store) as [busy]:
        while busy.ask("how many?") < 20:
            pass
        waits = []
        for n in range(20):
            before = busy.ask("how many?")
            m.add(f"note {n}", user_id="u1", infer=False)
            waits.append(busy.ask("how many?") - before)
        # In turns it would be one or two; starved, it would wait for hundreds.
        assert sorted(waits)[10] < 40, waits
        assert max(waits) < 400, waits


def test_what_a_reset_removes_under_a_call_is_not_found(m: Memory, store_path: Path) -> None:
    ids = [item["id"] for item in m.add(facts=["one", "two", "three"], user_id="u1")["results"]]
    m.delete(ids[2])
    calls = [
        lambda: m.delete(ids[0]),
        lambda: m.update(ids[1], text="never"),
        lambda: m.restore(ids[2]),
    ]
    with closing(sqlite3.connect(store_path, isolation_level=None)) as other, ThreadPoolExecutor() as pool:
        other.execute("BEGIN IMMEDIATE")
        # Each looks up its memory, and then waits for the other to be done.
        waiting = [pool.submit(call) for call in calls]
        time.sleep(0.5)
        for table in reversed(tables.sorted_tables):
            if table in OWNED:
                gone = "(SELECT id FROM owner WHERE tenant <> 'other')"
                other.execute(f'DELETE FROM "{table.name}" WHERE owner_id IN {gone}')
        other.execute("DELETE FROM owner WHERE tenant <> 'other'")
        other.execute("COMMIT")
        for call in waiting:
            with pytest.raises(NotFoundError):
                call.result()
    assert m.get_all(user_id="u1")["total"] == 0


# --- tasks, and tasks beside threads ----------------------------------------------------------------------


def test_sixteen_tasks_adding_one_text_make_one_memory(store: str) -> None:
    async def use() -> None:
        async with AsyncMemory(store, embedder=HashEmbedder()) as m:
            calls = [m.add("Allergic to kiwi", user_id="u1", infer=False) for _ in range(16)]
            items = [result["results"][0] for result in await asyncio.gather(*calls)]
            assert Counter(item["event"] for item in items) == {"ADD": 1, "NONE": 15}
            [uid] = {item["id"] for item in items}
            assert len(await m.history(uid)) == 1
            assert (await m.get_all(user_id="u1"))["total"] == 1

    asyncio.run(use())


def test_threads_and_tasks_lose_nothing_of_each_other(store: str) -> None:
    def block(m: Memory, n: int) -> None:
        for i in range(10):
            m.add(f"thread {n} says {i}", user_id="u1", infer=False)
            assert m.search(f"thread {n} says {i}", user_id="u1", top_k=200)["results"]

    async def task(m: AsyncMemory, n: int) -> None:
        for i in range(10):
            await m.add(f"task {n} says {i}", user_id="u1", infer=False)
            assert (await m.search(f"task {n} says {i}", user_id="u1", top_k=200))["results"]

    async def use(blocking: Memory) -> int:
        async with AsyncMemory(store, embedder=HashEmbedder()) as m:
            threads = [asyncio.to_thread(block, blocking, n) for n in range(4)]
            await asyncio.gather(*threads, *(task(m, n) for n in range(4)))
            return (await m.get_all(user_id="u1"))["total"]

    with Memory(store, embedder=HashEmbedder()) as blocking:
        assert asyncio.run(use(blocking)) == 80
        assert blocking.get_all(user_id="u1")["total"] == 80


# --- cancelling, stage by stage ---------------------------------------------------------------------------


class Paced(HashEmbedder):
    """Stops in a call until it is let go, when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.stop = False
        self.reached = threading.Event()

    async def embed(self, texts: Sequence[str], purpose: Any) -> Any:
        if self.stop:
            self.reached.set()
            await asyncio.Event().wait()
        return self.vectors(texts)


async def _cancelled(call: asyncio.Future[Any]) -> None:
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def _in_the_embedder(_: AsyncMemory, embedder: Paced, start: Callable[[], Any], path: Path) -> None:
    embedder.stop = True
    call = asyncio.ensure_future(start())
    await asyncio.to_thread(embedder.reached.wait, 30)
    await _cancelled(call)


async def _behind_another_process(
    _: AsyncMemory, embedder: Paced, start: Callable[[], Any], path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        call = asyncio.ensure_future(start())
        await asyncio.sleep(0.3)
        await _cancelled(call)
        # The loop on which it runs has to hear of it before it can go on.
        await asyncio.sleep(0.2)
        other.execute("ROLLBACK")


async def _behind_another_thread(
    _: AsyncMemory, embedder: Paced, start: Callable[[], Any], path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # All wait for the first of them, which waits for the other process.
        calls = [asyncio.ensure_future(start()) for _ in range(4)]
        await asyncio.sleep(0.3)
        for call in calls:
            await _cancelled(call)
        # The loop on which they run has to hear of it before they can go on.
        await asyncio.sleep(0.2)
        other.execute("ROLLBACK")


STAGES = {
    "in the embedder": _in_the_embedder,
    "behind another process": _behind_another_process,
    "behind another thread": _behind_another_thread,
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("verb", ["add", "update", "delete", "restore", "delete_all"])
def test_cancelling_before_the_commit_changes_nothing(
    store_path: Path, row_counts: RowCounts, stage: str, verb: str
) -> None:
    if stage == "in the embedder" and verb not in ("add", "update"):
        pytest.skip("asks no embedder")
    with Memory(str(store_path), embedder=HashEmbedder()) as plain:
        ids = [i["id"] for i in plain.add(facts=["known", "gone"], user_id="u1")["results"]]
        plain.delete(ids[1])
    before = row_counts()
    embedder = Paced()

    async def use() -> None:
        async with AsyncMemory(str(store_path), embedder=embedder) as m:
            calls: dict[str, Callable[[], Any]] = {
                "add": lambda: m.add("never", user_id="u1", infer=False),
                "update": lambda: m.update(ids[0], text="never"),
                "delete": lambda: m.delete(ids[0]),
                "restore": lambda: m.restore(ids[1]),
                "delete_all": lambda: m.delete_all(user_id="u1"),
            }
            await STAGES[stage](m, embedder, calls[verb], store_path)
            embedder.stop = False
            # It waits its turn behind whatever were still under way.
            await m.add("later", user_id="u2", infer=False)
            assert [item["memory"] for item in (await m.get_all(user_id="u1"))["results"]] == ["known"]

    asyncio.run(use())
    after = row_counts()
    assert after["memory"] == before["memory"] + 1
    assert after["version"] == before["version"] + 1
    assert after["change"] == before["change"] + 2


def test_cancelled_calls_do_not_keep_the_workers_from_others(store_path: Path) -> None:
    async def use() -> None:
        async with AsyncMemory(str(store_path), embedder=HashEmbedder()) as m:
            with closing(sqlite3.connect(store_path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                calls = [
                    asyncio.ensure_future(m.add(f"never {i}", user_id="u1", infer=False)) for i in range(8)
                ]
                await asyncio.sleep(0.5)
                for call in calls:
                    await _cancelled(call)
                # The other process still writes; all eight workers were waiting for it.
                assert (await asyncio.wait_for(m.get_all(user_id="u1"), 20))["total"] == 0
                other.execute("ROLLBACK")

    asyncio.run(use())
