"""What a soak's store must hold, given what its workers were told. Through the public API, from outside."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mnemic import Memory
from soak_log import Op
from soak_worker import FACTS

CHANGES = {"UPDATE": "update", "DELETE": "delete", "RESTORE": "restore"}
PAGE = 500


@dataclass(slots=True)
class Verdict:
    """What was found wrong, in words, and how much was looked at."""

    lost: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    memories: int = 0
    messages: int = 0
    unknown: int = 0
    unknown_happened: int = 0

    @property
    def sound(self) -> bool:
        """Whether nothing was found wrong."""
        return not (self.lost or self.duplicates or self.wrong)


def verify(m: Memory, ops: Sequence[Op], path: Path | None) -> Verdict:
    """Compare a store with the logs of all its workers."""
    verdict = Verdict(unknown=sum(not op.known and op.verb not in ("search", "fail") for op in ops))
    by_user: dict[str, list[Op]] = defaultdict(list)
    for op in ops:
        by_user[op.user].append(op)
        if op.verb == "fail":
            verdict.wrong.append(op.args["what"])
        elif op.error is not None and op.error not in _allowed(op):
            verdict.wrong.append(f"{op.id} {op.verb}: {op.error}")
    for user, theirs in by_user.items():
        _User(m, user, theirs, verdict).check()
    verdict.wrong.extend(_file_faults(m, path))
    return verdict


def _allowed(op: Op) -> set[str]:
    """The errors that a call may meet: on what others change too, or when it is made a second time."""
    return {"NotFoundError", "DuplicateError"} if op.user == "shared" and op.verb != "add" else set()


def _file_faults(m: Memory, path: Path | None) -> Iterator[str]:
    report = m.check(full=True)
    if not report["sound"]:
        yield f"check(): {report['faults'][:5]}"
    if path is not None:
        with closing(sqlite3.connect(path)) as raw:
            for pragma, right in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
                found = raw.execute(f"PRAGMA {pragma}").fetchall()
                if found != right:
                    yield f"{pragma}: {found[:5]}"


class _User:
    """One user's memories against the calls that were made for them."""

    def __init__(self, m: Memory, user: str, ops: Sequence[Op], verdict: Verdict) -> None:
        self.m = m
        self.user = user
        self.ops = {op.id: op for op in ops}
        self.verdict = verdict
        self.items = {item["id"]: item for item in _pages(m.get_all, user)}
        self.histories = {uid: m.history(uid) for uid in self.items}
        verdict.memories += len(self.items)

    def check(self) -> None:
        self._messages()
        self._adds()
        self._changes()
        for uid, entries in self.histories.items():
            self._history(uid, entries)
        self._twins()
        self._residence()

    def _messages(self) -> None:
        said = list(_pages(self.m.messages, self.user, limit=True))
        self.verdict.messages += len(said)
        times = Counter((message["name"], message["content"]) for message in said)
        for op in self.ops.values():
            if op.verb == "add" and "text" in op.args:
                self._times(op, times.pop((op.id, op.args["text"]), 0), 1, "its message")
        for (name, content), n in times.items():
            self.verdict.wrong.append(f"{n} messages of nobody: {name} {content!r}")

    def _times(self, op: Op, found: int, wanted: int, what: str) -> None:
        """Once if acknowledged, once or not at all if unknown, never if refused."""
        if op.error is not None:
            wanted = 0
        if not op.known and found in (0, wanted):
            self.verdict.unknown_happened += found > 0 and what != "its facts"
        elif found < wanted:
            self.verdict.lost.append(f"{op.id} {op.verb}: {what} is there {found} times, not {wanted}")
        elif found > wanted:
            self.verdict.duplicates.append(f"{op.id} {op.verb}: {what} is there {found} times, not {wanted}")

    def _adds(self) -> None:
        made: dict[str, dict[str, str]] = defaultdict(dict)
        for uid, entries in self.histories.items():
            first = entries[0]
            if first["event"] != "ADD" or first["old_memory"] is not None:
                self.verdict.wrong.append(f"{uid} does not begin with ADD")
            made[(first["new_metadata"] or {}).get("op", "?")][uid] = first["new_memory"]
        for op in self.ops.values():
            if op.verb != "add":
                continue
            found = made.pop(op.id, {})
            if not op.known:
                if (
                    "facts" in op.args
                    and len(found) not in (0, len(op.args["facts"]))
                    and len(op.args["facts"]) > 1
                ):
                    self.verdict.wrong.append(f"{op.id}: {len(found)} of {FACTS} facts, half an add")
                continue
            told = {item["id"]: item["memory"] for item in op.result or () if item["event"] == "ADD"}
            if told != found:
                self.verdict.lost.extend(
                    f"{op.id}: {uid} {told[uid]!r}" for uid in told.keys() - found.keys()
                )
                self.verdict.duplicates.extend(f"{op.id}: {uid} too" for uid in found.keys() - told.keys())
                self.verdict.wrong.extend(
                    f"{op.id}: {uid} says {found[uid]!r}"
                    for uid in told.keys() & found.keys()
                    if told[uid] != found[uid]
                )
            for item in op.result or ():
                if item["id"] not in self.items:
                    self.verdict.lost.append(f"{op.id}: {item['id']} ({item['event']})")
        self.verdict.wrong.extend(f"memories of nobody: {op} {uids}" for op, uids in made.items())

    def _changes(self) -> None:
        times: Counter[tuple[str, str, str]] = Counter()
        cleared: Counter[str] = Counter()
        for uid, entries in self.histories.items():
            for entry in entries[1:]:
                op = self.ops.get(entry["reason"] or "")
                if op is not None and op.verb == "delete_all":
                    cleared[op.id] += 1
                elif entry["event"] in CHANGES:
                    times[entry["reason"] or "?", CHANGES[entry["event"]], uid] += 1
        for op in self.ops.values():
            if op.verb in CHANGES.values():
                wanted = 0 if op.result == "NONE" else 1
                self._times(op, times.pop((op.id, op.verb, op.args["memory_id"]), 0), wanted, "its change")
            elif op.verb == "delete_all" and op.known and cleared[op.id] != op.result:
                self.verdict.lost.append(f"{op.id}: told {op.result} deleted, {cleared[op.id]} are")
        self.verdict.wrong.extend(f"changes of nobody: {key}" for key in times)

    def _history(self, uid: str, entries: Sequence[dict[str, Any]]) -> None:
        latest_start, text, at = 0.0, None, ""
        for entry in entries:
            op = self.ops.get(entry["reason"] or (entry["new_metadata"] or {}).get("op", ""))
            if entry["old_memory"] != text and entry["event"] != "RESTORE":
                self.verdict.wrong.append(
                    f"{uid}: {entry['event']} of {entry['old_memory']!r}, but it said {text!r}"
                )
            text = entry["new_memory"]
            if entry["updated_at"] < at:
                self.verdict.wrong.append(f"{uid}: its history goes back in time")
            at = entry["updated_at"]
            if op is None or entry["event"] == "SUPERSEDE":
                continue
            if op.end is not None and not op.replayed and op.end < latest_start:
                self.verdict.wrong.append(
                    f"{uid}: {op.id} was over before what precedes it in the history began"
                )
            latest_start = max(latest_start, op.start)
            if op.verb == "update" and entry["new_memory"] != op.args["text"]:
                self.verdict.wrong.append(f"{uid}: {op.id} says {entry['new_memory']!r}")
        item = self.items[uid]
        is_deleted = entries[-1]["event"] == "DELETE"
        if is_deleted != (item.get("deleted_at") is not None) or (not is_deleted and item["memory"] != text):
            self.verdict.lost.append(f"{uid}: listed as {item['memory']!r}, its history ends with {text!r}")
        got = self.m.get(uid)
        if (got is None) != is_deleted or (got is not None and got["memory"] != text):
            self.verdict.lost.append(
                f"{uid}: get() gives {got and got['memory']!r}, its history ends with {text!r}"
            )

    def _live(self) -> Iterator[dict[str, Any]]:
        for item in self.items.values():
            if item.get("deleted_at") is None and item["superseded_by"] is None:
                yield item

    def _twins(self) -> None:
        live = Counter((item["kind"], " ".join(item["memory"].casefold().split())) for item in self._live())
        self.verdict.duplicates.extend(
            f"{self.user}: {key} lives {n} times" for key, n in live.items() if n > 1
        )

    def _residence(self) -> None:
        """Who moves lives in one place: the newest, where the moves came one after another."""
        moves = [
            op
            for op in self.ops.values()
            if op.verb == "add" and op.args.get("text", "").startswith("I moved")
        ]
        homes = [item["memory"] for item in self._live() if item["memory"].startswith("I moved")]
        if any(op.known for op in moves) and len(homes) != 1:
            self.verdict.wrong.append(f"{self.user} lives in {len(homes)} places: {homes}")
        if moves and self.user != "crowd" and moves[-1].known and homes != [moves[-1].args["text"]]:
            self.verdict.wrong.append(
                f"{self.user} moved last with {moves[-1].args['text']!r}, but lives: {homes}"
            )


def _pages(verb: Any, user: str, *, limit: bool = False) -> Iterator[dict[str, Any]]:
    options = {"limit": PAGE} if limit else {"top_k": PAGE, "show_deleted": True, "include_superseded": True}
    cursor = None
    while True:
        page = verb(user_id=user, cursor=cursor, **options)
        yield from page["results"]
        cursor = page["next"]
        if cursor is None:
            return
