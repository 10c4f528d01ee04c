"""Claims in English about what the speaker has, does, likes and plans."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_en import DIGIT, I_HAVE, LIMITED, LONG_AGO, NAME, NO_MORE, WHEN, Clause, match, named, value_of
from .rules import words

_KIN = words(
    """mom mum mother dad father brother sister son daughter partner friend boss colleague neighbor neighbour cousin
    aunt uncle grandma grandpa grandmother grandfather kid kids parents uncle nephew niece ex coworker landlord
    roommate flatmate"""
)
_ANIMAL = (
    r"(?:dog|cat|hamster|parrot|rabbit|bunny|guinea pig|horse|pony|goldfish|fish|bird|turtle|tortoise|snake"
    r"|lizard|puppy"
    r"|kitten|ferret|budgie|canary|rat|gecko|chicken|hen|goat)"
)
HAS = match(
    r"(?:i|we)(?: now| still)? (?:have|own|drive|got)(?: got)? (?P<what>(?:a|an|one|two|three|\d+) [\w' &-]+?)"
    rf"(?: (?:called|named) (?P<name>{NAME}))?"
)
_MY_ANIMAL = match(
    rf"(?:my|our) (?P<what>{_ANIMAL}),? (?P<name>{NAME})(?: (?:is|has|loves|likes|hates|sleeps|eats)\b.*)?"
)
_PET = match(rf"(?:my|our) (?P<what>[\w ]+?) (?:is|'s) (?:called|named) (?P<name>{NAME})")
_LOST = match(
    rf"{I_HAVE}?(?:sold|got rid of|gave away|given away|donated|scrapped"
    rf"|returned) (?P<a>[\w' &-]+?)(?: to [\w' ]+)?{WHEN}(?: and .*)?"
    rf"|{I_HAVE}?rehomed (?P<f>[\w' &-]+?){WHEN}"
    rf"|{I_HAVE}?(?:traded in|swapped|replaced) (?P<d>[\w' &-]+?) (?:for|with) (?P<for>[\w' &-]+?){WHEN}"
    r"|(?:the|my|our) (?P<e>[\w' &-]+?)(?:'s| is) gone"
    r"|(?:i|we) no longer (?:have|own|drive) (?P<b>[\w' &-]+)"
    rf"|(?:i|we) don't (?:have|own|drive) (?P<c>[\w' &-]+?){NO_MORE}"
)
_DIED = match(
    rf"(?:my|our) (?:(?:poor|sweet|dear|beloved) )?(?P<what>{_ANIMAL})(?: (?P<name>{NAME}))? (?:died|passed away"
    rf"|was put down|got put down){WHEN}"
    rf"|(?P<name3>{NAME}) (?:died|passed away|was put down|got put down){WHEN}"
    rf"|(?:we|i)(?: had to)? put (?:my|our) (?P<what2>{_ANIMAL})(?: (?P<name2>{NAME}))? down{WHEN}"
    rf"|(?:we|i)(?: had to)? put (?P<name4>{NAME}) down{WHEN}"
)


_OTHER_ONE = re.compile(r"\b(?:old|other|spare|first|ex|extra)\b")
_LOSSES = ("a", "b", "c", "d", "e", "f")


def _brand(text: str) -> tuple[str, ...]:
    """The first word of a name of several, by which a thing is often called: the Triumph, of a Triumph Bonneville."""
    name = re.search(rf"{NAME}$", text)
    return (name[0].split()[0],) if name and " " in name[0] else ()


_GIVES_NAME = re.compile(r"(?<!^)\b(?!I\b)[A-Z]\w+|\b(?:called|named|name)\b")


def possession(clause: Clause) -> Iterator[Claim]:
    for found in (pattern.fullmatch(clause.text) for pattern in (HAS, _PET, _MY_ANIMAL)):
        what = found["what"].casefold() if found else ""
        if found is not None and not set(what.split()) & _KIN and not LIMITED.search(what):
            held = (found["what"], found["name"] or "", *_brand(found["what"]))
            yield from (Claim("has", value_of(one), True, clause.changes) for one in held if value_of(one))
            if not found["name"] and not _GIVES_NAME.search(clause.sentence):
                yield Claim("unnamed", value_of(what), True, False)


def ended(clause: Clause) -> Iterator[Claim]:
    """What the speaker has no longer: things that went, animals that died."""
    lost = _LOST.fullmatch(clause.text)
    doubt = LONG_AGO.search(clause.text) or _OTHER_ONE.search(clause.lower)
    if lost is not None and not doubt and not LIMITED.search(named(lost, *_LOSSES).casefold()):
        yield Claim("has", value_of(named(lost, *_LOSSES)), False, True)
        yield Claim("habit:keep", value_of(named(lost, *_LOSSES)), False, True)
        if lost["for"]:
            yield Claim("has", value_of(lost["for"]), True, True)
    died = _DIED.fullmatch(clause.text)
    if died is not None:
        kind, name = named(died, "what", "what2"), named(died, "name", "name2", "name3", "name4")
        if name:
            yield Claim("has", value_of(name), False, True)
        if kind:
            # A name tells which of several it was; one that was never told a name may be it.
            yield Claim("unnamed" if name else "has", value_of(kind), False, True)


_HABITS = {
    "eat": "eat eating", "drink": "drink drinking", "smoke": "smoke smoking vape vaping", "play": "play playing",
    "use": "use using", "wear": "wear wearing", "watch": "watch watching",
    "learn": "learn learning study studying take taking", "drive": "drive driving", "ride": "ride riding",
    "train": "train training", "teach": "teach teaching", "read": "read reading", "run": "run running",
    "swim": "swim swimming", "bake": "bake baking", "sing": "sing singing", "dance": "dance dancing",
    "collect": "collect collecting", "volunteer": "volunteer volunteering", "bike": "bike biking cycle cycling",
    "do": "do doing practice practise practicing practising", "go": "go going attend attending",
    "rent": "rent renting", "subscribe": "subscribe subscribing", "keep": "keep keeping", "own": "own owning",
}  # fmt: skip
_BASE = {form: base for base, forms in _HABITS.items() for form in forms.split()}
_VERB = rf"(?P<verb>{'|'.join(sorted(_BASE, key=len, reverse=True))})"
_THING = re.compile(r"[\w'&.+#-]+(?: [\w'&.+#-]+){0,4}")


_DOES = match(
    rf"(?:i|we|i'm|i am)(?: (?:now|usually|always|still|mostly|normally|currently|often))? {_VERB}(?: (?P<what>.+))?"
)
_DOES_NOT = match(
    rf"(?:i|we)(?: (?:don't|do not)(?: really)?(?P<plain>)| no longer) {_VERB}(?: (?P<what>.+?))?(?P<more>{NO_MORE})?"
    rf"|(?:{I_HAVE})?(?:stopped|quit|gave up|given up) (?P<verb2>[a-z]+ing)"
    rf"(?: (?P<what2>.+?))?{WHEN}(?: (?:at all|altogether|for good|completely))?"
)
_GIVEN_UP = match(
    rf"{I_HAVE}?(?:gave up|given up|dropped out of|pulled out of|withdrew from|quit|cancelled"
    rf"|canceled) (?P<what>(?:(?:the|my|our) )?[\w' &-]+?){WHEN}"
)
_SWITCHED = match(
    rf"{I_HAVE}?(?:switched|changed|migrated|moved) (?:(?:my|our) (?P<of>[\w ]+?) )?(?:over )?from "
    rf"(?P<old>[\w' &.+#-]+?) to (?P<new>[\w' &.+#-]+?){WHEN}"
)
# What limits a habit to an occasion: one that holds is kept without it, one that ended says nothing.
_OCCASION = re.compile(r"\s+(?:at|on|in|before|after|during|with|when)\s.*$")
_SERVICE = re.compile(r"\s+(?:membership|subscription|account|contract|classes|lessons)$")
_SMOKED = re.compile(r"(?:cigarettes?|cigars?|pipe|weed|tobacco|pot|pack|smokes|packs?)")
_WITHOUT_OBJECT = frozenset(("eat", "drink", "run", "swim", "drive", "bike", "sing", "dance"))
_TOWARDS = re.compile(r"^(?:for|to)\s+")


def habit(clause: Clause) -> Iterator[Claim]:
    ended = _DOES_NOT.fullmatch(clause.text)
    if ended is not None:
        base = _BASE.get(named(ended, "verb", "verb2").casefold(), "")
        what = _object(base, named(ended, "what", "what2"))
        told = ended["plain"] is None or bool(ended["more"])
        if base and what is not None:
            yield Claim(f"habit:{base}", what, False, told)
        return
    given_up = _GIVEN_UP.fullmatch(clause.text) or _SWITCHED.fullmatch(clause.text)
    if given_up is not None:
        groups = given_up.groupdict()
        what = _object("", groups.get("what") or groups.get("old") or "")
        begun = _object("", groups["new"]) if groups.get("new") else ""
        if what and begun is not None and not LONG_AGO.search(clause.text):
            ended_values = dict.fromkeys((what, _SERVICE.sub("", what)))
            yield from (Claim("activity", one, False, True) for one in ended_values)
            if begun:
                yield Claim("habit:use", begun, True, True)
        return
    does = _DOES.fullmatch(clause.text)
    if does is not None:
        base = _BASE[does["verb"].casefold()]
        what = _object(base, _OCCASION.sub("", does["what"] or ""))
        if what is not None:
            yield Claim(f"habit:{base}", what, True, clause.changes)
            yield from [Claim("activity", what, True, False)] if what else []


def _object(base: str, text: str) -> str | None:
    """What a habit is about, or None where the words limit it to an occasion or say something else."""
    if base in ("train", "go"):
        text = _TOWARDS.sub("", text)
    value = value_of(text, often=True)
    if base == "smoke":
        return "" if not value or _SMOKED.fullmatch(value) else None
    if not value:
        return "" if base in _WITHOUT_OBJECT and not text else None
    return value if _THING.fullmatch(value) and not LIMITED.search(value) else None


_DISLIKES = ("hate", "dislike", "detest", "can't stand", "loathe")
_LIKES = match(
    r"(?:(?:i|we)(?: (?:really|absolutely|actually|still|now|just|quite|have come to|have grown to))?"
    r"|(?:i've|i have|we've) (?:come|grown|started|learned|learnt) to) (?P<verb>like|love"
    rf"|enjoy|adore|hate|dislike|detest|loathe|can't stand) (?P<what>.+?)(?P<more> now|{NO_MORE})?"
)
_LIKES_NOT = match(
    rf"(?:i|we) (?:no longer|don't)(?: really)? (?P<verb>like|love|enjoy|hate|dislike|mind) (?P<what>.+?)"
    rf"(?P<more>{NO_MORE})?"
)
_WENT_OFF = match(
    rf"{I_HAVE}?(?:gone|went) (?:(?:right|completely|totally) )?off (?P<a>.+?){WHEN}"
    rf"|{I_HAVE}?(?:lost (?:interest in|my taste for)"
    rf"|fallen out of love with|got bored of|grown out of|stopped (?:liking|loving|enjoying)) (?P<b>.+?){WHEN}"
    rf"|(?:i'm|i am) (?:no longer|not) (?:into|a fan of|fond of|keen on) (?P<c>.+?)(?P<more>{NO_MORE})?"
)
_TURNED_OFF = match(
    r"(?:.*[,;.] )?i used to (?:like|love|enjoy|adore) (?P<what>[\w' &-]+?),? but(?: not any ?more|(?: now)? i"
    r"(?: don't(?: (?:like|love|enjoy) it)?(?: any ?more| any longer)| no longer do| hate it(?: now)?"
    r"| can't stand it(?: now)?))"
    r"(?:[,;.!].*)?"
)


def liking(clause: Clause) -> Iterator[Claim]:
    off = _WENT_OFF.fullmatch(clause.text)
    if off is not None:
        told = off["c"] is None or bool(off["more"]) or "no longer" in clause.lower
        yield from _likes(named(off, "a", "b", "c"), False, told)
        return
    denied = _LIKES_NOT.fullmatch(clause.text)
    found = denied or _LIKES.fullmatch(clause.text)
    if found is None:
        return
    told = (
        bool(found["more"])
        or re.match(r"(?:i|we)(?:'ve)? (?:no longer|now|have|come|grown|started|learn)", clause.lower)
        is not None
    )
    what = _object("", found["what"])
    if found["verb"].casefold() not in _DISLIKES:
        yield from _likes(found["what"], denied is None, told)
    elif what:
        yield Claim("dislikes", what, denied is None, told)
        if denied is None:
            yield Claim("likes", what, False, told)


def turned_off(sentence: str) -> Iterator[Claim]:
    """What a whole sentence says was liked, and is not any more."""
    found = _TURNED_OFF.fullmatch(sentence.replace("’", "'").strip())
    if found is not None:
        yield from _likes(found["what"], False, True)


def _likes(what: str, holds: bool, told: bool) -> Iterator[Claim]:
    value = _object("", what)
    if value:
        yield Claim("likes", value, holds, told)
        if holds and told:
            yield Claim("dislikes", value, False, True)


_MY = match(r"(?:my|our) (?P<what>[\w -]+?) is(?P<now> now)? (?P<value>[^;:!?()]+?)(?P<later> now)?")
_CHANGED_MY = match(
    rf"{I_HAVE}?(?:changed|switched) my (?P<what>[\w -]+?)(?: from [\w' ]+?)? to (?P<value>[\w'&.+#-]+"
    rf"(?: [A-Z]\w+)*)(?: (?:after|when|because) .*)?{WHEN}"
)
_WEIGHS = match(
    r"i(?: now)? weigh(?: about| around)? (?P<value>\d[\d.]*) ?(?P<unit>kilos?|kgs?|pounds|lbs|stone)(?: now)?"
)
_CLOSED_ACCOUNT = match(rf"{I_HAVE}?closed my (?P<value>{NAME}) (?:bank )?account{WHEN}")
_BANKS = match(rf"(?:i |and )?bank with (?P<value>{NAME})(?: now)?")
_IS_MY = match(
    rf"(?P<value>{NAME})(?: is|'s)(?P<no>n't| no longer| not)?(?: now)? (?:my"
    rf"|our) (?P<what>[\w -]+?)(?P<more> now|{NO_MORE})?"
)
_REPORTS = match(rf"i(?: now)? report to (?P<value>{NAME})(?: now)?")
_CHOSEN = ("favorite", "favourite", "main", "primary", "native", "preferred", "default", "current", "usual")
_OWN_READER = frozenset(
    (
        *(
            "email",
            "e-mail",
            "email address",
            "e-mail address",
            "phone number",
            "number",
            "phone",
            "cell",
            "mobile",
        ),
        *(
            "landline",
            "name",
            "full name",
            "surname",
            "last name",
            "family name",
            "employer",
            "home",
            "address",
            "age",
        ),
        *("birthday", "wife", "husband", "divorce"),
    )
)
_BOSS = words("manager boss supervisor line-manager")


def mine(clause: Clause) -> Iterator[Claim]:
    found = _MY.fullmatch(clause.text)
    if found is not None:
        what = found["what"].casefold()
        told = clause.changes or bool(found["now"] or found["later"])
        value = value_of(found["value"])
        told_value = DIGIT.search(value) or re.fullmatch(NAME, found["value"]) or what.startswith(_CHOSEN)
        if told_value and not set(what.split()) & (_KIN - _BOSS) and what not in _OWN_READER and value:
            yield Claim(f"my:{_role(what)}", value, True, told)
    inverted = _IS_MY.fullmatch(clause.text)
    if inverted is not None:
        denied = bool(inverted["no"])
        if not denied or inverted["more"] or "no longer" in clause.lower:
            told = denied or clause.changes
            yield Claim(
                f"my:{_role(inverted['what'].casefold())}", value_of(inverted["value"]), not denied, told
            )
    changed = _CHANGED_MY.fullmatch(clause.text)
    if changed is not None:
        yield Claim(f"my:{_role(changed['what'].casefold())}", value_of(changed["value"]), True, True)
    for what, pattern in (("weight", _WEIGHS), ("bank", _BANKS)):
        stated = pattern.fullmatch(clause.text)
        if stated is not None:
            yield Claim(f"my:{what}", stated["value"].casefold(), True, clause.changes)
    closed = _CLOSED_ACCOUNT.fullmatch(clause.text)
    if closed is not None:
        yield Claim("my:bank", closed["value"].casefold(), False, True)
    reports = _REPORTS.fullmatch(clause.text)
    if reports is not None:
        yield Claim("my:manager", value_of(reports["value"]), True, clause.changes)


def _role(what: str) -> str:
    bare = what.removeprefix("new ").strip()
    return "manager" if bare in _BOSS else bare


_DATED = match(
    r"(?:the|my|our) (?P<what>[\w ]+?) is (?:on|set for|scheduled for) (?P<when>[\w ,]+\d\w*|\w+day)"
)
_POSTPONED = match(
    r"(?:(?:i|we|i've|we've)(?: had to| have)? )?(?:postponed|moved|pushed|rescheduled|shifted"
    r"|brought forward) (?:back )?(?:the|my|our)"
    r" (?P<what>[\w ]+?)(?: from (?P<old>[\w ,]+?))? to (?P<when>[\w ,]*\d\w*|\w+day)"
)


_GOING = match(
    rf"(?:i'm|i am|we're|we are) (?:going|flying|travell?ing|driving) to (?P<where>{NAME})(?: (?:in|on|for|with) .*)?"
)
_CALLED_OFF = match(
    rf"{I_HAVE}?(?:cancelled|canceled|called off|scrapped) (?:the|our|my) (?:(?P<a>{NAME}) (?:trip|holiday|vacation)"
    rf"|(?:trip|holiday|vacation) to (?P<b>{NAME})){WHEN}"
)


def plan(clause: Clause) -> Iterator[Claim]:
    going = _GOING.fullmatch(clause.text)
    if going is not None:
        yield Claim("plan", value_of(going["where"]), True, clause.changes)
    off = _CALLED_OFF.fullmatch(clause.text)
    if off is not None:
        yield Claim("plan", value_of(named(off, "a", "b")), False, True)


def date(clause: Clause) -> Iterator[Claim]:
    for pattern, changes in ((_DATED, False), (_POSTPONED, True)):
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim(
                f"date:{found['what'].casefold()}", value_of(found["when"]), True, changes or clause.changes
            )
