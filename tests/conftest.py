"""What every test stands on: no outside network, a home of its own, stores with a second tenant beside."""

from __future__ import annotations

import ipaddress
import itertools
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from mnemic.store.schema import OWNED


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    if host in ("localhost", ""):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to reach beyond this machine fails the test."""
    connect, lookup = socket.socket.connect, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        assert _is_local(address), f"a test tried to reach {address}"
        connect(self, address)

    def guarded_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        assert host is None or _is_local((host,)), f"a test tried to look up {host}"
        return lookup(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of the test's own, and no settings from the machine it runs on."""
    for name in [name for name in os.environ if name.startswith("MNEMIC_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("MNEMIC_HOME", str(path))
    return path


OTHER = [
    ("Mara likes chess, \"quotes\" and 'more'\nand a second line 🦊", "bystander"),
    ("住在上海，对花生过敏", "bystander"),
    ("ERR-7731 стоит в журнале", "neighbour"),
]


def tenant_rows(path: Path, tenant: str) -> dict[str, list[Any]]:
    """Every row that a tenant has, bit for bit, with its owners' counters."""
    mine = "(SELECT id FROM owner WHERE tenant = ?)"
    with closing(sqlite3.connect(path)) as raw:
        rows = {
            name: raw.execute(f'SELECT * FROM "{name}" WHERE owner_id IN {mine} ORDER BY 1, 2', (tenant,))
            for name in sorted(table.name for table in OWNED)
        }
        rows["owner"] = raw.execute("SELECT * FROM owner WHERE tenant = ? ORDER BY id", (tenant,))
        return {name: found.fetchall() for name, found in rows.items()}


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file that holds a second tenant; tests work on copies."""
    path = tmp_path_factory.mktemp("template") / "notes.db"
    add_bystanders(path, HashEmbedder())
    return path


def add_bystanders(path: Path, embedder: Any) -> None:
    """Store the second tenant."""
    with Memory(str(path), tenant="other", embedder=embedder) as other:
        for text, user in OTHER:
            other.add(text, user_id=user, infer=False, metadata={"price": 15, "user_id": "u1"})


@pytest.fixture
def store_path(tmp_path: Path, template: Path) -> Iterator[Path]:
    """A store file that holds a second tenant, which must be unchanged when the test is over."""
    path = tmp_path / "notes.db"
    shutil.copyfile(template, path)
    before = tenant_rows(path, "other")
    assert len(before["memory"]) == len(OTHER)
    yield path
    assert tenant_rows(path, "other") == before, "another tenant's data changed"


MakeMemory = Callable[..., Memory]


@pytest.fixture
def make_memory(store_path: Path) -> Iterator[MakeMemory]:
    """Opens memories on the test's store, with the hash embedder unless told otherwise, and closes them."""
    opened: list[Memory] = []

    def make(**settings: Any) -> Memory:
        settings.setdefault("embedder", HashEmbedder())
        memory = Memory(str(store_path), **settings)
        opened.append(memory)
        return memory

    yield make
    for memory in opened:
        memory.close()


@pytest.fixture
def memory_with(tmp_path: Path) -> Iterator[MakeMemory]:
    """Opens memories with a given embedder on a store of their own, which holds a second tenant likewise."""
    path = tmp_path / "own.db"
    opened: list[Memory] = []
    before: list[Any] = []

    def make(embedder: Any, **settings: Any) -> Memory:
        if not before:
            add_bystanders(path, embedder)
            before.append(tenant_rows(path, "other"))
        opened.append(Memory(str(path), embedder=embedder, **settings))
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()
    assert [tenant_rows(path, "other") for _ in before] == before, "another tenant's data changed"


@pytest.fixture
def m(make_memory: MakeMemory) -> Memory:
    """A memory on a fresh store with a second tenant in it."""
    return make_memory()


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves one second at each look, so that order never hangs on the machine's clock."""
    seconds = itertools.count(1_700_000_000_000_000_000, 1_000_000_000)
    monkeypatch.setattr("mnemic.clock.time", SimpleNamespace(time_ns=lambda: next(seconds)))


RowCounts = Callable[[], dict[str, int]]


@pytest.fixture
def row_counts(store_path: Path) -> RowCounts:
    """How many rows each table of the test's store has, embedding spaces aside: they are no one's data."""

    def counts() -> dict[str, int]:
        with closing(sqlite3.connect(store_path)) as raw:
            names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {
                name: raw.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
                for name in names
                if name != "space"
            }

    return counts


RunPython = Callable[..., str]


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Runs a script in a fresh process and returns what it prints; a failure shows what it said."""

    def run(script: str, *args: object, **environ: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *map(str, args)],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environ},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
