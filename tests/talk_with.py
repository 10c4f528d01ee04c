"""For tests with an LLM behind a real socket: replies in the editor's form, and what it was sent, read as it would."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic import Memory
from mnemic.models.fakes import RecordedRequest, ScriptedServer

_NEW = re.compile(r'\[(\d+)\] (?:(.+) )?\(([^()]*)\): (".*")')
_KNOWN = re.compile(r'(m\d+)(?: \(since ([^)]*)\))?: (".*")')
_EARLIER = re.compile(r'(.+?) \([^()]*\): (".*")')


def llm_at(server: ScriptedServer, **more: Any) -> dict[str, Any]:
    """The settings of an LLM that the server plays."""
    return {"provider": "openai", "model": "any", "base_url": server.base_url, "max_retries": 0, **more}


def fact(text: str, *source: int, meets: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A fact of a reply, drawn from message 0 unless told; `meets` tells how it meets memories, by their labels."""
    met = [{"memory": label, "how": how} for label, how in (meets or {}).items()]
    return {"text": text, "source": list(source or (0,)), "about": "user", "meets": met, **more}


def facts(*told: dict[str, Any]) -> str:
    """The reply of `extract`."""
    return json.dumps({"facts": told}, ensure_ascii=False)


def decisions(*met: Mapping[str, str]) -> str:
    """The reply of `decide`: how each fact meets memories, by their labels."""
    return json.dumps(
        {
            "decisions": [
                {"fact": i, "meets": [{"memory": label, "how": how} for label, how in one.items()]}
                for i, one in enumerate(met)
            ]
        }
    )


def edits(*told: tuple[str, str, str]) -> str:
    """The reply of `reconcile`: (id, text, event) for each entry."""
    return json.dumps({"memory": [{"id": i, "text": text, "event": event} for i, text, event in told]})


@dataclass(frozen=True)
class Told:
    """A request as the model reads it: its instructions, and the data under each heading."""

    instructions: str
    data: str

    @property
    def known(self) -> dict[str, str]:
        """The memories that are offered, by their labels."""
        return {
            found[1]: json.loads(found[3])
            for found in map(_KNOWN.fullmatch, self._of("KNOWN MEMORIES"))
            if found
        }

    @property
    def new(self) -> dict[int, str]:
        """The new messages by their numbers."""
        return {int(n): text for n, _, _, text in self.said}

    @property
    def said(self) -> list[tuple[str, str, str, str]]:
        """The new messages: number, speaker, time, text."""
        found = map(_NEW.fullmatch, self._of("NEW MESSAGES"))
        return [(one[1], one[2], one[3], json.loads(one[4])) for one in found if one]

    @property
    def earlier(self) -> list[str]:
        """The messages that only explain."""
        found = map(_EARLIER.fullmatch, self._of("EARLIER MESSAGES (they only explain)"))
        return [json.loads(one[2]) for one in found if one]

    @property
    def facts(self) -> dict[int, str]:
        """The facts of a second decision, by their numbers."""
        found = map(_NEW.fullmatch, self._of("FACTS"))
        return {int(one[1]): json.loads(one[4]) for one in found if one}

    def label_of(self, text: str) -> str:
        """The label of an offered memory."""
        return next(label for label, memory in self.known.items() if memory == text)

    def _of(self, heading: str) -> list[str]:
        """The lines under a heading, up to the blank line that ends them."""
        lines = self.data.split("\n")
        if heading not in lines:
            return []
        under = lines[lines.index(heading) + 1 :]
        return under[: under.index("")] if "" in under else under


def read(body: Mapping[str, Any]) -> Told:
    """The body of a request, as the model reads it."""
    system, user = body["messages"][:2]
    assert (system["role"], user["role"]) == ("system", "user")
    return Told(system["content"], user["content"])


def asked(server: ScriptedServer) -> list[Told]:
    """The requests to the model, in order."""
    return [read(request.body) for request in chats(server)]


def chats(server: ScriptedServer) -> list[RecordedRequest]:
    """The requests to the model as they came."""
    return server.requests_to("/chat/completions")


def counted(requests: Sequence[RecordedRequest]) -> dict[str, int]:
    """What requests cost, as far as the server can count it: calls, words sent, texts embedded."""
    chat = [request for request in requests if request.path.endswith("/chat/completions")]
    embeds = [request for request in requests if request.path.endswith("/embeddings")]
    words = [len(str(one["content"]).split()) for request in chat for one in request.body["messages"]]
    inputs = [request.body["input"] for request in embeds]
    return {
        "llm_calls": len(chat),
        "tokens_in": sum(words),
        "embedded": sum(1 if isinstance(one, str) else len(one) for one in inputs),
    }


# --- a memory, and what it has ----------------------------------------------------------------------------


def kept(m: Memory, *texts: str, **more: Any) -> list[str]:
    """Facts that the user has already; their ids."""
    return [item["id"] for item in m.add(facts=list(texts), **{"user_id": "u1", **more})["results"]]


def meeting(server: ScriptedServer, *told: tuple[str, dict[str, str]], **more: Any) -> None:
    """Let the model reply with facts that meet memories, named by their texts."""

    def reply(body: Any) -> str:
        sent = read(body)
        return facts(
            *[
                fact(text, meets={sent.label_of(memory): how for memory, how in met.items()}, **more)
                for text, met in told
            ]
        )

    server.enqueue(reply)


def texts(m: Memory, **asked: Any) -> list[str]:
    return sorted(item["memory"] for item in m.get_all(**{"user_id": "u1", **asked})["results"])


def events(result: Any) -> list[tuple[str, str]]:
    return [(item["event"], item["memory"]) for item in result["results"]]
