"""`mnemic import --from mem0`: what was found there, what came of it, what was left out and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

from . import show

if TYPE_CHECKING:
    from mnemic import shapes

T = TypeVar("T")

SHOWN = 10


def print_report(done: shapes.Mem0ImportResult) -> None:
    """The owners with what is of each, then what was left out, then what did not fit."""
    owners = done["owners"]
    _print_some("Found:", owners, lambda owner: f"{_whose(owner)}: {_counts(owner)}")
    _print_some("Left out:", done["left_out"], _left_out)
    _print_some("To be known:", done["remarks"], lambda one: f"{one['id']}: {one['remark']}")


def _print_some(title: str, items: Sequence[T], line: Callable[[T], str]) -> None:
    if items:
        typer.echo(title)
    for item in items[:SHOWN]:
        typer.echo(f"  {show.clean(line(item))}")
    if len(items) > SHOWN:
        typer.echo(f"  and {len(items) - SHOWN:,} more; --json lists all.")


def _whose(owner: shapes.Mem0OwnerItem) -> str:
    ids = {"user_id": owner.get("user_id"), "agent_id": owner.get("agent_id"), "app_id": owner.get("app_id")}
    return ", ".join(f"{name} {value}" for name, value in ids.items() if value) or "of a run only"


def _counts(owner: shapes.Mem0OwnerItem) -> str:
    things = {"memory": owner["memories"], "deleted memory": owner["deleted"], "message": owner["messages"]}
    return ", ".join(show.count(number, thing) for thing, number in things.items() if number)


def _left_out(one: shapes.LeftOutItem) -> str:
    which = f" ({one['ids'][0]})" if one["count"] == 1 else ""
    return f"{show.count(one['count'], one['what'])}: {one['reason']}{which}"
