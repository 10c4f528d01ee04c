"""Many adds of one user while a model takes its time: no twin, nothing lost, nobody waits for long."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from conftest import MakeMemory, RowCounts
from mnemic import AsyncMemory, Memory, runtime
from mnemic.models.fakes import FaultyLLM, HashEmbedder, LLMFault, ScriptedLLM, ScriptedServer, ServerFaults
from mnemic.models.llm import open_llm
from mnemic.parts import MODEL_SETTINGS
from talk_with import asked, chats, decisions, events, fact, facts, kept, llm_at, read, texts

DELAY = 1.0
MANY = 20


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def edited(make_memory: MakeMemory, server: ScriptedServer) -> Memory:
    """A memory with the server for a model; `m` is one without any."""
    return make_memory(llm=llm_at(server))


def thorough(body: Mapping[str, Any]) -> str:
    """A model that draws each message as a fact, and marks it as a repeat of the first memory that it is offered."""
    told = read(body)
    meets = dict.fromkeys(list(told.known)[:1], "repeats")
    if told.facts:
        return decisions(*[meets] * len(told.facts))
    return facts(*[fact(text, number, meets=meets) for number, text in told.new.items()])


def simple(body: Mapping[str, Any]) -> str:
    """A model that draws each message as a fact, and sees that none meets another."""
    told = read(body)
    if told.facts:
        return decisions(*[{}] * len(told.facts))
    return facts(*[fact(text, number) for number, text in told.new.items()])


class Heartbeat:
    """Looks again and again whether a loop is free; `longest`: seconds between two looks beyond what was meant."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._stopping = False

    async def beat(self) -> None:
        last = time.perf_counter()
        while not self._stopping:
            await asyncio.sleep(0.005)
            now = time.perf_counter()
            self.longest, last = max(self.longest, now - last - 0.005), now

    def stop(self) -> None:
        self._stopping = True


def added_at_once(store: str, server: ScriptedServer, said: list[str]) -> tuple[list[Any], float, float]:
    """The results of an add for each text, all at the same time; seconds in all, and the longest stall of a loop."""

    async def run() -> tuple[list[Any], float, float]:
        async with AsyncMemory(store, embedder=HashEmbedder(), llm=llm_at(server)) as m:
            # What a process pays once: the provider's library, and the store.
            await m.add("warm up", user_id="warm")
            server.faults = ServerFaults(delay=DELAY)
            ours, theirs = Heartbeat(), Heartbeat()
            beating = asyncio.create_task(ours.beat())
            runtime.current().submit(theirs.beat())
            began = time.perf_counter()
            results = await asyncio.gather(*[m.add(text, user_id="u1") for text in said])
            seconds = time.perf_counter() - began
            ours.stop()
            theirs.stop()
            await beating
            return results, seconds, max(ours.longest, theirs.longest)

    return asyncio.run(run())


def test_paraphrases_at_once_make_one_memory(store: str, m: Memory, server: ScriptedServer) -> None:
    server.enqueue(*[thorough] * (3 * MANY))
    said = [f'Allergic to peanuts 花生, told {"again " * i}"so"' for i in range(MANY)]
    results, seconds, stall = added_at_once(store, server, said)
    print(f"{MANY} paraphrases: {seconds:.2f} s, longest stall of a loop {stall * 1000:.0f} ms")
    assert Counter(item["event"] for one in results for item in one["results"]) == {
        "ADD": 1,
        "NONE": MANY - 1,
    }
    assert m.get_all(user_id="u1")["total"] == 1
    assert m.messages(user_id="u1")["total"] == MANY
    assert max(one["usage"]["llm_calls"] for one in results) <= 2
    # Within three seconds on a quiet machine; one after another they would take twenty and more. Who held a loop up
    # while a model thinks would do so for a second.
    assert seconds < MANY / 2 * DELAY
    assert stall < DELAY
    assert m.check()["sound"]


def test_distinct_facts_at_once_are_all_kept(store: str, m: Memory, server: ScriptedServer) -> None:
    server.enqueue(*[simple] * (3 * MANY))
    said = [f"{chr(0x4E00 + i)} likes dish number{i} 🍜" for i in range(MANY)]
    results, seconds, stall = added_at_once(store, server, said)
    print(f"{MANY} facts: {seconds:.2f} s, longest stall of a loop {stall * 1000:.0f} ms")
    assert Counter(item["event"] for one in results for item in one["results"]) == {"ADD": MANY}
    assert sorted(item["memory"] for item in m.get_all(user_id="u1", top_k=50)["results"]) == sorted(said)
    assert max(one["usage"]["llm_calls"] for one in results) <= 2
    assert seconds < MANY / 2 * DELAY
    assert stall < DELAY
    assert m.check()["sound"]


# --- processes --------------------------------------------------------------------------------------------

WRITER = """
import sys
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

store, url, number = sys.argv[1:]
llm = {"provider": "openai", "model": "any", "base_url": url}
with Memory(store, embedder=HashEmbedder(), llm=llm) as m:
    m.get_all(user_id="u1")
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(5):
        said = [f"Allergic to peanuts 花生, says process {number} {i}", f"{number}{i} likes dish{number}{i}"]
        m.add(said[i % 2], user_id="u1")
"""


def writer(store: str, server: ScriptedServer, number: int) -> subprocess.Popen[str]:
    call = [sys.executable, "-c", WRITER, store, server.base_url, str(number)]
    pipe = subprocess.PIPE
    return subprocess.Popen(call, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def allergies_repeat(body: Mapping[str, Any]) -> str:
    """A model that takes all allergies for one, and nothing else."""
    told = read(body)
    known = [label for label, text in told.known.items() if "peanuts" in text]
    drawn = told.facts or told.new
    meets = [{known[0]: "repeats"} if known and "peanuts" in text else {} for text in drawn.values()]
    if told.facts:
        return decisions(*meets)
    return facts(*[fact(text, n, meets=met) for (n, text), met in zip(drawn.items(), meets, strict=True)])


def test_two_processes_make_no_twin_and_lose_nothing(store: str, m: Memory, server: ScriptedServer) -> None:
    server.enqueue(*[allergies_repeat] * 30)
    server.faults = ServerFaults(delay=0.05)
    writers = [writer(store, server, number) for number in range(2)]
    for one in writers:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    faults = [one.communicate("go\n")[1] for one in writers]
    assert [one.returncode for one in writers] == [0, 0], faults
    kinds = Counter("peanuts" in text for text in texts(m))
    assert kinds == {True: 1, False: 4}
    assert m.messages(user_id="u1")["total"] == 10
    assert m.check()["sound"]


@pytest.mark.parametrize("stage", ["extract", "decide"])
def test_a_kill_while_the_model_thinks_leaves_nothing(
    store: str, m: Memory, server: ScriptedServer, row_counts: RowCounts, stage: str
) -> None:
    kept(m, "Allergic to nuts 花生")
    thinking, counts = threading.Event(), {}

    def think(body: Mapping[str, Any]) -> str:
        counts.update(row_counts())
        thinking.set()
        time.sleep(0.5)
        return thorough(body)

    if stage == "decide":
        server.enqueue(lambda body: kept(m, "Allergic to peanuts 花生")[0] and simple(body))
    server.enqueue(think, think)
    one = writer(store, server, 0)
    assert one.stdin is not None
    one.stdin.write("go\n")
    one.stdin.flush()
    assert thinking.wait(60)
    one.kill()
    one.communicate()
    assert row_counts() == counts
    assert m.check()["sound"]
    assert m.add("later", user_id="u1", infer=False)["results"]


# --- others who write meanwhile ---------------------------------------------------------------------------


def interfering(m: Memory, reply: Callable[[Mapping[str, Any]], str], *said: str) -> Callable[..., str]:
    """The model's reply, before which somebody else keeps something."""

    def made(body: Mapping[str, Any]) -> str:
        kept(m, *said)
        return reply(body)

    return made


def test_what_changed_meanwhile_is_decided_once_more(
    edited: Memory, m: Memory, server: ScriptedServer
) -> None:
    kept(m, "Keeps hens 🐔")
    server.enqueue(interfering(m, simple, "Lives in Turku 住"), thorough)
    result = edited.add("My home is Turku 住", user_id="u1", trace=True)
    assert events(result) == [("NONE", "Lives in Turku 住")]
    assert [call["stage"] for call in result["trace"]["calls"]] == ["extract", "decide"]
    assert asked(server)[1].facts == {0: "My home is Turku 住"}
    assert "unreconciled" not in result["results"][0]
    assert result["usage"]["llm_calls"] == 2


def test_what_has_nothing_to_do_with_it_changes_nothing(
    edited: Memory, m: Memory, server: ScriptedServer
) -> None:
    kept(m, "Lives in Turku 住")
    server.enqueue(interfering(m, simple, "qwertz"))
    assert edited.add("My home is Turku 住", user_id="u1")["usage"]["llm_calls"] == 1


def test_only_the_facts_concerned_are_decided_again(
    make_memory: MakeMemory, m: Memory, server: ScriptedServer
) -> None:
    # By vectors everything is a little near to everything.
    edited = make_memory(llm=llm_at(server), embedder="none")
    kept(m, "Keeps hens 🐔")
    drawn = facts(fact("Lives in Turku 住"), fact("xyzzy plugh"))
    server.enqueue(interfering(m, lambda body: drawn, "Moved to Turku 住"), decisions({"m1": "repeats"}))
    result = edited.add("Turku 住, xyzzy plugh", user_id="u1")
    assert asked(server)[1].facts == {0: "Lives in Turku 住"}
    assert events(result) == [("NONE", "Moved to Turku 住"), ("ADD", "xyzzy plugh")]


def test_a_memory_that_was_deleted_meanwhile_is_not_changed(
    edited: Memory, m: Memory, server: ScriptedServer
) -> None:
    [old] = kept(m, "Lives in Oslo 住")

    def gone(body: Mapping[str, Any]) -> str:
        m.delete(old)
        return facts(
            fact("Lives in Turku 住", meets={"m1": "changes"}), fact("Left Oslo 住", meets={"m1": "ends"})
        )

    server.enqueue(gone)
    result = edited.add("Turku 住", user_id="u1")
    assert events(result) == [("ADD", "Lives in Turku 住")]
    assert [one["reason"] for one in result["rejected"]] == ["nothing_to_end"]
    assert len(chats(server)) == 1, "nothing is left to decide on"
    assert m.trash(user_id="u1")["total"] == 1


def test_who_is_always_too_late_is_marked(edited: Memory, m: Memory, server: ScriptedServer) -> None:
    kept(m, "Lives in Rome 住")
    server.enqueue(
        interfering(m, simple, "Home is Bergen 住, mostly"),
        interfering(m, simple, "Home is Bergen 住, at times"),
    )
    result = edited.add("My home is Bergen 住", user_id="u1", trace=True)
    [item] = result["results"]
    assert (item["event"], item["unreconciled"], result["usage"]["llm_calls"]) == ("ADD", True, 2)
    assert result["trace"]["verdicts"][0]["unreconciled"]
    assert "unreconciled" in str(m.history(item["id"])[0]["reason"])
    assert len(texts(m)) == 4
    assert m.check()["sound"]


@pytest.mark.parametrize("how", ["changes", "corrects", "refines", "repeats", "ends", "forgets"])
@pytest.mark.parametrize("fate", ["delete", "update", "supersede"])
def test_what_becomes_of_a_memory_before_the_last_moment(
    edited: Memory, m: Memory, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, how: str, fate: str
) -> None:
    """At each decision somebody else is faster: what is stored fits what is there, and no fact is lost."""
    [old] = kept(m, "Lives in Oslo 住", timestamp="2020-01-01")

    def reply(body: Mapping[str, Any]) -> str:
        told = read(body)
        label = next((one for one, text in told.known.items() if "Oslo" in text), None)
        meets = {label: how} if label else {}
        if not told.facts:
            kept(m, "Likes Turku 住")
            return facts(fact("Lives in Turku 住", meets=meets))
        if fate == "delete":
            m.delete(old)
        elif fate == "update":
            m.update(old, text="Lives in Oslo 住, at the sea")
        else:
            supersede = make_successor(body)
            assert supersede
        return decisions(meets)

    def make_successor(body: Mapping[str, Any]) -> bool:
        met = {"memory": "m1", "how": "changes"}
        drawn = {"facts": [{"text": "Lives in Kiel", "source": [0], "meets": [met]}]}
        with Memory(str(m_store), embedder=HashEmbedder(), llm=ScriptedLLM([drawn])) as other:
            return bool(other.add("Oslo", user_id="u1", timestamp="2024-01-01")["results"][0]["supersedes"])

    m_store = m._engine._parts.settings.store
    server.enqueue(reply, reply)
    result = edited.add("Turku 住", user_id="u1")
    assert m.check()["sound"]
    if how in ("changes", "corrects", "refines"):
        assert "Lives in Turku 住" in texts(m)
    if how == "repeats" and fate != "update":
        assert "Lives in Turku 住" in texts(m) or fate == "delete"
    assert len(m.history(old)) >= 2
    assert all(item.get("unreconciled") for item in result["results"] if item["event"] != "NONE")


# --- cancelling -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["extract", "decide", "reconcile", "wait"])
def test_cancelling_in_any_stage_stores_nothing(
    store: str, m: Memory, server: ScriptedServer, row_counts: RowCounts, stage: str
) -> None:
    kept(m, "Allergic to nuts 花生")
    drawn = facts(fact("Allergic to peanuts 花生"))
    first = interfering(m, lambda body: drawn, "Allergic to kiwi 花生") if stage == "decide" else drawn
    server.enqueue(first)
    inner = open_llm(llm_at(server, max_concurrency=1), MODEL_SETTINGS)
    assert inner is not None
    hangs_at = 1 if stage in ("extract", "wait") else 2
    llm = FaultyLLM(inner, {hangs_at: LLMFault.HANG})
    mode = "reconcile" if stage == "reconcile" else "supersede"

    async def use() -> None:
        async with AsyncMemory(store, embedder=HashEmbedder(), llm=llm) as used:
            calls = [asyncio.ensure_future(used.add("peanuts 花生", user_id="u1", editing=mode))]
            while llm.calls < hangs_at:
                await asyncio.sleep(0.005)
            if stage == "wait":
                calls.append(asyncio.ensure_future(used.add("peanuts 花生", user_id="u1")))
                await asyncio.sleep(0.05)
            before = row_counts()
            for call in reversed(calls):
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            assert row_counts() == before
            server.enqueue(*[drawn] * 3)
            # The place of who went is free.
            assert (await used.add("peanuts 花生", user_id="u1"))["results"]

    asyncio.run(use())
    assert m.check()["sound"]
