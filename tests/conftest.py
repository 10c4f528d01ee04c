"""What every test stands on: no outside network, a home of its own, stores with a second tenant beside."""

from __future__ import annotations

import ipaddress
import itertools
import os
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


def tenant_state(path: Path, tenant: str) -> list[Any]:
    """All that a tenant can see of itself: memories with every state, histories, messages."""
    with Memory(str(path), tenant=tenant, embedder=HashEmbedder()) as memory:
        state: list[Any] = []
        for user in ("bystander", "neighbour"):
            listed = memory.get_all(
                user_id=user, top_k=1000, show_expired=True, show_deleted=True, include_superseded=True
            )
            state.append(listed)
            state.extend(memory.history(item["id"]) for item in listed["results"])
            state.append(memory.messages(user_id=user, limit=1000))
            state.append(memory.search("likes chess 上海 ERR-7731", user_id=user)["results"])
        return state


@pytest.fixture
def store_path(tmp_path: Path) -> Iterator[Path]:
    """A store file that holds a second tenant, which must be unchanged when the test is over."""
    path = tmp_path / "notes.db"
    with Memory(str(path), tenant="other", embedder=HashEmbedder()) as other:
        for text, user in OTHER:
            other.add(text, user_id=user, infer=False, metadata={"price": 15, "user_id": "u1"})
    before = tenant_state(path, "other")
    yield path
    assert tenant_state(path, "other") == before, "another tenant's data changed"


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
