"""What Chinese questions say of time. Data, and the functions that find clauses by it."""

from __future__ import annotations

import re
from functools import cache

from .time_words import Clause, NotionRule, Relation, Span

_RELATIONS: dict[str, Relation] = {
    "之前": "before", "以前": "before", "前": "before",
    "之后": "after", "之後": "after", "以后": "after", "以後": "after", "后": "after", "後": "after",
    "以来": "since", "以來": "since",
    "为止": "until", "為止": "until",
    "期间": "during", "期間": "during",
    "的时候": "during", "的時候": "during", "时候": "during", "時候": "during",
    "那会儿": "during", "那會兒": "during", "那段时间": "during", "时": "during", "時": "during",
}  # fmt: skip
# Single characters mean a time only where a subject or a verb of the question follows.
_FOLLOWS = r"(?=[，,]|我|你|他|她|咱|住|在哪|是|做|开|開|去|养|養|有)"
_RELATION = (
    r"(?P<relation>之前|以前|之后|之後|以后|以後|以来|以來|为止|為止|期间|期間|那会儿|那會兒|那段时间"
    r"|(?<!什么)(?<!甚么)(?<!什麼)(?<!小)的?时候(?!么)|(?<!什麼)(?<!小)的?時候"
    rf"|(?<![目当當年月天日眼提以之])前{_FOLLOWS}|(?<![今然最以之年月天])[后後]{_FOLLOWS}"
    rf"|(?<![什何小有平同当當及随準准])[时時](?![候间間常不]){_FOLLOWS})"
)
_CLAUSE = rf"(?P<from>自从|自從|自打|打从|直到|从|從|自|在|当|當|到)?(?P<phrase>[^，,。？?！!；;]{{2,24}}?){_RELATION}"
_ASKS = re.compile(r"哪|什么|什麼|谁|誰|多久|几|幾|怎|何|吗|嗎")
# Verbs that make an event of few characters: 搬家以前.
_EVENT = re.compile(r"[搬婚离離职職毕畢换換买買卖賣退辞辭失生开開到认認识識读讀术術祸禍病孕学學走来來去]")
_PRONOUN = re.compile(r"(?:我们?|我們|你们?|你們|他们?|他們|她们?|她們|咱们?)")

LASTING = r"在|住|读|讀|上[学學班大小中]|当(?!天)|當(?!天)|工作|期间|单身|單身"
ENDING = r"离开|離開|离职|離職|辞|辭|卖|賣|分手|毕业|畢業|搬走|戒"
FILLER = r"[我你他她们們了的什么麼做过過发發生有哪些事情在干吗嗎呢都是]"

NOTIONS = (
    NotionRule("when", r"(?:什么|甚么|什麼)(?:时候|時候)|何[时時]", False),
    NotionRule("when", r"哪(?:一|个|個)?[年月天]|[几幾](?:[月号號]|年(?![前级級]))", False),
    NotionRule("when", r"多久|多[长長](?:时间|時間)|多少年|[几幾]年了", False),
    NotionRule("change", r"不再|没再|沒再", True),
    NotionRule("change", r"[变變换換改]了", False),
    NotionRule("past", r"以前|曾[经經]?|原[来來先]|[从從]前|过去|過去|之前|先前|[当當][年时時]|小[时時]候", True),
    NotionRule("past", r"上一?(?:[份家任部所套位辆輛]|[个個]?(?=工作|公司|老板|城市|住))", True),
    NotionRule("past", r"前(?=公司|老板|同事|雇主|任)", True),
    NotionRule("current", r"现在|現在|目前|当前|當前|如今|现今|眼下|这会儿|這會兒", True),
)  # fmt: skip


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_CLAUSE)


def clause(text: str) -> Clause | None:
    """The clause that places a question in time: 搬家之前, 自从入职青禾以来, 我在远山的时候."""
    at = 0
    while (match := _pattern().search(text, at)) is not None:
        found = _read(match)
        if found is not None:
            return found
        at = match.end()
    return None


def _read(match: re.Match[str]) -> Clause | None:
    phrase, word = match["phrase"], match["relation"]
    if _ASKS.search(phrase):
        return None
    start, (begin, end) = match.start(), match.span("phrase")
    pronoun = _PRONOUN.match(phrase)
    rest = phrase[pronoun.end() :] if pronoun else phrase
    if not _is_event(rest, word, match):
        return None
    relation: Relation = _RELATIONS.get(word, "during")
    if match["from"] in ("自从", "自從", "自打", "打从", "自", "从", "從") and relation in (
        "after",
        "during",
    ):
        relation = "since"
    elif match["from"] == "直到" and relation == "before":
        relation = "until"
    if match["from"] in ("在", "当") or match["from"] is None:
        begin = start
    # The pronoun is the question's subject too.
    return Clause(relation, (start if pronoun is None else begin + pronoun.end(), match.end()), (begin, end))


def _is_event(rest: str, word: str, match: re.Match[str]) -> bool:
    """Whether something is told before the word, rather than only whom the question is about: 陈默以前."""
    if word in ("以前", "之前") and len(rest) < 5 and not _EVENT.search(rest):
        after = match.string[match.end() :]
        return bool(rest) and (after[:1] in "，," or _PRONOUN.match(after) is not None)
    return len(rest) > 0


_AFTER_DATE = re.compile(
    r"的?(?P<relation>之前|以前|前|之后|之後|以后|以後|后|後|以来|以來|起|开始|開始|为止|為止|期间|期間|的?时候|的?時候)?"
)
_BEFORE_DATE = re.compile(r"(?P<from>自从|自從|直到|截至|截止|在|于|於|从|從|自|到)?$")
_DATE_RELATIONS: dict[str, Relation] = {"起": "since", "开始": "since", "開始": "since"}


def related(text: str, date: Span) -> tuple[Relation, Span]:
    """How a date relates to the question, and the words for both."""
    before, after = _BEFORE_DATE.search(text[: date[0]]), _AFTER_DATE.match(text, date[1])
    assert before is not None
    assert after is not None
    word = after["relation"] or ""
    relation: Relation = _DATE_RELATIONS.get(word) or _RELATIONS.get(word) or "during"
    if before["from"] in ("自从", "自從", "从", "從", "自") and relation in ("during", "after"):
        relation = "since"
    elif before["from"] in ("直到", "截至", "截止", "到") and relation in ("during", "before"):
        relation = "until"
    return relation, (before.start(), after.end())


# A question for something that happened.
HAPPENS = r"去[了过]?哪|哪.{0,2}(?:玩|旅[行游]|出差)|发生|做了什么|干了什么|参加了"
