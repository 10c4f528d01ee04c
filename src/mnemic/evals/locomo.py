"""Retrieval on LoCoMo: how much of each question's evidence the first hits cover.

LoCoMo is Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents", ACL 2024. The data
are the user's to fetch; here is only how they are read and scored. Every conversation gets a scope of its
own, every session is one `add()` with the session's date as its timestamp, every question one `search()`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from time import perf_counter
from typing import Any, Literal

from mnemic.errors import ValidationError
from mnemic.memory import Memory

Units = Literal["turns", "facts"]
Say = Callable[[str], None]

CUTS = (5, 10, 20, 50)
GROUPS = (
    ("all questions", frozenset(range(6))),
    ("categories 1-4", frozenset({1, 2, 3, 4})),
    ("category 1", frozenset({1})),
)

TURN_ID = re.compile(r"D\d+:\d+")
SESSION = re.compile(r"session_(\d+)\Z")
EMBEDDED = 100
SESSION_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Unit:
    """What becomes one memory, and the turns it stands for."""

    text: str
    turns: frozenset[str]


@dataclass(frozen=True, slots=True)
class Session:
    """What is stored with one `add()`."""

    at: datetime
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the turns that answer it, and its category."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with the questions that have evidence in it."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question's category, its recall at each of `CUTS`, and the milliseconds that `search()` took."""

    category: int
    recall: tuple[float, ...]
    ms: float


@dataclass(frozen=True, slots=True)
class Row:
    """The mean recall of a group of questions at each of `CUTS`."""

    group: str
    questions: int
    recall: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found.

    search_ms: median and 95th percentile of the whole search call, the query's embedding included.
    embedding_ms: the same of embedding alone, over a sample of the questions; None without an embedder.
    """

    units: Units
    conversations: int
    memories: int
    embedder: str | None
    rows: tuple[Row, ...]
    search_ms: tuple[float, float]
    embedding_ms: tuple[float, float] | None
    add_seconds: float


def read_conversations(raw: Any, units: Units) -> tuple[Conversation, ...]:
    """The conversations of a LoCoMo file.

    Raises `ValidationError` naming the place where the file is not what LoCoMo files are.
    """
    if not isinstance(raw, list) or not raw:
        raise _not_locomo("it is not a list of conversations")
    return tuple(_conversation(sample, f"[{i}]", units) for i, sample in enumerate(raw))


def parse_session_time(text: str) -> datetime:
    """The instant of "1:56 pm on 8 May, 2023", taken as UTC. Raises `ValidationError` for anything else."""
    try:
        return datetime.strptime(text.strip(), SESSION_TIME).replace(tzinfo=UTC)
    except ValueError as fault:
        raise _not_locomo(f"{text!r} is no time such as '1:56 pm on 8 May, 2023'") from fault


def parse_evidence(told: Any, known: frozenset[str]) -> frozenset[str]:
    """All turn ids in evidence strings that exist in the conversation."""
    texts = [told] if isinstance(told, str) else told
    if not isinstance(texts, list):
        return frozenset()
    return frozenset(turn for text in texts for turn in TURN_ID.findall(str(text))) & known


def recall_at(cut: int, hits: Sequence[frozenset[str]], evidence: frozenset[str]) -> float:
    """The share of the evidence that the first `cut` hits cover. hits: the turns of each, best first."""
    covered = frozenset().union(*hits[:cut])
    return len(evidence & covered) / len(evidence)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed; 0 for no values."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else 0.0


def summarise(answers: Sequence[Answer]) -> tuple[Row, ...]:
    """The mean recall of each of `GROUPS`."""
    return tuple(
        _row(name, [answer for answer in answers if answer.category in categories])
        for name, categories in GROUPS
    )


def run(memory: Memory, conversations: Sequence[Conversation], units: Units, say: Say) -> Report:
    """Store every conversation in a scope of its own in `memory` and ask all its questions.

    memory: on a fresh store. say: is told of progress, a line at a time.
    """
    answers: list[Answer] = []
    memories, seconds = 0, 0.0
    for number, conversation in enumerate(conversations, start=1):
        user_id = f"conversation-{number}"
        began = perf_counter()
        covers = store(memory, user_id, conversation, units)
        took = perf_counter() - began
        memories, seconds = memories + len(covers), seconds + took
        say(
            f"{number}/{len(conversations)} {conversation.name}: {len(covers)} memories in {took:.1f} s,"
            f" {len(conversation.questions)} questions ..."
        )
        answers += [ask(memory, user_id, question, covers) for question in conversation.questions]
    space = memory.stats()["embedder"]
    sample = [question.text for conversation in conversations for question in conversation.questions]
    return Report(
        units=units,
        conversations=len(conversations),
        memories=memories,
        embedder=None if space is None else space["name"],
        rows=summarise(answers),
        search_ms=_middle_and_tail([answer.ms for answer in answers]),
        embedding_ms=None if space is None else embedding_ms(sample[:: max(1, len(sample) // EMBEDDED)]),
        add_seconds=seconds,
    )


def store(
    memory: Memory, user_id: str, conversation: Conversation, units: Units
) -> dict[str, frozenset[str]]:
    """Add every session with one call; gives the turns that each memory stands for, by its id."""
    covers: dict[str, frozenset[str]] = {}
    for session in conversation.sessions:
        texts = [unit.text for unit in session.units]
        if units == "facts":
            added = memory.add(facts=texts, user_id=user_id, timestamp=session.at)
        else:
            turns = [{"role": "user", "content": text} for text in texts]
            added = memory.add(turns, user_id=user_id, timestamp=session.at, infer=False)
        for item, unit in zip(added["results"], session.units, strict=True):
            # What was said before keeps its id and stands for both.
            covers[item["id"]] = covers.get(item["id"], frozenset()) | unit.turns
    return covers


def ask(memory: Memory, user_id: str, question: Question, covers: Mapping[str, frozenset[str]]) -> Answer:
    """Search once and score the hits."""
    began = perf_counter()
    found = memory.search(question.text, user_id=user_id, top_k=max(CUTS))
    took = perf_counter() - began
    hits = [covers[item["id"]] for item in found["results"]]
    recall = tuple(recall_at(cut, hits, question.evidence) for cut in CUTS)
    return Answer(question.category, recall, took * 1000)


def embedding_ms(texts: Sequence[str]) -> tuple[float, float] | None:
    """Median and 95th percentile of embedding one query with the configured embedder; None without one."""
    from mnemic import config
    from mnemic.models.embed import open_embedder

    async def measure() -> list[float] | None:
        embedder = open_embedder(config.load({}).embedder)
        if embedder is None:
            return None
        try:
            return [await _timed(embedder.embed([text], "query")) for text in texts]
        finally:
            await embedder.close()

    times = asyncio.run(measure())
    return None if times is None else _middle_and_tail(times)


async def _timed(work: Awaitable[object]) -> float:
    began = perf_counter()
    await work
    return (perf_counter() - began) * 1000


def _middle_and_tail(times: Sequence[float]) -> tuple[float, float]:
    return percentile(times, 0.5), percentile(times, 0.95)


def _row(name: str, answers: Sequence[Answer]) -> Row:
    count = len(answers)
    means = tuple(
        sum(answer.recall[at] for answer in answers) / count if count else 0.0 for at in range(len(CUTS))
    )
    return Row(name, count, means)


def _conversation(sample: Any, place: str, units: Units) -> Conversation:
    talk = _mapping(sample, "conversation", place)
    sessions = _sessions(talk)
    known = frozenset(
        _text(turn, "dia_id", f"{place}.conversation.session_{number}")
        for number, turns in sessions.items()
        for turn in turns
    )
    if units == "facts":
        observed = _mapping(sample, "observation", place)
        found = {n: _facts(observed.get(f"session_{n}_observation"), known) for n in sessions}
    else:
        found = {
            n: tuple(_turn(turn, f"{place}.conversation.session_{n}") for turn in sessions[n])
            for n in sessions
        }
    return Conversation(
        name=str(sample.get("sample_id", place)),
        sessions=tuple(
            Session(
                parse_session_time(_text(talk, f"session_{n}_date_time", f"{place}.conversation")), stored
            )
            for n, stored in found.items()
            if stored
        ),
        questions=_questions(sample.get("qa"), known, place),
    )


def _sessions(talk: Mapping[str, Any]) -> dict[int, list[Any]]:
    """The turns of each session that has any, by its number, in order."""
    numbered = {int(match[1]): turns for key, turns in talk.items() if (match := SESSION.match(key))}
    return {number: numbered[number] for number in sorted(numbered) if numbered[number]}


def _turn(turn: Any, place: str) -> Unit:
    text = f"{_text(turn, 'speaker', place)}: {_text(turn, 'text', place)}"
    caption = turn.get("blip_caption")
    return Unit(f"{text} [photo: {caption}]" if caption else text, frozenset({_text(turn, "dia_id", place)}))


def _facts(observed: Any, known: frozenset[str]) -> tuple[Unit, ...]:
    if observed is None:
        return ()
    try:
        pairs = [(text, rests_on) for facts in observed.values() for text, rests_on in facts]
    except (AttributeError, TypeError, ValueError) as fault:
        raise _not_locomo("an observation is no pair of a text and the turns it rests on") from fault
    return tuple(Unit(str(text), parse_evidence(rests_on, known)) for text, rests_on in pairs)


def _questions(asked: Any, known: frozenset[str], place: str) -> tuple[Question, ...]:
    if not isinstance(asked, list):
        raise _not_locomo(f"{place}.qa is not a list of questions")
    read = [
        Question(
            text=_text(one, "question", f"{place}.qa"),
            evidence=parse_evidence(one.get("evidence"), known),
            category=int(one.get("category", 0)),
        )
        for one in asked
    ]
    return tuple(question for question in read if question.evidence)


def _mapping(holder: Any, key: str, place: str) -> Mapping[str, Any]:
    value = holder.get(key) if isinstance(holder, Mapping) else None
    if not isinstance(value, Mapping):
        raise _not_locomo(f"{place}.{key} is missing")
    return value


def _text(holder: Any, key: str, place: str) -> str:
    value = holder.get(key) if isinstance(holder, Mapping) else None
    if not isinstance(value, str):
        raise _not_locomo(f"{place} has no text {key!r}")
    return value


def _not_locomo(reason: str) -> ValidationError:
    return ValidationError(f"This is not a LoCoMo file: {reason}.")
