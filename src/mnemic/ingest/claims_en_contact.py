"""Claims in English about how the speaker is reached: phone, landline, e-mail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_en import I_HAVE, NO_MORE, WHEN, Clause, match, named

PHONE = r"[+\d(][\dx().\- ]{4,}\d"
EMAIL = r"[\w.+%-]+@[\w.-]+\w"
_MY_PHONE = match(
    r"my(?: new)? (?:(?P<land>land ?line)|(?:phone|cell|mobile|cellphone|telephone)(?: phone)?|number)(?: number)?"
    rf"(?: is|'s| has changed to| changed to)(?: now)? (?P<phone>{PHONE})(?: now)?"
)
_CHANGED_TO = match(
    rf"{I_HAVE}?(?:changed|switched) my (?:phone |cell |mobile )?number(?: from {PHONE})? to (?P<phone>{PHONE}){WHEN}"
)
_REACHED = match(
    rf"(?:you can )?(?:reach|call|text) me (?:on|at) (?P<phone>{PHONE})(?P<now> from now on| instead)?"
)
_NEW_PHONE = match(rf"(?:i'm|i am)(?: now)? on (?P<phone>{PHONE})(?: now)?")
_MY_EMAIL = match(
    rf"my(?: new)? e-?mail(?: address)?(?: is| has changed to| changed to)(?: now)? (?P<email>{EMAIL})(?: now)?"
    rf"|{I_HAVE}?(?:changed|switched) my e-?mail(?: address)?(?: from {EMAIL})? to (?P<to>{EMAIL}){WHEN}"
    rf"|i use (?P<use>{EMAIL}) (?:for|as my) (?:my )?e-?mails?"
)
_GONE = (
    r"(?:no longer works|doesn't work|isn't valid|is no longer (?:valid|mine|in use|active)"
    r"|is (?:dead|gone|disconnected))"
)
_NO_CONTACT = match(
    rf"{I_HAVE}?(?:don't use|no longer use|stopped using|got rid of|deleted|closed|abandoned|shut down|gave up)"
    rf" (?:my (?:old )?(?:e-?mail |e-?mail address |account )?)?(?P<a>{EMAIL}|{PHONE})(?:{NO_MORE})?{WHEN}"
    rf"|(?:my old (?:number|e-?mail(?: address)?) )?(?P<b>{EMAIL}|{PHONE}) {_GONE}(?:{NO_MORE})?"
    rf"|i no longer have (?:the |my )?(?:old )?number (?P<c>{PHONE})"
)
_NO_LANDLINE = match(
    rf"{I_HAVE}?(?:cancelled|canceled|got rid of|gave up|disconnected|dropped) (?:the|my|our) land ?line{WHEN}"
)


def contact(clause: Clause) -> Iterator[Claim]:
    gone = _NO_CONTACT.fullmatch(clause.text)
    if gone is not None:
        value = named(gone, "a", "b", "c")
        if "@" in value:
            yield Claim("email", value.casefold(), False, True)
        else:
            yield from (Claim(kind, digits(value), False, True) for kind in ("phone", "landline"))
    if _NO_LANDLINE.fullmatch(clause.text):
        yield Claim("landline", "", False, True)
    if clause.fresh:
        return
    phone, reached = _MY_PHONE.fullmatch(clause.text), _REACHED.fullmatch(clause.text)
    if phone is not None:
        told = clause.changes or "number" in clause.lower or bool(phone["land"])
        yield Claim("landline" if phone["land"] else "phone", digits(phone["phone"]), True, told)
    changed = _CHANGED_TO.fullmatch(clause.text)
    if changed is not None:
        yield Claim("phone", digits(changed["phone"]), True, True)
    if reached is not None:
        yield Claim("phone", digits(reached["phone"]), True, bool(reached["now"]))
    email = _MY_EMAIL.fullmatch(clause.text)
    if email is not None:
        yield Claim("email", named(email, "email", "to", "use").casefold(), True, email["use"] is None)


_ABOUT_PHONE = re.compile(r"\b(?:(?:my|new|phone|cell|mobile) number|(?:new|my) sim)\b")
_ABOUT_EMAIL = re.compile(r"\be-?mail\b|@")
_NEW_ONE = match(
    rf"(?:{I_HAVE}?(?:got|have) a |my )new (?:(?:phone|cell|mobile|cellphone) )?"
    r"(?P<what>number|e-?mail(?: address)?)"
)
_NOT_MINE = re.compile(
    r"\b(?:work|office|business|second|his|her|their|case|plate|flight|extra|spare|order|school)\b"
)
_IT_IS = match(
    rf"(?:it(?:'s| is)|(?:my|the) new (?:one|number) is)(?: now)? [\"']?"
    rf"(?:(?P<phone>{PHONE})|(?P<email>{EMAIL}))[\"']?(?: now)?"
)
_REACHED_NOW = match(rf"(?:you can )?(?:reach|call|text) me (?:on|at) (?P<phone>{PHONE}) now")
_ITSELF = match(rf"(?P<phone>{PHONE})|(?P<email>{EMAIL})")


def contact_across(first: Clause, second: Clause) -> Iterator[Claim]:
    """The number or address that a second clause tells, of what a first one said that it is new or has changed."""
    if _NOT_MINE.search(second.sentence.casefold()):
        return
    new, itself = _NEW_ONE.fullmatch(first.text), _ITSELF.fullmatch(second.text)
    said = [pattern.fullmatch(second.text) for pattern in (_IT_IS, _NEW_PHONE, _REACHED_NOW)]
    told = itself if new is not None else next((found for found in said if found is not None), None)
    if told is None or not second.changes:
        return
    phone, email = told["phone"], told.groupdict().get("email")
    if phone and _ABOUT_PHONE.search(first.lower):
        yield Claim("phone", digits(phone), True, True)
    elif email and _ABOUT_EMAIL.search(first.lower):
        yield Claim("email", email.casefold(), True, True)


def digits(phone: str) -> str:
    return re.sub(r"[^\d+x]", "", phone)
