"""What others did between two calls: a store made anew by another process, runs that state a memory too."""

from __future__ import annotations

from mnemic import Memory
from mnemic.models.fakes import HashEmbedder


def test_an_update_after_another_process_has_made_the_store_anew(empty_store: str) -> None:
    with (
        Memory(empty_store, embedder=HashEmbedder()) as one,
        Memory(empty_store, embedder=HashEmbedder()) as other,
    ):
        one.add(facts=["before"], user_id="u")
        other.reset()
        added = other.add(facts=["after"], user_id="u")["results"][0]["id"]
        assert one.update(added, "später 🌱")["event"] == "UPDATE"
        assert [hit["memory"] for hit in other.search("später", user_id="u")["results"]] == ["später 🌱"]


def test_a_dry_run_tells_what_the_deletion_then_deletes(m: Memory) -> None:
    for run, facts in (("r1", ["only here", "in both"]), ("r2", ["in both"])):
        m.add(facts=facts, user_id="u", run_id=run)
    items = {item["memory"]: item["id"] for item in m.get_all(user_id="u")["results"]}
    told = m.delete_all(user_id="u", run_id="r1", dry_run=True)["would_delete"]
    assert told == [items["only here"]]
    assert m.delete_all(user_id="u", run_id="r1")["deleted"] == len(told)
    assert [item["memory"] for item in m.get_all(user_id="u")["results"]] == ["in both"]


def test_a_filter_and_not_the_successor_is_named_where_the_past_is_asked_for(m: Memory) -> None:
    m.add("I live in Oslo.", user_id="u", timestamp="2024-01-01")
    m.add("I moved to Bergen.", user_id="u", timestamp="2025-01-01")
    question = {"user_id": "u", "expect": "Oslo"}
    assert "superseded" in m.why("Oslo", **question)["reason"]
    for past in ({"as_of": "2024-06-01"}, {"include_superseded": True}):
        verdict = m.why("Oslo", filters={"kind": "message"}, **past, **question)
        assert verdict["missing_at"] == "eligible"
        assert "superseded" not in verdict["reason"]


def test_what_was_superseded_is_known_by_its_words_after_an_update_and_a_restoration(m: Memory) -> None:
    [oslo] = m.add("I live in Oslo.", user_id="u", timestamp="2024-01-01")["results"]
    m.add("I moved to Bergen.", user_id="u", timestamp="2025-01-01")
    m.delete(oslo["id"])
    m.restore(oslo["id"])
    [again] = m.add("I live in Oslo.", user_id="u", timestamp="2024-02-01")["results"]
    assert (again["id"], again["event"]) == (oslo["id"], "NONE")
    m.update(oslo["id"], "I live in Oslo, 🇳🇴.")
    [changed] = m.add("I live in Oslo, 🇳🇴.", user_id="u", timestamp="2024-03-01")["results"]
    assert (changed["id"], changed["event"]) == (oslo["id"], "NONE")
