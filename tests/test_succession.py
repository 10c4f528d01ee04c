"""Facts that say which memories they take the place of, or put right; late arrivals, and what is restored."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic import Memory, NotFoundError, ValidationError

ANN = {"user_id": "ann"}


def given(m: Memory, text: str, **more: Any) -> dict[str, Any]:
    """Add one fact; `said` is when it was said."""
    said = more.pop("said", None)
    return m.add(facts=[{"text": text, **more}], timestamp=said, **ANN)["results"][0]


def then(m: Memory, day: str) -> list[str]:
    return sorted(item["memory"] for item in m.get_all(**ANN, as_of=day)["results"])


def test_a_fact_takes_the_place_of_another(m: Memory) -> None:
    leeds = given(m, "Ann's home: Leeds 🏠", said="2022-01-08", valid_from="2021-08")
    porto = given(m, "Ann's home: Porto", said="2022-09-20", valid_from="2022-09-10", supersedes=leeds["id"])
    assert porto["supersedes"] == [leeds["id"]]
    assert then(m, "2022-09-09") == ["Ann's home: Leeds 🏠"]
    assert then(m, "2022-09-10") == ["Ann's home: Porto"]
    old = m.get(leeds["id"])
    assert old is not None
    assert (old["valid_to"], old["superseded_by"]) == ("2022-09-10T00:00:00+00:00", porto["id"])


def test_a_late_fact_comes_in_between_and_changes_no_present(m: Memory) -> None:
    leeds = given(m, "家：利兹", said="2022-01-08", valid_from="2021-08")
    porto = given(m, "家：波尔图", said="2022-09-20", valid_from="2022-09-10", supersedes=[leeds["id"]])
    between = given(m, "家：谢菲尔德", said="2023-11-01", valid_from="2022-03", supersedes=[leeds["id"]])
    assert between["supersedes"] == [leeds["id"]]
    assert [then(m, day) for day in ("2022-02-28", "2022-03-01", "2022-09-09", "2022-09-10")] == [
        ["家：利兹"],
        ["家：谢菲尔德"],
        ["家：谢菲尔德"],
        ["家：波尔图"],
    ]
    assert [item["memory"] for item in m.get_all(**ANN)["results"]] == ["家：波尔图"]
    sheffield = m.get(between["id"])
    assert sheffield is not None
    assert sheffield["superseded_by"] == porto["id"]


def test_a_correction_takes_the_time_of_what_was_wrong(m: Memory) -> None:
    leeds = given(m, "home Leeds", said="2022-01-08")
    wrong = given(
        m, "home Porto since the 10th", said="2022-09-20", valid_from="2022-09-10", supersedes=leeds["id"]
    )
    right = given(
        m, "home Porto since the 17th", said="2022-09-24", valid_from="2022-09-17", corrects=wrong["id"]
    )
    assert right["corrects"] == [wrong["id"]]
    assert [then(m, day) for day in ("2022-09-16", "2022-09-17")] == [
        ["home Leeds"],
        ["home Porto since the 17th"],
    ]
    assert m.get(wrong["id"]) is None, "what was wrong never held"
    number = given(m, "number 142", said="2022-02-14", valid_from="2022-01-01")
    given(m, "number 124, as always", said="2022-04-02", corrects=[number["id"]])
    assert "number 124, as always" in then(m, "2022-01-02")


def test_what_is_corrected_in_the_past_stays_in_the_past(m: Memory) -> None:
    acme = given(m, "works at Acme", said="2022-01-01")
    given(m, "works at Birch", said="2023-01-01", supersedes=acme["id"])
    given(m, "works at Acne Ltd", said="2023-05-01", corrects=acme["id"])
    assert [item["memory"] for item in m.get_all(**ANN)["results"]] == ["works at Birch"]
    assert then(m, "2022-06-01") == ["works at Acne Ltd"]


def chain(m: Memory, *facts: tuple[str, str]) -> list[str]:
    """Facts, each in the place of the one before, from the day on which it was said."""
    ids: list[str] = []
    for text, day in facts:
        ids.append(given(m, text, said=day, **({"supersedes": ids[-1]} if ids else {}))["id"])
    return ids


LIFE = (("家：罗马", "2020"), ("家：奥斯陆", "2021"), ("家：利马 🏠", "2022"))


def test_who_corrects_in_the_words_of_today_ends_no_present(m: Memory) -> None:
    rome, _, lima = chain(m, *LIFE)
    given(m, "家：利马 🏠", said="2023", corrects=rome)
    assert [item["memory"] for item in m.get_all(**ANN)["results"]] == ["家：利马 🏠"]
    item = m.get(lima)
    assert item is not None
    assert (item["valid_to"], item["superseded_by"]) == (None, None)


@pytest.mark.parametrize("since", ["2021-06", "2022-06"])
def test_a_correction_that_begins_when_that_was_over_takes_the_place_of_the_next(
    m: Memory, since: str
) -> None:
    before, wrong, _, _ = chain(m, ("家：都灵", "2019"), *LIFE)
    right = given(m, "家：维堡", said="2023", valid_from=since, corrects=wrong)["id"]
    item = m.get(right)
    assert item is not None
    assert item["valid_to"] is None or item["valid_to"] > item["valid_from"]
    days = ("2020-06", "2021-05", since, "2023-06")
    assert [then(m, day) for day in days[:2]] == [["家：都灵"], ["家：奥斯陆"]]
    assert [len(then(m, day)) for day in days] == [1, 1, 1, 1]
    assert m.get(before)["superseded_by"] != right  # type: ignore[index]


def test_what_was_said_later_is_not_replaced_through_what_it_replaced(m: Memory) -> None:
    first = given(m, "家：罗马", said="2020")["id"]
    given(m, "家：奥斯陆", said="2023", valid_from="2021", supersedes=first)
    late = given(m, "家：利马", said="2022", supersedes=first)
    assert "supersedes" not in late
    assert [then(m, day) for day in ("2020-06", "2021-06", "2022-06", "2024")] == [
        ["家：罗马"],
        *[["家：奥斯陆"]] * 3,
    ]


def test_what_was_over_before_it_is_corrected_keeps_its_own_time(m: Memory) -> None:
    wrong = given(m, "W 错", said="2020", valid_from="2020", valid_to="2021-12-31")["id"]
    later = given(m, "R 对", said="2022", valid_from="2023", corrects=wrong)["id"]
    item = m.get(later)
    assert item is not None
    assert (item["valid_from"][:4], item["valid_to"]) == ("2023", None)
    told = given(m, "until 2011", said="2027", valid_to="2011", corrects=later)["id"]
    item = m.get(told)
    assert item is not None
    assert (item["valid_from"], item["valid_to"]) == (None, "2012-01-01T00:00:00+00:00")


def test_what_is_said_again_in_place_of_a_plan_goes_on(m: Memory) -> None:
    rome = given(m, "家：罗马", said="2020")["id"]
    plan = given(m, "家：奥斯陆", said="2021", valid_from="2030", supersedes=rome)["id"]
    again = m.add(facts=[{"text": "家：罗马", "corrects": plan}], timestamp="2022", **ANN)
    assert again["results"] == [{"id": rome, "memory": "家：罗马", "event": "NONE", "corrects": [plan]}]
    assert then(m, "2031") == ["家：罗马"]
    assert m.check(full=True)["sound"]
    m.undo(again["trace_id"])
    assert [then(m, day) for day in ("2029", "2031")] == [["家：罗马"], ["家：奥斯陆"]]


def test_no_chain_comes_back_to_where_it_was(m: Memory) -> None:
    first, second = chain(m, ("Y", "2020"), ("Z", "2022"))
    facts = [{"text": "X", "supersedes": second}, {"text": "X", "supersedes": first, "valid_from": "2021"}]
    m.add(facts=facts, timestamp="2023", **ANN)
    assert [item["memory"] for item in m.get_all(**ANN)["results"]] == ["X"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_talks_that_come_in_any_order_tell_the_same_life(m: Memory, order: tuple[int, ...]) -> None:
    said = [
        ("I live in Rome.", "2023-01-05"),
        ("I moved to Oslo.", "2023-06-01"),
        ("I live in Turku now.", "2024-02-02"),
    ]
    for number in order:
        m.add(said[number][0], timestamp=said[number][1], **ANN)
    days = ("2023-01-05", "2023-05-31", "2023-06-01", "2024-02-01", "2024-02-02", "2025-01-01")
    rome, oslo, turku = ([text] for text, _ in said)
    assert [then(m, day) for day in days] == [rome, rome, oslo, oslo, turku, turku]
    assert then(m, "2023-01-04") == []


def test_what_is_restored_changes_no_present(m: Memory) -> None:
    rome = m.add("I live in Rome.", timestamp="2023-01-05", **ANN)["results"][0]["id"]
    m.delete(rome)
    m.add("I moved to Oslo.", timestamp="2023-06-01", **ANN)
    m.restore(rome)
    assert [item["memory"] for item in m.get_all(**ANN)["results"]] == ["I moved to Oslo."]
    assert then(m, "2023-02-01") == ["I live in Rome."]


@pytest.mark.parametrize("key", ["supersedes", "corrects"])
def test_what_is_named_has_to_be_there(m: Memory, key: str) -> None:
    other = m.add(facts=["another's fact"], user_id="bob")["results"][0]["id"]
    mine = given(m, "mine")["id"]
    m.delete(mine)
    for uid in (other, mine, "00000000-0000-7000-8000-000000000000"):
        with pytest.raises(NotFoundError, match=uid):
            given(m, "takes its place", **{key: uid})
    for odd in (5, [5], {"id": mine}, "", [None]):
        with pytest.raises(ValidationError):
            given(m, "takes its place", **{key: odd})
    with pytest.raises(ValidationError, match="twice"):
        given(m, "takes its place", supersedes=mine, corrects=mine)
    assert m.get_all(**ANN)["total"] == 0
    assert m.get(other) is not None
