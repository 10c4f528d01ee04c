"""`mnemic eval statements`: the figures of the extractor, the closings, and every failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mnemic.cli import eval_statements as measuring
from mnemic.cli.app import app

DATA = Path(__file__).parent / "data" / "statements"


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A few labelled messages and pairs, of which some cannot but fail."""
    keep, drop = "I keep bees in Tromsø.", 'Hello "there" 🦊!'
    lines(
        tmp_path / "messages_en.jsonl",
        [
            {
                "id": "en-001",
                "content": f"{drop} {keep}",
                "units": [{"text": drop, "label": "drop"}, {"text": keep, "label": "keep"}],
            },
            {"id": "en-002", "content": keep, "units": [{"text": keep, "label": "drop"}]},
            {"id": "en-003", "content": "Thanks!", "units": [{"text": "Thanks!", "label": "keep"}]},
        ],
    )
    lines(
        tmp_path / "messages_zh.jsonl",
        [{"id": "zh-001", "content": "我养蜂。", "units": [{"text": "我养蜂。", "label": "keep"}]}],
    )
    old = "I live in Oslo."
    lines(
        tmp_path / "changes.jsonl",
        [
            {"id": "ch-1", "lang": "en", "old": old, "new": "I moved to Bergen.", "closes": True},
            {"id": "ch-2", "lang": "en", "old": old, "new": "Nice weather today!", "closes": True},
        ],
    )
    lines(
        tmp_path / "near_misses.jsonl",
        [
            {
                "id": "nm-1",
                "lang": "en",
                "old": old,
                "new": "I moved to Bergen.",
                "closes": False,
                "why": "x",
            },
            {
                "id": "nm-2",
                "lang": "zh",
                "old": "我养蜂。",
                "new": "我养猫。",
                "closes": False,
                "why": "两样",
            },
        ],
    )
    return tmp_path


def run(*args: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["eval", "statements", *args])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_figures_and_failures_are_told(folder: Path) -> None:
    report = json.loads(run(str(folder), "--json").stdout)
    assert report["messages"]["en"] == {
        "odd": {"kept": 1, "worth_keeping": 1.0, "to_keep": 2, "missed": 0.5},
        "even": {"kept": 1, "worth_keeping": 0.0, "to_keep": 0, "missed": 0.0},
        "all": {"kept": 2, "worth_keeping": 0.5, "to_keep": 2, "missed": 0.5},
    }
    assert report["messages"]["zh"]["all"]["missed"] == 0.0
    assert report["closings"] == {
        "en": {"changes": 2, "closed": 1, "near_misses": 1, "wrongly_closed": 1},
        "zh": {"changes": 0, "closed": 0, "near_misses": 1, "wrongly_closed": 0},
    }
    failures = report["failures"]
    assert failures["en"] == {
        "not_worth_keeping": [{"id": "en-002", "text": "I keep bees in Tromsø."}],
        "missed": [{"id": "en-003", "text": "Thanks!"}],
    }
    assert [one["id"] for one in failures["not_closed"]] == ["ch-2"]
    assert [one["id"] for one in failures["wrongly_closed"]] == ["nm-1"]


def test_people_see_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run(str(folder)).stdout
    assert ["en", "all", "2", "50.0%", "2", "50.0%"] in [line.split() for line in shown.splitlines()]
    assert "bars: worth keeping at least 90%, missed at most 10%" in shown
    assert "en: 1 of 2 changes close the old statement, 1 of 1 near-misses do" in shown
    for failure in (
        "en-002 I keep bees in Tromsø.",
        "en-003 Thanks!",
        "ch-2 I live in Oslo. -> Nice weather",
    ):
        assert failure in shown
    assert "wrongly closed: 1\n  nm-1 I live in Oslo. -> I moved to Bergen." in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_nothing_is_left_behind(folder: Path, home: Path) -> None:
    before = sorted(folder.iterdir())
    run(str(folder))
    assert sorted(folder.iterdir()) == before
    assert not home.exists()


@pytest.mark.parametrize("spoiled", ["messages_zh.jsonl", "changes.jsonl", "near_misses.jsonl"])
@pytest.mark.parametrize("text", [None, "not JSON", '{"id": "x-1"}'])
def test_a_folder_of_something_else_is_one_line(folder: Path, spoiled: str, text: str | None) -> None:
    if text is None:
        (folder / spoiled).unlink()
    else:
        (folder / spoiled).write_text(text, encoding="utf-8")
    done = run(str(folder), code=1)
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert "no folder of labelled statements" in done.stderr
    run(code=2)


def test_a_holdout_is_measured_apart(folder: Path) -> None:
    text = "I keep goats."
    lines(
        folder / "holdout_en.jsonl",
        [{"id": "ho-en-001", "content": text, "units": [{"text": text, "label": "drop"}]}],
    )
    report = json.loads(run(str(folder), "--json").stdout)
    assert list(report["messages"]["en"]) == ["odd", "even", "all", "holdout"]
    assert list(report["messages"]["zh"]) == ["odd", "even", "all"]
    assert report["messages"]["en"]["holdout"]["worth_keeping"] == 0.0
    assert report["failures"]["en holdout"]["not_worth_keeping"] == [{"id": "ho-en-001", "text": text}]


def test_one_half_of_the_attributes_is_counted_and_not_listed(folder: Path) -> None:
    pairs = [
        {"id": f"ac-en-{number}", "lang": "en", "old": "I live in Oslo.", "new": "Hm.", "closes": True}
        for number in (1, 2, 4)
    ]
    lines(folder / "attributes_changes.jsonl", pairs)
    report = json.loads(run(str(folder), "--json").stdout)
    assert {name: row["changes"] for name, row in report["closings"].items() if "attributes" in name} == {
        "en attributes odd": 1,
        "en attributes even": 2,
    }
    assert [one["id"] for one in report["failures"]["not_closed"]] == ["ch-2", "ac-en-1"]


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """The report on the project's own cases."""
    return dict(json.loads(run(str(DATA), "--json").stdout))


def test_all_cases_of_the_project_take_part(whole: dict[str, Any]) -> None:
    counted = {name: (row["changes"], row["near_misses"]) for name, row in whole["closings"].items()}
    known = {"en": (50, 50), "zh": (50, 50), "en holdout": (25, 35), "zh holdout": (25, 35)}
    known |= {f"{language} attributes odd": (33, 33) for language in ("en", "zh")}
    known |= {f"{language} attributes even": (22, 22) for language in ("en", "zh")}
    assert counted == known
    for language in ("en", "zh"):
        assert list(whole["messages"][language]) == ["odd", "even", "all", "holdout"]
        for part, name in (("all", language), ("holdout", f"{language} holdout")):
            figures, wrong = whole["messages"][language][part], whole["failures"][name]
            assert len(wrong["missed"]) == round(figures["missed"] * figures["to_keep"])
            assert len(wrong["not_worth_keeping"]) == round((1 - figures["worth_keeping"]) * figures["kept"])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("part", ["odd", "even"])
def test_the_bars_are_kept(whole: dict[str, Any], language: str, part: str) -> None:
    figures = whole["messages"][language][part]
    assert figures["worth_keeping"] >= measuring.LEAST_WORTH
    assert figures["missed"] <= measuring.MOST_MISSED
    assert [row["wrongly_closed"] for row in whole["closings"].values()] == [0] * len(whole["closings"])
