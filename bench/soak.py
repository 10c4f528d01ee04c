"""A soak: many processes on one store, killed at random, and afterwards a reckoning of what they were told.

    python bench/soak.py [--minutes 2] [--processes 8] [--store PATH|URL] [--seed 4]

Workers (`soak_worker.py`) write, change, delete and search; each logs outside the store what it is about to do and
what it was told. Now and then one is killed with SIGKILL and started again; at the end all are. Then the store is
opened, and everything that was acknowledged must be there, once, and nothing in part (`soak_verify.py`). The exit
status is 0 when that holds.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median, quantiles

from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
from soak_log import Log, Op
from soak_verify import Verdict, verify

WORKER = Path(__file__).with_name("soak_worker.py")
SHOWN = 10


class Workers:
    """The processes of a soak, and how often they were killed."""

    def __init__(self, store: str, folder: Path, count: int, seed: int) -> None:
        self.logs = [Log(folder / f"worker{n}.jsonl") for n in range(count)]
        self.kills = 0
        self.crashes: list[str] = []
        self._store, self._folder, self._seed = store, folder, seed
        self._sizes = [0] * count
        self._running = [self._start(n) for n in range(count)]

    def _start(self, n: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(WORKER), self._store, str(self.logs[n].path), str(n), str(self._seed)]
        self._sizes[n] = self.logs[n].size()
        with (self._folder / f"worker{n}.err").open("ab") as said:
            return subprocess.Popen(command, stderr=said)

    def done(self, n: int) -> int:
        """How much one has logged since it was started, in bytes."""
        return self.logs[n].size() - self._sizes[n]

    def kill(self, n: int) -> None:
        """Kill one with SIGKILL; one that has ended by itself crashed."""
        process = self._running[n]
        if process.poll() is not None:
            said = (self._folder / f"worker{n}.err").read_text(errors="replace")
            self.crashes.append(f"worker {n} ended by itself with {process.returncode}: {said[-1500:]}")
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.kills += 1

    def restart(self, n: int) -> None:
        """Kill one and start it again."""
        self.kill(n)
        self._running[n] = self._start(n)

    def kill_all(self) -> None:
        """Kill all, as a machine that fails would."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGSTOP)
        for n in range(len(self._running)):
            self.kill(n)


def soak(options: argparse.Namespace, folder: Path) -> bool:
    """Run it, verify, print the figures. Returns whether all is as it should be."""
    path = None if "://" in options.store else Path(options.store)
    workers = Workers(options.store, folder, options.processes, options.seed)
    chance = random.Random(options.seed)
    began = time.monotonic()
    until = began + options.minutes * 60
    largest = 0
    try:
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, chance.uniform(0.2, 1.8) * options.every))
            # Some while they start; most once they have done something, however busy the machine is.
            victim, least = chance.randrange(options.processes), chance.choice([0, 500, 2_000, 8_000])
            while workers.done(victim) < least and time.monotonic() < until:
                time.sleep(0.005)
            workers.restart(victim)
            if workers.kills == options.kills:
                break
            largest = max(largest, _log_bytes(path))
    finally:
        workers.kill_all()
    seconds = time.monotonic() - began
    ops = [op for log in workers.logs for op in log.ops()]
    began = time.perf_counter()
    with Memory(options.store, embedder=HashEmbedder()) as m:
        opening = time.perf_counter() - began
        verdict = verify(m, ops, path)
    openings = [took for log in workers.logs for took in log.openings]
    slowest = max([*openings, opening])
    print(
        f"kills: {workers.kills}; opening after the last: {opening:.2f} s, at most {slowest:.2f} s under load"
    )
    if path is not None:
        print(f"write-ahead log: at most {largest / 1e6:.1f} MB; store: {path.stat().st_size / 1e6:.1f} MB")
    _report(ops, seconds, verdict)
    for crash in workers.crashes:
        print(f"CRASH {crash}")
    return verdict.sound and not workers.crashes and slowest < options.open_within


def _log_bytes(path: Path | None) -> int:
    log = None if path is None else path.with_name(path.name + "-wal")
    return log.stat().st_size if log is not None and log.exists() else 0


def _report(ops: list[Op], seconds: float, verdict: Verdict) -> None:
    by_verb: dict[str, list[Op]] = defaultdict(list)
    for op in ops:
        if op.known:
            by_verb[op.verb].append(op)
    for verb, done in sorted(by_verb.items()):
        took = sorted(op.ms for op in done)
        p99 = quantiles(took, n=100)[98] if len(took) > 1 else took[0]
        refused = sum(op.error is not None for op in done)
        print(
            f"{verb:10} {len(done):7} ({len(done) / seconds:.1f}/s), {refused} refused;"
            f" ms: p50 {median(took):.1f}, p99 {p99:.0f}, max {took[-1]:.0f}"
        )
    replayed = sum(op.replayed for op in ops)
    print(
        f"memories: {verdict.memories}; messages: {verdict.messages}; calls made again after a kill: {replayed};"
        f" under way and left unknown: {verdict.unknown}, of which {verdict.unknown_happened} had happened"
    )
    print(
        f"lost: {len(verdict.lost)}; duplicates: {len(verdict.duplicates)}; otherwise wrong: {len(verdict.wrong)}"
    )
    for kind in ("lost", "duplicates", "wrong"):
        for told in getattr(verdict, kind)[:SHOWN]:
            print(f"  {kind}: {told}")


def _options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--store", help="a file or a URL; a file in a scratch folder if not given")
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between kills, on average")
    parser.add_argument("--kills", type=int, help="stop after so many, if the time is not up before")
    parser.add_argument("--open-within", type=float, default=5.0, help="most seconds that opening may take")
    return parser.parse_args(arguments)


def main() -> int:
    """Run with the options of the command line."""
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        options.store = options.store or str(Path(scratch) / "soak.db")
        return 0 if soak(options, Path(scratch)) else 1


if __name__ == "__main__":
    sys.exit(main())
