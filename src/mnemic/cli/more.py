"""The commands beside the verbs: settings, measuring, the demo, the version."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mnemic import __version__

from . import show
from .call import Call, errors_on_one_line, fail, note


def config_show(call: Call) -> None:
    """Show each setting, its value and its source.

    Secrets are masked.
    """
    from mnemic import config

    rows = config.shown_settings(config.load(call.settings))
    call.show(
        [{"name": name, "value": value, "source": source} for name, value, source in rows], show.settings
    )


def doctor(
    call: Call,
    full: Annotated[
        bool, typer.Option("--full", help="Search all of the store for damage, however long it takes.")
    ] = False,
) -> None:
    """Try all that is configured, and tell how to get what is missing.

    Exit code 0 when all that is configured works, else 1. Nothing is changed.
    """
    from . import doctor as examining
    from . import doctor_text

    report = examining.examine(call.settings, whole=full)
    call.show(examining.as_mapping(report), lambda _: doctor_text.print_report(report))
    if not report.works:
        raise typer.Exit(1)


def check(
    call: Call,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make anew what can be: terms, vectors, keys.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Also make the terms of all texts again and compare.")
    ] = False,
) -> None:
    """Verify the store: all there, all in order, nothing left over.

    Exit code 0 when no fault is left, else 1. Messages, versions and changes are never touched.
    """
    from mnemic import config

    place = config.store_location(config.load(call.settings))
    if isinstance(place, Path) and not place.exists():
        fail(f"There is no store at {place}.")
    with call.memory() as memory:
        found = memory.check(repair=repair, full=full, progress=_progress if sys.stderr.isatty() else None)
    call.show(found, show.checkup)
    if not found["sound"]:
        raise typer.Exit(1)


def reembed(
    call: Call,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="The embedder; else the configured one.")
    ] = None,
) -> None:
    """Move the store to another embedder, while it is in use.

    Broken off, run it again: it goes on where it was. Programs that have the store open must be started anew
    with the new embedder when it is done.
    """
    from mnemic import config
    from mnemic.models.embed import best_installed

    chosen = to or config.load(call.settings).embedder or best_installed()
    with call.memory(embedder="none") as memory:
        moved = memory.reembed(chosen, progress=_progress if sys.stderr.isatty() else None)
    call.show(moved, show.moved)


def _progress(what: str, done: int, total: int) -> None:
    typer.echo(f"\r{what}: {done:,} of {total:,}", err=True, nl=done == total)


def init(
    call: Call,
    path: Annotated[
        str | None, typer.Option("--path", metavar="PATH", help="Where; else where it is read from.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a config file that explains every setting."""
    from . import init as writing

    written = writing.write(path, force=force)
    call.show({"path": str(written)}, lambda _: typer.echo(f"Wrote {written}"))
    if written != writing.config_file():
        note(f"It is read where MNEMIC_CONFIG={written} is set.")


def eval_locomo(
    call: Call,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A LoCoMo file, such as locomo10.json.")],
    units: Annotated[
        str, typer.Option("--units", metavar="turns|facts", help="What becomes one memory.")
    ] = "turns",
    limit: Annotated[
        int | None, typer.Option("--limit-conversations", metavar="N", min=1, help="Only the first N.")
    ] = None,
) -> None:
    """Measure how much of the evidence the first hits cover.

    No LLM takes part. Runs on a fresh temporary store with the settings in force.
    """
    from . import eval as measuring

    measuring.locomo(call, file, units, limit, say=note)


def eval_statements(
    call: Call,
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Labelled messages, such as tests/data/statements.")
    ],
) -> None:
    """Measure what is kept, left out and closed without an LLM.

    By language, and by the half of the cases on which the rules were developed and the half on which they
    were not; every failure is listed.
    """
    from . import eval_statements as measuring

    measuring.statements(call, folder)


def eval_prompts(
    call: Call,
    cases: Annotated[
        str, typer.Argument(metavar="CASES", help="A file of cases, such as tests/data/prompts/cases.jsonl.")
    ],
    modes: Annotated[
        list[str] | None,
        typer.Option(
            "--mode", metavar="MODE", help="The editing mode; repeat it to compare. Else supersede."
        ),
    ] = None,
    prompts: Annotated[
        list[str] | None,
        typer.Option(
            "--prompt", metavar="NAME/N", help="A prompt's version; repeat it to compare. Else newest."
        ),
    ] = None,
    requests: Annotated[
        str | None,
        typer.Option("--requests", metavar="FILE", help="Only write what would be sent and has no answer."),
    ] = None,
    answers: Annotated[
        str | None, typer.Option("--answers", metavar="FILE", help="Take recorded answers; ask no model.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Add the model's answers to this file.")
    ] = None,
    least: Annotated[
        float | None,
        typer.Option("--least", metavar="SHARE", min=0, max=1, help="Fail where fewer cases pass whole."),
    ] = None,
) -> None:
    """Judge what a model makes of labelled cases, modes side by side.

    Asks the configured LLM, unless answers are given. Each case runs in a store of its own; every failure is
    listed.
    """
    from . import eval_prompts as measuring

    wanted = measuring.Wanted(cases, modes or ["supersede"], prompts or [], requests, answers, record, least)
    measuring.prompts(call, wanted, _progress if sys.stderr.isatty() else None)


def demo() -> None:
    """Keep a year of chats, see what is left out and why, find things."""
    from . import demo as showing

    with errors_on_one_line():
        showing.run()


def version(call: Call) -> None:
    """Print the version."""
    call.show({"version": __version__}, lambda _: print_version())


def print_version() -> None:
    """The version on one line."""
    typer.echo(f"mnemic {__version__}")
