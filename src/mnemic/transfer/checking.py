"""Checking a whole export before anything of it is used: each line for itself, and what the lines owe each other.

What is kept of the lines is ids and numbers only, whatever the size of the file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from .. import runtime
from ..errors import ValidationError
from ..records import Kind
from ..text.normal import live_key
from ..whole import WholeChange, WholeEpisode, WholeMemory, WholeOwner
from .exporting import STEP, Counts, Progress
from .files import Source
from .lines import Footer, Header, Line

MOST_FAULTS = 20


class Known(NamedTuple):
    """What is kept of a memory in a file: its kind, the key under which it is live (or None), its versions."""

    kind: str
    key: str | None
    versions: int


@dataclass(slots=True)
class Section:
    """What a file has of one owner: trace ids, messages with their lengths, memories.

    verbatim: the messages that became memories word for word, each with one of these.
    """

    owner: WholeOwner
    episodes: dict[str, None] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    memories: dict[str, Known] = field(default_factory=dict)
    verbatim: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a sound file has."""

    header: Header
    sections: tuple[Section, ...]
    counts: Counts


def check(source: Source, progress: Progress | None = None) -> Contents:
    """Read a file through. Blocking.

    Raises `ValidationError` that names the line of every fault, the first 20 at most, with them in
    `details["faults"]`.
    """
    checking = _Checking()
    number = 0
    for number, record in source.records():
        if isinstance(record, ValidationError):
            checking.tell(number, record.message)
            checking.blind = True
        else:
            checking.take(number, record)
        if len(checking.faults) >= MOST_FAULTS:
            break
        if number % STEP == 0:
            runtime.give_up_if_cancelled()
            if progress is not None:
                progress("check", source.position(), source.size)
    else:
        checking.end(number)
    contents = checking.contents()
    if progress is not None:
        progress("check", source.size, source.size)
    return contents


class _Checking:
    """The file as far as it has been read."""

    def __init__(self) -> None:
        self.faults: list[tuple[int, str]] = []
        # A line that could not be read may have held what later ones refer to.
        self.blind = False
        self._header: Header | None = None
        self._footer: Footer | None = None
        self._counts = Counts()
        self._sections: list[Section] = []
        self._owners: set[tuple[str, str, str]] = set()
        self._memories: set[str] = set()
        self._messages: set[str] = set()
        self._changed: set[str] = set()
        self._live: set[tuple[str, str]] = set()
        self._successors: dict[str, int] = {}
        self._lines: dict[str, int] = {}

    def tell(self, number: int, fault: str) -> None:
        """Note a fault."""
        self.faults.append((number, fault))

    def take(self, number: int, record: Line) -> None:
        """The next record."""
        if number == 1 or isinstance(record, Header):
            self._take_header(number, record)
        if self._footer is not None:
            self.tell(number, "It comes after the footer.")
        self._counts.add(record)
        if isinstance(record, Footer):
            self._take_footer(number, record)
        elif isinstance(record, WholeOwner):
            self._take_owner(number, record)
        elif not isinstance(record, Header):
            if not self._sections:
                self._needs(number, "It belongs to no owner; an owner line must come before it.")
            elif isinstance(record, WholeEpisode):
                self._take_episode(number, record, self._sections[-1])
            elif isinstance(record, WholeMemory):
                self._take_memory(number, record, self._sections[-1])
            else:
                self._take_change(number, record, self._sections[-1])

    def end(self, number: int) -> None:
        """The file has no more lines."""
        if number == 0:
            self.tell(1, "The file is empty.")
        elif self._footer is None:
            self.tell(number, "The file ends without its footer: it was cut off.")
        else:
            self._end_section()

    def contents(self) -> Contents:
        """All that was read, if nothing was wrong with it."""
        if self.faults:
            more = " (and perhaps more)" if len(self.faults) >= MOST_FAULTS else ""
            told = "\n".join(f"line {number}: {fault}" for number, fault in self.faults)
            many = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
            raise ValidationError(
                f"The file has {many}{more}; nothing was imported.\n{told}",
                details={"faults": [{"line": number, "fault": fault} for number, fault in self.faults]},
            )
        assert self._header is not None, "a file without a fault has its header"
        return Contents(self._header, tuple(self._sections), self._counts)

    def _needs(self, number: int, fault: str) -> None:
        """Note that something is missing, unless an unreadable line may have had it."""
        if not self.blind:
            self.tell(number, fault)

    def _take_header(self, number: int, record: Line) -> None:
        if not isinstance(record, Header):
            self.tell(number, "The first line must be the header.")
        elif number > 1:
            self.tell(number, "Only the first line is a header.")
        else:
            self._header = record

    def _take_footer(self, number: int, footer: Footer) -> None:
        self._footer = footer
        found = asdict(self._counts)
        for name, told in asdict(footer).items():
            if told != found[name]:
                self._needs(
                    number, f"{name} is {told}, but the file has {found[name]}: lines are missing or added."
                )

    def _take_owner(self, number: int, owner: WholeOwner) -> None:
        self._end_section()
        ids = (owner.user_id, owner.agent_id, owner.app_id)
        if ids in self._owners:
            self.tell(number, "This owner came before; all that is its must stand together.")
        self._owners.add(ids)
        self._sections.append(Section(owner))

    def _take_episode(self, number: int, episode: WholeEpisode, section: Section) -> None:
        if episode.trace_id in section.episodes:
            self.tell(number, f"trace_id {episode.trace_id!r} belongs to an earlier episode of this owner.")
        section.episodes[episode.trace_id] = None
        for i, message in enumerate(episode.messages):
            if message.id in self._messages:
                self.tell(number, f"messages[{i}].id {message.id!r} belongs to an earlier message.")
            self._messages.add(message.id)
            section.messages[message.id] = len(message.content)

    def _take_memory(self, number: int, memory: WholeMemory, section: Section) -> None:
        if memory.id in self._memories:
            self.tell(number, f"id {memory.id!r} belongs to an earlier memory.")
            return
        if memory.episode not in section.episodes:
            self._needs(number, f"episode {memory.episode!r} is no episode of this owner before this line.")
        self._check_vectors(number, memory)
        self._take_support(number, memory, section)
        for version in memory.versions:
            if version.successor is not None:
                self._successors.setdefault(version.successor, number)
        last = memory.versions[-1]
        key = live_key(last.text, last.event_date) if memory.live else None
        if key is not None:
            if (memory.kind, key) in self._live:
                self.tell(
                    number, "live is true, as it is of an earlier memory with the same text and event_date."
                )
            self._live.add((memory.kind, key))
        self._memories.add(memory.id)
        self._lines[memory.id] = number
        section.memories[memory.id] = Known(memory.kind, key, len(memory.versions))

    def _check_vectors(self, number: int, memory: WholeMemory) -> None:
        space = None if self._header is None else self._header.vectors
        for i, version in enumerate(memory.versions):
            if version.vector is None:
                continue
            if space is None:
                self._needs(number, f"versions[{i}].vector is there, but the header names no vectors.")
            elif len(version.vector) != 4 * space.dims:
                many = len(version.vector) // 4
                self.tell(number, f"versions[{i}].vector has {many} numbers; the header says {space.dims}.")

    def _take_support(self, number: int, memory: WholeMemory, section: Section) -> None:
        for i, support in enumerate(memory.support):
            length = section.messages.get(support.message)
            if length is None:
                fault = (
                    f"support[{i}].message {support.message!r} is no message of this owner before this line."
                )
                self._needs(number, fault)
            elif support.end > length:
                self.tell(number, f"support[{i}].end is {support.end}; the message has {length} characters.")
            if memory.kind == Kind.MESSAGE:
                section.verbatim.setdefault(support.message, memory.id)

    def _take_change(self, number: int, change: WholeChange, section: Section) -> None:
        if change.memory is None:
            return
        known = section.memories.get(change.memory)
        if known is None:
            self._needs(number, f"memory {change.memory!r} is no memory of this owner before this line.")
            return
        for name in ("opened", "closed"):
            version = getattr(change, name)
            if version is not None and not 1 <= version <= known.versions:
                self.tell(number, f"{name} is {version}; the memory has {known.versions} versions.")
        self._changed.add(change.memory)

    def _end_section(self) -> None:
        """What can be told of an owner only when all its lines are known."""
        if not self._sections:
            return
        known = self._sections[-1].memories
        for uid, number in self._successors.items():
            if uid not in known:
                self._needs(number, f"successor {uid!r} is no memory of this owner.")
        # By their changes indexes learn of new memories.
        for uid in known:
            if uid not in self._changed:
                self._needs(self._lines[uid], f"memory {uid!r} has no change that tells how it came about.")
        self._successors, self._lines = {}, {}
        self._changed, self._live = set(), set()
