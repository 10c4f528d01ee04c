"""Random talks with a model that says anything at all: the store stays sound, and nothing is ever lost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.clock import zone
from mnemic.ingest.briefing import Brief, Known
from mnemic.ingest.drawn import read_decisions, read_edits, read_facts
from mnemic.ingest.given import Common
from mnemic.ingest.messages import read_messages
from mnemic.ingest.reconcile import judge_edits
from mnemic.ingest.reply import UnreadableError
from mnemic.ingest.verify import Provenances, decided_again, judge
from mnemic.models.fakes import HashEmbedder, ScriptedLLM
from mnemic.prompts import load
from mnemic.text.normal import normal_form
from talk_with import read

HOWS = ("changes", "corrects", "refines", "repeats", "ends", "forgets")
EVENTS = ("ADD", "UPDATE", "DELETE", "NONE")
WORDS = ("Lives in Oslo 住", "lives in  OSLO 住", "Lives in Turku 住", 'Has a "cat" 住', "Keeps bees 住\n🐝")
DAYS = ("2019-03-01", "2020-01-01", "2021-06-15", "2027-12-01")

# --- the store --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """One add: its facts (a text, and how it meets which memory), in which mode, when, and in which run."""

    facts: Sequence[tuple[str, Sequence[tuple[int, str]]]]
    edits: Sequence[tuple[int, str, str]]
    mode: str
    at: str
    run: str | None
    since: str | None


_MEETS = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(HOWS)), max_size=3)
_FACT = st.tuples(st.sampled_from(WORDS), _MEETS)
_EDIT = st.tuples(st.integers(0, 6), st.sampled_from(WORDS), st.sampled_from(EVENTS))
_SAID = st.builds(
    Said,
    st.lists(_FACT, min_size=1, max_size=3),
    st.lists(_EDIT, max_size=4),
    st.sampled_from(("supersede", "supersede", "append", "reconcile")),
    st.sampled_from(DAYS),
    st.sampled_from((None, "r1", "r2")),
    st.sampled_from((None, None, "2020-02", "2035")),
)


def replies(said: Said) -> list[Any]:
    """What the model says to it: labels count through what it is offered, and beyond."""

    def drawn(messages: Sequence[Any]) -> str:
        labels = [*read({"messages": [one.as_dict() for one in messages]}).known, "m99"]
        return json.dumps(
            {
                "facts": [
                    {
                        "text": text,
                        "source": [0],
                        "since": said.since,
                        "meets": [{"memory": labels[at % len(labels)], "how": how} for at, how in meets],
                    }
                    for text, meets in said.facts
                ]
            }
        )

    entries = [{"id": str(at), "text": text, "event": event} for at, text, event in said.edits]
    return [drawn, {"memory": entries}]


def world_of(m: Memory) -> dict[str, Any]:
    """All memories of the user, also those that are superseded or deleted, by id."""
    options = {"include_superseded": True, "show_deleted": True, "show_expired": True}
    return {item["id"]: item for item in m.get_all(user_id="u1", top_k=1000, **options)["results"]}


def assert_chains(world: Mapping[str, Any]) -> None:
    """Every chain of successors comes to an end, and what has a successor has ended."""
    for item in world.values():
        seen = {item["id"]}
        while item["superseded_by"] is not None:
            assert item["valid_to"] is not None
            item = world[item["superseded_by"]]
            assert item["id"] not in seen, "a memory follows itself"
            seen.add(item["id"])


@given(st.lists(_SAID, min_size=1, max_size=7))
@settings(max_examples=20, deadline=None, phases=[Phase.generate])
def test_whatever_a_model_says_nothing_is_lost_and_nothing_is_twice(talk: list[Said]) -> None:
    histories: dict[str, list[Any]] = {}
    llm = ScriptedLLM()
    with Memory(":memory:", embedder=HashEmbedder(), llm=llm) as m:
        for number, said in enumerate(talk):
            llm._replies[:] = replies(said)
            words = f"{number}住 cat bees"
            result = m.add(words, user_id="u1", run_id=said.run, timestamp=said.at, editing=said.mode)
            for item in result["results"]:
                told = [entry["new_memory"] for entry in m.history(item["id"])]
                if item["event"] in ("ADD", "UPDATE"):
                    assert item["memory"] in told
            everything = [*result["results"], *result["rejected"]]
            assert result["failed"] == []
            if said.mode != "reconcile":
                # Each fact ends in something that is told.
                assert len(everything) >= len(said.facts)
            world = world_of(m)
            for uid, before in histories.items():
                assert uid in world
                assert m.history(uid)[: len(before)] == before, "history changed"
            histories = {uid: m.history(uid) for uid in world}
            live = [one for one in world.values() if not (one.get("deleted_at") or one["valid_to"])]
            assert len({normal_form(one["memory"]) for one in live}) == len(live), "a twin"
            assert_chains(world)
        check = m.check()
        assert check["sound"], check["faults"]


# --- replies ----------------------------------------------------------------------------------------------

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(HOWS)
_TEXTS = st.sampled_from(
    ("Keeps bees", "", " ", "\0", "住", "m1", "[0]", "2024-02-30", "2024", "9999", "0001-01-01")
)
_PARTS = ("source", "about", "category", "on", "since", "until", "entities", "relations", "meets")
_NAMES = ("facts", "text", "memory", "how", "decisions", "fact", "id", "event", "name", "subject", "relation")
_KEYS = st.sampled_from((*_PARTS, *_NAMES, "object", "type"))
_JSON = st.recursive(
    _SCALARS | _TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=8)
)
_DRAWN = st.fixed_dictionaries({"text": _TEXTS}, optional=dict.fromkeys(_PARTS, _JSON))
_FACTS = st.fixed_dictionaries({"facts": st.lists(_DRAWN, max_size=4)})
_EDITS = st.fixed_dictionaries(
    {
        "memory": st.lists(
            st.fixed_dictionaries({"text": _TEXTS, "id": _JSON, "event": st.sampled_from(EVENTS)})
        )
    }
)

HEARD = read_messages(
    [
        {"role": "system", "content": "x"},
        {"role": "user", "content": "I keep bees. 住", "timestamp": "2024-05-03T10:00:00+05:45"},
        {"role": "assistant", "content": "Do you?"},
    ],
    zone(None),
)
COMMON = Common(None, (None, None), None, zone("Asia/Shanghai"))
KNOWN = (Known("m1", "a" * 32, 1, 1, "Keeps hens"), Known("m2", "b" * 32, 2, 3, "Keeps bees"))
MADE_WITH = Provenances("llm:test", "extract/1", "any")


def brief(for_agent: bool) -> Brief:
    return Brief(HEARD.messages, HEARD.numbers, 1_700_000_000_000_000, COMMON.zone, (), KNOWN, for_agent)


@given(_JSON | _FACTS, st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_any_json_is_judged_or_unreadable(value: Any, for_agent: bool, only_adds: bool) -> None:
    try:
        drawn = read_facts(value)
    except UnreadableError:
        return
    judged = judge(
        drawn, brief(for_agent), HEARD, COMMON, MADE_WITH, {"misc": ""}, load("extract"), only_adds=only_adds
    )
    assert len(judged) == len(drawn)
    refined = []
    for one in judged:
        assert (one.proposal is None) == (one.reason is not None)
        if one.proposal is None:
            assert one.as_rejected().reason
            continue
        assert one.proposal.spans
        for span in one.proposal.spans:
            assert 0 <= span.start <= span.end <= len(HEARD.messages[span.message].content)
            assert HEARD.messages[span.message].role == "user" or for_agent
        met = one.proposal.meets
        assert met is not None
        assert {each.uid for each in met} <= {each.uid for each in KNOWN}
        assert len({each.uid for each in met}) == len(met)
        assert not only_adds or {each.how.value for each in met} <= {"repeats"}
        refined += [each.uid for each in met if each.how.value == "refines"]
        again = decided_again(one, one.fact.meets, {each.label: each for each in KNOWN})
        assert (again.proposal is None) == (again.reason is not None)
    assert len(set(refined)) == len(refined), "two texts for one memory"


@given(_JSON)
@settings(max_examples=60, deadline=None)
def test_any_json_is_decisions_or_unreadable(value: Any) -> None:
    try:
        decided = read_decisions(value)
    except UnreadableError:
        return
    assert all(met.label and met.how.value in HOWS for meets in decided.values() for met in meets)


@given(_JSON | _EDITS, st.lists(_TEXTS, min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_any_json_is_edits_or_unreadable(value: Any, told: list[str]) -> None:
    drawn = read_facts([{"text": text} for text in told])
    facts = judge(drawn, brief(False), HEARD, COMMON, MADE_WITH, {}, load("extract"))
    standing = [one for one in facts if one.proposal is not None]
    try:
        edits = read_edits(value)
    except UnreadableError:
        return
    if not standing:
        return
    known = [Known(str(i), one.uid, one.no, one.version, one.text) for i, one in enumerate(KNOWN)]
    judged = judge_edits(edits, standing, known, "reconcile/1", "any")
    touched = [met.uid for one in judged if one.proposal for met in one.proposal.meets or ()]
    assert set(touched) <= {one.uid for one in KNOWN}
    assert len(set(touched)) == len(touched)
    assert all((one.proposal is None) == (one.reason is not None) for one in judged)


@pytest.mark.parametrize("value", [{"facts": [{"text": 1}]}, {"facts": None}, 7, None, "x", [[]]])
def test_what_is_no_list_of_facts_is_unreadable(value: Any) -> None:
    with pytest.raises(UnreadableError):
        read_facts(value)
