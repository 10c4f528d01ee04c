"""`AsyncMemory`: the awaiting face, usable from any event loop. One line per verb, the same as `Memory`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from . import runtime
from .engine import Engine
from .face import Face, check_keywords

P = ParamSpec("P")
R = TypeVar("R")


def _awaiting(
    verb: Callable[Concatenate[Engine, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """The verb as a coroutine method that any event loop may await."""

    async def method(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_keywords(verb, kwargs)
        return await asyncio.wrap_future(runtime.current().submit(verb(self._engine, *args, **kwargs)))

    functools.update_wrapper(method, verb)
    return method


class AsyncMemory(Face):
    """`Memory` for async code: same arguments, same verbs, each awaited.

    The store is opened by the first verb (or `async with`), so making an instance never blocks a loop.
    Cancelling a call before its commit stores nothing; a commit under way finishes.
    """

    def __init__(self, store: Any = None, **settings: Any) -> None:
        self._engine = Engine.configured(store, settings)

    open = _awaiting(Engine.open)
    add = _awaiting(Engine.add)
    search = _awaiting(Engine.search)
    why = _awaiting(Engine.why)
    get = _awaiting(Engine.get)
    get_all = _awaiting(Engine.get_all)
    trash = _awaiting(Engine.trash)
    update = _awaiting(Engine.update)
    delete = _awaiting(Engine.delete)
    restore = _awaiting(Engine.restore)
    delete_all = _awaiting(Engine.delete_all)
    history = _awaiting(Engine.history)
    undo = _awaiting(Engine.undo)
    timeline = _awaiting(Engine.timeline)
    diff = _awaiting(Engine.diff)
    messages = _awaiting(Engine.messages)
    stats = _awaiting(Engine.stats)
    purge = _awaiting(Engine.purge)
    log = _awaiting(Engine.log)
    trace = _awaiting(Engine.trace)
    replay = _awaiting(Engine.replay)
    check = _awaiting(Engine.check)
    reembed = _awaiting(Engine.reembed)
    reset = _awaiting(Engine.reset)
    export_to = _awaiting(Engine.export_to)
    import_from = _awaiting(Engine.import_from)
    import_from_mem0 = _awaiting(Engine.import_from_mem0)
    close = _awaiting(Engine.close)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
