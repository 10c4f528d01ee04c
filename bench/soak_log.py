"""The log of one soak worker, outside the store: what it was about to do, and what it was told.

One JSON line each, forced to the disk before the worker goes on. An intent without an answer was under way when
the worker was killed: it may have happened or not, but not in part.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Op:
    """One call: who made it, on whom, when (monotonic seconds), and what came back; `end` is None if unknown."""

    id: str
    verb: str
    user: str
    args: Mapping[str, Any]
    start: float
    end: float | None = None
    ms: float = 0.0
    result: Any = None
    error: str | None = None
    replayed: bool = False

    @property
    def known(self) -> bool:
        """Whether its outcome was told."""
        return self.end is not None


@dataclass(frozen=True, slots=True)
class Log:
    """An append-only file of one worker."""

    path: Path
    openings: list[float] = field(default_factory=list)

    def write(self, **line: Any) -> None:
        """One line, on the disk when this returns."""
        data = json.dumps({**line, "t": time.monotonic()}, ensure_ascii=False).encode() + b"\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(handle, data)
            os.fsync(handle)
        finally:
            os.close(handle)

    def size(self) -> int:
        """Bytes so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def ops(self) -> list[Op]:
        """What was done so far, in order."""
        found: dict[str, Op] = {}
        for line in self._lines():
            if "opened" in line:
                self.openings.append(line["opened"])
            elif "op" in line:
                # A replayed intent goes on from its first start.
                found.setdefault(
                    line["op"], Op(line["op"], line["verb"], line["user"], line["args"], line["t"])
                )
            else:
                op = found[line["of"]]
                op.end, op.ms, op.result, op.error = line["t"], line["ms"], line["result"], line["error"]
                op.replayed = line["replayed"]
        return list(found.values())

    def _lines(self) -> Iterator[dict[str, Any]]:
        if self.path.exists():
            for line in self.path.read_bytes().splitlines():
                yield json.loads(line)
