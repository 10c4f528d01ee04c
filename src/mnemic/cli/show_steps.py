"""The steps of an add, and what a replay makes of them, the way people read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .show import beside, clean, count, faint, make_console, moment, one_line, title

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from mnemic.steps import CallItem, ReplayResult, SaidItem, TraceItem, VerdictItem

# The fields of a fact that are worth a word where they have a value.
TOLD = ("about", "category", "on", "since", "until")


def trace(told: TraceItem) -> None:
    """Each step: what was said, what a model was shown and replied, what was decided and stored."""
    console = make_console()
    ids = [told.get(name) for name in ("user_id", "agent_id", "app_id", "run_id")]
    parts = [moment(told.get("at")), told["extractor"], *(str(one) for one in ids if one)]
    beside(console, told["trace_id"], clean("  ".join(parts)))
    _said(console, "Messages", told.get("messages", []))
    _said(console, "Earlier messages, as context", told.get("context", []))
    for call in told.get("calls", []):
        _call(console, call, told)
    if not told.get("calls"):
        title(console, "No model was asked.")
    title(console, "Verdicts")
    for verdict in told.get("verdicts", []):
        _verdict(console, verdict)
    if not told.get("verdicts"):
        console.print("No fact was proposed.")


def replayed(result: ReplayResult) -> None:
    """Whose reply it was, what was made of it, and what differs from then."""
    console = make_console()
    prompt, model = result["prompt"], result["model"]
    same = "today's request is the same" if result["same_request"] else "today's request is another"
    beside(
        console,
        result["answer"],
        clean(
            f"{_change(prompt)}  {_change(model)}  {same}" if model["after"] else f"{_change(prompt)}  {same}"
        ),
    )
    for call in result["calls"]:
        beside(console, f"{call['stage']:<8}", faint(_cost(call)))
    title(console, "Verdicts now")
    for verdict in result["after"]:
        _verdict(console, verdict)
    if not result["after"]:
        console.print("No fact was proposed.")
    title(console, "Differences")
    for one in result["differences"]:
        lines: list[str | Text] = [one_line(one["text"])]
        for name, values in one["fields"].items():
            lines.append(faint(f"{name}: {_value(values['before'])} -> {_value(values['after'])}"))
        beside(console, f"{one['change']:<8}", *lines)
    if not result["differences"]:
        console.print("None.")
    if "notice" in result:
        console.print(result["notice"])


def _said(console: Console, heading: str, messages: Sequence[SaidItem]) -> None:
    if not messages:
        return
    title(console, heading)
    for one in messages:
        number = f"[{one['number']}] " if "number" in one else ""
        name = f" {one['name']}" if one.get("name") else ""
        console.print(faint(clean(f"{number}{one['role']}{name}  {moment(one['timestamp'])}")))
        beside(console, "", clean(one["content"]))


def _call(console: Console, call: CallItem, told: TraceItem) -> None:
    offered = call.get("offered", told.get("offered", []))
    if offered:
        title(console, "Memories offered")
        for memory in offered:
            about = f"{memory['id']}  version {memory['version']}"
            beside(console, f"{memory['label']:<3}", one_line(memory["memory"]), faint(clean(about)))
    title(console, f"Asked to {call['stage']}")
    console.print(faint(clean(_cost(call))), soft_wrap=True)
    beside(console, "", clean(call["raw"]))
    if "fault" in call:
        console.print(clean(f"It could not be used: {call['fault']}"))


def _cost(call: CallItem) -> str:
    usage = call["usage"]
    tokens = f"{usage['tokens_in']:,} tokens in, {usage['tokens_out']:,} out"
    asked = f", {count(usage['calls'], 'request')}" if usage["calls"] != 1 else ""
    return f"{call['prompt']}  {call['model']}  {tokens}, {usage['ms']:,.0f} ms{asked}"


def _verdict(console: Console, verdict: VerdictItem) -> None:
    """A fact, where it came from, what it says, what it meets, what became of it and why."""
    told: Mapping[str, Any] = verdict
    sources = ", ".join(map(str, told.get("sources", [])))
    parts = [
        f"of [{sources}]" if sources else "",
        *(f"{name} {told[name]}" for name in TOLD if told.get(name)),
    ]
    lines: list[str | Text] = [one_line(told["text"])]
    lines.append(faint(clean("  ".join(part for part in parts if part))))
    lines += [faint(clean(f"{one['how']} {one['memory']}")) for one in told.get("meets", [])]
    if told.get("reason"):
        detail = f": {told['detail']}" if told.get("detail") else ""
        lines.append(clean(f"{told['reason'].replace('_', ' ')}{detail}"))
    lines += [faint(clean(remark)) for remark in told.get("remarks", [])]
    if told.get("unreconciled"):
        lines.append(faint("unreconciled: other memories changed meanwhile"))
    for uid, event in zip(told.get("ids", []), told.get("events", []), strict=True):
        lines.append(faint(clean(f"{event} {uid}")))
    beside(console, f"{told['verdict']:<9}", *(line for line in lines if str(line)))


def _change(values: Mapping[str, str | None]) -> str:
    before, after = values["before"], values["after"]
    return str(after) if before == after else f"{before} -> {after}"


def _value(value: Any) -> str:
    return "none" if value in (None, [], "") else one_line(json.dumps(value, ensure_ascii=False))
