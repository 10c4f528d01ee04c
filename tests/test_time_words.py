"""The time words of a question: what they ask for, and what is left to rank by."""

from __future__ import annotations

from datetime import UTC, datetime
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.clock import FIRST_INSTANT, LAST_INSTANT, day_of, to_instant
from mnemic.recall.time_words import read_time_words, without_clauses

# A Wednesday.
NOW = to_instant(datetime(2024, 7, 17, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "relation", "anchor", "rest"),
    [
        ("Where did I live before Porto?", "before", "Porto", "Where did I live?"),
        ("Where did I live before I moved to Berlin?", "before", "I moved to Berlin", "Where did I live?"),
        ("Where did Tom live prior to Glasgow?", "before", "Glasgow", "Where did Tom live?"),
        ("Before Porto where did I live?", "before", "Porto", "where did I live?"),
        ("Before moving to Porto, where did I live?", "before", "moving to Porto", "where did I live?"),
        ("What did I start after the accident?", "after", "the accident", "What did I start?"),
        ("Since the accident, what have I stopped?", "since", "the accident", "what have I stopped?"),
        ("Which phone did I use until the move?", "until", "the move", "Which phone did I use?"),
        ("When I was at Acme, where did I live?", "during", "I was at Acme", "where did I live?"),
        ("Where did I work when I got married?", "during", "I got married", "Where did I work?"),
        ("Where did he live during his time at Acme?", "during", "Acme", "Where did he live?"),
        ("我搬到上海之前住在哪里？", "before", "我搬到上海", "我住在哪里？"),
        ("入职青禾以前我在哪家公司？", "before", "入职青禾", "我在哪家公司？"),
        ("我搬家前住哪里", "before", "我搬家", "我住哪里"),
        ("结婚之后我养了什么宠物？", "after", "结婚", "我养了什么宠物？"),
        ("自从搬到成都以来，我认识了谁？", "since", "搬到成都", "我认识了谁？"),
        ("我在远山科技的时候住在哪里？", "during", "我在远山科技", "我住在哪里？"),
        ("我刚到上海时住在哪里？", "during", "我刚到上海", "我住在哪里？"),
    ],
)
def test_an_anchor_is_told_from_what_is_asked(text: str, relation: str, anchor: str, rest: str) -> None:
    found = read_time_words(text, NOW, UTC)
    assert found is not None
    assert (found.relation, found.anchor, found.rest) == (relation, anchor, rest)
    assert found.window is None


@pytest.mark.parametrize(
    ("text", "relation", "first", "after", "rest"),
    [
        ("Where did I live in 2022?", "during", "2022-01-01", "2023-01-01", "Where did I live?"),
        ("Where did I live before 2020?", "before", "2020-01-01", "2021-01-01", "Where did I live?"),
        ("Who did I meet the day before yesterday?", "during", "2024-07-15", "2024-07-16", "Who did I meet?"),
        ("What have I learned since March?", "since", "2024-03-01", "2024-04-01", "What have I learned?"),
        ("Where did Ann work before she came in 2023?", "before", "2023-01-01", "2024-01-01", "Where did Ann work?"),
        ("Who left the week before 2024-03-04 by bus?", "during", "2024-02-26", "2024-03-04", "Who left by bus?"),
        ("Who left two weeks after June 2, 2024?", "during", "2024-06-13", "2024-06-20", "Who left?"),
        ("去年三月我去了哪里", "during", "2023-03-01", "2023-04-01", "我去了哪里"),
        ("2020年之前我在哪工作？", "before", "2020-01-01", "2021-01-01", "我在哪工作？"),
        ("自2022年起我在哪家公司", "since", "2022-01-01", "2023-01-01", "我在哪家公司"),
        ("直到去年我都在用什么手机？", "until", "2023-01-01", "2024-01-01", "我都在用什么手机？"),
    ],
)  # fmt: skip
def test_a_date_is_a_window(text: str, relation: str, first: str, after: str, rest: str) -> None:
    found = read_time_words(text, NOW, UTC)
    assert found is not None
    assert found.window is not None
    days = tuple(str(day_of(at, UTC)) for at in found.window)
    assert (found.relation, days, found.rest) == (relation, (first, after), rest)


@pytest.mark.parametrize(
    ("text", "notion", "rest"),
    [
        ("Where do I live now?", "current", "Where do I live?"),
        ("Where does Tom work these days?", "current", "Where does Tom work?"),
        ("Where did Tom used to work?", "past", "Where did Tom work?"),
        ("Where did I use to live?", "past", "Where did I live?"),
        ("What was my previous job?", "past", "What was my job?"),
        ("Where did I live before?", "past", "Where did I live?"),
        ("Which sport does Tom no longer play?", "change", "Which sport does Tom play?"),
        ("When did I move to Porto?", "when", "When did I move to Porto?"),
        ("Since when do I work here?", "when", "Since when do I work here?"),
        ("Do you know when I moved to Rome?", "when", "Do you know when I moved to Rome?"),
        ("How long have I lived here?", "when", "How long have I lived here?"),
        ("我现在住在哪里？", "current", "我住在哪里？"),
        ("陈默以前住哪里？", "past", "陈默住哪里？"),
        ("我的上一份工作是什么？", "past", "我的工作是什么？"),
        ("我什么时候买的车？", "when", "我什么时候买的车？"),
        ("我哪年搬到上海的？", "when", "我哪年搬到上海的？"),
        ("陈默不再做什么运动了？", "change", "陈默做什么运动了？"),
    ],
)
def test_a_notion_without_any_time(text: str, notion: str, rest: str) -> None:
    found = read_time_words(text, NOW, UTC)
    assert found is not None
    assert (found.notion, found.rest, found.relation, found.window) == (notion, rest, "", None)


PLAIN = [
    "Where do I live?",
    "What is Ann's favourite food?",
    "What do I drink before bed?",
    "Who should I look after when I travel?",
    "the pill before meals",
    "What does May like, and did June come?",
    "What language is used in the office?",
    "How long is my commute?",
    "How did he cope when he was younger?",
    'Which "café" 🦊 has\nthe best cake?',
    "我住在上海的哪里？",
    "周航是谁？",
    "前女友叫什么？",
    "Где я живу?",
    "",
]


@pytest.mark.parametrize("text", PLAIN)
def test_other_questions_have_no_time_words(text: str) -> None:
    assert read_time_words(text, NOW, UTC) is None


def test_a_question_without_time_words_costs_next_to_nothing() -> None:
    def best(text: str) -> float:
        times = []
        for _ in range(50):
            begun = perf_counter()
            read_time_words(text, NOW, UTC)
            times.append(perf_counter() - begun)
        return min(times)

    assert max(best("What is the name of my sister's dog?"), best("我最喜欢的餐厅叫什么名字？")) < 50e-6


def test_what_asks_for_nothing_else_is_bare() -> None:
    for text in ("What did I do last summer?", "What happened after the wedding?", "去年夏天我做了什么？"):
        found = read_time_words(text, NOW, UTC)
        assert found is not None
        assert found.bare
    found = read_time_words("What did I plant last summer?", NOW, UTC)
    assert found is not None
    assert not found.bare


def test_now_is_that_of_the_zone() -> None:
    late = to_instant(datetime(2023, 12, 31, 20, tzinfo=UTC))
    for tz, year in ((UTC, 2022), (ZoneInfo("Asia/Shanghai"), 2023)):
        found = read_time_words("Where did I live last year?", late, tz)
        assert found is not None
        assert found.window is not None
        assert day_of(found.window[0], tz).year == year


def test_a_statement_without_what_places_it_in_time() -> None:
    assert without_clauses("I lived in Lisbon before I moved to Porto.") == "I lived in Lisbon."
    assert without_clauses("搬到上海之前我住在杭州。") == "我住在杭州。"
    assert without_clauses("I moved to Porto.") == "I moved to Porto."


FRAGMENTS = """when before after since until the I moved to Porto was did where now used last summer 2023 , ? . in my
time at no longer 以前 之前 我 搬家 的时候 后 住在哪里 什么时候 去年 自从 以来 ， 。"""
WORDS = st.lists(st.sampled_from(FRAGMENTS.split()))
TEXTS = st.one_of(st.text(), WORDS.map(" ".join), WORDS.map("".join))


@given(TEXTS, st.integers(FIRST_INSTANT, LAST_INSTANT))
def test_any_text_can_be_asked(text: str, now: int) -> None:
    found = read_time_words(text, now, UTC)
    if found is not None:
        assert found.rest
        assert all(words in text for words in found.words)
        assert found.anchor in text
        assert (found.relation == "") == (found.window is None and not found.anchor)
        assert found.window is None or found.window[0] < found.window[1]
    without_clauses(text)
