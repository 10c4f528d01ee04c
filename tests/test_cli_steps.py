"""The commands about models' steps: an add that tells them, traces, replays and prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from mnemic import Memory, ValidationError, config, prompts
from mnemic.adding import wishes
from mnemic.cli.app import app
from mnemic.ingest import briefing
from mnemic.models.fakes import ScriptedServer

Run = Callable[..., Any]
SAID = '我搬到了杭州 "in May"\nand like [bold]tea[/bold] 🍵'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A model behind HTTP that all commands use."""
    with ScriptedServer() as running:
        for name, value in {
            "MNEMIC_EMBEDDER": "none",
            "MNEMIC_LLM": "openai",
            "MNEMIC_LLM_MODEL": "small-model",
            "MNEMIC_LLM_BASE_URL": running.base_url,
            "MNEMIC_LLM_API_KEY": "none",
            "COLUMNS": "80",
        }.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command on the test's store; without an exit code it must succeed."""

    def call(*args: str, code: int = 0, stdin: str | None = None, stored: bool = True) -> str:
        store = ["--store", str(tmp_path / "cli.db")] if stored else []
        done = CliRunner().invoke(app, [*store, *args], input=stdin)
        assert done.exit_code == code, (done.output, done.exception)
        return done.stdout if code == 0 else done.output

    return call


def fact(text: str, *sources: int, **more: Any) -> dict[str, Any]:
    return {"text": text, "source": list(sources) or [0], **more}


def reply(*facts: Any) -> str:
    return json.dumps({"facts": facts}, ensure_ascii=False)


def narrow(text: str) -> bool:
    lines = text.splitlines()
    return max(map(cell_len, lines)) <= 80 and all(line == line.rstrip() for line in lines)


def lines_of(text: str) -> str:
    return " ".join(text.split())


def test_add_tells_what_a_model_did(server: ScriptedServer, run: Run) -> None:
    def meeting(text: str, how: str) -> str:
        return reply(fact(text, meets=[{"memory": "m1", "how": how}]))

    server.enqueue(
        reply(fact("Lives in Oslo"), fact("Likes coffee"), fact("Has a dog"), fact("Works at Acme")),
        meeting("住在杭州", "changes"),
        meeting("Likes coffee without sugar", "refines"),
        meeting("Has no dog any more", "ends"),
        meeting("Works at Emca", "corrects"),
        reply(fact("Invented", 7)),
    )
    # Each in a run of its own: what was said before would be looked up with it, and name other memories m1.
    first = json.loads(
        run(
            "--json",
            "add",
            "I live in Oslo, like coffee, have a dog, work at Acme.",
            "-u",
            "ann",
            "--run-id",
            "r1",
        )
    )
    oslo, coffee, dog, acme = (item["id"] for item in first["results"])
    told = run("add", "Lives in Oslo no more, 我搬到了杭州", "-u", "ann", "--run-id", "r2")
    assert f"replaces {oslo}" in told
    assert re.search(
        r"1 request to a model, [\d,]+ tokens in, [\d,]+ out, [\d,]+ ms\ntrace [0-9a-f]{32}\n", told
    )
    refined = lines_of(run("add", "Likes coffee, no sugar", "-u", "ann", "--run-id", "r3"))
    assert f"UPDATE Likes coffee without sugar {coffee} was: Likes coffee" in refined
    assert f"DELETE Has a dog {dog}" in lines_of(
        run("add", "Has a dog no more", "-u", "ann", "--run-id", "r4")
    )
    assert f"corrects {acme}" in run("add", "Works at Emca, not at Acme", "-u", "ann", "--run-id", "r5")
    told = run("add", "nothing", "-u", "ann", "--run-id", "r6", "--trace")
    assert "not Invented source not allowed" in lines_of(told)
    assert "Asked to extract" in told
    assert narrow(told)


def test_add_passes_its_options_on(server: ScriptedServer, run: Run) -> None:
    server.enqueue(reply(fact("Likes tea")), "1. Opened it.")
    run("add", SAID, "-u", "ann", "--editing", "append", "--prompt", 'Only "tea".')
    sent = server.requests_to("/chat/completions")[0].body["messages"]
    assert 'Only "tea".' in sent[0]["content"]
    done = json.loads(
        run("--json", "add", SAID, "--agent-id", "pip", "--memory-type", "procedural_memory", "--trace")
    )
    assert (done["results"][0]["memory"], done["trace"]["calls"][0]["prompt"]) == (
        "1. Opened it.",
        "procedure/1",
    )
    assert "editing" in run("add", "x", "-u", "ann", "--editing", "overwrite", code=1)
    assert "memory_type" in run("add", "x", "-u", "ann", "--memory-type", "other", code=1)


def test_a_trace_is_printed_and_is_what_the_api_tells(
    server: ScriptedServer, run: Run, tmp_path: Path
) -> None:
    server.enqueue(
        reply(fact("Lives in Oslo")),
        reply(
            fact("住在杭州", since="2024-05", category="travel", meets=[{"memory": "m1", "how": "changes"}]),
            fact("Said \x1b[31mred", 4, on="someday"),
        ),
    )
    run("add", "I live in Oslo", "-u", "ann", "--run-id", "r1", "--timestamp", "2024-04-01T10:00Z")
    when = ("--timestamp", "2024-05-03T10:00+08:00")
    traced = json.loads(run("--json", "add", f"Oslo? {SAID}", "-u", "ann", "--run-id", "r1", *when))[
        "trace_id"
    ]
    shown = run("trace", traced, "-u", "ann")
    flat = lines_of(shown)
    for piece in (
        f"{traced} ",
        "llm:supersede ann r1",
        "Messages [0] user 2024-05-03 02:00Z",
        'Oslo? 我搬到了杭州 "in May"',
        "[bold]tea[/bold] 🍵",
        "Memories offered m1 Lives in Oslo",
        "version 1",
        "Asked to extract extract/1 openai:small-model ",
        '{"facts": [{"text": "住在杭州"',
        "stored 住在杭州 of [0] about user category travel since 2024-05 changes ",
        "rejected Said",
        "source not allowed",
    ):
        assert piece in flat, piece
    assert "\x1b" not in shown
    with Memory(str(tmp_path / "cli.db")) as m:
        assert json.loads(run("trace", traced, "--json")) == m.trace(traced)
    assert "not found" in run("trace", traced, "-u", "bob", code=1)


def test_a_reply_that_could_not_be_used_is_printed_with_its_fault(server: ScriptedServer, run: Run) -> None:
    server.enqueue("no idea", reply(fact("Likes tea")))
    traced = json.loads(run("--json", "add", SAID, "-u", "ann"))["trace_id"]
    shown = lines_of(run("trace", traced))
    assert "no idea It could not be used: " in shown
    assert shown.count("Asked to extract") == 2
    assert "Differences None." in lines_of(run("replay", traced))


def test_a_trace_without_a_model_is_printed_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    told = run("add", "I keep bees. Thanks!", "-u", "ann", "--trace")
    assert "No model was asked." in told
    assert "request to a model" not in told
    traced = json.loads(run("--json", "add", "I keep bees. Thanks!", "-u", "ann", "--trace"))["trace_id"]
    flat = lines_of(run("trace", traced))
    assert "unchanged I keep bees." in flat
    assert "rejected Thanks! of [0] thanks" in flat


def test_a_replay_is_printed(server: ScriptedServer, run: Run, tmp_path: Path) -> None:
    server.enqueue(reply(fact("住在杭州", category="travel"), fact("Likes tea")))
    traced = json.loads(run("--json", "add", SAID, "-u", "ann"))["trace_id"]
    same = lines_of(run("replay", traced))
    assert "recorded extract/1 openai:small-model today's request is the same" in same
    assert "Differences None." in same
    file = tmp_path / "answer.txt"
    file.write_text(
        f"Sure:\n```json\n{reply(fact('住在杭州'), fact('Drinks tea', 3))}\n```", encoding="utf-8"
    )
    for given in ((str(file), None), ("-", file.read_text(encoding="utf-8"))):
        told = run("replay", traced, "--answer", given[0], "-u", "ann", stdin=given[1])
        flat = lines_of(told)
        assert 'changed 住在杭州 category: "travel" -> none' in flat
        assert "dropped Likes tea" in flat
        assert "added Drinks tea" in flat
        assert narrow(told)
    server.enqueue(reply())
    live = lines_of(run("replay", traced, "--live"))
    assert "live extract/1 openai:small-model" in live
    assert "Verdicts now No fact was proposed." in live
    with Memory(str(tmp_path / "cli.db")) as m:
        assert json.loads(run("replay", traced, "--json")) == m.replay(traced)
        assert m.get_all(user_id="ann")["total"] == 2
    run("replay", traced, "--live", "--answer", str(file), code=2)
    run("replay", traced, "--answer", str(tmp_path / "none"), code=2)
    assert "JSON" in run("replay", traced, "--answer", "-", stdin="no", code=1)


# --- prompts ----------------------------------------------------------------------------------------------


def test_prompts_are_listed_and_shown(run: Run) -> None:
    listed = json.loads(run("prompt", "show", "--json", stored=False))
    assert listed == [{"name": name, "versions": list(told)} for name, told in prompts.versions().items()]
    assert "extract" in run("prompt", "show", stored=False)
    newest = prompts.load("extract")
    assert run("prompt", "show", "extract", stored=False) == newest.text
    shown = json.loads(run("prompt", "show", "extract/1", "--json", stored=False))
    assert shown == {"prompt": "extract/1", "text": prompts.load("extract", 1).text}
    assert "extrakt" in run("prompt", "show", "extrakt", code=1, stored=False)
    assert "99" in run("prompt", "show", "extract/99", code=1, stored=False)
    for wrong in ("extract/", "extract/x", "extract/-1", "extract/²"):
        with pytest.raises(ValidationError, match="no version of a prompt"):
            prompts.named(wrong)


def test_a_final_prompt_is_what_is_sent(
    server: ScriptedServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_CUSTOM_INSTRUCTIONS", 'Keep "names",\nalways 永远.')
    monkeypatch.setenv("MNEMIC_CATEGORIES", "homes,pets")
    server.enqueue(reply(), reply())
    run("add", SAID, "-u", "ann")
    run("add", SAID, "-u", "ann", "--agent-id", "pip")
    mine, agents = (one.body["messages"][0]["content"] for one in server.requests_to("/chat/completions"))
    assert run("prompt", "show", "extract", "--final", stored=False).rstrip("\n") == mine
    assert run("prompt", "show", "extract", "--final", "--agent", stored=False).rstrip("\n") == agents
    assert "永远" in mine
    assert "- pets" in mine


@pytest.mark.parametrize("name", [*prompts.versions()])
def test_every_prompt_has_a_final_form(name: str) -> None:
    prompt = prompts.load(name)
    told = briefing.final(prompt, wishes(config.load({}), None))
    assert told.startswith(prompt.sections["role"])
    assert prompt.sections["format"] in told
    assert "===" not in told


def test_two_prompts_are_compared(run: Run) -> None:
    told = run("prompt", "diff", "extract/1", "decide/1", stored=False)
    assert told.startswith("--- extract/1\n+++ decide/1\n@@")
    assert (
        json.loads(run("prompt", "diff", "extract/1", "decide", "--json", stored=False))["to"] == "decide/1"
    )
    assert "the same" in run("prompt", "diff", "extract/1", "extract/1", stored=False)
    assert "version" in run("prompt", "diff", "extract/1", "extract/77", code=1, stored=False)
