"""From what was heard, or given, to proposals: one function for each way in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..clock import Instant
from ..records import Buried, Proposal, Rejected, Span
from .given import Common, given_facts, verbatim
from .messages import Heard


@dataclass(frozen=True, slots=True)
class Proposed:
    """What an add wants to store, what it leaves out, each with its reason, and which extractor decided."""

    proposals: tuple[Proposal, ...]
    rejected: tuple[Rejected, ...]
    extractor: str


def as_given(facts: Any, heard: Heard, common: Common, stored_at: Instant) -> Proposed:
    """The caller's own facts, stored at an instant. Raises `ValidationError` as `given_facts` does."""
    return Proposed(tuple(given_facts(facts, heard, common, stored_at)), heard.rejected, "given")


def as_said(heard: Heard, common: Common) -> Proposed:
    """Every message word for word."""
    return Proposed(tuple(verbatim(heard, common)), heard.rejected, "verbatim")


def without_buried(proposed: Proposed, heard: Heard, buried: Sequence[Buried]) -> Proposed:
    """What is left when nothing is taken from words that were deleted and are merely sent again."""
    if not buried:
        return proposed
    kept, left_out = [], []
    for proposal in proposed.proposals:
        if any(_overlap(span, one.span) for span in proposal.spans for one in buried):
            numbers = dict.fromkeys(heard.numbers[span.message] for span in proposal.spans)
            left_out.append(Rejected(proposal.content.text, tuple(numbers), "deleted"))
        else:
            kept.append(proposal)
    return Proposed(tuple(kept), (*proposed.rejected, *left_out), proposed.extractor)


def _overlap(one: Span, other: Span) -> bool:
    return one.message == other.message and one.start < other.end and other.start < one.end


def as_stated(heard: Heard, common: Common, observed_at: Instant) -> Proposed:
    """The user's own statements, their dates as of when each was said, or else of `observed_at`. Blocking."""
    # Its rules take a fifth of a second to compile, which nobody should wait for who needs no extractor.
    from .statements import extract

    found = extract(heard, common, observed_at)
    return Proposed(found.proposals, (*heard.rejected, *found.rejected), "statements")
