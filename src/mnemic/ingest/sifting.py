"""Sifting one message: its sentences judged by the rules of their language, and put together where they lean.

The rules' patterns take a while to compile, so each language's are loaded when a sentence needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..text.language import guess_language
from . import rules_en, rules_other
from .context import Piece, in_context
from .pasted import hands_over
from .rules import Verdict, out
from .sentences import split

_MOST_SENTENCES = 4
_MOST_CHARACTERS = 600

# Characters of a sentence that show what it is; few are longer.
_LOOKED_AT = 1200

# Characters of a message that show its language, fewest words that do, and the share of English ones in English.
_SAMPLED = 2000
_TOO_FEW = 3
_ENGLISH_SHARE = 6
# Characters of a sentence that may be a courtesy in any language.
_SHORT = 40

_Judge = Callable[[str], Verdict]

_SAYS = re.compile(r"[^\W_]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_FOREIGN = re.compile(r"[^\W\d_a-zA-Z\u00b5\u2010-\u2bff]")
_ENGLISH = re.compile(
    r"\b(?:the|and|is|i'm|i’m|my|i|you|we|of|it|that|this|was|are|with|for|have|what|can|not|to|don't|your|please)\b",
    re.IGNORECASE,
)
_QUOTATION = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|```.*?```", re.DOTALL)
_BLOCKS = {"code": "code", "log": "log", "quote": "quoted", "image": "image"}


def groups(content: str) -> list[list[Piece]]:
    """The sentences of a message, those of one statement together, those left out one by one."""
    pieces = in_context(_judged(content))
    found: list[list[Piece]] = []
    for piece in pieces:
        if found and piece.kept and _joins(found[-1], piece):
            found[-1].append(piece)
        else:
            found.append([piece])
    return found


def _joins(group: Sequence[Piece], piece: Piece) -> bool:
    """Whether a kept sentence belongs to the statement, or the question, before it."""
    last = group[-1]
    length = piece.sentence.end - group[0].sentence.start
    if not piece.verdict.leans or len(group) >= _MOST_SENTENCES or length > _MOST_CHARACTERS:
        return False
    return last.kept or (last.verdict.personal and last.verdict.reason in ("question", "request"))


def _judged(content: str) -> list[Piece]:
    """Every sentence with what its own words make of it."""
    judge = _latin_judge(content)
    pieces: list[Piece] = []
    line = 0
    last_end = 0
    for sentence in split(content):
        gap = content[last_end : sentence.start]
        line += bool(pieces) and len(f"{gap}.".splitlines()) > 1
        last_end = sentence.end
        text = content[sentence.start : min(sentence.end, sentence.start + _LOOKED_AT)]
        block = _BLOCKS.get(sentence.kind)
        pieces.append(Piece(sentence, text, line, out(block) if block else _judge(text, judge)))
    return pieces


def _latin_judge(content: str) -> _Judge:
    """The rules for sentences in Latin letters: English, unless the message is plainly in another language."""
    own = _QUOTATION.sub("", content[:_SAMPLED])
    words = _LATIN_WORD.findall(own)
    if len(words) < _TOO_FEW or _ENGLISH_SHARE * len(_ENGLISH.findall(own)) >= len(words):
        return rules_en.judge
    return rules_en.judge if guess_language(own) in (None, "en", "zh") else rules_other.judge


def _judge(text: str, latin: _Judge) -> Verdict:
    if hands_over(text):
        return out("quoted", opens="quoted")
    if not _SAYS.search(text):
        return out("no_content")
    judge = _judge_of(text, latin)
    if judge is latin and len(text) < _SHORT:
        courtesy = rules_other.judge(text)
        if courtesy.reason in ("thanks", "greeting"):
            return courtesy
    return judge(text)


def _judge_of(text: str, latin: _Judge) -> _Judge:
    """The rules for a sentence: those of the script that most of it is in."""
    if text.isascii() or not _FOREIGN.search(text):
        return latin
    if _KANA_OR_HANGUL.search(text):
        return rules_other.judge
    han, words = len(_HAN.findall(text)), len(_LATIN_WORD.findall(text))
    if han and han >= words:
        return _chinese
    return latin if words else rules_other.judge


def _chinese(text: str) -> Verdict:
    from . import rules_zh

    return rules_zh.judge(text)
