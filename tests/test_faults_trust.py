"""Calls made twice, changes that meet, inputs that fail alone: one effect each, and the result says which."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conftest import MakeMemory, RowCounts, RunPython
from mnemic import (
    AsyncMemory,
    ConflictError,
    EmbedderError,
    KeyReuseError,
    Memory,
    ModelTimeoutError,
    NotFoundError,
    ValidationError,
)
from mnemic.models.fakes import Fault, FaultyEmbedder, HashEmbedder

TEXT = 'Allergic to "kiwi" 🥝\n对猕猴桃过敏'


def added_id(m: Memory, text: str = TEXT, user: str = "u1") -> str:
    return str(m.add(text, user_id=user, infer=False)["results"][0]["id"])


# --- idempotency keys -------------------------------------------------------------------------------------


def test_an_add_made_again_returns_the_first_result(m: Memory, row_counts: RowCounts) -> None:
    first = m.add(TEXT, user_id="u1", infer=False, metadata={"b": 1, "a": [2]}, idempotency_key="k-1")
    before = row_counts()
    again = m.add(TEXT, user_id="u1", infer=False, metadata={"a": [2], "b": 1}, idempotency_key="k-1")
    assert again == first
    assert first["results"][0]["event"] == "ADD"
    assert row_counts() == before


def test_a_replay_is_answered_after_the_memory_was_changed_and_deleted(m: Memory) -> None:
    first = m.add(TEXT, user_id="u1", infer=False, idempotency_key="k-1")
    uid = first["results"][0]["id"]
    changed = m.update(uid, "has two cats", idempotency_key="k-2")
    gone = m.delete(uid, idempotency_key="k-3", reason="moved")
    assert (changed["version"], gone["event"]) == (2, "DELETE")
    assert m.update(uid, "has two cats", idempotency_key="k-2") == changed
    assert m.delete(uid, idempotency_key="k-3", reason="moved") == gone
    assert m.add(TEXT, user_id="u1", infer=False, idempotency_key="k-1") == first
    assert [entry["event"] for entry in m.history(uid)] == ["ADD", "UPDATE", "DELETE"]


@pytest.mark.parametrize(
    "other",
    [
        {"messages": "something else"},
        {"metadata": {"a": 2}},
        {"run_id": "r"},
        {"timestamp": "2024-01-02"},
        {"infer": True},
        {"facts": ["x"]},
    ],
)
def test_a_key_of_another_call_is_refused(m: Memory, row_counts: RowCounts, other: dict[str, Any]) -> None:
    call: dict[str, Any] = {"messages": TEXT, "user_id": "u1", "infer": False, "metadata": {"a": 1}}
    m.add(**call, idempotency_key="k")
    before = row_counts()
    with pytest.raises(KeyReuseError, match="'k'"):
        m.add(**{**call, **other}, idempotency_key="k")
    assert row_counts() == before


def test_update_and_delete_do_not_share_a_key_with_another_call(m: Memory) -> None:
    one, two = added_id(m), added_id(m, "another")
    m.update(one, "new", idempotency_key="k")
    for attempt in (
        lambda: m.update(one, "newer", idempotency_key="k"),
        lambda: m.update(two, "new", idempotency_key="k"),
        lambda: m.delete(one, idempotency_key="k"),
    ):
        with pytest.raises(KeyReuseError):
            attempt()
    assert m.get(two)["memory"] == "another"  # type: ignore[index]


def test_two_owners_have_keys_of_their_own(make_memory: MakeMemory) -> None:
    m, elsewhere = make_memory(), make_memory(tenant="elsewhere")
    results = [
        memory.add(TEXT, user_id=user, infer=False, idempotency_key="k")
        for memory, user in ((m, "u1"), (m, "u2"), (elsewhere, "u1"))
    ]
    assert [result["results"][0]["event"] for result in results] == ["ADD"] * 3
    assert len({result["results"][0]["id"] for result in results}) == 3


def test_a_failed_call_leaves_its_key_free(memory_with: MakeMemory) -> None:
    m = memory_with(FaultyEmbedder(HashEmbedder(), {"kiwi": Fault.RAISE}))
    with pytest.raises(EmbedderError):
        m.add("kiwi", user_id="u1", infer=False, idempotency_key="k")
    assert m.add("plum", user_id="u1", infer=False, idempotency_key="k")["results"][0]["event"] == "ADD"


def test_an_old_key_is_forgotten(m: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.store.replays.KEPT_MICROSECONDS", 0)
    events = [
        m.add(TEXT, user_id="u1", infer=False, idempotency_key="k")["results"][0]["event"] for _ in range(2)
    ]
    assert events == ["ADD", "NONE"]


@pytest.mark.parametrize("key", ["", "  ", 7, "k" * 201, "a\x00b"])
def test_a_bad_key_is_refused(m: Memory, row_counts: RowCounts, key: Any) -> None:
    before = row_counts()
    with pytest.raises(ValidationError, match="idempotency_key"):
        m.add(TEXT, user_id="u1", infer=False, idempotency_key=key)
    assert row_counts() == before


class Waiting:
    """Lets a call go on only when two are under way."""

    dims = 64
    barrier: threading.Barrier | None = None

    def embed(self, texts: Any, purpose: Any) -> Any:
        if self.barrier is not None:
            self.barrier.wait(10)
        return HashEmbedder().vectors(texts)


def test_a_call_made_again_while_the_first_is_running_has_its_result(memory_with: MakeMemory) -> None:
    embedder = Waiting()
    m = memory_with(embedder)
    added_id(m, "so that the space is there")
    embedder.barrier = threading.Barrier(2)

    def call(_: int) -> Any:
        return m.add(TEXT, user_id="u1", infer=False, idempotency_key="k")

    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(call, range(2))
    assert one == two
    assert one["results"][0]["event"] == "ADD"
    assert len(m.history(one["results"][0]["id"])) == 1
    assert m.messages(user_id="u1")["total"] == 2


SCRIPT = """
import json, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
with Memory(sys.argv[1], embedder=HashEmbedder()) as m:
    print(json.dumps(m.add(sys.argv[2], user_id="u1", infer=False, idempotency_key="k")))
"""


def test_another_process_has_the_first_result(m: Memory, store: str, run_warm: RunPython) -> None:
    first = m.add(TEXT, user_id="u1", infer=False, idempotency_key="k")
    with ThreadPoolExecutor(3) as pool:
        again = pool.map(lambda _: json.loads(run_warm(SCRIPT, store, TEXT)), range(3))
    assert list(again) == [first] * 3


# --- expected versions ------------------------------------------------------------------------------------


def test_of_two_updates_that_expect_one_version_one_wins(m: Memory) -> None:
    uid = added_id(m)
    seen = m.get(uid)
    assert seen is not None
    barrier = threading.Barrier(2)

    def change(text: str) -> Any:
        barrier.wait(10)
        try:
            return m.update(uid, text, expected_version=seen["version"])
        except ConflictError as fault:
            return fault

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(change, ["one", "two"]))
    [won] = [result for result in results if isinstance(result, dict)]
    [lost] = [result for result in results if isinstance(result, ConflictError)]
    assert (won["event"], won["version"], lost.version) == ("UPDATE", 2, 2)
    assert (lost.error_code, lost.details["expected_version"]) == ("CONFLICT", 1)
    assert [entry["event"] for entry in m.history(uid)] == ["ADD", "UPDATE"]


def test_a_version_counts_every_change_and_is_told_everywhere(m: Memory) -> None:
    uid = added_id(m)
    assert m.update(uid, "two", expected_version=1)["version"] == 2
    assert m.update(uid, "two", expected_version=2) == {
        "message": "Memory updated successfully!",
        "id": uid,
        "event": "NONE",
        "version": 2,
    }
    with pytest.raises(ConflictError, match="version 2, not 1"):
        m.delete(uid, expected_version=1)
    m.delete(uid, expected_version=2)
    with pytest.raises(NotFoundError):
        m.update(uid, "three", expected_version=2)
    m.restore(uid)
    shown = [m.get(uid), m.get_all(user_id="u1")["results"][0], m.search("two", user_id="u1")["results"][0]]
    assert [item["version"] for item in shown if item] == [3, 3, 3]


@pytest.mark.parametrize("number", [0, -1, True, "1", 1.0])
def test_a_version_that_is_none_is_refused(m: Memory, number: Any) -> None:
    uid = added_id(m)
    with pytest.raises(ValidationError, match="expected_version"):
        m.update(uid, "x", expected_version=number)


# --- inputs that fail alone -------------------------------------------------------------------------------


def test_a_fact_that_cannot_be_embedded_fails_alone(memory_with: MakeMemory) -> None:
    m = memory_with(FaultyEmbedder(HashEmbedder(), {"Berlin": Fault.RAISE}))
    told = m.add(
        "I like tea. I live in Berlin.",
        facts=[
            "Ann likes tea",
            {"text": "Ann lives in Berlin 🏙", "source": 0},
            "安喜欢猫",
            "Ann likes tea",
        ],
        user_id="ann",
    )
    assert [(item["memory"], item["event"]) for item in told["results"]] == [
        ("Ann likes tea", "ADD"),
        ("安喜欢猫", "ADD"),
        ("Ann likes tea", "NONE"),
    ]
    [failed] = told["failed"]
    assert (failed["text"], failed["messages"]) == ("Ann lives in Berlin 🏙", [0])
    assert "fails at call" in failed["reason"]
    for item in told["results"]:
        assert m.get(item["id"])["memory"] == item["memory"]  # type: ignore[index]
        assert m.search(item["memory"], user_id="ann")["results"][0]["id"] == item["id"]
    assert m.get_all(user_id="ann")["total"] == 2
    assert [len(m.history(item["id"])) for item in told["results"][:2]] == [1, 1]
    # What was said is kept; it is the fact that has to be added again.
    assert m.messages(user_id="ann")["total"] == 1


@pytest.mark.parametrize("fault", [Fault.TOO_FEW, Fault.NAN, Fault.WRONG_DIMS])
def test_of_messages_kept_word_for_word_too_one_fails_alone(memory_with: MakeMemory, fault: Fault) -> None:
    m = memory_with(FaultyEmbedder(HashEmbedder(), {"Berlin": fault}))
    talk = [{"role": "user", "content": text} for text in ("one", "in Berlin", "three")]
    told = m.add(talk, user_id="ann", infer=False)
    assert [item["memory"] for item in told["results"]] == ["one", "three"]
    assert [(each["text"], each["messages"]) for each in told["failed"]] == [("in Berlin", [1])]
    again = m.add(talk, user_id="ann", infer=False)
    assert [item["event"] for item in again["results"]] == ["NONE", "NONE"]


@pytest.mark.parametrize(
    "fault", [Fault.RAISE, Fault.TOO_FEW, Fault.NAN, EmbedderError("gone"), ModelTimeoutError("slow")]
)
def test_an_embedder_that_takes_nothing_is_an_outage(memory_with: MakeMemory, fault: Any) -> None:
    embedder = FaultyEmbedder(HashEmbedder(), {"fact": fault})
    m = memory_with(embedder)
    added_id(m, "so that the space is there", "ann")
    before, calls = m.stats(), len(embedder.calls)
    with pytest.raises((EmbedderError, ModelTimeoutError)):
        m.add(facts=[f"fact {i}" for i in range(20)], user_id="ann")
    assert m.stats() == before
    assert len(embedder.calls) - calls <= 3


async def _both(store: str) -> tuple[Any, Any]:
    async with AsyncMemory(store, embedder=HashEmbedder()) as m:
        first = await m.add(TEXT, user_id="u1", infer=False, idempotency_key="k")
        return first, await m.add(TEXT, user_id="u1", infer=False, idempotency_key="k")


def test_the_awaiting_face_replays_too(store: str) -> None:
    import asyncio

    first, again = asyncio.run(_both(store))
    assert again == first
