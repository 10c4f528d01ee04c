"""Ctrl-C in the middle of a call: the next call works, wherever it fell. And what a write does when it is over."""

from __future__ import annotations

import itertools
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from conftest import MakeMemory, RunPython
from mnemic import Memory
from mnemic.store import gate

WITH = ("contextlib.py", "threading.py")


class Interrupt:
    """Raises KeyboardInterrupt at the n-th moment inside the store at which Python would look for a signal.

    Those are the entries of functions and the returns of built-in ones, which is where a profiler is told.
    """

    def __init__(self, moment: int) -> None:
        self._left = moment
        self.fell = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "c_return") or not _inside_the_store(frame):
            return
        self._left -= 1
        if self._left == 0:
            self.fell = True
            raise KeyboardInterrupt


def _inside_the_store(frame: FrameType) -> bool:
    at: FrameType | None = frame
    if not frame.f_code.co_filename.endswith(WITH):
        return "mnemic/store/" in frame.f_code.co_filename
    while at is not None and "mnemic/store/" not in at.f_code.co_filename:
        at = at.f_back
    return at is not None


def interrupted(call: Any, moment: int) -> KeyboardInterrupt | None:
    """What Ctrl-C at that moment of the call raises; None where the call was over before."""
    stop = Interrupt(moment)
    sys.setprofile(stop)
    try:
        call()
    except KeyboardInterrupt as fault:
        return fault
    finally:
        sys.setprofile(None)
    assert not stop.fell, "Ctrl-C was swallowed"
    return None


@pytest.mark.parametrize("verb", ["add", "delete", "search"])
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_ctrl_c_at_any_moment_leaves_a_store_that_works(
    make_memory: MakeMemory, verb: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.store.sqlite.BUSY_SECONDS", 0.5)
    # The log is tidied by another thread, which is rightly inside the gate.
    monkeypatch.setattr("mnemic.store.sqlite.CHECKPOINT_BYTES", 2**40)
    moment, last = 1, None
    for tried in itertools.count():
        n = tried % 5
        if n == 0:
            # Afresh now and then: SQLAlchemy's pool may lose one of its connections each time.
            m, user = make_memory(), f"u1-{tried}"
            m.add("a note", user_id="u2", infer=False)
            facts = [f"{fate} {i}" for fate in ("goes", "stays") for i in range(5)]
            made = [item["id"] for item in m.add(facts=facts, user_id=user)["results"]]
        calls = {
            "add": lambda m=m, user=user, n=n: m.add(f"one more {n}", user_id=user, infer=False),
            "delete": lambda m=m, uid=made[n]: m.delete(uid),
            "search": lambda m=m: m.search("note", user_id="u2"),
        }
        # Kept, as a notebook keeps the last traceback, and with it the frames of the call.
        last = interrupted(calls[verb], moment)
        assert gate._gate.inside == set(), f"moment {moment}: a fork would wait for somebody who is gone"
        m.update(made[5 + n], text=f"changed {n}")
        assert m.search(f"changed {n}", user_id=user)["results"][0]["id"] == made[5 + n]
        if last is None:
            break
        moment += step
    assert moment > 60


@pytest.mark.parametrize("verb", ["add", "update", "delete and restore", "delete_all"])
def test_the_log_is_tidied_after_every_kind_of_write(
    m: Memory, store_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    long = {"much": "x" * 20_000}
    ids = [m.add(f"note {i}", user_id="u1", infer=False, metadata=long)["results"][0]["id"] for i in range(5)]
    with closing(sqlite3.connect(store_path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    monkeypatch.setattr("mnemic.store.sqlite.CHECKPOINT_BYTES", 1)
    before = store_path.stat().st_mtime_ns
    if verb == "add":
        m.add("one more", user_id="u1", infer=False)
    elif verb == "update":
        m.update(ids[0], text="changed")
    elif verb == "delete_all":
        m.delete_all(user_id="u1")
    else:
        m.delete(ids[1])
        m.restore(ids[1])
    until = time.monotonic() + 10
    while store_path.stat().st_mtime_ns == before and time.monotonic() < until:
        time.sleep(0.01)
    assert store_path.stat().st_mtime_ns != before, "the pages are still only in the log"


LAST_WORDS = """
import atexit, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from mnemic.store import sqlite

sqlite.CHECKPOINT_BYTES = 1
m = Memory(sys.argv[1], embedder="none")
m.add("said in time", user_id="u1", infer=False)
def last():
    m.add("said at the very end", user_id="u1", infer=False)
    print(m.get_all(user_id="u1")["total"])
atexit.register(last)
"""


def test_a_write_while_the_process_ends_is_kept(tmp_path: Path, run_python: RunPython) -> None:
    assert run_python(LAST_WORDS, tmp_path / "own.db").split() == ["2"]
