"""Files as they come: hostile, damaged, cut off, compressed, through pipes; and what an export leaves on the disk."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import tenant_rows
from mnemic import Memory, ValidationError
from mnemic.clock import FIRST_INSTANT, LAST_INSTANT
from mnemic.models.fakes import HashEmbedder
from mnemic.records import Claim
from mnemic.transfer import lines
from mnemic.whole import (
    WholeChange,
    WholeEpisode,
    WholeMemory,
    WholeMessage,
    WholeOwner,
    WholeSupport,
    WholeVersion,
)

ANN = {"user_id": "ann"}
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An export with every kind of line; one memory is superseded."""
    with Memory(str(tmp_path_factory.mktemp("sound") / "m.db"), embedder=HashEmbedder()) as m:
        m.add("I live in Hangzhou. 🏙", **ANN, run_id="чат", timestamp="2024-03-02", metadata={"标签": [1.5]})
        m.add("I moved to Shanghai.", **ANN, timestamp="2024-07-20")
        m.add('Мяу "\\" \n', user_id="bob", infer=False)
        file = io.BytesIO()
        m.export_to(file, vectors=True)
        return file.getvalue()


def read(data: bytes) -> Lines:
    return [json.loads(line) for line in data.splitlines()]


def written(found: Lines) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in found)


def numbers(found: Lines, kind: str) -> list[int]:
    return [i for i, line in enumerate(found) if line["line"] == kind]


def changed(kind: str, which: int, change: Callable[[Any], Any]) -> Callable[[Lines], None]:
    """Changes the n-th line of a kind."""

    def apply(found: Lines) -> None:
        change(found[numbers(found, kind)[which]])

    return apply


def put(kind: str, *path: Any, which: int = 0) -> Callable[[Lines], None]:
    """Sets what the path leads to; its last element is the value."""
    *steps, name, value = path

    def change(line: Any) -> None:
        for step in steps:
            line = line[step]
        line[name] = value

    return changed(kind, which, change)


def drop(kind: str, *path: Any, which: int = 0) -> Callable[[Lines], None]:
    *steps, name = path

    def change(line: Any) -> None:
        for step in steps:
            line = line[step]
        del line[name]

    return changed(kind, which, change)


def twice(kind: str) -> Callable[[Lines], None]:
    def apply(found: Lines) -> None:
        at = numbers(found, kind)[0]
        found.insert(at, found[at])

    return apply


def without(kind: str, which: int = 0) -> Callable[[Lines], None]:
    def apply(found: Lines) -> None:
        del found[numbers(found, kind)[which]]

    return apply


def bad_vector(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def reversed_versions(line: Any) -> None:
    line["versions"].reverse()


WRONG: list[tuple[str, Callable[[Lines], None], str]] = [
    ("newer format", put("header", "version", 2), "Upgrade|reads exports of version 1"),
    ("another format", put("header", "format", "mem0"), "format must be 'mnemic'"),
    ("version of another type", put("header", "version", "1"), "version must be 1"),
    ("no header", without("header"), "first line must be the header"),
    ("two headers", twice("header"), "Only the first line is a header"),
    ("no owner", without("owner"), "belongs to no owner"),
    ("owner twice", put("owner", "user_id", "ann", which=1), "owner came before"),
    ("owner with blanks", put("owner", "user_id", "a b"), "user_id.*white"),
    ("owner for all", put("owner", "user_id", "*"), "names no one"),
    ("unknown line", put("change", "line", "note"), "line must be one of"),
    ("line of another type", put("change", "line", ["note"]), "line must be one of"),
    ("unknown key", put("memory", "colour", 1), "colour is not known"),
    (
        "near key",
        put("memory", "versions", 0, "txt", 1),
        r"versions\[0\].txt is not known \(did you mean 'text'",
    ),
    ("missing key", drop("memory", "versions", 0, "text"), r"versions\[0\].text is missing"),
    (
        "null",
        put("memory", "versions", 0, "text", None),
        r"versions\[0\].text must be a string, not NoneType",
    ),
    ("text is a number", put("memory", "versions", 0, "text", 5), "must be a string, not int 5"),
    ("blank text", put("memory", "versions", 0, "text", " \n"), "cannot be empty"),
    ("lone surrogate", put("memory", "versions", 0, "text", "x\ud800"), r"U\+D800"),
    ("lone surrogate in a key", put("memory", "versions", 0, "metadata", "\udfff", 1), r"U\+DFFF"),
    ("lone surrogate in a name", put("memory", "versions", 0, "\ud800", 1), "is not known"),
    ("NUL", put("episode", "messages", 0, "content", "a\0b"), r"U\+0000"),
    ("kind", put("memory", "kind", "rumour"), "kind must be one of fact"),
    ("live is a number", put("memory", "live", 1), "live must be true or false"),
    ("huge number", put("memory", "position", 10**30), "position must be a whole number"),
    ("negative number", put("memory", "position", -1), "position must be a whole number"),
    ("fraction", put("memory", "position", 1.5), "position must be a whole number"),
    ("true for a number", put("memory", "position", True), "position must be a whole number"),
    ("time without zone", put("change", "at", "2024-01-01T00:00:00"), "at must be an ISO 8601 time"),
    ("time as a number", put("change", "at", 5), "at must be an ISO 8601 time"),
    ("nanoseconds", put("change", "at", "2024-01-01T00:00:00.123456789Z"), "at must be an ISO 8601 time"),
    ("no such day", put("change", "at", "2024-02-30T00:00:00Z"), "at must be an ISO 8601 time"),
    ("end of time", put("change", "at", "9999-12-31T23:59:59-12:00"), "at must be an ISO 8601 time"),
    ("day", put("memory", "versions", 0, "event_date", "20240101"), "event_date must be a day"),
    ("event", put("change", "event", "GUESS"), "event must be one of ADD"),
    ("metadata is a list", put("memory", "versions", 0, "metadata", [1]), "metadata must be an object"),
    ("categories", put("memory", "versions", 0, "categories", ["a", 1]), r"categories\[1\] must be a string"),
    ("no versions", put("memory", "versions", []), "versions is empty"),
    ("versions out of order", changed("memory", 0, reversed_versions), r"number must be 1"),
    ("two open versions", drop("memory", "versions", 0, "tx_to"), r"only the last version can be believed"),
    (
        "overlapping versions",
        put("memory", "versions", 0, "tx_to", "9000-01-01T00:00:00Z"),
        "lies before the tx_to of the version before",
    ),
    (
        "ends before it begins",
        put("memory", "versions", 1, "tx_to", "1000-01-01T00:00:00Z"),
        "before its tx_from",
    ),
    ("live though superseded", put("memory", "live", True), "live must be false"),
    ("precision of nothing", put("memory", "versions", 0, "valid_from_precision", "day"), "needs valid_from"),
    (
        "expiry without day",
        put("memory", "versions", 0, "expires_at", "2024-01-01T00:00:00Z"),
        "needs expires_on",
    ),
    ("a run twice", put("memory", "runs", ["r", "r"]), "runs has 'r' twice"),
    ("memory twice", twice("memory"), "belongs to an earlier memory"),
    ("episode twice", twice("episode"), "earlier episode of this owner.*\n.*|earlier message"),
    ("no such episode", put("memory", "episode", "nowhere"), "'nowhere' is no episode"),
    ("no such message", put("memory", "support", 0, "message", "nowhere"), "'nowhere' is no message"),
    ("beyond the message", put("memory", "support", 0, "end", 1000), "the message has 21 characters"),
    ("backwards support", put("memory", "support", 0, "start", 1000), "lies before its start"),
    (
        "no such successor",
        put("memory", "versions", 1, "successor", "nowhere"),
        "successor 'nowhere' is no memory",
    ),
    ("no such memory", put("change", "memory", "nowhere"), "'nowhere' is no memory"),
    ("no such version", put("change", "opened", 3), "opened is 3; the memory has 2 versions"),
    ("version 0", put("change", "opened", 0), "opened is 0"),
    ("change of nothing", drop("change", "memory"), "memory is missing"),
    ("memory without change", without("change", -2), "no change that tells"),
    ("messages out of order", put("episode", "messages", [{"position": 1}]), r"messages\[0\].id is missing"),
    ("footer counts", put("footer", "memories", 7), "memories is 7, but the file has 3"),
    ("no footer", without("footer"), "cut off"),
    ("two footers", twice("footer"), "after the footer"),
    ("vector of another size", put("memory", "versions", 0, "vector", bad_vector(1.0)), "has 1 numbers"),
    ("vector with NaN", put("memory", "versions", 0, "vector", bad_vector(float("nan"))), "finite float32"),
    ("vector of letters", put("memory", "versions", 0, "vector", "?"), "base64"),
    ("vectors of no model", drop("header", "vectors"), "the header names no vectors"),
]


@pytest.mark.parametrize(("spoil", "told"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_wrong_is_told_with_its_line_and_nothing_is_written(
    m: Memory, store_path: Path, sound: bytes, spoil: Callable[[Lines], None], told: str
) -> None:
    found = read(sound)
    spoil(found)
    m.add(facts=["before"], **ANN)
    before = tenant_rows(store_path, "default")
    with pytest.raises(ValidationError, match=told) as fault:
        m.import_from(io.BytesIO(written(found)))
    assert fault.value.details["faults"][0]["line"] >= 1
    assert "nothing was imported" in str(fault.value)
    assert tenant_rows(store_path, "default") == before


def test_the_file_that_was_spoilt_is_sound(m: Memory, sound: bytes) -> None:
    assert m.import_from(io.BytesIO(written(read(sound))))["added"] == 3


def test_the_same_words_twice(m: Memory, sound: bytes) -> None:
    found = read(sound)
    one, other = numbers(found, "memory")[:2]
    found[one]["live"] = True
    del found[one]["versions"][-1]["successor"]
    found[other]["versions"][0]["text"] = f"  {found[one]['versions'][-1]['text'].upper()}"
    with pytest.raises(
        ValidationError, match=f"line {other + 1}: live is true, as it is of an earlier memory"
    ):
        m.import_from(io.BytesIO(written(found)))


RAW: list[tuple[str, bytes, str]] = [
    ("empty", b"", "The file is empty"),
    ("blank line", b"\n", "line 1: It is not JSON"),
    ("prose", b"hello\n", "line 1: It is not JSON"),
    ("a list", b"[]\n", "must be a JSON object, not list"),
    ("not UTF-8", b'{"line":"\xff"}\n', "line 1: It is not UTF-8 at byte 9"),
    ("UTF-16", "\ufeff{}\n".encode("utf-16"), "line 1: It is not UTF-8"),
    ("NaN", b'{"line":"header","version":NaN}\n', "NaN is no JSON number"),
    ("infinite", b'{"line":"header","version":-Infinity}\n', "-Infinity is no JSON number"),
    ("endless number", b'{"line":"header","version":' + b"1" * 5000 + b"}\n", "line 1: It is not JSON"),
    ("deep", b'{"line":' + b"[" * 100_000 + b"\n", "nested too deeply|not JSON"),
    ("key twice", b'{"line":"header","line":"footer"}\n', "has the key 'line' twice"),
    ("a mem0 export", b'{"memories": [{"id": "1", "memory": "x"}]}\n', "line must be one of header"),
    ("a database", b"SQLite format 3\0" + bytes(range(256)), "line 1: It is not UTF-8|not JSON"),
]


@pytest.mark.parametrize(("data", "told"), [case[1:] for case in RAW], ids=[case[0] for case in RAW])
def test_what_is_no_export_is_told_so(m: Memory, data: bytes, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        m.import_from(io.BytesIO(data))


def test_a_file_cut_off_anywhere_is_refused(sound: bytes, m: Memory) -> None:
    ends = [*range(1, len(sound) - 2, 211), *[at for at in range(len(sound) - 1) if sound[at] == 10][-3:]]
    for end in ends:
        with pytest.raises(ValidationError, match=r"cut off|not JSON|not UTF-8"):
            m.import_from(io.BytesIO(sound[:end]))
    assert m.stats()["memories"] == 0
    assert m.import_from(io.BytesIO(sound.removesuffix(b"\n")))["added"] == 3


def test_twenty_faults_are_enough_and_one_does_not_make_others(m: Memory, sound: bytes) -> None:
    found = read(sound)
    del found[numbers(found, "episode")[0]]["trace_id"]
    with pytest.raises(ValidationError) as fault:
        m.import_from(io.BytesIO(written(found)))
    assert fault.value.details["faults"] == [{"line": 3, "fault": "trace_id is missing."}]
    many = written([*found[:3], *({"line": "change", "n": i} for i in range(50))])
    with pytest.raises(ValidationError, match="20 faults") as fault:
        m.import_from(io.BytesIO(many))
    assert len(fault.value.details["faults"]) == 20


# --- The format itself ----------------------------------------------------------------------------------------

some_text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    lambda text: any(char.isprintable() and not char.isspace() for char in text)
)
some_id = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=40
).filter(lambda text: text != "*" and not any(map(str.isspace, text)))
instants = st.integers(FIRST_INSTANT, LAST_INSTANT)
data = st.dictionaries(
    some_text,
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    min_size=1,
)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@st.composite
def memories(draw: Any) -> WholeMemory:
    times = sorted(draw(st.lists(instants, min_size=2, max_size=6)))
    versions = [
        WholeVersion(
            number=i + 1,
            text=draw(some_text),
            observed_at=draw(instants),
            tx_from=begun,
            tx_to=ended,
            extractor=draw(some_text),
            metadata=draw(st.none() | data.map(as_json)),
            categories=draw(st.none() | st.lists(some_text, min_size=1).map(as_json)),
            valid_to=draw(st.none() | instants),
            expires_on=draw(st.none() | st.dates().map(str)),
            vector=draw(
                st.none() | st.binary(min_size=4, max_size=4).filter(lambda raw: raw[3] & 0x7F != 0x7F)
            ),
        )
        for i, (begun, ended) in enumerate(pairwise(times))
    ]
    if draw(st.booleans()):
        versions[-1] = replace(versions[-1], tx_to=None)
    return WholeMemory(
        id=draw(some_id),
        kind=draw(st.sampled_from(["fact", "message", "procedure"])),
        created_at=draw(instants),
        episode=draw(some_id),
        position=draw(st.integers(0, 2**31 - 1)),
        live=versions[-1].tx_to is None and draw(st.booleans()),
        versions=tuple(versions),
        runs=tuple(sorted(draw(st.sets(some_id | st.just(""), max_size=3)))),
        role=draw(st.none() | some_text),
        support=tuple(WholeSupport(uid, 0, 5) for uid in sorted(draw(st.sets(some_id, max_size=2)))),
        claims=tuple(
            {Claim("is", draw(st.text(st.characters(codec="utf-8", exclude_characters="\0"))), holds=False)}
        ),
    )


records = st.one_of(
    memories(),
    st.builds(WholeOwner, instants, some_id, st.just("") | some_id, st.just("") | some_id),
    st.builds(
        WholeEpisode,
        trace_id=some_id,
        observed_at=instants,
        created_at=instants,
        run_id=st.just("") | some_id,
        messages=st.just(()) | st.builds(
            WholeMessage, id=some_id, position=st.integers(0, 9), role=some_text, content=some_text, said_at=instants
        ).map(lambda one: (one,)),
    ),
    st.builds(
        WholeChange, at=instants, event=st.just("UPDATE"), trace_id=some_id, memory=some_id,
        opened=st.none() | st.integers(0, 99), actor=st.none() | some_text, reason=st.none() | some_text,
    ),
)  # fmt: skip


@given(records)
def test_a_line_is_read_as_it_was_written(record: Any) -> None:
    line = lines.encode(record)
    assert "\n" not in line
    assert lines.decode(line) == record
    assert lines.encode(lines.decode(line)) == line


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    kind=st.sampled_from(["header", "owner", "episode", "memory", "change", "footer"]),
    value=json_values,
    name=st.text(),
)
def test_whatever_a_line_holds_is_read_or_refused(kind: str, value: Any, name: str) -> None:
    whole = {"line": kind, **(value if isinstance(value, dict) else {name: value})}
    with contextlib.suppress(ValidationError):
        lines.decode(json.dumps(whole))


# --- Files ----------------------------------------------------------------------------------------------------


def test_paths_pipes_text_and_gzip_give_the_same(m: Memory, sound: bytes, tmp_path: Path) -> None:
    m.import_from(io.BytesIO(sound))
    plain, packed, text, raw = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz", io.StringIO(), io.BytesIO()
    for target in (plain, str(packed), text, raw):
        m.export_to(target, vectors=True)
    wanted = sound.splitlines()[1:]
    assert plain.read_bytes().splitlines()[1:] == wanted == raw.getvalue().splitlines()[1:]
    assert (
        gzip.decompress(packed.read_bytes()).splitlines()[1:]
        == wanted
        == text.getvalue().encode().splitlines()[1:]
    )
    reader, writer = os.pipe()
    os.write(writer, plain.read_bytes())
    os.close(writer)
    with open(reader, "rb") as pipe:
        sources = [plain, str(packed), pipe, io.StringIO(text.getvalue()), io.BytesIO(packed.read_bytes())]
        for source in sources:
            assert m.import_from(source, on_conflict="skip")["skipped"] == 3


def test_compressed_files_that_are_damaged_are_refused(m: Memory, sound: bytes) -> None:
    packed = gzip.compress(sound)
    for damaged in (packed[:-20], packed[:300], packed[:200] + b"xxxx" + packed[204:]):
        with pytest.raises(ValidationError, match=r"cannot be read beyond line|not JSON|not UTF-8"):
            m.import_from(io.BytesIO(damaged))


def test_an_export_that_fails_leaves_what_was_there(m: Memory, tmp_path: Path, sound: bytes) -> None:
    m.import_from(io.BytesIO(sound))
    target = tmp_path / "out" / "a.jsonl"
    target.parent.mkdir()
    m.export_to(target)
    before = target.read_bytes()

    def failing(stage: str, done: int, total: int) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        m.export_to(target, progress=failing)
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["a.jsonl"]
    m.export_to(target, vectors=True)
    assert len(target.read_bytes()) > len(before)
    assert target.stat().st_mode & 0o077 == 0


def test_nothing_but_an_export_is_replaced(m: Memory, store_path: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine\n", encoding="utf-8")
    for there in (notes, store_path):
        before = there.read_bytes()
        with pytest.raises(ValidationError, match="is no export that could be replaced"):
            m.export_to(there)
        assert there.read_bytes() == before
    (tmp_path / "empty.jsonl").touch()
    assert m.export_to(tmp_path / "empty.jsonl")["owners"] == 0


def test_what_cannot_be_read_or_written_is_told(m: Memory, tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "no" / "such", "a\0b"):
        with pytest.raises(ValidationError, match="cannot be written"):
            m.export_to(target)
        with pytest.raises(ValidationError, match="cannot be read"):
            m.import_from(target)
    for wrong in (None, 5, object()):
        with pytest.raises(ValidationError, match="target must be a path"):
            m.export_to(wrong)
        with pytest.raises(ValidationError, match="source must be a path"):
            m.import_from(wrong)
    with pytest.raises(ValidationError, match="on_conflict must be one of fail, skip, overwrite"):
        m.import_from(tmp_path, on_conflict="merge")
    with pytest.raises(ValidationError, match="dry_run"):
        m.import_from(tmp_path, dry_run=1)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="vectors"):
        m.export_to(tmp_path / "x", vectors="yes")  # type: ignore[arg-type]


def test_an_empty_store_is_exported_and_imported(m: Memory) -> None:
    file = io.BytesIO()
    assert set(m.export_to(file, user_id="nobody").values()) == {0}
    assert m.import_from(io.BytesIO(file.getvalue()))["added"] == 0
    assert [line["line"] for line in read(file.getvalue())] == ["header", "footer"]
