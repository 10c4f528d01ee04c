"""Calls that meet a fork, a fault of our own, or a caller who is gone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conftest import RunPython
from mnemic import AsyncMemory, Memory, StoreFormatError
from mnemic.models.fakes import HashEmbedder

FORK_UNDER_LOAD = """
import itertools, json, os, sys, threading, time
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

m = Memory(sys.argv[1], embedder=HashEmbedder())
m.add(facts=[f"fact {i}" for i in range(500)], user_id="u1")
done = [0] * 6
def read(n):
    while True:
        m.search("fact 7", user_id="u1")
        done[n] += 1
for n in range(6):
    threading.Thread(target=read, args=(n,), daemon=True).start()
passed = []
for _ in range(5):
    time.sleep(0.05)
    before = sum(done)
    child = os.fork()
    if child == 0:
        os._exit(0)
    passed.append(sum(done) - before)
    os.waitpid(child, 0)
print(json.dumps(passed))
sys.stdout.flush()
os._exit(0)
"""


def test_a_fork_waits_for_the_calls_under_way_and_not_for_those_behind(
    store: str, run_warm: RunPython
) -> None:
    assert max(json.loads(run_warm(FORK_UNDER_LOAD, store))) <= 3 * 6


def test_a_fault_in_the_code_is_not_called_a_damaged_store(
    m: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_: object) -> None:
        raise TypeError("a mistake of ours")

    monkeypatch.setattr("mnemic.store.writing.add", faulty)
    with pytest.raises(TypeError, match="a mistake of ours"):
        m.add("hello", user_id="u1", infer=False)


def test_a_call_that_is_cancelled_while_it_waits_for_the_store_stores_nothing(store_path: Path) -> None:
    async def use() -> int:
        async with AsyncMemory(str(store_path), embedder=HashEmbedder()) as m:
            with closing(sqlite3.connect(store_path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                call = asyncio.ensure_future(m.add("never", user_id="u1", infer=False))
                await asyncio.sleep(0.3)
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                other.execute("ROLLBACK")
            await m.add("later", user_id="u2", infer=False)
            return (await m.get_all(user_id="u1"))["total"]

    assert asyncio.run(use()) == 0


def test_another_programs_database_stays_as_it_is_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.executescript("CREATE TABLE notes (body TEXT); INSERT INTO notes VALUES ('mine');")
    before = path.read_bytes()
    with pytest.raises(StoreFormatError):
        Memory(str(path), embedder="none")
    assert path.read_bytes() == before
