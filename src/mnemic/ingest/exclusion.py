"""Which values of one attribute cannot both hold: a second address excludes the first, a second pet does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .places import extent
from .rules import words

# A person has one of these at a time; of what begins like the others, one by that name.
ONE_AT_A_TIME = words(
    """residence dwelling address employer workplace job school phone landline email name called surname
    marital_status age"""
)
_ONE_BY_NAME = ("my:", "date:", "role:")

# What each marital status ends. Who is divorced or widowed is single too, and stays so.
_STATUS_ENDS = {
    "married": words("single partnered engaged separated divorced widowed"),
    "engaged": words("single partnered"),
    "separated": words("married"),
    "divorced": words("married separated"),
    "widowed": words("married"),
    "single": words("partnered engaged married"),
    "partnered": words("single"),
}

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+")
_DIGIT = re.compile(r"\d")
_HAN = re.compile(r"[\u4e00-\u9fff]")
# With these begin the names of many firms and schools.
_COMMON_FIRST = words(
    "bank university college school institute hospital saint st new national royal department city"
)
_NO_DIGITS = re.compile(r"[^\dx]")
# Digits of a number without its country or trunk code that at least must be the same.
_LEAST_DIGITS = 5


def is_single(attribute: str) -> bool:
    """Whether a person has one of this at a time."""
    return attribute in ONE_AT_A_TIME or attribute.startswith(_ONE_BY_NAME)


def excludes(attribute: str, new: str, old: str) -> bool:
    """Whether somebody of whom `new` is true cannot at the same time have `old`, a value of the same attribute.

    False where one value may only say the other with more or fewer words.
    """
    if not new or not old or not is_single(attribute):
        return False
    return _RULES.get(attribute, _other_words)(new, old)


def tokens(value: str) -> tuple[str, ...]:
    """The words of a value; characters, where they stand without spaces."""
    return tuple(_TOKEN.findall(value))


def _overlap(new: str, old: str) -> bool:
    few, many = set(tokens(new)), set(tokens(old))
    return few <= many or many <= few


def _other_words(new: str, old: str) -> bool:
    return not _overlap(new, old) and (_DIGIT.search(new) is None) == (_DIGIT.search(old) is None)


def _other_place(new: str, old: str) -> bool:
    """A city does not exclude its country or its district."""
    return _other_words(new, old) and extent(new) == extent(old)


def _other_house(new: str, old: str) -> bool:
    """A firm or a school may be called by its first word and something else."""
    first, second = tokens(new)[:1], tokens(old)[:1]
    shared = first == second and not _HAN.search(new) and not _COMMON_FIRST.issuperset(first)
    return not shared and _other_words(new, old)


def _other_number(new: str, old: str) -> bool:
    """A number is the same with its country code and without."""
    short, long = sorted((_NO_DIGITS.sub("", one).lstrip("0") for one in (new, old)), key=len)
    return len(short) >= _LEAST_DIGITS and not long.endswith(short)


def _older(new: str, old: str) -> bool:
    return new.isdecimal() and old.isdecimal() and int(new) > int(old)


def _other_status(new: str, old: str) -> bool:
    return old in _STATUS_ENDS.get(new, ())


def _differs(new: str, old: str) -> bool:
    return new != old


_RULES: Mapping[str, Callable[[str, str], bool]] = {
    "residence": _other_place,
    "employer": _other_house,
    "workplace": _other_house,
    "school": _other_house,
    "phone": _other_number,
    "landline": _other_number,
    "email": _differs,
    "surname": _differs,
    "age": _older,
    "marital_status": _other_status,
}
