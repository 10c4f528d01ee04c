"""why(): each stage can be the first that lacks a text, and it is named with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import Memory, ValidationError
from mnemic.models.fakes import ScriptedLLM


@pytest.fixture
def talked(m: Memory) -> Memory:
    m.add(
        [
            {"role": "user", "content": "I live in Hangzhou. Could you book the Lotus restaurant for me?"},
            {"role": "assistant", "content": "Gladly! Perhaps you would enjoy Suzhou as well."},
        ],
        user_id="ann",
        timestamp="2024-05-04T10:00:00+08:00",
    )
    return m


def why(m: Memory, expect: str, query: str = "Where does Ann live?", **more: Any) -> tuple[str | None, str]:
    found = m.why(query, expect=expect, user_id="ann", **more)
    return found["missing_at"], found["reason"]


def test_what_nobody_said_is_missing_at_the_first_stage(talked: Memory) -> None:
    stage, reason = why(talked, "Reykjavík")
    assert stage == "said"
    assert "Reykjavík" in reason


def test_a_request_is_said_but_not_kept(talked: Memory) -> None:
    stage, reason = why(talked, "lotus")
    assert stage == "kept"
    assert "request" in reason


def test_the_assistants_words_are_said_but_not_kept(talked: Memory) -> None:
    stage, reason = why(talked, "Suzhou")
    assert stage == "kept"
    assert "not the user" in reason


def test_a_deleted_memory_names_who_and_why(talked: Memory) -> None:
    [item] = talked.get_all(user_id="ann")["results"]
    talked.delete(item["id"], actor="cleaner", reason="wrong city")
    stage, reason = why(talked, "Hangzhou")
    assert stage == "believed"
    assert "cleaner" in reason
    assert "wrong city" in reason


def test_a_changed_text_is_no_longer_believed(talked: Memory) -> None:
    [item] = talked.get_all(user_id="ann")["results"]
    talked.update(item["id"], text="Lives in Ningbo")
    assert why(talked, "Hangzhou")[0] == "believed"
    assert why(talked, "Ningbo")[0] is None


def test_a_superseded_memory_names_its_successor(talked: Memory) -> None:
    talked.add("I moved to Shanghai.", user_id="ann", timestamp="2024-07-21")
    stage, reason = why(talked, "Hangzhou")
    assert stage == "eligible"
    assert "I moved to Shanghai." in reason
    assert why(talked, "Hangzhou", include_superseded=True)[0] is None


def test_a_filter_is_named_as_what_stands_against_it(talked: Memory) -> None:
    assert why(talked, "Hangzhou", filters={"kind": "message"}) == (
        "eligible",
        "the filters, or the time asked for, leave it out",
    )


def test_threshold_and_top_k_cut_at_the_last_stage(talked: Memory) -> None:
    assert why(talked, "Hangzhou", threshold=1.0)[0] == "returned"
    assert why(talked, "Hangzhou", top_k=0)[0] == "returned"


def test_a_text_that_shares_nothing_is_not_found(make_memory: MakeMemory) -> None:
    m = make_memory(embedder="none")
    m.add("Mag Rotwein", user_id="ann", infer=False)
    assert why(m, "Rotwein", query="шахматы")[0] == "found"


def test_what_is_returned_has_its_rank_and_score(talked: Memory) -> None:
    found = talked.why("I live in Hangzhou.", expect="hangzhou", user_id="ann")
    first = talked.search("I live in Hangzhou.", user_id="ann")["results"][0]
    assert (found["missing_at"], found["rank"], found["memory_id"]) == (None, 1, first["id"])
    assert found["score"] == first["score"]
    assert [stage["stage"] for stage in found["stages"]] == [
        "said",
        "kept",
        "believed",
        "eligible",
        "found",
        "returned",
    ]


def test_what_was_said_again_since_the_last_search_is_returned(talked: Memory) -> None:
    talked.search("Where does Ann live?", user_id="ann")
    talked.add("I live in Hangzhou.", user_id="ann", run_id="again", timestamp="2024-05-05")
    assert why(talked, "Hangzhou")[0] is None


def test_another_users_words_are_not_seen(talked: Memory) -> None:
    assert talked.why("x", expect="Hangzhou", user_id="bob")["missing_at"] == "said"


@pytest.mark.parametrize("expect", ["", "  ", None, 5])
def test_what_is_expected_must_be_a_text(talked: Memory, expect: Any) -> None:
    with pytest.raises(ValidationError, match="expect"):
        talked.why("x", expect=expect, user_id="ann")


# --- with a model: by the steps of the add ----------------------------------------------------------------


def fact(text: str, *sources: int, **more: Any) -> dict[str, Any]:
    return {"text": text, "source": list(sources) or [0], **more}


def edited(make_memory: MakeMemory, *replies: list[dict[str, Any]], **settings: Any) -> Memory:
    return make_memory(llm=ScriptedLLM([{"facts": facts} for facts in replies]), **settings)


def kept(m: Memory, expect: str, query: str = "Where does Ann live?", **more: Any) -> tuple[bool | None, str]:
    [stage] = [
        one for one in m.why(query, expect=expect, user_id="ann", **more)["stages"] if one["stage"] == "kept"
    ]
    return stage["passed"], stage["detail"]


def test_a_model_was_not_asked(make_memory: MakeMemory) -> None:
    m = edited(make_memory)
    m.add([{"role": "assistant", "content": "You would enjoy Suzhou."}], user_id="ann")
    assert kept(m, "suzhou") == (False, "no model was asked: no message of its add may be a source of facts")


def test_a_model_did_not_propose_it(make_memory: MakeMemory) -> None:
    m = edited(make_memory, [], [fact("有一只猫"), fact("Plays chess")])
    m.add("I may visit Suzhou one day.", user_id="ann")
    assert kept(m, "suzhou") == (False, "the model fake:scripted did not propose it")
    m.add("I have a cat, play chess, and like Nanjing.", user_id="ann")
    passed, detail = kept(m, "nanjing")
    assert passed is False
    assert "did not propose it, but, of the same message: '有一只猫'; 'Plays chess'" in detail


def test_what_was_proposed_and_rejected_has_its_reason(make_memory: MakeMemory) -> None:
    m = edited(make_memory, [fact("Enjoys Suzhou", 1), fact("Feels at home by the lake", 1)])
    said = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "You enjoy Suzhou, by the lake."},
    ]
    m.add(said, user_id="ann")
    assert kept(m, "suzhou") == (False, "a model proposed it, and it was rejected as source not allowed")
    passed, detail = kept(m, "by the lake.")
    assert passed is False
    assert "proposed it as 'Feels at home by the lake', and it was rejected as source not allowed" in detail


@pytest.mark.parametrize(
    ("how", "told"), [("repeats", "it repeats memory"), ("refines", "it was merged into")]
)
def test_what_was_merged_into_another_memory_is_followed_there(
    make_memory: MakeMemory, how: str, told: str
) -> None:
    meets = [{"memory": "m1", "how": how}]
    m = edited(make_memory, [fact("Lives in 杭州")], [fact("Lives in 杭州, on the lake", meets=meets)])
    m.add("我住在杭州", user_id="ann")
    m.add("Home is Hangzhou (杭州), on the shore.", user_id="ann")
    [item] = m.get_all(user_id="ann")["results"]
    found = m.why("Lives in 杭州", expect="on the shore", user_id="ann")
    assert (found["missing_at"], found["memory_id"]) == (None, item["id"])
    passed, detail = kept(m, "on the shore", "Lives in 杭州")
    assert passed is True
    assert detail.startswith(told)
    assert item["id"] in detail


def test_what_was_kept_in_other_words_and_changed_later_is_followed(make_memory: MakeMemory) -> None:
    m = edited(
        make_memory,
        [fact("Lives in Hangzhou"), fact("Has a cat")],
        [fact("Lives in Shanghai", meets=[{"memory": "m1", "how": "changes"}])],
        [fact("Has no cat any more", meets=[{"memory": "m1", "how": "ends"}])],
    )
    m.add("My home is in Hangzhou, with a cat.", user_id="ann", timestamp="2024-01-01")
    assert kept(m, "home is in Hangzhou")[1].startswith("it was kept in other words as memory")
    m.add("Hangzhou is over, I am in Shanghai", user_id="ann", timestamp="2024-02-01")
    found = m.why("Where?", expect="home is in Hangzhou", user_id="ann")
    assert found["missing_at"] == "eligible"
    assert "Lives in Shanghai" in found["reason"]
    m.add("Our cat ran away, alas", user_id="ann", timestamp="2024-03-01")
    passed, detail = kept(m, "ran away, alas")
    assert passed is False
    assert detail.startswith("it became no memory, and ended memory")


def test_words_that_were_deleted_before_were_not_shown(make_memory: MakeMemory) -> None:
    m = edited(make_memory, [fact("Keeps the key under the pot")], [])
    talk = [{"role": "user", "content": "The key is under the pot."}]
    m.delete(m.add(talk, user_id="ann", run_id="r")["results"][0]["id"])
    m.add([*talk, {"role": "user", "content": "Good night."}], user_id="ann", run_id="r")
    assert (
        "under the pot"
        not in m.trace(m.messages(user_id="ann")["results"][-1]["trace_id"])["messages"][0]["content"]
    )
    [gone] = m.trash(user_id="ann")["results"]
    told = f"it was kept in other words as memory {gone['id']}: 'Keeps the key under the pot'"
    assert kept(m, "key is under the pot") == (True, told)
    assert m.why("key", expect="key is under the pot", user_id="ann")["missing_at"] == "believed"


def test_without_its_steps_the_rules_are_asked_and_that_is_said(make_memory: MakeMemory) -> None:
    m = edited(make_memory, [], trace_days=0)
    m.add("Could you book the Lotus for me?", user_id="ann")
    passed, detail = kept(m, "lotus")
    assert passed is False
    assert detail.startswith(
        "the steps of its add are not kept; of the rules that serve without a model, the extractor"
    )
    make_memory().add("Could you book the Rose for me?", user_id="ann", trace=True)
    assert kept(make_memory(), "rose")[1].startswith("the extractor left it out as request")
