"""Commands that start warm: `warm-python` and `mnemic`, for the tests that start processes.

Starting Python and importing mnemic takes most of a second of CPU, and the tests start hundreds of processes. These
are forked from one that has imported mnemic already (`warm_process.py`), and are in all else processes of their own.
Where the start itself is tested (what is imported, what Python takes from the environment, how much memory there is),
start a fresh one.
"""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROCESS = Path(__file__).with_name("warm_process.py")
MNEMIC = "from mnemic.cli import main; main()"


@contextmanager
def warm_commands(folder: Path) -> Iterator[Path]:
    """The folder with the commands in it, which work as long as the block runs."""
    address = folder / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(64)
        serve = [PROCESS, "--serve", str(listener.fileno())]
        serving = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", *serve],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
    # Neither `site` nor the environment: the caller only passes on what it is given.
    calling = shlex.join([sys.executable, "-IS", str(PROCESS), str(address)])
    for name, words in (("warm-python", ""), ("mnemic", f"-c {shlex.quote(MNEMIC)} ")):
        (folder / name).write_text(f'#!/bin/sh\nexec {calling} {words}"$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    yield folder
    serving.communicate()
