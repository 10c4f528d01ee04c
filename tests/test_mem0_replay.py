"""The past of a memory, put together from a history with gaps, and many memories as records of an import."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st

from mnemic.records import Event, Kind
from mnemic.text.normal import live_key
from mnemic.transfer import lines
from mnemic.transfer.mem0.convert import convert
from mnemic.transfer.mem0.records import Left, LeftMemory, PastEvent
from mnemic.transfer.mem0.replay import GAP, OTHER_TEXT, STILL_THERE, UNNOTED, replay

ADDED = PastEvent("ADD", None, "one", 10, 10, None, None)
CHANGED = PastEvent("UPDATE", "one", "two", 20, 10, None, None)
DELETED = PastEvent("DELETE", "two", None, 30, 10, None, None)


def memory(text: str, *history: PastEvent, updated_at: int = 20, deleted: bool = False) -> LeftMemory:
    return LeftMemory("m", text, Kind.FACT, 10, updated_at, user_id="ann", history=history, deleted=deleted)


def told(left: LeftMemory) -> list[tuple[str, int, str | None, str | None]]:
    return [(step.event.value, step.at, step.text, step.reason) for step in replay(left)[0]]


def test_a_whole_history_is_told_as_it_is_in_any_order() -> None:
    whole = [("ADD", 10, "one", None), ("UPDATE", 20, "two", None)]
    assert told(memory("two", ADDED, CHANGED)) == told(memory("two", CHANGED, ADDED)) == whole
    gone = memory("two", DELETED, CHANGED, ADDED, deleted=True)
    assert told(gone) == [*whole, ("DELETE", 30, None, None)]
    assert replay(gone)[1] == replay(memory("two", ADDED, CHANGED))[1] == []


def test_an_addition_without_its_own_time_has_that_of_the_memory() -> None:
    assert told(memory("one", replace(ADDED, at=None), updated_at=10)) == [("ADD", 10, "one", None)]


def test_without_a_history_only_the_present_is_told() -> None:
    assert told(memory("two", updated_at=10)) == [("ADD", 10, "two", None)]
    assert told(memory("two")) == [("ADD", 10, "two", None), ("UPDATE", 20, "two", UNNOTED)]


def test_what_a_line_says_there_was_before_is_brought_in() -> None:
    assert told(memory("two", CHANGED)) == [("ADD", 10, "one", None), ("UPDATE", 20, "two", None)]
    later = PastEvent("UPDATE", "three", "four", 40, 10, None, None)
    assert told(memory("four", ADDED, later))[1:] == [
        ("UPDATE", 40, "three", GAP),
        ("UPDATE", 40, "four", None),
    ]
    assert told(memory("x", DELETED, deleted=True)) == [("ADD", 10, "two", None), ("DELETE", 30, None, None)]


def test_the_vector_store_is_right_about_the_present() -> None:
    steps, remarks = replay(memory("other", ADDED, CHANGED, DELETED, updated_at=50))
    assert (steps[-1].event, steps[-1].at, steps[-1].text) == (Event.UPDATE, 50, "other")
    assert remarks == [STILL_THERE, OTHER_TEXT]


def test_a_change_of_metadata_is_a_change_of_the_same_text() -> None:
    same = replace(CHANGED, new_text="one")
    assert told(memory("one", ADDED, same)) == [("ADD", 10, "one", None), ("UPDATE", 20, "one", None)]


def test_time_does_not_go_back() -> None:
    assert [step.at for step in replay(memory("two", ADDED, replace(CHANGED, at=5), updated_at=7))[0]] == [
        10,
        10,
    ]


TEXTS = st.sampled_from(["one", "two", "住在上海", "One", "🦊 'x'\n\"y\""])
TIMES = st.integers(0, 2**50)
EVENTS = st.builds(
    PastEvent,
    event=st.sampled_from(["ADD", "UPDATE", "DELETE", "NONE", "?"]),
    old_text=st.none() | TEXTS,
    new_text=st.none() | TEXTS,
    at=st.none() | TIMES,
    created_at=st.none() | TIMES,
    actor_id=st.none(),
    role=st.none(),
)


@st.composite
def memories(draw: st.DrawFn) -> list[LeftMemory]:
    found = []
    for number in range(draw(st.integers(1, 5))):
        history = tuple(draw(st.lists(EVENTS, max_size=6)))
        created_at = draw(TIMES)
        found.append(
            LeftMemory(
                id=f"m{number}",
                text=draw(TEXTS),
                kind=draw(st.sampled_from([Kind.FACT, Kind.MESSAGE])),
                created_at=created_at,
                updated_at=created_at + draw(st.integers(0, 2**40)),
                metadata=draw(st.none() | st.just({"n": number})),
                user_id=draw(st.sampled_from(["ann", "bob"])),
                run_id=draw(st.sampled_from([None, "r1", "r2"])),
                history=history,
                deleted=any(event.event == "DELETE" for event in history) and draw(st.booleans()),
            )
        )
    return found


@given(memories())
def test_whatever_the_history_says_the_records_are_sound_and_nothing_is_lost(left: list[LeftMemory]) -> None:
    converted = convert(Left((), tuple(left), (), (), ()), UTC)
    kept = {memory.id: memory for part in converted.parts for memory in part.memories}
    twins = {one.id for one in converted.left_out}
    assert kept.keys() | twins == {memory.id for memory in left}
    assert not kept.keys() & twins
    for part in converted.parts:
        live = [(one.kind, live_key(one.versions[-1].text)) for one in part.memories if one.live]
        assert len(live) == len(set(live))
        assert [change.at for change in part.changes] == sorted(change.at for change in part.changes)
        for record in (part.owner, *part.episodes, *part.memories, *part.changes):
            assert lines.decode(lines.encode(record)) == record
    for memory in left:
        if memory.id in kept:
            last = kept[memory.id].versions[-1]
            assert (last.tx_to is None) is not memory.deleted
            assert kept[memory.id].created_at == kept[memory.id].versions[0].tx_from == memory.created_at
            assert memory.deleted or (last.text == memory.text and last.tx_from >= memory.updated_at)
            assert (memory.run_id or "") in kept[memory.id].runs
