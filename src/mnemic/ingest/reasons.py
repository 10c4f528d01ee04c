"""What became of a message that no memory states: by the steps of its add, or by the rules that left it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from ..records import Event, Fate, Message, StoredMessage
from ..text.tokens import index_terms
from .given import Common
from .messages import Heard
from .statements import extract

ANYONE = Common(metadata=None, expires=(None, None), timestamp=None, tz=UTC)

Verdict = Mapping[str, Any]


def why_not_kept(
    message: StoredMessage, expect: str, steps: Mapping[str, Any] | None, *, with_model: bool = False
) -> Fate:
    """Why no memory states `expect`, which the message holds, or which memory it went into.

    steps: of the message's add, where they are kept. with_model: whether adds ask a model now.
    """
    if steps is not None and steps.get("mode") is not None:
        return _by_steps(expect, steps)
    told = _by_rules(message, expect)
    if with_model and steps is None:
        return Fate(f"the steps of its add are not kept; of the rules that serve without a model, {told}")
    return Fate(told)


def _by_rules(message: StoredMessage, expect: str) -> str:
    heard = Heard((Message(message.role, message.content, message.name),), (0,), ())
    extraction = extract(heard, ANYONE, message.said_at)
    for rejected in extraction.rejected:
        if expect.casefold() in rejected.text.casefold():
            return f"the extractor left it out as {_spoken(rejected.reason)}: {rejected.text!r}"
    return "the extractor would keep it now, but it was not kept when it was said, or its memory was purged"


def _by_steps(expect: str, steps: Mapping[str, Any]) -> Fate:
    """What a model proposed of it, and what code decided."""
    wanted = expect.casefold()
    verdicts: Sequence[Verdict] = steps.get("verdicts", ())
    for one in verdicts:
        if wanted in one["text"].casefold() and not one.get("ids"):
            return Fate(f"a model proposed it, and it was {_refusal(one)}")
    if not steps.get("calls"):
        return Fate("no model was asked: no message of its add may be a source of facts")
    numbers = {one["number"] for one in steps["messages"] if wanted in one["content"].casefold()}
    if not numbers:
        return Fate("no model was shown it: these words had been deleted before they were sent again")
    drawn = [one for one in verdicts if numbers & set(one.get("sources", ()))]
    nearest = _nearest(expect, drawn)
    if nearest is not None:
        return _went(nearest)
    model = steps["calls"][0]["model"]
    others = "; ".join(repr(one["text"]) for one in drawn)
    return Fate(
        f"the model {model} did not propose it{f', but, of the same message: {others}' if drawn else ''}"
    )


def _nearest(expect: str, drawn: Sequence[Verdict]) -> Verdict | None:
    """The fact that shares most words with what is expected, or the only one that was drawn from its message."""
    words = index_terms(expect).keys()
    shared = [len(words & index_terms(one["text"]).keys()) for one in drawn]
    if len(drawn) == 1:
        return drawn[0]
    return drawn[shared.index(max(shared))] if any(shared) else None


def _went(one: Verdict) -> Fate:
    """Where a fact went that tells the words expected in others."""
    if not one.get("ids"):
        return Fate(f"a model proposed it as {one['text']!r}, and it was {_refusal(one)}")
    uid, event = one["ids"][0], one["events"][0]
    if event == Event.DELETE:
        return Fate(f"it became no memory, and ended memory {uid}: a model drew {one['text']!r}")
    how = {Event.NONE: "it repeats", Event.UPDATE: "it was merged into, as the fuller text,"}
    return Fate(f"{how.get(event, 'it was kept in other words as')} memory {uid}: {one['text']!r}", uid)


def _refusal(one: Verdict) -> str:
    detail = f" ({one['detail']})" if one.get("detail") else ""
    what = "not embedded" if one.get("verdict") == "failed" else "rejected"
    return f"{what} as {_spoken(one.get('reason') or 'nothing new')}{detail}"


def _spoken(reason: str) -> str:
    return reason.replace("_", " ")
