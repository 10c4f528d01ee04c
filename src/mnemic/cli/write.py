"""The commands that change a store."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from . import inputs, show
from .call import Call

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")]
Metadata = Annotated[
    str | None, typer.Option("--metadata", "-m", metavar="JSON", help="Your own data, a JSON object.")
]
Actor = Annotated[str | None, typer.Option("--actor", help="Who changes it.")]
Key = Annotated[
    str | None, typer.Option("--idempotency-key", metavar="KEY", help="Your name for this call: done once.")
]
Expected = Annotated[
    int | None, typer.Option("--expected-version", metavar="N", help="Fail if it is at another version.")
]
Reason = Annotated[str | None, typer.Option("--reason", help="Why.")]


def add(
    call: Call,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="What was said; - for standard input.")
    ] = None,
    messages: Annotated[
        str | None, typer.Option("--messages", metavar="JSON", help="Messages with role and content.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Messages as JSON in a file.")
    ] = None,
    fact: Annotated[
        list[str] | None, typer.Option("--fact", metavar="TEXT", help="A fact to keep as it is; repeatable.")
    ] = None,
    infer: Annotated[
        bool | None,
        typer.Option("--infer/--no-infer", help="Extract facts, or keep messages word for word."),
    ] = None,
    metadata: Metadata = None,
    timestamp: Annotated[
        str | None, typer.Option("--timestamp", metavar="TIME", help="When it was said; else now.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DAY", help="The last day it is kept.")
    ] = None,
    ttl: Annotated[
        str | None,
        typer.Option("--ttl", metavar="TIME", help="How long it is kept from now on: 45m, 12h, 30d, 2w."),
    ] = None,
    idempotency_key: Key = None,
    editing: Annotated[
        str | None,
        typer.Option(
            "--editing", metavar="HOW", help="supersede, append or reconcile: how facts meet others."
        ),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", metavar="TEXT", help="Instructions to the model, for this once.")
    ] = None,
    memory_type: Annotated[
        str | None,
        typer.Option("--memory-type", metavar="NAME", help="procedural_memory: how an agent did a task."),
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show each step.")] = False,
) -> None:
    """Keep what was said, or facts."""
    said = _said(text, messages, file, fact)
    given: dict[str, Any] = {} if infer is None else {"infer": infer}
    own = inputs.from_json(metadata, "--metadata")
    with call.memory() as memory:
        added = memory.add(
            said,
            facts=fact or None,
            metadata=own,
            timestamp=inputs.time_of(timestamp),
            expiration_date=expires,
            ttl=ttl,
            idempotency_key=idempotency_key,
            editing=editing,
            prompt=prompt,
            memory_type=memory_type,
            trace=trace,
            **given,
            **call.ids,
        )
    call.show(added, show.added)


def update(
    call: Call,
    memory_id: MemoryId,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The new text.")] = None,
    metadata: Metadata = None,
    replace_metadata: Annotated[
        bool, typer.Option("--replace-metadata", help="Replace the metadata instead of merging.")
    ] = False,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DAY", help="The last day it is kept, or 'never'.")
    ] = None,
    expected_version: Expected = None,
    idempotency_key: Key = None,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Give a memory a new version; its history keeps the old."""
    given: dict[str, Any] = {}
    if expires is not None:
        given["expiration_date"] = None if expires == "never" else expires
    own = inputs.from_json(metadata, "--metadata")
    with call.memory() as memory:
        changed = memory.update(
            memory_id,
            inputs.stdin_text() if text == "-" else text,
            metadata=own,
            replace_metadata=replace_metadata,
            expected_version=expected_version,
            idempotency_key=idempotency_key,
            actor=actor,
            reason=reason,
            **given,
            **call.ids,
        )
    call.show(changed, show.changed)


def delete(
    call: Call,
    memory_id: Annotated[str | None, typer.Argument(metavar="ID", help="The memory's id.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All memories of the ids given, by the filter if there is one.")
    ] = False,
    filters: Annotated[
        str | None, typer.Option("--filter", metavar="JSON", help="With --all: only those that meet it.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --all: tell what would be deleted, delete nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask.")] = False,
    expected_version: Expected = None,
    idempotency_key: Key = None,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Delete one memory, or with --all those of a scope.

    `mnemic trash` lists what was deleted, `mnemic restore` brings it back.
    """
    if everything == (memory_id is not None):
        raise typer.BadParameter("Give either the ID of one memory or --all with ids such as --user-id.")
    if everything:
        for option, is_given in (
            ("--expected-version", expected_version is not None),
            ("--idempotency-key", idempotency_key is not None),
        ):
            if is_given:
                raise typer.BadParameter("It goes with the ID of one memory only.", param_hint=option)
        _delete_all(call, filters, dry_run, yes, actor, reason)
        return
    for option, is_given in (("--filter", filters is not None), ("--dry-run", dry_run)):
        if is_given:
            raise typer.BadParameter("It goes with --all only.", param_hint=option)
    with call.memory() as memory:
        changed = memory.delete(
            str(memory_id),
            expected_version=expected_version,
            idempotency_key=idempotency_key,
            actor=actor,
            reason=reason,
            **call.ids,
        )
    call.show(changed, show.changed)


def restore(call: Call, memory_id: MemoryId, actor: Actor = None, reason: Reason = None) -> None:
    """Bring a deleted memory back."""
    with call.memory() as memory:
        changed = memory.restore(memory_id, actor=actor, reason=reason, **call.ids)
    call.show(changed, show.changed)


def undo(
    call: Call,
    trace_id: Annotated[str, typer.Argument(metavar="TRACE", help="The trace_id of what is taken back.")],
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Take back all that one call did, such as an add.

    What it did to memories is put right by new versions, so that this can be undone too.
    """
    with call.memory() as memory:
        undone = memory.undo(trace_id, actor=actor, reason=reason, **call.ids)
    call.show(undone, show.undone)


def purge(
    call: Call,
    memory_id: Annotated[str | None, typer.Argument(metavar="ID", help="The memory's id.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All that belongs to the ids given: messages, memories, history.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count, and remove nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    actor: Actor = None,
    reason: Reason = None,
) -> None:
    """Remove all trace of a memory, or of a scope, for good.

    There is no way back; `mnemic delete` has one.
    """
    if everything == (memory_id is not None):
        raise typer.BadParameter("Give either the ID of one memory or --all with ids such as --user-id.")
    if not (yes or dry_run or asking_is_possible()):
        raise typer.BadParameter("Nobody can be asked here: add --yes, or look first with --dry-run.")
    with call.memory() as memory:
        if not (yes or dry_run):
            rows = sum(memory.purge(memory_id, dry_run=True, **call.ids)["would_remove"].values())
            if not typer.confirm(f"Remove {show.count(rows, 'row')} for good?", err=True):
                raise typer.Exit(1)
        purged = memory.purge(memory_id, dry_run=dry_run, actor=actor, reason=reason, **call.ids)
    call.show(purged, show.purged)


def asking_is_possible() -> bool:
    """Whether somebody sits at a terminal."""
    return sys.stdin.isatty()


def _said(text: str | None, messages: str | None, file: str | None, facts: list[str] | None) -> Any:
    """The messages of an add, from the one place that was named, else from standard input."""
    if sum(source is not None for source in (text, messages, file)) > 1:
        raise typer.BadParameter("Give one of TEXT, --messages and --file, not several.")
    if messages is not None:
        return inputs.from_json(messages, "--messages")
    if file is not None:
        return inputs.from_json_file(file, "--file")
    if facts and text is None:
        return None
    said = inputs.given_or_stdin(text)
    if said is None:
        raise typer.BadParameter("Give TEXT, --messages, --file or --fact, or pipe the text in.")
    return said


def _delete_all(
    call: Call, filters: str | None, dry_run: bool, yes: bool, actor: str | None, reason: str | None
) -> None:
    chosen = inputs.from_json(filters, "--filter")
    if not (yes or dry_run or asking_is_possible()):
        raise typer.BadParameter("Nobody can be asked here: add --yes, or look first with --dry-run.")
    with call.memory() as memory:
        if not (yes or dry_run):
            found = memory.delete_all(filters=chosen, dry_run=True, **call.ids)["would_delete"]
            if not typer.confirm(f"Delete {show.count(len(found), 'memory')}?", err=True):
                raise typer.Exit(1)
        changed = memory.delete_all(filters=chosen, dry_run=dry_run, actor=actor, reason=reason, **call.ids)
    call.show(changed, show.changed)
