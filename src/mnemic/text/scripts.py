"""Terms of scripts that put no spaces between words, and of Korean, whose words carry particles.

Everything is found through two-character terms, so that a query cut differently from the document still hits;
segmentation decides which single characters are words and which pairs are noise across two words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from mnemic.text.words import FUNCTION_WORDS

Group = tuple[str, ...]

# Endings of Korean words, longest first when compiled; what is left is what the word is about.
_KOREAN_ONLY_TOUCHINGS: str = (
    "은 는 이 가 을 를 의 에 도 로 와 과 만 랑 야 에서 에게 한테 으로 부터 까지 처럼 보다 이나 이랑 "
    "라고 하고 께서 에는 에도 에서는 에서도 에게서 에게는 으로는 으로도 이라고 이라는 라는 마다 조차 "
    "밖에 이에요 예요 이야 입니다 이다 였다 이었다 이고 인데 합니다 습니다 했습니다 았습니다 었습니다 "
    "됩니다 해요 했어요 아요 어요 았어요 었어요 여요 네요 세요 하는 하며 하지만 한다 했다 았다 었다 "
    "는다 지만 지 고 면 서 다 게 기 니까 는데 려고 하려고"
)

# Pairs of hiragana that inflect and link: they would hit every second Japanese sentence.
_HIRAGANA_NOISE: str = (
    "です ます まし した して せん てい いる いた いま って った ない なか から まで こと もの ので "
    "のに では には とは とい いう その この あの どの それ これ あれ どれ そこ ここ ても でも たい "
    "たく くて れる られ せる させ よう うに うな ように だっ だと ある あり りま きで きま しい いで "
    "いて とし とき など くれ なる なり なっ れて れた んで んだ いの がす"
)

# Signs that only set the tone or silence a letter in Thai and Lao are often left out in typing.
_TONES = re.compile("[\u0e47-\u0e4c\u0ec8-\u0ecc]")


@cache
def _stops(language: str) -> frozenset[str]:
    return frozenset(FUNCTION_WORDS[language].split())


@cache
def _hiragana_noise() -> frozenset[str]:
    return frozenset(_HIRAGANA_NOISE.split())


@cache
def _cutter() -> Callable[[str], list[str]]:
    # Its dictionary takes 0.12 s and 30 MB to load, which only stores with Chinese text should pay.
    import rjieba

    def cut(run: str) -> list[str]:
        # Without the model for unknown words: their characters and pairs are all indexed, so a name is found
        # however the sentence around it was cut.
        words: list[str] = rjieba.cut(run, False)
        return words

    return cut


def _pairs(text: Sequence[str]) -> list[str]:
    if len(text) < 2:
        return ["".join(text)]
    return [text[i] + text[i + 1] for i in range(len(text) - 1)]


def _is_content(words: Sequence[str], index: int) -> bool:
    """Whether a segmented word is no stop word; between two single characters (李在明) a stop character is none."""
    stops = _stops("zh")
    if words[index] not in stops:
        return True
    if len(words[index]) > 1 or not 0 < index < len(words) - 1:
        return False
    neighbours = words[index - 1], words[index + 1]
    return all(len(word) == 1 and word not in stops for word in neighbours)


def chinese_terms(run: str, keep_stops: bool) -> Iterator[str]:
    """Yield the terms of a run of Han: single-character words, pairs within words, pairs of single characters
    with the content words beside them (where the cutting is least sure)."""
    words = _cutter()(run)
    before = ""
    for index, word in enumerate(words):
        if not (keep_stops or _is_content(words, index)):
            before = ""
            continue
        if before and 1 in (len(before), len(word)):
            yield before[-1] + word[0]
        yield from _pairs(word)
        before = word


def chinese_groups(run: str, keep_stops: bool) -> Iterator[Group]:
    """Yield the groups of a run of Han in a query.

    A single character may stand in the index as part of a pair with its neighbour, where the document was cut
    otherwise; a pair with a stop character may have been indexed as the other character alone.
    """
    stops = _stops("zh")
    words = _cutter()(run)
    for index, word in enumerate(words):
        if not (keep_stops or _is_content(words, index)):
            continue
        if len(word) == 1:
            left = words[index - 1][-1] + word if index else ""
            right = word + words[index + 1][0] if index + 1 < len(words) else ""
            yield tuple(dict.fromkeys(term for term in (word, left, right) if term))
            continue
        for pair in _pairs(word):
            plain = [char for char in pair if char not in stops]
            yield (pair, *plain) if len(plain) == 1 else (pair,)


def kanji_terms(run: str) -> list[str]:
    """Return the terms of a run of Han within Japanese text: the character, or its pairs."""
    return _pairs(run)


def hiragana_terms(run: str, keep_stops: bool) -> list[str]:
    """Return the pairs of a run of hiragana that do more than inflect; single ones are particles."""
    if keep_stops:
        return _pairs(run)
    return [pair for pair in _pairs(run) if len(pair) > 1 and pair not in _hiragana_noise()]


def katakana_terms(run: str) -> list[str]:
    """Return the pairs of a run of katakana."""
    return _pairs(run)


def unspaced_terms(run: str) -> list[str]:
    """Return the pairs of a run of Thai, Lao, Burmese or Khmer, tone signs left out."""
    return _pairs(_TONES.sub("", run) or run)


def tibetan_terms(run: str) -> list[str]:
    """Return the syllables of a Tibetan run."""
    return [syllable for syllable in re.split("[\u0f0b\u0f0c]+", run) if syllable]


@cache
def _endings() -> re.Pattern[str]:
    endings = sorted(set(_KOREAN_ONLY_TOUCHINGS.split()), key=lambda ending: (-len(ending), ending))
    return re.compile(rf"(?P<rest>.+?)(?:{'|'.join(endings)})")


def _korean_rest(word: str) -> str:
    match = _endings().fullmatch(word)
    return match["rest"] if match else word


def korean_terms(word: str, keep_stops: bool) -> tuple[str, ...]:
    """Return the terms of a Korean word: the pairs of what its particles and endings leave."""
    rest = _korean_rest(word)
    if not keep_stops and (rest in _stops("ko") or word in _stops("ko")):
        return ()
    return tuple(_pairs(rest))


def korean_groups(word: str, keep_stops: bool) -> tuple[Group, ...]:
    """Return the groups of a Korean word in a query.

    A word of two syllables may be a whole word or one syllable with a particle (가을: autumn, or 가 + 을): the
    document may have been read either way.
    """
    terms = korean_terms(word, keep_stops)
    if len(terms) != 1:
        return tuple((term,) for term in terms)
    readings = [terms[0], _korean_rest(terms[0])]
    if len(word) == 2:
        readings.append(word)
    return (tuple(dict.fromkeys(readings)),)
