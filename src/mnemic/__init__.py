"""Long-term memory for AI agents: one file, no server, nothing lost, every answer explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import (
    ChangedSinceError,
    ConfigError,
    ConflictError,
    DuplicateError,
    EmbedderError,
    EmbedderMismatchError,
    FetchError,
    FetchRefusedError,
    FilterError,
    KeyReuseError,
    LLMError,
    LLMOutputError,
    LLMRefusedError,
    MissingDependencyError,
    MnemicError,
    ModelError,
    ModelTimeoutError,
    NotFoundError,
    ScopeError,
    StoreBusyError,
    StoreClosedError,
    StoreError,
    StoreFormatError,
    StoreFullError,
    StoreReadOnlyError,
    StoreUnavailableError,
    ValidationError,
)

if TYPE_CHECKING:
    from .aio import AsyncMemory
    from .memory import Memory

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "ChangedSinceError",
    "ConfigError",
    "ConflictError",
    "DuplicateError",
    "EmbedderError",
    "EmbedderMismatchError",
    "FetchError",
    "FetchRefusedError",
    "FilterError",
    "KeyReuseError",
    "LLMError",
    "LLMOutputError",
    "LLMRefusedError",
    "Memory",
    "MissingDependencyError",
    "MnemicError",
    "ModelError",
    "ModelTimeoutError",
    "NotFoundError",
    "ScopeError",
    "StoreBusyError",
    "StoreClosedError",
    "StoreError",
    "StoreFormatError",
    "StoreFullError",
    "StoreReadOnlyError",
    "StoreUnavailableError",
    "ValidationError",
    "__version__",
]


def __getattr__(name: str) -> object:
    # The faces bring in numpy and SQLAlchemy, half a second that `import mnemic` alone need not cost.
    if name == "Memory":
        from .memory import Memory

        return Memory
    if name == "AsyncMemory":
        from .aio import AsyncMemory

        return AsyncMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
