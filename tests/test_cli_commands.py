"""Every command, in process: what it prints for people, for programs, and for those who got it wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from mnemic import Memory, __version__
from mnemic.cli import show
from mnemic.cli.app import app

Run = Callable[..., Any]
TEXTS = [
    "Ann says \"hi\"\nand 'bye' 🦊",
    "我住在杭州，养了一只猫",
    "Ключ лежит под ковриком [bold]x[/bold] :smile:",
]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "cli.db"


@pytest.fixture
def run(store: Path) -> Run:
    """Runs a command on the test's store; without an exit code it must succeed."""

    def call(*args: str, code: int = 0, stdin: str | bytes | None = None) -> Any:
        done = CliRunner().invoke(app, ["--store", str(store), *args], input=stdin)
        assert done.exit_code == code, (done.output, done.exception)
        return done

    return call


@pytest.fixture
def of(run: Run) -> Run:
    """The JSON document that a command prints."""

    def call(*args: str, **options: Any) -> Any:
        return json.loads(run(*args, "--json", **options).stdout)

    return call


def add(run: Run, text: str, user: str = "ann", *more: str) -> str:
    done = run("add", text, "-u", user, "--no-infer", "--json", *more)
    return str(json.loads(done.stdout)["results"][0]["id"])


def narrow(text: str) -> bool:
    lines = text.splitlines()
    return max(map(cell_len, lines)) <= 80 and all(line == line.rstrip() for line in lines)


def test_json_is_what_the_api_returns(run: Run, of: Run, store: Path) -> None:
    ids = [add(run, text, "ann", "--metadata", '{"цена": 1.5}') for text in TEXTS]
    run("update", ids[0], "Ann says bye", "--actor", "ann", "--reason", "她走了")
    run("delete", ids[1], "--actor", "bob")
    printed = {
        "list": of("list", "-u", "ann"),
        "get": of("get", ids[0]),
        "history": of("history", ids[0]),
        "trash": of("trash", "-u", "ann"),
        "messages": of("messages", "-u", "ann"),
        "stats": of("stats", "-u", "ann"),
        "search": of("search", "Ключ", "-u", "ann", "--explain"),
    }
    with Memory(str(store), embedder="none") as memory:
        assert printed == {
            "list": memory.get_all(user_id="ann"),
            "get": memory.get(ids[0]),
            "history": memory.history(ids[0]),
            "trash": memory.trash(user_id="ann"),
            "messages": memory.messages(user_id="ann"),
            "stats": memory.stats(user_id="ann"),
            "search": memory.search("Ключ", user_id="ann", explain=True),
        }


def test_json_keeps_other_scripts(run: Run) -> None:
    add(run, TEXTS[1])
    assert TEXTS[1] in run("list", "-u", "ann", "--json").stdout


def test_global_options_go_before_or_after(run: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    run("add", "in the other file", "-u", "ann", "--no-infer", "--store", other)
    after = run("list", "-u", "ann", "--store", other, "--json").stdout
    before = CliRunner().invoke(app, ["--json", "--store", other, "list", "-u", "ann"]).stdout
    assert json.loads(before) == json.loads(after)
    assert json.loads(after)["total"] == 1
    assert json.loads(run("list", "-u", "ann", "--json").stdout)["total"] == 0


def test_the_store_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MNEMIC_STORE", str(tmp_path / "env.db"))
    assert CliRunner().invoke(app, ["add", "x", "-u", "ann", "--no-infer"]).exit_code == 0
    assert (tmp_path / "env.db").exists()


def test_commands_without_a_store_take_none(run: Run) -> None:
    run("version", "--store", "x", code=2)
    run("eval", "locomo", "x.json", "--tenant", "t", code=2)


@pytest.mark.parametrize("name", ["", " "])
@pytest.mark.parametrize("option", ["--store", "--tenant"])
def test_an_empty_name_is_refused(run: Run, option: str, name: str) -> None:
    for args in (["list", "-u", "ann", option, name], [option, name, "list", "-u", "ann"]):
        done = CliRunner().invoke(app, args)
        assert done.exit_code == 1
        assert f"{option[2:]} must be a non-empty string" in done.stderr


def test_tenants_do_not_meet(run: Run, of: Run) -> None:
    memory_id = add(run, "of one", "ann", "--tenant", "one")
    assert of("list", "-u", "ann", "--tenant", "one")["total"] == 1
    assert of("list", "-u", "ann", "--tenant", "two")["total"] == 0
    run("get", memory_id, "--tenant", "two", code=1)


@pytest.mark.parametrize("option", ["--user-id", "--agent-id", "--app-id", "--run-id"])
def test_each_id_is_a_scope(run: Run, of: Run, option: str) -> None:
    of("add", "mine", option, "x1", "--no-infer")
    assert of("list", option, "x1")["results"][0][option[2:].replace("-", "_")] == "x1"
    assert of("list", option, "x2")["results"] == []


def test_ids_guard_the_by_id_verbs(run: Run) -> None:
    memory_id = add(run, "Ann's")
    for command in (["get"], ["update"], ["delete"], ["restore"]):
        text = ["Bob's"] if command == ["update"] else []
        run(*command, memory_id, *text, "-u", "bob", code=1)
    assert json.loads(run("history", memory_id, "-u", "bob", "--json", code=1).stdout) == []
    run("get", memory_id, "-u", "ann")


def test_facts_and_messages_come_in_several_ways(run: Run, of: Run, tmp_path: Path) -> None:
    talk = [{"role": "user", "content": TEXTS[0], "name": "ann"}, {"role": "assistant", "content": TEXTS[1]}]
    as_json = json.dumps(talk, ensure_ascii=False)
    file = tmp_path / "talk.json"
    file.write_text(as_json, encoding="utf-8-sig")
    assert [
        item["memory"] for item in of("add", "--messages", as_json, "-u", "a", "--no-infer")["results"]
    ] == (TEXTS[:2])
    assert len(of("add", "--file", str(file), "-u", "b", "--no-infer")["results"]) == 2
    assert len(of("add", "--file", "-", "-u", "c", "--no-infer", stdin=as_json)["results"]) == 2
    facts = of("add", "--fact", TEXTS[1], "--fact", TEXTS[2], "-u", "d")
    assert facts["extractor"] == "given"
    assert of("messages", "-u", "d")["total"] == 0
    both = of("add", "I said so", "--fact", "A fact.", "-u", "e")
    assert [item["memory"] for item in both["results"]] == ["A fact."]
    assert of("messages", "-u", "e")["total"] == 1


@pytest.mark.parametrize("args", [["-"], []])
def test_text_comes_from_standard_input(of: Run, args: list[str]) -> None:
    added = of("add", *args, "-u", "ann", "--no-infer", stdin=f"{TEXTS[0]}\n".encode())
    assert added["results"][0]["memory"] == TEXTS[0]


def test_add_takes_time_expiry_and_metadata(of: Run) -> None:
    of("add", "x", "-u", "ann", "--no-infer", "--timestamp", "1700000000", "--expires", "2999-12-31")
    of("add", "y", "-u", "ann", "--no-infer", "--timestamp", "2023-11", "--metadata", '{"a": {"b": [1]}}')
    said = {item["content"]: item["timestamp"] for item in of("messages", "-u", "ann")["results"]}
    assert said == {"x": "2023-11-14T22:13:20+00:00", "y": "2023-11-01T00:00:00+00:00"}
    newest, oldest = of("list", "-u", "ann")["results"]
    assert newest["metadata"] == {"a": {"b": [1]}}
    assert oldest["expiration_date"] == "2999-12-31"


def test_search_passes_its_options_on(run: Run, of: Run) -> None:
    for n in range(3):
        add(run, f"tea number {n}", "ann", "--metadata", json.dumps({"n": n}))
    assert len(of("search", "tea", "-u", "ann", "-k", "2")["results"]) == 2
    assert len(of("search", "tea", "-u", "ann", "--limit", "1")["results"]) == 1
    only = of("search", "tea", "-u", "ann", "--filter", '{"n": {"gte": 2}}')["results"]
    assert [item["metadata"]["n"] for item in only] == [2]
    assert len(of("search", "tea number 1", "-u", "ann", "--threshold", "0.95")["results"]) == 1
    assert "score_details" in of("search", "tea", "-u", "ann", "--explain")["results"][0]
    assert "reranker" in of("search", "tea", "-u", "ann", "--rerank")["notice"]
    assert of("search", "tea", "-u", "ann", "--as-of", "2001-01-01")["results"] == []
    run("search", "tea", "-u", "ann", "--threshold", "2", code=1)


def test_expired_ones_show_when_asked_for(run: Run, of: Run) -> None:
    add(run, "old news", "ann", "--expires", "2020-01-01")
    assert of("list", "-u", "ann")["results"] == of("search", "news", "-u", "ann")["results"] == []
    assert of("list", "-u", "ann", "--show-expired")["total"] == 1
    assert len(of("search", "news", "-u", "ann", "--show-expired")["results"]) == 1


def test_pages_follow_each_other_and_all_joins_them(run: Run, of: Run) -> None:
    for n in range(5):
        add(run, f"note {n}")
    for verb in ("list", "messages"):
        first = of(verb, "-u", "ann", "--limit", "2")
        assert first["truncated"] is True
        second = of(verb, "-u", "ann", "--limit", "3", "--cursor", first["next"])
        whole = of(verb, "-u", "ann", "--all")
        assert whole["results"] == first["results"] + second["results"]
        assert (whole["total"], whole["next"], whole["truncated"]) == (5, None, False)
    run("list", "-u", "ann", "--all", "--limit", "2", code=2)
    assert "--cursor" not in run("list", "-u", "ann", "--limit", "0").stdout
    shown = run("list", "-u", "ann", "--limit", "2").stdout
    assert "2 of 5 memories" in shown
    assert first["next"] not in shown
    assert of("list", "-u", "ann", "--limit", "2")["next"] in shown


def test_all_goes_over_many_pages(run: Run, of: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.cli.read.PAGE", 2)
    for n in range(5):
        run("delete", add(run, f"note {n}"))
    assert len({item["id"] for item in of("trash", "-u", "ann", "--all")["results"]}) == 5
    assert len(of("list", "-u", "ann", "--all", "--show-deleted")["results"]) == 5


def test_update_delete_restore(run: Run, of: Run) -> None:
    memory_id = add(run, "before", "ann", "--metadata", '{"a": 1}')
    assert of("update", memory_id, "after", "--actor", "me", "--reason", "newer")["event"] == "UPDATE"
    of("update", memory_id, "--metadata", '{"b": 2}')
    assert of("get", memory_id)["metadata"] == {"a": 1, "b": 2}
    of("update", memory_id, "--metadata", '{"c": 3}', "--replace-metadata", "--expires", "2999-01-01")
    assert of("get", memory_id)["metadata"] == {"c": 3}
    assert of("get", memory_id)["expiration_date"] == "2999-01-01"
    of("update", memory_id, "--expires", "never")
    assert "expiration_date" not in of("get", memory_id)
    of("update", memory_id, "-", stdin=TEXTS[1])
    assert of("get", memory_id)["memory"] == TEXTS[1]
    assert of("delete", memory_id, "--actor", "me", "--reason", "wrong")["event"] == "DELETE"
    (gone,) = of("trash", "-u", "ann")["results"]
    assert (gone["deleted_by"], gone["deleted_reason"]) == ("me", "wrong")
    assert of("restore", memory_id)["event"] == "RESTORE"
    assert [entry["event"] for entry in of("history", memory_id)][-2:] == ["DELETE", "RESTORE"]
    run("update", memory_id, code=1)


def test_delete_all_needs_a_word(run: Run, of: Run) -> None:
    for n in range(3):
        add(run, f"note {n}", "ann", "--metadata", json.dumps({"n": n}))
    add(run, "Bob's", "bob")
    refused = run("delete", "--all", "-u", "ann", code=2)
    assert "--yes" in refused.stderr
    would = of("delete", "--all", "-u", "ann", "--dry-run")
    assert len(would["would_delete"]) == 3
    assert of("list", "-u", "ann")["total"] == 3
    assert of("delete", "--all", "-u", "ann", "--filter", '{"n": 1}', "--yes")["deleted"] == 1
    assert "Deleted 2 memories." in run("delete", "--all", "-u", "ann", "-y").stdout
    assert of("list", "-u", "bob")["total"] == 1


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("\n", 1, 1), ("", 1, 1)])
def test_delete_all_asks_on_a_terminal(
    run: Run, of: Run, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    add(run, "note")
    monkeypatch.setattr("mnemic.cli.write.asking_is_possible", lambda: True)
    done = run("delete", "--all", "-u", "ann", stdin=answer, code=code)
    assert "Delete 1 memory?" in done.stderr
    monkeypatch.undo()
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    assert of("list", "-u", "ann")["total"] == left


@pytest.mark.parametrize(
    "args",
    [
        ["delete"],
        ["delete", "some-id", "--all", "-u", "ann"],
        ["delete", "some-id", "--dry-run"],
        ["delete", "some-id", "--filter", "{}"],
        ["search", "x", "-u", "ann", "--filter", "{'a': 1}"],
        ["search", "x", "-u", "ann", "--top-k", "many"],
        ["search"],
        ["add", "x", "-u", "ann", "--metadata", "{"],
        ["add", "x", "--messages", "[]", "-u", "ann"],
        ["add", "--messages", "[", "-u", "ann"],
        ["add", "--file", "/nowhere/at/all.json", "-u", "ann"],
        ["nosuchcommand"],
        ["list", "--nosuchoption"],
    ],
)
def test_wrong_usage_is_exit_code_2(run: Run, args: list[str]) -> None:
    done = run(*args, code=2)
    assert done.stdout == ""
    assert "Error" in done.stderr or "Usage" in done.stderr


def test_input_that_is_no_text_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "latin.json"
    file.write_bytes(b'["\xe9"]')
    assert "UTF-8" in run("add", "--file", str(file), "-u", "ann", code=2).stderr
    assert "UTF-8" in run("add", "-", "-u", "ann", code=2, stdin=b"\xff\xfe").stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["list"], "At least one of"),
        (["list", "-u", "a b"], "user_id"),
        (["add", "x"], "At least one of"),
        (["add", " ", "-u", "ann", "--no-infer"], "empty"),
        (["add", "x", "-u", "ann", "--no-infer", "--metadata", "[1]"], "metadata"),
        (["add", "x", "-u", "ann", "--no-infer", "--timestamp", "yesterday"], "timestamp"),
        (["search", "x", "-u", "ann", "--filter", '{"user_id": "bob"}'], "user_id"),
        (["search", "", "-u", "ann"], "query"),
        (["update", "no-such-id", "x"], "no-such-id"),
        (["delete", "no-such-id"], "no-such-id"),
        (["restore", "no-such-id"], "no-such-id"),
        (["get", "no-such-id"], "no-such-id"),
        (["delete", "--all", "--yes"], "filter"),
        (["list", "-u", "ann", "--cursor", "x"], "cursor"),
        (["list", "-u", "ann", "--limit", "-1"], "limit"),
    ],
)
def test_errors_are_one_line_and_exit_code_1(run: Run, args: list[str], told: str) -> None:
    done = run(*args, code=1)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


def test_an_error_carries_its_suggestion(run: Run) -> None:
    done = CliRunner().invoke(
        app, ["add", "a\udcffb", "-u", "ann", "--no-infer", "--store", ":memory:"], catch_exceptions=False
    )
    assert done.exit_code == 1
    assert "U+DCFF" in done.stderr
    assert "Remove NUL characters" in done.stderr


def test_a_missing_memory_is_null_for_programs(run: Run) -> None:
    done = run("get", "no-such-id", "--json", code=1)
    assert json.loads(done.stdout) is None
    assert "not found" in done.stderr


def test_an_unknown_id_has_no_history(run: Run) -> None:
    done = run("history", "no-such-id", "--chain", code=1)
    assert (done.stdout, "not found" in done.stderr) == ("", True)
    assert json.loads(run("history", "no-such-id", "--json", code=1).stdout) == []


def test_a_timeline_is_a_line_for_each_in_the_days_of_the_zone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_TIMEZONE", "Asia/Shanghai")
    said = {"2021-08": "I live in Leeds.", "2022-09-17": "I moved to York.", "2019-01-01": "我对花生过敏 🥜"}
    for day, text in said.items():
        run("add", text, "-u", "ann", "--timestamp", day)
    listed = json.loads(run("list", "-u", "ann", "--filter", '{"text": "I moved to York."}', "--json").stdout)
    lines = [
        "2019-01-01 ..             我对花生过敏 🥜",
        f"2021-08-01 .. 2022-09-17  I live in Leeds.  -> {listed['results'][0]['id']}",
        "2022-09-17 ..             I moved to York.",
    ]
    assert run("timeline", "-u", "ann").stdout.splitlines() == lines
    about = run("timeline", "live", "-u", "ann").stdout.splitlines()
    assert about[:-1] == lines[1:]
    assert "only words were compared" in about[-1]
    assert run("timeline", "-u", "ann", "--since", "2022-09", "--until", "2022").stdout.splitlines() == lines
    assert run("timeline", "-u", "ann", "--until", "2020").stdout.splitlines() == lines[:1]
    page = run("timeline", "-u", "ann", "-n", "1").stdout.splitlines()
    assert page[0] == lines[0]
    cursor = page[-1].rpartition(" ")[2]
    assert run("timeline", "-u", "ann", "--all", "--cursor", cursor).stdout.splitlines() == lines[1:]
    cut = run("timeline", "live", "-u", "ann", "-n", "1").stdout.splitlines()
    assert cut[-1] == "1 of 2 memories shown; a higher --limit shows more."
    run("timeline", "live", "-u", "ann", "--all", code=2)


def test_a_diff_tells_each_kind(run: Run, of: Run) -> None:
    home = of("add", "I live in Leeds.", "-u", "ann")["results"][0]["id"]
    bees = add(run, "Ann keeps bees 🐝", "ann", "--metadata", '{"n": 1}')
    gone, back = add(run, "我对花生过敏"), add(run, "Ключ лежит")
    run("delete", back)
    since = of("history", back)[-1]["updated_at"]
    run("add", "I moved to York.", "-u", "ann")
    run("update", bees, "Ann keeps hens 🐔", "--metadata", '{"n": 2}')
    run("delete", gone, "--actor", "ann", "--reason", "not so")
    run("restore", back)
    lines = run("diff", "-u", "ann", "--since", since).stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [
        "added",
        "restored",
        "changed",
        "ended",
        "removed",
    ]
    assert f"          {bees}  memory, metadata" in lines
    assert "          was: Ann keeps bees 🐝" in lines
    assert any(home in line for line in lines)
    assert any("by ann: not so" in line for line in lines)
    assert narrow("\n".join(lines))
    assert run("diff", "-u", "bob", "--since", since).stdout == "Nothing changed.\n"
    assert "more of some kind" in run("diff", "-u", "ann", "--since", "2020", "-n", "1").stdout
    run("diff", "-u", "ann", code=2)


def test_people_can_read_it_in_80_columns(run: Run) -> None:
    long = "The quick brown fox jumps over the lazy dog. " * 30 + "年糕胖得像个枕头" * 20
    ids = [add(run, text) for text in [*TEXTS, long]]
    run("update", ids[0], "Something shorter.", "--actor", "ann", "--reason", "too long")
    run("delete", ids[1], "--reason", "wrong " * 30)
    shown = {
        "list": run("list", "-u", "ann").stdout,
        "search": run("search", "fox под ковриком", "-u", "ann", "--explain").stdout,
        "get": run("get", ids[3]).stdout,
        "history": run("history", ids[0]).stdout,
        "trash": run("trash", "-u", "ann").stdout,
        "messages": run("messages", "-u", "ann").stdout,
        "stats": run("stats").stdout,
        "config": run("config", "show").stdout,
    }
    assert [name for name, text in shown.items() if not narrow(text)] == []
    assert not any("\x1b" in text for text in shown.values())
    assert "[bold]x[/bold] :smile:" in shown["list"]
    assert ids[2] in shown["search"]
    assert "Ann says" in shown["history"]
    assert "by ann: too long" in shown["history"]
    assert ids[1] in shown["trash"]
    assert TEXTS[1] in shown["messages"]
    assert shown["get"].split("quote")[0].count("fox") == 30
    assert shown["list"].count("fox") < 10


def test_stored_text_cannot_command_the_terminal(run: Run) -> None:
    memory_id = add(run, "red \x1b[31m alert\x07 \u202egnp.exe")
    for args in (
        ["list", "-u", "ann"],
        ["get", memory_id],
        ["messages", "-u", "ann"],
        ["history", memory_id],
    ):
        shown = run(*args).stdout
        assert not show.COMMANDS.search(shown)
        assert "alert" in shown


def test_add_tells_what_became_of_everything(run: Run) -> None:
    talk = [{"role": "system", "content": "Be nice."}, {"role": "user", "content": "I am nice."}]
    first = run("add", "--messages", json.dumps(talk), "-u", "ann", "--no-infer").stdout
    assert first.splitlines()[0] == "ADD    I am nice."
    assert "system message" in first
    again = run("add", "I am nice.", "-u", "ann", "--no-infer").stdout
    assert again.startswith("kept   I am nice.")


def test_an_empty_result_says_why(run: Run) -> None:
    assert "Nothing was ever stored" in run("search", "x", "-u", "ann").stdout
    assert "No memory" in run("list", "-u", "ann").stdout
    assert "No messages" in run("messages", "-u", "ann").stdout


def test_config_shows_values_and_sources_without_secrets(
    run: Run, of: Run, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    home.mkdir()
    (home / "config.toml").write_text('timezone = "Asia/Shanghai"\n', encoding="utf-8")
    monkeypatch.setenv("MNEMIC_EMBEDDER", "openai")
    monkeypatch.setenv("MNEMIC_EMBEDDER_MODEL", "some-model")
    monkeypatch.setenv("MNEMIC_EMBEDDER_API_KEY", "sk-very-secret")
    rows = {row["name"]: (row["value"], row["source"]) for row in of("config", "show", "--tenant", "t1")}
    assert rows["timezone"] == ("Asia/Shanghai", "file")
    assert rows["tenant"] == ("t1", "argument")
    assert rows["index_mb"] == ("512", "default")
    assert rows["embedder"][1] == "env"
    shown = run("config", "show").stdout
    assert "some-model" in shown
    assert "sk-very-secret" not in shown + str(rows)


def test_config_show_refuses_what_the_api_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_INDEX_MB", "lots")
    done = run("config", "show", code=1)
    assert "index_mb" in done.stderr


def test_version(run: Run) -> None:
    assert run("version").stdout == f"mnemic {__version__}\n"
    assert json.loads(run("version", "--json").stdout) == {"version": __version__}
    assert CliRunner().invoke(app, ["--version"]).stdout == f"mnemic {__version__}\n"


def test_help_names_every_command_and_fits(run: Run) -> None:
    text = CliRunner().invoke(app, ["--help"]).stdout
    names = "add search why list get update delete restore trash history messages stats config eval"
    names += " purge log trace replay prompt check export import doctor init demo version"
    for name in names.split():
        assert f"\n  {name} " in text
        page = CliRunner().invoke(app, [name, "-h"])
        assert page.exit_code == 0
        assert max(map(len, page.stdout.splitlines())) <= 80
    assert "..." not in text.partition("Commands:")[2]
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 memories"), (1, "1 memory"), (2, "2 memories"), (1200, "1,200 memories")]
)
def test_counting(number: int, told: str) -> None:
    assert show.count(number, "memory") == told


def test_long_texts_are_cut_in_lists() -> None:
    assert show.one_line("a\n b\t c") == "a b c"
    cut = show.one_line("x" * 5000)
    assert len(cut) == show.LONGEST
    assert cut.endswith("…")


# --- why, doctor, init ------------------------------------------------------------------------------------

TOLD = "I live in Oslo. What's new? 我的猫叫年糕。"


def moved(run: Run) -> None:
    run("add", TOLD, "-u", "ann", "--timestamp", "2024-04-01")
    run("add", "I moved to Bergen.", "-u", "ann", "--timestamp", "2024-07-01")


def test_lists_and_hits_show_when_it_was_said_and_what_replaced_it(run: Run, of: Run) -> None:
    moved(run)
    new, *_ = of("search", "moved", "-u", "ann")["results"]
    shown = run("list", "-u", "ann", "--include-superseded").stdout
    assert f"2024-07-01  user  {new['id']}" in shown
    assert "2024-04-01  user  until 2024-07-01" in shown
    assert f"replaced by {new['id']}" in shown
    assert "2024-07-01" in run("search", "moved", "-u", "ann").stdout


@pytest.mark.parametrize(
    ("expect", "marks", "told"),
    [
        ("Bergen", ["yes"] * 6, "It comes back with rank 1"),
        ("Oslo", ["yes", "yes", "yes", "NO"], "it was superseded on 2024-07-01 by: I moved to Bergen."),
        ("What's new", ["yes", "NO"], "question"),
        ("年糕", ["yes", "yes", "yes", "yes", "NO"], "shares no word"),
        ("Paris", ["NO"], "no message and no memory"),
    ],
)
def test_why_tells_each_stage_on_a_line(run: Run, expect: str, marks: list[str], told: str) -> None:
    moved(run)
    stages, _, verdict = run("why", "moved", "-e", expect, "-u", "ann").stdout.partition("=>")
    names = ["said", "kept", "believed", "eligible", "found", "returned"]
    lines = stages.splitlines()
    assert [line.split()[:2] for line in lines] == [
        [name, mark] for name, mark in zip(names, marks, strict=False)
    ]
    assert max(map(cell_len, lines)) <= 80
    assert told in " ".join(verdict.split())


def test_why_takes_the_options_of_the_search(run: Run, of: Run) -> None:
    moved(run)
    asked = ("why", "where do I live", "--expect", "Oslo", "-u", "ann")
    assert of(*asked)["missing_at"] == "eligible"
    assert of(*asked, "--as-of", "2024-05-01")["missing_at"] is None
    assert of(*asked, "--include-superseded")["rank"] == 1
    assert of(*asked, "--include-superseded", "--threshold", "0.99")["missing_at"] == "returned"
    assert of(*asked, "--include-superseded", "-k", "0")["missing_at"] == "returned"
    assert of(*asked, "--include-superseded", "--filter", '{"kind": "message"}')["missing_at"] == "eligible"
    assert of("why", "x", "-e", "Oslo", "-u", "bob")["missing_at"] == "said"


def test_why_is_the_api_for_programs(run: Run, of: Run, store: Path) -> None:
    moved(run)
    with Memory(str(store), embedder="none") as memory:
        expected = memory.why("where", expect="Bergen", user_id="ann")
    assert of("why", "where", "--expect", "Bergen", "-u", "ann") == expected
    run("why", "where", "-u", "ann", code=2)
    assert "expect" in run("why", "where", "-e", " ", "-u", "ann", code=1).stderr


def test_why_fits_whatever_is_asked(run: Run) -> None:
    run("add", "年糕胖得像个枕头" * 60 + ", \x1b[31m red", "-u", "ann", "--no-infer")
    for expect in ("red", "枕头"):
        shown = run("why", "年糕", "-e", expect, "-u", "ann").stdout
        assert narrow(shown)
        assert not show.COMMANDS.search(shown)
        assert "rank 1" in shown


def test_what_an_add_closes_is_told(run: Run) -> None:
    moved(run)
    shown = run("add", "I moved to Voss. Thanks!", "-u", "ann").stdout
    assert re.search(r"^ADD +I moved to Voss\.\n +[0-9a-f-]{36}\n +replaces [0-9a-f-]{36}$", shown, re.M)
    assert re.search(r"^not +Thanks!\n +thanks$", shown, re.M)
