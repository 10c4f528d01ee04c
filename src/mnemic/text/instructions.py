"""Telling a text that commands the assistant that reads it from one that tells something of its user. Pure.

It is a mark for whoever hands memories to a model, not a wall: who wants to get round the rules can. They know
English, Chinese, German, Spanish, Russian and Japanese, and the markup of chats and tool calls. A user's own wishes
("Please answer me in German", "Always book an aisle seat") are what memories are for and are left alone.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Each rule: words of which a text must hold one to be looked at, and what is then looked for in it. Texts are compared
# case-folded and without characters that cannot be seen. What stands between the words of a rule is short and ends
# with the sentence, so that no text takes long and what stands side by side adds up to nothing.
_GAP = r"[^.!?。！？\n]"
_SEP = r"[^\w.!?。！？]+"
_LINE = r"(?:^|\n)[^\w\n]{0,8}"

_MARKUP = (
    ("<", r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|eot_id|endoftext|python_tag)\|>"),
    ("inst], <<sys>>, [tool_calls], system]", r"\[/?(?:inst|system)\]|<<sys>>|\[tool_calls\]"),
    (
        "<",
        r"</?(?:\w+:)?(?:system(?:[_-]prompt)?|tool_(?:calls?|use|response|result)|function_(?:calls?|results?)"
        r"|invoke|assistant)(?:\s[^<>]{0,80})?>",
    ),
    (
        '"name", "tool_calls, "function_call',
        r'"(?:tool_calls|function_call)"\s*:|"name"\s*:\s*"[\w.-]+"\s*,\s*"(?:arguments|parameters)"\s*:',
    ),
    ("##", rf"{_LINE}#{{2,}}\s*(?:system|instruction|system prompt)\s*:"),
)

_ENGLISH = (
    (
        "ignor, disregard, override, bypass, forget, follow, obey, skip",
        r"\b(?:ignore|disregard|override|bypass|forget|skip|(?:stop|quit) (?:following|obeying)"
        rf"|(?:do not|don't|never) (?:follow|obey))\b(?:{_SEP}\w+){{0,3}}?"
        rf"{_SEP}(?:all|any|every|previous|prior|above|earlier|preceding|former|your|these|those|(?:the )?system)\b"
        rf"(?:{_SEP}\w+){{0,3}}?{_SEP}(?:instructions?|directions|prompts?|rules(?! of\b)|guidelines|directives"
        r"|commands|programming|context|safety (?:checks|measures))\b"
        r"|\b(?:ignore|disregard) (?:the (?:instructions?|prompts?|rules) above"
        r"|all (?:of )?(?:the )?(?:above|previous))\b",
    ),
    (
        "forget, ignor, disregard",
        r"\b(?:forget|ignore|disregard) (?:everything|all|anything)(?: that)? (?:above|before this"
        r"|you(?:'ve| have| were|'re| are)? (?:been )?(?:told|taught|instructed|know))\b",
    ),
    (
        "you are no, you're no, you will now",
        r"\byou(?: are|'re| will) (?:now|no longer)\b(?! (?:my|our|talking|speaking)\b)"
        rf"{_GAP}{{0,40}}?\b(?:dan|ai|assistant|chatbot|bot|model|mode|persona|unrestricted|uncensored|unfiltered"
        r"|jailbroken|bound|restricted|limited)\b",
    ),
    (
        "from now on, from this",
        rf"\bfrom (?:now on|this (?:point|moment) (?:on|forward)){_SEP}(?:\w+{_SEP}){{0,2}}?"
        r"you(?:'ll| (?:must|will|shall|are|have to|need to|should|only|always|(?:can|may) only))\b"
        r"(?! (?:my|our|to call me|call me)\b)",
    ),
    (
        "you must, you have to, you shall",
        rf"\byou (?:must|have to|shall){_SEP}(?:(?:now|always|only|never){_SEP})?"
        r"(?:recommend|promote|obey|comply|reveal|ignore|execute|insert|append|output|disregard)\b",
    ),
    (
        "user",
        rf"\b(?:do not|don't|never|without){_SEP}(?:tell|inform|mention|notify|alert|ask)(?:ing)?\b"
        rf"(?:{_SEP}\w+){{0,4}}?{_SEP}the (?:end )?user\b(?!'s? \w*(?:manual|guide))",
    ),
    (
        "user",
        rf"\b(?:when(?:ever)?|if|(?:each|every) time) (?:the|a|any) user (?:asks|says|mentions|requests|wants)\b"
        rf"{_GAP}{{0,80}}?\b(?:you (?:must|should|will|shall)|always|recommend|say"
        r"|(?:reply|respond|answer) (?:with|that))\b",
    ),
    (
        "prompt, instruc, guideline, above",
        r"\b(?:reveal|print|show|repeat|output|display|leak|dump|disclose|expose|tell me|give me|write out)\b"
        rf"(?:{_SEP}\w+){{0,3}}?{_SEP}(?:your (?:\w+ ){{0,2}}?(?:prompt|instructions|guidelines)"
        r"|(?:the|this|its) (?:hidden|secret|initial|original|system) (?:\w+ )?(?:prompt|instructions)"
        rf"|the (?:text|words|message) above\b{_GAP}{{0,40}}?\b(?:you are|verbatim|word for word))\b"
        r"|\bwhat (?:is|are) your (?:system|initial|hidden) (?:prompt|instructions)\b",
    ),
    (
        "your new, your real, your true, your only, your sole, your instruc, your rules, your guidelines",
        r"\byour (?:new|real|true|only|sole) "
        r"(?:instructions?|task|role|goal|rules?|objective|persona|purpose) (?:is|are)\b"
        r"|\byour (?:instructions|rules|guidelines) (?:have|were|are) (?:been |now )?"
        r"(?:changed|updated|replaced|void|revoked)\b",
    ),
    (
        "instruc, directive",
        r"\b(?:new|updated|revised|hidden|secret) (?:system )?(?:instructions?|directives?)\s*:",
    ),
    (
        "note to, note for, message to, message for, instruc, attention",
        r"\b(?:(?:note|message|instructions?|attention) (?:to|for)|attention) (?:(?:all|the|any) )?"
        r"(?:ais?|llms?|bots?|chatbots?|assistants?|(?:ai|language) (?:models?|assistants?|agents?))\s*:",
    ),
    (
        "memor, reads this",
        rf"\b(?:delete|erase|wipe|end|clear|forget|remove){_SEP}(?:all|every|any) (?:of )?"
        r"(?:the |your |other |earlier |older |previous |existing )+(?:user's )?memor(?:y|ies)\b"
        r"|\bwhoever reads this\b",
    ),
    (
        "if you",
        r"\bif you(?:'re| are) an? (?:ai|llm|assistant|chatbot|bot|(?:large )?language model)\b",
    ),
    (
        "reading this",
        r"\b(?:ais?|assistants?|chatbots?|llms?|models?) (?:that (?:is|are) )?reading this\b",
    ),
    (
        "assistant",
        r"(?:^|[.!?:\n]\W{0,3})assistant\s?[,:!]\W{0,3}(?:stop|ignore|execute|obey|reveal|disregard|call the)\b",
    ),
    (
        "restriction, filter, limitation, guideline, guardrail",
        rf"\b(?:act|behave|operate|respond|answer|pretend|imagine|roleplay)\b{_GAP}{{0,30}}?"
        r"\b(?:without|no|free (?:of|from)) (?:any |all )?(?:ethical |safety |content |moral )?"
        r"(?:restrictions|filters?|limitations|guidelines|guardrails)\b",
    ),
    (
        "mode enabled, mode activated, mode is",
        r"\b(?:dan|god|jailbreak|unrestricted) mode (?:is (?:now )?)?(?:enabled|activated)\b",
    ),
    (
        "system:, system message:, system prompt:",
        rf"{_LINE}system(?: message| prompt)?:{_GAP}{{0,80}}?"
        r"\b(?:you|your|users?|assistants?|ignore|obey|delete|reveal|send|reply|respond|answer|must|never|instructions?"
        r"|do not|don't|rules?|prompt|override|(?:be)?nutzers?|ignorier\w*|antworte\w*|du)\b",
    ),
)

_GERMAN = (
    (
        "ignor, vergiss, vergessen sie, missacht, verwirf",
        r"\b(?:ignorier(?:e|en sie)?|vergiss|vergessen sie|missachten?|verwirf)\b"
        rf"{_GAP}{{0,20}}?\b(?:alle[rns]?|all|vorherig\w+|bisherig\w+|vorig\w+|früher\w+|obig\w+|deine[rn]?|ihre[rn]?"
        rf"|sämtliche\w?|diese)\b{_GAP}{{0,25}}?\b(?:system)?(?:anweisung|instruktion|befehl|regel|vorgabe|richtlinie|prompt)",
    ),
    (
        "ab jetzt, ab sofort, ab nun",
        r"\bab (?:jetzt|sofort|nun) (?:musst|wirst|sollst|darfst|bist|antwortest) du\b(?! mein)",
    ),
    (
        "du bist",
        r"\bdu bist (?:jetzt|nun|ab (?:jetzt|sofort))\b(?! mein)"
        rf"{_GAP}{{0,40}}?\b(?:ki|ki-\w+|assistent|modell|bot|chatbot|\w*modus|einschränkung\w*|uneingeschränkt\w*)\b",
    ),
    (
        "prompt, systemanweisung, systemnachricht",
        rf"\b(?:gib|zeige?|verrate?|nenne?|wiederhole|drucke)\b{_GAP}{{0,25}}?"
        r"\b(?:system-?\s?prompt|systemanweisung|systemnachricht)",
    ),
    (
        "nutzer",
        rf"\b(?:sage?|verrate?|erzähle?|erwähne?)\b{_GAP}{{0,10}}?\b(?:dem|der|den) (?:be)?nutzer\w*\b"
        rf"{_GAP}{{0,20}}?\bnichts?\b"
        r"|\bohne (?:es )?(?:dem|den|der) (?:be)?nutzer\w* (?:\w+ )?zu (?:informieren|fragen|sagen|benachrichtigen)\b",
    ),
    ("anweisung, instruktion", r"\bneue (?:system)?(?:anweisung|instruktion)(?:en)?\s*:"),
)

_SPANISH = (
    (
        "ignor, olvid, descart, caso omiso",
        r"\b(?:ignor(?:a|en?|ad)|olvid(?:a|en?|ad)|descart(?:a|en?)|haz caso omiso de)\b"
        rf"{_GAP}{{0,12}}?\b(?:(?:todas|tus)\b{_GAP}{{0,8}}?\b(?:instrucciones|órdenes|prompts?)"
        r"|tus (?:reglas|directrices)"
        rf"|(?:instrucciones|órdenes|reglas|indicaciones|directrices)\b{_GAP}{{0,10}}?"
        r"\b(?:anteriores|previas|del sistema))\b",
    ),
    (
        "partir de ahora, desde ahora",
        rf"\b(?:a partir de|desde) ahora{_SEP}(?:siempre |solo |sólo )?"
        r"(?:debes|tienes que|deberás|responderás|contestarás|vas a|serás|eres)\b(?! mi\b)",
    ),
    (
        "ahora eres",
        rf"\bahora eres\b(?! mi\b){_GAP}{{0,40}}?"
        r"\b(?:ia|asistente|modelo|bot|modo|sin (?:restricciones|límites|filtros))\b",
    ),
    (
        "prompt, instruc",
        rf"\b(?:muestra|muéstra|revela|imprime|repite|dime|escribe)(?:me|le)?\b{_GAP}{{0,20}}?"
        r"\b(?:prompt del sistema|tu prompt|instrucciones (?:del sistema|iniciales|ocultas))",
    ),
    (
        "usuario",
        r"\b(?:no le (?:digas|informes|menciones|avises|cuentes|preguntes)|sin (?:decirle|informarle?|avisarle?))\b"
        rf"{_GAP}{{0,20}}?\bal usuario\b",
    ),
    ("instruc", r"\bnuevas? instrucci(?:ón|on|ones)\s*:"),
    (
        "sistema",
        rf"{_LINE}sistema:{_GAP}{{0,80}}?"
        r"\b(?:usuario|debes|ignora|responde|eres|administrador|no (?:le )?\w+[ae]s)\b",
    ),
)

_CHINESE = (
    (
        "指令, 指示, 提示, 规则, 規則, 命令, 设定, 設定, 准则, 準則",
        r"(?:忽略|无视|無視|忘记|忘掉|忘記|(?:不要|不用|别|不再)(?:理会|理會|遵守)|别管)"
        rf"(?={_GAP}{{0,10}}(?:之前|以前|以上|前面|上面|先前|此前|上述|所有|全部|一切|任何|你的|系统|系統))"
        rf"{_GAP}{{0,14}}?(?:指令|指示|提示词|提示詞|规则|規則|命令|设定|設定|准则|準則)",
    ),
    (
        "从现在, 從現在, 从此刻, 从今",
        r"(?:从|從)(?:现在|現在|此刻|今)(?:以后|以後|开始|開始|起|往后)?[,，、]?(?:你|您)(?:必须|必須|只能|将|將|不再|是一[个個位名])",
    ),
    (
        "模式, 限制, 越狱, dan",
        rf"你(?:现在|現在|就)?(?:已|已经)?(?:处于|處於|进入|進入|是){_GAP}{{0,10}}?"
        r"(?:开发者模式|開發者模式|越狱|dan|无限制|(?:没有|沒有|不受)(?:任何)?限制)",
    ),
    (
        "提示, 指令",
        rf"(?:输出|輸出|显示|顯示|打印|告诉我|告訴我|泄露|透露|重复|重複|复述|给我){_GAP}{{0,6}}?"
        r"(?:系统提示|系統提示|初始指令|隐藏指令|你的(?:提示|指令))"
        rf"|你的(?:系统提示|系統提示|提示词|提示詞|初始指令){_GAP}{{0,8}}?(?:告诉|告訴|输出|輸出|发给|显示|给我)",
    ),
    (
        "用户, 用戶, 使用者",
        r"(?:不要|别|勿|不得|无需|不必)再?(?:告诉|告訴|通知|告知|询问|詢問|提醒)(?:用户|用戶|使用者)"
        r"|(?:不要|别|勿|不得)(?:向|对|跟)(?:用户|用戶|使用者)(?:透露|提及|提起|说)|瞒着用户",
    ),
    ("助手, 助理", r"(?:ai|智能)助[手理]们?[:：,，]?(?:请注意|注意[:：]|请?(?:必须|忽略|执行|在每))"),
    ("记忆, 記憶", r"(?:终止|清空|删除|清除)(?:其他|其它|所有|全部|之前的?)(?:其他|其它|的)*(?:记忆|記憶)"),
    ("指令, 指示", r"新的?(?:指令|指示)\s*[:：]"),
    (
        "系统, 系統",
        rf"[【\[(（](?:系统|系統)(?:指令|提示|消息)[】\])）]|{_LINE}(?:系统|系統)(?:消息|提示|指令|通知)?\s*[:：]{_GAP}{{0,40}}?(?:用户|用戶|使用者|你|管理员|指令|必须|忽略)",
    ),
)

_RUSSIAN = (
    (
        "инструкци, указани, команд, правил, промпт",
        r"\b(?:про)?(?:игнорируй|забудь|отмени|не (?:следуй|выполняй|обращай внимания на))(?:те)?\b"
        rf"{_GAP}{{0,20}}?\b(?:все|всё|всем|предыдущ\w+|прежн\w+|прошл\w+|вышеуказанн\w+|сво\w+|систем\w+)\b"
        rf"{_GAP}{{0,25}}?(?:инструкци|указани|команд|правил|промпт)",
    ),
    (
        "этого момента, отныне, впредь",
        rf"\b(?:с этого момента|отныне|впредь){_SEP}(?:ты|вы){_SEP}"
        r"(?:долж(?:ен|на|ны)|обязан\w*|будешь|будете|всегда|только)\b",
    ),
    (
        "теперь ты",
        rf"\bтеперь ты\b(?! мо[йя]\b){_GAP}{{0,40}}?"
        r"\b(?:ии|ассистент|помощник|модель|бот|в режиме|без (?:ограничений|цензуры))\b",
    ),
    (
        "промпт, инструкци",
        rf"\b(?:покажи|раскрой|выведи|напечатай|повтори|назови)(?:те)?\b{_GAP}{{0,15}}?"
        r"(?:систем\w+ (?:промпт|инструкци)|сво\w+ (?:промпт|инструкци)|скрыт\w+ инструкци)",
    ),
    (
        "пользовател",
        rf"\bне (?:говори|сообщай|рассказывай|упоминай|спрашивай)(?:те)?\b{_GAP}{{0,20}}?\bпользовател[юяе]",
    ),
    ("инструкци, указани", r"\bнов(?:ые|ая|ое) (?:инструкци[ия]|указани[яе])\s*:"),
    (
        "система",
        rf"{_LINE}система\s*:{_GAP}{{0,80}}?\b(?:пользовател\w+|ты|вы|игнорируй|удали|отвечай|не [а-я]+й(?:те)?)\b",
    ),
)

_JAPANESE = (
    (
        "指示, 命令, ルール, プロンプト",
        rf"(?:これまで|今まで|以前|上記|上の|前の|先ほど|すべて|全て|全部|システム){_GAP}{{0,8}}?"
        rf"(?:指示|命令|ルール|プロンプト){_GAP}{{0,8}}?(?:無視(?!した|してい)|忘れ(?!た|てしま|ちゃ)|破棄(?!した)|従わない)",
    ),
    (
        "あなたは",
        rf"(?:今後|これから|今から|以降)は?[、,]?あなたは{_GAP}{{0,40}}?(?:なければな|しなさい|すること)"
        rf"|あなたは(?:今から|これから|もう)(?!私の){_GAP}{{0,20}}?(?:ai|アシスタント|モード|モデル|ボット|制限)",
    ),
    (
        "プロンプト, 指示",
        rf"(?:システム|隠された|内部の?|初期の?)(?:プロンプト|指示){_GAP}{{0,8}}?(?:表示|出力|教え|開示|公開|見せ|繰り返)",
    ),
    ("ユーザー", rf"ユーザー(?:に|へ)は?{_GAP}{{0,8}}?(?:言わ|伝え|知らせ|教え|告げ|話さ)(?:ず|ない|るな)"),
    ("指示, 命令", r"新(?:しい|たな)(?:指示|命令)\s*[:：]"),
    ("システム", rf"{_LINE}システム\s*[:：]{_GAP}{{0,40}}?(?:ユーザー|あなた|指示|管理者|無視|ください)"),
)


def _by_word(*rules: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for words, pattern in rules:
        for word in words.split(", "):
            found[word] = (*found.get(word, ()), pattern)
    return found


_RULES = _by_word(*_MARKUP, *_ENGLISH, *_GERMAN, *_SPANISH)
_ALL_RULES = _by_word(*_MARKUP, *_ENGLISH, *_GERMAN, *_SPANISH, *_CHINESE, *_RUSSIAN, *_JAPANESE)

# Marks of direction, joiners and the like, which are not seen; letters in a form of their own; tags of letters.
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
_ODD = re.compile(
    f"{_UNSEEN.pattern[:-1]}\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\U000e0000-\U000e007f]"
)
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
# Of a longer text so many characters at its beginning, and at its end, are looked at.
_HEAD, _TAIL = 3_000, 1_000


def looks_like_instructions(text: str) -> bool:
    """Whether a text seems written to command the assistant that reads it, rather than to tell of its user.

    Takes some microseconds for a few hundred characters. Of a text of more than 4,000, only the first 3,000 and
    the last 1,000 are looked at.
    """
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    folded = _folded(text)
    rules = _RULES if folded.isascii() else _ALL_RULES
    patterns = [pattern for word in rules if word in folded for pattern in rules[word]]
    return any(_compiled(pattern).search(folded) for pattern in dict.fromkeys(patterns))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    if _ODD.search(text):
        text = unicodedata.normalize("NFKC", _TAGS.sub(_untagged, _UNSEEN.sub("", text)))
    return text.casefold()


def _untagged(tags: re.Match[str]) -> str:
    """Tag characters as the letters they stand for."""
    letters = "".join(chr(ord(tag) - 0xE0000) for tag in tags.group() if 0xE0020 <= ord(tag) < 0xE007F)
    return f" {letters} "


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
