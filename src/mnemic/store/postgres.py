"""What is special about PostgreSQL: how a URL is read, how transactions begin, what its faults mean."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateSchema

from ..errors import (
    ConfigError,
    MissingDependencyError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
    nearest,
)

POOL_SIZE = 8
# How long a connection is tried for, a lock or a free connection waited for, a statement let run, and a
# transaction kept in which a stopped client does nothing.
CONNECT_SECONDS = 10
LOCK_SECONDS = 30
STATEMENT_SECONDS = 300
IDLE_SECONDS = 60
# A server that vanished without a word is noticed within about a minute.
KEEPALIVE = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
SCHEMA = "mnemic"
SCHEMA_NAME = re.compile(r"(?!pg_|information_schema\Z)[A-Za-z_][A-Za-z0-9_-]{0,62}")
OPTIONS = ("schema", "statement_timeout", "prepare_threshold")
UNKNOWN_PARAMETER = re.compile(r'invalid (?:URI query parameter|connection option): ?"?([A-Za-z0-9_]+)"?')

# By SQLSTATE, or by its first two characters.
FAULTS: dict[str, tuple[type[StoreError], str]] = {
    "08": (StoreUnavailableError, "The connection to the database failed"),
    "25006": (StoreReadOnlyError, "The database takes no writes"),
    "25P03": (StoreUnavailableError, "The database ended a transaction that stood still"),
    "28": (StoreUnavailableError, "The database refuses the login"),
    "3D000": (StoreUnavailableError, "There is no such database"),
    "3F000": (StoreReadOnlyError, "The schema is missing or closed to this role"),
    "40": (StoreBusyError, "Other writers were in the way; try again"),
    "42501": (StoreReadOnlyError, "The role lacks a privilege"),
    "42P01": (StoreFormatError, "A table of the store is missing"),
    "42703": (StoreFormatError, "A column of the store is missing"),
    "53100": (StoreFullError, "The disk of the database is full"),
    "53": (StoreUnavailableError, "The database has no room for more"),
    "55P03": (StoreBusyError, f"Another writer held the store for longer than {LOCK_SECONDS} s"),
    "57014": (StoreBusyError, "A statement took longer than the statement timeout"),
    "57": (StoreUnavailableError, "The database went away"),
    "XX001": (StoreFormatError, "The database is damaged"),
    "XX002": (StoreFormatError, "The database is damaged"),
}

_SIZE = text(
    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class AS c"
    " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relkind = 'r'"
)
_SCHEMA_EXISTS = text("SELECT 1 FROM pg_namespace WHERE nspname = :schema")
_PREPARE = text("SELECT set_config('statement_timeout', '0', true), pg_advisory_xact_lock(:key)")
_ENCODING = text("SELECT current_setting('server_encoding')")


@dataclass(frozen=True, slots=True)
class Address:
    """A store's URL, read: what libpq needs (a password may be among it), mnemic's options, a name to show."""

    parameters: Mapping[str, Any]
    schema: str
    statement_ms: int
    prepare_threshold: int | None
    name: str


def read_url(url: str) -> Address:
    """The address that a URL names; all that is not mnemic's goes to libpq.

    Raises `ConfigError` for a URL that cannot be read, without showing it, and `MissingDependencyError`
    without psycopg.
    """
    conninfo_to_dict, psycopg_error = _psycopg()
    rest, options = _options(url)
    try:
        parameters: dict[str, Any] = conninfo_to_dict(rest)
    except psycopg_error as fault:
        unknown = UNKNOWN_PARAMETER.search(str(fault))
        what = f"has the unknown parameter {unknown[1]!r}{nearest(unknown[1], OPTIONS)}" if unknown else ""
        raise ConfigError(
            f"store: the PostgreSQL URL {what or 'cannot be read'}.",
            suggestion="Write it as postgresql://user:password@host:5432/database?schema=name, with special"
            " characters percent-encoded.",
        ) from None
    schema = _schema(options.get("schema", SCHEMA))
    return Address(
        parameters=parameters,
        schema=schema,
        statement_ms=_milliseconds(options.get("statement_timeout")),
        prepare_threshold=_threshold(options.get("prepare_threshold")),
        name=_shown(parameters, schema),
    )


def _psycopg() -> tuple[Any, type[Exception]]:
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as fault:
        raise MissingDependencyError("A PostgreSQL store", package="psycopg", extra="postgres") from fault
    return conninfo_to_dict, Error


def _options(url: str) -> tuple[str, dict[str, str]]:
    """The URL without mnemic's own parameters, and these."""
    # As libpq has it: user and password, if any, end at an @ before the first slash.
    userinfo = re.match(r"[a-z]+://(?:[^@/]*@)?", url)
    start = 0 if userinfo is None else userinfo.end()
    base, _, query = url[start:].partition("?")
    own: dict[str, str] = {}
    others: list[str] = []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if name in OPTIONS:
            own[name] = unquote(value)
        else:
            others.append(part)
    return url[:start] + base + ("?" + "&".join(others) if others else ""), own


def _schema(name: str) -> str:
    if not SCHEMA_NAME.fullmatch(name):
        raise ConfigError(
            f"store: schema={name!r} is no name for a schema; it may have letters, digits, _ and -, begins with a"
            " letter or _, but not with pg_, and has at most 63 characters."
        )
    return name


def _milliseconds(seconds: str | None) -> int:
    if seconds is None:
        return STATEMENT_SECONDS * 1000
    if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", seconds):
        raise ConfigError(f"store: statement_timeout={seconds!r} must be seconds; 0 is no limit.")
    return round(float(seconds) * 1000)


def _threshold(times: str | None) -> int | None:
    if times is None:
        return 5
    if times == "none":
        return None
    if not re.fullmatch(r"\d{1,6}", times):
        raise ConfigError(f"store: prepare_threshold={times!r} must be a whole number or 'none'.")
    return int(times)


def _shown(parameters: Mapping[str, Any], schema: str) -> str:
    """The address for people: no user, no password, none of the other parameters."""
    hosts, ports = (str(parameters.get(name, "")).split(",") for name in ("host", "port"))
    ports += [ports[-1]] * (len(hosts) - len(ports))
    places = ",".join(
        f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False) if host
    )
    return f"postgresql://{places}/{parameters.get('dbname', '')}?schema={schema}"


class Postgres:
    """A store in one schema of a PostgreSQL database.

    The protocol is `database.Backend`. All that a session would have to keep in mind is told to the server with
    each BEGIN, so that it works behind a pooler that changes servers between transactions too.
    """

    faults: tuple[type[Exception], ...] = (DBAPIError,)
    leftover: str | None = (
        "The rows are gone; their bytes go from the server's files with its next VACUUM FULL, and from its log and"
        " its backups when these are recycled."
    )

    def __init__(self, url: str) -> None:
        self._start(read_url(url))

    def _start(self, address: Address) -> None:
        self._address = address
        self.name = address.name
        self._engine = make_engine(address)
        told = (
            f'SET LOCAL search_path = "{address.schema}"; SET LOCAL lock_timeout = {LOCK_SECONDS * 1000};'
            f" SET LOCAL statement_timeout = {address.statement_ms};"
            f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_SECONDS * 1000}"
        )
        # A read sees one snapshot. A write sees what was committed before each statement: what it reads once the
        # owner is locked is the newest, where a snapshot taken earlier would make it fail and begin again.
        self._begin_read = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {told}"
        self._begin_write = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {told}"

    @contextmanager
    def turn(self, *, writing: bool) -> Iterator[None]:  # noqa: ARG002
        """Threads wait for a connection or, at the server, for an owner; never for each other here."""
        yield

    @contextmanager
    def transaction(self, *, writing: bool) -> Iterator[Connection]:
        with self._begun(self._begin_write if writing else self._begin_read) as connection:
            yield connection
            try:
                connection.commit()
            except DBAPIError as fault:
                if writing and fault.connection_invalidated:
                    raise StoreUnavailableError(
                        f"The connection ended during the commit: what this call wrote may be stored or not"
                        f" ({self.name}).",
                        details={"store": self.name},
                    ) from fault
                raise

    def _begun(self, begin: str) -> Connection:
        """A connection in a transaction.

        The first to notice that the server was restarted is BEGIN, with nothing done yet: so it is said again on
        a new connection, for which SQLAlchemy then takes all others for lost too.
        """
        connection = self._engine.connect()
        try:
            connection.exec_driver_sql(begin)
        except DBAPIError as fault:
            connection.close()
            if not fault.connection_invalidated:
                raise
            connection = self._engine.connect()
            connection.exec_driver_sql(begin)
        return connection

    def prepare(self, tx: Connection) -> None:
        """Wait for other processes that make or migrate the same schema, and make it where it is missing."""
        schema = self._address.schema
        key = int.from_bytes(blake2b(f"mnemic:{schema}".encode(), digest_size=8).digest(), signed=True)
        tx.execute(_PREPARE, {"key": key})
        encoding = tx.execute(_ENCODING).scalar_one()
        if encoding != "UTF8":
            raise StoreFormatError(
                f"The database has the encoding {encoding}; mnemic needs UTF8.",
                suggestion="Make one with: createdb --encoding=UTF8 --template=template0 NAME",
            )
        # Not IF NOT EXISTS: that would ask for the privilege to make one even where it exists.
        if tx.execute(_SCHEMA_EXISTS, {"schema": schema}).first() is None:
            tx.execute(CreateSchema(schema))

    def translate(self, fault: Exception) -> StoreError:
        orig = getattr(fault, "orig", None) or fault
        state = getattr(orig, "sqlstate", None) or ""
        kind, meaning = FAULTS.get(state) or FAULTS.get(state[:2]) or (StoreError, "PostgreSQL failed")
        if not state:
            kind, meaning = StoreUnavailableError, "The database cannot be reached, or went away"
        diagnosis = getattr(orig, "diag", None)
        # Only the first part: the details may quote what a user wrote.
        words = getattr(diagnosis, "message_primary", None) or str(orig)
        words = " ".join(self._without_password(words).split()).rstrip(".")
        advice = (
            f'Let an administrator run: CREATE SCHEMA "{self._address.schema}" AUTHORIZATION this role; or name a'
            " schema that the role owns with ?schema=NAME."
        )
        return kind(
            f"{meaning}: {words} ({self.name}).",
            details={"store": self.name, "sqlstate": state},
            suggestion=advice if state in ("42501", "3F000") else None,
        )

    def _without_password(self, words: str) -> str:
        password = self._address.parameters.get("password")
        return words.replace(password, "***") if password else words

    def grown(self) -> bool:
        """Never: the server looks after its log itself."""
        return False

    def checkpoint(self) -> None:
        """Nothing to do: the server looks after its log itself."""

    def erase(self) -> bool:
        """Nothing to do: what is left is the server's own (`leftover`), and no client's to rewrite."""
        return True

    def damage(self, tx: Connection) -> list[str]:  # noqa: ARG002
        """As `Backend.damage`: the server looks after its files."""
        return []

    def size(self) -> int:
        """Bytes of all tables of the schema, with their indexes."""
        with self.transaction(writing=False) as tx:
            return int(tx.execute(_SIZE, {"schema": self._address.schema}).scalar_one())

    def renewed(self) -> Postgres:
        fresh = Postgres.__new__(Postgres)
        fresh._start(self._address)
        return fresh

    def close(self) -> None:
        self._engine.dispose()


def make_engine(address: Address) -> Engine:
    """An engine whose connections leave the beginning of transactions to `Postgres`."""
    given = dict(address.parameters)
    if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
        given["connect_timeout"] = CONNECT_SECONDS
    settings = {
        **KEEPALIVE,
        "fallback_application_name": "mnemic",
        **given,
        "client_encoding": "utf8",
        "autocommit": True,
        "prepare_threshold": address.prepare_threshold,
    }
    return create_engine(
        "postgresql+psycopg://",
        connect_args=settings,
        pool_size=POOL_SIZE,
        max_overflow=0,
        pool_timeout=LOCK_SECONDS,
        use_native_hstore=False,
        hide_parameters=True,
    )
