#!/usr/bin/env python3
"""Checks facts.jsonl and questions.jsonl beside this file; standard library only.

Exit status 0 and a line of counts when all is well, else 1 and the faults.
"""

import json
import re
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {
    "before",
    "after",
    "since",
    "until",
    "used_to",
    "now",
    "window",
    "when",
    "change",
    "duration",
    "during",
    "none",
}
FACT_KEYS = {"id", "told_at", "text", "valid_from", "valid_to"}
QUESTION_KEYS = {"id", "language", "query", "reference_date", "answer", "kind"}
faults = []


def expect(ok, *words):
    if not ok:
        faults.append(" ".join(str(word) for word in words))


def load(name):
    text = (HERE / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def first_day(text):
    """The first day of a day, a month or a year; None if it is none of them."""
    if not isinstance(text, str) or not re.fullmatch(r"\d{4}(-\d\d){0,2}", text):
        return None
    parts = [int(part) for part in text.split("-")]
    try:
        return date(*[*parts, 1, 1][:3])
    except ValueError:
        return None


def language(text):
    """By the first letter: an ideograph is Chinese, anything else English."""
    letter = next((c for c in text if c.isalpha()), "")
    return "zh" if "\u4e00" <= letter <= "\u9fff" else "en"


def check_facts(facts):
    told, by_id, successor = None, {}, {}
    for number, fact in enumerate(facts, 1):
        name = fact.get("id")
        expect(name == f"f{number:02d}", "fact", number, "has id", name)
        expect(FACT_KEYS <= set(fact) <= FACT_KEYS | {"event", "supersedes"}, name, "keys", sorted(fact))
        try:
            instant = datetime.fromisoformat(fact["told_at"])
            expect(instant.tzinfo is not None, name, "told_at has no offset")
            expect(told is None or instant >= told, name, "not in order of told_at")
            told = instant
        except ValueError:
            expect(False, name, "told_at does not parse")
        for key in ("valid_from", "valid_to"):
            if fact[key] is not None:
                expect(first_day(fact[key]), name, key, "does not parse")
                expect((first_day(fact[key]) or date.min) <= told.date(), name, key, "is later than told_at")
        if fact["valid_to"]:
            expect(first_day(fact["valid_from"]) < first_day(fact["valid_to"]), name, "ends before it begins")
        expect(fact.get("event", True) is True, name, "event is not true")
        expect(not fact.get("event") or fact["valid_from"], name, "event without a date")
        for old in fact.get("supersedes", []):
            expect(old in by_id, name, "supersedes", old, "which is not an earlier fact")
            expect(old not in successor, old, "is superseded twice")
            successor[old] = name
            if old in by_id:
                expect(not by_id[old].get("event"), name, "supersedes an event")
                expect(by_id[old]["valid_to"] is None, old, "has two ends")
                expect(
                    first_day(by_id[old]["valid_from"]) < first_day(fact["valid_from"]),
                    name,
                    "begins before what it supersedes",
                )
        expect(name not in by_id, name, "twice")
        by_id[name] = fact
    expect(len({fact["text"] for fact in facts}) == len(facts), "a text occurs twice")
    return by_id, successor


def check_questions(questions, facts, successor):
    for number, question in enumerate(questions, 1):
        name = question.get("id")
        expect(name == f"q{number:02d}", "question", number, "has id", name)
        expect(set(question) == QUESTION_KEYS, name, "keys", sorted(question))
        expect(question["kind"] in KINDS, name, "kind", question["kind"])
        expect(question["language"] == language(question["query"]), name, "language")
        try:
            date.fromisoformat(question["reference_date"])
        except ValueError:
            expect(False, name, "reference_date does not parse")
        expect(question["answer"], name, "has no answer")
        for answer in question["answer"]:
            if answer not in facts:
                expect(False, name, "answer", answer, "is no fact")
                continue
            expect(
                language(facts[answer]["text"]) == question["language"],
                name,
                "answer",
                answer,
                "is in the other language",
            )
            begin = first_day(facts[answer]["valid_from"] or "1900")
            expect(
                begin <= date.fromisoformat(question["reference_date"]),
                name,
                "answer",
                answer,
                "begins after the question",
            )
            if question["kind"] in ("now", "none"):
                expect(
                    answer not in successor and facts[answer]["valid_to"] is None,
                    name,
                    "answer",
                    answer,
                    "is not current",
                )
    expect(len({q["query"] for q in questions}) == len(questions), "a query occurs twice")


def main():
    facts, questions = load("facts.jsonl"), load("questions.jsonl")
    by_id, successor = check_facts(facts)
    check_questions(questions, by_id, successor)
    told_in = Counter(language(fact["text"]) for fact in facts)
    asked_in = Counter(question["language"] for question in questions)
    kinds = Counter(question["kind"] for question in questions)
    expect(told_in == {"en": 22, "zh": 22}, "facts by language", dict(told_in))
    expect(asked_in == {"en": 30, "zh": 30}, "questions by language", dict(asked_in))
    expect(kinds["none"] == 8, "questions of kind none", kinds["none"])
    expect(set(kinds) == KINDS, "kinds without a question", sorted(KINDS - set(kinds)))
    for fault in faults:
        print("fault:", fault)
    print(f"{len(facts)} facts {dict(told_in)}, {len(questions)} questions {dict(asked_in)}")
    print("kinds:", ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
