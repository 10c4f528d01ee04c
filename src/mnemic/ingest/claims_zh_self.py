"""Claims in Chinese about who and where the speaker is: home, contact, name, age, family."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_zh import LONG_AGO, ME, TRAIL, WHEN, Clause
from .rules import any_word

_HOME = any_word(
    r"""
    宿舍 合租 公寓 房子?$ 小区 单间 平房 别墅 城中村 酒店 旅馆 [爸妈]家 父母家 爸妈 家里 楼[上下里]?$ 旁边
    附近 对面
    """
)
_NO_PLACE = any_word(
    r"""
    新?家$ 新?工位 \S*楼$ 座位 这[里边儿]? 那[里边儿]? linux windows mac 公众号 微信 群 平台 版本 系统 硬盘
    云 桌 一起 楼[上下] 隔壁 沙发 客厅 [主次]卧 \S*睡$ \S*(?:组|部|岗|队|班|科室|店)$
    """
)

_LIVES = re.compile(
    rf"{ME}?家?{WHEN}一直?(?:住在?|家在|家住|定居在?|常住在?){WHEN}(?P<a>[^了的着院]\S*?)(?:这边|那边)?了?".replace(
        "一直?", "(?:一直)?"
    )
    + rf"|{ME}{WHEN}在(?P<b>\S+?)(?:租房子?|合租)?住"
)
_MOVED = re.compile(
    rf"{ME}{WHEN}(?:从\S+?)?(?:搬家|搬|移居|迁)(?:到|去|来|回|至)了?(?P<place>\S+?)(?:那边|这边)?(?:定居"
    rf"|生活|长住|住|安家|工作|上班|发展)?了?"
)
_WITH_PARENTS = re.compile(
    rf"{ME}{WHEN}(?:还)?(?:跟|和)(?:我)?(?P<a>爸妈|父母)(?:一起)?住(?:在?一块儿?|一起)?"
    rf"|{ME}{WHEN}住(?P<b>爸妈|父母)家"
)
_MOVED_OUT = re.compile(rf"{ME}{WHEN}从(?P<who>爸妈|父母)(?:那儿|那里|家)?搬出来?了")


def dwelling(clause: Clause) -> Iterator[Claim]:
    lives = _WITH_PARENTS.fullmatch(clause.text)
    left = _MOVED_OUT.fullmatch(clause.text)
    if lives is not None:
        yield Claim("dwelling", "爸妈", True, "现在" in clause.text)
    if left is not None:
        yield Claim("dwelling", "爸妈", False, True)


def residence(clause: Clause) -> Iterator[Claim]:
    lives = None if clause.fresh else _LIVES.fullmatch(clause.text)
    moved = None if lives else _MOVED.fullmatch(clause.text)
    if not (clause.mine or clause.text.startswith("家")) or (lives is None and moved is None):
        return
    place = TRAIL.sub("", lives["a"] or lives["b"] if lives else moved["place"] if moved else "")
    if len(place) > 1 and not _NO_PLACE.match(place) and not _HOUSE.fullmatch(place):
        kind = "dwelling" if _HOME.search(place) else "residence"
        plain = kind == "residence" and not LONG_AGO.search(clause.text)
        yield Claim(kind, place, True, plain or "现在" in clause.text or moved is not None)


# A house, a flat in it, or both, as told after a street or an estate.
_HOUSE_ZH = (
    r"[^\s，酒宾旅馆]*?(?:\d+|[一二三四五六七八九十百]+)(?:号楼?|栋|幢|座|弄|单元|室)"
    r"[-\da-z栋幢座号楼单元层室弄]*"
)
_HOUSE = re.compile(_HOUSE_ZH)
_AT_HOUSE = re.compile(
    rf"(?:{ME}(?:家|全家)?)?{WHEN}(?:一直)?(?:住在?|家住|家在)(?P<a>{_HOUSE_ZH})了?"
    rf"|(?:{ME}家?的?(?P<new>新)?|新)(?:家庭|家里的?)?(?:住址|地址)(?P<now>现在)?(?:是|改成|换成|变成|在)了?(?P<b>{_HOUSE_ZH})了?"
)
_TO_HOUSE = re.compile(rf"{ME}?{WHEN}(?:从\S+?)?搬家?(?:到|去|进|至)了?(?P<place>{_HOUSE_ZH})了?")
_FROM_HOUSE = re.compile(
    rf"{ME}?{WHEN}从(?P<a>\S{{2,}}?)(?:搬(?:出来?|走|家)了?)(?:了|啦)?"
    rf"|{ME}{WHEN}不(?:再)?住(?:在)?(?P<b>\S{{2,}}?)(?:那边|那里)?了"
)


def address(clause: Clause) -> Iterator[Claim]:
    lives = None if clause.fresh else _AT_HOUSE.fullmatch(clause.text)
    moved, left = _TO_HOUSE.fullmatch(clause.text), _FROM_HOUSE.fullmatch(clause.text)
    if lives is not None and (clause.mine or "现在" in clause.text):
        told = (
            clause.changes
            if lives["a"]
            else clause.now or bool(lives["new"] or lives["now"]) or clause.text.startswith("新")
        )
        yield Claim("address", _house(lives["a"] or lives["b"]), True, told)
    if moved is not None and not LONG_AGO.search(clause.text):
        yield Claim("address", _house(moved["place"]), True, True)
    if left is not None:
        value = _house(left["a"] or left["b"])
        kinds = ("address", "residence") if left["b"] else ("address",)
        yield from (Claim(kind, value, False, True) for kind in kinds)


def _house(text: str) -> str:
    """An address without what it is of: 同一个小区的14号楼."""
    return TRAIL.sub("", text).rpartition("的")[2]


_DIGITS = r"[+\dx][\dx\- ]{5,}"
_MAIL = r"[\"“]?(?P<{}>[a-z0-9._%+-]+@[a-z0-9.-]+[a-z0-9])[\"”]?"
_PHONE = re.compile(
    rf"(?:以后)?(?:打|联系)?(?:{ME}的?)?新?的?(?:(?:手机|电话|联系)(?:号码|号|电话)?|号码|(?<=新)号)"
    rf"(?:现在)?(?:是|改成|换成|变成)?了?\s?(?P<value>{_DIGITS})了?"
)
_LANDLINE = re.compile(
    rf"(?:{ME}家?的?|家里的?)(?:座机|固话|固定电话)(?:号码?)?(?:现在)?(?:是|改成|换成)?了?\s?(?P<value>{_DIGITS})了?"
)
_EMAIL = re.compile(
    rf"(?:{ME}的?)?新?的?邮箱(?:地址)?(?:现在)?(?:是|改成|换成|变成|改为|换为)?了?\s?{_MAIL.format('value')}了?"
)
_USES_EMAIL = re.compile(
    rf"{ME}{WHEN}(?:一直|平时)?用{_MAIL.format('value')}(?:收信|收邮件|收发邮件|发邮件|当邮箱|做邮箱)"
)
_STOPPED = r"(?:不能用|不用|停用|停机|销号|注销|作废|不在用|用不了)了"
_NO_EMAIL = re.compile(
    rf"{ME}{WHEN}不再?用{_MAIL.format('a')}了?"
    rf"|{ME}{WHEN}(?:注销|停用|弃用)了?{_MAIL.format('d')}了?"
    rf"|{_MAIL.format('b')}(?:那个|这个)?(?:邮箱)?我?(?:已经)?{_STOPPED}"
    rf"|(?P<c>[a-z0-9._-]{{4,}})(?:那个|这个)邮箱我?(?:已经)?{_STOPPED}"
)
_NO_PHONE = re.compile(rf"(?P<value>{_DIGITS})(?:那个|这个)?号?码?我?(?:已经)?{_STOPPED}")
_FROM_NOW = re.compile(rf"以后(?:请|都)?打(?:我)?(?P<value>{_DIGITS})(?:找我|联系我)")
_NO_LANDLINE = re.compile(
    rf"(?:{ME}家?的?|家里的?)?(?:座机|固话|固定电话){WHEN}(?:已经|都)?(?:销号|停机|停|拆|注销|取消)了"
)


def contact(clause: Clause) -> Iterator[Claim]:
    no_email, no_phone = _NO_EMAIL.fullmatch(clause.text), _NO_PHONE.fullmatch(clause.text)
    if no_email is not None:
        yield Claim("email", next(one for one in no_email.groups() if one), False, True)
    from_now = _FROM_NOW.fullmatch(clause.text)
    if from_now is not None and not clause.fresh:
        yield Claim("phone", _digits(from_now["value"]), True, True)
    if no_phone is not None:
        yield from (Claim(kind, _digits(no_phone["value"]), False, True) for kind in ("phone", "landline"))
    if _NO_LANDLINE.fullmatch(clause.text):
        yield Claim("landline", "", False, True)
    if clause.fresh:
        return
    for kind, pattern in (("phone", _PHONE), ("landline", _LANDLINE)):
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim(kind, _digits(found["value"]), True, True)
    email, uses = _EMAIL.fullmatch(clause.text), _USES_EMAIL.fullmatch(clause.text)
    if email is not None:
        yield Claim("email", email["value"], True, True)
    if uses is not None:
        yield Claim("email", uses["value"], True, False)


def _digits(phone: str) -> str:
    return re.sub(r"[^\d+x]", "", phone)


_NAMED = re.compile(
    r"(?:我(?:的名字)?{WHEN}叫|我(?:的|现在的)?名字(?:现在)?(?:是|叫|改成)|我改名叫|我把名字改成了?)(?P<a>[^做作]\S{0,7}?)(?:了)?"
    r"|(?:身份证上|户口本上)?{WHEN}叫(?P<b>\S{2,8}?)了?"
    r"|身份证上{WHEN}(?:是|改成)(?P<c>\S{2,8}?)了?".replace("{WHEN}", WHEN)
)
_CALLED = re.compile(
    r"(?:(?P<others>大家都?叫我)|(?:以后|现在)?(?:都|就|请)?叫我)(?P<a>[^做作]\S{0,7}?)(?P<just>就行|就好|吧|了)*"
    r"|我叫(?P<b>\S{1,8}?)(?:就行|就好|吧)+|我现在用[“\"]?(?P<c>\S{1,8}?)[”\"]?(?:这个|的)名字"
)
_NO_NAME = re.compile(r"[了车他她它上]|外卖|救护|代驾|滴滴|人$|我")
_NOT_CALLED = re.compile(r"(?:请?别|不要)再?叫我?(?P<name>\S{1,8}?)[了啦]?")
_RENAMED = re.compile(r"改名|改随|改姓|改了姓|换了名字")
_SURNAME = re.compile(r"我(?:现在|已经)?(?P<new>改)?姓(?P<name>\S)(?P<now>了)?")


def name(clause: Clause) -> Iterator[Claim]:
    denied = _NOT_CALLED.fullmatch(clause.text)
    if denied is not None:
        yield from (Claim(kind, denied["name"], False, True) for kind in ("called", "known"))
        return
    called = _CALLED.fullmatch(clause.text)
    if called is not None:
        by = called["a"] or called["b"] or called["c"]
        if not _NO_NAME.match(by):
            yield Claim("known" if called["others"] else "called", by, True, not called["others"])
        return
    found = _NAMED.fullmatch(clause.text)
    by = (found["a"] or found["b"] or found["c"]) if found else ""
    renamed = _RENAMED.search(clause.sentence) is not None
    if found is not None and not _NO_NAME.match(by) and (found["a"] or (clause.mine and renamed)):
        told = renamed or "改成" in clause.text or "现在" in clause.text or not clause.text.endswith("了")
        yield Claim("name", by, True, told)
    surname = _SURNAME.fullmatch(clause.text)
    if surname is not None:
        yield Claim("surname", surname["name"], True, clause.now or bool(surname["new"]))


_TENS = "一二三四五六七八九"
_YEARS = r"(?:\d{1,3}|[二三四五六七八九]?十[一二三四五六七八九]?)"
_AGED = re.compile(
    rf"我?{WHEN}(?:都|刚|刚刚|已经)*(?:满|过)?(?P<a>{_YEARS})周?岁[了啦]?"
    rf"|我的?年龄{WHEN}是(?P<b>{_YEARS})岁?[了啦]?|我{WHEN}(?P<c>\d\d)(?P<now>[了啦])?"
    rf"|{ME}(?:昨天|刚刚?)*(?:过完?|过了)我?的?(?P<d>{_YEARS})岁生日[了啦]?|是我的?(?P<e>{_YEARS})岁生日"
)
_AGES = range(4, 121)


def age(clause: Clause) -> Iterator[Claim]:
    found = _AGED.fullmatch(clause.text)
    turned = re.match(r"我?(?:刚|已经)*满|是我", clause.text)
    if found is not None and (found["e"] or not clause.mine) and "今天" not in clause.sentence:
        return
    if found is None or LONG_AGO.search(clause.text) or not (clause.mine or (clause.fresh and turned)):
        return
    years = _number(next(one for one in found.group("a", "b", "c", "d", "e") if one))
    if years in _AGES:
        yield Claim("age", str(years), True, found["c"] is None or clause.now)


def _number(told: str) -> int:
    if told.isdecimal():
        return int(told)
    tens, _, units = told.partition("十")
    return 10 * (_TENS.index(tens) + 1 if tens else 1) + (_TENS.index(units) + 1 if units else 0)


_WITH = r"(?:[和跟](?P<who>(?!合伙|合作|搭档|老板|客户|供应商|队友|经纪)[^\s我没不未别快要想还差]{1,6}?))?"
# Status, whether it is an event, and how it is told.
_MARITAL = (
    ("married", False, re.compile(rf"{ME}?已婚|我(?:老公|老婆|丈夫|妻子|爱人)(?:叫|是)\S+")),
    ("married", True, re.compile(
        rf"{ME}(?:[和跟][^\s我没不未别快要想还差]{{1,6}}?)?{WHEN}(?:又)?(?:(?:结婚|领证|再婚|复婚)[了啦]|领了证|办了婚礼)"
    )),
    ("divorced", True, re.compile(rf"{ME}{_WITH}{WHEN}(?:办了?)?(?:离婚|离)(?:手续)?(?:办完)?了?")),
    ("divorced", False, re.compile(rf"{ME}{WHEN}离异")),
    ("single", False, re.compile(rf"{ME}{WHEN}(?:还是|又)?(?:单身|一个人)了?")),
    ("single", True, re.compile(rf"{ME}{_WITH}{WHEN}(?:分手|退婚|解除婚约)了?|婚不结了")),
    ("partnered", True, re.compile(rf"{ME}{WHEN}(?:脱单|有对象|谈恋爱|有[男女]朋友|交[男女]朋友)[了啦]")),
    ("partnered", False, re.compile(rf"{ME}{WHEN}有[男女]朋友")),
    ("engaged", True, re.compile(rf"{ME}{WHEN}订婚了?")),
    ("engaged", False, re.compile(rf"{ME}[和跟]未婚[夫妻]\S*结婚|我未婚[夫妻]叫\S+")),
    ("widowed", True, re.compile(rf"我(?:老公|老婆|丈夫|妻子|爱人){WHEN}(?:去世|过世|病逝)了|{ME}{WHEN}丧偶了?")),
)  # fmt: skip
_ENDED = (
    ("single", re.compile(rf"{ME}{WHEN}不(?:再)?是?单身了")),
    ("engaged", re.compile(rf"{ME}{_WITH}{WHEN}(?:取消|解除)了?婚约了?")),
)
_PARTNER = re.compile(
    r"我(?:老公|老婆|丈夫|妻子|爱人|女朋友|男朋友|女友|男友|对象|未婚[夫妻])(?:叫|是)(?P<name>\S{1,6})"
)
_APART = re.compile(rf"{ME}{_WITH}{WHEN}(?:办了?)?(?:离婚|分手|退婚|离)了?")


def marital_status(clause: Clause) -> Iterator[Claim]:
    for status, happened, pattern in _MARITAL:
        if (happened or not clause.fresh) and pattern.fullmatch(clause.text):
            yield Claim("marital_status", status, True, not LONG_AGO.search(clause.text))
    for status, pattern in _ENDED:
        if pattern.fullmatch(clause.text):
            yield Claim("marital_status", status, False, True)
    partner, apart = _PARTNER.fullmatch(clause.text), _APART.fullmatch(clause.text)
    if partner is not None:
        yield Claim("partner", partner["name"], True, False)
    if apart is not None and apart["who"]:
        yield Claim("partner", apart["who"], False, True)


_FULL_NAME = re.compile(r"叫(?P<name>\S{2,4})")
_MOVED_HOUSE = re.compile(rf"(?:{ME}(?:家)?)?的?(?:地址|住址)(?:变|改|换)了|{ME}{WHEN}搬家了")
_NOW_HOUSE = re.compile(rf"(?:现在)?(?:是|在|住在?)(?P<house>{_HOUSE_ZH})了?")
_MY_HOUSE = re.compile(r"\S*我家\S*|(?:我的?)?(?:家庭)?(?:住址|地址)")
_OLD_PHONE = re.compile(
    rf"(?:{ME}的?)?(?:旧|老|原来的?)?(?:手机|电话)?号码?(?:已经)?(?:停|注销|不用|换|丢|销)了|{ME}换号码?了"
)
_NEW_PHONE = re.compile(rf"(?:{ME}的?)?新(?:的)?(?:手机|电话)?(?:号码|号)?")
_TO_PHONE = re.compile(rf"(?:我?现在)?(?:换成|改成|改用|用)了?(?P<value>{_DIGITS})了?|(?P<alone>{_DIGITS})")
_TO_EMAIL = re.compile(rf"(?:我?现在)?(?:换成|改成|改用|用)了?{_MAIL.format('value')}了?")


def across(first: Clause, second: Clause) -> Iterator[Claim]:
    """What two clauses say together: a name after its surname, a house after whose it is, what took a place."""
    surname, whole = _SURNAME.fullmatch(first.text), _FULL_NAME.fullmatch(second.text)
    if surname is not None and whole is not None and whole["name"].startswith(surname["name"]):
        yield Claim("name", whole["name"], True, surname["now"] is not None)
    if _MY_HOUSE.fullmatch(first.text) and _HOUSE.fullmatch(second.text):
        yield Claim("address", _house(second.text), True, False)
    moved = _NOW_HOUSE.fullmatch(second.text)
    if moved is not None and _MOVED_HOUSE.fullmatch(first.text):
        yield Claim("address", _house(moved["house"]), True, True)
    phone = _TO_PHONE.fullmatch(second.text)
    if phone is not None and (
        _OLD_PHONE.fullmatch(first.text) or (phone["alone"] and _NEW_PHONE.fullmatch(first.text))
    ):
        yield Claim("phone", _digits(phone["alone"] or phone["value"]), True, True)
    email = _TO_EMAIL.fullmatch(second.text)
    if email is not None and ("邮箱" in first.text or _NO_EMAIL.fullmatch(first.text)):
        yield Claim("email", email["value"], True, True)
