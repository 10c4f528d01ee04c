"""Importing into a store that is not empty: what is there, what clashes, whose it is, and who sees it when."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeMemory, tenant_rows
from mnemic import AsyncMemory, DuplicateError, Memory, ScopeError, ValidationError
from mnemic.errors import EmbedderError, StoreBusyError
from mnemic.models.fakes import HashEmbedder
from mnemic.store.database import Store
from mnemic.transfer import importing

ANN = {"user_id": "ann"}
TEXTS = ['Ann plays the "cello" 🎻', "我住在杭州", "Ключ лежит\nпод ковриком"]


def exported(m: Memory, **options: Any) -> bytes:
    file = io.BytesIO()
    m.export_to(file, **options)
    return file.getvalue()


def lines_of(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def file_of(lines: list[dict[str, Any]]) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines))


def texts(m: Memory, **more: Any) -> set[str]:
    return {item["memory"] for item in m.get_all(**ANN, **more)["results"]}


@pytest.fixture
def other(tmp_path: Path) -> Any:
    """A store with three memories of Ann: two facts and a message."""
    with Memory(str(tmp_path / "from.db"), embedder=HashEmbedder()) as m:
        m.add(facts=TEXTS[:2], **ANN, run_id="r1")
        m.add(TEXTS[2], **ANN, infer=False)
        yield m


def ids_of(m: Memory) -> dict[str, str]:
    return {item["memory"]: item["id"] for item in m.get_all(**ANN)["results"]}


def test_fail_names_what_is_there_and_writes_nothing(m: Memory, other: Memory, store: str) -> None:
    data = exported(other)
    m.import_from(io.BytesIO(data))
    other.add(facts=["new since"], **ANN)
    before = tenant_rows(store, "default")
    for dry_run in (True, False):
        with pytest.raises(
            ValidationError, match="3 memories of the file are in this store already"
        ) as fault:
            m.import_from(io.BytesIO(exported(other)), dry_run=dry_run)
    assert sorted(fault.value.details["conflicts"]) == sorted(ids_of(m).values())
    assert tenant_rows(store, "default") == before


def test_skip_leaves_what_is_there_and_adds_the_rest(m: Memory, other: Memory) -> None:
    m.import_from(io.BytesIO(exported(other)))
    changed = ids_of(m)[TEXTS[0]]
    m.update(changed, "changed here")
    other.add([{"role": "user", "content": "новое 🆕"}], **ANN, infer=False)
    done = m.import_from(io.BytesIO(exported(other)), on_conflict="skip")
    assert (done["added"], done["skipped"], done["episodes"], done["messages"]) == (1, 3, 1, 1)
    assert texts(m) == {"changed here", *TEXTS[1:], "новое 🆕"}
    assert [entry["event"] for entry in m.history(changed)] == ["ADD", "UPDATE"]


def test_overwrite_makes_memories_as_in_the_file(m: Memory, other: Memory, store: str) -> None:
    data = exported(other)
    m.import_from(io.BytesIO(data))
    ids = ids_of(m)
    m.update(ids[TEXTS[0]], "changed here")
    m.delete(ids[TEXTS[1]])
    m.add(TEXTS[2], **ANN, run_id="elsewhere", infer=False)
    done = m.import_from(io.BytesIO(data), on_conflict="overwrite", actor="ann")
    assert (done["added"], done["overwritten"], done["skipped"]) == (0, 3, 0)
    assert texts(m) == set(TEXTS)
    assert {uid: m.history(uid) for uid in ids.values()} == {uid: other.history(uid) for uid in ids.values()}
    events = [row for row in tenant_rows(store, "default")["change"] if row[3] == "PURGE"]
    assert [(row[7], row[8]) for row in events] == [("ann", "import")]


def test_two_memories_swap_their_words(m: Memory, other: Memory) -> None:
    m.import_from(io.BytesIO(exported(other)))
    ids = ids_of(m)
    for uid, text in ((ids[TEXTS[0]], "for a moment"), (ids[TEXTS[1]], TEXTS[0]), (ids[TEXTS[0]], TEXTS[1])):
        m.update(uid, text)
    assert m.import_from(io.BytesIO(exported(other)), on_conflict="overwrite")["overwritten"] == 3
    assert ids_of(m) == ids
    m.add(facts=[TEXTS[0], TEXTS[1]], **ANN)
    assert ids_of(m) == ids


def test_words_that_are_live_under_another_id(m: Memory, other: Memory) -> None:
    [mine] = m.add(facts=[f"  {TEXTS[0].upper()} "], **ANN)["results"]
    theirs = ids_of(other)[TEXTS[0]]
    for on_conflict in ("fail", "overwrite"):
        with pytest.raises(DuplicateError) as fault:
            m.import_from(io.BytesIO(exported(other)), on_conflict=on_conflict)
        assert fault.value.existing_id == mine["id"]
    done = m.import_from(io.BytesIO(exported(other)), on_conflict="skip")
    assert done["duplicates"] == [{"id": theirs, "existing_id": mine["id"]}]
    assert (done["added"], done["skipped"]) == (2, 1)
    assert m.get(theirs) is None


def test_a_successor_that_was_skipped_is_the_one_that_stands_in_for_it(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    with Memory(str(tmp_path / "from.db"), embedder="none") as other:
        [old] = other.add("I live in Hangzhou.", **ANN, timestamp="2024-03-02")["results"]
        other.add("I moved to Shanghai.", **ANN, timestamp="2024-07-20")
        data = exported(other)
    m = make_memory()
    [mine] = m.add("I moved to Shanghai.", **ANN, timestamp="2024-07-20")["results"]
    m.import_from(io.BytesIO(data), on_conflict="skip")
    moved = m.get(old["id"])
    assert moved is not None
    assert moved["superseded_by"] == mine["id"]


def test_a_memory_that_others_were_superseded_by_can_be_overwritten(m: Memory, tmp_path: Path) -> None:
    [old] = m.add("I live in Hangzhou.", **ANN, timestamp="2024-03-02")["results"]
    [new] = m.add("I moved to Shanghai.", **ANN, timestamp="2024-07-20")["results"]
    kept = [line for line in lines_of(exported(m)) if old["id"] not in json.dumps(line)]
    kept[-1] = {
        **kept[-1],
        "memories": 1,
        "versions": 1,
        "changes": sum(one["line"] == "change" for one in kept),
    }
    m.import_from(file_of(kept), on_conflict="overwrite")
    closed = m.get(old["id"])
    assert closed is not None
    assert closed["superseded_by"] == new["id"]


@pytest.mark.parametrize("taken_back", ["delete", "undo"])
def test_what_is_overwritten_lends_the_words_that_were_buried_with_it(m: Memory, taken_back: str) -> None:
    added = m.add("I like green tea 绿茶 🍵.", **ANN)
    data = exported(m, **ANN)
    m.add("I like green tea 绿茶 🍵.", **ANN, run_id="r2")
    if taken_back == "delete":
        m.delete(added["results"][0]["id"])
    else:
        for entry in m.log(**ANN, event="EPISODE")["results"]:
            m.undo(entry["trace_id"])
    m.import_from(io.BytesIO(data), on_conflict="overwrite")
    check = m.check(full=True)
    assert check["sound"], check["faults"]


def test_what_is_older_than_what_is_here_is_no_damage(m: Memory, other: Memory) -> None:
    data = exported(other)
    m.add("newer 新", **ANN, infer=False)
    m.import_from(io.BytesIO(data))
    check = m.check(full=True)
    assert check["sound"], check["faults"]


@pytest.mark.parametrize("on_conflict", ["fail", "skip", "overwrite"])
def test_another_tenants_ids_are_neither_touched_nor_described(
    make_memory: MakeMemory, store: str, on_conflict: str
) -> None:
    other = make_memory(tenant="other")
    data = exported(other)
    m = make_memory()
    m.add(facts=["mine"], **ANN)
    before = tenant_rows(store, "default")
    messages_only = [
        line for line in lines_of(data) if line["line"] in ("header", "owner", "episode", "footer")
    ]
    messages_only[-1] = {**messages_only[-1], "memories": 0, "versions": 0, "changes": 0}
    for file in (io.BytesIO(data), file_of(messages_only)):
        with pytest.raises(ValidationError) as fault:
            m.import_from(file, on_conflict=on_conflict)
        told = f"{fault.value} {fault.value.details} {fault.value.__cause__} {fault.value.__context__!r}"
        assert "bystander" not in str(fault.value)
        assert "other" not in str(fault.value.details)
        assert "taken in this store by something else" in told
    assert tenant_rows(store, "default") == before


def test_an_id_of_another_owner_is_refused(m: Memory, other: Memory) -> None:
    data = exported(other)
    m.import_from(io.BytesIO(data))
    moved = lines_of(data)
    moved[1]["user_id"] = "bob"
    for on_conflict in ("fail", "skip", "overwrite"):
        with pytest.raises(ValidationError, match="is in this store under other ids"):
            m.import_from(file_of(moved), on_conflict=on_conflict)
    assert m.get_all(user_id="bob")["total"] == 0


def test_a_bound_memory_exports_and_imports_its_own_only(m: Memory, other: Memory) -> None:
    other.add(facts=["Bob's"], user_id="bob", agent_id="pip")
    bob = other.scoped(user_id="bob")
    assert bob.export_to(io.BytesIO())["memories"] == 1
    with pytest.raises(ScopeError):
        bob.export_to(io.BytesIO(), user_id="ann")
    with pytest.raises(ScopeError, match="'ann'"):
        m.scoped(user_id="bob").import_from(io.BytesIO(exported(other)))
    with pytest.raises(ScopeError, match="run_id"):
        m.scoped(user_id="bob", run_id="r").import_from(io.BytesIO(exported(bob)))
    assert m.scoped(user_id="bob").import_from(io.BytesIO(exported(bob)))["added"] == 1
    assert m.stats()["memories"] == 1


def test_one_run_then_all(m: Memory, other: Memory) -> None:
    m.import_from(io.BytesIO(exported(other, run_id="r1")))
    assert texts(m, run_id="r1") == set(TEXTS[:2]) == texts(m)
    done = m.import_from(io.BytesIO(exported(other)), on_conflict="skip")
    assert (done["added"], done["skipped"]) == (1, 2)
    assert lines_of(exported(m))[1:] == lines_of(exported(other))[1:]


# --- Vectors and embedders ------------------------------------------------------------------------------------


class Counting(HashEmbedder):
    """Counts the texts that it embeds as passages."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(64, name)
        self.passages: list[str] = []

    async def embed(self, texts: Any, purpose: Any) -> Any:
        if purpose == "passage":
            self.passages += texts
        return await super().embed(texts, purpose)


@pytest.mark.parametrize(
    ("vectors", "name", "embedded"),
    [(True, None, 0), (False, None, 3), (True, "fake:another-64", 3)],
)
def test_fitting_vectors_are_used_and_others_made(
    other: Memory, tmp_path: Path, vectors: bool, name: str | None, embedded: int
) -> None:
    embedder = Counting(name)
    with Memory(str(tmp_path / "to.db"), embedder=embedder) as m:
        done = m.import_from(io.BytesIO(exported(other, vectors=vectors)))
        assert done["embedded"] == embedded
        assert [text for text in embedder.passages if text in TEXTS] == (TEXTS if embedded else [])
        assert [item["score"] for item in m.search("cello", **ANN)["results"]] == [
            item["score"] for item in other.search("cello", **ANN)["results"]
        ]
        embedder.passages.clear()
        m.import_from(io.BytesIO(exported(other)), on_conflict="skip")
        assert embedder.passages == []


def test_without_an_embedder_vectors_are_left_out_unless_the_store_has_that_space(
    other: Memory, tmp_path: Path
) -> None:
    data = exported(other, vectors=True)
    with Memory(str(tmp_path / "to.db"), embedder="none") as m:
        m.import_from(io.BytesIO(data))
        assert "vectors" not in lines_of(exported(m, vectors=True))[0]
    with Memory(str(tmp_path / "too.db"), embedder=HashEmbedder()) as m:
        m.add(facts=["it makes the space"], user_id="zoe")
    with Memory(str(tmp_path / "too.db"), embedder="none") as m:
        m.import_from(io.BytesIO(data))
        assert exported(m, **ANN, vectors=True).splitlines()[1:] == data.splitlines()[1:]


def test_an_embedder_that_fails_leaves_nothing(other: Memory, store: str, make_memory: MakeMemory) -> None:
    m = make_memory()
    m.add(facts=["before"], **ANN)
    before = tenant_rows(store, "default")

    class Failing(HashEmbedder):
        async def embed(self, texts: Any, purpose: Any) -> Any:
            raise EmbedderError("out of order")

    with pytest.raises(EmbedderError):
        make_memory(embedder=Failing()).import_from(io.BytesIO(exported(other)))
    assert tenant_rows(store, "default") == before


# --- Others at the same time ----------------------------------------------------------------------------------


def found(m: Memory, query: str = "cello 杭州 ключ changed") -> set[str]:
    return {item["memory"] for item in m.search(query, **ANN)["results"]}


def test_indexes_of_other_processes_follow(make_memory: MakeMemory, other: Memory) -> None:
    """Each memory has its own indexes, as each process has."""
    here, elsewhere = make_memory(), make_memory()
    here.add(facts=["cello lessons on Monday"], **ANN)
    assert found(elsewhere) == {"cello lessons on Monday"} == found(here)
    data = exported(other)
    here.import_from(io.BytesIO(data))
    assert found(elsewhere) == {"cello lessons on Monday", *TEXTS} == found(here)
    for uid in ids_of(other).values():
        here.update(uid, f"changed {uid}")
    assert len(found(elsewhere)) == 4
    here.import_from(io.BytesIO(data), on_conflict="overwrite")
    assert found(elsewhere) == {"cello lessons on Monday", *TEXTS} == found(here)
    scores = [m.search("ключ", **ANN, explain=True)["results"] for m in (here, elsewhere, make_memory())]
    assert scores[0] == scores[1] == scores[2]


def test_what_changes_while_it_is_planned_is_planned_again(
    m: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = importing.write
    once: list[Any] = []

    def interrupted(store: Store, *rest: Any) -> None:
        if not once:
            once.extend(m.add(facts=[TEXTS[0]], **ANN)["results"])
        write(store, *rest)

    monkeypatch.setattr(importing, "write", interrupted)
    done = m.import_from(io.BytesIO(exported(other)), on_conflict="skip")
    assert [twin["existing_id"] for twin in done["duplicates"]] == [once[0]["id"]]
    assert done["added"] == 2


def test_other_writers_that_never_let_it_through_are_an_outage(
    m: Memory, other: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = importing.write

    def interrupted(store: Store, *rest: Any) -> None:
        uid = m.add(facts=[TEXTS[0]], **ANN)["results"][0]["id"]
        try:
            write(store, *rest)
        finally:
            m.delete(uid)

    monkeypatch.setattr(importing, "write", interrupted)
    with pytest.raises(StoreBusyError):
        m.import_from(io.BytesIO(exported(other)), on_conflict="skip")


def test_a_cancelled_import_and_one_whose_progress_fails_leave_nothing(
    store: str, other: Memory, m: Memory
) -> None:
    data, before = exported(other), tenant_rows(store, "default")

    async def cancelled() -> None:
        async with AsyncMemory(store, embedder=HashEmbedder()) as aio:
            tasks: list[asyncio.Task[Any]] = []
            loop = asyncio.get_running_loop()

            def progress(stage: str, done: int, total: int) -> None:
                if stage == "embed":
                    asyncio.run_coroutine_threadsafe(cancel(), loop).result()

            async def cancel() -> None:
                tasks[0].cancel()
                await asyncio.sleep(0)

            tasks.append(asyncio.ensure_future(aio.import_from(io.BytesIO(data), progress=progress)))
            with pytest.raises(asyncio.CancelledError):
                await tasks[0]

    asyncio.run(cancelled())

    def failing(stage: str, done: int, total: int) -> None:
        if stage == "embed":
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        m.import_from(io.BytesIO(data), progress=failing)
    assert tenant_rows(store, "default") == before


def test_progress_tells_stage_and_share(m: Memory, other: Memory) -> None:
    told: list[tuple[str, int, int]] = []
    collect: Callable[..., None] = lambda *args: told.append(args)  # noqa: E731
    data = io.BytesIO()
    other.export_to(data, progress=collect)
    m.import_from(io.BytesIO(data.getvalue()), progress=collect)
    assert [stage for stage, _, _ in told] == ["export", "check", "embed", "write"]
    assert all(done == total > 0 for _, done, total in told)


def test_messages_lend_their_words_or_are_memories_never_both(m: Memory, other: Memory, store: str) -> None:
    """A message whose memory is gone has terms of its own; once the memory is back, it has them no more."""
    whole = lines_of(exported(other))
    verbatim = ids_of(other)[TEXTS[2]]
    without = [line for line in whole if verbatim not in json.dumps(line)]
    without[-1] = {**without[-1], "memories": 2, "versions": 2, "changes": without[-1]["changes"] - 1}
    m.import_from(file_of(without))
    assert len(tenant_rows(store, "default")["message_terms"]) == 1
    m.import_from(file_of(whole), on_conflict="skip")
    assert len(tenant_rows(store, "default")["message_terms"]) == 0
    unsupported = [{**line, "support": []} if line.get("id") == verbatim else line for line in whole]
    m.import_from(file_of(unsupported), on_conflict="overwrite")
    assert len(tenant_rows(store, "default")["message_terms"]) == 1
    assert found(m) == set(TEXTS)
