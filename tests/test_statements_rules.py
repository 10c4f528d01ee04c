"""What counts as a statement of the user, in English, Chinese and other languages; and what does not, and why."""

from __future__ import annotations

from datetime import UTC

import pytest

from mnemic.ingest.given import Common
from mnemic.ingest.messages import Heard
from mnemic.ingest.statements import extract
from mnemic.records import Message

COMMON = Common(metadata=None, expires=(None, None), timestamp=None, tz=UTC)


def sifted(text: str) -> tuple[list[str], dict[str, str]]:
    found = extract(Heard((Message("user", text),), (0,), ()), COMMON, 0)
    return [one.content.text for one in found.proposals], {one.text: one.reason for one in found.rejected}


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to penicillin.",
        "my partner Dev eats meat every day",
        "Joined the choir in May, left it in June.",
        "Just adopted a kitten named Pip",
        "Grandma's hip surgery got moved to next Thursday.",
        "The kids start school on Monday.",
        "I'm lactose intolerant, what can I have instead of yogurt?",
        "Don't suggest shellfish, my son carries an EpiPen for it.",
        "Please call me Lex from now on.",
        "Remember that I take my coffee black.",
        "I'd rather you didn't use emojis, ever.",
        "I need to wear hearing aids in both ears.",
        "我对花生过敏，严重的那种。",
        "上周五终于把那个破工作辞了",
        "外婆的手术改到下周四了。",
        "戒烟第 100 天打卡！",
        "我乳糖不耐受，能用什么代替酸奶？",
        "以后叫我阿哲就行。",
        "房子四十五平，四楼，没电梯。",
        "Ich wohne seit 2015 in Leipzig.",
        "Vivo en Madrid desde 2019 con mi hermana.",
        "Je suis allergique aux noix depuis toujours.",
        "Я живу в Казани с двумя детьми.",
        "私は東京に住んでいます。",
        "저는 서울에 살고 있고 고양이를 키워요.",
        "मैं दिल्ली में रहता हूँ।",
        "أنا أعيش في القاهرة وأعمل مهندسا.",
    ],
)
def test_statements_are_kept_whole(text: str) -> None:
    assert sifted(text) == ([text], {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hi there!", "greeting"),
        ("早上好呀～", "greeting"),
        ("Guten Morgen!", "greeting"),
        ("Thanks so much, that helped.", "thanks"),
        ("谢谢！", "thanks"),
        ("Merci beaucoup !", "thanks"),
        ("ok got it", "acknowledgement"),
        ("好的", "acknowledgement"),
        ("What's the capital of Peru?", "question"),
        ("新手打野出什么装备好", "question"),
        ("¿Qué puedo visitar en Toledo?", "question"),
        ("Write me a haiku about rain.", "request"),
        ("300 words max.", "request"),
        ("I need a lab on density that costs almost nothing.", "request"),
        ("帮我起十个奶茶店的名字，要国风一点的。", "request"),
        ("不要太血腥。", "request"),
        ("Übersetze das bitte.", "request"),
        ("I think you misunderstood me.", "talk_about_the_chat"),
        ("I tried that and it still doesn't work.", "talk_about_the_chat"),
        ("我说的是第二种方案。", "talk_about_the_chat"),
        ("My code doesn't compile.", "talk_about_the_chat"),
        ("The build fails with exit code 1.", "problem_at_hand"),
        ("Suppose I have two kids and live in Texas.", "hypothetical"),
        ("If I won the lottery I'd buy a lighthouse.", "hypothetical"),
        ("假设我年薪四十万，有两个孩子", "hypothetical"),
        ('"To be yourself in a crowd that wants a copy."', "quoted"),
        ("🎉🎉", "no_content"),
        ("Hmm.", "acknowledgement"),
    ],
)
def test_the_rest_is_listed_with_its_reason(text: str, reason: str) -> None:
    assert sifted(text) == ([], {text: reason})


def test_play_and_fiction_are_not_the_users_life() -> None:
    kept, _ = sifted(
        "I want you to be my dungeon master. My sister was raised by smugglers. I'm 46. Let's go."
    )
    assert kept == []
    kept, why = sifted("Write a story about a baker. He lives in a tower.")
    assert (kept, why["He lives in a tower."]) == ([], "fiction")
    assert sifted("你扮演说书人，讲一段故事。他有个女儿，今年八岁。")[0] == []


def test_a_request_for_someone_of_the_users_is_no_fiction() -> None:
    text = "Write a poem for my wife Ana. She turns 40 on Friday."
    assert sifted(text) == ([text], {})


def test_pasted_text_is_left_out_but_the_users_own_papers_are_not() -> None:
    pasted = "Translate to German:\nDear Ms. Albrecht,\nI have moved to Leeds with my wife.\nKind regards"
    assert sifted(pasted)[0] == []
    assert sifted("把下面这段改得口语一点：\n本人于2019年入职贵司。")[0] == []
    assert sifted("Explain this joke: I told my wife a secret. She laughed.")[0] == []
    talk = "Ann: I moved to Rome\nBen: my cat died\nAnn: oh no\nsummarize"
    assert sifted(talk)[0] == []
    own = "Can you proofread my cover letter?\nI hold an MA from the University of Galway."
    assert sifted(own)[0] == ["I hold an MA from the University of Galway."]


def test_a_pasted_list_ends_with_the_list() -> None:
    text = "Sort these by length:\n- marmalade\n- fig\nI'm allergic to figs."
    kept, why = sifted(text)
    assert kept == ["I'm allergic to figs."]
    assert why["- fig"] == "quoted"


def test_a_list_about_me_is_kept_without_its_heading() -> None:
    kept, why = sifted("A few facts about me:\n- Pronouns they/them\n- Please use metric")
    assert kept == ["- Pronouns they/them", "- Please use metric"]
    assert why == {"A few facts about me:": "no_content"}


def test_plain_statements_count_only_beside_one_about_the_user() -> None:
    assert sifted("The tables are products and sales.")[0] == []
    kept, _ = sifted("We bought the house in May. The insurance finally settled.")
    assert kept == ["We bought the house in May.", "The insurance finally settled."]


def test_numbers_of_a_sum_are_no_facts() -> None:
    assert sifted("I have 3 apples and give away 2, then buy 12. How many are left?")[0] == []


@pytest.mark.parametrize(
    "said",
    [
        "Hallo, ich wohne in Berlin.",
        "Guten Tag, ich habe zwei Kinder.",
        "Hola, soy alérgico a los cacahuetes.",
    ],
)
def test_a_statement_after_a_greeting_is_kept_in_every_language(said: str) -> None:
    heard = Heard((Message("User", said),), (0,), ())
    assert [
        one.content.text for one in extract(heard, Common(None, (None, None), None, UTC), 0).proposals
    ] == [said]
