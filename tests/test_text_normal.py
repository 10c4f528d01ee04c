"""Normal form and live key: which texts are the same memory."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.text.normal import live_key, normal_form

anything = st.text(st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Owns a red kayak.", "  owns a  red kayak. "),
        ("Ich heiße Jürgen", "ICH HEISSE JU\u0308RGEN"),
        ("Café", "Cafe\u0301"),
        ("Я живу в Твери", "я живу\u00a0в\u2003ТВЕРИ\n"),
        ("ΟΔΟΣ", "οδος"),
        ("抹茶が 好き", "抹茶か\u3099\u3000好き"),
        ("a\tb\r\nc", "A B C"),
    ],
)
def test_the_same_text_in_other_clothes_has_one_normal_form(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)
    assert live_key(one) == live_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x²", "x2"),
        ("C++", "C"),
        ("C#", "C"),
        ("résumé", "resume"),
        ("Really?", "Really!"),
        ("①", "1"),
        ("抹茶", "抹茶。"),
        ("ﬁve", "five x"),
        ("a b", "ab"),
    ],
)
def test_texts_that_differ_in_more_keep_apart(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)
    assert live_key(one) != live_key(other)


def test_white_space_of_any_kind_alone_is_empty() -> None:
    assert normal_form(" \t\n\u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\x85") == ""


@given(anything)
@example("\u0345\u0301\u0345")
@example("ᾳ\u0345\u0301")
@example("\ud800 \udfff\0")
def test_normal_form_is_idempotent_and_trimmed(text: str) -> None:
    form = normal_form(text)
    assert normal_form(form) == form
    assert form == " ".join(form.split())
    assert unicodedata.is_normalized("NFC", form)


@given(anything, st.sampled_from(("²", "2")))
def test_a_superscript_is_never_merged_with_its_digit(text: str, digit: str) -> None:
    assert ("²" in normal_form(text + digit + "²")) and normal_form(text + "x²") != normal_form(text + "x2")


def test_live_key_is_the_same_on_every_machine() -> None:
    assert live_key("Owns a red kayak.") == "8dedc405d890700bba0a28c3f646f958"
    assert live_key("Thanks!", "2024-05-07") == "8975778011f317eaf662615395d6506b"


@given(anything, st.dates(), st.dates())
def test_live_key_is_short_ascii_and_tells_days_apart(text: str, one: object, other: object) -> None:
    key = live_key(text, str(one))
    assert len(key) == 32
    assert set(key) <= set("0123456789abcdef")
    assert (key == live_key(text, str(other))) == (one == other)
    assert key != live_key(text)
