"""Dates named in texts: what they are resolved to, what is none, and that no text, zone or day breaks it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.clock import FIRST_INSTANT, LAST_INSTANT, day_of, to_instant
from mnemic.text.dates import NamedDate, find_dates

HOUR = 3_600_000_000
# A Wednesday.
SAID = to_instant(datetime(2024, 7, 17, 12, tzinfo=UTC))


def named(text: str, said_at: int = SAID, tz: tzinfo = UTC) -> list[tuple[str, str, str, str]]:
    """What is named in a text: the words, the first day, the day after, the precision."""
    found = find_dates(text, said_at, tz)
    return [(text[one.start : one.end], str(one.first), str(one.after), one.precision) for one in found]


def days(text: str, at: str = "2024-07-17") -> tuple[str, str]:
    """The one date in a text said on a day."""
    [one] = find_dates(text, to_instant(datetime.fromisoformat(f"{at}T12:00+00:00")), UTC)
    return str(one.first), str(one.after)


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("We met last summer in Rome.", "2023-06-01", "2023-09-01"),
        ("the summer before last", "2022-06-01", "2022-09-01"),
        ("two summers ago", "2022-06-01", "2022-09-01"),
        ("last winter", "2023-12-01", "2024-03-01"),
        ("this spring", "2024-03-01", "2024-06-01"),
        ("In March 2023 I moved", "2023-03-01", "2023-04-01"),
        ("March of last year", "2023-03-01", "2023-04-01"),
        ("last year in March", "2023-03-01", "2023-04-01"),
        ("last March", "2024-03-01", "2024-04-01"),
        ("what did i do last may?", "2024-05-01", "2024-06-01"),
        ("two years ago", "2022-01-01", "2023-01-01"),
        ("a couple of months ago", "2024-05-01", "2024-06-01"),
        ("three weeks ago", "2024-06-24", "2024-07-01"),
        ("10 days ago", "2024-07-07", "2024-07-08"),
        ("the month before last", "2024-05-01", "2024-06-01"),
        ("the day before yesterday", "2024-07-15", "2024-07-16"),
        ("Yesterday I sold my van", "2024-07-16", "2024-07-17"),
        ("last Saturday", "2024-07-13", "2024-07-14"),
        ("last Wednesday", "2024-07-10", "2024-07-11"),
        ("this Friday", "2024-07-19", "2024-07-20"),
        ("this coming Monday", "2024-07-22", "2024-07-23"),
        ("Saturday last week", "2024-07-13", "2024-07-14"),
        ("on the 4th of March", "2024-03-04", "2024-03-05"),
        ("on Monday, March 4, 2019", "2019-03-04", "2019-03-05"),
        ("on the 4th.", "2024-07-04", "2024-07-05"),
        ("since November 2024", "2024-11-01", "2024-12-01"),
        ("Q3 2022", "2022-07-01", "2022-10-01"),
        ("the third quarter of last year", "2023-07-01", "2023-10-01"),
        ("the first half of 2023", "2023-01-01", "2023-07-01"),
        ("between March and May 2023", "2023-03-01", "2023-06-01"),
        ("from November to February", "2023-11-01", "2024-03-01"),
        ("from 2019 to 2021", "2019-01-01", "2022-01-01"),
        ("back in the 1990s", "1990-01-01", "2000-01-01"),
        ("over the last two weeks", "2024-07-04", "2024-07-18"),
        ("2023-05-01T10:00", "2023-05-01", "2023-05-02"),
        ("am 13.5.2023", "2023-05-13", "2023-05-14"),
        ("31/12/2023", "2023-12-31", "2024-01-01"),
        ("by 2025", "2025-01-01", "2026-01-01"),
        ("我去年三月搬了家", "2023-03-01", "2023-04-01"),
        ("前年夏天", "2022-06-01", "2022-09-01"),
        ("上个月", "2024-06-01", "2024-07-01"),
        ("上個月", "2024-06-01", "2024-07-01"),
        ("上上个月", "2024-05-01", "2024-06-01"),
        ("昨天", "2024-07-16", "2024-07-17"),
        ("前天", "2024-07-15", "2024-07-16"),
        ("上周一", "2024-07-08", "2024-07-09"),
        ("这周一", "2024-07-15", "2024-07-16"),
        ("上上周三", "2024-07-03", "2024-07-04"),
        ("上周末", "2024-07-13", "2024-07-15"),
        ("3月19号", "2024-03-19", "2024-03-20"),
        ("2023年9月", "2023-09-01", "2023-10-01"),
        ("二〇二三年九月十五日", "2023-09-15", "2023-09-16"),
        ("三年前", "2021-01-01", "2022-01-01"),
        ("两个月以前", "2024-05-01", "2024-06-01"),
        ("半年前", "2024-01-01", "2024-02-01"),
        ("今年春天", "2024-03-01", "2024-06-01"),
        ("大前年", "2021-01-01", "2022-01-01"),
        ("2019年前", "2019-01-01", "2020-01-01"),
        ("从2019年到2021年", "2019-01-01", "2022-01-01"),
        ("去年下半年", "2023-07-01", "2024-01-01"),
        ("去年第三季度", "2023-07-01", "2023-10-01"),
        ("九十年代", "1990-01-01", "2000-01-01"),
        ("我08年毕业", "2008-01-01", "2009-01-01"),
        ("最近三个月", "2024-04-18", "2024-07-18"),
        ("下个月15号", "2024-08-15", "2024-08-16"),
    ],
)
def test_a_named_date_is_a_range_of_days(text: str, first: str, after: str) -> None:
    assert days(text) == (first, after)


@pytest.mark.parametrize(
    "text",
    [
        "May is my sister, and I may go with May.",
        "April and June came; I march on.",
        "this may be it",
        "a second-hand car",
        "spring rolls and the fall of Rome",
        "since my last fall",
        "We watched The Last of Us",
        "the other day, one day, some days, recently, these days",
        "I have 3 cats and ran 2023 metres",
        "in 2000 steps, 2000 words, 1999.50 dollars",
        "version 2023.10.1, ERR-2023, call 2023-2201, port 2024:80",
        "2023-02-30 and February 30 and 2023年2月30日 and 31.4.2023",
        "5/6/2023 is one of two days",
        "more than two years ago",
        "on the 4th floor",
        "every March, on Mondays",
        "中秋吃月饼，五月天的演唱会",
        "地铁3号线和两年前女友",
        "三个月大，工作了20年，一周五次，每周六，每年三月",
        "几年前，好多年前，最近，后天的努力",
        "",
        "\ud800 0 年月日 13月40号 0年0月",
    ],
)
def test_what_may_be_no_date_is_none(text: str) -> None:
    assert named(text) == []


def test_the_past_is_taken_where_a_date_could_be_either_and_said_so() -> None:
    assert days("in March", "2024-12-05") == ("2024-03-01", "2024-04-01")
    assert days("in March", "2024-02-05") == ("2023-03-01", "2023-04-01")
    assert days("三月", "2024-02-05") == ("2023-03-01", "2023-04-01")
    assert days("on Saturday", "2024-07-13") == ("2024-07-06", "2024-07-07")
    for text, assumed in [("in March", True), ("in March 2023", False), ("周六", True), ("上周六", False)]:
        assert [one.assumed for one in find_dates(text, SAID, UTC)] == [assumed]


def test_several_dates_come_in_order_with_their_words() -> None:
    text = 'Since November 2021 in Rome 🦊, "moved" on 2023-05-01;\n去年三月结婚。'
    assert [words for words, *_ in named(text)] == ["November 2021", "2023-05-01", "去年三月"]


def test_leap_days() -> None:
    assert days("Feb 29", "2024-02-28") == ("2020-02-29", "2020-03-01")
    assert days("2月29号", "2025-01-01") == ("2024-02-29", "2024-03-01")
    assert named("2023-02-29") == []
    assert days("over the past 12 months", "2024-02-29") == ("2023-03-01", "2024-03-01")
    assert days("yesterday", "2024-03-01") == ("2024-02-29", "2024-03-01")


def test_days_are_those_of_the_zone_whatever_their_length() -> None:
    berlin, shanghai = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Shanghai")

    def yesterday(day: datetime, tz: tzinfo) -> NamedDate:
        [one] = find_dates("yesterday", to_instant(day), tz)
        return one

    spring = yesterday(datetime(2024, 4, 1, 12, tzinfo=berlin), berlin)
    autumn = yesterday(datetime(2024, 10, 28, 12, tzinfo=berlin), berlin)
    assert (spring.first, spring.ends - spring.begins) == (date(2024, 3, 31), 23 * HOUR)
    assert (autumn.first, autumn.ends - autumn.begins) == (date(2024, 10, 27), 25 * HOUR)
    # The same instant is another day further east.
    late = datetime(2024, 7, 17, 20, tzinfo=UTC)
    assert yesterday(late, UTC).first == date(2024, 7, 16)
    assert yesterday(late, shanghai).first == date(2024, 7, 17)
    # In Beirut this day begins at one o'clock.
    beirut = ZoneInfo("Asia/Beirut")
    [one] = find_dates("2024-03-31", SAID, beirut)
    assert one.ends - one.begins == 23 * HOUR
    assert day_of(one.begins, beirut) == date(2024, 3, 31)


FRAGMENTS = """in on the last this next since before of ago March may May 4th 31 29 Feb 2023 0000 9999 99 two summer
winter week month year day yesterday Q3 2023-05-01 31.12.1999 from to between and 1990s 去年 上 上个 月 三 十二 周 一
2023年 半年 前 大前天 日 号 廿九 初一 年代 ٣ ４ 年"""
WORDS = st.sampled_from(FRAGMENTS.split())
TEXTS = st.one_of(
    st.text(),
    st.lists(WORDS).map(" ".join),
    st.lists(WORDS).map("".join),
    st.binary().map(lambda b: b.decode("latin-1")),
)
ZONES = st.sampled_from(
    [
        UTC,
        ZoneInfo("America/St_Johns"),
        ZoneInfo("Asia/Beirut"),
        ZoneInfo("Pacific/Apia"),
        timezone(timedelta(hours=14)),
    ]
)


@given(TEXTS, st.integers(FIRST_INSTANT, LAST_INSTANT), ZONES)
def test_any_text_at_any_instant_gives_ordered_ranges_of_its_own_words(
    text: str, at: int, tz: tzinfo
) -> None:
    found = find_dates(text, at, tz)
    assert found == find_dates(text, at, tz)
    end = 0
    for one in found:
        assert end <= one.start < one.end <= len(text)
        assert one.first < one.after
        assert one.begins < one.ends
        assert day_of(one.begins, tz) == one.first
        assert day_of(one.ends - 1, tz) < one.after
        end = one.end


@given(st.dates(date(1900, 1, 1), date(2098, 12, 31)), ZONES)
def test_a_full_date_is_its_day_in_every_way_of_writing_it(day: date, tz: tzinfo) -> None:
    written = [
        day.isoformat(),
        f"{day:%B} {day.day}, {day.year}",
        f"the {day.day}th of {day:%B} {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
        f"{day:%d.%m.%Y}",
    ]
    for text in written:
        assert [(one.first, one.precision) for one in find_dates(text, SAID, tz)] == [(day, "day")], text


@given(st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)), ZONES)
def test_what_is_told_as_past_is_over(moment: datetime, tz: tzinfo) -> None:
    said = to_instant(moment.replace(tzinfo=tz))
    today = day_of(said, tz)
    for text in (
        "last week",
        "last year",
        "last summer",
        "two months ago",
        "last Monday",
        "去年冬天的前年",
        "上个月",
        "昨天",
    ):
        for one in find_dates(text, said, tz):
            assert one.first < today
            if one.precision != "season" or text == "last summer":
                assert one.after <= today
