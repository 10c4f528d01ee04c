"""The last step of an add or an update: terms and claims of every text, then one write transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ..clock import Instant
from ..records import (
    Act,
    Batch,
    BatchTerms,
    Claim,
    Embedded,
    Embeddings,
    Event,
    Kind,
    Outcome,
    Proposal,
    Rejected,
    Revision,
)
from ..store import changing, replays, tombstones, traces, writing
from ..store.database import Store
from ..store.owners import owner_for_write
from ..store.replays import Once
from ..store.schema import Place
from ..text.terms import packed_terms

T = TypeVar("T")


def claims_of(text: str) -> tuple[Claim, ...]:
    """What a fact claims of its speaker."""
    # The rules take a while to compile; messages kept word for word never need them.
    from .claims import claims

    return claims(text)


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """What an add returns, and its steps (JSON) to keep, for so many days."""

    result: T
    steps: str | None = None
    days: int = 0


def embedded_batch(
    batch: Batch, numbers: Sequence[int], embedded: Embeddings
) -> tuple[Batch, dict[int, Rejected]]:
    """The batch with its vectors, without the proposals whose text could not be embedded: those come apart, by
    their number.

    `numbers` are those of the batch's messages in the call. `embedded` has a row for each proposal that is not
    only an end of others.
    """
    if embedded.rows is None:
        return batch, {}
    rows = iter(enumerate(embedded.rows))
    proposals: list[Proposal] = []
    vectors: list[bytes | None] = []
    failed: dict[int, Rejected] = {}
    for number, proposal in enumerate(batch.proposals):
        at, row = (-1, None) if proposal.only_touches else next(rows)
        if at in embedded.failed:
            messages = tuple(dict.fromkeys(numbers[span.message] for span in proposal.spans))
            failed[number] = Rejected(proposal.content.text, messages, embedded.failed[at])
            continue
        proposals.append(proposal)
        vectors.append(row)
    whole = replace(batch, proposals=tuple(proposals), vectors=tuple(vectors), space_id=embedded.space_id)
    return whole, failed


def commit(
    store: Store, batch: Batch, act: Act, once: Once | None, answer: Callable[[list[Outcome]], Answered[T]]
) -> T:
    """Store a batch and return the `answer` to its outcomes, which come in the order of its proposals.

    Blocking; all or nothing. The answer (JSON) is kept for those who make the call `once` again; where somebody
    did so meanwhile, nothing is stored and theirs is returned.
    Raises `SpaceChangedError` where its vectors are not of the store's space any more, `OwnerMovedError` where
    other memories changed since a model was shown them.
    """
    batch = replace(batch, proposals=tuple(_with_claims(one, batch.observed_at) for one in batch.proposals))
    buried = tombstones.by_message(batch.buried)
    messages = tuple(
        packed_terms(tombstones.masked(message.content, buried.get(i, ())))
        for i, message in enumerate(batch.messages)
    )
    known = {m.content: messages[i] for i, m in enumerate(batch.messages) if i not in buried}
    proposals = tuple(known.get(p.content.text) or packed_terms(p.content.text) for p in batch.proposals)
    with store.write() as tx:
        result: T | None = None
        if once is not None:
            # Locked first: who makes the same call at the same time waits here, and then finds the result.
            owner_for_write(tx, batch.owner, act.at)
            result = replays.replayed_to(tx, batch.owner, once, act.at)
        if result is None:
            owner_id, outcomes = writing.add(tx, batch, BatchTerms(messages, proposals), act, closes)
            answered = answer(outcomes)
            traces.keep(tx, owner_id, act, answered.steps, answered.days)
            result = replays.keep(tx, owner_id, once, answered.result, act)
        return result


def amend(
    store: Store,
    tenant: str,
    place: Place,
    revision: Revision,
    vector: bytes | None,
    space_id: int | None,
    act: Act,
    once: Once | None,
    answer: Callable[[Event, int], T],
) -> T:
    """Give a memory a new version, and return the `answer` to the event and the version's number.

    Blocking. `vector`: of a new text. A call made `once` is answered as in `commit`.
    Raises as `changing.revise`, and `SpaceChangedError` where the vector is not of the store's space any more.
    """
    embedded: Embedded | None = None
    claimed: tuple[Claim, ...] = ()
    if revision.text is not None:
        embedded = Embedded(packed_terms(revision.text), vector, space_id)
        claimed = claims_of(revision.text)
    with store.write() as tx:
        result: T | None = replays.first_result(tx, tenant, place[0], once, act.at)
        if result is None:
            told = changing.revise(tx, tenant, place, revision, embedded, claimed, act)
            result = replays.keep(tx, place[0], once, answer(*told), act)
        return result


def _with_claims(proposal: Proposal, observed_at: Instant) -> Proposal:
    """The proposal with what it claims of its speaker; only facts that held when they were said claim anything."""
    said_at = observed_at if proposal.said_at is None else proposal.said_at
    end = proposal.content.validity.end
    if proposal.kind is not Kind.FACT or (end is not None and end <= said_at):
        return proposal
    return replace(proposal, claims=claims_of(proposal.content.text))


def closes(new: Sequence[Claim], old: Sequence[Claim]) -> bool:
    """Whether a statement that makes the claims `new` ends one that made `old`, beyond doubt."""
    from .claims import closes as ends

    return ends(new, old)
