"""The pure parts: checking vectors, cutting texts, weighing cosines."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mnemic.errors import EmbedderError
from mnemic.models.embed.background import background_from
from mnemic.models.embed.texts import clean_text, size_of, split_text, spread
from mnemic.models.embed.vectors import check_rows, merge_parts, normalise

TEXTS = st.text(alphabet=st.sampled_from("ab \n'\"中文字😀é\u0301ﷺҖاहि"), max_size=400)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 5), st.integers(1, 6)),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    )
)
@example(np.array([[1e-40, 0.0]]))
@example(np.array([[3e38, 3e38]]))
def test_rows_have_length_one_or_zero(rows: np.ndarray) -> None:
    out = check_rows(rows, count=len(rows), dims=None, name="e")
    assert out.dtype == np.float32
    lengths = np.linalg.norm(out.astype(np.float64), axis=1)
    zero = ~rows.any(axis=1)
    assert np.all(lengths[zero] == 0)
    assert np.allclose(lengths[~zero], 1, atol=1e-5)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (np.zeros((2, 3)), "asked for 3 vectors and returned 2 vectors"),
        (np.zeros(3), "shape \\(3,\\)"),
        (np.zeros((3, 4)), "vectors of 3 numbers and returned some of 4"),
        (np.zeros((3, 0)), "some of 0"),
        ([[1.0, 2.0, 3.0], [1.0], [2.0]], "uneven"),
        ([[1.0, 2.0, None]] * 3, "not real numbers"),
        ([["a", "b", "c"]] * 3, "not real numbers"),
        (np.ones((3, 3), dtype=complex), "not real numbers"),
        (np.ones((3, 3), dtype=bool), "not real numbers"),
        (None, "not real numbers"),
        (np.array([[1, 1, 1], [1, np.nan, 1], [1, 1, 1]]), "not finite for text 2 of 3"),
        (np.array([[1, 1, 1], [1, 1, 1], [1e300, 1, 1]]), "not finite for text 3 of 3"),
    ],
)
def test_wrong_replies_name_what_was_asked_and_what_came(raw: object, told: str) -> None:
    with pytest.raises(EmbedderError, match=told) as caught:
        check_rows(raw, count=3, dims=3, name="my model")
    assert "my model" in str(caught.value)


def test_integers_and_lists_are_vectors_too() -> None:
    assert check_rows([[3, 4]], count=1, dims=2, name="e").tolist() == [[np.float32(0.6), np.float32(0.8)]]


def test_parts_are_weighed_by_length_and_a_single_part_is_untouched() -> None:
    rows = normalise(np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7]]))
    merged = merge_parts(rows, [2, 1], [300, 100, 7])
    assert np.allclose(merged[0], np.array([3.0, 1.0]) / np.sqrt(10))
    assert merged[1].tobytes() == rows[2].tobytes()


@given(TEXTS, st.integers(8, 200))
@example("x" * 400, 8)
@example("😀" * 100, 9)
def test_pieces_fit_and_nothing_is_lost(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert all(size_of(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_pieces_are_even_and_end_at_spaces() -> None:
    words = [f"word{n}" for n in range(100)]
    pieces = split_text(" ".join(words), 200)
    assert [word for piece in pieces for word in piece.split()] == words
    assert max(map(size_of, pieces)) < 1.3 * min(map(size_of, pieces))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=60), st.integers(2, 20))
def test_spread_keeps_the_first_the_last_and_the_order(pieces: list[str], most: int) -> None:
    numbered = [f"{at}:{piece}" for at, piece in enumerate(pieces)]
    kept = spread(numbered, most)
    assert len(kept) == min(most, len(numbered))
    assert (kept[0], kept[-1]) == (numbered[0], numbered[-1])
    assert [piece for piece in numbered if piece in set(kept)] == kept


@given(st.text(alphabet=st.characters()))
@example("a\ud800b\x00c")
def test_cleaned_text_is_valid_utf8_without_nul(text: str) -> None:
    cleaned = clean_text(text)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    if "\0" not in text and text.isascii():
        assert cleaned == text


def test_a_pair_of_surrogates_is_the_character_it_stands_for() -> None:
    assert clean_text("a\ud83d\ude00b\ud83d") == "a😀b\ufffd"


def unit(*rows: tuple[float, ...]) -> np.ndarray:
    return normalise(np.array(rows))


def test_background_is_measured_on_pairs_that_belong_together_and_others() -> None:
    passages = unit((1, 0, 0), (0, 1, 0), (0, 0, 1))
    questions = unit((4, 3, 0), (0, 4, 3), (3, 0, 4))
    found = background_from(questions, passages, passages, ["en"] * 3)
    # Of twelve unrelated cosines three are 0.6, the others 0.
    expected = (0.15, 0.6, 0.8, 1.0)
    assert (found.mean, found.high, found.same, found.own) == pytest.approx(expected, abs=1e-6)


def test_a_language_the_model_cannot_tell_apart_does_not_count() -> None:
    english = np.eye(4, 6)
    unknown = np.tile([0.0, 0, 0, 0, 1, 0], (4, 1))
    passages = normalise(np.vstack((english, unknown)))
    found = background_from(passages, passages, passages, ["en"] * 4 + ["xx"] * 4)
    assert (found.mean, found.high, found.same, found.own) == pytest.approx((0.0, 0.0, 1.0, 1.0), abs=1e-6)


def test_all_languages_count_when_the_model_tells_none_apart() -> None:
    same = normalise(np.ones((6, 4)))
    found = background_from(same, same, same, ["en"] * 3 + ["de"] * 3)
    assert (found.mean, found.high, found.same, found.own) == pytest.approx((1.0, 1.0, 1.0, 1.0))
