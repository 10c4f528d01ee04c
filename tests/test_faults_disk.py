"""A disk that is full, read-only, broken or hanging at any step of any write: all of the call is kept, or nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import (
    AsyncMemory,
    Memory,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
)
from mnemic.models.fakes import HashEmbedder
from mnemic.store.fakes import DiskFault, FaultyDisk

ERRORS = {
    DiskFault.FULL: StoreFullError,
    DiskFault.READ_ONLY: StoreReadOnlyError,
    DiskFault.IO_ERROR: StoreError,
}
NEVER = 10**9
Calls = dict[str, Callable[[], Any]]


def everything(path: Path) -> list[str]:
    """All rows of all tables as SQL."""
    with closing(sqlite3.connect(path)) as raw:
        return list(raw.iterdump())


@pytest.fixture
def calls(m: Memory) -> Calls:
    """A call of each verb that writes, on a store in which each has something to do."""
    said = [{"role": "user", "content": f"turn {i} 你好 'quoted'\n🦊"} for i in range(3)]
    ids = [item["id"] for item in m.add(facts=["kept", "changed", "going", "gone"], user_id="u1")["results"]]
    m.add("I live in Oslo.", user_id="u1")
    m.delete(ids[3])
    return {
        "add": lambda: m.add(said, user_id="u1", infer=False, metadata={"n": 1}),
        "add for a new user": lambda: m.add(facts=["first"], user_id="new"),
        "supersede": lambda: m.add("I moved to Bergen.", user_id="u1"),
        "repeat": lambda: m.add("kept", user_id="u1", infer=False, run_id="r1"),
        "update": lambda: m.update(ids[1], text="changed now", metadata={"n": 2}),
        "delete": lambda: m.delete(ids[2]),
        "restore": lambda: m.restore(ids[3]),
        "delete_all": lambda: m.delete_all(user_id="u1"),
        "reset": m.reset,
    }


VERBS = (
    *("add", "add for a new user", "supersede", "repeat", "update"),
    *("delete", "restore", "delete_all", "reset"),
)


@pytest.mark.parametrize("fault", list(ERRORS))
@pytest.mark.parametrize("verb", VERBS)
def test_a_disk_that_fails_at_any_step_leaves_nothing_of_the_call(
    m: Memory, calls: Calls, store_path: Path, verb: str, fault: DiskFault
) -> None:
    m.search("kept", user_id="u1")
    before, failed = everything(store_path), 0
    while True:
        with FaultyDisk(store_path, fault, after=failed) as disk:
            try:
                calls[verb]()
                break
            except StoreError as told:
                assert type(told) is ERRORS[fault]
                assert str(store_path) in str(told)
            found = m.search("kept", user_id="u1")["results"]
        assert disk.steps == failed + 1
        assert found[0]["memory"] == "kept", "reading goes on"
        assert everything(store_path) == before, f"something of the call is there after step {failed}"
        failed += 1
    # The last round went through, on the disk as it was well for just long enough.
    assert failed >= 3
    assert everything(store_path) != before
    assert m.add("life goes on", user_id="later", infer=False)["results"][0]["event"] == "ADD"
    assert m.search("life goes on", user_id="later")["results"]


def test_a_disk_that_fails_after_a_purge_lets_the_bytes_go_later(
    make_memory: MakeMemory, store_path: Path
) -> None:
    def there(token: str) -> bool:
        files = [store_path, store_path.with_name(store_path.name + "-wal")]
        return any(token.encode() in file.read_bytes() for file in files if file.exists())

    def pending() -> bool:
        with closing(sqlite3.connect(store_path)) as raw:
            return raw.execute("SELECT 1 FROM meta WHERE key = 'erase'").fetchone() is not None

    with make_memory() as m:
        m.add("my token is zq-9931-xy", user_id="u1", infer=False)
        with FaultyDisk(store_path, DiskFault.FULL, after=NEVER) as well:
            m.purge(user_id="u1")
        m.add("my token is zq-9931-xy", user_id="u1", infer=False)
        # All that removes the rows succeeds; what finishes the erasure does not.
        with FaultyDisk(store_path, DiskFault.FULL, after=well.steps - 1):
            receipt = m.purge(user_id="u1")
        assert receipt["removed"]["memory"] == 1
        assert receipt["bytes_erased"] is False
        assert "full" in receipt["notice"]
        assert m.get_all(user_id="u1", show_deleted=True)["total"] == 0
        assert pending()
    with make_memory() as m:
        assert m.get_all(user_id="u1")["total"] == 0
        # Opening finishes it, beside the first calls.
        until = time.monotonic() + 30
        while pending() and time.monotonic() < until:
            time.sleep(0.01)
        assert not pending()
        assert not there("zq-9931-xy")
        assert m.check()["sound"]


def test_a_store_that_cannot_be_made_on_a_full_disk_can_be_made_later(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    steps = 0
    while True:
        with FaultyDisk(path, DiskFault.FULL, after=steps):
            try:
                Memory(str(path), embedder="none").close()
                break
            except StoreFullError:
                steps += 1
    assert steps > 20
    with Memory(str(path), embedder="none") as m:
        assert m.add("hello", user_id="u1", infer=False)["results"][0]["event"] == "ADD"


def test_a_disk_that_hangs_holds_up_writes_and_no_reads(
    make_memory: MakeMemory, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.store.sqlite.BUSY_SECONDS", 0.2)
    m, beside = make_memory(), make_memory()
    m.add("kept", user_id="u1", infer=False)
    with FaultyDisk(store_path, DiskFault.HANG, after=2) as disk:
        writer = threading.Thread(target=lambda: m.add("slow", user_id="u1", infer=False))
        writer.start()
        assert disk.hanging.wait(30)
        for each in (m, beside):
            assert [r["memory"] for r in each.search("kept", user_id="u1")["results"]] == ["kept"]
            with pytest.raises(StoreBusyError):
                each.add("meanwhile", user_id="u1", infer=False)
    writer.join()
    assert {r["memory"] for r in m.get_all(user_id="u1")["results"]} == {"kept", "slow"}
    assert m.add("afterwards", user_id="u1", infer=False)["results"][0]["event"] == "ADD"


def steps_of_an_add(path: Path) -> int:
    with Memory(str(path), embedder=HashEmbedder()) as m:
        m.add("the first", user_id="u1", infer=False)
        with FaultyDisk(path, DiskFault.HANG, after=NEVER) as disk:
            m.add("the second", user_id="u1", infer=False)
    return disk.steps


@pytest.mark.parametrize("at_commit", [False, True])
def test_cancelling_while_the_disk_hangs(store_path: Path, at_commit: bool) -> None:
    steps = steps_of_an_add(store_path)

    async def use() -> int:
        async with AsyncMemory(str(store_path), embedder=HashEmbedder()) as m:
            with FaultyDisk(store_path, DiskFault.HANG, after=steps - 1 if at_commit else 1) as disk:
                call = asyncio.ensure_future(m.add("cancelled", user_id="u1", infer=False))
                while not disk.hanging.is_set():
                    await asyncio.sleep(0.005)
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            # It waits for its turn, so the other is over by then.
            await m.add("the third", user_id="u1", infer=False)
            return (await m.get_all(user_id="u1"))["total"]

    # Before its commit a cancelled call stores nothing; a commit under way finishes.
    assert asyncio.run(use()) == (4 if at_commit else 3)
