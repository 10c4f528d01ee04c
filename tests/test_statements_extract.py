"""Extraction: what proposals carry, which sentences stay together, and what holds for every text."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.ingest.given import Common
from mnemic.ingest.messages import Heard
from mnemic.ingest.statements import EXTRACTOR, Extraction, extract
from mnemic.records import Kind, Message, Rejected, Span

COMMON = Common(metadata=None, expires=(None, None), timestamp=None, tz=UTC)


def taken(*messages: Message, common: Common = COMMON) -> Extraction:
    return extract(Heard(messages, tuple(range(len(messages))), ()), common, 0)


def kept(text: str) -> list[str]:
    return [one.content.text for one in taken(Message("user", text)).proposals]


def test_a_proposal_carries_source_speaker_and_what_is_common() -> None:
    common = Common(metadata={"b": 1, "a": "é"}, expires=("2025-01-31", 99), timestamp=5, tz=UTC)
    heard = Heard(
        (
            Message("assistant", "I live in a box."),
            Message("user", "Hi! I live in Bergen.", "ann", said_at=7),
        ),
        (0, 2),
        (Rejected("be kind", (1,), "system_message"),),
    )
    found = extract(heard, common, 0)
    [one] = found.proposals
    assert (one.kind, one.content.text) == (Kind.FACT, "I live in Bergen.")
    assert (one.spans, one.position, one.said_at) == ((Span(1, 4, 21),), 1, 7)
    assert one.content.metadata == '{"b":1,"a":"é"}'
    assert (one.content.expires_on, one.content.expires_at) == ("2025-01-31", 99)
    source = one.provenance
    assert (source.role, source.actor_id, source.attributed_to) == ("user", "ann", "user")
    assert source.extractor == EXTRACTOR == "statements/2"
    assert found.rejected == (
        Rejected("I live in a box.", (0,), "not_the_user"),
        Rejected("Hi!", (2,), "greeting"),
    )


def test_other_roles_are_left_out_whole() -> None:
    found = taken(Message("tool", "I live here. I like it."), Message("developer", "I moved to Rome."))
    assert found.proposals == ()
    assert [one.reason for one in found.rejected] == ["not_the_user", "not_the_user"]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("We have a dog. He is called Rex. I work nights.", ["We have a dog. He is called Rex.", "I work nights."]),
        (
            "I broke up with Jules. She still has the dog. It's called Rex.",
            ["I broke up with Jules. She still has the dog. It's called Rex."],
        ),
        ("我妹妹下个月结婚。她在广州当老师。我想送她花。", ["我妹妹下个月结婚。她在广州当老师。", "我想送她花。"]),
        ("My cat died.\nHe was fourteen.", ["My cat died.\nHe was fourteen."]),
        ("I live in Hangzhou. It's sunny, I have no plans.", ["I live in Hangzhou.", "It's sunny, I have no plans."]),
        ("I have a cat. Thanks! She is old.", ["I have a cat.", "She is old."]),
        ("Can you write a card for my aunt? She turns 90.", ["Can you write a card for my aunt? She turns 90."]),
    ],
)  # fmt: skip
def test_a_leaning_sentence_stays_with_the_one_before(text: str, statements: list[str]) -> None:
    assert kept(text) == statements


def test_a_statement_takes_no_more_than_four_sentences() -> None:
    text = "I have a son. " + " ".join(f"He likes thing {n}." for n in range(6))
    assert [one.count(".") for one in kept(text)] == [4, 3]


SCRAPS = st.sampled_from(
    [
        "I live in Bergen", "my cat is called Rex", "She is old", "what now?", "thanks", "hi", "translate this:",
        "我住在杭州", "她很好", "帮我写诗", "谢谢", "怎么办？", "```", "> quoted", "- item", "1. one", "{", "x = 1;",
        "…", "。", ". ", "! ", "\n", "\r\n", "\u2028", " ", "😄", '"', "“", "”", "Ann: hi", "Dear Bob,", "Best,", ":",
        "وأعيش في القاهرة", "я живу", "東京に住んでいます", "If I were you", "pretend", "2024-06-08", "\x00",
    ]
)  # fmt: skip


@given(st.lists(SCRAPS, max_size=14).map("".join) | st.text(max_size=200))
def test_every_character_is_kept_or_left_out_exactly_once(text: str) -> None:
    found = taken(Message("user", text))
    spans = [one.spans[0] for one in found.proposals]
    for one, span in zip(found.proposals, spans, strict=True):
        assert text[span.start : span.end] == one.content.text == one.content.text.strip() != ""
    covered = sorted((span.start, span.end, None) for span in spans)
    at = 0
    left = list(found.rejected)
    for start, end, _ in [*covered, (len(text), len(text), None)]:
        while text[at:start].strip():
            rejected = left.pop(0)
            begin = text.index(rejected.text, at)
            assert not text[at:begin].strip()
            at = begin + len(rejected.text)
            assert at <= start
        at = end
    assert left == []
    assert all(one.reason and one.messages == (0,) for one in found.rejected)
    assert taken(Message("user", text)) == found


@given(st.lists(SCRAPS, max_size=10).map("".join))
def test_what_is_kept_of_a_message_stays_the_same_when_said_again(text: str) -> None:
    again = Message("user", text)
    found = taken(again, again)
    first = [one.content for one in found.proposals if one.position == 0]
    assert first == [one.content for one in found.proposals if one.position == 1]
