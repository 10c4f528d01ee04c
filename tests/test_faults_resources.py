"""What many calls and many stores use up: threads and memory (2.11), open files (2.12)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import RunPython

PATIENCE = 280
pytestmark = pytest.mark.timeout(300)

MEASURE = """
import asyncio, gc, json, os, sys, threading
from mnemic import AsyncMemory, Memory
from mnemic.models.fakes import HashEmbedder

path = sys.argv[1]
def resident():
    gc.collect()
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
def files():
    return len(os.listdir("/dev/fd"))
"""

MANY_CALLS = (
    MEASURE
    + """
def use(m, numbers):
    for i in numbers:
        m.add(f"note {i} 你好", user_id="u1", infer=bool(i % 2))
        assert m.search(f"note {i}", user_id="u1")["results"]

async def use_async(m, numbers):
    for i in numbers:
        await m.add(f"note {i} 你好", user_id="u1", infer=bool(i % 2))
        assert (await m.search(f"note {i}", user_id="u1"))["results"]

async def asynchronous():
    async with AsyncMemory(path, embedder=HashEmbedder()) as m:
        await asyncio.gather(*(use_async(m, range(n, 50, 10)) for n in range(10)))
        before = threading.active_count(), resident()
        await asyncio.gather(*(use_async(m, range(50 + n, 550, 10)) for n in range(10)))
        return before, (threading.active_count(), resident())

if sys.argv[2] == "Memory":
    with Memory(path, embedder=HashEmbedder()) as m:
        use(m, range(50))
        before = threading.active_count(), resident()
        use(m, range(50, 550))
        after = threading.active_count(), resident()
else:
    before, after = asyncio.run(asynchronous())
print(json.dumps([after[0] - before[0], after[1] - before[1]]))
"""
)


@pytest.mark.parametrize("face", ["Memory", "AsyncMemory"])
def test_500_adds_and_searches_grow_neither_threads_nor_memory(
    store_path: Path, run_python: RunPython, face: str
) -> None:
    threads, megabytes = json.loads(run_python(MANY_CALLS, store_path, face, timeout=PATIENCE))
    assert threads <= 2
    assert megabytes < 30


MANY_STORES = (
    MEASURE
    + """
def blocking():
    with Memory(path, embedder=HashEmbedder()) as m:
        m.add("hello", user_id="u1", infer=False)
        m.search("hello", user_id="u1")

def awaited():
    async def use():
        async with AsyncMemory(path, embedder=HashEmbedder()) as m:
            await m.add("hello", user_id="u1", infer=False)
            await m.search("hello", user_id="u1")
    asyncio.run(use())

def dropped():
    m = Memory(path, embedder=HashEmbedder())
    m.add("hello", user_id="u1", infer=False)
    m.search("hello", user_id="u1")

def unopened():
    AsyncMemory(path, embedder=HashEmbedder())

def refused():
    try:
        Memory(path, embedder=HashEmbedder(9))
    except ValueError as fault:
        assert "never" in str(fault)
    except Exception as fault:
        assert type(fault).__name__ == "EmbedderMismatchError", fault

use = globals()[sys.argv[2]]
blocking()
for _ in range(10):
    use()
gc.collect()
before = files(), threading.active_count(), resident()
for _ in range(int(sys.argv[3])):
    use()
gc.collect()
after = files(), threading.active_count(), resident()
print(json.dumps([new - old for new, old in zip(after, before)]))
"""
)


@pytest.mark.parametrize(
    ("way", "count"), [("blocking", 200), ("awaited", 50), ("dropped", 50), ("unopened", 50), ("refused", 50)]
)
def test_many_stores_leave_no_file_open(
    store_path: Path, run_python: RunPython, way: str, count: int
) -> None:
    files, threads, megabytes = json.loads(run_python(MANY_STORES, store_path, way, count, timeout=PATIENCE))
    assert abs(files) <= 2
    assert threads <= 2
    assert megabytes < 30
