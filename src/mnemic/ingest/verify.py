"""What a model proposed, decided by code: each fact becomes a proposal, or is refused with the reason. Pure.

A fact's source must be a message of this call that may be a source; a memory that it meets must be one that was
shown. A meeting that is not so is void, and the fact stands as if it met nothing, unless it says nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from ..checks import UNSTORABLE, canonical_json
from ..clock import Instant, When, parse_when
from ..errors import ValidationError
from ..prompts import Prompt
from ..records import (
    ONLY_TOUCHING,
    Content,
    How,
    Kind,
    Meeting,
    Message,
    Proposal,
    Provenance,
    Rejected,
    Span,
    Validity,
)
from ..text.normal import normal_form
from ..text.tokens import index_terms
from .briefing import MOST_OF_A_SOURCE, Brief, Known, is_assistant, is_user
from .drawn import Drawn, Met
from .given import Common
from .messages import Heard
from .sentences import split

# A fact is a sentence or two; what is longer is no fact, but a copy of the talk.
MOST_CHARACTERS = 2_000
# Facts of one reply, and sentences that state one.
MOST_FACTS, MOST_SPANS = 200, 20
# Sentences that share so much of what the best shares with a fact state it too.
_AS_GOOD = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """A fact with what was decided: a proposal, or the reason of its refusal (`detail` says more).

    `remarks`: what of it was left out: a meeting that is void, a date that is none.
    """

    fact: Drawn
    proposal: Proposal | None
    reason: str | None = None
    detail: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """How it meets memories; in none, where it was refused."""
        return (self.proposal.meets if self.proposal is not None else None) or ()

    def as_rejected(self) -> Rejected:
        """The refusal as results tell it."""
        assert self.reason is not None
        return Rejected(self.fact.text, self.fact.sources or (), self.reason, self.detail)


@dataclass(frozen=True, slots=True)
class Provenances:
    """With what the facts were drawn."""

    extractor: str
    prompt: str
    model: str


def judge(
    facts: Sequence[Drawn],
    brief: Brief,
    heard: Heard,
    common: Common,
    drawn_with: Provenances,
    categories: Mapping[str, str],
    prompt: Prompt,
    *,
    only_adds: bool = False,
) -> list[Judged]:
    """Decide on the facts of one reply, in their order.

    heard: the messages as they were said; the brief has those that may be sent, without words that were deleted.
    only_adds: no fact may do anything to a memory but repeat it.
    """
    known = {one.label: one for one in brief.known}
    desk = _Desk(brief, heard, common, drawn_with, categories, known, _own_words(prompt), only_adds)
    seen: set[str] = set()
    judged = []
    for number, fact in enumerate(facts):
        one = Judged(fact, None, "too_many_facts") if number >= MOST_FACTS else _judged(fact, desk)
        form = normal_form(one.fact.text)
        if one.proposal is not None and form in seen and not one.proposal.only_touches:
            one = Judged(one.fact, None, "said_twice")
        if one.proposal is not None:
            seen.add(form)
        judged.append(one)
    return without_clashes(judged)


def without_clashes(judged: Sequence[Judged]) -> list[Judged]:
    """The facts, without refining what one before refines or puts away: a text would replace what was just told, or
    bring back what is gone. Such a fact is a memory of its own."""
    taken: set[str] = set()
    alone = []
    for one in judged:
        if one.proposal is not None:
            meets = one.proposal.meets or ()
            kept = tuple(met for met in meets if met.how is not How.REFINES or met.uid not in taken)
            taken.update(met.uid for met in kept if met.how not in (How.REPEATS, How.KEEPS))
            one = replace(one, proposal=replace(one.proposal, meets=kept))
        alone.append(one)
    return alone


def meetings(
    meets: Sequence[Met], known: Mapping[str, Known], *, only_adds: bool = False
) -> tuple[tuple[Meeting, ...], tuple[str, ...]]:
    """The meetings that hold, and the labels of the others: not offered, named twice, or (to be refined) of a memory
    too long to be shown whole, of which the new text would lose the rest.

    A memory is met once; one that repeats or is refined excludes the others, since the fact is that memory then.
    """
    found: dict[str, Meeting] = {}
    void = []
    for met in meets:
        shown = known.get(met.label)
        if shown is None or shown.uid in found or (met.how is How.REFINES and not shown.whole):
            void.append(met.label)
        elif not only_adds or met.how is How.REPEATS:
            found[shown.uid] = Meeting(met.how, shown.uid, shown.version)
    same = [one for one in found.values() if one.how in (How.REPEATS, How.REFINES)]
    if same:
        kept = next((one for one in same if one.how is How.REFINES), same[0])
        others = [one for one in found.values() if one.how not in (How.REPEATS, How.REFINES)]
        # What repeats one memory and ends another does both.
        return (kept, *others), tuple(void)
    return tuple(found.values()), tuple(void)


def decided_again(judged: Judged, meets: Sequence[Met] | None, known: Mapping[str, Known]) -> Judged:
    """A fact with how it meets memories by a second decision; where that says nothing of it (None), by the first,
    as far as those are what they were. One that only ended others, and now ends none, is left out."""
    assert judged.proposal is not None, "only facts that stand are decided again"
    void: tuple[str, ...] = ()
    if meets is None:
        versions = {one.uid: one.version for one in known.values()}
        met = tuple(one for one in judged.meetings if versions.get(one.uid) == one.version)
    else:
        met, void = meetings(meets, known)
    remarks = (*judged.remarks, *(f"nothing was done to {label!r}" for label in void))
    if judged.proposal.only_touches and not met:
        return replace(judged, proposal=None, reason="nothing_to_end", remarks=remarks)
    return replace(judged, proposal=replace(judged.proposal, meets=met), remarks=remarks)


@dataclass(slots=True)
class _Desk:
    """What the facts of one reply are judged by. Messages are cut into sentences and words once."""

    brief: Brief
    heard: Heard
    common: Common
    drawn_with: Provenances
    categories: Mapping[str, str]
    known: Mapping[str, Known]
    ours: str
    only_adds: bool
    _sentences: dict[int, list[tuple[Span, Set[str]]]] = field(default_factory=dict)
    _told: Set[str] | None = None

    def sentences(self, at: int) -> list[tuple[Span, Set[str]]]:
        """The sentences of message number `at`, as it was said, each with its words."""
        if at not in self._sentences:
            content = self.heard.messages[at].content[:MOST_OF_A_SOURCE]
            self._sentences[at] = [
                (Span(at, one.start, one.end), index_terms(content[one.start : one.end]).keys())
                for one in split(content)
            ]
        return self._sentences[at]

    def words(self, at: int) -> Set[str]:
        """The words of message number `at`."""
        return set().union(*(words for _, words in self.sentences(at)))

    @property
    def told(self) -> Set[str]:
        """The words of the whole talk, earlier messages included."""
        if self._told is None:
            earlier = (index_terms(one.content).keys() for one in self.brief.earlier)
            self._told = set().union(
                *map(self.words, map(self.place, range(len(self.brief.messages)))), *earlier
            )
        return self._told

    def place(self, at: int) -> int:
        """The number in the batch of message number `at` of the brief."""
        return self.heard.numbers.index(self.brief.numbers[at])


def _judged(fact: Drawn, desk: _Desk) -> Judged:
    text = fact.text
    ends = bool(fact.meets) and all(one.how in ONLY_TOUCHING for one in fact.meets) and not desk.only_adds
    if desk.only_adds and fact.meets and all(one.how is How.FORGETS for one in fact.meets):
        return Judged(fact, None, "nothing_to_add")
    if ends and not text:
        # What only ends others becomes no memory: its text is for people to read.
        text = ", ".join(f"{one.how.value} {one.label}" for one in fact.meets)
    if not text or UNSTORABLE.search(text):
        return Judged(fact, None, "no_content")
    if len(text) > MOST_CHARACTERS:
        return Judged(replace(fact, text=text[:200] + "..."), None, "too_long")
    brief, common = desk.brief, desk.common
    sources, reason = _sources(fact, desk)
    fact = replace(fact, sources=tuple(brief.numbers[at] for at in sources) or fact.sources)
    if reason is not None:
        return Judged(fact, None, reason)
    if not ends and normal_form(text) in desk.ours and not _is_told(text, desk):
        return Judged(fact, None, "our_own_words")
    met, void = meetings(fact.meets, desk.known, only_adds=desk.only_adds)
    remarks = [f"nothing was done to {label!r}" for label in void]
    if ends and not met:
        return Judged(fact, None, "memory_not_offered", ", ".join(void), tuple(remarks))
    first = brief.messages[sources[0]]
    places = [desk.place(at) for at in sources]
    on, since, until, undated = _dates(fact, brief, first)
    validity = _validity(on, since, until, brief.said_at(first))
    category = next(
        (name for name in desk.categories if name.casefold() == (fact.category or "").casefold()), None
    )
    if fact.category is not None and category is None:
        remarks.append(f"{fact.category[:40]!r} is none of the categories")
    proposal = Proposal(
        kind=Kind.FACT,
        content=Content(
            text=text,
            metadata=canonical_json(common.metadata),
            categories=None if category is None else canonical_json([category]),
            event_date=fact.on if on is not None and on.precision == "day" and fact.on else "",
            validity=validity,
            expires_on=common.expires[0],
            expires_at=common.expires[1],
        ),
        provenance=Provenance(
            role=first.role,
            actor_id=first.name,
            attributed_to="assistant" if is_assistant(first) else "user",
            extractor=desk.drawn_with.extractor,
            prompt=desk.drawn_with.prompt,
            model=desk.drawn_with.model,
        ),
        spans=_spans(text, places, desk),
        position=places[0],
        said_at=first.said_at,
        meets=met,
    )
    return Judged(fact, proposal, remarks=(*remarks, *undated))


def _is_told(text: str, desk: _Desk) -> bool:
    """Whether most words of a fact are words of the talk."""
    words = index_terms(text).keys()
    return 2 * len(words & desk.told) >= len(words)


def _sources(fact: Drawn, desk: _Desk) -> tuple[list[int], str | None]:
    """The positions of the messages that a fact may rest on, and the reason where there are none."""
    brief = desk.brief
    about_assistant = fact.about.casefold() in ("assistant", "ai", "agent", "the assistant")
    allowed = [
        at
        for at, message in enumerate(brief.messages)
        if is_user(message) or (about_assistant and brief.is_source(message))
    ]
    if fact.sources is None:
        if not allowed:
            return [], "source_not_allowed"
        return [_likeliest(fact.text, desk, allowed)], None
    named = [brief.numbers.index(number) for number in fact.sources if number in brief.numbers]
    return (found, None) if (found := [at for at in named if at in allowed]) else ([], "source_not_allowed")


def _likeliest(text: str, desk: _Desk, allowed: Sequence[int]) -> int:
    """The message that shares most words with a fact that names none, the last of several."""
    words = index_terms(text).keys()
    return max(allowed, key=lambda at: (len(words & desk.words(desk.place(at))), at))


def _spans(text: str, places: Sequence[int], desk: _Desk) -> tuple[Span, ...]:
    """The sentences of some messages that state a fact; a whole message where none shares a word with it."""
    words = index_terms(text).keys()
    found: list[Span] = []
    for at in places:
        shared = [(len(words & said), span) for span, said in desk.sentences(at)]
        best = max((many for many, _ in shared), default=0)
        if best == 0:
            found.append(Span(at, 0, len(desk.heard.messages[at].content)))
        else:
            found += [span for many, span in shared if many >= best * _AS_GOOD][:MOST_SPANS]
    return tuple(found)


def _dates(
    fact: Drawn, brief: Brief, message: Message
) -> tuple[When | None, When | None, When | None, list[str]]:
    """When something happened, and since and until when it holds; and remarks on what is no date."""
    found: list[When | None] = []
    remarks = []
    for name in ("on", "since", "until"):
        told = getattr(fact, name)
        when = None
        if told is not None:
            try:
                when = parse_when(told, brief.zone_of(message), field=name)
            except ValidationError:
                remarks.append(f"{name} {told[:40]!r} is no date")
        found.append(when)
    return found[0], found[1], found[2], remarks


def _validity(on: When | None, since: When | None, until: When | None, said_at: Instant) -> Validity:
    """When a fact holds. What has happened is true ever since; that something is to happen, as soon as it is told.
    What was over when it was told is told as past: only an end to come ends it."""
    happened = on if on is not None and on.start <= said_at else None
    start = since if since is not None else happened
    end = None
    if until is not None:
        end = until.over
        if end <= said_at or (start is not None and end <= start.start):
            end = None
    return Validity(
        start=None if start is None else start.start,
        start_precision=None if start is None else start.precision,
        end=end,
        end_precision=None if end is None or until is None else until.precision,
    )


def _own_words(prompt: Prompt) -> str:
    """The words of our instructions and their example, which models hand back as facts."""
    return normal_form(prompt.text.replace('"', " ").replace("\\", " "))
