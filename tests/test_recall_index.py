"""The ScopeIndex: what it holds, that changing it gives what building it would, that snapshots stay."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.recall.fuse import rank
from mnemic.recall.index import ScopeIndex
from mnemic.recall.snapshot import NULL_INSTANT, Snapshot
from mnemic.records import IndexRow, MessageRow, Owner, RunRow
from recall_rows import OWNER, everything, message, query, row, row_id, row_of, scored

WORDS = ["tea", "Tee", "茶", "чай", "ERR-7731", "🙂", "don't", "a\nb"]
DIMS = 5


@dataclass
class Talk:
    """What a store would hold: the source of rebuilds, changed step by step."""

    rows: dict[int, IndexRow] = field(default_factory=dict)
    gone: dict[int, IndexRow] = field(default_factory=dict)
    messages: list[MessageRow] = field(default_factory=list)
    labels: list[RunRow] = field(default_factory=list)
    next: int = 1

    def number(self) -> int:
        self.next += 1
        return self.next


words = st.lists(st.sampled_from([word for word in WORDS if " " not in word]), max_size=6).map(" ".join)
vectors = st.none() | st.lists(st.integers(-3, 3), min_size=DIMS, max_size=DIMS).filter(any)
metadata = st.none() | st.sampled_from(
    ['{"a":1}', '{"a":true}', '{"a":1.0,"b":null}', '{"b":["x"]}', '{"a":"1"}']
)
times = st.none() | st.integers(-5, 5)


def changed(draw: st.DrawFn, no: int, episode: int, position: int, version: int) -> IndexRow:
    return row(
        no,
        draw(words),
        episode,
        position,
        version_no=version,
        vector=draw(vectors),
        metadata=draw(metadata),
        valid_to=draw(times),
        role=draw(st.sampled_from([None, "user", "assistant"])),
        categories=draw(st.sampled_from([None, '["food","café"]'])),
    )


@st.composite
def steps(
    draw: st.DrawFn,
) -> tuple[Talk, list[tuple[list[IndexRow], list[int], list[MessageRow], list[RunRow]]]]:
    """A talk and the changes that lead to it: new episodes, late facts, replacements, deletions, restores."""
    talk, changes = Talk(), []
    for _ in range(draw(st.integers(1, 6))):
        rows, gone, messages, labels = [], [], [], []
        if draw(st.booleans()):
            episode = talk.number()
            for position in draw(st.lists(st.integers(0, 9), max_size=5)):
                if draw(st.booleans()):
                    rows.append(changed(draw, talk.number(), episode, position, talk.number()))
                else:
                    messages.append(message(talk.number(), draw(words), episode, position))
        for no, old in sorted((talk.rows | talk.gone).items()):
            fate = draw(st.sampled_from(["keep", "keep", "keep", "replace", "delete"]))
            if fate == "replace":
                rows.append(changed(draw, no, old.episode_no, old.position, talk.number()))
            elif fate == "delete" and no in talk.rows:
                gone.append(no)
                talk.gone[no] = talk.rows.pop(no)
        if (talk.rows or rows) and draw(st.booleans()):
            anchor = draw(st.sampled_from([*talk.rows.values(), *rows]))
            late = draw(st.integers(0, 9))
            rows.append(changed(draw, talk.number(), anchor.episode_no, late, talk.number()))
        for one in rows:
            talk.rows[one.memory_no] = one
            talk.gone.pop(one.memory_no, None)
            labels += [RunRow(one.memory_no, run) for run in draw(st.sets(st.sampled_from(["r1", "r2"])))]
        talk.messages += messages
        talk.labels += labels
        changes.append((rows, gone, messages, labels))
    return talk, changes


def grown(changes: list[tuple[list[IndexRow], list[int], list[MessageRow], list[RunRow]]]) -> ScopeIndex:
    index = ScopeIndex(OWNER)
    for seq, (rows, gone, messages, labels) in enumerate(changes, 1):
        assert index.apply(rows, gone, messages, labels, seq)
    return index


def described(snapshot: Snapshot) -> dict[str, object]:
    """All that filters can see, by memory id."""
    rows = np.flatnonzero(snapshot.live)
    found: dict[str, object] = {}
    for r in rows.tolist():
        seen: list[object] = [int(snapshot.version_no[r]), int(snapshot.column("valid_to")[r])]
        for coded in [snapshot.coded(name) for name in ("kind", "role", "categories", "user_id", "id")]:
            seen.append(None if coded.codes[r] < 0 else coded.values[coded.codes[r]])
        for key in ("a", "b", "c"):
            coded = snapshot.metadata_key(key)
            seen.append("absent" if coded.codes[r] < 0 else json.dumps(coded.values[coded.codes[r]]))
        seen += [bool(snapshot.runs(run)[r]) for run in ("r1", "r2", "r3")]
        found[row_id(snapshot, r)] = seen
    return found


@given(steps(), words, vectors, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_changing_an_index_gives_what_building_it_would(built, asked, vector, random) -> None:
    talk, changes = built
    rows, messages, labels = list(talk.rows.values()), list(talk.messages), list(talk.labels)
    for given_rows in (rows, messages, labels):
        random.shuffle(given_rows)
    new, old = ScopeIndex(OWNER, rows, messages, labels, 9).snapshot(), grown(changes).snapshot()

    assert described(old) == described(new)
    for q in (query(asked, vector), query("tea|Tee чай"), query("", vector)):
        # Equal to the bit, and in the same order.
        assert scored(rank([old], q, everything(old), 50)) == scored(rank([new], q, everything(new), 50))


@given(steps(), words, vectors)
@settings(max_examples=50, deadline=None)
def test_a_snapshot_stays_as_it_was(built, asked, vector) -> None:
    _, changes = built
    index = ScopeIndex(OWNER)
    kept = []
    for seq, change in enumerate(changes, 1):
        assert index.apply(*change, seq)
        snapshot = index.snapshot()
        before = scored(rank([snapshot], query(asked, vector), everything(snapshot), 50))
        kept.append((snapshot, before, described(snapshot)))
    for snapshot, before, seen in kept:
        assert scored(rank([snapshot], query(asked, vector), everything(snapshot), 50)) == before
        assert described(snapshot) == seen


def test_many_small_changes_are_one_big_build() -> None:
    rows = [
        row(i, f"w{i % 7} w{i % 11} w{i}", i // 10, i % 10, vector=[i % 5 - 2, 1, i % 3]) for i in range(900)
    ]
    index = ScopeIndex(OWNER, rows[:100])
    for i in range(100, 900, 4):
        assert index.apply(rows[i : i + 4], [], [], [], i)
    one, other = index.snapshot(), ScopeIndex(OWNER, rows).snapshot()
    assert len(one.words.segments) < 12
    for asked in ("w3", "w3 w5 w777", "w888"):
        q = query(asked, [1, 2, 0])
        assert scored(rank([one], q, everything(one), 900)) == scored(
            rank([other], q, everything(other), 900)
        )
    assert index.nbytes < 2 * ScopeIndex(OWNER, rows).nbytes


def test_columns_are_what_filters_ask_for() -> None:
    index = ScopeIndex(
        Owner("t", "ann", "", "app"),
        [
            row(
                1, "tea", role="user", valid_from=7, metadata='{"a":1,"b":{"x":[1]}}', expires_on="2031-05-01"
            ),
            row(2, "milk", actor_id="Zoë", categories='["food"]', kind="fact", metadata='{"a":true}'),
        ],
        runs=[RunRow(1, "r1"), RunRow(2, "r1"), RunRow(2, "r2")],
        seq=4,
    )
    seen = index.snapshot()
    assert (seen.n, seen.seq, index.seq) == (2, 4, 4)
    assert seen.column("valid_from").tolist() == [7, NULL_INSTANT]
    assert seen.column("created_at").tolist() == [1, 2]

    def values(name: str) -> list[object]:
        coded = seen.coded(name)
        return [None if code < 0 else coded.values[code] for code in coded.codes]

    assert values("role") == ["user", None]
    assert values("actor_id") == [None, "Zoë"]
    assert values("kind") == ["message", "fact"]
    assert values("categories") == [None, ("food",)]
    assert values("expiration_date") == ["2031-05-01", None]
    assert values("id") == ["00000001", "00000002"]
    assert (values("user_id"), values("agent_id"), values("app_id")) == (["ann"] * 2, [""] * 2, ["app"] * 2)
    a, b = seen.metadata_key("a"), seen.metadata_key("b")
    assert [a.values[code] for code in a.codes] == [1, True]
    assert a.values[a.codes[1]] is True
    assert b.codes.tolist() == [0, -1]
    assert b.values[0] == {"x": [1]}
    assert seen.metadata_key("no such key").codes.tolist() == [-1, -1]
    assert [seen.runs(run).tolist() for run in ("r1", "r2", "r3")] == [
        [True, True],
        [False, True],
        [False, False],
    ]
    assert (row_of(seen, "00000002"), row_of(seen, "nobody"), row_id(seen, 0)) == (1, None, "00000001")
    with pytest.raises(KeyError):
        seen.column("metadata")


def test_ids_of_any_length_and_script_are_kept() -> None:
    long = "知识-" * 30
    index = ScopeIndex(OWNER, [row(1, "tea", uid="é")])
    assert index.apply([row(2, "tea", uid=long)], [], [], [], 1)
    seen = index.snapshot()
    assert [row_id(seen, 0), row_id(seen, 1), row_of(seen, long)] == ["é", long, 1]


def test_what_cannot_be_applied_is_refused_and_changes_nothing() -> None:
    index = ScopeIndex(OWNER, [row(1, "tea", vector=[1, 0])], seq=5)
    before = index.snapshot()
    assert not index.apply([row(2, "milk", vector=[1, 0, 0])], [], [], [], 6)
    assert not index.apply([row(2, "milk", vector=[1, 0])], [], [], [], 4)
    assert index.snapshot() is before
    assert index.seq == 5


def test_an_index_full_of_dead_rows_asks_for_a_reload() -> None:
    index = ScopeIndex(OWNER, [row(i, f"w{i}") for i in range(2000)])
    assert index.apply([], range(1000), [], [], 1)
    assert not index.apply([], range(1000, 2000), [], [], 2)


def test_vectors_of_different_lengths_are_an_error() -> None:
    with pytest.raises(ValueError):
        ScopeIndex(OWNER, [row(1, "tea", vector=[1, 0]), row(2, "tea", vector=[1, 0, 0])])


def test_known_messages_do_not_count_twice() -> None:
    index = ScopeIndex(OWNER, [row(1, "tea")], [message(2, "milk")])
    assert index.apply([], [], [message(2, "milk")], [], 1)
    assert index.snapshot().slot_lengths.sum() == 2


def test_an_empty_index_answers_nothing() -> None:
    empty = ScopeIndex(OWNER).snapshot()
    assert rank([empty], query("tea", [1, 0]), everything(empty), 5).hits == ()
    assert empty.metadata_key("a").codes.tolist() == []
    assert empty.runs("r").tolist() == []
