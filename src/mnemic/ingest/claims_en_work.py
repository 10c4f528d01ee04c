"""Claims in English about what the speaker does for a living and learns: employer, profession, school."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_en import I_HAVE, LIMITED, LONG_AGO, NAME, NO_MORE, WHEN, Clause, match, named, value_of
from .jobs import is_job_en
from .rules import words

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
_NOT_THERE = rf"(?: now)?(?: (?:instead of|rather than|not|and not|no longer)(?: at| for| with)? {NAME})?"
_WORKS = match(
    rf"(?:i|i'm|i am)(?: (?:now|currently))? (?:work|working)(?: now)? (?:at|for) {_AT}{_AS}(?:{WHEN}|{_NOT_THERE})"
)
_JOINED = match(
    rf"(?:{I_HAVE}|and )?(?:left {NAME} (?:and joined|to join|for|and started (?:working )?at)|joined"
    rf"|started (?:working )?(?:at|with)|started (?:a|my)"
    rf"(?: new)? job (?:at|with)|(?:got|landed|took) (?:a|the)(?: new)? job (?:at|with)|got hired (?:at|by)"
    rf"|been hired by|was hired by|moved on to) {_AT}{_AS}{WHEN}"
)
# Who leaves in the evening comes back in the morning.
_FOR_GOOD = r"(?!.*\b(?:at \w+|last night|yesterday|on \w+day|early|late|o'clock|building|party|meeting)\b)"
_LEFT = match(
    rf"(?P<walked>{I_HAVE}?{_FOR_GOOD}left) (?P<e>{NAME}){WHEN}(?: (?:and|to) .*)?"
    rf"|{I_HAVE}?(?:quit|resigned from|got fired from|got laid off from|was fired from|was laid off from"
    rf"|(?:left|quit) my job (?:at|with)|handed in my notice at) (?P<a>{NAME}){WHEN}(?: (?:and|to) .*)?"
    rf"|(?:[\w ]+ )?was my last day (?:at|with) (?P<b>{NAME})"
    rf"|(?P<d>{NAME}) (?:let me go|fired me|laid me off|made me redundant|sacked me){WHEN}"
    rf"|(?:i no longer work|i don't work|i'm no longer working|i'm not working) (?:at|for) (?P<c>{NAME})(?:{NO_MORE})?"
    rf"|(?:i'm|i am) (?:no longer (?:at|with)|not (?:at|with)) (?P<f>{NAME})(?P<more>{NO_MORE})?"
)
_LEAVES = ("a", "b", "c", "d", "e", "f")
_EMPLOYER = match(
    rf"my(?P<new> new)? (?:employer|workplace) is(?P<now> now)? (?P<org>{NAME})(?: now)?"
    rf"|(?:i'm|i am) with (?P<with>{NAME} (?:inc|ltd|llc|plc|gmbh|corp|group|studios?|bank|insurance|consulting|labs"
    r"|systems|partners|logistics|robotics|industries|media|energy|airlines|university))(?P<since> now)?"
)
# What there is no employer with, and what ends every profession.
_NO_EMPLOYER = match(
    rf"(?:i'm|i am) (?:now )?(?P<how>unemployed|self-employed|freelance|freelancing|retired|out of work|jobless)"
    rf"(?P<now> now)?"
    rf"|{I_HAVE}?(?P<gone>gone|went) (?P<free>freelance|self-employed){WHEN}"
    rf"|{I_HAVE}?(?P<retired>retired)(?: from (?:work|my job))?(?: yesterday| last (?:week|month))?"
    r"|i (?P<lost>quit|lost|left) my (?:full-time )?job(?: yesterday| last week)?"
    r"|i (?:got|was) (?P<fired>fired|laid off|let go|made redundant)(?: yesterday| last week)?"
)
_ENDS_WORK = ("retired",)

# Joining is working there only where the sentence speaks of work: one joins clubs and services, too.
_JOB = match(
    r".*\b(?:left|quit|job|role|position|hired|offer|started|work|working|career|gig|team lead|resigned)\b"
)
_CLUB = re.compile(
    r"\b(?:gym|club|band|choir|church|class|course|league|party|group|discord|team|call|meeting|forum|society"
    r"|kickboxing|boxing|yoga|pilates|crossfit|fitness|dance|swimming|therapy|tennis|golf|football|climbing)\b"
)


def _speaks_of_work(clause: Clause) -> bool:
    return _JOB.match(clause.sentence) is not None and not _CLUB.search(clause.lower)


def employer(clause: Clause) -> Iterator[Claim]:
    works = None if clause.fresh else _WORKS.fullmatch(clause.text)
    if works is not None:
        since_now = re.search(r"\bnow\b", clause.lower) is not None
        yield from _works(works, joined=since_now, changes=clause.changes, recent=_recent(clause))
        return
    joined = _JOINED.fullmatch(clause.text)
    at_work = joined is not None and (joined["title"] or _speaks_of_work(clause))
    if joined is not None and at_work and not _SCHOOL.search(clause.lower):
        yield from _works(joined, joined=True, changes=True, recent=_recent(clause))
    left = _LEFT.fullmatch(clause.text)
    if left is not None and not (left["walked"] and clause.fresh):
        org = value_of(named(left, *_LEAVES))
        told = left["f"] is None or bool(left["more"]) or "no longer" in clause.lower
        kinds = ("employer", "workplace", "school") if left["f"] else ("employer", "workplace")
        yield from (Claim(kind, org, False, True) for kind in kinds if told)
    stated = None if clause.fresh else _EMPLOYER.fullmatch(clause.text)
    if stated is not None:
        told = stated["org"] is not None or bool(stated["since"])
        yield Claim("employer", value_of(named(stated, "org", "with")), True, told)
    without = _NO_EMPLOYER.fullmatch(clause.text)
    if without is not None and not (clause.fresh and without["how"]):
        told = without["how"] is None or without["now"] is not None or clause.changes
        kinds = (
            "employer",
            "workplace",
            *(("job",) if named(without, *_ENDS_WORK, "how") == "retired" else ()),
        )
        yield from (Claim(kind, "", False, told) for kind in kinds)


def _recent(clause: Clause) -> bool:
    return not LONG_AGO.search(clause.text)


def _works(found: re.Match[str], *, joined: bool, changes: bool, recent: bool) -> Iterator[Claim]:
    """What working somewhere says: of an employer with a name, or of a kind of place that may be one with a name."""
    org = value_of(named(found, "called", "org"))
    if _BRANCH.fullmatch(found["org"] or ""):
        return
    plain = found["called"] is None and re.fullmatch(NAME, found["org"]) is None
    if not plain or joined:
        yield Claim("employer", org, True, recent)
    if plain or joined:
        yield Claim("workplace", org, True, recent and changes)
    if found["title"]:
        yield from job(found["title"], changes=changes, certain=True)
        yield Claim("is", value_of(found["title"]), True, changes)


_TITLE = match(r"my(?P<new> new)? (?:job title|title|role|position|job) is(?P<now> now)? (?P<title>[\w -]+?)")
_WORKS_AS = match(
    r"(?:i|i'm|i am)(?P<now> now)? (?:work|working) (?:full-time )?as an? (?P<title>[\w -]+?)(?P<later> now)?"
)
_PROMOTED = match(
    rf"(?:{I_HAVE}|(?:i|i've) )?(?:got|been|was|am) promoted to (?:the )?(?:position of )?(?P<title>[\w -]+?)"
    rf"(?: at {NAME})?{WHEN}"
    rf"|(?:{I_HAVE}|i )?(?:started working |got hired )as an? (?P<started>[\w -]+?)"
    rf"(?: (?:at|for|with) {NAME})?{WHEN}"
)
_NO_JOB = match(
    rf"(?:i no longer work|i don't work|i'm no longer working) as an? (?P<a>[\w -]+?)(?:{NO_MORE})?"
    rf"|(?:[\w ]+ )?was my last day as an? (?P<b>[\w -]+)"
    rf"|{I_HAVE}?(?:stopped working|quit working|resigned|stepped down) as (?:an?|the) (?P<c>[\w -]+?){WHEN}"
)


_POSITION = re.compile(r"\b(?:lead|head|chief|vp|partner|deputy|officer|senior|junior)\b", re.IGNORECASE)
# One of several houses of one employer.
_BRANCH = re.compile(r"(?i:the) [A-Z]\w+ (?:office|branch|store|shop|warehouse|site|campus|station)")


def job_title(clause: Clause) -> Iterator[Claim]:
    promoted = _PROMOTED.fullmatch(clause.text)
    title = named(promoted, "title", "started") if promoted else ""
    known = is_job_en(value_of(title)) or _POSITION.search(title)
    if title and known and not LIMITED.search(title) and not LONG_AGO.search(clause.text):
        yield from job(title, changes=True, certain=True)
    ended = _NO_JOB.fullmatch(clause.text)
    if ended is not None:
        value = value_of(named(ended, "a", "b", "c"))
        yield from (Claim(kind, value, False, True) for kind in ("job", "is"))
    for pattern in () if clause.fresh else (_TITLE, _WORKS_AS):
        found = pattern.fullmatch(clause.text)
        if found is not None:
            told = any(found.groupdict().get(one) for one in ("new", "now", "later"))
            sure = pattern is _TITLE or told or _is_new_work(clause)
            yield from job(found["title"], changes=clause.changes or told, certain=sure)


def job(title: str, *, changes: bool, certain: bool) -> Iterator[Claim]:
    """What a title says of the speaker's job.

    certain: whether they live by it; else it is taken for their job by its name, and changes only what they are
    called in it ("junior accountant", "senior accountant").
    """
    value = value_of(title)
    if certain or is_job_en(value):
        yield Claim("job", value, True, changes and certain)
    if is_job_en(value):
        yield Claim(f"role:{value.split()[-1]}", value, True, changes)


_IS = match(
    r"(?:i'm|i am)(?: now)? (?:(?P<a>an? [\w -]+?)(?: (?:at|for|with) (?P<at>.+?))?"
    r"|(?P<adjective>[\w-]+))(?P<now> now)?"
)
_IS_NOT = match(
    rf"(?:i'm|i am) (?:no longer|not) (?P<a>(?:an? |the )?[\w-]+(?: (?!anymore\b)[\w-]+)?)(?P<more>{NO_MORE})?"
    r"|(?:(?:i|i've|i have) )?(?:gave up|given up|stopped|quit) being (?:an? )?(?P<b>[\w-]+)(?: .*)?"
)
_NO_WORK = words("volunteer member regular guest patient customer fan speaker mentor subscriber visitor")
_NO_BEING = re.compile(r"(?:at|in|on|with|for|there|here|sure|going|done)\b")
_STATES = words(
    "vegetarian vegan pescatarian unemployed retired pregnant diabetic left-handed religious sober celiac gluten-free"
    " freelance"
)
_NEW_WORK = re.compile(
    r"\b(?:promoted|promotion|new job|careers?|retrained|requalified|quit|switched jobs|changed jobs|left my job"
    r"|these days|instead)\b"
)


def _is_new_work(clause: Clause) -> bool:
    return _NEW_WORK.search(clause.sentence.casefold()) is not None


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
    found = _FOUND.fullmatch(clause.text)
    if found is not None:
        yield Claim("seeking", value_of(found["what"]), False, True)
    if clause.fresh:
        return
    sought = _SEEKS.fullmatch(clause.text)
    if sought is not None:
        yield Claim("seeking", value_of(sought["what"]), True, clause.changes)
    ended = _IS_NOT.fullmatch(clause.text)
    if ended is not None:
        told = ended["b"] or ended["more"] or "no longer" in clause.lower
        value = value_of(named(ended, "a", "b"))
        if told and not _NO_BEING.match(value):
            yield from (Claim(kind, value, False, True) for kind in ("is", "job"))
        return
    yield from _is(clause)


def _is(clause: Clause) -> Iterator[Claim]:
    found = _IS.fullmatch(clause.text)
    if found is None:
        return
    if found["adjective"]:
        if found["adjective"].casefold() in _STATES:
            yield Claim("is", found["adjective"].casefold(), True, clause.changes)
        return
    value = value_of(found["a"])
    yield Claim("is", value, True, clause.changes)
    place = re.match(rf"(?:the )?({NAME})", found["at"] or "")
    if value in _NO_WORK:
        return
    if value.endswith("student"):
        if place is not None:
            yield Claim("school", value_of(place[1]), True, clause.changes)
    else:
        yield from job(value, changes=clause.changes, certain=place is not None or _is_new_work(clause))
    if place is not None and not value.endswith("student"):
        yield Claim("employer", value_of(place[1]), True, False)


_STUDIES = match(
    rf"(?:i|i'm|i am)(?: now| currently)? (?:study|studying|go|going|enrolled)(?: [\w ]+)? (?:at"
    rf"|to) (?:the )?(?P<school>{NAME}){WHEN}"
    rf"|(?:i|i'm|i am)(?: now| currently)? (?:take|taking|do|doing) (?:[\w-]+ ){{0,3}}(?:classes|courses"
    r"|a course|a degree"
    rf"|my \w+|an? \w+ degree) at (?:the )?(?P<classes>{NAME}){WHEN}"
)
_GRADUATED = match(
    rf"{I_HAVE}?(?:graduated from|dropped out of|finished (?:my (?:degree|studies|master's|bachelor's|phd) )?at"
    rf"|(?P<left>{_FOR_GOOD}left)) (?P<school>{NAME}){WHEN}"
    rf"|(?:{I_HAVE}|i |i was )?(?:got |been )?(?:expelled|kicked out) (?:from|of) (?P<expelled>{NAME}){WHEN}"
)
_NO_SCHOOL = match(
    r"(?:i've|i have)(?: just| finally| officially)? graduated|i(?: just| finally)? graduated(?: yesterday| last week)"
    r"|(?:i|i've|i have)(?: just)? (?:quit|dropped out of|left) (?:school|university|college|uni)(?: for good)?"
)
_TRANSFERRED = match(
    rf"{I_HAVE}?(?:transferred|switched|changed|moved)(?: schools)?(?: from (?P<old>{NAME}))? to (?P<new>{NAME})"
    rf"(?:{WHEN}| because .*)"
)
_SCHOOL = re.compile(
    r"\b(?:college|university|school|academy|institute|uni|polytechnic|mit|ucla|campus|lycee)\b"
)


def school(clause: Clause) -> Iterator[Claim]:
    for pattern, holds in ((_STUDIES, True), (_GRADUATED, False)):
        found = pattern.fullmatch(clause.text)
        if found is None or (holds and clause.fresh):
            continue
        name = named(found, *(group for group in pattern.groupindex if group != "left"))
        sure = _SCHOOL.search(
            clause.sentence.casefold() if found.groupdict().get("left") else name.casefold()
        ) or re.search(r"\b(?:graduated|dropped|expelled|kicked)\b", clause.lower)
        if sure:
            yield Claim("school", value_of(name), holds, clause.changes or not holds)
    if _NO_SCHOOL.fullmatch(clause.text):
        yield Claim("school", "", False, True)
    moved = _TRANSFERRED.fullmatch(clause.text)
    if moved is not None and _SCHOOL.search(clause.sentence.casefold()) and not LONG_AGO.search(clause.text):
        yield Claim("school", value_of(moved["new"]), True, True)
        if moved["old"]:
            yield Claim("school", value_of(moved["old"]), False, True)
