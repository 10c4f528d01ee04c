"""Reading what mem0 left: places and shapes of every kind, and files that mean harm."""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import pytest

from mnemic import StoreBusyError, ValidationError
from mnemic.clock import iso
from mnemic.errors import StoreFormatError
from mnemic.records import Kind
from mnemic.transfer.mem0.history import scope_ids
from mnemic.transfer.mem0.points import read_point
from mnemic.transfer.mem0.reader import NO_OWNER, NOT_ITS, read
from mnemic.transfer.mem0.records import Left

MODELS = "qdrant_client.http.models.models"


class PointStruct:
    """Pickles as qdrant-client's does: the class by its name, pydantic's state behind it."""

    def __init__(self, uid: Any, payload: Any, vector: Any = (0.5,)) -> None:
        self.fields = {"id": uid, "vector": vector, "payload": payload}

    def __getstate__(self) -> dict[str, Any]:
        return {"__dict__": self.fields, "__pydantic_extra__": None, "__pydantic_fields_set__": {"id"}}


PointStruct.__module__ = MODELS


class _Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """Writes names as they are, whether or not they can be imported here."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        self.save(obj.__module__)
        self.save(name or obj.__qualname__)
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)

    dispatch: ClassVar[Any] = {**pickle._Pickler.dispatch, type: save_global}  # type: ignore[attr-defined]


def pickled(uid: Any, payload: Any, vector: Any = (0.5,)) -> bytes:
    out = io.BytesIO()
    _Pickler(out, 4).dump(PointStruct(uid, payload, vector))
    return out.getvalue()


def payload_of(text: str = "I live in Oslo", **more: Any) -> dict[str, Any]:
    return {"data": text, "hash": "h", "created_at": "2024-05-06T07:08:09+00:00", "user_id": "ann", **more}


def make_collection(folder: Path, *points: bytes, name: str = "mem0") -> Path:
    storage = folder / "collection" / name / "storage.sqlite"
    storage.parent.mkdir(parents=True)
    with closing(sqlite3.connect(storage)) as db, db:
        db.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        db.executemany("INSERT INTO points VALUES (?, ?)", enumerate(points))
    return storage


HISTORY = "(id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted, actor_id, role)"


def make_history(path: Path, *rows: tuple[Any, ...], messages: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"CREATE TABLE history {HISTORY}")
        db.executemany(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
            [(str(i), *row) for i, row in enumerate(rows)],
        )
        if messages:
            db.execute("CREATE TABLE messages (id, session_scope, role, content, name, created_at)")
    return path


def texts(left: Left) -> list[str]:
    return [memory.text for memory in left.memories]


def reasons(left: Left) -> list[tuple[str, str, str | None]]:
    return [(one.what, one.reason, one.id) for one in left.left_out]


# --- pickles ------------------------------------------------------------------------------------------------


def test_a_point_is_read_with_the_values_that_qdrant_clients_have_left_in_it() -> None:
    zone = timezone(timedelta(hours=2))
    payload = {
        "plain": [1, 2.5, None, True, "二"],
        "moment": datetime(2024, 5, 6, 7, 8, tzinfo=zone),
        "day": date(2024, 5, 6),
        "sum": Decimal("1.50"),
        "uuid": uuid.UUID(int=7),
        "set": {4},
        "pair": (1, "a"),
        "bytes": "é".encode(),
    }
    found = read_point(pickled(12, payload))
    assert found.id == "12"
    assert found.payload == {
        "plain": [1, 2.5, None, True, "二"],
        "moment": "2024-05-06T07:08:00+02:00",
        "day": "2024-05-06",
        "sum": "1.50",
        "uuid": str(uuid.UUID(int=7)),
        "set": [4],
        "pair": [1, "a"],
        "bytes": "é",
    }


class Harm:
    """Runs a call when it is unpickled."""

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self.call, self.args = call, args

    def __reduce__(self) -> Any:
        return self.call, self.args


def by_name(module: str, name: str) -> bytes:
    """A pickle that looks a name up and calls it with nothing."""
    return f"c{module}\n{name}\n(tR.".encode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pickle.dumps(Harm(exec, "raise SystemExit")), id="exec"),
        pytest.param(pickle.dumps(Harm(__import__, "antigravity")), id="import"),
        pytest.param(pickle.dumps(Harm(getattr, "", "join")), id="getattr"),
        pytest.param(pickle.dumps(Harm(Path, "/etc/passwd")), id="path"),
        pytest.param(by_name("os", "getcwd"), id="os"),
        pytest.param(by_name("posix", "fork"), id="posix"),
        pytest.param(by_name("mnemic.transfer.mem0.points", "read_point"), id="our own"),
        pytest.param(by_name(MODELS, "PointStruct.__init__.__globals__"), id="dotted"),
        pytest.param(by_name("datetime", "datetime.fromtimestamp"), id="dotted and known"),
        pytest.param(b"Poutside\n.", id="persistent id"),
        pytest.param(pickle.dumps({"id": 1, "payload": {}}), id="no point"),
        pytest.param(pickled("a", ["no", "mapping"]), id="no payload"),
        pytest.param(pickled("a", {})[:-5], id="cut short"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x04\x95not a pickle at all", id="noise"),
        pytest.param(b"(" * 100 + b"t" * 101 + b".", id="unbalanced"),
        pytest.param(b"]" * 100_000 + b"a" * 99_999 + b".", id="deep"),
    ],
)
def test_a_pickle_that_is_no_point_is_refused_and_not_run(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        read_point(data)
    make_collection(tmp_path, pickled("a", payload_of()), data)
    with pytest.raises(ValidationError, match="was refused"):
        read(tmp_path, UTC)


def test_harm_within_a_true_point_is_refused() -> None:
    whole = pickled("a", payload_of(x=1))
    assert read_point(whole).payload["x"] == 1
    with pytest.raises(ValidationError, match=r"builtins\.eval"):
        read_point(whole[:-1] + b"0" + by_name("builtins", "eval"))


def test_what_a_pickle_sets_on_a_class_reaches_no_one_else() -> None:
    # BUILD with a pair sets attributes on whatever stands there: here on the class itself.
    setting = f"c{MODELS}\nPointStruct\n(N}}Vstate\nVours\nstb.".encode()
    with pytest.raises(ValidationError):
        read_point(setting)
    for module, name in (("datetime", "datetime"), ("decimal", "Decimal"), ("collections", "OrderedDict")):
        with pytest.raises(ValidationError):
            read_point(f"c{module}\n{name}\n(N}}Vnow\nVours\nstb.".encode())
    assert read_point(pickled("a", payload_of())).payload["data"] == "I live in Oslo"


# --- places -------------------------------------------------------------------------------------------------


def test_every_way_of_naming_a_place_finds_the_same(tmp_path: Path) -> None:
    storage = make_collection(tmp_path / "qdrant", pickled("a", payload_of()))
    history = make_history(tmp_path / "history.db", ("a", None, "I live in Oslo", "ADD", "2024", None, 0))
    for path in (
        tmp_path,
        tmp_path / "qdrant",
        tmp_path / "qdrant" / "collection",
        storage.parent,
        storage,
        history,
    ):
        left = read(path, UTC)
        assert left.files == (str(storage), str(history)), path
        assert len(left.memories[0].history) == 1


def test_a_history_elsewhere_is_named(tmp_path: Path) -> None:
    make_collection(tmp_path / "qdrant", pickled("a", payload_of()))
    history = make_history(tmp_path / "home" / "a" / "history.db", ("a", None, "x", "ADD", "2024", None, 0))
    assert read(tmp_path / "qdrant", UTC).memories[0].history == ()
    assert len(read(tmp_path / "qdrant", UTC, history=history).memories[0].history) == 1
    with pytest.raises(ValidationError, match="/tmp/qdrant"):
        read(history, UTC)
    # As a default installation leaves it: telemetry's rows beside the history, the memories elsewhere.
    telemetry = pickled("t", {"user_id": "x", "type": "user_identity"})
    make_collection(history.parent / "migrations_qdrant", telemetry, name="mem0migrations")
    with pytest.raises(ValidationError, match="/tmp/qdrant"):
        read(history.parent, UTC)


def test_what_is_nothing_of_mem0_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="holds no memories"):
        read(tmp_path, UTC)
    with pytest.raises(ValidationError, match="cannot be read"):
        read("x" * 5000, UTC)
    with pytest.raises(ValidationError, match="there is no"):
        read(tmp_path / "missing", UTC)
    storage = make_collection(tmp_path, pickled("a", payload_of()))
    with pytest.raises(ValidationError, match="must be a path"):
        read(7, UTC)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="no table 'history'"):
        read(tmp_path, UTC, history=storage)
    storage.write_bytes(storage.read_bytes()[:100] + b"\xff" * 5000)
    with pytest.raises(StoreFormatError, match="cannot be read"):
        read(tmp_path, UTC)


def test_reading_changes_nothing_and_needs_no_lock(tmp_path: Path) -> None:
    storage = make_collection(tmp_path, pickled("a", payload_of()))
    with closing(sqlite3.connect(storage)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    make_history(tmp_path / "history.db")
    before = {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.is_file()
    }
    read(tmp_path, UTC)
    after = {
        path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.is_file()
    }
    assert after == before


def test_a_locked_file_is_read_as_it_stands_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemic.transfer.mem0.sqlite._WAIT_S", 0.05)
    storage = make_collection(tmp_path, pickled("a", payload_of()))
    with closing(sqlite3.connect(storage, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert texts(read(tmp_path, UTC)) == ["I live in Oslo"]
        other.execute("DELETE FROM points")
        with pytest.raises(StoreBusyError, match="locked"):
            read(tmp_path, UTC)


# --- memories -----------------------------------------------------------------------------------------------


def test_what_is_no_memory_is_left_out_and_told(tmp_path: Path) -> None:
    entity = {"data": "Oslo", "entity_type": "PROPER", "linked_memory_ids": ["a"], "user_id": "ann"}
    make_collection(
        tmp_path, pickled("a", payload_of()), pickled("b", {"data": "no owner", "created_at": "2024"})
    )
    make_collection(tmp_path, pickled("e", entity), name="mem0_entities")
    make_collection(tmp_path, pickled("t", {"user_id": "x", "type": "user_identity"}), name="mem0migrations")
    make_collection(tmp_path, pickled("a", payload_of("a twin by id")), name="work")
    make_history(
        tmp_path / "history.db",
        ("gone", None, "secret", "ADD", "2024", None, 0),
        ("gone", "secret", None, "DELETE", "2024", "2025", 1),
        ("elsewhere", None, "other", "ADD", "2024", None, 0),
    )
    left = read(tmp_path, UTC)
    assert texts(left) == ["I live in Oslo"]
    assert sorted(reasons(left)) == [
        ("deleted memory", "history.db does not tell whose it was", "gone"),
        ("entity", "no memory, in collection mem0_entities", "e"),
        ("memory", "another one has the same id", "a"),
        ("memory", NO_OWNER, "b"),
        ("memory", NOT_ITS, "elsewhere"),
        ("row", "no memory, in collection mem0migrations", "t"),
    ]
    left = read(tmp_path, UTC, user_id="bob")
    assert {(memory.id, memory.user_id, memory.deleted) for memory in left.memories} == {
        ("a", "ann", False),
        ("b", "bob", False),
        ("gone", "bob", True),
    }


def test_the_later_of_two_rows_of_a_point_counts(tmp_path: Path) -> None:
    make_collection(tmp_path, pickled("a", payload_of("old")), pickled("a", payload_of("new")))
    assert texts(read(tmp_path, UTC)) == ["new"]


def test_whose_key_it_is_depends_on_the_generation(tmp_path: Path) -> None:
    both = {"attributed_to": "me", "expiration_date": "2030-01-02", "note": 1}
    points = pickled("a", payload_of(**both)), pickled("b", payload_of(**both, text_lemmatized="x"))
    make_collection(tmp_path, *points)
    old, new = sorted(read(tmp_path, UTC).memories, key=lambda memory: memory.id)
    assert (old.metadata, old.attributed_to, old.expires_on) == (both, None, None)
    assert (new.metadata, new.attributed_to, new.expires_on) == ({"note": 1}, "me", "2030-01-02")
    make_history(tmp_path / "history.db")
    new = sorted(read(tmp_path, UTC).memories, key=lambda memory: memory.id)[1]
    assert new.metadata == {**both, "text_lemmatized": "x"}


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2024-03-05T10:00:00-08:00", "2024-03-05T18:00:00+00:00"),
        ("2024-03-05T10:00:00.5Z", "2024-03-05T10:00:00.500000+00:00"),
        ("2024-07-05 10:00:00", "2024-07-05T08:00:00+00:00"),
        ("2024-07-05", "2024-07-04T22:00:00+00:00"),
        (1_700_000_000, "2023-11-14T22:13:20+00:00"),
    ],
)
def test_times_keep_their_instants_and_naive_ones_are_read_in_the_zone(
    value: Any, instant: str, tmp_path: Path
) -> None:
    make_collection(tmp_path, pickled("a", payload_of(created_at=value)))
    memory = read(tmp_path, ZoneInfo("Europe/Berlin")).memories[0]
    assert iso(memory.created_at) == iso(memory.updated_at) == instant


def test_an_unreadable_time_is_taken_from_the_history_or_the_memory_left_out(tmp_path: Path) -> None:
    make_collection(
        tmp_path, pickled("a", payload_of(created_at="soon")), pickled("b", payload_of(created_at=None))
    )
    make_history(tmp_path / "history.db", ("a", None, "x", "ADD", "2024-01-02", None, 0))
    left = read(tmp_path, UTC)
    assert [(memory.id, iso(memory.created_at)) for memory in left.memories] == [
        ("a", "2024-01-02T00:00:00+00:00")
    ]
    assert [remark.text for remark in left.remarks] == ["created_at is 'soon'; taken from its history"]
    assert [(one.id, one.reason[:18]) for one in left.left_out] == [("b", "created_at is None")]


def test_one_memory_that_cannot_be_kept_does_not_keep_others_out(tmp_path: Path) -> None:
    bad = {
        "nul": payload_of("a\0b"),
        "blank": payload_of(" \n"),
        "spaces": payload_of(user_id="ann lee"),
        "list": payload_of(user_id=["ann"]),
        "key": payload_of(x={1: 2}),
        "big": payload_of(n=2**2000),
    }
    make_collection(
        tmp_path, *(pickled(uid, payload) for uid, payload in bad.items()), pickled("ok", payload_of())
    )
    left = read(tmp_path, UTC)
    assert [memory.id for memory in left.memories] == ["ok"]
    assert {one.id for one in left.left_out} == set(bad)


def test_numbers_that_json_lacks_are_kept_as_null_and_told(tmp_path: Path) -> None:
    nan = float("nan")
    make_collection(tmp_path, pickled("a", payload_of(x=[{"y": nan}, 1.5], z=float("inf"))))
    left = read(tmp_path, UTC)
    assert left.memories[0].metadata == {"x": [{"y": None}, 1.5], "z": None}
    assert len(left.remarks) == 1


@pytest.mark.parametrize(
    ("scope", "ids"),
    [
        ("user_id=ann", {"user_id": "ann"}),
        (
            "agent_id=a%26b%3Dc%25&run_id=r&user_id=李雷",
            {"agent_id": "a&b=c%", "run_id": "r", "user_id": "李雷"},
        ),
    ],
)
def test_the_ids_of_a_message_are_unescaped(scope: str, ids: dict[str, str]) -> None:
    assert scope_ids(scope) == ids


@pytest.mark.parametrize("scope", ["", None, "user_id=", "nobody=x", "user_id=a b"])
def test_a_message_without_an_owner_is_refused(scope: Any) -> None:
    with pytest.raises(ValidationError):
        scope_ids(scope)


# --- the platform -------------------------------------------------------------------------------------------

ITEM = {
    "id": "3c90c3cc-0d44-4b50-8888-8dd25736052a",
    "memory": 'Ann says "привет" 🦊',
    "user_id": "ann",
    "agent_id": None,
    "app_id": "shop",
    "run_id": "r1",
    "metadata": {"id": 1, "memory": "mine"},
    "categories": ["family", "еда"],
    "created_at": "2024-07-26T10:29:36.630547-07:00",
    "updated_at": "2024-07-27T10:29:36Z",
    "expiration_date": "2030-01-31T00:00:00Z",
    "immutable": False,
    "hash": "x",
}


@pytest.mark.parametrize(
    "shape",
    [
        lambda items: items,
        lambda items: {"results": items},
        lambda items: {"memories": items},
        lambda items: {"count": 1, "next": None, "previous": None, "results": items},
        lambda items: {"data": {"memories": items}},
        lambda items: [{"results": items}, {"results": []}],
    ],
)
def test_an_export_of_the_platform_is_read_in_every_shape(shape: Any, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(shape([ITEM])), encoding="utf-8")
    left = read(path, UTC)
    (memory,) = left.memories
    assert (memory.id, memory.text, memory.kind) == (ITEM["id"], ITEM["memory"], Kind.FACT)
    assert (memory.user_id, memory.agent_id, memory.app_id, memory.run_id) == ("ann", None, "shop", "r1")
    assert memory.metadata == ITEM["metadata"]
    assert memory.categories == ("family", "еда")
    assert (iso(memory.created_at), iso(memory.updated_at)) == (
        "2024-07-26T17:29:36.630547+00:00",
        "2024-07-27T10:29:36+00:00",
    )
    assert memory.expires_on == "2030-01-31"
    assert left.left_out == left.remarks == ()


def test_an_item_without_an_id_gets_the_same_one_each_time(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    item = {key: value for key, value in ITEM.items() if key != "id"}
    path.write_text(json.dumps([item, {**item, "user_id": "bob"}]), encoding="utf-8")
    first, second = read(path, UTC).memories
    assert first.id != second.id
    assert [memory.id for memory in read(path, UTC).memories] == [first.id, second.id]


def test_items_that_cannot_be_kept_are_told(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    items = [
        {**ITEM, "mood": "good"},
        {**ITEM, "id": "n", "user_id": None, "app_id": None, "run_id": None},
        {**ITEM, "id": "m", "metadata": "x"},
        {**ITEM, "id": "t", "memory": None},
        {**ITEM, "id": "h", "history": ["x"]},
        ITEM,
    ]
    path.write_text(json.dumps(items), encoding="utf-8")
    left = read(path, UTC)
    assert [memory.id for memory in left.memories] == [ITEM["id"]]
    assert [one.id for one in left.left_out] == ["n", "m", "t", "h", ITEM["id"]]
    assert [remark.text for remark in left.remarks] == ["not kept, being unknown: mood"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('"x"', "The JSON is a str"),
        ('{"x": 1}', "no list of memories"),
        ("[1]", "lists a int"),
        ('[{"full_name": "Dev"}]', "no key 'memory'"),
        ("", "not JSON"),
    ],
)
def test_other_json_is_refused(text: str, match: str, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValidationError, match=match):
        read(path, UTC)


def test_nothing_left_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text("[]", encoding="utf-8")
    assert read(path, UTC).memories == ()
    make_collection(tmp_path)
    assert read(tmp_path, UTC).memories == ()
