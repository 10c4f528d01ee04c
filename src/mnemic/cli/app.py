"""The commands by name. Only what a command uses is imported, and only when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from . import more, prompts, read, transfer, write
from .call import Call, JsonOption, StoreOption, TenantOption, command

VERBS: dict[str, Callable[..., None]] = {
    "add": write.add,
    "search": read.search,
    "why": read.why,
    "list": read.list_memories,
    "get": read.get,
    "update": write.update,
    "delete": write.delete,
    "restore": write.restore,
    "undo": write.undo,
    "purge": write.purge,
    "trash": read.trash,
    "history": read.history,
    "timeline": read.timeline,
    "diff": read.diff,
    "messages": read.messages,
    "stats": read.stats,
    "log": read.log,
    "trace": read.trace,
    "replay": read.replay,
}

# Plain help takes half the time of boxed help and reads as well in a pipe.
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The settings in force.")
prompt = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="What models are told, version by version."
)
evals = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure with labelled data.")


def _print_version(wanted: bool) -> None:
    if wanted:
        more.print_version()
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    store: StoreOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for AI agents: one file, no server, nothing lost.

    \b
    mnemic add "Hi! I live in Hangzhou." -u ann
    mnemic search "Where do I live?" -u ann
    """
    ctx.obj = Call(store, tenant, as_json, {})


for name, verb in VERBS.items():
    app.command(name)(command(verb))
app.command("export")(command(transfer.export))
app.command("import")(command(transfer.import_memories, scoped=False))
config.command("show")(command(more.config_show, scoped=False))
evals.command("locomo")(command(more.eval_locomo, scoped=False, stored=False))
evals.command("statements")(command(more.eval_statements, scoped=False, stored=False))
evals.command("prompts")(command(more.eval_prompts, scoped=False, stored=False))
prompt.command("show")(command(prompts.prompt_show, scoped=False, stored=False))
prompt.command("diff")(command(prompts.prompt_diff, scoped=False, stored=False))
app.add_typer(config, name="config")
app.add_typer(prompt, name="prompt")
app.add_typer(evals, name="eval")
app.command("reembed")(command(more.reembed, scoped=False))
app.command("check")(command(more.check, scoped=False))
app.command("doctor")(command(more.doctor, scoped=False))
app.command("init")(command(more.init, scoped=False, stored=False))
app.command("demo")(more.demo)
app.command("version")(command(more.version, scoped=False, stored=False))
