"""What every command shares: where the store is, whose memories, JSON or text, and how errors look."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from mnemic.errors import MnemicError

if TYPE_CHECKING:
    from mnemic.memory import Memory

T = TypeVar("T")

StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="PATH", help="The store's file or postgresql:// URL; else MNEMIC_STORE."),
]
TenantOption = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="Whose data may be touched at all.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the API's result as one JSON document.")]


@dataclass(frozen=True, slots=True)
class Call:
    """The options that all commands take. `ids` holds those given."""

    store: str | None
    tenant: str | None
    as_json: bool
    ids: Mapping[str, Any]

    @property
    def settings(self) -> dict[str, str]:
        """The settings given as options."""
        given = {"store": self.store, "tenant": self.tenant}
        return {key: value for key, value in given.items() if value is not None}

    @contextmanager
    def memory(self, **more: Any) -> Iterator[Memory]:
        """The store, open as long as the block runs; `more` settings go before all others."""
        from mnemic.memory import Memory

        with Memory(**{**self.settings, **more}) as memory:
            yield memory

    def show(self, result: T, for_people: Callable[[T], None]) -> None:
        """Print a result: as JSON where that was asked for, else the way people read it."""
        if self.as_json:
            from .show import as_json

            as_json(result)
        else:
            for_people(result)


def command(run: Callable[..., None], *, scoped: bool = True, stored: bool = True) -> Callable[..., None]:
    """The function as Typer takes it: the shared options come at the end, errors are one line.

    scoped: whether it takes ids; stored: whether it is about a store at all. Store, tenant and --json may also
    be given before the command's name.
    """
    own = _parameters(run)[1:]
    ids = _parameters(_id_options) if scoped else []
    shared = _parameters(_options)[0 if stored else -1 :]

    def wrapped(ctx: typer.Context, **given: Any) -> None:
        before: Call = ctx.obj
        options = {parameter.name: given.pop(parameter.name) for parameter in shared}
        named = {parameter.name: given.pop(parameter.name) for parameter in ids}
        call = Call(
            store=_later(options.get("store"), before.store),
            tenant=_later(options.get("tenant"), before.tenant),
            as_json=options["as_json"] or before.as_json,
            ids={name: value for name, value in named.items() if value is not None},
        )
        with errors_on_one_line():
            run(call, **given)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *own, *ids, *shared]
    wrapped.__doc__ = run.__doc__
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrapped


@contextmanager
def errors_on_one_line() -> Iterator[None]:
    """Turn mnemic's errors into a line on stderr and exit code 1, an interrupt into exit code 130."""
    try:
        yield
        # A closed pipe is noticed here, inside of what Typer ends quietly, and not when Python shuts down.
        sys.stdout.flush()
    except MnemicError as fault:
        fail(str(fault))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def fail(message: str) -> NoReturn:
    """End with one line on stderr and exit code 1."""
    typer.echo(f"Error: {' '.join(message.split())}", err=True)
    raise typer.Exit(1)


def note(message: str) -> None:
    """Tell people something beside the result, on stderr."""
    typer.echo(message, err=True)


def _later(own: str | None, before: str | None) -> str | None:
    # Not `or`: an empty name is an error to be told, not a reason to use another store.
    return before if own is None else own


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _options(store: StoreOption = None, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """The options of every command, as a signature."""


def _id_options(
    user_id: Annotated[
        str | None, typer.Option("--user-id", "-u", metavar="ID", help="The user whose memories these are.")
    ] = None,
    agent_id: Annotated[str | None, typer.Option("--agent-id", metavar="ID", help="The agent's.")] = None,
    app_id: Annotated[str | None, typer.Option("--app-id", metavar="ID", help="The app's.")] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="ID", help="Only those of this run.")
    ] = None,
) -> None:
    """The options that say whose memories, as a signature."""
