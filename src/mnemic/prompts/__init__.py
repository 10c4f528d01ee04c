"""Prompts: text files of sections, with a version each. See CHANGELOG.md beside them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ..errors import ValidationError, nearest

_FILE = re.compile(r"([a-z]+)-(\d+)\.txt\Z")
_HEADING = re.compile(r"^=== (\S+)$", re.MULTILINE)
_in_use: ContextVar[Mapping[str, int] | None] = ContextVar("prompts in use", default=None)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A version of a prompt: its sections by name, in the order of the file."""

    name: str
    version: int
    sections: Mapping[str, str]

    @property
    def id(self) -> str:
        """What versions of memories and traces call it: "extract/1"."""
        return f"{self.name}/{self.version}"

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n\n".join(f"=== {name}\n{body}" for name, body in self.sections.items()) + "\n"


@cache
def versions() -> Mapping[str, tuple[int, ...]]:
    """The names of the prompts, each with its versions, oldest first."""
    found: dict[str, list[int]] = {}
    for file in resources.files(__name__).iterdir():
        match = _FILE.match(file.name)
        if match:
            found.setdefault(match[1], []).append(int(match[2]))
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(found.items())}


def load(name: str, version: int | None = None) -> Prompt:
    """A prompt: of this version, else of the one in `using`, else its newest.

    Raises `ValidationError` naming what there is.
    """
    known = versions()
    if name not in known:
        raise ValidationError(
            f"There is no prompt {name!r}{nearest(name, known)}; known are {', '.join(known)}."
        )
    wanted = (_in_use.get() or {}).get(name, known[name][-1]) if version is None else version
    if wanted not in known[name]:
        told = ", ".join(map(str, known[name]))
        raise ValidationError(f"The prompt {name!r} has no version {wanted}; it has {told}.")
    return read(name, wanted)


@cache
def read(name: str, version: int) -> Prompt:
    """A version of a prompt that there is."""
    text = resources.files(__name__).joinpath(f"{name}-{version}.txt").read_text(encoding="utf-8")
    pieces = _HEADING.split(text)
    sections = {pieces[i]: pieces[i + 1].strip("\n") for i in range(1, len(pieces), 2)}
    return Prompt(name, version, sections)


def by_id(prompt_id: str) -> Prompt:
    """The prompt with an id such as "extract/1". Raises `ValidationError` naming what there is."""
    name, _, version = prompt_id.partition("/")
    if not version.isdecimal():
        raise ValidationError(f"{prompt_id!r} is no version of a prompt, such as 'extract/1'.")
    return load(name, int(version))


def named(name: str) -> Prompt:
    """The prompt that an id or a name tells: "extract/1", or "extract". Raises as `by_id` and `load`."""
    return by_id(name) if "/" in name else load(name)


@contextmanager
def using(ids: Iterable[str]) -> Iterator[None]:
    """Within the block, take these versions ("extract/1") instead of the newest: to compare them."""
    prompts = [by_id(each) for each in ids]
    token = _in_use.set({prompt.name: prompt.version for prompt in prompts})
    try:
        yield
    finally:
        _in_use.reset(token)
