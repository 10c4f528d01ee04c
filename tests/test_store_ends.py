"""A store that is closed while others use it, and one in memory that goes through a fork."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.errors import StoreClosedError

CLOSED_IN_USE = """
import sys, threading, time
from mnemic import Memory
from mnemic.errors import StoreClosedError

m = Memory(sys.argv[1], embedder="none")
m.add(facts=[f"tea number {i}" for i in range(300)], user_id="u")
ends = []
def use():
    try:
        while True:
            m.get_all(user_id="u", top_k=300)
    except BaseException as fault:
        ends.append(type(fault).__name__)
threads = [threading.Thread(target=use) for _ in range(6)]
for thread in threads:
    thread.start()
time.sleep(0.3)
m.close()
for thread in threads:
    thread.join()
print(*sorted(set(ends)))
"""

FORKED_IN_MEMORY = """
import os, sys, threading
from mnemic import Memory

m = Memory(":memory:", embedder="none")
m.add(facts=["said before"], user_id="u")
read, write = os.pipe()
child = os.fork()
if child == 0:
    def add(n):
        m.add(facts=[f"said by the child {n}"], user_id="u")
    threads = [threading.Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(write, str(m.get_all(user_id="u")["total"]).encode())
    m.close()
    os._exit(0)
os.waitpid(child, 0)
print([int(os.read(read, 10)), m.get_all(user_id="u")["total"]])
"""


@pytest.mark.parametrize("place", [":memory:", "m.db"])
def test_closing_lets_calls_under_way_end_and_refuses_the_next(
    tmp_path: Path, run_warm: Any, place: str
) -> None:
    where = place if place == ":memory:" else str(tmp_path / place)
    assert run_warm(CLOSED_IN_USE, where).split() == ["StoreClosedError"]


def test_a_store_in_memory_is_copied_by_a_fork(run_warm: Any) -> None:
    assert json.loads(run_warm(FORKED_IN_MEMORY)) == [9, 1]


def test_closing_twice_and_at_once_is_fine() -> None:
    m = Memory(":memory:", embedder="none")
    threads = [threading.Thread(target=m.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    m.close()
    with pytest.raises(StoreClosedError):
        m.get_all(user_id="u")
