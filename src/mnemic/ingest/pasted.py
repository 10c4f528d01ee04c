"""Text of other people pasted into a message: what announces it, and talk with speakers' names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

# What is pasted, as its request names it.
_NOUN = (
    r"(?:texts?|e-?mails?|messages?|letters?|notes?|articles?|paragraphs?|passages?|sentences?|drafts?|posts?|tweets?"
    r"|reviews?|transcripts?|essays?|poems?|abstracts?|excerpts?|clauses?|contracts?|statements?|reply|replies"
    r"|segments?|snippets?|quotes?|captions?|ads?|listings?|descriptions?|speech|story|stories|thread|chat"
    r"|conversation|log|output|list|lyrics?|minutes|joke|riddle|monologue|dialogue|recipe|verse|flyer|slogan|bio"
    r"|press release|job (?:ad|posting|description)|product description)"
)
# What is only ever done to a text that is at hand.
_SURE_VERB = (
    r"(?:translate|rewrite|rephrase|reword|paraphrase|summari[sz]e|sum up|proofread|edit|shorten|polish|improve|correct"
    r"|fix|clean up|sort|reorder|extract|convert|classify|categori[sz]e|tidy|simplify|condense|expand|pull out"
    r"|analy[sz]e|critique|grade|tl;?dr|redact|anonymi[sz]e|punctuate|transcribe|grammar|grammatical(?:ly)?"
    r"|continue|complete the)"
)
_VERB = (
    rf"(?:{_SURE_VERB}|feedback|review|check|format|turn|make|respond|reply|answer|compare|rank|explain|evaluate|finish"
    r"|write|title|name|rate|judge|spot|find|count|mark)"
)
# The user's own papers: what they say is the user's.
_OWN_EN = re.compile(
    r"\bmy (?:\w+ )?(?:cover letter|resume|résumé|cv|bio|biography|application|personal statement"
    r"|statement of purpose|profile|self-?(?:assessment|review|evaluation|introduction)|report|introduction|intro"
    r"|about me|linkedin|diary|journal)\b",
    re.IGNORECASE,
)
_OPENS_EN = re.compile(
    rf"\b{_VERB}\b.*:\s*\S*$|\b{_VERB}\b[^.?!]*:\s"
    rf"|\b{_VERB}\b[^.?!]*\b(?:this|these|the following|below|following|(?:the|that) {_NOUN})\b"
    rf"|\b(?:this|the following) {_NOUN}\b.*[?:]\s*$"
    r"|\b(?:here(?:'s|’s| is| are)|below (?:is|are)|this is) (?:the|an?|my|what|his|her|their|our|some)\b"
    rf".*\b{_NOUN}\b"
    r"|\bwhich (?:one|of these|of the two|sentence|version|option|title|line|reads|sounds|is (?:better"
    r"|correct|right))\b"
    r"|\b(?:does|do|is|are) (?:this|these|that) (?:sound|read|look|make sense|okay?|correct|right|good|fine"
    r"|too|clear)\b",
    re.IGNORECASE,
)
_ABOVE_EN = re.compile(rf"\b{_VERB}\b.*\b(?:the above|above {_NOUN}|{_NOUN} above)\b", re.IGNORECASE)
# "Explain this joke: ...": what comes after the colon, in the same line, is that text.
_INLINE_EN = re.compile(
    rf"[^:.?!]{{0,40}}\b(?:{_SURE_VERB}\b[^:.?!]{{0,60}}|{_VERB}\b[^:.?!]{{0,40}}\b{_NOUN}\b[^:.?!]{{0,30}}"
    rf"|(?:this|the following|an?) {_NOUN}\b[^:.?!]{{0,30}}|{_NOUN} for [^:.?!]{{1,30}}|something like"
    r"|(?:sentence|example|version|option) \d|(?:wrote|said|says|texted|replied|answered|messaged|emailed|goes|reads"
    r"|posted|quote|caption|original|input)(?: \w+)?):\s+\S",
    re.IGNORECASE,
)
_INLINE = re.compile(r"[\"“「『][^\"”」』]{4,}[\"”」』]")

_OWN_ZH = re.compile(
    r"我的?(?:个人)?(?:简历|自我介绍|求职信|述职|自荐信|个人陈述|周报|月报|年终总结|工作总结|检讨|申请|履历|日记)"
)
_VERB_ZH = (
    r"(?:翻译|翻成|译成|改写|润色|总结|概括|整理|续写|缩写|扩写|提取|归纳|修改|校对|分析|检查|点评|评价|排序|排一?下"
    r"|精简|改[成得错]|改一?下|看看|看一?下|压缩|提炼|仿写|转换|回复|挑错|批改|解释|解读|判断|起个?标题"
    r"|[拆改转翻变写]成|发来的|断句|标注|分类|打分)"
)
_NOUN_ZH = r"(?:这[段篇封份句条几]|这两[句段条个]|下面|以下|如下|这个(?:合同|文案|段落|通知|邮件|消息|故事)|下列|原文)"
_OPENS_ZH = re.compile(
    rf"{_VERB_ZH}.*[：:]\s*\S?$|{_NOUN_ZH}.*{_VERB_ZH}|{_VERB_ZH}.*{_NOUN_ZH}|^(?:以下|下面)[是为]"
    rf"|原文[：:如]|{_VERB_ZH}[^。？！]*[：:]|哪[句个种版条段](?:更|比较|好|对|通顺)"
    rf"|这样[写说讲回](?:行|可以|对|合适|得体|好)|语病|通顺吗|{_NOUN_ZH}.*[：:]\s*$"
)
_ABOVE_ZH = re.compile(
    rf"(?:以上|上面|上述)(?:这?[段篇份些]|内容|文字|文章|的)?.*{_VERB_ZH}|{_VERB_ZH}.*(?:以上|上面|上述)"
)
_INLINE_ZH = re.compile(
    r"[^，。？！：:]{0,12}(?:翻译|改写|润色|续写|接着|往下写|造句|改错|病句|错别字|通顺|语法|这[句条段]|这个笑话"
    r"|文案|发言稿|标题|原文|例句|对不对|说|写道|回复|回我|发来|问我)[^，。？！：:]{0,6}[：:]\s*\S"
)

_SALUTATION = re.compile(
    r"\s*(?:dear|hi|hello|hey|good (?:morning|afternoon))\s[^.?!]{1,30},\s*|.{1,12}(?:您好|你好)[：:，,]\s*",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(
    r"\s*(?:(?:kind|best|warm|many)? ?(?:regards|wishes)|yours(?: \w+)?|sincerely|best|cheers|thanks|thank you|love"
    r"|respectfully)(?: \w+)?,?\s*|此致|敬礼[！!]?|祝好[。！]?",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"\s*(?:subject|from|to|sent|date|re|fwd?|cc|主题|发件人|收件人)[:：]\s*\S", re.IGNORECASE
)
_SPEAKER = re.compile(r"\s*(?:\[[\d: ]+\]\s*)?([^\s:：,，。.!?？！][^:：,，。.!?？！\n]{0,18})[:：]\s*\S")
_CHOICE = re.compile(r"\s*[(（]?[A-H][.、:：)）]\s?\S")
_LEAST_TURNS = 3


def announces(text: str) -> str:
    """What a request makes of the text around it: 'below' or 'above' is pasted, or '' for neither.

    A request about the user's own application or report announces nothing: what it says is the user's.
    """
    if _OWN_EN.search(text) or _OWN_ZH.search(text):
        return ""
    if _ABOVE_EN.search(text) or _ABOVE_ZH.search(text):
        return "above"
    if _INLINE.search(text) and not text.rstrip().endswith((":", "：")):
        return ""
    return "below" if _OPENS_EN.search(text) or _OPENS_ZH.search(text) else ""


def hands_over(text: str) -> bool:
    """Whether a sentence gives another's words, or words to work on, after a colon of its own."""
    if ":" not in text and "：" not in text:
        return False
    if _OWN_EN.search(text) or _OWN_ZH.search(text):
        return False
    return (_INLINE_EN.match(text) or _INLINE_ZH.match(text)) is not None


def letter(lines: Sequence[str]) -> tuple[int, int] | None:
    """The lines [first, last] of a pasted letter, or None: from its salutation or headers to its sign-off."""
    if any(_OWN_EN.search(line) or _OWN_ZH.search(line) for line in lines):
        return None
    headers = [i for i, line in enumerate(lines) if _HEADER.match(line)]
    openings = headers or [i for i, line in enumerate(lines) if _SALUTATION.fullmatch(line)]
    closings = [i for i, line in enumerate(lines) if _SIGN_OFF.fullmatch(line)]
    if not openings or not closings or closings[-1] <= openings[0]:
        return None
    return openings[0], min(closings[-1] + 1, len(lines) - 1)


# A last line that works on whatever stands before it: "Translate to French.", 润色一下.
_WORKS_ON_IT = re.compile(
    r"\s*(?:please |pls |can you |could you |now )?(?:translate|rewrite|rephrase|paraphrase|summari[sz]e"
    r"|proofread|shorten|polish"
    r"|fix|correct|simplify|tl;?dr|edit)(?: (?:it|this|that|the grammar|please|pls|(?:in)?to \w+|in (?:\w+ )?\w+|for me"
    r"|(?:and )?make it \w+))*[.?!]*\s*"
    r"|(?:请|麻烦|帮我|帮忙|你)*(?:把[它这])?(?:翻译|润色|改写|总结|概括|精简|缩写|扩写|改错|校对|翻成\S{1,4}"
    r"|译成\S{1,4})(?:一?下|成\S{1,6}|吧|谢谢)*[。.？?！!]*",
    re.IGNORECASE,
)


def works_on_it(text: str) -> bool:
    """Whether a sentence is nothing but a request to work on the text before it."""
    return _WORKS_ON_IT.fullmatch(text) is not None


def takes_line(text: str) -> bool:
    """Whether what an announcing sentence announces begins on its own line."""
    return re.search(r"[:：](?!\d)", text) is not None


def choices(lines: Sequence[str]) -> frozenset[int]:
    """The lines that are lettered choices, "A. ...", "B. ..."; one alone is none."""
    found = [i for i, line in enumerate(lines) if _CHOICE.match(line)]
    return frozenset(found if len(found) > 1 else ())


def transcript(lines: Sequence[str]) -> tuple[int, int] | None:
    """The lines [first, last] of a talk between named speakers, or None.

    Names begin at least half of its lines, and one of several names comes again.
    """
    found = [
        (i, match[1].strip().casefold()) for i, line in enumerate(lines) if (match := _SPEAKER.match(line))
    ]
    turns = Counter(name for _, name in found)
    if len(found) < _LEAST_TURNS or not 1 < len(turns) < len(found):
        return None
    first, last = found[0][0], found[-1][0]
    return (first, last) if 2 * len(found) >= last - first + 1 else None
