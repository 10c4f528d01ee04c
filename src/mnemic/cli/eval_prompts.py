"""`mnemic eval prompts`: run a case file live or against recorded answers, and show how modes and prompts compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mnemic.errors import nearest
from mnemic.evals.prompts import running
from mnemic.evals.prompts.answers import Answers, Recording, Request, read_answers, write_requests
from mnemic.evals.prompts.cases import read_cases
from mnemic.evals.prompts.modes import MODES, choices
from mnemic.evals.prompts.report import Fate, Figures, Outcome, Passed, Trial, figures

from . import show
from .call import Call

if TYPE_CHECKING:
    from rich.console import Console

# What the table shows of a trial besides the cases passed, by the report's keys.
COUNTS = ("kept", "missed", "invented", "wrongly_closed", "calls", "tokens_in", "tokens_out")
UNJUDGED = tuple(fate for fate in Fate if fate is not Fate.JUDGED)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of the command.

    prompts: the versions to try, as "extract/1". least: the share of cases that must pass whole.
    """

    cases: str
    modes: Sequence[str]
    prompts: Sequence[str]
    requests: str | None
    answers: str | None
    record: str | None
    least: float | None


def prompts(call: Call, wanted: Wanted, progress: running.Progress | None) -> None:
    """Run and show."""
    for mode in wanted.modes:
        if mode not in MODES:
            raise typer.BadParameter(
                f"{mode!r} is no editing mode{nearest(mode, MODES)}.", param_hint="--mode"
            )
    if wanted.record is not None and (wanted.answers is not None or wanted.requests is not None):
        raise typer.BadParameter("Only what a model answers now can be recorded.", param_hint="--record")
    if wanted.least is not None and wanted.requests is not None:
        raise typer.BadParameter("With --requests nothing is judged.", param_hint="--least")
    cases = read_cases(Path(wanted.cases))
    tried = [(mode, prompts) for mode in wanted.modes for prompts in choices(mode, wanted.prompts)]
    if wanted.requests is None and wanted.answers is None:
        recording = None if wanted.record is None else Recording(Path(wanted.record))
        with running.live_models(call.settings) as live:
            run = partial(running.run, cases, live=live, recording=recording, progress=progress)
            trials = [run(mode, prompts) for mode, prompts in tried]
    else:
        recorded = Answers() if wanted.answers is None else read_answers(Path(wanted.answers))
        run = partial(running.run, cases, recorded=recorded, progress=progress)
        trials = [run(mode, prompts) for mode, prompts in tried]
    if wanted.requests is not None:
        _write_requests(call, wanted.requests, trials)
        return
    call.show(as_mapping(trials), show_report)
    if wanted.least is not None and any(figures(one).whole.share < wanted.least for one in trials):
        raise typer.Exit(1)


def _write_requests(call: Call, path: str, trials: Sequence[Trial]) -> None:
    # What two modes send alike is asked once.
    lacking: dict[tuple[str, str], tuple[Request, bool]] = {}
    for outcome in (one for trial in trials for one in trial.outcomes):
        request = outcome.lacking
        if request is not None:
            lacking.setdefault((request.case, request.sha256), (request, outcome.fate is Fate.STALE))
    write_requests(Path(path), [request for request, _ in lacking.values()])
    stale = sum(is_stale for _, is_stale in lacking.values())
    told = f"{show.count(len(lacking), 'request')} written to {path}"
    told += f", {stale} of them in place of a stale answer." if stale else "."
    call.show({"requests": len(lacking), "stale": stale, "path": path}, lambda _: typer.echo(told))


def as_mapping(trials: Sequence[Trial]) -> dict[str, Any]:
    """The report as JSON has it: the trials side by side, each with its figures and every case that failed."""
    return {"trials": [_trial(one, figures(one)) for one in trials]}


def _trial(trial: Trial, told: Figures) -> dict[str, Any]:
    return {
        "mode": trial.mode,
        "prompts": list(trial.prompts),
        "models": list(told.models),
        "dates": list(told.dates),
        **_passed(told.whole),
        "languages": {name: _passed(one) for name, one in told.languages.items()},
        "topics": {name: _passed(one) for name, one in told.topics.items()},
        **{name: getattr(told, name) for name in COUNTS},
        "ms_a_call": None if told.ms_a_call is None else round(told.ms_a_call, 1),
        "not_judged": {fate.value: told.fates[fate] for fate in UNJUDGED},
        "failures": [_failure(one) for one in trial.outcomes if not one.passed],
    }


def _passed(group: Passed) -> dict[str, Any]:
    return {"cases": group.cases, "passed": group.passed, "share": round(group.share, 4)}


def _failure(outcome: Outcome) -> dict[str, Any]:
    case, judgement = outcome.case, outcome.judgement
    found: dict[str, Any] = {"id": case.id, "language": case.language, "topic": case.topic}
    if judgement is None:
        return {**found, "not_judged": outcome.fate.value, "reason": outcome.told}
    drawn = [
        {
            "text": fact.text,
            "about": fact.about,
            "dates": list(fact.dates),
            "meets": [{"memory": one.memory, "how": one.how} for one in fact.meets],
        }
        for fact in outcome.drawn
    ]
    reasons = {name: list(getattr(judgement, name)) for name in ("missed", "invented", "wrongly_closed")}
    return {**found, **reasons, "drawn": drawn}


def show_report(report: Mapping[str, Any]) -> None:
    """The trials side by side, then every case that failed."""
    console = show.make_console()
    trials = report["trials"]
    _table(console, trials)
    rest = [name for name in trials[0]["topics"] if not _all_pass(trials, name)]
    if len(rest) < len(trials[0]["topics"]):
        show.paragraph(
            console, "Topics that are not listed pass whole." if rest else "All topics pass whole."
        )
    for trial in trials:
        console.print()
        console.print(f"{_name(trial)}: {show.count(len(trial['failures']), 'case')} not passed")
        for failure in trial["failures"]:
            _show_failure(console, failure)


def _table(console: Console, trials: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for trial in trials:
        table.add_column(_name(trial).replace(": ", "\n"), justify="right")
    table.add_row("passed whole", *(f"{_of(one)}, {one['share']:.1%}" for one in trials))
    for language in trials[0]["languages"]:
        table.add_row(f"  {language}", *(_of(one["languages"][language]) for one in trials))
    for topic in trials[0]["topics"]:
        if not _all_pass(trials, topic):
            table.add_row(f"  {topic}", *(_of(one["topics"][topic]) for one in trials))
    for name in COUNTS:
        table.add_row(name.replace("_", " "), *(_amount(one[name]) for one in trials))
    table.add_row("ms a call", *(_amount(one["ms_a_call"]) for one in trials))
    for fate in UNJUDGED:
        if any(one["not_judged"][fate] for one in trials):
            table.add_row(fate.value, *(str(one["not_judged"][fate]) for one in trials))
    table.add_row("answered by", *("\n".join(one["models"]) or "-" for one in trials))
    console.print(table)


def _all_pass(trials: Sequence[Mapping[str, Any]], topic: str) -> bool:
    return all(one["topics"][topic]["passed"] == one["topics"][topic]["cases"] for one in trials)


def _name(trial: Mapping[str, Any]) -> str:
    return f"{trial['mode']}: {', '.join(trial['prompts'])}"


def _amount(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _of(group: Mapping[str, Any]) -> str:
    return f"{group['passed']} of {group['cases']}"


def _show_failure(console: Console, failure: Mapping[str, Any]) -> None:
    lead = f"  {failure['id']}"
    if "not_judged" in failure:
        show.beside(console, lead, show.one_line(f"{failure['not_judged']}: {failure['reason']}"))
        return
    reasons = [
        f"{name.replace('_', ' ')}: {reason}"
        for name in ("missed", "invented", "wrongly_closed")
        for reason in failure[name]
    ]
    show.beside(console, lead, *(show.one_line(reason) for reason in reasons))
