"""The last step of an add or an update: terms and claims of every text, then one write transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from .. import runtime
from ..records import Act, Batch, BatchTerms, Claim, Embedded, Kind, Outcome, Proposal, Revision
from ..store import changing, spaces, writing
from ..store.database import Store
from ..store.schema import Place
from ..text.pack import pack
from ..text.tokens import index_terms


def packed_terms(text: str) -> bytes:
    """The packed terms of a text."""
    return pack(index_terms(text))


def claims_of(text: str) -> tuple[Claim, ...]:
    """What a fact claims of its speaker."""
    # The rules take a while to compile; messages kept word for word never need them.
    from .claims import claims

    return claims(text)


def commit(store: Store, batch: Batch, act: Act) -> list[Outcome]:
    """Store a batch; the outcomes come in the order of its proposals. Blocking; all or nothing.

    Raises `SpaceChangedError` where its vectors are not of the store's space any more.
    """
    batch = replace(batch, proposals=tuple(map(_with_claims, batch.proposals)))
    messages = tuple(packed_terms(message.content) for message in batch.messages)
    known = {message.content: data for message, data in zip(batch.messages, messages, strict=True)}
    proposals = tuple(known.get(p.content.text) or packed_terms(p.content.text) for p in batch.proposals)
    with store.write() as tx:
        _expect_space(tx, batch.space_id)
        outcomes = writing.add(tx, batch, BatchTerms(messages, proposals), act, _closes)
    if store.grown():
        runtime.current().pool.submit(store.checkpoint)
    return outcomes


def amend(
    store: Store,
    tenant: str,
    place: Place,
    revision: Revision,
    vector: bytes | None,
    space_id: int | None,
    act: Act,
) -> bool:
    """Give a memory a new version; False where nothing changes. Blocking. `vector`: of a new text.

    Raises as `changing.revise`, and `SpaceChangedError` where the vector is not of the store's space any more.
    """
    embedded: Embedded | None = None
    claimed: tuple[Claim, ...] = ()
    if revision.text is not None:
        embedded = Embedded(packed_terms(revision.text), vector, space_id)
        claimed = claims_of(revision.text)
    with store.write() as tx:
        _expect_space(tx, space_id)
        return changing.revise(tx, tenant, place, revision, embedded, claimed, act)


def _expect_space(tx: Connection, space_id: int | None) -> None:
    if space_id is not None:
        spaces.expect_space(tx, space_id)


def _with_claims(proposal: Proposal) -> Proposal:
    """The proposal with what it claims of its speaker; only facts that still hold claim anything."""
    if proposal.kind is not Kind.FACT or proposal.content.validity.end is not None:
        return proposal
    return replace(proposal, claims=claims_of(proposal.content.text))


def _closes(new: Sequence[Claim], old: Sequence[Claim]) -> bool:
    from .claims import closes

    return closes(new, old)
