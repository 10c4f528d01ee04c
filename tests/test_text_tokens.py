"""Index terms and query terms: what finds what, in many scripts."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnemic.text.tokens import TOKENISER_VERSION, index_terms, query_terms, tokeniser_fingerprint
from mnemic.text.words import FUNCTION_WORDS

anything = st.text(st.characters(exclude_categories=()), max_size=80)
# Text as people write it: words of one script with blanks and full stops between them.
SCRIPTS = {
    "latin": "abcdefghijklmnopqrstuvwxyzäöüßéèñçøłşığőĂØÄÉ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєљњћЖЯ",
    "greek": "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώςΣΩ",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويةأإآىپچگی",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשתםןץףך",
    "devanagari": "अआइईकखगघचछजझटठडढतथदधनपफबभमयरलवशसहािीुूेैोौ्ं",
    "tamil": "அஆஇஈகஙசஞடணதநபமயரலவழளறனாிீுூெேைொ்",
    "hangul": "가나다라마바사아자차카타파하서울고양이좋",
    "thai": "กขคงจชซดตถทนบปผพฟมยรลวสหอาะิีุูเแโไ่้",
    "han": "我你他爱喜欢住在上海北京茶猫狗学校女儿花生过敏工作",
    "kana": "あいうえおかきくけこさしすせそたちつてとなアイウエオカキー",
    "ids": "abcXYZ019_-.+#@/:'",
}
words = st.sampled_from(sorted(SCRIPTS)).flatmap(
    lambda name: st.lists(st.text(SCRIPTS[name], min_size=1, max_size=9), min_size=1, max_size=8)
)


def found(query: str, document: str) -> int:
    """How many groups of the query the document has."""
    terms = index_terms(document)
    return sum(any(term in terms for term in group) for group in query_terms(query))


def test_each_script_hits_its_own_fact_only() -> None:
    facts = ["私は抹茶が好きです。", "Я живу в Твери", "Ich heiße Jürgen"]
    for query, own in (("抹茶", 0), ("твери", 1), ("JÜRGEN", 2), ("jurgen", 2), ("Тверь", 1)):
        assert [found(query, fact) > 0 for fact in facts] == [index == own for index in range(3)], query


@pytest.mark.parametrize(
    ("document", "queries"),
    [
        ("Emma moved to Boston", ["move", "moving", "moves", "MOVED", "boston"]),
        ("Has allergies to peanuts", ["allergy", "peanut", "Allergy?"]),
        ("Likes hiking", ["hike", "hikes", "hiked", "liked"]),
        ("Ann's sister runs a bakery", ["ann", "Ann", "Anns' sisters", "running"]),
        ("Ich kaufe zwei Wohnungen in Köln", ["Wohnung", "wohnungen", "koln", "KÖLN", "Koeln"]),
        ("Müller wohnt in der Straße", ["mueller", "muller", "MÜLLER", "strasse"]),
        ("Jürgen moved to Berlin", ["jurgen", "Juergen", "JU\u0308RGEN"]),
        ("Elle habite à Orléans et aime l'élevage", ["orleans", "ORLÉANS", "elevage", "élevages", "habiter"]),
        ("Comió una canción en Cádiz", ["comio", "comió", "cancion", "canciones", "cadiz"]),
        ("Mieszkam w Warszawie i lubię kawę", ["Warszawa", "lubie", "kawa"]),
        ("Bydlím v Brně a mám rád Prahu", ["brne", "Brno", "Praha"]),
        ("İstanbul'da yaşıyorum", ["istanbul", "ISTANBUL", "İSTANBUL", "yasiyorum"]),
        ("Tôi sống ở Đà Nẵng", ["da nang", "Đà Nẵng", "song"]),
        ("Bor i Tromsø", ["tromso", "TROMSØ"]),
        ("Я люблю зелёный чай", ["зеленый", "зелёного", "чая", "ЛЮБЛЮ"]),
        ("Живим у Београду", ["beogradu", "Београд"]),
        ("Μένω στη Θεσσαλονίκη", ["θεσσαλονικη", "ΘΕΣΣΑΛΟΝΙΚΗ", "Θεσσαλονίκης"]),
        ("أعيش في القاهرة وأحب القهوة", ["القاهرة", "القاهره", "قهوة", "احب", "أُحِبُّ"]),
        ("من در شیراز کتاب‌ها را دوست دارم", ["شيراز", "کتاب", "كتابها"]),
        ("אני גר בתל אביב", ["תל אביב", "אביב", "תל"]),
        ("הוא עובד בירושלים", ["ירושלים", "בירושלים", "לירושלים"]),
        ("मैं लड़के को क़लम देता हूँ", ["लड़का", "कलम", "क़लम"]),
        ("我女儿小美对花生过敏", ["花生", "过敏", "女儿", "小美", "花生过敏吗"]),
        ("韩国总统李在明今天访问北京大学", ["李在明", "北京", "北大京大", "大学", "总统"]),
        ("我叫李雷,养了一只猫", ["李雷", "猫", "李雷是谁"]),
        ("나는 서울에서 고양이를 키워요", ["서울", "고양이", "고양이가", "서울은"]),
        ("가을에 차를 마셔요", ["가을", "차", "차가", "가을이"]),
        ("コーヒーショップで働いています", ["コーヒー", "ショップ", "働く", "ｺｰﾋｰ"]),
        ("東京大学に通っています", ["東京", "大学", "東京大学", "東京の大学"]),
        ("ฉันชอบดื่มชาเขียว", ["ชา", "ชาเขียว", "ดืม"]),
        ("ང་ལྷ་ས་ལ་སྡོད།", ["ལྷ་ས"]),
        ("ខ្ញុំរស់នៅភ្នំពេញ", ["ភ្នំពេញ"]),
        ("ကျွန်တော် ရန်ကုန်မှာ နေတယ်", ["ရန်ကုန်"]),
        ("ຂ້ອຍຢູ່ວຽງຈັນ", ["ວຽງຈັນ"]),
        ("२०२४ में ٢٠٢٣", ["2024", "2023"]),
        ("Full width ＡＢＣ１２３", ["abc123", "ABC123"]),
    ],
)
def test_a_query_finds_the_document(document: str, queries: list[str]) -> None:
    for query in queries:
        assert found(query, document), query


@pytest.mark.parametrize(
    ("document", "query"),
    [
        ("They win every match", "wine"),
        ("She can hear the sea", "heart"),
        ("He broke his leg", "legal"),
        ("Bought a red kayak", "green canoe"),
        ("Я живу в Твери", "Москва"),
        ("私は抹茶が好きです。", "紅茶"),
        ("私は抹茶が好きです。", "コーヒーです"),
        ("我住在上海", "北京"),
        ("나는 서울에 살아요", "부산"),
    ],
)
def test_a_query_leaves_other_documents_alone(document: str, query: str) -> None:
    assert found(query, document) == 0


def test_stop_words_are_left_out_on_both_sides() -> None:
    assert set(index_terms("She is in the kitchen of her aunt")) == {"kitchen", "aunt"}
    assert [group[0] for group in query_terms("Where does she live?")] == ["live"]
    assert [group[0] for group in query_terms("Wo wohnt der Jürgen?")] == ["wohnt", "jurgen"]
    assert [group[0] for group in query_terms("你的女儿在哪里?")] == ["女儿"]
    assert found("Don't I?", "I don't") == 2


@pytest.mark.parametrize("text", ["to be or not to be", "The Who", "是的", "и не он", "それは", "나는 그"])
def test_stop_words_alone_are_searched_and_indexed(text: str) -> None:
    assert found(text, text) == len(query_terms(text)) > 0


def test_a_capital_inside_a_sentence_makes_a_name_of_a_stop_word() -> None:
    document = "Yesterday we saw The Who in the US with my IT team"
    assert found("the who", document) == 2
    assert found("Does she live in the US?", document) == 1
    assert "it" in index_terms(document)
    assert "it" not in index_terms("Yesterday. It rained. I'm sure. It's true")
    assert set(index_terms("SHE IS IN THE KITCHEN")) == {"kitchen"}


@pytest.mark.parametrize("text", ["🎉", "?!", "…", "->", "€", "\u0301", "\ue000", "。", "♥ ♥"])
def test_visible_text_without_words_is_indexed_by_its_characters(text: str) -> None:
    assert index_terms(text)
    assert found(text, text) == len(query_terms(text)) > 0


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u200e", "\0", "\u3000"])
def test_nothing_to_see_gives_nothing(text: str) -> None:
    assert index_terms(text) == {}
    assert query_terms(text) == ()


def test_counts_are_how_often_a_word_occurs() -> None:
    assert index_terms("Tea, more tea, TEAS!") == {"tea": 3, "more": 1}
    assert index_terms("猫、猫、猫") == {"猫": 3}


def test_groups_come_in_order_without_duplicates() -> None:
    groups = query_terms("tea Paris tea Tokyo")
    assert [group[0] for group in groups] == ["tea", "pari", "tokyo"]
    assert all(len(group) == len(set(group)) for group in groups)


def test_a_document_pays_for_about_one_term_per_word() -> None:
    text = (
        "My daughter Emma is allergic to peanuts, so we never buy snacks that contain nuts. Last summer we moved from "
        "Bristol to a small house near Lake Geneva because my husband found a job at the university hospital. He "
        "plays the cello every Thursday evening and wants to learn Italian before our trip to Rome next April."
    )
    content = [
        word for word in text.split() if index_terms(word.strip(".,")).keys() & index_terms(text).keys()
    ]
    assert len(index_terms(text)) <= 1.15 * len(content)
    chinese = "我女儿小美对花生过敏,所以我们家里从来不买坚果类的零食。去年夏天我们从上海搬到了杭州。"
    assert len(index_terms(chinese)) <= 0.75 * len(chinese)


@given(anything)
@example("\ud800\udfff\0")
@example("\u05b0")
@example("a'b'c'd's's's")
@example("'t n't x't")
@example("\u0e48")
@example("\u0f0b\u0f0c")
@example("ー")
@example(".a.b..c")
def test_no_text_crashes_and_terms_are_never_empty(text: str) -> None:
    terms = index_terms(text)
    groups = query_terms(text)
    assert all(terms)
    assert all(count > 0 for count in terms.values())
    assert all(groups)
    assert all(term for group in groups for term in group)
    assert len(groups) == len(set(groups))
    assert bool(terms) == bool(groups)
    if any(char.isalnum() for char in text):
        assert terms


@given(anything)
@example("Aك")
def test_a_text_asked_for_word_by_word_is_found(text: str) -> None:
    terms = index_terms(text)
    assert all(any(term in terms for term in group) for group in query_terms(text))


@given(words)
def test_every_word_of_a_document_finds_it(parts: list[str]) -> None:
    document = " ".join(parts)
    indexed = set(index_terms(document))
    for part in parts:
        # A word left out of the index as a stop word cannot be found, and marks alone are no word.
        if any(char.isalnum() for char in part) and not _may_be_left_out(part):
            assert any(indexed & set(group) for group in query_terms(part)), (part, document)


def _may_be_left_out(part: str) -> bool:
    """Whether the part is left out beside another word, or would be in a document of some other language."""
    if set(index_terms(f"{part} 90817")) == {"90817"}:
        return True
    stops = {word for words in FUNCTION_WORDS.values() for word in words.casefold().split()}
    pieces = re.findall(r"\w+", part.casefold().replace("_", " "))
    return not stops.isdisjoint(pieces) or "".join(pieces) in stops or part.casefold().endswith("n't")


def test_other_processes_make_the_same_terms() -> None:
    texts = [
        "Ann's C++ at 3.5, Jürgen",
        "我住在上海",
        "나는 서울에 살아요",
        "Я живу в Твери",
        "ชาเขียว",
        "私は抹茶",
    ]
    code = f"from mnemic.text.tokens import *; print([(index_terms(t), query_terms(t)) for t in {texts!r}])"
    here = repr([(index_terms(text), query_terms(text)) for text in texts])
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-X", "utf8", "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert run.stdout.strip() == here


def test_threads_make_the_same_terms() -> None:
    texts = [
        f"Jürgen's {number} peanuts 我女儿对花生过敏 живу в Твери running{number}" for number in range(60)
    ]
    expected = [(index_terms(text), query_terms(text)) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(4):
            assert list(pool.map(lambda text: (index_terms(text), query_terms(text)), texts)) == expected


def test_importing_and_latin_text_load_neither_numpy_nor_the_chinese_dictionary() -> None:
    code = (
        "import sys; import mnemic.text.tokens as t; assert 'Stemmer' not in sys.modules; "
        "t.index_terms('Anna moved to Łódź'); t.query_terms('Anna'); "
        "print('rjieba' in sys.modules, 'numpy' in sys.modules); t.index_terms('上海'); print('rjieba' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False", "True"]


def test_the_fingerprint_names_all_that_terms_depend_on() -> None:
    own, stemmer, segmenter = tokeniser_fingerprint().split("/")
    assert int(own) == TOKENISER_VERSION
    assert stemmer == f"PyStemmer {version('PyStemmer')}"
    assert segmenter == f"rjieba {version('rjieba')}"
