"""`mnemic eval statements`: what the extractor keeps and leaves out of labelled messages, and what it closes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemic.errors import ValidationError
from mnemic.evals import statements as measure
from mnemic.memory import Memory

from . import show
from .call import Call

if TYPE_CHECKING:
    from rich.console import Console

CHANGES, NEAR_MISSES = "changes", "near_misses"
HOLDOUT = "holdout"
# Pairs of the common attributes: rules are developed on the odd ones, the even ones judge them unseen.
ATTRIBUTES = "attributes"
# The bars that the figures are held to.
LEAST_WORTH, MOST_MISSED = 0.9, 0.1
SAID_BEFORE, SAID_AFTER = "2024-04-01", "2024-08-01"


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement that was kept, a later message, and whether the later one ends the earlier one.

    unseen: counted, but not listed where it fails, so that nobody fits a rule to it.
    """

    id: str
    language: str
    old: str
    new: str
    closes: bool
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Closed:
    """A pair and whether the old statement was closed."""

    pair: Pair
    closed: bool


def statements(call: Call, folder: str) -> None:
    """Measure and show."""
    path = Path(folder)
    try:
        scores = {**measure.evaluate(path), **on_holdout(path)}
        pairs = [pair for name in (CHANGES, NEAR_MISSES) for pair in read_pairs(path / f"{name}.jsonl")]
        pairs += [pair for name in (CHANGES, NEAR_MISSES) for pair in pairs_of_attributes(path, name)]
        pairs += [pair for name in (CHANGES, NEAR_MISSES) for pair in pairs_on_holdout(path, name)]
    except (OSError, ValueError, LookupError) as fault:
        raise ValidationError(f"{folder!r} is no folder of labelled statements: {fault}") from fault
    call.show(as_mapping(scores, try_pairs(pairs)), show_report)


def on_holdout(folder: Path) -> dict[tuple[str, str], measure.Score]:
    """The scores on the messages that were written when the rules were done, for the languages that have some."""
    found = {}
    for language in measure.LANGUAGES:
        file = folder / f"holdout_{language}.jsonl"
        if file.exists():
            cases = measure.read_cases(file)
            scores = [measure.score(case, measure.kept_spans(case.content)) for case in cases]
            found[language, HOLDOUT] = measure.total(scores)
    return found


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a JSON-lines file: id, lang, old, new, closes."""
    with path.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines if line.strip()]
    return [Pair(one["id"], one["lang"], one["old"], one["new"], one["closes"]) for one in found]


def pairs_on_holdout(folder: Path, name: str) -> list[Pair]:
    """The pairs that were written when the rules were done, under a language of their own; none without them."""
    file = folder / f"{HOLDOUT}_{name}.jsonl"
    if not file.exists():
        return []
    return [replace(pair, language=f"{pair.language} {HOLDOUT}") for pair in read_pairs(file)]


def pairs_of_attributes(folder: Path, name: str) -> list[Pair]:
    """The pairs of the common attributes, under a language of their own for each half; none without them."""
    file = folder / f"{ATTRIBUTES}_{name}.jsonl"
    if not file.exists():
        return []
    halves = {True: "odd", False: "even"}
    found = [(pair, measure.number_of(pair.id) % 2 == 1) for pair in read_pairs(file)]
    return [
        replace(pair, language=f"{pair.language} {ATTRIBUTES} {halves[odd]}", unseen=not odd)
        for pair, odd in found
    ]


def try_pairs(pairs: Sequence[Pair]) -> list[Closed]:
    """Say the old and then the new of each pair, each for a user of its own, and see what is closed."""
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-eval-") as directory,
        Memory(str(Path(directory) / "eval.db"), embedder="none") as memory,
    ):
        return [Closed(pair, _closes(memory, pair)) for pair in pairs]


def _closes(memory: Memory, pair: Pair) -> bool:
    # What may be closed was kept, whatever the extractor makes of it: it is given as a fact.
    [old] = memory.add(facts=[pair.old], user_id=pair.id, timestamp=SAID_BEFORE)["results"]
    later = memory.add(pair.new, user_id=pair.id, timestamp=SAID_AFTER)
    return any(old["id"] in item.get("supersedes", []) for item in later["results"])


def as_mapping(scores: Mapping[tuple[str, str], measure.Score], tried: Sequence[Closed]) -> dict[str, Any]:
    """The figures as JSON has them: by language and part of the cases, then the pairs, then every failure that may
    be read."""
    languages = sorted({one.pair.language for one in tried})
    seen = [one for one in tried if not one.pair.unseen]
    return {
        "messages": {
            language: {part: _figures(one) for (named, part), one in scores.items() if named == language}
            for language in dict.fromkeys(language for language, _ in scores)
        },
        "closings": {language: _closings(tried, language) for language in languages},
        "failures": {
            **{
                language if part == "all" else f"{language} {part}": _failures(one)
                for (language, part), one in scores.items()
                if part in ("all", HOLDOUT)
            },
            "not_closed": [_told(one.pair) for one in seen if one.pair.closes and not one.closed],
            "wrongly_closed": [_told(one.pair) for one in seen if one.closed and not one.pair.closes],
        },
    }


def _figures(score: measure.Score) -> dict[str, float]:
    return {
        "kept": score.kept,
        "worth_keeping": round(score.precision, 4),
        "to_keep": score.wanted,
        "missed": round(score.missed_share, 4),
    }


def _closings(tried: Sequence[Closed], language: str) -> dict[str, int]:
    own = [one for one in tried if one.pair.language == language]
    changes = [one for one in own if one.pair.closes]
    others = [one for one in own if not one.pair.closes]
    return {
        "changes": len(changes),
        "closed": sum(one.closed for one in changes),
        "near_misses": len(others),
        "wrongly_closed": sum(one.closed for one in others),
    }


def _failures(score: measure.Score) -> dict[str, list[dict[str, str]]]:
    named = {"not_worth_keeping": score.unworthy, "missed": score.missed}
    return {name: [{"id": case, "text": text} for case, text in texts] for name, texts in named.items()}


def _told(pair: Pair) -> dict[str, str]:
    return {"id": pair.id, "old": pair.old, "new": pair.new}


def show_report(report: Mapping[str, Any]) -> None:
    """The tables for people, then the failures."""
    from rich.table import Table

    console = show.make_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("language", "cases"):
        table.add_column(heading)
    for heading in ("kept", "worth keeping", "to keep", "missed"):
        table.add_column(heading, justify="right")
    for language, parts in report["messages"].items():
        for part, row in parts.items():
            shares = (f"{row['worth_keeping']:.1%}", str(row["to_keep"]), f"{row['missed']:.1%}")
            table.add_row(language, part, str(row["kept"]), *shares)
    console.print(table)
    console.print(f"bars: worth keeping at least {LEAST_WORTH:.0%}, missed at most {MOST_MISSED:.0%}")
    show.paragraph(
        console,
        "odd: cases on which the rules were developed; even: cases judged unseen at first, whose failures were read"
        " later; all: odd and even; holdout: cases written afterwards, never to be used for developing; attributes:"
        " pairs of the common attributes, whose even half is counted and not listed",
    )
    console.print()
    for language, row in report["closings"].items():
        told = f"{row['closed']} of {row['changes']} changes close the old statement"
        wrong = f"{row['wrongly_closed']} of {row['near_misses']} near-misses do"
        console.print(f"{language}: {told}, {wrong} (bar: none)")
    failures = dict(report["failures"])
    pairs = {name: failures.pop(name) for name in ("not_closed", "wrongly_closed")}
    for language, kinds in failures.items():
        for name, texts in kinds.items():
            _list(
                console, f"{language}, {name.replace('_', ' ')}", [(one["id"], one["text"]) for one in texts]
            )
    for name, found in pairs.items():
        _list(
            console, name.replace("_", " "), [(one["id"], f"{one['old']} -> {one['new']}") for one in found]
        )


def _list(console: Console, title: str, texts: Sequence[tuple[str, str]]) -> None:
    console.print()
    console.print(f"{title}: {len(texts)}")
    for case, text in texts:
        show.beside(console, f"  {case}", show.one_line(text))
