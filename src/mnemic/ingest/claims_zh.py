"""Claims in Chinese: every pattern takes a whole clause of the speaker; a clause with any doubt says nothing.

The speaker may be left out where the sentence names nobody else who could be meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

from ..records import Claim
from .rules import any_word

_HAN = "\u4e00-\u9fff"
_GAP = re.compile(rf"(?<=[{_HAN}])[ \u00a0]+(?=[A-Za-z0-9+@])|(?<=[A-Za-z0-9+])[ \u00a0]+(?=[{_HAN}])")
_CUT = re.compile(rf"[，；;。！!、~～…\n]+|,(?!\d)|[:：]|(?<=[{_HAN}])\s+(?=[{_HAN}])")
# Whatever is only thought, wished, told by others, past, or for a while.
_DOUBT = any_word(
    r"""
    想(?!到|起) 打算 准备 计划 可能 也许 说不定 大概率 要是 如果 假如 假设 万一 应该 希望 考虑 听说 据说 说
    梦 小说 剧(?!本) 书里 游戏里 电影 故事 以前 曾经 过去(?!了) 小时候 差点 差一点 暂时 临时 今天 明天 今晚
    出差 旅游 旅行 几天 一阵子 这周 周末 怎么 什么 吗$ 多少 哪 逼 劝 让我 要不 能不能 最好 快要 即将 马上
    将要 也(?!不) 有时 偶尔 除了 (?<![一二两三四五六七八九十几\d])只(?!有|剩) 还没
    """
)
# Somebody or something else the clause may be about.
_OTHERS = any_word(
    r"""
    他 她 它 爸 妈 爹 哥 (?<!小)姐 弟 妹 爷爷 奶奶(?!茶) 姥 外公 外婆 叔 舅 姑 姨 儿子 女儿 闺女 孩子 朋友
    同事 同学 室友 舍友 邻居 房东 亲戚 公司(?!上班|做|当|工作|宿舍) 老板 客户 别人 人家 大家 有人 你 您 我司
    部门 团队 乐队 男主 女主 主角 会议 项目 服务器 数据 老公 老婆 媳妇 丈夫 妻子 男友 女友 对象
    """
)
_NOW = any_word(r"现在 不再 新 换 改 开始 了$ 已经 如今 目前 搬 戒 再也不")
_ME = r"(?:我们?(?:全家|一家|两口子)?|咱们?|俺)"
_WHEN = (
    r"(?:现在|目前|如今|已经|终于|最近|刚刚?|上个?(?:周[一二三四五六日末]?|星期|礼拜|月)|去年|今年|昨天|前天"
    r"|年初|年底|上周末|今早|[一二三四五六七八九十\d]+月(?:份|初|底)?(?:\d+[号日])?|\d{4}年)*"
)
_OFTEN = (
    r"(?:每[天晚周月年][一二三四五六日]?(?:晚上|早上|早晚|下午|上午)?|天天|顿顿|经常|常常|平时|一般|一直|都"
    r"|常|总是?|晚上|早上|周[一二三四五六日末])*"
)
_SPEAKS = re.compile(rf"{_WHEN}{_ME}|(?:别再?|就|都)?叫我|大家都?叫我")
_HOME = any_word(
    r"""
    宿舍 合租 公寓 房子?$ 小区 单间 平房 别墅 城中村 酒店 旅馆 [爸妈]家 父母家 爸妈 家里 楼[上下里]?$ 旁边
    附近 对面
    """
)
_NO_PLACE = any_word(
    r"""
    新?家$ 新?工位 \S*楼$ 座位 这[里边儿]? 那[里边儿]? linux windows mac 公众号 微信 群 平台 版本 系统 硬盘
    云 桌 一起 \S*(?:组|部|岗|队|班|科室|店)$
    """
)
_VERBS = {
    "吃": "eat", "喝": "drink", "小酌": "drink", "抽": "smoke", "吸": "smoke", "玩": "play", "打": "play", "弹": "play",
    "踢": "play", "下": "play", "学": "learn", "备考": "learn", "上": "learn", "练": "learn", "用": "use",
    "开": "drive", "骑": "ride", "穿": "wear", "戴": "wear", "看": "watch", "追": "watch", "跑": "run", "做": "do",
    "负责": "do", "去": "go", "养": "keep", "租": "rent",
}  # fmt: skip
_VERB = rf"(?P<verb>{'|'.join(sorted(_VERBS, key=len, reverse=True))})"
_MEASURE = re.compile(
    r"(?:(?:[一二两三四五六七八九十几半\d.]+|好几)"
    r"[个只条辆台部杯瓶罐包根支顿碗斤节门套间家把张匹口碟份点些下位名款]?(?:的|多)?"
    r"|[辆台部只条](?=\S{2})|点儿?|些)"
)
_TRAIL = re.compile(r"(?:了|的|过|着|吧|啦|呢|啊|呀|哦|嘛|掉|来着|而已)+$")
_ENDED = r"(?:戒|卸载?|删|退|停|扔|断|放弃|不再?[吃喝抽玩打用学练去看做上追养戴穿跑弹踢考])掉?"
_GONE = r"(?:卖|送|丢|扔|转手|处理|报废|出手|转让|捐)(?:给\S+|掉|出去|走|人)*"
_PETS = r"(?:猫|狗|鹦鹉|仓鼠|兔子|乌龟|猫咪|狗狗|泰迪|金毛|柯基)"
_CHIEFS = frozenset(("直属领导", "领导", "上司", "老板", "直属上司", "主管", "组长", "经理", "leader"))


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause in small letters, whether the sentence so far spoke of 我, and whether it tells a change."""

    text: str
    mine: bool
    changes: bool

    @property
    def now(self) -> bool:
        """Whether the clause itself says that something is so since now."""
        return "现在" in self.text or self.text.endswith("了")


def read(sentence: str) -> Iterator[Claim]:
    """The claims of one Chinese sentence that is no question."""
    plain = _GAP.sub("", sentence.casefold())
    pieces = [bare for piece in _CUT.split(plain) if (bare := piece.strip("\"'“”「」()（） ."))]
    changes = any(_NOW.search(piece) for piece in pieces)
    mine = False
    said: list[_Clause] = []
    for piece in pieces:
        mine = mine or _SPEAKS.match(piece) is not None
        clause = _Clause(piece, mine, changes)
        for reader in _EARLY:
            yield from reader(clause)
        if _DOUBT.search(piece) or _OTHERS.search(piece.replace("大家都叫我", "")):
            if not mine:
                return
            continue
        said.append(clause)
        for reader in _READERS:
            yield from reader(clause)
    for first, second in combinations(said, 2):
        yield from _across(first, second)


def _value(text: str) -> str:
    bare = _TRAIL.sub("", text.strip())
    if bare.isdecimal():
        return bare
    measured = _MEASURE.match(bare)
    rest = bare[measured.end() :] if measured else bare
    return _TRAIL.sub("", re.sub(r"^\S{1,4}的(?=\S{2})", "", rest)).strip()


_LIVES = re.compile(
    rf"{_ME}?家?{_WHEN}一直?(?:住在?|家在|家住|定居在?|常住在?){_WHEN}(?P<a>[^了的着院]\S*?)(?:这边|那边)?了?".replace(
        "一直?", "(?:一直)?"
    )
    + rf"|{_ME}{_WHEN}在(?P<b>\S+?)(?:租房子?|合租)?住"
)
_MOVED = re.compile(
    rf"{_ME}{_WHEN}(?:从\S+?)?(?:搬家|搬|移居|迁)(?:到|去|来|回|至)了?(?P<place>\S+?)(?:那边|这边)?(?:定居"
    rf"|生活|长住|住|安家|工作|上班|发展)?了?"
)
_LONG_AGO = re.compile(r"\d{4}年|年前|那年|那时|的时候")
_WITH_PARENTS = re.compile(
    rf"{_ME}{_WHEN}(?:还)?(?:跟|和)(?:我)?(?P<a>爸妈|父母)(?:一起)?住(?:在?一块儿?|一起)?"
    rf"|{_ME}{_WHEN}住(?P<b>爸妈|父母)家"
)
_MOVED_OUT = re.compile(rf"{_ME}{_WHEN}从(?P<who>爸妈|父母)(?:那儿|那里|家)?搬出来?了")


def _dwelling(clause: _Clause) -> Iterator[Claim]:
    lives = _WITH_PARENTS.fullmatch(clause.text)
    left = _MOVED_OUT.fullmatch(clause.text)
    if lives is not None:
        yield Claim("dwelling", "爸妈", True, "现在" in clause.text)
    if left is not None:
        yield Claim("dwelling", "爸妈", False, True)


def _residence(clause: _Clause) -> Iterator[Claim]:
    lives = _LIVES.fullmatch(clause.text)
    moved = None if lives else _MOVED.fullmatch(clause.text)
    if not (clause.mine or clause.text.startswith("家")) or (lives is None and moved is None):
        return
    place = _TRAIL.sub("", lives["a"] or lives["b"] if lives else moved["place"] if moved else "")
    if len(place) > 1 and not _NO_PLACE.match(place):
        kind = "dwelling" if _HOME.search(place) else "residence"
        plain = kind == "residence" and not _LONG_AGO.search(clause.text)
        yield Claim(kind, place, True, plain or "现在" in clause.text or moved is not None)


_WORKS = re.compile(rf"{_ME}{_WHEN}在(?P<org>\S+?)(?:上班|工作|任职|就职|当(?P<a>\S+?)|做(?P<b>\S+?))了?")
_JOINED = re.compile(
    rf"{_ME}?{_WHEN}(?:从\S+?)?(?:跳槽|入职|加入|跳)(?:到|去|进)?了?(?P<org>\S+?)(?:上班|工作)?了?"
)
_NO_EMPLOYER = re.compile(
    r"家$|家里|群|俱乐部|社团|健身房|会员|队$|会$|路上|地铁|周末|晚上|白天|这|那|外面|床"
)
_LEFT = re.compile(
    rf"{_ME}{_WHEN}(?:从(?P<a>\S+?)(?:离职|辞职|被裁)|离开(?P<b>\S+?)|把(?P<c>\S+?)的工作辞)了?"
    rf"|(?P<d>\S+?)的工作我?(?:已经)?辞了"
)


def _employer(clause: _Clause) -> Iterator[Claim]:
    works = _WORKS.fullmatch(clause.text)
    joined = _JOINED.fullmatch(clause.text) if clause.mine and not works else None
    found = works or joined
    if found is not None:
        org = _value(found["org"])
        at_work = works is not None or re.search(r"跳槽|入职|上班|工作", clause.text)
        if len(org) > 1 and at_work and not _NO_EMPLOYER.search(org):
            yield Claim("employer", org, True, True)
        title = (works["a"] or works["b"]) if works else None
        if title:
            yield Claim("is", _value(title), True, clause.changes)
    left = _LEFT.fullmatch(clause.text)
    if left is not None:
        yield Claim("employer", _value(next(one for one in left.groups() if one)), False, True)


_PHONE = re.compile(
    rf"(?:以后)?(?:打|联系)?(?:{_ME}的?)?(?P<new>新)?的?(?:手机|电话|联系)?(?:号码|号|电话)(?:现在)?(?:是|改成"
    rf"|换成|变成)?了?\s?(?P<value>[+\dx][\dx\- ]{{5,}})了?"
)
_EMAIL = re.compile(
    rf"(?:{_ME}的?)?(?P<new>新)?的?邮箱(?:地址)?(?:现在)?(?:是|改成|换成"
    rf"|变成)了?\s?(?P<value>[a-z0-9._%+-]+@[a-z0-9.-]+[a-z0-9])了?"
)


def _contact(clause: _Clause) -> Iterator[Claim]:
    phone, email = _PHONE.fullmatch(clause.text), _EMAIL.fullmatch(clause.text)
    if phone is not None:
        yield Claim("phone", re.sub(r"[^\d+x]", "", phone["value"]), True, True)
    if email is not None:
        yield Claim("email", email["value"], True, True)


_CALLED = re.compile(
    r"(?:我(?:的名字)?(?:现在)?叫|大家都?叫我|(?:以后|现在)?(?:都|就)?叫我"
    r"|我改名叫)(?P<a>[^做作]\S{0,7}?)(?:就行|就好|吧|了)*"
    r"|(?:身份证上)?现在叫(?P<b>\S{1,8}?)了?"
)
_NO_NAME = re.compile(r"[了车他她它上]|外卖|救护|代驾|滴滴|人$|我")
_NOT_CALLED = re.compile(r"(?:请?别|不要)再?叫我(?P<name>\S{1,8}?)了?")


def _name(clause: _Clause) -> Iterator[Claim]:
    denied = _NOT_CALLED.fullmatch(clause.text)
    called = None if denied else _CALLED.fullmatch(clause.text)
    if denied is not None:
        yield Claim("name", denied["name"], False, True)
    if called is not None and (called["a"] or clause.mine) and not _NO_NAME.match(called["a"] or called["b"]):
        told = clause.text.startswith("大家") or (
            clause.text.startswith("我叫") and clause.text.endswith("了")
        )
        yield Claim("name", called["a"] or called["b"], True, not told)


_WITH = r"(?:[和跟](?P<who>[^\s我]{1,6}?))?"
_MARITAL = (
    ("married", re.compile(rf"{_ME}?已婚|我(?:老公|老婆|丈夫|妻子|爱人)(?:叫|是)\S+")),
    ("married", re.compile(rf"{_ME}{_WHEN}(?:结婚|领证)了")),
    ("divorced", re.compile(rf"{_ME}{_WITH}{_WHEN}(?:办了?)?(?:离婚|离)(?:手续)?(?:办完)?了?|{_ME}离异")),
    ("single", re.compile(rf"{_ME}{_WHEN}(?:还是)?单身")),
    ("single", re.compile(rf"{_ME}{_WITH}{_WHEN}(?:分手|退婚|解除婚约)了?|婚不结了")),
    ("partnered", re.compile(rf"{_ME}{_WHEN}(?:脱单|有对象|谈恋爱)[了啦]")),
    ("engaged", re.compile(rf"{_ME}[和跟]未婚[夫妻]\S*结婚|{_ME}{_WHEN}订婚了?|我未婚[夫妻]叫\S+")),
)  # fmt: skip
_PARTNER = re.compile(
    r"我(?:老公|老婆|丈夫|妻子|爱人|女朋友|男朋友|女友|男友|对象|未婚[夫妻])(?:叫|是)(?P<name>\S{1,6})"
)
_APART = re.compile(rf"{_ME}{_WITH}{_WHEN}(?:办了?)?(?:离婚|分手|退婚|离)了?")


def _marital_status(clause: _Clause) -> Iterator[Claim]:
    for status, pattern in _MARITAL:
        if pattern.fullmatch(clause.text):
            yield Claim("marital_status", status, True, not _LONG_AGO.search(clause.text))
    partner, apart = _PARTNER.fullmatch(clause.text), _APART.fullmatch(clause.text)
    if partner is not None:
        yield Claim("partner", partner["name"], True, False)
    if apart is not None and apart["who"]:
        yield Claim("partner", apart["who"], False, True)


_IS = re.compile(rf"我{_WHEN}是(?:一[名个位])?(?P<what>\S{{2,8}}?)(?P<now>了)?")
_IS_NOT = re.compile(rf"{_ME}?(?P<when>{_WHEN})不(?P<more>再)?(?:是|做|当)(?P<what>\S{{2,8}}?)(?P<now>了)?")
_VEGETARIAN = re.compile(rf"{_ME}{_WHEN}(?P<no>不)?(?:吃素|是素食者|是素食主义者)(?P<more>了)?")
_PREGNANT = re.compile(rf"我{_WHEN}(?:怀孕|怀二胎|有喜)了?")
_BORN = re.compile(rf"我{_WHEN}生(?:完)?了|(?:宝宝|孩子)(?:已经)?出生了")
_SEEKS = re.compile(rf"我{_WHEN}(?:正在|在|还在)找(?P<what>工作|房子|实习)")
_FOUND = re.compile(rf"{_ME}?{_WHEN}(?:(?P<a>工作|房子|实习)(?:已经)?找到|找到(?P<b>工作|房子|实习))了")


def _being(clause: _Clause) -> Iterator[Claim]:
    vegetarian = _VEGETARIAN.fullmatch(clause.text)
    if vegetarian is not None and (vegetarian["more"] or not vegetarian["no"]):
        yield Claim("is", "素食", not vegetarian["no"], bool(vegetarian["more"]))
    if _PREGNANT.fullmatch(clause.text):
        yield Claim("is", "怀孕", True, False)
    if _BORN.fullmatch(clause.text):
        yield Claim("is", "怀孕", False, True)
    ended, found = _IS_NOT.fullmatch(clause.text), _IS.fullmatch(clause.text)
    if ended is not None and (ended["more"] or ended["now"] or "现在" in ended["when"]):
        yield Claim("is", _value(ended["what"]), False, True)
    if found is not None:
        yield Claim("is", _value(found["what"]), True, bool(found["now"]) or "现在" in clause.text)
    sought, got = _SEEKS.fullmatch(clause.text), _FOUND.fullmatch(clause.text)
    if sought is not None:
        yield Claim("seeking", sought["what"], True, False)
    if got is not None:
        yield Claim("seeking", got["a"] or got["b"], False, True)


_STUDIES = re.compile(rf"我{_WHEN}在(?P<school>\S+?(?:大学|学院|中学|高中|学校|一中|二中))(?:读|上|念|学)\S*")
_GRADUATED = re.compile(rf"{_ME}{_WHEN}从(?P<school>\S+?){_WHEN}(?:毕业|退学|结业)了?")


def _school(clause: _Clause) -> Iterator[Claim]:
    for holds, pattern in ((True, _STUDIES), (False, _GRADUATED)):
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim("school", found["school"], holds, not holds)


_HAS = re.compile(
    rf"{_ME}(?:家里?)?{_WHEN}(?:有|养了?|买了?|开)(?P<what>[一两三四五六七八九十\d](?!点"
    rf"|些)\S+?)(?:(?:名字)?叫(?P<name>\S+))?"
)
_HAS_CALLED = re.compile(
    rf"{_ME}(?:家里?)?{_WHEN}(?:有|养了?)[一两三\d][只条匹个]叫(?P<name>\S{{1,6}}?)的(?P<what>\S+)"
)
_PET_CALLED = re.compile(rf"{_ME}(?:家|养)?的?(?P<what>{_PETS})叫(?P<name>\S+)")
_LOST = re.compile(
    rf"(?:{_ME}(?:把|的|家的?)?(?:那[辆台只条个])?)?(?P<what>\S{{1,8}}?)(?:我|我们|已经)?{_WHEN}(?:给)?{_GONE}了"
)
_NONE_LEFT = re.compile(rf"{_ME}?(?:家里?)?{_WHEN}没有?(?P<what>\S{{1,6}}?)了")
_DIED = re.compile(
    rf"(?:{_ME}家?的?(?P<what>{_PETS})(?P<name>\S{{0,4}}?)|(?P<only>\S{{1,4}}?)){_WHEN}(?:死|走|去世|去汪星)了"
)
_NO_THING = re.compile(r"号|票|订|会员|时间|办法|钱|事|力气|空")


def _possession(clause: _Clause) -> Iterator[Claim]:
    for pattern in (_HAS, _HAS_CALLED, _PET_CALLED):
        found = pattern.fullmatch(clause.text)
        for value in (found["what"], found["name"]) if found else ():
            if value and _value(value):
                yield Claim("has", _value(value), True, False)
    for pattern in (_LOST, _NONE_LEFT, _DIED):
        ended = pattern.fullmatch(clause.text)
        if ended is not None and not _NO_THING.search(clause.text):
            values = {_value(value) for value in ended.groupdict().values() if value}
            yield from (Claim("has", value, False, True) for value in sorted(values) if value)
            return


_DOES = re.compile(rf"{_ME}?{_WHEN}{_OFTEN}(?:正?在)?{_VERB}(?P<what>[^的是]\S{{0,11}}?)")
_DENIES = re.compile(
    rf"{_ME}?(?P<when>{_WHEN})(?:从来|再也)?不(?:再|用)?{_VERB}(?P<what>\S{{1,8}}?)(?P<more>了)?"
)
_BEGINS = re.compile(rf"{_ME}?{_WHEN}开始{_VERB}(?P<what>\S{{1,8}}?)了?")
_TOPIC_ENDED = re.compile(rf"(?P<what>\S{{1,10}}?)(?:我们?)?(?:已经)?{_ENDED}了")
_QUIT = re.compile(rf"{_ME}{_WHEN}(?:戒掉?|放弃|退出|卸载|退)了?(?P<what>\S{{1,8}}?)了?")
_SWITCHED = re.compile(
    rf"{_ME}(?:把\S{{1,6}}?)?从(?P<old>[^，]+?)(?:换成|换到|改成|改用|转到|换)了?(?P<new>[^，]+?)了"
)
_OCCASION = re.compile(r"在|时候?$|后$|前$")


def _habit(clause: _Clause) -> Iterator[Claim]:
    switched = _SWITCHED.fullmatch(clause.text)
    if switched is not None:
        yield Claim("activity", _value(switched["old"]), False, True)
        yield Claim("habit:use", _value(switched["new"]), True, True)
        return
    denies = _DENIES.fullmatch(clause.text)
    if denies is not None:
        told = bool(denies["more"]) or "再" in clause.text
        what = _value(denies["what"])
        if what and not _OCCASION.search(what) and (told or clause.text.startswith("我")):
            yield Claim(f"habit:{_VERBS[denies['verb']]}", what, False, told)
        return
    begins = _BEGINS.fullmatch(clause.text)
    if begins is not None:
        if clause.mine:
            yield Claim(f"habit:{_VERBS[begins['verb']]}", _value(begins["what"]), True, True)
        return
    for ended in (_QUIT.fullmatch(clause.text), _TOPIC_ENDED.fullmatch(clause.text)):
        if ended is not None:
            what = _value(ended["what"].removeprefix("我"))
            yield from [Claim("activity", what, False, True)] if what else []
            return
    does = _DOES.fullmatch(clause.text)
    if does is not None and clause.mine and (what := _value(does["what"])):
        yield Claim(f"habit:{_VERBS[does['verb']]}", what, True, False)
        yield Claim("activity", what, True, False)


_LIKES = re.compile(
    rf"{_ME}{_WHEN}(?:最|很|特别|挺|超|非常|比较|一直)?(?P<verb>喜欢|爱|讨厌)(?:吃|喝|看|听|玩)?(?P<what>\S{{1,8}}?)"
)
_LIKES_NOT = re.compile(
    rf"{_ME}{_WHEN}不(?:再)?(?:喜欢|爱)(?:吃|喝|看|听|玩)?(?P<what>\S{{1,8}}?)(?P<more>了)?"
)


def _liking(clause: _Clause) -> Iterator[Claim]:
    ended = _LIKES_NOT.fullmatch(clause.text)
    found = None if ended else _LIKES.fullmatch(clause.text)
    if ended is not None:
        yield Claim("likes", _value(ended["what"]), False, bool(ended["more"]) or "不再" in clause.text)
    if found is not None:
        yield Claim("dislikes" if found["verb"] == "讨厌" else "likes", _value(found["what"]), True, False)


_MY = re.compile(
    r"我的?(?:新)?(?P<what>\S{1,6}?)(?P<used>装的|用的)?(?:现在)?(?:是|换成|改成|变成)(?:每月)?(?P<value>[^，]+?)了?"
)
_I_USE = re.compile(r"我(?:现在)?用的(?P<what>\S{1,4})是(?P<value>[^，]+)")
_WEIGHT = re.compile(rf"我{_WHEN}(?:体重)?(?:是)?\s?(?P<value>\d+)(?:斤|公斤|kg)了?")
_UNDER = re.compile(
    rf"我?{_WHEN}我?归(?P<a>\S{{1,6}}?)管了?|我现在的?(?:直属)?(?:领导|上司)是(?P<b>\S{{1,6}})"
)
_BED = re.compile(
    rf"{_ME}?{_WHEN}{_OFTEN}(?P<value>[一二三四五六七八九十两\d]+点(?:半|多)?)(?:才|就)?(?:睡|睡觉|上床)"
)
_OWN_READER = re.compile(r"手机号|电话|号码|邮箱|名字|^名$")


def _chief(clause: _Clause) -> Iterator[Claim]:
    under = _UNDER.fullmatch(clause.text)
    if under is not None and clause.mine and not _DOUBT.search(clause.text):
        yield Claim("my:领导", under["a"] or under["b"], True, True)


def _mine(clause: _Clause) -> Iterator[Claim]:
    weight, bed = _WEIGHT.fullmatch(clause.text), _BED.fullmatch(clause.text)
    if weight is not None:
        yield Claim("my:体重", weight["value"], True, clause.now)
        return
    if bed is not None and clause.mine:
        yield Claim("my:睡觉", bed["value"], True, clause.changes)
        return
    found = _I_USE.fullmatch(clause.text) or _MY.fullmatch(clause.text)
    if found is None or _OWN_READER.search(found["what"]) or re.fullmatch(_WHEN, found["what"]):
        return
    what, value = found["what"].removesuffix("的"), _value(found["value"])
    yield Claim(f"my:{'领导' if what in _CHIEFS else what}", value, True, clause.now)
    if found.re is _I_USE or found["used"]:
        yield Claim("habit:use", value, True, clause.now)
        yield Claim("activity", value, True, False)


_GOING = re.compile(
    rf"{_ME}{_WHEN}\S{{0,8}}?(?:打算|计划|准备|要)\S{{0,6}}?去(?P<where>[^\s过玩旅]{{2,4}}?)(?:过|玩|旅|度|看|出)?\S*"
)
_NOT_GOING = re.compile(rf"(?P<a>\S{{2,4}}?)(?:我们?)?不去了|{_ME}?不去(?P<b>\S{{2,4}}?)了")


def _plan(clause: _Clause) -> Iterator[Claim]:
    going, off = _GOING.fullmatch(clause.text), _NOT_GOING.fullmatch(clause.text)
    if going is not None and not re.search(r"不想|可能|要是|如果", clause.text):
        yield Claim("plan", going["where"], True, False)
    if off is not None and not _OTHERS.search(clause.text):
        yield Claim("plan", off["a"] or off["b"], False, True)


_EVENT = r"(?P<what>婚礼|手术|考试|面试|航班|搬家|入职|体检|复查)"
_DATED = re.compile(rf"(?:{_ME}的?)?{_EVENT}(?:定在|安排在|是|在)(?P<when>[^，]+?)")
_PUT_OFF = re.compile(
    rf"(?:{_ME}的?)?{_EVENT}(?:推迟|提前|延期?|改|挪|改期)(?:到|成|至)了?(?P<when>[^，]+?)了?"
)


def _date(clause: _Clause) -> Iterator[Claim]:
    for changes, pattern in ((False, _DATED), (True, _PUT_OFF)):
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim(f"date:{found['what']}", found["when"], True, changes)


_TURNED = re.compile(r"(?:我的?)?(?P<what>\S{1,6}?)(?:我)?(?:改|换|涨|降|变|调)了")
_NOW_IS = re.compile(r"现在(?:是)?(?:每月|每个月|一个月)?(?P<value>[\w.@+-]+?)(?:块|元)?了?")
_EVENT_MOVED = re.compile(rf"(?:{_ME}的?)?{_EVENT}(?:改期|推迟|提前|延期|改|挪)了")
_MOVED_TO = re.compile(r"(?:改|推迟|提前|延|挪)(?:到|成|至)了?(?P<when>[^，]+?)了?|不是\S+")


def _across(first: _Clause, second: _Clause) -> Iterator[Claim]:
    """What two clauses say together: what was changed, and to what."""
    turned, now = _TURNED.fullmatch(first.text), _NOW_IS.fullmatch(second.text)
    if turned is not None and now is not None:
        yield Claim(f"my:{turned['what']}", now["value"], True, True)
    event, moved = _EVENT_MOVED.fullmatch(first.text), _MOVED_TO.fullmatch(second.text)
    if event is not None and moved is not None and moved["when"]:
        yield Claim(f"date:{event['what']}", moved["when"], True, True)


_Reader = Callable[[_Clause], Iterator[Claim]]
# These name other people or plans themselves; the others stop at any mention of them.
_EARLY: tuple[_Reader, ...] = (_dwelling, _marital_status, _chief, _plan)
_READERS: tuple[_Reader, ...] = (
    _residence,
    _employer,
    _contact,
    _name,
    _being,
    _school,
    _possession,
    _habit,
    _liking,
    _mine,
    _date,
)
