"""Judging what became of a case. Pure; the rules are those of the page that comes with the cases.

Where that page leaves a choice, here is how it is read:

- A fact marked `forgets` (retired because the user asked for that) or `contradicts` (the classic editor's DELETE)
  is one marked `ends`; one marked `keeps` (its NONE) is one marked `repeats`.
- "No fact at all" for an entry that repeats: none that holds the entry's words.
- "No fact is kept" for an entry that ends: none that adds a memory, whatever it says.
- A fact that code found to be kept already adds no memory either, so it counts as marked `repeats`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum

from .cases import Case, Entry, Meets
from .dates import dates_in

# What adds no memory, and what gives a memory a successor.
ADDS_NONE = frozenset({"repeats", "ends"})
READ_AS = {"forgets": "ends", "contradicts": "ends", "keeps": "repeats"}
SUCCEEDS = frozenset({"changes", "corrects"})


class State(StrEnum):
    """What became of a memory that was kept before."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    ENDED = "ended"
    RETIRED = "retired"
    REFINED = "refined"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fact as it was decided; what was rejected or failed is none.

    dates: on, since and until, as far as given, in ISO form. meets: memories that are no part of the case have
    number 0.
    """

    text: str
    about: str | None = None
    dates: tuple[str, ...] = ()
    meets: tuple[Meets, ...] = ()

    @property
    def marks(self) -> frozenset[Meets]:
        """How it meets memories, in the words of the cases."""
        return frozenset(Meets(one.memory, READ_AS.get(one.how, one.how)) for one in self.meets)

    @property
    def adds(self) -> bool:
        """Whether it counts as a memory more: one that only repeats or ends others does not."""
        return not self.marks or any(mark.how not in ADDS_NONE for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was right and what was wrong.

    kept: how many expectations (facts to keep, memories to end) were met. missed: why the others were not, a
    reason each. invented: a reason per fact that should not be there. wrongly_closed: a reason per memory that
    should be as it was.
    """

    kept: int
    missed: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    wrongly_closed: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the case passes whole."""
        return not (self.missed or self.invented or self.wrongly_closed)


def judge(case: Case, drawn: Sequence[Drawn], memories: Sequence[State]) -> Judgement:
    """What is right and wrong about a case.

    drawn: the facts as decided. memories: the state of each memory of the case afterwards, in its order.
    """
    sight = _Sight(case, tuple(drawn), tuple(memories))
    entries = [sight.missed(entry) for entry in case.expect.keep]
    endings = [sight.not_ended(number) for number in case.expect.ends]
    missed = tuple(reason for reason in (*entries, *endings) if reason is not None)
    return Judgement(
        kept=len(entries) + len(endings) - len(missed),
        missed=missed,
        invented=tuple(sight.invented()),
        wrongly_closed=tuple(
            f"memory {number} ({_quoted(case.memories[number - 1].text)}) is {memories[number - 1]}"
            for number in case.expect.untouched
            if memories[number - 1] is not State.CURRENT
        ),
    )


@dataclass(frozen=True, slots=True)
class _Sight:
    """A case and what became of it."""

    case: Case
    drawn: tuple[Drawn, ...]
    memories: tuple[State, ...]

    def missed(self, entry: Entry) -> str | None:
        """Why an entry is not met, None if it is."""
        if any(not self.lacks(entry, fact) for fact in self.drawn):
            return None
        how = None if entry.meets is None else entry.meets.how
        if how == "repeats" and all(_lacks_words(entry, fact.text) for fact in self.drawn):
            return None
        if entry.meets is not None and how == "ends" and self.ended(entry.meets.memory) and not self.adding():
            return None
        near = [fact for fact in self.drawn if not _lacks_words(entry, fact.text)]
        if near:
            fact = min(near, key=lambda one: len(self.lacks(entry, one)))
            return f"{_quoted(fact.text)} {', '.join(self.lacks(entry, fact))}"
        return f"no fact {_words(entry)}"

    def lacks(self, entry: Entry, fact: Drawn) -> list[str]:
        """All that a fact lacks of an entry."""
        found = _lacks_words(entry, fact.text)
        if entry.about is not None and _fold(fact.about or "") != _fold(entry.about):
            found.append(f"is about {fact.about or 'nobody'}, not {entry.about}")
        if entry.when is not None and not _is_dated(fact, entry.when, self.case.zone):
            found.append(f"is not dated {entry.when}")
        if entry.meets is not None and entry.meets not in fact.marks:
            marked = ", ".join(f"{one.how} {one.memory}" for one in fact.meets) or "nothing"
            found.append(f"is not marked {entry.meets.how} {entry.meets.memory} but {marked}")
        return found

    def not_ended(self, number: int) -> str | None:
        """Why a memory that must have ended has not, None if it has."""
        if self.ended(number):
            return None
        told = f"memory {number} ({_quoted(self.case.memories[number - 1].text)})"
        return f"{told} is {self.memories[number - 1]}; it should have ended without a successor"

    def ended(self, number: int) -> bool:
        """Whether a memory has ended and nothing succeeds it."""
        succeeded = any(
            mark.memory == number and mark.how in SUCCEEDS for fact in self.drawn for mark in fact.marks
        )
        return self.memories[number - 1] in (State.ENDED, State.RETIRED) and not succeeded

    def adding(self) -> list[int]:
        """Which facts count as memories more."""
        return [at for at, fact in enumerate(self.drawn) if fact.adds]

    def invented(self) -> Iterator[str]:
        """A reason per fact that should not be there: it holds what none may hold, or is one too many."""
        expect, excess = self.case.expect, self.excess()
        for at, fact in enumerate(self.drawn):
            held = [words for words in expect.never if _fold(words) in _fold(fact.text)]
            reasons = [f"holds {_quoted(words)}" for words in held]
            if at in excess:
                reasons.append(
                    f"is beyond the {expect.at_most} allowed" if expect.keep else "is nothing to keep"
                )
            if reasons:
                yield f"{_quoted(fact.text)} {', '.join(reasons)}"

    def excess(self) -> list[int]:
        """Which facts are beyond the most that are allowed: those that meet no entry first."""
        expect, adding = self.case.expect, self.adding()
        most = expect.at_most if expect.keep else 0
        if most is None:
            return []
        adding.sort(key=lambda at: any(not self.lacks(entry, self.drawn[at]) for entry in expect.keep))
        return adding[: max(0, len(adding) - most)]


def _lacks_words(entry: Entry, text: str) -> list[str]:
    """What a text lacks of an entry's words."""
    folded = _fold(text)
    found = [f"does not hold {_quoted(words)}" for words in entry.all_of if _fold(words) not in folded]
    if entry.any_of and not any(_fold(words) in folded for words in entry.any_of):
        found.insert(0, f"holds none of {_listed(entry.any_of)}")
    return found


def _words(entry: Entry) -> str:
    """The words of an entry, as what is missing."""
    parts = (
        [f"holds {'any of ' if len(entry.any_of) > 1 else ''}{_listed(entry.any_of)}"] if entry.any_of else []
    )
    parts += [f"holds {_quoted(words)}" for words in entry.all_of]
    return " and ".join(parts) or "is there"


def _is_dated(fact: Drawn, when: str, zone: tzinfo) -> bool:
    told = {*(_day(date, zone) for date in fact.dates), *dates_in(fact.text)}
    return any(date == when or date.startswith(f"{when}-") for date in told)


def _day(date: str, zone: tzinfo) -> str:
    """A date as it is; of an instant, the day on which it lies in the zone."""
    if len(date) <= len("2024-05-04"):
        return date
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return date
    return (moment if moment.tzinfo is None else moment.astimezone(zone)).date().isoformat()


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _listed(words: Sequence[str]) -> str:
    return ", ".join(map(_quoted, words))


def _quoted(text: str) -> str:
    return f'"{text}"'
