"""The command `mnemic`: the verbs of `Memory` for people and, with `--json`, for programs."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with these arguments, or those of the process, and exit.

    Exit codes: 0, 1 for an error, 2 for wrong usage, 130 for an interrupt.
    """
    from .app import app

    for stream in (sys.stdout, sys.stderr):
        # What an old terminal cannot show is escaped rather than a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(args=args, prog_name="mnemic")
    sys.exit(0)
