"""Indexes and the store stay together: labels that go, unions beyond the budget, damage, searches meanwhile."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mnemic import Memory
from mnemic.errors import StoreFormatError
from mnemic.models.fakes import HashEmbedder
from mnemic.recall.cache import IndexCache
from mnemic.recall.index import ScopeIndex
from mnemic.records import Owner, OwnerState
from raw_stores import raw_connection


def texts(found: Any) -> set[str]:
    return {item["memory"] for item in found["results"]}


def test_a_run_that_was_deleted_finds_nothing_of_what_others_said_too(m: Memory) -> None:
    for run in ("r1", "r2"):
        m.add(facts=["Ann drinks tea 🍵"], user_id="u", run_id=run)
        assert texts(m.search("tea", user_id="u", run_id=run)) == {"Ann drinks tea 🍵"}
    m.delete_all(user_id="u", run_id="r1")
    assert texts(m.search("tea", user_id="u", run_id="r1")) == set()
    assert texts(m.search("tea", user_id="u", run_id="r2")) == {"Ann drinks tea 🍵"}


def test_owners_whose_indexes_exceed_the_budget_together_are_searched_together(empty_store: str) -> None:
    with Memory(empty_store, embedder=HashEmbedder(512), index_mb=1) as m:
        for user in ("a", "b"):
            m.add(facts=[f"{user} drinks tea {i}" for i in range(300)], user_id=user)
        both = {"user_id": {"in": ["a", "b"]}}
        for _ in range(2):
            found = texts(m.search("drinks tea", filters=both, top_k=600))
            assert len(found) == 600


def test_what_is_half_taken_in_is_not_seen(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(store, embedder="none") as m:
        added = m.add(facts=["tea before"], user_id="u")["results"][0]["id"]
        m.search("tea", user_id="u")
        m.update(added, "tea after")
        taking, go_on, take = threading.Event(), threading.Event(), ScopeIndex._take

        def slow(index: ScopeIndex, *changes: Any) -> None:
            taking.set()
            go_on.wait(20)
            take(index, *changes)

        monkeypatch.setattr(ScopeIndex, "_take", slow)
        found: list[set[str]] = []

        def ask() -> None:
            found.append(texts(m.search("tea", user_id="u")))

        first, second = threading.Thread(target=ask), threading.Thread(target=ask)
        first.start()
        assert taking.wait(20)
        second.start()
        second.join(0.3)
        go_on.set()
        first.join(20)
        second.join(20)
    assert found == [{"tea after"}] * 2


def test_damage_met_while_catching_up_is_told_every_time(store: str) -> None:
    with Memory(store, embedder=HashEmbedder()) as m:
        m.add(facts=["tea one"], user_id="u")
        m.search("tea", user_id="u")
        m.add(facts=[{"text": "tea two", "categories": ["drinks"]}], user_id="u")
        with raw_connection(store) as other:
            other.execute("UPDATE version SET categories = '[broken' WHERE text = 'tea two'")
        for _ in range(2):
            with pytest.raises(StoreFormatError):
                m.search("tea", user_id="u")
        m.add(facts=["tea three"], user_id="u")
        with pytest.raises(StoreFormatError):
            m.search("tea", user_id="u")


def test_least_recently_used_indexes_go_and_the_count_of_bytes_follows(m: Memory) -> None:
    owners = [OwnerState(no, 0, Owner("t", f"u{no}")) for no in range(1, 5)]
    size = ScopeIndex(owners[0].owner).nbytes
    indexes = IndexCache(2 * size)
    with m._engine._parts.store().read() as tx:
        for state in owners:
            indexes.refreshed(tx, [state], None)
        assert [indexes.fresh([state], None) is not None for state in owners] == [False, False, True, True]
        indexes.clear()
        assert indexes.fresh(owners[3:], None) is None
        assert len(indexes.refreshed(tx, owners, None)) == 4


def test_terms_of_a_wrong_length_are_damage(store_path: Path) -> None:
    with Memory(str(store_path), embedder="none") as m:
        m.add(facts=["tea one"], user_id="u")
        with closing(sqlite3.connect(store_path)) as other:
            mine = "owner_id IN (SELECT id FROM owner WHERE user_id = 'u')"
            other.execute(f"UPDATE terms SET data = CAST(data || x'00' AS BLOB) WHERE {mine}")
            other.commit()
        with pytest.raises(StoreFormatError):
            m.search("tea", user_id="u")


def test_a_small_owner_does_not_wait_for_anothers_index(store: str) -> None:
    with Memory(store, embedder="none") as m:
        m.add(facts=["tea of big"], user_id="big")
        m.add(facts=["tea of small"], user_id="small")
        indexes, big = m._engine._parts.indexes, OwnerState(owner_id(store, "big"), 0, Owner("default"))
        found: list[set[str]] = []
        with indexes.locked([big]):
            waiting = threading.Thread(target=lambda: found.append(texts(m.search("tea", user_id="big"))))
            waiting.start()
            assert texts(m.search("tea", user_id="small")) == {"tea of small"}
            assert not found
        waiting.join()
        assert found == [{"tea of big"}]


def owner_id(store: str, user: str) -> int:
    with raw_connection(store) as raw:
        query = "SELECT id FROM owner WHERE user_id = :user AND tenant = 'default'"
        return int(raw.execute(query, {"user": user})[0][0])
