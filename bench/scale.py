"""A million memories under a thousand owners: filling them in, and what reading costs then.

    python bench/scale.py --store PATH|URL [--memories 1000000] [--owners 1000] [--dims 384] [--processes 4]

The store is filled through `Memory.add(facts=[...])` by several processes (a store that is filled in part is filled
up), and a second one beside it with one owner alone of the same size. Each measurement runs in a process of its own:
opening; the first search of an owner whose index is not loaded; searches over a working set of owners that fits the
index budget, in turns with the same searches on the store of one owner; 1,000 searches of owners at random, which the
budget does not hold, with the memory resident after them. Neither store is removed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from mnemic import Memory
from scale_data import BLOCK, DIMS, RandomVectors
from scale_worker import Options

WORKER = Path(__file__).with_name("scale_worker.py")
# How much slower a search may be for the owners beside the one that is searched.
BAR = 1.5


def main() -> None:
    given = _options()
    each = given.memories // given.owners // BLOCK * BLOCK
    options = Options(given.owners, each, given.dims, given.index_mb, given.queries, given.working_set)
    alone = beside(given.store)
    print(f"{given.owners} owners x {each} memories x {given.dims} dimensions, in {given.store}")
    fill(given.store, options, given.processes)
    fill(alone, replace(options, owners=1), 1)
    size, count = held(given.store, given.dims)
    print(f"on disk: {size / 1e9:.2f} GB, {count} memories, {size / count:.0f} bytes each")
    opening = [measured("open", given.store, options)["opening"] for _ in range(5)]
    print(f"open: {np.median(opening) * 1000:.0f} ms (median of 5 processes)")
    first = measured("cold", given.store, options)
    print(f"first search of an owner: {shown(first)} (20 owners){said_load(first)}")
    ratios = [warm(given.store, alone, options) for _ in range(given.repeat)]
    random = measured("visits", given.store, options)
    print(f"owners at random, of whom not all fit: {shown(random)}{said_load(random)}")
    print(
        f"resident: {random['empty_mb']:.0f} MiB before, {random['resident_mb']:.0f} MiB after 1,000 searches"
    )
    ratio = float(np.median(ratios))
    print(f"warm p95 against one owner alone: {ratio:.2f} times (bar: {BAR})")
    sys.exit(ratio > BAR)


def warm(store: str, alone: str, options: Options) -> float:
    """Searches of a working set and of one owner alone, in turns; how their 95th percentiles compare."""
    found = measured("warm", store, replace(options, alone=alone))
    one = found["alone"]
    print(f"warm, {options.working_set} owners: {shown(found)}{said_load(found)}")
    print(f"warm, one owner alone: {shown(one)}")
    many, single = np.percentile(found["seconds"], 95), np.percentile(one["seconds"], 95)
    return float(many / single)


def fill(store: str, options: Options, processes: int) -> None:
    """Fill a store with what it lacks, several processes at once, and say at what rate."""
    began = time.perf_counter()
    # Made by one, before the others come.
    measured("open", store, options)
    parts = [started("fill", store, replace(options, part=n, parts=processes)) for n in range(processes)]
    added = [0] * processes
    for n, part in enumerate(parts):
        assert part.stdout is not None
        for line in part.stdout:
            added[n] = json.loads(line)["added"]
            if sys.stderr.isatty():
                print(
                    f"\rabout {added[n] * processes} of {options.owners * options.each}",
                    end="",
                    file=sys.stderr,
                )
        if part.wait():
            raise SystemExit(f"a process that filled {store} failed")
    seconds = time.perf_counter() - began
    if sum(added):
        print(
            f"filled: {sum(added)} memories in {seconds:.0f} s, {sum(added) / seconds:.0f} a second{load()}"
        )


def measured(what: str, store: str, options: Options) -> dict[str, Any]:
    """What a process of its own found."""
    process = started(what, store, options)
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"measuring {what} failed")
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found


def started(what: str, store: str, options: Options) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), what, store, json.dumps(asdict(options))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def beside(store: str) -> str:
    """Where the store of one owner alone is."""
    return f"{store}_alone" if "schema=" in store else f"{store}.alone"


def held(store: str, dims: int) -> tuple[int, int]:
    """The bytes and the memories of a store."""
    with Memory(store, embedder=RandomVectors(dims)) as m:
        told = m.stats()
    return told["bytes"], told["memories"]


def shown(found: dict[str, Any]) -> str:
    ms = np.array(found["seconds"]) * 1000
    p50, p95 = np.percentile(ms, [50, 95])
    hits = f", {found['found']} of {len(ms)} found" if "found" in found else ""
    return f"p50 {p50:.2f} ms, p95 {p95:.2f} ms{hits}"


def said_load(found: dict[str, Any]) -> str:
    return f"; load {found['load']:.1f}"


def load() -> str:
    return f"; load {os.getloadavg()[0]:.1f}"


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--store", required=True, help="a file, or a URL with schema= at its end")
    options.add_argument("--memories", type=int, default=1_000_000)
    options.add_argument("--owners", type=int, default=1_000)
    options.add_argument("--dims", type=int, default=DIMS)
    options.add_argument("--index-mb", type=int, default=500)
    options.add_argument("--working-set", type=int, default=200, help="owners whose indexes fit the budget")
    options.add_argument("--queries", type=int, default=400)
    options.add_argument("--repeat", type=int, default=3, help="times that warm searches are measured")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="that fill the store")
    return options.parse_args()


if __name__ == "__main__":
    main()
