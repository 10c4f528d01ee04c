"""What the outcomes of many cases come to, per mode and prompts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .answers import Answer, Request
from .cases import Case
from .judge import Drawn, Judgement


class Fate(StrEnum):
    """What became of a case.

    `UNREADABLE`: the model's reply could not be read, nor the one to the complaint. `STALE`: there are answers,
    to something else than what is sent now. `UNANSWERED`: there is none. `OUTAGE`: the model could not be asked.
    """

    JUDGED = "judged"
    UNREADABLE = "unreadable"
    STALE = "stale"
    UNANSWERED = "unanswered"
    OUTAGE = "outage"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case, run once. told: what went wrong where it was not judged. lacking: what waits for an answer."""

    case: Case
    fate: Fate
    judgement: Judgement | None = None
    drawn: tuple[Drawn, ...] = ()
    answers: tuple[Answer, ...] = ()
    told: str | None = None
    lacking: Request | None = None

    @property
    def passed(self) -> bool:
        """Whether it was judged and is whole."""
        return self.judgement is not None and self.judgement.passed


@dataclass(frozen=True, slots=True)
class Trial:
    """All cases in one mode with one set of prompts."""

    mode: str
    prompts: tuple[str, ...]
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Passed:
    """How many of a group of cases pass whole."""

    cases: int
    passed: int

    @property
    def share(self) -> float:
        """The share of them; those that were not judged did not pass."""
        return self.passed / self.cases if self.cases else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a trial came to.

    fates: how many cases ended how. kept, missed: expectations. calls: the answers taken; tokens: all of theirs,
    ms_a_call: the mean, of those that tell (None where none does); models, dates: theirs.
    """

    whole: Passed
    languages: dict[str, Passed]
    topics: dict[str, Passed]
    fates: dict[Fate, int]
    kept: int
    missed: int
    invented: int
    wrongly_closed: int
    calls: int
    tokens_in: int | None
    tokens_out: int | None
    ms_a_call: float | None
    models: tuple[str, ...]
    dates: tuple[str, ...]


def figures(trial: Trial) -> Figures:
    """The sums of a trial."""
    outcomes = trial.outcomes
    judged = [one.judgement for one in outcomes if one.judgement is not None]
    answers = [answer for one in outcomes for answer in one.answers]
    times = [one.ms for one in answers if one.ms is not None]
    return Figures(
        whole=_passed(outcomes),
        languages=_by(outcomes, lambda case: case.language),
        topics=_by(outcomes, lambda case: case.topic),
        fates={fate: sum(one.fate is fate for one in outcomes) for fate in Fate},
        kept=sum(one.kept for one in judged),
        missed=sum(len(one.missed) for one in judged),
        invented=sum(len(one.invented) for one in judged),
        wrongly_closed=sum(len(one.wrongly_closed) for one in judged),
        calls=len(answers),
        tokens_in=_sum(one.tokens_in for one in answers),
        tokens_out=_sum(one.tokens_out for one in answers),
        ms_a_call=sum(times) / len(times) if times else None,
        models=tuple(sorted({one.model for one in answers})),
        dates=tuple(sorted({one.date for one in answers})),
    )


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _passed(outcomes: Iterable[Outcome]) -> Passed:
    group = list(outcomes)
    return Passed(len(group), sum(one.passed for one in group))


def _by(outcomes: Sequence[Outcome], key: Callable[[Case], str]) -> dict[str, Passed]:
    """How many pass of each group, groups in the order of the file."""
    groups = dict.fromkeys(key(one.case) for one in outcomes)
    return {name: _passed(one for one in outcomes if key(one.case) == name) for name in groups}
