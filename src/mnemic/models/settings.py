"""What every model adapter is handed by whoever opens it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class RunBlocking(Protocol):
    """Runs a blocking function off the event loop and gives back an awaitable of its result."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class OnLoop(Protocol):
    """Awaits what needs a running event loop, wherever the caller runs."""

    def __call__(self, work: Coroutine[Any, Any, T], /) -> Awaitable[T]: ...


async def await_here(work: Coroutine[Any, Any, T], /) -> T:
    """Await `work` in the running loop."""
    return await work


async def run_in_thread(work: Callable[[], T], /) -> T:
    """Run `work` in the running loop's default executor, with the caller's context variables."""
    import asyncio

    return await asyncio.to_thread(work)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How adapters run.

    `run_blocking` carries CPU work and users' synchronous calls off the loop; `on_loop` is around everything
    that awaits sockets or users' coroutines, since a blocking caller steps through an adapter without a loop.
    """

    run_blocking: RunBlocking = run_in_thread
    on_loop: OnLoop = await_here


def name_of(source: object) -> str:
    """A user's own model by its `name`, else by where its code comes from: stores and results tell it so."""
    name = getattr(source, "name", None)
    if isinstance(name, str) and name:
        return name
    kind: Any = source if inspect.isroutine(source) else type(source)
    return f"custom:{getattr(kind, '__qualname__', type(kind).__qualname__)}"
