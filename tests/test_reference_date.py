"""Time words through the faces: `reference_date`, what may answer, and what explain and why tell of it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import MakeMemory
from mnemic import Memory, ValidationError
from mnemic.cli.app import app
from mnemic.recall.recipe import DEFAULT


@pytest.fixture
def moved(m: Memory) -> Memory:
    """Somebody who moved twice, with a cat and an opera in between."""
    for text, day in [
        ("I live in Lisbon.", "2021-02-10"),
        ('I have a cat called "Miso" 🐈.', "2021-05-02"),
        ("I moved to Porto.", "2022-03-05"),
        ("I moved to Berlin.", "2023-06-10"),
    ]:
        m.add(text, user_id="ann", timestamp=day)
    m.add(
        facts=[{"text": "Saw Tosca at the opera", "event_date": "2022-08-03"}],
        user_id="ann",
        timestamp="2024-01-01",
    )
    return m


def search(m: Memory, query: str, **more: Any) -> list[str]:
    return [item["memory"] for item in m.search(query, user_id="ann", **more)["results"]]


def test_what_has_ended_answers_a_question_about_its_time(moved: Memory) -> None:
    assert search(moved, "Where do I live?")[0] == "I moved to Berlin."
    assert "I live in Lisbon." not in search(moved, "Where do I live now?")
    assert search(moved, "Where did I live before Porto?")[0] == "I live in Lisbon."
    assert search(moved, "Where did I live before I moved to Berlin?")[0] == "I moved to Porto."
    assert search(moved, "Where did I live in 2022?")[0] == "I moved to Porto."
    assert "I live in Lisbon." in search(moved, "When did I live in Lisbon?")


@pytest.mark.parametrize(
    ("now", "home"),
    [
        ("2023-01-15", "I live in Lisbon."),
        (datetime(2023, 1, 15, tzinfo=UTC), "I live in Lisbon."),
        (date(2023, 1, 15), "I live in Lisbon."),
        (1673740800, "I live in Lisbon."),
        (1673740800000, "I live in Lisbon."),
        ("2024", "I moved to Porto."),
    ],
)
def test_the_reference_date_is_what_now_means(moved: Memory, now: Any, home: str) -> None:
    # A year before: 2022 is Porto's but for two months, 2021 is Lisbon's.
    year = "two years ago" if home == "I live in Lisbon." else "the year before last"
    assert search(moved, f"Where did I live {year}?", reference_date=now)[0] == home


def test_a_naive_reference_date_is_read_in_the_configured_zone(make_memory: MakeMemory) -> None:
    m = make_memory(timezone="Asia/Shanghai")
    m.add(facts=[{"text": "Met Li at the lake", "event_date": "2023-12-31"}], user_id="ann")
    m.add(facts=[{"text": "Met Wu at the lake", "event_date": "2024-01-01"}], user_id="ann")
    asked = "Who did I meet at the lake yesterday?"
    assert search(m, asked, reference_date="2024-01-01T00:30:00")[0] == "Met Li at the lake"
    # The same words, a day later there and not yet in UTC.
    assert search(m, asked, reference_date="2024-01-01T17:00:00+00:00")[0] == "Met Wu at the lake"


@pytest.mark.parametrize("value", ["soon", "2023-02-30", True, [], float("nan")])
def test_what_is_no_time_is_refused(moved: Memory, value: Any) -> None:
    for ask in (moved.search, lambda *a, **k: moved.why(*a, expect="x", **k)):
        with pytest.raises(ValidationError, match="reference_date"):
            ask("Where do I live?", user_id="ann", reference_date=value)


def test_it_changes_nothing_without_time_words(moved: Memory) -> None:
    plain = moved.search("Where do I live?", user_id="ann", explain=True)
    assert moved.search("Where do I live?", user_id="ann", explain=True, reference_date="1999-01-01") == plain
    assert "time" not in plain["explain"]
    assert "temporal" not in plain["explain"]["arms"]


def test_explicit_times_and_states_keep_their_meaning(moved: Memory) -> None:
    asked = "Where did I live before Porto?"
    assert "I moved to Porto." not in search(moved, asked, as_of="2021-06-01")
    assert "I live in Lisbon." in search(moved, "Where do I live now?", include_superseded=True)
    [first, *_] = search(moved, "Where did I live before?", as_of="2022-06-01")
    assert first == "I moved to Porto."


def test_explain_tells_the_time_words_the_window_and_the_anchor(moved: Memory) -> None:
    found = moved.search(
        "Where did I live before Porto?", user_id="ann", explain=True, reference_date="2024-05-01"
    )
    time = found["explain"]["time"]
    [porto] = [i for i in found["results"] if i["memory"] == "I moved to Porto."]
    assert time["anchor"] == {"words": "Porto", "memory_id": porto["id"]}
    assert (time["relation"], time["words"], time["rest"]) == (
        "before",
        ["before Porto"],
        "Where did I live?",
    )
    assert time["asked_at"] == "2024-05-01T00:00:00+00:00"
    assert found["explain"]["arms"]["temporal"] == DEFAULT.temporal
    details = found["results"][0]["score_details"]
    assert details["arms"]["temporal"]["value"] == 1.0
    assert details["final_score"] == found["results"][0]["score"]
    assert porto["score_details"]["arms"]["temporal"]["value"] == 0.0
    window = moved.search("Where did I live in 2022?", user_id="ann", explain=True)["explain"]["time"]
    assert (window["from"], window["to"]) == ("2022-01-01T00:00:00+00:00", "2023-01-01T00:00:00+00:00")
    assert "anchor" not in window


def test_an_anchor_that_no_memory_tells_leaves_the_question_as_it_stands(make_memory: MakeMemory) -> None:
    m = make_memory(embedder="none")
    m.add("I live in Lisbon.", user_id="ann", timestamp="2021-02-10")
    m.add("I moved to Porto.", user_id="ann", timestamp="2022-03-05")
    found = m.search("Where did I live before the qwxz blorf?", user_id="ann", explain=True)
    assert found["explain"]["time"]["anchor"] == {"words": "the qwxz blorf", "memory_id": None}
    assert set(found["explain"]["words"]) == {"live", "befor", "qwxz", "blorf"}
    assert "temporal" not in found["explain"]["arms"]
    assert found["results"][0]["memory"] == "I live in Lisbon."
    assert m.why("Where did I live before the qwxz blorf?", expect="Lisbon", user_id="ann")["rank"] == 1


def test_a_memory_that_only_mentions_the_anchor_beside_is_not_it(m: Memory) -> None:
    m.add(facts=["Lived in Rome before moving to Oslo"], user_id="ann", timestamp="2018-01-01")
    m.add(
        facts=[{"text": "Lived in Bern", "valid_from": "2017", "valid_to": "2019"}],
        user_id="ann",
        timestamp="2024-01-01",
    )
    m.add(facts=[{"text": "Moved to Oslo", "valid_from": "2020-04"}], user_id="ann", timestamp="2024-01-01")
    found = m.search("Where have I lived before Oslo?", user_id="ann", explain=True)
    [oslo] = [item["id"] for item in m.get_all(user_id="ann")["results"] if item["memory"] == "Moved to Oslo"]
    assert found["explain"]["time"]["anchor"]["memory_id"] == oslo


def test_what_was_kept_word_for_word_is_no_anchor(make_memory: MakeMemory) -> None:
    m = make_memory(embedder="none")
    m.add("We talked about the accident.", user_id="ann", timestamp="2023-03-01", infer=False)
    m.add(facts=["Plays the cello"], user_id="ann", timestamp="2023-04-01")
    time = m.search("What did I play after the accident?", user_id="ann", explain=True)["explain"]["time"]
    assert time["anchor"] == {"words": "the accident", "memory_id": None}


def test_why_follows_a_text_to_its_place_by_time(moved: Memory) -> None:
    asked = "Where did I live before Porto?"
    found = moved.why(asked, expect="Lisbon", user_id="ann", reference_date="2024-05-01")
    assert (found["missing_at"], found["rank"]) == (None, 1)
    assert found["score_details"]["arms"]["temporal"]["value"] == 1.0
    assert "temporal" in found["score_details"]["reason"]
    assert moved.why("Where do I live?", expect="Lisbon", user_id="ann")["missing_at"] == "eligible"


def test_items_show_the_day_of_their_event(moved: Memory) -> None:
    items = {
        item["memory"]: item for item in moved.get_all(user_id="ann", include_superseded=True)["results"]
    }
    assert items["Saw Tosca at the opera"]["event_date"] == "2022-08-03"
    assert "event_date" not in items["I live in Lisbon."]
    assert search(moved, "What was at the opera in August 2022?")[0] == "Saw Tosca at the opera"


def test_the_command_line_takes_it_too(moved: Memory, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    arguments = ["search", "Where did I live two years ago?", "-u", "ann", "--store", store, "--json"]
    run = CliRunner().invoke(app, [*arguments, "--reference-date", "2023-01-15"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["results"][0]["memory"] == "I live in Lisbon."
    asked = ["why", "Where did I live before Porto?", "-e", "Lisbon", "-u", "ann", "--store", store, "--json"]
    run = CliRunner().invoke(app, [*asked, "--reference-date", "1673740800"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["rank"] == 1
    run = CliRunner().invoke(app, [*arguments, "--reference-date", "soon"])
    assert run.exit_code == 1
    assert "reference_date" in run.output
