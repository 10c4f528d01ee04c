"""Is a Chinese sentence a statement of the user? Rules over clauses: person, kin, time and aspect words, mood."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import words_zh as w
from .rules import Verdict, Worth, any_word, out

_HAN = "\u3400-\u9fff"
_MASKED = re.compile(
    r"\"[^\"\n]{2,}\"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|`[^`\n]+`|https?://\S+|[\w.%+-]+@[\w-]+(?:\.[\w-]+)+",
    re.ASCII,
)
_BREAK = re.compile(rf"[，；;：。！!？?…~～\n]+|,(?!\d)|:(?!\d)|\.{{2,}}|——|(?<=[{_HAN}])\s+(?=[{_HAN}])")
_LIST_MARK = re.compile(
    r"^\s*(?:[-*•·–—▪]\s*|[(（]?\d{1,3}[.)）、]\s*|[(（]?[一二三四五六七八九十]{1,2}[、)）]\s*)"
)
_CONTENT = re.compile(r"[^\W_]")
_EDGE = re.compile(r"^[\W_]+|[^\w%％℃]+$")
_ASKS = re.compile(r"[?？][^\w]*$")

_FILLER = any_word(w.FILLER)
_THANKS = any_word(w.THANKS)
_GREETING = any_word(w.GREETING)
_ACK = any_word(w.ACKNOWLEDGEMENT, tail="[吧啦了哈呢哦的呀啊嘛]*")
_QUESTION = any_word(w.QUESTION)
_REQUEST = any_word(w.REQUEST)
_YOU = any_word(w.YOU)
_TALK = any_word(w.TALK)
_TALK_ME = any_word(w.TALK_ME, head=rf"(?:我们?|咱){w.ADVERBS}")
_TALK_ME_WHOLE = any_word(w.TALK_ME_WHOLE, head=f"我{w.ADVERBS}", tail="$")
_LIKES_THIS = any_word(w.LIKES_THIS, head=rf"(?:我们?)?{w.DEGREES}{w.LIKING}(?:还是)?")
_TALKS = (_TALK, _TALK_ME, _TALK_ME_WHOLE, _LIKES_THIS)
_HYPOTHETICAL = any_word(w.HYPOTHETICAL)
_ROLE = any_word(w.ROLE_PLAY)
_FICTION = any_word(w.FICTION)
_PROBLEM = any_word(w.PROBLEM)
_TECHNICAL = any_word(w.TECHNICAL)
_PEOPLE = any_word(w.PEOPLE)
_LIFE = any_word(w.LIFE)
_OWN = any_word(w.OWN)
_ME = any_word(w.ME)
_TIME = any_word(w.TIME)
_ASPECT = any_word(w.ASPECT)
_TASTE = any_word(w.TASTE)
_LEANS = any_word(w.LEANS)
_TASK = any_word(w.TASK)
_HANDED = re.compile(r"[^，。；：:！？\d]{1,12}[：:](?!$)")
_TRUE = re.compile(r"(?:是|这是)?(?:真的|对|是|靠谱|有道理|.{0,3}说[得的](?:对|是真的?))(?:吗|么|假的)")
_HEARD = re.compile(r"说|听|看到|据")
_COUNTED = re.compile(r"多少|几|概率|多远|多久")
_FEEDBACK = any_word(w.FEEDBACK)
_IF = re.compile(r"如果|要是|若|只要|除非|一旦")
_TO_OTHERS = re.compile(r"[问说骂夸劝]我?[你您]")
_DIGIT = re.compile(r"\d")

# Characters: a clause without 我 that can tell something; one that tells something beside others; a courtesy.
_ELLIPTIC_FROM = 5
_PLAIN_FROM = 4
_WEIGHS_FROM = 8
_LONGEST_THANKS = 12
_LONGEST_GREETING = 10

_BY_REQUEST = ("question", "request")
_AGAINST = (*_BY_REQUEST, "talk_about_the_chat", "hypothetical", "problem_at_hand")


def judge(text: str) -> Verdict:
    """What a Chinese sentence is; see `Verdict`."""
    bare = _LIST_MARK.sub("", text, count=1)
    masked = _MASKED.sub("某某", bare) if _MASKED.search(bare) else bare
    lowered = masked.casefold()
    if not _CONTENT.search(lowered.replace("某某", "")):
        return out("quoted" if "某某" in masked else "no_content")
    asks = _ASKS.search(bare) is not None
    clauses = [clause for part in _BREAK.split(lowered) if (clause := _EDGE.sub("", part))]
    if not clauses:
        return out("no_content")
    kinds = _kinds(clauses, asks)
    if _HANDED.match(lowered) and kinds[0] in _BY_REQUEST:
        return out(kinds[0])
    personal = _PEOPLE.search(lowered) is not None or "我的" in lowered or "我家" in lowered
    opens = next((kind for kind in kinds if kind == "role_play"), "")
    if not opens and any(_FICTION.match(_peel(clause)) for clause in clauses):
        opens = "fiction" if "sure" not in kinds else ""
    if opens:
        return out("request" if opens == "fiction" else opens, opens=opens, personal=personal)
    return _verdict(kinds, clauses, personal)


def _kinds(clauses: Sequence[str], asks: bool) -> list[str]:
    """The kind of each clause; after a request or a question only what names the user or their people counts."""
    kinds: list[str] = []
    for i, clause in enumerate(clauses):
        kind = _kind(clause, asks and i == len(clauses) - 1)
        if kind == "sure" and any(one in _BY_REQUEST for one in kinds):
            bare = _peel(clause)
            kind = "sure" if _ME.match(bare) or _PEOPLE.match(bare) else "plain"
        kinds.append(kind)
    if kinds[-1] != "question":
        return kinds
    last = _peel(clauses[-1])
    hearsay, sums = _TRUE.match(last) is not None, _COUNTED.search(last) is not None

    def is_asked(clause: str) -> bool:
        if hearsay and _HEARD.search(clause):
            return True
        return (
            sums
            and _DIGIT.search(clause) is not None
            and not (_PEOPLE.search(clause) or _TIME.search(clause))
        )

    return [
        "question" if kind == "sure" and is_asked(clause) else kind
        for kind, clause in zip(kinds, clauses, strict=True)
    ]


def _verdict(kinds: Sequence[str], clauses: Sequence[str], personal: bool) -> Verdict:
    against = next((kind for kind in kinds if kind in _AGAINST), "")
    sure = [clause for clause, kind in zip(clauses, kinds, strict=True) if kind == "sure"]
    if kinds[0] == "talk_about_the_chat" and not any(_weighs(clause) for clause in sure):
        sure = []
    if sure and kinds[0] != "hypothetical":
        me = any(_ME.search(clause) for clause in clauses)
        return Verdict(Worth.SURE, leans=_leans(clauses), personal=personal, first_person=me)
    if against:
        return out(against, personal=personal)
    if "plain" in kinds:
        return Verdict(Worth.PLAIN, "no_content", leans=_leans(clauses), personal=personal)
    return out(next((kind for kind in kinds if kind), "no_content"), personal=personal)


def _weighs(clause: str) -> bool:
    """Whether a clause tells enough of the user to outweigh that the sentence began with the conversation."""
    return _PEOPLE.search(clause) is not None or len(clause) > _WEIGHS_FROM


def _leans(clauses: Sequence[str]) -> bool:
    return _LEANS.match(clauses[0]) is not None


def _peel(clause: str) -> str:
    while (filler := _FILLER.match(clause)) is not None and filler.end():
        clause = _EDGE.sub("", clause[filler.end() :])
    return clause


def _kind(given: str, asks: bool) -> str:
    clause = _peel(given)
    if not clause:
        return "acknowledgement" if _ACK.fullmatch(given) else ""
    if _ACK.fullmatch(clause):
        return "acknowledgement"
    if _ROLE.match(clause):
        return "role_play"
    if _THANKS.match(clause) and len(clause) <= _LONGEST_THANKS:
        return "thanks"
    if _GREETING.match(clause) and len(clause) <= _LONGEST_GREETING:
        return "greeting"
    if _HYPOTHETICAL.match(clause):
        return "hypothetical"
    if asks or _QUESTION.search(clause):
        return "question"
    if any(pattern.match(clause) for pattern in _TALKS):
        return "talk_about_the_chat"
    if _REQUEST.match(clause):
        return "request"
    if _YOU.search(clause) and not _TO_OTHERS.search(clause):
        return "request"
    if _IF.match(clause):
        return "plain"
    return _statement(clause)


def _statement(clause: str) -> str:
    """The kind of a clause that is no question, request, courtesy or talk about the conversation."""
    if _PROBLEM.match(clause):
        return "problem_at_hand"
    mine = _ME.search(clause) is not None
    people = _PEOPLE.search(clause) is not None
    timed = _TIME.search(clause) is not None
    life = _LIFE.match(clause) is not None or _OWN.search(clause) is not None
    technical = _TECHNICAL.search(clause) is not None
    if clause.endswith("吧") and "叫我" not in clause and not timed:
        return "request"
    if not (mine or people or life) and _FEEDBACK.search(clause):
        return "talk_about_the_chat"
    if not (people or life or (mine and timed)) and _TASK.search(clause):
        return "talk_about_the_chat"
    if mine and technical and not people:
        return "problem_at_hand"
    if mine or people or life or _TASTE.search(clause):
        return "sure"
    if not technical and len(clause) >= _ELLIPTIC_FROM and (timed or _ASPECT.search(clause)):
        return "sure"
    return "plain" if len(clause) >= _PLAIN_FROM else ""
