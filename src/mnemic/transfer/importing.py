"""Importing a checked file: index rows first, beside the store; then everything in one write transaction."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from struct import Struct
from types import TracebackType
from typing import BinaryIO, Self, cast

from .. import runtime, shapes
from ..clock import Instant
from ..errors import StoreBusyError, ValidationError
from ..records import Act, Embedded, OnConflict, Owner
from ..store import spaces
from ..store.database import Store
from ..store.import_rows import Placer
from ..store.owners import owners_for_write
from ..text.pack import pack
from ..text.tokens import index_terms
from ..whole import WholeChange, WholeEpisode, WholeMemory, WholeMessage, WholeOwner
from .checking import Contents, Section
from .exporting import STEP, Progress
from .files import Source
from .lines import Line
from .planning import OwnerPlan, Plan, make_plan

# Texts embedded by one call.
BATCH = 256
_SPOOLED_IN_MEMORY = 8 * 1024 * 1024
_LENGTHS = Struct("<II")


@dataclass(frozen=True, slots=True)
class Job:
    """A checked file and where it goes."""

    source: Source
    contents: Contents
    tenant: str
    on_conflict: OnConflict
    progress: Progress | None

    def tell(self, stage: str, done: int, total: int) -> None:
        """Tell how far a stage has come, and stop where nobody waits for the import any more."""
        runtime.give_up_if_cancelled()
        if self.progress is not None:
            self.progress(stage, done, total)


def plan(store: Store, job: Job) -> Plan:
    """What the import does, as the store is now. Raises as `make_plan`."""
    with store.read() as tx:
        return make_plan(tx, job.tenant, job.contents, job.on_conflict)


def report(job: Job, plan: Plan, *, embedded: int, dry_run: bool) -> shapes.ImportResult:
    """What an import does by a plan."""
    counts = job.contents.counts
    twins = [
        shapes.TwinItem(id=uid, existing_id=live.uid) for owner in plan for uid, live in owner.twins.items()
    ]
    replaced = sum(len(owner.replaced) for owner in plan)
    skipped = sum(len(owner.kept) for owner in plan) + len(twins)
    return shapes.ImportResult(
        added=counts.memories - replaced - skipped,
        overwritten=replaced,
        skipped=skipped,
        episodes=counts.episodes - sum(len(owner.episodes) for owner in plan),
        messages=counts.messages - sum(len(owner.messages) for owner in plan),
        embedded=embedded,
        duplicates=twins,
        dry_run=dry_run,
    )


def _terms(text: str) -> bytes:
    return pack(index_terms(text))


# --- Index rows ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Batch:
    """Index rows to come, in the file's order: terms, and a vector or the number of a text in `texts`."""

    rows: list[tuple[bytes, bytes | int]] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)


class Spool:
    """Index rows beside the store, written and read in the file's order. A context manager."""

    def __init__(self) -> None:
        self.embedded = 0
        spooled = tempfile.SpooledTemporaryFile(max_size=_SPOOLED_IN_MEMORY)  # noqa: SIM115 - closed below
        self._file = cast(BinaryIO, spooled)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, batch: Batch, vectors: Sequence[bytes] | None) -> None:
        """The rows of a batch with the vectors of its texts, None without an embedder."""
        for terms, vector in batch.rows:
            if isinstance(vector, int):
                self.embedded += vectors is not None
                vector = b"" if vectors is None else vectors[vector]
            self._file.write(_LENGTHS.pack(len(terms), len(vector)) + terms + vector)

    def rewind(self) -> None:
        """Read from the first row on."""
        self._file.seek(0)

    def next(self) -> tuple[bytes, bytes | None]:
        """Terms and vector of the next row."""
        terms, vector = _LENGTHS.unpack(self._file.read(_LENGTHS.size))
        return self._file.read(terms), self._file.read(vector) or None


def batches(job: Job, plan: Plan, *, reuse: bool) -> Iterator[Batch]:
    """The index rows of all that is new. `reuse`: whether the file's vectors are those of the store's space."""
    batch, done = Batch(), 0
    total = job.contents.counts.memories
    for place, record in _placed(job, plan):
        if isinstance(record, WholeEpisode):
            batch.rows += [
                (_terms(message.content), b"")
                for message in place.new_messages(record)
                if place.lends(message)
            ]
        elif isinstance(record, WholeMemory):
            done += 1
            if place.plan.writes(record.id):
                _add_versions(batch, record, reuse=reuse)
            if done % STEP == 0:
                job.tell("embed", done, total)
        if len(batch.texts) >= BATCH or len(batch.rows) >= 8 * BATCH:
            yield batch
            batch = Batch()
    yield batch
    job.tell("embed", done, total)


def _add_versions(batch: Batch, memory: WholeMemory, *, reuse: bool) -> None:
    known: dict[str, bytes] = {}
    for version in memory.versions:
        terms = known.get(version.text)
        if terms is None:
            terms = known[version.text] = _terms(version.text)
        if reuse and version.vector is not None:
            batch.rows.append((terms, version.vector))
        else:
            batch.rows.append((terms, batch.texts.setdefault(version.text, len(batch.texts))))


# --- Writing ------------------------------------------------------------------------------------------------


class PlanChangedError(StoreBusyError):
    """Another writer changed meanwhile what the import was planned by; plan again."""


def write(store: Store, job: Job, planned: Plan, spool: Spool, space_id: int | None, act: Act) -> None:
    """Write all that is new, in one transaction. Blocking. `act`: the import itself, where it replaces rows.

    Raises `PlanChangedError`, `SpaceChangedError`, and `ValidationError` for an id that is another tenant's.
    """
    spool.rewind()
    done, total = 0, job.contents.counts.memories
    with store.write() as tx:
        # Locked first, so that what is looked up then stays as it is.
        owners_for_write(tx, _owners(job))
        spaces.hold_space(tx, space_id, act.at)
        if make_plan(tx, job.tenant, job.contents, job.on_conflict) != planned:
            raise PlanChangedError("Other writers kept changing the memories that are imported.")
        placer: Placer | None = None
        for place, record in _placed(job, planned):
            if isinstance(record, WholeOwner):
                if placer is not None:
                    placer.finish(_terms)
                placer = Placer(tx, job.tenant, record, place.plan.there(), act)
            assert placer is not None, "a section begins with its owner"
            _write_one(placer, place, record, spool, space_id)
            if isinstance(record, WholeMemory):
                done += 1
                if done % STEP == 0:
                    job.tell("write", done, total)
        if placer is not None:
            placer.finish(_terms)
    if store.grown():
        runtime.current().pool.submit(store.checkpoint)
    if job.progress is not None:
        job.progress("write", total, total)


def _owners(job: Job) -> dict[Owner, Instant]:
    """The owners of a file, and when they came."""
    told = [section.owner for section in job.contents.sections]
    return {Owner(job.tenant, one.user_id, one.agent_id, one.app_id): one.created_at for one in told}


def _write_one(placer: Placer, place: _Place, record: Line, spool: Spool, space_id: int | None) -> None:
    if isinstance(record, WholeEpisode):
        placer.episode(record)
        for message in place.new_messages(record):
            terms = spool.next()[0] if place.lends(message) else None
            placer.message(message, record.trace_id, terms)
    elif isinstance(record, WholeMemory) and place.plan.writes(record.id):
        rows = [spool.next() for _ in record.versions]
        embedded = [Embedded(terms, vector, None if vector is None else space_id) for terms, vector in rows]
        placer.memory(record, embedded)
    elif isinstance(record, WholeChange) and place.plan.hears(record):
        placer.change(record)


@dataclass(frozen=True, slots=True)
class _Place:
    """A section of the file and what becomes of it."""

    section: Section
    plan: OwnerPlan

    def new_messages(self, episode: WholeEpisode) -> list[WholeMessage]:
        return [message for message in episode.messages if message.id not in self.plan.messages]

    def lends(self, message: WholeMessage) -> bool:
        """Whether a message has terms of its own, since no memory that is written has all of its words."""
        memory = self.section.verbatim.get(message.id)
        return memory is None or not self.plan.writes(memory)


def _placed(
    job: Job, plan: Plan
) -> Iterator[tuple[_Place, WholeOwner | WholeEpisode | WholeMemory | WholeChange]]:
    """The records between header and footer, each with its place."""
    places = map(_Place, job.contents.sections, plan)
    place: _Place | None = None
    for number, record in job.source.records():
        if isinstance(record, WholeOwner):
            place = next(places, None)
        if isinstance(record, WholeOwner | WholeEpisode | WholeMemory | WholeChange):
            if place is None or not _is_known(place.section, record):
                raise _changed(number)
            yield place, record
        elif isinstance(record, ValidationError):
            raise _changed(number)


def _is_known(section: Section, record: Line) -> bool:
    """Whether the record is one of those that were checked."""
    if isinstance(record, WholeOwner):
        return record == section.owner
    if isinstance(record, WholeEpisode):
        return record.trace_id in section.episodes
    if isinstance(record, WholeMemory):
        known = section.memories.get(record.id)
        return known is not None and known.versions == len(record.versions)
    return True


def _changed(number: int) -> ValidationError:
    return ValidationError(f"The file changed at line {number} while it was imported; nothing was imported.")
