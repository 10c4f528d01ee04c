"""Every statement of every verb finds its rows by owner, by id or by a run's label: it never comes by others'."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from mnemic.store.migrations import MIGRATIONS
from raw_stores import raw_connection
from test_sql_owner import use_every_verb

sys.path.append(str(Path(__file__).parents[1] / "bench"))

from plans import OWNED_NAMES, Plan, explained, explanation

OWNERS, EACH = 25, 40


@pytest.fixture
def crowded(empty_store: str) -> str:
    """A store with other people's memories, so that coming by them is dearer than looking one up."""
    with Memory(empty_store, embedder=HashEmbedder(), tenant="others") as m:
        for owner in range(OWNERS):
            talk = [{"role": "user", "content": f"said {i} by {owner}"} for i in range(EACH)]
            facts = [{"text": f"fact {i} of {owner} 事实", "source": i} for i in range(EACH)]
            m.add(talk, facts=facts, user_id=f"u{owner}", run_id=f"r{owner}")
    return empty_store


@pytest.fixture
def no_scans(crowded: str) -> Iterator[None]:
    """Where PostgreSQL knows how many rows there are, and reads a whole table only where no index helps.

    A table of a few pages it would read whole although it has the index. SQLite keeps no counts, and plans the same
    for every size.
    """
    if "://" not in crowded:
        yield
        return
    with raw_connection(crowded) as raw:
        raw.execute("ANALYZE")

    def set_up(connection: object, _: object) -> None:
        connection.execute("SET enable_seqscan = off")  # type: ignore[attr-defined]

    event.listen(Engine, "connect", set_up)
    yield
    event.remove(Engine, "connect", set_up)


def told(plans: list[Plan]) -> str:
    return "\n\n".join("\n".join([plan.statement, *plan.lines]) for plan in plans)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("no_scans")
def test_no_statement_comes_by_the_rows_of_others(crowded: str) -> None:
    with (
        Memory(crowded, embedder=HashEmbedder()) as m,
        Memory(crowded, embedder=HashEmbedder()) as second,
        explained() as plans,
    ):
        use_every_verb(m, second)
    assert {step.table for plan in plans.values() for step in plan.steps} == OWNED_NAMES
    assert len([plan for plan in plans.values() if plan.steps]) > 100
    foreign = [plan for plan in plans.values() if any(step.reads_foreign_rows for step in plan.steps)]
    assert not foreign, told(foreign)


FOREIGN = [
    "SELECT text FROM version WHERE no = 3",
    "SELECT text FROM version AS v WHERE v.no = 3",
    "SELECT count(*) FROM memory",
    "DELETE FROM terms WHERE version_no = 3",
    "SELECT heir.uid FROM version JOIN memory AS heir ON heir.no = version.successor_no WHERE version.owner_id = 1",
]
OWN = [
    "SELECT text FROM version WHERE owner_id = 1 AND no = 3",
    "SELECT kind FROM memory WHERE uid = 'x'",
    "UPDATE version SET tx_to = 1 WHERE owner_id = 1 AND no = 3",
    "SELECT heir.uid FROM version JOIN memory AS heir ON heir.owner_id = version.owner_id"
    " AND heir.no = version.successor_no WHERE version.owner_id = 1",
]


@pytest.mark.usefixtures("no_scans")
def test_a_statement_that_comes_by_others_is_seen(crowded: str) -> None:
    with raw_connection(crowded) as raw:
        for statement in (*FOREIGN, *OWN):
            plan = explanation(raw._connection, statement, {})
            assert any(step.reads_foreign_rows for step in plan.steps) == (statement in FOREIGN), plan


@pytest.mark.sqlite
def test_what_concerns_a_few_memories_does_not_read_all_of_their_owner(crowded: str) -> None:
    ids = {"user_id": "u"}
    with Memory(crowded, embedder=HashEmbedder()) as m:
        added = m.add([{"role": "user", "content": f"said {i} 🐝"} for i in range(5)], **ids, infer=False)
        one, two = (item["id"] for item in added["results"][:2])
        m.search("said", **ids)
        with explained() as plans:
            m.search("said 3", **ids)
            m.get(one)
            m.history(one)
            m.history(one, chain=True)
            m.update(one, "said anew")
            m.add("I moved to Oslo.", **ids)
            m.delete(two)
            m.restore(two)
    # The last change of an owner is the first that is come by.
    wide = [
        plan
        for plan in plans.values()
        if "ORDER BY change.seq DESC" not in plan.statement
        and any(step.sought == ("owner_id",) or not step.sought for step in plan.steps)
    ]
    assert not wide, told(wide)
    assert not [line for plan in plans.values() for line in plan.lines if "LIST SUBQUERY" in line]


@pytest.mark.sqlite
def test_a_store_of_an_older_version_gets_the_sizes_too(crowded: str) -> None:
    with raw_connection(crowded) as raw:
        before = raw.execute("SELECT * FROM sqlite_stat1 ORDER BY 1, 2")
        raw.execute("DELETE FROM sqlite_stat1")
        raw.execute("UPDATE meta SET value = '2' WHERE key = 'schema_version'")
    Memory(crowded, embedder=HashEmbedder()).close()
    with raw_connection(crowded) as raw:
        assert raw.execute("SELECT * FROM sqlite_stat1 ORDER BY 1, 2") == before
        assert raw.execute("SELECT value FROM meta WHERE key = 'schema_version'") == [(str(len(MIGRATIONS)),)]
    assert {table for table, _, _ in before} == OWNED_NAMES | {"owner"}
