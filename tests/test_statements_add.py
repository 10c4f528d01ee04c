"""add() without an LLM: statements are kept with their source, and plain changes close what they end."""

from __future__ import annotations

import pytest

from conftest import MakeMemory
from mnemic import Memory

HOME = "2024-04-13T10:00:00+08:00"
MOVE = "2024-07-21T10:00:00+08:00"


def texts(result: object) -> list[str]:
    return [item["memory"] for item in result["results"]]  # type: ignore[index]


def test_statements_are_kept_in_the_users_words_and_the_rest_is_listed(m: Memory) -> None:
    message = "Hi there! I'm allergic to peanuts — really. Could you write me a poem?\n我的猫叫年糕。谢谢！"
    result = m.add(message, user_id="ann", timestamp=HOME)
    assert texts(result) == ["I'm allergic to peanuts — really.", "我的猫叫年糕。"]
    assert {each["text"]: each["reason"] for each in result["rejected"]} == {
        "Hi there!": "greeting",
        "Could you write me a poem?": "request",
        "谢谢！": "thanks",
    }
    assert result["extractor"] == "statements"


def test_a_statement_knows_its_speaker_source_and_time(m: Memory) -> None:
    talk = [
        {"role": "assistant", "content": "Anything new?"},
        {"role": "user", "name": "ann", "content": "Sure! My sister Mei is a nurse."},
    ]
    [added] = m.add(talk, user_id="ann", timestamp=HOME)["results"]
    item = m.get(added["id"])
    assert item is not None
    assert item["source"]["quote"] == "My sister Mei is a nurse."
    said = m.messages(user_id="ann")["results"]
    assert item["source"]["message_ids"] == [said[1]["id"]]
    assert (item["actor_id"], item["role"], item["attributed_to"]) == ("ann", "user", "user")
    assert item["observed_at"] == "2024-04-13T02:00:00+00:00"


def test_the_assistants_words_become_no_facts_but_stay_as_messages(m: Memory) -> None:
    talk = [{"role": "assistant", "content": "I live in the cloud."}]
    result = m.add(talk, user_id="ann")
    assert (result["results"], result["rejected"][0]["reason"]) == ([], "not_the_user")
    assert m.messages(user_id="ann")["results"][0]["content"] == "I live in the cloud."


def test_a_repeat_in_another_run_widens_the_memory(m: Memory) -> None:
    [first] = m.add("I play the oboe.", user_id="ann", run_id="r1")["results"]
    [again] = m.add("Well... I play the oboe.", user_id="ann", run_id="r2")["results"][-1:]
    assert (again["event"], again["id"]) == ("NONE", first["id"]) or again["event"] == "ADD"
    [same] = m.add("I play the oboe.", user_id="ann", run_id="r3")["results"]
    assert (same["event"], same["id"]) == ("NONE", first["id"])
    assert first["id"] in [i["id"] for i in m.get_all(user_id="ann", run_id="r3")["results"]]


def test_a_move_closes_the_old_address_and_keeps_it(m: Memory) -> None:
    [old] = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
    [new] = m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)["results"]
    assert new["supersedes"] == [old["id"]]
    assert texts(m.search("where do I live", user_id="ann")) == ["I moved to Shanghai."]
    assert texts(m.search("where do I live", user_id="ann", as_of="2024-05-01")) == ["I live in Hangzhou."]
    assert texts(m.get_all(user_id="ann", as_of="2024-05-01")) == ["I live in Hangzhou."]
    closed = m.get(old["id"])
    assert closed is not None
    assert (closed["superseded_by"], closed["valid_to"]) == (new["id"], "2024-07-21T02:00:00+00:00")
    assert [entry["event"] for entry in m.history(old["id"])] == ["ADD", "SUPERSEDE"]
    both = m.search("where do I live", user_id="ann", include_superseded=True)
    assert {"I live in Hangzhou.", "I moved to Shanghai."} == set(texts(both))


def test_chinese_changes_close_too(m: Memory) -> None:
    [old] = m.add("我住在杭州。", user_id="ann", timestamp=HOME)["results"]
    [new] = m.add("我搬到上海了。", user_id="ann", timestamp=MOVE)["results"]
    assert new["supersedes"] == [old["id"]]


def test_near_misses_and_other_owners_close_nothing(m: Memory) -> None:
    m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)
    m.add("I live in Hangzhou.", user_id="bob", timestamp=HOME)
    m.add("I live in Hangzhou.", user_id="ann", agent_id="diary", timestamp=HOME)
    m.add("I moved the meeting to Shanghai.", user_id="ann", timestamp=MOVE)
    assert all("supersedes" not in r for r in m.add("I might move to Oslo.", user_id="ann")["results"])
    m.add("I moved to Shanghai.", user_id="bob", timestamp=MOVE)
    assert "I live in Hangzhou." in texts(m.get_all(filters={"AND": [{"user_id": "ann"}]}))
    assert m.get_all(user_id="ann", agent_id="diary")["total"] == 1


def test_an_older_statement_that_arrives_late_closes_nothing(m: Memory) -> None:
    m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)
    [late] = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
    assert "supersedes" not in late


def test_coming_back_to_an_old_address_is_a_new_memory(m: Memory) -> None:
    [first] = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
    m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)
    [back] = m.add("I live in Hangzhou.", user_id="ann", timestamp="2025-01-05")["results"]
    assert back["event"] == "ADD"
    assert back["id"] != first["id"]


def test_closing_survives_a_second_process(make_memory: MakeMemory) -> None:
    one, two = make_memory(), make_memory()
    one.add("I work at Acme.", user_id="ann", timestamp=HOME)
    assert texts(two.search("where do I work", user_id="ann")) == ["I work at Acme."]
    one.add("I left Acme and joined Birch.", user_id="ann", timestamp=MOVE)
    assert texts(two.search("where do I work", user_id="ann")) == ["I left Acme and joined Birch."]


def test_words_that_were_changed_claim_nothing_any_more(m: Memory) -> None:
    [tea] = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
    m.update(tea["id"], "I like tea.")
    [moved] = m.add("I now live in Shanghai.", user_id="ann", timestamp=MOVE)["results"]
    assert "supersedes" not in moved
    m.update(tea["id"], "I live in Shanghai, near the river.", {"checked": True})
    assert texts(m.get_all(user_id="ann", filters={"checked": True})) == [
        "I live in Shanghai, near the river."
    ]


def test_an_update_makes_claims_of_its_own(m: Memory) -> None:
    [first] = m.add("I like tea.", user_id="ann", timestamp=HOME)["results"]
    m.update(first["id"], "I live in Hangzhou.")
    [moved] = m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)["results"]
    assert moved["supersedes"] == [first["id"]]


def test_an_older_statement_that_arrives_late_is_filed_in_the_past(m: Memory) -> None:
    [now] = m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)["results"]
    [late] = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
    assert texts(m.search("where do I live", user_id="ann")) == ["I moved to Shanghai."]
    assert texts(m.search("where do I live", user_id="ann", as_of="2024-05-01")) == ["I live in Hangzhou."]
    filed = m.get(late["id"])
    assert filed is not None
    assert (filed["superseded_by"], filed["valid_to"]) == (now["id"], "2024-07-21T02:00:00+00:00")


def test_adding_the_same_talk_again_changes_nothing(m: Memory) -> None:
    for round_trip in range(3):
        home = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
        move = m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)["results"]
        if round_trip:
            assert [home[0]["event"], move[0]["event"]] == ["NONE", "NONE"]
        assert texts(m.search("where do I live", user_id="ann")) == ["I moved to Shanghai."]
    assert m.get_all(user_id="ann", include_superseded=True)["total"] == 2


@pytest.mark.parametrize("words", ["I live in Hangzhou.", "I live in Ningbo."])
def test_a_superseded_memory_that_was_changed_or_restored_is_still_what_a_repeat_repeats(
    m: Memory, words: str
) -> None:
    [old] = m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"]
    m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)
    m.update(old["id"], words)
    m.delete(old["id"])
    m.restore(old["id"])
    [again] = m.add(words, user_id="ann", timestamp=HOME)["results"]
    assert (again["event"], again["id"]) == ("NONE", old["id"])


def test_saying_it_again_reopens_what_a_deleted_mistake_had_closed(m: Memory) -> None:
    m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)
    [mistake] = m.add("I moved to Shanghai.", user_id="ann", timestamp=MOVE)["results"]
    m.delete(mistake["id"])
    assert m.search("where do I live", user_id="ann")["results"] == []
    assert m.add("I live in Hangzhou.", user_id="ann", timestamp=HOME)["results"][0]["event"] == "ADD"
    assert texts(m.search("where do I live", user_id="ann")) == ["I live in Hangzhou."]
