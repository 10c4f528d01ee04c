"""The classic editor's verdict on each memory, mapped to proposals: what mem0 1.x does, without destroying. Pure."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from ..records import How, Meeting, Proposal
from ..text.normal import normal_form
from ..text.tokens import index_terms
from .briefing import Known
from .drawn import Drawn, Edit
from .verify import Judged

# What an event does to the memory that it names.
_HOW = {"UPDATE": How.REFINES, "DELETE": How.CONTRADICTS, "NONE": How.KEEPS}


def judge_edits(
    edits: Sequence[Edit], facts: Sequence[Judged], known: Sequence[Known], prompt_id: str, model: str
) -> list[Judged]:
    """The edits as proposals, each with the sources of the fact that it comes from; then the facts that none took.

    An edit of a memory that was not offered, or that another edit names already, is refused alone. `NONE` gives a
    memory the run's label, and no source: the editor lists every memory, whether the talk states it or not.
    """
    shown = {one.label: one for one in known}
    words = [index_terms(fact.fact.text).keys() for fact in facts]
    named: set[str] = set()
    taken: set[int] = set()
    judged: list[Judged] = []
    for edit in edits:
        memory = shown.get(edit.label)
        if edit.event == "NONE" and memory is None:
            continue  # a fact that the editor finds not worth keeping
        if edit.event != "ADD" and (memory is None or edit.label in named):
            judged.append(Judged(Drawn(edit.text or edit.label), None, "memory_not_offered", edit.label))
            continue
        if edit.event in ("ADD", "UPDATE") and not edit.text:
            judged.append(Judged(Drawn(edit.label), None, "no_content", edit.label))
            continue
        at = _nearest(edit.text, words)
        if memory is not None and edit.event != "ADD":
            named.add(edit.label)
        if edit.event != "NONE":
            taken.add(at)
        else:
            taken.update(i for i, fact in enumerate(facts) if _same(fact.fact.text, edit.text))
        judged.append(_edited(edit, facts[at], memory, prompt_id, model))
    left = [fact for i, fact in enumerate(facts) if i not in taken]
    return [*judged, *(replace(fact, proposal=None, reason="nothing_new") for fact in left)]


def _edited(edit: Edit, fact: Judged, memory: Known | None, prompt_id: str, model: str) -> Judged:
    proposal = fact.proposal
    assert proposal is not None, "only facts that stand are reconciled"
    made_with = replace(proposal.provenance, prompt=prompt_id, model=model)
    if edit.event == "ADD" or memory is None:
        made: Proposal = replace(
            proposal, content=replace(proposal.content, text=edit.text), provenance=made_with
        )
        return Judged(replace(fact.fact, text=edit.text), made)
    how = _HOW[edit.event]
    text = memory.text if how is How.KEEPS else edit.text or fact.fact.text
    made = replace(
        proposal,
        content=replace(proposal.content, text=text),
        provenance=made_with,
        spans=() if how is How.KEEPS else proposal.spans,
        meets=(Meeting(how, memory.uid, memory.version),),
    )
    return Judged(replace(fact.fact, text=text), made)


def _nearest(text: str, facts: Sequence[Set[str]]) -> int:
    """The fact, by its words, that shares most with a text, the first of several."""
    told = index_terms(text).keys()
    shared = [len(told & words) for words in facts]
    return shared.index(max(shared))


def _same(one: str, other: str) -> bool:
    return normal_form(one) == normal_form(other)
