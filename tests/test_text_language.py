"""Language guesses: from script, function words and letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.text.language import guess_language, script_of
from mnemic.text.stems import word_readings, word_terms
from mnemic.text.words import COMMON_WORDS, FUNCTION_WORDS

SENTENCES = {
    "en": "My daughter is allergic to peanuts and we live in Bristol.",
    "de": "Ich heiße Jürgen und wohne in München.",
    "fr": "J'habite à Lyon avec ma sœur et nous aimons le café.",
    "es": "Vivo en Sevilla y me gusta mucho el té.",
    "it": "Abito a Torino e mi piace il caffè.",
    "pt": "Moro em Lisboa e gosto muito de chá.",
    "nl": "Ik woon in Utrecht en ik hou van koffie.",
    "sv": "Jag bor i Uppsala och jag gillar inte kaffe.",
    "da": "Jeg bor i Aarhus, og jeg kan ikke lide kaffe, men af og til te.",
    "no": "Jeg bor i Bergen og liker ikke kaffe, bare te fra noen venner.",
    "fi": "Minä asun Turussa ja en pidä kahvista.",
    "hu": "Szegeden lakom és nagyon szeretem a teát.",
    "pl": "Mieszkam w Łodzi i bardzo lubię kawę.",
    "cs": "Bydlím v Brně a mám rád kávu, protože je dobrá.",
    "sk": "Bývam v Žiline a mám rád kávu, pretože aj čaj je dobrý.",
    "ro": "Locuiesc în Cluj și îmi place cafeaua.",
    "tr": "Ankara'da yaşıyorum ve çayı çok seviyorum.",
    "ca": "Visc a Girona amb la meva germana i m'agrada molt el cafè.",
    "id": "Saya tinggal di Bandung dan suka minum kopi.",
    "et": "Ma elan Tartus ja mulle meeldib kohv.",
    "lt": "Aš gyvenu Kaune ir labai mėgstu kavą.",
    "lv": "Es dzīvoju Rīgā un man ļoti patīk kafija.",
    "ga": "Tá mé i mo chónaí i nGaillimh agus is maith liom tae.",
    "eu": "Ni Bilbon bizi naiz eta kafea gustatzen zait.",
    "eo": "Mi loĝas en Bjalistoko kaj mi ŝatas kafon.",
    "hr": "Živim u Zagrebu i jako volim kavu jer je dobra.",
    "vi": "Tôi sống ở Huế và rất thích uống trà.",
    "ru": "Я живу в Твери и люблю чай.",
    "uk": "Я живу у Львові і дуже люблю каву.",
    "bg": "Аз живея в Пловдив и много обичам кафе.",
    "sr": "Живим у Новом Саду и волим кафу.",
    "el": "Μένω στη Θεσσαλονίκη και μου αρέσει ο καφές.",
    "hy": "Ես ապրում եմ Գյումրիում և սիրում եմ սուրճ։",
    "ar": "أعيش في القاهرة وأحب القهوة",
    "fa": "من در شیراز زندگی می‌کنم و چای را دوست دارم.",
    "ur": "میں لاہور میں رہتا ہوں اور مجھے چائے پسند ہے",
    "hi": "मैं दिल्ली में रहता हूँ और मुझे चाय पसंद है।",
    "ne": "म पोखरामा बस्छु र मलाई चिया मन पर्छ, तर कफी होइन भने पनि छ।",
    "mr": "मी पुण्यात राहतो आणि मला चहा आवडतो.",
    "ta": "நான் மதுரையில் வசிக்கிறேன்",
    "he": "אני גר בחיפה ואני אוהב קפה",
    "yi": "איך וואוין אין ווילנע און איך האָב ליב טיי",
    "th": "ฉันอยู่ที่เชียงใหม่",
    "ko": "나는 부산에 살아요",
    "ja": "私は抹茶が好きです。",
    "zh": "我住在上海,喜欢喝茶。",
    "bo": "ང་ལྷ་ས་ལ་སྡོད།",
    "km": "ខ្ញុំរស់នៅភ្នំពេញ",
    "my": "ကျွန်တော် ရန်ကုန်မှာ နေတယ်",
    "ka": "მე თბილისში ვცხოვრობ",
}


@pytest.mark.parametrize(("language", "sentence"), SENTENCES.items())
def test_a_sentence_tells_its_language(language: str, sentence: str) -> None:
    assert guess_language(sentence) == language


@pytest.mark.parametrize(
    "text", ["", "  \n", "12345", "🎉🎉", "Jürgen", "Anna", "Warszawa", "kayak", "ошибка"]
)
def test_a_name_or_nothing_is_no_evidence(text: str) -> None:
    assert guess_language(text) is None


def test_names_of_other_languages_do_not_carry_an_english_sentence_away() -> None:
    assert guess_language("Jürgen and Łukasz met Señor Muñoz in Århus and Kraków.") == "en"
    assert guess_language("She read 抹茶 on the menu and asked what it is.") == "en"


def test_a_kana_word_does_not_make_chinese_japanese() -> None:
    assert guess_language("我最喜欢的日语词是すし,因为我们家里每个周末都会一起去吃寿司和喝味噌汤。") == "zh"


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_any_text_gives_a_known_code_or_none(text: str) -> None:
    guess = guess_language(text)
    assert guess is None or (len(guess) == 2 and guess.isascii())


@pytest.mark.parametrize("language", sorted(FUNCTION_WORDS))
def test_every_word_list_is_clean(language: str) -> None:
    words = FUNCTION_WORDS[language].split() + COMMON_WORDS.get(language, "").split()
    assert len(words) >= 20
    assert len(FUNCTION_WORDS[language].split()) == len(set(FUNCTION_WORDS[language].split()))
    assert all(word == word.lower() for word in words)


@pytest.mark.parametrize("language", sorted(set(SENTENCES) - {"zh", "ja", "ko", "th", "bo", "km", "my"}))
def test_a_word_is_found_whatever_language_its_document_was_taken_for(language: str) -> None:
    for word in SENTENCES[language].casefold().replace("'", " ").split():
        bare = word.strip(".,。։।")
        if bare and script_of(bare[0]) in ("latin", "cyrillic", "arabic", "devanagari", "hebrew"):
            for taken_for in (language, None, "en" if script_of(bare[0]) == "latin" else None):
                assert set(word_terms(bare, taken_for)) <= set(word_readings(bare)), (bare, taken_for)
