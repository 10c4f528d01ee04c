"""The commands that take memories out of a store and into it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.records import OnConflict

from . import moving, show
from .call import Call, note
from .write import Actor

if TYPE_CHECKING:
    from mnemic import shapes

SHOWN = 10


class Origin(StrEnum):
    """Other programs whose memories can be taken over."""

    MEM0 = "mem0"


def export(
    call: Call,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to; .gz is compressed; else standard output.")
    ] = "-",
    vectors: Annotated[bool, typer.Option("--vectors", help="Also the embeddings.")] = False,
) -> None:
    """Write all memories, messages and histories as JSON Lines.

    Of the ids given, or of the whole tenant without any.
    """
    with call.memory() as memory, _progress() as progress:
        if file == "-":
            done = memory.export_to(sys.stdout.buffer, vectors=vectors, progress=progress, **call.ids)
        else:
            done = memory.export_to(file, vectors=vectors, progress=progress, **call.ids)
    if file == "-":
        # Standard output has the export itself.
        note(_exported(done))
    else:
        call.show(done, lambda _: typer.echo(f"{_exported(done)} Written to {show.clean(file)}."))


def import_memories(
    call: Call,
    file: Annotated[str, typer.Argument(metavar="FILE", help="An export; - for standard input.")],
    on_conflict: Annotated[
        OnConflict,
        typer.Option("--on-conflict", help="What becomes of memories whose id is there already."),
    ] = OnConflict.FAIL,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the file, tell what would be imported, import nothing.")
    ] = False,
    actor: Actor = None,
    origin: Annotated[
        Origin | None,
        typer.Option("--from", help="FILE is what mem0 left: a directory of its, or its platform's JSON."),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option("--history", metavar="PATH", help="mem0's history.db, where it lies elsewhere."),
    ] = None,
    user_id: Annotated[
        str | None,
        typer.Option("--user-id", "-u", metavar="ID", help="The owner of what names none in mem0."),
    ] = None,
) -> None:
    """Read an export into this store: all of it or nothing.

    Every line is checked before anything is written. Ids and times stay as they are.
    """
    if origin is None and (history is not None or user_id is not None):
        raise typer.BadParameter("--history and --user-id go with --from mem0.")
    with call.memory() as memory, _progress() as progress:
        if origin is Origin.MEM0:
            moved = memory.import_from_mem0(
                file,
                history=history,
                user_id=user_id,
                on_conflict=on_conflict,
                dry_run=dry_run,
                progress=progress,
                actor=actor,
            )
            call.show(moved, _moved)
            return
        done = memory.import_from(
            sys.stdin.buffer if file == "-" else file,
            on_conflict=on_conflict,
            dry_run=dry_run,
            progress=progress,
            actor=actor,
        )
    call.show(done, _imported)


def _exported(done: shapes.ExportResult) -> str:
    memories, messages = show.count(done["memories"], "memory"), show.count(done["messages"], "message")
    return f"Exported {memories} and {messages} of {show.count(done['owners'], 'owner')}."


def _imported(done: shapes.ImportResult) -> None:
    would = "Would import" if done["dry_run"] else "Imported"
    told = [f"{would} {show.count(done['added'], 'memory')} and {show.count(done['messages'], 'message')}"]
    told += [f"{name} {done[name]:,}" for name in ("overwritten", "skipped") if done[name]]
    typer.echo(f"{', '.join(told)}.")
    for twin in done["duplicates"][:SHOWN]:
        typer.echo(f"{show.clean(twin['id'])} is kept already as {show.clean(twin['existing_id'])}")
    if len(done["duplicates"]) > SHOWN:
        typer.echo(f"and {len(done['duplicates']) - SHOWN:,} more; --json lists all.")


def _moved(done: shapes.Mem0ImportResult) -> None:
    _imported(done)
    moving.print_report(done)


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total)

        yield tell
