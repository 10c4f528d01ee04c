"""Where exports go and imports come from: files, streams of the caller's, compressed or not."""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self, cast

from ..errors import ValidationError
from . import lines
from .lines import Line

GZIP = b"\x1f\x8b"
# A longer line is no export's: an episode or a memory of this size could not have been added.
LONGEST_LINE = 256 * 1024 * 1024
_SPOOLED_IN_MEMORY = 8 * 1024 * 1024


class Source:
    """Something to import, which can be read several times. A context manager.

    A path, or a file object open for reading bytes or text; gzip is recognised by its first bytes. Raises
    `ValidationError` for what cannot be read.
    """

    def __init__(self, source: Any) -> None:
        self._file = _opened(source)
        self.size = self._file.seek(0, io.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def position(self) -> int:
        """How many bytes of the file have been read since `lines` began."""
        return self._file.tell()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines from the first on, numbered from 1, without their line breaks."""
        self._file.seek(0)
        compressed = self._file.read(2) == GZIP
        self._file.seek(0)
        reader = cast(BinaryIO, gzip.GzipFile(mode="rb", fileobj=self._file)) if compressed else self._file
        number = 0
        while True:
            number += 1
            try:
                line = reader.readline(LONGEST_LINE + 1)
            except (OSError, EOFError, zlib.error) as fault:
                raise ValidationError(
                    f"The file cannot be read beyond line {number - 1}: {fault}."
                ) from fault
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise ValidationError(f"Line {number} is longer than {LONGEST_LINE:,} bytes.")
            yield number, line.removesuffix(b"\n").removesuffix(b"\r")

    def records(self) -> Iterator[tuple[int, Line | ValidationError]]:
        """The record of each line, or what is wrong with the line."""
        for number, line in self.lines():
            try:
                yield number, lines.decode(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except UnicodeDecodeError as fault:
                yield number, ValidationError(f"It is not UTF-8 at byte {fault.start}.")
            except ValidationError as fault:
                yield number, fault


def _opened(source: Any) -> BinaryIO:
    if isinstance(source, str | os.PathLike):
        with _telling(source, "read"):
            return open(source, "rb")
    if not callable(getattr(source, "read", None)):
        raise ValidationError(
            f"source must be a path or a file open for reading, not {type(source).__name__}.",
            details={"field": "source"},
        )
    spooled = tempfile.SpooledTemporaryFile(max_size=_SPOOLED_IN_MEMORY)  # noqa: SIM115 - the source closes it
    while piece := source.read(1 << 20):
        # Half a surrogate pair is told later, with its line.
        spooled.write(piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece)
    return cast(BinaryIO, spooled)


@contextmanager
def opened_target(target: Any) -> Iterator[BinaryIO]:
    """A file to write bytes to. A path gets its file when all is written, and keeps what it had on a failure.

    A path that ends in `.gz` is compressed. Raises `ValidationError` for what cannot be written, and for a file
    that holds something other than an export.
    """
    if isinstance(target, str | os.PathLike):
        with _replacing(Path(target)) as file:
            yield file
    elif isinstance(target, io.TextIOBase) or isinstance(getattr(target, "encoding", None), str):
        yield cast(BinaryIO, _AsText(target))
    elif callable(getattr(target, "write", None)):
        yield target
    else:
        raise ValidationError(
            f"target must be a path or a file open for writing, not {type(target).__name__}.",
            details={"field": "target"},
        )


class _AsText:
    """A text file of the caller's that is given UTF-8."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        return self._file.write(data.decode())


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    with _telling(target, "written"):
        path = Path(os.path.realpath(target))
        if path.exists() and not path.is_file():
            # A device, a pipe or a directory.
            with open(path, "wb") as device, _packed(device, path) as packed:
                yield packed
            return
        if path.exists() and path.stat().st_size:
            _refuse_unless_an_export(path)
        # Readable by its owner only: it holds what people said.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                with _packed(cast(BinaryIO, file), path) as packed:
                    yield packed
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            finally:
                Path(file.name).unlink(missing_ok=True)


def _packed(file: BinaryIO, path: Path) -> AbstractContextManager[BinaryIO]:
    if path.suffix != ".gz":
        return nullcontext(file)
    # Without a name and a time, so that the same content gives the same file.
    return cast(
        AbstractContextManager[BinaryIO], gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    )


def _refuse_unless_an_export(path: Path) -> None:
    with Source(path) as there:
        _, first = next(there.records())
    if not isinstance(first, lines.Header):
        raise ValidationError(
            f"{path} is there already, and is no export that could be replaced.",
            details={"field": "target"},
            suggestion="Choose another name.",
        )


@contextmanager
def _telling(path: object, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as fault:
        if isinstance(fault, ValidationError):
            raise
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        raise ValidationError(f"{path} cannot be {what}: {reason}.", details={"path": str(path)}) from fault
