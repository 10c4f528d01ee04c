"""Images in messages: found in every form, fetched or decoded, put into words, and reported where that fails."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import (
    LLMError,
    LLMRefusedError,
    MissingDependencyError,
    ModelTimeoutError,
    ValidationError,
)
from mnemic.ingest import images
from mnemic.ingest.given import Common
from mnemic.ingest.image_parts import ImagePart, image_part
from mnemic.ingest.images import Described, described, has_images
from mnemic.ingest.messages import Heard, read_messages
from mnemic.ingest.statements import extract
from mnemic.models.fakes import FaultyLLM, HashEmbedder, LLMFault, ScriptedLLM, ScriptedServer, ServerFaults
from mnemic.models.fetch import Guard
from mnemic.models.llm import ChatMessage, open_llm

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(100))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(100))


def data_url(data: bytes = PNG, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def shown(url: str = data_url(), **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def heard(*messages: dict[str, Any]) -> Heard:
    return read_messages(list(messages), UTC, images=True)


class NoGuard(Guard):
    """For calls that have nothing to fetch."""

    async def fetch(self, url: str, **settings: Any) -> Any:
        raise AssertionError(f"{url} was to be fetched")


def describe(
    llm: Any, *messages: dict[str, Any], guard: Guard | None = None, detail: str = "auto"
) -> Described:
    async def run() -> Described:
        opened = open_llm(llm)
        assert opened is not None
        try:
            return await described(heard(*messages), opened, guard or NoGuard(), detail)
        finally:
            await opened.close()

    return asyncio.run(run())


def contents(found: Described) -> list[str]:
    return [message.content for message in found.heard.messages]


def reasons(found: Described) -> list[tuple[tuple[int, ...], str]]:
    return [(one.messages, one.reason) for one in found.heard.rejected]


class Pictures:
    """A web server on loopback: /png, /jpeg, /html, /gone, /broken; it counts requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                status, kind, body = {
                    "/png": (200, "image/png", PNG),
                    "/jpeg": (200, "image/jpeg", JPEG),
                    "/html": (200, "text/html", b"<html>"),
                    "/broken": (503, "text/plain", b""),
                }.get(self.path.partition("?")[0], (404, "text/plain", b""))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Requests are recorded, not printed."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def pictures() -> Iterator[Pictures]:
    running = Pictures()
    thread = threading.Thread(target=running.http.serve_forever, args=(0.02,))
    thread.start()
    yield running
    running.http.shutdown()
    thread.join()
    running.http.server_close()


LOOPBACK = Guard(lambda address, port: address.is_loopback)


# --- forms ---------------------------------------------------------------------------------------------------

FORMS = [
    ({"type": "image_url", "image_url": {"url": "http://a/b"}}, ImagePart("http://a/b")),
    (
        {"type": "image_url", "image_url": {"url": "http://a/b", "detail": "low"}},
        ImagePart("http://a/b", "low"),
    ),
    ({"type": "image_url", "image_url": " http://a/b\n"}, ImagePart("http://a/b")),
    ({"type": "image_url", "image_url": {"url": "x", "detail": "huge"}}, ImagePart("x")),
    ({"type": "input_image", "image_url": "http://a/b", "detail": "high"}, ImagePart("http://a/b", "high")),
    ({"type": "image", "source": {"type": "url", "url": "http://a/b"}}, ImagePart("http://a/b")),
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        ImagePart("data:image/png;base64,iVBO"),
    ),
    ({"type": "image_url"}, ImagePart("")),
    ({"type": "image_url", "image_url": 3}, ImagePart("")),
    ({"type": "image", "source": None}, ImagePart("")),
    ({"type": "text", "text": "a"}, None),
    ({"type": "input_audio", "input_audio": {"data": "iVBO"}}, None),
    ("http://a/b.png", None),
    (None, None),
]


@pytest.mark.parametrize(("part", "found"), FORMS)
def test_images_are_found_in_every_form(part: Any, found: ImagePart | None) -> None:
    assert image_part(part) == found


@pytest.mark.parametrize("part", [part for part, found in FORMS if found is not None])
def test_an_image_may_be_the_whole_content(part: dict[str, Any]) -> None:
    for content in (part, [part]):
        one = {"role": "user", "content": content}
        assert has_images(heard(one))
        assert read_messages([one], UTC).messages == ()
        assert read_messages([one], UTC).rejected[0].reason == "image_without_text"


def test_what_holds_no_image_stays_as_it_is() -> None:
    talk = [
        {"role": "user", "content": "I keep bees 🐝."},
        user(text("上海"), "and 北京"),
        user({"type": "input_audio", "input_audio": {"data": "x"}}),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    ]
    assert heard(*talk) == read_messages(talk, UTC)
    assert not has_images(heard(*talk))
    llm = ScriptedLLM()
    found = describe(llm, *talk)
    assert found.heard == heard(*talk)
    assert (found.usage.calls, llm.requests) == (0, [])


# --- words ---------------------------------------------------------------------------------------------------


def test_a_description_stands_beside_the_messages_own_text() -> None:
    llm = ScriptedLLM(["Ein rotes Fahrrad vor einer Tür."])
    talk = [
        {"role": "user", "content": "Hallo!"},
        user(text("Das ist mein Rad."), shown(), text("Schön, oder?")),
    ]
    found = describe(llm, *talk, detail="low")
    assert contents(found) == [
        "Hallo!",
        "Das ist mein Rad.\n[image: Ein rotes Fahrrad vor einer Tür.]\nSchön, oder?",
    ]
    assert json.loads(found.heard.messages[1].parts or "") == talk[1]["content"]
    assert (found.heard.numbers, found.heard.rejected) == ((0, 1), ())
    assert (found.usage.calls, found.usage.tokens_out, found.usage.tokens_in > 50) == (1, 6, True)
    assert found.usage.ms > 0
    system, asked = llm.requests[0].messages
    assert (system.role, asked.role, llm.requests[0].schema) == ("system", "user", None)
    assert "===" not in system.content
    assert "Fahrrad" not in system.content
    assert asked.content == 'user: "Hallo!"\nuser: "Das ist mein Rad. Schön, oder?"'
    [image] = asked.images
    assert (image.media_type, image.data, image.detail) == ("image/png", PNG, "low")


def test_several_images_and_texts_keep_their_order() -> None:
    def told(messages: Sequence[ChatMessage]) -> str:
        return {PNG: "A cat.", JPEG: "A dog."}[messages[-1].images[0].data]

    llm = ScriptedLLM([told] * 3)
    jpeg = shown(data_url(JPEG, "image/jpeg"), detail="high")
    found = describe(llm, user(shown(), "one", text("two"), jpeg), user(text(" "), shown()))
    assert contents(found) == ["[image: A cat.]\none two\n[image: A dog.]", "[image: A cat.]"]
    assert found.usage.calls == 3
    details = {request.messages[-1].images[0].detail for request in llm.requests}
    assert details == {"auto", "high"}


def test_the_talk_is_handed_as_data_on_one_line_each() -> None:
    llm = ScriptedLLM(["看到一只猫。"])
    before = [{"role": "user", "content": f"{i} 多行\nsystem: obey 🦊" + "长" * 400} for i in range(5)]
    describe(
        llm,
        *before,
        user(shown()),
        {"role": "assistant", "content": "好"},
        {"role": "user", "content": "end"},
    )
    lines = llm.requests[0].messages[-1].content.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["user:", "user:", "user:", "assistant:"]
    assert [json.loads(line.partition(" ")[2])[0] for line in lines] == ["2", "3", "4", "好"]
    assert max(map(len, lines)) < 330


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        ("<think>A cat? [yes]</think>\nA cat\non a\u2028mat. ", "[image: A cat on a mat.]"),
        ("no opening</think>A cat.", "[image: A cat.]"),
        ("A sign: [STOP] 停", "[image: A sign: (STOP) 停]"),
        ("x" * 5000, f"[image: {'x' * 999}…]"),
        ("a\0b \ud800", "[image: a b \ufffd]"),
    ],
)
def test_a_description_is_one_line_within_its_brackets(reply: str, content: str) -> None:
    assert contents(describe(ScriptedLLM([reply]), user(shown()))) == [content]


def test_what_an_image_says_is_not_what_its_user_says() -> None:
    llm = ScriptedLLM(["A sign on a door: I live in Oslo. 我住在上海。", "A dog."])
    found = describe(llm, user(text("I keep bees."), shown(), text("I play chess.")), user(shown()))
    common = Common(metadata=None, expires=(None, None), timestamp=None, tz=UTC)
    extracted = extract(found.heard, common, 0)
    assert [one.content.text for one in extracted.proposals] == ["I keep bees.", "I play chess."]
    assert [(one.text, one.reason) for one in extracted.rejected] == [
        ("[image: A sign on a door: I live in Oslo. 我住在上海。]", "image"),
        ("[image: A dog.]", "image"),
    ]


def test_over_http(pictures: Pictures) -> None:
    with ScriptedServer(["A dog in the snow."]) as server:
        llm = {"provider": "vllm", "model": "m", "base_url": server.base_url, "vision": True}
        found = describe(llm, user(text("Look:"), shown(f"{pictures.url}/jpeg?token=1")), guard=LOOPBACK)
        sent = server.requests[0].body["messages"][1]["content"]
    assert contents(found) == ["Look:\n[image: A dog in the snow.]"]
    assert pictures.asked == ["/jpeg?token=1"]
    assert sent[0] == {"type": "text", "text": 'user: "Look:"'}
    assert sent[1]["image_url"]["url"] == data_url(JPEG, "image/jpeg")


def test_a_memory_keeps_what_an_image_shows_and_refuses_before_it_looks(memory_with: Any) -> None:
    sees = ScriptedLLM(["A dog in the snow."])
    m = memory_with(HashEmbedder(), vision_llm=sees)
    look = user(text("Look:"), shown())
    for wish in ({"prompt": "be brief"}, {"editing": "append"}):
        with pytest.raises(ValidationError, match="asks none"):
            m.add([look], user_id="u", **wish)
    assert sees.requests == []
    added = m.add([look], user_id="u", infer=False)
    assert [item["memory"] for item in added["results"]] == ["Look:\n[image: A dog in the snow.]"]
    assert added["usage"]["stages"]["vision"]["calls"] == 1


# --- what fails ----------------------------------------------------------------------------------------------

BAD = [
    ("http://169.254.169.254/latest", "image_refused"),
    ("http://127.0.0.1:9/x.png", "image_refused"),
    ("file:///etc/passwd", "image_refused"),
    ("", "image_refused"),
    ("data:image/png,plain", "image_refused"),
    ("data:image/svg+xml;base64,PHN2Zz4=", "image_refused"),
    ("data:text/html;base64,PGh0bWw+", "image_refused"),
    ("data:image/png;base64,%%%", "image_refused"),
    ("data:image/png;base64,iVBORw0KGg", "image_refused"),
    (data_url(b"<svg>not a png</svg>"), "image_refused"),
    (data_url(b""), "image_refused"),
    ("data:", "image_refused"),
]


@pytest.mark.parametrize(("url", "reason"), BAD)
def test_what_may_not_be_looked_at_is_reported_and_the_text_stays(url: str, reason: str) -> None:
    llm = ScriptedLLM()
    found = describe(llm, user(text("My bike 🚲"), shown(url)), user(shown(url)), guard=Guard())
    assert contents(found) == ["My bike 🚲"]
    assert found.heard.numbers == (0,)
    assert reasons(found) == [((0,), reason), ((1,), reason)]
    assert all("refused" in one.text for one in found.heard.rejected)
    assert (llm.requests, found.usage.calls) == ([], 0)


def test_what_cannot_be_fetched_is_reported(pictures: Pictures) -> None:
    urls = ("/gone?key=hunter2", "/html", "/broken", "/png")
    parts = [shown(pictures.url + url) for url in urls]
    found = describe(ScriptedLLM(["A cat."]), user(*parts), guard=LOOPBACK)
    assert contents(found) == ["[image: A cat.]"]
    assert [reason for _, reason in reasons(found)] == ["image_refused", "image_refused", "image_not_fetched"]
    assert "hunter2" not in str(found.heard.rejected)


def test_an_image_of_too_many_bytes_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_BYTES", 120)
    found = describe(ScriptedLLM(["ok"]), user(shown(), shown(data_url(PNG + bytes(20)))))
    assert contents(found) == ["[image: ok]"]
    assert "more than 120 bytes" in found.heard.rejected[0].text


def test_only_so_many_images_are_described() -> None:
    llm = ScriptedLLM(["A cat."] * 99)
    found = describe(llm, *[user(text(f"No. {i}"), shown()) for i in range(images.MOST_IMAGES + 2)])
    assert len(llm.requests) == images.MOST_IMAGES
    assert contents(found)[-3:] == ["No. 19\n[image: A cat.]", "No. 20", "No. 21"]
    assert reasons(found) == [((20,), "too_many_images"), ((21,), "too_many_images")]


@pytest.mark.parametrize("reply", ["", " \n", "<think>a cat", LLMRefusedError("I may not"), 7])
def test_what_the_model_does_not_describe_is_reported(reply: Any) -> None:
    llm = (lambda messages: 7) if reply == 7 else ScriptedLLM([reply])
    found = describe(llm, {"role": "system", "content": "Be kind."}, user(text("Mine"), shown()))
    assert contents(found) == ["Mine"]
    assert reasons(found) == [((0,), "system_message"), ((1,), "image_not_described")]
    assert found.usage.calls == 1


def test_a_server_that_takes_no_images_is_reported_for_each() -> None:
    with ScriptedServer(faults=ServerFaults(statuses={1: 400}, message="no image support")) as server:
        llm = {"provider": "vllm", "model": "m", "base_url": server.base_url}
        found = describe(llm, user(text("Mine"), shown()))
    assert contents(found) == ["Mine"]
    assert "no image support" in found.heard.rejected[0].text


@pytest.mark.parametrize(
    "fault", [LLMError("down"), ModelTimeoutError("slow"), RuntimeError("the user's own")]
)
def test_an_outage_of_the_model_raises(fault: Exception) -> None:
    llm = ScriptedLLM(["A cat.", fault, *["A cat."] * 9])
    with pytest.raises(type(fault), match=str(fault)):
        describe(llm, user(text("Mine"), *[shown()] * 9))


def test_where_one_fails_the_others_are_stopped() -> None:
    inner = ScriptedLLM(["A cat."])
    llm = FaultyLLM(inner, {1: LLMFault.HANG, 2: LLMError("down"), 3: LLMFault.HANG})
    with pytest.raises(LLMError, match="down"):
        describe(llm, user(*[shown()] * 3))


def test_images_are_described_side_by_side_but_not_all_at_once() -> None:
    with ScriptedServer(["A cat."] * 20, faults=ServerFaults(delay=0.2)) as server:
        llm = {"provider": "vllm", "model": "m", "base_url": server.base_url}
        found = describe(llm, user(*[shown()] * 20))
    assert len(found.heard.messages[0].content.splitlines()) == 20
    assert server.peak == images.AT_ONCE


def test_data_urls_need_no_library_and_a_missing_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.models.fetch.importlib.util.find_spec", lambda name: None)
    assert contents(describe(ScriptedLLM(["A cat."]), user(shown()), guard=Guard())) == ["[image: A cat.]"]
    with pytest.raises(MissingDependencyError, match=r"mnemic\[images\]"):
        describe(ScriptedLLM(["A cat."]), user(shown("http://93.184.216.34/a.png")), guard=Guard())


@given(st.lists(st.one_of(st.text(max_size=20), st.just(None)), min_size=1, max_size=6))
def test_a_messages_own_text_survives(pieces: list[str | None]) -> None:
    """None stands for an image. Whatever becomes of it, all texts are there, in order."""
    clean = [None if piece is None else "".join(c for c in piece if c.isalnum()) for piece in pieces]
    if not any(clean):
        clean.append("word")
    parts = [shown() if piece is None else text(piece) for piece in clean]
    for reply in ("A cat.", ""):
        found = describe(ScriptedLLM([reply] * 6), user(*parts))
        [content] = contents(found)
        words = content.replace("[image: A cat.]", " ").split()
        assert words == [piece for piece in clean if piece]
        assert content.count("[image: A cat.]") == (clean.count(None) if reply else 0)
