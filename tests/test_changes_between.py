"""What others did between two calls: a store made anew by another process, runs that state a memory too."""

from __future__ import annotations

from pathlib import Path

from mnemic import Memory
from mnemic.models.fakes import HashEmbedder


def test_an_update_after_another_process_has_made_the_store_anew(tmp_path: Path) -> None:
    path = str(tmp_path / "m.db")
    with Memory(path, embedder=HashEmbedder()) as one, Memory(path, embedder=HashEmbedder()) as other:
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
