"""Growing arrays that readers may hold while a writer appends: rows, interned values, the vector matrix."""

from __future__ import annotations

import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..store.sound import decoding
from .lexical import Ints

_SPARE_AT_LEAST = 64
_KEYS_HELD = 32
_BYTES_PER_CODE = 100  # table entry, number and list entry, measured

# Vectors lie on a grid of 2^-12 and the query, shortened a little, too. Then every partial sum of a cosine
# is a multiple of 2^-24 of size at most 1, which float32 holds exactly: a row has the same cosine, to the
# bit, wherever it lies in the matrix and whatever the CPU, kernel or number of threads. It costs 1e-4 of
# precision. (Up to 4,096 dimensions; beyond, rounding could lengthen the vectors by more than is spare.)
_GRID = 4096.0
_QUERY_LENGTH = 0.98


class Columns:
    """Named arrays of equal length with spare room, so that appending seldom copies.

    Views handed out stay as they are: what lies within them is never written again.
    """

    def __init__(self, dtypes: Mapping[str, DTypeLike]) -> None:
        self.n = 0
        self._arrays: dict[str, NDArray[Any]] = {name: np.empty(0, dtype) for name, dtype in dtypes.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name][: self.n]

    def extend(self, values: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
        """Append rows given as columns; a column of bytes is widened to the longest."""
        after = self.n
        for name, old in self._arrays.items():
            given = values[name]
            text = old.dtype.kind == "S" and len(given)
            new = np.asarray(given, dtype=None if text else old.dtype)
            after = self.n + len(new)
            wider = new.dtype if new.dtype.itemsize > old.dtype.itemsize else old.dtype
            if after > len(old) or wider != old.dtype:
                room = after if not self.n else after + max(_SPARE_AT_LEAST, after // 4)
                grown = np.empty(max(room, len(old)), wider)
                grown[: self.n] = old[: self.n]
                self._arrays[name] = old = grown
            old[self.n : after] = new
        self.n = after

    def views(self) -> dict[str, NDArray[Any]]:
        """All columns as they are now."""
        return {name: array[: self.n] for name, array in self._arrays.items()}

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return sum(array.nbytes for array in self._arrays.values())


class Coder:
    """Numbers the distinct values of a column in order of appearance; None is -1.

    `values[code]` is the value (after `decode`). The list only grows, so a reader's codes stay right.
    """

    def __init__(self, decode: Callable[[str], object] | None = None) -> None:
        self.values: list[Any] = []
        self.nbytes = 0
        self._codes: dict[str, int] = {}
        self._decode = decode

    def encode(self, values: Sequence[str | None]) -> Ints:
        """The codes of some values, new ones numbered."""
        return np.array([-1 if value is None else self._code(value) for value in values], dtype=np.int32)

    def code(self, value: str) -> int:
        """The code of a value, -2 for one that never appeared."""
        return self._codes.get(value, -2)

    def _code(self, value: str) -> int:
        code = self._codes.get(value)
        if code is None:
            code = self._codes[value] = len(self.values)
            self.values.append(value if self._decode is None else self._decode(value))
            self.nbytes += sys.getsizeof(value) + _BYTES_PER_CODE
        return code


class JsonKeys:
    """The values under one key of many JSON objects, decoded when a key is first asked for.

    `texts` only grows; asking again decodes what is new. The values of the last few keys are held.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._held: OrderedDict[str, tuple[Ints, Coder]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: str, size: int) -> tuple[Ints, tuple[object, ...]]:
        """For the first `size` texts the code of their value under `key` (-1 where absent), and the values.

        Two values are one where their JSON is: 1, 1.0 and true are three, null is a value.
        """
        with self._lock:
            codes, coder = self._held.setdefault(key, (np.empty(0, np.int32), Coder(json.loads)))
            self._held.move_to_end(key)
            while len(self._held) > _KEYS_HELD:
                self._held.popitem(last=False)
            if len(codes) < size:
                new = coder.encode([_under(key, text) for text in self._texts[len(codes) : size]])
                codes = np.concatenate((codes, new))
                self._held[key] = (codes, coder)
            return codes[:size], tuple(coder.values)


def _under(key: str, text: str) -> str | None:
    with decoding("metadata"):
        decoded = json.loads(text)
    return json.dumps(decoded[key]) if isinstance(decoded, dict) and key in decoded else None


class Matrix:
    """Unit vectors by row, float32, in blocks: growing adds a block and never copies what is there.

    A row may lack a vector; it is zero then. Vectors are normalised and laid on the grid on the way in.
    """

    def __init__(self) -> None:
        self.n = 0
        self.dims = 0
        self._blocks: list[NDArray[np.float32]] = []
        self._ends: list[int] = []

    def fits(self, vectors: Iterable[bytes | None]) -> bool:
        """Whether all of these have one length, that of those held."""
        sizes = {len(vector) for vector in vectors if vector is not None}
        return len(sizes | ({self.dims * 4} if self.dims else set())) <= 1

    def append(self, vectors: Sequence[bytes | None]) -> None:
        """Append one row per vector. Raises `ValueError` for a length other than before."""
        given = next((vector for vector in vectors if vector is not None), None)
        if given is not None and not self.dims:
            if not given or len(given) % 4:
                raise ValueError(f"a vector of {len(given)} bytes")
            self.dims = len(given) // 4
            self._extend(np.zeros((self.n, self.dims), np.float32), 0)
        if self.dims:
            zero = bytes(self.dims * 4)
            packed = b"".join([zero if vector is None else vector for vector in vectors])
            new = np.frombuffer(packed, "<f4").reshape(len(vectors), self.dims)
            self._extend(on_grid(new), self.n)
        self.n += len(vectors)

    def views(self) -> tuple[NDArray[np.float32], ...]:
        """The rows held now, block by block; empty without any vector."""
        starts = [0, *self._ends[:-1]]
        held = [(block, start) for block, start in zip(self._blocks, starts, strict=False) if start < self.n]
        return tuple(block[: self.n - start] for block, start in held)

    @property
    def nbytes(self) -> int:
        """Bytes in use; spare room is not touched and so takes none."""
        return self.n * self.dims * 4

    def _extend(self, new: NDArray[np.float32], start: int) -> None:
        while len(new):
            end = self._ends[-1] if self._ends else 0
            if start == end:
                room = max(_SPARE_AT_LEAST, len(new), end // 4)
                self._blocks.append(np.empty((room, self.dims), np.float32))
                self._ends.append(end + room)
                continue
            block = self._blocks[-1]
            first = start - (end - len(block))
            fitting = new[: len(block) - first]
            block[first : first + len(fitting)] = fitting
            start, new = start + len(fitting), new[len(fitting) :]


def on_grid(vectors: NDArray[np.float32], length: float = 1.0) -> NDArray[np.float32]:
    """Vectors (n, dims) scaled to a length and rounded to the grid; a zero vector stays zero."""
    norms = np.sqrt(np.sum(np.square(vectors, dtype=np.float64), axis=1, keepdims=True))
    scale = np.divide(length * _GRID, norms, out=np.zeros_like(norms), where=norms > 0)
    rounded: NDArray[np.float32] = np.rint(vectors * scale.astype(np.float32)) * np.float32(1 / _GRID)
    return rounded


def cosines(blocks: Sequence[NDArray[np.float32]], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosines of a query with every row of some blocks, exact for the vectors as they lie on the grid."""
    query = on_grid(vector[None, :], _QUERY_LENGTH)[0]
    # Row by row rather than as a product of matrices: as fast, since memory is the limit, and without the
    # threads of the BLAS, which wait for each other for five times as long when the machine is busy.
    found = [np.vecdot(block, query) for block in blocks]
    joined = found[0] if len(found) == 1 else np.concatenate(found)
    return joined * np.float32(1 / _QUERY_LENGTH)
