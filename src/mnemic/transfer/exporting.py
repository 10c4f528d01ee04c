"""Writing an export: all that a scope holds, line after line, as one snapshot of the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import BinaryIO

from sqlalchemy import Connection

from .. import __version__, runtime
from ..clock import Instant
from ..records import OwnerState, Space
from ..scope import Scope
from ..store import export_rows, spaces
from ..store.database import Store
from ..store.sound import decoding
from ..whole import WholeEpisode, WholeMemory, WholeOwner
from . import lines
from .lines import ExportedIds, Footer, Header, Line, VectorSpace

# What is done, how far, of how much: ("export", 1500, 20000). Not called for every memory.
Progress = Callable[[str, int, int], None]
STEP = 500


@dataclass(slots=True)
class Counts:
    """How many of each a file holds."""

    owners: int = 0
    episodes: int = 0
    messages: int = 0
    memories: int = 0
    versions: int = 0
    changes: int = 0

    def add(self, record: Line) -> None:
        """Count a record and what is inside of it."""
        if isinstance(record, WholeMemory):
            self.memories += 1
            self.versions += len(record.versions)
        elif isinstance(record, WholeEpisode):
            self.episodes += 1
            self.messages += len(record.messages)
        elif isinstance(record, WholeOwner):
            self.owners += 1
        elif not isinstance(record, Header | Footer):
            self.changes += 1

    def footer(self) -> Footer:
        """The last line of a file with these counts."""
        return Footer(**asdict(self))


class Writer:
    """Writes records as lines, counts them, and ends the file with its footer."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self.counts = Counts()
        self.write(header)

    def write(self, record: Line) -> None:
        """One record as one line."""
        self.counts.add(record)
        with decoding("a record that is exported"):
            line = lines.encode(record)
        self._file.write(line.encode() + b"\n")

    def end(self) -> None:
        """The footer; without it a file counts as cut off."""
        self.write(self.counts.footer())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an export is of, and when it is made."""

    scope: Scope
    ids: ExportedIds
    vectors: bool
    at: Instant


def export(store: Store, wanted: Wanted, file: BinaryIO, progress: Progress | None) -> Counts:
    """Write all that a scope holds. Blocking; one read transaction, so writers go on meanwhile.

    Raises `StoreError`, and what `file` raises.
    """
    with store.read() as tx:
        space = spaces.active_space(tx) if wanted.vectors else None
        told = _Told(progress, export_rows.count_memories(tx, wanted.scope) if progress else 0)
        writer = Writer(file, _header(tx, wanted, space))
        for state, owner in export_rows.owners(tx, wanted.scope):
            _export_owner(tx, writer, wanted, state, owner, space, told)
        writer.end()
        told.end(writer.counts.memories)
    return writer.counts


def _export_owner(
    tx: Connection,
    writer: Writer,
    wanted: Wanted,
    state: OwnerState,
    owner: WholeOwner,
    space: Space | None,
    told: _Told,
) -> None:
    runs = wanted.scope.runs_of(state.owner)
    within = export_rows.within_runs(tx, state.id, runs) if runs else None
    writer.write(owner)
    for episode in export_rows.episodes(tx, state.id, within):
        writer.write(episode)
    for memory in export_rows.memories(tx, state.id, None if space is None else space.id, within):
        writer.write(memory)
        if writer.counts.memories % STEP == 0:
            told.now(writer.counts.memories)
    for change in export_rows.changes(tx, state.id, within):
        writer.write(change)


def _header(tx: Connection, wanted: Wanted, space: Space | None) -> Header:
    return Header(
        format=lines.FORMAT,
        version=lines.VERSION,
        mnemic=__version__,
        created_at=wanted.at,
        store_id=export_rows.store_id(tx),
        ids=None if wanted.ids == ExportedIds() else wanted.ids,
        vectors=None if space is None else VectorSpace(space.name, space.dims),
    )


class _Told:
    """Tells how far the export has come, and stops it where nobody waits for it any more."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total

    def now(self, done: int) -> None:
        runtime.give_up_if_cancelled()
        if self._progress is not None:
            self._progress("export", done, max(done, self._total))

    def end(self, done: int) -> None:
        """Within runs fewer memories are written than their owners have."""
        self._total = done
        self.now(done)
