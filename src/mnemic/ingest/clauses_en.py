"""Cutting an English sentence into clauses that may claim something, and values out of their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Whatever is only thought, wished, told by others, past, or for a while.
_DOUBT = re.compile(
    r"\b(?:might|(?<!in )(?<!last )may(?! \d)|maybe|perhaps|probably|could|would|should|wish|hope|hoping|want|wants"
    r"|wanted|plans? to|planning (?:to|on)"
    r"|thinking|considering|thought|if|unless|whether|almost|nearly|about to|trying|tried|try|used to|won't|will"
    r"|i'll|we'll|gonna|going to (?!\w+ in )|supposed|pretend|imagine|dream\w*|novel|story|book|movie|film|show|game"
    r"|episode|character|series|says?|said|told|thinks|heard|asked|promised|threatened|temporar\w+|for now|for a while"
    r"|for the (?:week|weekend|day|afternoon|evening|night|summer|winter|month|time being)|this (?:week|weekend|morning"
    r"|afternoon|evening|month)|today|tonight|until|till|visiting|visit|vacation|holiday|also|too|as well|sometimes"
    r"|second|another|part-time|side|weekends|(?<!single )again|never|hardly|joking|kidding|even|d)\b|'d\b|'ll\b"
)
# Said anywhere in a sentence, it makes all of that hold for a time only.
_FOR_A_TIME = re.compile(
    r"\b(?:for now|for a (?:while|bit|few|couple)|just for|only for|temporar\w+|until|till|for the (?:week|weekend|day"
    r"|night|summer|winter|month|semester|time being)|interim|subletting|hotel|airbnb|hostel)\b"
)
# Others' words, and jokes.
_QUOTED = re.compile(r"[\"“][^\"”]*\s[^\"”]*[\"”]")
_TELLS = re.compile(
    r"\b(?:wrote|texts?|texted|goes|said|says|quotes?|tweet(?:ed)?|posted|sings?|yelled|shouted|messaged?|replied|typed"
    r"|reads|caption|lyrics)\b[^:]{0,30}:|\b(?:haha\w*|lol|lmao|jk)\b",
)
# When something happened; of what holds it would say for how long.
_JUST_NOW = re.compile(
    r"\b(?<!as of )(?<!from )(?:earlier |late )?(?:today|tonight"
    r"|this (?:week|weekend|morning|afternoon|evening|month|term))\b"
)
# Who a clause speaks of, where that is not the speaker; and clauses that leave it out.
_OF_OTHERS = re.compile(
    r"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir|[Tt]he|[Aa]n?|[Oo]ne|[Hh]e|[Ss]he|[Tt]hey|[Yy]ou|[Ss]omeone|[Ee]veryone) "
    r"|(?!I\b|I'|We\b|We'|It\b|It'|Got\b|Just\b)[A-Z][\w'-]+(?: and (?!I\b)[A-Z]\w+)? (?=\S+ \S)"
)
_NO_SUBJECT = re.compile(
    r"(?:just |finally |also )?(?:moved|relocated|left|quit|joined|started|sold|got|gave|found|landed|graduated|dropped"
    r"|transferred|switched|changed|cancelled|canceled|called|broke|split|turned|retired|traded|swapped|replaced|stopped"
    r"|closed|resigned|remarried|went|rehomed|donated|scrapped|postponed|bank)\b",
    re.IGNORECASE,
)
# What people leave out when they type.
_TYPED = {"im": "i'm", "ive": "i've", "dont": "don't", "cant": "can't", "doesnt": "doesn't", "isnt": "isn't"}
_SLIPS = re.compile(rf"\b(?:{'|'.join(_TYPED)})\b", re.IGNORECASE)

_CUT = re.compile(
    r"[;:!]|\((?!\d+\))|(?<!\d)\)|[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]+|,(?!\d)|\.(?=\s|$)|\s[-–—]+\s|[–—]"
    r"|\s(?=(?:and|but|so|because|since)\s(?:i|i'm|i've|we|we're|we've|my|our|now|joined|moved|started|bank)\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:and|but|so|well|oh|ok|okay|hey|hi|actually|honestly|finally|officially|now|just|yes|yeah|fyi|btw"
    r"|(?:small |quick )?update|heads up|today|last night|(?:on|last|this) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|this (?:week|weekend|month|morning)|by the way|good news|bad news|these days|nowadays"
    r"|as of (?:now|today|yesterday|(?:last|this) \w+|[a-z]+ \d+\w*)|currently|because|since|then|unfortunately|sadly"
    r"|anyway|yesterday|last (?:week|weekend|month|year)|recently|please note)\b[\s,]*)+",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:now|no longer|anymore|any more|any longer|these days|nowadays|new|instead|finally|promoted|became|switched"
    r"|changed|as of)\b"
)
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul"
    r"|aug|sept?|oct|nov|dec)"
)
_DAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
# What may follow a value without limiting it.
TAIL = re.compile(
    r"(?:^|\s+)(?:now|anymore|any more|any longer|no more|altogether|at all|completely|entirely|for good|these days"
    r"|instead|already|yesterday|recently|currently|nowadays|permanently|though|either|actually|full time|by now"
    rf"|last (?:\w+ )?(?:week|weekend|month|year|spring|summer|fall|autumn|winter|night|{_MONTH}|{_DAY})"
    rf"|(?:in|since) (?:{_MONTH}|spring|summer|fall|autumn|winter|\d{{4}}|college)(?: \d{{4}})?"
    r"|(?:a|an|two|three|\d+)(?: few)? (?:days?|weeks?|months?|years?) ago"
    rf"|on {_DAY}|on {_MONTH} \d+\w*|not [\w ]+)$",
    re.IGNORECASE,
)
_OFTEN = re.compile(
    r"\s+(?:(?:almost |nearly )?every .*|most .*|daily|weekly|a lot|all the time|regularly|(?:once|twice|\w+ times) .*"
    r"|a couple of times .*|on \w+days|each .*|per .*|a (?:day|week))$"
)
_QUANTITY = re.compile(
    r"^(?:(?:a|an|the|my|our|some|any|much|many|lots? of|plenty of|one|two|three|four|five|six|\d+|few|couple|pair"
    r"|this|that|these|those|all|old|new|about|around|roughly|over|nearly|ten|twenty|half"
    r"|(?:glass(?:es)?|cups?|bottles?|cans?|pints?|packs?|slices?|bits?|pieces?|couple"
    r"|pair) of)\s)+"
)

# A name as written: capital letters, which the readers' patterns otherwise do not tell from small ones.
NAME = r"(?-i:[A-Z][\w'’&.-]*(?: (?:(?:of|the|de|la|le|upon|and|&) )?[A-Z0-9][\w'’&.-]*)*)"
NO_MORE = r"(?: any ?more| any longer| at all| altogether| now)+"
# What happened then may have been undone since.
LONG_AGO = re.compile(
    r"\b(?:in (?:the )?\d{4}s?|(?:years|decades) ago|when|as a (?:kid|child|student)|back then)\b"
)
LIMITED = re.compile(
    r"\b(?:at|on|in|for|with|before|after|during|from|by|when|while|without|to|than|except|because|that|who|as|about)\b"
)
DIGIT = re.compile(r"\d")
WHEN = (
    rf"(?:,? (?:now|since .*|these days|instead|already|yesterday|last (?:\w+ )?\w+|in (?:{_MONTH}"
    rf"|\d{{4}})(?: \d{{4}})?"
    rf"|on {_DAY}|(?:a|an|two|three|\d+) (?:days?|weeks?|months?|years?) ago))?"
)
_PLACED = re.compile(rf"\b(?:in|to) {NAME}$")
_MOVES = re.compile(r"\bmoved\b", re.IGNORECASE)
_TO_HOUSE = re.compile(r"to \d")
_WITH_ME = re.compile(r"and [Ii]\b")
_SOMEONE = re.compile(rf"(?:[Mm]y \w+|{NAME})")
I_HAVE = (
    r"(?:(?:i|we|i've|we've|i have|we have)"
    r"(?: (?:just|finally|recently|officially|legally|permanently|all|now))? )"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause as written, without discourse words before it; its sentence, and whether that tells a change.

    fresh: it speaks of today or this week, without these words: what happened then is told, what holds only then not.
    """

    text: str
    sentence: str
    changes: bool
    fresh: bool = False

    @property
    def lower(self) -> str:
        """The clause in small letters."""
        return self.text.casefold()


def match(pattern: str) -> re.Pattern[str]:
    """A pattern for a whole clause; only `NAME` in it tells capital letters from small ones."""
    return re.compile(pattern, re.IGNORECASE)


def named(found: re.Match[str], *names: str) -> str:
    """The first of these groups that took part in a match, or ''."""
    return next((found[name] for name in names if found[name]), "")


def clauses(sentence: str) -> Iterator[Clause]:
    """The clauses of a sentence that leave no doubt that what they say holds now, of the speaker or of others."""
    plain = _SLIPS.sub(_in_full, _QUOTED.sub(" ", sentence.replace("’", "'")).strip())
    lower = plain.casefold()
    if _FOR_A_TIME.search(lower) or _TELLS.search(lower):
        return
    changes = _NOW.search(lower) is not None
    others = False
    for piece in _rejoined(_CUT.split(plain)):
        bare = piece.strip()
        lead = _LEAD.match(bare)
        text = (bare[lead.end() :] if lead else bare).strip(" .\"'")
        untimed = " ".join(_JUST_NOW.sub(" ", text).split())
        fresh = untimed != text or bool(lead and _JUST_NOW.search(lead[0].casefold()))
        if others and _NO_SUBJECT.match(untimed):
            # Still of them: nobody else was named.
            continue
        others = _OF_OTHERS.match(untimed) is not None
        if untimed and not _DOUBT.search(untimed.casefold()):
            yield Clause(untimed, plain, changes, fresh)


def _in_full(found: re.Match[str]) -> str:
    return _TYPED[found[0].casefold()]


def _rejoined(pieces: list[str]) -> list[str]:
    """The pieces, with those put together that only together make a clause: "Ann and I ...", "Austin, Texas"."""
    found: list[str] = []
    for piece in pieces:
        bare = piece.strip()
        with_me = found and _WITH_ME.match(bare) and _SOMEONE.fullmatch(found[-1])
        in_place = found and re.fullmatch(NAME, bare) and _PLACED.search(found[-1])
        goes_on = found and _TO_HOUSE.match(bare) and _MOVES.search(found[-1])
        if with_me or in_place or goes_on:
            found[-1] = f"{found[-1]} {bare}"
        else:
            found.append(bare)
    return found


def value_of(text: str, often: bool = False) -> str:
    """A value in small letters, without articles, quantities and words that only say when.

    often: without words that say how often, too.
    """
    lower = text.casefold().strip(" .,!\"'")
    before = ""
    while before != lower:
        before = lower
        lower = TAIL.sub("", lower).strip()
        if often:
            lower = _OFTEN.sub("", lower)
    return _QUANTITY.sub("", f"{lower} ").strip()
