"""Reading what is typed: JSON, files, standard input, times. What cannot be read is a usage error (exit 2)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import typer

# Shorter numbers are years, months or days (2023, 20230524).
EPOCH = re.compile(r"(?:-\d+|\d{9,})(\.\d+)?\Z")


def from_json(text: str | None, option: str) -> Any:
    """The value of an option that holds JSON; None for none."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise typer.BadParameter(f"This is not JSON: {fault}.", param_hint=option) from fault


def from_json_file(path: str | None, option: str) -> Any:
    """The JSON in a file, `-` for standard input; None for no path."""
    return None if path is None else from_json(text_of_file(path, option), option)


def text_of_file(path: str, option: str) -> str:
    """The text in a file, `-` for standard input."""
    if path == "-":
        return stdin_text()
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8 text"
        raise typer.BadParameter(f"{path!r} cannot be read: {reason}.", param_hint=option) from fault


def time_of(text: str | None) -> str | int | float | None:
    """A time as the API takes it: epoch seconds become numbers, all else stays text."""
    if text is None or not EPOCH.match(text):
        return text
    return float(text) if "." in text else int(text)


def given_or_stdin(text: str | None) -> str | None:
    """The text; standard input for `-`, and for no text where that is not a terminal."""
    if text == "-" or (text is None and not sys.stdin.isatty()):
        return stdin_text()
    return text


def stdin_text() -> str:
    """All of standard input, which must be UTF-8, without the line break at its end."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as fault:
        raise typer.BadParameter("It is not UTF-8 text.", param_hint="standard input") from fault
