"""Cutting a Chinese sentence into clauses that may claim something, and values out of their words.

The speaker may be left out where the sentence names nobody else who could be meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .rules import any_word

HAN = "\u4e00-\u9fff"
_GAP = re.compile(rf"(?<=[{HAN}])[ \u00a0]+(?=[A-Za-z0-9+@])|(?<=[A-Za-z0-9+])[ \u00a0]+(?=[{HAN}])")
_EMOJI = "[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f]+"
_CUT = re.compile(rf"[，；;。！!、~～…\n]+|,(?!\d)|[:：]|(?<=[{HAN}])\s+(?=[{HAN}])|{_EMOJI}")
# Whatever is only thought, wished, told by others, past, or for a while.
_DOUBT = any_word(
    r"""
    想(?!到|起) 打算 准备 计划 可能 也许 说不定 大概率 要是 如果 假如 假设 万一 应该 希望 考虑 听说 据说 说(?!一声)
    梦 小说 剧(?!本) 书里 游戏里 电影(?!院) 故事 以前 曾经 过去(?!了) 小时候 差点 差一点 暂时 临时 (?<!从)今天 明天
    今晚 出差 旅游 旅行 几天 一阵子 这周 周末 怎么 什么 吗$ 多少 哪 逼 劝 让我 要不 能不能 最好 快要 即将 马上
    将要 也(?!不) 有时 偶尔 除了 (?<![一二两三四五六七八九十几\d])只(?!有|剩) 还没 当初 那会儿 谣言 骗 哈哈 玩笑
    """
)
# When something happened; of what holds it would say for how long.
_JUST_NOW = re.compile(r"(?<!从)今天(?!起|开始)|今早|今晚|这个?周末|这周[一二三四五六日]?|上周末|上个周末")
# Somebody or something else the clause may be about.
OTHERS = any_word(
    r"""
    他 她 它 爸 妈 爹 哥 (?<!小)姐 弟 妹 爷爷 奶奶(?!茶) 姥 外公 外婆 叔 舅 姑 姨 儿子 女儿 闺女 孩子 朋友
    同事 同学 室友 舍友 邻居 房东 亲戚 公司(?!上班|做|当|工作|宿舍) 老板 客户 网友 博主 别人 人家 大家 有人 你 您 我司
    部门 团队 乐队 男主 女主 主角 会议 项目 服务器 数据 老公 老婆 媳妇 丈夫 妻子 男友 女友 对象
    """
)
_NOW = any_word(r"现在 不再 新 换 改 开始 [了啦]$ 已经 如今 目前 搬 戒 再也不")
ME = r"(?:我们?(?:全家|一家|两口子)?|咱们?|俺)"
WHEN = (
    r"(?:现在|目前|如今|已经|终于|最近|刚刚?|正式|上个?(?:周[一二三四五六日末]?|星期[一二三四五六日]?|礼拜|月|学期)|去年|今年"
    r"|昨天|昨晚|前天|这学期|年初|年底|今早|[一二三四五六七八九十\d]+月(?:份|初|底)?(?:\d+[号日])?|从?\d{4}年(?:起|开始)?"
    r"|(?:[一二两三四五六七八九十半几\d]+)(?:天|个?星期|周|个?月)前|从(?:今天|现在)起|以后)*"
)
OFTEN = (
    r"(?:每[天晚周月年][一二三四五六日]?(?:晚上|早上|早晚|下午|上午)?|天天|顿顿|经常|常常|平时|一般|一直|都"
    r"|常|总是?|晚上|早上|周[一二三四五六日末])*"
)
# People and firms whose mention leaves the clause the speaker's.
_HARMLESS = re.compile(r"大家都叫我|(?:跳槽到了?|入职了?|加入了?)\S{2,8}公司")
_WHEN_FIRST = re.compile(rf"(?P<when>{WHEN})(?P<me>{ME})")
_SPEAKS = re.compile(rf"{WHEN}{ME}|(?:别再?|就|都|请)?叫我|大家都?叫我")
_MEASURE = re.compile(
    r"(?:(?:[一二两三四五六七八九十几半\d.]+|好几)"
    r"[个只条辆台部杯瓶罐包根支顿碗斤节门套间家把张匹口碟份点些下位名款]?(?:的|多)?"
    r"|[辆台部只条](?=\S{2})|点儿?|些)"
)
# A change with a date is a plan, unless it is said to have happened.
_DATED = re.compile(r"[一二三四五六七八九十\d]月|今年|年[初底]|这周|周末|今[天晚早]")
_BECOMES = re.compile(r"[搬转离辞退]|跳槽|入职|加入|毕业|结婚|领证")
_HAPPENED = re.compile(r"[了过啦]|已经|刚|去年|前年|从.*起")
_ON_THE_DAY = re.compile(rf"{_HAPPENED.pattern}|生日")
# What comes after it may be others' words.
_TELLS = re.compile(r"问|喊|写|告诉|讲|回|发|叫|唱|骂|聊|念|答")
TRAIL = re.compile(r"(?:了|的|过|着|吧|啦|呢|啊|呀|哦|嘛|掉|来着|而已)+$")
LONG_AGO = re.compile(r"\d{4}年(?![起开至])|年前|那年|那时|的时候")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in small letters; its sentence; whether that spoke of 我 so far, and whether it tells a change.

    doubtful: it may not hold, or be of somebody else. fresh: it speaks of today or this week, without these words:
    what happened then is told, what holds only then not.
    """

    text: str
    sentence: str
    mine: bool
    changes: bool
    doubtful: bool
    fresh: bool

    @property
    def now(self) -> bool:
        """Whether the clause itself says that something is so since now."""
        return "现在" in self.text or self.text.endswith(("了", "啦"))


def clauses(sentence: str) -> Iterator[Clause]:
    """The clauses of a sentence, without those that may speak of somebody else whom it named before."""
    plain = _GAP.sub("", sentence.casefold())
    pieces = [bare for piece in _CUT.split(plain) if (bare := piece.strip("\"'“”「」()（） ."))]
    changes = any(_NOW.search(piece) for piece in pieces)
    mine = others = False
    for piece in pieces:
        fresh = _JUST_NOW.search(piece) is not None and _ON_THE_DAY.search(piece) is not None
        untimed = _WHEN_FIRST.sub(r"\g<me>\g<when>", _JUST_NOW.sub("", piece) if fresh else piece, count=1)
        speaks = _SPEAKS.match(untimed) is not None
        of_others = OTHERS.search(_HARMLESS.sub("", untimed)) is not None
        if others and not (of_others or speaks):
            # Still of them: nobody else was named.
            continue
        mine, others = mine or speaks, of_others
        doubtful = of_others or doubts(untimed)
        yield Clause(untimed, plain, mine, changes, doubtful, fresh)
        if doubtful and not mine and (doubts(untimed) or _TELLS.search(untimed)):
            return


def doubts(text: str) -> bool:
    """Whether a text is only thought, wished, planned, told by others, past, or for a while."""
    if _DATED.search(text) and _BECOMES.search(text) and not _HAPPENED.search(text):
        return True
    return _DOUBT.search(text) is not None


def value_of(text: str) -> str:
    """A value without quantities, without what it is of, and without particles around it."""
    bare = TRAIL.sub("", text.strip().lstrip("了着"))
    if bare.isdecimal():
        return bare
    measured = _MEASURE.match(bare)
    rest = bare[measured.end() :] if measured else bare
    return TRAIL.sub("", re.sub(r"^\S{1,6}的(?=\S{2})", "", rest)).strip("“”「」\"' ")
