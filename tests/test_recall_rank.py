"""Ranking: formulas against plain references, the promises of the score, independence, explanations."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.errors import EmbedderMismatchError
from mnemic.recall import columns
from mnemic.recall.explain import explain, overview
from mnemic.recall.fuse import Hit, Query, rank
from mnemic.recall.index import ScopeIndex
from mnemic.recall.lexical import rarity, tempered_rarity
from mnemic.recall.recipe import DEFAULT, Recipe
from mnemic.recall.snapshot import Snapshot
from mnemic.records import Background, IndexRow, Owner
from mnemic.text import pack, tokens
from recall_rows import OWNER, everything, message, query, row, row_id, scored

WORDS = ["tea", "cup", "茶", "чай", "ERR-7731", "🙂", "don't"]
E5 = Background(mean=0.752, high=0.837, same=0.858, own=0.958)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
vectors = st.none() | st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any)
talks = st.lists(st.tuples(texts, st.integers(1, 3), st.integers(0, 6), vectors), max_size=14)
asked = st.lists(st.sampled_from([*WORDS, "tea|茶", "unheard"]), max_size=4).map(" ".join)


def rows_of(talk: list[tuple[str, int, int, list[int] | None]], first: int = 1) -> list[IndexRow]:
    return [
        row(first + i, text, episode, position, vector=vector)
        for i, (text, episode, position, vector) in enumerate(talk)
    ]


def snapshot_of(rows: list[IndexRow], *messages: object, owner: Owner = OWNER) -> Snapshot:
    return ScopeIndex(owner, rows, messages).snapshot()  # type: ignore[arg-type]


def spoken(text: str, vector: np.ndarray | None = None, background: Background = E5) -> Query:
    groups = tuple(tuple(map(pack.term_hash, group)) for group in tokens.query_terms(text))
    return Query(groups, vector, background)


# Formulas


def bm25(documents: list[Counter[str]], words: list[list[str]], weights: list[float]) -> list[float]:
    """BM25 as the books have it, over documents as they are given."""
    average = sum(sum(d.values()) for d in documents) / len(documents)
    scores = []
    for document in documents:
        norm = 1.2 * (0.25 + 0.75 * sum(document.values()) / average)
        counts = [sum(document[word] for word in group) for group in words]
        scores.append(sum(w * tf * 2.2 / (tf + norm) for w, tf in zip(weights, counts, strict=True)))
    return scores


@given(talks, asked)
@settings(max_examples=150, deadline=None)
def test_lexical_signals_are_bm25_over_rows_windows_and_episodes(talk, wanted) -> None:
    seen = snapshot_of(rows_of(talk))
    found = rank([seen], query(wanted), everything(seen), 1).evidence[0]
    if not talk or not wanted:
        assert not found.bm25.any()
        return
    words = [word.split("|") for word in wanted.split()]
    documents = [Counter(text.split()) for text, *_ in talk]
    holding = [sum(any(d[word] for word in group) for d in documents) for group in words]
    weights = [math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for n in holding]
    assert found.bm25 == pytest.approx(bm25(documents, words, weights))
    expected = [min(score / sum(weights), 1) for score in bm25(documents, words, weights)]
    assert found.rows["lexical"] == pytest.approx(expected)

    places = [(episode, position) for _, episode, position, _ in talk]
    turns = sorted(set(places))
    by_turn: dict[tuple[int, int], Counter[str]] = {turn: Counter() for turn in turns}
    for place, document in zip(places, documents, strict=True):
        by_turn[place].update(document)
    share = {0: 1.0, 1: 1.0, 2: 0.5}
    windows = [
        sum(
            (share[abs(p - q)] * Fractions(by_turn[f, q]) for f, q in turns if f == e and abs(p - q) <= 2),
            Fractions(),
        )
        for e, p in turns
    ]
    expected_window = dict(zip(turns, bm25(windows, words, weights), strict=True))
    slots = seen.slots.rows
    assert found.slots["window"][slots] == pytest.approx(
        [min(expected_window[place] / sum(weights), 1) for place in places]
    )
    episodes = sorted({e for e, _ in turns})
    whole = [sum((by_turn[f, q] for f, q in turns if f == e), Counter()) for e in episodes]
    expected_episode = dict(zip(episodes, bm25(whole, words, weights), strict=True))
    assert found.episodes["episode_lexical"][seen.slots.episode[slots]] == pytest.approx(
        [min(expected_episode[e] / sum(weights), 1) for e, _ in places]
    )


class Fractions(Counter):
    """A counter that can be weighed and added."""

    def __rmul__(self, share: float) -> Fractions:
        return Fractions({word: share * count for word, count in self.items()})

    def __add__(self, other: Counter) -> Fractions:  # type: ignore[override]
        return Fractions({word: self[word] + other[word] for word in self | other})


@given(talks, st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(any))
@settings(max_examples=100, deadline=None)
def test_dense_signals_follow_their_definitions(talk, vector) -> None:
    seen = snapshot_of(rows_of(talk))
    background = Background(mean=0.1, high=0.4, same=0.6, own=0.9)
    found = rank([seen], query("", vector, background=background), everything(seen), 1).evidence[0]
    given_vectors = [v for *_, v in talk]
    if not any(given_vectors):
        assert found.rows == {}
        return
    unit = np.array(vector) / np.linalg.norm(vector)
    cosine = [0.0 if v is None else float(unit @ v / np.linalg.norm(v)) for v in given_vectors]
    # 0.3 of 0.8 is more than the noise may count, so the line has a bend where the noise ends.
    dense = [
        0.0 if v is None else np.interp(c, [-1, 0.1, 0.4, 0.9], [0, 0.05, 0.3, 1])
        for v, c in zip(given_vectors, cosine, strict=True)
    ]
    assert found.rows["dense"] == pytest.approx(dense, abs=2e-3)
    places = [(episode, position) for _, episode, position, _ in talk]

    def mean(of: list[int]) -> float:
        held = [float(dense[i]) for i in of if given_vectors[i] is not None]
        return sum(held) / len(held) if held else 0.0

    near, episode = [], []
    for e, p in places:
        parts = [
            (w, [i for i, at in enumerate(places) if at == (e, p + d)])
            for d, w in zip(range(-2, 3), DEFAULT.window, strict=True)
        ]
        near.append(sum(w * mean(of) for w, of in parts) / sum(DEFAULT.window))
        of = [
            float(dense[i]) ** 2 for i, at in enumerate(places) if at[0] == e and given_vectors[i] is not None
        ]
        episode.append(math.sqrt(sum(of) / len(of)) if of else 0.0)
    assert found.slots["near"][seen.slots.rows] == pytest.approx(near, abs=2e-3)
    assert found.episodes["episode_dense"][seen.slots.episode[seen.slots.rows]] == pytest.approx(
        episode, abs=2e-3
    )


def test_cosines_are_the_same_to_the_bit_wherever_a_row_lies() -> None:
    random = np.random.default_rng(5)
    for dims in (7, 384, 1536):
        vectors, asked_vector = random.standard_normal((130, dims)), random.standard_normal(dims)
        data = [v.astype("<f4").tobytes() for v in vectors]
        whole, turned, single = columns.Matrix(), columns.Matrix(), columns.Matrix()
        whole.append(data)
        turned.append(data[::-1])
        for one in data:
            single.append([one])
        q = asked_vector.astype(np.float32)
        first, second, third = (columns.cosines(m.views(), q) for m in (whole, turned, single))
        assert first.tolist() == second[::-1].tolist() == third.tolist()
        # Nor does the order of the sums matter, which is another one in another kernel or CPU.
        order = random.permutation(dims)
        shuffled = columns.Matrix()
        shuffled.append([v[order].astype("<f4").tobytes() for v in vectors])
        assert columns.cosines(shuffled.views(), q[order]).tolist() == first.tolist()
        exact = vectors @ asked_vector / np.linalg.norm(vectors, axis=1) / np.linalg.norm(asked_vector)
        assert first == pytest.approx(exact, abs=1e-3)


def test_scores_are_the_same_to_the_bit_in_whatever_order_the_rows_come() -> None:
    random = np.random.default_rng(6)
    rows = [row(i, "tea", 1 + i % 3, i // 9, vector=random.standard_normal(24)) for i in range(300)]
    q = query("tea cup", random.standard_normal(24).tolist(), background=Background(0.011, 0.1, 0.3, 0.7))
    forth, back = snapshot_of(rows), snapshot_of(rows[::-1])
    assert scored(rank([forth], q, everything(forth), 300)) == scored(rank([back], q, everything(back), 300))


# What a score promises


@given(talks, asked, vectors, st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_scores_fall_and_lie_between_0_and_1_and_fewer_hits_are_the_first_ones(
    talk, wanted, vector, limit
) -> None:
    seen = snapshot_of(rows_of(talk))
    q = query(wanted, vector)
    hits = scored(rank([seen], q, everything(seen), 50))
    assert all(DEFAULT.floor <= score <= 1 for _, score in hits)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
    assert scored(rank([seen], q, everything(seen), limit)) == hits[:limit]


@given(talks, talks, asked, vectors, st.data())
@settings(max_examples=100, deadline=None)
def test_scores_depend_on_the_rows_seen_and_on_nothing_else(mine, yours, wanted, vector, data) -> None:
    q = query(wanted, vector)
    one = snapshot_of(rows_of(mine))
    two = snapshot_of(rows_of(yours, first=100), owner=Owner("t", "other"))
    both = rank([one, two], q, everything(one, two), 50)
    assert scored(both) == scored(rank([two, one], q, everything(two, one), 50))
    # Episodes of two owners are never one, so the union ranks like one owner with the episodes of both.
    merged = snapshot_of(
        rows_of(mine) + [r._replace(episode_no=r.episode_no + 50) for r in rows_of(yours, first=100)]
    )
    assert scored(both) == scored(rank([merged], q, everything(merged), 50))

    masks = [
        np.array(data.draw(st.lists(st.booleans(), min_size=s.n, max_size=s.n)), np.bool_) for s in (one, two)
    ]
    allowed = {
        row_id(s, r) for s, mask in zip((one, two), masks, strict=True) for r in np.flatnonzero(mask).tolist()
    }
    masked = scored(rank([one, two], q, masks, 50))
    assert masked == [hit for hit in scored(both) if hit[0] in allowed]


FACTS = [
    "Ana moved to Shanghai in March 2023 and works as a nurse.",
    "ok",
    "I love the café at the corner, they don't close before ten!",
    "我现在住在上海，喜欢喝抹茶拿铁。",
    "私は抹茶が好きです。",
    "Я живу в Твери",
    "Ich heiße Jürgen, und du?",
    "Build failed with ERR-7731 in importer.toml at 3.5 GB; mail ops@example.com",
    "🙂🙂",
    'She said: "call +49 30 1234567"\nand hung up.',
    "to be or not to be",
    "कल मेरी परीक्षा है",
    "coffee coffee coffee",
    "coffee",
    "Ana Ana Shanghai Shanghai nurse nurse March 2023 works moved",
]


def told(vector_of=lambda _: None) -> Snapshot:
    rows = [
        row(i, "", 1 + i // 4, i % 4, vector=vector_of(text))._replace(
            terms=pack.pack(tokens.index_terms(text))
        )
        for i, text in enumerate(FACTS)
    ]
    return snapshot_of(rows)


def hashed(text: str) -> np.ndarray:
    seed = int.from_bytes(text.encode()[:4].ljust(4, b" "), "big") + len(text)
    return np.random.default_rng(seed).standard_normal(64)


@pytest.mark.parametrize("embedder", ["none", "constant", "hash", "asymmetric"])
def test_a_memory_s_own_text_scores_1_whatever_the_embedder(embedder) -> None:
    constant = np.ones(64)
    vector_of = {"none": lambda _: None, "constant": lambda _: constant}.get(embedder, hashed)
    seen = told(vector_of)
    for i, text in enumerate(FACTS):
        vector = {"none": None, "asymmetric": hashed(text[::-1] + "query")}.get(embedder, vector_of(text))
        flat = Background(mean=1.0, high=1.0, same=1.0, own=1.0)
        background = flat if embedder == "constant" else Background(mean=0.0, high=0.3, same=0.9, own=1.0)
        q = spoken(text, None if vector is None else np.asarray(vector, np.float32), background)
        hits = scored(rank([seen], q, everything(seen), 20))
        assert dict(hits)[f"{i:08d}"] >= 0.9, text


@pytest.mark.parametrize("text", ["qwxz blorf", "foobarium 4711", "зюзюка", "量子香蕉"])
def test_nonsense_scores_below_a_third(text) -> None:
    constant = np.ones(64)
    for vector_of, background in (
        (lambda _: None, E5),
        (lambda _: constant, Background(mean=1.0, high=1.0, same=1.0, own=1.0)),
        (hashed, Background(mean=0.0, high=0.32, same=0.9, own=1.0)),
    ):
        seen, vector = told(vector_of), vector_of(text)
        q = spoken(text, None if vector is None else np.asarray(vector, np.float32), background)
        assert all(score < 0.3 for _, score in scored(rank([seen], q, everything(seen), 20)))


def test_an_identifier_comes_first_though_the_vectors_say_nothing() -> None:
    rows = [
        row(i, "", 1 + i, vector=[1, 0])._replace(
            terms=pack.pack(tokens.index_terms(f"Note {i}: the build is green"))
        )
        for i in range(30)
    ]
    rows[17] = rows[17]._replace(terms=pack.pack(tokens.index_terms("Note 17: got ERR-7731 again")))
    seen = snapshot_of(rows)
    hits = scored(
        rank(
            [seen],
            spoken("ERR-7731", np.array([0, 1], np.float32), Background(0.0, 0.3, 0.6, 1.0)),
            everything(seen),
            20,
        )
    )
    (first, best), *others = hits
    assert first == "00000017"
    assert best > 0.3
    assert all(score < 0.1 for _, score in others)


@pytest.mark.parametrize(("text", "uid"), [("抹茶", "0"), ("твери", "1"), ("JÜRGEN", "2"), ("jurgen", "2")])
def test_words_of_every_script_find_their_fact_alone(text, uid) -> None:
    facts = ["私は抹茶が好きです。", "Я живу в Твери", "Ich heiße Jürgen"]
    rows = [
        row(i, "", i)._replace(uid=str(i), terms=pack.pack(tokens.index_terms(f)))
        for i, f in enumerate(facts)
    ]
    seen = snapshot_of(rows)
    assert [hit[0] for hit in scored(rank([seen], spoken(text), everything(seen), 9))] == [uid]


def test_a_fact_is_found_by_the_words_of_its_message_and_neighbours_only_lift() -> None:
    rows = [row(1, "prefers window seat", 1, 4), row(2, "likes jazz", 1, 5), row(3, "window broken", 1, 6)]
    seen = snapshot_of(rows, message(9, "flying window aisle", 1, 4))
    assert [uid for uid, _ in scored(rank([seen], query("flying"), everything(seen), 9))] == ["00000001"]
    hits = dict(scored(rank([seen], query("window"), everything(seen), 9)))
    assert hits.keys() == {"00000001", "00000003"}
    far = snapshot_of([row(1, "window", 1, 0), row(2, "window glass", 1, 1), row(3, "window", 2, 0)])
    lifted, alone = (
        dict(scored(rank([far], query("window glass"), everything(far), 9)))[u]
        for u in ("00000001", "00000003")
    )
    assert lifted > alone


def test_with_no_word_in_common_the_nearest_come_first_and_score_low() -> None:
    # All cosines lie below the mean of unrelated texts.
    cosines = {1: 0.70, 2: 0.74, 3: 0.61, 4: 0.0, 5: -0.9}
    rows = [row(i, "tea", i, vector=[c, math.sqrt(1 - c * c)]) for i, c in cosines.items()]
    seen = snapshot_of([*rows, row(6, "tea", 6)])
    hits = scored(rank([seen], query("warp drive", [1, 0], background=E5), everything(seen), 9))
    assert [uid[-1] for uid, _ in hits] == ["2", "1", "3", "4"]
    scores = [score for _, score in hits]
    assert len(set(scores)) == 4
    assert max(scores) < 0.05


def test_an_everyday_word_tells_little_until_enough_rows_say_otherwise() -> None:
    [day], [kayak] = tokens.index_terms("day"), tokens.index_terms("kayak")

    def weights(rows: int) -> list[float]:
        given = [
            row(1, f"{day} tea"),
            row(2, f"{kayak} tea"),
            *(row(i, "tea", i) for i in range(3, rows + 1)),
        ]
        ranking = rank([seen := snapshot_of(given)], query(f"{day} {kayak}"), everything(seen), 2)
        assert [uid[-1] for uid, _ in scored(ranking)] == ["2", "1"]
        whole = overview(ranking)
        of_day, of_kayak = (float(ranking.evidence[0].rows["lexical"][r]) for r in (0, 1))
        assert of_day / of_kayak == pytest.approx(whole.words[0].weight / whole.words[1].weight)
        assert whole.words[1].weight == pytest.approx(math.log(1 + (rows - 0.5) / 1.5))
        return [w.weight / whole.words[1].weight for w in whole.words]

    assert weights(30)[0] < 0.45
    assert weights(30)[0] < weights(3000)[0] < 1


@given(st.integers(0, 500), st.integers(0, 10**6), st.floats(0, 0.2), st.floats(0, 0.2), st.floats(1, 10**4))
def test_tempering_only_lowers_and_more_for_commoner_words(holding, others, one, other, talk) -> None:
    few, many = sorted((one, other))
    size = holding + others
    plain = rarity(size, holding)
    assert tempered_rarity(size, holding, 0.0, talk) == plain
    less, least = (tempered_rarity(size, holding, share, talk) for share in (few, many))
    assert 0 <= least <= less <= plain


def test_an_arm_without_a_say_leaves_its_weight_to_the_other() -> None:
    seen = snapshot_of([row(1, "tea cup", vector=[1, 0]), row(2, "milk jug", vector=[0, 1])])
    both = rank([seen], query("tea cup saucer", [1, 0]), everything(seen), 5)
    words = rank([seen], query("tea cup saucer"), everything(seen), 5)
    meaning = rank([seen], query("", [1, 0]), everything(seen), 5)
    assert dict(both.arms) == {"dense": 0.5, "lexical": 0.5}
    assert (dict(words.arms), dict(meaning.arms)) == ({"lexical": 1.0}, {"dense": 1.0})
    assert meaning.hits[0].score == pytest.approx(1, abs=1e-3)
    assert rank([seen], query(""), everything(seen), 5).hits == ()


def test_a_query_vector_of_another_length_is_an_error() -> None:
    seen = snapshot_of([row(1, "tea", vector=[1, 0])])
    with pytest.raises(EmbedderMismatchError, match="3 dimensions"):
        rank([seen], query("tea", [1, 0, 0]), everything(seen), 5)


def test_ties_go_by_id_however_many_there_are() -> None:
    seen = snapshot_of([row(i, "tea", i) for i in (5, 3, 9, 1, 7)])
    assert [uid for uid, _ in scored(rank([seen], query("tea"), everything(seen), 3))] == [
        "00000001",
        "00000003",
        "00000005",
    ]
    assert rank([seen], query("tea"), everything(seen), 0).hits == ()
    nobody = rank([], query("tea cup"), [], 5)
    assert (nobody.hits, len(overview(nobody).words)) == ((), 2)


# Explanations


@given(talks, asked, vectors, st.data())
@settings(max_examples=100, deadline=None)
def test_an_explanation_adds_up_for_hits_and_for_all_other_rows(talk, wanted, vector, data) -> None:
    seen = snapshot_of(rows_of(talk))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=seen.n, max_size=seen.n)), np.bool_)
    ranking = rank([seen], query(wanted, vector), [mask], 50)
    places = {hit.row: place for place, hit in enumerate(ranking.hits, 1)}
    for r in range(seen.n):
        why = explain(ranking, 0, r)
        assert (why.eligible, why.found) == (bool(mask[r]), r in places)
        if r in places:
            assert why.rank == places[r]
            assert why.score == ranking.hits[why.rank - 1].score
        if why.score:
            assert why.score == pytest.approx(why.direct + sum(lift.contribution for lift in why.lifts))
        assert why.direct == pytest.approx(max(sum(arm.contribution for arm in why.arms), why.same))
        assert all((arm.rank is None) == (arm.value == 0) for arm in why.arms)
        held = talk[r][0].split()
        assert why.words == tuple(i for i, w in enumerate(wanted.split()) if set(w.split("|")) & set(held))
        assert (why.cosine is None) == (talk[r][3] is None or vector is None)
    whole = overview(ranking)
    assert (whole.memories, whole.eligible, whole.found) == (seen.n, int(mask.sum()), len(ranking.hits))
    assert len(whole.words) == len(wanted.split())


def test_an_explanation_names_arms_ranks_and_the_message_behind() -> None:
    seen = snapshot_of(
        [row(1, "prefers window seat", 1, 4, vector=[1, 0]), row(2, "window window", 2, 0, vector=[0, 1])],
        message(9, "flying window aisle", 1, 4),
    )
    ranking = rank([seen], query("flying window", [1, 0]), everything(seen), 5)
    assert [hit.row for hit in ranking.hits] == [0, 1]
    first, second = explain(ranking, 0, 0), explain(ranking, 0, 1)
    assert (first.words, first.told) == ((1,), (0, 1))
    assert {arm.name: arm.rank for arm in first.arms} == {"dense": 1, "lexical": 2}
    assert {arm.name: arm.rank for arm in second.arms} == {"dense": 2, "lexical": 1}
    assert first.cosine == pytest.approx(1, abs=1e-3)
    assert [word.memories for word in overview(ranking).words] == [0, 2]


def test_a_recipe_can_leave_signals_out() -> None:
    seen = snapshot_of([row(1, "tea", 1, 0), row(2, "tea cup", 1, 1)])
    plain = Recipe(arms=(("lexical", 1.0),), lifts=())
    ranking = rank([seen], query("tea cup"), everything(seen), 5, plain)
    assert ranking.hits[0] == Hit(0, 1, 1.0)
    assert ranking.hits[1].score == pytest.approx(float(ranking.evidence[0].rows["lexical"][0]))
