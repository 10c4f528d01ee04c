"""What the outcomes of cases come to, and how that is shown: trials side by side, then every failure."""

from __future__ import annotations

import json

import pytest

from mnemic.cli import eval_prompts as shown
from mnemic.evals.prompts.answers import Answer
from mnemic.evals.prompts.cases import Case, Expected, Meets, Said
from mnemic.evals.prompts.judge import Drawn, Judgement
from mnemic.evals.prompts.report import Fate, Outcome, Passed, Trial, figures

WHOLE = Judgement(kept=2)
BROKEN = Judgement(
    kept=1,
    missed=('no fact holds "茶"',),
    invented=('"Likes\n"jam" 🦊" is nothing to keep', '"b" is nothing to keep'),
    wrongly_closed=('memory 1 ("Lives in Łódź") is ended',),
)
DRAWN = (Drawn('Likes\n"jam" 🦊', "user", ("2024-05",), (Meets(1, "ends"),)),)


def case(uid: str, language: str = "en", topic: str = "nothing") -> Case:
    return Case(uid, language, topic, (Said("user", "Hi"),), Expected())


def answer(uid: str, tokens_in: int | None, ms: float | None, model: str = "fake:one") -> Answer:
    return Answer(uid, "supersede", "extract", "extract/1", "ab", model, "2024-05-03", "{}", tokens_in, 7, ms)


FIRST = Trial(
    "supersede",
    ("extract/2",),
    (
        Outcome(case("en-1"), Fate.JUDGED, WHOLE, answers=(answer("en-1", 100, 10.0),)),
        Outcome(case("en-2", topic="list"), Fate.JUDGED, BROKEN, DRAWN, (answer("en-2", 1900, 30.25),)),
        Outcome(case("zh-1", "zh"), Fate.STALE, told="An older prompt."),
        Outcome(
            case("zh-2", "zh"), Fate.UNREADABLE, told="No JSON.", answers=(answer("zh-2", None, None, "b"),)
        ),
    ),
)
SECOND = Trial(
    "append",
    ("extract/1",),
    (
        *(Outcome(one.case, Fate.JUDGED, WHOLE) for one in FIRST.outcomes[:3]),
        Outcome(FIRST.outcomes[3].case, Fate.OUTAGE, told="No route."),
    ),
)


def test_figures_add_up() -> None:
    found = figures(FIRST)
    assert found.whole == Passed(4, 1)
    assert found.whole.share == 0.25
    assert found.languages == {"en": Passed(2, 1), "zh": Passed(2, 0)}
    assert found.topics == {"nothing": Passed(3, 1), "list": Passed(1, 0)}
    assert (found.kept, found.missed, found.invented, found.wrongly_closed) == (3, 1, 2, 1)
    assert (found.calls, found.tokens_in, found.tokens_out, found.ms_a_call) == (3, 2000, 21, 20.125)
    assert (found.models, found.dates) == (("b", "fake:one"), ("2024-05-03",))
    assert found.fates == {
        Fate.JUDGED: 2,
        Fate.UNREADABLE: 1,
        Fate.STALE: 1,
        Fate.UNANSWERED: 0,
        Fate.OUTAGE: 0,
    }
    assert figures(Trial("append", (), ())).whole.share == 0.0


def test_json_has_all() -> None:
    report = json.loads(json.dumps(shown.as_mapping([FIRST, SECOND])))
    first, second = report["trials"]
    failures = first.pop("failures")
    assert first == {
        "mode": "supersede",
        "prompts": ["extract/2"],
        "models": ["b", "fake:one"],
        "dates": ["2024-05-03"],
        "cases": 4,
        "passed": 1,
        "share": 0.25,
        "languages": {
            "en": {"cases": 2, "passed": 1, "share": 0.5},
            "zh": {"cases": 2, "passed": 0, "share": 0.0},
        },
        "topics": {
            "nothing": {"cases": 3, "passed": 1, "share": 0.3333},
            "list": {"cases": 1, "passed": 0, "share": 0.0},
        },
        "kept": 3,
        "missed": 1,
        "invented": 2,
        "wrongly_closed": 1,
        "calls": 3,
        "tokens_in": 2000,
        "tokens_out": 21,
        "ms_a_call": 20.1,
        "not_judged": {"unreadable": 1, "stale": 1, "unanswered": 0, "outage": 0},
    }
    assert failures == [
        {
            "id": "en-2",
            "language": "en",
            "topic": "list",
            "missed": list(BROKEN.missed),
            "invented": list(BROKEN.invented),
            "wrongly_closed": list(BROKEN.wrongly_closed),
            "drawn": [
                {
                    "text": 'Likes\n"jam" 🦊',
                    "about": "user",
                    "dates": ["2024-05"],
                    "meets": [{"memory": 1, "how": "ends"}],
                }
            ],
        },
        {
            "id": "zh-1",
            "language": "zh",
            "topic": "nothing",
            "not_judged": "stale",
            "reason": "An older prompt.",
        },
        {
            "id": "zh-2",
            "language": "zh",
            "topic": "nothing",
            "not_judged": "unreadable",
            "reason": "No JSON.",
        },
    ]
    assert [one["id"] for one in second["failures"]] == ["zh-2"]


def test_people_see_the_trials_side_by_side(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown.show_report(shown.as_mapping([FIRST, SECOND]))
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    for row in (
        "supersede append",
        "extract/2 extract/1",
        "passed whole 1 of 4, 25.0% 3 of 4, 75.0%",
        "zh 0 of 2 1 of 2",
        "list 0 of 1 1 of 1",
        "wrongly closed 1 0",
        "tokens in 2,000 -",
        "ms a call 20 -",
        "stale 1 0",
        "outage 0 1",
    ):
        assert row.split() in rows, row
    assert ["unanswered", "0", "0"] not in rows
    assert "supersede: extract/2: 3 cases not passed" in printed
    assert (
        '  en-2 missed: no fact holds "茶"\n       invented: "Likes "jam" 🦊" is nothing to keep' in printed
    )
    assert 'wrongly closed: memory 1 ("Lives in Łódź") is ended' in printed
    assert "  zh-1 stale: An older prompt." in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_topics_that_pass_whole_are_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    whole = Trial("append", ("extract/1",), (Outcome(case("en-1"), Fate.JUDGED, WHOLE),))
    shown.show_report(shown.as_mapping([whole]))
    printed = capsys.readouterr().out
    assert "All topics pass whole." in printed
    assert "nothing" not in printed
