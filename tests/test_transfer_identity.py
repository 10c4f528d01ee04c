"""Exporting what was imported gives what was exported, whatever happened to the memories before."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import MakeMemory
from mnemic import Memory, MnemicError
from mnemic.models.fakes import HashEmbedder
from mnemic.store.schema import OWNED
from raw_stores import raw_connection

SAID = [
    "I live in Hangzhou.",
    "I moved to Shanghai. Thanks!",
    "I now live in 東京 🗼",
    "我住在杭州，对花生过敏",
    'I work at "Acme"\nand I don\'t smoke any more.',
    "I work at Globex now.",
    "Меня зовут Анна.",
    "I live in Hangzhou.",
]
TEXTS = [
    "tea at 4 🍵",
    "TEA at  4 🍵",
    "ключ\nпод ковриком",
    "ERR-7731 \\ 'x'",
    "猫の名前はタマ",
    "I live in Oslo",
]
USERS = [{"user_id": "ann"}, {"user_id": "bob", "agent_id": "pip"}, {"app_id": "昼"}]
TIMES = [None, "2023-05-01", "2024-03-02T10:00:00.123456+08:00", "2024-07"]
METADATA = [None, {"n": 1.5, "标签": ["x", None, {"deep": True}]}, {"n": 10**30, "": -0.0}]

who = st.sampled_from(USERS)
run = st.sampled_from([{}, {"run_id": "chat-1"}, {"run_id": "чат"}])
time = st.sampled_from(TIMES)
metadata = st.sampled_from(METADATA)
day = st.sampled_from([None, "2020-02-29", "2099-12-31", "9999-12-31"])
nth = st.integers(0, 30)
fact = st.fixed_dictionaries(
    {"text": st.sampled_from(TEXTS)},
    optional={
        "valid_from": st.sampled_from(["2019", "2024-07", "2024-07-20T09:00:00Z"]),
        "event_date": st.sampled_from(["2024-07-20", "2024-07-21"]),
        "categories": st.just(["étude", "work"]),
        "metadata": metadata,
        "attributed_to": st.just("Анна"),
        "source": st.just(0),
    },
)
steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(SAID), who, run, time, metadata, day, st.booleans()),
    st.tuples(st.just("facts"), st.lists(fact, min_size=1, max_size=3), who, run, time),
    st.tuples(st.just("update"), nth, st.sampled_from([None, *TEXTS]), metadata),
    st.tuples(st.just("expire"), nth, day),
    st.tuples(st.just("delete"), nth, st.sampled_from([None, "ann"])),
    st.tuples(st.just("restore"), nth),
    st.tuples(st.just("forget"), who, run),
)


def do(m: Memory, ids: list[str], step: tuple[Any, ...]) -> None:
    """One step of a history; `ids` has all memories so far."""
    what, *rest = step
    if what == "say":
        text, ids_of, label, timestamp, data, expires, infer = rest
        talk = [
            {"role": "user", "name": "Анна", "content": text},
            {"role": "assistant", "content": [{"text": "так"}]},
        ]
        more = {"metadata": data, "timestamp": timestamp, "expiration_date": expires}
        added = m.add(talk, **ids_of, **label, infer=infer, **more)["results"]
        ids.extend(item["id"] for item in added if item["event"] == "ADD")
    elif what == "facts":
        facts, ids_of, label, timestamp = rest
        added = m.add("so it was", facts=facts, **ids_of, **label, timestamp=timestamp)["results"]
        ids.extend(item["id"] for item in added if item["event"] == "ADD")
    elif what == "forget":
        ids_of, label = rest
        m.delete_all(**ids_of, **label, actor="forgetter")
    elif ids:
        uid = ids[rest[0] % len(ids)]
        if what == "update":
            m.update(uid, rest[1], rest[2], actor="editor", reason="because")
        elif what == "expire":
            m.update(uid, expiration_date=rest[1])
        elif what == "delete":
            m.delete(uid, actor=rest[1], reason="错了")
        else:
            m.restore(uid)


def exported(m: Memory, **options: Any) -> list[str]:
    """The lines of an export but for the header."""
    file = io.StringIO()
    m.export_to(file, **options)
    return file.getvalue().splitlines()[1:]


def whole(m: Memory, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    m.export_to(file, **options)
    file.seek(0)
    return file


def seen(m: Memory) -> list[Any]:
    """All that the verbs tell."""
    found: list[Any] = []
    for ids in USERS:
        states = {"show_expired": True, "show_deleted": True, "include_superseded": True}
        listed = m.get_all(**ids, **states, limit=500)["results"]
        found += [listed, [m.history(item["id"]) for item in listed], m.messages(**ids, limit=500)["results"]]
        found += [m.trash(**ids)["results"], m.stats(**ids)["by_kind"]]
        for query in ("Where do I live?", "tea ERR-7731", "杭州"):
            found.append(
                m.search(query, **ids, include_superseded=True, show_expired=True, explain=True)["results"]
            )
    return found


def heard(m: Memory) -> list[Any]:
    """What becomes of statements that meet what is there."""
    found = []
    for ids in USERS:
        for text in ("I live in Hangzhou.", "I moved to Rome.", "tea at 4 🍵", "I work at Initech now."):
            for one in m.add(text, **ids, timestamp="2025-01-01")["results"]:
                replaced = [m.history(old)[0]["new_memory"] for old in one.get("supersedes", [])]
                found.append((one["memory"], one["event"], replaced))
    return found


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps, min_size=1, max_size=14), vectors=st.booleans())
def test_export_and_import_are_the_identity(history: list[tuple[Any, ...]], vectors: bool) -> None:
    with (
        Memory(":memory:", embedder=HashEmbedder()) as here,
        Memory(":memory:", embedder=HashEmbedder()) as there,
    ):
        ids: list[str] = []
        for step in history:
            with contextlib.suppress(MnemicError):
                do(here, ids, step)
        there.add("somebody was here before", user_id="zoe", agent_id="a", infer=False)
        there.import_from(whole(here, vectors=vectors))
        zoe = {"user_id": "zoe"}
        assert exported(here, vectors=True)[:-1] == [
            line
            for line in exported(there, vectors=True)[:-1]
            if line not in exported(there, **zoe, vectors=True)
        ]
        assert seen(there) == seen(here)
        assert heard(there) == heard(here)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(steps, min_size=1, max_size=14), ids=who, label=run)
def test_a_part_of_a_store_is_imported_as_it_was_exported(
    history: list[tuple[Any, ...]], ids: dict[str, str], label: dict[str, str]
) -> None:
    with Memory(":memory:", embedder="none") as here, Memory(":memory:", embedder="none") as there:
        uids: list[str] = []
        for step in history:
            with contextlib.suppress(MnemicError):
                do(here, uids, step)
        there.import_from(whole(here, **ids, **label))
        assert exported(there) == exported(here, **ids, **label)
        listed = [
            [item["memory"] for item in m.get_all(**ids, **label, show_expired=True, limit=500)["results"]]
            for m in (here, there)
        ]
        assert listed[0] == listed[1]


@pytest.mark.parametrize("to", ["a file", "the same database"])
def test_all_rows_are_the_same_but_for_their_numbers(
    make_memory: MakeMemory, store: str, empty_store: str, tmp_path: Path, to: str
) -> None:
    here = make_memory()
    ids: list[str] = []
    for step in (
        ("say", SAID[0], USERS[0], {"run_id": "r"}, TIMES[2], METADATA[1], "2020-01-01", True),
        ("say", SAID[1], USERS[0], {}, TIMES[3], None, None, True),
        ("say", SAID[6], USERS[0], {}, TIMES[3], METADATA[2], None, False),
        ("say", SAID[6], USERS[0], {"run_id": "r"}, TIMES[3], METADATA[2], None, False),
        (
            "facts",
            [{"text": "x", "valid_from": "2019", "categories": ["a"], "source": 0}],
            USERS[0],
            {},
            None,
        ),
        ("update", 1, "changed", None),
        ("delete", 0, "ann"),
        ("restore", 0),
        ("delete", 2, "ann"),
    ):
        do(here, ids, step)
    elsewhere = str(tmp_path / "there.db") if to == "a file" else empty_store
    with Memory(elsewhere, embedder=HashEmbedder()) as there:
        there.import_from(whole(here))
    here_rows, there_rows = unnumbered(store), unnumbered(elsewhere)
    assert there_rows == here_rows
    assert all(here_rows[table.name] for table in OWNED if table.name not in ("replay", "trace"))


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row as SQLite gives it, which has no booleans."""
    return tuple(int(value) if isinstance(value, bool) else value for value in row)


NUMBERS = ("id", "no", "seq", "owner_id", "space_id")


def unnumbered(store: str) -> dict[str, list[str]]:
    """The rows of the default tenant by table, in no order, without the store's numbers."""
    found = {}
    with raw_connection(store) as raw:
        for table in OWNED:
            names = [c.name for c in table.columns if c.name not in NUMBERS and not c.name.endswith("_no")]
            chosen = ", ".join(f'"{name}"' for name in names)
            rows = raw.execute(
                f'SELECT {chosen} FROM "{table.name}"'
                " WHERE owner_id IN (SELECT id FROM owner WHERE tenant = 'default')"
            )
            # The key of a superseded memory ends in its number.
            found[table.name] = sorted(re.sub(r":\d+'", ":n'", repr(_plain(row))) for row in rows)
    return found
