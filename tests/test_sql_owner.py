"""Every statement that touches someone's rows says whose, and no statement carries a user's value in its text."""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from conftest import MakeMemory
from mnemic import Memory, MnemicError
from mnemic.store.schema import OWNED

OWNED_NAMES = frozenset(table.name for table in OWNED)

# --- reading statements -----------------------------------------------------------------------------------
# SQLAlchemy writes SQL in one style, so a few regular expressions over the text outside of brackets are enough.

GROUP = re.compile(r"\(([^()]*)\)")
MARK = re.compile(r"<(\d+)>")
TABLE = re.compile(r"(?:\bFROM|\bJOIN|\bUPDATE|,)\s+(\w+)(?:\s+AS\s+(\w+))?")
SAME = re.compile(r"^(\w+)\.(owner_id|id) = (\w+)\.(owner_id|id)$")
GIVEN = re.compile(r"^(\w+)\.owner_id = \?$")
AMONG = re.compile(r"^(\w+)\.owner_id IN <(\d+)>$")
NOBODYS = re.compile(r"^(\w+)\.owner_id NOT IN <(\d+)>$")
INSERT = re.compile(r"^INSERT INTO (\w+) <(\d+)>\s*")


def unowned(statement: str) -> list[str]:
    """The owned tables that a statement touches without an owner predicate."""
    flat, groups = _flattened(" ".join(re.sub(r"'[^']*'", "''", _as_on_sqlite(statement)).split()))
    return _unowned_in(flat, groups, {})


def _as_on_sqlite(statement: str) -> str:
    """The statement with question marks where PostgreSQL's has named and typed parameters, and without locks."""
    bound = re.sub(r"%\(\w+\)s(::[A-Z]+( COLLATE \"C\")?)?", "?", statement)
    return re.sub(r" FOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)( OF \w+)?", "", bound)


def _flattened(text: str) -> tuple[str, list[str]]:
    """The text with every bracket replaced by the number of its content."""
    groups: list[str] = []
    while True:
        found = GROUP.search(text)
        if found is None:
            return text, groups
        groups.append(found[1].strip())
        text = f"{text[: found.start()]}<{len(groups) - 1}>{text[found.end() :]}"


def _unowned_in(text: str, groups: list[str], outside: Mapping[str, bool]) -> list[str]:
    """`outside` says of the aliases around this text whether their owner is told."""
    found: list[str] = []
    inserted = INSERT.match(text)
    if inserted:
        if inserted[1] in OWNED_NAMES and "owner_id" not in re.split(r",\s*", groups[int(inserted[2])]):
            found.append(inserted[1])
        text = text[inserted.end() :]
    aliases = _aliases(text)
    told = {**outside, **_told(text, groups, aliases, outside)}
    found += [aliases[alias] for alias in aliases if aliases[alias] in OWNED_NAMES and not told.get(alias)]
    for number in MARK.findall(text):
        found += _unowned_in(groups[int(number)], groups, told)
    return found


def _clauses(text: str) -> tuple[str, str]:
    """The part with the tables, and the WHERE clause."""
    start = re.search(r"\b(FROM|UPDATE)\b", text)
    tables, _, rest = text[start.start() :].partition(" WHERE ") if start else ("", "", "")
    end = r"\s(?:GROUP BY|ORDER BY|LIMIT)\b"
    return re.split(end, tables)[0], re.split(end, rest)[0]


def _aliases(text: str) -> dict[str, str]:
    tables, _ = _clauses(text)
    return {alias or name: name for name, alias in TABLE.findall(re.sub(r"\bSET\b.*", "", tables))}


def _conditions(text: str) -> Iterator[str]:
    """What must hold of every row: the parts of the ON clauses and of WHERE, if no OR is among them."""
    tables, where = _clauses(text)
    joins = re.split(r"\s(?:LEFT OUTER JOIN|JOIN)\s", tables)[1:]
    for clause in (*(join.partition(" ON ")[2] for join in joins), where):
        if " OR " not in clause:
            yield from clause.split(" AND ")


def _told(
    text: str, groups: list[str], aliases: Mapping[str, str], outside: Mapping[str, bool]
) -> dict[str, bool]:
    """Of each alias of this text, whether its owner is told, directly or by being that of another."""
    told = dict.fromkeys(aliases, False)
    ties: list[tuple[str, str]] = []
    for condition in map(str.strip, _conditions(text)):
        if alone := MARK.fullmatch(condition):
            condition = groups[int(alone[1])]
        if given := GIVEN.match(condition):
            told[given[1]] = True
        elif among := AMONG.match(condition):
            told[among[1]] = told.get(among[1], False) or _names_owners(groups[int(among[2])])
        elif nobodys := NOBODYS.match(condition):
            # Rows of owners who are not there are no one's.
            told[nobodys[1]] = groups[int(nobodys[2])] == "SELECT owner.id FROM owner"
        elif same := SAME.match(condition):
            ties.append((same[1], same[3]))
        elif re.match(r"^(\w+)\.tenant = \?$", condition):
            told[condition.partition(".")[0]] = True
    for _ in ties:
        for one, other in ties:
            both = [told.get(alias, outside.get(alias, False)) for alias in (one, other)]
            if any(both):
                told.update({alias: True for alias in (one, other) if alias in told})
    return told


def _names_owners(group: str) -> bool:
    if re.fullmatch(r"\?(, \?)*", group):
        return True
    return group.startswith("SELECT owner.id FROM owner WHERE ") and "owner.tenant = ?" in list(
        _conditions(group)
    )


BAD = [
    "SELECT version.text FROM version",
    "SELECT version.text FROM version WHERE version.no = ?",
    "SELECT memory.uid FROM memory WHERE memory.uid = ?",
    "SELECT version.text FROM version WHERE version.owner_id = ? OR version.no = ?",
    "SELECT version.text FROM version WHERE (version.owner_id = ? OR 1 = 1) AND version.no = ?",
    "SELECT memory.uid FROM memory JOIN version ON version.memory_no = memory.no WHERE memory.owner_id = ?",
    "SELECT memory.uid FROM memory, version WHERE memory.owner_id = ? AND version.memory_no = memory.no",
    "SELECT memory.uid FROM memory WHERE memory.owner_id != ?",
    "SELECT memory.uid FROM memory WHERE memory.owner_id IN (SELECT owner.id FROM owner)",
    "SELECT memory.uid FROM memory WHERE memory.owner_id IN (SELECT owner.id FROM owner WHERE owner.user_id = ?)",
    "SELECT memory.uid FROM memory WHERE memory.owner_id = ? AND EXISTS (SELECT 1 FROM support"
    " WHERE support.memory_no = memory.no)",
    "UPDATE memory SET live_key=? WHERE memory.no = ?",
    "UPDATE memory SET owner_id=?",
    "DELETE FROM change",
    "DELETE FROM terms WHERE (terms.owner_id NOT IN (SELECT owner.id FROM owner WHERE owner.tenant = ?))",
    "DELETE FROM terms WHERE (terms.owner_id NOT IN (?, ?))",
    "SELECT version.no FROM version WHERE (version.owner_id = ? OR version.no = ?)",
    "SELECT terms.version_no FROM terms WHERE terms.owner_id = ? AND NOT (EXISTS (SELECT version.no FROM version"
    " WHERE version.no = terms.version_no))",
    "DELETE FROM change WHERE change.seq = ?",
    "INSERT INTO terms (version_no, data) VALUES (?, ?)",
    "SELECT version.text FROM version WHERE version.no = %(no)s::BIGINT FOR UPDATE",
    "INSERT INTO terms (owner_id, version_no, data) SELECT terms.owner_id, ?, terms.data FROM terms"
    " WHERE terms.version_no = ?",
]
GOOD = [
    "SELECT version.text FROM version WHERE version.owner_id = ? AND version.no = ?",
    "SELECT version.text FROM version WHERE version.owner_id IN (?, ?) ORDER BY version.no",
    "SELECT heir.uid FROM version JOIN memory ON memory.owner_id = version.owner_id AND memory.no = version.memory_no"
    " LEFT OUTER JOIN memory AS heir ON heir.owner_id = version.owner_id WHERE version.owner_id = ? LIMIT ?",
    "SELECT memory.no FROM memory WHERE memory.uid = ? AND memory.owner_id IN (SELECT owner.id FROM owner"
    " WHERE owner.tenant = ? AND (owner.user_id = ? OR owner.agent_id = ?))",
    "SELECT m.no FROM memory AS m WHERE m.owner_id = ? AND (EXISTS (SELECT 1 FROM memory_run AS r"
    " WHERE r.owner_id = m.owner_id AND r.run_id = ?))",
    "DELETE FROM change WHERE change.owner_id IN (SELECT owner.id FROM owner WHERE owner.tenant = ?)",
    "INSERT INTO terms (owner_id, version_no, data) VALUES (?, ?, ?)",
    "SELECT space.id FROM space WHERE space.state = ?",
    "SELECT terms.owner_id, count(*) AS n FROM terms WHERE (terms.owner_id NOT IN (SELECT owner.id FROM owner))"
    " GROUP BY terms.owner_id",
    "DELETE FROM terms WHERE (terms.owner_id NOT IN (SELECT owner.id FROM owner))",
    "DELETE FROM terms WHERE terms.owner_id = ? AND NOT (EXISTS (SELECT version.no FROM version"
    " WHERE version.owner_id = terms.owner_id AND version.no = terms.version_no))",
    "SELECT memory.no FROM memory WHERE memory.owner_id = %(owner)s::INTEGER AND"
    " memory.uid = %(uid)s::VARCHAR FOR UPDATE",
    "INSERT INTO terms (owner_id, version_no, data) VALUES (%(owner_id)s::INTEGER, %(no)s::BIGINT, %(data)s::BYTEA)",
]


@pytest.mark.parametrize("statement", BAD)
def test_the_check_sees_a_statement_without_an_owner(statement: str) -> None:
    assert unowned(statement)


@pytest.mark.parametrize("statement", GOOD)
def test_the_check_lets_a_statement_with_its_owner_pass(statement: str) -> None:
    assert unowned(statement) == []


# --- the statements of every verb -------------------------------------------------------------------------


@pytest.fixture
def statements() -> Iterator[set[str]]:
    """All statements that are executed while the test runs."""
    seen: set[str] = set()

    def listen(_: Any, __: Any, statement: str, *rest: Any) -> None:
        seen.add(statement)

    event.listen(Engine, "before_cursor_execute", listen)
    yield seen
    event.remove(Engine, "before_cursor_execute", listen)


TOKEN = "zq9931xy"
NUMBER = 7_654_321
FILTERS: list[Any] = [
    None,
    {TOKEN: TOKEN},
    {TOKEN: {"gte": NUMBER}},
    {TOKEN: {"contains": TOKEN}},
    {TOKEN: [TOKEN, NUMBER, True, None]},
    {"OR": [{TOKEN: {"eq": [TOKEN, NUMBER]}}, {"NOT": [{"id": TOKEN}]}]},
    {"AND": [{"text": {"icontains": TOKEN}}, {"categories": {"contains": TOKEN}}, {"kind": "fact"}]},
    {
        "created_at": {"gte": "2024-07"},
        "expiration_date": {"lt": "2099-01-01"},
        "role": TOKEN,
        "actor_id": "*",
    },
    {"run_id": f"run-{TOKEN}"},
    {"AND": [{"user_id": [f"user-{TOKEN}"]}, {"agent_id": f"agent-{TOKEN}"}]},
]


def use_every_verb(m: Memory, second: Memory) -> None:
    who = {"user_id": f"user-{TOKEN}", "agent_id": f"agent-{TOKEN}", "app_id": f"app-{TOKEN}"}
    run = {"run_id": f"run-{TOKEN}"}
    talk = [{"role": "user", "name": TOKEN, "content": f"said {TOKEN} {i}"} for i in range(3)]
    metadata = {TOKEN: NUMBER}
    added = m.add(talk, **who, **run, infer=False, metadata=metadata, expiration_date="2099-01-01")["results"]
    m.add(talk, **who, run_id=f"other-{TOKEN}", infer=False)
    m.add(
        f"talk about {TOKEN}",
        facts=[{"text": f"fact {TOKEN}", "source": 0, "categories": [TOKEN], "metadata": metadata}],
        **who,
        timestamp="2024-07-20",
    )
    traced = m.add(f"I keep {TOKEN}.", **who, **run, trace=True, idempotency_key=f"traced-{TOKEN}")[
        "trace_id"
    ]
    uid = added[0]["id"]
    for read in (m, second, m.scoped(**who)):
        for filters in FILTERS:
            read.search(f"find {TOKEN}", **who, filters=filters, explain=True)
            read.why(f"find {TOKEN}", expect=TOKEN, **who, filters=filters)
            read.get_all(**who, filters=filters, top_k=1)
            read.trash(**who, filters=filters)
            read.diff(**who, since="2020", filters=filters)
            for about in (None, TOKEN):
                read.timeline(about, **who, filters=filters, since="2020", until="2099-01-01")
            read.delete_all(**who, filters=filters, dry_run=True)
        read.get_all(**run, as_of="2024-08-01", show_deleted=True, include_superseded=True, show_expired=True)
        cursor = read.get_all(**who, top_k=1)["next"]
        read.get_all(**who, top_k=1, cursor=cursor)
        read.timeline(**who, limit=1, cursor=read.timeline(**who, limit=1)["next"])
        read.messages(**who, limit=1, cursor=read.messages(**run, limit=1)["next"])
        read.why(TOKEN, expect=TOKEN, **run)
        read.get(uid, **run)
        read.history(uid)
        read.history(uid, chain=True, **run)
        read.stats()
        for ids in ({}, who, run):
            read.trace(traced, **ids)
        read.log(**who, memory_id=uid, since="2024", until="2099-01-01", actor=TOKEN, event=["ADD", "NONE"])
        read.log(**run, limit=1, cursor=read.log(**who, limit=1)["next"])
        for ids in ({}, who, run):
            read.export_to(io.BytesIO(), **ids, vectors=True)
    once = {"idempotency_key": f"key-{TOKEN}", "expected_version": 1}
    for _ in range(2):
        m.add(talk, **who, infer=False, idempotency_key=TOKEN)
        m.update(added[1]["id"], f"again {TOKEN}", **once)
    m.delete(added[1]["id"], idempotency_key=f"gone-{TOKEN}")
    stated = m.add(f"I live in {TOKEN}. I like jazz.", **who, **run)["results"]
    m.delete(stated[0]["id"])
    second.search(TOKEN, **who)
    m.add(f"I live in {TOKEN}. I like jazz.", **who, **run)
    m.purge(stated[1]["id"], dry_run=True)
    m.purge(stated[0]["id"], actor=TOKEN, reason=TOKEN)
    m.purge(run_id=f"other-{TOKEN}")
    m.update(uid, text=f"changed {TOKEN}", metadata={f"more {TOKEN}": TOKEN}, actor=TOKEN, reason=TOKEN)
    m.update(uid, metadata=metadata, replace_metadata=True, expiration_date=None)
    for _ in range(2):
        m.add(f"brief {TOKEN}", **who, infer=False, ttl=1e-6)
    m.delete(uid, actor=TOKEN, reason=TOKEN)
    m.diff(**run, since=0, until="2099-01-01", limit=1)
    m.restore(uid, **run)
    m.undo(m.log(memory_id=uid, **run)["results"][0]["trace_id"])
    second.search(TOKEN, **who)
    m.delete_all(**run, filters={TOKEN: {"gte": 0}}, actor=TOKEN)
    second.search(TOKEN, **run)
    exported = io.BytesIO()
    m.export_to(exported)
    for on_conflict in ("skip", "overwrite"):
        m.import_from(io.BytesIO(exported.getvalue()), on_conflict=on_conflict, actor=TOKEN)
    second.why(TOKEN, expect=f"changed {TOKEN}", **who)
    m.delete_all(filters={"OR": [{"user_id": f"user-{TOKEN}"}, {"app_id": f"app-{TOKEN}"}]})
    m.purge(agent_id=f"agent-{TOKEN}")
    m.reset()
    m.import_from(io.BytesIO(exported.getvalue()))
    m.reset()


def test_no_verb_touches_rows_without_saying_whose(make_memory: MakeMemory, statements: set[str]) -> None:
    use_every_verb(make_memory(), make_memory())
    touching = [s for s in statements if any(re.search(rf"\b{name}\b", s) for name in OWNED_NAMES)]
    assert len(touching) > 50
    assert {
        name for name in OWNED_NAMES if any(re.search(rf"\b{name}\b", s) for s in touching)
    } == OWNED_NAMES
    at_fault = {statement: found for statement in touching if (found := unowned(statement))}
    assert at_fault == {}


def test_a_check_and_a_repair_say_whose_rows_they_touch(
    make_memory: MakeMemory, store_path: Path, statements: set[str]
) -> None:
    m = make_memory()
    m.add(f"one {TOKEN}", facts=[f"two {TOKEN}"], user_id=f"user-{TOKEN}")
    m.check(full=True)
    with closing(sqlite3.connect(store_path)) as raw, raw:
        [me] = raw.execute("SELECT max(id) FROM owner").fetchone()
        for change in (
            "DELETE FROM terms WHERE owner_id = :me",
            "DELETE FROM message_terms WHERE owner_id = :me",
            "DELETE FROM vector WHERE owner_id = :me",
            "UPDATE memory SET live_key = 'x' WHERE owner_id = :me",
            "INSERT INTO claim VALUES (:me, 9999, 'is', 'x', 1, 0)",
            "INSERT INTO terms VALUES (9999, 1, x'')",
            "UPDATE owner SET seq = 1 WHERE id = :me",
            "DELETE FROM meta WHERE key = 'tokeniser'",
        ):
            raw.execute(change, {"me": me} if ":me" in change else {})
    assert m.check(repair=True)["sound"]
    assert {s for s in statements if unowned(s)} == set()
    assert any(s.startswith("DELETE FROM claim") for s in statements)
    assert [s for s in statements if TOKEN in s] == []


def test_no_statement_has_a_users_value_in_its_text(make_memory: MakeMemory, statements: set[str]) -> None:
    use_every_verb(make_memory(tenant=f"tenant-{TOKEN}"), make_memory(tenant=f"tenant-{TOKEN}"))
    for statement in statements:
        for value in (TOKEN, str(NUMBER), "2024", "2099", "tenant-", "user-", "run-"):
            assert value not in statement


def test_failing_calls_touch_nothing_unowned_either(m: Memory, statements: set[str]) -> None:
    [added] = m.add("one", user_id="u1", infer=False)["results"]
    [other] = m.add("two", user_id="u1", infer=False)["results"]
    for attempt in (
        lambda: m.update(added["id"], text="two"),
        lambda: m.delete("no-such-id"),
        lambda: m.update(other["id"], text="x", user_id="u2"),
        lambda: m.get_all(user_id="u1", filters={"a": {"gt": 1}, "b": {"near": 1}}),
    ):
        with pytest.raises(MnemicError):
            attempt()
    assert [s for s in statements if unowned(s)] == []
