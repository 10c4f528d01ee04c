"""What only a PostgreSQL server can do to a store: URLs, roles, restarts, locks, poolers, schemas side by side."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from conftest import RunPython
from mnemic import (
    ConfigError,
    Memory,
    MnemicError,
    NotFoundError,
    StoreBusyError,
    StoreError,
    StoreFormatError,
    StoreReadOnlyError,
    StoreUnavailableError,
)
from mnemic.models.fakes import HashEmbedder
from mnemic.store import undoing, writing
from mnemic.store.postgres import read_url
from raw_stores import PostgresServer, raw_connection

SECRET = "s3cr%2Ft-päss"


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a store that is not there yet."""
    with postgres.schema() as found:
        yield found


@pytest.fixture
def m(url: str) -> Iterator[Memory]:
    """A memory on a store of its own."""
    with opened(url) as memory:
        yield memory


def opened(url: str, **settings: Any) -> Memory:
    return Memory(url, **{"embedder": HashEmbedder(), **settings})


def kept(m: Memory, user: str = "u1") -> list[str]:
    return sorted(item["memory"] for item in m.get_all(user_id=user, top_k=1000)["results"])


# --- the URL ----------------------------------------------------------------------------------------------


def test_mnemics_parameters_are_taken_out_and_the_rest_is_libpqs() -> None:
    found = read_url("postgresql://ann:p%40ss@h1:5433/app?schema=mem_1&sslmode=require&statement_timeout=1.5")
    assert found.parameters == {
        "user": "ann",
        "password": "p@ss",
        "host": "h1",
        "port": "5433",
        "dbname": "app",
        "sslmode": "require",
    }
    assert (found.schema, found.statement_ms, found.prepare_threshold) == ("mem_1", 1500, 5)
    assert found.name == "postgresql://h1:5433/app?schema=mem_1"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgres://a:b@h/d", "postgresql://h/d?schema=mnemic"),
        ("postgresql://", "postgresql:///?schema=mnemic"),
        ("postgresql://a:x?y@h/d?schema=s", "postgresql://h/d?schema=s"),
        ("postgresql://h1:1,h2:2/d?prepare_threshold=none", "postgresql://h1:1,h2:2/d?schema=mnemic"),
        ("postgresql:///d?host=/run/pg&password=geheim", "postgresql:///run/pg/d?schema=mnemic"),
    ],
)
def test_the_name_of_a_store_tells_where_it_is_and_no_more(url: str, name: str) -> None:
    assert read_url(url).name == name


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://a:geheim@h/d?shema=x", r"unknown parameter 'shema' \(did you mean 'schema'\?\)"),
        ("postgresql://a:geheim%zz@h/d", "cannot be read"),
        ("postgresql://a:geheim@[::1/d", "cannot be read"),
        ("postgresql://a:geheim@h/d?schema=a%22b", "is no name for a schema"),
        ("postgresql://a:geheim@h/d?schema=pg_x", "is no name for a schema"),
        ("postgresql://a:geheim@h/d?schema=", "is no name for a schema"),
        ("postgresql://a:geheim@h/d?schema=information_schema", "is no name for a schema"),
        (f"postgresql://a:geheim@h/d?schema={'x' * 64}", "is no name for a schema"),
        ("postgresql://a:geheim@h/d?statement_timeout=30s", "must be seconds"),
        ("postgresql://a:geheim@h/d?prepare_threshold=-1", "must be a whole number or 'none'"),
        ("mysql://a:geheim@h/d", "has the scheme 'mysql'"),
        ("postgresql://a:geheim@h/d\0", "holds NUL"),
    ],
)
def test_a_url_that_cannot_be_right_is_told_without_its_password(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        Memory(url, embedder="none")
    assert "geheim" not in everything_said(caught.value)


def everything_said(fault: BaseException) -> str:
    """All that a traceback of the error would show, causes included."""
    import traceback

    details = getattr(fault, "details", {})
    return "".join(traceback.format_exception(fault)) + repr(details) + repr(fault.args)


def test_without_psycopg_the_error_is_the_command_that_installs_it(run_python: RunPython) -> None:
    script = """
import sys
sys.modules["psycopg"] = None
from mnemic import Memory, MissingDependencyError
try:
    Memory("postgresql://localhost/x", embedder="none")
except MissingDependencyError as fault:
    print(fault.suggestion)
"""
    assert run_python(script).strip() == 'Install it with: pip install "mnemic[postgres]"'


def test_a_file_store_never_imports_psycopg(run_python: RunPython) -> None:
    script = """
import sys
from mnemic import Memory
with Memory(":memory:", embedder="none") as m:
    m.add("hi", user_id="u1", infer=False)
print("psycopg" in sys.modules)
"""
    assert run_python(script).strip() == "False"


# --- getting in -------------------------------------------------------------------------------------------


@pytest.fixture
def role(postgres: PostgresServer) -> Iterator[str]:
    """A role with a password and no privileges at all, which must log in with it."""
    with postgres.role("weak", "s3cr/t-päss") as name:
        yield name


def as_role(url: str, role: str, password: str = SECRET) -> str:
    return url.replace("postgres:@", f"{role}:{password}@")


def test_a_wrong_password_is_told_and_not_shown(url: str, role: str) -> None:
    wrong = as_role(url, role, f"{SECRET}-wrong")
    with pytest.raises(StoreUnavailableError, match="password authentication failed") as caught:
        opened(wrong)
    assert caught.value.error_code == "DB_UNAVAILABLE"
    assert "s3cr" not in everything_said(caught.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda url: url.replace("/postgres?", "/nowhere?"), 'database "nowhere" does not exist'),
        (lambda url: url.replace("postgres:@", "nobody:geheim@"), 'role "nobody" does not exist'),
        (lambda url: "postgresql://a:geheim@127.0.0.1:1/x", "127.0.0.1"),
        (lambda url: "postgresql:///x?host=/no/such/directory&password=geheim", "/no/such/directory"),
    ],
)
def test_what_is_not_there_is_a_typed_error(url: str, wrong: Callable[[str], str], words: str) -> None:
    with pytest.raises(StoreUnavailableError, match=words) as caught:
        opened(wrong(url))
    assert "geheim" not in everything_said(caught.value)


def test_a_role_that_may_not_make_the_schema_is_told_how_to_get_it(
    url: str, role: str, postgres: PostgresServer
) -> None:
    schema = url.rpartition("=")[2]
    with pytest.raises(StoreReadOnlyError, match=f'CREATE SCHEMA "{schema}" AUTHORIZATION') as caught:
        opened(as_role(url, role))
    assert caught.value.details["sqlstate"] == "42501"
    with postgres.connection() as admin:
        admin.execute(f"CREATE SCHEMA {schema}")
    with pytest.raises(StoreReadOnlyError):
        opened(as_role(url, role))
    with postgres.connection() as admin:
        admin.execute(f"ALTER SCHEMA {schema} OWNER TO {role}")
    with opened(as_role(url, role)) as m:
        m.add("now it works", user_id="u1", infer=False)
        assert SECRET not in m.stats()["store"]
        assert kept(m) == ["now it works"]


def test_a_role_may_use_a_store_that_it_may_not_change(url: str, role: str, postgres: PostgresServer) -> None:
    schema = url.rpartition("=")[2]
    with opened(url) as m:
        m.add("by its owner", user_id="u1", infer=False)
    with postgres.connection() as admin:
        admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
    with opened(as_role(url, role)) as m:
        assert m.search("owner", user_id="u1")["results"]
        with pytest.raises(StoreReadOnlyError, match="permission denied"):
            m.add("by another", user_id="u1", infer=False)
        with postgres.connection() as admin:
            admin.execute(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
        m.add("by another", user_id="u1", infer=False)
        m.add("by another", user_id="u2", infer=False)
        assert kept(m) == ["by another", "by its owner"]


def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    with postgres.connection() as admin:
        admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(StoreFormatError, match="needs UTF8"):
                opened(postgres.url("mnemic").replace("/postgres?", "/latin?"))
        finally:
            admin.execute("DROP DATABASE latin")


def test_doctor_and_config_show_no_password(url: str, role: str, run_warm: RunPython) -> None:
    script = """
import sys
from typer.testing import CliRunner
from mnemic.cli.app import app
for words in (["doctor"], ["doctor", "--json"], ["config", "show"], ["stats"]):
    done = CliRunner().invoke(app, [*words, "--store", sys.argv[1]])
    print(done.output, done.stderr, repr(done.exception))
"""
    said = run_warm(script, as_role(url, role), MNEMIC_EMBEDDER="none")
    assert "lacks a privilege" in said or "Not there yet" in said
    assert "postgresql://" in said
    for secret in (SECRET, "s3cr", "päss"):
        assert secret not in said


# --- schemas side by side ---------------------------------------------------------------------------------


def test_applications_with_schemas_of_their_own_do_not_see_each_other(postgres: PostgresServer) -> None:
    with postgres.schema() as one, postgres.schema() as two, opened(one) as first, opened(two) as second:
        first.add("of the first", user_id="u1", infer=False)
        second.add("of the second", user_id="u1", infer=False)
        assert (kept(first), kept(second)) == (["of the first"], ["of the second"])
        first.reset()
        assert kept(second) == ["of the second"]


def test_tables_of_others_in_the_schema_are_left_alone(url: str, postgres: PostgresServer) -> None:
    schema = url.rpartition("=")[2]
    with postgres.connection() as admin:
        admin.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.orders (n int)")
        admin.execute(f"INSERT INTO {schema}.orders VALUES (7)")
        with opened(url) as m:
            m.add("beside them", user_id="u1", infer=False)
            assert kept(m) == ["beside them"]
            m.reset()
        assert admin.execute(f"SELECT n FROM {schema}.orders").fetchall() == [(7,)]


def test_a_table_of_others_with_a_name_of_ours_is_refused(url: str, postgres: PostgresServer) -> None:
    schema = url.rpartition("=")[2]
    with postgres.connection() as admin:
        admin.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.meta (n int)")
        with pytest.raises(StoreFormatError, match="another program"):
            opened(url)
        found = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        assert found == [("meta",)]


def test_a_store_of_a_newer_version_is_refused(url: str) -> None:
    opened(url).close()
    with raw_connection(url) as raw:
        raw.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    with pytest.raises(StoreFormatError, match="schema version 99"):
        opened(url)


def test_a_schema_that_is_dropped_beneath_a_memory_is_a_typed_error(url: str, m: Memory) -> None:
    with raw_connection(url) as raw:
        raw.execute("DROP TABLE memory CASCADE")
    with pytest.raises(StoreFormatError, match="missing"):
        m.get_all(user_id="u1")


def test_texts_are_ordered_by_code_point_whatever_the_locale(url: str, m: Memory) -> None:
    named = (
        "SELECT DISTINCT o.collname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid"
        " JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_collation AS o ON o.oid = a.attcollation"
        " WHERE n.nspname = :schema AND c.relkind = 'r'"
    )
    with raw_connection(url) as raw:
        assert raw.execute(named, {"schema": url.rpartition("=")[2]}) == [("C",)]
    for run in ("b", "A", "a", "É", "z", "Z", "😀"):
        m.add("the same", user_id="u1", run_id=run, infer=False)
    assert m.get_all(user_id="u1")["total"] == 1


FIRST = """
import sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    m.add(f"from {sys.argv[2]}", user_id="u1", infer=False)
"""


def test_processes_that_open_a_new_store_at_once_make_one(url: str, warm: Path) -> None:
    started = [
        subprocess.Popen([warm / "warm-python", "-c", FIRST, url, str(n)], stderr=subprocess.PIPE, text=True)
        for n in range(5)
    ]
    faults = [process.communicate()[1] for process in started]
    assert [process.returncode for process in started] == [0] * 5, faults
    with raw_connection(url) as raw:
        assert raw.execute("SELECT count(*) FROM space") == [(1,)]
        assert raw.execute("SELECT count(*) FROM owner") == [(1,)]
        assert raw.execute("SELECT count(*) FROM meta WHERE key = 'store_id'") == [(1,)]
    with opened(url) as m:
        assert kept(m) == [f"from {n}" for n in range(5)]


# --- locks and time limits --------------------------------------------------------------------------------


def test_who_waits_too_long_for_an_owner_is_told_and_others_go_on(url: str, m: Memory) -> None:
    for user in ("u1", "u2"):
        m.add("first", user_id=user, infer=False)
    with (
        opened(f"{url}&statement_timeout=0.3") as hasty,
        psycopg.connect(url.partition("&schema=")[0]) as other,
    ):
        other.execute(f"SELECT 1 FROM {url.rpartition('=')[2]}.owner WHERE user_id = 'u1' FOR UPDATE")
        with pytest.raises(StoreBusyError, match="statement timeout"):
            hasty.add("second", user_id="u1", infer=False)
        hasty.add("second", user_id="u2", infer=False)
        assert kept(hasty) == ["first"]
        other.rollback()
        assert kept(hasty, "u2") == ["first", "second"]
        hasty.add("third", user_id="u1", infer=False)
    assert kept(m) == ["first", "third"]


def test_what_is_purged_while_an_undo_waits_is_not_there_to_be_undone(
    url: str, m: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = m.add(facts=["a 秘密 fact"], user_id="u1")
    lock = undoing.lock_owner

    def purged_first(*args: Any) -> Any:
        with opened(url) as other:
            other.purge(added["results"][0]["id"])
        return lock(*args)

    monkeypatch.setattr(undoing, "lock_owner", purged_first)
    assert m.undo(added["trace_id"])["results"] == []
    assert kept(m) == []


def test_a_lock_is_waited_for_no_longer_than_the_limit(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.store.postgres.LOCK_SECONDS", 0.2)
    with opened(url) as m, psycopg.connect(url.partition("&schema=")[0]) as other:
        m.add("first", user_id="u1", infer=False)
        other.execute(f"SELECT 1 FROM {url.rpartition('=')[2]}.owner FOR UPDATE")
        with pytest.raises(StoreBusyError, match="lock timeout"):
            m.add("second", user_id="u1", infer=False)
        other.rollback()
        assert kept(m) == ["first"]


def test_a_client_that_stands_still_in_a_transaction_is_cut_off(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemic.store.postgres.IDLE_SECONDS", 0.2)
    with opened(url) as m:
        m.add("first", user_id="u1", infer=False)
        with monkeypatch.context() as patched:
            patched.setattr("mnemic.store.writing.add", then(lambda tx: time.sleep(1)))
            with pytest.raises(StoreUnavailableError):
                m.add("second", user_id="u1", infer=False)
        m.add("third", user_id="u1", infer=False)
        assert kept(m) == ["first", "third"]


def then(act: Callable[[Any], object]) -> Callable[..., Any]:
    """The store's `add`, with something done in the middle of its transaction and at its end."""
    add = writing.add

    def added(tx: Any, *rest: Any) -> Any:
        outcomes = add(tx, *rest)
        act(tx)
        return outcomes

    return added


@pytest.mark.parametrize("seconds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_writers_of_many_owners_never_block_each_other_for_ever(url: str, seconds: int) -> None:
    faults: list[Exception] = []
    until = time.monotonic() + seconds

    def work(n: int) -> None:
        with opened(url) as m:
            i = 0
            while time.monotonic() < until:
                i += 1
                try:
                    m.add(f"{n} {i}", user_id=f"u{(n + i) % 4}", agent_id="a", infer=False)
                    if i % 3 == 0:
                        m.delete_all(agent_id="a")
                    if i % 7 == 0:
                        m.reset()
                    [item] = m.add(f"again {n} {i}", user_id=f"u{i % 4}", infer=False)["results"]
                    m.update(item["id"], text=f"changed {n} {i}")
                except NotFoundError:
                    pass  # another thread emptied the store
                except MnemicError as fault:
                    faults.append(fault)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# --- connections that end ---------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from mnemic.store import undoing, writing

add = writing.add
def deadly(*arguments):
    add(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    m.add("kept", user_id="u1", infer=False)
    writing.add = deadly
    m.add("never", user_id="u1", infer=False)
"""


def test_a_client_killed_in_a_transaction_holds_up_nobody(url: str, m: Memory, warm: Path) -> None:
    done = subprocess.run([warm / "warm-python", "-c", KILLED, url], check=False, timeout=60)
    assert done.returncode < 0
    m.add("after", user_id="u1", infer=False)
    assert kept(m) == ["after", "kept"]


def end_connection(postgres: PostgresServer) -> Callable[[Any], object]:
    """Ends the server's side of a transaction's connection, as an administrator would."""

    def end(tx: Any) -> None:
        pid = tx.connection.driver_connection.info.backend_pid
        with postgres.connection() as admin:
            admin.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    return end


def test_a_connection_lost_within_a_write_stores_nothing(
    m: Memory, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    m.add("first", user_id="u1", infer=False)
    add, end = writing.add, end_connection(postgres)

    def cut_short(tx: Any, *rest: Any) -> Any:
        end(tx)
        return add(tx, *rest)

    with monkeypatch.context() as patched:
        patched.setattr("mnemic.store.writing.add", cut_short)
        with pytest.raises(StoreUnavailableError):
            m.add("second", user_id="u1", infer=False)
    m.add("third", user_id="u1", infer=False)
    assert kept(m) == ["first", "third"]


def test_a_connection_lost_at_the_commit_says_that_nobody_can_tell(
    m: Memory, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("mnemic.store.writing.add", then(end_connection(postgres)))
        with pytest.raises(StoreUnavailableError, match="may be stored or not"):
            m.add("second", user_id="u1", infer=False)
    assert m.add("second", user_id="u1", infer=False)["results"][0]["event"] == "ADD"


def test_a_call_after_a_restart_of_the_server_goes_through() -> None:
    with PostgresServer() as server:
        url = server.url("mnemic")
        with opened(url) as m:
            m.add("before", user_id="u1", infer=False)
            together([lambda: m.search("before", user_id="u1")] * 8)
            server.restart()
            together([lambda: m.search("before", user_id="u1")] * 8)
            server.restart()
            m.add("after", user_id="u1", infer=False)
            assert kept(m) == ["after", "before"]
            server.stop()
            with pytest.raises(StoreUnavailableError):
                m.search("before", user_id="u1")
            server.start()
            assert m.search("before", user_id="u1")["results"]


def together(calls: list[Callable[[], Any]]) -> None:
    """Do all at once; raise what one of them raised."""
    faults: list[Exception] = []

    def one(call: Callable[[], Any]) -> None:
        try:
            call()
        except MnemicError as fault:
            faults.append(fault)

    threads = [threading.Thread(target=one, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_a_memory_has_at_most_eight_connections_and_gives_them_back(
    url: str, postgres: PostgresServer
) -> None:
    marked = f"{url}&application_name=counted"
    most: list[int] = []
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted'"
    with postgres.connection() as admin:
        with opened(marked) as m:
            m.add("one", user_id="u1", infer=False)
            together([lambda: m.get_all(user_id="u1")] * 30)
            most.append(admin.execute(count).fetchone()[0])
        until = time.monotonic() + 10
        while (left := admin.execute(count).fetchone()[0]) and time.monotonic() < until:
            time.sleep(0.01)
    assert 1 <= most[0] <= 8
    assert left == 0


def test_nothing_is_kept_in_a_session_so_that_poolers_work(url: str) -> None:
    """Between any two transactions all that a session keeps is dropped, as if each had a server of its own."""

    def forget(connection: Any, _: Any) -> None:
        connection.execute("DISCARD ALL")

    with opened(f"{url}&prepare_threshold=none") as m:
        event.listen(m._engine._parts.store()._backend._engine, "checkin", forget)
        for i in range(12):
            m.add([{"role": "user", "content": f"note {i} {j}"} for j in range(3)], user_id="u1", infer=False)
            m.search(f"note {i}", user_id="u1")
        m.delete_all(user_id="u1", filters={"text": {"contains": "note 1"}})
        assert len(kept(m)) == 27


def test_errors_of_the_store_show_no_text_of_a_user(url: str, m: Memory) -> None:
    with raw_connection(url) as raw:
        raw.execute("ALTER TABLE message ADD CHECK (content <> 'my secret diary')")
    with pytest.raises(StoreError) as caught:
        m.add("my secret diary", user_id="u1", infer=False)
    own = "".join(str(part) for part in (caught.value, caught.value.details))
    assert "diary" not in own
    assert kept(m) == []
