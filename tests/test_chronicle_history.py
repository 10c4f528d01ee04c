"""history(chain=True): the changes of all memories that superseded one another, told from any of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeMemory
from mnemic import Memory, ValidationError
from mnemic.store.chains import _reached
from raw_stores import raw_connection

ANN = {"user_id": "ann"}


def living(m: Memory, texts: Sequence[str], **more: str) -> list[str]:
    """The ids of memories of which each supersedes the one before."""
    ids = []
    for day, text in enumerate(texts, 1):
        [item] = m.add(text, timestamp=f"2024-01-{day:02}", **ANN, **more)["results"]
        assert len(item.get("supersedes", [])) == (day > 1), text
        ids.append(item["id"])
    return ids


def told(m: Memory, uid: str, **more: object) -> list[tuple[str, str]]:
    return [(e["event"], e["memory_id"]) for e in m.history(uid, chain=True, **more)]  # type: ignore[arg-type]


def test_a_chain_is_told_from_any_of_its_memories_in_the_order_of_the_changes(m: Memory) -> None:
    one, two, three = living(m, ["I live in Leeds.", "I moved to Malmö.", "I moved to Oslo."])
    m.update(one, 'I live in "Leeds" 🏠\n(north)', actor="ann", reason="Пояснение")
    m.add("Bob's. I live in Leeds.", user_id="bob")
    expected = [
        ("ADD", one),
        ("ADD", two),
        ("SUPERSEDE", one),
        ("ADD", three),
        ("SUPERSEDE", two),
        ("UPDATE", one),
    ]
    for uid in (one, two, three):
        assert told(m, uid) == expected
    whole = m.history(two, chain=True)
    assert [e["id"] for e in whole] == [
        f"{e['memory_id']}:{n}" for e, n in zip(whole, (1, 1, 2, 1, 2, 3), strict=True)
    ]
    assert [e for e in whole if e["memory_id"] == one] == m.history(one)
    assert list(whole[0])[:10] == [
        "id",
        "memory_id",
        "old_memory",
        "new_memory",
        "event",
        "created_at",
        "updated_at",
        "is_deleted",
        "actor_id",
        "role",
    ]
    assert m.history(two) == [e for e in whole if e["memory_id"] == two]


def test_one_that_was_deleted_still_links_those_on_either_side(m: Memory) -> None:
    ids = living(m, ["I live in Leeds.", "I moved to York.", "I moved to Oslo."])
    m.delete(ids[1], reason="wrong")
    for uid in ids:
        assert {memory_id for _, memory_id in told(m, uid)} == {*ids}
        assert told(m, uid)[-1] == ("DELETE", ids[1])


def lead(store: str, old: str, new: str) -> None:
    """Have one memory superseded by another, past mnemic."""
    with raw_connection(store) as raw:
        raw.execute(
            "UPDATE version SET successor_no = (SELECT no FROM memory WHERE uid = :new) WHERE tx_to IS NULL"
            " AND (owner_id, memory_no) = (SELECT owner_id, no FROM memory WHERE uid = :old)",
            {"new": new, "old": old},
        )


def test_several_predecessors_and_a_cycle_end(m: Memory, store: str) -> None:
    one, two, three = living(m, ["I live in Leeds.", "I moved to York.", "I moved to Oslo."])
    [other] = m.add("I keep bees. 🐝", **ANN)["results"]
    for old, new in ((other["id"], three), (three, one)):
        lead(store, old, new)
        assert {uid for _, uid in told(m, other["id"])} == {one, two, three, other["id"]}


def test_a_version_that_is_not_the_newest_links_nothing(m: Memory) -> None:
    one, two = living(m, ["I live in Leeds.", "I moved to York."])
    assert {uid for _, uid in told(m, two)} == {one, two}
    m.purge(two)
    assert {uid for _, uid in told(m, one)} == {one}


def test_guards_hold_for_the_whole_chain(m: Memory, make_memory: MakeMemory) -> None:
    one = living(m, ["I live in Leeds."], run_id="r1")[0]
    [two] = m.add("I moved to York.", **ANN, run_id="r2")["results"]
    assert two["supersedes"] == [one]
    assert {uid for _, uid in told(m, one)} == {one, two["id"]}
    assert {uid for _, uid in told(m, one, run_id="r1")} == {one}
    assert told(m, one, run_id="r2") == []
    assert told(m.scoped(run_id="r2"), two["id"]) == [("ADD", two["id"])]
    assert told(m, one, user_id="bob") == []
    assert told(make_memory(tenant="other"), one) == []
    assert told(m, "no-such-id") == []
    with pytest.raises(ValidationError, match="chain"):
        m.history(one, chain="yes")  # type: ignore[arg-type]


def test_the_longest_of_chains_is_told_whole(m: Memory) -> None:
    places = [f"Town{letter}{other}" for letter in "abcdefgh" for other in "abcde"]
    ids = living_many(m, places)
    assert {uid for _, uid in told(m, ids[len(ids) // 2])} == {*ids}


def living_many(m: Memory, places: Sequence[str]) -> list[str]:
    ids = []
    for place in places:
        [item] = m.add(f"I moved to {place}.", **ANN)["results"]
        ids.append(item["id"])
    return ids


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20), st.integers(0, 9))
def test_what_is_reached_is_closed_under_the_links(links: set[tuple[int, int]], start: int) -> None:
    linked: dict[int, set[int]] = {no: set() for no in range(10)}
    for one, two in links:
        linked[one].add(two)
        linked[two].add(one)
    whole = _reached(start, linked)
    assert start in whole
    assert all(linked[no] <= whole for no in whole)
    for other in whole:
        assert _reached(other, linked) == whole
