"""The openai SDK against a scripted server over a real socket: what is sent, what comes back, what goes wrong."""

import asyncio
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import ConfigError, EmbedderError, ModelTimeoutError
from mnemic.models.embed import Embedder, EmbedderConfig, measure_dims, open_embedder
from mnemic.models.embed.openai import Fit, parse_reply
from mnemic.models.embed.texts import size_of
from mnemic.models.endpoint import (
    NO_KEY,
    Refusal,
    normalise_base_url,
    parse_retry_after,
    resolve_address,
    retry_wait,
)
from mnemic.models.fakes import ChatReply, HashEmbedder, ScriptedServer, ServerFaults

TEXTS = ["I moved to Bergen", "我现在住在上海", 'She said "hi" 😀\nand left', "مرحبا ﷺ"]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def opened(server: ScriptedServer, **settings: Any) -> Embedder:
    given = {"provider": "openai", "model": "any-model", "base_url": server.base_url, **settings}
    embedder = open_embedder(given)
    assert embedder is not None
    return embedder


def embed(embedder: Embedder, texts: list[str], purpose: Any = "passage") -> np.ndarray:
    """One call on a loop of its own, closed afterwards."""

    async def run() -> np.ndarray:
        try:
            return await embedder.embed(texts, purpose)
        finally:
            await embedder.close()

    return asyncio.run(run())


def expected(texts: list[str]) -> np.ndarray:
    return HashEmbedder().vectors(texts)


def test_texts_come_back_as_vectors_and_only_model_and_input_are_sent(server: ScriptedServer) -> None:
    embedder = opened(server, api_key="sk-secret")
    rows = embed(embedder, TEXTS)
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected(TEXTS), atol=1e-6)
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "any-model", "input": TEXTS}
    assert request.headers["authorization"] == "***"
    assert "sk-secret" not in repr(server.requests)
    assert embedder.name == "openai:any-model"
    assert asyncio.run(measure_dims(embedder)) == 64


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_the_base_url_works_with_and_without_v1(server: ScriptedServer, tail: str) -> None:
    embed(opened(server, base_url=server.base_url.removesuffix("/v1") + tail), ["a"])
    assert server.requests[0].path == "/v1/embeddings"


def test_several_loops_and_threads_may_share_an_embedder(server: ScriptedServer) -> None:
    embedder = opened(server)
    assert np.array_equal(embed(embedder, TEXTS), embed(embedder, TEXTS))
    rows: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: rows.append(embed(embedder, TEXTS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 4
    assert all(np.array_equal(each, rows[0]) for each in rows)


def test_many_texts_go_in_batches_and_keep_their_order(server: ScriptedServer) -> None:
    texts = [f"text number {n}" for n in range(25)]
    rows = embed(opened(server, batch_size=10, max_concurrency=2), texts)
    assert np.allclose(rows, expected(texts), atol=1e-6)
    assert sorted(len(request.body["input"]) for request in server.requests) == [5, 10, 10]


def test_blank_texts_are_never_sent(server: ScriptedServer) -> None:
    rows = embed(opened(server), ["", "a", "  ", "\0"])
    assert server.requests[0].body["input"] == ["a"]
    assert np.allclose(
        rows, np.vstack((np.zeros(64), expected(["a"])[0], np.zeros(64), np.zeros(64))), atol=1e-6
    )


def test_what_no_request_can_carry_is_replaced(server: ScriptedServer) -> None:
    embed(opened(server), ["a\0b", "lone \ud800", "pair \ud83d\ude00"])
    assert server.requests[0].body["input"] == ["a b", "lone \ufffd", "pair 😀"]


def test_a_long_note_is_embedded_in_few_requests_and_its_last_word_is_found(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"dimensions"}), max_words=100)
    note = " ".join(["We talked about the garden and the weather for a while"] * 40).split()[:399]
    long = " ".join([*note, "marzipan"])
    embedder = opened(server)
    rows = embed(embedder, [long])
    assert len(server.requests) <= 6
    assert all("dimensions" not in request.body for request in server.requests)
    assert all(len(t.split()) <= 100 for t in server.requests[-1].body["input"])
    sent = " ".join(server.requests[-1].body["input"])
    assert sent.split() == long.split()
    query = embed(embedder, ["marzipan"], "query")[0]
    without = expected([" ".join(note)])[0]
    assert rows[0] @ query > without @ query
    assert np.linalg.norm(rows[0]) == pytest.approx(1)


def test_what_fits_is_remembered(server: ScriptedServer) -> None:
    server.faults = ServerFaults(max_words=100)
    embedder = opened(server)
    embed(embedder, ["word " * 400])
    before = len(server.requests)
    embed(embedder, ["other " * 400, "short"])
    assert len(server.requests) == before + 1


def test_short_texts_beside_a_long_one_stay_whole(server: ScriptedServer) -> None:
    server.faults = ServerFaults(max_words=50)
    rows = embed(opened(server), [*TEXTS, "rain " * 400])
    assert np.allclose(rows[:4], expected(TEXTS), atol=1e-6)
    assert len(server.requests) <= 6


def test_a_megabyte_is_cut_to_a_bounded_number_of_pieces(server: ScriptedServer) -> None:
    server.faults = ServerFaults(max_words=2000)
    embed(opened(server), ["word " * 200_000])
    assert len(server.requests) <= 12
    assert len(server.requests[-1].body["input"]) <= 128


def test_a_batch_that_is_too_big_is_halved_and_remembered(server: ScriptedServer) -> None:
    server.faults = ServerFaults(max_inputs=10)
    texts = [f"text number {n} " + "long " * 100 for n in range(40)]
    embedder = opened(server)
    assert np.allclose(embed(embedder, texts), expected(texts), atol=1e-6)
    assert all(text in texts for request in server.requests for text in request.body["input"])
    before = len(server.requests)
    embed(embedder, texts)
    assert len(server.requests) == before + 4


def test_other_refusals_of_short_texts_are_told_at_once(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"model"}))
    with pytest.raises(EmbedderError, match="refused the request: 400: Unsupported parameter: model"):
        embed(opened(server), ["a"])
    assert len(server.requests) == 1


def test_a_long_text_that_is_always_refused_gives_up(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"model"}))
    with pytest.raises(EmbedderError, match="refused the request"):
        embed(opened(server), ["word " * 50_000])
    assert len(server.requests) <= 13


def test_a_refused_dimensions_field_is_left_out_from_then_on(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"dimensions"}))
    embedder = opened(server, dims=64)
    embed(embedder, ["a"])
    embed(embedder, ["b"])
    assert [("dimensions" in r.body) for r in server.requests] == [True, False, False]


def test_a_size_that_was_asked_for_and_not_given_is_an_error(server: ScriptedServer) -> None:
    with pytest.raises(EmbedderError, match="vectors of 32 numbers and returned some of 64"):
        embed(opened(server, dims=32), ["a"])
    assert server.requests[0].body["dimensions"] == 32


@pytest.mark.parametrize(
    ("vectors", "told"),
    [
        ("too_few", "asked for 4 vectors and returned 3 items"),
        ("same_index", r"`index` is not 0 to 3: \[0, 0, 0, 0\]"),
        ("nan", "not finite for text 4 of 4"),
        ("uneven", "uneven"),
    ],
)
def test_wrong_vectors_are_errors(server: ScriptedServer, vectors: Any, told: str) -> None:
    server.faults = ServerFaults(vectors=vectors)
    with pytest.raises(EmbedderError, match=told):
        embed(opened(server), TEXTS)


@pytest.mark.parametrize("vectors", ["reordered", "without_index", "base64"])
def test_vectors_in_other_forms_are_understood(server: ScriptedServer, vectors: Any) -> None:
    server.faults = ServerFaults(vectors=vectors)
    assert np.allclose(embed(opened(server), TEXTS), expected(TEXTS), atol=1e-6)


def test_a_reply_that_is_no_json_is_an_error(server: ScriptedServer) -> None:
    server.faults = ServerFaults(no_json=True)
    with pytest.raises(EmbedderError, match="no JSON"):
        embed(opened(server), ["a"])


@pytest.mark.parametrize(
    "body", [None, [], "oops", {}, {"data": {}}, {"data": [7]}, {"data": [{"embedding": "no base64!"}]}]
)
def test_other_replies_are_errors(body: object) -> None:
    with pytest.raises(EmbedderError, match="asked for 1 vectors and returned"):
        parse_reply(body, 1, "e")


@pytest.mark.parametrize("status", [429, 500, 503, 408])
def test_passing_failures_are_tried_again(server: ScriptedServer, status: int) -> None:
    server.faults = ServerFaults(statuses={1: status, 2: status}, retry_after="0")
    embed(opened(server), ["a"])
    assert len(server.requests) == 3


def test_tries_are_bounded(server: ScriptedServer) -> None:
    server.faults = ServerFaults(statuses=dict.fromkeys(range(1, 9), 503), retry_after="0")
    with pytest.raises(EmbedderError, match=r"answered 503: planned failure.*Given up after 3 tries"):
        embed(opened(server, max_retries=2), ["a"])
    assert len(server.requests) == 3


def test_a_server_that_asks_for_hours_is_not_waited_for(server: ScriptedServer) -> None:
    server.faults = ServerFaults(statuses={1: 429}, retry_after="7200")
    with pytest.raises(EmbedderError, match="asks to wait for 7200 s"):
        embed(opened(server), ["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "told"), [(401, "embedder.api_key"), (403, "embedder.api_key"), (404, "embedder.base_url")]
)
def test_lasting_failures_name_the_option_and_are_not_tried_again(
    server: ScriptedServer, status: int, told: str
) -> None:
    server.faults = ServerFaults(statuses={1: status})
    with pytest.raises(EmbedderError, match=told):
        embed(opened(server), ["a"])
    assert len(server.requests) == 1


def test_a_key_that_the_server_repeats_is_not_shown(server: ScriptedServer) -> None:
    server.faults = ServerFaults(statuses={1: 401}, message="Incorrect key sk-very-secret provided")
    with pytest.raises(EmbedderError, match=r"Incorrect key \*\*\* provided") as caught:
        embed(opened(server, api_key="sk-very-secret"), ["a"])
    assert "sk-very-secret" not in f"{caught.value!r} {caught.value.details}"


def test_a_slow_server_names_the_option(server: ScriptedServer) -> None:
    server.faults = ServerFaults(delay=5)
    with pytest.raises(ModelTimeoutError, match=r"within 0.2 s \(option embedder.timeout\)"):
        embed(opened(server, timeout=0.2), ["a"])
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_an_outage() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    embedder = open_embedder(EmbedderConfig("openai", model="m", base_url=url, max_retries=0))
    assert embedder is not None
    with pytest.raises(EmbedderError, match="cannot be reached"):
        embed(embedder, ["a"])


def test_one_failing_batch_fails_the_call(server: ScriptedServer) -> None:
    server.faults = ServerFaults(statuses={2: 401})
    with pytest.raises(EmbedderError, match="401"):
        embed(opened(server, batch_size=1), TEXTS)


def test_the_loop_is_not_held_up_and_requests_are_bounded(server: ScriptedServer) -> None:
    server.faults = ServerFaults(delay=0.05)
    embedder = opened(server, batch_size=1, max_concurrency=3)
    ticks = 0

    async def run() -> None:
        nonlocal ticks
        work = asyncio.create_task(embedder.embed([f"t{n}" for n in range(9)], "passage"))
        while not work.done():
            await asyncio.sleep(0.005)
            ticks += 1
        await work
        await embedder.close()

    asyncio.run(run())
    assert len(server.requests) == 9
    assert server.peak == 3
    assert ticks > 9


def test_only_loopback_is_connected(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = []
    connect = asyncio.selector_events.BaseSelectorEventLoop.sock_connect  # type: ignore[attr-defined]

    async def spy(self: Any, sock: socket.socket, address: Any) -> None:
        reached.append(address[0])
        await connect(self, sock, address)

    monkeypatch.setattr(asyncio.selector_events.BaseSelectorEventLoop, "sock_connect", spy)  # type: ignore[attr-defined]
    embed(opened(server), TEXTS)
    assert set(reached) == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("url", "result"),
    [
        ("http://h:1", "http://h:1/v1"),
        ("https://h/v1/", "https://h/v1"),
        ("https://h/v1beta/openai", "https://h/v1beta/openai"),
        ("https://h/api/v3/chat/completions", "https://h/api/v3"),
        (" http://[::1]:8080/ ", "http://[::1]:8080/v1"),
    ],
)
def test_base_urls(url: str, result: str) -> None:
    assert normalise_base_url(url, "llm") == result


@pytest.mark.parametrize("url", ["h:1", "ftp://h", "http://", "", "localhost:11434/v1"])
def test_wrong_base_urls(url: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.base_url"):
        normalise_base_url(url, "llm")


def test_the_environments_key_goes_only_where_it_belongs() -> None:
    environ = {"OPENAI_API_KEY": "sk-env"}
    assert resolve_address(None, None, "embedder", environ) == ("https://api.openai.com/v1", "sk-env")
    assert resolve_address("http://mine", None, "embedder", environ) == ("http://mine/v1", NO_KEY)
    assert resolve_address("https://api.openai.com", None, "embedder", environ)[1] == "sk-env"
    assert resolve_address("http://mine", "sk-mine", "embedder", environ)[1] == "sk-mine"
    proxied = {**environ, "OPENAI_BASE_URL": "http://proxy/v1"}
    assert resolve_address(None, None, "embedder", proxied) == ("http://proxy/v1", "sk-env")


@given(st.integers(0, 50), st.floats(0, 0.999))
def test_waits_grow_and_stay_bounded(attempt: int, jitter: float) -> None:
    wait = retry_wait(attempt, None, jitter)
    assert wait is not None
    assert 0 < wait <= 8
    assert wait <= (retry_wait(attempt + 1, None, 0) or 0)


def test_what_the_server_asks_for_is_honoured() -> None:
    assert retry_wait(0, 3.5, 0.5) == 3.5
    assert retry_wait(5, -2.0, 0.5) == 0
    assert retry_wait(0, 60.5, 0.5) is None
    assert parse_retry_after("2.5", 0) == 2.5
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1445412470.0) == 10
    assert parse_retry_after("soon", 0) is None
    assert parse_retry_after(None, 0) is None


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=30), st.integers(1, 64))
def test_shrinking_always_comes_to_an_end(lengths: list[int], batch: int) -> None:
    texts = ["x" * length for length in lengths]
    fit: Fit | None = Fit(batch)
    seen = 0
    while fit is not None:
        sizes = [size_of(piece) for text in texts for piece in fit.pieces(text)]
        fit = fit.shrunk(Refusal(400, "invalid input"), sizes)
        seen += 1
        assert seen < 20


def test_a_refusal_about_the_batch_does_not_cut_texts() -> None:
    for told in ("batch size is invalid, it should not be larger than 10", "maximum allowed batch size 64"):
        assert Fit(64).shrunk(Refusal(400, told), [5000] * 20) == Fit(10)
    assert Fit(64).shrunk(Refusal(413, ""), [5000] * 20) == Fit(10)
    physical = "input is too large to process. increase the physical batch size"
    assert Fit(64).shrunk(Refusal(500, physical), [5000] * 20) == Fit(64, limit=2500, split_from=2501)


def post(url: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_the_server_plays_chat_replies_in_order(server: ScriptedServer) -> None:
    from openai import OpenAI

    server.enqueue("erste Antwort", ChatReply("weg", finish_reason="content_filter"), "1234567890")
    with OpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:

        def ask() -> Any:
            said: Any = [{"role": "user", "content": "drei kleine Wörter"}]
            return client.chat.completions.create(model="m", messages=said)

        first = ask()
        assert first.choices[0].message.content == "erste Antwort"
        assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (3, 2)
        assert ask().choices[0].finish_reason == "content_filter"
        server.faults = replace(server.faults, cut=True)
        cut = ask().choices[0]
        assert (cut.message.content, cut.finish_reason) == ("12345", "length")
    assert len(server.requests_to("/chat/completions")) == 3
    assert server.requests[0].body["messages"][0]["content"] == "drei kleine Wörter"
    assert post(f"{server.base_url}/chat/completions", {"messages": []})[0] == 410
    assert post(f"{server.base_url}/embeddings", {"input": ["", "a"]})[0] == 400
    assert post(f"{server.base_url}/nothing", {})[0] == 404


def test_a_stopped_server_leaves_nothing_behind() -> None:
    before = threading.active_count()
    with ScriptedServer() as server:
        url = server.base_url
        assert post(f"{url}/embeddings", {"input": "a", "model": "m"})[0] == 200
    assert threading.active_count() <= before + 1
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)
    with pytest.raises(RuntimeError, match="not running"):
        _ = ScriptedServer().base_url
