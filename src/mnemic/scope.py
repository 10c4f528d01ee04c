"""Whose memories a call is about. A scope is told by ids alone, and every way of not telling it is an error.

Writing needs one owner; reading may name several as an explicit union (OR, or `in`), never by exclusion.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from uuid import UUID

from .errors import ScopeError, nearest
from .filters import EVERYTHING, IDS, And, Column, Leaf, Node, Not, Op, Or, all_of, conjuncts, leaves
from .records import Owner

ID_FIELDS = ("user_id", "agent_id", "app_id", "run_id")
MAX_ID_LENGTH = 512
# What an index of PostgreSQL takes of an owner.
MAX_OWNER_BYTES = 2_600
MAX_PATTERNS = 500
MAX_ID_VALUES = 1_000

Ids = Mapping[str, str | None]

NO_IDS: Ids = dict.fromkeys(ID_FIELDS)
NO_IDS_TO_DELETE = (
    "At least one filter is required to delete all memories. If you want to delete all memories,"
    " use the `reset()` method."
)
NO_ID = "At least one of 'user_id', 'agent_id', 'app_id' or 'run_id' must be provided."


@dataclass(frozen=True, slots=True)
class Pattern:
    """The owners that have all the given ids; None is any. With `run_id`: that have something in that run."""

    user_id: str | None = None
    agent_id: str | None = None
    app_id: str | None = None
    run_id: str | None = None

    def fits(self, owner: Owner) -> bool:
        """Whether an owner has all the ids told, runs aside."""
        told = ((self.user_id, owner.user_id), (self.agent_id, owner.agent_id), (self.app_id, owner.app_id))
        return all(wanted is None or wanted == found for wanted, found in told)


@dataclass(frozen=True, slots=True)
class Scope:
    """What may be read: the rows of the tenant whose owner fits one of the patterns; of no patterns, none."""

    tenant: str
    patterns: tuple[Pattern, ...]

    def runs_of(self, owner: Owner) -> frozenset[str]:
        """The runs to which the scope is bound for an owner; empty where it sees all of the owner's runs."""
        fitting = [pattern for pattern in self.patterns if pattern.fits(owner)]
        if any(pattern.run_id is None for pattern in fitting):
            return frozenset()
        return frozenset(pattern.run_id for pattern in fitting if pattern.run_id is not None)


ANYONE = Pattern()


def clean_id(name: str, value: object) -> str:
    """The id as it is stored: a string (or an integer or UUID in letters), trimmed.

    Raises `ScopeError` for an id that is blank, holds white space or control characters, is `*`, or is longer
    than 512 characters.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | UUID):
        raise _bad_id(name, f"must be a string or an integer, not {type(value).__name__}.")
    if isinstance(value, int) and value.bit_length() > 4 * MAX_ID_LENGTH:
        raise _bad_id(name, f"cannot be longer than {MAX_ID_LENGTH} characters.")
    text = (str.__str__(value) if isinstance(value, str) else str(value)).strip()
    if not text:
        raise _bad_id(name, "cannot be empty or whitespace-only. Provide a valid identifier.")
    if any(char.isspace() for char in text):
        raise _bad_id(name, "cannot contain whitespace. Provide a valid identifier without spaces.")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        raise _bad_id(name, "cannot contain control characters or half a surrogate pair.")
    if len(text) > MAX_ID_LENGTH:
        raise _bad_id(name, f"cannot be longer than {MAX_ID_LENGTH} characters.")
    if text == "*":
        raise _bad_id(name, "'*' names no one. Name the ids, or list them with 'in'.")
    return text


def joined_ids(bound: Ids, ids: Mapping[str, object]) -> dict[str, str | None]:
    """The ids of a call, cleaned, joined with those it is bound to; all `ID_FIELDS`, None for none.

    Raises `ScopeError` for an invalid id and for one that differs from the id it is bound to.
    """
    given = _given(ids)
    for name, value in given.items():
        if bound[name] not in (None, value):
            raise ScopeError(f"{name} is bound to {bound[name]!r} here and cannot be {value!r}.")
    return {**bound, **given}


def write_scope(tenant: str, ids: Mapping[str, object]) -> tuple[Owner, str]:
    """The owner and the run ('' for none) that an add is for; an id of None is not given.

    Raises `ScopeError` when no id is given or one is invalid, or they are too long together.
    """
    given = _given(ids)
    if not given:
        raise ScopeError(NO_ID)
    run_id = given.pop("run_id", "")
    size = len("".join((tenant, *given.values())).encode())
    if size > MAX_OWNER_BYTES:
        raise ScopeError(
            f"The tenant and the ids {', '.join(given)} have {size:,} bytes together as UTF-8; at most"
            f" {MAX_OWNER_BYTES:,} do."
        )
    return Owner(tenant, **given), run_id


def read_scope(tenant: str, ids: Mapping[str, object], tree: Node | None = None) -> tuple[Scope, Node]:
    """Whose rows a read may see, and the tree that is left to evaluate on them.

    `ids` are those given as keywords (None is not given); `tree` is a parsed filter. All that is demanded
    together is ANDed. The tree comes back without the id conditions that the scope itself fulfils; those on
    `run_id` and those inside an OR with other conditions stay. An empty `in` gives a scope without patterns.

    Raises `ScopeError` when no id is demanded, when an OR has a branch without one (and none is given outside
    it), when two different values are demanded of one id, and for NOT, `ne`, `nin`, `*`, null or any operator
    but `eq` and `in` on ids.
    """
    keywords = [Leaf(Column(name), Op.EQ, value) for name, value in _given(ids).items()]
    whole = all_of([*keywords, _clean(EVERYTHING if tree is None else tree)])
    if sum(_size(leaf) for leaf in leaves(whole)) > MAX_ID_VALUES:
        raise ScopeError(f"filters names more than {MAX_ID_VALUES} ids.")
    patterns = _patterns(whole)
    if ANYONE in patterns:
        named = any(leaf.field in IDS for leaf in leaves(whole))
        raise ScopeError(
            "Every branch of an OR must name at least one of 'user_id', 'agent_id', 'app_id' or 'run_id', "
            "unless one is given outside the OR."
            if named
            else NO_ID
        )
    if len(patterns) > MAX_PATTERNS:
        raise ScopeError(f"filters combines ids in more than {MAX_PATTERNS} ways.")
    rest = all_of(part for part in conjuncts(whole) if not _told_by_scope(part))
    return Scope(tenant, patterns), rest


def _given(ids: Mapping[str, object]) -> dict[str, str]:
    for name in ids:
        if name not in ID_FIELDS:
            raise ScopeError(
                f"{name!r} is not an id{nearest(name, ID_FIELDS)}; ids are {', '.join(ID_FIELDS)}."
            )
    return {name: clean_id(name, value) for name, value in ids.items() if value is not None}


def _clean(node: Node) -> Node:
    """The tree with its id values cleaned, or the error for a use of ids that tells no scope."""
    match node:
        case And(parts):
            return all_of(_clean(part) for part in parts)
        case Or(parts):
            return Or(tuple(_clean(part) for part in parts))
        case Not(part):
            for leaf in leaves(part):
                if leaf.field in IDS:
                    raise _unclear(leaf.field.value if isinstance(leaf.field, Column) else "")
            return node
        case Leaf(Column() as name, op, value) if name in IDS:
            if op is Op.IN and isinstance(value, tuple):
                return Leaf(name, op, tuple(dict.fromkeys(clean_id(name, item) for item in value)))
            if op is Op.EQ:
                return Leaf(name, op, clean_id(name, value))
            raise _unclear(name)
        case _:
            return node


def _size(leaf: Leaf) -> int:
    if leaf.field not in IDS:
        return 0
    return len(leaf.value) if isinstance(leaf.value, tuple) else 1


def _patterns(node: Node) -> tuple[Pattern, ...]:
    """The alternatives of a clean tree, as far as ids tell them: every row that matches fits one of them."""
    match node:
        case Leaf(Column() as name, _, value) if name in IDS:
            values = value if isinstance(value, tuple) else (value,)
            return tuple(Pattern(**{name.value: str(item)}) for item in values)
        case Or(parts):
            return tuple(dict.fromkeys(pattern for part in parts for pattern in _patterns(part)))
        case And(parts):
            found: tuple[Pattern, ...] = (ANYONE,)
            for part in parts:
                found = _both(found, _patterns(part))
            return found
        case _:
            return (ANYONE,)


def _both(left: tuple[Pattern, ...], right: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    """What fits an alternative of each side. One that could never match is an error, not silently nothing."""
    if right == (ANYONE,) or not left or not right:
        return left if right else right
    merged: dict[Pattern, None] = {}
    fitting: set[Pattern] = set()
    for a in left:
        for b in right:
            if _conflict(a, b) is None:
                merged[_merge(a, b)] = None
                fitting |= {a, b}
                if len(merged) > MAX_PATTERNS:
                    raise ScopeError(f"filters combines ids in more than {MAX_PATTERNS} ways.")
    _refuse_idle((a for a in left if a not in fitting), right)
    _refuse_idle((b for b in right if b not in fitting), left)
    return tuple(merged)


def _refuse_idle(idle: Iterable[Pattern], others: tuple[Pattern, ...]) -> None:
    for pattern in idle:
        name = _conflict(pattern, others[0]) or ""
        one, other = getattr(pattern, name), getattr(others[0], name)
        raise ScopeError(
            f"{name} is given with two different values, {one!r} and {other!r}; nothing can match both.",
            details={"field": name, "values": [one, other]},
        )


def _conflict(a: Pattern, b: Pattern) -> str | None:
    for name in ID_FIELDS:
        one, other = getattr(a, name), getattr(b, name)
        if one is not None and other is not None and one != other:
            return name
    return None


def _merge(a: Pattern, b: Pattern) -> Pattern:
    return Pattern(*((getattr(a, f.name) or getattr(b, f.name)) for f in fields(Pattern)))


def _told_by_scope(node: Node) -> bool:
    named = {leaf.field for leaf in leaves(node)}
    return bool(named) and named <= IDS - {Column.RUN_ID}


def _unclear(name: str) -> ScopeError:
    return ScopeError(
        f"{name}: only 'eq' and 'in' say whose memories may be seen; "
        "NOT, ne, nin, '*', null and other operators on ids are not accepted.",
        details={"field": name},
    )


def _bad_id(name: str, fault: str) -> ScopeError:
    return ScopeError(f"Invalid {name}: {fault}", details={"field": name})
