"""One process of `scale.py`: fills a part of a store, or measures one thing; prints what it found as JSON.

scale_worker.py WHAT STORE OPTIONS      (OPTIONS as JSON, see `Options`)
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from mnemic import Memory
from scale_data import BLOCK, RandomVectors, block_of, owner_name, question


@dataclass(frozen=True, slots=True)
class Options:
    """How big the store is, how it is filled, and what is asked of it."""

    owners: int
    each: int
    dims: int
    index_mb: int
    queries: int
    working_set: int
    part: int = 0
    parts: int = 1
    alone: str = ""


def fill(memory: Memory, options: Options) -> dict[str, Any]:
    """Add what this part of the processes has to add and is not there yet.

    In rounds, one block for each owner: so an owner's rows lie in as many places as it has blocks.
    """
    mine = range(options.part, options.owners, options.parts)
    there = {owner: memory.get_all(user_id=owner_name(owner), top_k=1)["total"] // BLOCK for owner in mine}
    added, began = 0, perf_counter()
    for block in range(options.each // BLOCK):
        for owner in (owner for owner in mine if there[owner] <= block):
            result = memory.add(facts=block_of(owner, block), user_id=owner_name(owner))
            added += sum(item["event"] == "ADD" for item in result["results"])
            tell({"added": added, "seconds": perf_counter() - began})
    return {"added": added, "seconds": perf_counter() - began}


def cold(memory: Memory, options: Options) -> dict[str, Any]:
    """The first searches of 20 owners, and before them of one that is not counted: it warms up the process."""
    chosen = random.Random("cold").sample(range(options.owners), min(21, options.owners))
    took = [took for took, _ in asked(memory, chosen, options)]
    return {"seconds": took[1:]}


def warm(memory: Memory, options: Options) -> dict[str, Any]:
    """Searches of owners that all have their index loaded; with another store, in turns with one of its only owner.

    In turns, so that what else the machine does hits both.
    """
    rng = random.Random("warm")
    working = rng.sample(range(options.owners), options.working_set)
    for _ in asked(memory, working, options):
        pass
    chosen = [rng.choice(working) for _ in range(options.queries)]
    if not options.alone:
        return _summed(asked(memory, chosen, options))
    with opened(options.alone, options) as other:
        for _ in asked(other, [0] * 20, options):
            pass
        many, one = asked(memory, chosen, options), asked(other, [0] * len(chosen), options)
        pairs = list(zip(many, one, strict=True))
    return {**_summed(pair[0] for pair in pairs), "alone": _summed(pair[1] for pair in pairs)}


def visits(memory: Memory, options: Options) -> dict[str, Any]:
    """Searches of owners at random, more than the budget holds."""
    rng = random.Random("visits")
    chosen = [rng.randrange(options.owners) for _ in range(1_000)]
    empty = resident_mb()
    return {"empty_mb": empty, **_summed(asked(memory, chosen, options)), "resident_mb": resident_mb()}


def asked(memory: Memory, owners: Sequence[int], options: Options) -> Iterator[tuple[float, bool]]:
    """One distinct query for each of the owners: the seconds, and whether it found what it was made from."""
    rng = random.Random(f"queries {len(owners)}")
    for owner in owners:
        text = rng.choice(block_of(owner, rng.randrange(options.each // BLOCK)))
        query, user_id = question(text, rng), owner_name(owner)
        began = perf_counter()
        result = memory.search(query, user_id=user_id)
        took = perf_counter() - began
        yield took, text in [hit["memory"] for hit in result["results"]]


def _summed(answers: Iterator[tuple[float, bool]]) -> dict[str, Any]:
    seconds, found = zip(*answers, strict=True)
    return {"seconds": seconds, "found": sum(found)}


def resident_mb() -> float:
    """Resident memory of this process, MiB."""
    [line] = [x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024


def tell(found: dict[str, Any]) -> None:
    print(json.dumps(found), flush=True)


def opened(store: str, options: Options) -> Memory:
    return Memory(store, embedder=RandomVectors(options.dims), index_mb=options.index_mb)


VERBS: dict[str, Callable[[Memory, Options], dict[str, Any]]] = {
    "open": lambda *_: {},
    "fill": fill,
    "cold": cold,
    "warm": warm,
    "visits": visits,
}


def main() -> None:
    what, store, told = sys.argv[1:]
    options = Options(**json.loads(told))
    began = perf_counter()
    with opened(store, options) as memory:
        opening = perf_counter() - began
        found = VERBS[what](memory, options)
    tell({**found, "opening": opening, "load": os.getloadavg()[0]})


if __name__ == "__main__":
    main()
