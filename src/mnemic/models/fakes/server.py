"""An OpenAI-compatible server on a loopback socket, scripted, for tests over real HTTP."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from mnemic.models.embed.vectors import Vectors

from .embedders import HashEmbedder

_SECRET_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "cookie"})


@dataclass(frozen=True, slots=True)
class ServerFaults:
    """What the server does wrong. Numbers of calls count from 1 over all requests.

    statuses: the HTTP status of a call that fails. message, retry_after: what those say, in the body and in
    the Retry-After header.
    refused_fields: a request with one of these fields gets a 400 that names it. refused_formats: likewise a
    chat request whose `response_format` is of one of these types. drops: calls whose connection ends in the
    middle of the reply. max_words: an input of more
    words gets a 400. max_inputs: a request with more inputs gets a 400. delay: seconds before each reply.
    cut: chat replies stop half way with finish_reason "length". vectors: how embeddings come back.
    no_json: replies are no JSON.
    """

    statuses: Mapping[int, int] = field(default_factory=dict)
    message: str = "planned failure"
    retry_after: str | None = None
    refused_fields: frozenset[str] = frozenset()
    refused_formats: frozenset[str] = frozenset()
    drops: frozenset[int] = frozenset()
    max_words: int | None = None
    max_inputs: int | None = None
    delay: float = 0.0
    cut: bool = False
    no_json: bool = False
    vectors: Literal[
        "right", "too_few", "reordered", "without_index", "same_index", "base64", "nan", "uneven"
    ] = "right"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came. Secrets in `headers` (names in lower case) are replaced by "***"."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One scripted reply of the chat route. reasoning: sent as `reasoning_content`; text: None is null."""

    text: str | None
    finish_reason: str = "stop"
    reasoning: str | None = None


# A reply of the chat route; a mapping is the whole body, a function makes the text of the body of the request.
ServerReply = str | ChatReply | Mapping[str, Any] | Callable[[Mapping[str, Any]], str]


class ScriptedServer:
    """Serves `/v1/embeddings` (vectors of a HashEmbedder) and `/v1/chat/completions` (replies in order; a mapping
    is sent as the whole body, a function makes the text of the request's body).

        with ScriptedServer(replies=['{"facts": []}']) as server:
            Memory(embedder=EmbedderConfig("openai", model="any", base_url=server.base_url))

    `requests` records every request, also refused ones; `peak` is how many were under way at once. `faults`
    may be replaced at any time. A chat request beyond the script gets status 410, which no client tries
    again. Token counts are words.
    """

    def __init__(
        self,
        replies: Iterable[ServerReply] = (),
        *,
        dims: int = 64,
        faults: ServerFaults | None = None,
    ) -> None:
        self.faults = faults or ServerFaults()
        self.requests: list[RecordedRequest] = []
        self.peak = 0
        self._busy = 0
        self._replies: list[ServerReply] = list(replies)
        self._embedder = HashEmbedder(dims)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http: _HTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._http = _HTTPServer(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="scripted-server")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._http is None or self._thread is None:
            return
        self._stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    @property
    def base_url(self) -> str:
        """The address for clients, with "/v1". Only while the server runs."""
        if self._http is None:
            raise RuntimeError("The server is not running: use it in a with statement.")
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def enqueue(self, *replies: ServerReply) -> None:
        """Add chat replies to the end of the script."""
        with self._lock:
            self._replies.extend(replies)

    def requests_to(self, path: str) -> list[RecordedRequest]:
        """The requests whose path ends with `path`, in order."""
        return [request for request in self.requests if request.path.endswith(path)]

    def reply_to(self, request: RecordedRequest) -> tuple[int, Mapping[str, Any] | str, bool]:
        """Record a request and make its reply: HTTP status, body, and whether all of it is sent."""
        with self._lock:
            self.requests.append(request)
            call = len(self.requests)
            self._busy += 1
            self.peak = max(self.peak, self._busy)
        try:
            self._stopping.wait(self.faults.delay)
            return *self._judge(call, request, self.faults), call not in self.faults.drops
        finally:
            with self._lock:
                self._busy -= 1

    def _judge(
        self, call: int, request: RecordedRequest, faults: ServerFaults
    ) -> tuple[int, Mapping[str, Any] | str]:
        route = request.path.partition("?")[0]
        if call in faults.statuses:
            return faults.statuses[call], _error(faults.message)
        for name in sorted(faults.refused_fields & request.body.keys()):
            return 400, _error(f"Unsupported parameter: {name}")
        form = request.body.get("response_format")
        if isinstance(form, Mapping) and form.get("type") in faults.refused_formats:
            return 400, _error(f"response_format of type {form['type']} is not supported")
        if faults.no_json:
            return 200, "<html>not the API</html>"
        if route.endswith("/embeddings"):
            return self._embeddings(request.body, faults)
        if route.endswith("/chat/completions"):
            return self._chat(request.body, faults)
        return 404, _error(f"no route {request.path}")

    def _embeddings(self, body: Mapping[str, Any], faults: ServerFaults) -> tuple[int, Mapping[str, Any]]:
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if (
            not isinstance(texts, list)
            or not texts
            or not all(isinstance(t, str) and t.strip() for t in texts)
        ):
            return 400, _error("input must be a non-empty string or a list of such")
        if faults.max_inputs is not None and len(texts) > faults.max_inputs:
            return 400, _error(f"batch size {len(texts)} is larger than {faults.max_inputs}")
        if faults.max_words is not None and any(len(text.split()) > faults.max_words for text in texts):
            return 400, _error("invalid input")
        vectors = self._embedder.vectors(texts)
        words = sum(len(text.split()) for text in texts)
        return 200, {
            "object": "list",
            "model": body.get("model"),
            "data": _items(vectors, faults),
            "usage": {"prompt_tokens": words, "total_tokens": words},
        }

    def _chat(self, body: Mapping[str, Any], faults: ServerFaults) -> tuple[int, Mapping[str, Any]]:
        with self._lock:
            if not self._replies:
                return 410, _error("the script has no reply left")
            scripted = self._replies.pop(0)
        if isinstance(scripted, Mapping):
            return 200, scripted
        text = scripted(body) if callable(scripted) else scripted
        reply = ChatReply(text) if isinstance(text, str) else text
        if faults.cut and reply.text is not None:
            reply = replace(reply, text=reply.text[: len(reply.text) // 2], finish_reason="length")
        asked = sum(len(str(message.get("content")).split()) for message in body.get("messages", []))
        said = len((reply.text or "").split())
        message = {"role": "assistant", "content": reply.text}
        if reply.reasoning is not None:
            message["reasoning_content"] = reply.reasoning
        return 200, {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 0,
            "model": body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
            "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
        }


def _items(vectors: Vectors, faults: ServerFaults) -> list[dict[str, Any]]:
    rows: list[Any] = vectors.tolist()
    if faults.vectors == "base64":
        rows = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    elif faults.vectors == "nan":
        rows[-1][0] = float("nan")
    elif faults.vectors == "uneven":
        rows[-1] = rows[-1][:-1]
    items = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    if faults.vectors == "too_few":
        return items[:-1]
    if faults.vectors == "reordered":
        return items[::-1]
    if faults.vectors == "same_index":
        return [{**item, "index": 0} for item in items]
    if faults.vectors == "without_index":
        return [{"embedding": item["embedding"]} for item in items]
    return items


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # Who comes while so many wait to be let in waits a second more, until TCP asks again.
    request_queue_size = 128

    def __init__(self, owner: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Wake the threads that wait for the next request on a kept connection."""
        with self._guard:
            waiting = list(self._open)
        for connection in waiting:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The client was faster.
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up (a time-out under test) is no event worth a traceback."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: without this the second waits 40 ms for the first's acknowledgement.
    disable_nagle_algorithm = True
    server: _HTTPServer

    def do_POST(self) -> None:
        """Answer one request from the script."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {
            name.lower(): "***" if name.lower() in _SECRET_HEADERS else value
            for name, value in self.headers.items()
        }
        parsed = json.loads(raw or b"{}")
        owner = self.server.owner
        status, body, whole = owner.reply_to(RecordedRequest(self.path, headers, parsed))
        payload = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        if status >= 400 and owner.faults.retry_after is not None:
            self.send_header("Retry-After", owner.faults.retry_after)
        self.end_headers()
        self.wfile.write(payload if whole else payload[: len(payload) // 2])
        self.close_connection = self.close_connection or not whole

    def log_message(self, *_: object) -> None:
        """Requests are recorded, not printed."""
