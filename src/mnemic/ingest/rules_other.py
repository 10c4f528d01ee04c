"""Sentences in other languages: keep what is long enough, except questions, courtesies and plain requests."""

from __future__ import annotations

import re

from .rules import Verdict, Worth, out

_LETTER_RUN = re.compile(r"[^\W\d_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_ASKS = re.compile(
    r"[?？؟;;՞፧][^\w]*$|^\s*[¿]|(?:ですか|ますか|でしょうか|のか|かな|까|나요|니까)[。.\s]*$"
    r"|^\s*(?:est-ce que|qu'est-ce)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\s*(?:(?:muchas |mil )?gracias|(?:vielen |besten |herzlichen )?dank(?:e|eschön)?|merci|спасибо|благодарю"
    r"|grazie|(?:muito )?obrigad[oa]|dank je|dank u|bedankt|tack|takk|dziękuję|dzięki|teşekkür|ありがとう|どうも"
    r"|감사|고마워|شكرا|धन्यवाद|cảm ơn|terima kasih)",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"\s*(?:hola|buen[oa]s (?:días|dias|tardes|noches)|adiós|hasta luego|hallo|guten (?:tag|morgen|abend)|moin"
    r"|servus|tschüss|(?:viele|liebe|beste) grüße|bonjour|bonsoir|salut|coucou|au revoir|cordialement|привет"
    r"|здравствуй(?:те)?|добр(?:ый|ое) \w+|пока|ciao|buongiorno|buonasera|olá|oi|bom dia|boa (?:tarde|noite)"
    r"|こんにちは|こんばんは|おはよう|はじめまして|안녕|مرحبا|السلام|नमस्ते|xin chào|halo|hej|cześć|merhaba)(?!\w)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:por favor|bitte|s'il (?:te|vous) pla[iî]t|svp|stp|пожалуйста|per favore|alsjeblieft|alstublieft|proszę"
    r"|lütfen)\b|(?:ください|下さい|お願い(?:します|いたします)?|して(?:ほしい|くれ)|주세요|해줘)[。.！!\s]*$"
    r"|^\s*(?:traduce|traduis|traduisez|übersetze?|переведи(?:те)?|escribe|écris|schreib(?:e|en sie)?|напиши(?:те)?"
    r"|resume|résume|fasse? zusammen|explica|explique|erkläre?|объясни(?:те)?|dame|donne-moi|gib mir|дай"
    r"|расскажи(?:те)?)\b",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"\s*(?:él|ella|ellos|ellas|er|sie|il|elle|ils|elles|он|она|они|lui|lei|loro|ele|ela|eles|彼|彼女|그는|그녀)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 3
_FEWEST_CHARS = 8
_FEWEST_IN_ONE_WORD = 12
_COURTESY_WORDS = 6
_COURTESY_CHARS = 14


def _says_more(rest: str) -> bool:
    """Whether a courtesy goes on after a comma with words enough for a statement: "Hallo, ich wohne in Berlin"."""
    after = rest.lstrip()
    if not after.startswith((",", "，", "、", "!", ":", "-", "–")):
        return False
    return len(_LETTER_RUN.findall(after)) >= _FEWEST_WORDS or len(_UNSPACED.findall(after)) >= _FEWEST_CHARS


def judge(text: str) -> Verdict:
    """What a sentence of any other language is; see `Verdict`."""
    words = _LETTER_RUN.findall(text)
    if not words:
        return out("no_content")
    unspaced = len(_UNSPACED.findall(text))
    short = unspaced <= _COURTESY_CHARS if unspaced else len(words) <= _COURTESY_WORDS
    if _ASKS.search(text):
        return out("question")
    for courtesy, reason in ((_THANKS, "thanks"), (_GREETING, "greeting")):
        opening = courtesy.match(text)
        if short and opening is not None and not _says_more(text[opening.end() :]):
            return out(reason)
    if _REQUEST.search(text):
        return out("request")
    letters = sum(map(len, words))
    enough = (
        unspaced >= _FEWEST_CHARS
        if unspaced
        else len(words) >= _FEWEST_WORDS or letters >= _FEWEST_IN_ONE_WORD
    )
    if not enough:
        return out("no_content")
    return Verdict(Worth.SURE, leans=_LEANS.match(text) is not None)
