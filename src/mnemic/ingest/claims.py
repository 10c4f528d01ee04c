"""What a statement says of its speaker in a form that can be compared, and which old statement a new one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..records import Claim
from .exclusion import ONE_AT_A_TIME, excludes, is_single, tokens

__all__ = ["Claim", "claims", "closes"]

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
        found.extend(claim for claim in read if not (one_more and claim.attribute in ONE_AT_A_TIME))
    return tuple(dict.fromkeys(found))


def _chinese(sentence: str) -> Iterator[Claim]:
    from . import claims_zh

    return claims_zh.read(sentence)


def _english(sentence: str) -> Iterator[Claim]:
    from . import claims_en

    return claims_en.read(sentence)


def closes(new: Sequence[Claim], old: Sequence[Claim]) -> bool:
    """Whether a statement that makes the claims `new` ends one that made `old`, beyond doubt.

    A single-valued claim ends one of the same attribute with a value that it excludes; an ended claim ends the same
    claim that held; a claim that begins to hold ends its denial. Equal claims, and values of which one only says
    more than the other, end nothing.
    """
    return any(_closes(one, other) for one in new for other in old)


def _closes(new: Claim, old: Claim) -> bool:
    if new.attribute != old.attribute or not new.changes:
        return False
    if new.holds != old.holds:
        return _same(new, old)
    return new.holds and excludes(new.attribute, new.value, old.value)


# In Chinese, a last word of one character may be another word's end.
_NAMED_IN_CHINESE = ("is", "job")
# What is named by any of its words ("Brightwater", "number 66"), not only by its last.
_BY_ANY_WORD = ("employer", "workplace", "school", "address")


def _same(new: Claim, old: Claim) -> bool:
    """Whether a claim and its denial are about the same: the same words, or what ended names what held.

    An employer, a school or an address is named by any of its words, anything else by its last ("wine" names red
    wine, "cat" no cat flap). What one has one of needs no name to end ("I'm unemployed now"). What begins to hold
    must be what was denied, word for word.
    """
    if new.value == old.value:
        return True
    if new.holds:
        return False
    if not new.value:
        return is_single(new.attribute)
    by_any = new.attribute in _BY_ANY_WORD
    if new.attribute == "email":
        return old.value.startswith(f"{new.value}@")
    if _HAN.search(old.value):
        known = by_any or new.attribute in _NAMED_IN_CHINESE
        return known and len(new.value) > 1 and _begins_or_ends(new.value, old.value, begins=by_any)
    few, many = tokens(new.value), tokens(old.value)
    return bool(few) and (by_any or few[-1:] == many[-1:]) and set(few) <= set(many)


def _begins_or_ends(part: str, whole: str, *, begins: bool) -> bool:
    """Whether a value ends with a part of it, or begins so where that counts; not in the middle of a number."""
    at = whole.rfind(part)
    if at < 0 or not (at + len(part) == len(whole) or (begins and at == 0)):
        return False
    before, after = whole[at - 1 : at] if at else "", whole[at + len(part) :][:1]
    return not ((part[0].isdecimal() and before.isdecimal()) or (part[-1].isdecimal() and after.isdecimal()))
