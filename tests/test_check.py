"""`check` finds every kind of damage done to a store by raw SQL, mends what can be made anew, and names the rest."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from conftest import MakeMemory, RowCounts
from mnemic import Memory, MnemicError, ScopeError, ValidationError
from mnemic.cli import show
from mnemic.cli.app import app
from mnemic.models.fakes import HashEmbedder
from mnemic.records import FaultKind

PEANUTS = '对花生过敏 🥜\n"really"'
SOURCES = ("episode", "message", "memory", "version", "support", "claim", "memory_run", "change")
NAN = b"\x00\x00\xc0\x7f"


def lived(m: Memory) -> dict[str, str]:
    """A store with something in every state; ids by a word."""
    said = m.add("I live in Hangzhou.", user_id="ann", run_id="chat-1", timestamp="2024-01-02")["results"]
    m.add("I now live in Shanghai.", user_id="ann", timestamp="2024-05-06")
    m.add("I lived in Oslo then: I live in Oslo.", user_id="ann", timestamp="2023-01-01")
    talk = [{"role": "user", "content": PEANUTS}, {"role": "assistant", "content": 'Понятно, "орехи"'}]
    [peanuts, nuts] = m.add(talk, user_id="ann", infer=False, run_id="chat-2")["results"]
    m.add(talk[:1], user_id="ann", infer=False)
    [bees] = m.add("About bees.", facts=[{"text": "Ann keeps bees", "source": 0}], user_id="ann")["results"]
    m.update(bees["id"], "Ann keeps hens")
    m.update(peanuts["id"], metadata={"价": 1})
    m.delete(nuts["id"], reason="not hers")
    m.delete(bees["id"])
    m.restore(bees["id"])
    return {"hangzhou": said[0]["id"], "peanuts": peanuts["id"], "nuts": nuts["id"], "bees": bees["id"]}


def rows(path: Path, names: tuple[str, ...] = SOURCES) -> dict[str, set[Any]]:
    with closing(sqlite3.connect(path)) as raw:
        return {name: set(raw.execute(f'SELECT * FROM "{name}"')) for name in names}


Spoil = Callable[..., None]


@pytest.fixture
def spoil(store_path: Path) -> Spoil:
    """Does damage by raw SQL; {me} is Ann's owner, {name} the number of a memory."""

    def do(*statements: str, **uids: str) -> None:
        with closing(sqlite3.connect(store_path)) as raw, raw:
            [me] = raw.execute("SELECT id FROM owner WHERE user_id = 'ann'").fetchone()
            find = "SELECT no FROM memory WHERE uid = ?"
            numbers = {name: raw.execute(find, (uid,)).fetchone()[0] for name, uid in uids.items()}
            for statement in statements:
                raw.execute(statement.format(me=me, **numbers))

    return do


def many(path: Path, what: int | str) -> int:
    """A number, or how many rows of a table are Ann's; "believed": memories that are not deleted."""
    if isinstance(what, int):
        return what
    table, more = ("version", "AND tx_to IS NULL") if what == "believed" else (what, "")
    mine = f"owner_id = (SELECT id FROM owner WHERE user_id = 'ann') {more}"
    with closing(sqlite3.connect(path)) as raw:
        return int(raw.execute(f"SELECT count(*) FROM {table} WHERE {mine}").fetchone()[0])


def kinds(result: Any) -> dict[str, int]:
    return {fault["kind"]: fault["count"] for fault in result["faults"]}


# --- what is sound ----------------------------------------------------------------------------------------


def test_a_store_that_was_lived_in_is_sound(m: Memory, row_counts: RowCounts) -> None:
    lived(m)
    m.add("Bob keeps bees", user_id="bob", infer=False, run_id="chat-9")
    m.delete_all(run_id="chat-2", user_id="ann")
    for result in (m.check(), m.check(full=True), m.check(repair=True)):
        assert (result["sound"], result["faults"]) == (True, [])
        assert "notice" not in result
        assert result["checked"]["owners"] == 4
    names = {"owner": "owners", "change": "changes", "memory": "memories", "version": "versions"}
    counted = row_counts()
    names["message"] = "messages"
    assert m.check()["checked"] == {name: counted[table] for table, name in names.items()}
    assert "REPAIR" not in {entry["event"] for entry in m.log(limit=100)["results"]}
    m.delete_all(user_id="ann")
    assert m.check(full=True)["sound"]
    m.reset()
    assert m.check(full=True)["sound"]
    m.add(PEANUTS, user_id="ann")
    assert m.check(full=True)["sound"]


def test_one_without_an_embedder_is_sound_too(tmp_path: Path) -> None:
    with Memory(str(tmp_path / "own.db"), embedder="none") as m:
        assert (m.check()["sound"], m.check()["checked"]) == (True, {})
        lived(m)
        assert m.check(full=True)["sound"]


def test_writers_go_on_and_are_never_taken_for_faults(m: Memory, make_memory: MakeMemory) -> None:
    lived(m)
    found: list[Any] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            found.append(m.check())

    other, thread = make_memory(), threading.Thread(target=look)
    thread.start()
    for number in range(25):
        other.add(f"I live at number {number} 🏠", user_id="ann")
        [item] = other.add(f"заметка {number}", user_id=f"user-{number % 7}", infer=False)["results"]
        other.update(item["id"], f"note {number}")
        if number % 2:
            other.delete(item["id"])
    done.set()
    thread.join()
    assert found
    assert all(result["sound"] for result in found), [result["faults"] for result in found]


# --- what can be made anew --------------------------------------------------------------------------------

MENDED: dict[str, tuple[str | tuple[str, ...], dict[str, int | str]]] = {
    "no terms": ("DELETE FROM terms WHERE owner_id = {me}", {"missing_terms": "version"}),
    "half a term": ("UPDATE terms SET data = x'0102' WHERE owner_id = {me}", {"wrong_terms": "version"}),
    "terms out of order": (
        "UPDATE terms SET data = x'020000000000000001000000000000000101' WHERE owner_id = {me}"
        " AND version_no = (SELECT max(version_no) FROM terms WHERE owner_id = {me})",
        {"wrong_terms": 1},
    ),
    "a term that occurs not once": (
        "UPDATE terms SET data = x'010000000000000000' WHERE owner_id = {me}"
        " AND version_no = (SELECT max(version_no) FROM terms WHERE owner_id = {me})",
        {"wrong_terms": 1},
    ),
    "no vectors": ("DELETE FROM vector WHERE owner_id = {me}", {"missing_vector": "version"}),
    "short vectors": (
        "UPDATE vector SET data = x'00000000' WHERE owner_id = {me}",
        {"wrong_vector": "version"},
    ),
    "vectors that are no numbers": (
        f"UPDATE vector SET data = CAST(x'{NAN.hex() * 64}' AS BLOB) WHERE owner_id = {{me}}",
        {"wrong_vector": "version"},
    ),
    "no terms of messages": (
        "DELETE FROM message_terms WHERE owner_id = {me}",
        {"missing_terms": "message_terms"},
    ),
    "broken terms of messages": (
        "UPDATE message_terms SET data = x'01' WHERE owner_id = {me}",
        {"wrong_terms": "message_terms"},
    ),
    "stray terms": ("INSERT INTO terms VALUES ({me}, 9999, x'')", {"stray_index_row": 1}),
    "stray terms of a message": (
        "INSERT INTO message_terms VALUES ({me}, 9999, x'')",
        {"stray_index_row": 1},
    ),
    "a stray vector": ("INSERT INTO vector VALUES ({me}, 9999, 1, x'')", {"stray_index_row": 1}),
    "a vector of no space": (
        "INSERT INTO vector SELECT owner_id, version_no, 77, data FROM vector WHERE owner_id = {me}",
        {"stray_index_row": "version"},
    ),
    "a stray claim": ("INSERT INTO claim VALUES ({me}, 9999, 'is', 'x', 1, 0)", {"stray_index_row": 1}),
    "rows of no owner": (
        ("INSERT INTO terms VALUES (999, 1, x'')", "INSERT INTO vector VALUES (999, 1, 1, x'')"),
        {"stray_index_row": 2},
    ),
    "a wrong key": (
        "UPDATE memory SET live_key = 'x' WHERE owner_id = {me} AND no = {peanuts}",
        {"wrong_key": 1},
    ),
    "no key": ("UPDATE memory SET live_key = NULL WHERE owner_id = {me}", {"wrong_key": "believed"}),
    "a key of a deleted one": (
        "UPDATE memory SET live_key = 'x' WHERE owner_id = {me} AND no = {nuts}",
        {"wrong_key": 1},
    ),
    "a superseded one with a key of its own": (
        "UPDATE memory SET live_key = substr(live_key, 1, 32) WHERE owner_id = {me} AND no = {hangzhou}",
        {"wrong_key": 1},
    ),
    "keys exchanged": (
        (
            "CREATE TEMP TABLE was AS SELECT no, live_key FROM memory WHERE owner_id = {me}",
            "UPDATE memory SET live_key = no WHERE owner_id = {me} AND no IN ({peanuts}, {bees})",
            "UPDATE memory SET live_key = (SELECT live_key FROM was WHERE was.no = {bees})"
            " WHERE owner_id = {me} AND no = {peanuts}",
            "UPDATE memory SET live_key = (SELECT live_key FROM was WHERE was.no = {peanuts})"
            " WHERE owner_id = {me} AND no = {bees}",
        ),
        {"wrong_key": 2},
    ),
    "a counter that lags": ("UPDATE owner SET seq = 3 WHERE id = {me}", {"low_counter": 1}),
    "another tokeniser": ("UPDATE meta SET value = '0/x' WHERE key = 'tokeniser'", {"other_tokeniser": 1}),
    "an unknown tokeniser": ("DELETE FROM meta WHERE key = 'tokeniser'", {"other_tokeniser": 1}),
    "terms of another tokeniser": (
        (
            "UPDATE meta SET value = '0/x' WHERE key = 'tokeniser'",
            "UPDATE terms SET data = x'010000000000000001' WHERE owner_id = {me}",
        ),
        {"other_tokeniser": 1, "wrong_terms": "version"},
    ),
}


@pytest.mark.parametrize("damage", MENDED)
def test_what_can_be_made_anew_is_found_and_mended(
    m: Memory, make_memory: MakeMemory, spoil: Spoil, store_path: Path, damage: str
) -> None:
    ids = lived(m)
    asked = [("Shanghai", 3), ("hens", 3), ("花生", 3)]
    answers = [m.search(query, user_id="ann", top_k=top)["results"] for query, top in asked]
    statements, told = MENDED[damage]
    expected = {kind: many(store_path, what) for kind, what in told.items()}
    spoil(*([statements] if isinstance(statements, str) else statements), **ids)
    before = rows(store_path)

    found = m.check()
    assert (kinds(found), found["sound"]) == (expected, False)
    assert all(fault["mendable"] and not fault["mended"] for fault in found["faults"])
    assert all(0 < len(fault["places"]) <= min(5, fault["count"]) for fault in found["faults"])
    assert found["notice"] == "A repair makes anew what can be."
    assert rows(store_path) == before, "a check changed something"

    mended = m.check(repair=True)
    assert (kinds(mended), mended["sound"]) == (expected, True)
    assert all(fault["mended"] == fault["count"] for fault in mended["faults"])
    assert (m.check(full=True)["faults"], m.check()["sound"]) == ([], True)
    for name, lines in rows(store_path).items():
        kept = {line for line in lines if "REPAIR" not in line}
        if name == "memory":
            kept, before[name] = ({(*line[:4], *line[5:]) for line in each} for each in (kept, before[name]))
        elif name == "claim":
            before[name] = {line for line in before[name] if 9999 not in line}
        assert kept == before[name], f"a repair touched {name}"
    assert [m.search(query, user_id="ann", top_k=top)["results"] for query, top in asked] == answers
    again = m.add("I am back. I love tea 🍵", user_id="ann", infer=False)["results"]
    assert [item["event"] for item in again] == ["ADD"]
    assert m.add(PEANUTS, user_id="ann", infer=False)["results"][0]["id"] == ids["peanuts"]
    assert m.check(full=True)["sound"]


def test_terms_of_another_text_are_found_by_a_full_check_only(
    m: Memory, spoil: Spoil, make_memory: MakeMemory, store_path: Path
) -> None:
    ids = lived(m)
    other = make_memory()

    def score() -> float:
        [hit] = other.search("keeps hens", user_id="ann", top_k=1)["results"]
        assert hit["id"] == ids["bees"]
        return float(hit["score"])

    whole = score()
    other.close()
    other = make_memory()
    spoil("UPDATE terms SET data = x'010000000000000001' WHERE owner_id = {me}")
    assert score() < whole
    assert m.check()["sound"]
    assert kinds(m.check(full=True)) == {"wrong_terms": many(store_path, "version")}
    assert m.check(full=True, repair=True)["sound"]
    # The other has loaded the damaged terms, and notices that there are new ones.
    assert score() == whole


def test_a_repair_shows_in_the_log(m: Memory, spoil: Spoil) -> None:
    lived(m)
    spoil("DELETE FROM terms WHERE owner_id = {me}")
    m.check(repair=True)
    [repair] = m.log(event="REPAIR")["results"]
    assert (repair["user_id"], repair["memory_id"]) == ("ann", None)
    assert m.log(limit=1)["results"] == [repair]


def test_vectors_need_the_embedder(m: Memory, spoil: Spoil, make_memory: MakeMemory) -> None:
    lived(m)
    spoil("DELETE FROM vector WHERE owner_id = {me}", "DELETE FROM message_terms WHERE owner_id = {me}")
    without = make_memory(embedder="none").check(repair=True)
    assert (set(kinds(without)), without["sound"]) == ({"missing_terms", "missing_vector"}, False)
    assert [fault["mended"] == fault["count"] for fault in without["faults"]] == [True, False]
    assert "embedder" in without["notice"]
    assert m.check(repair=True)["sound"]


def test_progress_is_told(m: Memory, spoil: Spoil, store_path: Path) -> None:
    lived(m)
    spoil("DELETE FROM vector WHERE owner_id = {me}")
    told: list[tuple[str, int, int]] = []
    m.check(repair=True, progress=lambda *step: told.append(step))
    assert ("owners checked", 3, 3) in told
    texts = many(store_path, "version")
    assert ("texts embedded", texts, texts) in told
    assert all(0 <= done <= total for _, done, total in told)


# --- what cannot ------------------------------------------------------------------------------------------

LAST = "(SELECT max(seq) FROM change WHERE owner_id = {me} AND opened_no IS NOT NULL)"
NAMED: dict[str, tuple[str | tuple[str, ...], set[str], str]] = {
    "a lost memory": (
        "DELETE FROM memory WHERE owner_id = {me} AND no = {peanuts}",
        {"orphan_row", "broken_changes"},
        "memory",
    ),
    "lost versions": (
        "DELETE FROM version WHERE memory_no = {peanuts} AND owner_id = {me}",
        {"memory_without_version", "broken_changes"},
        "a version that is not there",
    ),
    "a lost first version": (
        "DELETE FROM version WHERE memory_no = {peanuts} AND owner_id = {me} AND number = 1",
        {"broken_versions", "broken_changes"},
        "a number before it is missing",
    ),
    "a lost message": (
        "DELETE FROM message WHERE owner_id = {me} AND no = (SELECT max(message_no) FROM support"
        " WHERE owner_id = {me})",
        {"orphan_row"},
        "no such message",
    ),
    "a lost episode": (
        "DELETE FROM episode WHERE owner_id = {me} AND no = (SELECT min(no) FROM episode WHERE owner_id = {me})",
        {"orphan_row"},
        "no such episode",
    ),
    "a label of nothing": (
        "INSERT INTO memory_run VALUES ({me}, 9999, 'r')",
        {"orphan_row"},
        "no such memory",
    ),
    "a successor of nothing": (
        "UPDATE version SET successor_no = 9999 WHERE owner_id = {me} AND memory_no = {hangzhou} AND tx_to IS NULL",
        {"orphan_row"},
        "no such memory",
    ),
    "rows of no owner": (
        "INSERT INTO support VALUES (999, 1, 1, 0, 1)",
        {"orphan_row"},
        "support of owner_id 999: no such owner",
    ),
    "a gap of numbers": (
        "UPDATE version SET number = 5 WHERE memory_no = {peanuts} AND owner_id = {me} AND number = 2",
        {"broken_versions"},
        "version 5: a number before it is missing",
    ),
    "two open versions": (
        (
            "DROP INDEX version_open",
            "UPDATE version SET tx_to = NULL WHERE owner_id = {me} AND memory_no = {bees} AND number = 1",
        ),
        {"broken_versions"},
        "opened while the one before was open",
    ),
    "a version that ends before it begins": (
        "UPDATE version SET tx_to = tx_from - 1 WHERE owner_id = {me} AND memory_no = {nuts}",
        {"broken_versions"},
        "closed before it was opened",
    ),
    "versions that overlap": (
        "UPDATE version SET tx_to = tx_to + 1 WHERE owner_id = {me} AND memory_no = {peanuts} AND number = 1",
        {"broken_versions"},
        "opened before the one before was closed",
    ),
    "a lost change": (
        f"DELETE FROM change WHERE owner_id = {{me}} AND seq = {LAST}",
        {"broken_versions"},
        "opened by no change",
    ),
    "a change of nothing": (
        f"UPDATE change SET opened_no = 9999 WHERE owner_id = {{me}} AND seq = {LAST}",
        {"broken_versions", "broken_changes"},
        "it opens a version that is not there",
    ),
    "a closing of nothing": (
        f"UPDATE change SET closed_no = 9999 WHERE owner_id = {{me}} AND seq = {LAST}",
        {"broken_changes"},
        "it closes a version that is not there",
    ),
    "a closing of what is open": (
        f"UPDATE change SET closed_no = opened_no WHERE owner_id = {{me}} AND seq = {LAST}",
        {"broken_versions"},
        "closed by a change, and open",
    ),
    "a version closed by no change": (
        "UPDATE change SET closed_no = NULL WHERE owner_id = {me} AND memory_no = {nuts}",
        {"broken_versions"},
        "closed by no change",
    ),
    "a version opened twice": (
        (
            "UPDATE owner SET seq = seq + 1 WHERE id = {me}",
            "INSERT INTO change SELECT owner_id, (SELECT seq FROM owner WHERE id = {me}), (SELECT max(at) FROM change),"
            f" event, memory_no, opened_no, NULL, NULL, NULL, 't' FROM change WHERE owner_id = {{me}} AND seq = {LAST}",
        ),
        {"broken_changes"},
        "it opens a version once more",
    ),
    "a change of no memory": (
        "UPDATE change SET memory_no = 9999 WHERE owner_id = {me} AND event = 'NONE'",
        {"broken_changes"},
        "it names a memory that is not there",
    ),
    "a change that goes back in time": (
        "UPDATE change SET at = 5 WHERE owner_id = {me} AND memory_no = {nuts} AND closed_no IS NOT NULL",
        {"broken_changes"},
        "it is older than the one before",
    ),
    "two of the same words": (
        "UPDATE version SET text = 'ANN keeps  hens' WHERE owner_id = {me} AND memory_no = {second}",
        {"same_memory_twice"},
        "",
    ),
}


@pytest.mark.parametrize("damage", NAMED)
def test_what_cannot_be_made_anew_is_named(m: Memory, spoil: Spoil, store_path: Path, damage: str) -> None:
    ids = lived(m)
    [ids["second"]] = [item["id"] for item in m.add(facts=["Ann keeps dogs"], user_id="ann")["results"]]
    statements, expected, words = NAMED[damage]
    spoil(*([statements] if isinstance(statements, str) else statements), **ids)
    before = rows(store_path)
    found = m.check()
    named = {fault["kind"]: fault for fault in found["faults"] if not fault["mendable"]}
    assert set(named) == expected
    assert any(words in place for fault in named.values() for place in fault["places"])
    told = str(found)
    assert not any(text in told for text in ("Hangzhou", "花生", "hens", "bees", "орехи", "chat-1"))
    mended = m.check(repair=True, full=True)
    assert not mended["sound"]
    assert "export" in mended["notice"]
    assert {fault["kind"] for fault in mended["faults"] if fault["mended"] < fault["count"]} == expected
    for name in ("message", "version", "support"):
        assert rows(store_path)[name] == before[name]
    # What is left is the same whoever looks again.
    assert set(kinds(m.check())) == expected


def test_a_damaged_file_is_told_and_left_alone(m: Memory, store_path: Path) -> None:
    m.add(
        [{"role": "user", "content": f"заметка {i} " + "x" * 500} for i in range(200)],
        user_id="ann",
        infer=False,
    )
    m.close()
    with closing(sqlite3.connect(store_path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        page = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'message'").fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    whole = store_path.read_bytes()
    spoiled = bytearray(whole)
    spoiled[(page - 1) * size + 12 : (page - 1) * size + 40] = b"\xff" * 28
    store_path.write_bytes(spoiled)
    with Memory(str(store_path), embedder=HashEmbedder()) as again:
        found = again.check(repair=True)
    assert set(kinds(found)) == {"damaged_file"}
    assert (found["sound"], found["faults"][0]["mendable"]) == (False, False)
    assert ".recover" in found["notice"]
    assert store_path.read_bytes()[size:] == bytes(spoiled)[size:]
    store_path.write_bytes(whole)


# --- the command ------------------------------------------------------------------------------------------


def command(store: Path, *args: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["check", "--store", str(store), *args], env={"MNEMIC_EMBEDDER": "none"})
    assert done.exit_code == code, done.output
    return done.output


def test_the_command_finds_and_mends(m: Memory, spoil: Spoil, store_path: Path) -> None:
    lived(m)
    assert "No fault." in command(store_path)
    spoil("DELETE FROM terms WHERE owner_id = {me}", "UPDATE owner SET seq = 3 WHERE id = {me}")
    texts = many(store_path, "version")
    found = command(store_path, "--full", code=1)
    assert f"missing_terms          {texts} texts that cannot be found by their words" in found
    assert f"and {texts - 5} more" in found
    assert "Faults are left." in found
    asked = json.loads(command(store_path, "--json", code=1))
    assert kinds(asked) == {"missing_terms": texts, "low_counter": 1}
    mended = command(store_path, "--repair")
    assert "1 owners whose next numbers are taken already: mended" in mended
    assert "All is mended." in mended
    assert "No fault." in command(store_path, "--full")


def test_the_command_makes_no_store(tmp_path: Path) -> None:
    path = tmp_path / "new" / "notes.db"
    assert "There is no store at" in command(path, code=1)
    assert not path.parent.exists()


def test_every_kind_of_fault_has_words() -> None:
    assert set(show.FAULTS) == {kind.value for kind in FaultKind}


def test_the_doctor_tells_of_another_tokeniser(m: Memory, spoil: Spoil, store_path: Path) -> None:
    lived(m)
    asked = ["doctor", "--store", str(store_path)]
    environ = {"MNEMIC_EMBEDDER": "none"}
    assert CliRunner().invoke(app, asked, env=environ).exit_code == 0
    spoil("UPDATE meta SET value = '0/x' WHERE key = 'tokeniser'")
    done = CliRunner().invoke(app, asked, env=environ)
    assert done.exit_code == 1
    assert "Another tokeniser made its terms (0/x" in " ".join(done.stdout.split())
    assert "=> mnemic check --repair" in done.stdout
    command(store_path, "--repair")
    assert CliRunner().invoke(app, asked, env=environ).exit_code == 0


# --- arguments and scopes ---------------------------------------------------------------------------------


def test_it_looks_at_all_tenants_and_so_not_from_within_a_scope(
    m: Memory, make_memory: MakeMemory, spoil: Spoil
) -> None:
    lived(m)
    spoil("DELETE FROM terms WHERE owner_id = {me}")
    assert set(kinds(make_memory(tenant="third").check())) == {"missing_terms"}
    with pytest.raises(ScopeError, match="whole store"):
        m.scoped(user_id="ann").check()
    with pytest.raises(ValidationError, match="repair must be"):
        m.check(repair="yes")  # type: ignore[arg-type]


# --- whatever is done -------------------------------------------------------------------------------------

TEXTS = st.sampled_from(
    [
        "I live in Oslo.",
        "I moved to Bergen.",
        "I no longer live in Oslo.",
        "ann keeps BEES",
        "Ann keeps bees",
        "住在上海",
    ]
)
WHEN = st.sampled_from([None, "2023-01-01", "2024-06-01", "2025"])
RUN = st.sampled_from([None, "r1", "r2"])
WHICH = st.integers(0, 30)
STEP = st.one_of(
    st.tuples(st.just("add"), TEXTS, WHEN, RUN, st.booleans()),
    st.tuples(st.just("facts"), st.lists(TEXTS, min_size=1, max_size=3), WHEN, RUN),
    st.tuples(st.just("update"), WHICH, TEXTS),
    st.tuples(st.just("label"), WHICH),
    st.tuples(st.just("delete"), WHICH),
    st.tuples(st.just("restore"), WHICH),
    st.tuples(st.just("delete_all"), RUN),
    st.tuples(st.just("reset")),
)


def step_on(m: Memory, step: tuple[Any, ...], ids: list[str]) -> None:
    match step:
        case ("add", text, when, run, infer):
            ids += [
                r["id"] for r in m.add(text, user_id="u", timestamp=when, run_id=run, infer=infer)["results"]
            ]
        case ("facts", texts, when, run):
            ids += [r["id"] for r in m.add(facts=texts, user_id="u", timestamp=when, run_id=run)["results"]]
        case ("update", which, text) if ids:
            m.update(ids[which % len(ids)], text)
        case ("label", which) if ids:
            m.update(ids[which % len(ids)], metadata={"n": which})
        case ("delete", which) if ids:
            m.delete(ids[which % len(ids)])
        case ("restore", which) if ids:
            m.restore(ids[which % len(ids)])
        case ("delete_all", run):
            m.delete_all(user_id="u", run_id=run)
        case ("reset",):
            m.reset()


@pytest.fixture(scope="module")
def emptied() -> Iterator[Memory]:
    with Memory(":memory:", embedder=HashEmbedder()) as m:
        yield m


@given(steps=st.lists(STEP, max_size=25))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_done_leaves_a_sound_store(emptied: Memory, steps: list[tuple[Any, ...]]) -> None:
    emptied.reset()
    ids: list[str] = []
    for step in steps:
        with suppress(MnemicError):
            step_on(emptied, step, ids)
    assert emptied.check(full=True)["faults"] == []
