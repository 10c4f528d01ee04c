"""why(): follow a text from what was said to its place in a search, and name the first stage that lacks it.

The stages are data, in the order in which a memory passes them, so that a later step can add to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection

from ..clock import Instant, iso
from ..records import Fate, OwnerState, Stage, Stated, StoredMessage, Verdict
from ..store import traces, tracing
from ..store.database import Store
from .answers import Asked, score_details
from .cache import IndexCache, on_snapshots
from .explain import Explanation, explain
from .fuse import Ranking
from .search import Request, ranked
from .snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Question:
    """What `why` is asked: the text expected, the search that should have found it, and its least score.

    `not_kept` tells what became of a message that no memory states, by the steps of its add where they are kept.
    traced_since: the instant up to which steps are not kept any more.
    """

    expect: str
    request: Request
    threshold: float | None
    asked: Asked
    not_kept: Callable[[StoredMessage, str, Mapping[str, Any] | None], Fate]
    traced_since: Instant


def why(store: Store, indexes: IndexCache, question: Question, space_id: int | None) -> Verdict:
    """Follow the expected text through all stages. Blocking; one snapshot of the store."""

    def work(tx: Connection, states: Sequence[OwnerState], snapshots: Sequence[Snapshot]) -> Verdict:
        scope = question.request.scope
        said = tracing.messages_holding(tx, scope, question.expect)
        stated = tracing.versions_holding(tx, scope, question.expect)
        stages = [_said(said, stated, question.expect)]
        if not said and not stated:
            return _ended(question, stages, None)
        fate = None if stated else _fate(tx, said, question)
        if fate is not None and fate.uid is not None:
            stated = tracing.versions_of(tx, scope, fate.uid)
        stages.append(_kept(stated, fate))
        if not stated:
            return _ended(question, stages, None)
        known_at = question.request.known_at
        believed = [one for one in stated if _is_believed(one, known_at)]
        stages.append(_believed(stated[0], believed, known_at))
        if not believed:
            return _ended(question, stages, stated[0])
        ranking = ranked(tx, states, snapshots, question.request)
        return _ranked(question, stages, believed, [state.id for state in states], ranking)

    request = question.request
    return on_snapshots(store, indexes, request.scope, space_id, work, request.known_at)


def _said(said: Sequence[StoredMessage], stated: Sequence[Stated], expect: str) -> Stage:
    if said:
        first = said[0]
        who = first.name or first.role
        more = f", and {len(said) - 1} more" if len(said) > 1 else ""
        return Stage("said", True, f"by {who} on {_day(first.said_at)}: {_short(first.content)}{more}")
    if stated:
        return Stage("said", None, "no message says it; it was given as a fact or an update")
    return Stage("said", False, f"no message and no memory under these ids holds {expect!r}")


def _fate(tx: Connection, said: Sequence[StoredMessage], question: Question) -> Fate:
    """What became of the messages: of the latest that went into a memory, else of the latest whose steps are kept,
    else of the first."""
    scope, known = question.request.scope, None
    for message in reversed(said):
        steps = traces.steps_of(tx, scope, message.trace_id, question.traced_since)
        if steps is not None:
            fate = question.not_kept(message, question.expect, steps)
            if fate.uid is not None:
                return fate
            known = known or fate
    return known or question.not_kept(said[0], question.expect, None)


def _kept(stated: Sequence[Stated], fate: Fate | None) -> Stage:
    if fate is None:
        return Stage("kept", True, f"as memory {stated[0].uid}: {_short(stated[0].text)}")
    if fate.uid is not None and not stated:
        return Stage("kept", False, f"{fate.detail}; which is not there any more")
    return Stage("kept", bool(stated), fate.detail)


def _is_believed(one: Stated, known_at: Instant | None) -> bool:
    """Whether a version is believed now, or was at an instant."""
    if known_at is None:
        return one.closed_at is None
    return one.opened_at <= known_at and (one.closed_at is None or one.closed_at > known_at)


def _believed(latest: Stated, believed: Sequence[Stated], known_at: Instant | None) -> Stage:
    if believed and believed[0].superseded_by is not None:
        return Stage("believed", True, f"for the time until {_day(believed[0].valid_to)}")
    if believed:
        then = "" if known_at is None else f" as known on {_day(known_at)}"
        return Stage("believed", True, f"it is the current version{then}")
    if known_at is not None and latest.opened_at > known_at:
        return Stage("believed", False, f"the store came to know it on {_day(latest.opened_at)} only")
    act = {"DELETE": "deleted", "UPDATE": "changed to another text", "SUPERSEDE": "closed"}
    what = act.get(latest.closed_by_event or "", "closed")
    by = f" by {latest.closed_by}" if latest.closed_by else ""
    reason = f" ({latest.closed_because})" if latest.closed_because else ""
    return Stage("believed", False, f"it was {what} on {_day(latest.closed_at)}{by}{reason}")


def _ranked(
    question: Question,
    stages: list[Stage],
    believed: Sequence[Stated],
    owner_ids: Sequence[int],
    ranking: Ranking,
) -> Verdict:
    """The stages that happen inside the ranking, for the best placed of the memories that state the text."""
    placed = []
    for one in believed:
        snapshot = owner_ids.index(one.owner_id)
        held = ranking.evidence[snapshot].snapshot
        # A version that was read again, as after a repeat, has a dead row as well.
        row = int(np.flatnonzero((held.version_no == one.version_no) & held.live)[0])
        placed.append((explain(ranking, snapshot, row), one))
    seen, one = min(placed, key=lambda pair: (not pair[0].eligible, pair[0].rank))
    limit, least = question.request.limit, question.threshold
    details = score_details(seen, question.asked.words_of(ranking))
    found = f"as number {seen.rank} by {details['reason']}"
    stages.append(Stage("eligible", seen.eligible, _eligibility(seen, one, question)))
    if seen.eligible:
        stages.append(Stage("found", seen.found, found if seen.found else _unrelated(seen)))
    if seen.eligible and seen.found:
        low = least is not None and seen.score < least
        cut = f"its score is below the threshold {least}" if low else f"only the first {limit} are returned"
        returned = not low and seen.rank <= limit
        stages.append(Stage("returned", returned, f"with rank {seen.rank}" if returned else cut))
    verdict = _ended(question, stages, one)
    return replace(verdict, rank=seen.rank, score=seen.score, score_details=details)


def _eligibility(seen: Explanation, one: Stated, question: Question) -> str:
    if seen.eligible:
        return "no filter, expiry or validity stands against it"
    asked = question.request
    at = asked.at
    over = not asked.admits_ended and one.valid_to is not None and one.valid_to <= at
    if over and one.superseded_by is not None:
        return f"it was superseded on {_day(one.valid_to)} by: {_short(one.superseded_by)}"
    if not asked.show_expired and one.expires_at is not None and one.expires_at <= asked.now:
        return f"it expired on {_day(one.expires_at)}"
    if over:
        return f"it held until {_day(one.valid_to)}"
    return "the filters, or the time asked for, leave it out"


def _unrelated(seen: Explanation) -> str:
    near = (
        ""
        if seen.cosine is None
        else f", and its meaning is no nearer than that of any text ({seen.cosine:.2f})"
    )
    return f"it shares no word with the query{near}"


def _ended(question: Question, stages: Sequence[Stage], one: Stated | None) -> Verdict:
    missing = next((stage for stage in stages if stage.passed is False), None)
    return Verdict(
        expect=question.expect,
        missing_at=None if missing is None else missing.name,
        reason=stages[-1].detail if missing is None else missing.detail,
        memory_id=None if one is None else one.uid,
        memory=None if one is None else one.text,
        rank=None,
        score=None,
        score_details=None,
        stages=tuple(stages),
    )


def _day(at: Instant | None) -> str:
    return (iso(at) or "")[:10]


def _short(text: str, width: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
