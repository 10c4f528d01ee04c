"""What search must find and in which order: languages (2.18), exact tokens (2.20), promises of the score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from conftest import MakeMemory
from mnemic import Memory
from mnemic.models.fakes import ConstantEmbedder, HashEmbedder

PER_SCRIPT = [
    ("私は抹茶が好きです。", "抹茶"),
    ("Я живу в Твери", "твери"),
    ("Ich heiße Jürgen", "JÜRGEN"),
    ("我对花生过敏", "花生"),
    ("저는 서울에 살아요", "서울"),
    ("أعمل في القاهرة", "القاهرة"),
    ("मुझे आम पसंद है", "आम"),
    ("Μένω στην Αθήνα", "ΑΘΉΝΑ"),
    ("ฉันชอบกาแฟเย็น", "กาแฟ"),
    ("אני גר בירושלים", "בירושלים"),
    ('She wrote C++ for "loves_to_eat" 🦊', "c++"),
]


@pytest.fixture
def words_only(memory_with: MakeMemory) -> Memory:
    """A memory in which the dense arm says nothing, with one fact in each script."""
    m = memory_with(ConstantEmbedder())
    for text, _ in PER_SCRIPT:
        m.add(text, user_id="u1", infer=False)
    return m


@pytest.mark.parametrize(("text", "query"), PER_SCRIPT, ids=[query for _, query in PER_SCRIPT])
def test_a_word_of_any_script_finds_its_own_fact_first(words_only: Memory, text: str, query: str) -> None:
    first, *others = words_only.search(query, user_id="u1", explain=True)["results"]
    assert first["memory"] == text
    assert all(first["score"] > other["score"] for other in others)


def test_facts_without_the_word_are_no_keyword_hits(words_only: Memory) -> None:
    for text, query in PER_SCRIPT:
        hits = words_only.search(query, user_id="u1", threshold=0.3)["results"]
        assert [hit["memory"] for hit in hits] == [text]


class Orthogonal:
    """Queries are at right angles to all passages."""

    name = "test:orthogonal"
    dims = 8

    def embed(self, texts: Sequence[str], purpose: str) -> Any:
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        rows[:, 0 if purpose == "query" else 1] = 1.0
        return rows


def test_an_exact_token_is_found_where_meaning_fails(memory_with: MakeMemory) -> None:
    m = memory_with(Orthogonal())
    m.add(facts=[f"The {i}th release went out on time" for i in range(29)], user_id="u1")
    [wanted] = m.add(facts=["The build broke with ERR-7731 at night"], user_id="u1")["results"]
    hits = m.search("ERR-7731", user_id="u1", top_k=30)["results"]
    assert hits[0]["id"] == wanted["id"]
    assert hits[0]["score"] > 0
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(score < scores[0] for score in scores[1:])


@pytest.fixture
def library(m: Memory) -> Memory:
    """Thirty memories that share words in many ways."""
    things = ("bees", "kayaks", "trains", "茶", "шахматы")
    for i in range(30):
        m.add(f"Ann likes {things[i % 5]} and {things[(i * 7) % 5]}, note {i}", user_id="u1", infer=False)
    return m


def test_the_top_three_of_ten_are_the_top_three(library: Memory) -> None:
    ten = library.search("Ann likes bees and 茶", user_id="u1", top_k=10)["results"]
    three = library.search("Ann likes bees and 茶", user_id="u1", top_k=3)["results"]
    assert ten[:3] == three


def test_raising_the_threshold_never_adds_hits(library: Memory) -> None:
    everything = library.search("Ann likes bees", user_id="u1", top_k=30)["results"]
    known = {hit["id"]: hit["score"] for hit in everything}
    for threshold in (0.0, 0.1, 0.3, 0.5, 0.8, 1.0):
        hits = library.search("Ann likes bees", user_id="u1", top_k=30, threshold=threshold)["results"]
        assert [h["id"] for h in hits] == [uid for uid, score in known.items() if score >= threshold]


def test_scores_lie_between_zero_and_one_and_fall(library: Memory) -> None:
    for query in ("bees", "Ann likes шахматы and 茶, note 3", "茶", "note", "warp drive", "?!"):
        scores = [hit["score"] for hit in library.search(query, user_id="u1", top_k=30)["results"]]
        assert all(0 <= score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "embedder", [HashEmbedder(), HashEmbedder(384), None], ids=["hash-64", "hash-384", "none"]
)
def test_a_memorys_own_text_scores_high_and_nonsense_low(memory_with: MakeMemory, embedder: Any) -> None:
    m = memory_with(embedder or "none")
    facts = ["Ann moved from Hangzhou to Shanghai", "她对花生过敏", "The kayak is red", "Bob plays the oboe"]
    m.add(facts=facts, user_id="u1")
    for fact in facts:
        best = m.search(fact, user_id="u1")["results"][0]
        assert best["memory"] == fact
        assert best["score"] >= 0.9
    for hit in m.search("qwzx vrrpt 0xdeadbeef", user_id="u1")["results"]:
        assert hit["score"] < 0.3


def test_without_an_embedder_words_are_found_and_the_result_says_so(memory_with: MakeMemory) -> None:
    m = memory_with("none")
    m.add(facts=["The kayak is red"], user_id="u1")
    found = m.search("kayak", user_id="u1")
    assert [hit["memory"] for hit in found["results"]] == ["The kayak is red"]
    assert "embedder" in found["notice"]


def test_the_same_search_gives_the_same_answer(library: Memory) -> None:
    first = library.search("Ann likes bees", user_id="u1", explain=True)
    assert all(library.search("Ann likes bees", user_id="u1", explain=True) == first for _ in range(3))


def test_a_write_is_seen_by_the_next_search(m: Memory) -> None:
    for i in range(5):
        [added] = m.add(f"fresh word{i}", user_id="u1", infer=False)["results"]
        assert m.search(f"word{i}", user_id="u1")["results"][0]["id"] == added["id"]
        m.delete(added["id"])
        assert added["id"] not in {r["id"] for r in m.search(f"word{i}", user_id="u1")["results"]}


def test_another_memory_on_the_same_file_sees_the_write_too(make_memory: MakeMemory) -> None:
    one, two = make_memory(), make_memory()
    one.add("first word", user_id="u1", infer=False)
    assert len(two.search("word", user_id="u1")["results"]) == 1
    [added] = one.add("second word", user_id="u1", infer=False)["results"]
    assert len(two.search("word", user_id="u1")["results"]) == 2
    one.update(added["id"], text="third thing")
    assert two.search("third thing", user_id="u1")["results"][0]["memory"] == "third thing"
    two.delete(added["id"])
    assert [r["memory"] for r in one.search("word thing", user_id="u1")["results"]] == ["first word"]
