"""why(): each stage can be the first that lacks a text, and it is named with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import Memory, ValidationError


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
