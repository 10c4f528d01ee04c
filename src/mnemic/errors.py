"""One exception tree. User errors (`ValidationError` and below, `NotFoundError`) say what to change; outages
(`StoreError`, `ModelError`, `FetchError`) say what failed and keep the cause. Nothing else leaves the library."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar


class MnemicError(Exception):
    """Root of all errors raised by mnemic.

    Carries mem0's attributes: `message`, `error_code`, `details` (small, free of secrets), `suggestion`.
    """

    default_code: ClassVar[str] = "MNEMIC"

    def __init__(
        self,
        message: str,
        *,
        error_code: str | None = None,
        details: Mapping[str, Any] | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message if suggestion is None else f"{message} {suggestion}")
        self.message = message
        self.error_code = error_code or self.default_code
        self.details = dict(details or {})
        self.suggestion = suggestion


class ValidationError(MnemicError, ValueError):
    """An argument is wrong: the message names the field, the value and what is accepted."""

    default_code = "VALIDATION_003"


class ScopeError(ValidationError):
    """No owner, two different owners, or an owner that cannot be told from the filters."""

    default_code = "VALIDATION_001"


class FilterError(ValidationError):
    """A filter that cannot be understood or compares values of different types."""

    default_code = "FILTER_001"


class ConfigError(ValidationError):
    """A setting is unknown or wrong: the message has its path, value and the nearest known key."""

    default_code = "CONFIG_001"


class MissingDependencyError(ConfigError):
    """A chosen part needs a package that is not installed; the message is the install command."""

    default_code = "DEPS_001"

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package!r}, which is not installed.",
            suggestion=f'Install it with: pip install "mnemic[{extra}]"',
            details={"package": package, "extra": extra},
        )


class NotFoundError(MnemicError, ValueError):
    """No such id for this tenant and scope."""

    default_code = "NOT_FOUND"


class DuplicateError(ValidationError):
    """The text is already live under another memory of the same owner."""

    default_code = "DUPLICATE"

    def __init__(self, existing_id: str) -> None:
        super().__init__(
            f"The same text is already kept as memory {existing_id}.", details={"existing_id": existing_id}
        )
        self.existing_id = existing_id


class ConflictError(MnemicError):
    """A memory is not at the version that the caller expected: somebody changed it meanwhile."""

    default_code = "CONFLICT"

    def __init__(self, memory_id: str, *, expected: int, found: int) -> None:
        super().__init__(
            f"Memory {memory_id} is at version {found}, not {expected}.",
            details={"memory_id": memory_id, "expected_version": expected, "version": found},
            suggestion="Read it again and decide anew.",
        )
        self.version = found


class ChangedSinceError(ConflictError):
    """What a call did cannot be taken back: a memory was changed since. `trace_id`: of the call that did."""

    default_code = "CHANGED_SINCE"

    def __init__(self, memory_id: str, *, event: str, at: str, trace_id: str) -> None:
        MnemicError.__init__(
            self,
            f"Memory {memory_id} was changed since ({event} at {at}).",
            details={"memory_id": memory_id, "event": event, "at": at, "trace_id": trace_id},
            suggestion=f"Take that back first: undo({trace_id!r}).",
        )
        self.trace_id = trace_id


class KeyReuseError(ValidationError):
    """The idempotency key belongs to a different call of the same owner."""

    default_code = "IDEMPOTENCY_KEY_REUSED"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"idempotency_key {key!r:.80} was used for a call with other arguments.",
            details={"field": "idempotency_key"},
            suggestion="A key stands for one call; take a new one.",
        )


class FetchRefusedError(ValidationError):
    """A URL that is never fetched, or what it names is not there, of the wrong type or too large."""

    default_code = "FETCH_002"


class FetchError(MnemicError):
    """What a URL names could not be fetched: its server cannot be reached, fails or is too slow."""

    default_code = "FETCH_001"


class StoreError(MnemicError):
    """The store failed; nothing of this call was written."""

    default_code = "DB_001"


class StoreBusyError(StoreError):
    """Another writer held the store for longer than the busy timeout."""

    default_code = "DB_BUSY"


class StoreFullError(StoreError):
    """The disk or the allowed size is full."""

    default_code = "DB_FULL"


class StoreReadOnlyError(StoreError):
    """The file or its directory cannot be written, or the database role may not."""

    default_code = "DB_READ_ONLY"


class StoreUnavailableError(StoreError):
    """The database server cannot be reached, refuses the login, or went away during the call.

    Nothing was written, unless the message says that the connection ended in the middle of a commit.
    """

    default_code = "DB_UNAVAILABLE"


class StoreFormatError(StoreError):
    """The file is not a mnemic database, is damaged, or was written by a newer version."""

    default_code = "DB_FORMAT"


class StoreClosedError(StoreError):
    """The memory was closed."""

    default_code = "DB_CLOSED"


class ModelError(MnemicError):
    """A model outside mnemic failed."""

    default_code = "MODEL_001"


class EmbedderError(ModelError):
    """The embedder failed or returned something that is not one finite vector per text."""

    default_code = "EMBED_001"


class EmbedderMismatchError(EmbedderError):
    """The store was embedded with another model; the message names both and the command that changes it."""

    default_code = "EMBED_MISMATCH"


class LLMError(ModelError):
    """The LLM could not be reached or refused."""

    default_code = "LLM_001"


class LLMRefusedError(LLMError):
    """The LLM was reached, and will not reply to this request, whatever it might to another."""

    default_code = "LLM_003"


class LLMOutputError(LLMError):
    """The LLM replied with something that does not parse; `raw` is its text."""

    default_code = "LLM_002"

    def __init__(self, message: str, *, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class ModelTimeoutError(ModelError):
    """A model took longer than its `timeout` option allows."""

    default_code = "MODEL_TIMEOUT"


def nearest(name: str, known: Iterable[str]) -> str:
    """ " (did you mean 'x'?)" for the known name closest to `name`, or an empty string when none is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
