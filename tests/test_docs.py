"""Every code block of README and docs runs: Python blocks of a page in one namespace, shell blocks in one home."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# Blocks that install packages or run for minutes say so by their first word; the targets have their own tests.
NOT_HERE = ("pip ", "make ", "git ", "uv ")


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def ids(page: Path) -> str:
    return page.name


def test_pages_are_found() -> None:
    assert len(PAGES) > 3
    assert any(blocks(page, "python") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_shell_blocks_run(page: Path, tmp_path: Path) -> None:
    lines = [line for code in blocks(page, "bash") for line in code.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith(NOT_HERE))
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_only_known_languages_are_used() -> None:
    for page in PAGES:
        kinds = {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
        assert kinds <= {"python", "bash", "text", "json", "toml", "mermaid"}, page


def environment() -> dict[str, str]:
    """The test's own, with this interpreter's commands first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path}
