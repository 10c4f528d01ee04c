"""mnemic against mem0: speed and size, through the public API of both, in one run with the same vectors.

Each system runs in a process of its own (they live in different virtual environments) and times its calls
itself; the two take turns in short blocks, so that what else the machine does hits both. The first run installs
mem0 (`mem0-requirements.txt`) into `.venv-mem0`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import workload

BENCH = Path(__file__).resolve().parent
MEM0_VENV = BENCH.parent / ".venv-mem0"
MEM0_REQUIREMENTS = BENCH / "mem0-requirements.txt"
SEED = 20
SEARCHES_A_TURN, ADDS_A_TURN = 20, 25 * workload.PER_ADD
BARE = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')))"


@dataclass(frozen=True, slots=True)
class Row:
    """One bar: what was measured on each side, what is wanted, and whether that is reached."""

    bar: str
    mnemic: str
    mem0: str
    ratio: str
    wanted: str
    reached: bool
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its options, a scratch folder, and what it found."""

    options: argparse.Namespace
    folder: Path
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    setups: dict[str, dict[str, Any]] = field(default_factory=dict)

    def alone(self, bar: str, shown: str, value: float, most: float, unit: str, **figures: float) -> None:
        """Record a figure of mnemic's that may be `most` at most."""
        figures["value"] = value
        self.rows.append(Row(bar, shown, "-", "-", f"<= {most:g} {unit}", value <= most, figures))

    def against(self, bar: str, ours: str, theirs: str, ratio: float, least: float, **figures: float) -> None:
        """Record how many times faster mnemic is, which shall be `least` at least."""
        figures["ratio"] = ratio
        self.rows.append(Row(bar, ours, theirs, f"{ratio:.1f}x", f">= {least:g}x", ratio >= least, figures))

    def data(self, label: str, size: int, queries: int) -> Path:
        """The folder of a new workload."""
        progress(f"{label}: making texts and vectors", 0, size)
        return workload.make(self.folder / label / "workload", size, queries, SEED)


class System:
    """A worker process, asked one thing at a time."""

    def __init__(self, name: str, data: Path) -> None:
        self.name = name
        self._log = data.with_name(f"{name}.log").open("w+")
        python = sys.executable if name.startswith("mnemic") else str(MEM0_VENV / "bin" / "python")
        self._process = subprocess.Popen(
            [python, str(BENCH / "worker.py"), name, str(data), str(data.with_name(f"{name}.store"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "MNEMIC_HOME": str(data.parent)},
        )
        self._answer()

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """One command and its answer. Raises `RuntimeError` with the end of the worker's log when it fails."""
        assert self._process.stdin is not None
        print(json.dumps({"do": verb, **arguments}), file=self._process.stdin, flush=True)
        return self._answer()

    def stop(self) -> None:
        """Close the store and end the process."""
        if self._process.poll() is None:
            self._process.communicate()
        self._log.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._log.seek(0)
            raise RuntimeError(f"{self.name} failed:\n{self._log.read()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def systems(data: Path, *names: str) -> Iterator[list[System]]:
    """Worker processes, each on its own store beside the workload."""
    started: list[System] = []
    try:
        for name in names:
            started.append(System(name, data))
        yield started
    finally:
        for system in started:
            system.stop()


def in_turns(
    contestants: Sequence[System], verb: str, total: int, step: int, what: str
) -> dict[str, tuple[list[float], int]]:
    """All do the same in blocks, and who goes first changes: seconds of each call, and targets found."""
    taken: dict[str, list[float]] = {system.name: [] for system in contestants}
    found = dict.fromkeys(taken, 0)
    order = list(contestants)
    progress(what, 0, total)
    for at in range(0, total, step):
        for system in order:
            answer = system.ask(verb, start=at, stop=min(at + step, total))
            taken[system.name] += answer["seconds"]
            found[system.name] += answer.get("found", 0)
        order.reverse()
        progress(what, min(at + step, total), total)
    return {name: (taken[name], found[name]) for name in taken}


def search_small(run: Run) -> None:
    """Search among few memories, against mem0 with all its signals."""
    _search(run, "small", run.options.small, "mem0-full")


def search_large(run: Run) -> None:
    """Search among many memories of one owner, against mem0's default install; and adding them."""
    size = run.options.large
    added = _search(run, "large", size, "mem0")
    ours, theirs = (1000 * sum(added[name][0]) / size for name in ("mnemic", "mem0"))
    bar = f"add(infer=False) of {workload.PER_ADD} messages, mean of {len(added['mem0'][0])} calls"
    shown = (f"{ours:.3f} ms a memory", f"{theirs:.3f} ms a memory")
    run.against(bar, *shown, theirs / ours, 10, mnemic_ms=ours, mem0_ms=theirs)


def _search(run: Run, label: str, size: int, rival: str) -> dict[str, tuple[list[float], int]]:
    queries = run.options.queries
    data = run.data(label, size, queries + SEARCHES_A_TURN)
    with systems(data, "mnemic", rival) as both:
        added = in_turns(both, "load", size, ADDS_A_TURN, f"{label}: adding")
        for system in both:
            system.ask("search", start=queries, stop=queries + SEARCHES_A_TURN)  # warm up
        asked = in_turns(both, "search", queries, SEARCHES_A_TURN, f"{label}: searching")
        run.setups.update({f"{label}, {system.name}": system.ask("describe") for system in both})
    (ours, we_found), (theirs, they_found) = asked["mnemic"], asked[rival]
    fast, slow = _quantiles(ours), _quantiles(theirs)
    rivals = {"mem0": "default install", "mem0-full": "all signals"}
    bar = f"search p50, {size:,} memories, mem0 with {rivals[rival]}"
    figures = {"mnemic_p50": fast[0], "mnemic_p95": fast[1], "mem0_p50": slow[0], "mem0_p95": slow[1]}
    run.against(bar, _shown(fast), _shown(slow), slow[0] / fast[0], 20, **figures)
    run.notes.append(
        f"{size:,} memories: the one a query was made from is among the 20 results for"
        f" {we_found / queries:.0%} of the queries (mnemic), {they_found / queries:.0%} (mem0)"
    )
    return added


def search_huge(run: Run) -> None:
    """Search among very many memories of one owner, and the memory a fresh process then holds."""
    size, queries = run.options.huge, run.options.queries
    data = run.data("huge", size, queries + 201)
    with systems(data, "mnemic") as one:
        added, _ = in_turns(one, "load", size, 4 * ADDS_A_TURN, "huge: adding")["mnemic"]
    bare = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True).stdout
    with systems(data, "mnemic") as one:
        (first,) = one[0].ask("search", start=queries, stop=queries + 1)["seconds"]
        one[0].ask("search", start=queries + 1, stop=queries + 201)
        held = one[0].ask("resident")
        seconds, found = in_turns(one, "search", queries, SEARCHES_A_TURN, "huge: searching")["mnemic"]
        run.setups["huge, mnemic"] = one[0].ask("describe")
    now, peak = ((held[name] - int(bare)) * 1024 / 1e6 for name in ("VmRSS", "VmHWM"))
    times = _quantiles(seconds)
    run.alone(f"search p95, {size:,} memories", _shown(times), times[1], 60, "ms", p50=times[0])
    bar = f"resident above an empty process, {size:,} memories, 200 searches"
    run.alone(bar, f"{now:.0f} MB (peak {peak:.0f})", now, 350, "MB", peak=peak)
    run.notes.append(
        f"{size:,} memories: the first search, which loads the index, takes {first:.2f} s; adding took"
        f" {1000 * sum(added) / size:.3f} ms a memory; target found for {found / queries:.0%} of the queries"
    )


def commands(run: Run) -> None:
    """Starting the command line in a fresh process, with the embedder that comes with mnemic."""
    size = run.options.command
    data = run.data("command", size, 20)
    with systems(data, "mnemic-local") as one:
        in_turns(one, "load", size, 5 * workload.PER_ADD, "command: adding with the real embedder")
        run.setups["command, mnemic"] = one[0].ask("describe")
    places = {"MNEMIC_HOME": str(data.parent), "MNEMIC_STORE": str(data.with_name("mnemic-local.store"))}
    mnemic = str(Path(sys.executable).with_name("mnemic"))
    question = workload.load_asks(data)[0][0].text
    search = [mnemic, "search", question, "--user-id", workload.OWNER]
    for name, line, most in (
        ("--help", [mnemic, "--help"], 0.3),
        (f"search, {size:,} memories", search, 1.2),
    ):
        took = median(_seconds(line, {**os.environ, **places}) for _ in range(5))
        run.alone(f"mnemic {name}, fresh process, median of 5", f"{took:.2f} s", took, most, "s")


def suite(run: Run) -> None:
    """The project's whole test suite."""
    progress("test suite", 0, 1)
    took = _seconds([sys.executable, "-m", "pytest"], dict(os.environ))
    run.alone("whole test suite", f"{took:.0f} s", took, 600, "s")


def _seconds(line: Sequence[str], env: dict[str, str]) -> float:
    """Seconds a command takes; infinite, with its output on stderr, when it fails or prints nothing."""
    began = time.perf_counter()
    done = subprocess.run(line, cwd=BENCH.parent, env=env, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode == 0 and done.stdout.strip():
        return took
    print(f"{' '.join(line)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}", file=sys.stderr)
    return float("inf")


def _quantiles(seconds: list[float]) -> tuple[float, float]:
    p50, p95 = np.quantile(seconds, [0.5, 0.95]) * 1000
    return float(p50), float(p95)


def _shown(times: tuple[float, float]) -> str:
    return f"{times[0]:.2f} ms (p95 {times[1]:.2f})"


def progress(what: str, done: int, total: int) -> None:
    """Say on stderr how far it is: one line that is written over on a terminal, else one at each beginning."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what} {done:,}/{total:,}", end="", file=sys.stderr, flush=True)
    elif not done:
        print(f"{what}, {total:,}", file=sys.stderr, flush=True)


def ensure_mem0() -> None:
    """Make the environment of the yardstick, once for each state of its requirements."""
    wanted, stamp = MEM0_REQUIREMENTS.read_text(), MEM0_VENV / "requirements.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("Installing mem0 for comparison (once) ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(MEM0_VENV)], check=True)
    install = ["-m", "pip", "install", "--quiet", "-r", str(MEM0_REQUIREMENTS)]
    subprocess.run([str(MEM0_VENV / "bin" / "python"), *install], check=True)
    stamp.write_text(wanted)


def show(run: Run) -> None:
    """Print the table, what was seen on the way, and what ran."""
    lines = [("bar", "mnemic", "mem0", "ratio", "wanted", "")]
    for row in run.rows:
        verdict = "reached" if row.reached else "MISSED"
        lines.append((row.bar, row.mnemic, row.mem0, row.ratio, row.wanted, verdict))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print("\n" if not sys.stderr.isatty() else "\r\033[K")
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print("", *(f"- {note}" for note in run.notes), sep="\n")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"\n{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, load average {load} at the end."
    )
    print("Half of the queries have a filter; each is asked once.")
    for where, about in run.setups.items():
        signals = ", ".join(about["signals"])
        print(
            f"{where}: {about['library']}, Python {about['python']}; {about['setup']}; signals on: {signals}"
        )


BARS: dict[str, Callable[[Run], None]] = {
    "search-small": search_small,
    "search-large": search_large,
    "search-huge": search_huge,
    "commands": commands,
    "suite": suite,
}


def main() -> int:
    """Run the bars and print what they found; 0 when all were reached."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help=f"bars to run, separated by commas: {', '.join(BARS)}")
    parser.add_argument("--suite", action="store_true", help="also time the whole test suite")
    parser.add_argument("--queries", type=int, default=320, help="queries of each search bar")
    for name, size in (("small", 250), ("large", 10_000), ("huge", 100_000), ("command", 1_000)):
        parser.add_argument(f"--{name}", type=int, default=size, help="memories (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write everything to this file as well")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [bar for bar in BARS if bar != "suite"]
    chosen += ["suite"] if options.suite and "suite" not in chosen else []
    if unknown := [bar for bar in chosen if bar not in BARS]:
        parser.error(f"unknown bars {unknown}; there are {', '.join(BARS)}")
    if {"search-small", "search-large"} & set(chosen):
        ensure_mem0()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        run = Run(options, Path(folder))
        for bar in chosen:
            BARS[bar](run)
    show(run)
    print(f"Took {time.perf_counter() - began:.0f} s.")
    if options.json:
        found = {"rows": [asdict(row) for row in run.rows], "notes": run.notes, "setups": run.setups}
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if all(row.reached for row in run.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
