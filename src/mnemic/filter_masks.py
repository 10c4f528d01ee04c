"""Filters on the in-memory index: a tree becomes a mask over the rows.

Each leaf is tested once per distinct value, by the same predicate as the reference evaluator, and the outcome
is spread over the rows by code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .filters import (
    ORDERING,
    TIMES,
    And,
    Column,
    Leaf,
    Metadata,
    Node,
    Not,
    Op,
    Or,
    guard_scope,
    mismatch,
    predicate,
    type_guards,
    type_name,
)

Mask = NDArray[np.bool_]

# What a time column holds for null; no instant is that early.
NULL_INSTANT = -(2**63)

# From this many distinct values on, looking at their types first pays.
MANY_VALUES = 256

# Integers up to here are exact as doubles.
EXACT = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of any values: `values[codes[i]]` is row i's value; -1 says that it has none.

    `codes` is int32[n]. `values` are JSON values (strings, numbers, booleans, lists, objects); one that is
    None counts as none; values that no row uses do no harm, and more may be appended meanwhile.
    """

    codes: NDArray[np.int32]
    values: Sequence[object]


class ColumnView(Protocol):
    """The rows of an index, as far as filters need them."""

    @property
    def n(self) -> int:
        """How many rows there are."""

    @property
    def live(self) -> Mask:
        """The rows that count, bool[n]; what a mask says of the others has no meaning."""

    def column(self, name: str) -> NDArray[np.int64]:
        """The instants of a time column (`filters.TIMES`), int64[n]; `NULL_INSTANT` for null."""

    def coded(self, name: str) -> Coded:
        """Any other column of `filters.Column` but `text` and `run_id`; a missing owner id is ''."""

    def metadata_key(self, key: str) -> Coded:
        """The values under a metadata key."""

    def runs(self, run_id: str) -> Mask:
        """The rows that have a run label, bool[n]."""


TextRows = Callable[[Leaf], Mask]


def mask(node: Node, view: ColumnView, text_rows: TextRows, among: Mask | None = None) -> Mask:
    """The rows that match, bool[n]; not shared with the view.

    `text_rows` answers the leaves on `text` (bool[n]), since an index has no texts. `among` are the rows that
    could be returned without the filter (default: the live ones); `FilterError` is raised when an ordering
    operator meets a value of another type in any of them.
    """
    check_types(node, view, view.live if among is None else among)
    return _rows(node, view, text_rows)


def check_types(node: Node, view: ColumnView, among: Mask) -> None:
    """Raise `FilterError` where one of the rows has a value of a type that the tree cannot compare."""
    guards = type_guards(node)
    if not guards:
        return
    within = among & _rows(guard_scope(node), view, _no_text)
    for guard in guards:
        coded = view.metadata_key(guard.key)
        values = list(coded.values)
        odd = {kind for kind in set(map(type, values)) if not _is(kind, guard.wanted)}
        if not odd:
            continue
        wrong = within & _spread([type(value) in odd for value in values], coded.codes)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise mismatch(guard, type_name(values[int(coded.codes[row])]), _id_of(view, row))


def _id_of(view: ColumnView, row: int) -> str:
    ids = view.coded(Column.ID)
    return str(ids.values[int(ids.codes[row])])


def _is(kind: type, wanted: str) -> bool:
    if kind is type(None):
        return True
    return kind is str if wanted == "string" else kind in (int, float)


def _no_text(leaf: Leaf) -> Mask:
    raise AssertionError(f"{leaf} is no condition on ids")


def _rows(node: Node, view: ColumnView, text_rows: TextRows) -> Mask:
    match node:
        case And(parts):
            rows = np.ones(view.n, dtype=np.bool_)
            for part in parts:
                rows &= _rows(part, view, text_rows)
            return rows
        case Or(parts):
            rows = np.zeros(view.n, dtype=np.bool_)
            for part in parts:
                rows |= _rows(part, view, text_rows)
            return rows
        case Not(part):
            return ~_rows(part, view, text_rows)
        case Leaf():
            return _leaf_rows(node, view, text_rows)


def _leaf_rows(leaf: Leaf, view: ColumnView, text_rows: TextRows) -> Mask:
    if isinstance(leaf.field, Metadata):
        return _coded_rows(leaf, view.metadata_key(leaf.field.key))
    if leaf.field is Column.TEXT:
        return text_rows(leaf).copy()
    if leaf.field is Column.RUN_ID:
        return _run_rows(leaf, view)
    if leaf.field in TIMES:
        return _time_rows(leaf, view.column(leaf.field))
    return _coded_rows(leaf, view.coded(leaf.field))


def _run_rows(leaf: Leaf, view: ColumnView) -> Mask:
    rows = np.zeros(view.n, dtype=np.bool_)
    for run_id in leaf.value if isinstance(leaf.value, tuple) else (leaf.value,):
        rows |= view.runs(str(run_id))
    return rows


def _time_rows(leaf: Leaf, instants: NDArray[np.int64]) -> Mask:
    known: Mask = instants != NULL_INSTANT
    if leaf.op is Op.EXISTS:
        return known
    if leaf.op in ORDERING:
        return known & _compared(leaf, instants)
    return np.zeros(len(instants), dtype=np.bool_)


def _coded_rows(leaf: Leaf, coded: Coded) -> Mask:
    # A copy, because the list behind a column may grow while this reads it.
    return _spread(_outcomes(leaf, list(coded.values)), coded.codes)


def _outcomes(leaf: Leaf, values: Sequence[object]) -> Sequence[bool] | Mask:
    """What the leaf says of each value; the short ways give what the predicate would, sooner."""
    kinds = set(map(type, values)) if len(values) >= MANY_VALUES else set()
    if (
        kinds == {str}
        and leaf.op in (Op.EQ, Op.IN)
        and not (leaf.op is Op.EQ and isinstance(leaf.value, tuple))
    ):
        wanted = set(leaf.value) if isinstance(leaf.value, tuple) else {leaf.value}
        return [value in wanted for value in values]
    if kinds and kinds <= {int, float} and leaf.op in ORDERING:
        outcomes = _compared_numbers(leaf, values, kinds)
        if outcomes is not None:
            return outcomes
    test = predicate(leaf)
    return [value is not None and test(value) for value in values]


def _compared_numbers(leaf: Leaf, values: Sequence[object], kinds: set[type]) -> Mask | None:
    """An ordering test on numbers as arrays, where those compare as exactly as Python does; else None."""
    bound = leaf.value
    if not isinstance(bound, int | float) or abs(bound) > EXACT:
        return None
    try:
        numbers = np.array(values, dtype=np.int64 if kinds == {int} else np.float64)
    except OverflowError:
        return None
    to_doubles = int in kinds and (float in kinds or isinstance(bound, float))
    if to_doubles and bool((np.abs(numbers) > EXACT).any()):
        return None
    return _compared(leaf, numbers)


def _compared(leaf: Leaf, numbers: NDArray[Any]) -> Mask:
    return np.asarray(ORDERING[leaf.op](numbers, leaf.value), dtype=np.bool_)


def _spread(outcomes: Sequence[bool] | Mask, codes: NDArray[np.int32]) -> Mask:
    # The extra last place is where -1 points.
    table = np.zeros(len(outcomes) + 1, dtype=np.bool_)
    table[:-1] = outcomes
    return table[codes]
