"""What every test stands on: no outside network, a home of its own, stores with a second tenant beside."""

from __future__ import annotations

import gc
import ipaddress
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from mnemic.store.schema import OWNED, tables
from raw_stores import PostgresServer, Raw, raw_connection
from warm import warm_commands

# The same examples in every run, however slow the machine.
settings.register_profile(
    "same", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


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


# --- stores on both databases --------------------------------------------------------------------------------
# A test that asks for `store`, or for what stands on it (`m`, `make_memory`, `row_counts`, `empty_store`,
# `memory_with`), runs once on SQLite and once on PostgreSQL. One that also asks for `store_path`, because it works
# on the file itself, or is marked `sqlite`, runs on SQLite only.


def pytest_collection_finish() -> None:
    """Keep the garbage collector off what stays: with a test session's objects it takes a sixth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 20, 50)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "database" in metafunc.fixturenames:
        on_file = "store_path" in metafunc.fixturenames or metafunc.definition.get_closest_marker("sqlite")
        metafunc.parametrize("database", ["sqlite"] if on_file else ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The kind of database that the test's stores are in."""
    return str(request.param)


Rows = dict[str, list[Any]]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of the session's own."""
    with PostgresServer() as running:
        yield running


def tenant_rows(store: str | Path, tenant: str) -> Rows:
    """Every row that a tenant has, bit for bit, with its owners' counters."""
    with raw_connection(store) as raw:
        return rows_of(raw, tenant)


def rows_of(raw: Raw, tenant: str) -> Rows:
    """The same through a connection that is there."""
    named = "SELECT id FROM owner WHERE tenant = :tenant"
    queries = {
        table.name: f'SELECT * FROM "{table.name}" WHERE owner_id IN ({named}) ORDER BY 1, 2'
        for table in OWNED
    }
    queries["owner"] = "SELECT * FROM owner WHERE tenant = :tenant ORDER BY id"
    return dict(zip(queries, raw.execute_all(list(queries.values()), {"tenant": tenant}), strict=True))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store file that holds a second tenant; tests work on copies."""
    path = tmp_path_factory.mktemp("template") / "notes.db"
    add_bystanders(path, HashEmbedder())
    return path


@pytest.fixture(scope="session")
def shared_schema(postgres: PostgresServer) -> str:
    """A store on PostgreSQL that holds a second tenant; tests leave it as they found it."""
    url = postgres.url("shared")
    add_bystanders(url, HashEmbedder())
    return url


@pytest.fixture(scope="session")
def shared_raw(shared_schema: str) -> Iterator[Raw]:
    """A connection to that store past mnemic: the server takes longer over a new one than over all that is asked."""
    with raw_connection(shared_schema, autocommit=True) as raw:
        yield raw


def add_bystanders(store: str | Path, embedder: Any) -> None:
    """Store the second tenant."""
    with Memory(str(store), tenant="other", embedder=embedder) as other:
        for text, user in OTHER:
            other.add(text, user_id=user, infer=False, metadata={"price": 15, "user_id": "u1"})


@pytest.fixture
def store_path(tmp_path: Path, template: Path) -> Iterator[Path]:
    """A store file that holds a second tenant, which must be unchanged when the test is over."""
    path = tmp_path / "notes.db"
    shutil.copyfile(template, path)
    with unchanged_bystanders(lambda: tenant_rows(path, "other")):
        yield path


@pytest.fixture
def store(database: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a store is that holds a second tenant, which must be unchanged when the test is over."""
    if database == "sqlite":
        yield str(request.getfixturevalue("store_path"))
        return
    raw: Raw = request.getfixturevalue("shared_raw")
    with unchanged_bystanders(lambda: rows_of(raw, "other")):
        yield request.getfixturevalue("shared_schema")
    remove_all_but(raw, "other")


@contextmanager
def unchanged_bystanders(rows: Callable[[], Rows]) -> Iterator[None]:
    """Where nothing may happen to the second tenant, whose rows are given."""
    before = rows()
    assert len(before["memory"]) == len(OTHER)
    yield
    assert rows() == before, "another tenant's data changed"


def remove_all_but(raw: Raw, tenant: str) -> None:
    """Delete the rows of all other tenants."""
    kept = "(SELECT id FROM owner WHERE tenant = :tenant)"
    owned = reversed([table.name for table in tables.sorted_tables if table in OWNED])
    deletions = [f'DELETE FROM "{name}" WHERE owner_id NOT IN {kept}' for name in owned]
    raw.execute_all([*deletions, "DELETE FROM owner WHERE tenant <> :tenant"], {"tenant": tenant})


@pytest.fixture
def empty_store(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a store can be made that is the test's own."""
    if database == "sqlite":
        yield str(tmp_path / "own.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.schema() as url:
        yield url


MakeMemory = Callable[..., Memory]


@pytest.fixture
def make_memory(store: str) -> Iterator[MakeMemory]:
    """Opens memories on the test's store, with the hash embedder unless told otherwise, and closes them."""
    opened: list[Memory] = []

    def make(**settings: Any) -> Memory:
        settings.setdefault("embedder", HashEmbedder())
        memory = Memory(store, **settings)
        opened.append(memory)
        return memory

    yield make
    for memory in opened:
        memory.close()


@pytest.fixture
def memory_with(empty_store: str) -> Iterator[MakeMemory]:
    """Opens memories with a given embedder on a store of their own, which holds a second tenant likewise."""
    opened: list[Memory] = []
    before: list[Any] = []

    def make(embedder: Any, **settings: Any) -> Memory:
        if not before:
            add_bystanders(empty_store, embedder)
            before.append(tenant_rows(empty_store, "other"))
        opened.append(Memory(empty_store, embedder=embedder, **settings))
        return opened[-1]

    yield make
    for memory in opened:
        memory.close()
    assert [tenant_rows(empty_store, "other") for _ in before] == before, "another tenant's data changed"


@pytest.fixture
def m(make_memory: MakeMemory) -> Memory:
    """A memory on a fresh store with a second tenant in it."""
    return make_memory()


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves one second at each look, so that order never hangs on the machine's clock."""
    seconds = itertools.count(1_700_000_000_000_000_000, 1_000_000_000)
    monkeypatch.setattr("mnemic.clock.time", SimpleNamespace(time_ns=lambda: next(seconds)))


class SetClock:
    """The clock of the stores of a test: it stands at the instant that it was set to last, in seconds since 1970."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def __call__(self, moment: str | datetime) -> datetime:
        told = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        told = told if told.tzinfo else told.replace(tzinfo=UTC)
        self.seconds = told.timestamp()
        return told

    def time_ns(self) -> int:
        return round(self.seconds * 1_000_000) * 1_000


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the clock of the stores of this test: `set_clock("2024-03-01T09:00")`, UTC unless told."""
    clock = SetClock()
    monkeypatch.setattr("mnemic.clock.time", clock)
    return clock


RowCounts = Callable[[], dict[str, int]]


@pytest.fixture
def row_counts(database: str, store: str, request: pytest.FixtureRequest) -> RowCounts:
    """How many rows each table of the test's store has, embedding spaces aside: they are no one's data."""

    def counts() -> dict[str, int]:
        if database == "postgres":
            return counted(request.getfixturevalue("shared_raw"))
        with raw_connection(store) as raw:
            return counted(raw)

    return counts


def counted(raw: Raw) -> dict[str, int]:
    """The same of any store."""
    names = [name for name in tables.tables if name != "space"]
    together = "SELECT " + ", ".join(f'(SELECT count(*) FROM "{name}")' for name in names)
    return dict(zip(names, raw.execute(together)[0], strict=True))


RunPython = Callable[..., str]


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Runs a script in a fresh process and returns what it prints; a failure shows what it said."""
    return partial(_run, [sys.executable, "-W", "ignore::DeprecationWarning"], tmp_path)


@pytest.fixture(scope="session")
def warm() -> Iterator[Path]:
    """The folder of the commands `mnemic` and `warm-python`, which start warm."""
    # Not in pytest's own folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="mnemic-warm-") as folder, warm_commands(Path(folder)) as made:
        yield made


@pytest.fixture
def run_warm(tmp_path: Path, warm: Path) -> RunPython:
    """Runs a script in a process that starts warm, and does the same with it."""
    return partial(_run, [str(warm / "warm-python")], tmp_path)


def _run(
    command: list[str], folder: Path, script: str, *args: object, timeout: float = 60, **environ: str
) -> str:
    done = subprocess.run(
        [*command, "-c", script, *map(str, args)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environ},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
