"""Claims in English about who and where the speaker is: home, work, contact, name, family, being, school."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_en import DIGIT, I_HAVE, LONG_AGO, NAME, NO_MORE, TAIL, WHEN, Clause, match, named, value_of
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
_CLUB = re.compile(
    r"\b(?:gym|club|band|choir|church|class|course|league|party|group|discord|team|call|meeting|forum|society)\b"
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
    parents = _WITH_PARENTS.fullmatch(clause.text)
    if parents is not None:
        yield Claim("dwelling", parents["who"].casefold(), True, clause.changes)
    left = _MOVED_OUT.fullmatch(clause.text)
    if left is not None:
        yield Claim("dwelling", named(left, "who", "home").casefold(), False, True)
    lives = _LIVES.fullmatch(clause.text)
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


_ORG_NOUN = (
    r"(?:bank|hospital|school|office|firm|company|shop|store|café|cafe|restaurant|factory|university|library"
    r"|museum|agency"
    r"|startup|clinic|hotel|bakery|garage|lab|laboratory|court|station|warehouse|farm|brewery|newspaper|studio|bookshop"
    r"|bookstore|supermarket|pharmacy|nursery|kindergarten|church|zoo|airport|port|ministry|council"
    r"|department|practice)"
)
_AT = (
    rf"(?:(?:a|an|the|my)(?: [\w'-]+){{1,4}} (?:called|named) (?P<called>{NAME})"
    rf"|(?P<org>{NAME}|(?:a|an|the) (?:[\w'-]+ ){{0,3}}{_ORG_NOUN}))"
)
_AS = r"(?: as (?:a|an|the) (?P<title>[\w -]+?))?"
_WORKS = match(
    rf"(?:i|i'm|i am)(?: (?:now|currently))? (?:work|working)(?: now)? (?:at|for) {_AT}{_AS}{WHEN}"
)
_JOINED = match(
    rf"(?:{I_HAVE}|and )?(?:left {NAME} (?:and joined|to join|for)|joined|started (?:working )?at|started (?:a|my)"
    rf"(?: new)? job at|got (?:a|the)(?: new)? job at|moved on to) {_AT}{_AS}{WHEN}"
)
_LEFT = match(
    rf"{I_HAVE}?(?:left|quit|resigned from|got fired from|got laid off from|was fired from|was laid off from"
    rf"|(?:left|quit) my job at) (?P<a>{NAME}){WHEN}(?: (?:and|to) .*)?"
    rf"|(?:[\w ]+ )?was my last day at (?P<b>{NAME})"
    rf"|(?P<d>{NAME}) (?:let me go|fired me|laid me off|made me redundant|sacked me){WHEN}"
    rf"|(?:i no longer work|i don't work|i'm no longer working|i'm not working) (?:at|for) (?P<c>{NAME})(?:{NO_MORE})?"
)


# Joining is working there only where the sentence speaks of work: one joins clubs and services, too.
_JOB = match(
    r".*\b(?:left|quit|job|role|position|hired|offer|started|work|working|career|gig|team lead|resigned)\b"
)


def _speaks_of_work(clause: Clause) -> bool:
    return _JOB.match(clause.sentence) is not None and not _CLUB.search(clause.lower)


def employer(clause: Clause) -> Iterator[Claim]:
    works = _WORKS.fullmatch(clause.text)
    joined = None if works else _JOINED.fullmatch(clause.text)
    found = works or joined
    at_work = works or (joined and (joined["title"] or _speaks_of_work(clause)))
    if found is not None and at_work:
        org = value_of(named(found, "called", "org"))
        yield Claim("employer", org, True, not LONG_AGO.search(clause.text))
        if found["title"]:
            yield Claim("job", value_of(found["title"]), True, joined is not None or clause.changes)
            yield Claim("is", value_of(found["title"]), True, clause.changes)
    left = _LEFT.fullmatch(clause.text)
    if left is not None:
        yield Claim("employer", value_of(named(left, "a", "b", "c", "d")), False, True)
    stated = _EMPLOYER.fullmatch(clause.text)
    if stated is not None:
        yield Claim("employer", value_of(stated["org"]), True, True)


_EMPLOYER = match(rf"my(?: new)? employer is(?: now)? (?P<org>{NAME})(?: now)?")
PHONE = r"[+\d(][\dx().\- ]{4,}\d"
_REACHED = match(
    r"my(?P<new> new)?(?: (?:phone|cell|mobile|cellphone|telephone))?(?: phone)? number is(?P<now> now)?"
    rf" (?P<phone>{PHONE})(?: now)?|(?:you can )?(?:reach|call|text) me (?:on|at) (?P<reach>{PHONE})(?: now)?"
    r"|my(?P<fresh> new)? e-?mail(?: address)? is(?P<since> now)? (?P<email>\S+@\S+\w)(?: now)?"
)


_OLD_EMAIL = match(rf"i (?:don't use|no longer use|stopped using) (?P<email>\S+@\S+\w)(?:{NO_MORE})?")


def contact(clause: Clause) -> Iterator[Claim]:
    old = _OLD_EMAIL.fullmatch(clause.text)
    if old is not None:
        yield Claim("email", old["email"].casefold(), False, True)
    found = _REACHED.fullmatch(clause.text)
    if found is None:
        return
    changes = clause.changes or bool(named(found, "new", "now", "fresh", "since"))
    if found["phone"] or found["reach"]:
        yield Claim("phone", digits(named(found, "phone", "reach")), True, changes or bool(found["phone"]))
    else:
        yield Claim("email", found["email"].casefold(), True, True)


def digits(phone: str) -> str:
    return re.sub(r"[^\d+x]", "", phone)


_CALLED = match(
    rf"(?:i(?: now)? go by|i'm called|everyone calls me|people call me|call me|my name is|my name's|i'm going by)"
    rf"(?: now)? (?P<name>{NAME})(?P<now> now| from now on| these days)?"
)


def name(clause: Clause) -> Iterator[Claim]:
    found = _CALLED.fullmatch(clause.text)
    if found is not None:
        plain = not clause.lower.startswith(("everyone", "people"))
        yield Claim("name", value_of(found["name"]), True, plain or clause.changes)


_MARITAL = (
    ("married", match(
        rf"(?:i'm|i am|we're)(?: happily)? married(?: to {NAME}| now)?{WHEN}|my (?:wife|husband) is (?:called "
        rf"|named )?{NAME}"
    )),
    ("married", match(rf"(?:{I_HAVE}|{NAME} and i )got married{WHEN}")),
    ("divorced", match(
        rf"(?:{I_HAVE}|{NAME} and i |my (?:wife|husband) and i )(?:got |are |have )?(?:divorced"
        rf"|separated){WHEN}|i'm divorced{WHEN}"
    )),
    ("single", match(r"(?:i'm|i am) single(?: now)?")),
    ("single", match(
        rf"(?:{I_HAVE}|{NAME} and i |my (?:girlfriend|boyfriend|partner|fiancée?) and i )(?:broke"
        rf"|split) up(?: with {NAME})?{WHEN}"
    )),
    ("engaged", match(rf"(?:i'm|i am|we're) engaged(?: to {NAME})?{WHEN}")),
    ("engaged", match(rf"(?:{I_HAVE}|{NAME} and i )got engaged{WHEN}")),
    ("widowed", match(r"(?:i'm|i am) (?:widowed|a widow|a widower)(?: now)?")),
)  # fmt: skip


def marital_status(clause: Clause) -> Iterator[Claim]:
    for status, pattern in _MARITAL:
        if pattern.fullmatch(clause.text):
            yield Claim("marital_status", status, True, not LONG_AGO.search(clause.text))


_PARTNER = (
    (True, match(
        rf"my (?:girlfriend|boyfriend|partner|wife|husband|fiancée?|fiance) is (?:called "
        rf"|named )?(?P<name>{NAME})"
    )),
    (True, match(rf"(?:i'm|i am) (?:happily )?(?:married|engaged) to (?P<name>{NAME})")),
    (False, match(
        rf"(?P<name>{NAME}) and i (?:broke up|split up|separated|got divorced|are divorced"
        rf"|called off the (?:engagement|wedding)){WHEN}"
    )),
    (False, match(rf"{I_HAVE}?(?:broke|split) up with (?P<name>{NAME}){WHEN}")),
)  # fmt: skip


def partner(clause: Clause) -> Iterator[Claim]:
    for holds, pattern in _PARTNER:
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim("partner", value_of(found["name"]), holds, clause.changes or not holds)


_IS = match(
    r"(?:i'm|i am)(?: now)? (?:(?P<a>an? [\w -]+?)(?: (?:at|for|with) (?P<at>.+?))?"
    r"|(?P<adjective>[\w-]+))(?P<now> now)?"
)
_IS_NOT = match(
    rf"(?:i'm|i am) (?:no longer|not) (?P<a>(?:an? |the )?[\w-]+(?: (?!anymore\b)[\w-]+)?)(?P<more>{NO_MORE})?"
    r"|(?:(?:i|i've|i have) )?(?:gave up|given up|stopped|quit) being (?:an? )?(?P<b>[\w-]+)(?: .*)?"
)
_NO_WORK = words("volunteer member regular guest patient customer fan speaker mentor subscriber visitor")
_STATES = words(
    "vegetarian vegan pescatarian unemployed retired pregnant diabetic left-handed religious sober celiac gluten-free"
    " freelance"
)


_BORN = match(
    rf"(?:the|our|my) baby(?:'s| is) here|(?:i|we) (?:gave birth|had the baby){WHEN}|(?:the|our) baby was born{WHEN}"
)
_SEEKS = match(
    r"(?:i'm|i am|we're)(?: still| currently)? (?:looking|searching|hunting) for (?P<what>[\w -]+)"
)
_FOUND = match(
    rf"{I_HAVE}?(?:found|landed|got) (?P<what>an? (?:\w+ )?(?:job|flat|apartment|house|place|room|roommate"
    rf"|nanny)){WHEN}"
)


def being(clause: Clause) -> Iterator[Claim]:
    if _BORN.fullmatch(clause.text):
        yield Claim("is", "pregnant", False, True)
    for holds, pattern in ((True, _SEEKS), (False, _FOUND)):
        sought = pattern.fullmatch(clause.text)
        if sought is not None:
            yield Claim("seeking", value_of(sought["what"]), holds, clause.changes or not holds)
    ended = _IS_NOT.fullmatch(clause.text)
    if ended is not None:
        if ended["b"] or ended["more"] or "no longer" in clause.lower:
            yield Claim("is", value_of(named(ended, "a", "b")), False, True)
        return
    found = _IS.fullmatch(clause.text)
    if found is None:
        return
    if found["adjective"]:
        if found["adjective"].casefold() in _STATES:
            yield Claim("is", found["adjective"].casefold(), True, clause.changes)
        return
    value = value_of(found["a"])
    yield Claim("is", value, True, clause.changes)
    place = re.match(NAME, found["at"] or "")
    if place is None or value in _NO_WORK:
        return
    if value.endswith("student"):
        yield Claim("school", value_of(place[0]), True, clause.changes)
    else:
        yield Claim("job", value, True, clause.changes)
        yield Claim("employer", value_of(place[0]), True, False)


_STUDIES = match(
    rf"(?:i|i'm|i am)(?: now| currently)? (?:study|studying|go|going|enrolled)(?: [\w ]+)? (?:at"
    rf"|to) (?P<school>{NAME}){WHEN}"
)
_GRADUATED = match(rf"{I_HAVE}?(?:graduated from|dropped out of|finished at|left) (?P<school>{NAME}){WHEN}")
_SCHOOL = re.compile(r"\b(?:college|university|school|academy|institute|uni|polytechnic|mit|ucla)\b")


def school(clause: Clause) -> Iterator[Claim]:
    for pattern, holds in ((_STUDIES, True), (_GRADUATED, False)):
        found = pattern.fullmatch(clause.text)
        if found is not None and (_SCHOOL.search(found["school"].casefold()) or "graduated" in clause.lower):
            yield Claim("school", value_of(found["school"]), holds, clause.changes or not holds)
