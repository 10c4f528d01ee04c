"""Files of requests and of recorded answers, in JSON lines.

A request is what would be sent to a model; an answer is what a model replied to exactly that, known by the hash of
what was sent. So anybody can play the model, and an answer to another prompt is never taken for one to this.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from mnemic.errors import ValidationError

from .fields import Fields, read_lines

ANSWER_KEYS = (
    "case",
    "mode",
    "stage",
    "prompt",
    "sha256",
    "model",
    "date",
    "reply",
    "tokens_in",
    "tokens_out",
    "ms",
)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent for a stage of a case; messages have `role` and `content`."""

    case: str
    mode: str
    stage: str
    prompt: str
    sha256: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model replied to a request. date: the day; tokens and milliseconds are None where unknown."""

    case: str
    mode: str
    stage: str
    prompt: str
    sha256: str
    model: str
    date: str
    reply: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    ms: float | None = None


class Answers:
    """Recorded answers, found by what they answer. Two modes that send the same share an answer."""

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        given = tuple(answers)
        self._by_request = {(one.case, one.sha256): one for one in given}
        self._stages = {(one.case, one.mode, one.stage) for one in given}

    def of(self, request: Request) -> Answer | None:
        """The answer to exactly this, the last of several."""
        return self._by_request.get((request.case, request.sha256))

    def has_stage(self, request: Request) -> bool:
        """Whether there is an answer for this stage of the case, if only to something else."""
        return (request.case, request.mode, request.stage) in self._stages


def fingerprint(messages: Sequence[Mapping[str, str]]) -> str:
    """The SHA-256 of messages, in hex: of their JSON with sorted keys, without blanks, in UTF-8."""
    sent = [{"role": one["role"], "content": one["content"]} for one in messages]
    text = json.dumps(sent, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_answers(path: Path) -> Answers:
    """The answers of a file. Raises `ValidationError` naming line and field for what is none."""
    return Answers(_answer(row) for row in read_lines(path))


def _answer(row: Fields) -> Answer:
    row.only(ANSWER_KEYS)
    reply = row.values.get("reply")
    if not isinstance(reply, str):
        raise row.wrong("reply", "must be the text that the model replied")
    day = row.text("date")
    try:
        date.fromisoformat(day)
    except ValueError as fault:
        raise row.wrong("date", f"must be a day such as 2024-05-03, not {day!r}") from fault
    return Answer(
        **{name: row.text(name) for name in ("case", "mode", "stage", "prompt", "sha256", "model")},
        date=day,
        reply=reply,
        tokens_in=_count(row, "tokens_in"),
        tokens_out=_count(row, "tokens_out"),
        ms=row.amount("ms"),
    )


def _count(row: Fields, name: str) -> int | None:
    return None if row.values.get(name) is None else row.number(name, 0)


def write_requests(path: Path, requests: Iterable[Request]) -> None:
    """Write a file of requests, anew. Raises `ValidationError` where that cannot be."""
    text = "".join(_as_line(asdict(one)) for one in requests)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as fault:
        raise ValidationError(f"{str(path)!r} cannot be written: {fault.strerror}.") from fault


class Recording:
    """A file to whose end answers are added, each as soon as it is there; for several threads."""

    def __init__(self, path: Path) -> None:
        """Raises `ValidationError` where the file cannot be written."""
        self._path = path
        self._lock = threading.Lock()
        self._append("")

    def add(self, answer: Answer) -> None:
        """Add an answer. Raises `ValidationError` where the file cannot be written any more."""
        self._append(_as_line({name: getattr(answer, name) for name in ANSWER_KEYS}))

    def _append(self, text: str) -> None:
        try:
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as fault:
            raise ValidationError(f"{str(self._path)!r} cannot be written: {fault.strerror}.") from fault


def _as_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"
