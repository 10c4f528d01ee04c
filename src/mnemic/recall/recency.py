"""Recency: an optional weighting by which what was said long ago counts less, for those who want it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import is_number, shown
from ..clock import Instant
from ..errors import ConfigError, nearest
from ..records import Kind
from .lexical import Floats
from .snapshot import Snapshot

_DAY = 24 * 3600 * 1_000_000
_KEYS = ("half_life_days", "weight", "pinned")
_KINDS = tuple(kind.value for kind in Kind)


@dataclass(frozen=True, slots=True)
class Recency:
    """How scores fade with the time since something was said.

    half_lives: for each kind, the days after which half of what can fade has faded; kinds that are not named never
    fade. weight: the share of a score that can fade. pinned: the metadata key of what never does, where it is true.
    """

    half_lives: Mapping[str, float]
    weight: float = 0.5
    pinned: str = "pinned"


def read_recency(value: Any) -> Recency | None:
    """The setting `recency`: None, or a mapping. Raises `ConfigError` that names what is wrong."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or "half_life_days" not in value:
        raise ConfigError(f"recency must be a mapping with half_life_days, not {shown(value)}.")
    for key in value:
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise ConfigError(f"Unknown setting recency.{key}{nearest(str(key), _KEYS)}; known are {known}.")
    lives = value["half_life_days"]
    if not isinstance(lives, Mapping) or not lives:
        raise ConfigError(f"recency.half_life_days must be a mapping from kinds to days, not {shown(lives)}.")
    for kind, days in lives.items():
        if kind not in _KINDS:
            raise ConfigError(
                f"recency.half_life_days names the kind {shown(kind)}{nearest(str(kind), _KINDS)};"
                f" known are {', '.join(_KINDS)}."
            )
        if not is_number(days) or days <= 0:
            raise ConfigError(f"recency.half_life_days.{kind} must be a number above 0, not {shown(days)}.")
    weight, pinned = value.get("weight", 0.5), value.get("pinned", "pinned")
    if not is_number(weight) or not 0 <= weight <= 1:
        raise ConfigError(f"recency.weight must be a number from 0 to 1, not {shown(weight)}.")
    if not isinstance(pinned, str) or not pinned:
        raise ConfigError(f"recency.pinned must be the name of a metadata key, not {shown(pinned)}.")
    return Recency({str(kind): float(days) for kind, days in lives.items()}, float(weight), pinned)


def fading(snapshot: Snapshot, recency: Recency, now: Instant) -> Floats:
    """What is left of the score of each row, from 0 to 1:

        1 - weight * (1 - 0.5 ** (age / half-life))

    with the age since it was said, as of `now`; 1 where it is pinned or of a kind that does not fade.
    """
    age = np.maximum(now - snapshot.column("observed_at"), 0) / _DAY
    kinds = snapshot.coded("kind")
    lives = np.array([recency.half_lives.get(str(kind), math.inf) for kind in kinds.values] + [math.inf])
    left: Floats = 1.0 - recency.weight * (1.0 - 0.5 ** (age / lives[kinds.codes]))
    pins = snapshot.metadata_key(recency.pinned)
    pinned = np.array([value is True for value in pins.values] + [False])
    return np.where(pinned[pins.codes], 1.0, left)
