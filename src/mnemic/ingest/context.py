"""What stands around a sentence: pasted text, play and fiction leave it out, a statement beside it keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from .pasted import announces, choices, letter, takes_line, transcript, works_on_it
from .rules import Verdict, Worth, out
from .sentences import TEXT, Sentence

_ANNOUNCING = ("request", "question", "talk_about_the_chat")
_ENDS_IN_COLON = re.compile(r"[:：]$")
_HEADING = re.compile(r"(?:\S+\s+){0,4}\S+:|\S{1,10}：")
_ABOUT_ME = re.compile(
    r".*\b(?:about (?:me|us|myself)|my (?:details|profile|situation|stats|info))\b.*:"
    r"|.*关于我.*[：:]|.*我的?(?:情况|信息|资料).*[：:]",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"\s*(?:[-*•·–—▪◦]|[(（]?\d{1,3}[.)）、])\s*\S")
_COUNTS = re.compile(r"(?:so )?how (?:many|much)\b|.*(?:多少|几[个只条人])", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_COURTESIES = ("greeting", "thanks", "acknowledgement")
_BY_REQUEST = ("request", "question")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence with its first words, the number of its line (blank ones not counted), and what it is."""

    sentence: Sentence
    text: str
    line: int
    verdict: Verdict

    @property
    def kept(self) -> bool:
        """Whether it is worth keeping so far."""
        return self.verdict.worth > Worth.OUT

    @property
    def is_text(self) -> bool:
        """Whether it is prose rather than a block."""
        return self.sentence.kind == TEXT


def in_context(pieces: Sequence[Piece]) -> list[Piece]:
    """The sentences of one message, each with what the others make of it."""
    return _beside_others(_without_sums(_within_modes(pieces)))


def _within_modes(pieces: Sequence[Piece]) -> list[Piece]:
    """Leave out what stands in pasted text, in a talk between others, and in play and fiction."""
    found: list[Piece] = []
    spoken = _spoken_lines(pieces)
    mode, from_line, in_list = "", 0, False
    for i, piece in enumerate(pieces):
        verdict = piece.verdict
        if mode == "quoted" and in_list and piece.is_text and not _LIST_ITEM.match(piece.text):
            mode = ""
        if piece.line in spoken:
            verdict = out("quoted")
        elif mode and piece.line >= from_line and piece.is_text:
            verdict = _under(mode, verdict)
        elif verdict.opens:
            mode, from_line, in_list = verdict.opens, 0, False
        if not mode and (verdict.reason in _ANNOUNCING or _ENDS_IN_COLON.search(piece.text)):
            below = pieces[i + 1] if i + 1 < len(pieces) else None
            where = announces(piece.text) or _hands_over_lines(piece, below)
            if where == "above" or (i and below is None and works_on_it(piece.text)):
                found = [_quoted(one) for one in found]
            elif where == "below" and below is not None and below.is_text:
                mode, from_line = "quoted", 0 if takes_line(piece.text) else piece.line + 1
                in_list = below.line > piece.line and _LIST_ITEM.match(below.text) is not None
        found.append(replace(piece, verdict=verdict))
    return found


def _hands_over_lines(piece: Piece, below: Piece | None) -> str:
    """A request that ends in a colon is about the lines below it, where they are no list of its conditions."""
    if piece.verdict.reason != "request" or not _ENDS_IN_COLON.search(piece.text) or below is None:
        return ""
    return "below" if below.line > piece.line and not _LIST_ITEM.match(below.text) else ""


def _under(mode: str, verdict: Verdict) -> Verdict:
    known = (*_BY_REQUEST, *_COURTESIES) if mode == "fiction" else _BY_REQUEST
    own = verdict.first_person if mode == "fiction" else False
    return verdict if own or verdict.reason in known else out(mode)


def _quoted(piece: Piece) -> Piece:
    return replace(piece, verdict=out("quoted")) if piece.kept else piece


def _spoken_lines(pieces: Sequence[Piece]) -> frozenset[int]:
    """The lines of pasted talk between others, of pasted letters and of lettered choices."""
    whole: dict[int, str] = {}
    for piece in pieces:
        text = piece.text if piece.is_text else ""
        whole[piece.line] = f"{whole[piece.line]} {text}" if piece.line in whole else text
    lines = list(whole.values())
    if len(lines) < 2:
        return frozenset()
    spans = [transcript(lines), letter(lines)]
    spoken = (line for span in spans if span for line in range(span[0], span[1] + 1))
    return frozenset(spoken) | choices(lines)


def _without_sums(pieces: Sequence[Piece]) -> Iterable[Piece]:
    """Leave out the first part of a sum ("I have 3 apples and eat 2. How many are left?")."""
    for i, piece in enumerate(pieces):
        after = pieces[i + 1] if i + 1 < len(pieces) else None
        asked = after is not None and after.verdict.reason == "question" and _COUNTS.match(after.text)
        if asked and piece.kept and not piece.verdict.personal and len(_NUMBER.findall(piece.text)) > 1:
            yield replace(piece, verdict=out("hypothetical"))
        else:
            yield piece


def _beside_others(given: Iterable[Piece]) -> list[Piece]:
    """Plain statements are kept beside one about the user, until a request or a question comes between."""
    pieces = list(given)
    found: list[Piece] = []
    near = about_me = False
    for i, piece in enumerate(pieces):
        before = pieces[i - 1].verdict if i else out("")
        after = pieces[i + 1].verdict if i + 1 < len(pieces) else out("")
        verdict = piece.verdict
        listed = _LIST_ITEM.match(piece.text) is not None
        about_me = _ABOUT_ME.fullmatch(piece.text) is not None or (about_me and listed)
        if piece.is_text and about_me and listed and verdict.reason != "question":
            verdict = replace(verdict, worth=Worth.SURE)
        if verdict.worth is Worth.SURE and (_HEADING.fullmatch(piece.text) or (about_me and not listed)):
            verdict, near = out("no_content"), True
        elif verdict.worth is Worth.SURE:
            near = True
        elif verdict.worth is Worth.PLAIN:
            near = near or _is_led(verdict, before, after)
            verdict = verdict if near else out("request" if before.reason == "request" else "no_content")
        elif verdict.reason in _BY_REQUEST:
            near = False
        found.append(replace(piece, verdict=verdict))
    return found


def _is_led(verdict: Verdict, before: Verdict, after: Verdict) -> bool:
    """Whether a plain statement goes on from a question about the user's own, or a sure one goes on from it."""
    if verdict.leans:
        return before.personal and before.reason in _BY_REQUEST
    return after.leans and after.worth is Worth.SURE
