"""The commands that only read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from . import inputs, show
from .call import Call, fail
from .write import MemoryId

if TYPE_CHECKING:
    from mnemic import shapes

Filter = Annotated[
    str | None, typer.Option("--filter", metavar="JSON", help="Conditions on fields and metadata.")
]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Go on where an earlier page ended.")]
Everything = Annotated[bool, typer.Option("--all", help="All pages.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", help="How many at most.")]
ShowExpired = Annotated[bool, typer.Option("--show-expired", help="Also those past their last day.")]
Superseded = Annotated[bool, typer.Option("--include-superseded", help="Also those that were replaced.")]
TopK = Annotated[
    int | None, typer.Option("--top-k", "-k", "--limit", help="How many at most; 20 if not given.")
]
Threshold = Annotated[float | None, typer.Option("--threshold", help="The least score, 0 to 1.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What held at that time.")]
KnownAt = Annotated[
    str | None, typer.Option("--known-at", metavar="TIME", help="What the store knew at that time.")
]
ReferenceDate = Annotated[
    str | None,
    typer.Option(
        "--reference-date", metavar="TIME", help='What "now" means for time words such as last year.'
    ),
]

Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="Not before that.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Not after that.")]

TraceId = Annotated[str, typer.Argument(metavar="ID", help="The trace_id of an add.")]

PAGE = 500


def search(
    call: Call,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")],
    top_k: TopK = None,
    threshold: Threshold = None,
    filters: Filter = None,
    rerank: Annotated[bool, typer.Option("--rerank", help="Let the configured reranker order them.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how each score came about.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    reference_date: ReferenceDate = None,
    include_superseded: Superseded = False,
    show_expired: ShowExpired = False,
) -> None:
    """Find the memories that a question needs, best first."""
    chosen = inputs.from_json(filters, "--filter")
    with call.memory() as memory:
        found = memory.search(
            query,
            top_k=top_k,
            threshold=threshold,
            filters=chosen,
            rerank=rerank,
            explain=explain,
            as_of=inputs.time_of(as_of),
            known_at=inputs.time_of(known_at),
            reference_date=inputs.time_of(reference_date),
            include_superseded=include_superseded,
            show_expired=show_expired,
            **call.ids,
        )
    call.show(found, show.hits)


def why(
    call: Call,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, as it was searched for.")],
    expect: Annotated[
        str, typer.Option("--expect", "-e", metavar="TEXT", help="Words that should have come back.")
    ],
    top_k: TopK = None,
    threshold: Threshold = None,
    filters: Filter = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    reference_date: ReferenceDate = None,
    include_superseded: Superseded = False,
    show_expired: ShowExpired = False,
) -> None:
    """Follow a text from message to rank: where is it lost?

    Take the options of the search that should have found it.
    """
    chosen = inputs.from_json(filters, "--filter")
    with call.memory() as memory:
        verdict = memory.why(
            query,
            expect=expect,
            top_k=top_k,
            threshold=threshold,
            filters=chosen,
            as_of=inputs.time_of(as_of),
            known_at=inputs.time_of(known_at),
            reference_date=inputs.time_of(reference_date),
            include_superseded=include_superseded,
            show_expired=show_expired,
            **call.ids,
        )
    call.show(verdict, show.why)


def list_memories(
    call: Call,
    filters: Filter = None,
    limit: Limit = None,
    cursor: Cursor = None,
    everything: Everything = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    include_superseded: Superseded = False,
    show_expired: ShowExpired = False,
    show_deleted: Annotated[bool, typer.Option("--show-deleted", help="Also deleted ones.")] = False,
) -> None:
    """List the memories of a scope, newest first."""
    given: dict[str, Any] = {
        "filters": inputs.from_json(filters, "--filter"),
        "as_of": inputs.time_of(as_of),
        "known_at": inputs.time_of(known_at),
        "include_superseded": include_superseded,
        "show_expired": show_expired,
        "show_deleted": show_deleted,
        **call.ids,
    }
    with call.memory() as memory:
        listed = _paged(memory.get_all, given, limit, cursor, everything)
    call.show(cast("shapes.ListResult", listed), show.memories)


def trash(
    call: Call,
    filters: Filter = None,
    limit: Limit = None,
    cursor: Cursor = None,
    everything: Everything = False,
) -> None:
    """List the deleted memories: who did it, when and why."""
    given = {"filters": inputs.from_json(filters, "--filter"), **call.ids}
    with call.memory() as memory:
        listed = _paged(memory.trash, given, limit, cursor, everything)
    call.show(cast("shapes.ListResult", listed), show.memories)


def messages(call: Call, limit: Limit = None, cursor: Cursor = None, everything: Everything = False) -> None:
    """Show what was said, word for word and in order."""
    with call.memory() as memory:
        listed = _paged(memory.messages, dict(call.ids), limit, cursor, everything)
    call.show(cast("shapes.MessageList", listed), show.messages)


def get(call: Call, memory_id: MemoryId) -> None:
    """Show one memory with all there is to it."""
    with call.memory() as memory:
        item = memory.get(memory_id, **call.ids)
    if item is not None or call.as_json:
        call.show(item, show.memory)
    if item is None:
        fail(f"Memory with id {memory_id} not found; `mnemic trash` lists what was deleted.")


def history(
    call: Call,
    memory_id: MemoryId,
    chain: Annotated[
        bool, typer.Option("--chain", help="Also of what it replaced, and of what replaced it.")
    ] = False,
) -> None:
    """Show every change of a memory, oldest first."""
    with call.memory() as memory:
        entries = memory.history(memory_id, chain=chain, **call.ids)
    if entries or call.as_json:
        call.show(entries, show.history)
    if not entries:
        fail(f"Memory with id {memory_id} not found.")


def timeline(
    call: Call,
    about: Annotated[
        str | None, typer.Argument(metavar="ABOUT", help="Only what is about this, such as work.")
    ] = None,
    filters: Filter = None,
    since: Since = None,
    until: Until = None,
    show_expired: ShowExpired = False,
    limit: Limit = None,
    cursor: Cursor = None,
    everything: Everything = False,
) -> None:
    """Show what held when, oldest first.

    Also what was replaced or has ended, with the id of what came after it.
    """
    given: dict[str, Any] = {
        "filters": inputs.from_json(filters, "--filter"),
        "since": inputs.time_of(since),
        "until": inputs.time_of(until),
        "show_expired": show_expired,
        **call.ids,
    }
    if about is not None and everything:
        raise typer.BadParameter("It goes without ABOUT only, which takes a --limit.", param_hint="--all")
    with call.memory() as memory:
        if about is None:
            told = _paged(memory.timeline, given, limit, cursor, everything)
        else:
            told = memory.timeline(about, limit=limit, cursor=cursor, **given)
    call.show(told, lambda found: show.timeline(found, _zone(call)))


def diff(
    call: Call,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Compare what was believed then.")],
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="With what was believed then; else now.")
    ] = None,
    filters: Filter = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="How many of each kind at most; 1000 if not given.")
    ] = None,
) -> None:
    """Show what changed between two times.

    What was believed of each memory at the one is compared with what was at the other.
    """
    with call.memory() as memory:
        found = memory.diff(
            since=inputs.time_of(since),
            until=inputs.time_of(until),
            filters=inputs.from_json(filters, "--filter"),
            limit=limit,
            **call.ids,
        )
    call.show(found, show.diff)


def _zone(call: Call) -> tzinfo:
    """The zone in which people read days."""
    from mnemic import clock, config

    return clock.zone(config.load(call.settings).timezone)


def log(
    call: Call,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only the changes of this memory.")
    ] = None,
    since: Since = None,
    until: Until = None,
    actor: Annotated[str | None, typer.Option("--actor", help="Only what this one did.")] = None,
    event: Annotated[
        list[str] | None, typer.Option("--event", help="Only such changes (repeatable): ADD, DELETE, ...")
    ] = None,
    limit: Limit = None,
    cursor: Cursor = None,
    everything: Everything = False,
) -> None:
    """Show all changes of a scope, or without ids of all, newest first."""
    given: dict[str, Any] = {
        "memory_id": memory_id,
        "since": inputs.time_of(since),
        "until": inputs.time_of(until),
        "actor": actor,
        "event": event or None,
        **call.ids,
    }
    with call.memory() as memory:
        listed = _paged(memory.log, given, limit, cursor, everything)
    call.show(cast("shapes.LogPage", listed), show.log)


def trace(call: Call, trace_id: TraceId) -> None:
    """Show each step of an add.

    What was said, what a model was shown, what it replied, what was decided and stored.
    """
    from . import show_steps

    with call.memory() as memory:
        told = memory.trace(trace_id, **call.ids)
    call.show(told, show_steps.trace)


def replay(
    call: Call,
    trace_id: TraceId,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the configured model, with today's prompt and settings.")
    ] = False,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="FILE", help="A reply to take instead; - for standard input."),
    ] = None,
) -> None:
    """Judge an add again, and show what differs.

    Nothing is stored. Without options today's code judges the model's replies of that time.
    """
    from . import show_steps

    if live and answer is not None:
        raise typer.BadParameter("Give --live or --answer, not both.")
    given = None if answer is None else inputs.text_of_file(answer, "--answer")
    with call.memory() as memory:
        result = memory.replay(trace_id, answer="live" if live else given, **call.ids)
    call.show(result, show_steps.replayed)


def stats(call: Call) -> None:
    """Count what a scope, or without ids the whole store, holds."""
    with call.memory() as memory:
        counted = memory.stats(**call.ids)
    call.show(counted, show.stats)


def _paged(
    verb: Callable[..., Any], given: dict[str, Any], limit: int | None, cursor: str | None, everything: bool
) -> Any:
    """A page of a listing, or all pages from there on as one."""
    if everything and limit is not None:
        raise typer.BadParameter("Give --limit or --all, not both.")
    if not everything:
        return verb(limit=limit, cursor=cursor, **given)
    page = verb(limit=PAGE, cursor=cursor, **given)
    results = list(page["results"])
    while page["next"] is not None:
        page = verb(limit=PAGE, cursor=page["next"], **given)
        results += page["results"]
    return {**page, "results": results, "next": None, "truncated": False}
