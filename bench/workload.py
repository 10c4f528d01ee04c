"""What is stored and asked: language-like texts, vectors for them, metadata, and queries with known targets.

Runs in mnemic's environment and in mem0's alike, so it needs numpy and nothing else.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMS = 384
OWNER = "bench-user"
PER_ADD = 20  # messages of one add(), all on one topic


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_FUNCTION = _listed(
    "the to and I a of in was it my for that is with on we she he but have at this had not they about be so me "
    "our from there what when her his as just all really will after would some then been out if up who their by "
    "more were than now because before how very only over again still where an also into last next every"
)
_CONTENT = _listed(
    "work family weekend house friend morning dinner music school garden project coffee doctor travel book "
    "meeting kitchen summer train birthday winter running photo sister brother mother father dog cat car bike "
    "river mountain beach guitar piano painting recipe bread cheese soup rice tea market office manager deadline "
    "budget server release customer report flight hotel ticket museum concert movie game football tennis yoga "
    "hospital allergy medicine sleep teacher student exam course language letter phone camera computer window "
    "door roof neighbour street city village forest storm snow rain sunrise evening night weekly yearly moved "
    "started finished bought sold found lost learned visited cooked played wrote called planned cancelled loved "
    "hated wanted needed forgot remembered promised decided hoped worried laughed cried walked drove flew"
)
_NAMES = _listed(
    "Maria Jonas Priya Chen Lucía Omar Greta Tomasz Aisha Diego Hannah Kenji Fatima Lars Nadia Pavel Ingrid Sofia "
    "Mateo Yara Viktor Amara Felix Leila Ruben Zoe Ivan Mina Carlos Freya"
)
_PLACES = _listed(
    "Lisbon Oslo Kyoto Nairobi Warsaw Toronto Lima Seville Dublin Hanoi Prague Boston Tallinn Cairo Perth Quito "
    "Geneva Busan Austin Riga"
)
_TAIL, _TOPICS, _TOPIC_WORDS = 12_000, 60, 150
_SIF = 1e-3  # smooth inverse frequency (Arora et al. 2017): a word weighs a / (a + p)


@dataclass(frozen=True, slots=True)
class Memo:
    """One memory: its text, and the metadata of the add() it comes in."""

    text: str
    topic: str
    day: int

    @property
    def metadata(self) -> dict[str, Any]:
        return {"topic": self.topic, "day": self.day}


@dataclass(frozen=True, slots=True)
class Ask:
    """One query, the metadata filter it comes with (may be empty), and the memory it was made from."""

    text: str
    filters: dict[str, Any]
    target: str


def load_memos(folder: Path) -> tuple[list[Memo], NDArray[np.float32]]:
    """The memories of a workload and their unit vectors, float32 (n, DIMS)."""
    memos = [Memo(**memo) for memo in json.loads((folder / "memos.json").read_text())]
    return memos, np.load(folder / "memos.npy", mmap_mode="r")


def load_asks(folder: Path) -> tuple[list[Ask], NDArray[np.float32]]:
    """The queries of a workload and their unit vectors, float32 (n, DIMS)."""
    asks = [Ask(**ask) for ask in json.loads((folder / "asks.json").read_text())]
    return asks, np.load(folder / "asks.npy")


def make(folder: Path, size: int, queries: int, seed: int) -> Path:
    """Write a workload of distinct texts and queries with their vectors into a new folder, and return that.

    Every second query has a filter. Same seed, same texts.
    """
    rng = np.random.default_rng(seed)
    lexicon = _Lexicon()
    memos: list[Memo] = []
    words: list[list[str]] = []
    seen: set[str] = set()
    while len(memos) < size:
        block = len(memos) // PER_ADD
        topic = (block * 7) % _TOPICS
        chosen = lexicon.draw(rng, topic)
        text = _sentence(chosen)
        if text not in seen:
            seen.add(text)
            memos.append(Memo(text, f"topic-{topic:02}", block % 365))
            words.append(chosen)
    asks: list[Ask] = []
    while len(asks) < queries:
        at = int(rng.integers(size))
        text = lexicon.question(rng, words[at])
        if text not in seen:
            seen.add(text)
            asks.append(Ask(text, _filters(memos[at], len(asks)), memos[at].text))
    folder.mkdir(parents=True)
    (folder / "memos.json").write_text(json.dumps([asdict(memo) for memo in memos]))
    (folder / "asks.json").write_text(json.dumps([asdict(ask) for ask in asks]))
    np.save(folder / "memos.npy", vectors([memo.text for memo in memos]))
    np.save(folder / "asks.npy", vectors([ask.text for ask in asks]))
    return folder


def _filters(memo: Memo, at: int) -> dict[str, Any]:
    if at % 2 == 0:
        return {}
    return {"topic": memo.topic} if at % 4 == 1 else {"day": {"gte": max(memo.day - 30, 0)}}


class _Lexicon:
    """Words by rank: function words, content words, then made-up ones; and those that belong to each topic."""

    def __init__(self) -> None:
        self.words = [*_FUNCTION, *_CONTENT, *_made_up(_TAIL)]
        self.common = set(_FUNCTION)
        self._cdf = np.cumsum(_zipf(len(self.words)))
        self._topic_cdf = np.cumsum(_zipf(_TOPIC_WORDS))
        self._first_tail = len(_FUNCTION) + len(_CONTENT)

    def draw(self, rng: np.random.Generator, topic: int) -> list[str]:
        """The words of one memory: Zipf over all words, a third of them from the topic, some names."""
        count = int(rng.integers(12, 21))
        ranks = np.searchsorted(self._cdf, rng.random(count) * self._cdf[-1])
        own = np.searchsorted(self._topic_cdf, rng.random(count) * self._topic_cdf[-1])
        ranks = np.where(rng.random(count) < 0.33, self._first_tail + topic * _TOPIC_WORDS + own, ranks)
        words = [self.words[rank] for rank in ranks.tolist()]
        if rng.random() < 0.8:
            words.insert(0, _NAMES[int(rng.integers(len(_NAMES)))])
        if rng.random() < 0.3:
            words += ["in", _PLACES[int(rng.integers(len(_PLACES)))]]
        return words

    def question(self, rng: np.random.Generator, words: Sequence[str]) -> str:
        """A question about a memory: who it is about, if anyone, a common word and two to five telling ones."""
        who = words[0] if words[0] in _NAMES else "they"
        telling = list(dict.fromkeys(word for word in words if word not in self.common and word != who))
        usual = [word for word in dict.fromkeys(words) if word in self.common]
        picked = sorted(rng.permutation(len(telling))[: int(rng.integers(2, 6))].tolist())
        about = [*usual[:1], *(telling[i] for i in picked)]
        return f"What did {who} say about {' '.join(about)}?"


def _zipf(count: int) -> NDArray[np.float64]:
    return (np.arange(1, count + 1, dtype=np.float64) + 2.7) ** -1.07


def _made_up(count: int) -> list[str]:
    """Pronounceable words, the same ones each time, each once."""
    rng = np.random.default_rng(7)
    onsets, vowels = (
        _listed("b c d f g h k l m n p r s t v z br st tr cl gr pl sh th"),
        _listed("a e i o u ai ea"),
    )
    syllables = [onset + vowel for onset in onsets for vowel in vowels]
    codas = ["", "", "n", "r", "s", "l", "t", "nd", "ck"]
    found: dict[str, None] = {}
    while len(found) < count:
        parts = rng.integers(len(syllables), size=int(rng.integers(2, 4))).tolist()
        found["".join(syllables[part] for part in parts) + codas[int(rng.integers(len(codas)))]] = None
    return list(found)


def _sentence(words: Sequence[str]) -> str:
    text = " ".join(words)
    return f"{text[0].upper()}{text[1:]}."


@cache
def _word_vector(word: str) -> NDArray[np.float32]:
    """A direction of its own for each word, the same in every process."""
    rng = np.random.default_rng(zlib.crc32(word.encode()))
    return rng.standard_normal(DIMS, dtype=np.float32) * np.float32(_weights().get(word, 1.0))


@cache
def _weights() -> dict[str, float]:
    usual = [*_FUNCTION, *_CONTENT]
    share = _zipf(len(usual) + _TAIL)
    share /= share.sum()
    return {word.lower(): _SIF / (_SIF + float(p)) for word, p in zip(usual, share, strict=False)}


def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors, float32 (n, DIMS): the weighted sum of the vectors of a text's words."""
    made = np.empty((len(texts), DIMS), np.float32)
    for i, text in enumerate(texts):
        words = [word.strip(".,?!:;'\"¿") for word in text.lower().split()]
        made[i] = np.sum([_word_vector(word) for word in words], axis=0)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


class Given:
    """An embedder that hands out prepared vectors, and makes them for texts that were not prepared."""

    name = "bench:given"
    dims = DIMS

    def __init__(self) -> None:
        self._rows: dict[str, NDArray[np.float32]] = {}

    def give(self, texts: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Prepare the vectors of some texts."""
        self._rows.update(zip(texts, rows, strict=True))

    def one(self, text: str) -> NDArray[np.float32]:
        """The vector of a text."""
        found = self._rows.get(text)
        return vectors([text])[0] if found is None else found

    def embed(self, texts: Sequence[str], purpose: str) -> NDArray[np.float32]:  # noqa: ARG002
        """The vectors of some texts, float32 (n, DIMS): mnemic's protocol."""
        return np.stack([self.one(text) for text in texts])
