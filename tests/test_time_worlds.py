"""Random lives, told in any order, changed, taken back: what holds, what held and what was known, by a plain model.

The model is `world.py`; it and these tests were written from the documents, not from the code. Lives are users of one
store, so that they stand beside one another and the clock goes on from one to the next.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SetClock
from mnemic import DuplicateError, Memory
from mnemic.errors import ChangedSinceError
from world import Number, Statement, World

# Wordings that say without doubt what holds; of each group a person has one at a time.
CHAINS: dict[str, tuple[str, ...]] = {
    "home": ("I live in Rome.", "I moved to Oslo.", "我现在住在上海。", "我搬到杭州了。", "I now live in Lima.",
             "I moved to Turku."),
    "job": ("I work at Acme.", "我在字节工作。", "I work at Birch.", "我跳槽到了腾讯。", "I work at Northmoor."),
    "phone": ("My new number is 555-0160.", "我的新号码是 13900000088。", "My new number is 555-0171.",
              "我的新号码是 13900000099。"),
    "": ("I play chess.", "I play the cello.", "我喜欢爬山。", "I have two cats.", "I keep bees. 🐝"),
}  # fmt: skip
# What takes the place of one that was wrong.
RIGHT = {
    "home": "I live in {}.",
    "job": "I work at {}.",
    "phone": "My new number is 555-{:04}.",
    "": "I play {}.",
}
NAMES = (
    "Bergen",
    "Lund",
    "Narvik",
    "Odense",
    "Vaasa",
    "Kiruna",
    "Ghent",
    "Porto",
    "Sofia",
    "Varna",
    "Split",
    "Graz",
)
SPEECH = [(chain, text) for chain, texts in CHAINS.items() for text in texts]

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
STEP = timedelta(hours=12)
LAST = 2_000


def moment(at: int) -> datetime:
    """The instant of the model's number: four numbers to a step of twelve hours."""
    return FIRST + STEP * at / 4


def just_before(at: int) -> datetime:
    return moment(at) - timedelta(microseconds=1)


def words(page: Any) -> list[str]:
    """The texts of a page, each once: what is told again when it was replaced already is a memory of its own."""
    return sorted({item["memory"] for item in page["results"]})


def pairs(page: Any) -> set[tuple[str, str]]:
    return {(item["id"], item["memory"]) for item in page["results"]}


@dataclass(frozen=True)
class Step:
    """One thing that happens; numbers choose among what there is by then."""

    kind: str
    which: int
    said: int
    start: int | None
    end: int | None
    wait: int


KINDS = ("talk", "talk", "talk", "given", "again", "correct", "delete", "restore", "update", "undo")
_STEP = st.builds(
    Step,
    kind=st.sampled_from(KINDS),
    which=st.integers(0, 40),
    said=st.integers(0, LAST // 4).map(lambda at: 4 * at),
    start=st.none() | st.integers(0, LAST // 4).map(lambda at: 4 * at + 1),
    end=st.none() | st.integers(0, LAST // 4).map(lambda at: 4 * at + 2),
    wait=st.sampled_from((1, 60, 86_400, 40 * 86_400)),
)


def lives(most: int, **kinds: Any) -> Any:
    """Steps of which no two are said, or begin, at the same instant."""
    begin = lambda step: (0, step.said) if step.start is None else (1, step.start)  # noqa: E731
    return st.lists(_STEP, min_size=2, max_size=most, unique_by=(lambda step: step.said, begin))


@dataclass
class Life:
    """One user's life, in the store and in the model, side by side."""

    m: Memory
    clock: SetClock
    user: str
    now: datetime
    world: World = field(default_factory=World)
    ids: list[str] = field(default_factory=list)
    wrong: set[Number] = field(default_factory=set)
    corrected: list[tuple[str, int]] = field(default_factory=list)
    really_said: dict[Number, int] = field(default_factory=dict)
    calls: list[tuple[str, World]] = field(default_factory=list)
    seen: list[tuple[datetime, Any]] = field(default_factory=list)
    values: Any = field(default_factory=itertools.count)

    def happen(self, step: Step) -> None:
        """One step, at a later instant; then what is known is read, at a later one still."""
        self._pass(step.wait)
        getattr(self, f"_{step.kind}")(step)
        self._pass(step.wait)
        self.seen.append((self.now, self.known()))

    def known(self, **more: Any) -> tuple[Any, Any]:
        """What a search and a list give: the (id, text) pairs of each."""
        found = self.m.search("I live work number 住 号码", user_id=self.user, top_k=500, **more)
        return pairs(found), pairs(self.m.get_all(user_id=self.user, top_k=500, **more))

    def holding(self, at: datetime) -> list[str]:
        return words(self.m.get_all(user_id=self.user, top_k=500, as_of=at.isoformat(), show_expired=True))

    def _pass(self, seconds: int) -> None:
        self.now = self.clock(self.now + timedelta(seconds=seconds))

    # --- what may happen

    def _talk(self, step: Step) -> None:
        said_already = {one.text for one in self.world.told}
        chain, text = SPEECH[step.which % len(SPEECH)]
        # See test_what_was_said_before_a_correction_comes_late.
        before_a_correction = any(chain == of and step.said < at for of, at in self.corrected)
        if text in said_already or before_a_correction:
            return
        self._told(
            self.m.add(text, user_id=self.user, timestamp=moment(step.said).isoformat()),
            Statement(text, chain, text, step.said, step.said),
        )

    def _again(self, step: Step) -> None:
        """The same talk once more: no news, whatever became of it."""
        talks = [n for n, one in enumerate(self.world.told) if (one.chain, one.text) in SPEECH]
        if not talks:
            return
        number = talks[step.which % len(talks)]
        one = self.world.told[number]
        before = self.world
        added = self.m.add(one.text, user_id=self.user, timestamp=moment(one.said).isoformat())
        if [item["event"] for item in added["results"]] == ["ADD"]:
            assert number in before.believed, "what was deleted came back"
            self._told(added, one)
        else:
            self.calls.append((added["trace_id"], before))

    def _given(self, step: Step) -> None:
        """A fact that takes the place of the newest one of its kind."""
        kind = f"given {step.which % 2}"
        value = f"{kind}: 值 {next(self.values)}"
        start = step.said if step.start is None else step.start
        end = step.end if step.end is not None and step.end > start else None
        fact: dict[str, Any] = {"text": value}
        if step.start is not None:
            fact["valid_from"] = moment(start).isoformat()
        if end is not None:
            fact["valid_to"] = moment(end).isoformat()
        before = [n for n in self.world.believed if self.world.told[n].chain.startswith(kind)]
        newest = max(before, key=lambda n: self.world.told[n].start, default=None)
        chain = f"{kind} {len(self.ids)}" if newest is None else self.world.told[newest].chain
        if newest is not None:
            fact["supersedes"] = self.ids[newest]
        self._told(
            self.m.add(facts=[fact], user_id=self.user, timestamp=moment(step.said).isoformat()),
            Statement(value, chain, value, step.said, start, end),
        )

    def _correct(self, step: Step) -> None:
        """A mistake is put right, in a later talk."""
        number = self._one_of(step, lambda n: n in self.world.believed and self._spoken(n))
        if number is None or step.said < self.really_said.get(number, self.world.told[number].said):
            return
        chain, count = self.world.told[number].chain, next(self.values)
        value = RIGHT[chain].format(count if chain == "phone" else NAMES[count % len(NAMES)])
        fact = {"text": value, "corrects": self.ids[number]}
        before = self.world
        added = self.m.add(facts=[fact], user_id=self.user, timestamp=moment(step.said).isoformat())
        self.ids.append(added["results"][0]["id"])
        # Nothing tells the two apart but who is believed.
        self.wrong |= {number, len(before.told)}
        self.corrected.append((chain, step.said))
        self.really_said[len(before.told)] = step.said
        self.world = before.correct(number, value, value)
        self.calls.append((added["trace_id"], before))

    def _delete(self, step: Step) -> None:
        number = self._one_of(step, lambda n: n in self.world.believed and self._spoken(n))
        if number is not None:
            self.m.delete(self.ids[number])
            self._called(self.world.delete(number))

    def _restore(self, step: Step) -> None:
        number = self._one_of(step, lambda n: self._back(n))
        if number is None:
            return
        try:
            self.m.restore(self.ids[number])
        except DuplicateError:
            text = self.world.told[number].text
            assert text in [self.world.told[n].text for n in self.world.believed]
        else:
            self.world = self.world.restore(number)
            # See test_a_restore_can_be_undone.
            self.calls.clear()

    def _update(self, step: Step) -> None:
        number = self._one_of(step, lambda n: n in self.world.believed and self.world.told[n].chain == "")
        if number is not None:
            text = f"{self.world.told[number].text} ({next(self.values)})"
            self.m.update(self.ids[number], text)
            self._called(self.world.reword(number, text))

    def _undo(self, step: Step) -> None:
        if not self.calls:
            return
        trace, before = self.calls[-1]
        undone = self.m.undo(trace, user_id=self.user)
        now = self.world
        self.world = now.back_to(before)
        if any(item["event"] != "NONE" for item in undone["results"]):
            self.calls.append((undone["trace_id"], now))
        else:
            self.calls.pop()

    # --- what became of it

    def _told(self, added: Any, statement: Statement) -> None:
        [item] = added["results"]
        assert item["event"] == "ADD"
        self.ids.append(item["id"])
        self.calls.append((added["trace_id"], self.world))
        self.world = self.world.tell(statement)

    def _called(self, world: World) -> None:
        [entry] = self.m.log(user_id=self.user, limit=1)["results"]
        self.calls.append((entry["trace_id"], self.world))
        self.world = world

    def _one_of(self, step: Step, wanted: Callable[[Number], bool]) -> Number | None:
        found = [n for n in range(len(self.ids)) if wanted(n)]
        return found[step.which % len(found)] if found else None

    def _back(self, number: Number) -> bool:
        """Whether it can be restored, and what it meets then needs no telling."""
        return number not in self.world.believed and number not in self.wrong and self._spoken(number)

    def _spoken(self, number: Number) -> bool:
        return not self.world.told[number].chain.startswith("given")

    # --- what must be

    def agrees(self) -> None:
        """The store says of every instant what the model says."""
        for at in self.world.edges():
            assert self.holding(moment(at)) == self.world.texts(at), moment(at)
            assert self.holding(just_before(at)) == self.world.texts(at - 1), just_before(at)

    def remembers(self) -> None:
        """What was known at each instant is what a search and a list gave then."""
        for at, then in self.seen:
            assert self.known(known_at=at.isoformat()) == then, at


@pytest.fixture
def begin(m: Memory, set_clock: SetClock) -> Callable[[], Life]:
    """Begins a life in a store with a second tenant and the lives before."""
    users = itertools.count()
    set_clock("2024-01-01")

    def life() -> Life:
        now = datetime.fromtimestamp(set_clock.seconds, UTC)
        return Life(m, set_clock, f"user-{next(users)}", now)

    return life


def examples(database: str, scale: int) -> int:
    """PostgreSQL takes its time over each call, and says the same."""
    return 24 * scale if database == "sqlite" else 4 * scale


SCALES = [1, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]


@pytest.mark.parametrize("scale", SCALES)
def test_the_store_says_what_the_model_says(
    begin: Callable[[], Life], m: Memory, database: str, scale: int
) -> None:
    @settings(max_examples=examples(database, scale))
    @given(lives(10))
    def lived(steps: Sequence[Step]) -> None:
        life = begin()
        for step in steps:
            life.happen(step)
            at = (step.which * 977 + step.said) % LAST
            assert life.holding(moment(at)) == life.world.texts(at), moment(at)
        life.agrees()
        life.remembers()

    lived()
    check = m.check(full=True)
    assert check["sound"], check["faults"]


# --- the same life in any order ---------------------------------------------------------------------------

MORE_SPEECH = [*SPEECH, *(("home", f"I live in {name}.") for name in NAMES[:4])]


@dataclass(frozen=True)
class Told:
    """A talk, or a fact of somebody who knows since when and until when it holds."""

    which: int
    said: int
    start: int | None
    end: int | None

    def statement(self) -> Statement:
        chain, text = MORE_SPEECH[self.which]
        start = self.said if self.start is None else self.start
        # See test_what_tells_its_end_gives_way_too.
        end = self.end if self.end is not None and self.end > start and chain == "" else None
        return Statement(text, chain, text, self.said, start, end)

    def tell(self, m: Memory, user: str) -> None:
        one = self.statement()
        at = moment(one.said).isoformat()
        if self.start is None and one.end is None:
            m.add(one.text, user_id=user, timestamp=at)
            return
        fact: dict[str, Any] = {"text": one.text}
        if self.start is not None:
            fact["valid_from"] = moment(one.start).isoformat()
        if one.end is not None:
            fact["valid_to"] = moment(one.end).isoformat()
        m.add(facts=[fact], user_id=user, timestamp=at)


_TOLD = st.builds(
    Told,
    which=st.integers(0, len(MORE_SPEECH) - 1),
    said=st.integers(0, LAST // 4).map(lambda at: 4 * at),
    start=st.none() | st.none() | st.integers(0, LAST // 4).map(lambda at: 4 * at + 1),
    end=st.none() | st.none() | st.integers(0, LAST // 4).map(lambda at: 4 * at + 2),
)


def told_once(most: int) -> Any:
    begin = lambda one: (one.start is not None, one.said if one.start is None else one.start)  # noqa: E731
    return st.lists(
        _TOLD, min_size=2, max_size=most, unique_by=(lambda one: one.which, lambda one: one.said, begin)
    )


@pytest.mark.parametrize("scale", SCALES)
def test_talks_added_in_any_order_tell_one_life(
    begin: Callable[[], Life], m: Memory, database: str, scale: int
) -> None:
    @settings(max_examples=examples(database, scale))
    @given(told_once(7), st.randoms(use_true_random=False), st.sets(st.integers(0, 6)))
    def lived(told: Sequence[Told], random: Any, twice: set[int]) -> None:
        world = World()
        for one in told:
            world = world.tell(one.statement())
        orders = [sorted(told, key=lambda one: one.said), random.sample(list(told), len(told))]
        for order in orders:
            life = replace(begin(), world=world)
            for number, one in enumerate(order):
                one.tell(m, life.user)
                if number in twice:
                    one.tell(m, life.user)
            life.agrees()

    lived()
    check = m.check(full=True)
    assert check["sound"], check["faults"]


# --- anything at all --------------------------------------------------------------------------------------

Content = dict[str, tuple[Any, ...]]


@dataclass
class Wild(Life):
    """A life of which nothing is foretold; what must be true of every life is."""

    traces: list[tuple[str, Content]] = field(default_factory=list)
    taking: set[str] = field(default_factory=set)

    def content(self) -> Content:
        """All that is believed, by id: what it says, when it holds, and what took its place."""
        page = self.m.get_all(user_id=self.user, top_k=500, include_superseded=True, show_expired=True)
        keys = ("memory", "metadata", "valid_from", "valid_to", "superseded_by", "expiration_date", "run_ids")
        return {item["id"]: tuple(item.get(key) for key in keys) for item in page["results"]}

    def _talk(self, step: Step) -> None:
        chain, text = SPEECH[step.which % len(SPEECH)]
        expires = None if chain else (self.now + timedelta(days=step.which)).date()
        at = moment(step.said).isoformat()
        self._called_with(self.m.add, text, user_id=self.user, timestamp=at, expiration_date=expires)

    _again = _talk

    def _given(self, step: Step) -> None:
        self._fact(step, "supersedes")

    def _correct(self, step: Step) -> None:
        self._fact(step, "corrects")

    def _fact(self, step: Step, how: str) -> None:
        """A fact about any memory at all."""
        fact: dict[str, Any] = {"text": f"值 {next(self.values)} \"x\"\n'y'"}
        if step.start is not None:
            fact["valid_from"] = moment(step.start).isoformat()
        if step.end is not None and step.end > max(step.said, step.start or 0):
            fact["valid_to"] = moment(step.end).isoformat()
        if (met := self._any(step, deleted=False)) is not None:
            fact[how] = met
        at = moment(step.said).isoformat()
        self._called_with(self.m.add, facts=[fact], user_id=self.user, timestamp=at)

    def _delete(self, step: Step) -> None:
        if (uid := self._any(step, deleted=False)) is not None:
            self._called_with(self.m.delete, uid)

    def _restore(self, step: Step) -> None:
        if (uid := self._any(step, deleted=True)) is not None:
            self._called_with(self.m.restore, uid)

    def _update(self, step: Step) -> None:
        if (uid := self._any(step, deleted=False)) is not None:
            self._called_with(self.m.update, uid, f"值 {next(self.values)}", {"n": step.which})

    def _undo(self, step: Step) -> None:
        if not self.traces:
            return
        at = step.which % len(self.traces)
        trace, then = self.traces[at]
        if trace in self.taking and at < len(self.traces) - 1:
            # See test_what_an_undone_undo_brings_back_meets_what_was_said_meanwhile.
            return
        before = self.content()
        undone = self._called_with(self.m.undo, trace, user_id=self.user)
        if undone is None:
            return
        now = self.content()
        kept = {item["id"] for item in undone["results"] if item["event"] == "NONE"}
        for item in undone["results"]:
            assert (item["id"] in now) == (item["event"] == "RESTORE" or item["id"] in kept & before.keys())
            if item["event"] == "RESTORE":
                assert now[item["id"]] == then[item["id"]], "it did not come back as it was"
        touched = {item["id"] for item in undone["results"]}
        assert {k: v for k, v in now.items() if k not in touched} == {
            k: v for k, v in before.items() if k not in touched
        }
        if at == len(self.traces) - 2 and not kept:
            assert now == then, "the last call was undone, and not all is as it was"

    def _any(self, step: Step, *, deleted: bool) -> str | None:
        page = self.m.trash if deleted else partial_all(self.m)
        found = sorted(page(user_id=self.user, top_k=500)["results"], key=lambda item: item["created_at"])
        return found[step.which % len(found)]["id"] if found else None

    def _called_with(self, verb: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a verb and keep its trace; what it may refuse it refuses without a change."""
        before = self.content()
        try:
            done = verb(*args, **named)
        except (DuplicateError, ChangedSinceError):
            assert self.content() == before, "it was refused, and something changed"
            return None
        [entry] = self.m.log(user_id=self.user, limit=1)["results"]
        if entry["trace_id"] not in [trace for trace, _ in self.traces]:
            self.traces.append((entry["trace_id"], before))
            if verb in (self.m.delete, self.m.undo):
                self.taking.add(entry["trace_id"])
        return done

    def excludes_well(self) -> None:
        """No two statements that exclude one another hold at one instant; of a chain, one is current."""
        items = {
            item["id"]: item
            for item in self.m.get_all(
                user_id=self.user, top_k=500, include_superseded=True, show_expired=True
            )["results"]
        }
        edges = {item[key] for item in items.values() for key in ("observed_at", "valid_from", "valid_to")}
        spoken = {text: chain for chain, text in SPEECH if chain}
        for edge in sorted(edges - {None}):
            for at in (
                datetime.fromisoformat(edge),
                datetime.fromisoformat(edge) - timedelta(microseconds=1),
            ):
                page = self.m.get_all(user_id=self.user, top_k=500, as_of=at, show_expired=True)["results"]
                held = {item["id"] for item in page}
                chains = [spoken[text] for text in {item["memory"] for item in page} if text in spoken]
                assert len(set(chains)) == len(chains), (at, [item["memory"] for item in page])
                for uid in held:
                    assert not held & set(successors(items, uid)), at
        now = {item["id"] for item in self.m.get_all(user_id=self.user, top_k=500)["results"]}
        assert not any(now & set(successors(items, uid)) for uid in now)


def partial_all(m: Memory) -> Callable[..., Any]:
    return lambda **named: m.get_all(include_superseded=True, show_expired=True, **named)


def successors(items: dict[str, Any], uid: str) -> Sequence[str]:
    """What took the place of a memory, and of that, and so on: no chain comes back to where it was."""
    found: list[str] = []
    while (following := items[uid]["superseded_by"] if uid in items else None) is not None:
        assert following not in (uid, *found), "a memory follows itself"
        found.append(following)
        uid = following
    return found


@pytest.mark.parametrize("scale", SCALES)
def test_whatever_happens_nothing_contradicts_itself_or_is_lost(
    m: Memory, set_clock: SetClock, database: str, scale: int
) -> None:
    users = itertools.count()
    set_clock("2024-01-01")

    @settings(max_examples=examples(database, scale))
    @given(st.lists(_STEP, min_size=2, max_size=9))
    def lived(steps: Sequence[Step]) -> None:
        life = Wild(m, set_clock, f"user-{next(users)}", datetime.fromtimestamp(set_clock.seconds, UTC))
        for step in steps:
            life.happen(step)
        life.excludes_well()
        life.remembers()

    lived()
    check = m.check(full=True)
    assert check["sound"], check["faults"]


# --- what docs/time.md promises, and does not hold yet ----------------------------------------------------


def told_in_each_order(m: Memory, *told: tuple[str, str]) -> list[list[tuple[str, ...]]]:
    """What holds at each instant at which something was said, for each order in which the talks are added."""
    found = []
    for number, order in enumerate(itertools.permutations(told)):
        for text, at in order:
            m.add(text, user_id=f"ann-{number}", timestamp=at)
        found.append(
            [
                tuple(words(m.get_all(user_id=f"ann-{number}", as_of=at)))
                for _, at in sorted(told, key=lambda t: t[1])
            ]
        )
    return found


@pytest.mark.xfail(
    strict=True, reason="a repeat is support only: what was said before the first is not dated back"
)
def test_a_repeat_that_was_said_earlier_tells_that_it_held_earlier(m: Memory) -> None:
    rome = ("I live in Rome.",)
    told = told_in_each_order(m, ("I live in Rome.", "2020-01-01"), ("I live in Rome.", "2021-01-01"))
    assert told == [[rome, rome]] * 2


@pytest.mark.xfail(strict=True, reason="a repeat is support only: a change that comes late ends it for good")
def test_who_came_back_lives_there_again_in_whatever_order_it_is_told(m: Memory) -> None:
    rome, oslo = ("I live in Rome.",), ("I moved to Oslo.",)
    told = told_in_each_order(
        m,
        ("I live in Rome.", "2020-01-01"),
        ("I moved to Oslo.", "2021-01-01"),
        ("I live in Rome.", "2022-01-01"),
    )
    assert told == [[rome, oslo, rome]] * 6


def test_what_comes_late_comes_between(m: Memory) -> None:
    assert one_after_another(m, "2022", "2021") == ["1", "3", "2"]


def test_two_that_take_the_place_of_one_follow_one_another(m: Memory) -> None:
    assert one_after_another(m, "2021", "2022") == ["1", "2", "3"]


def one_after_another(m: Memory, *years: str) -> list[str]:
    """What holds in each year when each of two facts takes the place of a first one, of 2020."""
    first = m.add(facts=["1"], user_id="ann", timestamp="2020")["results"][0]["id"]
    for number, year in enumerate(years, 2):
        m.add(facts=[{"text": str(number), "supersedes": first}], user_id="ann", timestamp=year)
    return [" ".join(words(m.get_all(user_id="ann", as_of=f"{year}-06"))) for year in (2020, 2021, 2022)]


@pytest.mark.parametrize(
    "order",
    [
        ["oslo", "turku", "bergen"],
        pytest.param(
            ["turku", "bergen", "oslo"],
            marks=pytest.mark.xfail(
                strict=True, reason="a correction in words of its own excludes nothing else"
            ),
        ),
    ],
)
def test_a_correction_stands_where_the_wrong_one_did(m: Memory, order: list[str]) -> None:
    wrong = ""
    for name in order:
        if name == "oslo":
            m.add("I moved to Oslo.", user_id="ann", timestamp="2020")
        elif name == "turku":
            wrong = m.add("I moved to Turku.", user_id="ann", timestamp="2021")["results"][0]["id"]
        else:
            m.add(facts=[{"text": "Lives in Bergen", "corrects": wrong}], user_id="ann", timestamp="2022")
    assert words(m.get_all(user_id="ann", as_of="2020-06")) == ["I moved to Oslo."]
    assert words(m.get_all(user_id="ann", as_of="2021-06")) == ["Lives in Bergen"]


@pytest.mark.parametrize(
    "late",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.xfail(
                strict=True, reason="a correction refutes what was said before it was made"
            ),
        ),
    ],
)
def test_what_was_said_before_a_correction_comes_late(m: Memory, late: bool) -> None:
    wrong = m.add("I moved to Turku.", user_id="ann", timestamp="2021")["results"][0]["id"]
    if not late:
        m.add("I moved to Oslo.", user_id="ann", timestamp="2022")
    m.add(facts=[{"text": "I live in Bergen.", "corrects": wrong}], user_id="ann", timestamp="2023")
    if late:
        m.add("I moved to Oslo.", user_id="ann", timestamp="2022")
    assert words(m.get_all(user_id="ann", as_of="2021-06")) == ["I live in Bergen."]
    assert words(m.get_all(user_id="ann", as_of="2022-06")) == ["I moved to Oslo."]


def test_a_talk_that_is_sent_once_more_keeps_nothing_twice(m: Memory) -> None:
    for _ in range(2):
        m.add("I live in Rome.", user_id="ann", timestamp="2020")
        m.add("I moved to Oslo.", user_id="ann", timestamp="2021")
    assert m.get_all(user_id="ann", include_superseded=True)["total"] == 2


def test_a_talk_that_comes_late_twice_is_kept_once(m: Memory) -> None:
    since = {"text": "I live in Oslo.", "valid_from": "2019"}
    m.add(facts=[since], user_id="ann", timestamp="2021")
    for _ in range(2):
        m.add("I live in Rome.", user_id="ann", timestamp="2020")
    assert m.get_all(user_id="ann", include_superseded=True)["total"] == 2


def test_a_talk_that_comes_between_twice_is_kept_once(m: Memory) -> None:
    m.add("I moved to Oslo.", user_id="ann", timestamp="2021")
    for _ in range(2):
        m.add("I live in Rome.", user_id="ann", timestamp="2020")
    assert m.get_all(user_id="ann", include_superseded=True)["total"] == 2


def test_what_tells_its_end_gives_way_too(m: Memory) -> None:
    fact = {"text": "I live in Rome.", "valid_from": "2020", "valid_to": "2023"}
    m.add(facts=[fact], user_id="ann", timestamp="2020-01-01")
    m.add("I moved to Oslo.", user_id="ann", timestamp="2021-05-01")
    assert words(m.get_all(user_id="ann", as_of="2021-04")) == ["I live in Rome."]
    assert words(m.get_all(user_id="ann", as_of="2021-06")) == ["I moved to Oslo."]


def test_what_never_held_ends_nothing(m: Memory) -> None:
    first = m.add(facts=["5"], user_id="ann", timestamp="2005-01-01")["results"][0]["id"]
    since = {"text": "1", "valid_from": "2001-01-01", "supersedes": first}
    m.add(facts=[since], user_id="ann", timestamp="2007-01-01")
    between = {"text": "3", "valid_from": "2003-01-01", "valid_to": "2006-01-01T00:00", "supersedes": first}
    m.add(facts=[between], user_id="ann", timestamp="2009-01-01")
    assert words(m.get_all(user_id="ann", as_of="2004-01-01")) == ["3"]
    assert words(m.get_all(user_id="ann", as_of="2005-06-01")) == ["3"]


@pytest.mark.xfail(strict=True, reason="undo forgets what a given fact takes the place of")
def test_what_is_restored_after_an_undo_takes_the_place_again(m: Memory) -> None:
    first = m.add(facts=["1"], user_id="ann", timestamp="2020")["results"][0]["id"]
    second = m.add(facts=[{"text": "2", "supersedes": first}], user_id="ann", timestamp="2021")
    m.undo(second["trace_id"])
    m.restore(second["results"][0]["id"])
    assert words(m.get_all(user_id="ann", as_of="2021-06")) == ["2"]


def test_who_lives_there_since_long_ago_never_lived_elsewhere(m: Memory) -> None:
    m.add("I live in Rome.", user_id="ann", timestamp="2021-06-01")
    m.add("I've lived in Oslo since 2010.", user_id="ann", timestamp="2022-01-01")
    assert words(m.get_all(user_id="ann", as_of="2015")) == ["I've lived in Oslo since 2010."]
    assert words(m.get_all(user_id="ann", as_of="2021-07")) == ["I've lived in Oslo since 2010."]


@pytest.mark.xfail(strict=True, reason="the words of docs/time.md claim no home")
def test_what_is_yet_to_come_ends_what_was_said_meanwhile(m: Memory) -> None:
    m.add("I'm moving to Oslo on May 1.", user_id="ann", timestamp="2022-02-01")
    m.add("I live in Rome.", user_id="ann", timestamp="2022-03-01")
    assert words(m.get_all(user_id="ann", as_of="2022-04-01")) == ["I live in Rome."]
    assert words(m.get_all(user_id="ann", as_of="2022-06-01")) == ["I'm moving to Oslo on May 1."]


@pytest.mark.xfail(strict=True, reason="what begins again does not end its end")
def test_a_liking_that_comes_back_ends_its_end(m: Memory) -> None:
    for year, text in enumerate(("I like tea.", "I no longer like tea.", "I like tea again."), 2020):
        m.add(text, user_id="ann", timestamp=str(year))
    assert words(m.get_all(user_id="ann")) == ["I like tea again."]


@pytest.mark.parametrize(
    "which",
    [0, 1],
)
def test_a_restore_can_be_undone(m: Memory, which: int) -> None:
    told = (("I work at Acme.", "2020"), ("我在字节工作。", "2021"))
    ids = [m.add(text, user_id="ann", timestamp=at)["results"][0]["id"] for text, at in told]
    m.delete(ids[which])
    before = words(m.get_all(user_id="ann", include_superseded=True))
    m.restore(ids[which])
    m.undo(m.log(user_id="ann", event="RESTORE")["results"][0]["trace_id"])
    assert words(m.get_all(user_id="ann", include_superseded=True)) == before


def test_what_an_undone_undo_brings_back_meets_what_was_said_meanwhile(m: Memory) -> None:
    added = m.add("I moved to Turku.", user_id="ann", timestamp="2021")
    undone = m.undo(added["trace_id"])
    m.add("我搬到杭州了。", user_id="ann", timestamp="2020")
    m.undo(undone["trace_id"])
    assert words(m.get_all(user_id="ann")) == ["I moved to Turku."]
