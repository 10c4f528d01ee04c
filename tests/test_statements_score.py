"""The scorer, and the bars that the extractor is held to on the labelled messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.evals.statements import Case, Score, Unit, evaluate, halves, read_cases, report, score, total

DATA = Path(__file__).parent / "data" / "statements"

CASE = Case("x-3", "aaaa bbbb cccc", (Unit(0, 4, "keep"), Unit(5, 9, "drop"), Unit(10, 14, "either")))


@pytest.mark.parametrize(
    ("kept", "worth", "found"),
    [
        ((), 0, 0),
        (((0, 4),), 1, 1),
        (((0, 2),), 0, 0),
        (((0, 3),), 1, 1),
        (((5, 9),), 0, 0),
        (((10, 14),), 1, 0),
        (((0, 9),), 1, 1),
        (((5, 9), (10, 14), (0, 4)), 2, 1),
    ],
)
def test_a_statement_covers_what_it_overlaps_by_more_than_half(
    kept: tuple[tuple[int, int], ...], worth: int, found: int
) -> None:
    one = score(CASE, kept)
    assert (one.kept, one.worth, one.wanted, one.found) == (len(kept), worth, 1, found)
    assert len(one.unworthy) == one.kept - one.worth
    assert len(one.missed) == one.wanted - one.found


def test_shares_of_nothing_are_perfect_and_sums_add_up() -> None:
    assert (Score().precision, Score().missed_share) == (1.0, 0.0)
    both = total([score(CASE, ((5, 9),)), score(CASE, ((0, 4),))])
    assert (both.precision, both.missed_share) == (0.5, 0.5)
    assert both.unworthy == (("x-3", "bbbb"),)
    assert both.missed == (("x-3", "aaaa"),)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_case_is_read_and_no_unit_lost(language: str) -> None:
    cases = read_cases(DATA / f"messages_{language}.jsonl")
    parts = halves(cases)
    assert (len(cases), len(parts["odd"]), len(parts["even"])) == (200, 100, 100)
    for case in cases:
        bare = "".join(case.content[unit.start : unit.end] for unit in case.units)
        assert "".join(bare.split()) == "".join(case.content.split())


def test_the_bars_hold_in_both_languages_and_failures_are_listed() -> None:
    scores = evaluate(DATA)
    for one in scores.values():
        assert one.precision >= 0.9, one.unworthy
        assert one.missed_share <= 0.1, one.missed
    text = report(DATA)
    whole = [scores[language, "all"] for language in ("en", "zh")]
    for one in whole:
        for case, said in (*one.unworthy, *one.missed):
            assert case in text
            assert " ".join(said.split()) in text
