"""The editor's other modes, and what belongs to all: categories, agents, records of tasks, times, keys, traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import LLMOutputError, Memory, ValidationError
from mnemic.models.fakes import ScriptedServer
from talk_with import Told, asked, chats, edits, events, fact, facts, kept, llm_at, meeting, texts


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def m(make_memory: MakeMemory, server: ScriptedServer) -> Memory:
    return make_memory(llm=llm_at(server))


# --- append -----------------------------------------------------------------------------------------------


def test_append_only_adds(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(m, "Lives in Oslo 住")
    meeting(
        server, ("Lives in Turku 住", {"Lives in Oslo 住": "changes"}), ("x", {"Lives in Oslo 住": "forgets"})
    )
    result = m.add("I live in Turku 住", user_id="u1", editing="append")
    assert {event for event, _ in events(result)} == {"ADD"}
    assert {"Lives in Oslo 住", "Lives in Turku 住"} <= set(texts(m))
    meeting(server, ("Is from Oslo 住", {"Lives in Oslo 住": "repeats"}))
    assert m.add("Oslo 住", user_id="u1", editing="append")["results"][0]["id"] == old


# --- reconcile --------------------------------------------------------------------------------------------


def reconciling(server: ScriptedServer, drawn: list[str], *told: tuple[str, str, str]) -> None:
    """Let the classic editor reply; memories are named by their texts, others by whatever is told."""

    def decide(body: Any) -> str:
        shown = [json.loads(line) for line in body["messages"][1]["content"].split("\n\n")[0].split("\n")[1:]]
        ids = {one["text"]: one["id"] for one in shown}
        return edits(*[(ids.get(name, name), text, event) for name, text, event in told])

    server.enqueue(facts(*map(fact, drawn)), decide)


def test_the_classic_editor_adds_updates_deletes_and_keeps(m: Memory, server: ScriptedServer) -> None:
    city, cat, bees = kept(
        m, "Lives in Oslo 住", "Has a cat 住", "Keeps bees 住", metadata={"n": 1}, run_id="r1"
    )
    reconciling(
        server,
        ["Lives in Turku 住", "The cat 住 died", "Plays the oboe 住"],
        ("Lives in Oslo 住", "Lives in Turku 住", "UPDATE"),
        ("Has a cat 住", "Has a cat 住", "DELETE"),
        ("Keeps bees 住", "Keeps bees 住", "NONE"),
        ("17", "Plays the oboe 住", "ADD"),
    )
    result = m.add("Turku 住, the cat died, the oboe", user_id="u1", run_id="r2", editing="reconcile")
    assert events(result) == [
        ("UPDATE", "Lives in Turku 住"),
        ("DELETE", "Has a cat 住"),
        ("NONE", "Keeps bees 住"),
        ("ADD", "Plays the oboe 住"),
    ]
    updated = m.get(city)
    assert updated is not None
    assert (updated["memory"], updated["version"], updated["metadata"]) == ("Lives in Turku 住", 2, {"n": 1})
    assert [entry["old_memory"] for entry in m.history(city)] == [None, "Lives in Oslo 住"]
    assert m.get(cat) is None
    assert [item["id"] for item in m.trash(user_id="u1")["results"]] == [cat]
    label = m.get(bees)
    assert label is not None
    assert (sorted(label["run_ids"]), label["version"]) == (["r1", "r2"], 1)
    assert m.check()["sound"]


def test_what_the_classic_editor_only_looks_at_it_does_not_state(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Keeps bees 住", run_id="r1")
    [made] = m.log(user_id="u1", event="ADD")["results"]
    reconciling(server, ["Bees 住"], ("Keeps bees 住", "Keeps bees 住", "NONE"))
    m.add("bees 住", user_id="u1", run_id="r2", editing="reconcile")
    [looked, *_] = m.log(user_id="u1", event="NONE")["results"]
    assert looked["reason"] == "it was looked at, and stays as it is"
    m.undo(made["trace_id"])
    assert texts(m) == []


def test_the_classic_editor_is_believed_once_per_memory(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Lives in Oslo 住")
    reconciling(
        server,
        ["Lives in Turku 住"],
        ("Lives in Oslo 住", "Lives in Turku 住", "UPDATE"),
        ("Lives in Oslo 住", "Lives in Oslo 住", "DELETE"),
        ("hallucinated-id", "x", "DELETE"),
        ("Lives in Oslo 住", "Lives in Rome 住", "UPDATE"),
    )
    result = m.add("Turku 住", user_id="u1", editing="reconcile")
    assert events(result) == [("UPDATE", "Lives in Turku 住")]
    assert [one["reason"] for one in result["rejected"]] == ["memory_not_offered"] * 3
    assert texts(m) == ["Lives in Turku 住"]


def test_without_memories_the_classic_editor_needs_one_call(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Keeps bees")))
    result = m.add("I keep bees", user_id="u1", editing="reconcile")
    assert (events(result), len(chats(server))) == ([("ADD", "Keeps bees")], 1)


def test_an_update_into_words_that_are_kept_makes_no_twin(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Lives in Oslo 住", "Lives in Turku 住")
    reconciling(
        server,
        ["Lives in Turku 住"],
        ("Lives in Oslo 住", "Lives in Turku 住", "UPDATE"),
        ("Lives in Turku 住", "Lives in Oslo 住", "UPDATE"),
    )
    m.add("Turku 住", user_id="u1", editing="reconcile")
    assert texts(m) == ["Lives in Oslo 住", "Lives in Turku 住"]
    assert m.check()["sound"]


# --- what belongs to every mode ---------------------------------------------------------------------------


def test_each_of_mem0s_kinds_is_offered_and_can_be_filtered_by(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(
        facts(fact("Eats fish", category="FOOD"), fact("Owns a boat", category="boats"), fact("Is 40"))
    )
    m.add("fish, boat, 40", user_id="u1")
    assert "- food:" in asked(server)[0].instructions
    assert texts(m, filters={"categories": {"contains": "food"}}) == ["Eats fish"]
    assert [item.get("categories") for item in m.get_all(user_id="u1")["results"]].count(None) == 2


def test_categories_of_ones_own(make_memory: MakeMemory, server: ScriptedServer) -> None:
    m = make_memory(llm=llm_at(server), categories=[{"船": 'all that floats, {curly} "quoted"'}, "food"])
    server.enqueue(facts(fact("Owns a boat", category="船"), fact("Rides", category="sports")))
    m.add("boat", user_id="u1")
    assert '- 船: all that floats, {curly} "quoted"' in asked(server)[0].instructions
    assert "- sports" not in asked(server)[0].instructions
    assert texts(m, filters={"categories": {"contains": "船"}}) == ["Owns a boat"]


AGENT_TALK = [
    {"role": "user", "content": "I am Ann. Book a table for two."},
    {"role": "assistant", "content": "Done: a table for two at eight. I prefer early hours."},
]


@pytest.mark.parametrize("user", [None, "u1"])
def test_an_agents_own_deeds_are_facts_about_it(m: Memory, server: ScriptedServer, user: str | None) -> None:
    server.enqueue(
        facts(
            fact("Is called Ann", 0),
            fact("Booked a table for two at eight", 1, about="assistant"),
            fact("Likes early hours", 1),
        )
    )
    result = m.add(AGENT_TALK, agent_id="a1", user_id=user)
    assert [one["reason"] for one in result["rejected"]] == ["source_not_allowed"], "it said that of the user"
    found = m.get_all(agent_id="a1", user_id=user)["results"]
    assert {item["memory"]: item["attributed_to"] for item in found} == {
        "Is called Ann": "user",
        "Booked a table for two at eight": "assistant",
    }
    assert 'facts about "assistant"' in asked(server)[0].instructions
    assert m.get_all(agent_id="a1", filters={"attributed_to": "assistant"})["total"] == 1


def test_an_agent_alone_needs_no_user(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Answers in rhymes", 0, about="assistant")))
    m.add([{"role": "assistant", "content": "I always answer in rhymes."}], agent_id="a1")
    assert texts(m, user_id=None, agent_id="a1") == ["Answers in rhymes"]


def test_a_record_of_a_task(m: Memory, server: ScriptedServer) -> None:
    record = 'Task: book a table 订位\n1. Called "Chez Zoë" -> "20:00"\nState: done'
    server.enqueue(f"<think>hm</think>\n{record}")
    talk = [{"role": "system", "content": "secret rules"}, *AGENT_TALK]
    result = m.add(talk, agent_id="a1", memory_type="procedural_memory", metadata={"n": 1})
    assert events(result) == [("ADD", record)]
    [item] = m.get_all(agent_id="a1")["results"]
    assert (item["kind"], item["metadata"]) == ("procedure", {"n": 1})
    assert item["source"] is not None
    assert len(item["source"]["message_ids"]) == 2
    assert result["usage"]["llm_calls"] == 1
    assert "secret rules" not in json.dumps(chats(server)[0].body)
    server.enqueue("Other record")
    m.add(AGENT_TALK, agent_id="a1", memory_type="procedural_memory", prompt="Only {numbers} %s.")
    assert "Only {numbers} %s." in chats(server)[-1].body["messages"][0]["content"]
    with pytest.raises(ValidationError, match="agent_id"):
        m.add(AGENT_TALK, user_id="u1", memory_type="procedural_memory")
    assert len(chats(server)) == 2


@pytest.mark.parametrize("reply", ["", "<think>for ever", "<think>a</think>  "])
def test_a_record_without_words_is_an_error(m: Memory, server: ScriptedServer, reply: str) -> None:
    server.enqueue(reply)
    with pytest.raises(LLMOutputError):
        m.add(AGENT_TALK, agent_id="a1", memory_type="procedural_memory")
    assert m.messages(agent_id="a1")["total"] == 0


def test_times_are_sent_as_they_were_told(make_memory: MakeMemory, server: ScriptedServer) -> None:
    m = make_memory(llm=llm_at(server), timezone="Asia/Shanghai")
    server.enqueue(
        facts(fact("Saw 小明 on 2024-05-03", 0, on="2024-05-03", since="nonsense", until="2024-13"))
    )
    talk = [
        {"role": "user", "content": "昨天见了小明", "name": "Ann", "timestamp": "2024-05-04T23:30:00+02:00"},
        {"role": "user", "content": "and today?", "timestamp": "2024-05-05T23:30:00"},
        {"role": "user", "content": "without a time"},
    ]
    result = m.add(talk, user_id="u1", timestamp="2024-05-06T01:00:00Z", trace=True)
    assert [(speaker, when) for _, speaker, when, _ in asked(server)[0].said] == [
        ('user "Ann"', "Saturday 2024-05-04 23:30 +02:00"),
        ("user", "Sunday 2024-05-05 23:30 +08:00"),
        ("user", "Monday 2024-05-06 09:00 +08:00"),
    ]
    assert result["trace"]["verdicts"][0]["remarks"] == [
        "since 'nonsense' is no date",
        "until '2024-13' is no date",
    ]
    item = m.get(result["results"][0]["id"])
    assert item is not None
    assert item["observed_at"] == "2024-05-04T21:30:00+00:00"
    assert item["valid_from"] == "2024-05-02T22:00:00+00:00", "the day of who told it"


def test_a_call_made_again_with_its_key_asks_no_model(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Keeps bees")))
    first, again = (m.add("I keep bees", user_id="u1", idempotency_key="k", trace=True) for _ in range(2))
    assert again == first
    assert len(chats(server)) == 1
    with pytest.raises(ValidationError):
        m.add("I keep bees", user_id="u1", idempotency_key="k", editing="append")


def test_a_trace_tells_every_step(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(m, "Lives in Oslo 住")
    told = {
        "entities": [{"name": "Turku", "type": "city"}, {"name": 7}],
        "relations": [{"subject": "user", "relation": "lives in", "object": "Turku"}, {"subject": "x"}],
    }
    meeting(server, ("Lives in Turku 住", {"Lives in Oslo 住": "changes"}), ("", {}), since="2024-05", **told)
    result = m.add(
        [{"role": "user", "name": "Ann", "content": "Turku 住 🦊"}], user_id="u1", run_id="r", trace=True
    )
    trace = result["trace"]
    assert (trace["trace_id"], trace["mode"], trace["extractor"]) == (
        result["trace_id"],
        "supersede",
        "llm:supersede",
    )
    assert (trace["user_id"], trace["run_id"]) == ("u1", "r")
    assert [(one["number"], one["role"], one["name"], one["content"]) for one in trace["messages"]] == [
        (0, "user", "Ann", "Turku 住 🦊")
    ]
    assert trace["offered"] == [
        {"label": "m1", "id": old, "memory": "Lives in Oslo 住", "version": 1, "since": None}
    ]
    [call] = trace["calls"]
    assert (call["stage"], call["prompt"].partition("/")[0]) == ("extract", "extract")
    assert call["sent"] == chats(server)[0].body["messages"]
    assert json.loads(call["raw"])["facts"][0]["text"] == "Lives in Turku 住"
    stored, refused = trace["verdicts"]
    assert (stored["verdict"], stored["events"], stored["ids"]) == (
        "stored",
        ["ADD"],
        [result["results"][0]["id"]],
    )
    assert stored["meets"] == [{"memory": old, "how": "changes"}]
    assert stored["entities"] == [{"name": "Turku", "type": "city"}]
    assert stored["relations"] == [{"subject": "user", "relation": "lives in", "object": "Turku"}]
    assert (refused["verdict"], refused["reason"]) == ("rejected", "no_content")
    assert trace["usage"] == result["usage"]


def test_what_is_a_model_option_needs_a_model(make_memory: MakeMemory, m: Memory) -> None:
    plain = make_memory()
    for option in ({"editing": "append"}, {"prompt": "x"}):
        with pytest.raises(ValidationError, match="llm"):
            plain.add("hello", user_id="u1", **option)
    with pytest.raises(ValidationError, match="supersede"):
        m.add("hello", user_id="u1", editing="supersed")


def test_a_request_is_read_as_it_is_meant() -> None:
    told = Told("", 'KNOWN MEMORIES\nm1 (since 2024-01-01): "a"\n\nNEW MESSAGES\n[0] user (now): "b"')
    assert (told.known, told.new) == ({"m1": "a"}, {0: "b"})
