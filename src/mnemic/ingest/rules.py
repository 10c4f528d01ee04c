"""What the rules of every language say about one sentence, and how their word lists become patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum


class Worth(IntEnum):
    """How much speaks for keeping a sentence.

    OUT: something speaks against it. PLAIN: a statement that tells something only beside one about the user.
    SURE: it tells something of the user, of their people or things.
    """

    OUT = 0
    PLAIN = 1
    SURE = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one sentence is.

    reason: why it is left out, if it is. leans: it needs the sentence before it to be understood. opens: what
    it makes of the text after it ("quoted", "role_play", "fiction"). personal: it names people or things of the
    user, though it may be a question or a request. first_person: the user speaks of themselves in it.
    """

    worth: Worth
    reason: str = ""
    leans: bool = False
    opens: str = ""
    personal: bool = False
    first_person: bool = False


def out(reason: str, *, opens: str = "", personal: bool = False) -> Verdict:
    """The verdict on a sentence that is left out for `reason`."""
    return Verdict(Worth.OUT, reason, opens=opens, personal=personal)


def words(text: str) -> frozenset[str]:
    """The words of a text that white space separates."""
    return frozenset(text.split())


def any_word(alternatives: str, head: str = "", tail: str = "") -> re.Pattern[str]:
    """A pattern that matches any of the alternatives, which white space separates, between `head` and `tail`."""
    return re.compile(f"{head}(?:{'|'.join(alternatives.split())}){tail}")


def any_line(alternatives: str, head: str = "") -> re.Pattern[str]:
    """A pattern that matches any of the alternatives, one per line, each after `head`.

    A backslash at the end of a line carries the alternative on to the next.
    """
    joined = re.sub(r"\\\n\s*", "", alternatives)
    lines = [line.strip() for line in joined.splitlines() if line.strip()]
    return re.compile(f"{head}(?:{'|'.join(lines)})")
