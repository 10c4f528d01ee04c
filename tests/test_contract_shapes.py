"""mem0's shapes and words, kept so that changing the import is all a user does."""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from typing import Any

import pytest

from mnemic import Memory, NotFoundError, ValidationError

MEM0_ITEM = ["id", "memory", "hash", "metadata", "score", "created_at", "updated_at"]
HISTORY = [
    "id",
    "memory_id",
    "old_memory",
    "new_memory",
    "event",
    "created_at",
    "updated_at",
    "is_deleted",
    "actor_id",
    "role",
]


def keep(m: Memory, text: str, **more: Any) -> str:
    more.setdefault("user_id", "ann")
    [item] = m.add(text, infer=False, **more)["results"]
    return item["id"]


# --- add --------------------------------------------------------------------------------------------------


def test_a_verbatim_add_answers_one_item_per_message_in_order(m: Memory) -> None:
    added = m.add(
        [
            {"role": "user", "name": "ann", "content": "I keep bees. 🐝"},
            {"role": "assistant", "content": 'How "nice"!\nSince when?'},
        ],
        user_id="ann",
        infer=False,
    )
    assert [list(item) for item in added["results"]] == [["id", "memory", "event", "actor_id", "role"]] * 2
    assert [(i["memory"], i["event"], i["actor_id"], i["role"]) for i in added["results"]] == [
        ("I keep bees. 🐝", "ADD", "ann", "user"),
        ('How "nice"!\nSince when?', "ADD", None, "assistant"),
    ]


@pytest.mark.parametrize(
    "messages", ["hi", {"role": "user", "content": "hi"}, [{"role": "user", "content": "hi"}]]
)
def test_a_string_a_message_and_a_list_of_messages_are_the_same(m: Memory, messages: Any) -> None:
    [item] = m.add(messages, user_id="ann", infer=False)["results"]
    assert (item["memory"], item["role"]) == ("hi", "user")


def test_the_role_and_not_the_text_makes_a_system_message(m: Memory) -> None:
    added = m.add(
        [{"role": "system", "content": "You are Pip."}, {"role": "user", "content": "system"}],
        user_id="ann",
        infer=False,
    )
    assert [item["memory"] for item in added["results"]] == ["system"]
    assert added["rejected"] == [{"text": "You are Pip.", "messages": [0], "reason": "system_message"}]


def test_an_add_of_nothing_memorable_says_why(m: Memory) -> None:
    added = m.add({"role": "system", "content": "You are Pip."}, user_id="ann", infer=False)
    assert added["results"] == []
    assert added["notice"]


@pytest.mark.parametrize("messages", [5, 1.5, b"bytes", {1}, object()])
def test_messages_of_another_type_get_mem0s_error(m: Memory, messages: Any) -> None:
    with pytest.raises(ValidationError, match="messages must be str, dict, or list") as caught:
        m.add(messages, user_id="ann", infer=False)
    assert caught.value.error_code == "VALIDATION_003"
    assert caught.value.details["valid_types"] == ["str", "dict", "list[dict]"]
    assert caught.value.details["provided_type"] == type(messages).__name__


# --- ids --------------------------------------------------------------------------------------------------


def test_an_add_without_ids_has_mem0s_code(m: Memory) -> None:
    with pytest.raises(ValidationError, match="At least one of 'user_id', 'agent_id'") as caught:
        m.add("hi", infer=False)
    assert caught.value.error_code == "VALIDATION_001"


@pytest.mark.parametrize("verb", ["search", "get_all"])
def test_a_read_without_ids_is_a_value_error_that_names_them(m: Memory, verb: str) -> None:
    arguments = ("bees",) if verb == "search" else ()
    with pytest.raises(ValueError, match="user_id") as caught:
        getattr(m, verb)(*arguments, filters={"category": "x"})
    assert isinstance(caught.value, ValidationError)
    assert caught.value.error_code == "VALIDATION_001"


@pytest.mark.parametrize("name", ["user_id", "agent_id", "app_id", "run_id"])
def test_any_one_id_is_a_whole_scope(m: Memory, name: str) -> None:
    uid = keep(m, "住在上海", **{"user_id": None, name: "x-1"})
    assert [r["id"] for r in m.get_all(**{name: "x-1"})["results"]] == [uid]
    assert [r["id"] for r in m.search("上海", **{name: "x-1"})["results"]] == [uid]
    assert m.get(uid)[name] == "x-1"


@pytest.mark.parametrize("verb", ["search", "get_all"])
def test_ids_go_at_the_top_in_filters_or_in_an_and(m: Memory, verb: str) -> None:
    keep(m, "I keep bees")
    keep(m, "I keep bees", user_id="bob")
    query = ("bees",) if verb == "search" else ()
    read = getattr(m, verb)
    answers = [
        read(*query, user_id="ann"),
        read(*query, filters={"user_id": "ann"}),
        read(*query, filters={"AND": [{"user_id": "ann"}]}),
        read(*query, user_id="ann", filters={"user_id": "ann"}),
    ]
    assert [[item["user_id"] for item in answer["results"]] for answer in answers] == [["ann"]] * 4
    assert all(answer == answers[0] for answer in answers)


def test_ids_are_trimmed_and_numbers_are_taken_as_letters(m: Memory) -> None:
    uid = keep(m, "hi", user_id=42)
    assert m.get(uid)["user_id"] == "42"
    assert m.get_all(user_id="  42\n")["total"] == 1


def test_two_values_of_one_id_are_refused(m: Memory) -> None:
    with pytest.raises(ValidationError, match="user_id"):
        m.get_all(user_id="ann", filters={"user_id": "bob"})


# --- items ------------------------------------------------------------------------------------------------


def test_get_gives_mem0s_keys_and_only_the_ids_that_there_are(m: Memory) -> None:
    uid = keep(m, "I keep bees", run_id="r1", metadata={"shelf": "B2"})
    item = m.get(uid)
    assert item is not None
    assert set(MEM0_ITEM) <= set(item)
    assert item["score"] is None
    assert item["hash"] == hashlib.md5(b"I keep bees").hexdigest()
    assert item["metadata"] == {"shelf": "B2"}
    assert (item["user_id"], item["run_id"], item["role"]) == ("ann", "r1", "user")
    assert not {"agent_id", "app_id", "actor_id", "expiration_date", "attributed_to"} & set(item)


def test_no_metadata_is_none(m: Memory) -> None:
    assert m.get(keep(m, "a"))["metadata"] is None
    assert m.get(keep(m, "b", metadata={}))["metadata"] is None


def test_listed_items_have_no_score_and_found_ones_do(m: Memory) -> None:
    keep(m, "I keep bees")
    [listed] = m.get_all(user_id="ann")["results"]
    [found] = m.search("bees", user_id="ann")["results"]
    [explained] = m.search("bees", user_id="ann", explain=True)["results"]
    assert "score" not in listed
    assert isinstance(found["score"], float)
    assert 0 <= found["score"] <= 1
    assert "score_details" not in found
    assert explained["score_details"]
    assert explained["score"] == found["score"]


def test_all_times_are_utc_with_offset(m: Memory) -> None:
    item = m.get(keep(m, "hi", timestamp="2024-07-20T09:00:00+08:00"))
    assert item is not None
    for key in ("created_at", "updated_at"):
        assert datetime.fromisoformat(item[key]).utcoffset() is not None
        assert str(item[key]).endswith("+00:00")
    [message] = m.messages(user_id="ann")["results"]
    assert message["timestamp"] == "2024-07-20T01:00:00+00:00"


@pytest.mark.parametrize("day", ["2099-01-02", date(2099, 1, 2), datetime(2099, 1, 2, 23, 59)])
def test_an_expiration_date_is_a_day(m: Memory, day: Any) -> None:
    assert m.get(keep(m, "hi", expiration_date=day))["expiration_date"] == "2099-01-02"


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("tomorrow", "expiration_date must be a valid date in YYYY-MM-DD format"),
        (5, "expiration_date must be a date string in YYYY-MM-DD format"),
    ],
)
def test_a_bad_expiration_date_gets_mem0s_words(m: Memory, day: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        m.add("hi", user_id="ann", infer=False, expiration_date=day)


# --- search arguments -------------------------------------------------------------------------------------


def test_limit_is_another_name_of_top_k(m: Memory) -> None:
    for i in range(3):
        keep(m, f"bee {i}")
    assert len(m.search("bee", user_id="ann", limit=2)["results"]) == 2
    assert len(m.get_all(user_id="ann", limit=2)["results"]) == 2
    with pytest.raises(ValidationError, match="limit"):
        m.search("bee", user_id="ann", limit=2, top_k=3)


def test_a_top_k_of_zero_is_legal_and_gives_nothing(m: Memory) -> None:
    keep(m, "bee")
    assert m.search("bee", user_id="ann", top_k=0)["results"] == []
    assert m.get_all(user_id="ann", top_k=0)["results"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": 5}, "Invalid query: must be a non-empty string."),
        ({"query": None}, "Invalid query: must be a non-empty string."),
        ({"query": " \n"}, "Invalid query: cannot be empty or whitespace-only."),
        ({"threshold": 1.5}, "Invalid threshold: 1.5. Must be between 0 and 1 (inclusive)."),
        ({"threshold": -0.1}, "Invalid threshold: -0.1. Must be between 0 and 1 (inclusive)."),
        ({"threshold": "high"}, "threshold must be a valid number"),
        ({"threshold": True}, "threshold must be a valid number"),
        ({"top_k": "3"}, "top_k must be a valid integer"),
        ({"top_k": True}, "top_k must be a valid integer"),
        ({"top_k": 2.0}, "top_k must be a valid integer"),
        ({"top_k": -1}, "Invalid top_k: -1. Must be a non-negative integer."),
    ],
)
def test_bad_search_arguments_get_mem0s_words(m: Memory, arguments: dict[str, Any], words: str) -> None:
    arguments = {"query": "bees", **arguments}
    with pytest.raises(ValueError, match=re.escape(words)):
        m.search(user_id="ann", **arguments)


def test_rerank_without_a_reranker_is_a_notice(m: Memory) -> None:
    keep(m, "bee")
    found = m.search("bee", user_id="ann", rerank=True)
    assert len(found["results"]) == 1
    assert "rerank" in found["notice"].lower()


def test_an_empty_result_says_why(m: Memory) -> None:
    assert m.search("bees", user_id="nobody")["notice"]
    keep(m, "I keep bees", metadata={"n": 1})
    assert m.search("bees", user_id="ann", filters={"n": 2})["notice"]
    assert m.get_all(user_id="ann", filters={"n": 2})["notice"]
    assert "threshold" in m.search("warp drive", user_id="ann", threshold=1.0)["notice"]


# --- by id ------------------------------------------------------------------------------------------------


def test_a_missing_memory_is_none_for_get_and_has_no_history(m: Memory) -> None:
    assert m.get("no-such-id") is None
    assert m.history("no-such-id") == []


@pytest.mark.parametrize("verb", ["delete", "restore"])
def test_a_missing_memory_is_a_value_error_in_mem0s_words(m: Memory, verb: str) -> None:
    with pytest.raises(ValueError, match=r"^Memory with id no-such-id not found$"):
        getattr(m, verb)("no-such-id")


def test_an_update_of_a_missing_memory_is_a_value_error(m: Memory) -> None:
    with pytest.raises(ValueError, match=r"^Memory with id no-such-id not found"):
        m.update("no-such-id", text="x")


def test_update_takes_the_text_by_place_by_name_and_as_data(m: Memory) -> None:
    uid = keep(m, "one")
    assert m.update(uid, "two")["message"] == "Memory updated successfully!"
    assert m.get(uid)["memory"] == "two"
    m.update(uid, text="three")
    assert m.get(uid)["memory"] == "three"
    m.update(uid, data="four")
    assert m.get(uid)["memory"] == "four"


def test_an_update_with_nothing_gets_mem0s_words(m: Memory) -> None:
    uid = keep(m, "one")
    with pytest.raises(
        ValueError, match=r"^At least one of text, metadata, or expiration_date must be provided\.$"
    ):
        m.update(uid)


def test_an_expiration_date_of_none_clears_it_and_none_given_keeps_it(m: Memory) -> None:
    uid = keep(m, "one", expiration_date="2099-01-02")
    m.update(uid, text="two")
    assert m.get(uid)["expiration_date"] == "2099-01-02"
    m.update(uid, expiration_date=None)
    assert "expiration_date" not in m.get(uid)


def test_delete_delete_all_and_reset_answer_as_mem0(m: Memory) -> None:
    uid = keep(m, "one")
    keep(m, "two")
    assert m.delete(uid)["message"] == "Memory deleted successfully!"
    assert m.get(uid) is None
    assert m.delete_all(user_id="ann")["message"] == "Memories deleted successfully!"
    assert m.get_all(user_id="ann")["total"] == 0
    assert m.reset() is None


def test_delete_all_without_ids_gets_mem0s_words_and_deletes_nothing(m: Memory) -> None:
    uid = keep(m, "one")
    with pytest.raises(ValueError) as caught:
        m.delete_all()
    assert str(caught.value) == (
        "At least one filter is required to delete all memories. If you want to delete all memories,"
        " use the `reset()` method."
    )
    for nothing in ({}, {"AND": []}):
        with pytest.raises(ValidationError):
            m.delete_all(filters=nothing)
    assert m.get(uid) is not None


def test_delete_all_takes_mem0s_ids_by_place(m: Memory) -> None:
    keep(m, "one", user_id="ann", agent_id="a", run_id="r")
    assert m.delete_all("ann", "a", "r")["deleted"] == 1


def test_history_has_mem0s_ten_keys_first(m: Memory) -> None:
    uid = keep(m, "one", agent_id="a")
    [entry] = m.history(uid)
    assert list(entry)[:10] == HISTORY
    assert (entry["memory_id"], entry["event"], entry["is_deleted"]) == (uid, "ADD", False)


@pytest.mark.parametrize("verb", ["add", "search", "get", "get_all", "update", "delete", "history", "reset"])
def test_the_verbs_document_themselves(verb: str) -> None:
    assert getattr(Memory, verb).__doc__
    assert getattr(Memory, verb).__name__ == verb


def test_an_update_of_a_missing_memory_has_all_of_mem0s_words(m: Memory) -> None:
    with pytest.raises(ValueError) as caught:
        m.update("no-such-id", text="x")
    assert str(caught.value) == "Memory with id no-such-id not found. Please provide a valid 'memory_id'"


@pytest.mark.parametrize("verb", ["delete", "update"])
def test_a_deleted_memory_is_not_found_in_mem0s_words(m: Memory, verb: str) -> None:
    [added] = m.add("hello", user_id="u1", infer=False)["results"]
    m.delete(added["id"])
    with pytest.raises(NotFoundError, match=f"^Memory with id {added['id']} not found"):
        getattr(m, verb)(added["id"], **({"text": "x"} if verb == "update" else {}))


def test_a_search_for_no_hits_does_not_say_that_nothing_matched(m: Memory) -> None:
    m.add("hello", user_id="u1", infer=False)
    assert "shares a word" not in m.search("hello", user_id="u1", top_k=0)["notice"]
