"""Recency weighting: off unless configured; then what was said long ago counts less, and explain says how much."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SetClock
from mnemic import ConfigError, Memory
from mnemic.config import load
from mnemic.models.fakes import HashEmbedder
from mnemic.recall.index import ScopeIndex
from mnemic.recall.recency import Recency, fading, read_recency
from mnemic.records import Owner
from recall_rows import row

ANN = {"user_id": "ann"}
DAY = 24 * 3600 * 1_000_000
HALVES: dict[str, Any] = {"half_life_days": {"fact": 100, "message": 10}}


def told(m: Memory, set_clock: SetClock) -> None:
    set_clock("2024-01-01")
    m.add(facts=["green tea 茶 in the morning"], **ANN)
    m.add(facts=[{"text": "black tea 茶 in the morning", "metadata": {"pinned": True}}], **ANN)
    m.add(facts=[{"text": "white tea 茶 in the morning", "metadata": {"pinned": "no"}}], **ANN)
    m.add("red tea 茶 in the morning", **ANN, infer=False)
    set_clock("2024-04-10")
    m.add(facts=["mint tea 茶 in the morning"], **ANN)


def scores(m: Memory, **more: Any) -> dict[str, float]:
    found = m.search("tea 茶 in the morning", **ANN, **more)["results"]
    return {item["memory"].split()[0]: item["score"] for item in found}


def test_scores_fade_by_the_half_life_of_their_kind(memory_with: Any, set_clock: SetClock) -> None:
    plain = memory_with(HashEmbedder())
    told(plain, set_clock)
    fades = memory_with(HashEmbedder(), recency={**HALVES, "weight": 0.5})
    before, after = scores(plain), scores(fades)
    assert after["mint"] == before["mint"], "said just now"
    assert after["black"] == before["black"], "pinned"
    for name, halves in (("green", 1.0), ("white", 1.0), ("red", 10.0)):
        assert after[name] == pytest.approx(before[name] * (1 - 0.5 * (1 - 0.5**halves)), abs=1e-9)
    # Asked of another time, age counts from there; and explain says what is left.
    assert scores(fades, as_of="2024-01-01") == scores(plain, as_of="2024-01-01")
    found = fades.search("tea 茶 in the morning", **ANN, explain=True)["results"]
    details = {item["memory"].split()[0]: item["score_details"] for item in found}
    assert details["green"]["recency"] == pytest.approx(0.75)
    assert "* recency 0.75" in details["green"]["reason"]
    assert details["mint"]["recency"] == details["black"]["recency"] == 1.0
    assert "recency" not in plain.search("tea", **ANN, explain=True)["results"][0]["score_details"]
    assert fades.why("tea 茶", expect="green", **ANN)["score_details"]["recency"] == pytest.approx(0.75)


def test_another_key_may_pin(memory_with: Any, set_clock: SetClock) -> None:
    plain = memory_with(HashEmbedder())
    told(plain, set_clock)
    fades = memory_with(HashEmbedder(), recency={**HALVES, "pinned": "keep"})
    assert scores(fades)["black"] < scores(plain)["black"]


@given(
    st.lists(st.tuples(st.sampled_from(["fact", "message"]), st.integers(-10, 5000)), min_size=1, max_size=8),
    st.floats(0, 1),
    st.floats(0.01, 5000),
)
def test_what_is_left_lies_between_the_weight_and_all_and_falls_with_age(
    said: list[tuple[str, int]], weight: float, life: float
) -> None:
    now = 6000 * DAY
    rows = [row(no, "tea", kind=kind, observed_at=now - age * DAY) for no, (kind, age) in enumerate(said, 1)]
    left = fading(ScopeIndex(Owner("t", "u"), rows).snapshot(), Recency({"fact": life}, weight), now)
    assert np.all((left >= 1 - weight - 1e-12) & (left <= 1))
    for part, (kind, age) in zip(left, said, strict=True):
        assert part == 1 or (kind == "fact" and age > 0)
    facts = sorted((age, -part) for part, (kind, age) in zip(left, said, strict=True) if kind == "fact")
    assert [part for _, part in facts] == sorted(part for _, part in facts)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (True, "half_life_days"),
        ({}, "half_life_days"),
        ({"half_life_days": {}}, "half_life_days"),
        ({"half_life_days": {"facts": 3}}, "fact"),
        ({"half_life_days": {"fact": 0}}, "above 0"),
        ({"half_life_days": {"fact": float("nan")}}, "above 0"),
        ({"half_life_days": {"fact": True}}, "above 0"),
        ({**HALVES, "weight": 2}, "0 to 1"),
        ({**HALVES, "pinned": ""}, "pinned"),
        ({**HALVES, "wieght": 1}, "weight"),
    ],
)
def test_a_wrong_setting_is_named(wrong: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        read_recency(wrong)
    with pytest.raises(ConfigError, match="recency"):
        Memory(":memory:", embedder="none", recency=wrong)


def test_the_environment_may_say_it() -> None:
    assert load({}, {"MNEMIC_RECENCY": json.dumps(HALVES), "MNEMIC_HOME": "/nowhere"}).recency == HALVES
    with pytest.raises(ConfigError, match="MNEMIC_RECENCY"):
        load({}, {"MNEMIC_RECENCY": "30 days", "MNEMIC_HOME": "/nowhere"})
