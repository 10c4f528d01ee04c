"""Moving a live store to another embedder, while four threads search it and one writes to it.

    python bench/reembed.py [--memories 20000] [--store PATH|URL] [--from hash-64] [--to hash-96] [--together]

The process that moves is killed with SIGKILL in the middle and started again. Searchers and writer run in a process
of their own, which keeps the old embedder until the store refuses it and then opens the store with the new one; with
--together all run in the process that is killed. Every search is for the whole text of a memory, which must be among
its results. Afterwards the store is checked, and its ids, texts, times and histories must be as before. The exit
status is 0 when all that holds. Embedders: hash-DIMS (a fake that is fast), or any that mnemic knows by name.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reembed_worker import SEARCHERS, name_of, opened, text_of

WORKER = Path(__file__).with_name("reembed_worker.py")
OWNERS, PER_ADD = 20, 500
# How much of a move is done when it is killed.
KILLED_AT = 0.4


def main() -> None:
    given = _options()
    with tempfile.TemporaryDirectory(prefix="mnemic-reembed-") as folder:
        given.store = given.store or str(Path(folder) / "store.db")
        began = time.perf_counter()
        before = fill(given.store, given.old, given.memories // OWNERS)
        print(
            f"{given.memories} memories of {OWNERS} owners in {time.perf_counter() - began:.0f} s", flush=True
        )
        seen = together(given) if given.together else apart(given)
        sound = told(seen) and verified(given.store, given.new, before, seen)
    sys.exit(not sound)


def fill(store: str, embedder: str, each: int) -> dict[str, list[bytes]]:
    """Fill a store; what it exports of each owner."""
    with opened(store, embedder) as m:
        for owner in range(OWNERS):
            texts = [text_of(owner, number) for number in range(each)]
            for at in range(0, each, PER_ADD):
                m.add(facts=texts[at : at + PER_ADD], user_id=name_of(owner))
    return exported(store, embedder)


def exported(store: str, embedder: str) -> dict[str, list[bytes]]:
    """All that the store exports of each owner, without the first line, which has the time of the export."""
    found = {}
    with opened(store, embedder) as m:
        for owner in range(OWNERS):
            lines = io.BytesIO()
            m.export_to(lines, user_id=name_of(owner))
            found[name_of(owner)] = lines.getvalue().splitlines()[1:]
    return found


def apart(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Users in one process; a move in another, killed and resumed."""
    users = started("use", given)
    next(answers(users))
    killed_midway(given, "move")
    for answer in answers(started("move", given)):
        say_moved(answer)
    time.sleep(2)
    said, _ = users.communicate()
    return [json.loads(said.splitlines()[-1])]


def together(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Users and the move in one process, killed and started again."""
    first = killed_midway(given, "both")
    answer: dict[str, Any] = {}
    for answer in answers(started("both", given)):
        say_moved(answer)
    return [first, answer]


def say_moved(answer: dict[str, Any]) -> None:
    if "moved" in answer:
        print(
            f"resumed after {answer['waited']:.0f} s for the killed one's lease: {answer['moved']}",
            flush=True,
        )


def killed_midway(given: argparse.Namespace, role: str) -> dict[str, Any]:
    """Begin a move and kill its process in the middle; the last it said."""
    process = started(role, given)
    answer: dict[str, Any] = {}
    for answer in answers(process):
        if answer.get("what") == "owners embedded" and answer["done"] >= KILLED_AT * answer["total"]:
            process.kill()
            process.wait()
            print(f"killed with {answer['done']} of {answer['total']} owners embedded", flush=True)
            return answer
    raise SystemExit("the move ended before it could be killed")


def told(parts: list[dict[str, Any]]) -> bool:
    """Print what the users saw; whether nothing went wrong."""
    total = {name: sum(part[name] for part in parts) for name in ("searches", "missing", "writes", "errors")}
    most = {name: max(part[name] for part in parts) for name in ("longest_search", "longest_write", "switch")}
    print(f"searches by {SEARCHERS} threads: {total['searches']}; missing hits: {total['missing']}")
    print(f"writes by 1 thread: {total['writes']}; errors: {total['errors']}")
    print(
        f"longest search: {most['longest_search'] * 1000:.0f} ms; longest write: {most['longest_write'] * 1000:.0f} ms"
    )
    if most["switch"]:
        print(
            f"the write during which the embedder was refused and the store opened anew: {most['switch'] * 1000:.0f} ms"
        )
    for part in parts:
        for fault in part["faults"]:
            print(f"  {fault}")
    return not total["missing"] and not total["errors"]


def verified(store: str, new: str, before: dict[str, list[bytes]], seen: list[dict[str, Any]]) -> bool:
    """Whether the store is sound, all in the new space, and otherwise as before."""
    changed = [name for name, lines in exported(store, new).items() if lines != before[name]]
    with opened(store, new) as m:
        report = m.check()
        written = m.get_all(user_id="writer", top_k=1)["total"]
    enough = written >= sum(part["writes"] for part in seen)
    print(f"sound: {report['sound']}; owners changed otherwise: {len(changed)}; writes lost: {not enough}")
    return bool(report["sound"]) and not changed and enough


def started(role: str, given: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), role, given.store, given.old, given.new]
    command += [str(OWNERS), str(given.memories // OWNERS)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answers(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """What a process says, line by line. Exits where it fails by itself."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)
    if process.wait():
        raise SystemExit(f"a process failed with {process.returncode}")


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--memories", type=int, default=20_000)
    options.add_argument("--store", help="an empty file or schema; a temporary file if not given")
    options.add_argument("--from", dest="old", default="hash-64")
    options.add_argument("--to", dest="new", default="hash-96")
    options.add_argument("--together", action="store_true")
    return options.parse_args()


if __name__ == "__main__":
    main()
