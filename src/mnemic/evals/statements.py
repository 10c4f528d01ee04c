"""Scoring the statement extractor on hand-labelled messages: is what is kept worth it, is what matters kept?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from ..ingest.given import Common
from ..ingest.messages import Heard
from ..ingest.statements import extract
from ..records import Message

LANGUAGES = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Unit:
    """Characters [start, end) of a message and their label: keep, drop or either."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Case:
    """A message with its labelled units."""

    id: str
    content: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """What one or many messages came to; the texts are the failures, each after its case's id."""

    kept: int = 0
    worth: int = 0
    wanted: int = 0
    found: int = 0
    unworthy: tuple[tuple[str, str], ...] = ()
    missed: tuple[tuple[str, str], ...] = ()

    @property
    def precision(self) -> float:
        """The share of kept statements that are worth keeping; 1 where none is kept."""
        return self.worth / self.kept if self.kept else 1.0

    @property
    def missed_share(self) -> float:
        """The share of the units to keep that no kept statement covers; 0 where there is none."""
        return 1 - self.found / self.wanted if self.wanted else 0.0


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a JSON-lines file: id, content, units in order with text and label."""
    with path.open(encoding="utf-8") as lines:
        return tuple(_case(json.loads(line)) for line in lines if line.strip())


def _case(given: dict[str, object]) -> Case:
    content = str(given["content"])
    units: list[Unit] = []
    at = 0
    named = given["units"]
    for unit in named if isinstance(named, list) else ():
        start = content.index(unit["text"], at)
        at = start + len(unit["text"])
        units.append(Unit(start, at, unit["label"]))
    return Case(str(given["id"]), content, tuple(units))


def kept_spans(content: str) -> tuple[tuple[int, int], ...]:
    """The characters [start, end) that the extractor keeps of a user's message, one pair per statement."""
    heard = Heard((Message("user", content),), (0,), ())
    extraction = extract(heard, Common(None, (None, None), None, UTC), observed_at=0)
    return tuple((span.start, span.end) for proposal in extraction.proposals for span in proposal.spans)


def score(case: Case, kept: Sequence[tuple[int, int]]) -> Score:
    """One message's score.

    A kept statement covers the units of which it overlaps more than half the characters. A unit to keep that
    nothing covers is missed; a statement that covers no unit labelled keep or either is not worth keeping.
    """
    covered: set[Unit] = set()
    unworthy: list[tuple[str, str]] = []
    for start, end in kept:
        units = [unit for unit in case.units if _covers(start, end, unit)]
        covered.update(units)
        if not any(unit.label in ("keep", "either") for unit in units):
            unworthy.append((case.id, case.content[start:end]))
    wanted = [unit for unit in case.units if unit.label == "keep"]
    missed = tuple((case.id, case.content[u.start : u.end]) for u in wanted if u not in covered)
    return Score(
        kept=len(kept),
        worth=len(kept) - len(unworthy),
        wanted=len(wanted),
        found=len(wanted) - len(missed),
        unworthy=tuple(unworthy),
        missed=missed,
    )


def _covers(start: int, end: int, unit: Unit) -> bool:
    return 2 * (min(end, unit.end) - max(start, unit.start)) > unit.end - unit.start


def total(scores: Iterable[Score]) -> Score:
    """The sum of scores, failures in order."""
    all_of = tuple(scores)
    return Score(
        kept=sum(one.kept for one in all_of),
        worth=sum(one.worth for one in all_of),
        wanted=sum(one.wanted for one in all_of),
        found=sum(one.found for one in all_of),
        unworthy=tuple(text for one in all_of for text in one.unworthy),
        missed=tuple(text for one in all_of for text in one.missed),
    )


def number_of(case: str) -> int:
    """The number in a case's id, the last of several."""
    return int(re.findall(r"\d+", case)[-1])


def halves(cases: Sequence[Case]) -> dict[str, tuple[Case, ...]]:
    """The cases the rules were developed on (odd numbers), those judged unseen at first (even), and all."""
    numbers = [number_of(case.id) for case in cases]
    return {
        "odd": tuple(case for case, number in zip(cases, numbers, strict=True) if number % 2),
        "even": tuple(case for case, number in zip(cases, numbers, strict=True) if not number % 2),
        "all": tuple(cases),
    }


def evaluate(folder: Path) -> dict[tuple[str, str], Score]:
    """(language, half) -> score, for `messages_<language>.jsonl` in `folder`; half is odd, even or all."""
    found: dict[tuple[str, str], Score] = {}
    for language in LANGUAGES:
        for half, cases in halves(read_cases(folder / f"messages_{language}.jsonl")).items():
            found[language, half] = total(score(case, kept_spans(case.content)) for case in cases)
    return found


def report(folder: Path) -> str:
    """The figures per language and half, and every failure, as text to print."""
    return "\n".join(_lines(evaluate(folder)))


def _lines(scores: dict[tuple[str, str], Score]) -> Iterator[str]:
    yield "language  half  kept  worth keeping  to keep  missed"
    for (language, half), one in scores.items():
        yield (
            f"{language:8}  {half:4}  {one.kept:4}  {one.precision:13.1%}  {one.wanted:7}  {one.missed_share:6.1%}"
        )
    for (language, half), one in scores.items():
        if half == "all":
            for title, texts in (("kept, not worth it", one.unworthy), ("missed", one.missed)):
                yield f"\n{language}, {title}: {len(texts)}"
                yield from (f"  {case}  {' '.join(text.split())}" for case, text in texts)
