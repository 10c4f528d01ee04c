"""One process of `reembed.py`: uses a store, moves it to another embedder, or does both; prints JSON lines.

reembed_worker.py ROLE STORE OLD NEW OWNERS EACH      (ROLE: use, move or both)
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any
from uuid import uuid4

from mnemic import EmbedderMismatchError, Memory, MnemicError, StoreBusyError
from mnemic.models.fakes import HashEmbedder

SEARCHERS = 4
# Between two writes, so that they spread over the whole move; and how long is searched after the switch.
WRITE_PAUSE, AFTERWARDS = 0.02, 2.0
# For how long a move that was killed may keep another from beginning, and some time to spare.
LEASE = 60.0


@dataclass(slots=True)
class Seen:
    """What the users of a store saw: counts, and the longest of each in seconds.

    switch: between the last write with the old embedder and the first with the new one. faults: what went wrong.
    """

    searches: int = 0
    missing: int = 0
    writes: int = 0
    longest_search: float = 0.0
    longest_write: float = 0.0
    switch: float = 0.0
    errors: int = 0
    faults: tuple[str, ...] = ()


class Users:
    """Threads that search and one that writes, with the old embedder until that is refused, then with the new one."""

    def __init__(self, store: str, old: str, new: str, owners: int, each: int) -> None:
        self.seen = Seen()
        self.memory = opened(store, old)
        self._store, self._new, self._owners, self._each = store, new, owners, each
        self._lock = threading.Lock()
        self._over = threading.Event()
        works = [self._search] * SEARCHERS + [self._write]
        self._threads = [
            threading.Thread(target=self._run, args=(work, random.Random(n))) for n, work in enumerate(works)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()
        while self.seen.searches < SEARCHERS:
            time.sleep(0.01)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self.memory.close()

    def _run(self, work: Callable[[random.Random], None], rng: random.Random) -> None:
        while not self._over.is_set():
            try:
                work(rng)
            except MnemicError as fault:
                with self._lock:
                    self.seen.errors += 1
                    self.seen.faults = (*self.seen.faults[:4], repr(fault))

    def _search(self, rng: random.Random) -> None:
        owner, number = rng.randrange(self._owners), rng.randrange(self._each)
        text = text_of(owner, number)
        began = perf_counter()
        result = self._served(lambda m: m.search(text, user_id=name_of(owner)))
        took = perf_counter() - began
        with self._lock:
            self.seen.searches += 1
            self.seen.longest_search = max(self.seen.longest_search, took)
            self.seen.missing += text not in [hit["memory"] for hit in result["results"]]

    def _write(self, _: random.Random) -> None:
        before, began = self.memory, perf_counter()
        text = f"Written meanwhile: {uuid4()} 同时写入"
        self._served(lambda m: m.add(facts=[text], user_id="writer"))
        took = perf_counter() - began
        self.seen.writes += 1
        self.seen.longest_write = max(self.seen.longest_write, took)
        if before is not self.memory:
            self.seen.switch = took
        time.sleep(WRITE_PAUSE)

    def _served(self, call: Callable[[Memory], Any]) -> Any:
        """The answer to a call; where the old embedder is refused, from a memory opened with the new one."""
        memory = self.memory
        try:
            return call(memory)
        except EmbedderMismatchError:
            with self._lock:
                if self.memory is memory:
                    self.memory = opened(self._store, self._new)
            return call(self.memory)


def opened(store: str, embedder: str) -> Memory:
    return Memory(
        store, embedder=HashEmbedder(int(embedder[5:])) if embedder.startswith("hash-") else embedder
    )


def name_of(owner: int) -> str:
    return f"owner-{owner}"


def text_of(owner: int, number: int) -> str:
    """One of the texts that every search must find, all different."""
    rng = random.Random(f"{owner} {number}")
    what, end = (
        rng.choice(["tea", "бассейн", "花生", "موسيقى", "राग", "登山"]),
        rng.choice(["yes", "нет", "好"]),
    )
    return f"Note {number} of {name_of(owner)} on {what}, {rng.getrandbits(40):x}: {end} 🐝"


def tell(**found: Any) -> None:
    print(json.dumps(found), flush=True)


def move(memory: Memory, new: str, seen: Seen) -> None:
    embedder = HashEmbedder(int(new[5:])) if new.startswith("hash-") else new

    def progress(what: str, done: int, total: int) -> None:
        tell(what=what, done=done, total=total, **asdict(seen))

    began = perf_counter()
    while True:
        try:
            moved = memory.reembed(embedder, progress=progress)
            break
        except StoreBusyError:
            # One who was killed counts as alive until his lease is over.
            if perf_counter() - began > LEASE:
                raise
            time.sleep(0.2)
    tell(moved=moved, waited=perf_counter() - began - moved["ms"] / 1000, **asdict(seen))


def main() -> None:
    role, store, old, new, owners, each = sys.argv[1:]
    if role == "move":
        with opened(store, old) as memory:
            move(memory, new, Seen())
        return
    users = Users(store, old, new, int(owners), int(each))
    users.start()
    tell(started=True)
    if role == "both":
        move(users.memory, new, users.seen)
        time.sleep(AFTERWARDS)
    else:
        sys.stdin.read()
    users.stop()
    tell(**asdict(users.seen))


if __name__ == "__main__":
    main()
