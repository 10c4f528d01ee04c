"""The temporal arm: what fits a time asked about, and what must hold whatever is asked."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.clock import to_instant
from mnemic.recall.explain import explain
from mnemic.recall.fuse import rank
from mnemic.recall.index import ScopeIndex
from mnemic.recall.recipe import DEFAULT
from mnemic.recall.snapshot import Snapshot
from mnemic.recall.time_words import TimeWords
from mnemic.recall.timing import Anchor, Timing, fits, is_known, timing
from mnemic.records import IndexRow
from recall_rows import OWNER, everything, query, row, scored


def at(day: str) -> int:
    return to_instant(datetime.fromisoformat(day).replace(tzinfo=UTC))


NOW = at("2024-06-01")


def lived(no: int, words: str, since: str | None, until: str | None = None, **fields: object) -> IndexRow:
    """A row that holds from one day to another, said on the day from which it holds unless told otherwise."""
    begun = None if since is None else at(since)
    told = {"valid_from": begun, "observed_at": at("2024-01-01") if begun is None else begun}
    return row(no, words, no, valid_to=None if until is None else at(until), **(told | fields))


HOMES = [
    lived(1, "home rome", "2018-01-01", "2020-03-01", successor_no=2),
    lived(2, "home oslo", "2020-03-01", "2022-05-01", successor_no=3),
    lived(3, "home riga", "2022-05-01"),
    row(4, "opera vienna", 4, event_date="2021-02-03", observed_at=at("2024-01-01")),
    lived(5, "cat called miso", None, observed_at=at("2019-06-01")),
]
HOME = ScopeIndex(OWNER, HOMES).snapshot()


def asked(relation: str, first: str = "", after: str = "", notion: str = "none") -> Timing:
    window = (at(first), at(after)) if first else None
    words = TimeWords(notion, "rest", (), relation, window)  # type: ignore[arg-type]
    found = timing(words, NOW, UTC, None)
    assert found is not None
    return found


def fit(which: Timing, snapshot: Snapshot = HOME) -> dict[str, float]:
    [values] = fits([snapshot], which)
    return {
        uid.decode().lstrip("0"): float(value)
        for uid, value in zip(snapshot.rows["uid"], values, strict=True)
    }


def best(which: Timing) -> str:
    values = fit(which)
    return max(values, key=lambda uid: values[uid])


def test_a_window_is_fitted_by_what_held_or_happened_in_it() -> None:
    assert fit(asked("during", "2019-01-01", "2020-01-01"))["1"] == 0.9
    in_2021 = fit(asked("during", "2021-01-01", "2022-01-01"))
    assert in_2021["4"] == 1.0
    assert in_2021["2"] == 0.9
    assert in_2021["1"] < 0.2
    assert in_2021["3"] == 0.0
    # What is only known to have been said before may still hold, but less surely.
    assert 0.2 < in_2021["5"] < in_2021["2"]


def test_before_after_since_and_until_a_window() -> None:
    assert best(asked("before", "2020-03-01", "2020-04-01")) == "1"
    assert fit(asked("before", "2020-03-01", "2020-04-01"))["2"] == 0.0
    assert best(asked("after", "2022-01-01", "2022-02-01")) == "3"
    since = fit(asked("since", "2022-01-01", "2023-01-01"))
    assert since["3"] == 1.0
    assert since["1"] == 0.0
    assert 0 < since["2"] < 1
    assert best(asked("until", "2022-04-01", "2022-06-01")) == "2"


def test_the_past_is_what_has_ended_latest_first() -> None:
    values = fit(asked("", notion="past"))
    assert values["2"] > values["1"] > values["4"] > values["3"]
    changed = fit(asked("", notion="change"))
    assert changed["1"] == changed["2"] == 1.0
    assert changed["3"] > changed["5"]


def anchored(row_no: int, relation: str, lasting: bool = False, ending: bool = False) -> Timing:
    words = TimeWords("none", "rest", (), relation, anchor="it", lasting=lasting, ending=ending)  # type: ignore[arg-type]
    chosen = HOMES[row_no - 1]
    begins = chosen.valid_from or at("2021-02-03")
    ends = at("2021-02-04") if row_no == 4 else chosen.valid_to
    anchor = Anchor(0, row_no - 1, chosen.uid, begins, ends, row_no == 4, True)
    found = timing(words, NOW, UTC, anchor)
    assert found is not None
    return found


def test_an_anchor_is_followed_along_its_chain_and_is_no_answer_itself() -> None:
    before = fit(anchored(3, "before"))
    assert before["2"] == 1.0
    assert before["2"] > before["1"] > 0.5
    assert before["3"] == 0.0
    after = fit(anchored(1, "after"))
    assert after["2"] == 1.0
    assert after["2"] > after["3"] > 0.5
    assert after["1"] == 0.0


def test_what_lasted_gives_all_its_time_and_an_event_its_day() -> None:
    assert fit(anchored(2, "during", lasting=True))["4"] == 1.0
    assert fit(anchored(4, "during"))["2"] == 0.9
    assert fit(anchored(4, "during"))["3"] == 0.0
    # "After I left Oslo" is after the end of living there.
    assert fit(anchored(2, "after", ending=True))["3"] == 1.0


def test_without_time_words_nothing_is_weighed_and_scores_are_the_same() -> None:
    plain = rank([HOME], query("home"), everything(HOME), 10)
    silent = rank([HOME], query("home"), everything(HOME), 10, timing=None)
    assert scored(plain) == scored(silent)
    assert all("temporal" not in evidence.rows for evidence in plain.evidence)


def test_time_orders_what_words_find_and_finds_nothing_itself() -> None:
    which = asked("during", "2021-01-01", "2022-01-01")
    hits = scored(rank([HOME], query("home", whole=((1,), (2,))), everything(HOME), 10, timing=which))
    assert hits[0][0] == f"{2:08d}"
    assert f"{4:08d}" not in dict(hits)
    bare = scored(
        rank([HOME], query("did", whole=((1,), (2,)), bare=True), everything(HOME), 10, timing=which)
    )
    assert bare[0] == (f"{4:08d}", 0.25)


def test_a_text_in_the_words_of_the_query_keeps_its_score_whatever_the_time() -> None:
    whole = query("home riga").groups
    which = asked("before", "2019-01-01", "2019-02-01")
    hits = dict(scored(rank([HOME], query("home", whole=whole), everything(HOME), 10, timing=which)))
    assert hits[f"{3:08d}"] == 1.0


def test_the_explanation_adds_up_to_the_score() -> None:
    which = asked("during", "2021-01-01", "2022-01-01")
    ranking = rank([HOME], query("home oslo", whole=((1,), (2,))), everything(HOME), 10, timing=which)
    seen = explain(ranking, 0, 1)
    [temporal] = [share for share in seen.arms if share.name == "temporal"]
    assert (temporal.value, temporal.weight) == (0.9, DEFAULT.temporal)
    parts = sum(share.contribution for share in seen.arms)
    assert parts == pytest.approx(seen.direct)
    assert parts + sum(share.contribution for share in seen.lifts) == pytest.approx(seen.score)
    for number in range(HOME.n):
        one = explain(ranking, 0, number)
        assert one.direct + sum(share.contribution for share in one.lifts) == pytest.approx(one.score)


def test_a_memory_that_names_the_time_itself_counts_by_the_question_as_it_stands() -> None:
    rows = [lived(1, "home rome", "2021-01-01"), lived(2, "home summer oslo", "2024-01-01")]
    seen = ScopeIndex(OWNER, rows).snapshot()
    which = asked("during", "2019-06-01", "2019-09-01")
    rest, plain = query("home", whole=query("home summer 2019").groups), query("home summer 2019")
    alone = dict(scored(rank([seen], rest, everything(seen), 10, timing=which)))
    whole = rank([seen], plain, everything(seen), 0)
    ranking = rank([seen], rest, everything(seen), 10, timing=which, timeless=whole)
    beside = dict(scored(ranking))
    assert beside[f"{2:08d}"] == pytest.approx(0.6 * float(whole.scores[0][1]))
    assert beside[f"{2:08d}"] > alone[f"{2:08d}"]
    told = explain(ranking, 0, 1)
    assert sum(one.contribution for one in told.lifts) + told.direct == pytest.approx(told.score)
    assert {one.name: one.contribution for one in told.arms}["temporal"] == 0.0
    assert told.words == (0,)


def test_an_anchor_gains_nothing_by_the_question_as_it_stands() -> None:
    rest, plain = query("home", whole=query("home riga").groups), query("home riga")
    whole = rank([HOME], plain, everything(HOME), 0)
    before = anchored(3, "before")
    assert before.anchor is not None
    with_whole = dict(scored(rank([HOME], rest, everything(HOME), 10, timing=before, timeless=whole)))
    other = replace(before, anchor=replace(before.anchor, row=1))
    assert (
        with_whole[f"{3:08d}"]
        == dict(scored(rank([HOME], rest, everything(HOME), 10, timing=before)))[f"{3:08d}"]
    )
    assert f"{3:08d}" in dict(scored(rank([HOME], rest, everything(HOME), 10, timing=other, timeless=whole)))


def test_a_time_of_which_nothing_is_known() -> None:
    assert is_known([HOME], asked("during", "2021-01-01", "2022-01-01"))
    assert not is_known([HOME], asked("during", "1990-01-01", "1991-01-01"))


DAYS = st.integers(at("2015-01-01") // 86_400_000_000, at("2026-01-01") // 86_400_000_000)


@st.composite
def lives(draw: st.DrawFn) -> list[IndexRow]:
    rows = []
    size = draw(st.integers(1, 8))
    for no in range(1, size + 1):
        begun = draw(DAYS) * 86_400_000_000
        rows.append(
            row(
                no,
                draw(st.sampled_from(["home a", "home b", "work c", "d"])),
                episode=no,
                observed_at=begun,
                valid_from=draw(st.none() | st.just(begun)),
                valid_to=draw(st.none() | st.just(begun + 40 * 86_400_000_000)),
                event_date=draw(st.sampled_from(["", "2021-02-03", "2024-02-29"])),
                successor_no=draw(st.none() | st.integers(1, size)),
            )
        )
    return rows


TIMINGS = st.builds(
    lambda relation, notion, first, days: (
        asked(relation, "2020-01-01", "2021-01-01", notion)
        if relation
        else asked("", notion="past" if notion == "none" else notion)
    ),
    st.sampled_from(["", "during", "before", "after", "since", "until"]),
    st.sampled_from(["none", "past", "change"]),
    DAYS,
    st.integers(1, 900),
)


@given(lives(), TIMINGS, st.randoms())
def test_scores_stay_in_bounds_and_do_not_depend_on_any_order(
    rows: list[IndexRow], which: Timing, random: object
) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = ScopeIndex(OWNER, rows).snapshot(), ScopeIndex(OWNER, shuffled).snapshot()
    asking = query("home", whole=query("home then").groups)
    for snapshot in (one, other):
        assert all(np.all((values >= 0) & (values <= 1)) for values in fits([snapshot], which))
    hits = scored(rank([one], asking, everything(one), 20, timing=which))
    assert hits == scored(rank([other], asking, everything(other), 20, timing=which))
    assert all(0 <= score <= 1 for _, score in hits)
    untimed = dict(scored(rank([one], asking, everything(one), 20)))
    assert {uid for uid, _ in hits} <= {f"{r.memory_no:08d}" for r in rows}
    assert not untimed or hits or max(untimed.values()) < 0.1
