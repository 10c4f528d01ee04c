"""`mnemic demo`: a year of invented chats kept in a temporary store, searched, changed, and kept apart."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from mnemic.memory import Memory

from . import show

if TYPE_CHECKING:
    from rich.console import Console

QUESTIONS = 6
HITS = 3
THRESHOLD = 0.3


@dataclass(frozen=True, slots=True)
class Chat:
    """What was said in one sitting, by whom and when."""

    user_id: str
    run_id: str
    timestamp: str
    messages: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and words of the message that answers it (None: it was never said)."""

    user_id: str
    query: str
    expect: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """The example conversation."""

    timezone: str
    chats: tuple[Chat, ...]
    questions: tuple[Question, ...]


def run() -> None:
    """Show it all on a fresh store, which is gone afterwards."""
    story, console = read_story(), show.make_console()
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-demo-") as directory,
        Memory(str(Path(directory) / "demo.db"), timezone=story.timezone) as memory,
    ):
        keep(console, memory, story.chats)
        ask_all(console, memory, story.questions[:QUESTIONS])
        change(console, memory)
        keep_apart(console, memory, story.questions)
    title(console, "Your turn")
    console.print('mnemic add "I live in Hangzhou." -u me --no-infer')
    console.print('mnemic search "Which city is home?" -u me --explain')


def read_story() -> Story:
    """The example conversation that comes with the package."""
    raw = json.loads(files(__package__).joinpath("conversation.json").read_text(encoding="utf-8"))
    return Story(
        timezone=raw["timezone"],
        chats=tuple(Chat(**chat) for chat in raw["sessions"]),
        questions=tuple(Question(one["user_id"], one["query"], one["expect"]) for one in raw["questions"]),
    )


def keep(console: Console, memory: Memory, chats: Sequence[Chat]) -> None:
    """Store every chat word for word."""
    title(console, "A year of chats, kept word for word")
    began, kept = perf_counter(), 0
    with console.status("") as status:
        for number, chat in enumerate(chats, start=1):
            status.update(f"chat {number} of {len(chats)}")
            added = memory.add(
                list(chat.messages),
                user_id=chat.user_id,
                run_id=chat.run_id,
                timestamp=chat.timestamp,
                infer=False,
            )
            kept += len(added["results"])
    took = perf_counter() - began
    counted = memory.stats()
    embedder = "no embedder" if counted["embedder"] is None else counted["embedder"]["name"]
    console.print(f"{kept} messages of {counted['owners']} people from {len(chats)} chats, in {took:.1f} s.")
    console.print(f"One file of {counted['bytes'] / 1024:,.0f} kB, {embedder}, no server, no key.")


def ask_all(console: Console, memory: Memory, questions: Sequence[Question]) -> None:
    """Ask among what people said themselves, and tell how many questions found their answer."""
    answered = sum(ask(console, memory, question) for question in questions)
    console.print()
    console.print(f"=> answers the question: {answered} of {len(questions)} within the best {HITS} hits.")


def ask(console: Console, memory: Memory, question: Question) -> bool:
    """Ask one question and show the best hits, each with the reason of its score; whether one answers it."""
    began = perf_counter()
    found = memory.search(
        question.query, user_id=question.user_id, filters={"role": "user"}, top_k=HITS, explain=True
    )
    title(console, f"{question.user_id} asks: {question.query}", f"{(perf_counter() - began) * 1000:.0f} ms")
    answered = False
    for item in found["results"]:
        answers = question.expect is not None and question.expect in item["memory"]
        reason = show.faint(item["score_details"]["reason"])
        show.beside(console, "=>" if answers else "  ", cut(item["memory"]), reason)
        answered = answered or answers
    return answered


def change(console: Console, memory: Memory) -> None:
    """Change a memory; what it said before is still there."""
    title(console, "The cat has a birthday: a new version, and the history keeps the old one")
    memory_id = memory.search("我的猫叫年糕，三岁", user_id="ann", top_k=1)["results"][0]["id"]
    memory.update(
        memory_id, "我的猫叫年糕，四岁，橘的", user_id="ann", actor="ann", reason="it is four years old now"
    )
    show.history(memory.history(memory_id, user_id="ann"))


def keep_apart(console: Console, memory: Memory, questions: Sequence[Question]) -> None:
    """Ask as Bob what only Ann ever told."""
    query = "What is my cat called?"
    title(console, f"bob asks, and only ann has a cat: {query}")
    found = memory.search(query, user_id="bob", threshold=THRESHOLD)
    console.print(found.get("notice", "He was told something."))
    of_ann = {item["id"] for item in memory.get_all(user_id="ann", limit=1000)["results"]}
    seen = [
        item["id"]
        for question in questions
        for item in memory.search(question.query, user_id="bob", top_k=100)["results"]
    ]
    strangers = sum(memory_id in of_ann for memory_id in seen)
    console.print(
        f"All {len(questions)} questions asked as bob: {len(seen)} hits, {strangers} of them ann's."
    )


def title(console: Console, text: str, beside: str = "") -> None:
    """A line that starts a part, with something small at its end."""
    from rich.text import Text

    console.print()
    console.print(Text.assemble((text, "bold"), (f"  {beside}" if beside else "", "dim")))


def cut(text: str) -> str:
    """A text in about two lines."""
    line = show.one_line(text)
    return line if len(line) <= 140 else f"{line[:139]}…"
