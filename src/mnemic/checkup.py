"""Checking a store from end to end, and making anew what can be: terms, vectors, keys, counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from sqlalchemy import Connection

from . import runtime
from .parts import Parts, off_loop
from .records import MENDABLE, VECTOR_FAULTS, Act, Checkup, Fault, FaultKind, Mending
from .store import checking, mending, owners, spaces
from .store.checking import Measure, Tally
from .store.database import Store
from .store.schema import chunks
from .text.terms import packed_terms
from .text.tokens import tokeniser_fingerprint

# Called with what is being done, how much of it is done, and how much there is in all.
Progress = Callable[[str, int, int], object]
TextsOf = Callable[[Connection, int, Sequence[int]], dict[int, str]]
Put = Callable[[Connection, Mending, Mapping[int, bytes]], None]


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over the store found, and what of it can be made anew.

    nobodys: there are index rows of owners that are not there. other_tokeniser: another one made the terms.
    """

    faults: tuple[Fault, ...]
    checked: Mapping[str, int]
    mendings: tuple[Mending, ...] = ()
    nobodys: bool = False
    other_tokeniser: bool = False


async def check(parts: Parts, *, repair: bool, full: bool, progress: Progress) -> Checkup:
    """Look through the store; to repair, make anew what can be, and look again to see what that mended.

    full: make all terms again and compare. progress is called from the thread that does the work.
    """
    mendable = MENDABLE if parts.embedder is not None else MENDABLE - VECTOR_FAULTS
    first = await off_loop(lambda: _survey(parts.store(), full, progress))
    if not repair or mendable.isdisjoint(fault.kind for fault in first.faults):
        return Checkup(first.faults, mendable, {}, first.checked)
    await _mend(parts, first, progress)
    again = full or first.other_tokeniser
    second = await off_loop(lambda: _survey(parts.store(), again, progress))
    faults, mended = _compared(first.faults, second.faults)
    return Checkup(faults, mendable, mended, second.checked)


def _compared(
    before: Sequence[Fault], after: Sequence[Fault]
) -> tuple[tuple[Fault, ...], dict[FaultKind, int]]:
    """The faults of both looks, with the places of those that are left, and how many there are no more."""
    was, left = ({fault.kind: fault for fault in faults} for faults in (before, after))
    faults, mended = [], {}
    for kind in FaultKind:
        if kind in was or kind in left:
            fault = left.get(kind) or was[kind]
            count = max(found[kind].count for found in (was, left) if kind in found)
            faults.append(Fault(kind, count, fault.places))
            mended[kind] = count - (left[kind].count if kind in left else 0)
    return tuple(faults), mended


# --- looking ----------------------------------------------------------------------------------------------


def _survey(store: Store, full: bool, progress: Progress) -> Survey:
    tally = Tally()
    checked: dict[str, int] = {}
    for line in store.damage():
        tally.add(FaultKind.FILE, " ".join(line.split()))
    if tally.faults():
        # What lies in a damaged file cannot be told from what is missing in it.
        return Survey(tally.faults(), checked)
    with store.read() as tx:
        states = owners.every_owner(tx)
        packed_by, nobodys = checking.packed_by(tx), checking.count_nobodys(tx, tally)
    other = packed_by != tokeniser_fingerprint()
    if other:
        tally.add(FaultKind.TOKENISER, f"made by {packed_by}, this is {tokeniser_fingerprint()}")
    terms_of = packed_terms if full or other else None
    mendings: list[Mending] = []
    for done, state in enumerate(states):
        progress("owners checked", done, len(states))
        runtime.give_up_if_cancelled()
        found = _examine(store, state.id, terms_of, tally, checked)
        mendings += [] if found is None else [found]
    progress("owners checked", len(states), len(states))
    return Survey(tally.faults(), checked, tuple(mendings), nobodys, other)


def _examine(
    store: Store,
    owner_id: int,
    terms_of: Callable[[str], bytes] | None,
    tally: Tally,
    checked: dict[str, int],
) -> Mending | None:
    """Check one owner in a transaction of its own, so that no snapshot is held for as long as the whole takes."""
    with store.read() as tx:
        state = owners.owner_by_number(tx, owner_id)
        if state is None:
            return None
        return checking.examine(tx, state, Measure(spaces.active_space(tx), terms_of), tally, checked)


# --- mending ----------------------------------------------------------------------------------------------


async def _mend(parts: Parts, found: Survey, progress: Progress) -> None:
    await off_loop(lambda: _mend_terms_and_keys(parts, found, progress))
    if parts.embedder is not None:
        await _mend_vectors(parts, found, progress)


def _mend_terms_and_keys(parts: Parts, found: Survey, progress: Progress) -> None:
    store = parts.store()
    for done, one in enumerate(found.mendings):
        progress("owners mended", done, len(found.mendings))
        _mend_terms(store, one, one.terms, mending.texts_of_versions, mending.put_terms)
        _mend_terms(store, one, one.message_terms, mending.texts_of_messages, mending.put_message_terms)
        if one.terms or one.message_terms or one.keys or one.low_counter or one.strays:
            _finish(parts, one)
        if one.traces:
            with store.write() as tx:
                mending.drop_traces(tx, one)
    progress("owners mended", len(found.mendings), len(found.mendings))
    with store.write() as tx:
        if found.nobodys:
            mending.remove_nobodys(tx)
        if found.other_tokeniser:
            mending.set_packed_by(tx, tokeniser_fingerprint())


def _mend_terms(store: Store, one: Mending, nos: Sequence[int], texts_of: TextsOf, put: Put) -> None:
    for some in chunks(nos):
        with store.read() as tx:
            texts = texts_of(tx, one.owner_id, some)
        packed = {no: packed_terms(text) for no, text in texts.items()}
        with store.write() as tx:
            put(tx, one, packed)


async def _mend_vectors(parts: Parts, found: Survey, progress: Progress) -> None:
    done, total = 0, sum(len(one.vectors) for one in found.mendings)
    for one in found.mendings:
        for some in chunks(one.vectors):
            progress("texts embedded", done, total)
            await _embed(parts, one, some)
            done += len(some)
        if one.vectors:
            await off_loop(partial(_finish, parts, one))
    if total:
        progress("texts embedded", total, total)


async def _embed(parts: Parts, one: Mending, nos: Sequence[int]) -> None:
    def read() -> dict[int, str]:
        with parts.store().read() as tx:
            return mending.texts_of_versions(tx, one.owner_id, nos)

    texts = await off_loop(read)
    embedded = await parts.embeddings(list(texts.values()))
    space_id = embedded.space_id
    if embedded.rows is None or space_id is None:
        return
    vectors = {no: row for no, row in zip(texts, embedded.rows, strict=True) if row is not None}

    def write() -> None:
        with parts.store().write() as tx:
            mending.put_vectors(tx, one, space_id, vectors)

    await off_loop(write)


def _finish(parts: Parts, one: Mending) -> None:
    act = Act(trace_id=uuid4().hex, at=parts.clock())
    with parts.store().write() as tx:
        mending.finish(tx, one, act)
