"""kill -9: what was acknowledged stays, what was under way is there whole or not at all, and opening just works."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from conftest import RunPython
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

PATIENCE = 280
pytestmark = pytest.mark.timeout(300)

# A parent that forks writers and kills them, so that imports are paid for once.
COMMON = """
import json, os, random, signal, sys, threading, time
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder, ScriptedLLM
from mnemic.store import sqlite
from mnemic.store.fakes import DiskFault, FaultyDisk

path, kind = sys.argv[1:3]
def opened():
    return Memory(path, embedder=HashEmbedder())
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def texts(m, user):
    return sorted(item["memory"] for item in m.get_all(user_id=user, top_k=10_000)["results"])
"""

ANY_MOMENT = (
    COMMON
    + """
if kind == "checkpointing":
    sqlite.CHECKPOINT_BYTES = 1

def write(user, tell):
    m = opened()
    rounds = 0
    def step(intent, call):
        tell(intent)
        call()
        tell("done")
    while True:
        facts = [f"{rounds}-{i} 生活" for i in range(4)]
        made = {}
        def add():
            made.update((r["memory"], r["id"]) for r in m.add(facts=facts, user_id=user)["results"])
        step(["add", facts], add)
        step(["update", facts[0], f"new {rounds}"], lambda: m.update(made[facts[0]], text=f"new {rounds}"))
        step(["delete", facts[1]], lambda: m.delete(made[facts[1]]))
        if rounds % 4 == 3:
            step(["clear"], lambda: m.delete_all(user_id=user))
        rounds += 1

def after(live, intent):
    live = list(live)
    if intent[0] == "add":
        live += intent[1]
    elif intent[0] == "update":
        live[live.index(intent[1])] = intent[2]
    elif intent[0] == "delete":
        live.remove(intent[1])
    else:
        live = []
    return live

chance = random.Random(5)
opened().close()
acknowledged, unknown, slowest = 0, 0, 0.0
expected = {}
for n in range(int(sys.argv[3])):
    user = f"u{n}"
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        write(user, lambda what: os.write(said, json.dumps(what).encode() + b"\\n"))
        os._exit(0)
    os.close(said)
    lines = os.fdopen(heard, "rb")
    # Killed after so many lines and a moment more: in any phase of any step.
    told = [json.loads(lines.readline()) for _ in range(chance.randrange(1, 30))]
    time.sleep(chance.random() * 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    told += [json.loads(line) for line in lines.read().splitlines()]
    live, pending = [], None
    for what in told:
        if what == "done":
            live, pending, acknowledged = after(live, pending), None, acknowledged + 1
        else:
            pending = what
    began = time.monotonic()
    with opened() as m:
        slowest = max(slowest, time.monotonic() - began)
        found = texts(m, user)
        allowed = [sorted(live)] if pending is None else [sorted(live), sorted(after(live, pending))]
        assert found in allowed, (pending, found, allowed)
        unknown += pending is not None
        m.add("life goes on", user_id=user, infer=False)
        expected[user] = sorted([*found, "life goes on"])
with opened() as m:
    for user, there in expected.items():
        assert texts(m, user) == there, user
        assert len(m.search("life goes on", user_id=user, top_k=1)["results"]) == 1
print(json.dumps([acknowledged, unknown, slowest]))
"""
)


def assert_whole(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("kind", ["writing", "checkpointing"])
@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_nothing_and_leaves_nothing_half(
    store_path: Path, run_warm: RunPython, kind: str, kills: int
) -> None:
    told = run_warm(ANY_MOMENT, store_path, kind, kills, timeout=PATIENCE)
    acknowledged, unknown, slowest = json.loads(told)
    assert acknowledged > 2.5 * kills
    assert unknown > kills / 6, "the kills fell between the calls only"
    assert slowest < 5
    assert_whole(store_path)


# The disk stops before a step, and that is when the process dies.
EVERY_STEP = (
    COMMON
    + """
facts = [f"fact {i}" for i in range(3)]
def editor():
    met = [("kept no more", "m1", "changes"), ("more than that", "m2", "refines")]
    drawn = [{"text": t, "source": [0], "meets": [{"memory": m, "how": h}]} for t, m, h in met]
    return Memory(path, embedder=HashEmbedder(), llm=ScriptedLLM([{"facts": drawn}]))
with opened() as m:
    ids = [item["id"] for item in m.add(facts=["kept", "changed", "gone"], user_id="u1")["results"]]
    m.delete(ids[2])
calls = {
    "opening": lambda m: None,
    "add": lambda m: m.add(facts=facts, user_id="u1"),
    "update": lambda m: m.update(ids[1], text="changed now"),
    "delete": lambda m: m.delete(ids[1]),
    "restore": lambda m: m.restore(ids[2]),
    "delete_all": lambda m: m.delete_all(user_id="u1"),
    "edit": lambda m: editor().add("kept is changed", user_id="u1"),
}
fresh = path + ".fresh"
if kind == "opening":
    path = fresh
before = None
if kind != "opening":
    with opened() as m:
        before = texts(m, "u1")
killed = 0
while True:
    if kind == "opening":
        for name in (path, path + "-wal", path + "-shm"):
            if os.path.exists(name):
                os.remove(name)
    child = os.fork()
    if child == 0:
        disk = FaultyDisk(path, DiskFault.HANG, after=killed)
        def wait():
            disk.hanging.wait()
            die()
        threading.Thread(target=wait, daemon=True).start()
        with disk:
            m = opened()
            calls[kind](m)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    with opened() as m:
        found = texts(m, "u1")
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            print(json.dumps([killed, found != before]))
            break
        assert found == (before or []), f"killed before step {killed + 1}: {found}"
        if kind == "opening":
            m.add("hello", user_id="u1", infer=False)
    killed += int(sys.argv[3])
"""
)


# Opening takes some sixty steps, most of them a table each.
KINDS = {"opening": 5, "add": 1, "update": 1, "delete": 1, "restore": 1, "delete_all": 1, "edit": 1}


@pytest.mark.parametrize(
    ("kind", "stride"), [*KINDS.items(), pytest.param("opening", 1, marks=pytest.mark.slow)]
)
def test_a_kill_before_any_step_of_a_write_leaves_nothing_of_it(
    store_path: Path, run_warm: RunPython, kind: str, stride: int
) -> None:
    killed, changed = json.loads(run_warm(EVERY_STEP, store_path, kind, stride, timeout=PATIENCE))
    assert killed >= 3
    assert changed
    assert_whole(store_path)


LONG_LOG = """
import os, signal, sqlite3, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

# Somebody who reads for long: no page of the log can go into the file meanwhile.
reader = sqlite3.connect(sys.argv[1], isolation_level=None)
reader.execute("BEGIN")
reader.execute("SELECT count(*) FROM memory").fetchone()
m = Memory(sys.argv[1], embedder=HashEmbedder())
for i in range(25):
    m.add(f"long {i}", user_id="u1", infer=False, metadata={"much": "x" * 990_000})
    print(i, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_long_log_left_by_a_kill_opens_at_once(store_path: Path, run_warm: RunPython, warm: Path) -> None:
    done = subprocess.run(
        [warm / "warm-python", "-c", LONG_LOG, str(store_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.split() == [str(i) for i in range(25)], done.stderr
    assert store_path.with_name(store_path.name + "-wal").stat().st_size > 24_000_000
    script = """
import sys, time
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
began = time.monotonic()
m = Memory(sys.argv[1], embedder=HashEmbedder())
took = time.monotonic() - began
assert took < 5, took
print(m.get_all(user_id="u1", top_k=1)["total"])
m.close()
"""
    assert run_warm(script, store_path).split() == ["25"]
    assert_whole(store_path)


FIRST = """
import sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
print("ready", flush=True)
sys.stdin.readline()
with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    m.add(f"hello from {sys.argv[2]}", user_id="u1", infer=False)
"""


def test_many_processes_may_open_a_store_for_the_first_time_at_once(tmp_path: Path, warm: Path) -> None:
    path = tmp_path / "new.db"
    starting = [
        subprocess.Popen(
            [warm / "warm-python", "-c", FIRST, str(path), str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(6)
    ]
    for process in starting:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in starting:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    faults = [process.communicate()[1] for process in starting]
    assert [process.returncode for process in starting] == [0] * 6, faults
    with Memory(str(path), embedder=HashEmbedder()) as m:
        assert m.get_all(user_id="u1")["total"] == 6
    assert_whole(path)
