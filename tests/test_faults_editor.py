"""What users report of memories that models write (2.1, 2.2, 2.4, 2.14, 2.28, 2.30, 2.31), over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import MakeMemory, RowCounts
from mnemic import LLMError, LLMOutputError, Memory, ModelTimeoutError
from mnemic.models.embed import EmbedderConfig
from mnemic.models.fakes import ChatReply, Fault, FaultyEmbedder, HashEmbedder, ScriptedServer, ServerFaults
from mnemic.prompts import load
from talk_with import asked, chats, counted, edits, fact, facts, llm_at, texts

BEES = facts(fact("Keeps bees"))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def m(make_memory: MakeMemory, server: ScriptedServer) -> Memory:
    return make_memory(llm=llm_at(server))


def reasons(result: Any) -> list[str]:
    return [one["reason"] for one in result["rejected"]]


# --- extraction (2.1) -------------------------------------------------------------------------------------


def test_a_fact_from_a_system_message_is_refused(m: Memory, server: ScriptedServer) -> None:
    talk = [
        {"role": "system", "content": "You are Pip, a travel helper."},
        {"role": "user", "content": "Always book me an aisle seat."},
    ]
    server.enqueue(
        facts(fact("Wants an aisle seat on every booking", 1), fact("Pip is a travel helper", 0)),
    )
    result = m.add(talk, user_id="u1")
    assert [item["event"] for item in result["results"]] == ["ADD"]
    assert reasons(result) == ["system_message", "source_not_allowed"]
    assert texts(m) == ["Wants an aisle seat on every booking"]
    assert "Pip" not in json.dumps(chats(server)[0].body), "instructions of others are not the model's to see"


@pytest.mark.parametrize("name", ["sources", "body", "example"])
def test_our_own_words_are_no_memory(m: Memory, server: ScriptedServer, name: str) -> None:
    ours = {
        "sources": "Facts come only from NEW MESSAGES.",
        "body": "John is always late",
        "example": "Works as a midwife at Brookside Hospital",
    }[name]
    assert ours in load("extract").sections[name]
    server.enqueue(facts(fact(ours)))
    result = m.add("Hello there, nice day", user_id="u1")
    assert (result["results"], reasons(result)) == ([], ["our_own_words"])
    assert result["notice"]
    assert texts(m) == []


def test_what_a_user_says_may_be_our_own_words_too(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("John is always late")))
    m.add("Argued with John again, he is always late", user_id="u1")
    assert texts(m) == ["John is always late"]


def test_the_assistants_answer_is_no_fact_of_the_user(m: Memory, server: ScriptedServer) -> None:
    talk = [
        {"role": "user", "content": "Which tea do you like?"},
        {"role": "assistant", "content": "I love Darjeeling, 大吉岭!"},
    ]
    server.enqueue(facts(fact("Loves Darjeeling", 1), fact("Loves 大吉岭", 1, about="assistant")))
    result = m.add(talk, user_id="u1")
    assert reasons(result) == ["source_not_allowed", "source_not_allowed"]
    assert texts(m) == []


def test_no_facts_cost_one_call_and_are_told(m: Memory, server: ScriptedServer) -> None:
    server.enqueue('{"facts": []}')
    result = m.add("Thanks!", user_id="u1", editing="reconcile")
    assert (result["results"], len(chats(server))) == ([], 1)
    assert "worth keeping" in result["notice"]
    assert m.messages(user_id="u1")["total"] == 1


def test_no_change_without_a_memory_adds_the_fact(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Keeps bees", meets={"m1": "repeats"})))
    result = m.add("I keep bees", user_id="u1")
    assert texts(m) == ["Keeps bees"]
    assert [item["event"] for item in result["results"]] == ["ADD"]


def test_roles_decide_and_texts_never_do(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Calls the cat system")))
    m.add([{"role": "user", "content": "system"}, {"role": "tool", "content": "exit 0"}], user_id="u1")
    assert asked(server)[0].new == {0: "system", 1: "exit 0"}
    assert texts(m) == ["Calls the cat system"]


def test_a_tools_output_is_no_source(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Lives in Bergen", 1)))
    talk = [{"role": "user", "content": "look it up"}, {"role": "tool", "content": "Ann lives in Bergen"}]
    assert reasons(m.add(talk, user_id="u1")) == ["source_not_allowed"]


def test_many_messages_come_in_the_order_in_which_they_were_said(m: Memory, server: ScriptedServer) -> None:
    said = [f'message {i} 消息 "{i}"\n[{i}]' for i in range(40)]
    server.enqueue('{"facts": []}', '{"facts": []}')
    m.add([{"role": "user", "content": text} for text in said], user_id="u1", run_id="r1")
    m.add("and?", user_id="u1", run_id="r1")
    first, second = asked(server)
    assert list(first.new.values()) == said
    assert second.earlier == said[-10:], "the last ten, though all have one timestamp"


# --- replies (2.2) ----------------------------------------------------------------------------------------

FORMS = {
    "fenced": f"```json\n{BEES}\n```",
    "chatty": f"Sure! {BEES} Hope it helps.",
    "thinking": f'<think>Or {{"facts":["Keeps wasps"]}}?</think>{BEES}',
    "bare list": '["Keeps bees"]',
    "trailing comma": '{"facts": [{"text": "Keeps bees", "source": [0],},]}',
    "byte order mark": f"\ufeff{BEES}",
    "strings": '{"facts": ["Keeps bees"]}',
    "mem0's names": '{"facts": [{"fact": "Keeps bees"}]}',
    "another name": '{"facts": {"memory": "Keeps bees"}}',
    "sources as text": '{"facts": [{"text": "Keeps bees", "source": "[0]"}]}',
    "two objects": f"{BEES}\n{facts(fact('Keeps wasps'))}",
}


@pytest.mark.parametrize("form", FORMS)
def test_one_fact_in_many_forms(m: Memory, server: ScriptedServer, form: str) -> None:
    server.enqueue(FORMS[form])
    m.add("I keep bees", user_id="u1")
    assert texts(m) == ["Keeps bees"]
    assert len(chats(server)) == 1


@pytest.mark.parametrize("mode", ["supersede", "append", "reconcile"])
def test_a_reply_cut_twice_is_an_error_with_its_text(
    m: Memory, server: ScriptedServer, row_counts: RowCounts, mode: str
) -> None:
    cut = '{"facts": [{"text": "Keeps be'
    before = row_counts()
    server.enqueue(cut, ChatReply(cut, finish_reason="length"))
    with pytest.raises(LLMOutputError) as caught:
        m.add("I keep bees", user_id="u1", editing=mode)
    assert caught.value.raw == cut
    assert len(chats(server)) == 2
    assert row_counts() == before


@pytest.mark.parametrize(
    "reply",
    ["", '{"type": "object", "properties": {"facts": {"type": "array"}}}', '{"facts": 7}', "No facts."],
)
def test_what_cannot_be_read_is_asked_for_again_and_then_an_error(
    m: Memory, server: ScriptedServer, row_counts: RowCounts, reply: str
) -> None:
    server.enqueue(reply, BEES)
    assert m.add("I keep bees", user_id="u1")["usage"]["llm_calls"] == 2
    before = row_counts()
    server.enqueue(reply, reply)
    with pytest.raises(LLMOutputError) as caught:
        m.add("I keep wasps", user_id="u1")
    assert caught.value.raw == reply
    assert row_counts() == before


def test_code_in_a_fact_comes_back_letter_by_letter(m: Memory, server: ScriptedServer) -> None:
    code = 'Uses `if (a["k"] != \'\\n\') { return "{}"; }` // 代码 🐝'
    server.enqueue(facts(fact(code)))
    m.add("here is what I use", user_id="u1")
    assert texts(m) == [code]


@pytest.mark.parametrize("text", [{"a": 1}, ["Keeps bees"], 7, None])
def test_a_text_that_is_no_string_is_no_memory(m: Memory, server: ScriptedServer, text: Any) -> None:
    server.enqueue(json.dumps({"facts": [{"text": text}]}), BEES)
    m.add("I keep bees", user_id="u1")
    assert texts(m) == ["Keeps bees"]


# --- edits (2.4) ------------------------------------------------------------------------------------------


def test_an_unknown_id_voids_its_own_action_only(
    make_memory: MakeMemory, m: Memory, server: ScriptedServer
) -> None:
    plain = make_memory()
    for user, many in (("u1", 2), ("u2", 3)):
        plain.add(facts=["Lives in Oslo 住", "Has a red kayak 住", "Owns an 住 axe"][:many], user_id=user)
    before = {item["memory"]: item["id"] for item in plain.get_all(user_id="u1")["results"]}
    shown: dict[str, str] = {}

    def decide(body: Any) -> str:
        data = body["messages"][1]["content"].split("\n\n")[0].split("\n")[1:]
        shown.update(
            (one["memory"] if "memory" in one else one["text"], one["id"]) for one in map(json.loads, data)
        )
        return edits(
            ("7", "X", "UPDATE"),
            ("9", "Plays the oboe", "ADD"),
            (shown["Lives in Oslo 住"], "Lives in Turku", "UPDATE"),
            ("8", "Has a red kayak 住", "DELETE"),
        )

    server.enqueue(facts(fact("Plays the oboe 住"), fact("Lives in Turku 住")), decide)
    result = m.add("I play the oboe and live in Turku 住", user_id="u1", editing="reconcile")
    assert set(shown) == set(before)
    assert [(one["reason"], one["detail"]) for one in result["rejected"] if "detail" in one] == [
        ("memory_not_offered", "7"),
        ("memory_not_offered", "8"),
    ]
    assert texts(m) == ["Has a red kayak 住", "Lives in Turku", "Plays the oboe"]
    updated = m.get(before["Lives in Oslo 住"])
    assert updated is not None
    assert (updated["memory"], updated["version"]) == ("Lives in Turku", 2)
    m.delete_all(user_id="u1")
    assert texts(m) == []
    assert len(texts(m, user_id="u2")) == 3
    assert len(m.search("kayak 住", user_id="u2")["results"]) == 3


def test_the_same_text_again_is_no_change(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(
        *[facts(fact("Keeps bees", meets={"m1": how})) for how in ("repeats", "changes", "corrects")]
    )
    results = [m.add("I keep bees", user_id="u1")["results"] for _ in range(3)]
    assert [[item["event"] for item in one] for one in results] == [["ADD"], ["NONE"], ["NONE"]]
    assert texts(m) == ["Keeps bees"]
    assert m.check()["sound"]


def test_a_contradiction_ends_the_old_and_keeps_the_new(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(
        facts(fact("Favourite colour is green")),
        facts(fact("Favourite colour is blue", meets={"m1": "changes"})),
    )
    [old] = m.add("My favourite colour is green", user_id="u1")["results"]
    [new] = m.add("My favourite colour is now blue", user_id="u1")["results"]
    assert new["supersedes"] == [old["id"]]
    assert texts(m) == ["Favourite colour is blue"]
    assert [hit["id"] for hit in m.search("favourite colour", user_id="u1")["results"]] == [new["id"]]
    both = m.get_all(user_id="u1", include_superseded=True)["results"]
    assert {item["id"]: item["superseded_by"] for item in both} == {old["id"]: new["id"], new["id"]: None}


# --- partial failure (2.14) -------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "drawn"), [("A, B and C", "ABC"), ("A 住", "AB"), ("A 住", "BA")])
def test_a_fact_that_cannot_be_embedded_fails_alone(
    memory_with: MakeMemory, server: ScriptedServer, said: str, drawn: str
) -> None:
    m = memory_with(FaultyEmbedder(HashEmbedder(), {"B 住": Fault.RAISE}), llm=llm_at(server))
    m.add("measured before", user_id="u1", infer=False)
    server.enqueue(facts(*[fact(f"{letter} 住") for letter in drawn]))
    # The facts are the only new texts, or one of them is what was said and has its vector already.
    result = m.add(said, user_id="u1")
    assert [item["memory"] for item in result["results"]] == [f"{one} 住" for one in drawn if one != "B"]
    [failed] = result["failed"]
    assert (failed["text"], failed["messages"]) == ("B 住", [0])
    assert failed["reason"]
    for item in result["results"]:
        assert m.get(item["id"]) is not None
        assert len(m.history(item["id"])) == 1
    assert m.check()["sound"]


@pytest.mark.parametrize("mode", ["supersede", "append", "reconcile"])
@pytest.mark.parametrize("status", [500, 401, 429])
def test_an_outage_is_an_error_and_stores_nothing(
    m: Memory, server: ScriptedServer, row_counts: RowCounts, mode: str, status: int
) -> None:
    before = row_counts()
    server.faults = ServerFaults(
        statuses=dict.fromkeys(range(1, 9), status), retry_after="0", message="quota"
    )
    with pytest.raises(LLMError):
        m.add("I keep bees", user_id="u1", editing=mode)
    assert row_counts() == before


def test_an_outage_at_the_second_call_stores_nothing(
    make_memory: MakeMemory, m: Memory, server: ScriptedServer, row_counts: RowCounts
) -> None:
    make_memory().add(facts=["Keeps bees"], user_id="u1")
    before = row_counts()
    server.enqueue(facts(fact("Keeps wasps")))
    with pytest.raises(LLMError):
        m.add("I keep wasps", user_id="u1", editing="reconcile")
    assert len(chats(server)) == 2
    assert row_counts() == before


@pytest.mark.parametrize("faults", [ServerFaults(no_json=True), ServerFaults(drops=frozenset(range(1, 9)))])
def test_a_broken_server_is_an_error(
    m: Memory, server: ScriptedServer, row_counts: RowCounts, faults: ServerFaults
) -> None:
    before = row_counts()
    server.faults = faults
    server.enqueue(BEES, BEES, BEES)
    with pytest.raises(LLMError):
        m.add("I keep bees", user_id="u1")
    assert row_counts() == before


# --- cost (2.28) ------------------------------------------------------------------------------------------

TALK = [
    {"role": "user", "content": "I moved to Turku, 图尔库, and keep bees."},
    {"role": "assistant", "content": "How many hives?"},
    {"role": "user", "content": 'Nine. And a "cat" 🐈.\nHer name is Misu.'},
]
FOUR = facts(
    fact("Moved to Turku"), fact("Keeps bees"), fact("Has nine hives", 1, 2), fact("Has a cat, Misu", 2)
)


def test_what_an_add_costs_is_what_the_server_counts(memory_with: MakeMemory, server: ScriptedServer) -> None:
    embedder = EmbedderConfig("openai", model="any", base_url=server.base_url)
    m = memory_with(embedder, llm=llm_at(server))
    m.add("measured before", user_id="other", infer=False)
    before = len(server.requests)
    server.enqueue(FOUR)
    result = m.add(TALK, user_id="u1")
    requests = server.requests[before:]
    assert len(result["results"]) == 4
    assert len([request for request in requests if request.path.endswith("/chat/completions")]) == 1
    assert len([request for request in requests if request.path.endswith("/embeddings")]) in (1, 2)
    told = {name: result["usage"][name] for name in ("llm_calls", "tokens_in", "embedded")}  # type: ignore[literal-required]
    assert told == counted(requests)
    assert result["usage"]["tokens_out"] == len(FOUR.split())
    assert result["usage"]["ms"] > 0
    before = len(server.requests)
    assert m.search("how many hives", user_id="u1")["results"]
    assert counted(server.requests[before:]) == {"llm_calls": 0, "tokens_in": 0, "embedded": 1}


def test_each_text_is_embedded_once(memory_with: MakeMemory, server: ScriptedServer) -> None:
    embedder = EmbedderConfig("openai", model="any", base_url=server.base_url)
    m = memory_with(embedder, llm=llm_at(server))
    m.add("measured before 住", user_id="u1", infer=False)
    for mode in ("supersede", "append", "reconcile"):
        before = len(server.requests)
        known = f"I keep bees, {mode}"
        server.enqueue(facts(fact(known), fact(f"Has hives, {mode}")), edits(("9", known, "ADD")))
        result = m.add(known, user_id="u1", editing=mode)
        sent = [r.body["input"] for r in server.requests[before:] if r.path.endswith("/embeddings")]
        inputs = [text for one in sent for text in ([one] if isinstance(one, str) else one)]
        assert len(inputs) == len(set(inputs)) == result["usage"]["embedded"]


@pytest.mark.parametrize(("mode", "calls"), [("append", 1), ("supersede", 1), ("reconcile", 2)])
def test_calls_by_mode(make_memory: MakeMemory, server: ScriptedServer, mode: str, calls: int) -> None:
    make_memory().add(facts=["Keeps bees 🐝"], user_id="u1")
    m = make_memory(llm=llm_at(server), editing=mode)
    server.enqueue(
        facts(fact("Keeps nine bees 🐝")), edits(("0", "Keeps bees 🐝", "NONE"), ("1", "Keeps nine", "ADD"))
    )
    result = m.add("I keep nine bees 🐝", user_id="u1")
    assert result["usage"]["llm_calls"] == len(chats(server)) == calls
    assert result["usage"]["tokens_in"] == counted(server.requests)["tokens_in"]
    assert sum(stage["calls"] for stage in result["usage"]["stages"].values()) == calls


@pytest.mark.parametrize("mode", ["append", "supersede", "reconcile"])
@pytest.mark.parametrize(
    "talk",
    [
        [{"role": "system", "content": "Be kind."}],
        [{"role": "assistant", "content": "I like tea."}],
        [{"role": "tool", "content": "exit 0"}, {"role": "system", "content": "Be kind."}],
    ],
)
def test_nothing_to_send_costs_no_call(m: Memory, server: ScriptedServer, mode: str, talk: list[Any]) -> None:
    result = m.add(talk, user_id="u1", editing=mode)
    assert (result["results"], result["usage"]["llm_calls"], server.requests) == ([], 0, [])
    assert result["notice"]
    assert m.messages(user_id="u1")["total"] == sum(one["role"] != "system" for one in talk)


def test_what_was_deleted_is_not_sent_again(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("Has a cat, 咪咪")))
    talk = {"role": "user", "content": "I have a cat, 咪咪", "timestamp": "2024-05-01T10:00:00Z"}
    [added] = m.add([talk], user_id="u1")["results"]
    m.delete(added["id"])
    result = m.add([talk], user_id="u1")
    assert (result["results"], result["usage"]["llm_calls"], len(chats(server))) == ([], 0, 1)


# --- local models (2.30) ----------------------------------------------------------------------------------


def test_a_slow_local_server_that_thinks_and_knows_no_format(
    make_memory: MakeMemory, server: ScriptedServer
) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"response_format"}), delay=0.3)
    thought = f'<think>\nWasps? {{"facts": ["Keeps wasps"]}}\n</think>\n\n{BEES}'
    m = make_memory(llm=llm_at(server, timeout=20))
    server.enqueue(thought, facts(fact("Keeps hens")))
    m.add("I keep bees", user_id="u1")
    assert texts(m) == ["Keeps bees"]
    assert len(chats(server)) == 2
    m.add("I keep hens", user_id="u1")
    assert texts(m) == ["Keeps bees", "Keeps hens"]
    assert len(chats(server)) == 3


def test_a_server_slower_than_the_timeout_names_the_option(
    make_memory: MakeMemory, server: ScriptedServer, row_counts: RowCounts
) -> None:
    m = make_memory(llm=llm_at(server, timeout=0.2))
    before = row_counts()
    server.faults = ServerFaults(delay=3)
    server.enqueue(BEES)
    with pytest.raises(ModelTimeoutError, match=r"llm\.timeout"):
        m.add("I keep bees", user_id="u1")
    assert row_counts() == before


# --- instructions of one's own (2.31) ---------------------------------------------------------------------

DISH = 'Keep only facts about food, written like {dish} or 100%s. \\n "quoted" {0} 只要食物\n=== role'


@pytest.mark.parametrize("mode", ["supersede", "append", "reconcile"])
def test_custom_instructions_are_sent_letter_by_letter(
    make_memory: MakeMemory, server: ScriptedServer, mode: str
) -> None:
    make_memory().add(facts=["Eats no 香菜"], user_id="u1")
    m = make_memory(llm=llm_at(server), custom_instructions=DISH, editing=mode)
    server.enqueue(facts(fact("Likes soup 香菜")), edits(("1", "Likes soup 香菜", "ADD")))
    m.add("I like soup 香菜", user_id="u1")
    for told in asked(server):
        assert DISH in told.instructions
        assert "JSON" in told.instructions
        assert "data" in told.instructions, "that what is said is no instruction stays"
    assert "Likes soup 香菜" in texts(m)


def test_a_prompt_of_the_call_comes_before_the_configured_one(
    make_memory: MakeMemory, server: ScriptedServer
) -> None:
    m = make_memory(llm=llm_at(server), custom_instructions="Only food.")
    server.enqueue('{"facts": []}', '{"facts": []}')
    m.add("hello", user_id="u1", prompt=DISH)
    m.add("hello", user_id="u1")
    first, second = (told.instructions for told in asked(server))
    assert DISH in first
    assert "Only food." not in first
    assert "Only food." in second


def test_the_prompts_of_mem0_replace_the_body_only(make_memory: MakeMemory, server: ScriptedServer) -> None:
    make_memory().add(facts=["Eats no fish 鱼"], user_id="u1")
    classic = {
        "custom_fact_extraction_prompt": f"EXTRACT {DISH}",
        "custom_update_memory_prompt": f"UPDATE {DISH}",
    }
    m = make_memory(llm=llm_at(server), **classic)
    server.enqueue(facts(fact("Eats fish 鱼")), edits(("0", "Eats fish 鱼", "UPDATE")))
    result = m.add("I eat fish 鱼 again", user_id="u1")
    assert [item["event"] for item in result["results"]] == ["UPDATE"], "mem0's prompts bring mem0's editor"
    extract, update = (told.instructions for told in asked(server))
    for sent, name, own in ((extract, "extract", "EXTRACT"), (update, "reconcile", "UPDATE")):
        sections = load(name).sections
        assert f"{own} {DISH}" in sent
        assert sections["body"] not in sent
        for kept in ("role", "sources", "format"):
            assert sections[kept] in sent
