"""trace(): each step of an add is kept, told to those who may see it, for a time, and goes with what it tells of."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import AsyncMemory, Memory, NotFoundError, StoreFormatError, ValidationError
from mnemic.clock import zone, zone_name, zone_named
from mnemic.models.fakes import HashEmbedder, ScriptedLLM
from raw_stores import raw_connection

TOKEN = "zq-9931-xy"
SAID = f'I keep the key {TOKEN} under "Oma\'s" pot 🪴.\nI like jazz. 我对花生过敏。'
DAY = 24 * 3600 * 1_000_000


def fact(text: str, *sources: int, **more: Any) -> dict[str, Any]:
    return {"text": text, "source": list(sources) or [0], **more}


def reply(*facts: Any) -> dict[str, Any]:
    return {"facts": list(facts)}


Edited = Callable[..., tuple[Memory, ScriptedLLM]]


@pytest.fixture
def edited(make_memory: MakeMemory) -> Edited:
    """A memory with a model that replies as told."""

    def make(*replies: Any, **settings: Any) -> tuple[Memory, ScriptedLLM]:
        llm = ScriptedLLM(replies)
        return make_memory(llm=llm, **settings), llm

    return make


def kept_steps(store: str | Path) -> list[dict[str, Any]]:
    """All traces of the store, as they were kept."""
    with raw_connection(store) as raw:
        rows = raw.execute("SELECT data FROM trace ORDER BY at, trace_id")
    return [json.loads(zlib.decompress(bytes(data))) for (data,) in rows]


# --- what is told -----------------------------------------------------------------------------------------


def test_every_step_is_told(edited: Edited) -> None:
    m, llm = edited(
        reply(fact("Lives in Oslo")),
        reply(
            fact(
                "Lives in 杭州",
                1,
                meets=[{"memory": "m1", "how": "changes"}],
                entities=[{"name": "杭州", "type": ""}],
            ),
            fact("Praised the user", 2, about="user"),
        ),
    )
    m.add("I live in Oslo.", user_id="ann", run_id="r1", timestamp="2024-05-01")
    [old] = m.get_all(user_id="ann")["results"]
    said = [
        {"role": "system", "content": "You are Pip."},
        {
            "role": "user",
            "name": "Ann",
            "content": '我现在住在杭州,\nnot in "Oslo" 🏙',
            "timestamp": "2024-05-03T10:00+08:00",
        },
        {"role": "assistant", "content": "Lovely!"},
    ]
    added = m.add(said, user_id="ann", run_id="r1", trace=True, timestamp="2024-05-03T02:01Z")
    told = m.trace(added["trace_id"])
    assert told == added["trace"]
    assert (told["mode"], told["extractor"], told["user_id"], told["run_id"]) == (
        "supersede",
        "llm:supersede",
        "ann",
        "r1",
    )
    assert [(one["number"], one["content"]) for one in told["messages"]] == [
        (1, said[1]["content"]),
        (2, "Lovely!"),
    ]
    [before] = told["context"]
    [first, *_] = [one for one in m.messages(user_id="ann")["results"] if one["content"] == "I live in Oslo."]
    assert (before["content"], before["id"]) == ("I live in Oslo.", first["id"])
    assert [(one["label"], one["id"], one["version"]) for one in told["offered"]] == [("m1", old["id"], 1)]
    [call] = told["calls"]
    assert (call["stage"], call["prompt"], call["model"]) == ("extract", "extract/1", llm.name)
    assert call["sent"] == [message.as_dict() for message in llm.requests[1].messages]
    assert json.loads(call["raw"])["facts"][0]["text"] == "Lives in 杭州"
    assert call["offered"] == told["offered"]
    [moved, refused] = told["verdicts"]
    assert (moved["verdict"], moved["meets"]) == ("stored", [{"memory": old["id"], "how": "changes"}])
    assert moved["ids"] == [added["results"][0]["id"]]
    assert (refused["verdict"], refused["reason"], refused.get("ids")) == (
        "rejected",
        "source_not_allowed",
        None,
    )
    assert told["usage"]["llm_calls"] == 1
    assert m.messages(user_id="ann", limit=9)["results"][-1]["trace_id"] == added["trace_id"]


def test_it_is_kept_without_being_asked_for_with_a_model_only(
    edited: Edited, make_memory: MakeMemory
) -> None:
    m, _ = edited(reply(fact("Likes tea")))
    assert m.trace(m.add("I like tea.", user_id="ann")["trace_id"])["verdicts"][0]["text"] == "Likes tea"
    plain = make_memory()
    untraced = plain.add("I like tea.", user_id="bob")
    with pytest.raises(NotFoundError, match="trace_days"):
        plain.trace(untraced["trace_id"])
    traced = plain.add("I like tea. Thanks!", user_id="bob", trace=True)
    told = plain.trace(traced["trace_id"])
    assert told == traced["trace"]
    assert [(one["text"], one["verdict"]) for one in told["verdicts"]] == [
        ("I like tea.", "unchanged"),
        ("Thanks!", "rejected"),
    ]
    assert told["calls"] == []


def test_both_faces_tell_it(store_path: Path) -> None:
    async def awaited() -> Any:
        async with AsyncMemory(
            str(store_path), llm=ScriptedLLM([reply(fact("Has a cat"))]), embedder=HashEmbedder()
        ) as m:
            added = await m.add("I have a cat.", user_id="ann")
            return await m.trace(added["trace_id"]), await m.replay(added["trace_id"])

    told, again = asyncio.run(awaited())
    with Memory(str(store_path), embedder=HashEmbedder()) as m:
        assert (m.trace(told["trace_id"]), m.replay(told["trace_id"])) == (told, again)


def test_ids_guard_it(edited: Edited, make_memory: MakeMemory) -> None:
    m, _ = edited(reply(fact("Has a cat")))
    traced = m.add("I have a cat.", user_id="ann", agent_id="pip", run_id="r1")["trace_id"]
    for ids in (
        {},
        {"user_id": "ann"},
        {"run_id": "r1"},
        {"user_id": "ann", "agent_id": "pip", "run_id": "r1"},
    ):
        assert m.trace(traced, **ids)["trace_id"] == traced
    assert m.scoped(user_id="ann").trace(f" {traced} ")["trace_id"] == traced
    for ids in ({"user_id": "bob"}, {"run_id": "r2"}, {"user_id": "ann", "run_id": "r2"}, {"app_id": "x"}):
        with pytest.raises(NotFoundError):
            m.trace(traced, **ids)
        with pytest.raises(NotFoundError):
            m.replay(traced, **ids)
    with pytest.raises(NotFoundError):
        make_memory(tenant="another").trace(traced)
    for wrong in ("", " ", None, 5):
        with pytest.raises(ValidationError, match="trace_id"):
            m.trace(wrong)  # type: ignore[arg-type]


def test_zones_are_kept_by_name() -> None:
    for name in ("UTC", "Europe/Berlin", "UTC+05:30", "UTC-09:00"):
        assert zone_name(zone_named(name)) == name
    assert zone_name(zone(None)) == "UTC"


# --- how long ---------------------------------------------------------------------------------------------


def test_it_is_told_for_as_long_as_is_configured(edited: Edited, store: str, make_memory: MakeMemory) -> None:
    m, _ = edited(reply(fact("Has a cat")), reply(fact("Has a dog")))
    old = m.add("I have a cat.", user_id="ann")["trace_id"]
    with raw_connection(store) as raw:
        raw.execute("UPDATE trace SET at = at - :age", {"age": 3 * DAY})
    assert m.trace(old)["trace_id"] == old
    with pytest.raises(NotFoundError, match="2 days"):
        make_memory(trace_days=2).trace(old)
    with pytest.raises(NotFoundError, match="0 days"):
        make_memory(trace_days=0).trace(old)
    again, _ = edited(reply(fact("Has a dog")), trace_days=2)
    again.add("I have a dog.", user_id="ann")
    assert [one["trace_id"] for one in kept_steps(store)] != [old]
    assert len(kept_steps(store)) == 1


def test_none_is_kept_for_no_days(edited: Edited, store: str) -> None:
    m, _ = edited(reply(fact("Has a cat")))
    m.add("I have a cat.", user_id="ann")
    none, _ = edited(reply(fact("Has a dog")), trace_days=0)
    added = none.add("I have a dog.", user_id="ann", trace=True)
    assert added["trace"]["verdicts"][0]["verdict"] == "stored"
    assert kept_steps(store) == []


# --- what goes with what it tells of ----------------------------------------------------------------------


def shown_to_others(m: Memory, llm: ScriptedLLM) -> str:
    """Adds whose steps quote a memory: its own, two that were shown it, the second of which was also shown its
    message; after one that knows nothing of it. The memory's id."""
    llm.enqueue(
        reply(fact("Plays chess")),
        reply(fact(f"Keeps the key {TOKEN} under the pot"), fact("Likes jazz")),
        reply(fact("Keeps the spare key at Bo's"), fact(f"quotes {TOKEN} with no right", 7)),
        reply(fact("Has a cat")),
    )
    m.add("国际象棋", user_id="ann", run_id="r3", idempotency_key="k0", trace=True)
    uid = m.add(SAID, user_id="ann", run_id="r1", idempotency_key="k1", trace=True)["results"][0]["id"]
    m.add("The spare key is at Bo's.", user_id="ann", run_id="r2", idempotency_key="k2", trace=True)
    m.add("Миша is my cat", user_id="ann", run_id="r1", idempotency_key="k3", trace=True)
    return uid


def blobs(store: str) -> list[bytes]:
    with raw_connection(store) as raw:
        return [bytes(data) for (data,) in raw.execute("SELECT data FROM trace ORDER BY at, trace_id")]


def test_a_purged_memory_takes_every_trace_with_it_that_quotes_it(edited: Edited, store: str) -> None:
    m, llm = edited()
    uid = shown_to_others(m, llm)
    quoting = [
        i for i, steps in enumerate(kept_steps(store)) if TOKEN in json.dumps(steps, ensure_ascii=False)
    ]
    assert quoting == [1, 2, 3]
    gone = [data for i, data in enumerate(blobs(store)) if i in quoting]
    removed = m.purge(uid)["removed"]
    assert (removed["trace"], removed["replay"]) == (3, 3)
    [left] = kept_steps(store)
    assert [one["text"] for one in left["verdicts"]] == ["Plays chess"]
    m.close()
    if "://" not in store:
        for path in Path(store).parent.iterdir():
            held = path.read_bytes() if path.is_file() else b""
            assert TOKEN.encode() not in held
            assert not any(data in held for data in gone)


def test_so_does_one_that_quotes_only_a_message_that_states_it(edited: Edited, store: str) -> None:
    changed = fact("Keeps no key any more", meets=[{"memory": "m1", "how": "changes"}])
    m, _ = edited(
        reply(fact(f"Keeps the key {TOKEN} under the pot")), reply(changed), reply(fact("Has a cat"))
    )
    uid = m.add(SAID, user_id="ann", run_id="r1")["results"][0]["id"]
    m.add("No key any more.", user_id="ann", run_id="r2")
    traced = m.add("Миша is my cat", user_id="ann", run_id="r1")["trace_id"]
    told = m.trace(traced)
    assert [one["content"] for one in told["context"]] == [SAID]
    assert uid not in json.dumps(told)
    m.purge(uid)
    assert kept_steps(store) == []


def test_what_is_left_is_still_told_and_added_once(edited: Edited, store: str) -> None:
    m, llm = edited()
    uid = shown_to_others(m, llm)
    m.purge(uid)
    again = m.add("国际象棋", user_id="ann", run_id="r3", idempotency_key="k0", trace=True)
    assert m.trace(again["trace_id"])["verdicts"] == again["trace"]["verdicts"]
    assert len(llm.requests) == 4


def test_a_purged_run_takes_what_was_shown_of_it(edited: Edited, store: str) -> None:
    m, llm = edited(embedder="none")
    shown_to_others(m, llm)
    m.purge(user_id="ann", run_id="r1")
    assert TOKEN not in json.dumps(kept_steps(store), ensure_ascii=False)
    assert [one["run_id"] for one in kept_steps(store)] == ["r3"]


def test_a_purged_user_takes_all(edited: Edited, store: str) -> None:
    m, llm = edited()
    shown_to_others(m, llm)
    llm.enqueue(reply(fact("Is Bob")))
    m.add("I am Bob", user_id="bob")
    m.purge(user_id="ann")
    assert [one["user_id"] for one in kept_steps(store)] == ["bob"]


def test_a_trace_tells_what_happened_also_of_what_was_deleted(edited: Edited) -> None:
    m, _ = edited(reply(fact("Has a cat")))
    added = m.add("I have a cat.", user_id="ann", trace=True)
    m.delete(added["results"][0]["id"])
    assert m.trace(added["trace_id"]) == added["trace"]


# --- damage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"no zlib", zlib.compress(b"[1]"), zlib.compress(b"{"), zlib.compress(b"\xff")]
)
def test_a_damaged_trace_is_told_and_dropped(edited: Edited, store: str, data: bytes) -> None:
    m, _ = edited(reply(fact("Has a cat")), reply(fact("Has a dog")))
    bad = m.add("I have a cat.", user_id="ann")["trace_id"]
    good = m.add("I have a dog.", user_id="ann")["trace_id"]
    with raw_connection(store) as raw:
        raw.execute("UPDATE trace SET data = :data WHERE trace_id = :bad", {"data": data, "bad": bad})
    with pytest.raises(StoreFormatError, match="a trace"):
        m.trace(bad)
    [fault] = m.check()["faults"]
    assert (fault["kind"], fault["count"], fault["places"]) == ("damaged_trace", 1, [f"trace {bad}"])
    assert m.check(repair=True)["sound"]
    assert m.check()["checked"]["traces"] == 1
    assert m.trace(good)["trace_id"] == good
    with pytest.raises(NotFoundError):
        m.trace(bad)


def test_a_purge_drops_a_trace_that_cannot_be_read(edited: Edited, store: str) -> None:
    m, llm = edited()
    uid = shown_to_others(m, llm)
    with raw_connection(store) as raw:
        raw.execute("UPDATE trace SET data = :data", {"data": b"?"})
        raw.execute("UPDATE replay SET result = :result WHERE key = 'k3'", {"result": '{"trace": "'})
    m.purge(uid)
    assert blobs(store) == []
    with raw_connection(store) as raw:
        assert raw.execute("SELECT key FROM replay ORDER BY key") == []
