"""Cutting messages into sentences and blocks: exact spans, ends in every script, blocks in one piece."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.ingest.sentences import split


def pieces(text: str) -> list[str]:
    return [text[one.start : one.end] for one in split(text)]


def kinds(text: str) -> list[str]:
    return [one.kind for one in split(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["I moved.", "It rains a lot!", "Really?"],
        ["我搬家了。", "你呢？", "太好了！"],
        ["मैं दिल्ली में हूँ।", "धन्यवाद।"],
        ["أعيش في القاهرة.", "كيف حالك؟"],
        ["Dr. Okafor saw me at 4:30 p.m. on Monday.", "She works at St. Mary's."],
        ["It is 3.5 km, v2.0.1, e.g. the long way.", "See https://a.b/c?d=e.f for more."],
        ["Mail me at a.b@c.example.", "Thanks."],
        ["J. K. Rowling wrote it.", "I read it."],
        ["We met a lawyer, J. Abernathy, today."],
        ["Wait...", "no."],
        ["今天好累啊……", "讲个故事吧。"],
        ["We're expecting! 💛", "Due in May."],
        ["卖了四万二😄", "现在看新能源。"],
        ['He asked "What now?" and left.', "I stayed."],
        ['专家说："要引入市场。"', "我同意。"],
        ["这首诗是谁写的？", '"山中何所有"那个。'],
        ["My monitor is 27\" wide.", "Nice."],
        ["I'm on vitamin C.", "It helps."],
    ],
)  # fmt: skip
def test_sentences_end_where_they_end(parts: list[str]) -> None:
    joiner = "" if parts[0][-1] in "。？！…😄" or parts[0].endswith('"') else " "
    assert pieces(joiner.join(parts)) == parts


def test_lines_and_list_items_end_sentences() -> None:
    assert pieces("Sort these:\n- fig\n2. date\n\n  kumquat  ") == [
        "Sort these:",
        "- fig",
        "2. date",
        "kumquat",
    ]


@pytest.mark.parametrize(
    ("kind", "block"),
    [
        ("code", "```python\nprint('I live here.')\n```"),
        ("code", "def f(x):\n    if x:\n        return x\n    return None"),
        ("code", "SELECT a, b FROM t WHERE x > 1;"),
        ("code", '{"name": "test", "vip": false}'),
        ("code", "<div class='a'>\n  <p>I love you</p>\n</div>"),
        ("code", "a,b,c\n1,2,3\n4,5,6"),
        ("code", "let a = [1];\na.map(x => { x * 2 });\n// 期望 [2]"),
        ("log", "2024-11-03 02:14:07,331 ERROR worker: reset by peer\n2024-11-03 02:14:12,340 WARN retry"),
        ("log", "Traceback (most recent call last):\n  File \"a.py\", line 4, in f\n    g()\nKeyError: 't'"),
        ("log", "9f3a1c2 Fix flaky test\n1d2c6aa I hate timezones"),
        ("quote", "> I moved to Dayton.\n> Call me there."),
    ],
)
def test_blocks_stay_in_one_piece(kind: str, block: str) -> None:
    text = f"Look at this.\n{block}\n\nWhat is wrong?"
    assert pieces(text) == ["Look at this.", block, "What is wrong?"]
    assert kinds(text) == ["text", kind, "text"]


def test_a_fence_that_is_never_closed_runs_to_the_end() -> None:
    assert pieces("Look. ```\nI moved.\n\nI live here.") == ["Look.", "```\nI moved.\n\nI live here."]


@pytest.mark.parametrize(
    "prose",
    [
        "I have (at least) three cats: Tom, Ann & Bob; they're 3, 5, and 7!",
        "Write to kb@home.example, I don't use k@firm.example anymore, ever.",
        "Name: Ann Lee\nAge: 34\nCity: Rome",
        "Import duties are killing my business.",
        "Return flight is on May 5",
        "预算 = 5000 元，人数 = 3",
        "My schedule: Mon 9-5, Tue 9-5, Wed off",
    ],
)
def test_prose_with_signs_is_no_code(prose: str) -> None:
    assert set(kinds(prose)) == {"text"}


@given(
    st.text(st.sampled_from('aI我。.!?？ \n\r\u2028"“”`>{}[];=,:-😄\t1/@'), max_size=120)
    | st.text(max_size=120)
)
def test_every_character_lies_in_exactly_one_piece(text: str) -> None:
    last = 0
    for one in split(text):
        assert last <= one.start < one.end
        assert not text[last : one.start].strip()
        assert text[one.start : one.end] == text[one.start : one.end].strip()
        last = one.end
    assert not text[last:].strip()
