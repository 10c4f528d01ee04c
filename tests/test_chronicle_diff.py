"""diff(): what changed in what is believed between two instants of the store's time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import FilterError, Memory, MnemicError, ScopeError, ValidationError

ANN = {"user_id": "ann"}
KINDS = ("added", "changed", "ended", "removed", "restored")

pytestmark = pytest.mark.usefixtures("ticking")


def now(m: Memory) -> str:
    """An instant between what was done before and what is done after."""
    return m.diff(since=0, until=None, **ANN)["until"] or ""


def told(found: Any) -> dict[str, list[str]]:
    """The texts of each kind that has any."""
    texts = {
        kind: [(one["after"] if kind == "changed" else one)["memory"] for one in found[kind]]
        for kind in KINDS
    }
    return {kind: of_kind for kind, of_kind in texts.items() if of_kind}


def kept(m: Memory, text: str, **more: Any) -> str:
    given = {"messages": text} if text.startswith("I ") else {"facts": [text]}
    [item] = m.add(**given, **{**ANN, **more})["results"]
    return str(item["id"])


def test_each_kind_is_told_once_with_its_net_effect(m: Memory) -> None:
    home = kept(m, "I live in Leeds.")
    bees = kept(m, "I keep bees. 🐝", metadata={"n": 1})
    wrong = kept(m, "我对花生过敏")
    back = kept(m, 'Меня зовут "Аня"\nи точка.')
    m.delete(back)
    first = now(m)
    york = kept(m, "I moved to York.")
    m.update(bees, "I keep hens.", metadata={"n": 2})
    m.update(bees, metadata={"m": None}, expiration_date="2999-01-01")
    m.delete(wrong, actor="ann", reason="не так")
    m.restore(back)
    m.add("I keep bees. 🐝", user_id="bob")
    found = m.diff(since=first, **ANN)
    assert told(found) == {
        "added": ["I moved to York."],
        "changed": ["I keep hens."],
        "ended": ["I live in Leeds."],
        "removed": ["我对花生过敏"],
        "restored": ['Меня зовут "Аня"\nи точка.'],
    }
    [change], [ended], [removed] = found["changed"], found["ended"], found["removed"]
    assert (change["id"], change["fields"]) == (bees, ["memory", "metadata", "expiration_date"])
    assert change["before"]["memory"] == "I keep bees. 🐝"
    assert (change["before"]["metadata"], change["before"]["version"]) == ({"n": 1}, 1)
    assert change["after"] == m.get_all(filters={"id": bees}, **ANN)["results"][0]
    assert (ended["id"], ended["superseded_by"], ended["valid_to"] is not None) == (home, york, True)
    assert (removed["id"], removed["deleted_by"], removed["deleted_reason"]) == (wrong, "ann", "не так")
    assert removed["deleted_at"] == m.trash(**ANN)["results"][0]["deleted_at"]
    assert all("deleted_at" not in one for one in (change["before"], ended, *found["restored"]))
    assert (found["since"], found["truncated"]) == (first, False)


def test_what_came_and_went_or_became_as_it_was_is_not_told(m: Memory) -> None:
    bees, hens = kept(m, "I keep bees."), kept(m, "I keep hens.")
    first = now(m)
    m.delete(kept(m, "I keep a goat."))
    m.update(bees, "I keep wasps.")
    m.update(bees, "I keep bees.")
    m.delete(hens)
    m.restore(hens)
    m.add("I keep bees.", run_id="again", **ANN)
    assert told(m.diff(since=first, **ANN)) == {}
    assert len(m.history(bees)) == 3


def test_one_that_ended_and_changed_otherwise_is_told_twice(m: Memory) -> None:
    home = kept(m, "I live in Leeds.")
    first = now(m)
    kept(m, "I moved to York.")
    m.update(home, "I live in Leeds, up north.")
    found = m.diff(since=first, **ANN)
    assert [i["memory"] for i in found["ended"]] == ["I live in Leeds, up north."]
    assert found["changed"][0]["fields"] == ["memory", "valid_to", "superseded_by"]


def test_instants_and_days_are_those_of_the_store(make_memory: MakeMemory) -> None:
    m = make_memory(timezone="Asia/Kathmandu")
    one = kept(m, "I keep bees.", timestamp="1999-01-01")
    at = m.history(one)[0]["updated_at"]
    assert at is not None
    day = "2023-11-15"  # the clock of the test starts at 2023-11-14T22:13:20Z
    assert told(m.diff(since=at, **ANN)) == {}, "it is believed at that instant already"
    for since, until, seen in (
        (day, None, True),
        (day, day, True),
        ("2023", "2023-11", True),
        ("2023-11-16", "2023-11-17", False),
        ("2023", "2023-11-14", False),
        (0, at, True),
        (0, "2023-11-14T22:13:00Z", False),
    ):
        found = m.diff(since=since, until=until, **ANN)
        assert told(found) == ({"added": ["I keep bees."]} if seen else {}), (since, until)
    m.delete(one)
    assert told(m.diff(since=day, **ANN)) == {}
    assert told(m.diff(since=day, until=at, **ANN)) == {"added": ["I keep bees."]}
    assert told(m.diff(since=at, **ANN)) == {"removed": ["I keep bees."]}


def test_filters_look_at_both_sides(m: Memory) -> None:
    bees = kept(m, "I keep bees.", metadata={"team": "blue"})
    hens = kept(m, "I keep hens.", metadata={"team": "blue"})
    kept(m, "I keep ducks.")
    first = now(m)
    m.update(bees, metadata={"team": "red"})
    m.delete(hens)
    goat = kept(m, "I keep a goat.")
    for team, expected in (
        ("blue", {"changed": ["I keep bees."], "removed": ["I keep hens."]}),
        ("red", {"changed": ["I keep bees."]}),
        ("green", {}),
        ({"ne": "blue"}, {"added": ["I keep a goat."], "changed": ["I keep bees."]}),
    ):
        assert told(m.diff(since=first, filters={"team": team}, **ANN)) == expected, team
    assert told(m.diff(since=first, filters={"id": goat}, **ANN)) == {"added": ["I keep a goat."]}


def test_scopes_hold(m: Memory, make_memory: MakeMemory) -> None:
    m.add("I keep bees.", run_id="r1", **ANN)
    m.add("I keep hens.", run_id="r2", **ANN)
    m.add("我养蜂。", user_id="李", agent_id="pip")
    assert told(m.diff(since=0, **ANN)) == {"added": ["I keep bees.", "I keep hens."]}
    assert told(m.diff(since=0, run_id="r2")) == {"added": ["I keep hens."]}
    assert told(m.scoped(run_id="r1").diff(since=0)) == {"added": ["I keep bees."]}
    assert told(m.diff(since=0, user_id="李")) == {"added": ["我养蜂。"]}
    both = {"user_id": {"in": ["李", "ann"]}}
    assert told(m.diff(since=0, filters=both)) == {"added": ["I keep bees.", "I keep hens.", "我养蜂。"]}
    assert told(make_memory(tenant="third").diff(since=0, **ANN)) == {}


def test_a_limit_cuts_each_kind_and_says_so(m: Memory) -> None:
    ids = [kept(m, f"I keep bee {n}.") for n in range(5)]
    first = now(m)
    for uid in ids[:3]:
        m.delete(uid)
    kept(m, "I keep wasps.")
    found = m.diff(since=first, limit=2, **ANN)
    assert told(found) == {"added": ["I keep wasps."], "removed": ["I keep bee 0.", "I keep bee 1."]}
    assert found["truncated"]
    assert not m.diff(since=first, limit=3, **ANN)["truncated"]
    assert m.diff(since=first, limit=0, **ANN)["truncated"]


def test_what_is_purged_is_told_no_more(m: Memory) -> None:
    first = now(m)
    gone = kept(m, "I keep bees.")
    middle = now(m)
    m.purge(gone)
    assert told(m.diff(since=first, until=middle, **ANN)) == {}
    assert told(m.diff(since=middle, **ANN)) == {}


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"since": 0}, ScopeError, "user_id"),
        ({**ANN, "since": "one day"}, ValidationError, "since"),
        ({**ANN, "since": None}, ValidationError, "since"),
        ({**ANN, "since": 0, "until": "2023-02-30"}, ValidationError, "until"),
        ({**ANN, "since": "2024", "until": "2023"}, ValidationError, "lies before since"),
        ({**ANN, "since": "2999"}, ValidationError, "lies before since"),
        ({**ANN, "since": 0, "limit": "3"}, ValidationError, "limit"),
        ({**ANN, "since": 0, "filters": {"n": {"near": 1}}}, FilterError, "near"),
    ],
)
def test_bad_arguments_are_refused(
    m: Memory, asked: dict[str, Any], error: type[MnemicError], words: str
) -> None:
    with pytest.raises(error, match=words):
        m.diff(**asked)


@pytest.mark.parametrize("seed", range(3))
def test_a_life_at_random_differs_as_what_was_known_then(m: Memory, seed: int) -> None:
    """Between any two instants the difference is that of what `known_at` lists."""
    chance, ids = random.Random(seed), [kept(m, f"Факт {n}") for n in range(3)]
    states: list[tuple[str, dict[str, Any]]] = []
    for step in range(30):
        uid = chance.choice(ids)
        act = chance.choice(["add", "update", "delete", "restore", "move"])
        if act == "add":
            ids.append(kept(m, f"事实 {step}"))
        elif act == "move":
            ids.append(kept(m, f"I moved to Town{'abcdefghij'[step % 10]}{'klmnopqrst'[step // 10]}."))
        elif act == "restore" or m.get(uid) is None:
            m.restore(uid)
        elif act == "update":
            m.update(uid, f"Fact {step}", metadata={"n": chance.randrange(2)})
        else:
            m.delete(uid)
        at = now(m)
        listed = m.get_all(known_at=at, include_superseded=True, show_expired=True, limit=100, **ANN)[
            "results"
        ]
        states.append((at, {i["id"]: i for i in listed}))
    for _ in range(25):
        (since, before), (until, after) = sorted(chance.sample(states, 2), key=lambda state: state[0])
        found = m.diff(since=since, until=until, **ANN)
        new = {i["id"] for kind in ("added", "restored") for i in found[kind]}
        assert new == after.keys() - before.keys()
        assert {i["id"] for i in found["removed"]} == before.keys() - after.keys()
        noise = ("updated_at", "version", "hash")

        def plain(item: dict[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in item.items() if key not in noise}

        other = {uid for uid in before.keys() & after.keys() if plain(before[uid]) != plain(after[uid])}
        assert {i["id"] for i in found["ended"]} | {i["id"] for i in found["changed"]} == other
        for change in found["changed"]:
            assert (change["before"], change["after"]) == (before[change["id"]], after[change["id"]])
        assert {
            i["id"]: i for kind in ("added", "restored", "ended") for i in found[kind]
        }.items() <= after.items()
