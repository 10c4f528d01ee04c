"""Claims: what a statement says of its speaker, and which old statement a new one ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.ingest.claims import Claim, claims, closes

DATA = Path(__file__).parent / "data" / "statements"


def pairs(name: str) -> list[dict[str, str]]:
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def ends(new: str, old: str) -> bool:
    return closes(claims(new), claims(old))


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I live in Hamburg.", Claim("residence", "hamburg", True, True)),
        ("We finally moved to Bremen last weekend.", Claim("residence", "bremen", True, True)),
        ("I live in Austin, Texas.", Claim("residence", "austin texas", True, True)),
        ("I moved to Oslo in 2012.", Claim("residence", "oslo", True, False)),
        ("I work at Acme as a welder.", Claim("employer", "acme", True, True)),
        ("I no longer work at Acme.", Claim("employer", "acme", False, True)),
        ("My new number is 555-0160, use that.", Claim("phone", "5550160", True, True)),
        ("My email is Ann@Post.example.", Claim("email", "ann@post.example", True, True)),
        ("I drink two glasses of wine most evenings.", Claim("habit:drink", "wine", True, False)),
        ("I no longer eat meat.", Claim("habit:eat", "meat", False, True)),
        ("I don't eat meat.", Claim("habit:eat", "meat", False, False)),
        ("I'm vegetarian.", Claim("is", "vegetarian", True, False)),
        ("I'm not vegetarian any more.", Claim("is", "vegetarian", False, True)),
        ("Sold the Civic yesterday.", Claim("has", "civic", False, True)),
        ("I got married last month!", Claim("marital_status", "married", True, True)),
        ("Gwendolyn isn't my manager anymore.", Claim("my:manager", "gwendolyn", False, True)),
        ("我住在杭州滨江。", Claim("residence", "杭州滨江", True, True)),
        ("我上个月搬到宁波了。", Claim("residence", "宁波", True, True)),
        ("我跳槽到了字节。", Claim("employer", "字节", True, True)),
        ("我的新号码是 139xxxx0088。", Claim("phone", "139xxxx0088", True, True)),
        ("我不再吃肉了。", Claim("habit:eat", "肉", False, True)),
        ("我每天喝咖啡。", Claim("habit:drink", "咖啡", True, False)),
        ("我单身。", Claim("marital_status", "single", True, True)),
    ],
)
def test_claims_are_read(text: str, claim: Claim) -> None:
    assert claim in claims(text)


@pytest.mark.parametrize(
    "text",
    [
        "Should I say I live in Rome?", "I might move to Oslo.", "If I moved to Paris I'd go broke.",
        "I used to live in Rome.", "My brother moved to Oslo.", "I moved the meeting to Shanghai.",
        "I'm in Lisbon this week.", "My mom says I live in Narnia.", "In my novel I live in Rome.",
        "I moved to Linux.", "I moved to Marketing.", "I moved to Room 12.", "I joined Slack.",
        "I no longer drink coffee at night.", "I stopped smoking indoors.", "I want to quit smoking.",
        "I'm moving to Oslo in May.", "I live in fear.", "My manager is away now.",
        "我想搬到成都。", "我把会议搬到上海了。", "我爸妈搬到洛阳了。", "要是搬到三亚就好了。", "我以前住在上海。",
        "我朋友不吃肉了。", "我今天不喝咖啡了。", "我搬到二楼了。", "我叫了外卖。", "你住在哪里？",
        "", "...", "```\nI live in Rome.\n```",
    ],
)  # fmt: skip
def test_doubt_claims_nothing(text: str) -> None:
    assert claims(text) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin.", "I now live in Oslo."),
        ("I live in Berlin.", "I live in Oslo."),
        ("I drink coffee every morning.", "I don't drink coffee any more."),
        ("I drink red wine.", "I no longer drink wine."),
        ("I don't drink coffee.", "I drink coffee now."),
        ("I have a boat called Marigold.", "We sold Marigold in September."),
        ("I work at Brightwater Logistics.", "I left Brightwater and joined a broker called Tandem."),
        ("I go by Samantha.", "I go by Sam now."),
        ("我住在杭州。", "我现在住上海。"),
        ("我每天抽一包烟。", "烟我戒了，三个月没碰了。"),
        ("我不喝酒。", "我现在开始喝酒了。"),
        ("我叫王翠翠。", "我改名了，现在叫王知夏。"),
    ],
)
def test_a_plain_change_ends_the_old(old: str, new: str) -> None:
    assert ends(new, old)
    assert not ends(old, old)
    assert not ends(new, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin.", "I live in Kreuzberg, Berlin."),
        ("I live in Berlin.", "I live in Europe."),
        ("I live in Berlin.", "I live in a flat with two friends."),
        ("I live in Berlin.", "I moved to New York when I was five."),
        ("I work at Acme.", "I work at Acme Corp now."),
        ("I work at Acme.", "I'm a volunteer at Oakwood."),
        ("My phone number is 555-0142.", "My flight number is now 555-0199."),
        ("I have a cat flap.", "I no longer have a cat."),
        ("I don't drink instant coffee.", "I drink coffee now."),
        ("I like jazz.", "I don't like jazz clubs anymore."),
        ("My rent is $900.", "My rent is late now."),
        ("The wedding is on June 14.", "We moved the rehearsal to June 13."),
        ("I'm looking for a job.", "I found a job posting I like."),
        ("I have a dog called Rex.", "Our neighbor's dog Rex died."),
        ("我住在北京。", "我住在朝阳区。"),
        ("我住在北京。", "我搬到市场部了。"),
        ("我在腾讯上班。", "我在家上班。"),
        ("我每天喝咖啡。", "我不喝速溶咖啡了。"),
        ("我养了一只猫叫豆豆。", "我把猫送去洗澡了。"),
        ("我的房租是 2800。", "我工资涨了，现在每月 9000。"),
        ("我抽烟。", "我戒了三天烟又抽上了。"),
    ],
)
def test_a_doubtful_match_ends_nothing(old: str, new: str) -> None:
    assert not ends(new, old)


def test_no_near_miss_ends_anything() -> None:
    wrong = [pair["id"] for pair in pairs("near_misses") if ends(pair["new"], pair["old"])]
    assert wrong == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_changes_are_seen(language: str) -> None:
    own = [pair for pair in pairs("changes") if pair["lang"] == language]
    seen = [pair for pair in own if ends(pair["new"], pair["old"])]
    assert len(seen) >= 0.8 * len(own)


CLAIMS = st.builds(
    Claim,
    st.sampled_from(["residence", "employer", "habit:drink", "has", "my:rent", "is"]),
    st.sampled_from(["", "oslo", "red wine", "wine", "2800", "上海", "europe"]),
    st.booleans(),
    st.booleans(),
)


@given(CLAIMS, CLAIMS)
def test_closing_needs_the_same_attribute_and_words_that_tell_it(new: Claim, old: Claim) -> None:
    if closes([new], [old]):
        assert new.attribute == old.attribute
        assert new.changes
        assert (new.holds, new.value) != (old.holds, old.value)
    assert not closes([new], [])
    assert not closes([], [old])
    assert not closes([old], [old])


@given(
    st.text(max_size=150)
    | st.text(st.sampled_from("I moved to Oslo. 我搬到了上海，。不再吃肉\n\"'"), max_size=150)
)
def test_claims_never_fail_and_never_differ(text: str) -> None:
    found = claims(text)
    assert found == claims(text)
    assert len(set(found)) == len(found)
    assert all(one.attribute and one.value == one.value.casefold() for one in found)


@pytest.mark.parametrize("ended", ["I'm not vegetarian anymore.", "I'm not vegetarian any more."])
def test_not_any_more_ends_it_however_it_is_spelled(ended: str) -> None:
    assert closes(claims(ended), claims("I'm vegetarian."))


@pytest.mark.parametrize(
    ("old", "one_more"),
    [
        ("My number is 0170 5550142.", "My second number is 0170 5550199."),
        ("我的手机号是 19900004417。", "我又办了张副卡，号码是 19900008263。"),
    ],
)
def test_one_more_of_a_thing_ends_nothing(old: str, one_more: str) -> None:
    assert not closes(claims(one_more), claims(old))
