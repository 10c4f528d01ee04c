"""The extractor that needs no language model: the user's own statements, kept word for word."""

from __future__ import annotations

from dataclasses import dataclass

from ..checks import canonical_json
from ..clock import Instant, zone_at
from ..records import Content, Kind, Message, Proposal, Provenance, Rejected, Span
from .given import Common
from .messages import Heard

EXTRACTOR = "statements/2"


# How chat clients call the person who speaks.
USER_ROLES = ("user", "human")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What is kept of a call's messages, and what is not, each with its reason."""

    proposals: tuple[Proposal, ...]
    rejected: tuple[Rejected, ...]


def extract(heard: Heard, common: Common, observed_at: Instant) -> Extraction:
    """The statements of the user in `heard`, and everything else with the reason why it is left out.

    Only messages of role `user` are sources; each other message is rejected whole ("not_the_user"). A kept
    statement is the user's own words, unchanged: one sentence, or several in a row where one leans on the one
    before it. Every character of a user's message that is not white space lies in exactly one proposal or one
    rejected text. Spans and positions count `heard.messages`; `Rejected.messages` carries the numbers of the
    call, as `heard.rejected` does, which is not repeated here. Dates are resolved against the instant at which a
    message was said, or else `observed_at`. Pure, deterministic, and without any model.
    """
    # The rules take a while to load, which only a call that extracts should pay.
    from .sifting import groups

    proposals: list[Proposal] = []
    rejected: list[Rejected] = []
    for at, message in enumerate(heard.messages):
        number = heard.numbers[at]
        if message.role.casefold() not in USER_ROLES:
            rejected.append(Rejected(message.content, (number,), "not_the_user"))
            continue
        for group in groups(message.content):
            start, end = group[0].sentence.start, group[-1].sentence.end
            if group[-1].kept:
                proposals.append(_proposal(message, at, start, end, common, observed_at))
            else:
                rejected.append(Rejected(message.content[start:end], (number,), group[0].verdict.reason))
    return Extraction(tuple(proposals), tuple(rejected))


def _proposal(
    message: Message, at: int, start: int, end: int, common: Common, observed_at: Instant
) -> Proposal:
    from .told_time import told_time

    text = message.content[start:end]
    said_at = observed_at if message.said_at is None else message.said_at
    told = told_time(text, said_at, zone_at(message.offset, common.zone))
    return Proposal(
        kind=Kind.FACT,
        content=Content(
            text=text,
            metadata=canonical_json(common.metadata),
            event_date=told.day,
            validity=told.validity,
            expires_on=common.expires[0],
            expires_at=common.expires[1],
        ),
        provenance=Provenance(
            role=message.role, actor_id=message.name, attributed_to="user", extractor=EXTRACTOR
        ),
        spans=(Span(at, start, end),),
        position=at,
        said_at=message.said_at,
    )
