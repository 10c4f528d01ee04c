"""Is an English sentence a statement of the user? Rules over clauses: word classes, person, mood, tense."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from . import patterns_en as p
from . import words_en as w
from .rules import Verdict, Worth, out

_SUBJECT = (
    r"(?:i|i'm|i've|i'd|i'll|im|ive|my|we|we're|we've|we'll|our|he|he's|she|she's|they|they're|it|it's|you|your"
    r"|can|could|would|what|what's|how|which|please|do|does|is|are|should|any)\b"
)
_MASKED = re.compile(r"\"[^\"\n]{2,}\"|“[^”\n]*”|«[^»\n]*»|`[^`\n]+`|https?://\S+|www\.\S+|\S+@\S+\.\w+")
_BREAK = re.compile(
    r"[,:](?!\d)|[;()\[\]—–]|\s-+\s|--+|\.{2,}|…|[.!?]+(?=[\s\"'”’)]|$)"
    rf"|\s(?=(?:and|but|because|since|cause|cuz|though|although|plus)\s{_SUBJECT})"
    r"|\s(?=so\s(?:what|how|which|can|could|would|please|should|do|any|where|when|is|are)\b)"
)
_WORD = re.compile(r"[^\W_]+(?:['’.\-/&@+][^\W_]+)*(?:'s)?|\+?\d[\d.,:/]*")
_LIST_MARK = re.compile(r"^\s*(?:[-*•·–—▪◦]\s+|[(（]?\d{1,3}[.)）、]\s*|[(]?[a-z][.)]\s+|#{1,6}\s+)")
_ASKS = re.compile(r"[?？]['\"”’)\s\U0001F000-\U0001FAFF\u2600-\u27bf!]*$")
_ACTED = re.compile(r"\s*\*[^*]+\*[\s.!?]*")
_THE_OWN = re.compile(rf"\bthe (?:{'|'.join(sorted(w.OWN_WITH_THE))})\b")
_MEASURED = re.compile(r"\d|hours?$|minutes?$|days?$|weeks?$|months?$|years?$")
_NAMED = re.compile(r"\b(?:my|our|[Tt]he|[Aa]n?|[A-Z](?!['’])\w+)\b")
_PERSON = re.compile(r"\b(?:he|him|his|she|her|he's|she's|he'll|she'll|they|them|they're)\b", re.IGNORECASE)

_PLAIN_WORDS = 3
_AFTER_REQUEST_WORDS = 4
_TO_YOU_WORDS = 8
_MOOD_WORDS = 5
_GREETING_WORDS = 5

_BY_REQUEST = ("question", "request")
_AGAINST = (*_BY_REQUEST, "talk_about_the_chat", "hypothetical", "problem_at_hand", "role_play", "fiction")


def judge(text: str) -> Verdict:
    """What an English sentence is; see `Verdict`."""
    bare = _LIST_MARK.sub("", text, count=1)
    if p.CAST.match(bare) or _ACTED.fullmatch(bare):
        return out("role_play", opens="role_play")
    masked = _MASKED.sub(" QUOTED ", bare) if _MASKED.search(bare) else bare
    if not _WORD.search(masked.replace("QUOTED", "")):
        return out("quoted" if "QUOTED" in masked else "no_content")
    lowered = masked.replace("’", "'").casefold()
    asks = _ASKS.search(bare) is not None
    clauses = [words for part in _BREAK.split(lowered) if (words := _WORD.findall(part))]
    kinds = _kinds(clauses, asks)
    said = frozenset(word for words in clauses for word in words)
    personal = bool(said & w.POSSESSIVES or said & w.KIN) or _names_own(lowered)
    opens = _opens(kinds, clauses)
    if opens:
        asked = opens == "fiction" and "request" in kinds
        return out("request" if asked else opens, opens=opens, personal=personal)
    if p.STANDING.search(lowered) and not asks:
        kinds = ["sure" if kind in ("request", "talk_about_the_chat") else kind for kind in kinds]
    if "sure" in kinds:
        me = bool(said & w.FIRST_PERSON)
        return Verdict(Worth.SURE, leans=_leans(clauses, masked), personal=personal, first_person=me)
    reason = next((kind for kind in kinds if kind in _AGAINST), "")
    if not reason and "plain" in kinds:
        return Verdict(Worth.PLAIN, "no_content", leans=_leans(clauses, masked), personal=personal)
    return out(reason or next((kind for kind in kinds if kind), "no_content"), personal=personal)


def _kinds(clauses: Sequence[Sequence[str]], asks: bool) -> list[str]:
    """The kind of each clause: sure, plain, a reason against, or '' for filler."""
    kinds: list[str] = []
    unreal = any(p.COUNTERFACTUAL.match(" ".join(_peel(words)[0])) for words in clauses)
    for i, words in enumerate(clauses):
        kind = _kind(words, first=i == 0, asks=asks and i == len(clauses) - 1)
        if kind == "sure" and unreal and p.WOULD.search(" ".join(words)):
            kind = "hypothetical"
        if kind == "sure" and any(one in _BY_REQUEST for one in kinds) and not _tells(words):
            kind = ""
        kinds.append(kind)
    if any(one in _BY_REQUEST for one in kinds):
        kinds = _without_conditions(kinds, clauses)
    if kinds and kinds[0] in ("hypothetical", "") and "hypothetical" in kinds:
        kinds = ["hypothetical" if kind == "sure" else kind for kind in kinds]
    return kinds


def _tells(words: Sequence[str]) -> bool:
    """Whether a clause after a request is a statement of its own: it starts with the user and goes on."""
    bare = _with_subject(_peel(words)[0])
    return len(bare) >= _AFTER_REQUEST_WORDS and (bare[0] in w.FIRST_SUBJECTS or bare[0] in w.POSSESSIVES)


def _without_conditions(kinds: list[str], clauses: Sequence[Sequence[str]]) -> list[str]:
    """What is only the condition of a question, or a number in a sum, tells nothing of the user."""
    bare = [_peel(words)[0] for words in clauses]
    sums = any(p.COUNTED.match(" ".join(words)) for words in bare)

    def is_condition(words: Sequence[str]) -> bool:
        counted = sums and any(word[0].isdigit() for word in words) and not set(words) & w.POSSESSIVES
        return counted or words[0] in w.SUBORDINATE

    return ["" if k == "sure" and is_condition(words) else k for k, words in zip(kinds, bare, strict=True)]


def _peel(words: Sequence[str]) -> tuple[list[str], bool]:
    """The clause without discourse words at its start, and whether it said please."""
    i = 0
    while i < len(words) and words[i] in w.FILLERS and not _is_none(words, i):
        i += 1
    please = any(word in ("please", "pls", "plz") for word in (*words[:i], words[-1]))
    rest = " ".join(words[i:])
    preface = p.PREFACE.match(rest)
    if preface and rest[preface.end() : preface.end() + 1] in ("", " "):
        return _WORD.findall(rest[preface.end() :]), False
    return list(words[i:]), please


def _is_none(words: Sequence[str], i: int) -> bool:
    """Whether a "no" means "none" ("no dairy for me") rather than an answer ("no, I mean the other")."""
    if words[i] != "no" or i + 1 == len(words):
        return False
    after = words[i + 1]
    return not (
        after in w.FIRST_SUBJECTS
        or after in w.FILLERS
        or after in w.LEANING
        or after in ("not", "the", "you")
    )


def _kind(given: Sequence[str], first: bool, asks: bool) -> str:
    words, please = _peel(given)
    if given[0] in w.GREETINGS and all(word in w.GREETINGS or word in w.GREETING_FILL for word in given):
        return "greeting"
    if not words:
        return "acknowledgement" if any(word in w.ACKNOWLEDGEMENTS for word in given) else ""
    text = " ".join(words)
    social = _social(words, text)
    if social:
        return social
    if p.ROLE_PLAY.match(text):
        return "role_play"
    if p.HYPOTHETICAL.match(text):
        return "hypothetical"
    if _is_question(words, first, asks):
        asked_to = words[0] in ("can", "could", "would", "will") and words[1:2] == ["you"]
        return "request" if asked_to else "question"
    if all(word in w.EMPTY or word in w.EVALUATIVE for word in words):
        nods = any(word in w.EVALUATIVE or word in w.ACKNOWLEDGEMENTS for word in given)
        return "acknowledgement" if nods else "no_content"
    words = _with_subject(words)
    return _told(words, " ".join(words), please, asks)


def _told(words: Sequence[str], text: str, please: bool, asks: bool) -> str:
    """The kind of a clause that is no question and no courtesy."""
    if p.FRAGMENT.match(text):
        return "sure"
    if _is_request(words, text, please):
        return "request"
    if p.IN_FICTION.match(text):
        return "fiction"
    if p.TALK.match(text) or p.TALK_I.match(text) or p.FEEDBACK.match(text):
        return "talk_about_the_chat"
    if _is_to_assistant(words) or _is_about_task(words, text) or _is_passing(words, text):
        return "talk_about_the_chat"
    if p.TRIED.match(text) or p.WHEN_I_RUN.match(text) or _is_problem(words, text):
        return "problem_at_hand"
    return _statement(words, text, asks)


def _social(words: Sequence[str], text: str) -> str:
    head = words[0]
    if head in w.THANKS and "for" not in words and any(word in w.FIRST_SUBJECTS for word in words[1:]):
        return ""
    if head in w.THANKS or text.startswith(w.THANKING):
        return "thanks"
    if p.SIGN_OFF.match(text) or p.GREETS.match(text):
        return "greeting"
    if (head in w.GREETINGS or head == "dear") and len(words) <= _GREETING_WORDS:
        known = all(word in w.GREETING_FILL or word in w.GREETINGS for word in words)
        if known or head in ("hi", "hello", "hey", "dear"):
            return "greeting"
    if all(word in w.ACKNOWLEDGEMENTS for word in words):
        return "acknowledgement"
    return ""


def _is_question(words: Sequence[str], first: bool, asks: bool) -> bool:
    head = words[0]
    after = words[1] if len(words) > 1 else ""
    if head in w.WH:
        if asks:
            return True
        if head in w.RELATIVE and not first:
            return False
        inverted = after in w.AUXILIARIES or after in ("to", "about", "come", "many", "much")
        return inverted or (head.endswith("'s") and first)
    if head in w.AUXILIARIES:
        return after in w.AFTER_AUXILIARY or (asks and not head.endswith("n't"))
    if not asks:
        return False
    if head in w.FIRST_SUBJECTS:
        return after in ("should", "can", "could")
    return head not in w.POSSESSIVES or len(words) < _AFTER_REQUEST_WORDS


def _with_subject(words: list[str]) -> list[str]:
    """The clause with the "I" it leaves out, where its first word shows that it does."""
    head = words[0] if words else ""
    after = words[1] if len(words) > 1 else ""
    if after in w.COPULAS or not after:
        return words
    if head in w.ELIDED_AUXILIARY or head in w.ELIDED_BASE or head in w.IRREGULAR_PAST:
        return ["i", *words]
    if head == "don't" and (after in w.ELIDED_BASE or after in ("know", "think", "care", "mind", "like")):
        return ["i", *words]
    if len(head) > 4 and head.endswith("ed") and head not in w.NOT_PAST:
        return ["i", *words]
    if (len(head) > 4 and head.endswith("ing") and head not in w.NO_GERUND) or head in w.STATES:
        return ["i'm", *words]
    return words


def _is_request(words: Sequence[str], text: str, please: bool) -> bool:
    head = words[0]
    after = words[1] if len(words) > 1 else ""
    if head == "call" and after == "me":
        return len(words) < 3 or words[2] in ("back", "when", "if", "a", "crazy", "later")
    if _is_imperative(head, after, please):
        return True
    if head in ("i'd", "we'd") and after == "like" and (len(words) < 3 or words[2] != "to" or "you" in words):
        return True
    if head in ("we", "we'll") and after in ("should", "could", "can", "need"):
        return not any(word in w.POSSESSIVES for word in words) and not p.DATE.search(text)
    return bool(p.WANTS.match(text) or p.SPECIFICATION.match(text))


def _is_imperative(head: str, after: str, please: bool) -> bool:
    if after == "me" and not (head in w.IRREGULAR_PAST or head in w.KIN or head.endswith(("ed", "s"))):
        return True
    if please and head not in w.FIRST_SUBJECTS and head not in w.POSSESSIVES:
        return True
    if head in w.IMPERATIVES:
        return after not in w.COPULAS and not after.endswith("'s")
    if head in ("don't", "do"):
        return True
    return head in ("never", "always", "quickly", "briefly", "simply") and after in w.IMPERATIVES


def _is_to_assistant(words: Sequence[str]) -> bool:
    """Whether the clause is about the user and the assistant, or about what the assistant did."""
    followed = list(pairwise(words))
    if any(word in ("you", "you've", "you'd") and after in w.YOU_DID for word, after in followed):
        return True
    if words[0] not in w.FIRST_SUBJECTS or len(words) > _TO_YOU_WORDS:
        return False
    mine = any(word in w.POSSESSIVES and after not in w.MY_TURN for word, after in followed)
    return any(word in ("you", "your", "you're", "u") for word in words) and not mine


def _is_about_task(words: Sequence[str], text: str) -> bool:
    """Whether the user speaks of the conversation, its texts and its next step rather than of their life."""
    head, rest = words[0], words[1:]
    if head == "my":
        turn = len(rest) > 1 and rest[0] in w.MY_TURN and rest[1] in w.TURN_IS
        return turn or (bool(rest) and rest[0] in w.CODE and not set(rest) & w.LIFE)
    if head in ("that", "this") and rest and rest[0] in w.HELPED:
        return True
    if head not in w.FIRST_SUBJECTS or set(rest) & (w.LIFE | w.POSSESSIVES) or p.DATE.search(text):
        return False
    if head in ("i'll", "we'll") and rest and rest[0] in w.NEXT_STEP:
        return True
    if rest[:2] in (["need", "to"], ["have", "to"]) and len(rest) > 2 and rest[2] in w.TASK_VERBS:
        return True
    nouns = rest[1:]
    singular = {word.removesuffix("s") for word in nouns} | {re.sub("ies$", "y", word) for word in nouns}
    return bool(singular & (w.TASK | w.TECHNICAL))


def _is_passing(words: Sequence[str], text: str) -> bool:
    """Whether it is a mood of the moment, or something that only touches the user ("it made me laugh")."""
    state = words[:-1] if words[-1] in ("now", "today") else words
    stands = words[0] in ("i'm", "im") or words[:2] in (
        ["i", "am"],
        ["i", "was"],
        ["i", "feel"],
        ["we", "are"],
    )
    if stands and len(words) <= _MOOD_WORDS and state[-1] in w.MOODS:
        return True
    own = set(words) & w.FIRST_PERSON
    if own != {"me"} or p.DATE.search(text) or set(words) & w.LIFE:
        return False
    if words[-2:] == ["for", "me"] and words[0] in ("a", "an", "one", "some", "the", "another"):
        return True
    vague = words[0] in w.VAGUE or p.THE_OTHER.match(text) is not None
    return vague and not any(_MEASURED.match(word) for word in words)


def _is_problem(words: Sequence[str], text: str) -> bool:
    technical = any(word in w.TECHNICAL for word in words[:4])
    if technical and words[0] in ("my", "the", "our", "this"):
        return p.PROBLEM.match(text) is not None or not any(word in w.FIRST_PERSON for word in words)
    return p.PROBLEM.match(text) is not None and not p.DATE.search(text)


def _statement(words: Sequence[str], text: str, asks: bool) -> str:
    head = words[0]
    content = [word for word in words if word not in w.EMPTY and word not in w.FIRST_PERSON]
    if not content:
        return "no_content"
    if head in ("if", "unless", "whether"):
        return "hypothetical" if p.COUNTERFACTUAL.match(text) and p.WOULD.search(text) else ""
    judged = all(word in w.EVALUATIVE for word in content)
    if not judged and any(word in w.FIRST_PERSON for word in words):
        return "sure"
    if any(word in w.KIN or word.removesuffix("'s") in w.KIN for word in words) or _names_own(text):
        return "sure"
    if head in w.BARE_KIN or (head in w.LIFE_STARTS and len(words) >= _PLAIN_WORDS):
        return "sure"
    if head == "call" or (len(words) >= _PLAIN_WORDS and not asks and p.DATE.search(text)):
        return "sure"
    if judged:
        return "acknowledgement"
    if any(word.removesuffix("s") in w.TASK for word in content):
        return "talk_about_the_chat"
    enough = 2 if head in w.PERSONAL_LEANING else _PLAIN_WORDS
    return "plain" if len(words) >= enough or any(word[0].isdigit() for word in words) else ""


def _names_own(text: str) -> bool:
    return _THE_OWN.search(text) is not None


def _opens(kinds: Sequence[str], clauses: Sequence[Sequence[str]]) -> str:
    """What the sentence makes of the text after it: play or fiction, unless that is for someone of the user's."""
    if "role_play" in kinds:
        return "role_play"
    if kinds and kinds[0] == "fiction":
        return "fiction"
    if "request" in kinds:
        said = {word for words in clauses for word in words}
        asked = " ".join(clauses[kinds.index("request")])
        if p.FICTION.search(asked) and not (said & w.POSSESSIVES or said & w.KIN):
            return "fiction"
    return ""


def _leans(clauses: Sequence[Sequence[str]], masked: str) -> bool:
    """Whether the sentence goes on from the one before: by its first words, or by a person it has not named."""
    first = next((words for clause in clauses if (words := _peel(clause)[0])), clauses[0])
    text = " ".join(first)
    if first[0] in w.LEANING:
        return not (p.THIS_TIME.match(text) or p.WEATHER.match(text))
    if p.THE_OTHER.match(text) or p.AFTER_THAT.match(text):
        return True
    person = _PERSON.search(masked)
    if person is None:
        return False
    before = masked[: person.start()].strip()
    return not any(match.start() > 0 or match[0] in ("my", "My") for match in _NAMED.finditer(before))
