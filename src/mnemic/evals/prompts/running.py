"""Running cases through the public API, each in a store of its own, against recorded answers or a live model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from mnemic import config, runtime
from mnemic.errors import ConfigError, LLMOutputError, ModelError
from mnemic.memory import Memory
from mnemic.models.llm import LLM, open_llm
from mnemic.parts import MODEL_SETTINGS, on_loop
from mnemic.prompts import using

from .answers import Answers, Recording
from .asking import CaseModel, Sheet, UnansweredError
from .cases import Case, Said
from .judge import judge
from .modes import in_mode
from .report import Fate, Outcome, Trial
from .traces import drawn_from, states_from

Progress = Callable[[str, int, int], None]

# Cases without an instant are heard at this one, and the talk before them so much earlier.
HEARD = datetime.fromisoformat("2024-05-03T10:00:00+00:00")
BEFORE = timedelta(minutes=5)
# The memories of a case were kept so long before its talk.
KEPT = timedelta(days=1)
RUN = "conversation"
ALL = 10_000


@dataclass(frozen=True, slots=True)
class Live:
    """The models that are asked, by stage, and how many cases may run at once."""

    models: Mapping[str, LLM]
    at_once: int


def run(
    cases: Sequence[Case],
    mode: str,
    prompts: Mapping[str, str],
    *,
    recorded: Answers | None = None,
    live: Live | None = None,
    recording: Recording | None = None,
    progress: Progress | None = None,
) -> Trial:
    """Run all cases in an editing mode and judge them.

    prompts: of each stage, by their ids, as `choices` gives them. recorded: answers to take. live: models to ask
    instead; their answers are added to `recording`. progress: called as `progress(what, done, total)`. What cannot
    be judged is told in its outcome; raises `ValidationError` where an answer cannot be recorded, and for wrong
    settings.
    """
    models = {} if live is None else live.models

    def one(case: Case) -> Outcome:
        with using(prompts.values()):
            return run_case(case, Sheet(case.id, mode, prompts, recorded or Answers(), models, recording))

    outcomes = []
    with ThreadPoolExecutor(1 if live is None else live.at_once) as pool:
        for outcome in pool.map(one, cases):
            outcomes.append(outcome)
            if progress is not None:
                progress(mode, len(outcomes), len(cases))
    asked = {answer.prompt for one in outcomes for answer in one.answers}
    asked |= {one.lacking.prompt for one in outcomes if one.lacking is not None}
    return Trial(mode, tuple(name for name in prompts.values() if name in asked), tuple(outcomes))


@contextmanager
def live_models(settings: Mapping[str, Any]) -> Iterator[Live]:
    """The models of the configuration, as long as the block runs.

    settings: those given as arguments. Raises `ConfigError` where there is no LLM or a wrong one.
    """
    chosen = config.load(settings)
    specs = {"extract": chosen.llm, "decide": chosen.decide_llm or chosen.llm}
    opened = {stage: open_llm(spec, MODEL_SETTINGS) for stage, spec in specs.items()}
    models = {stage: model for stage, model in opened.items() if model is not None}
    if "extract" not in models:
        raise ConfigError("There is no llm to ask: configure one, or give recorded answers.")
    try:
        yield Live(models, min(model.concurrency for model in models.values()))
    finally:
        for model in models.values():
            runtime.current().run(on_loop(model.close()))


def run_case(case: Case, sheet: Sheet) -> Outcome:
    """Run one case in a fresh store and judge what came of it."""
    with Memory(":memory:", llm=CaseModel(sheet, "extract"), decide_llm=CaseModel(sheet, "decide")) as whole:
        memory = whole.scoped(user_id="user") if case.scope == "user" else whole.scoped(agent_id="agent")
        kept = _seed(memory, case, sheet)
        heard, at = [_message(said) for said in case.messages], _heard_at(case)
        try:
            added = memory.add(heard, run_id=RUN, timestamp=at, editing=sheet.mode, trace=True)
        except UnansweredError as fault:
            fate = Fate.STALE if fault.stale else Fate.UNANSWERED
            return Outcome(case, fate, answers=tuple(sheet.used), told=fault.message, lacking=fault.request)
        except LLMOutputError as fault:
            return Outcome(case, Fate.UNREADABLE, answers=tuple(sheet.used), told=fault.message)
        except ModelError as fault:
            return Outcome(case, Fate.OUTAGE, answers=tuple(sheet.used), told=fault.message)
        everything = memory.get_all(limit=ALL, show_deleted=True, include_superseded=True)["results"]
    drawn = drawn_from(added["trace"], {uid: number for number, uid in enumerate(kept, 1)})
    judgement = judge(in_mode(case, sheet.mode), drawn, states_from(case, kept, everything))
    return Outcome(case, Fate.JUDGED, judgement, drawn, tuple(sheet.used))


def _seed(memory: Memory, case: Case, sheet: Sheet) -> list[str]:
    """Keep the memories of a case and hear the talk before it; the ids of the memories, in their order."""
    kept = []
    if case.memories:
        facts = [{"text": known.text, "valid_from": known.since} for known in case.memories]
        kept = [item["id"] for item in memory.add(facts=facts, timestamp=_first(case) - KEPT)["results"]]
    if case.context:
        sheet.listening = True
        context = [_message(said) for said in case.context]
        memory.add(context, run_id=RUN, timestamp=_heard_at(case) - BEFORE, editing="append")
        sheet.listening = False
    return kept


def _message(said: Said) -> dict[str, str]:
    given = {"role": said.role, "content": said.content, "name": said.name, "timestamp": said.timestamp}
    return {key: value for key, value in given.items() if value is not None}


def _heard_at(case: Case) -> datetime:
    """The instant of what has none of its own: that of the first message with one."""
    return next(iter(_instants(case.messages)), HEARD)


def _first(case: Case) -> datetime:
    return min([*_instants(case.context), *_instants(case.messages), _heard_at(case) - BEFORE])


def _instants(messages: Iterable[Said]) -> list[datetime]:
    return [datetime.fromisoformat(said.timestamp) for said in messages if said.timestamp is not None]
