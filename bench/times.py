"""What asking about another time costs, through the public API: `as_of`, time words, `known_at` beside a plain search.

    python bench/times.py --memories 10000 --queries 300

The same questions are asked in each way, in turns, so that what else the machine does hits all alike. Half of the
memories have ended. `--only plain` runs with versions of mnemic that know no other way.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import workload
from mnemic import Memory
from workload import OWNER, PER_ADD, Given, load_asks, load_memos

# The seconds of each search, by the way in which it was asked.
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "as_of": {"as_of": "2024-06-01"},
    "superseded": {"include_superseded": True},
    "time words": {"reference_date": "2026-01-01"},
    "known_at": {"known_at": "2099-01-01"},
}
TIMED = "In 2024, "
SEED = 21


def filled(folder: Path, memories: int, queries: int) -> tuple[Memory, Given, list[str]]:
    """A store with facts of which every second ended, and the questions, with vectors for all of them."""
    made = workload.make(folder / "workload", memories, queries, SEED)
    memos, rows = load_memos(made)
    asks, asked = load_asks(made)
    given = Given()
    given.give([memo.text for memo in memos], rows)
    given.give([ask.text for ask in asks], asked)
    given.give([TIMED + ask.text for ask in asks], asked)
    memory = Memory(str(folder / "store.db"), embedder=given)
    for at in range(0, memories, PER_ADD):
        facts = [
            {"text": memo.text, "valid_from": "2023", "valid_to": "2025" if number % 2 else None}
            for number, memo in enumerate(memos[at : at + PER_ADD])
        ]
        memory.add(facts=facts, user_id=OWNER)
    return memory, given, [ask.text for ask in asks]


def measured(memory: Memory, questions: Sequence[str], ways: Sequence[str]) -> dict[str, list[float]]:
    """The seconds of each search, each question asked in each way once, in turns."""
    took: dict[str, list[float]] = {way: [] for way in ways}
    for way in ways:
        memory.search(questions[0], user_id=OWNER, **WAYS[way])
    for number, question in enumerate(questions):
        # Every way comes first as often as last: what the one before left in the caches helps none.
        turn = number % len(ways)
        for way in (*ways[turn:], *ways[:turn]):
            text = TIMED + question if way == "time words" else question
            began = perf_counter()
            memory.search(text, user_id=OWNER, **WAYS[way])
            took[way].append(perf_counter() - began)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        memory, _, questions = filled(Path(folder), options.memories, options.queries)
        with memory:
            took = measured(memory, questions, options.only)
    plain = median(took[options.only[0]])
    for way, seconds in took.items():
        p50, p95 = median(seconds) * 1000, quantiles(seconds, n=20)[-1] * 1000
        ratio = median(seconds) / plain
        print(f"{way:<11} p50 {p50:6.2f} ms  p95 {p95:6.2f} ms  {ratio:5.2f} times {options.only[0]}")


if __name__ == "__main__":
    main()
