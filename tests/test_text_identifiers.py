"""Identifiers, numbers, addresses, apostrophes: whole and in parts."""

from __future__ import annotations

import pytest

from mnemic.text.tokens import index_terms, query_terms


def found(query: str, document: str) -> int:
    terms = index_terms(document)
    return sum(any(term in terms for term in group) for group in query_terms(query))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        ("F# or A+", {"f#", "a+"}),
        ("notepad++", {"notepad++", "notepad"}),
        (".NET", {".net", "net"}),
        ("ERR-7731", {"err-7731", "err", "7731"}),
        ("3.5", {"3.5"}),
        ("3,5", {"3.5"}),
        ("1,250,000", {"1250000"}),
        ("10:30", {"10:30"}),
        ("24/7", {"24/7"}),
        ("2024-05-07", {"2024-05-07", "2024"}),
        ("v2.0.18", {"v2.0.18"}),
        ("192.168.0.1", {"192.168.0.1", "192", "168"}),
        ("loves_to_eat", {"loves_to_eat", "love", "eat"}),
        ("foo.bar.baz()", {"foo.bar.baz", "foo", "bar", "baz"}),
        ("e-mail", {"email", "mail"}),
        ("well-known", {"wellknown", "well", "known"}),
        ("getUserName", {"getusernam", "get", "user", "name"}),
        ("JavaScript", {"javascript", "java", "script"}),
        ("McDonald iPhone", {"mcdonald", "iphon"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("ann.lee@example.com", {"ann.lee@example.com", "ann", "lee", "exampl"}),
        ("https://www.example.com/a/tea?x=1.", {"example.com/a/tea?x=1", "example.com", "exampl", "tea"}),
        ("src/main.py", {"src/main.py", "src", "main.py", "main", "py"}),
        ("bread/butter", {"bread", "butter"}),
        ("R&D", {"r&d"}),
        ("U.S.", {"us"}),
        ("covid19", {"covid19", "covid", "19"}),
        ("5kg", {"5kg", "kg"}),
        ("tea.She slept", {"tea", "slept"}),
        ("Ann's", {"ann"}),
        ("Ann\u2019s parents' cat", {"ann", "parent", "cat"}),
        ("O'Brien", {"obrien", "brien"}),
        ("l'eau", {"eau"}),
        ("Ankara'da", {"ankarada", "ankara"}),
        ("x²", {"x2"}),
    ],
)
def test_terms_of_an_identifier(text: str, terms: set[str]) -> None:
    assert set(index_terms(text)) == terms


@pytest.mark.parametrize(
    ("document", "queries"),
    [
        ("Writes C++ and C# for a living", ["c++", "C++", "c#", "C++17 or C++"]),
        ("The build fails with ERR-7731", ["ERR-7731", "err 7731", "err7731", "7731", "err_7731"]),
        ("The build fails with ERR7731", ["ERR-7731", "err.7731", "err7731"]),
        ("Prefers e-mail", ["email", "e-mail", "E-Mails"]),
        ("Prefers email", ["e-mail", "emails"]),
        ("Runs Python 3.5 on v2.0.18", ["3.5", "2.0.18", "V2.0.18", "python"]),
        ("Set to 2.0.18", ["v2.0.18"]),
        ("Earns 12,500 a year", ["12500", "12,500"]),
        (
            "Write to ann.lee@example.com.",
            ["ann.lee@example.com", "ANN.LEE@EXAMPLE.COM", "ann lee", "example"],
        ),
        (
            "See https://docs.example.org/guide/start.",
            ["docs.example.org", "https://docs.example.org/guide/start", "guide"],
        ),
        (
            "Call +86 138-0013-8000",
            ["+86 138-0013-8000", "13800138000", "138-0013-8000", "8613800138000", "+8613800138000"],
        ),
        ("Call 13800138000", ["+86 138-0013-8000", "138 0013 8000 or +86 138 0013 8000", "13800138000"]),
        ("Ring (020) 7946-0958", ["+44 20 7946 0958", "02079460958"]),
        ("Deployed on 2024-05-07", ["2024-05-07", "2024"]),
        ("calls getUserName()", ["getusername", "user name", "getUserName"]),
        ("set max_retry_count", ["max_retry_count", "retry", "counts"]),
        ("Met O'Brien", ["obrien", "O’Brien", "o'brien", "Brien"]),
        ("uses foo.bar.baz()", ["foo.bar.baz", "baz", "foo.bar.baz()"]),
        ("covid-19 in May", ["covid19", "COVID-19", "covid"]),
        ("id 123e4567-e89b-12d3-a456-426614174000", ["123E4567-E89B-12D3-A456-426614174000"]),
    ],
)
def test_an_identifier_is_found_however_it_is_typed(document: str, queries: list[str]) -> None:
    for query in queries:
        assert found(query, document), query


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("Writes C", "C++"),
        ("Writes C++", "C#"),
        ("Writes C++", "C"),
        ("Version 3.5", "3.6"),
        ("Version 3.5", "5"),
        ("On 2024-05-07", "05"),
        ("Call 13800138000", "13800138001"),
    ],
)
def test_identifiers_that_differ_are_not_mixed_up(document: str, query: str) -> None:
    assert found(query, document) == 0


def test_the_whole_identifier_outweighs_its_parts() -> None:
    assert found("ERR-7731", "crashed with ERR-7731") > found("ERR-7731", "crashed with ERR-1234") > 0
    assert found("ERR-7731", "crashed again") == 0


def test_a_blob_costs_a_bounded_number_of_terms() -> None:
    blob = "data:image/png;base64," + "iVBORw0KGgo/AAAANSUhEUg+" * 5000
    assert len(index_terms(blob)) < 100
    assert len(index_terms("a's" + "'s" * 40_000)) >= 1
    assert len(query_terms("_".join(f"part{number}" for number in range(3000)))) < 100
