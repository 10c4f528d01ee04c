"""`mnemic eval prompts`: requests out, answers in, live models, and what is told of each case."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic import prompts
from mnemic.cli.app import app
from mnemic.evals.prompts import running
from mnemic.evals.prompts.answers import fingerprint
from mnemic.evals.prompts.cases import read_cases
from mnemic.evals.prompts.modes import choices
from mnemic.evals.prompts.report import Fate
from mnemic.models.fakes import ScriptedLLM, ScriptedServer, ServerFaults
from mnemic.models.llm import ChatMessage

DATA = Path(__file__).parent / "data" / "prompts" / "cases.jsonl"

MOVED: dict[str, Any] = {
    "id": "en-1",
    "language": "en",
    "topic": "moved-house",
    "messages": [
        {
            "role": "user",
            "content": 'We moved from Leeds to "York" yesterday 🦊',
            "timestamp": "2024-05-03T00:30:00+09:00",
        }
    ],
    "memories": [{"text": "Lives in Leeds", "since": "2018-01-01"}, {"text": "Grew up in Leeds"}],
    "expect": {
        "keep": [
            {"any": ["York"], "about": "user", "when": "2024-05-02", "meets": {"memory": 1, "how": "changes"}}
        ],
        "untouched": [2],
        "at_most": 1,
    },
}
ELLIPTIC: dict[str, Any] = {
    "id": "zh-1",
    "language": "zh",
    "topic": "elliptic",
    "messages": [{"role": "user", "content": "后面那种。"}],
    "context": [
        {"role": "user", "content": "提醒我。"},
        {"role": "assistant", "content": "打电话还是发短信？"},
    ],
    "expect": {"keep": [{"any": ["短信"], "about": "user"}], "not": ["后面那种"], "at_most": 1},
}
PROMISE: dict[str, Any] = {
    "id": "en-2",
    "language": "en",
    "topic": "assistant-promise",
    "messages": [
        {"role": "user", "content": "Words, please."},
        {"role": "assistant", "content": "I will send ten every Monday."},
    ],
    "scope": "agent",
    "expect": {"keep": [{"any": ["Monday"], "about": "assistant"}]},
}
GONE: dict[str, Any] = {
    "id": "en-3",
    "language": "en",
    "topic": "ends",
    "messages": [{"role": "user", "content": "I no longer play tennis."}],
    "memories": [{"text": "Plays tennis"}],
    "expect": {
        "keep": [{"any": ["no longer"], "all": ["tennis"], "meets": {"memory": 1, "how": "ends"}}],
        "ends": [1],
        "at_most": 1,
    },
}
[NEWEST] = choices("supersede")
CASES = (MOVED, ELLIPTIC, PROMISE, GONE)


def fact(
    text: str, source: int = 0, about: str = "user", meets: dict[str, str] | None = None, **dates: str
) -> Any:
    return {
        "text": text,
        "source": [source],
        "about": about,
        "category": None,
        "on": None,
        "since": None,
        "until": None,
        **dates,
        "entities": [],
        "relations": [],
        "meets": [{"memory": label, "how": how} for label, how in (meets or {}).items()],
    }


def label(sent: str, memory: str) -> str:
    """The label under which a prompt shows a memory."""
    found = re.search(rf'^(m\d+)[^"\n]*: "{memory}"$', sent, re.M)
    assert found is not None, sent
    return found[1]


def well(messages: Sequence[ChatMessage]) -> str:
    """A model that gets every case right."""
    sent = messages[-1].content
    if "NEW FACTS" in sent:
        edits = []
        for line in re.findall(r'^\{"id": .*\}$', sent, re.M):
            memory = json.loads(line)
            events = {
                "Lives in Leeds": ("Lives in York", "UPDATE"),
                "Plays tennis": ("Plays tennis", "DELETE"),
            }
            text, event = events.get(memory["text"], (memory["text"], "NONE"))
            edits.append({"id": memory["id"], "text": text, "event": event, "old_memory": None})
        return json.dumps({"memory": edits})
    new = sent.partition("NEW MESSAGES")[2]
    facts = []
    if "York" in new:
        met = {label(sent, "Lives in Leeds"): "changes"} if "KNOWN MEMORIES\nm1" in sent else None
        facts.append(fact("Lives in York", since="2024-05-02", meets=met))
    if "后面" in new:
        facts.append(fact("希望收到短信提醒"))
    if "Monday" in new:
        facts.append(fact("Sends ten words every Monday", 1, "assistant"))
    if "tennis" in new:
        met = {label(sent, "Plays tennis"): "ends"} if "KNOWN MEMORIES\nm1" in sent else None
        facts.append(fact("The user no longer plays tennis", meets=met))
    return json.dumps({"facts": facts}, ensure_ascii=False)


@pytest.fixture(autouse=True)
def no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are enough to find the memories of these cases."""
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in CASES), encoding="utf-8")
    return path


def run(*args: object, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["eval", "prompts", *map(str, args)])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def report(*args: object, code: int = 0) -> list[dict[str, Any]]:
    return list(json.loads(run(*args, "--json", code=code).stdout)["trials"])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def play(
    requests: Path, answers: Path, model: Callable[[Sequence[ChatMessage]], str] = well, **more: Any
) -> None:
    """Answer each request of a file, as somebody would who plays the model."""
    with answers.open("a", encoding="utf-8") as file:
        for row in rows(requests):
            reply = model([ChatMessage(one["role"], one["content"]) for one in row.pop("messages")])
            told = {
                "model": "played by hand",
                "date": "2026-11-30",
                "reply": reply,
                "tokens_in": 7,
                "ms": 12.5,
            }
            file.write(json.dumps({**row, **told, **more}, ensure_ascii=False) + "\n")


def test_requests_hold_what_is_sent_and_nothing_of_what_is_expected(cases: Path, tmp_path: Path) -> None:
    requests = tmp_path / "requests.jsonl"
    shown = run(cases, "--requests", requests)
    assert shown.stdout == f"4 requests written to {requests}.\n"
    found = rows(requests)
    assert [one["case"] for one in found] == ["en-1", "zh-1", "en-2", "en-3"]
    for one in found:
        assert set(one) == {"case", "mode", "stage", "prompt", "sha256", "messages"}
        assert (one["mode"], one["stage"]) == ("supersede", "extract")
        assert re.fullmatch(r"extract/\d+", one["prompt"])
        assert one["sha256"] == fingerprint(one["messages"])
        assert [message["role"] for message in one["messages"]] == ["system", "user"]
    moved, elliptic, promise, _ = (one["messages"][1]["content"] for one in found)
    assert "2024-05-03 00:30 +09:00" in moved
    assert label(moved, "Lives in Leeds") != label(moved, "Grew up in Leeds")
    assert "(since 2018-01-01)" in moved
    assert (
        elliptic.index("打电话还是发短信？") < elliptic.index("NEW MESSAGES") < elliptic.index("后面那种。")
    )
    assert "Monday" in promise


def test_what_is_sent_hangs_on_nothing_but_the_case(cases: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    run(cases, "--requests", first, "--mode", "reconcile")
    cases.write_text(
        "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in reversed(CASES)), encoding="utf-8"
    )
    run(cases, "--requests", second, "--mode", "reconcile")
    assert rows(second) == rows(first)[::-1]


def test_answers_are_judged_once_all_stages_have_one(cases: Path, tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    modes = ("--mode", "supersede", "--mode", "append", "--mode", "reconcile")
    run(cases, *modes, "--requests", requests)
    play(requests, answers)
    told = json.loads(run(cases, *modes, "--answers", answers, "--requests", requests, "--json").stdout)
    second = rows(requests)
    assert told == {"requests": len(second), "stale": 0, "path": str(requests)}
    assert {(one["mode"], one["stage"]) for one in second} == {("reconcile", "decide")}
    assert {one["case"] for one in second} == {"en-1", "en-3"}
    assert all(one["prompt"].startswith("reconcile/") for one in second)
    before = report(cases, *modes, "--answers", answers)
    assert [one["not_judged"]["unanswered"] for one in before] == [0, 0, 2]
    play(requests, answers)
    trials = report(cases, *modes, "--answers", answers, "--least", "1.0")
    assert [(one["mode"], one["passed"], one["failures"]) for one in trials] == [
        ("supersede", 4, []),
        ("append", 4, []),
        ("reconcile", 4, []),
    ]
    assert [one["calls"] for one in trials] == [4, 4, 6]
    assert [trials[2][name] for name in ("tokens_in", "tokens_out", "ms_a_call")] == [42, None, 12.5]
    assert trials[2]["models"] == ["played by hand"]
    assert [name.partition("/")[0] for name in trials[2]["prompts"]] == ["extract", "reconcile"]


def test_failures_are_told_with_reasons(cases: Path, tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    run(cases, "--requests", requests)

    def badly(messages: Sequence[ChatMessage]) -> str:
        sent = messages[-1].content
        if "York" not in sent:
            return well(messages)
        met = {label(sent, "Lives in Leeds"): "refines", label(sent, "Grew up in Leeds"): "ends"}
        wrong = [fact("Lives in York", meets={one: how}) for one, how in met.items()]
        wrong[1]["text"] = "Is from elsewhere"
        forged = fact("The assistant likes York", 7)
        return json.dumps({"facts": [*wrong, forged, fact("Likes foxes")]})

    play(requests, answers, badly)
    [trial] = report(cases, "--answers", answers, "--least", "0.8", code=1)
    assert (trial["passed"], trial["share"]) == (3, 0.75)
    [failure] = trial["failures"]
    assert failure["id"] == "en-1"
    assert failure["missed"] == [
        '"Lives in York" is not dated 2024-05-02, is not marked changes 1 but refines 1'
    ]
    assert failure["invented"] == ['"Lives in York" is beyond the 1 allowed']
    assert failure["wrongly_closed"] == ['memory 2 ("Grew up in Leeds") is ended']
    assert [one["text"] for one in failure["drawn"]] == ["Lives in York", "Is from elsewhere", "Likes foxes"]
    report(cases, "--answers", answers, "--least", "0.75")
    printed = run(cases, "--answers", answers).stdout
    assert "missed: " in printed
    assert "3 of 4, 75.0%" in printed


def test_an_answer_to_something_else_is_stale(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    run(cases, "--requests", requests)
    play(requests, answers)
    monkeypatch.setenv("MNEMIC_CUSTOM_INSTRUCTIONS", "Keep names of towns only.")
    [trial] = report(cases, "--answers", answers, "--least", "0", code=0)
    assert (trial["passed"], trial["not_judged"]["stale"]) == (0, 4)
    assert {one["not_judged"] for one in trial["failures"]} == {"stale"}
    again = run(cases, "--answers", answers, "--requests", requests).stdout
    assert again == f"4 requests written to {requests}, 4 of them in place of a stale answer.\n"
    play(requests, answers)
    assert report(cases, "--answers", answers)[0]["passed"] == 4
    monkeypatch.delenv("MNEMIC_CUSTOM_INSTRUCTIONS")
    assert report(cases, "--answers", answers)[0]["passed"] == 4


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(cases: Path, tmp_path: Path) -> None:
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    run(cases, "--requests", requests)
    play(requests, answers, lambda _: "Sorry, I'd rather not.")
    [trial] = report(cases, "--answers", answers)
    assert trial["not_judged"]["unanswered"] == 4
    run(cases, "--requests", requests, "--answers", answers)
    again = rows(requests)
    assert [one["messages"][2]["content"] for one in again] == ["Sorry, I'd rather not."] * 4
    play(requests, answers, lambda _: "No.")
    [trial] = report(cases, "--answers", answers)
    assert trial["not_judged"] == {"unreadable": 4, "stale": 0, "unanswered": 0, "outage": 0}
    assert (trial["passed"], trial["calls"]) == (0, 8)
    run(cases, "--requests", requests, "--answers", answers)
    assert rows(requests) == []


def test_a_live_model_is_asked_and_its_answers_are_kept(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As users run it: over a socket, several cases at once, then again from the record."""
    answers = tmp_path / "answers.jsonl"
    with ScriptedServer(replies=['{"facts": []}'] * 4) as server:
        monkeypatch.setenv("MNEMIC_LLM", "openai")
        for name, value in (("MODEL", "some-model"), ("BASE_URL", server.base_url), ("API_KEY", "sk-hidden")):
            monkeypatch.setenv(f"MNEMIC_LLM_{name}", value)
        live = report(cases, "--record", answers)
        sent = [request.body["messages"] for request in server.requests_to("/chat/completions")]
    assert live[0]["not_judged"] == {"unreadable": 0, "stale": 0, "unanswered": 0, "outage": 0}
    assert (live[0]["calls"], live[0]["models"]) == (4, ["openai:some-model"])
    assert live[0]["tokens_in"] > live[0]["tokens_out"] > 0
    assert live[0]["ms_a_call"] > 0
    kept = rows(answers)
    assert {one["sha256"] for one in kept} == {fingerprint(messages) for messages in sent}
    assert "sk-hidden" not in answers.read_text(encoding="utf-8")
    assert report(cases, "--answers", answers) == live


def test_an_outage_is_told_and_loses_no_answer(
    cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = tmp_path / "answers.jsonl"
    faults = ServerFaults(statuses={2: 401, 3: 401}, message="no such key")
    with ScriptedServer(replies=['{"facts": []}'] * 4, faults=faults) as server:
        monkeypatch.setenv("MNEMIC_LLM", "openai")
        monkeypatch.setenv("MNEMIC_LLM_MAX_CONCURRENCY", "1")
        for name, value in (("MODEL", "some-model"), ("BASE_URL", server.base_url), ("API_KEY", "sk-hidden")):
            monkeypatch.setenv(f"MNEMIC_LLM_{name}", value)
        [trial] = report(cases, "--record", answers)
        assert server.peak == 1
    assert trial["not_judged"]["outage"] == 2
    assert [one["case"] for one in rows(answers)] == ["en-1", "en-3"]
    reasons = [one["reason"] for one in trial["failures"] if "reason" in one]
    assert len(reasons) == 2
    assert all("no such key" in one or "401" in one for one in reasons)


def test_a_model_is_told_of_the_talk_so_far_without_being_asked(cases: Path) -> None:
    llm = ScriptedLLM([well])
    [case] = [one for one in read_cases(cases) if one.context]
    live = running.Live({"extract": llm, "decide": llm}, 1)
    trial = running.run([case], "supersede", NEWEST, live=live)
    assert trial.outcomes[0].passed
    assert len(llm.requests) == 1
    assert trial.outcomes[0].answers[0].model == "fake:scripted"


def test_progress_is_told_case_by_case(cases: Path) -> None:
    told: list[tuple[str, int, int]] = []
    trial = running.run(read_cases(cases), "append", NEWEST, progress=lambda *step: told.append(step))
    assert told == [("append", done, 4) for done in (1, 2, 3, 4)]
    assert {one.fate for one in trial.outcomes} == {Fate.UNANSWERED}
    assert trial.prompts == (NEWEST["extract"],)


@pytest.fixture
def two_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A second version of the prompt for facts, which says one thing more; its id."""
    folder = tmp_path / "prompts"
    shutil.copytree(Path(prompts.__file__).parent, folder)
    newest = prompts.load("extract")
    newer = f"extract-{newest.version + 1}.txt"
    text = newest.text.replace("=== body\n", "=== body\nWrite „facts“ 🦊, not guesses.\n")
    (folder / newer).write_text(text, encoding="utf-8")
    monkeypatch.setattr("mnemic.prompts.resources", SimpleNamespace(files=lambda _: folder))
    for cached in (prompts.versions, prompts.read):
        cached.cache_clear()
    yield f"extract/{newest.version + 1}"
    for cached in (prompts.versions, prompts.read):
        cached.cache_clear()


def test_versions_of_a_prompt_are_compared(cases: Path, tmp_path: Path, two_versions: str) -> None:
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    older = NEWEST["extract"]
    run(cases, "--requests", requests)
    assert {one["prompt"] for one in rows(requests)} == {two_versions}
    assert all("„facts“ 🦊" in one["messages"][0]["content"] for one in rows(requests))
    both = ("--prompt", older, "--prompt", two_versions)
    run(cases, *both, "--requests", requests)
    assert [one["prompt"] for one in rows(requests)] == [older] * 4 + [two_versions] * 4
    play(requests, answers)
    first, second = report(cases, *both, "--answers", answers)
    assert (first["prompts"], second["prompts"]) == ([older], [two_versions])
    assert (first["passed"], second["passed"]) == (4, 4)
    assert "has no version 9" in run(cases, "--prompt", "extract/9", "--answers", answers, code=1).stderr
    assert "no part" in run(cases, "--prompt", "procedure/1", "--answers", answers, code=1).stderr


def test_wrong_usage_is_said(cases: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert "There is no llm to ask" in run(cases, code=1).stderr
    assert "'supersede'" in run(cases, "--mode", "supersed", "--requests", out, code=2).stderr
    assert "--record" in run(cases, "--record", out, "--answers", out, code=2).stderr
    assert "--record" in run(cases, "--record", out, "--requests", out, code=2).stderr
    assert "--least" in run(cases, "--least", "0.9", "--requests", out, code=2).stderr
    assert "--least" in run(cases, "--least", "90", code=2).stderr
    assert not out.exists()
    assert "cannot be read" in run(tmp_path / "none.jsonl", "--requests", out, code=1).stderr
    assert "cannot be read" in run(cases, "--answers", out, code=1).stderr


def test_cases_of_the_project_can_be_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of them, with the default embedder."""
    monkeypatch.delenv("MNEMIC_EMBEDDER")
    some = tmp_path / "some.jsonl"
    some.write_text("\n".join(DATA.read_text(encoding="utf-8").splitlines()[::10]), encoding="utf-8")
    requests = tmp_path / "requests.jsonl"
    run(some, "--requests", requests)
    assert [one["case"] for one in rows(requests)] == [case.id for case in read_cases(some)]
