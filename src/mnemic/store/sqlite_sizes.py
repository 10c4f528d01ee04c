"""What SQLite's planner is to know of a store: how many rows an owner has, and how many a lookup finds.

Without that it takes ten rows for an owner, and reads all of an owner's rows where an index would lead to one or
two. These are round figures for a big owner, the same in every store: so a plan is the same in every store too.
"""

from __future__ import annotations

from sqlalchemy import Connection

from . import schema as s

_ROWS = 10_000_000
_OWNERS = 100_000
# How many rows have the same value in a column and in those before it in the index; others than these few.
_ALIKE = {
    "tenant": 10_000,
    "owner_id": 10_000,
    "agent_id": 1_000,
    "app_id": 1_000,
    "run_id": 1_000,
    "attribute": 100,
    "episode_no": 20,
}
_FEW = 2


def tell(tx: Connection) -> None:
    """Write the figures down, for this connection and for all that come."""
    # Makes their table, if it is not there; the second time it has them read.
    tx.exec_driver_sql("ANALYZE sqlite_schema")
    tx.exec_driver_sql("DELETE FROM sqlite_stat1")
    for table in (s.owner, *s.OWNED):
        for _, name, unique, origin, _ in tx.exec_driver_sql(f"PRAGMA index_list({table.name})").all():
            columns = [row[2] for row in tx.exec_driver_sql(f"PRAGMA index_info({name})")]
            figures = _figures(columns, _OWNERS if table is s.owner else _ROWS, unique=bool(unique))
            index = table.name if origin == "pk" else name
            tx.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", (table.name, index, figures))
    tx.exec_driver_sql("ANALYZE sqlite_schema")


def _figures(columns: list[str], rows: int, *, unique: bool) -> str:
    """The figures of an index: its rows, and how many are alike in the first column, in the first two, and so on."""
    alike = [rows]
    for column in columns:
        alike.append(min(alike[-1], _ALIKE.get(column, _FEW)))
    if unique:
        alike[-1] = 1
    return " ".join(map(str, alike))
