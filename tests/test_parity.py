"""One script through the blocking face, the awaiting face and the command line: the same answers everywhere."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic import AsyncMemory, Memory, MnemicError
from mnemic.cli.app import app
from mnemic.models.fakes import ScriptedServer

TALK = [
    {"role": "user", "name": "ann", "content": "I moved from Hangzhou to Shanghai in July. 🏙"},
    {"role": "assistant", "content": 'Congratulations!\nHow is "it"?'},
    {"role": "system", "content": "You are Pip."},
    {"role": "user", "name": "ann", "content": "我对花生过敏"},
]
ANN = {"user_id": "ann"}
TIME = "2024-07-20T09:00:00+08:00"


class First:
    """Stands for the id of the n-th memory that the script stored."""

    def __init__(self, number: int) -> None:
        self.number = number


class Next:
    """Stands for the cursor of the page before."""


Step = tuple[str, dict[str, Any]]
SCRIPT: list[Step] = [
    (
        "add",
        {
            "messages": TALK,
            **ANN,
            "run_id": "chat-1",
            "infer": False,
            "metadata": {"n": 1, "标签": ["x", None]},
            "timestamp": TIME,
            "expiration_date": "2099-01-02",
        },
    ),
    ("add", {"facts": ["Ann is allergic to peanuts", "Ann keeps bees"], **ANN, "metadata": {"n": 2}}),
    ("add", {"facts": ["ann keeps  BEES"], **ANN, "run_id": "chat-2"}),
    ("add", {"messages": "Bob keeps bees too", "user_id": "bob", "infer": False}),
    ("add", {"facts": ["Zoe is away"], "user_id": "zoe", "ttl": "36h"}),
    ("search", {"query": "Where does Ann live?", **ANN, "explain": True}),
    ("search", {"query": "她对什么过敏", **ANN, "top_k": 3}),
    (
        "search",
        {"query": "bees", "filters": {"AND": [{"user_id": "ann"}, {"n": {"gte": 2}}]}, "threshold": 0.1},
    ),
    ("search", {"query": "bees", **ANN, "filters": {"n": 99}}),
    ("search", {"query": "bees", **ANN, "rerank": True, "top_k": 1}),
    ("get_all", {**ANN, "limit": 2}),
    ("get_all", {**ANN, "limit": 2, "cursor": Next()}),
    ("get_all", {**ANN, "filters": {"OR": [{"kind": "fact"}, {"role": "assistant"}]}, "as_of": "2030-01-01"}),
    (
        "update",
        {
            "memory_id": First(4),
            "text": "Ann keeps hens",
            "metadata": {"n": 3},
            "actor": "me",
            "reason": "why",
        },
    ),
    ("update", {"memory_id": First(0), "expiration_date": None}),
    ("history", {"memory_id": First(4)}),
    ("get", {"memory_id": First(4), **ANN}),
    ("search", {"query": "hens", **ANN, "top_k": 1}),
    ("delete", {"memory_id": First(3), "actor": "me"}),
    ("get", {"memory_id": First(3)}),
    ("trash", {**ANN}),
    ("restore", {"memory_id": First(3), "reason": "a mistake"}),
    ("history", {"memory_id": First(3)}),
    ("history", {"memory_id": First(4), "chain": True}),
    ("timeline", {**ANN, "limit": 2}),
    ("timeline", {**ANN, "limit": 2, "cursor": Next()}),
    ("timeline", {"about": "bees", **ANN, "since": "2020", "until": "2099-01", "filters": {"n": {"gte": 1}}}),
    ("diff", {**ANN, "since": "2020"}),
    ("diff", {**ANN, "since": 1_000_000_000, "until": "2999", "filters": {"n": {"gte": 2}}, "limit": 1}),
    ("messages", {**ANN, "limit": 2}),
    ("messages", {**ANN, "limit": 2, "cursor": Next()}),
    ("stats", {**ANN}),
    ("stats", {}),
    ("log", {**ANN, "event": "UPDATE", "since": "2020", "limit": 1}),
    ("log", {**ANN, "event": "UPDATE", "since": "2020", "limit": 1, "cursor": Next()}),
    ("log", {"memory_id": First(4), "actor": "me"}),
    ("delete_all", {"run_id": "chat-1", "dry_run": True}),
    ("delete_all", {"run_id": "chat-1", "filters": {"n": 1}, "reason": "cleaning"}),
    ("get_all", {**ANN, "show_deleted": True}),
    ("check", {"full": True}),
    ("check", {"repair": True}),
]
FAULTS: list[Step] = [
    ("search", {"query": " ", **ANN}),
    ("search", {"query": "bees"}),
    ("search", {"query": "bees", "user_id": "*"}),
    ("search", {"query": "bees", **ANN, "filters": {"n": {"near": 1}}}),
    ("search", {"query": "bees", **ANN, "filters": {"user_id": "bob"}}),
    ("get_all", {**ANN, "cursor": "nonsense"}),
    ("get_all", {**ANN, "as_of": "one day"}),
    ("update", {"memory_id": "no-such-id", "text": "x"}),
    ("delete", {"memory_id": "no-such-id"}),
    ("add", {"messages": "x", "infer": False}),
    ("add", {"messages": [{"role": "user"}], **ANN, "infer": False}),
    ("add", {"messages": "x", **ANN, "infer": False, "metadata": [1]}),
    ("add", {"messages": "x", **ANN, "infer": False, "timestamp": "one day"}),
    ("add", {"facts": ["x"], **ANN, "ttl": "one day"}),
    ("add", {"facts": ["x"], **ANN, "ttl": "1d", "expiration_date": "2099-01-02"}),
    ("messages", {**ANN, "limit": -1}),
    ("log", {**ANN, "event": "ADDED"}),
    ("log", {**ANN, "until": "one day"}),
    ("timeline", {**ANN, "since": "2024", "until": "2023"}),
    ("diff", {**ANN, "since": "2024", "until": "2023"}),
    ("timeline", {**ANN, "about": "bees", "cursor": "nonsense"}),
]

# --- the three ways in ------------------------------------------------------------------------------------

Call = Callable[[str, dict[str, Any]], Any]


def blocking(store: Path) -> Iterator[Call]:
    with Memory(str(store)) as m:
        yield lambda verb, arguments: getattr(m, verb)(**arguments)


def awaiting(store: Path) -> Iterator[Call]:
    """Each call on an event loop of its own."""
    m = AsyncMemory(str(store))

    def call(verb: str, arguments: dict[str, Any]) -> Any:
        async def wait() -> Any:
            return await getattr(m, verb)(**arguments)

        return asyncio.run(wait())

    yield call
    asyncio.run(m.close())


def command_line(store: Path) -> Iterator[Call]:
    def call(verb: str, arguments: dict[str, Any]) -> Any:
        done = CliRunner().invoke(app, ["--json", "--store", str(store), *as_options(verb, arguments)])
        if done.exit_code and not done.stdout.strip():
            assert done.exit_code == 1, done.output
            raise MnemicError(done.stderr.removeprefix("Error: ").strip())
        return json.loads(done.stdout)

    yield call


NAMES = {"get_all": "list", "delete_all": "delete"}
RENAMED = {"filters": "filter", "expiration_date": "expires"}


def as_options(verb: str, arguments: dict[str, Any]) -> list[str]:
    """The call as it is typed."""
    words = [NAMES.get(verb, verb)]
    left = dict(arguments)
    for name in ("memory_id", "query", "about"):
        if name in left:
            words.append(left.pop(name))
    if isinstance(left.get("messages"), str) or verb == "update":
        words += [text for text in (left.pop("messages", None), left.pop("text", None)) if text is not None]
    if verb == "delete_all":
        words += ["--all", "--yes"]
    for fact in left.pop("facts", []):
        words += ["--fact", fact]
    for name, value in left.items():
        option = "--" + RENAMED.get(name, name).replace("_", "-")
        if name == "infer":
            words.append("--infer" if value else "--no-infer")
        elif isinstance(value, bool):
            words += [option] if value else []
        elif name in ("messages", "filters", "metadata"):
            words += [option, json.dumps(value)]
        else:
            words += [option, "never" if value is None else str(value)]
    return words


WAYS = {"awaiting": awaiting, "command line": command_line}


# --- running and comparing --------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """An embedder that all three find in the environment."""
    with ScriptedServer() as running:
        monkeypatch.setenv("MNEMIC_EMBEDDER", "openai")
        monkeypatch.setenv("MNEMIC_EMBEDDER_MODEL", "any-model")
        monkeypatch.setenv("MNEMIC_EMBEDDER_BASE_URL", running.base_url)
        monkeypatch.setenv("MNEMIC_TIMEZONE", "Europe/Berlin")
        yield running


def play(call: Call) -> list[Any]:
    """The results of the script."""
    stored: list[str] = []
    results: list[Any] = []
    for verb, arguments in SCRIPT:
        given = {name: _resolved(value, stored, results) for name, value in arguments.items()}
        results.append(call(verb, given))
        if verb == "add":
            stored += [item["id"] for item in results[-1]["results"] if item["event"] == "ADD"]
    return results


def _resolved(value: Any, stored: list[str], results: list[Any]) -> Any:
    if isinstance(value, First):
        return stored[value.number]
    return results[-1]["next"] if isinstance(value, Next) else value


UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLOCK = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


def comparable(results: list[Any], store: Path) -> list[Any]:
    """The results with ids numbered by first appearance, and without times, traces and sizes."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found[0], f"id-{len(numbers)}")

    given = "2024-07-20T01:00:00+00:00"
    text = UUID.sub(number, json.dumps(results))
    text = CLOCK.sub(lambda found: found[0] if found[0] == given else "<time>", text)
    text = text.replace(json.dumps(str(store))[1:-1], "<store>")
    return [_without_noise(result) for result in json.loads(text)]


def _without_noise(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_noise(item) for item in value]
    if not isinstance(value, dict):
        return value
    noise = {"ms": "<ms>", "bytes": "<bytes>", "trace_id": "<trace>"}
    kept = {key: noise.get(key) or _without_noise(inner) for key, inner in value.items()}
    return {**kept, "next": kept["next"] is not None} if "next" in kept else kept


@pytest.mark.parametrize("way", WAYS)
def test_a_script_gives_the_same_answers_as_the_blocking_face(
    tmp_path: Path, server: ScriptedServer, way: str
) -> None:
    answers = {}
    for name, opener in (("blocking", blocking), (way, WAYS[way])):
        store = tmp_path / f"{name}.db"
        for call in opener(store):
            answers[name] = comparable(play(call), store)
    for step, expected, found in zip(SCRIPT, answers["blocking"], answers[way], strict=True):
        assert found == expected, step
        if isinstance(expected, dict):
            assert list(found) == list(expected), step


def test_the_script_shows_something(tmp_path: Path, server: ScriptedServer) -> None:
    [results] = [play(call) for call in blocking(tmp_path / "own.db")]
    by_step = list(zip(SCRIPT, results, strict=True))
    empty = [arguments for (verb, arguments), result in by_step if verb == "search" and not result["results"]]
    assert empty == [{"query": "bees", **ANN, "filters": {"n": 99}}]
    assert [len(r["results"]) for (verb, _), r in by_step if verb == "get_all"][:2] == [2, 2]


@pytest.mark.parametrize("way", WAYS)
def test_faults_are_told_in_the_same_words(tmp_path: Path, server: ScriptedServer, way: str) -> None:
    words: dict[str, list[str]] = {}
    for name, opener in (("blocking", blocking), (way, WAYS[way])):
        for call in opener(tmp_path / f"{name}.db"):
            words[name] = []
            for verb, arguments in FAULTS:
                with pytest.raises(MnemicError) as caught:
                    call(verb, dict(arguments))
                words[name].append(" ".join(str(caught.value).split()))
    assert words[way] == words["blocking"]


def test_what_one_way_wrote_the_others_read(tmp_path: Path, server: ScriptedServer) -> None:
    store = tmp_path / "own.db"
    for call in command_line(store):
        call("add", {"messages": "Ann keeps bees", **ANN, "infer": False})
    for call in awaiting(store):
        [hit] = call("search", {"query": "bees", **ANN})["results"]
        call("update", {"memory_id": hit["id"], "text": "Ann keeps hens"})
    for call in blocking(store):
        assert [i["memory"] for i in call("get_all", ANN)["results"]] == ["Ann keeps hens"]
    for call in command_line(store):
        assert [e["event"] for e in call("history", {"memory_id": hit["id"]})] == ["ADD", "UPDATE"]


# --- one set of signatures --------------------------------------------------------------------------------

VERBS = sorted(
    name for name in vars(Memory) if not name.startswith("_") and inspect.isfunction(getattr(Memory, name))
)


def test_both_faces_have_the_same_verbs_with_the_same_arguments() -> None:
    assert "search" in VERBS
    for verb in VERBS:
        one, two = (inspect.signature(getattr(face, verb)) for face in (Memory, AsyncMemory))
        assert list(one.parameters) == list(two.parameters), verb
        assert getattr(Memory, verb).__doc__ == getattr(AsyncMemory, verb).__doc__


def test_the_async_face_awaits_every_verb(tmp_path: Path) -> None:
    m = AsyncMemory(str(tmp_path / "own.db"), embedder="none")
    assert all(inspect.iscoroutinefunction(getattr(m, verb)) for verb in VERBS)
    assert not (tmp_path / "own.db").exists(), "making an instance opened the store"


def test_a_scoped_async_memory_is_bound_too(store: str) -> None:
    async def use() -> None:
        async with AsyncMemory(store, embedder="none") as m:
            await m.add("mine", user_id="me", infer=False)
            await m.add("yours", user_id="you", infer=False)
            bound = m.scoped(user_id="me")
            assert [i["memory"] for i in (await bound.get_all())["results"]] == ["mine"]
            with pytest.raises(MnemicError):
                await bound.get_all(user_id="you")

    asyncio.run(use())


def test_a_copied_store_is_the_same_store(tmp_path: Path, server: ScriptedServer) -> None:
    first = tmp_path / "first.db"
    for call in blocking(first):
        call("add", {"messages": TALK, **ANN, "infer": False})
        expected = call("search", {"query": "Shanghai", **ANN})
    shutil.copyfile(first, tmp_path / "second.db")
    for call in awaiting(tmp_path / "second.db"):
        assert call("search", {"query": "Shanghai", **ANN}) == expected
