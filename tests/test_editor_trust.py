"""What a model says, and what happens meanwhile, must neither lose what is kept nor bring back what is gone."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import Memory, ValidationError
from mnemic.models.fakes import ScriptedLLM
from talk_with import edits, events, fact, facts, kept, texts

SECRET = "Has the illness zzz-81"


def label_of(sent: Any, text: str) -> str:
    """The label of a memory in what is sent."""
    [line] = [line for line in sent[1].content.splitlines() if text in line and line.startswith("m")]
    return str(line).partition(" ")[0].rstrip(":")


def meets(text: str, memory: str, how: str, **more: Any) -> Any:
    """The reply of a model that says how a fact meets a memory."""
    return lambda sent: facts(fact(text, meets={label_of(sent, memory): how}, **more))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("editing", ["supersede", "append"])
def test_what_is_purged_while_a_model_thinks_is_not_kept_again(
    make_memory: MakeMemory, whole: bool, editing: str
) -> None:
    asked = []

    def model(sent: Any) -> str:
        asked.append(sent)
        if len(asked) > 1:
            return facts(fact("Takes pills"))
        m.purge(user_id="u1") if whole else m.purge(old)
        return facts(fact(f"{SECRET}, and takes pills"))

    m = make_memory(llm=model)
    [old] = kept(m, SECRET)
    result = m.add("I take pills for it", user_id="u1", trace=True, editing=editing)
    assert events(result) == [("ADD", "Takes pills")]
    assert "zzz-81" not in str(m.trace(result["trace_id"]))
    assert texts(m) == ["Takes pills"]


def test_what_was_over_and_is_said_again_holds_again(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    llm.enqueue(facts(fact("Is on holiday 🏝", until="2024-02")), facts(fact("Is on holiday 🏝", until="2099")))
    m.add("On holiday till February", user_id="u1", timestamp="2024-01-05")
    again = m.add("On holiday again, for long", user_id="u1", timestamp="2025-01-05")
    assert events(again) == [("ADD", "Is on holiday 🏝")]
    assert texts(m) == ["Is on holiday 🏝"]
    assert m.check()["sound"]


def test_what_ended_was_deleted_and_restored_can_be_said_again(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    [old] = kept(m, "Plays cricket")
    llm.enqueue(meets("No cricket any more", "Plays cricket", "ends"))
    m.add("I gave up cricket", user_id="u1")
    m.delete(old)
    m.restore(old)
    llm.enqueue(facts(fact("Plays cricket")))
    assert events(m.add("I play cricket again", user_id="u1")) == [("ADD", "Plays cricket")]
    assert texts(m) == ["Plays cricket"]
    assert m.check()["sound"]


@pytest.mark.parametrize("how", ["corrects", "refines", "ends", "changes"])
def test_an_old_talk_that_comes_late_changes_no_present(make_memory: MakeMemory, how: str) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    [old] = kept(m, "Lives in 北京", timestamp="2024-01-01")
    llm.enqueue(meets("Lives in Porto, by the river", "北京", how))
    m.add("I live in Porto", user_id="u1", timestamp="2015-01-01")
    assert "Lives in 北京" in texts(m)
    assert m.get(old)["version"] == 1
    assert m.check()["sound"]


def test_a_late_verdict_of_the_classic_editor_deletes_nothing(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM([facts(fact("Left Beijing")), edits(("0", "Lives in Beijing", "DELETE"))])
    m = make_memory(llm=llm, editing="reconcile")
    kept(m, "Lives in Beijing", timestamp="2024-01-01")
    m.add("I left Beijing", user_id="u1", timestamp="2010-01-01")
    assert texts(m) == ["Lives in Beijing"]


@pytest.mark.parametrize("text", ["", "the user wants it forgotten", "x", SECRET])
@pytest.mark.parametrize("how", ["forgets", "ends"])
def test_the_words_of_a_fact_that_only_ends_others_do_not_matter(
    make_memory: MakeMemory, text: str, how: str
) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    kept(m, SECRET)
    llm.enqueue(meets(text, SECRET, how))
    result = m.add("Drop that about my illness", user_id="u1")
    assert events(result) == [("DELETE", SECRET)]
    assert texts(m) == []


def test_a_wish_to_forget_is_forgotten_with_what_it_names(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    [old] = kept(m, SECRET)
    llm.enqueue(meets("forget", SECRET, "forgets"), facts())
    m.add("Please forget that I have zzz-81. I like golf.", user_id="u1", run_id="r")
    m.add("And tea.", user_id="u1", run_id="r")
    assert "zzz-81" not in llm.requests[-1].messages[1].content
    m.purge(old)
    assert "zzz-81" not in str(m.messages(user_id="u1"))


def test_a_refinement_holds_since_the_memory_does(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    kept(m, "Has a dog", timestamp="2024-01-01")
    llm.enqueue(meets("Has a dog, a beagle called Rex", "Has a dog", "refines", until="2099"))
    m.add("Rex is a beagle", user_id="u1", timestamp="2024-06-01")
    [item] = m.search("dog", user_id="u1", as_of="2024-02-01")["results"]
    assert item["memory"] == "Has a dog, a beagle called Rex"
    assert item["valid_to"].startswith("2100")


def test_what_no_store_can_hold_in_a_reply_is_no_harm(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM([f"Sure \ud83d! {facts(fact('Keeps bees'))} \x00"])
    m = make_memory(llm=llm)
    result = m.add("I keep bees", user_id="u1")
    assert events(result) == [("ADD", "Keeps bees")]
    assert m.trace(result["trace_id"])["calls"][0]["raw"].startswith("Sure")


def test_what_is_too_long_for_a_model_is_told(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM([facts()])
    m = make_memory(llm=llm)
    long = f"{'blah ' * 8_000}I am allergic to penicillin."
    result = m.add(long, user_id="u1")
    assert len(llm.requests[0].messages[1].content) < 32_000
    [left_out] = result["rejected"]
    assert (left_out["reason"], left_out["messages"]) == ("too_long_to_send", [0])
    assert left_out["detail"] == f"{len(long) - 30_000} characters"


def test_a_memory_that_was_not_shown_whole_is_not_replaced(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM()
    m = make_memory(llm=llm)
    long = f"Takes pills {'and rests ' * 500}; never penicillin"
    kept(m, long)
    llm.enqueue(meets("Takes blue pills", "Takes pills", "refines"))
    m.add("The pills are blue", user_id="u1")
    assert texts(m) == sorted(["Takes blue pills", long])


def test_both_tries_of_a_model_are_in_the_trace(make_memory: MakeMemory) -> None:
    llm = ScriptedLLM(["no idea", facts(fact("Keeps bees"))])
    m = make_memory(llm=llm)
    trace = m.add("I keep bees", user_id="u1", trace=True)["trace"]
    assert [(call["raw"][:7], "fault" in call) for call in trace["calls"]] == [
        ("no idea", True),
        ('{"facts', False),
    ]
    assert trace["usage"]["llm_calls"] == 2


@pytest.mark.parametrize(
    "given", [{"editing": "append"}, {"prompt": "x"}, {"memory_type": "procedural_memory"}]
)
@pytest.mark.parametrize("path", [{"facts": ["x"]}, {"messages": "x", "infer": False}])
def test_what_is_for_a_model_is_refused_where_none_is_asked(
    make_memory: MakeMemory, given: dict[str, Any], path: dict[str, Any]
) -> None:
    m: Memory = make_memory(llm=ScriptedLLM())
    with pytest.raises(ValidationError, match=next(iter(given))):
        m.add(agent_id="bot", **path, **given)
