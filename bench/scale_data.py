"""What a big store is filled with: texts in several scripts, and a random unit vector for each.

Texts and vectors follow from numbers alone, so every process knows them without being told.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

DIMS = 384
# Texts of one add().
BLOCK = 100

_SPACED = (
    "maria went to the market with her brother and bought bread cheese tomatoes for dinner because friends are "
    "coming on sunday evening she still lives near the river works in a hospital likes jazz hates early meetings "
    "plans a trip to lisbon next summer needs a new laptop before october her dog is called bruno",
    "анна живёт в москве и работает в больнице любит чай джаз и долгие прогулки у реки летом она едет к сестре в "
    "казань а зимой катается на лыжах ищет новую квартиру возле парка её собаку зовут бим",
    "lucía vive en sevilla con su hermana menor trabaja de profesora odia madrugar prefiere el té verde y quiere "
    "aprender piano antes del otoño su gato duerme siempre encima del armario",
    "सीता दिल्ली में रहती है और अस्पताल में काम करती है उसे चाय संगीत और लंबी सैर पसंद है अगले साल वह नया घर खरीदना चाहती है",
    "تعيش ليلى في القاهرة وتعمل في مستشفى كبير تحب الشاي والموسيقى وتسافر كل صيف إلى البحر مع أختها الصغيرة",
)
_UNSPACED = (
    "我 住 在 上海 喜欢 喝 绿茶 对 花生 过敏 周末 常 和 朋友 去 爬山 明年 想 换 工作 妹妹 在 医院 上班 养 一只 猫",
    "私 は 京都 に 住ん で い て 病院 で 働き 緑茶 と 音楽 が 好き 来年 の 夏 に 妹 と 旅行 する 予定 です 犬 を 飼う",
)
_VOCABULARIES = tuple(
    (separator, words.split()) for separator, group in ((" ", _SPACED), ("", _UNSPACED)) for words in group
)


def owner_name(owner: int) -> str:
    """The user_id of an owner."""
    return f"owner-{owner}"


def block_of(owner: int, number: int) -> list[str]:
    """One of an owner's blocks of BLOCK texts, all different: 8 to 20 words each, sometimes with an identifier."""
    rng = random.Random(f"{owner} {number}")
    found: dict[str, None] = {}
    while len(found) < BLOCK:
        separator, words = rng.choice(_VOCABULARIES)
        chosen = rng.choices(words, k=rng.randint(8, 20))
        if rng.random() < 0.3:
            chosen.append(f"ERR-{rng.randint(1000, 9999)}")
        found[separator.join(chosen)] = None
    return list(found)


def question(text: str, rng: random.Random) -> str:
    """A query for a text: every other of its words, or its second half where it has no spaces."""
    words = text.split()
    return " ".join(words[rng.randint(0, 1) :: 2]) if len(words) > 4 else text[len(text) // 2 :]


class RandomVectors:
    """Gives each text a random unit vector of its own, always the same."""

    def __init__(self, dims: int) -> None:
        self.name = f"bench:random-{dims}"
        self.dims = dims

    def embed(self, texts: Sequence[str], purpose: str) -> NDArray[np.float32]:  # noqa: ARG002
        """The vectors of some texts, float32 (n, dims)."""
        rows = np.stack([self._drawn(text) for text in texts])
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def _drawn(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        return np.random.Generator(np.random.SFC64(seed)).standard_normal(self.dims, np.float32)
