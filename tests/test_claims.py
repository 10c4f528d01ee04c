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
        ("I live at 14 Larkspur Ln.", Claim("address", "14 larkspur lane", True, True)),
        ("We moved two doors down, to 16 Larkspur Lane.", Claim("address", "16 larkspur lane", True, True)),
        ("im thirty-four", Claim("age", "34", True, True)),
        ("I just turned 35!", Claim("age", "35", True, True)),
        ("Today I got married.", Claim("marital_status", "married", True, True)),
        ("I work at a hospital.", Claim("workplace", "hospital", True, False)),
        ("I've been promoted to head chef.", Claim("role:chef", "head chef", True, True)),
        ("I'm retired now.", Claim("employer", "", False, True)),
        ("My landline is 020 7946 0312.", Claim("landline", "02079460312", True, True)),
        ("I've gone right off olives.", Claim("likes", "olives", False, True)),
        ("I used to love olives but I don't any more.", Claim("likes", "olives", False, True)),
        ("我住在青禾路18号。", Claim("address", "青禾路18号", True, False)),
        ("我今年二十八岁。", Claim("age", "28", True, True)),
        ("今天满20岁了。", Claim("age", "20", True, True)),
        ("I've left Boston for good.", Claim("residence", "boston", False, True)),
        ("I got a new phone number: 555-0199.", Claim("phone", "5550199", True, True)),
        ("Today is my 42nd birthday!", Claim("age", "42", True, True)),
        ("I've come to love olives.", Claim("likes", "olives", True, True)),
        ("We had to put Olive down yesterday.", Claim("has", "olive", False, True)),
        ("我转行了，现在是电工。", Claim("job", "电工", True, True)),
        ("今天是我42岁生日。", Claim("age", "42", True, True)),
        ("旧号码停了，现在用13900000002。", Claim("phone", "13900000002", True, True)),
        ("我从墨石退学了。", Claim("school", "墨石", False, True)),
        ("以前喜欢爬山，现在不喜欢了。", Claim("likes", "爬山", False, True)),
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
        "My brother sold his flat, moved to Oslo last week.", "My brother wrote: I moved to Oslo.",
        "This weekend is my 40th birthday.", "My phone is dead, call me at 555-0199 now.",
        "I left college early today.", "I moved to Oslo, haha.", '"I moved to Oslo", said my brother.',
        "我弟搬家了，现在住在上海。", "我这周六搬到上海。", "我五月搬到上海。", "这个周末是我40岁生日。",
        "我和他没离婚。",
        "I'm 35 weeks pregnant.", "I'm 35 minutes away.", "I turn 35 in June.", "I turned 18 in 2008.",
        "My brother turned 35 today.", "It's my birthday today!", "I'm almost 35.",
        "I left Acme at six.", "I left Acme early yesterday.", "I joined Ostrel Gym last week.",
        "Our office moved to 208 Copperfield Road.", "I'm living at 3 Mill Street until June.",
        "We're getting married in June.", "I'm on vacation this week.", "Our company turned 50.",
        "我快35岁了。", "我怀孕35周了。", "我弟弟今天满35岁了。", "公司地址是望溪街205号。", "我要结婚了。",
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
        ("I live at 14 Larkspur Lane.", "I moved out of Larkspur Lane."),
        ("I'm 34.", "I turned 35 today."),
        ("I work at Acme.", "I'm no longer at Acme."),
        ("I work at a bank.", "I started a new job at Tandem."),
        ("I'm a nurse.", "Yesterday was my last day as a nurse."),
        ("I study at Marlstone University.", "I dropped out of Marlstone."),
        ("I'm engaged to Ann.", "Ann and I called off the wedding."),
        ("I have a dog called Rex.", "My dog died."),
        ("I hate jazz.", "I love jazz now."),
        ("Call me Beth.", "Please don't call me Beth any more."),
        ("My name is Ann Reed.", "My surname is Quill now."),
        ("我今年34岁。", "我现在35岁了。"),
        ("我住在云杉里12栋801。", "我从云杉里搬出来了。"),
        ("我在青岚中学上学。", "我转学到明汐中学了。"),
        ("我是高中老师。", "我退休了。"),
        ("我不喜欢恐怖片。", "我现在超爱看恐怖片。"),
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
        ("I live at 14 Larkspur Lane.", "My address is 14 Larkspur Ln, Apt 3, Boston."),
        ("My number is 555-0142.", "My number is +1 312 555 0142 now."),
        ("I'm 35.", "I'm 34."),
        ("I'm divorced.", "I'm single now."),
        ("I'm married to Ann.", "I have a girlfriend now."),
        ("I work at a hospital.", "I work at St Mary's."),
        ("I'm a nurse.", "I'm a certified yoga teacher now."),
        ("I'm an accountant.", "I'm a senior accountant now."),
        ("I have a dog called Rex.", "My dog Gravy died."),
        ("I have a dog called Rex.", "I have a cat called Fig now."),
        ("My name is Dana Whitlock.", "Call me Dee."),
        ("Everyone calls me Dee.", "Call me Dana."),
        ("I like sushi.", "I don't like sushi from that place any more."),
        ("I'm at Marlstone University.", "I switched from history to geology."),
        ("我住在杭州。", "我住在青禾路18号。"),
        ("我住在青禾路18号。", "我住在阳光花园3栋201。"),
        ("我住在枫岭新村19号楼。", "我不住9号楼了。"),
        ("我的手机号是13800000142。", "我的手机号是+86 138 0000 0142。"),
        ("我养了一只狗，叫饼干。", "我的狗馒头走了。"),
        ("我在北京大学读书。", "我不在北京了，回老家了。"),
        ("我已婚。", "我和合伙人分手了。"),
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


@pytest.mark.parametrize("name", ["near_misses", "attributes_near_misses"])
def test_no_near_miss_ends_anything(name: str) -> None:
    assert sum(ends(pair["new"], pair["old"]) for pair in pairs(name)) == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_changes_are_seen(language: str) -> None:
    own = [pair for pair in pairs("changes") if pair["lang"] == language]
    seen = [pair for pair in own if ends(pair["new"], pair["old"])]
    assert len(seen) >= 0.8 * len(own)


CLAIMS = st.builds(
    Claim,
    st.sampled_from(
        ["residence", "employer", "habit:drink", "has", "my:rent", "is", "age", "address", "marital_status"]
    ),
    st.sampled_from(
        [
            "",
            "oslo",
            "red wine",
            "wine",
            "2800",
            "34",
            "9号楼",
            "19号楼",
            "single",
            "married",
            "上海",
            "europe",
        ]
    ),
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
