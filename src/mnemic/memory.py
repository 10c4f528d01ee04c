"""`Memory`: the blocking face. One line per verb; what each does is said on the verb in `engine`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from . import runtime
from .engine import Engine
from .errors import MnemicError
from .face import Face, check_keywords

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    verb: Callable[Concatenate[Engine, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Memory, P], R]:
    """The verb as a method that waits for its result."""

    def method(self: Memory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_keywords(verb, kwargs)
        return runtime.current().run(verb(self._engine, *args, **kwargs))

    functools.update_wrapper(method, verb)
    return method


class Memory(Face):
    """Long-term memory in one file.

    store: a file path, ":memory:", or None for the default file in the data directory; a mapping is taken as
    the whole configuration. tenant: whose data this instance may touch at all. embedder, llm: a name, a
    mapping of settings, or an object of your own. timezone: IANA name in which naive times are read. index_mb:
    MiB that search indexes may hold. What is not given comes from the environment, then the config file.

    Thread-safe, and several processes may use one file. A context manager; `close()` gives everything back.
    Raises `ConfigError` for wrong settings and `StoreError` when the store cannot be opened.
    """

    def __init__(self, store: Any = None, **settings: Any) -> None:
        self._engine = Engine.configured(store, settings)
        try:
            runtime.current().run(self._engine.open())
        except MnemicError:
            self.close()
            raise

    add = _blocking(Engine.add)
    search = _blocking(Engine.search)
    why = _blocking(Engine.why)
    get = _blocking(Engine.get)
    get_all = _blocking(Engine.get_all)
    trash = _blocking(Engine.trash)
    update = _blocking(Engine.update)
    delete = _blocking(Engine.delete)
    restore = _blocking(Engine.restore)
    delete_all = _blocking(Engine.delete_all)
    history = _blocking(Engine.history)
    undo = _blocking(Engine.undo)
    timeline = _blocking(Engine.timeline)
    diff = _blocking(Engine.diff)
    messages = _blocking(Engine.messages)
    stats = _blocking(Engine.stats)
    purge = _blocking(Engine.purge)
    log = _blocking(Engine.log)
    trace = _blocking(Engine.trace)
    replay = _blocking(Engine.replay)
    check = _blocking(Engine.check)
    reembed = _blocking(Engine.reembed)
    reset = _blocking(Engine.reset)
    export_to = _blocking(Engine.export_to)
    import_from = _blocking(Engine.import_from)
    import_from_mem0 = _blocking(Engine.import_from_mem0)
    close = _blocking(Engine.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
