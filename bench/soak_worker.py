"""One worker of the soak: writes, changes and searches until it is killed, and goes on where it was.

    soak_worker.py STORE LOG NUMBER SEED

It has users of its own, whom nobody else writes for, and users that all workers share. Every change carries the
number of its call: as actor's reason, as metadata, or as the name of the speaker.
"""

from __future__ import annotations

import inspect
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mnemic import DuplicateError, Memory, MnemicError, NotFoundError
from mnemic.models.fakes import HashEmbedder
from soak_log import Log, Op

SHARED, CROWD = "shared", "crowd"
SAID = [
    "allergic to kiwi 🥝",
    "爱喝茶",
    'says "hello"\nand goes',
    "держит пчёл",
    "o'clock; DROP TABLE memory",
]
POOL = [f"Everybody knows: {text} ({n})" for n in range(6) for text in SAID]
CITIES = ["Oslo", "Bergen", "Lisbon", "Kyoto", "Lima", "Tromsø", "Quito", "Riga"]
FACTS = 5
# How often each comes up.
WEIGHTS = {
    "add": 5,
    "facts": 2,
    "state": 2,
    "repeat": 2,
    "update": 4,
    "delete": 2,
    "restore": 1,
    "bulk": 2,
    "clear": 1,
    "share": 4,
    "share_update": 2,
    "share_delete": 2,
    "share_restore": 1,
    "move": 2,
    "crowd": 1,
    "search": 5,
    "share_search": 2,
}


class Worker:
    """Does one thing after another. What it knows of its memories it reads from its own log."""

    def __init__(self, memory: Memory, log: Log, number: int, seed: int) -> None:
        self.m = memory
        self.log = log
        self.name = f"w{number}"
        ops = log.ops()
        self.random = random.Random(f"{seed} {number} {len(ops)}")
        self.count = len(ops)
        self.live: dict[str, str] = {}
        self.deleted: list[str] = []
        for op in ops:
            self.learn(op)
        if ops and not ops[-1].known:
            self.resume(ops[-1])

    def run(self) -> None:
        """Work until killed."""
        verbs, weights = list(WEIGHTS), list(WEIGHTS.values())
        while True:
            getattr(self, f"do_{self.random.choices(verbs, weights)[0]}")()

    def resume(self, op: Op) -> None:
        """Make the call that was under way again, with its key; without keys its outcome stays unknown."""
        if takes_key(op.verb):
            self.perform(op, replayed=True)
            self.learn(op)

    def learn(self, op: Op) -> None:
        """What a call tells of the memories that only this worker changes."""
        uid = op.args.get("memory_id")
        if op.user != self.name:
            return
        if not op.known:
            self.live.pop(uid, None)
            if uid in self.deleted:
                self.deleted.remove(uid)
        elif op.error is None and op.verb == "add":
            self.live.update((item["id"], item["memory"]) for item in op.result if item["event"] == "ADD")
        elif op.error is None and op.verb == "update":
            self.live[uid] = op.args["text"]
        elif op.error is None and op.verb == "delete":
            self.live.pop(uid, None)
            self.deleted.append(uid)
        elif op.error is None and op.verb == "restore":
            self.deleted.remove(uid)
            # Learnt from the log after a kill, it may be of a memory that was deleted since.
            restored = self.m.get(uid)
            if restored is not None:
                self.live[uid] = restored["memory"]

    def call(self, verb: str, user: str, **args: Any) -> Op:
        """Log an intent, make the call, log its outcome."""
        self.count += 1
        op = Op(f"{self.name}-{self.count}", verb, user, args, time.monotonic())
        self.log.write(op=op.id, verb=verb, user=user, args=args)
        self.perform(op)
        self.learn(op)
        return op

    def perform(self, op: Op, *, replayed: bool = False) -> None:
        began = time.perf_counter()
        try:
            op.result = VERBS[op.verb](self.m, op)
        except (DuplicateError, NotFoundError) as fault:
            op.error = type(fault).__name__
        except MnemicError as fault:
            op.error = f"{type(fault).__name__}: {fault}"
        op.ms, op.end = round((time.perf_counter() - began) * 1000, 2), time.monotonic()
        self.log.write(of=op.id, ms=op.ms, result=op.result, error=op.error, replayed=replayed)

    def fail(self, what: str) -> None:
        self.log.write(op=f"{self.name}-!{self.count}", verb="fail", user=self.name, args={"what": what})

    # --- its own users ---

    def do_add(self) -> None:
        self.call("add", self.name, text=f"{self.random.choice(SAID)} no. {self.name}-{self.count}")

    def do_state(self) -> None:
        text = f"I repaired the bicycle number {self.count} of {self.name}."
        self.call("add", self.name, text=text, infer=True)

    def do_facts(self) -> None:
        facts = [f"{self.random.choice(SAID)} {i} of {self.name}-{self.count}" for i in range(FACTS)]
        self.call("add", self.name, facts=facts)

    def do_repeat(self) -> None:
        if self.live:
            uid, text = self.random.choice(list(self.live.items()))
            op = self.call("add", self.name, facts=[f"  {text.upper()} "])
            told = [(item["id"], item["event"]) for item in op.result or ()]
            # A fact and a message of the same words are two memories.
            if told != [(uid, "NONE")] and self.m.get(uid)["kind"] == "fact":
                self.fail(f"{op.id} repeats {uid} and was told {told}")

    def do_update(self) -> None:
        if self.live:
            uid = self.random.choice(list(self.live))
            self.call("update", self.name, memory_id=uid, text=f"changed by {self.name}-{self.count}")

    def do_delete(self) -> None:
        if self.live:
            self.call("delete", self.name, memory_id=self.random.choice(list(self.live)))

    def do_restore(self) -> None:
        if self.deleted:
            self.call("restore", self.name, memory_id=self.random.choice(self.deleted))

    def do_bulk(self) -> None:
        facts = [f"bulk {i} of {self.name}-{self.count}" for i in range(FACTS)]
        self.call("add", f"{self.name}-bulk", facts=facts)

    def do_clear(self) -> None:
        self.call("delete_all", f"{self.name}-bulk")

    def do_move(self) -> None:
        self.call("add", f"{self.name}-mover", text=f"I moved to {self.random.choice(CITIES)}.", infer=True)

    def do_search(self) -> None:
        if self.live:
            uid, text = self.random.choice(list(self.live.items())[-20:])
            op = self.call("search", self.name, query=text)
            if op.error is None and uid not in op.result:
                self.fail(f"{op.id} does not find {uid} ({text!r}) by its own words")

    # --- users of all workers ---

    def do_share(self) -> None:
        self.call("add", SHARED, text=self.random.choice(POOL))

    def do_crowd(self) -> None:
        self.call("add", CROWD, text=f"I moved to {self.random.choice(CITIES)}.", infer=True)

    def do_share_search(self) -> None:
        self.call("search", SHARED, query=self.random.choice(POOL))

    def do_share_update(self) -> None:
        uid = self._any_shared()
        if uid is not None:
            self.call("update", SHARED, memory_id=uid, text=self.random.choice(POOL))

    def do_share_delete(self) -> None:
        uid = self._any_shared()
        if uid is not None:
            self.call("delete", SHARED, memory_id=uid)

    def do_share_restore(self) -> None:
        uid = self._any_shared(show_deleted=True)
        if uid is not None:
            self.call("restore", SHARED, memory_id=uid)

    def _any_shared(self, **which: Any) -> str | None:
        found = self.m.get_all(user_id=SHARED, top_k=20, **which)["results"]
        return self.random.choice(found)["id"] if found else None


def takes_key(verb: str) -> bool:
    """Whether calls of the verb can be made again for the same effect."""
    return verb != "fail" and "idempotency_key" in inspect.signature(getattr(Memory, verb)).parameters


def _key(op: Op) -> dict[str, Any]:
    return {"idempotency_key": op.id} if takes_key(op.verb) else {}


def _add(m: Memory, op: Op) -> Any:
    args = op.args
    if "facts" in args:
        said: dict[str, Any] = {"facts": args["facts"]}
    else:
        message = {"role": "user", "name": op.id, "content": args["text"]}
        said = {"messages": [message], "infer": args.get("infer", False)}
    result = m.add(**said, user_id=op.user, metadata={"op": op.id}, **_key(op))
    return [
        {k: item[k] for k in ("id", "memory", "event", "supersedes") if k in item}
        for item in result["results"]
    ]


def _change(m: Memory, op: Op) -> Any:
    told = {"actor": op.id.split("-")[0], "reason": op.id, **_key(op)}
    return getattr(m, op.verb)(**op.args, user_id=op.user, **told)["event"]


def _delete_all(m: Memory, op: Op) -> Any:
    return m.delete_all(user_id=op.user, actor=op.id.split("-")[0], reason=op.id, **_key(op))["deleted"]


def _search(m: Memory, op: Op) -> Any:
    return [hit["id"] for hit in m.search(op.args["query"], user_id=op.user, top_k=10)["results"]]


VERBS: dict[str, Callable[[Memory, Op], Any]] = {
    "add": _add,
    "update": _change,
    "delete": _change,
    "restore": _change,
    "delete_all": _delete_all,
    "search": _search,
}


def main() -> None:
    """Open the store and work."""
    store, path, number, seed = sys.argv[1:]
    log = Log(Path(path))
    began = time.perf_counter()
    memory = Memory(store, embedder=HashEmbedder())
    log.write(opened=time.perf_counter() - began)
    Worker(memory, log, int(number), int(seed)).run()


if __name__ == "__main__":
    main()
