"""A fork waits until no thread of the process is inside SQLite.

SQLite remembers per process which of its connections holds a lock, and guards its memory with locks of its
own; a child forked in the middle of a transaction would wait for a thread that does not exist there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_WAIT = 30.0
LOOK_SECONDS = 0.0005


class Gate:
    """Knows who is inside; shut, it lets no more in and waits for them to leave.

    `renewing` is for making anew what was brought through a fork, which one thread does for all.
    """

    def __init__(self) -> None:
        self.renewing = threading.Lock()
        self.door = threading.Lock()
        self.inside: set[object] = set()

    def shut(self, timeout: float) -> None:
        """Let nobody in until `open`, and wait for those inside, at most `timeout` seconds."""
        self.door.acquire()
        until = time.monotonic() + timeout
        while self.inside and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)

    def open(self) -> None:
        """Let threads in again; called by the thread that shut the gate."""
        self.door.release()


_gate = Gate()


@contextmanager
def inside() -> Iterator[None]:
    """Where a thread works with SQLite."""
    gate, one = _gate, object()
    # A lock taken by `with` and a call of a built-in type are the steps between which Ctrl-C cannot fall;
    # a `Condition` here could be left locked for ever.
    try:
        with gate.door:
            gate.inside.add(one)
        yield
    finally:
        gate.inside.discard(one)


@contextmanager
def emptied() -> Iterator[None]:
    """Where no other thread of this process works with SQLite: those inside have left, new ones wait."""
    gate = _gate
    gate.shut(LONGEST_WAIT)
    try:
        yield
    finally:
        gate.open()


def renewing() -> threading.Lock:
    """This process's own lock for making anew what was brought through a fork."""
    return _gate.renewing


def _in_child() -> None:
    # Threads that wait at the gate do not exist in the child, nor do those that a timed-out wait left inside.
    global _gate
    _gate = Gate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _gate.shut(LONGEST_WAIT),
        after_in_parent=lambda: _gate.open(),
        after_in_child=_in_child,
    )
