"""What a trace and the memories afterwards tell of a case, as it is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .cases import Case, Meets
from .judge import Drawn, State

# The verdicts on facts that were taken, and the one on a fact that was there already.
TAKEN = ("stored", "unchanged")
UNCHANGED = "unchanged"


def drawn_from(trace: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[Drawn, ...]:
    """The facts that were taken, by a trace. numbers: of the case's memories, by their ids."""
    drawn = [_drawn(one, numbers) for one in trace["verdicts"] if one["verdict"] in TAKEN]
    if trace["mode"] == "reconcile":
        # The classic editor lists each memory with its own text; one that it keeps or deletes is no fact.
        drawn = [one for one in drawn if one.adds]
    return tuple(drawn)


def _drawn(verdict: Mapping[str, Any], numbers: Mapping[str, int]) -> Drawn:
    meets = [Meets(numbers.get(one["memory"], 0), one["how"]) for one in verdict["meets"]]
    if verdict["verdict"] == UNCHANGED and not meets:
        meets = [Meets(numbers.get(uid, 0), "repeats") for uid in verdict["ids"]]
    dates = (verdict["on"], verdict["since"], verdict["until"])
    return Drawn(
        text=verdict["text"],
        about=verdict["about"],
        dates=tuple(date for date in dates if date is not None),
        meets=tuple(meets),
    )


def states_from(case: Case, ids: Sequence[str], items: Iterable[Mapping[str, Any]]) -> tuple[State, ...]:
    """What became of each memory of a case.

    ids: of the memories, in the case's order. items: all memories of the owner as `get_all` lists them, with
    those that are superseded or deleted.
    """
    listed = {item["id"]: item for item in items}
    return tuple(_state(listed.get(uid), known.text) for uid, known in zip(ids, case.memories, strict=True))


def _state(item: Mapping[str, Any] | None, text: str) -> State:
    if item is None:
        return State.RETIRED
    if item["superseded_by"] is not None:
        return State.SUPERSEDED
    if item.get("deleted_at") is not None:
        return State.RETIRED
    if item["valid_to"] is not None:
        return State.ENDED
    return State.CURRENT if item["memory"] == text else State.REFINED
