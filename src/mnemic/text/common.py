"""Everyday words per language: what a word tells when too little text is at hand to say. Words and one curve.

Among fifty memories "day" may stand once by accident, as rare as a name. General talk knows better.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from mnemic.text.pack import term_hash
from mnemic.text.stems import word_terms

# A word of rank r (from 0) stands in _SCALE / (r + _FLAT) of short texts: 10 % for the first, 1 % for the 200th.
_SCALE = 2.2
_FLAT = 22.0

# ISO 639-1 code -> content words of everyday talk, roughly the commonest first. Other forms of a word count
# through its stem. Words for what people remember (names, food, places, illness, kin) are left out.
EVERYDAY_WORDS: dict[str, str] = {
    "en": """like get go good know think time really want see great make one thing day love way look need work
        well feel take come say hey now yes yeah ok okay thank right new people lot back even still year
        much more give help let sure always try got keep find tell hope today never start week nice sound
        something happy first mean little life best last old long next home talk use call enjoy two actually
        only other will may might must fun guess bit hi hello please sorry ask everything anything nothing
        ever around place many put pretty maybe end kind big bad better hard night done remember wait most
        same different own another every few far idea part point fine stuff soon already ago since though
        amazing cool wow awesome special share show morning tomorrow yesterday tonight later month hour
        minute moment weekend friend live stay leave move bring turn run play read watch eat meet spend
        believe sometimes often usually again away together someone anyone everyone able interest important
        glad wonder happen change reason question answer problem couple whole once three four five half
        enough yet less least free busy ready full easy world side real true wrong name word set hear hold
        stop open pass plan miss check care deal line top small high late early perfect favorite favourite
        exactly probably definitely totally absolutely especially almost anyway quite rather else instead
        send buy pay add decide learn understand agree forget worry wish seem become follow finish matter
        case fact guy second third ten six seven eight nine hundred""",
    "zh": """说 好 想 去 来 会 看 做 吃 时候 知道 觉得 现在 今天 喜欢 可以 没有 什么 怎么 真 天 点 下 家 新
        时间 一个 一下 一点 应该 可能 大家 东西 问题 事情 事 工作 开始 已经 还是 还有 最近 以前 以后 明天
        昨天 晚上 早上 下午 上午 中午 周末 每天 有点 不错 谢谢 开心 希望 需要 感觉 比较 特别 非常 其实
        因为 所以 但是 如果 然后 或者 而且 不过 虽然 一直 经常 有时 有时候 总是 刚刚 马上 终于 突然 当然
        确实 肯定 一定 真的 好像 差不多 大概 别 给 让 用 找 买 走 住 带 等 打 开 回 出 起 过 叫 问 听 写
        年 月 周 号 次 两 三 几 多少 很多 一些 一样 一起 这样 那样 这么 那么 这里 那里 哪里 哪儿 哪个 谁
        几个 个人 自己 别人 朋友 回家 回来 出去 起来 过来 下来 上来 告诉 帮 帮忙 准备 打算 决定 计划 安排
        记得 忘了 认识 明白 了解 学习 生活 地方 名字 方便 高兴 哈哈 晚安 早安 你好 再见 没事 没关系 不用
        不要 不能 不会 不想 不是 就是 小 大 长 高 老 快 慢 早 晚 最 更 太 挺 请 行 对 嗯 啊 吧 里 前 后 上
        完 住在 正在 还 再 又""",
    "de": """gut gehen machen haben heute mal ja nein danke immer jetzt wieder viel mehr ganz wirklich schön
        kommen sagen sehen wissen denken finden geben lassen brauchen möchten wollen können müssen sollen
        zeit tag jahr woche morgen abend gestern leben arbeiten neu alt groß klein lang lieber gern bisschen
        alles etwas nichts vielleicht eigentlich natürlich genau super toll hallo bitte freuen leute ding
        heim haus erst letzt nächst zwei drei ende anfang leicht schnell spät früh zurück zusammen""",
    "es": """bien bueno hacer ir decir ver querer saber poder tener gustar creer pensar hoy ahora siempre nunca
        mejor mucho todo nada algo vez día año semana mañana noche ayer tiempo vida trabajo casa cosa gente
        nuevo grande pequeño gracias hola claro verdad vale bonito feliz amigo venir dar dejar llegar poner
        salir vivir hablar llamar empezar dos tres primero último antes después luego casi solo""",
    "fr": """bien bon faire aller dire voir vouloir savoir pouvoir devoir aimer penser croire aujourd hui
        maintenant toujours jamais mieux beaucoup tout rien chose fois jour an année semaine demain soir
        hier temps vie travail maison gens nouveau grand petit merci salut bonjour oui non vrai peu super
        content ami venir donner prendre mettre laisser arriver partir vivre parler appeler commencer deux
        trois premier dernier avant après encore vraiment""",
    "ru": """хорошо хороший да нет делать сделать идти пойти говорить сказать видеть хотеть знать мочь думать
        нравиться любить сегодня сейчас всегда никогда лучше много всё ничего раз день год неделя
        завтра вечер вчера утро время жизнь работа работать дом дело люди новый большой маленький спасибо
        привет правда очень рад друг прийти дать взять жить звать начать два три первый последний потом
        просто ещё надо нужно можно""",
    "ja": """今日 明日 昨日 今 時間 時 人 日 年 月 週 行 見 食 思 言 好 家 仕事 友達 本当 一緒 前 後 朝 夜 毎日
        最近 全部 少 何 誰 元気 楽 嬉 新 名前 予定""",
}


@cache
def everyday_shares() -> dict[int, float]:
    """Return, by term hash (`text.pack.term_hash`), the share of short texts in which an everyday word stands.

    A rough curve over the ranks of `EVERYDAY_WORDS` after Zipf's law; a term of several languages or words has
    the highest of its shares. Do not change the answer: it is the same object each time.
    """
    shares: dict[int, float] = {}
    for language, words in EVERYDAY_WORDS.items():
        for rank, word in enumerate(words.split()):
            share = _SCALE / (rank + _FLAT)
            for term in _terms(word, language):
                key = term_hash(term)
                shares[key] = max(share, shares.get(key, 0.0))
    return shares


def _terms(word: str, language: str) -> Iterable[str]:
    # Han words are written here as they stand in an index, single characters and pairs, so that the segmenter
    # with its big dictionary need not be loaded.
    if language in ("zh", "ja"):
        return (word,) if len(word) < 3 else [word[i : i + 2] for i in range(len(word) - 1)]
    return word_terms(word, language)
