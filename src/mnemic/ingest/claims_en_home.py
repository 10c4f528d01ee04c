"""Claims in English about where the speaker lives: place, dwelling, street address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_en import DIGIT, I_HAVE, LONG_AGO, NAME, NO_MORE, TAIL, WHEN, Clause, match, named, value_of
from .places import HOUSE, STREET, street_address
from .rules import words

# Capital words after "moved to" that are no places.
_NO_PLACE = words(
    """linux windows mac macos ubuntu debian arch fedora android ios iphone apple pixel chrome firefox safari
    edge brave spotify netflix notion obsidian slack teams zoom discord vim emacs neovim python rust go java
    kotlin typescript react vue postgres mysql sqlite aws azure gcp github gitlab kubernetes docker signal
    whatsapp telegram marketing room row seat gate floor building tier group section line page chapter sales
    engineering finance hr legal product design support operations monday tuesday wednesday thursday friday
    saturday sunday january february march april may june july august september october november december
    plan phase level team division department version bitwarden lastpass gmail outlook protonmail substack
    medium wordpress ghost figma sketch jira trello asana linear premium pro plus platinum it r&d qa"""
)
_NOT_HOME = re.compile(
    r"\b(?:office|company|team|meeting|shop|store|studio|headquarters|hq|server|servers|data|project|department|role"
    r"|position|desk|app|account|phone|laptop|call|appointment|event|party|conference|class|classes|seat|row|work)\b"
)
_HOMES = words(
    """flat apartment house room condo dorm hostel van boat cabin cottage trailer caravan loft bungalow
    houseshare flatshare basement villa duplex townhouse parents"""
)
_LIVES = match(
    r"(?:i|we)(?: (?:now|currently|actually|still|officially))? live(?: now| with my [\w ]+?| alone)? in (?P<a>.+)"
    r"|(?:i'm|i am|we're|we are)(?: (?:now|currently|officially))? (?:living|based) in (?P<b>.+)"
    r"|(?:my|our) home is(?: now)? (?:in )?(?P<c>.+)"
    r"|(?:i've|i have|we've|we have) (?:lived|been living) in (?P<d>[^,]+?) since [\w ]+"
)
_WITH_PARENTS = match(
    r"(?:i|we)(?: still)? live (?:with|at) my (?P<who>parents|mum|mom|dad)(?:'s?)?(?: place| house)?(?: in .+)?"
)
_MOVED_OUT = match(
    rf"{I_HAVE}?moved out of (?:my (?P<who>parents|mum|mom|dad)(?:'s?)?|the (?P<home>dorms?|flat"
    rf"|house))(?: place| house)?{WHEN}"
)
_MOVED = match(
    rf"{I_HAVE}?(?:moved|relocated)(?: (?:house|home|back|out|up|down|over|here))?(?: from {NAME})? to (?P<place>.+)"
)


_NO_HOME = match(
    rf"(?:i|we) (?:no longer live in (?P<a>{NAME})|don't live in (?P<c>{NAME}){NO_MORE})"
    rf"|{I_HAVE}(?:left|moved away from) (?P<b>{NAME}) for good"
)


def residence(clause: Clause) -> Iterator[Claim]:
    parents = None if clause.fresh else _WITH_PARENTS.fullmatch(clause.text)
    if parents is not None:
        yield Claim("dwelling", parents["who"].casefold(), True, clause.changes)
    left = _MOVED_OUT.fullmatch(clause.text)
    if left is not None:
        yield Claim("dwelling", named(left, "who", "home").casefold(), False, True)
    gone = _NO_HOME.fullmatch(clause.text)
    if gone is not None:
        yield Claim("residence", value_of(named(gone, "a", "b", "c")), False, True)
    lives = None if clause.fresh else _LIVES.fullmatch(clause.text)
    moved = None if lives else _MOVED.fullmatch(clause.text)
    if lives is None and moved is None:
        return
    place = named(lives, "a", "b", "c", "d") if lives else moved["place"] if moved else ""
    name = re.match(NAME, place)
    if name is None:
        if lives and _HOMES & set(re.findall(r"[\w-]+", place.casefold())[:4]):
            yield Claim("dwelling", value_of(place), True, clause.changes)
        return
    rest = place[name.end() :]
    free = (
        not rest
        or TAIL.fullmatch(rest)
        or re.match(r" (?:with|near|where|alone|by|for (?:good|work|love))\b", rest)
    )
    known = set(re.findall(r"[\w&]+", name[0].casefold()))
    if free and not known & _NO_PLACE and not _NOT_HOME.search(clause.lower) and not DIGIT.search(name[0]):
        yield Claim("residence", value_of(name[0]), True, not LONG_AGO.search(clause.text))


_AT_HOUSE = match(
    rf"(?:(?:i|we)(?: (?:now|still|currently))? )?live(?: now)? at (?P<a>{HOUSE})(?: now|{WHEN})"
    rf"|(?:i'm|i am|we're|we are)(?: (?:now|still|currently))? living at (?P<b>{HOUSE})(?: now)?"
    rf"|(?:i've|we've|i have|we have) (?:been living|lived) at (?P<c>{HOUSE})(?: (?:since|for) .*)?"
    rf"|(?:my|our)(?: new)?(?: home| current| street)? address is(?: now)? (?P<d>{HOUSE})(?: now)?"
    rf"|(?:my|our)(?: home)? address has changed to (?P<e>{HOUSE})"
)
_TO_HOUSE = match(
    rf"{I_HAVE}?(?:moved|relocated)(?: (?:house|home|back|in|out|up|down|over|here|\w+ doors (?:up|down|along)"
    rf"|(?:a)?round the corner|across the (?:street|road|hall)))?(?: from (?:{HOUSE}|{STREET}|{NAME}))?"
    rf" to (?P<to>{HOUSE})"
    rf"{WHEN}|{I_HAVE}?moved into (?P<into>{HOUSE}){WHEN}"
)
_FROM_HOUSE = match(
    rf"{I_HAVE}?moved (?:out of|away from) (?P<a>{HOUSE}|{STREET}){WHEN}"
    rf"|(?:i|we) no longer live (?:at|on) (?P<b>{HOUSE}|{STREET}|number \d+[a-z]?)"
    rf"|(?:i|we) don't live (?:at|on) (?P<d>{HOUSE}|{STREET}|number \d+[a-z]?){NO_MORE}"
    rf"|{I_HAVE}?moved from (?P<c>{HOUSE}) to .*"
)


def address(clause: Clause) -> Iterator[Claim]:
    lives = None if clause.fresh else _AT_HOUSE.fullmatch(clause.text)
    moved, left = _TO_HOUSE.fullmatch(clause.text), _FROM_HOUSE.fullmatch(clause.text)
    if lives is not None:
        house = street_address(named(lives, "a", "b", "c", "d", "e"))
        yield Claim("address", house, True, lives["d"] is None or clause.changes)
    if moved is not None and not LONG_AGO.search(clause.text):
        yield Claim("address", street_address(named(moved, "to", "into")), True, True)
    if left is not None:
        yield Claim("address", street_address(named(left, "a", "b", "c", "d")), False, True)


_MY_PLACE = match(r"(?:.* )?my(?: home| new)? (?:address|place|home|house|flat|apartment)(?: is)?")
_HOUSE = match(HOUSE)


_ADDRESS_CHANGED = match(
    r"(?:my|our)(?: home)? address(?: has)? changed|(?:i|we|i've|we've)(?: have)?(?: just)? moved(?: house)?"
)
_IT_IS_HOUSE = match(rf"(?:it's|it is|we're at|i'm at)(?: now)? (?P<house>{HOUSE})(?: now)?")


def address_across(first: Clause, second: Clause) -> Iterator[Claim]:
    """An address after what it is the address of ("my place, 14 Larkspur Lane"), or after the news that it changed."""
    found = _IT_IS_HOUSE.fullmatch(second.text)
    if found is not None and _ADDRESS_CHANGED.fullmatch(first.text):
        yield Claim("address", street_address(found["house"]), True, True)
    if _HOUSE.fullmatch(second.text) and _MY_PLACE.fullmatch(first.text):
        yield Claim("address", street_address(second.text), True, False)
