"""One life of a store, with the same ids and the same clock, on both databases: the same answers in the same order."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mnemic import Memory, MnemicError
from mnemic.models.fakes import HashEmbedder
from raw_stores import PostgresServer

TEXTS = [
    "I moved from Hangzhou to Shanghai in July",
    "I live in Oslo.",
    "I moved to Bergen.",
    "我住在上海，对花生过敏",
    "Я живу в Твери и держу пчёл",
    'Ann\'s sister Mara likes "figs" 🦊\nand a second line',
    "ERR-7731 broke the build; C++ 3.5",
    "😀😀 астральные 𐐀 letters before the fact. I work at Acme.",
    "STRASSE straße ſ İstanbul ΕΛΛΆΣ",
    "100% _under_ \\ back\\slash 'quote'",
    "हिन्दी में एक वाक्य",
    "朝ごはんはパンです",
]
QUERIES = [
    "Where do I live?",
    "花生",
    "figs fox",
    "ERR-7731",
    "Твери",
    "istanbul",
    "パン",
    "nothing of the kind",
]
FILTERS: list[dict[str, Any] | None] = [
    None,
    {"n": {"gte": 3}},
    {"n": 2**70},
    {"tags": {"contains": "ß"}},
    {"NOT": [{"城市": "上海"}]},
    {"text": {"icontains": "STRASSE"}},
    {"text": {"icontains": "İ"}},
    {"text": {"gt": "T"}},
    {"word": {"gt": "Z"}},
    {"word": {"lte": "É"}},
    {"categories": {"contains": "food"}},
    {"created_at": {"gte": "2023-11-14"}, "kind": ["fact", "message"]},
    {"OR": [{"word": {"icontains": "ẞ"}}, {"float": {"lt": 0.5}}]},
]
WORDS = ["a", "Z", "z", "É", "é", "ß", "ẞ", "Ω", "\U00010400", "\uffff", "東", ""]
USERS = ["ann", "bob", "李"]


def play(m: Memory, seed: int) -> list[Any]:
    """Do and ask a few hundred things, chosen by the seed and by what was answered."""
    choice = random.Random(seed)
    ids: list[str] = []
    told: list[Any] = []

    def call(verb: str, *given: Any, **more: Any) -> Any:
        try:
            result = getattr(m, verb)(*given, **more)
        except MnemicError as fault:
            result = {"error": type(fault).__name__, "message": str(fault)}
        told.append((verb, result))
        return result

    for step in range(54):
        who: dict[str, Any] = {"user_id": choice.choice(USERS)}
        if choice.random() < 0.4:
            who["run_id"] = choice.choice(["r1", "R2", "É"])
        text = f"{choice.choice(TEXTS)}{choice.choice(['', f' {step}'])}"
        metadata = {
            "n": choice.choice([1, 3, 4.5, 2**70, True]) if step > 3 else 3,
            "tags": choice.choice([["ß", 1], [], ["food"]]),
            "城市": choice.choice(["上海", None]),
            "word": choice.choice(WORDS),
            "float": choice.random(),
        }
        kind = step % 6
        if kind in (0, 1):
            talk = [{"role": choice.choice(["user", "assistant"]), "content": text} for _ in range(2)]
            added = call("add", talk, **who, infer=kind == 0, metadata=metadata)
        else:
            fact = {"text": text, "source": 0, "categories": choice.choice([None, ["food", "É"]])}
            added = call("add", text, facts=[fact], **who, metadata=metadata, expiration_date="2030-01-01")
        ids += [item["id"] for item in added.get("results", []) if item["event"] == "ADD"]
        one = choice.choice(ids) if ids else "none"
        call("add", facts=[choice.choice(TEXTS)], **who, ttl=choice.choice([5, "30s", "1h"]))
        if kind == 2:
            call("update", one, text=f"{text}!", actor="ann", reason="😀")
        elif kind == 3:
            call("delete", one, actor="É")
        elif kind == 4:
            call("restore", one)
        call("search", choice.choice(QUERIES), **who, filters=FILTERS[step % len(FILTERS)], explain=True)
        call("get_all", **who, filters=choice.choice(FILTERS), top_k=7, include_superseded=step % 2 == 0)
        call("history", one, chain=step % 2 == 0)
        call("diff", **who, since=1_700_000_000 + 4 * step, filters=choice.choice(FILTERS), limit=20)
        about = choice.choice([None, *QUERIES])
        call(
            "timeline",
            about,
            **who,
            filters=choice.choice(FILTERS),
            limit=5,
            until=choice.choice([None, "2030"]),
        )
        if step % 9 == 0:
            call("why", choice.choice(QUERIES), expect=choice.choice(["OSLO", "straße", "花生", "𐐨"]), **who)
            call("messages", **who, limit=5)
            call("trash", **who)
            call("delete_all", run_id="R2", filters={"tags": {"contains": "food"}})
            call("stats", **who)
    return told


NOISE = {"ms", "bytes", "trace_id", "store", "next"}


def same(one: Any, other: Any, where: str) -> None:
    """Equal but for what may differ, and scores to one in a million."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one.keys() - NOISE:
            same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (mine, yours) in enumerate(zip(one, other, strict=True)):
            same(mine, yours, f"{where}[{i}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-6), where
    else:
        assert one == other, where


def test_a_store_gives_the_same_answers_on_both_databases(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives, seed = [], 1
    with postgres.schema() as url:
        for store in (str(tmp_path / "own.db"), url):
            chance, seconds = random.Random(seed), itertools.count(1_700_000_000_000_000_000, 1_000_000_000)
            monkeypatch.setattr("mnemic.ids.urandom", chance.randbytes)
            monkeypatch.setattr("mnemic.clock.time", SimpleNamespace(time_ns=lambda it=seconds: next(it)))
            with Memory(store, embedder=HashEmbedder()) as m:
                lives.append(play(m, seed))
    on_file, on_server = lives
    found = [len(result["results"]) for verb, result in on_file if verb == "search" and "results" in result]
    assert len(found) > 40
    assert sum(map(bool, found)) > 20
    for i, (mine, yours) in enumerate(zip(on_file, on_server, strict=True)):
        same(mine, yours, f"step {i}: {mine[0]}")
