"""Judging prompts: each rule of tests/data/prompts/README.md kept and broken, on facts made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.evals.prompts.cases import Case, Entry, Expected, Known, Meets, Said
from mnemic.evals.prompts.dates import dates_in
from mnemic.evals.prompts.judge import Drawn, Judgement, State, judge
from mnemic.evals.prompts.modes import in_mode
from mnemic.evals.prompts.traces import drawn_from, states_from

MEMORIES = (Known("Lives in Łódź"), Known('Plays "cricket" 🏏'))
CURRENT = (State.CURRENT, State.CURRENT)


def case(*keep: Entry, timestamp: str | None = None, **expect: object) -> Case:
    return Case(
        id="en-001",
        language="en",
        topic="moved-house",
        messages=(Said("user", "…", timestamp=timestamp),),
        memories=MEMORIES,
        expect=Expected(keep=keep, **expect),  # type: ignore[arg-type]
    )


def fact(
    text: str, *meets: tuple[int, str], about: str | None = "user", dates: tuple[str, ...] = ()
) -> Drawn:
    return Drawn(text, about, dates, tuple(Meets(*one) for one in meets))


def judged(one: Case, *drawn: Drawn, states: tuple[State, ...] = CURRENT) -> Judgement:
    return judge(one, drawn, states)


# --- an entry and its words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "text", "met"),
    [
        (Entry(any_of=("vet", "animal doctor")), "Is a VET in Bristol", True),
        (Entry(any_of=("vet", "animal doctor")), "Is an Animal Doctor", True),
        (Entry(any_of=("vet", "animal doctor")), "Is a doctor", False),
        (Entry(all_of=("Leo", "6")), "Son Leo is 6", True),
        (Entry(all_of=("Leo", "6")), "Son Leo is six", False),
        (Entry(any_of=("5", "five"), all_of=("Arjun",)), "Arjun is five", True),
        (Entry(any_of=("5", "five"), all_of=("Arjun",)), "The son is five", False),
        (Entry(any_of=("Zoë",)), "Zoe\u0308 sings", True),
        (Entry(any_of=("STRASSE",)), "wohnt in der Lindenstraße", True),
        (Entry(any_of=("Казан",)), "живёт в Казани", True),
        (Entry(any_of=("no ",)), "Has nobody", False),
    ],
)
def test_words_are_compared_without_case_after_nfc(entry: Entry, text: str, met: bool) -> None:
    found = judged(case(entry), fact(text))
    assert found.passed is met
    assert (found.kept, len(found.missed)) == (int(met), int(not met))


def test_one_fact_may_meet_several_entries_but_no_two_facts_one() -> None:
    both = case(Entry(any_of=("vet",)), Entry(any_of=("Bristol",)))
    assert judged(both, fact("Is a vet in Bristol")).kept == 2
    split = case(Entry(any_of=("vet",), all_of=("Bristol",)))
    found = judged(split, fact("Is a vet"), fact("Works in Bristol"))
    assert found.missed == ('no fact holds "vet" and holds "Bristol"',)


@pytest.mark.parametrize(
    ("wanted", "about", "met"),
    [
        ("user", "user", True),
        ("user", "User", True),
        ("user", "assistant", False),
        ("Ann", "ann", True),
        ("Ann", "user", False),
        ("Ann", "Ann Lee", False),
        ("Zoë", "Zoe\u0308", True),
        ("user", None, False),
        (None, "Ben", True),
    ],
)
def test_about_names_one(wanted: str | None, about: str | None, met: bool) -> None:
    found = judged(case(Entry(any_of=("drum",), about=wanted)), fact("Plays the drums", about=about))
    assert found.passed is met


def test_a_miss_tells_what_the_nearest_fact_lacks() -> None:
    entry = Entry(any_of=("York", "york"), about="user", when="2024-04-12", meets=Meets(1, "changes"))
    far = fact("York is old", about="York")
    near = fact("Lives in York since April 2024", (1, "refines"))
    found = judged(case(entry), far, near)
    assert found.missed == (
        '"Lives in York since April 2024" is not dated 2024-04-12, is not marked changes 1 but refines 1',
    )
    assert judged(case(entry), fact("Lives in Leeds")).missed == ('no fact holds any of "York", "york"',)


# --- dates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "text", "dates", "met"),
    [
        ("2023", "Walked the Camino", ("2023-07",), True),
        ("2023", "Walked the Camino", ("2024",), False),
        ("2024-02-29", "Signed", ("2024-02-29",), True),
        ("2024-02-29", "Signed", ("2024-03-01",), False),
        ("2024-02-29", "Signed", ("2024-02",), False),
        ("2024-02", "Signed", ("2024-02-29",), True),
        ("2024-05", "Pays 1450 euros of rent", (), False),
        ("2024-05", "Pays 1450 euros of rent since May 2024", (), True),
        ("2024-02-28", "Hat am 28. Februar 2024 aufgehört zu rauchen", (), True),
        ("2024-02-28", "Hat am 28. Februar 2024 aufgehört", ("2024-03-01",), True),
        ("2024-05-08", "豆豆于2024年5月8日去世", (), True),
        ("2024-05-08", "Rex died on 8 May", (), False),
        ("2024-05-08", "Rex died", ("2024-05-07T23:30:00+00:00",), True),
        ("2024-05-07", "Rex died", ("2024-05-07T23:30:00+00:00",), False),
        ("2024-05-08", "Rex died", ("2024-05-08T10:00:00",), True),
        ("2024-05-08", "Rex died", ("2024-05-08, maybe",), False),
    ],
)
def test_a_date_is_met_within_its_period(when: str, text: str, dates: tuple[str, ...], met: bool) -> None:
    one = case(Entry(when=when), timestamp="2024-05-10T09:30:00+08:00")
    assert judged(one, fact(text, dates=dates)).passed is met


def test_the_zone_is_that_of_the_last_instant() -> None:
    assert case().zone == UTC
    zoned = case(timestamp="2024-05-10T09:30:00+08:00")
    assert zoned.zone == timezone(timedelta(hours=8))
    later = replace(zoned, context=(Said("user", "…", timestamp="2024-05-10T09:00:00+02:00"),))
    assert later.zone == zoned.zone


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on 2024-05-04", {"2024-05-04"}),
        ("2024/5/4, 2024.05.04, 2024-05-04T10:00", {"2024-05-04"}),
        ("in 2024-05", {"2024-05"}),
        ("May 4th, 2024", {"2024-05-04"}),
        ("the 4th of May 2024", {"2024-05-04"}),
        ("4 May 2024 and in Sept. 2023", {"2024-05-04", "2023-09"}),
        ("since December 2023", {"2023-12"}),
        ("am 4. Mai 2024", {"2024-05-04"}),
        ("am 04.05.2024", {"2024-05-04"}),
        ("el 1 de abril de 2024", {"2024-04-01"}),
        ("4 мая 2024 г.", {"2024-05-04"}),
        ("в апреле 2024", {"2024-04"}),
        ("2024年5月4日", {"2024-05-04"}),
        ("2024年 5月に", {"2024-05"}),
        ("２０２４年４月８日", {"2024-04-08"}),
        ("Marathon 2024, Maya 2023", {"2024", "2023"}),
        ("31 June 2024", {"2024-06"}),
        ("2024-02-30", {"2024"}),
        ("Born in 1987, moved in 2015.", {"1987", "2015"}),
        ("room 20245, 1.450 Euro, 12024-05-04, 2,000 euros, 1999.5 kg", set()),
        ("4 May, May 4", set()),
    ],
)
def test_dates_are_read_where_they_have_a_year(text: str, found: set[str]) -> None:
    told = dates_in(text)
    exact = {one for one in told if not any(other.startswith(f"{one}-") for other in told)}
    assert exact == found


# --- what may be kept ------------------------------------------------------------------------------------------


def test_nothing_may_be_kept_where_nothing_is_expected() -> None:
    assert judged(case()).passed
    found = judged(case(), fact("Likes tea"), fact("Has said so", (2, "refines")))
    assert found.invented == ('"Likes tea" is nothing to keep', '"Has said so" is nothing to keep')
    assert not found.passed


def test_repeats_ends_and_forgets_count_for_nothing() -> None:
    free = [fact("a", (1, "repeats")), fact("b", (1, "ends")), fact("c", (2, "forgets"))]
    assert judged(case(), *free).passed
    assert judged(case(Entry(any_of=("d",)), at_most=1), *free, fact("d")).passed
    both = fact("e", (1, "changes"), (2, "ends"))
    assert judged(case(), both).invented == ('"e" is nothing to keep',)


def test_at_most_counts_those_first_that_meet_no_entry() -> None:
    one = case(Entry(any_of=("tea",)), at_most=2)
    drawn = [fact("Likes tea"), fact("Likes jam"), fact("Likes rye")]
    assert judged(one, *drawn[:2]).passed
    found = judged(one, *drawn)
    assert found.invented == ('"Likes jam" is beyond the 2 allowed',)
    assert found.missed == ()
    assert judged(case(Entry(any_of=("tea",))), *drawn).passed


def test_what_no_fact_may_hold_holds_for_all() -> None:
    one = case(Entry(any_of=("safe",)), never=("4711", "PIN is"))
    assert judged(one, fact("Has a safe")).passed
    for how in ("repeats", "ends", "forgets", "changes"):
        found = judged(one, fact("Has a safe"), fact("The pin is 4711", (1, how)))
        assert found.invented == ('"The pin is 4711" holds "4711", holds "PIN is"',), how


# --- meetings --------------------------------------------------------------------------------------------------

HOWS = ["changes", "corrects", "refines"]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("marked", [*HOWS, "repeats", "ends", "forgets", None])
def test_meetings_are_strict(how: str, marked: str | None) -> None:
    one = case(Entry(any_of=("York",), meets=Meets(1, how)))
    meets = () if marked is None else ((1, marked),)
    assert judged(one, fact("Lives in York", *meets)).passed is (marked == how)
    assert not judged(one, fact("Lives in York", (2, how))).passed
    assert judged(one, fact("Lives in York", (2, "ends"), (1, how))).passed


def test_a_repeat_may_be_marked_or_left_out() -> None:
    one = case(Entry(any_of=("cricket",), meets=Meets(2, "repeats")), at_most=1)
    assert judged(one).passed
    assert judged(one, fact("Plays cricket", (2, "repeats"))).passed
    assert judged(one, fact("Is left-handed")).passed
    for wrong in (
        fact("Plays cricket"),
        fact("Plays cricket", (1, "repeats")),
        fact("cricket", (2, "refines")),
    ):
        found = judged(one, wrong)
        assert not found.passed
        assert "is not marked repeats 2" in found.missed[0]


ENDS = case(Entry(any_of=("no longer",), all_of=("cricket",), meets=Meets(2, "ends")))


@pytest.mark.parametrize("how", ["ends", "forgets", "contradicts"])
def test_an_end_is_met_by_a_fact_marked_so(how: str) -> None:
    assert judged(ENDS, fact("No longer plays cricket", (2, how))).passed
    assert not judged(ENDS, fact("No longer plays cricket", (1, how))).passed
    assert not judged(ENDS, fact("No longer plays cricket", (2, "changes"))).passed


@pytest.mark.parametrize("state", list(State))
def test_an_end_is_met_by_an_ended_memory_where_no_fact_is_kept(state: State) -> None:
    states = (State.CURRENT, state)
    has_ended = state in (State.ENDED, State.RETIRED)
    assert judged(ENDS, states=states).passed is has_ended
    assert judged(ENDS, fact("Lives in Łódź", (1, "repeats")), states=states).passed is has_ended
    assert not judged(ENDS, fact("Has stopped playing"), states=states).passed


@pytest.mark.parametrize("state", list(State))
def test_what_must_end_has_no_successor(state: State) -> None:
    one = case(Entry(any_of=("Rex",)), ends=(2,))
    found = judged(one, fact("Rex died"), states=(State.CURRENT, state))
    assert found.passed is (state in (State.ENDED, State.RETIRED))
    assert (found.kept, len(found.missed)) == ((2, 0) if found.passed else (1, 1))
    for how in ("changes", "corrects"):
        succeeded = judged(one, fact("Rex died", (2, how)), states=(State.CURRENT, state))
        assert not succeeded.passed
        assert succeeded.missed[0].startswith('memory 2 ("Plays "cricket" 🏏") is')


@pytest.mark.parametrize("state", list(State))
def test_what_must_stay_is_neither_closed_nor_changed(state: State) -> None:
    found = judged(case(untouched=(1,)), states=(state, State.ENDED))
    assert found.passed is (state is State.CURRENT)
    if not found.passed:
        assert found.wrongly_closed == (f'memory 1 ("Lives in Łódź") is {state}',)


# --- properties ------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["tea", "Łódź", "茶", "ЧАЙ", "🦊", "2024"])
MEETS = st.builds(Meets, st.integers(0, 2), st.sampled_from([*HOWS, "repeats", "ends", "forgets"]))
FACTS = st.builds(
    Drawn,
    st.lists(WORDS, min_size=1, max_size=3).map(" ".join),
    st.sampled_from(["user", "Ann", None]),
    st.lists(st.sampled_from(["2024", "2024-05", "2024-05-03"]), max_size=2).map(tuple),
    st.lists(MEETS, max_size=2).map(tuple),
)
ENTRIES = st.builds(
    Entry,
    any_of=st.lists(WORDS, max_size=2).map(tuple),
    all_of=st.lists(WORDS, min_size=1, max_size=2).map(tuple),
    about=st.sampled_from([None, "user", "Ann"]),
    when=st.sampled_from([None, None, "2024", "2024-05"]),
    meets=st.none() | st.builds(Meets, st.integers(1, 2), st.sampled_from([*HOWS, "repeats", "ends"])),
)
NUMBERS = st.lists(st.integers(1, 2), max_size=2, unique=True).map(tuple)
EXPECTED = st.builds(
    Expected,
    keep=st.lists(ENTRIES, max_size=3).map(tuple),
    ends=NUMBERS,
    never=st.lists(WORDS, max_size=1).map(tuple),
    untouched=NUMBERS,
    at_most=st.none() | st.integers(0, 3),
)
STATES = st.tuples(st.sampled_from(State), st.sampled_from(State))


@given(EXPECTED, st.lists(FACTS, max_size=4), STATES)
def test_a_judgement_adds_up(expected: Expected, drawn: list[Drawn], states: tuple[State, State]) -> None:
    one = replace(case(), expect=expected)
    found = judge(one, drawn, states)
    assert found.kept + len(found.missed) == len(expected.keep) + len(expected.ends)
    assert len(found.invented) <= len(drawn)
    assert len(found.wrongly_closed) == sum(states[n - 1] is not State.CURRENT for n in expected.untouched)
    adding = [one for one in drawn if one.adds]
    if not expected.keep and not expected.never:
        assert len(found.invented) == len(adding)
    if expected.keep and expected.at_most is not None and not expected.never:
        assert len(found.invented) == max(0, len(adding) - expected.at_most)


@given(EXPECTED, st.lists(FACTS, max_size=4), STATES, st.randoms())
def test_the_order_of_facts_changes_no_count(
    expected: Expected, drawn: list[Drawn], states: tuple[State, State], random: object
) -> None:
    one = replace(case(), expect=expected)
    shuffled = list(drawn)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = judge(one, drawn, states), judge(one, shuffled, states)
    assert (first.kept, first.passed) == (second.kept, second.passed)
    assert len(first.wrongly_closed) == len(second.wrongly_closed)


@given(ENTRIES, st.lists(FACTS, max_size=3), STATES, FACTS)
def test_one_more_fact_takes_nothing_from_an_entry_that_a_fact_meets(
    entry: Entry, drawn: list[Drawn], states: tuple[State, State], more: Drawn
) -> None:
    plain = case(replace(entry, meets=None))
    if judge(plain, drawn, states).kept:
        assert judge(plain, [*drawn, more], states).kept == 1


# --- reading a trace -------------------------------------------------------------------------------------------


def verdict(text: str, **more: object) -> dict[str, object]:
    return {
        "text": text,
        "sources": [0],
        "about": "user",
        "category": None,
        "on": None,
        "since": None,
        "until": None,
        "entities": [],
        "relations": [],
        "meets": [],
        "verdict": "stored",
        "reason": None,
        "ids": [],
        "events": ["ADD"],
        **more,
    }


def test_only_what_was_taken_is_drawn() -> None:
    meets = [{"memory": "uid-2", "how": "changes"}, {"memory": "uid-9", "how": "ends"}]
    verdicts = [
        verdict("a", on="2024-05-03", until="2025", meets=meets),
        verdict("b", verdict="rejected", reason="source_not_allowed"),
        verdict("c", verdict="failed", reason="embedder"),
        verdict("d", verdict="unchanged", ids=["uid-1"], about="Ann"),
        verdict("e", verdict="unchanged", ids=["uid-1"], meets=[{"memory": "uid-1", "how": "repeats"}]),
    ]
    drawn = drawn_from({"mode": "supersede", "verdicts": verdicts}, {"uid-1": 1, "uid-2": 2})
    assert drawn == (
        fact("a", (2, "changes"), (0, "ends"), dates=("2024-05-03", "2025")),
        fact("d", (1, "repeats"), about="Ann"),
        fact("e", (1, "repeats")),
    )


def test_what_the_classic_editor_keeps_or_deletes_is_no_fact() -> None:
    hows = ["repeats", "contradicts", "refines", "ends"]
    verdicts = [verdict(how, meets=[{"memory": "uid-1", "how": how}]) for how in hows]
    drawn = drawn_from({"mode": "reconcile", "verdicts": [*verdicts, verdict("new")]}, {"uid-1": 1})
    assert [one.text for one in drawn] == ["refines", "new"]
    assert [one.text for one in drawn_from({"mode": "supersede", "verdicts": verdicts}, {})] == hows


# --- what a mode can say ---------------------------------------------------------------------------------------


def test_a_case_expects_of_a_mode_what_it_can_say() -> None:
    hows = ["changes", "corrects", "refines", "repeats", "ends"]
    one = case(
        *(Entry(any_of=("a",), meets=Meets(1, how)) for how in hows), ends=(1,), untouched=(2,), at_most=1
    )
    assert in_mode(one, "supersede") == one

    def expected(mode: str) -> list[Meets | None]:
        found = in_mode(one, mode)
        assert replace(found, expect=one.expect) == one
        assert replace(found.expect, keep=one.expect.keep, ends=(1,)) == one.expect
        return [entry.meets for entry in found.expect.keep]

    assert expected("append") == [None, None, None, Meets(1, "repeats"), None]
    assert in_mode(one, "append").expect.ends == ()
    assert expected("reconcile") == [*[Meets(1, "refines")] * 3, Meets(1, "repeats"), Meets(1, "ends")]
    assert in_mode(one, "reconcile").expect.ends == (1,)


def item(uid: str, text: str, **more: object) -> dict[str, object]:
    return {"id": uid, "memory": text, "superseded_by": None, "valid_to": None, **more}


def test_the_state_of_each_memory_is_told() -> None:
    texts = ["current", "superseded", "ended", "retired", "refined", "corrected", "gone"]
    one = replace(case(), memories=tuple(map(Known, texts)))
    items = [
        item("7", "another"),
        item("4", "refined, and how"),
        item("0", "current"),
        item("1", "superseded", superseded_by="7", valid_to="2024-05-03T00:00:00+00:00"),
        item("2", "ended", valid_to="2024-05-03T00:00:00+00:00"),
        item("3", "retired", deleted_at="2024-05-03T00:00:00+00:00"),
        item("5", "corrected", superseded_by="7", deleted_at="2024-05-03T00:00:00+00:00"),
    ]
    assert states_from(one, list("0123456"), items) == (
        State.CURRENT,
        State.SUPERSEDED,
        State.ENDED,
        State.RETIRED,
        State.REFINED,
        State.SUPERSEDED,
        State.RETIRED,
    )
