"""Cutting a message into sentences and blocks, as exact spans.

A sentence ends at a sentence end of any script or at a line break; code, logs, data, `>`-quoted mail and
described images stay whole. Nothing is lost: every character that is not white space lies in exactly one piece.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from .blocks import FENCE, line_kinds
from .rules import words

TEXT = "text"


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters [start, end) of a message, white space trimmed; kind is text, code, log, quote or image."""

    start: int
    end: int
    kind: str = TEXT


# Titles stand before a name and never end a sentence; the others may, before a capital letter.
_TITLES = words(
    "dr mr mrs ms mx prof st sra sr hr fr mme mlle mgr rev hon gen col sgt capt lt gov sen rep pres vs cf"
    " approx ca bzw ggf evtl inkl tel mt e.g i.e z.b d.h u.a eg viz resp"
)
_ABBREVIATIONS = words(
    "a.m p.m am pm etc jr inc ltd co corp dept u.s u.k u.s.a d.c ph.d b.a m.a b.sc m.sc usw apt ave blvd rd mt ft"
    " sq oz lb lbs min max hr hrs jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur"
    " thurs fri sat sun т.е т.д т.п г ул q.b p.s p.p s.t no al est misc temp y.o"
)
_MONTHS_DE = re.compile(
    r"\s(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef\u3000-\u303f"
_EMOJI = r"(?:[\U0001F000-\U0001FAFF\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\u200d\ufe0f\u20e3])"
_CLOSERS = "\"'”’»)\\]）」』】〉》"
# An end: a run of terminators, the closing signs after it and any emoji that belong to it.
_END = re.compile(
    rf"(?P<mark>[.!?…。！？｡؟۔।॥։።။។]+)(?P<close>[{_CLOSERS}]*)(?P<emoji>[^\S\n]*{_EMOJI}+(?=\s|$|[{_CJK}]))?"
)
_ASCII_MARK = re.compile(r"[.!?]+")
_CJK_CHAR = re.compile(f"[{_CJK}]")
# Before Chinese or Japanese text an emoji stands for a full stop, but not a sign that may be a word (我❤️北京).
_FACES = r"[\u2639\u263a\U0001F300-\U0001FAFF\u200d\ufe0f]"
_EMOJI_STOP = re.compile(rf"(?<!{_FACES}){_FACES}+(?=\s*[\u3040-\u30ff\u4e00-\u9fff])")
_WORD_BEFORE = re.compile(r"[^\W\d_][\w.]*$")
_INITIAL = re.compile(r"(?:^|\b[A-Z]\w*,?\s|[A-Z]\.\s?|,\s)[A-Z]$")
_LIST_NUMBER = re.compile(r"\s*[(（]?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})$")
_INCHES = re.compile(r"(?<=\d)[\"”](?=\s|,|\.|$|x)")
_OPENERS = "“「『"
_DIRECTED = re.compile("[“”「」『』]")
_PAIRS = {"”": "“", "」": "「", "』": "『"}
_BEFORE_NUMBERS = words("no nr apt fig vol")
# Characters around a mark that show what it is.
_LOOKED_AT = 40
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")


def split(text: str) -> tuple[Sentence, ...]:
    """The sentences and blocks of `text` in order; never raises, whatever the text."""
    found: list[Sentence] = []
    at = 0
    for fence in FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        found.extend(_region(text, at, fence.start()))
        found.append(Sentence(fence.start(), fence.end(), "code"))
        at = fence.end()
    found.extend(_region(text, at, len(text)))
    return tuple(trimmed for one in found if (trimmed := _trim(text, one)) is not None)


def _trim(text: str, one: Sentence) -> Sentence | None:
    piece = text[one.start : one.end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    return Sentence(one.start + left, one.start + right, one.kind) if right > left else None


def _region(text: str, start: int, end: int) -> Iterator[Sentence]:
    """The pieces of a stretch without fences: lines of one block are joined, lines of prose are cut."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text, start, end)]
    lines = [(a, b) for a, b in lines if text[a:b].strip()]
    gaps = [text.count("\n", lines[i - 1][1], a) > 1 if i else True for i, (a, _) in enumerate(lines)]
    kinds = line_kinds([text[a:b] for a, b in lines], gaps)
    i = 0
    while i < len(lines):
        first = i
        if kinds[i] == TEXT:
            yield from _sentences(text, *lines[i])
        else:
            while i + 1 < len(lines) and kinds[i + 1] == kinds[first]:
                i += 1
            yield Sentence(lines[first][0], lines[i][1], kinds[first])
        i += 1


def _sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    line = text[start:end]
    at = 0
    for stop in _sentence_ends(line):
        yield Sentence(start + at, start + stop)
        at = stop
    yield Sentence(start + at, end)


def _sentence_ends(line: str) -> list[int]:
    quotes = _quotations(line)
    openings = [first for first, _ in quotes]
    ends = {match.end() for match in _EMOJI_STOP.finditer(line)}
    for match in _END.finditer(line):
        at = bisect_left(openings, match.end("mark"))
        if at < len(openings) and openings[at] < match.end("close"):
            ends.add(openings[at])
        elif _ends(line, match, quotes[at - 1] if at else None):
            ends.add(match.end())
    return sorted(end for end in ends if end < len(line))


def _quotations(line: str) -> list[tuple[int, int]]:
    """The outermost quotations as (opening, closing) in order; inch signs and lone quotes open none."""
    found: list[tuple[int, int]] = []
    if '"' in line:
        inches = {match.start() for match in _INCHES.finditer(line)} if line.count('"') % 2 else set()
        straight = [i for i, char in enumerate(line) if char == '"' and i not in inches]
        if len(straight) % 2 == 0:
            found.extend(zip(straight[::2], straight[1::2], strict=True))
    stack: list[int] = []
    for match in _DIRECTED.finditer(line):
        if match[0] in _OPENERS:
            stack.append(match.start())
        elif stack and line[stack[-1]] == _PAIRS[match[0]]:
            found.append((stack.pop(), match.start()))
    outermost: list[tuple[int, int]] = []
    for opening, closing in sorted(found):
        if not outermost or opening > outermost[-1][1]:
            outermost.append((opening, closing))
    return outermost


def _ends(line: str, match: re.Match[str], quote: tuple[int, int] | None) -> bool:
    """Whether this run of marks ends a sentence; `quote` is the last quotation that opened before it."""
    after = line[match.end() : match.end() + 1]
    if not after:
        return True
    mark = match["mark"]
    if _ASCII_MARK.fullmatch(mark) and not _free_after(line, match, after):
        return False
    if quote is not None and quote[0] < match.start() < quote[1]:
        return match.end() > quote[1] and _quote_ends(line, quote[0], match.end())
    return not (mark == "." and _is_abbreviation(line, match))


def _free_after(line: str, match: re.Match[str], after: str) -> bool:
    """Whether an ASCII mark is followed by a gap, so that it is no decimal point, address or version."""
    if after.isspace() or match["emoji"] or (match["close"] and _CJK_CHAR.match(after)):
        return True
    before = line[match.start() - 1 : match.start()]
    return bool(_CJK_CHAR.match(after)) and (match["mark"] != "." or bool(_CJK_CHAR.match(before)))


def _quote_ends(line: str, opening: int, at: int) -> bool:
    """Whether a sentence ends with its closing quote: not where the sentence goes on around it."""
    rest = line[at : at + _LOOKED_AT].lstrip()
    if not rest:
        return True
    if _CJK_CHAR.match(rest):
        return line[max(0, opening - 2) : opening].rstrip().endswith((":", "：", ",", "，"))
    return rest[0].isupper() or rest[0].isdigit()


def _is_abbreviation(line: str, match: re.Match[str]) -> bool:
    before = line[max(0, match.start() - _LOOKED_AT) : match.start()]
    rest = line[match.end() : match.end() + _LOOKED_AT]
    following = rest.lstrip()[:1]
    if match.start() < _LOOKED_AT and _LIST_NUMBER.fullmatch(before):
        return True
    if before[-1:].isdigit():
        return bool(_MONTHS_DE.match(rest)) and not match["close"]
    word = _WORD_BEFORE.search(before)
    if word is None:
        return False
    name = word[0].casefold()
    if name in _TITLES:
        return True
    if name in _BEFORE_NUMBERS:
        return following.isdigit()
    if len(name) == 1 and name != "i" and _INITIAL.search(before):
        return following.isupper()
    spelled = "." in name and all(len(part) == 1 for part in name.split("."))
    return (spelled or name in _ABBREVIATIONS) and not following.isupper()
