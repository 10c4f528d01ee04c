"""The query plans of the main statements of a store, as its database makes them.

    python bench/plans.py --store PATH|URL [--user USER_ID]

Statements are caught as mnemic sends them while some calls are made for a user, and explained on the same database
with the same values. The store is one that `scale.py` filled; the calls leave a few memories of that user behind.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event

from mnemic import Memory
from mnemic.store.schema import OWNED
from scale_data import DIMS, RandomVectors

OWNED_NAMES = {table.name for table in OWNED}
# "AS name" of an owned table, by which the plans of SQLite call it.
ALIAS = re.compile(rf'"?\b({"|".join(sorted(OWNED_NAMES))})"? AS "?(\w+)"?')
LOOKS = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Index Scan", "Tid Scan", "Sample Scan")
SQLITE_STEP = re.compile(
    r"(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?(?:INDEX \w+|PRIMARY KEY))?(?: \((.*)\))?"
)


@dataclass(frozen=True, slots=True)
class Step:
    """How a plan comes to the rows of an owned table: the columns that it looks up; none for reading all of it."""

    table: str
    sought: tuple[str, ...]
    line: str

    @property
    def reads_foreign_rows(self) -> bool:
        """Whether it comes by rows of other owners than those asked for.

        An id that users see is one row's; a run's label is looked for in the index of labels.
        """
        return not {"owner_id", "uid", "trace_id", "run_id"} & {*self.sought}


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement, its plan as lines, and the steps of it that read owned tables."""

    statement: str
    lines: tuple[str, ...]
    steps: tuple[Step, ...]


@contextmanager
def explained() -> Iterator[dict[str, Plan]]:
    """The plans of all statements on owned tables that are executed within the block, by statement."""
    plans: dict[str, Plan] = {}

    def explain(
        connection: Connection, _cursor: Any, statement: str, parameters: Any, _: object, many: bool
    ) -> None:
        touched = any(re.search(rf"\b{name}\b", statement) for name in OWNED_NAMES)
        if touched and statement not in plans and not statement.startswith("CREATE"):
            raw = connection.connection.driver_connection
            plans[statement] = explanation(raw, statement, parameters[0] if many else parameters)

    event.listen(Engine, "before_cursor_execute", explain)
    try:
        yield plans
    finally:
        event.remove(Engine, "before_cursor_execute", explain)


def explanation(raw: Any, statement: str, parameters: Any) -> Plan:
    """The plan of one statement with its values, made by the database of a connection."""
    if isinstance(raw, sqlite3.Connection):
        lines = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
        return Plan(statement, tuple(lines), tuple(_sqlite_steps(lines, statement)))
    with raw.cursor() as cursor:
        [[[told]]] = cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", parameters).fetchall()
    nodes = list(_nodes(told["Plan"], 0, ""))
    return Plan(statement, tuple(map(_postgres_line, nodes)), tuple(_postgres_steps(nodes)))


def _sqlite_steps(lines: list[str], statement: str) -> Iterator[Step]:
    names = {alias: table for table, alias in ALIAS.findall(statement)}
    for line in lines:
        found = SQLITE_STEP.match(line)
        if found and names.get(found[2], found[2]) in OWNED_NAMES:
            sought = tuple(re.findall(r"(\w+)[=<>]", found[3] or ""))
            yield Step(names.get(found[2], found[2]), sought, line)


def _nodes(node: dict[str, Any], depth: int, table: str) -> Iterator[dict[str, Any]]:
    table = node.get("Relation Name", table)
    yield {**node, "depth": depth, "table": table}
    for inner in node.get("Plans", ()):
        yield from _nodes(inner, depth + 1, table)


def _postgres_steps(nodes: list[dict[str, Any]]) -> Iterator[Step]:
    for node in nodes:
        if node["Node Type"] in LOOKS and node["table"] in OWNED_NAMES:
            # (owner_id = 1), (alias.owner_id = other.owner_id), ((owner_id = 1) AND (no = ANY (...)))
            sought = re.findall(r"\(\(*(?:\w+\.)?(\w+) [=<>]", node.get("Index Cond", ""))
            yield Step(node["table"], tuple(sought), _postgres_line(node))


def _postgres_line(node: dict[str, Any]) -> str:
    parts = [f"{'  ' * node['depth']}{node['Node Type']}"]
    parts += [f"using {node['Index Name']}"] if "Index Name" in node else []
    parts += [f"on {node['Relation Name']}"] if "Relation Name" in node else []
    parts += [f"({node[name]})" for name in ("Index Cond", "Hash Cond") if name in node]
    return " ".join(parts)


def verbs(store: str, user: str) -> Iterator[tuple[str, dict[str, Plan]]]:
    """What some calls for a user send, by call. They add three memories of the user, and delete two of them again."""
    ids = {"user_id": user}
    with (
        Memory(store, embedder=RandomVectors(DIMS)) as m,
        Memory(store, embedder=RandomVectors(DIMS)) as other,
    ):
        calls: dict[str, Callable[[], Any]] = {
            "add": lambda: m.add("I live in Rome.", **ids),
            "add what ends another": lambda: m.add("I moved to Oslo.", **ids),
            "add a given fact": lambda: m.add(facts=["Bruno 🐶 bites"], **ids),
            "search, index not loaded": lambda: m.search("Where do I live?", **ids),
            "get_all": lambda: m.get_all(**ids, top_k=2),
            "get": lambda: m.get(uids[0]),
            "history": lambda: m.history(uids[0]),
            "update": lambda: m.update(uids[0], "Bruno barks"),
            "search after another's write": lambda: m.search("Bruno", **ids),
            "delete": lambda: [m.delete(uid) for uid in uids[:2]],
        }
        uids: list[str] = []
        for name, call in calls.items():
            if name == "get":
                uids = [item["id"] for item in m.get_all(**ids, top_k=2)["results"]]
            if name == "search after another's write":
                other.add(facts=["Written elsewhere"], **ids)
            with explained() as plans:
                call()
            yield name, plans


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--store", required=True)
    options.add_argument("--user", default="plans", help="whose memories the calls are about")
    given = options.parse_args()
    seen: set[str] = set()
    foreign = 0
    for name, plans in verbs(given.store, given.user):
        print(f"\n== {name}")
        for plan in plans.values():
            if plan.statement not in seen and plan.lines:
                seen.add(plan.statement)
                foreign += any(step.reads_foreign_rows for step in plan.steps)
                print(f"\n{short(plan.statement)}")
                print("\n".join(f"    {line}" for line in plan.lines))
    print(f"\n{len(seen)} statements; {foreign} of them read rows of other owners")


def short(statement: str) -> str:
    """A statement in one line, without the columns that it returns."""
    return re.sub(r"^SELECT (DISTINCT )?.*? FROM ", r"SELECT \1... FROM ", " ".join(statement.split()))


if __name__ == "__main__":
    main()
