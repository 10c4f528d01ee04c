"""A store that cannot be used: a typed error, nothing half written, and the next call works."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from conftest import MakeMemory, RowCounts, RunPython
from mnemic import (
    EmbedderMismatchError,
    Memory,
    MnemicError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreReadOnlyError,
)
from mnemic.models.fakes import HashEmbedder


def opened(path: Path, **settings: Any) -> Memory:
    settings.setdefault("embedder", HashEmbedder())
    return Memory(str(path), **settings)


def assert_works(m: Memory) -> None:
    [added] = m.add("and life goes on 生活", user_id="later", infer=False)["results"]
    assert added["event"] == "ADD"
    assert [r["id"] for r in m.search("life", user_id="later")["results"]] == [added["id"]]


# --- files that are something else ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", [b"hello world\n" * 1000, b"xy", os.urandom(8192), b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(content)
    with pytest.raises(StoreFormatError, match=r"letter\.txt"):
        opened(path)
    assert path.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with opened(path) as m:
        assert_works(m)


@pytest.mark.parametrize(
    "table", ["notes (body TEXT)", "meta (name TEXT)", "owner (name TEXT)", "memory (id TEXT, text TEXT)"]
)
def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path, table: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"CREATE TABLE {table}")
        raw.execute(f"INSERT INTO {table.split()[0]} DEFAULT VALUES")
        raw.commit()
    with pytest.raises(StoreFormatError):
        opened(path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,)
        assert raw.execute(f"SELECT count(*) FROM {table.split()[0]}").fetchone() == (1,)


def test_a_store_of_a_newer_version_is_refused_and_left_alone(store_path: Path) -> None:
    with closing(sqlite3.connect(store_path)) as raw:
        raw.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
        raw.commit()
    with pytest.raises(StoreFormatError, match="99") as caught:
        opened(store_path)
    assert "Upgrade" in str(caught.value)
    with closing(sqlite3.connect(store_path)) as raw:
        assert raw.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone() == ("99",)


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        opened(tmp_path)


def test_a_file_in_the_place_of_the_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError):
        opened(tmp_path / "file" / "own.db")


# --- damage -----------------------------------------------------------------------------------------------


@pytest.fixture
def full_store(store_path: Path) -> Path:
    with opened(store_path) as m:
        m.add(facts=[f"memory number {i} 第{i}条" for i in range(300)], user_id="u1", metadata={"n": 1})
    return store_path


def try_everything(path: Path) -> None:
    with opened(path) as m:
        for item in m.get_all(user_id="u1", top_k=1000, show_deleted=True)["results"][:20]:
            m.get(item["id"])
            m.history(item["id"])
        m.messages(user_id="u1")
        m.search("memory number", user_id="u1", filters={"n": {"gte": 1}})
        m.add("one more", user_id="u1", infer=False)
        m.delete_all(user_id="u1")


@pytest.mark.parametrize("kept", [0.02, 0.25, 0.5, 0.75, 0.9])
def test_a_truncated_store_is_a_typed_error(full_store: Path, tmp_path: Path, kept: float) -> None:
    data = full_store.read_bytes()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(StoreFormatError, match=r"damaged\.db"):
        try_everything(damaged)


def test_pages_of_zeros_are_a_typed_error(full_store: Path, tmp_path: Path) -> None:
    data = full_store.read_bytes()
    for at in range(1, len(data) // 4096, 9):
        damaged = tmp_path / f"damaged{at}.db"
        damaged.write_bytes(data[: at * 4096] + bytes(4096) + data[(at + 1) * 4096 :])
        try:
            try_everything(damaged)
        except StoreError as fault:
            assert "damaged" in str(fault)


def test_a_log_that_was_lost_is_a_loss_of_the_newest_only(full_store: Path, tmp_path: Path) -> None:
    with opened(full_store) as m:
        m.add("in the log", user_id="u1", infer=False)
        copy = tmp_path / "copy.db"
        shutil.copyfile(full_store, copy)
    with opened(copy) as m:
        assert m.get_all(user_id="u1", top_k=1)["total"] in (300, 301)
        assert_works(m)


# --- a full disk ------------------------------------------------------------------------------------------


class Disk:
    """How many pages the store's file may have, on every connection."""

    def __init__(self) -> None:
        self.limit = 2**30
        self.connections: list[Any] = []

    def connected(self, connection: Any, _: Any) -> None:
        self.connections.append(connection)
        connection.execute(f"PRAGMA max_page_count = {self.limit}")

    def allow(self, pages: int) -> None:
        self.limit = pages
        for connection in self.connections:
            connection.execute(f"PRAGMA max_page_count = {pages}")


@pytest.fixture
def disk() -> Iterator[Disk]:
    small = Disk()
    event.listen(Pool, "connect", small.connected)
    yield small
    event.remove(Pool, "connect", small.connected)


@pytest.mark.sqlite
def test_a_full_disk_is_a_typed_error_and_no_call_leaves_half_its_rows(
    make_memory: MakeMemory, disk: Disk, row_counts: RowCounts
) -> None:
    m = make_memory()
    [known] = m.add("known", user_id="u1", infer=False)["results"]
    before = row_counts()
    disk.allow(1)
    turns = [{"role": "user", "content": f"turn {i} " + "long " * 500} for i in range(30)]
    writes = {
        "add": lambda: m.add(turns, user_id="u1", infer=False, metadata={"much": "x" * 100_000}),
        "update": lambda: m.update(known["id"], text="much " * 10_000),
    }
    for write in writes.values():
        with pytest.raises(StoreFullError):
            write()
        assert row_counts() == before
        assert m.get(known["id"])["memory"] == "known"
        assert len(m.search("known", user_id="u1")["results"]) == 1
    disk.allow(2**30)
    assert len(writes["add"]()["results"]) == 30
    assert_works(m)


FILE_LIMIT = """
import json, resource, sys
from mnemic import Memory, StoreError
from mnemic.models.fakes import HashEmbedder

m = Memory(sys.argv[1], embedder=HashEmbedder())
m.add("known", user_id="u1", infer=False)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
faults = 0
for i in range(3):
    try:
        m.add(f"long {i}", user_id="u1", infer=False, metadata={"much": "x" * 900_000})
    except StoreError as fault:
        faults += 1
    assert [r["memory"] for r in m.search("known", user_id="u1")["results"]] == ["known"]
    assert m.messages(user_id="u1")["total"] == 1
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
m.add("afterwards", user_id="u1", infer=False)
print(json.dumps([faults, m.get_all(user_id="u1")["total"]]))
"""


def test_a_write_that_the_system_refuses_is_a_typed_error(store_path: Path, run_warm: RunPython) -> None:
    assert json.loads(run_warm(FILE_LIMIT, store_path)) == [3, 2]
    with closing(sqlite3.connect(store_path)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# --- a store that is busy ---------------------------------------------------------------------------------


def test_a_store_that_another_program_holds_is_a_typed_error(
    make_memory: MakeMemory, store_path: Path, row_counts: RowCounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.store.sqlite.BUSY_SECONDS", 0.1)
    m = make_memory()
    [known] = m.add("known", user_id="u1", infer=False)["results"]
    before = row_counts()
    with closing(sqlite3.connect(store_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for write in (
            lambda: m.add("new", user_id="u1", infer=False),
            lambda: m.update(known["id"], text="new"),
            lambda: m.delete(known["id"]),
            lambda: m.delete_all(user_id="u1"),
        ):
            with pytest.raises(StoreBusyError):
                write()
        assert len(m.search("known", user_id="u1")["results"]) == 1
        other.execute("ROLLBACK")
    assert row_counts() == before
    assert_works(m)


def test_a_store_that_is_busy_for_a_while_is_waited_for(m: Memory, store_path: Path) -> None:
    with closing(sqlite3.connect(store_path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
        release.start()
        assert m.add("new", user_id="u1", infer=False)["results"][0]["event"] == "ADD"
        release.join()


# --- no permission ----------------------------------------------------------------------------------------

# Root may write anywhere, so the script gives that up once all it needs is loaded.
UNPRIVILEGED = """
import json, os, sys
from pathlib import Path
from mnemic import Memory, MnemicError
from mnemic.models.fakes import HashEmbedder

def use(path):
    with Memory(path, embedder=HashEmbedder()) as m:
        try:
            m.get("no-such-id")
        except MnemicError:
            pass
        m.add("hello", user_id="u1", infer=False)
        m.search("hello", user_id="u1")

use(":memory:")
if os.getuid() == 0:
    os.setuid(65534)
here = Path(sys.argv[1])
outcomes = {}
for name in ("locked/new.db", "locked/deeper/new.db", "locked/old.db", "open/read-only.db", "open/fine.db"):
    try:
        use(str(here / name))
        outcomes[name] = "fine"
    except MnemicError as fault:
        outcomes[name] = type(fault).__name__
        assert str(here) in str(fault) or fault.details, fault
print(json.dumps(outcomes))
"""


@pytest.fixture
def public_place(store_path: Path) -> Iterator[Path]:
    """A directory that any user can reach: an open one in it, and one that is locked, each with a store."""
    place = Path(tempfile.mkdtemp())
    for name, store in (("locked", "old.db"), ("open", "read-only.db")):
        (place / name).mkdir()
        shutil.copyfile(store_path, place / name / store)
        (place / name / store).chmod(0o444)
    place.chmod(0o755)
    (place / "locked").chmod(0o555)
    (place / "open").chmod(0o777)
    yield place
    (place / "locked").chmod(0o755)
    shutil.rmtree(place)


def test_what_cannot_be_written_is_a_typed_error(public_place: Path, run_warm: RunPython) -> None:
    outcomes = json.loads(run_warm(UNPRIVILEGED, public_place, MNEMIC_HOME=str(public_place)))
    read_only = StoreReadOnlyError.__name__
    assert outcomes == {
        "locked/new.db": read_only,
        "locked/deeper/new.db": read_only,
        "locked/old.db": read_only,
        "open/read-only.db": read_only,
        "open/fine.db": "fine",
    }


# --- what is not a path, and what is let go --------------------------------------------------------------


DAMAGE = [
    "UPDATE version SET metadata = '{bad'",
    "UPDATE version SET metadata = '[1]'",
    "UPDATE version SET categories = 'nope'",
    "UPDATE version SET tx_from = 9223372036854775807",
    "UPDATE message SET said_at = 9000000000000000000",
    "UPDATE vector SET data = x'0011'",
    "UPDATE space SET background = 'x'",
    "UPDATE meta SET value = 'x' WHERE key = 'schema_version'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = CAST(x'43524541544520849e' AS TEXT)"
    " WHERE name = 'memory'",
]


@pytest.mark.parametrize("sql", DAMAGE)
def test_damaged_values_are_a_store_error(store_path: Path, tmp_path: Path, sql: str) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copyfile(store_path, damaged)
    with closing(sqlite3.connect(damaged)) as raw:
        raw.executescript(sql)
        raw.commit()
    with pytest.raises(StoreError), opened(damaged, tenant="other") as m:
        m.get_all(user_id="bystander")
        m.messages(user_id="bystander")
        m.search("chess", user_id="bystander", filters={"price": 15})


def test_a_database_with_tables_named_like_ours_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript("CREATE TABLE meta (key TEXT, value TEXT); CREATE TABLE owner (name TEXT);")
    with pytest.raises(StoreFormatError):
        opened(path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT count(*) FROM sqlite_master").fetchone() == (2,)


def test_a_relative_path_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with Memory("rel.db", embedder=HashEmbedder()) as m:
        m.add("here", user_id="u1", infer=False)
        monkeypatch.chdir(tmp_path / "elsewhere")
        with ThreadPoolExecutor(8) as pool:
            totals = set(pool.map(lambda _: m.get_all(user_id="u1")["total"], range(40)))
    assert totals == {1}
    assert not (tmp_path / "elsewhere" / "rel.db").exists()


@pytest.mark.parametrize("store", ["a\0b.db", "half\ud83e.db", "~no-such-user-here/a.db"])
def test_a_path_that_cannot_be_is_a_typed_error(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MnemicError):
        Memory(store, embedder="none")


def test_a_store_that_is_refused_is_let_go_at_once(store_path: Path) -> None:
    def handles() -> int:
        links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
        return sum(str(link.resolve()).startswith(str(store_path)) for link in links)

    gc.disable()
    try:
        for _ in range(5):
            with pytest.raises(EmbedderMismatchError):
                opened(store_path, embedder=HashEmbedder(9))
        assert handles() == 0
    finally:
        gc.enable()
