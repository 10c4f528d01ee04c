"""How Chinese names dates, in simplified and traditional characters. Data, and the functions that read a match."""

from __future__ import annotations

import re
from datetime import date, timedelta

from . import stretches as s
from .dates import Rule
from .stretches import Stretch

_DIGITS = {**dict(zip("〇零一二三四五六七八九", (0, *range(10)), strict=True)), "两": 2, "兩": 2}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2, "後年": 2}
_DAYS = {
    "大前天": -3,
    "前天": -2, "前晚": -2, "前日": -2,
    "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1,
    "今天": 0, "今日": 0, "今早": 0, "今晚": 0, "今晨": 0,
    "明天": 1, "明日": 1, "明早": 1, "明晚": 1,
    "后天": 2, "後天": 2,
    "大后天": 3, "大後天": 3,
}  # fmt: skip
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_WEEKDAYS = dict(zip("一二三四五六日天", (0, 1, 2, 3, 4, 5, 6, 6), strict=True))

_D = "一二三四五六七八九"
_TEN = r"(?:[二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九两兩])"
_N = rf"(?:\d{{1,3}}|{_TEN})"
_YEAR = rf"(?P<year>(?<!\d)\d{{4}}年|(?<![〇零{_D}])[〇零{_D}]{{4}}年|大前年|前年|去年|今年|明年|[后後]年)"
_MONTH = rf"(?P<month>(?<![\d第])(?:1[0-2]|0?[1-9])|(?<![{_D}十第每])(?:十[一二]?|[{_D}]))月份?"
_DAY = rf"(?P<day>\d{{1,2}}|{_TEN}|廿[一二三四五六七八九]?|初{_TEN})"
# Numbers of lines, buildings and rooms are no days.
_HAO = r"(?:日|[号號](?![线線楼樓院房店机機码碼台座门門选選公]))"
_OF = r"的?\s*"
_UNIT = r"(?:周|週|个?星期|個星期|个?礼拜|個禮拜)"
_SEASON = r"(?P<season>[春夏秋冬])(?:天|季|(?=[,。，！？!?.\s]|$))"
_NO_MONTH = r"(?![饼餅薪亮票球经經]|天(?!气|氣)|怀胎|[一二两三][次回])"


def _number(word: str) -> int:
    """The value of a number below a hundred, or in single digits; 廿 is twenty, 初 counts from the first."""
    word = word.removeprefix("初").replace("廿", "二十")
    if word.isdecimal():
        return int(word)
    if "十" in word:
        tens, _, ones = word.partition("十")
        return 10 * (_DIGITS[tens] if tens else 1) + (_DIGITS[ones] if ones else 0)
    return int("".join(str(_DIGITS[char]) for char in word))


def _year(match: re.Match[str], today: date) -> int:
    word = match["year"]
    return today.year + _YEARS[word] if word in _YEARS else _number(word.removesuffix("年"))


def _steps(word: str) -> int:
    """上个 is one back, 上上个 two, 下 one on, 这, 本 none."""
    return word.count("下") - word.count("上")


def _in_year(match: re.Match[str], today: date) -> Stretch:
    year, month = _year(match, today), _number(match["month"])
    return s.of_day(date(year, month, _number(match["day"]))) if match["day"] else s.of_month(year, month)


def _without_year(match: re.Match[str], today: date) -> Stretch:
    month = _number(match["month"])
    return s.day_past(month, _number(match["day"]), today) if match["day"] else s.month_past(month, today)


def _day_of_month(match: re.Match[str], today: date) -> Stretch:
    month = s.of_month(today.year, today.month + _steps(match["step"]))
    return s.of_day(month.first.replace(day=_number(match["day"])))


def _season(match: re.Match[str], today: date) -> Stretch:
    return s.of_season(_SEASONS[match["season"]], _year(match, today))


def _this_season(match: re.Match[str], today: date) -> Stretch:
    return s.season_near(_SEASONS[match["season"]], today, _steps(match["step"]))


def _part_of_year(match: re.Match[str], today: date) -> Stretch:
    year, part = _year(match, today), match["part"]
    if part in ("上半年", "下半年"):
        return s.of_half(year, 1 if part[0] == "上" else 2)
    first, many = {"初": (1, 2), "中": (5, 4), "底": (11, 2), "末": (11, 2)}[part[-1]]
    return s.months(year, first, many, "range")


def _half(match: re.Match[str], today: date) -> Stretch:
    half = 1 if match["part"] == "上" else 2
    return s.of_half(today.year - (half == 2 and today.month < 7), half)


def _quarter(match: re.Match[str], today: date) -> Stretch:
    return s.of_quarter(_year(match, today), _number(match["quarter"]))


def _whole_year(match: re.Match[str], today: date) -> Stretch | None:
    year = _year(match, today)
    return s.of_year(year) if match["year"] in _YEARS or 1900 <= year < 2100 else None


def _short_year(match: re.Match[str], _: date) -> Stretch | None:
    """08年, 98年: the years of a person's life; 23年 is a length of time unless a month follows."""
    number = _number(match["year"])
    year = number + (1900 if number > 50 else 2000)
    if match["month"]:
        return s.of_month(year, _number(match["month"]))
    return s.of_year(year) if number < 10 or number > 69 else None


def _years_between(match: re.Match[str], _: date) -> Stretch:
    return s.joined(s.of_year(int(match["year"])), s.of_year(int(match["year2"])))


def _decade(match: re.Match[str], _: date) -> Stretch:
    word = match["decade"]
    number = _number(word)
    return s.of_decade(number if number > 99 else 1900 + number)


def _unit(match: re.Match[str], today: date) -> Stretch:
    word = match["unit"][-1]
    unit = {"月": "month", "度": "quarter"}.get(word, "week")
    return s.shifted(unit, today, _steps(match["step"]))


def _weekday(match: re.Match[str], today: date) -> Stretch:
    weekday, step = match["weekday"], match.groupdict().get("step")
    if step is None:
        return s.weekday_before(_WEEKDAYS[weekday], today)
    weeks = _steps(step)
    if weekday in ("末",):
        return s.shifted("weekend", today, weeks)
    return s.weekday_of(_WEEKDAYS[weekday], today, weeks)


def _ago(match: re.Match[str], today: date) -> Stretch | None:
    many = _number(match["number"]) if match["number"] else 0
    unit = {"年": "year", "天": "day", "日": "day"}.get(match["unit"], "week")
    if "月" in match["unit"]:
        unit = "month"
    if match["half"]:
        # Half of a year or month more, or alone.
        if unit not in ("year", "month"):
            return None
        return (
            s.shifted("month", today, -12 * many - 6)
            if unit == "year"
            else s.shifted("week", today, -4 * many - 2)
        )
    return s.shifted(unit, today, -many) if many else None


def _rolling(match: re.Match[str], today: date) -> Stretch:
    unit = "month" if "月" in match["unit"] else {"年": "year", "天": "day"}.get(match["unit"], "week")
    return s.last_so_many(_number(match["number"]), unit, today)


def _day(match: re.Match[str], today: date) -> Stretch:
    return s.of_day(today + timedelta(days=_DAYS[match["day"]]))


RULES = (
    # 2023年3月19号, 去年三月, 今年3月
    Rule(rf"{_YEAR}{_OF}{_MONTH}{_NO_MONTH}(?:{_DAY}{_HAO})?", _in_year),
    # 3月19号, 三月
    Rule(rf"(?<![年\d])(?<!每)(?<!每年){_MONTH}{_NO_MONTH}(?:{_DAY}{_HAO})?", _without_year, assumed=True),
    Rule(rf"(?P<step>[上下]+|[这這本])[个個]?月份?{_OF}{_DAY}{_HAO}", _day_of_month),
    # 去年夏天, 今年春天, 这个夏天
    Rule(rf"{_YEAR}{_OF}{_SEASON}", _season),
    Rule(r"(?P<step>[这這上]|刚过去的|剛過去的)[个個]?(?P<season>[春夏秋冬])[天季]", _this_season),
    # 去年年底, 前年下半年, 去年第三季度
    Rule(rf"{_YEAR}{_OF}(?P<part>上半年|下半年|年?[初中底末](?![学學级級考东東国國]))", _part_of_year),
    Rule(r"(?<![年\d一二三四五六七八九])(?P<part>[上下])半年(?![前后後以来來])", _half, assumed=True),
    Rule(rf"{_YEAR}{_OF}第?(?P<quarter>[1-4一二三四])季度", _quarter),
    # 去年, 2019年; but not the middle of 大前年前
    Rule(rf"{_YEAR}(?![级級])", _whole_year),
    Rule(
        rf"(?<![\d〇零{_D}十百千])(?P<year>\d\d|[零〇{_D}]{{2}})年(?!来|來|多|级|級|代|的|前|后|後)(?:{_MONTH})?",
        _short_year,
    ),
    Rule(r"(?<!\d)(?P<year>(?:19|20)\d\d)年?\s*[到至–-]\s*(?P<year2>(?:19|20)\d\d)年", _years_between),
    Rule(r"(?<!\d)(?P<decade>(?:19|20)?\d0|[二三四五六七八九]十)年代", _decade),
    # 上个月, 上上周, 本月, 下季度
    Rule(
        rf"(?P<step>[上下]+|(?<![在因到])[这這](?=[个個周週])|本)(?:[个個])?(?P<unit>月(?![饼餅])|{_UNIT}(?![一二三四五六日天末\d])|季度)",
        _unit,
    ),
    # 上周一, 这周末, 礼拜天
    Rule(rf"(?P<step>[上下]+|[这這本])[个個]?{_UNIT}(?P<weekday>[一二三四五六日天末])", _weekday),
    Rule(
        r"(?<![每一二两兩三四五六七几幾半整\d上下这這本个個到至])(?:周|週|星期|礼拜|禮拜)(?P<weekday>[一二三四五六日天])"
        r"(?![到至、和次个個天周週期]|年)",
        _weekday,
        assumed=True,
    ),
    # 三年前, 两个月前, 半年前, 一年半以前
    Rule(
        rf"(?<![第几幾多\d])(?:(?P<number>{_N})[个個]?(?P<unit>年|月|{_UNIT}|天|日)(?P<half>半)?)(?:之|以)?前(?![后後面台任女男妻夫])",
        _ago,
    ),
    Rule(
        rf"(?<![{_D}两兩十年月])(?P<half>半)(?P<number>(?!))?[个個]?(?P<unit>年|月)(?:之|以)?前(?![后後面])",
        _ago,
    ),
    # 最近三个月, 过去两年
    Rule(rf"(?:最近|过去|過去|近)(?:的|这|這)?(?P<number>{_N})[个個]?(?P<unit>年|月|{_UNIT}|天)(?!前)", _rolling),
    Rule(
        r"(?P<day>大前天|大[后後]天|前[天晚日](?!性)|昨[天日晚夜]|今[天日早晚晨]|明[天早晚日]|[后後]天(?!的|性|努力|培养|培養|形成))",
        _day,
    ),
)  # fmt: skip
