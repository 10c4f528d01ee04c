"""Packed terms: what goes in comes out, and nothing else is taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.pack import pack, term_hash, unpack

anything = st.text(st.characters(exclude_categories=()), max_size=20)


@given(st.dictionaries(anything, st.integers(1, 1000), max_size=40))
def test_round_trip(terms: dict[str, int]) -> None:
    blob = pack(terms)
    hashes, counts = unpack(blob)
    assert len(blob) == 9 * len(terms)
    assert hashes.dtype == np.int64
    assert counts.dtype == np.uint8
    assert hashes.shape == counts.shape == (len(terms),)
    assert bool(np.all(hashes[1:] > hashes[:-1]))
    expected = {term_hash(term): min(count, 255) for term, count in terms.items()}
    assert dict(zip(hashes.tolist(), counts.tolist(), strict=True)) == expected


@given(st.dictionaries(anything, st.integers(1, 9), max_size=9))
def test_the_order_of_terms_does_not_matter(terms: dict[str, int]) -> None:
    assert pack(terms) == pack(dict(reversed(terms.items())))


@pytest.mark.parametrize("size", [1, 8, 10, 17, 100])
def test_a_blob_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="multiple of 9"):
        unpack(bytes(size))


def test_no_terms_pack_to_nothing_and_counts_below_one_are_left_out() -> None:
    assert pack({}) == pack({"gone": 0, "less": -1}) == b""
    hashes, counts = unpack(b"")
    assert hashes.size == counts.size == 0


def test_hashes_and_bytes_are_the_same_on_every_machine() -> None:
    assert term_hash("kayak") == 4363832986489702875
    assert term_hash("抹茶") == -8802180999555826069
    assert pack({"kayak": 2, "抹茶": 300}).hex() == "6b3ec850045fd885dbc9d90afb728f3cff02"


@given(anything)
def test_hashes_fit_a_signed_64_bit_column(term: str) -> None:
    assert -(2**63) <= term_hash(term) < 2**63
