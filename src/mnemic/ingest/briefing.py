"""What a model is sent: the sections of a prompt as its instructions, everything else as quoted data. Pure.

Instructions and data never share a message, and each text of the data is a JSON string on one line: what somebody
said cannot pass for a heading, a message of somebody else's, or an instruction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from ..clock import Instant, to_datetime, zone_at
from ..models.llm import ChatMessage
from ..prompts import Prompt
from ..records import Message, Rejected, StoredMessage
from .statements import USER_ROLES

# Characters of one message that are sent: where facts may come from it, and where its words only explain; and of all.
MOST_OF_A_SOURCE = 30_000
MOST_OF_OTHERS = 4_000
MOST_IN_ALL = 100_000
MOST_OF_EARLIER = 600
ASSISTANT_ROLES = ("assistant", "ai", "model", "bot")

# mem0's kinds of memories.
CATEGORIES: Mapping[str, str] = {
    "personal_details": "name, age, birthday, origin, home, language, contact",
    "family": "relatives, partner, children, pets",
    "professional_details": "job, employer, colleagues, skills, projects, education",
    "sports": "sports and training",
    "travel": "journeys, places visited or wished for",
    "food": "food and drink, diet, cooking",
    "music": "music and instruments",
    "health": "illnesses, allergies, medicine, fitness",
    "technology": "devices, software, accounts",
    "hobbies": "pastimes, habits, routines",
    "fashion": "clothes and looks",
    "entertainment": "books, films, games, shows",
    "milestones": "events of a life",
    "user_preferences": "other likes and dislikes, how to be answered",
    "misc": "anything else",
}


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that a model is shown: the label it has in this call, its number among its owner's, its version."""

    label: str
    uid: str
    no: int
    version: int
    text: str
    since: Instant | None = None

    @property
    def whole(self) -> bool:
        """Whether all of its text is shown."""
        return len(self.text) <= MOST_OF_OTHERS


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the configuration, or the call, asks of extraction beyond the prompt.

    instructions: added word for word. body, reconcile_body: instead of the prompt's own instructions, whose role,
    sources and format stay. categories: those that facts may have, each with what belongs to it.
    """

    instructions: str | None = None
    body: str | None = None
    reconcile_body: str | None = None
    categories: Mapping[str, str] | None = None

    @property
    def known_categories(self) -> Mapping[str, str]:
        """The categories in force."""
        return CATEGORIES if self.categories is None else self.categories


@dataclass(frozen=True, slots=True)
class Brief:
    """All that a model is told of one add.

    messages: as they are sent, numbered by `numbers`, which are those of the call. observed_at: for messages
    without an instant of their own. for_agent: whether the assistant's own deeds are wanted. unsent: what of the
    messages was too long to be sent.
    """

    messages: tuple[Message, ...]
    numbers: tuple[int, ...]
    observed_at: Instant
    tz: tzinfo
    earlier: tuple[StoredMessage, ...] = ()
    known: tuple[Known, ...] = ()
    for_agent: bool = False
    unsent: tuple[Rejected, ...] = ()

    def is_source(self, message: Message) -> bool:
        """Whether a message may be the source of a fact."""
        return is_user(message) or (self.for_agent and is_assistant(message))

    @property
    def has_sources(self) -> bool:
        """Whether any message may be the source of a fact."""
        return any(map(self.is_source, self.messages))

    def said_at(self, message: Message) -> Instant:
        """When a message was said."""
        return self.observed_at if message.said_at is None else message.said_at

    def zone_of(self, message: Message) -> tzinfo:
        """The zone in which a message was told when it was said."""
        return zone_at(message.offset, self.tz)


def is_user(message: Message | StoredMessage) -> bool:
    """Whether a message is a user's own."""
    return message.role.casefold() in USER_ROLES


def is_assistant(message: Message | StoredMessage) -> bool:
    """Whether a message is the assistant's."""
    return message.role.casefold() in ASSISTANT_ROLES


def cut_to_size(brief: Brief) -> Brief:
    """The brief with messages that are not too long for a model, the last ones first; what is left out is told."""
    left = MOST_IN_ALL
    kept: list[tuple[int, Message]] = []
    unsent: list[Rejected] = []
    for number, message in reversed(list(zip(brief.numbers, brief.messages, strict=True))):
        most = min(left, MOST_OF_A_SOURCE if brief.is_source(message) else MOST_OF_OTHERS)
        rest = message.content[most:]
        if rest and brief.is_source(message):
            told = Rejected(f"{rest[:200]}...", (number,), "too_long_to_send", f"{len(rest)} characters")
            unsent.append(told)
        if most:
            content = (
                f"{message.content[:most]} [... {len(rest)} more characters]" if rest else message.content
            )
            kept.append((number, replace(message, content=content)))
        left -= min(most, len(message.content))
    kept.reverse()
    return replace(
        brief,
        messages=tuple(message for _, message in kept),
        numbers=tuple(number for number, _ in kept),
        unsent=tuple(reversed(unsent)),
    )


def extraction(prompt: Prompt, brief: Brief, wishes: Wishes) -> list[ChatMessage]:
    """The request for facts."""
    s = prompt.sections
    parts = [
        s["role"],
        f"{s['sources']}\n{s['sources:agent' if brief.for_agent else 'sources:user']}",
        s["body"] if wishes.body is None else wishes.body,
        *_custom(wishes.instructions),
        s["meets"],
        f"CATEGORIES\n{_categories(wishes.known_categories)}",
        s["format"],
        f"Example:\n{s['example']}",
    ]
    told = [
        "KNOWN MEMORIES",
        *(_known(one, brief.zone_of(brief.messages[0])) for one in brief.known),
        *([] if brief.known else ["none"]),
        "",
    ]
    if brief.earlier:
        told += [
            "EARLIER MESSAGES (they only explain)",
            *(_earlier(one, brief.zone_of(brief.messages[0])) for one in brief.earlier),
            "",
        ]
    told += ["NEW MESSAGES"]
    for number, message in zip(brief.numbers, brief.messages, strict=True):
        when = _time(brief.said_at(message), brief.zone_of(message))
        told.append(f"[{number}] {_speaker(message.role, message.name)} ({when}): {quoted(message.content)}")
    return [ChatMessage("system", "\n\n".join(parts)), ChatMessage("user", "\n".join(told))]


def decision(
    prompt: Prompt, facts: Sequence[tuple[str, Instant]], known: Sequence[Known], tz: tzinfo
) -> list[ChatMessage]:
    """The request for how facts, each with the instant at which it was said, meet memories."""
    s = prompt.sections
    told = ["KNOWN MEMORIES", *(_known(one, tz) for one in known), "", "FACTS"]
    told += [
        f"[{i}] ({_time(said_at, tz)}): {quoted(text, MOST_OF_OTHERS)}"
        for i, (text, said_at) in enumerate(facts)
    ]
    return [
        ChatMessage("system", "\n\n".join((s["role"], s["sources"], s["meets"], s["format"]))),
        ChatMessage("user", "\n".join(told)),
    ]


def reconciliation(
    prompt: Prompt, facts: Sequence[str], known: Sequence[Known], wishes: Wishes
) -> list[ChatMessage]:
    """The request for what becomes of each memory, in mem0's form."""
    s = prompt.sections
    body = s["body"] if wishes.reconcile_body is None else wishes.reconcile_body
    memories = [{"id": one.label, "text": one.text[:MOST_OF_OTHERS]} for one in known]
    told = ("MEMORIES", *map(_json, memories), "", "NEW FACTS", *map(quoted, facts))
    return [
        ChatMessage(
            "system", "\n\n".join((s["role"], s["sources"], body, *_custom(wishes.instructions), s["format"]))
        ),
        ChatMessage("user", "\n".join(told)),
    ]


def procedure(prompt: Prompt, brief: Brief, body: str | None, instructions: str | None) -> list[ChatMessage]:
    """The request for a record of how an agent did a task."""
    s = prompt.sections
    told = [
        f"[{number}] {_speaker(message.role, message.name)}: {quoted(message.content)}"
        for number, message in zip(brief.numbers, brief.messages, strict=True)
    ]
    parts = (
        s["role"],
        s["sources"],
        s["body"] if body is None else body,
        *_custom(instructions),
        s["format"],
    )
    return [ChatMessage("system", "\n\n".join(parts)), ChatMessage("user", "\n".join(("MESSAGES", *told)))]


def final(prompt: Prompt, wishes: Wishes, *, for_agent: bool = False) -> str:
    """The instructions of a prompt as they are sent: with what the configuration adds, or puts in their place."""
    nothing = Brief((), (), 0, UTC, for_agent=for_agent)
    if prompt.name == "extract":
        sent = extraction(prompt, nothing, wishes)
    elif prompt.name == "decide":
        sent = decision(prompt, (), (), UTC)
    elif prompt.name == "reconcile":
        sent = reconciliation(prompt, (), (), wishes)
    elif prompt.name == "procedure":
        sent = procedure(prompt, nothing, None, wishes.instructions)
    else:
        return "\n\n".join(prompt.sections.values())
    return sent[0].content


def quoted(text: str, most: int = MOST_OF_A_SOURCE + 100) -> str:
    """A text as JSON, on one line, cut to a length that says so."""
    return _json(text if len(text) <= most else f"{text[:most]} [... {len(text) - most} more characters]")


def _json(value: object) -> str:
    # Line separators end a line for some readers, though not for JSON.
    return (
        json.dumps(value, ensure_ascii=False)
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
        .replace("\x85", "\\u0085")
    )


def _custom(instructions: str | None) -> list[str]:
    if instructions is None:
        return []
    return [
        f"CUSTOM INSTRUCTIONS (where they say otherwise, they come before what stands above)\n{instructions}"
    ]


def _categories(categories: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {what}" if what else f"- {name}" for name, what in categories.items())


def _known(one: Known, tz: tzinfo) -> str:
    since = (
        "" if one.since is None else f" (since {to_datetime(one.since).astimezone(tz).date().isoformat()})"
    )
    return f"{one.label}{since}: {quoted(one.text, MOST_OF_OTHERS)}"


def _earlier(message: StoredMessage, tz: tzinfo) -> str:
    when = _time(message.said_at, tz)
    return f"{_speaker(message.role, message.name)} ({when}): {quoted(message.content, MOST_OF_EARLIER)}"


def _speaker(role: str, name: str | None) -> str:
    told = role if role.isidentifier() else _json(role)
    return told if name is None else f"{told} {_json(name)}"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _time(instant: Instant, tz: tzinfo) -> str:
    """An instant as people read it, in whatever locale: "Friday 2024-05-03 10:00 +02:00"."""
    moment = to_datetime(instant).astimezone(tz)
    return f"{_DAYS[moment.weekday()]} {moment.strftime('%Y-%m-%d %H:%M')} {moment.isoformat()[-6:]}"
