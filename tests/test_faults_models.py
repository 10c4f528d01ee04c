"""Embedders through the public API: other sizes (2.7), servers with limits (2.8), faults, outages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import MakeMemory, RowCounts
from mnemic import AsyncMemory, EmbedderError, EmbedderMismatchError, Memory, ModelTimeoutError
from mnemic.models.embed import EmbedderConfig
from mnemic.models.fakes import Fault, FaultyEmbedder, HashEmbedder, ScriptedServer, ServerFaults
from raw_stores import raw_connection

NOTE = " ".join(f"word{i}" for i in range(399)) + " marzipan"


# --- sizes (2.7) ------------------------------------------------------------------------------------------


def test_the_size_of_vectors_is_measured_and_never_set(memory_with: MakeMemory) -> None:
    m = memory_with(HashEmbedder(7))
    m.add("I keep bees", user_id="u1", infer=False)
    assert m.search("bees", user_id="u1")["results"]
    assert m.stats()["embedder"] == {"name": "fake:hash-7", "dims": 7}


def test_another_embedder_is_refused_at_the_door(store: str, row_counts: RowCounts) -> None:
    before = row_counts()
    with pytest.raises(EmbedderMismatchError) as caught:
        Memory(store, embedder=HashEmbedder(9))
    for told in ("fake:hash-64", "64", "fake:hash-9", "9", "mnemic reembed"):
        assert told in str(caught.value)
    assert row_counts() == before


def test_an_embedder_of_the_same_name_and_another_size_is_refused(store: str) -> None:
    with pytest.raises(EmbedderMismatchError, match=r"64 dimensions.*9 dimensions"):
        Memory(store, embedder=HashEmbedder(9, name="fake:hash-64"))


def test_a_store_goes_on_without_the_embedder_it_had(make_memory: MakeMemory) -> None:
    with_vectors = make_memory()
    with_vectors.add("I keep bees", user_id="u1", infer=False)
    without = make_memory(embedder="none")
    without.add("I keep hens", user_id="u1", infer=False)
    assert len(without.search("keep", user_id="u1")["results"]) == 2
    assert len(with_vectors.search("keep", user_id="u1")["results"]) == 2


def test_a_store_without_vectors_takes_an_embedder_later(empty_store: str) -> None:
    with Memory(empty_store, embedder="none") as bare:
        bare.add("I keep bees", user_id="u1", infer=False)
    with Memory(empty_store, embedder=HashEmbedder()) as m:
        m.add("I keep hens", user_id="u1", infer=False)
        assert len(m.search("keep", user_id="u1")["results"]) == 2


# --- an endpoint with limits (2.8) ------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def at(server: ScriptedServer, **more: Any) -> EmbedderConfig:
    return EmbedderConfig("openai", model="any-model", base_url=server.base_url, **more)


def test_a_note_too_long_for_the_server_is_kept_whole_and_found(
    memory_with: MakeMemory, server: ScriptedServer
) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"dimensions"}), max_words=100)
    m = memory_with(at(server))
    before = len(server.requests)
    [added] = m.add(NOTE, user_id="u1", infer=False)["results"]
    assert len(server.requests) - before <= 6
    assert m.get(added["id"])["memory"] == NOTE
    assert all("dimensions" not in request.body for request in server.requests)
    assert [r["id"] for r in m.search("marzipan", user_id="u1")["results"]] == [added["id"]]


def test_a_fresh_store_needs_few_requests_for_a_long_note(empty_store: str, server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"dimensions"}), max_words=100)
    with Memory(empty_store, embedder=at(server)) as m:
        m.add(NOTE, user_id="u1", infer=False)
        assert len(server.requests) <= 6


def test_the_messages_of_one_add_are_embedded_in_one_request(
    memory_with: MakeMemory, server: ScriptedServer
) -> None:
    m = memory_with(at(server))
    before = len(server.requests)
    added = m.add([{"role": "user", "content": f"turn {i}"} for i in range(20)], user_id="u1", infer=False)
    assert len(server.requests) - before == 1
    assert added["usage"]["embedded"] == 20
    m.search("turn 3", user_id="u1")
    assert len(server.requests) - before == 2


def test_lists_and_histories_ask_no_model(memory_with: MakeMemory, server: ScriptedServer) -> None:
    m = memory_with(at(server))
    [added] = m.add("I keep bees", user_id="u1", infer=False)["results"]
    before = len(server.requests)
    m.get(added["id"])
    m.get_all(user_id="u1")
    m.history(added["id"])
    m.messages(user_id="u1")
    m.stats()
    m.update(added["id"], metadata={"n": 1})
    m.delete(added["id"])
    m.restore(added["id"])
    m.delete_all(user_id="u1")
    assert len(server.requests) == before


def test_a_busy_server_is_asked_again(memory_with: MakeMemory, server: ScriptedServer) -> None:
    m = memory_with(at(server))
    call = len(server.requests) + 1
    server.faults = ServerFaults(statuses={call: 429}, retry_after="0")
    assert m.add("I keep bees", user_id="u1", infer=False)["results"][0]["event"] == "ADD"
    assert len(server.requests) == call + 1


def test_an_outage_is_an_error_and_never_an_empty_result(
    memory_with: MakeMemory, server: ScriptedServer
) -> None:
    m = memory_with(at(server, max_retries=0))
    m.add("I keep bees", user_id="u1", infer=False)
    server.faults = ServerFaults(statuses=dict.fromkeys(range(1, 100), 500))
    before = m.stats(user_id="u1")
    with pytest.raises(EmbedderError, match="500"):
        m.search("bees", user_id="u1")
    with pytest.raises(EmbedderError):
        m.add("I keep hens", user_id="u1", infer=False)
    assert m.stats(user_id="u1") == before
    server.faults = ServerFaults()
    assert len(m.search("bees", user_id="u1")["results"]) == 1


def test_a_key_is_never_shown(memory_with: MakeMemory, server: ScriptedServer) -> None:
    m = memory_with(at(server, api_key="sk-very-secret", max_retries=0))
    server.faults = ServerFaults(statuses=dict.fromkeys(range(1, 100), 401))
    with pytest.raises(EmbedderError) as caught:
        m.add("I keep bees", user_id="u1", infer=False)
    shown = f"{caught.value} {caught.value!r} {caught.value.details} {caught.value.__cause__}"
    assert "sk-very-secret" not in shown


@pytest.mark.parametrize("vectors", ["too_few", "nan", "uneven"])
def test_vectors_that_do_not_fit_their_texts_are_never_stored(
    memory_with: MakeMemory, server: ScriptedServer, vectors: Any
) -> None:
    m = memory_with(at(server))
    [known] = m.add("I keep bees", user_id="u1", infer=False)["results"]
    before = m.stats()
    server.faults = ServerFaults(vectors=vectors)
    # One text, so that none of the reply can be of use.
    for call in (
        lambda: m.add("I keep hens", user_id="u1", infer=False),
        lambda: m.update(known["id"], text="I keep hens"),
        lambda: m.search("bees", user_id="u1"),
    ):
        with pytest.raises(EmbedderError):
            call()
    server.faults = ServerFaults()
    assert m.stats() == before
    assert m.get(known["id"])["memory"] == "I keep bees"
    assert m.add("I keep hens", user_id="u1", infer=False)["results"][0]["event"] == "ADD"


def test_vectors_that_come_in_another_order_are_put_to_their_texts(
    memory_with: MakeMemory, server: ScriptedServer
) -> None:
    m = memory_with(at(server))
    server.faults = ServerFaults(vectors="reordered")
    texts = [f"{word} 你好" for word in ("apple", "бочка", "cloud", "drum")]
    m.add([{"role": "user", "content": text} for text in texts], user_id="u1", infer=False)
    server.faults = ServerFaults()
    for text in texts:
        [hit, *_] = m.search(text, user_id="u1", explain=True)["results"]
        assert hit["memory"] == text
        assert hit["score_details"]["arms"]["dense"]["value"] == pytest.approx(1, abs=1e-3)


def test_a_server_that_hangs_is_a_timeout_and_stores_nothing(
    memory_with: MakeMemory, server: ScriptedServer
) -> None:
    m = memory_with(at(server, timeout=0.3, max_retries=0))
    [known] = m.add("I keep bees", user_id="u1", infer=False)["results"]
    before = m.stats()
    server.faults = ServerFaults(delay=60)
    for call in (
        lambda: m.add("I keep hens", user_id="u1", infer=False),
        lambda: m.update(known["id"], text="I keep hens"),
        lambda: m.search("bees", user_id="u1"),
    ):
        with pytest.raises(ModelTimeoutError, match=r"embedder\.timeout"):
            call()
    server.faults = ServerFaults()
    assert m.stats() == before
    assert len(m.search("bees", user_id="u1")["results"]) == 1


def test_a_call_that_is_cancelled_while_the_server_hangs_stores_nothing(
    tmp_path: Path, server: ScriptedServer
) -> None:
    async def use() -> int:
        async with AsyncMemory(str(tmp_path / "own.db"), embedder=at(server)) as m:
            await m.add("I keep bees", user_id="u1", infer=False)
            asked = len(server.requests)
            server.faults = ServerFaults(delay=60)
            call = asyncio.ensure_future(m.add("I keep hens", user_id="u1", infer=False))
            while len(server.requests) == asked:
                await asyncio.sleep(0.005)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            server.faults = ServerFaults()
            await m.add("I keep ants", user_id="u1", infer=False)
            assert len((await m.search("hens", user_id="u1"))["results"]) == 2
            return (await m.get_all(user_id="u1"))["total"]

    assert asyncio.run(use()) == 2


# --- faults -----------------------------------------------------------------------------------------------

WRONG = [Fault.RAISE, Fault.TOO_FEW, Fault.NAN, Fault.WRONG_DIMS]


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_reply_fails_the_add_and_stores_nothing(
    store: str, row_counts: RowCounts, fault: Fault
) -> None:
    before = row_counts()
    embedder = FaultyEmbedder(HashEmbedder(), {"poison": fault})
    with Memory(store, embedder=embedder) as m:
        turns = [{"role": "user", "content": text} for text in ("poison", "more poison", "poison again")]
        with pytest.raises(EmbedderError):
            m.add(turns, user_id="u1", infer=False)
        assert row_counts() == before
        assert m.add("fine", user_id="u1", infer=False)["results"][0]["event"] == "ADD"


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_reply_fails_update_and_search_alike(store: str, row_counts: RowCounts, fault: Fault) -> None:
    embedder = FaultyEmbedder(HashEmbedder(), {"poison": fault})
    with Memory(store, embedder=embedder) as m:
        [added] = m.add("fine", user_id="u1", infer=False)["results"]
        before = row_counts()
        with pytest.raises(EmbedderError):
            m.update(added["id"], text="poison")
        with pytest.raises(EmbedderError):
            m.search("poison", user_id="u1")
        assert row_counts() == before
        assert m.get(added["id"])["memory"] == "fine"
        assert len(m.search("fine", user_id="u1")["results"]) == 1


def test_the_users_own_exception_passes_through_unchanged(store: str, row_counts: RowCounts) -> None:
    class OutOfQuota(RuntimeError):
        pass

    before = row_counts()
    mine = OutOfQuota("mine")
    with Memory(store, embedder=FaultyEmbedder(HashEmbedder(), {"poison": mine})) as m:
        with pytest.raises(OutOfQuota) as caught:
            m.add("poison", user_id="u1", infer=False)
        assert caught.value is mine
        assert row_counts() == before


@pytest.mark.parametrize(
    "rows",
    [
        lambda n: [[1.0, 2.0]] * n,
        lambda n: np.ones((n, 2), dtype=np.float64),
        lambda n: tuple((1, 2) for _ in range(n)),
        lambda n: np.asfortranarray(np.ones((n, 2), dtype=np.float16)),
    ],
    ids=["lists", "float64", "tuples", "fortran"],
)
def test_a_users_function_may_return_any_array(memory_with: MakeMemory, rows: Any) -> None:
    def embed(texts: Sequence[str]) -> Any:
        return rows(len(texts))

    m = memory_with(embed)
    m.add("I keep bees", user_id="u1", infer=False)
    assert m.search("bees", user_id="u1")["results"]


def test_every_stored_vector_is_float32_of_length_one(store: str, m: Memory) -> None:
    m.add(facts=["I keep bees", "я держу пчёл", "養蜂をしています"], user_id="u1")
    with raw_connection(store) as raw:
        for (data,) in raw.execute("SELECT data FROM vector"):
            vector = np.frombuffer(data, dtype="<f4")
            assert vector.shape == (64,)
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


class Toy:
    """An embedder of the user's that tells neither name nor size."""

    def __init__(self, dims: int) -> None:
        self._dims = dims

    def embed(self, texts: Sequence[str], purpose: str) -> Any:
        return np.ones((len(texts), self._dims), dtype=np.float32) + np.arange(self._dims)


def test_vectors_of_another_size_never_get_into_the_store(empty_store: str) -> None:
    with Memory(empty_store, embedder=Toy(7)) as m:
        m.add("seven", user_id="u1", infer=False)
    with (
        Memory(empty_store, embedder=Toy(9)) as m,
        pytest.raises(EmbedderMismatchError, match=r"7 dimensions.*9 dimensions"),
    ):
        m.add("nine", user_id="u1", infer=False)
    with raw_connection(empty_store) as raw:
        assert raw.execute("SELECT DISTINCT length(data) FROM vector") == [(28,)]
