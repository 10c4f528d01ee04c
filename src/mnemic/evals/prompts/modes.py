"""What the editing modes can say: which prompts they ask with, and how they may meet a memory. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product

from mnemic.errors import ValidationError
from mnemic.prompts import by_id, load

from .cases import Case, Entry, Meets

# How a mode says what a case expects of a memory, where it has no word for that; None: not at all.
OTHER_WORDS: Mapping[str, Mapping[str, str | None]] = {
    "supersede": {},
    "append": dict.fromkeys(("changes", "corrects", "refines", "ends")),
    "reconcile": {"changes": "refines", "corrects": "refines"},
}


# The name of the prompt of each stage.
STAGES: Mapping[str, Mapping[str, str]] = {
    "supersede": {"extract": "extract", "decide": "decide"},
    "append": {"extract": "extract"},
    "reconcile": {"extract": "extract", "decide": "reconcile"},
}
MODES = tuple(STAGES)


def choices(mode: str, given: Iterable[str] = ()) -> list[dict[str, str]]:
    """The sets of prompts to try in a mode: by stage, the prompt's id.

    given: ids ("extract/2"); each version of a prompt is tried with each of the others, and a prompt that is not
    given in its newest version. Raises `ValidationError` for a prompt that there is not, or that no mode uses.
    """
    wanted: dict[str, list[str]] = {}
    for each in given:
        prompt = by_id(each)
        if not any(prompt.name in stages.values() for stages in STAGES.values()):
            raise ValidationError(f"The prompt {prompt.name!r} has no part in what cases are judged by.")
        wanted.setdefault(prompt.name, []).append(prompt.id)
    stages = STAGES[mode]
    options = [wanted.get(name) or [load(name).id] for name in stages.values()]
    return [dict(zip(stages, ids, strict=True)) for ids in product(*options)]


def in_mode(case: Case, mode: str) -> Case:
    """The case with what can be expected in a mode.

    `append` does nothing to a memory, so it is asked only for the facts; `reconcile` knows one way to change a
    memory, so that does for three.
    """
    words = OTHER_WORDS[mode]
    expect = case.expect
    keep = tuple(_entry(entry, words) for entry in expect.keep)
    ends = () if "ends" in words else expect.ends
    return replace(case, expect=replace(expect, keep=keep, ends=ends))


def _entry(entry: Entry, words: Mapping[str, str | None]) -> Entry:
    if entry.meets is None or entry.meets.how not in words:
        return entry
    how = words[entry.meets.how]
    return replace(entry, meets=None if how is None else Meets(entry.meets.memory, how))
