"""What the two faces share: settings in, an engine behind, scopes on top."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

from .engine import Engine
from .errors import ConfigError, nearest


class Face:
    """An engine with a way in. `Memory` and `AsyncMemory` add the verbs."""

    _engine: Engine

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Open with a configuration mapping in mnemic's or mem0's keys.

        Raises `ConfigError` for unknown keys and for stores that mnemic does not drive.
        """
        if not isinstance(config, Mapping):
            raise ConfigError(f"A configuration is a mapping of settings, not {type(config).__name__}.")
        return cls(config)  # type: ignore[call-arg]

    def scoped(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
    ) -> Self:
        """The same memory bound to ids: every verb works within them, and by-id verbs find nothing outside.

        Raises `ScopeError` for an invalid id or one that differs from an id bound already.
        """
        bound = object.__new__(type(self))
        bound._engine = self._engine.scoped(user_id=user_id, agent_id=agent_id, app_id=app_id, run_id=run_id)
        return bound


def check_keywords(verb: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise `TypeError` for a keyword that the verb does not take, naming the nearest one that it does."""
    known = _keywords(verb)
    for name in given:
        if name not in known:
            hint = nearest(name, known)
            raise TypeError(f"{verb.__name__}() got an unexpected keyword argument {name!r}{hint}")


@functools.cache
def _keywords(verb: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(verb).parameters) - {"self"}
