"""`mnemic export` and `mnemic import`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.cli.app import app


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in the test's directory; without an exit code it must succeed."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str, code: int = 0, stdin: bytes | None = None) -> Any:
        done = CliRunner().invoke(app, list(args), input=stdin)
        assert done.exit_code == code, (done.output, done.exception)
        return done

    return call


@pytest.fixture
def filled(run: Any) -> None:
    for text, user in (("猫の名前はタマ 🐈", "ann"), ('"Ключ" под\nковриком', "ann"), ("bees", "bob")):
        run("add", text, "-u", user, "--no-infer", "--store", "a.db")


def test_a_file_there_and_back(run: Any, filled: None) -> None:
    assert run("export", "x.jsonl", "--store", "a.db").stdout == (
        "Exported 3 memories and 3 messages of 2 owners. Written to x.jsonl.\n"
    )
    dry = run("import", "x.jsonl", "--store", "b.db", "--dry-run")
    assert dry.stdout == "Would import 3 memories and 3 messages.\n"
    assert run("import", "x.jsonl", "--store", "b.db").stdout == "Imported 3 memories and 3 messages.\n"
    listed = [
        json.loads(run("list", "-u", "ann", "--store", store, "--json").stdout) for store in ("a.db", "b.db")
    ]
    assert listed[0] == listed[1]
    again = run("import", "x.jsonl", "--store", "b.db", code=1)
    assert again.stderr.startswith("Error: 3 memories of the file are in this store already: ")
    assert len(again.stderr.splitlines()) == 1
    skipped = run("import", "x.jsonl", "--store", "b.db", "--on-conflict", "skip", "--json")
    assert json.loads(skipped.stdout) == {
        "added": 0,
        "overwritten": 0,
        "skipped": 3,
        "episodes": 0,
        "messages": 0,
        "embedded": 0,
        "duplicates": [],
        "dry_run": False,
    }
    over = run("import", "x.jsonl", "--store", "b.db", "--on-conflict", "overwrite", "--actor", "ann")
    assert over.stdout == "Imported 0 memories and 0 messages, overwritten 3.\n"


def test_standard_output_and_input(run: Any, filled: None) -> None:
    out = run("export", "-u", "ann", "--store", "a.db", "--json")
    assert [json.loads(line)["line"] for line in out.stdout.splitlines()][0::100] == ["header"]
    assert out.stderr == "Exported 2 memories and 2 messages of 1 owner.\n"
    run("import", "-", "--store", "b.db", stdin=out.stdout.encode())
    run("export", "x.jsonl.gz", "--store", "b.db", "--json")
    run("import", "-", "--store", "c.db", stdin=Path("x.jsonl.gz").read_bytes())
    assert (
        gzip.decompress(Path("x.jsonl.gz").read_bytes()).splitlines()[1:]
        == out.stdout.encode().splitlines()[1:]
    )


def test_twins_are_listed(run: Any, filled: None) -> None:
    run("export", "x.jsonl", "-u", "ann", "--store", "a.db")
    run("add", "猫の名前はタマ 🐈", "-u", "ann", "--no-infer", "--store", "b.db")
    done = run("import", "x.jsonl", "--store", "b.db", "--on-conflict", "skip")
    first, second = done.stdout.splitlines()
    assert first == "Imported 1 memory and 2 messages, skipped 1."
    assert " is kept already as " in second


def test_wrong_files_and_words(run: Any, filled: None) -> None:
    Path("bad.jsonl").write_text("hello\n", encoding="utf-8")
    assert "line 1: It is not JSON" in run("import", "bad.jsonl", "--store", "b.db", code=1).stderr
    assert "cannot be read" in run("import", "none.jsonl", "--store", "b.db", code=1).stderr
    assert "no export that could be replaced" in run("export", "a.db", "--store", "a.db", code=1).stderr
    assert "--on-conflict" in run("import", "x", "--on-conflict", "merge", "--store", "b.db", code=2).stderr
