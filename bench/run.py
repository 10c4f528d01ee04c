"""mnemic against mem0: speed and size, through the public API of both, in one run with the same vectors.

    python bench/run.py [--only search-small,...] [--queries N] [--suite] [--json FILE]

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
ROOT = BENCH.parent
MEM0_VENV = ROOT / ".venv-mem0"
MEM0_REQUIREMENTS = BENCH / "mem0-requirements.txt"
SEED = 20
SEARCHES_PER_TURN, ADDS_PER_TURN = 20, 25


@dataclass(frozen=True, slots=True)
class Row:
    """A bar and what was measured. `good`: the bar is reached."""

    bar: str
    mnemic: str
    mem0: str
    ratio: str
    wanted: str
    good: bool


@dataclass(slots=True)
class Report:
    """What all bars found, and what ran."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    setups: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bench:
    """What a bar needs to run."""

    options: argparse.Namespace
    folder: Path
    report: Report


class System:
    """A worker process, asked one thing at a time."""

    def __init__(self, name: str, data: Path, store: Path) -> None:
        self.name = name
        self._log = (data.parent / f"{name}-{store.name}.log").open("w+")
        python = sys.executable if name.startswith("mnemic") else str(_bin(MEM0_VENV, "python"))
        self._process = subprocess.Popen(
            [python, str(BENCH / "worker.py"), name, str(data), str(store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "MNEMIC_HOME": str(store.parent)},
        )
        self._answer()

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """One command and its answer. Raises `RuntimeError` with the end of the worker's log when it fails."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
        self._process.stdin.flush()
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
    """Worker processes on stores of their own under the workload's folder."""
    started: list[System] = []
    try:
        for name in names:
            started.append(System(name, data, data.parent / f"{name}.store"))
        yield started
    finally:
        for system in started:
            system.stop()


def in_turns(
    contestants: Sequence[System], verb: str, total: int, step: int, what: str, start: int = 0
) -> dict[str, dict[str, Any]]:
    """Each does the same in blocks, and who goes first changes. Seconds of each call, and what was found."""
    taken: dict[str, list[float]] = {system.name: [] for system in contestants}
    found = dict.fromkeys(taken, 0)
    order = list(contestants)
    progress(what, 0, total)
    for at in range(start, total, step):
        for system in order:
            answer = system.ask(verb, start=at, stop=min(at + step, total))
            taken[system.name] += answer["seconds"]
            found[system.name] += answer.get("found", 0)
        order.reverse()
        progress(what, min(at + step, total), total)
    return {name: {"seconds": taken[name], "found": found[name]} for name in taken}


def search_small(bench: Bench) -> None:
    """Search among few memories, against mem0 with all its signals."""
    _search_bar(bench, "small", bench.options.small, "mem0-full")


def search_large(bench: Bench) -> None:
    """Search among many memories of one owner, against mem0's default install; and adding them."""
    _search_bar(bench, "large", bench.options.large, "mem0", adds=True)


def _search_bar(bench: Bench, label: str, size: int, rival: str, adds: bool = False) -> None:
    queries = bench.options.queries
    data = _workload(bench, label, size, queries + SEARCHES_PER_TURN)
    with systems(data, "mnemic", rival) as (ours, theirs):
        loaded = in_turns((ours, theirs), "load", size, ADDS_PER_TURN * workload.PER_ADD, f"{label}: adding")
        for system in (ours, theirs):
            system.ask("search", start=queries, stop=queries + SEARCHES_PER_TURN)  # warm up
        asked = in_turns((ours, theirs), "search", queries, SEARCHES_PER_TURN, f"{label}: searching")
        for system in (ours, theirs):
            bench.report.setups[f"{label}, {system.name}"] = system.ask("describe")
    fast, slow = _times(asked["mnemic"]), _times(asked[rival])
    ratio = slow["p50"] / fast["p50"]
    against = "all signals" if rival == "mem0-full" else "default install"
    bench.report.rows.append(
        Row(
            f"search p50, {size:,} memories, mem0 with {against}",
            _ms(fast), _ms(slow), f"{ratio:.1f}x", ">= 20x", ratio >= 20,
        )
    )  # fmt: skip
    bench.report.figures[f"search_{label}"] = {"mnemic": fast, "mem0": slow, "p50_ratio": ratio}
    bench.report.notes.append(
        f"{size:,} memories: the memory a query was made from is among the 20 results for"
        f" {asked['mnemic']['found'] / queries:.0%} of the queries (mnemic),"
        f" {asked[rival]['found'] / queries:.0%} (mem0)"
    )
    if adds:
        _add_bar(bench, size, loaded["mnemic"]["seconds"], loaded[rival]["seconds"])


def _add_bar(bench: Bench, size: int, ours: list[float], theirs: list[float]) -> None:
    fast, slow = 1000 * sum(ours) / size, 1000 * sum(theirs) / size
    ratio = slow / fast
    bench.report.rows.append(
        Row(
            f"add(infer=False) of {workload.PER_ADD} messages, mean of {len(ours)} calls",
            f"{fast:.3f} ms a memory", f"{slow:.3f} ms a memory", f"{ratio:.1f}x", ">= 10x", ratio >= 10,
        )
    )  # fmt: skip
    bench.report.figures["add"] = {"mnemic_ms": fast, "mem0_ms": slow, "ratio": ratio}


def search_huge(bench: Bench) -> None:
    """Search among very many memories of one owner, and the memory a fresh process then holds."""
    size, queries = bench.options.huge, bench.options.queries
    data = _workload(bench, "huge", size, queries + 1)
    with systems(data, "mnemic") as [loader]:
        took = in_turns([loader], "load", size, 100 * workload.PER_ADD, "huge: adding")["mnemic"]["seconds"]
    empty = float(
        subprocess.run([sys.executable, "-c", _EMPTY], capture_output=True, text=True, check=True).stdout
    )
    with systems(data, "mnemic") as [fresh]:
        first = fresh.ask("search", start=queries, stop=queries + 1)["seconds"][0]
        asked = in_turns([fresh], "search", min(200, queries), SEARCHES_PER_TURN, "huge: searching")["mnemic"]
        held = fresh.ask("resident")
        rest = in_turns([fresh], "search", queries, SEARCHES_PER_TURN, "huge: searching", start=200)["mnemic"]
        bench.report.setups["huge, mnemic"] = fresh.ask("describe")
    times = _times({"seconds": asked["seconds"] + rest["seconds"]})
    above, peak = held["now"] - empty, held["peak"] - empty
    bench.report.rows += [
        Row(f"search p95, {size:,} memories", _ms(times), "-", "-", "p95 <= 60 ms", times["p95"] <= 60),
        Row(
            f"memory held for {size:,} memories after 200 searches",
            f"{above:.0f} MB (peak {peak:.0f})", "-", "-", "<= 350 MB", above <= 350,
        ),
    ]  # fmt: skip
    bench.report.notes.append(
        f"{size:,} memories: the first search of a process, which loads the index, takes {first:.2f} s;"
        f" adding took {1000 * sum(took) / size:.3f} ms a memory; target found by"
        f" {(asked['found'] + rest['found']) / queries:.0%} of the queries"
    )
    bench.report.figures["search_huge"] = {
        "mnemic": times, "first_s": first, "resident_mb": above, "peak_mb": peak,
        "add_ms": 1000 * sum(took) / size,
    }  # fmt: skip


_EMPTY = (
    "print(next(int(line.split()[1]) * 1024 / 1e6"
    " for line in open('/proc/self/status') if line.startswith('VmRSS')))"
)


def commands(bench: Bench) -> None:
    """Starting the command line in a fresh process, with the embedder that comes with mnemic."""
    size = bench.options.command
    data = _workload(bench, "command", size, 20)
    with systems(data, "mnemic-local") as [local]:
        in_turns([local], "load", size, 100, "command: adding with the real embedder")
        bench.report.setups["command, mnemic"] = local.ask("describe")
    mnemic = str(_bin(Path(sys.prefix), "mnemic"))
    env = {
        **os.environ,
        "MNEMIC_HOME": str(data.parent),
        "MNEMIC_STORE": str(data.parent / "mnemic-local.store"),
    }
    asks, _ = workload.load_asks(data)
    search = [mnemic, "search", asks[0].text, "--user-id", workload.OWNER]
    for what, line, most in (
        ("mnemic --help", [mnemic, "--help"], 0.3),
        (f"mnemic search, {size:,} memories", search, 1.2),
    ):
        runs = [_run(line, env) for _ in range(5)]
        failed = next((output for seconds, output in runs if seconds is None), None)
        if failed is not None:
            bench.report.rows.append(Row(f"{what}, fresh process", "fails", "-", "-", f"<= {most} s", False))
            bench.report.notes.append(f"{what} failed: {failed.strip()[-200:]}")
            continue
        took = median(seconds for seconds, _ in runs if seconds is not None)
        bench.report.rows.append(
            Row(
                f"{what}, fresh process, median of 5", f"{took:.2f} s", "-", "-", f"<= {most} s", took <= most
            )
        )
        bench.report.figures[" ".join(line[1:2])] = took


def suite(bench: Bench) -> None:
    """The project's whole test suite."""
    progress("test suite", 0, 1)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - began
    said = done.stdout.strip().splitlines()[-1:]
    bench.report.rows.append(
        Row("whole test suite", f"{took:.0f} s", "-", "-", "<= 600 s", took <= 600 and done.returncode == 0)
    )
    bench.report.notes.append(f"test suite: {' '.join(said)}")
    bench.report.figures["suite_s"] = took


BARS: dict[str, Callable[[Bench], None]] = {
    "search-small": search_small,
    "search-large": search_large,
    "search-huge": search_huge,
    "commands": commands,
    "suite": suite,
}


def _run(line: Sequence[str], env: dict[str, str]) -> tuple[float | None, str]:
    """Seconds of a command and what it printed; None for seconds when it failed or printed nothing."""
    began = time.perf_counter()
    try:
        done = subprocess.run(line, env=env, capture_output=True, text=True, check=False)
    except OSError as fault:
        return None, str(fault)
    took = time.perf_counter() - began
    good = done.returncode == 0 and done.stdout.strip()
    return (took if good else None), done.stdout + done.stderr


def _times(asked: dict[str, Any]) -> dict[str, float]:
    p50, p95 = np.quantile(asked["seconds"], [0.5, 0.95]) * 1000
    return {"p50": float(p50), "p95": float(p95)}


def _ms(times: dict[str, float]) -> str:
    return f"{times['p50']:.2f} ms (p95 {times['p95']:.2f})"


def _workload(bench: Bench, label: str, size: int, queries: int) -> Path:
    progress(f"{label}: making texts and vectors", 0, size)
    return workload.make(size, queries, SEED).save(bench.folder / label / "workload")


def progress(what: str, done: int, total: int) -> None:
    """Say on stderr how far it is: one line that is written over on a terminal, else one at each beginning."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what} {done:,}/{total:,}", end="", file=sys.stderr, flush=True)
    elif not done:
        print(f"{what}, {total:,}", file=sys.stderr, flush=True)


def ensure_mem0() -> None:
    """Make the environment of the yardstick, once for each state of its requirements."""
    wanted = MEM0_REQUIREMENTS.read_text()
    stamp = MEM0_VENV / "requirements.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print("Installing mem0 for comparison (once) ...", file=sys.stderr)
    python = str(_bin(MEM0_VENV, "python"))
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(MEM0_VENV)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", str(MEM0_REQUIREMENTS)], check=True)
    stamp.write_text(wanted)


def _bin(prefix: Path, program: str) -> Path:
    return prefix / "bin" / program


def show(report: Report) -> None:
    """Print the table, what was seen on the way, and what ran."""
    heads = Row("bar", "mnemic", "mem0", "ratio", "wanted", False)
    lines = [[row.bar, row.mnemic, row.mem0, row.ratio, row.wanted] for row in (heads, *report.rows)]
    verdicts = ["", *("reached" if row.good else "MISSED" for row in report.rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    print()
    for line, verdict in zip(lines, verdicts, strict=True):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)), verdict)
    print()
    for note in report.notes:
        print(f"- {note}")
    print(
        f"\n{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs; half of the queries have a filter"
    )
    for where, about in report.setups.items():
        signals = ", ".join(about["signals"])
        print(
            f"{where}: {about['library']}, Python {about['python']}; {about['setup']}; signals on: {signals}"
        )


def main() -> int:
    """Run the bars and print what they found; 0 when all were reached."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help=f"bars to run, separated by commas: {', '.join(BARS)}")
    parser.add_argument("--suite", action="store_true", help="also time the whole test suite")
    parser.add_argument("--queries", type=int, default=320, help="queries per search bar")
    parser.add_argument("--small", type=int, default=250, help="memories of the small search bar")
    parser.add_argument("--large", type=int, default=10_000, help="memories of the large search bar")
    parser.add_argument("--huge", type=int, default=100_000, help="memories of the huge search bar")
    parser.add_argument("--command", type=int, default=1_000, help="memories in the command line's store")
    parser.add_argument("--json", type=Path, help="write all figures to this file as well")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else [bar for bar in BARS if bar != "suite"]
    if options.suite and "suite" not in chosen:
        chosen.append("suite")
    if unknown := [bar for bar in chosen if bar not in BARS]:
        parser.error(f"unknown bars {unknown}; there are {', '.join(BARS)}")
    if {"search-small", "search-large"} & set(chosen):
        ensure_mem0()
    report = Report()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        for bar in chosen:
            BARS[bar](Bench(options, Path(folder), report))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    show(report)
    print(f"took {time.perf_counter() - began:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=2) + "\n")
    return 0 if all(row.good for row in report.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
