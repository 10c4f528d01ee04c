"""LLMs behind real sockets, spoken to by the providers' own libraries: what is sent, learnt, and goes wrong."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from mnemic.errors import LLMError, LLMOutputError, LLMRefusedError, ModelTimeoutError, ValidationError
from mnemic.ingest.ask import Asked, complete_json
from mnemic.ingest.reply import items_of
from mnemic.models.fakes import ChatReply, ScriptedLLM, ScriptedServer, ServerFaults
from mnemic.models.llm import LLM, ChatMessage, Completion, Image, open_llm

MESSAGES = [ChatMessage("system", "Give JSON."), ChatMessage("user", 'Où est 上海? "quoted" 🐝\nand left')]
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}
BEES = '{"facts": ["Keeps bees"]}'
PICTURE = Image("image/png", b"\x89PNG?>", "low")
LOOK = [ChatMessage("user", "Was ist das? 🐝", (PICTURE, Image("image/gif", b"GIF")))]
LOOK_AS_PARTS = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Was ist das? 🐝"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORz8+", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lG"}},
        ],
    }
]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def opened(server: ScriptedServer, **settings: Any) -> LLM:
    llm = open_llm(
        {"provider": "vllm", "model": "m", "base_url": server.base_url, "max_retries": 2, **settings}
    )
    assert llm is not None
    return llm


def complete(llm: LLM, messages: Sequence[ChatMessage] = MESSAGES, schema: Any = None) -> Completion:
    async def run() -> Completion:
        try:
            return await llm.complete(messages, schema)
        finally:
            await llm.close()

    return asyncio.run(run())


def ask(llm: LLM) -> Asked[list[dict[str, Any]]]:
    async def run() -> Asked[list[dict[str, Any]]]:
        try:
            return await complete_json(llm, MESSAGES, SCHEMA, lambda value: items_of(value, "facts"))
        finally:
            await llm.close()

    return asyncio.run(run())


def formats(server: ScriptedServer) -> list[str | None]:
    return [(request.body.get("response_format") or {}).get("type") for request in server.requests]


def test_only_what_is_set_is_sent(server: ScriptedServer) -> None:
    server.enqueue("hello", "again")
    reply = complete(opened(server, api_key="sk-secret"))
    assert (reply.text, reply.model, reply.finish_reason) == ("hello", "vllm:m", "stop")
    assert (reply.tokens_in, reply.tokens_out) == (9, 1)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {"model": "m", "temperature": 0, "messages": [m.as_dict() for m in MESSAGES]}
    complete(opened(server, temperature=None, top_p=0.5, max_tokens=9, body={"seed": 7}))
    assert {"top_p": 0.5, "max_tokens": 9, "seed": 7}.items() <= server.requests[1].body.items()
    assert "temperature" not in server.requests[1].body


def test_json_is_asked_for_by_schema(server: ScriptedServer) -> None:
    server.enqueue(BEES)
    assert json.loads(complete(opened(server), schema=SCHEMA).text) == {"facts": ["Keeps bees"]}
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
    }


@pytest.mark.parametrize(
    ("refused", "first", "then"),
    [
        ({"json_schema"}, ["json_schema", "json_object"], "json_object"),
        ({"json_schema", "json_object"}, ["json_schema", "json_object", None], None),
    ],
)
def test_what_a_server_takes_is_found_out_once(
    server: ScriptedServer, refused: set[str], first: list[str | None], then: str | None
) -> None:
    server.faults = ServerFaults(refused_formats=frozenset(refused))
    server.enqueue(BEES, BEES, "free")
    llm = opened(server)
    assert complete(llm, schema=SCHEMA).text == BEES
    assert formats(server) == first
    assert complete(llm, schema=SCHEMA).text == BEES
    assert formats(server) == [*first, then]


def test_a_local_server_without_response_format_costs_one_request_more_once(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"response_format"}))
    server.enqueue(*[f'<think>wasps? {{"facts": ["Keeps wasps"]}}</think>\n{BEES}'] * 2)
    llm = opened(server)
    assert ask(llm).value == [{"text": "Keeps bees"}]
    assert len(server.requests) == 2
    assert ask(llm).value == [{"text": "Keeps bees"}]
    assert len(server.requests) == 3


def test_refused_fields_are_left_out_from_then_on(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"temperature", "max_tokens", "top_p"}))
    server.enqueue("a", "b")
    llm = opened(server, max_tokens=50, top_p=0.5)
    assert complete(llm).text == "a"
    assert len(server.requests) == 4
    assert complete(llm).text == "b"
    body = server.requests[4].body
    assert body == {"model": "m", "messages": body["messages"], "max_completion_tokens": 50}


def test_what_cannot_be_left_out_is_refused_without_end(server: ScriptedServer) -> None:
    server.faults = ServerFaults(refused_fields=frozenset({"messages"}))
    with pytest.raises(LLMError, match="refused the request: 400"):
        complete(opened(server), schema=SCHEMA)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "messages", [[], [ChatMessage("user", " \n")], [MESSAGES[0]], [ChatMessage("user", "\0")]]
)
def test_nothing_is_never_sent(server: ScriptedServer, messages: list[ChatMessage]) -> None:
    with pytest.raises(ValidationError, match="no text"):
        complete(opened(server), messages)
    assert server.requests == []


def test_what_no_request_can_carry_is_replaced_and_blanks_are_left_out(server: ScriptedServer) -> None:
    server.enqueue("ok")
    complete(opened(server), [ChatMessage("system", ""), ChatMessage("user", "a\0b \ud800")])
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "a b \ufffd"}]


def test_images_are_sent_as_parts(server: ScriptedServer) -> None:
    server.enqueue("Eine Biene.", "ok")
    assert complete(opened(server), LOOK).text == "Eine Biene."
    assert server.requests[0].body["messages"] == LOOK_AS_PARTS
    complete(opened(server), [ChatMessage("user", " ", (PICTURE,))])
    assert server.requests[1].body["messages"] == [
        {"role": "user", "content": LOOK_AS_PARTS[0]["content"][1:2]}  # type: ignore[index]
    ]


def test_a_refused_request_is_told_from_an_outage(server: ScriptedServer) -> None:
    server.faults = ServerFaults(statuses={1: 400, 2: 401}, message="this model does not take images")
    with pytest.raises(LLMRefusedError, match="does not take images"):
        complete(opened(server), LOOK)
    with pytest.raises(LLMError) as caught:
        complete(opened(server), LOOK)
    assert not isinstance(caught.value, LLMRefusedError)


def test_functions_get_parts_and_objects_get_images() -> None:
    class Seeing:
        def complete(self, messages: list[ChatMessage], schema: object = None) -> str:
            return repr(messages)

    for spec in (json.dumps, Seeing()):
        llm = open_llm(spec)
        assert llm is not None
        expected = json.dumps(LOOK_AS_PARTS) if spec is json.dumps else repr(LOOK)
        assert complete(llm, LOOK).text == expected
    assert "PNG" not in repr(PICTURE)


@pytest.mark.parametrize(
    "faults",
    [
        ServerFaults(statuses={1: 429}, retry_after="0"),
        ServerFaults(statuses={1: 500, 2: 503}, retry_after="0"),
        ServerFaults(drops=frozenset({1})),
    ],
)
def test_passing_failures_are_tried_again(server: ScriptedServer, faults: ServerFaults) -> None:
    server.faults = faults
    server.enqueue("ok", "ok")
    assert complete(opened(server)).text == "ok"


def test_the_servers_wish_to_wait_is_honoured(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    sleep = asyncio.sleep

    async def watched(seconds: float) -> None:
        slept.append(seconds)
        await sleep(0)

    monkeypatch.setattr("mnemic.models.endpoint.asyncio.sleep", watched)
    server.faults = ServerFaults(statuses={1: 429}, retry_after="7")
    server.enqueue("ok")
    assert complete(opened(server)).text == "ok"
    assert 7.0 in slept


def test_tries_are_bounded_and_secrets_are_not_told(server: ScriptedServer) -> None:
    server.faults = ServerFaults(
        statuses=dict.fromkeys(range(1, 9), 500), retry_after="0", message="key sk-1234 header h-5678 aws a-9"
    )
    llm = opened(
        server,
        api_key="sk-1234",
        headers={"x-mine": "h-5678"},
        body={"aws_secret_access_key": "a-9"},
        max_retries=1,
    )
    with pytest.raises(LLMError, match="Given up after 2 tries") as caught:
        complete(llm)
    assert len(server.requests) == 2
    assert not any(secret in str(caught.value) for secret in ("sk-1234", "h-5678", "a-9"))


def test_a_wrong_key_names_the_option(server: ScriptedServer) -> None:
    server.faults = ServerFaults(statuses={1: 401})
    with pytest.raises(LLMError, match=r"llm\.api_key"):
        complete(opened(server))
    assert len(server.requests) == 1


def test_a_hanging_server_names_the_option(server: ScriptedServer) -> None:
    server.faults = ServerFaults(delay=30)
    with pytest.raises(ModelTimeoutError, match=r"option llm\.timeout"):
        complete(opened(server, timeout=0.3))


def test_reasoning_is_not_the_reply(server: ScriptedServer) -> None:
    server.enqueue(ChatReply(None, reasoning='{"facts": ["Keeps wasps"]}'), BEES)
    asked = ask(opened(server))
    assert asked.value == [{"text": "Keeps bees"}]
    assert asked.usage.calls == 2
    server.enqueue({"choices": [{"message": {"content": None, "refusal": "I may not."}}]})
    with pytest.raises(LLMError, match="I may not"):
        complete(opened(server))


def test_content_may_come_in_parts(server: ScriptedServer) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "other"}]
    server.enqueue({"choices": [{"message": {"content": parts}}]})
    assert complete(opened(server)) == Completion("ab", "vllm:m")


@pytest.mark.parametrize("body", [{"choices": []}, {"choices": None}, {"choices": [{}]}, {"error": "busy"}])
def test_a_reply_without_a_message_is_asked_for_once_more(
    server: ScriptedServer, body: dict[str, Any]
) -> None:
    server.enqueue(body, BEES)
    assert ask(opened(server)).value == [{"text": "Keeps bees"}]
    server.enqueue(body, body)
    with pytest.raises(LLMOutputError, match="without a message") as caught:
        ask(opened(server))
    assert json.loads(caught.value.raw) == body


def test_a_wrong_reply_is_quoted_with_its_fault_and_asked_for_again(server: ScriptedServer) -> None:
    wrong = '{"answer": "Ключ 🗝"}'
    server.enqueue(wrong, BEES)
    asked = ask(opened(server))
    assert (asked.value, asked.raw, asked.model) == ([{"text": "Keeps bees"}], BEES, "vllm:m")
    first, second = (request.body["messages"] for request in server.requests)
    assert second[: len(first)] == first
    assert second[-2] == {"role": "assistant", "content": wrong}
    assert 'list "facts"' in second[-1]["content"]
    words = sum(len(message["content"].split()) for message in first + second)
    assert (asked.usage.calls, asked.usage.tokens_in) == (2, words)
    assert asked.usage.tokens_out == len(wrong.split()) + len(BEES.split())
    assert asked.usage.ms > 0


def test_a_reply_that_is_cut_twice_is_an_error_with_its_text(server: ScriptedServer) -> None:
    server.faults = ServerFaults(cut=True)
    server.enqueue(BEES, BEES)
    with pytest.raises(LLMOutputError, match="too long") as caught:
        ask(opened(server))
    assert caught.value.raw == BEES[: len(BEES) // 2]
    assert len(server.requests) == 2


def test_a_whole_reply_that_says_it_was_cut_is_not_trusted(server: ScriptedServer) -> None:
    server.enqueue(ChatReply('{"facts": []}', finish_reason="length"), BEES)
    assert ask(opened(server)).value == [{"text": "Keeps bees"}]


def test_an_outage_is_not_asked_again() -> None:
    llm = open_llm(ScriptedLLM([LLMError("down"), BEES]))
    assert llm is not None
    with pytest.raises(LLMError, match="down"):
        ask(llm)


def test_requests_in_flight_are_bounded(server: ScriptedServer) -> None:
    server.faults = ServerFaults(delay=0.1)
    server.enqueue(*["ok"] * 12)
    llm = opened(server, max_concurrency=3)

    async def run() -> None:
        await asyncio.gather(*(llm.complete(MESSAGES) for _ in range(12)))
        await llm.close()

    asyncio.run(run())
    assert len(server.requests) == 12
    assert server.peak == 3


def test_azure_is_reached_by_either_address(server: ScriptedServer) -> None:
    root = server.base_url.removesuffix("/v1")
    kwargs = {"azure_endpoint": root, "azure_deployment": "mine", "api_key": "az-key"}
    for more in ({}, {"api_version": "2024-10-21"}):
        llm = open_llm(
            {"provider": "azure_openai", "config": {"model": "gpt", "azure_kwargs": {**kwargs, **more}}}
        )
        assert llm is not None
        server.enqueue("ok")
        assert complete(llm).text == "ok"
    newer, older = server.requests
    assert (newer.path, newer.body["model"]) == ("/openai/v1/chat/completions", "mine")
    assert older.path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert newer.headers["api-key"] == older.headers["api-key"] == "***"


# --- Anthropic ------------------------------------------------------------------------------------------------


class Messages:
    """Anthropic's API on a loopback socket: replies in order, each a status and a body."""

    def __init__(self) -> None:
        self.replies: list[tuple[int, dict[str, Any]]] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append((self.path, sent))
                status, body = outer.replies.pop(0)
                payload = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.send_header("Retry-After", "0")
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None:
                """Requests are recorded, not printed."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def anthropic() -> Iterator[Messages]:
    pytest.importorskip("anthropic")
    running = Messages()
    thread = threading.Thread(target=running.http.serve_forever, args=(0.02,))
    thread.start()
    yield running
    running.http.shutdown()
    thread.join()
    running.http.server_close()


def claude(server: Messages, **settings: Any) -> LLM:
    llm = open_llm(
        {"provider": "anthropic", "config": {"model": "claude", "anthropic_base_url": server.url, **settings}}
    )
    assert llm is not None
    return llm


def said(*content: dict[str, Any], reason: str = "end_turn") -> tuple[int, dict[str, Any]]:
    return 200, {
        "id": "msg", "type": "message", "role": "assistant", "model": "claude", "content": list(content),
        "stop_reason": reason, "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip


def refused(message: str) -> tuple[int, dict[str, Any]]:
    return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def test_anthropic_is_spoken_to_in_its_own_way(anthropic: Messages) -> None:
    anthropic.replies = [
        (529, {"type": "error", "error": {"message": "Overloaded"}}),
        said({"type": "text", "text": "好"}),
    ]
    reply = complete(claude(anthropic, api_key="sk-ant"))
    assert reply == Completion("好", "anthropic:claude", 5, 3, "stop")
    path, body = anthropic.requests[1]
    assert path == "/v1/messages"
    assert body == {
        "model": "claude", "max_tokens": 4096, "temperature": 0,
        "system": "Give JSON.", "messages": [MESSAGES[1].as_dict()],
    }  # fmt: skip


def test_anthropic_is_sent_images_in_its_own_way(anthropic: Messages) -> None:
    anthropic.replies = [said({"type": "text", "text": "Eine Biene."})]
    assert complete(claude(anthropic), LOOK).text == "Eine Biene."
    images = [("image/png", "iVBORz8+"), ("image/gif", "R0lG")]
    assert anthropic.requests[0][1]["messages"] == [
        {
            "role": "user",
            "content": [
                *(
                    {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
                    for kind, data in images
                ),
                {"type": "text", "text": "Was ist das? 🐝"},
            ],
        }
    ]


def test_anthropic_answers_by_a_tool_or_else_in_text(anthropic: Messages) -> None:
    called = {"type": "tool_use", "id": "t", "name": "reply", "input": {"facts": ["Keeps bees"]}}
    text = {"type": "text", "text": f"Sure!\n```json\n{BEES}\n```"}
    anthropic.replies = [
        said({"type": "text", "text": "I'll do so."}, called, reason="tool_use"),
        refused("tool_choice: forced tools are not supported by this model"),
        said(text),
        said(text, reason="max_tokens"),
        refused("temperature: not supported"),
        said(text),
    ]
    llm = claude(anthropic)
    asked = ask(llm)
    assert asked.value == [{"text": "Keeps bees"}]
    assert anthropic.requests[0][1]["tool_choice"] == {"type": "tool", "name": "reply"}
    assert ask(llm).value == [{"text": "Keeps bees"}]
    assert ask(llm).value == [{"text": "Keeps bees"}]
    assert ["tools" in body for _, body in anthropic.requests] == [True, True, False, False, False, False]
    assert "temperature" not in anthropic.requests[-1][1]


# --- LiteLLM and LangChain, the real packages -----------------------------------------------------------------


def test_litellm_reaches_a_server_and_its_errors_are_ours(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else it fetches its list of prices at import.
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    pytest.importorskip("litellm")
    llm = open_llm(
        {
            "provider": "litellm",
            "model": "openai/m",
            "base_url": server.base_url,
            "api_key": "sk-lite",
            "max_retries": 1,
        }
    )
    assert llm is not None
    server.faults = ServerFaults(statuses={1: 500}, retry_after="0")
    server.enqueue(BEES)
    asked = ask(llm)
    assert asked.value == [{"text": "Keeps bees"}]
    assert asked.usage.tokens_out == 3
    assert len(server.requests) == 2
    server.faults = ServerFaults(statuses={3: 401}, message="bad key sk-lite")
    with pytest.raises(LLMError, match=r"llm\.api_key") as caught:
        complete(llm)
    assert "sk-lite" not in str(caught.value)
    server.faults = ServerFaults(refused_fields=frozenset({"temperature"}))
    server.enqueue("ok")
    assert complete(llm).text == "ok"


class LikeLiteLLM:
    """LiteLLM's interface as far as it is used, for where that big package is not installed."""

    def __init__(self, server: ScriptedServer) -> None:
        self.asked: list[dict[str, Any]] = []
        self._url = server.base_url

    async def acompletion(self, **given: Any) -> Any:
        import openai

        self.asked.append(given)
        own = ("timeout", "num_retries", "max_retries", "api_key", "api_base", "aws_region_name")
        body = {name: value for name, value in given.items() if name not in own}
        async with openai.AsyncOpenAI(base_url=self._url, api_key="k", max_retries=0) as client:
            return await client.chat.completions.create(**body)


def test_bedrock_goes_by_litellm(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = LikeLiteLLM(server)
    module = ModuleType("litellm")
    module.acompletion = fake.acompletion  # type: ignore[attr-defined]
    module.aembedding = None  # type: ignore[attr-defined]
    module.__spec__ = ModuleSpec("litellm", None)
    monkeypatch.setitem(sys.modules, "litellm", module)
    llm = open_llm({"provider": "aws_bedrock", "config": {"model": "claude", "aws_region": "eu-west-1"}})
    assert llm is not None
    server.faults = ServerFaults(
        statuses={1: 503}, retry_after="0", refused_formats=frozenset({"json_schema"})
    )
    server.enqueue(BEES, "Eine Biene.")
    assert ask(llm).value == [{"text": "Keeps bees"}]
    assert [given["model"] for given in fake.asked] == ["bedrock/claude"] * 3
    assert complete(llm, LOOK).text == "Eine Biene."
    assert server.requests[-1].body["messages"] == LOOK_AS_PARTS
    assert fake.asked[0]["aws_region_name"] == "eu-west-1"
    assert fake.asked[0]["num_retries"] == 0
    assert "api_key" not in fake.asked[0]
    assert formats(server) == ["json_schema", "json_schema", "json_object", None]


def test_langchains_chat_models_are_taken_as_they_are() -> None:
    fakes = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    messages = pytest.importorskip("langchain_core.messages")
    replies = [
        messages.AIMessage(
            content=[{"type": "text", "text": BEES}],
            usage_metadata={"input_tokens": 4, "output_tokens": 2, "total_tokens": 6},
            response_metadata={"finish_reason": "stop"},
        ),
        messages.AIMessage(content="plain"),
    ]
    model = fakes.GenericFakeChatModel(messages=iter(replies))
    llm = open_llm(model)
    assert llm is not None
    asked = ask(llm)
    assert asked.value == [{"text": "Keeps bees"}]
    assert (asked.usage.tokens_in, asked.usage.tokens_out) == (4, 2)
    again = open_llm({"provider": "langchain", "config": {"model": model}})
    assert again is not None
    assert complete(again).text == "plain"


class Sync:
    """LangChain's interface without its package: only `invoke`."""

    model = "sync-one"

    def invoke(self, messages: list[dict[str, str]]) -> object:
        return messages[-1]["content"].upper() if messages[0]["role"] == "system" else 7


class Async:
    """LangChain's interface without its package: a message with what its messages have."""

    async def ainvoke(self, messages: list[dict[str, str]]) -> object:
        meta = {"stop_reason": "max_tokens"}
        usage = {"input_tokens": 4, "output_tokens": 2}
        return SimpleNamespace(content=[{"text": BEES}], usage_metadata=usage, response_metadata=meta)


def test_langchains_models_get_images_as_parts() -> None:
    class Seeing:
        def invoke(self, messages: list[dict[str, Any]]) -> str:
            return json.dumps(messages)

    llm = open_llm(Seeing())
    assert llm is not None
    assert complete(llm, LOOK).text == json.dumps(LOOK_AS_PARTS)


def test_a_model_with_ainvoke_is_taken() -> None:
    llm = open_llm(Async())
    assert llm is not None
    assert complete(llm, schema=SCHEMA) == Completion(BEES, "custom:Async", 4, 2, "max_tokens")
    with pytest.raises(LLMOutputError, match="too long"):
        ask(llm)


def test_a_model_with_invoke_alone_is_taken() -> None:
    llm = open_llm(Sync())
    assert llm is not None
    assert complete(llm, [MESSAGES[0], ChatMessage("user", "où")]).text == "OÙ"
    assert llm.name == "langchain:sync-one"
    with pytest.raises(LLMOutputError, match="returned int"):
        complete(llm, [ChatMessage("user", "x")])
