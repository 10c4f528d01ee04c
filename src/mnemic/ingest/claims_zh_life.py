"""Claims in Chinese about what the speaker has, does, likes and plans."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..records import Claim
from .clauses_zh import ME, OFTEN, OTHERS, WHEN, Clause, doubts, value_of

_VERBS = {
    "吃": "eat", "喝": "drink", "小酌": "drink", "抽": "smoke", "吸": "smoke", "玩": "play", "打": "play", "弹": "play",
    "踢": "play", "下": "play", "学": "learn", "备考": "learn", "上": "learn", "练": "learn", "用": "use",
    "开": "drive", "骑": "ride", "穿": "wear", "戴": "wear", "看": "watch", "追": "watch", "跑": "run", "做": "do",
    "负责": "do", "去": "go", "养": "keep", "租": "rent",
}  # fmt: skip
_VERB = rf"(?P<verb>{'|'.join(sorted(_VERBS, key=len, reverse=True))})"
_ENDED = r"(?:戒|卸载?|删|退|停|扔|断|放弃|不再?[吃喝抽玩打用学练去看做上追养戴穿跑弹踢考])掉?"
_GONE = r"(?:卖|送|丢|扔|转手|处理|报废|出手|转让|捐)(?:给\S+|掉|出去|走|人)*"
_PETS = r"(?:猫|狗|鹦鹉|仓鼠|兔子|乌龟|猫咪|狗狗|泰迪|金毛|柯基)"
_CHIEFS = frozenset(("直属领导", "领导", "上司", "老板", "直属上司", "主管", "组长", "经理", "leader"))


_HAS = re.compile(
    rf"{ME}(?:家里?)?{WHEN}(?:有|养[了着]?|买了?|开)(?P<what>[一两三四五六七八九十\d](?!点"
    rf"|些)\S+?)(?:(?:名字)?叫(?P<name>\S+))?"
)
_HAS_CALLED = re.compile(
    rf"{ME}(?:家里?)?{WHEN}(?:有|养了?)[一两三\d][只条匹个]叫(?P<name>\S{{1,6}}?)的(?P<what>\S+)"
)
_PET_CALLED = re.compile(rf"{ME}(?:家|养)?的?(?P<what>{_PETS})叫(?P<name>\S+)")
_LOST = re.compile(
    rf"(?:{ME}(?:把|的|家的?)?(?:那[辆台只条个])?)?(?P<what>\S{{1,8}}?)(?:连\S{{1,3}})?(?:一起)?(?:我|我们|已经)?{WHEN}(?:给)?{_GONE}了"
)
_NONE_LEFT = re.compile(rf"{ME}?(?:家里?)?{WHEN}没有?(?P<what>\S{{1,6}}?)了")
_DIED = re.compile(
    rf"(?:{ME}家?的?(?P<what>{_PETS})(?P<name>\S{{0,4}}?)|(?P<only>\S{{1,4}}?)){WHEN}(?:死|走|飞走|病死|老死|去世|过世|去汪星)了"
)
_NO_THING = re.compile(r"号|票|订|会员|时间|办法|钱|事|力气|空")


def possession(clause: Clause) -> Iterator[Claim]:
    for pattern in (_HAS, _HAS_CALLED, _PET_CALLED):
        found = None if clause.fresh else pattern.fullmatch(clause.text)
        for value in (found["what"], found["name"]) if found else ():
            if value and value_of(value):
                yield Claim("has", value_of(value), True, False)
        if found is not None and "叫" not in clause.sentence:
            yield Claim("unnamed", value_of(found["what"]), True, False)
    for pattern in (_LOST, _NONE_LEFT):
        ended = pattern.fullmatch(clause.text)
        if ended is not None and not _NO_THING.search(clause.text):
            if value := value_of(ended["what"]):
                yield Claim("has", value, False, True)
                yield Claim("habit:keep", value, False, True)
            return
    died = _DIED.fullmatch(clause.text)
    if died is not None:
        called = died["name"] or died["only"]
        if called and value_of(called):
            yield from (Claim(kind, value_of(called), False, True) for kind in ("has", "habit:keep"))
        if died["what"]:
            # A name tells which of several it was; one that was never told a name may be it.
            yield Claim("unnamed" if died["name"] else "has", value_of(died["what"]), False, True)


_NAME_AFTER = re.compile(r"(?:它?(?:的)?名字)?(?:叫|是)(?P<name>\S{1,6})")


def named(first: Clause, second: Clause) -> Iterator[Claim]:
    """The name that a second clause gives to what the speaker has by the first one."""
    has, name = _HAS.fullmatch(first.text), _NAME_AFTER.fullmatch(second.text)
    if has is not None and not has["name"] and name is not None and "叫" in second.text:
        yield Claim("has", name["name"], True, False)


_DOES = re.compile(rf"{ME}?{WHEN}{OFTEN}(?:正?在)?{_VERB}(?P<what>[^的是]\S{{0,11}}?)")
_DENIES = re.compile(
    rf"{ME}?(?P<when>{WHEN})(?:从来|再也)?不(?:再|用)?{_VERB}(?P<what>\S{{1,8}}?)(?P<more>了)?"
)
_BEGINS = re.compile(rf"{ME}?{WHEN}开始{_VERB}(?P<what>\S{{1,8}}?)了?")
_TOPIC_ENDED = re.compile(rf"(?P<what>\S{{1,10}}?)(?:我们?)?(?:已经)?{_ENDED}了")
_QUIT = re.compile(rf"{ME}{WHEN}(?:戒掉?|放弃|退出|卸载|退)了?(?P<what>\S{{1,8}}?)了?")
_SWITCHED = re.compile(
    rf"{ME}(?:把\S{{1,6}}?)?从(?P<old>[^，]+?)(?:换成|换到|改成|改用|转到|换)了?(?P<new>[^，]+?)了"
)
_OCCASION = re.compile(r"在|时候?$|后$|前$")


def habit(clause: Clause) -> Iterator[Claim]:
    switched = _SWITCHED.fullmatch(clause.text)
    if switched is not None:
        yield Claim("activity", value_of(switched["old"]), False, True)
        yield Claim("habit:use", value_of(switched["new"]), True, True)
        return
    denies = _DENIES.fullmatch(clause.text)
    if denies is not None:
        told = bool(denies["more"]) or "再" in clause.text
        what = value_of(denies["what"])
        if what and not _OCCASION.search(what) and (told or clause.text.startswith("我")):
            yield Claim(f"habit:{_VERBS[denies['verb']]}", what, False, told)
        return
    begins = _BEGINS.fullmatch(clause.text)
    if begins is not None:
        if clause.mine:
            yield Claim(f"habit:{_VERBS[begins['verb']]}", value_of(begins["what"]), True, True)
        return
    for ended in (_QUIT.fullmatch(clause.text), _TOPIC_ENDED.fullmatch(clause.text)):
        if ended is not None:
            what = value_of(ended["what"].removeprefix("我"))
            yield from [Claim("activity", what, False, True)] if what else []
            return
    does = _DOES.fullmatch(clause.text)
    if does is not None and clause.mine and (what := value_of(does["what"])):
        since_now = "现在" in clause.text and clause.text.endswith("了")
        yield Claim(f"habit:{_VERBS[does['verb']]}", what, True, since_now)
        yield Claim("activity", what, True, False)


_LIKES = re.compile(
    rf"{ME}{WHEN}(?:最|很|特别|挺|超级?|非常|比较|一直|又|开始)*(?P<verb>喜欢|爱|讨厌)(?:上)?(?:吃|喝|看|听|玩)?(?P<what>\S{{1,8}}?)了?"
)
_LIKES_NOT = re.compile(
    rf"{ME}{WHEN}(?P<never>再也)?不(?:再)?(?:喜欢|爱|讨厌)(?:吃|喝|看|听|玩)?(?P<what>\S{{1,8}}?)(?P<more>了)?"
)
_WENT_OFF = re.compile(
    rf"{ME}{WHEN}对(?P<a>\S{{1,8}}?)(?:已经|再也)?(?:没|不)(?:有)?(?:兴趣|感兴趣)了|{ME}{WHEN}(?:已经)?[吃喝看听玩]腻(?P<b>\S{{1,8}}?)了"
)
_TURNED_OFF = re.compile(
    rf"(?:{ME})?以前(?:很|挺|特别)?(?:喜欢|爱)(?:吃|喝|看|听|玩)?(?P<what>[^\s，。]{{1,8}}?)[，,]"
    rf"(?:但|可|不过)?(?:{ME})?现在(?:{ME})?(?:再也)?不(?:再)?(?:喜欢|爱)了(?:[，,。！].*)?"
)


def liking(clause: Clause) -> Iterator[Claim]:
    off = _WENT_OFF.fullmatch(clause.text)
    if off is not None:
        if "的" not in (what := value_of(off["a"] or off["b"])):
            yield Claim("likes", what, False, True)
        return
    denied = _LIKES_NOT.fullmatch(clause.text)
    if denied is not None:
        if "的" in denied["what"]:
            return
        kind = "dislikes" if "讨厌" in clause.text else "likes"
        yield Claim(kind, value_of(denied["what"]), False, bool(denied["more"]) or "不再" in clause.text)
        return
    found = _LIKES.fullmatch(clause.text)
    if found is None or not (what := value_of(found["what"])):
        return
    told = "现在" in clause.text or "开始" in clause.text
    hates = found["verb"] == "讨厌"
    yield Claim("dislikes" if hates else "likes", what, True, told)
    if hates or told:
        yield Claim("likes" if hates else "dislikes", what, False, told)


def turned_off(sentence: str) -> Iterator[Claim]:
    """What a whole sentence says was liked, and is not any more."""
    found = _TURNED_OFF.fullmatch(sentence.strip())
    if found is not None:
        yield Claim("likes", value_of(found["what"]), False, True)


_MY = re.compile(
    r"我的?(?:新)?(?P<what>\S{1,6}?)(?P<used>装的|用的)?(?:现在)?(?:是|换成|改成|变成)(?:每月)?(?P<value>[^，]+?)了?"
)
_I_USE = re.compile(r"我(?:现在)?用的(?P<what>\S{1,4})是(?P<value>[^，]+)")
_WEIGHT = re.compile(rf"我{WHEN}(?:体重)?(?:是)?\s?(?P<value>\d+)(?:斤|公斤|kg)了?")
_UNDER = re.compile(
    rf"我?{WHEN}我?归(?P<a>\S{{1,6}}?)管了?|我现在的?(?:直属)?(?:领导|上司)是(?P<b>\S{{1,6}})"
)
_BED = re.compile(
    rf"{ME}?{WHEN}{OFTEN}(?P<value>[一二三四五六七八九十两\d]+点(?:半|多)?)(?:才|就)?(?:睡|睡觉|上床)"
)
_OWN_READER = re.compile(r"手机号|电话|号码|邮箱|名字|^名$|座机|固话|年龄|住址|地址|生日")


def chief(clause: Clause) -> Iterator[Claim]:
    under = _UNDER.fullmatch(clause.text)
    if under is not None and clause.mine and not doubts(clause.text):
        yield Claim("my:领导", under["a"] or under["b"], True, True)


def mine(clause: Clause) -> Iterator[Claim]:
    weight, bed = _WEIGHT.fullmatch(clause.text), _BED.fullmatch(clause.text)
    if weight is not None:
        yield Claim("my:体重", weight["value"], True, clause.now)
        return
    if bed is not None and clause.mine:
        yield Claim("my:睡觉", bed["value"], True, clause.changes)
        return
    found = _I_USE.fullmatch(clause.text) or _MY.fullmatch(clause.text)
    if found is None or _OWN_READER.search(found["what"]) or re.fullmatch(WHEN, found["what"]):
        return
    what, value = found["what"].removesuffix("的"), value_of(found["value"])
    yield Claim(f"my:{'领导' if what in _CHIEFS else what}", value, True, clause.now)
    if found.re is _I_USE or found["used"]:
        yield Claim("habit:use", value, True, clause.now)
        yield Claim("activity", value, True, False)


_GOING = re.compile(
    rf"{ME}{WHEN}\S{{0,8}}?(?:打算|计划|准备|要)\S{{0,6}}?去(?P<where>[^\s过玩旅]{{2,4}}?)(?:过|玩|旅|度|看|出)?\S*"
)
_NOT_GOING = re.compile(rf"(?P<a>\S{{2,4}}?)(?:我们?)?不去了|{ME}?不去(?P<b>\S{{2,4}}?)了")


def plan(clause: Clause) -> Iterator[Claim]:
    going, off = _GOING.fullmatch(clause.text), _NOT_GOING.fullmatch(clause.text)
    if going is not None and not re.search(r"不想|可能|要是|如果", clause.text):
        yield Claim("plan", going["where"], True, False)
    if off is not None and not OTHERS.search(clause.text):
        yield Claim("plan", off["a"] or off["b"], False, True)


EVENT = r"(?P<what>婚礼|手术|考试|面试|航班|搬家|入职|体检|复查)"
_DATED = re.compile(rf"(?:{ME}的?)?{EVENT}(?:定在|安排在|是|在)(?P<when>[^，]+?)")
_PUT_OFF = re.compile(
    rf"(?:{ME}的?)?{EVENT}(?:推迟|提前|延期?|改|挪|改期)(?:到|成|至)了?(?P<when>[^，]+?)了?"
)


def date(clause: Clause) -> Iterator[Claim]:
    for changes, pattern in ((False, _DATED), (True, _PUT_OFF)):
        found = pattern.fullmatch(clause.text)
        if found is not None:
            yield Claim(f"date:{found['what']}", found["when"], True, changes)
