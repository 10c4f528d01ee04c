"""Everyday words: that the terms listed are those of texts and queries, and how their shares run."""

from __future__ import annotations

import pytest

from mnemic.text.common import EVERYDAY_WORDS, everyday_shares
from mnemic.text.pack import term_hash
from mnemic.text.tokens import index_terms, query_terms


def share(query: str) -> float:
    """The highest share of any reading of a query's words."""
    return max(everyday_shares().get(term_hash(term), 0.0) for group in query_terms(query) for term in group)


@pytest.mark.parametrize("language", EVERYDAY_WORDS)
def test_every_word_listed_is_known_in_queries_once(language: str) -> None:
    words = EVERYDAY_WORDS[language].split()
    assert len(set(words)) == len(words)
    assert [word for word in words if not share(word)] == []


@pytest.mark.parametrize(
    "text", ["days", "Wanting", "HOME", "今天", "时候", "Wochen", "mañanas", "сегодня", "一緒"]
)
def test_other_forms_of_a_word_are_known_too(text: str) -> None:
    assert 0.003 < share(text) <= 0.1


@pytest.mark.parametrize(
    "text", ["peanuts", "Shanghai", "ERR-7731", "kayak", "花生", "年糕", "丈夫", "café", "Твери"]
)
def test_what_people_remember_is_no_everyday_word(text: str) -> None:
    assert share(text) == 0


def test_the_first_words_are_the_commonest_and_documents_hold_the_same_terms() -> None:
    first, *_, last = EVERYDAY_WORDS["en"].split()
    assert share(first) == pytest.approx(0.1)
    assert share(last) < 0.01
    [term] = index_terms("The days")
    assert everyday_shares()[term_hash(term)] == share("day")
