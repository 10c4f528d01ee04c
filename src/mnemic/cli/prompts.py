"""The commands that show prompts, and what differs between their versions."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from . import show
from .call import Call

Named = Annotated[str, typer.Argument(metavar="NAME[/VERSION]", help="Such as extract, or extract/1.")]


def prompt_show(
    call: Call,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME[/VERSION]]", help="Its newest version if not told; all names without."),
    ] = None,
    final: Annotated[
        bool, typer.Option("--final", help="As it is sent: with your instructions and categories in place.")
    ] = False,
    agent: Annotated[
        bool, typer.Option("--agent", help="With --final: as for an agent's own deeds (agent_id).")
    ] = False,
) -> None:
    """Show a prompt, or list all."""
    from mnemic import adding, config, prompts
    from mnemic.ingest import briefing

    if name is None:
        known = [{"name": one, "versions": list(numbers)} for one, numbers in prompts.versions().items()]
        rows = [(one, ", ".join(map(str, numbers))) for one, numbers in prompts.versions().items()]
        call.show(known, lambda _: show.pairs(show.make_console(), rows))
        return
    prompt = prompts.named(name)
    if final:
        wishes = adding.wishes(config.load(call.settings), None)
        text = briefing.final(prompt, wishes, for_agent=agent)
    else:
        text = prompt.text
    call.show({"prompt": prompt.id, "text": text}, lambda _: typer.echo(text.rstrip("\n")))


def prompt_diff(call: Call, one: Named, other: Named) -> None:
    """Show what differs between two prompts, as a unified diff."""
    from mnemic import prompts

    first, second = prompts.named(one), prompts.named(other)
    lines = difflib.unified_diff(
        first.text.splitlines(), second.text.splitlines(), first.id, second.id, lineterm=""
    )
    text = "\n".join(lines)
    result = {"from": first.id, "to": second.id, "diff": text}
    call.show(result, lambda _: typer.echo(text or f"{first.id} and {second.id} are the same."))
