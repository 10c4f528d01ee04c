"""What a statement says of its speaker in a form that can be compared, and which old statement a new one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..records import Claim
from .places import extent
from .rules import words

__all__ = ["Claim", "claims", "closes"]

# A person has one of these at a time; of what begins like the others, one by that name.
_ONE_AT_A_TIME = words("residence dwelling employer job school phone email name marital_status")
_ONE_BY_NAME = ("my:", "date:")

# One more of what one mostly has once: it takes the place of nothing.
_ONE_MORE = re.compile(
    r"\b(?:second|another|additional|extra|backup|spare|also|as well)\b"
    r"|副卡|副号|小号|第二|另一|另外|备用|又[办开租买]",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]+")
_ASKS = re.compile(r"[?？]")
# Characters; a longer sentence says too much at once to be compared.
_LONGEST = 300
_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+")


def claims(text: str) -> tuple[Claim, ...]:
    """What `text` says of its speaker: present facts in the first person, in English or Chinese.

    Nothing for questions, hypotheses, wishes, plans to change, hearsay, the past ("used to"), visits, what is
    limited to an occasion, and other people. Never raises; the same text gives the same claims.
    """
    # The rules take a while to load, which only what makes claims should pay.
    from .sentences import TEXT, split

    found: list[Claim] = []
    for sentence in split(text):
        said = text[sentence.start : sentence.end]
        if sentence.kind != TEXT or len(said) > _LONGEST or _ASKS.search(said):
            continue
        han = len(_HAN.findall(said))
        read = _chinese(said) if han and han >= len(_LATIN.findall(said)) else _english(said)
        one_more = _ONE_MORE.search(said) is not None
        found.extend(claim for claim in read if not (one_more and claim.attribute in _ONE_AT_A_TIME))
    return tuple(dict.fromkeys(found))


def _chinese(sentence: str) -> Iterator[Claim]:
    from . import claims_zh

    return claims_zh.read(sentence)


def _english(sentence: str) -> Iterator[Claim]:
    from . import claims_en

    return claims_en.read(sentence)


def closes(new: Sequence[Claim], old: Sequence[Claim]) -> bool:
    """Whether a statement that makes the claims `new` ends one that made `old`, beyond doubt.

    A single-valued claim ends one of the same attribute with another value; an ended claim ends the same claim
    that held; a claim that begins to hold ends its denial. Equal claims, and values of which one only says more
    than the other, end nothing.
    """
    return any(_closes(one, other) for one in new for other in old)


def _closes(new: Claim, old: Claim) -> bool:
    if new.attribute != old.attribute:
        return False
    if new.holds != old.holds:
        return new.changes and _same(new, old)
    if not new.holds or not new.value or not old.value:
        return False
    single = new.attribute in _ONE_AT_A_TIME or new.attribute.startswith(_ONE_BY_NAME)
    return new.changes and single and not _overlap(new.value, old.value) and _alike(new, old)


def _same(new: Claim, old: Claim) -> bool:
    """Whether a claim and its denial are about the same: the same words, or what ended names what held.

    An employer or a school is named by any of its words ("Brightwater"), anything else by its last ("wine" names
    red wine, "cat" no cat flap). What begins to hold must be what was denied, word for word.
    """
    if new.value == old.value:
        return True
    if new.holds:
        return False
    if _HAN.search(old.value):
        return new.attribute == "employer" and len(new.value) > 1 and old.value.endswith(new.value)
    few, many = _TOKEN.findall(new.value), _TOKEN.findall(old.value)
    named = new.attribute in ("employer", "school") or few[-1:] == many[-1:]
    return bool(few) and named and set(few) <= set(many)


def _overlap(one: str, other: str) -> bool:
    """Whether one value may only say the other with more or fewer words."""
    few, many = _tokens(one), _tokens(other)
    return few <= many or many <= few


def _alike(new: Claim, old: Claim) -> bool:
    """Whether two values can exclude one another: a city does not exclude its country or its district."""
    if new.attribute == "residence":
        return extent(new.value) == extent(old.value)
    return (_DIGIT.search(new.value) is None) == (_DIGIT.search(old.value) is None)


def _tokens(value: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(value))
