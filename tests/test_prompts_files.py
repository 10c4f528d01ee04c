"""Files of cases, requests and answers: what is read, what is written, and how errors name line and field."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import ValidationError
from mnemic.evals.prompts.answers import (
    Answer,
    Answers,
    Recording,
    Request,
    fingerprint,
    read_answers,
    write_requests,
)
from mnemic.evals.prompts.cases import Case, Entry, Expected, Known, Meets, Said, read_cases

DATA = Path(__file__).parent / "data" / "prompts" / "cases.jsonl"


def full() -> dict[str, Any]:
    """A case with every field."""
    return {
        "id": "mix-001",
        "language": "mixed",
        "topic": "moved-house",
        "messages": [
            {
                "role": "user",
                "name": "Zoë",
                "content": 'Ich "ziehe"\num 🦊',
                "timestamp": "2024-05-03T10:00:00+02:00",
            },
            {"role": "assistant", "content": "好的"},
        ],
        "context": [{"role": "assistant", "content": "Wohin?"}],
        "memories": [{"text": "Wohnt in Köln", "since": "2019-03"}, {"text": "养猫"}],
        "scope": "agent",
        "expect": {
            "keep": [
                {
                    "any": ["Łódź", "Lodz"],
                    "all": ["wohnt"],
                    "about": "Zoë",
                    "when": "2024-05",
                    "meets": {"memory": 1, "how": "changes"},
                }
            ],
            "ends": [2],
            "not": ["Köln"],
            "untouched": [1, 2],
            "at_most": 1,
        },
    }


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_case_is_read_whole(tmp_path: Path) -> None:
    short = {
        "id": "en-1",
        "language": "en",
        "topic": "nothing",
        "messages": [{"role": "user", "content": "Hi"}],
        "expect": {"keep": []},
    }
    path = write(tmp_path / "cases.jsonl", full(), short)
    path.write_text("\ufeff" + path.read_text(encoding="utf-8").replace("\n", "\r\n\r\n"), encoding="utf-8")
    assert read_cases(path) == (
        Case(
            id="mix-001",
            language="mixed",
            topic="moved-house",
            messages=(
                Said("user", 'Ich "ziehe"\num 🦊', "Zoë", "2024-05-03T10:00:00+02:00"),
                Said("assistant", "好的"),
            ),
            expect=Expected(
                keep=(Entry(("Łódź", "Lodz"), ("wohnt",), "Zoë", "2024-05", Meets(1, "changes")),),
                ends=(2,),
                never=("Köln",),
                untouched=(1, 2),
                at_most=1,
            ),
            context=(Said("assistant", "Wohin?"),),
            memories=(Known("Wohnt in Köln", "2019-03"), Known("养猫")),
            scope="agent",
        ),
        Case("en-1", "en", "nothing", (Said("user", "Hi"),), Expected()),
    )


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["id"], None, "id must be a text, not None"),
        (["id"], " ", "id must be a text"),
        (["topik"], "x", "topik is unknown (did you mean 'topic'?)"),
        (["messages"], [], "messages must hold at least one message"),
        (["messages"], {}, "messages must be a list, not {}"),
        (["messages", 1], "Hi", "messages[1] must be an object, not 'Hi'"),
        (["messages", 1, "role"], "system", "messages[1].role must be one of user, assistant, not 'system'"),
        (["messages", 1, "content"], "", "messages[1].content must be a text"),
        (["messages", 0, "timestamp"], "2024-05-03T10:00", "messages[0].timestamp must be an ISO time"),
        (["messages", 0, "timestamp"], "yesterday", "messages[0].timestamp must be an ISO time"),
        (["context", 0, "who"], "x", "context[0].who is unknown"),
        (["memories", 0, "since"], "March", "memories[0].since must be a year, month or day"),
        (["memories", 0, "since"], "2024-02-30", "memories[0].since must be a year, month or day"),
        (["memories", 0, "text"], 7, "memories[0].text must be a text, not 7"),
        (["scope"], "run", "scope must be one of user, agent"),
        (["expect"], [], "expect must be an object"),
        (["expect", "keeps"], [], "expect.keeps is unknown (did you mean 'keep'?)"),
        (["expect", "keep"], "tea", "expect.keep must be a list"),
        (["expect", "keep", 0], {}, "expect.keep[0].any is missing"),
        (["expect", "keep", 0, "any"], "tea", "expect.keep[0].any must be a list"),
        (["expect", "keep", 0, "any"], ["tea", ""], "expect.keep[0].any must be a list of texts"),
        (["expect", "keep", 0, "when"], "2024-13", "expect.keep[0].when must be a year, month or day"),
        (["expect", "keep", 0, "meets"], 1, "expect.keep[0].meets must be an object"),
        (
            ["expect", "keep", 0, "meets", "how"],
            "forgets",
            "expect.keep[0].meets.how must be one of changes,",
        ),
        (
            ["expect", "keep", 0, "meets", "memory"],
            3,
            "keep[0].meets.memory must be a whole number from 1 to 2",
        ),
        (["expect", "ends"], [0], "expect.ends[0] must be a whole number from 1 to 2, not 0"),
        (["expect", "untouched"], [1, True], "expect.untouched[1] must be a whole number"),
        (["expect", "not"], [3], "expect.not must be a list of texts"),
        (["expect", "at_most"], -1, "expect.at_most must be a whole number from 0 on, not -1"),
        (["expect", "at_most"], None, "expect.at_most must be a whole number from 0 on, not None"),
    ],
)
def test_an_error_names_line_and_field(tmp_path: Path, path: list[Any], value: Any, told: str) -> None:
    row = full()
    holder: Any = row
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    file = write(tmp_path / "cases.jsonl", {**full(), "id": "first"}, row)
    with pytest.raises(ValidationError) as fault:
        read_cases(file)
    assert str(fault.value).startswith("cases.jsonl, line 2: ")
    assert told in str(fault.value)


def test_an_expectation_without_keep_says_nothing(tmp_path: Path) -> None:
    row = full()
    del row["expect"]["keep"]
    with pytest.raises(ValidationError, match=r"line 1: expect\.keep is missing"):
        read_cases(write(tmp_path / "cases.jsonl", row))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no cases"),
        ("\n{", "line 2: this is not JSON"),
        ("[]", "line 1: this is not an object but []"),
        (f"{json.dumps(full())}\n{json.dumps(full())}", "line 2: id 'mix-001' occurs twice"),
    ],
)
def test_what_is_no_file_of_cases_is_said(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValidationError) as fault:
        read_cases(path)
    assert told in str(fault.value)
    path.write_bytes(b"\xff")
    with pytest.raises(ValidationError, match="not UTF-8"):
        read_cases(path)
    with pytest.raises(ValidationError, match="No such file"):
        read_cases(tmp_path / "none.jsonl")


def test_the_cases_of_the_project_are_read() -> None:
    cases = read_cases(DATA)
    assert len(cases) == 190
    assert sum(not case.expect.keep for case in cases) == 44
    assert sum(case.scope == "agent" for case in cases) == 6
    entries = [entry for case in cases for entry in case.expect.keep]
    assert len(entries) == 191
    assert sum(entry.when is not None for entry in entries) == 25
    assert sum(entry.meets is not None for entry in entries) == 55


# --- requests and answers --------------------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"))
MESSAGES = st.lists(st.fixed_dictionaries({"role": TEXT, "content": TEXT}), max_size=3)


@given(MESSAGES, MESSAGES)
def test_the_fingerprint_tells_messages_apart(one: list[dict[str, str]], other: list[dict[str, str]]) -> None:
    assert (fingerprint(one) == fingerprint(other)) is (one == other)
    assert fingerprint([{"content": m["content"], "role": m["role"]} for m in one]) == fingerprint(one)


def test_the_fingerprint_is_as_documented() -> None:
    # printf '%s' '[{"content":"Grüße 🦊","role":"user"}]' | sha256sum
    assert fingerprint([{"role": "user", "content": "Grüße 🦊"}]) == (
        "b0123b321ea690ee69d023370aed8ad6ae8c6bec49ec658053131ca0cf041bc7"
    )


REQUEST = Request(
    "en-1", "supersede", "extract", "extract/1", "ab12", ({"role": "user", "content": "茶\n🦊"},)
)
ANSWER = Answer(
    case="en-1",
    mode="supersede",
    stage="extract",
    prompt="extract/1",
    sha256="ab12",
    model="fake:one",
    date="2024-05-03",
    reply='{"facts": ["茶"]}\n🦊',
    tokens_in=12,
    tokens_out=None,
    ms=3.5,
)


def test_requests_hold_what_is_sent_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text("older\n", encoding="utf-8")
    write_requests(path, [REQUEST])
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [
        {
            "case": "en-1",
            "mode": "supersede",
            "stage": "extract",
            "prompt": "extract/1",
            "sha256": "ab12",
            "messages": [{"role": "user", "content": "茶\n🦊"}],
        }
    ]
    with pytest.raises(ValidationError, match="cannot be written"):
        write_requests(tmp_path / "none" / "requests.jsonl", [REQUEST])


def test_recorded_answers_are_found_by_what_they_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    recording = Recording(path)
    assert path.read_text(encoding="utf-8") == ""
    Recording(path).add(ANSWER)
    recording.add(replace(ANSWER, reply="later"))
    found = read_answers(path)
    assert found.of(REQUEST) == replace(ANSWER, reply="later")
    assert found.of(replace(REQUEST, mode="append")) == found.of(REQUEST)
    for other in ({"sha256": "ab13"}, {"case": "en-2"}):
        assert found.of(replace(REQUEST, **other)) is None  # type: ignore[arg-type]
    assert found.has_stage(replace(REQUEST, sha256="ab13"))
    assert not found.has_stage(replace(REQUEST, stage="decide"))
    assert not found.has_stage(replace(REQUEST, mode="append"))
    assert Answers().of(REQUEST) is None
    with pytest.raises(ValidationError, match="cannot be written"):
        Recording(tmp_path)


def test_threads_record_whole_lines(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "answers.jsonl")
    answers = [replace(ANSWER, case=f"en-{n}", reply="🦊\n" * 500) for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(recording.add, answers))
    found = read_answers(tmp_path / "answers.jsonl")
    assert all(found.of(replace(REQUEST, case=one.case)) == one for one in answers)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"reply": None}, "reply must be the text"),
        ({"sha256": ""}, "sha256 must be a text"),
        ({"date": "May"}, "date must be a day"),
        ({"tokens_in": -1}, "tokens_in must be a whole number from 0 on"),
        ({"ms": "3"}, "ms must be a number from 0 on"),
        ({"ms": True}, "ms must be a number from 0 on"),
        ({"note": "x"}, "note is unknown"),
    ],
)
def test_what_is_no_answer_is_said(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = write(tmp_path / "answers.jsonl", asdict(ANSWER), {**asdict(ANSWER), **change})
    with pytest.raises(ValidationError) as fault:
        read_answers(path)
    assert str(fault.value).startswith("answers.jsonl, line 2: ")
    assert told in str(fault.value)


def test_an_empty_reply_and_unknown_costs_are_answers(tmp_path: Path) -> None:
    row = asdict(replace(ANSWER, reply=""))
    for name in ("tokens_in", "tokens_out", "ms"):
        del row[name]
    found = read_answers(write(tmp_path / "answers.jsonl", row)).of(REQUEST)
    assert found == replace(ANSWER, reply="", tokens_in=None, tokens_out=None, ms=None)
