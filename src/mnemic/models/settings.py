"""What every model adapter is handed by whoever opens it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


class RunBlocking(Protocol):
    """Runs a blocking function off the event loop and gives back an awaitable of its result."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


async def run_in_thread(work: Callable[[], T], /) -> T:
    """Run `work` in the running loop's default executor, with the caller's context variables."""
    import asyncio

    return await asyncio.to_thread(work)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How adapters run: `run_blocking` carries CPU work and users' synchronous calls off the loop."""

    run_blocking: RunBlocking = run_in_thread
