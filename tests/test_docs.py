"""Every code block of README and docs runs and prints what it says, and nothing public is left undescribed.

Python blocks of a page share one namespace, shell blocks one home. `# -> text` in a Python block promises a line of
output; the promises of a page are all that its blocks print. Each command is a process of its own, which starts warm.
"""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import mnemic
from mnemic import AsyncMemory, Memory, MnemicError, config
from mnemic.cli.app import app
from mnemic.models.embed import EmbedderConfig
from mnemic.records import UNSET
from mnemic.scope import ID_FIELDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
PROMISE = re.compile(r"# -> (.*)$", re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Blocks that install packages or run for minutes say so by their first word; the targets have their own tests.
NOT_HERE = ("pip ", "make ", "git ", "uv ")


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def ids(page: Path) -> str:
    return page.name


def test_pages_are_found() -> None:
    assert len(PAGES) > 3
    assert any(blocks(page, "python") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_python_blocks_run(page: Path, tmp_path: Path, warm: Path, request: pytest.FixtureRequest) -> None:
    code = "\n\n".join(blocks(page, "python"))
    environ = dict(os.environ)
    if "DATABASE_URL" in code:
        environ["DATABASE_URL"] = request.getfixturevalue("postgres").url("docs")
    done = subprocess.run(
        [warm / "warm-python", "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == PROMISE.findall(code)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_shell_blocks_run(page: Path, tmp_path: Path, warm: Path) -> None:
    lines = [line for code in blocks(page, "bash") for line in code.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith(NOT_HERE))
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, env=environment(warm)
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_only_known_languages_are_used() -> None:
    for page in PAGES:
        kinds = {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
        assert kinds <= {"python", "bash", "text", "json", "toml", "mermaid"}, page


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert target.is_file(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("face", [Memory, AsyncMemory])
def test_every_verb_is_described_with_its_signature(face: type) -> None:
    described = {line for code in blocks(DOCS / "api.md", "text") for line in code.splitlines()}
    verbs = [name for name in dir(face) if not name.startswith("_") and name != "open"]
    assert "search" in verbs
    assert described >= {signature(name, getattr(face, name)) for name in verbs}
    assert signature(face.__name__, face.__init__) in described


def test_every_public_name_is_described() -> None:
    pages = text_of("api.md") + text_of("errors.md")
    assert [name for name in mnemic.__all__ if not re.search(rf"\b{name}\b", pages)] == []


def test_the_tree_of_errors_is_as_described() -> None:
    text = text_of("errors.md")
    assert blocks(DOCS / "errors.md", "text") == ["".join(f"{line}\n" for line in tree(MnemicError))]
    for error in list(below(MnemicError)):
        assert f"| `{error.__name__}` | `{error.default_code}` |" in text


def test_every_command_and_option_is_described() -> None:
    text = text_of("cli.md")
    used = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
    for path, command in commands(typer.main.get_command(app), "mnemic"):
        options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        missing = {name for name in options if name.startswith("-")} - used
        assert path in text, path
        assert not missing, path


def test_every_setting_is_described() -> None:
    text = text_of("configuration.md")
    for key in config.KEYS:
        assert f"| `{key}` | `{config.ENV_PREFIX}{key.upper()}`" in text
    for one in fields(EmbedderConfig):
        suffix = "" if one.name == "provider" else f"_{one.name.upper()}"
        assert f"| `{one.name}` | `{config.ENV_PREFIX}EMBEDDER{suffix}` |" in text


def test_config_files_as_shown_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    shown = [*blocks(DOCS / "configuration.md", "toml"), *blocks(DOCS / "postgres.md", "toml")]
    assert shown
    for text in shown:
        path.write_text(text, encoding="utf-8")
        assert "file" in config.load({}, {"MNEMIC_CONFIG": str(path)}).sources.values()


def signature(name: str, verb: Any) -> str:
    """The call as the pages write it: without types, the ids in short."""
    given = [
        parameter.replace(annotation=parameter.empty, default=Shown(parameter.default))
        if parameter.default is UNSET
        else parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(verb).parameters.values()
        if parameter.name != "self"
    ]
    whole = f"{name}{inspect.Signature(given)}"
    return whole.replace(", ".join(f"{field}=None" for field in ID_FIELDS), "IDS")


class Shown:
    """Shows a member of an Enum by its name."""

    def __init__(self, member: Any) -> None:
        self._name = member.name

    def __repr__(self) -> str:
        return str(self._name)


def below(error: type[MnemicError]) -> Iterator[type[MnemicError]]:
    for kind in error.__subclasses__():
        if kind.__module__ == "mnemic.errors":
            yield kind
            yield from below(kind)


def tree(error: type[MnemicError], lead: str = "") -> Iterator[str]:
    """The error and those below it as lines of a tree."""
    is_value_error = issubclass(error, ValueError) and not issubclass(error.__bases__[0], ValueError)
    yield f"{error.__name__}{' (also a ValueError)' if is_value_error else ''}"
    kinds = [kind for kind in error.__subclasses__() if kind.__module__ == "mnemic.errors"]
    for kind in kinds:
        last = kind is kinds[-1]
        first, *others = tree(kind)
        yield f"{lead}{'└── ' if last else '├── '}{first}"
        for line in others:
            yield f"{lead}{'    ' if last else '│   '}{line}"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each command with the words that call it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{path} {name}")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as they are made on the usual sites."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def environment(warm: Path) -> dict[str, str]:
    """The test's own, with the warm commands first and this interpreter's next."""
    path = os.pathsep.join([str(warm), str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path}
