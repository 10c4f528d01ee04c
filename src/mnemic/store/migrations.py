"""The schema's history: an ordered list of small functions, each bringing a store one version further."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from sqlalchemy import Connection, insert, inspect, select, update

from ..clock import iso, now
from ..errors import StoreFormatError
from ..text.tokens import tokeniser_fingerprint
from . import schema, sqlite_sizes
from .sound import decoding

Migration = Callable[[Connection], None]


def create(tx: Connection) -> None:
    """Version 1: all tables."""
    schema.tables.create_all(tx)
    rows: list[dict[str, str | None]] = [
        {"key": "store_id", "value": uuid4().hex},
        {"key": "created_at", "value": iso(now())},
        {"key": "schema_version", "value": "0"},
        {"key": "tokeniser", "value": tokeniser_fingerprint()},
    ]
    tx.execute(insert(schema.meta), rows)


def keep_replays(tx: Connection) -> None:
    """Version 2: the results of calls with an idempotency key."""
    schema.replay.create(tx, checkfirst=True)


def tell_sizes(tx: Connection) -> None:
    """Version 3: what SQLite's planner is to know; PostgreSQL counts for itself."""
    if tx.dialect.name == "sqlite":
        sqlite_sizes.tell(tx)


def keep_traces(tx: Connection) -> None:
    """Version 4: each step of an add."""
    schema.trace.create(tx, checkfirst=True)


def find_predecessors(tx: Connection) -> None:
    """Version 5: an index by which the memories that one superseded are found."""
    schema.version_successor.create(tx, checkfirst=True)
    tell_sizes(tx)


def find_by_trace(tx: Connection) -> None:
    """Version 6: what a call did is found by its trace id."""
    for index in (schema.episode_trace, schema.change_trace):
        index.create(tx, checkfirst=True)
    tell_sizes(tx)


MIGRATIONS: tuple[Migration, ...] = (
    create,
    keep_replays,
    tell_sizes,
    keep_traces,
    find_predecessors,
    find_by_trace,
)


def schema_version(tx: Connection) -> int:
    """The version of an existing store; 0 for an empty database.

    Raises `StoreFormatError` where the database holds another program's tables or is of a newer version.
    """
    names = _tables(tx)
    if not names:
        return 0
    if not names >= {table.name for table in schema.MARKS}:
        raise StoreFormatError(
            "This database holds the tables of another program, so mnemic leaves it alone."
        )
    query = select(schema.meta.c.value).where(schema.meta.c.key == "schema_version")
    with decoding("meta"):
        found = int(tx.execute(query).scalar_one_or_none() or 0)
    if found > len(MIGRATIONS):
        raise StoreFormatError(
            f"This store has schema version {found}; this mnemic knows versions up to {len(MIGRATIONS)}.",
            suggestion="Upgrade mnemic to open it.",
        )
    return found


def _tables(tx: Connection) -> set[str]:
    """The tables of the database; of a PostgreSQL schema, which others may use too, those with names of ours."""
    names = set(inspect(tx).get_table_names())
    return names if tx.dialect.name == "sqlite" else names & set(schema.tables.tables)


def migrate(tx: Connection) -> None:
    """Bring the store to the newest version, inside the given write transaction."""
    for step in MIGRATIONS[schema_version(tx) :]:
        step(tx)
    newest = update(schema.meta).where(schema.meta.c.key == "schema_version")
    tx.execute(newest.values(value=str(len(MIGRATIONS))))
