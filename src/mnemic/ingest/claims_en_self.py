"""Claims in English about who and where the speaker is: home, contact, name, age, family."""

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


def residence(clause: Clause) -> Iterator[Claim]:
    parents = None if clause.fresh else _WITH_PARENTS.fullmatch(clause.text)
    if parents is not None:
        yield Claim("dwelling", parents["who"].casefold(), True, clause.changes)
    left = _MOVED_OUT.fullmatch(clause.text)
    if left is not None:
        yield Claim("dwelling", named(left, "who", "home").casefold(), False, True)
    lives = None if clause.fresh else _LIVES.fullmatch(clause.text)
    moved = None if lives else _MOVED.fullmatch(clause.text)
    if lives is None and moved is None:
        return
    place = named(lives, "a", "b", "c") if lives else moved["place"] if moved else ""
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
    rf"(?:i|we)(?: (?:now|still|currently))? live(?: now)? at (?P<a>{HOUSE})(?: now|{WHEN})"
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
    rf"|(?:i|we) (?:no longer live|don't live) (?:at|on) (?P<b>{HOUSE}|{STREET}|number \d+[a-z]?)(?:{NO_MORE})?"
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
        yield Claim("address", street_address(named(left, "a", "b", "c")), False, True)


_MY_PLACE = match(r"(?:.* )?my(?: home| new)? (?:address|place|home|house|flat|apartment)(?: is)?")
_HOUSE = match(HOUSE)


def address_across(first: Clause, second: Clause) -> Iterator[Claim]:
    """An address after what it is the address of: "my place, 14 Larkspur Lane"."""
    if _HOUSE.fullmatch(second.text) and _MY_PLACE.fullmatch(first.text):
        yield Claim("address", street_address(second.text), True, False)


PHONE = r"[+\d(][\dx().\- ]{4,}\d"
EMAIL = r"[\w.+%-]+@[\w.-]+\w"
_MY_PHONE = match(
    r"my(?P<new> new)? (?:(?P<land>land ?line)|(?P<cell>cell|mobile|cellphone|phone)|(?:phone |cell |mobile |cellphone"
    rf" |telephone )?number)(?: phone)?(?: number)?(?: is|'s| has changed to| changed to)"
    rf"(?P<now> now)? (?P<phone>{PHONE})"
    r"(?P<later> now)?"
)
_REACHED = match(
    rf"(?:you can )?(?:reach|call|text) me (?:on|at) (?P<phone>{PHONE})(?P<now> from now on| instead)?"
)
_NEW_PHONE = match(rf"(?:i'm|i am)(?: now)? on (?P<phone>{PHONE})(?: now)?")
_MY_EMAIL = match(
    rf"my(?: new)? e-?mail(?: address)?(?: is| has changed to| changed to)(?: now)? (?P<email>{EMAIL})(?: now)?"
    rf"|{I_HAVE}?(?:changed|switched) my e-?mail(?: address)? to (?P<to>{EMAIL}){WHEN}"
    rf"|i use (?P<use>{EMAIL}) (?:for|as my) (?:my )?e-?mails?"
)
_GONE = (
    r"(?:no longer works|doesn't work|isn't valid|is no longer (?:valid|mine|in use|active)"
    r"|is (?:dead|gone|disconnected))"
)
_NO_CONTACT = match(
    rf"{I_HAVE}?(?:don't use|no longer use|stopped using|got rid of|deleted|closed|abandoned|shut down|gave up)"
    rf" (?:my (?:old )?(?:e-?mail |e-?mail address )?)?(?P<a>{EMAIL}|{PHONE})(?:{NO_MORE})?{WHEN}"
    rf"|(?P<b>{EMAIL}|{PHONE}) {_GONE}(?:{NO_MORE})?"
)
_NO_LANDLINE = match(
    rf"{I_HAVE}?(?:cancelled|canceled|got rid of|gave up|disconnected|dropped) (?:the|my|our) land ?line{WHEN}"
)


def contact(clause: Clause) -> Iterator[Claim]:
    gone = _NO_CONTACT.fullmatch(clause.text)
    if gone is not None:
        named_one = named(gone, "a", "b")
        if "@" in named_one:
            yield Claim("email", named_one.casefold(), False, True)
        else:
            yield from (Claim(kind, digits(named_one), False, True) for kind in ("phone", "landline"))
    if _NO_LANDLINE.fullmatch(clause.text):
        yield Claim("landline", "", False, True)
    if clause.fresh:
        return
    phone, reached = _MY_PHONE.fullmatch(clause.text), _REACHED.fullmatch(clause.text)
    if phone is not None:
        told = clause.changes or any(phone[one] for one in ("new", "now", "later"))
        yield Claim(
            "landline" if phone["land"] else "phone", digits(phone["phone"]), True, told or not phone["cell"]
        )
    if reached is not None:
        yield Claim("phone", digits(reached["phone"]), True, bool(reached["now"]))
    email = _MY_EMAIL.fullmatch(clause.text)
    if email is not None:
        yield Claim("email", named(email, "email", "to", "use").casefold(), True, email["use"] is None)


_ABOUT_PHONE = re.compile(
    r"\b(?:(?:my|new|phone|cell|mobile) number|new (?:sim|phone|number)|my (?:phone|sim|number))\b"
)
_ABOUT_EMAIL = re.compile(r"\be-?mail\b|@")
_NOT_MINE = re.compile(r"\b(?:work|office|business|second|his|her|their|case|plate|flight)\b")
_IT_IS = match(
    rf"(?:it(?:'s| is)|my new (?:one|number) is)(?: now)? [\"']?"
    rf"(?:(?P<phone>{PHONE})|(?P<email>{EMAIL}))[\"']?(?: now)?"
)


def contact_across(first: Clause, second: Clause) -> Iterator[Claim]:
    """The number or address that a second clause tells, of what a first one said that it has changed."""
    found = _IT_IS.fullmatch(second.text)
    told = found or _NEW_PHONE.fullmatch(second.text)
    if told is None or _NOT_MINE.search(second.sentence.casefold()) or not second.changes:
        return
    if told["phone"] and _ABOUT_PHONE.search(first.lower):
        yield Claim("phone", digits(told["phone"]), True, True)
    elif found and found["email"] and _ABOUT_EMAIL.search(first.lower):
        yield Claim("email", found["email"].casefold(), True, True)


def digits(phone: str) -> str:
    return re.sub(r"[^\d+x]", "", phone)


_NAMED = match(
    rf"(?:i'm called|my (?:full )?name is|my name's|{I_HAVE}?changed my name(?: from {NAME})? to)"
    rf"(?: now)? (?P<name>{NAME})"
    r"(?: now| from now on)?"
)
_CALLED = match(
    rf"(?:i(?: now)? go by|(?P<others>everyone calls me|people call me)|(?:please )?call me|i'm going by)"
    rf"(?: now)? (?P<name>{NAME})(?: now| from now on| these days)?"
)
_NOT_CALLED = match(
    rf"(?:please )?(?:don't|do not|stop) (?:call|calling) me (?P<a>{NAME})(?:{NO_MORE})?"
    rf"|i no longer go by (?P<b>{NAME})"
)
_SURNAME = match(
    rf"my(?P<new> new)? (?:surname|last name|family name) is(?P<now> now)?(?: just)? (?P<name>{NAME})(?P<later> now)?"
    rf"|{I_HAVE}?changed my (?:surname|last name|family name)(?: from {NAME})? to (?P<to>{NAME})(?: .*)?"
)
_NOW_NAMED = match(rf"(?:i'm|i am)(?: now)? (?P<name>{NAME} {NAME})(?: now)?")
_NO_NAME = words(
    "asap monday tuesday wednesday thursday friday saturday sunday uber mobile home cell mom mum dad boss sir back"
)
_NEW_NAME = re.compile(r"\b(?:surname|last name|family name|maiden name|changed my name)\b")


def name(clause: Clause) -> Iterator[Claim]:
    found = _NAMED.fullmatch(clause.text)
    whole = value_of(found["name"]) if found else ""
    if found is None and clause.changes and _NEW_NAME.search(clause.sentence.casefold()):
        renamed = _NOW_NAMED.fullmatch(clause.text)
        whole = value_of(renamed["name"]) if renamed else ""
    if whole:
        yield Claim("name", whole, True, True)
        if " " in whole:
            yield Claim("surname", whole.rpartition(" ")[2], True, False)
    surname = _SURNAME.fullmatch(clause.text)
    if surname is not None:
        told = any(surname[one] for one in ("new", "now", "later", "to"))
        yield Claim("surname", value_of(named(surname, "name", "to")), True, told or clause.changes)
    called, no_more = _CALLED.fullmatch(clause.text), _NOT_CALLED.fullmatch(clause.text)
    if called is not None and called["name"].casefold() not in _NO_NAME:
        known = called["others"] is not None
        yield Claim("known" if known else "called", value_of(called["name"]), True, not known)
    if no_more is not None:
        by = value_of(named(no_more, "a", "b"))
        yield from (Claim(kind, by, False, True) for kind in ("called", "known"))


_UNITS = (
    *(
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
    ),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_YEARS = rf"(?:\d{{1,3}}|(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[:9])}))?|{'|'.join(_UNITS)})"
_AGED = match(
    rf"(?:i'm|i am)(?: (?:now|already|officially|finally))? (?P<a>{_YEARS})(?: years? old| yo| y/o)?(?: now| already)?"
    rf"|my age is(?: now)? (?P<b>{_YEARS})(?: now)?"
)
_TURNED = match(rf"{I_HAVE}?(?:turned|hit) (?P<c>{_YEARS}){WHEN}")
_AGES = range(4, 121)


def age(clause: Clause) -> Iterator[Claim]:
    found = _TURNED.fullmatch(clause.text) or (None if _not_today(clause) else _AGED.fullmatch(clause.text))
    if found is None or LONG_AGO.search(clause.text):
        return
    years = _number(named(found, *found.re.groupindex).casefold())
    if years in _AGES:
        yield Claim("age", str(years), True, True)


def _not_today(clause: Clause) -> bool:
    """Whether a clause speaks of today without it being a birthday."""
    return clause.fresh and "birthday" not in clause.sentence.casefold()


def _number(told: str) -> int:
    if told.isdecimal():
        return int(told)
    tens, _, units = told.replace("-", " ").partition(" ")
    whole = 10 * (_TENS.index(tens) + 2) if tens in _TENS else 0
    rest = units if whole else tens
    return whole + (_UNITS.index(rest) + 1 if rest else 0)


_MY_PARTNER = r"my (?:girlfriend|boyfriend|partner|fiancée?) and i "
_US = rf"(?:{I_HAVE}|{NAME} and i |{_MY_PARTNER}|my (?:wife|husband) and i )"
# Status, whether it is an event, and how it is told.
_MARITAL = (
    ("married", False, match(
        rf"(?:i'm|i am|we're)(?: happily)? married(?: to {NAME}| now)?{WHEN}|my (?:wife|husband) is (?:called "
        rf"|named )?{NAME}"
    )),
    ("married", True, match(
        rf"(?:{_US}|i |we )(?:all )?(?:got (?:re)?married(?: again)?|remarried|tied the knot|eloped|got hitched){WHEN}"
    )),
    ("divorced", True, match(
        rf"(?:{_US})(?:got |are |have )?(?:divorced|separated){WHEN}"
        rf"|(?:my|our|the) divorce (?:is final|came through|is finali[sz]ed|was finali[sz]ed){WHEN}"
    )),
    ("divorced", False, match(rf"i'm divorced{WHEN}")),
    ("single", False, match(r"(?:i'm|i am) single(?: now| again)?")),
    ("single", True, match(
        rf"(?:{I_HAVE}|{NAME} and i |{_MY_PARTNER})(?:broke|split) up(?: with {NAME})?{WHEN}"
    )),
    ("engaged", False, match(rf"(?:i'm|i am|we're) engaged(?: to {NAME})?{WHEN}")),
    ("engaged", True, match(rf"(?:{I_HAVE}|{NAME} and i )got engaged{WHEN}")),
    ("partnered", False, match(
        r"(?:i'm|i am)(?: now)? in a (?:new )?relationship(?: now)?|(?:i'm|i am) (?:seeing|dating) someone(?: now)?"
        r"|i(?: now)? have a (?:new )?(?:girlfriend|boyfriend|partner)(?: now)?"
    )),
    ("widowed", False, match(r"(?:i'm|i am) (?:widowed|a widow|a widower)(?: now)?")),
    ("widowed", True, match(rf"my (?:wife|husband)(?: {NAME})? (?:died|passed away){WHEN}")),
)  # fmt: skip
_CALLED_OFF = match(
    rf"{_US}?(?:called off|cancelled|canceled|broke off) (?:the|our|my) (?:engagement|wedding){WHEN}"
)


def marital_status(clause: Clause) -> Iterator[Claim]:
    for status, happened, pattern in _MARITAL:
        if (happened or not clause.fresh) and pattern.fullmatch(clause.text):
            yield Claim("marital_status", status, True, not LONG_AGO.search(clause.text))
    if _CALLED_OFF.fullmatch(clause.text):
        yield Claim("marital_status", "engaged", False, True)


_PARTNER = (
    (True, match(
        rf"my (?:girlfriend|boyfriend|partner|wife|husband|fiancée?|fiance) is (?:called "
        rf"|named )?(?P<name>{NAME})"
    )),
    (True, match(rf"(?:i'm|i am) (?:happily )?(?:married|engaged) to (?P<name>{NAME})")),
    (False, match(
        rf"(?P<name>{NAME}) and i (?:broke up|split up|separated|got divorced|are divorced"
        rf"|called off the engagement){WHEN}"
    )),
    (False, match(rf"{I_HAVE}?(?:broke|split) up with (?P<name>{NAME}){WHEN}")),
)  # fmt: skip


def partner(clause: Clause) -> Iterator[Claim]:
    for holds, pattern in _PARTNER:
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim("partner", value_of(found["name"]), holds, not holds)
