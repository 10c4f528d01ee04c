"""What a statement tells of its time: the day of an event, since when it holds, and what a change then ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic import Memory
from mnemic.clock import FIRST_INSTANT, LAST_INSTANT, iso, to_instant
from mnemic.ingest.told_time import told_time

# A Wednesday.
SAID = to_instant(datetime(2024, 7, 17, 12, tzinfo=UTC))


def day(text: str, said_at: int = SAID) -> str:
    return told_time(text, said_at, UTC).day


def since(text: str) -> tuple[str | None, str | None]:
    """Since when a statement holds, and how exactly that was told."""
    start = told_time(text, SAID, UTC).validity
    told = iso(start.start)
    return (None if told is None else told[:10]), start.start_precision


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Yesterday I sold my van", "2024-07-16"),
        ("We got married last Saturday! 💍", "2024-07-13"),
        ("上周一我入职了。", "2024-07-08"),
        ("I met her on Monday.", "2024-07-15"),
        ("I have a meeting on Monday.", "2024-07-22"),
        ("I'm flying to Lima on Friday.", "2024-07-19"),
        ("I have a dentist appointment tomorrow.", "2024-07-18"),
        ("I'm moving to Oslo on May 1", "2025-05-01"),
        ("I moved to Oslo on May 1", "2024-05-01"),
        ("我明天要搬家。", "2024-07-18"),
        ("昨天我搬到上海了。", "2024-07-16"),
        ("两天前我卖了车。", "2024-07-15"),
        ("My surgery is on June 8, 2024.", "2024-06-08"),
        ("My surgery is on August 8.", "2024-08-08"),
        ("We married on 3rd of May 2019.", "2019-05-03"),
        ("I flew on 2024-02-29.", "2024-02-29"),
        ("我 2024 年 6 月 8 日做手术。", "2024-06-08"),
        ("I've been sober since June 8, 2024.", ""),
        ("From 2024-01-01 to 2024-02-01 I'm away.", ""),
        ("We met on 2024-02-30.", ""),
        ("On 5/9/2024 I start.", ""),
        ("我从2024年6月8日起吃素。", ""),
        ("My birthday is on May 3.", ""),
        ("I play tennis on Sunday.", ""),
        ("I always call my mom on Sunday.", ""),
        ("I bought tickets for the concert on Friday.", ""),
        ("I got the job that starts on Monday.", ""),
        ("I moved in May.", ""),
        ("I live in Oslo.", ""),
    ],
)
def test_the_day_of_an_event_is_told_only_beyond_doubt(text: str, told: str) -> None:
    assert day(text) == told


@pytest.mark.parametrize(
    ("text", "start", "precision"),
    [
        ("Yesterday I sold my van", "2024-07-16", "day"),
        ("I've lived in Oslo since March 2023", "2023-03-01", "month"),
        ("I've worked here since Monday.", "2024-07-15", "day"),
        ("I started at Acme in September", "2023-09-01", "month"),
        ("I graduated from MIT in 2015.", "2015-01-01", "year"),
        ("I've been sober since June 8, 2024.", "2024-06-08", "day"),
        ("As of August 1 my number is 555-0199.", "2024-08-01", "day"),
        ("As of May 1 my number is 555-0199.", "2024-05-01", "day"),
        ("我从2021年9月开始在星河上班", "2021-09-01", "month"),
        ("3月19号开始学攀岩", "2024-03-19", "day"),
        ("我8月1号开始在星河上班", "2024-08-01", "day"),
        ("我去年三月搬到了上海。", "2023-03-01", "month"),
    ],
)
def test_what_began_or_happened_holds_since(text: str, start: str, precision: str) -> None:
    assert since(text) == (start, precision)


@pytest.mark.parametrize(
    "text",
    [
        "I'm moving to Oslo on May 1",
        "We're getting married in June.",
        "我下个月15号去北京出差。",
        "I worked at Acme until 2019.",
        "I bought the house that my uncle built in 1990.",
        "我2019年买的车还没坏。",
        "My car is from 2015.",
        "My daughter was born on March 3, 2020. She loves trains.",
        "Back in 2015 I used to smoke.",
        "I lived in Rome in 2019 and in Oslo in 2020.",
    ],
)
def test_plans_asides_and_what_is_over_begin_nothing(text: str) -> None:
    assert since(text) == (None, None)


@given(
    st.text(max_size=120)
    | st.text(
        st.sampled_from("I moved on May 1 2023 since 昨天上周一了开始要\n0123456789-年月日"), max_size=80
    ),
    st.integers(FIRST_INSTANT, LAST_INSTANT),
)
def test_any_text_tells_a_time_that_the_calendar_has_or_none(text: str, said_at: int) -> None:
    told = told_time(text, said_at, UTC)
    assert told == told_time(text, said_at, UTC)
    assert told.day == "" or datetime.fromisoformat(told.day)
    assert (told.validity.start is None) == (told.validity.start_precision is None)
    assert told.validity.end is None


def one(m: Memory, text: Any, said: str | None = None, **more: Any) -> dict[str, Any]:
    [item] = m.add(text, user_id="ann", timestamp=said, **more)["results"]
    return item


def then(m: Memory, day: str) -> list[str]:
    return [item["memory"] for item in m.get_all(user_id="ann", as_of=day)["results"]]


def test_a_relative_day_counts_from_the_talk_in_the_zone_told(m: Memory) -> None:
    van = one(m, "Yesterday I sold my van", "2021-03-10T09:00:00+01:00")
    item = m.get(van["id"])
    assert item is not None
    assert item["observed_at"] == "2021-03-10T08:00:00+00:00"
    assert (item["valid_from"], item["valid_to"]) == ("2021-03-08T23:00:00+00:00", None)
    again = one(m, "Yesterday I sold my van", "2021-03-10T09:00:00+01:00")
    assert (again["event"], again["id"]) == ("NONE", van["id"])
    other = one(m, "Yesterday I sold my van", "2021-05-10T09:00:00+01:00")
    assert (other["event"], other["id"] == van["id"]) == ("ADD", False)


def test_each_message_has_its_own_yesterday(m: Memory) -> None:
    talk = [
        {"role": "user", "content": "Yesterday I sold my van 🚐", "timestamp": "2021-03-10T00:30:00+09:00"},
        {"role": "user", "content": "昨天我卖了船。"},
    ]
    added = m.add(talk, user_id="ann", timestamp="2021-06-01T12:00:00Z")["results"]
    items = [m.get(item["id"]) for item in added]
    begun = ["2021-03-08T15:00:00+00:00", "2021-05-31T00:00:00+00:00"]
    assert [item and item["valid_from"] for item in items] == begun


def test_the_old_ends_where_the_new_begins(m: Memory) -> None:
    old = one(m, "I live in Bergen.", "2024-01-10")
    new = one(m, "I moved to Oslo last Saturday.", "2024-07-17T12:00:00Z")
    assert new["supersedes"] == [old["id"]]
    assert then(m, "2024-07-12") == ["I live in Bergen."]
    assert then(m, "2024-07-13") == ["I moved to Oslo last Saturday."]


def test_a_plan_ends_nothing_before_its_day(m: Memory) -> None:
    one(m, "My phone number is 555-0142.", "2024-01-10")
    plan = one(m, "I'm moving to Oslo on May 1.", "2024-04-10")
    one(m, "As of May 1 my phone number is 555-0199.", "2024-04-10")
    item = m.get(plan["id"])
    assert item is not None
    assert item["valid_from"] is None
    assert "My phone number is 555-0142." in then(m, "2024-04-30")
    assert "As of May 1 my phone number is 555-0199." not in then(m, "2024-04-30")
    assert "My phone number is 555-0142." not in then(m, "2024-05-01")
