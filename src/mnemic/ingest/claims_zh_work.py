"""Claims in Chinese about what the speaker does for a living and learns: employer, profession, school."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_zh import LONG_AGO, ME, OFTEN, WHEN, Clause, value_of
from .jobs import job_in_chinese

_WORKS = re.compile(
    rf"(?P<me>{ME})?{WHEN}在(?P<org>\S+?)(?:上班|工作|任职|就职|当(?P<a>\S+?)|做(?P<b>\S+?))了?"
)
_JOINED = re.compile(
    rf"{ME}?{WHEN}(?:从\S+?)?(?:跳槽|入职|加入|跳)(?:到|去|进)?了?(?P<org>\S+?)(?:上班|工作)?了?"
)
_NO_EMPLOYER = re.compile(
    r"家$|家里|群|俱乐部|社团|健身房|会员|队$|会$|路上|地铁|周末|晚上|白天|这|那|外面|床|线上|网上|线下|时候|大厦|大楼|总部|分公司$"
)
# Work that one has beside one's work.
_BESIDE = re.compile(r"顾问|兼职|副业|志愿|义工|嘉宾|讲座|外包|临时工")
# A kind of place, which may be one with a name: 一家医院.
_SOME = re.compile(
    r"(?:[一某这]|一?个)?(?:家|所|间|个)\S+|(?:医院|银行|法院|报社|学校|工厂|超市|律所|书店|餐厅|饭店)"
)
_LEFT = re.compile(
    rf"{ME}{WHEN}(?:从(?P<a>\S+?)(?:正式)?(?:离职|辞职|被裁)|离开(?P<b>\S+?)(?:公司)?|把(?P<c>\S+?)的工作辞)了?"
    rf"|(?P<d>\S+?)的工作我?(?:已经)?辞了"
    rf"|{ME}{WHEN}被(?P<f>\S{{2,}}?)(?:裁|开除|辞退)了|(?:{WHEN})是我在(?P<g>\S{{2,}}?)(?:上班|工作)?的?最后一天(?:班)?"
    rf"|{ME}?{WHEN}(?:已经)?不(?:再)?(?:给|在|为)(?P<e>\S{{2,}}?)(?:干|做|上班|工作|任职)了"
)
_NOT_AT = re.compile(rf"{ME}?{WHEN}不在(?P<org>\S{{2,}}?)(?:读书|上学|念书|读)?了")
_NEW_PLACE = re.compile(r"读书|念书|转学|上班|入职|跳槽|工作|离职|工牌|辞职|上学|读书")
_WITHOUT = re.compile(
    rf"{ME}?{WHEN}(?P<retired>退休)[了啦]|{ME}{WHEN}(?:失业|辞职|离职|被裁|被开除)[了啦]|{ME}{WHEN}没工作[了啦]"
    rf"|(?:{ME}{WHEN})?(?:自己)?(?:出来)?(?:做|当|干|是)(?P<free>自由职业)者?[了啦]?"
)
_STAYED = re.compile(rf"{ME}{WHEN}(?:进|加入|入职)的?(?P<org>\S{{2,}}?)")
_TILL_NOW = re.compile(r"到现在|至今")


def employer(clause: Clause) -> Iterator[Claim]:
    works = None if clause.fresh else _WORKS.fullmatch(clause.text)
    joined = _JOINED.fullmatch(clause.text) if clause.mine and not works else None
    found = works or joined
    beside = _BESIDE.search(clause.sentence)
    if found is not None and (clause.mine or found["me"]) and not beside:
        org = value_of(found["org"])
        at_work = works is not None or re.search(r"跳槽|入职|上班|工作", clause.text)
        since_now = joined is not None or "现在" in clause.text
        if len(org) > 1 and at_work and not _NO_EMPLOYER.search(org):
            yield from _works(org, some=_SOME.fullmatch(found["org"]) is not None, since_now=since_now)
        title = (works["a"] or works["b"]) if works else None
        if title:
            yield Claim("is", value_of(title), True, clause.changes)
            yield from _job(value_of(title), changes=clause.changes, certain=True)
    yield from _left(clause)
    stayed = _STAYED.fullmatch(clause.text)
    if stayed is not None and _TILL_NOW.search(clause.sentence):
        yield Claim("employer", value_of(stayed["org"]), True, False)


def _works(org: str, *, some: bool, since_now: bool) -> Iterator[Claim]:
    """What working somewhere says: of an employer with a name, or of a kind of place that may be one with a name."""
    if not some or since_now:
        yield Claim("employer", org, True, True)
    if some or since_now:
        yield Claim("workplace", org, True, since_now)


def _left(clause: Clause) -> Iterator[Claim]:
    left, not_at = _LEFT.fullmatch(clause.text), _NOT_AT.fullmatch(clause.text)
    if left is not None:
        org = value_of(next(one for one in left.groups() if one))
        yield from (Claim(kind, org, False, True) for kind in ("employer", "workplace"))
    if not_at is not None and _NEW_PLACE.search(clause.sentence):
        yield from (Claim(kind, value_of(not_at["org"]), False, True) for kind in ("employer", "school"))
    without = _WITHOUT.fullmatch(clause.text)
    if without is not None and clause.mine and (not without["free"] or clause.changes):
        kinds = ("employer", "workplace", "job") if without["retired"] else ("employer", "workplace")
        yield from (Claim(kind, "", False, True) for kind in kinds)


_NEW_WORK = re.compile(
    r"不再?(?:教书|[当做干])|升职|升了职|晋升|提拔|转岗|转行|改行|跳槽|换工作|换了工作|辞|职称|转正|入职"
)


def _job(value: str, *, changes: bool, certain: bool) -> Iterator[Claim]:
    """What a title says of the speaker's job.

    certain: whether they live by it; else it is taken for their job by its name, and changes only what they are
    called in it.
    """
    title = job_in_chinese(value)
    if certain or title:
        yield Claim("job", value, True, changes and certain)
    if title:
        # Where a title grows, its end stays (副教授, 教授) or its field does (销售助理, 销售经理).
        yield Claim(f"role:{title}", value, True, changes)
        if len(value) == len(title) + 2 or len(title) > 3:
            yield Claim(f"role:{value[:2]}", value, True, changes)


_IS = re.compile(rf"(?:我{WHEN}|现在)是(?:一[名个位])?(?P<what>\S{{2,8}}?)(?P<now>了)?")
_IS_NOT = re.compile(rf"{ME}?(?P<when>{WHEN})不(?P<more>再)?(?:是|做|当)(?P<what>\S{{2,8}}?)(?P<now>了)?")
_BECAME = re.compile(
    rf"我{WHEN}(?:升|升为|升任|升到|晋升为|提拔为|转岗做|改行当|改行做)了?(?P<what>\S{{2,8}}?)了?"
)
_QUIT_JOB = re.compile(rf"{ME}?{WHEN}辞(?:了|掉了?)(?P<what>\S{{2,6}}?)的(?:活儿?|工作|职位|职务)了?")
_VEGETARIAN = re.compile(rf"{ME}{WHEN}(?P<no>不)?(?:吃素|是素食者|是素食主义者)(?P<more>了)?")
_PREGNANT = re.compile(rf"我{WHEN}(?:怀孕|怀二胎|有喜)了?")
_BORN = re.compile(rf"我{WHEN}生(?:完)?了|(?:宝宝|孩子)(?:已经)?出生了")
_SEEKS = re.compile(rf"我{WHEN}(?:正在|在|还在)找(?P<what>工作|房子|实习)")
_FOUND = re.compile(rf"{ME}?{WHEN}(?:(?P<a>工作|房子|实习)(?:已经)?找到|找到(?P<b>工作|房子|实习))了")


def being(clause: Clause) -> Iterator[Claim]:
    vegetarian = _VEGETARIAN.fullmatch(clause.text)
    if vegetarian is not None and (vegetarian["more"] or not vegetarian["no"]):
        yield Claim("is", "素食", not vegetarian["no"], bool(vegetarian["more"]))
    if _PREGNANT.fullmatch(clause.text):
        yield Claim("is", "怀孕", True, False)
    if _BORN.fullmatch(clause.text):
        yield Claim("is", "怀孕", False, True)
    ended, found, quits = (one.fullmatch(clause.text) for one in (_IS_NOT, _IS, _QUIT_JOB))
    gone = quits["what"] if quits else ""
    if ended is not None and (ended["more"] or ended["now"] or "现在" in ended["when"]):
        gone = ended["what"]
    if gone:
        yield from (Claim(kind, value_of(gone), False, True) for kind in ("is", "job"))
    if found is not None and clause.mine:
        changes = bool(found["now"]) or "现在" in clause.text
        yield Claim("is", value_of(found["what"]), True, changes)
        certain = _NEW_WORK.search(clause.sentence) is not None
        if job_in_chinese(value_of(found["what"])):
            yield from _job(value_of(found["what"]), changes=changes, certain=certain)
    became = _BECAME.fullmatch(clause.text)
    if became is not None and job_in_chinese(became["what"]):
        yield from _job(became["what"], changes=True, certain=True)
    sought, got = _SEEKS.fullmatch(clause.text), _FOUND.fullmatch(clause.text)
    if sought is not None:
        yield Claim("seeking", sought["what"], True, False)
    if got is not None:
        yield Claim("seeking", got["a"] or got["b"], False, True)


_A_SCHOOL = r"\S+?(?:大学|学院|中学|高中|初中|小学|学校|附中|一中|二中|夜校|职校|技校|美院|音院)"
_STUDIES = re.compile(
    rf"(?:我{WHEN}{OFTEN}|现在)在(?P<a>{_A_SCHOOL})(?:读|上|念|学|进修)\S*"
    rf"|我{WHEN}是(?P<b>{_A_SCHOOL})的?(?:学生|本科生|研究生|博士生|大[一二三四]学生)"
)
_GRADUATED = re.compile(rf"{ME}{WHEN}从(?P<school>\S+?){WHEN}(?:毕业|退学|结业|肄业)[了啦]?")
_NO_SCHOOL = re.compile(rf"我{WHEN}(?:毕业|退学|辍学)[了啦]")
_TRANSFERRED = re.compile(
    rf"{ME}{WHEN}(?:从(?P<old>\S+?))?转(?:学)?到了?(?P<new>\S{{2,}}?)(?:读书|上学)?[了啦]"
)
_SCHOOL = re.compile(_A_SCHOOL)


def school(clause: Clause) -> Iterator[Claim]:
    studies = None if clause.fresh else _STUDIES.fullmatch(clause.text)
    if _NO_SCHOOL.fullmatch(clause.text) and not LONG_AGO.search(clause.text):
        yield Claim("school", "", False, True)
    if studies is not None and clause.mine:
        yield Claim("school", studies["a"] or studies["b"], True, "现在" in clause.text)
    graduated = _GRADUATED.fullmatch(clause.text)
    if graduated is not None and not LONG_AGO.search(clause.text):
        yield Claim("school", graduated["school"], False, True)
    moved = _TRANSFERRED.fullmatch(clause.text)
    if moved is None or LONG_AGO.search(clause.text):
        return
    if _SCHOOL.fullmatch(moved["new"]) or "转学" in clause.text:
        yield Claim("school", value_of(moved["new"]), True, True)
        if moved["old"]:
            yield Claim("school", value_of(moved["old"]), False, True)
