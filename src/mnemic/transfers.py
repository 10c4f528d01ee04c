"""The verbs that carry what a store holds out and in."""

from __future__ import annotations

import tempfile
from os import PathLike
from typing import Any

from . import checks, shapes
from .bound import Bound
from .parts import off_loop
from .records import Act
from .scope import Pattern
from .transfer import checking, exporting, importing, planning
from .transfer.exporting import Progress
from .transfer.files import Source, opened_target
from .transfer.importing import Job, PlanChangedError, Spool
from .transfer.lines import ExportedIds, VectorSpace
from .transfer.mem0 import convert as mem0_convert
from .transfer.mem0 import handover
from .transfer.mem0 import reader as mem0_reader

# How often an import is planned again where other writers change what it was planned by.
PLANS = 5


class Transfers(Bound):
    """Export, import, and what other systems left."""

    async def export_to(
        self,
        target: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        app_id: str | None = None,
        run_id: str | None = None,
        vectors: bool = False,
        progress: Progress | None = None,
    ) -> shapes.ExportResult:
        """Write all that a scope holds as JSON Lines, or all of the tenant without ids: nothing is left out.

        target: a path (`.gz` is compressed), or a file object open for writing bytes or text. A path gets its
        file when all is written; one that holds anything but an export is not replaced. With run_id: the
        messages of that run and the memories with its label. vectors: also the embeddings. progress: called
        with a stage, how much is done, and of how much, now and then, from the thread that works; it must not
        use the memory. It is one snapshot; others may write meanwhile.

        Returns how many of each were written. Raises `ValidationError` for a target that cannot be written.
        """
        ids = self._ids(user_id, agent_id, app_id, run_id)
        with_vectors = checks.check_flag(vectors, "vectors")
        wanted = exporting.Wanted(self._guard(ids), ExportedIds(**ids), with_vectors, self._parts.clock())

        def work() -> exporting.Counts:
            with opened_target(target) as file:
                return exporting.export(self._parts.store(), wanted, file, progress)

        counts = await off_loop(work)
        return shapes.ExportResult(
            owners=counts.owners,
            episodes=counts.episodes,
            messages=counts.messages,
            memories=counts.memories,
            versions=counts.versions,
            changes=counts.changes,
        )

    async def import_from(
        self,
        source: Any,
        *,
        on_conflict: str = "fail",
        dry_run: bool = False,
        progress: Progress | None = None,
        actor: str | None = None,
    ) -> shapes.ImportResult:
        """Read an export into this tenant: all of it is checked first, then all or nothing is written.

        source: a path, or a file object open for reading; gzip is recognised. Ids and instants stay as they
        are. on_conflict: what becomes of a memory whose id is here already: "fail" (nothing is imported),
        "skip" (it stays as it is), "overwrite" (it becomes as in the file). One whose text is live here under
        another id is left out with "skip", listed under `duplicates`, and else a `DuplicateError`. Messages
        that are here stay. dry_run: only tell what would become of it. progress: as in `export_to`. actor: who
        replaces what is overwritten. What has no vector in the file that fits is embedded.

        Raises `ValidationError` with the lines at fault in `details["faults"]`, `ScopeError` for memories beyond
        the ids that this memory is bound to, `EmbedderError`, `StoreError`.
        """
        choice = planning.read_on_conflict(on_conflict)
        checks.check_flag(dry_run, "dry_run")
        act = self._act(actor, "import")
        opened = await off_loop(lambda: Source(source))
        with opened:
            contents = await off_loop(lambda: checking.check(opened, progress))
            planning.refuse_strangers(contents, Pattern(**self._bound))
            job = Job(opened, contents, self._tenant, choice, progress)
            if dry_run:
                plan = await off_loop(lambda: importing.plan(self._parts.store(), job))
                return importing.report(job, plan, embedded=0, dry_run=True)
            return await self._parts.in_current_space(lambda: self._import(job, act))

    async def import_from_mem0(
        self,
        path: str | PathLike[str],
        *,
        history: str | PathLike[str] | None = None,
        user_id: str | None = None,
        on_conflict: str = "fail",
        dry_run: bool = False,
        progress: Progress | None = None,
        actor: str | None = None,
    ) -> shapes.Mem0ImportResult:
        """Take over what mem0 (1.x or 2.x) keeps in a directory, or what its platform has exported as JSON.

        path: a directory with an embedded Qdrant in or below it, or a JSON file. history: mem0's history.db, where
        it is not in, below or beside that. user_id: the owner of memories that name none, and of deleted ones,
        whose owner mem0 does not keep; without it these are left out. Ids, texts, metadata, owners, instants and
        history are kept; times without a zone are read in the configured one. mem0's files are not changed, and
        nothing that they say is run. The rest is as in `import_from`, all or nothing included.

        Returns what `import_from` does, and what was found for each owner, left out or did not fit. Raises
        `ValidationError` where nothing of mem0's is found or its files hold what mem0 does not write,
        `StoreBusyError` while another program holds them locked, and as `import_from` does.
        """
        owner, tz = self._ids(user_id=user_id)["user_id"], self._parts.tz
        left = await off_loop(lambda: mem0_reader.read(path, tz, history=history, user_id=owner))
        converted = await off_loop(lambda: mem0_convert.convert(left, tz))
        with tempfile.TemporaryFile() as file:
            await off_loop(lambda: handover.write_export(converted, file, self._parts.clock()))
            file.seek(0)
            done = await self.import_from(
                file, on_conflict=on_conflict, dry_run=dry_run, progress=progress, actor=actor
            )
        return handover.report(left, converted, done)

    async def _import(self, job: Job, act: Act) -> shapes.ImportResult:
        for _ in range(PLANS - 1):
            try:
                return await self._try_to_import(job, act)
            except PlanChangedError:
                continue
        return await self._try_to_import(job, act)

    async def _try_to_import(self, job: Job, act: Act) -> shapes.ImportResult:
        plan = await off_loop(lambda: importing.plan(self._parts.store(), job))
        with Spool() as spool:
            space_id = await self._index_rows(job, plan, spool)
            await off_loop(lambda: importing.write(self._parts.store(), job, plan, spool, space_id, act))
            return importing.report(job, plan, embedded=spool.embedded, dry_run=False)

    async def _index_rows(self, job: Job, plan: planning.Plan, spool: Spool) -> int | None:
        """Terms and vectors of all that an import writes; returns the space of the vectors, None for none."""
        parts = self._parts
        if not planning.writes_any(job.contents, plan):
            space = None
        else:
            space = await (parts.space() if parts.embedder is None else parts.space_for_writing())
        fits = space is not None and job.contents.header.vectors == VectorSpace(space.name, space.dims)
        rows = importing.batches(job, plan, reuse=fits)

        async def spool_next() -> bool:
            batch = await off_loop(lambda: next(rows, None))
            if batch is not None:
                vectors = await parts.all_embedded(list(batch.texts))
                await off_loop(lambda: spool.add(batch, vectors))
            return batch is not None

        while await spool_next():
            pass
        return space.id if space is not None and (fits or parts.embedder is not None) else None
