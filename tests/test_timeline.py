"""The rules of time, pure: two statements never hold at once, whichever came first; chains stay whole."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from mnemic.timeline import Edge, Statement, corrected, inserted, over, part, relinked, since

_AT = st.integers(0, 40)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    said, told = draw(_AT), draw(st.none() | _AT)
    begin = Edge(since(told, said), None if told is None else "day")
    long = draw(st.none() | st.integers(1, 20))
    return Statement(said, begin, None if long is None else Edge(begin.at + long, "month"))


def days(one: Statement) -> set[int]:
    """The instants at which a statement holds, up to a late one."""
    return set(range(one.begin.at, 100 if one.end is None else one.end.at))


@given(statements(), statements())
def test_no_instant_is_of_two_that_exclude_one_another(one: Statement, other: Statement) -> None:
    earlier, later = sorted((one, other), key=lambda s: s.said_at)
    parted = part(earlier, later, 1, 2)
    assert not days(parted.earlier) & days(parted.later)
    for before, now, other_id in ((earlier, parted.earlier, 2), (later, parted.later, 1)):
        assert days(now) <= days(before), "nothing is made to hold longer"
        assert now.begin == before.begin
        if now != before:
            assert now.heir == other_id
    assert part(parted.earlier, parted.later, 1, 2) == parted, "parting twice changes nothing"
    if not days(earlier) & days(later):
        assert (days(parted.earlier), days(parted.later)) == (days(earlier), days(later))


@given(statements(), statements())
def test_what_was_said_last_is_believed_for_now(one: Statement, other: Statement) -> None:
    """Unless it was told as over, or the other one has yet to come."""
    earlier, later = sorted((one, other), key=lambda s: s.said_at)
    parted = part(earlier, later, 1, 2)
    if later.end is None and earlier.begin.at <= later.said_at:
        assert parted.later == later
    if later.end is None and later.begin.at < earlier.begin.at <= later.said_at:
        assert days(parted.earlier) == set(), "it never held: it was said afterwards that something else did"


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=4, unique_by=lambda t: t[0]
    )
)
def test_the_order_of_arrival_does_not_matter(said: list[tuple[int, int]]) -> None:
    """Statements of a single-valued attribute, each (said at, holds since), in any order of arrival: one outcome."""
    outcomes = set()
    for order in itertools.permutations(range(len(said))):
        line: dict[int, Statement] = {}
        for new in order:
            line[new] = Statement(said[new][0], Edge(said[new][1]))
            for old in sorted(set(line) - {new}, key=lambda i: said[i][0]):
                earlier, later = sorted((old, new), key=lambda i: said[i][0])
                line[earlier], line[later] = part(line[earlier], line[later], earlier, later)
        assert all(not days(a) & days(b) for a, b in itertools.combinations(line.values(), 2))
        outcomes.add(tuple((i, frozenset(days(line[i]))) for i in sorted(line)))
    assert len(outcomes) == 1


def test_a_newcomer_in_the_middle_keeps_the_chain_whole() -> None:
    leeds = Statement(10, Edge(10), Edge(50), heir=3)
    sheffield = Statement(60, Edge(30))
    before, between = part(leeds, sheffield, 1, 2)
    between = inserted(leeds, between, 2)
    assert (before.end, before.heir) == (Edge(30), 2)
    assert (between.end, between.heir) == (Edge(50), 3)


@given(statements(), statements(), st.booleans())
def test_a_correction_takes_the_time_of_what_was_wrong(
    wrong: Statement, right: Statement, told: bool
) -> None:
    made = corrected(wrong, right, told)
    assert made.begin == right.begin or (not told and made.begin == wrong.begin)
    assert right.end is None or made.end == right.end
    if right.end is None and wrong.end is not None:
        assert made.end == wrong.end


def test_what_gave_way_to_a_mistake_gives_way_to_what_is_right() -> None:
    leeds = Statement(0, Edge(0), Edge(10, "day"), heir=2)
    wrong, right = Statement(12, Edge(10, "day")), Statement(14, Edge(17, "day"))
    assert relinked(leeds, wrong, right, 3) == Statement(0, Edge(0), Edge(17, "day"), heir=3)
    told_otherwise = Statement(0, Edge(0), Edge(5, "day"), heir=2)
    assert relinked(told_otherwise, wrong, right, 3).end == Edge(5, "day")


@given(statements(), _AT, st.none() | _AT)
def test_an_end_is_after_the_beginning_and_never_later_than_told(
    one: Statement, said_at: int, told: int | None
) -> None:
    end = over(one, said_at, None if told is None else Edge(told, "day"))
    assert end.at > one.begin.at
    assert one.end is None or end.at <= one.end.at
