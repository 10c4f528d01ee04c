"""Where everything runs: one private event loop per process and a small worker pool, started on first use.

`Memory` blocks on the loop, `AsyncMemory` awaits it from any loop. Blocking work (store transactions,
tokenising, embedding) runs in the pool, so the loop is never held up. A forked child gets its own.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from .errors import MnemicError

T = TypeVar("T")

WORKERS = 8


# Set for work in a pool whose caller is gone: a thread cannot be stopped, but it can look.
_cancelled: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("cancelled", default=None)


# Set where a coroutine is stepped through by a thread that waits for it anyway.
_blocking: contextvars.ContextVar[bool] = contextvars.ContextVar("blocking", default=False)


def give_up_if_cancelled() -> None:
    """Raise `CancelledError` in pool work whose caller was cancelled meanwhile."""
    cancelled = _cancelled.get()
    if cancelled is not None and cancelled.is_set():
        raise asyncio.CancelledError


class Runtime:
    """A running loop and pool. Use `current()`; there is one per process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self.pool = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="mnemic-worker")
        # Users' models may call a blocking Memory themselves: were they to fill the workers, it would never end.
        self.models = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="mnemic-model")
        self._thread = threading.Thread(target=self.loop.run_forever, name="mnemic-loop", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop with the caller's context variables."""
        context = contextvars.copy_context()
        context.run(_blocking.set, False)
        return context.run(asyncio.run_coroutine_threadsafe, work, self.loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for it, in the calling thread as far as nothing has to be awaited.

        The thread would only sleep while a worker does its work, so it does the work itself: `off_loop` calls
        straight through, and only what is really awaited (`on_loop`) goes to the loop. Changing threads
        three times a call costs more than a search of a small store.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise MnemicError("A blocking Memory call inside mnemic's own loop; use AsyncMemory there.")
        return contextvars.copy_context().run(_step_through, work)

    async def off_loop(self, work: Callable[[], T], pool: ThreadPoolExecutor) -> T:
        """Do blocking work off the loop, with the caller's context variables, and wait for it."""
        if _blocking.get():
            return work()
        context, cancelled = contextvars.copy_context(), threading.Event()
        context.run(_cancelled.set, cancelled)
        try:
            return await self.loop.run_in_executor(pool, context.run, work)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def aside(self, work: Callable[[], object]) -> None:
        """Do work in the pool for which nobody waits; not at all when the process is ending."""
        with suppress(RuntimeError):
            self.pool.submit(work)

    async def on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Await what needs an event loop, such as a model behind a network."""
        if not _blocking.get():
            return await work
        future = self.submit(work)
        try:
            return future.result()
        finally:
            future.cancel()


def _step_through(work: Coroutine[Any, Any, T]) -> T:
    _blocking.set(True)
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    except KeyboardInterrupt as stop:
        # It may have fallen between the entry of a `with` and its block. What was entered hangs on the frames of
        # this call and is let go with them: now, not when somebody forgets the traceback.
        traceback.clear_frames(stop.__traceback__)
        raise
    work.close()
    raise MnemicError("A blocking call awaited something without `on_loop`; this is a fault in mnemic.")


_lock = threading.Lock()
_current: Runtime | None = None


def current() -> Runtime:
    """This process's runtime, started on first use and again after a fork."""
    global _current
    found = _current
    if found is None or found.pid != os.getpid():
        with _lock:
            found = _current
            if found is None or found.pid != os.getpid():
                found = _current = Runtime()
    return found


def _after_fork() -> None:
    # The parent's lock may have been held by a thread that does not exist in the child.
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
