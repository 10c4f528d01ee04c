"""A fork waits until no thread of the process is inside SQLite.

SQLite remembers per process which of its connections holds a lock, and guards its memory with locks of its
own; a child forked in the middle of a transaction would wait for a thread that does not exist there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Counts the threads inside; shut, it lets no more in and waits for them to leave.

    `renewing` is for making anew what was brought through a fork, which one thread does for all.
    """

    def __init__(self) -> None:
        self.renewing = threading.Lock()
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._is_shut = False

    def enter(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_shut)
            self._inside += 1

    def leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def shut(self, timeout: float) -> None:
        """Let nobody in until `open`, and wait for those inside, at most `timeout` seconds."""
        self._changed.acquire()
        self._is_shut = True
        self._changed.wait_for(lambda: self._inside == 0, timeout)

    def open(self) -> None:
        """Let threads in again; called by the thread that shut the gate."""
        self._is_shut = False
        self._changed.notify_all()
        self._changed.release()


_gate = Gate()
LONGEST_WAIT = 30.0


@contextmanager
def inside() -> Iterator[None]:
    """Where a thread works with SQLite."""
    _gate.enter()
    try:
        yield
    finally:
        _gate.leave()


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
