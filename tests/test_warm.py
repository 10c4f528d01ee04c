"""Processes that start warm are processes like others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

TELL = """
import json, os, sys
print(json.dumps([sys.argv[1:], sys.stdin.read(), os.environ["GIVEN"], os.getcwd(), __name__]))
print("é\\udce9", file=sys.stderr)
"""


@pytest.fixture
def python(warm: Path) -> Path:
    return warm / "warm-python"


def test_it_has_what_its_caller_gives(python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [python, "-c", TELL, "two words", "$HOME\n🥜"],
        input="said\n",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"GIVEN": "x", "PATH": os.environ["PATH"]},
        check=True,
    )
    assert json.loads(done.stdout) == [["two words", "$HOME\n🥜"], "said\n", "x", str(tmp_path), "__main__"]
    assert done.stderr == "é\\udce9\n"


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('said')", 1),
        ("raise ValueError('said')", 1),
        ("import os; os._exit(3)", 3),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        (
            "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
            0,
        ),
    ],
)
def test_the_caller_ends_as_it_does(python: Path, code: str, end: int) -> None:
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == end
    assert ("said" in code) == ("said" in done.stderr)
    assert ("late" in code) == ("late" in done.stdout)


def test_nothing_of_one_is_in_the_next(python: Path) -> None:
    change = "import sys, os, mnemic; mnemic.left = sys.left = os.environ['LEFT'] = 'here'"
    subprocess.run([python, "-c", change], check=True)
    look = (
        "import sys, os, mnemic; print(hasattr(mnemic, 'left'), hasattr(sys, 'left'), 'LEFT' in os.environ)"
    )
    done = subprocess.run([python, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


def test_it_ends_with_its_caller(python: Path) -> None:
    code = "import time; print('ready', flush=True); time.sleep(100)"
    with subprocess.Popen([python, "-c", code], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == "ready\n"
        caller.kill()
        # Its end of the pipe is shut when it is gone.
        assert caller.stdout.read() == ""
