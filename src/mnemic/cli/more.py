"""The commands beside the verbs: settings, measuring, the demo, the version."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic import __version__

from . import show
from .call import Call, errors_on_one_line, note


def config_show(call: Call) -> None:
    """Show each setting, its value and its source.

    Secrets are masked.
    """
    from mnemic import config

    rows = config.shown_settings(config.load(call.settings))
    call.show(
        [{"name": name, "value": value, "source": source} for name, value, source in rows], show.settings
    )


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
    """Measure how much of each question's evidence the first hits cover (no LLM).

    Runs on a fresh temporary store with the settings in force.
    """
    from . import eval as measuring

    measuring.locomo(call, file, units, limit, say=note)


def demo() -> None:
    """Keep a chat, find things in it, change one, see why."""
    from . import demo as showing

    with errors_on_one_line():
        showing.run()


def version(call: Call) -> None:
    """Print the version."""
    call.show({"version": __version__}, lambda _: print_version())


def print_version() -> None:
    """The version on one line."""
    typer.echo(f"mnemic {__version__}")
