"""Times at the edges: of days, of zones, of summer time, of what there is at all; one meaning in every way in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from conftest import MakeMemory, RowCounts, SetClock
from mnemic import AsyncMemory, FilterError, Memory, ValidationError
from mnemic.cli.app import app

BERLIN, NEW_YORK, SYDNEY = "Europe/Berlin", "America/New_York", "Australia/Sydney"
HOWE, SAO_PAULO, APIA = "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"

# As told, in which zone it is read, and the instant.
TOLD = [
    # Summer time begins: what the clock skips is read by the time before. It ends: the first of two.
    ("2024-03-31T01:59:59", BERLIN, "2024-03-31T00:59:59"),
    ("2024-03-31T02:30", BERLIN, "2024-03-31T01:30:00"),
    ("2024-03-31T03:00", BERLIN, "2024-03-31T01:00:00"),
    ("2024-10-27T02:30", BERLIN, "2024-10-27T00:30:00"),
    ("2024-10-27T02:30+02:00", BERLIN, "2024-10-27T00:30:00"),
    ("2024-10-27T02:30+01:00", BERLIN, "2024-10-27T01:30:00"),
    ("2024-10-27T03:00", BERLIN, "2024-10-27T02:00:00"),
    ("2024-03-10T02:30", NEW_YORK, "2024-03-10T07:30:00"),
    ("2024-11-03T01:30", NEW_YORK, "2024-11-03T05:30:00"),
    ("2024-10-06T02:30", SYDNEY, "2024-10-05T16:30:00"),
    ("2024-04-07T02:30", SYDNEY, "2024-04-06T15:30:00"),
    ("2024-04-07T01:45", HOWE, "2024-04-06T14:45:00"),
    ("2018-11-04", SAO_PAULO, "2018-11-04T03:00:00"),
    # The date line, half hours and quarters.
    ("2024-01-01", "Pacific/Kiritimati", "2023-12-31T10:00:00"),
    ("2024-01-01T00:00+14:00", "UTC", "2023-12-31T10:00:00"),
    ("2024-01-01T00:00-12:00", "UTC", "2024-01-01T12:00:00"),
    ("2024-01-01", "Etc/GMT+12", "2024-01-01T12:00:00"),
    ("2011-12-29T23:59:59", APIA, "2011-12-30T09:59:59"),
    ("2011-12-31", APIA, "2011-12-30T10:00:00"),
    ("2024-01-01", "Asia/Kathmandu", "2023-12-31T18:15:00"),
    ("2024-01-01T00:00", "Asia/Kolkata", "2023-12-31T18:30:00"),
    ("2024-07-01", "America/St_Johns", "2024-07-01T02:30:00"),
    # Leap days.
    ("2024-02-29", BERLIN, "2024-02-28T23:00:00"),
    ("2000-02-29T12:00", "Asia/Shanghai", "2000-02-29T04:00:00"),
    ("2024-02-29T23:59:59.999999Z", BERLIN, "2024-02-29T23:59:59.999999"),
    # Long ago, and far ahead.
    ("1969-12-31T23:59:59.999999Z", BERLIN, "1969-12-31T23:59:59.999999"),
    ("1969-07-20T20:17:40", NEW_YORK, "1969-07-21T00:17:40"),
    ("1901-12-13", "UTC", "1901-12-13T00:00:00"),
    ("1867-10-01", "UTC", "1867-10-01T00:00:00"),
    ("2038-01-19T03:14:08Z", "UTC", "2038-01-19T03:14:08"),
    ("2045-07-01", BERLIN, "2045-06-30T22:00:00"),
    ("9000-01-01", "UTC", "9000-01-01T00:00:00"),
    # Part of a date, and numbers.
    ("2023", BERLIN, "2022-12-31T23:00:00"),
    ("2023-03", SYDNEY, "2023-02-28T13:00:00"),
    (1_710_460_800, BERLIN, "2024-03-15T00:00:00"),
    (1_710_460_800.25, BERLIN, "2024-03-15T00:00:00.250000"),
    (1_710_460_800_123, BERLIN, "2024-03-15T00:00:00.123000"),
    (2_147_483_648, BERLIN, "2038-01-19T03:14:08"),
]
NUMBERS_BEFORE_1970 = [(-1, BERLIN, "1969-12-31T23:59:59"), (-432_000_000_000, BERLIN, "1956-04-24T00:00:00")]

# Objects, which only the library takes.
OBJECTS = [
    (datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo(BERLIN)), "UTC", "2024-10-27T00:30:00"),
    (datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo(BERLIN)), "UTC", "2024-10-27T01:30:00"),
    (datetime(2024, 10, 27, 2, 30), BERLIN, "2024-10-27T00:30:00"),
    (datetime(2024, 10, 27, 2, 30, fold=1), BERLIN, "2024-10-27T01:30:00"),
    (datetime(2024, 4, 7, 2, 30, fold=1), SYDNEY, "2024-04-06T16:30:00"),
    (datetime(2024, 4, 7, 1, 45, fold=1), HOWE, "2024-04-06T15:15:00"),
    (date(2024, 2, 29), "Asia/Kathmandu", "2024-02-28T18:15:00"),
    (datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC), BERLIN, "2024-02-29T23:59:59.999999"),
]

IMPOSSIBLE = [
    "2023-02-29", "2023-02-30", "1900-02-29", "2023-13-01", "2023-13", "2023-00", "2023-04-31", "2023-01-01T25:00",
    "2023-01-01T12:60", "2023-06-30T23:59:60Z", "2023-01-01T12:00+25:00", "0000", "10000-01-01", "yesterday",
    "去年三月", "", " ",
]  # fmt: skip
NO_TIMES = [True, [], {}, float("nan"), float("inf"), 1e300, "2024-01-01\0", b"2024"]


def ids(cases: list[Any]) -> list[str]:
    return [f"{case[0]} {case[1]}" for case in cases]


def out(instant: str) -> str:
    return f"{instant}+00:00"


def just_before(instant: str) -> str:
    return (datetime.fromisoformat(out(instant)) - timedelta(microseconds=1)).isoformat()


def seen(page: Any) -> list[str]:
    return sorted(item["memory"] for item in page["results"])


# --- the library ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("told", "zone", "instant"), [*TOLD, *NUMBERS_BEFORE_1970, *OBJECTS])
def test_a_time_is_one_instant_wherever_it_is_given(
    make_memory: MakeMemory, told: Any, zone: str, instant: str
) -> None:
    m = make_memory(timezone=zone)
    m.add("said then 🕰", user_id="u1", infer=False, timestamp=told)
    m.add(
        [{"role": "user", "content": "said in a talk 话", "timestamp": told}],
        user_id="u1",
        infer=False,
        timestamp="2020",
    )
    m.add(facts=[{"text": "holds since", "valid_from": told}], user_id="u1")
    assert [one["timestamp"] for one in m.messages(user_id="u1")["results"]][:2] == [out(instant)] * 2
    items = {
        one["memory"]: one
        for one in m.get_all(user_id="u1", as_of="9001", include_superseded=True)["results"]
    }
    assert items["said then 🕰"]["observed_at"] == out(instant)
    assert items["holds since"]["valid_from"] == out(instant)

    for at in (told, out(instant)):
        assert "holds since" in seen(m.get_all(user_id="u1", as_of=at))
        assert "holds since" in seen(m.search("holds since", user_id="u1", as_of=at))
        filters = {"valid_from": {"gte": at, "lte": at}}
        assert seen(m.get_all(user_id="u1", as_of="9001", filters=filters)) == ["holds since"]
    before = just_before(instant)
    assert "holds since" not in seen(m.get_all(user_id="u1", as_of=before))
    assert "holds since" not in seen(m.search("holds since", user_id="u1", as_of=before))


@pytest.mark.parametrize(("told", "zone", "instant"), [*TOLD, *OBJECTS])
def test_what_was_known_then_takes_the_same_times(
    make_memory: MakeMemory, set_clock: SetClock, told: Any, zone: str, instant: str
) -> None:
    m = make_memory(timezone=zone)
    set_clock(out(instant))
    m.add("a fact 事", user_id="u1", infer=False)
    set_clock("9100-01-01")
    m.delete_all(user_id="u1")
    assert seen(m.get_all(user_id="u1", known_at=just_before(instant))) == []
    after = (datetime.fromisoformat(out(instant)) + timedelta(seconds=1)).isoformat()
    for known in (told, after):
        assert seen(m.get_all(user_id="u1", known_at=known)) == ["a fact 事"]
        assert seen(m.search("fact", user_id="u1", known_at=known)) == ["a fact 事"]


@pytest.mark.parametrize(
    ("until", "zone", "over"),
    [
        ("2024-02-29", BERLIN, "2024-02-29T23:00:00"),
        ("2023-02", BERLIN, "2023-02-28T23:00:00"),
        ("2024", SYDNEY, "2024-12-31T13:00:00"),
        ("2024-03-31", BERLIN, "2024-03-31T22:00:00"),
        ("2024-10-27", BERLIN, "2024-10-27T23:00:00"),
        ("2018-11-03", SAO_PAULO, "2018-11-04T03:00:00"),
        ("2011-12-29", APIA, "2011-12-30T10:00:00"),
        ("2024-02-29T00:00", BERLIN, "2024-02-28T23:00:00"),
        (date(2024, 2, 29), BERLIN, "2024-02-29T23:00:00"),
        (1_709_164_800, BERLIN, "2024-02-29T00:00:00"),
        ("20240229", BERLIN, "2024-02-29T23:00:00"),
    ],
)
def test_what_lasts_until_a_day_is_over_with_it(
    make_memory: MakeMemory, until: Any, zone: str, over: str
) -> None:
    m = make_memory(timezone=zone)
    m.add(facts=[{"text": "then", "valid_from": "2000", "valid_to": until}], user_id="u1")
    [item] = m.get_all(user_id="u1", include_superseded=True)["results"]
    assert item["valid_to"] == out(over)
    assert seen(m.get_all(user_id="u1", as_of=just_before(over))) == ["then"]
    assert seen(m.get_all(user_id="u1", as_of=out(over))) == []


@pytest.mark.parametrize(
    ("day", "zone", "last"),
    [
        ("2024-02-29", "Pacific/Kiritimati", "2024-02-29T10:00:00"),
        ("2024-02-29", "Etc/GMT+12", "2024-03-01T12:00:00"),
        ("2024-02-29", "Asia/Kathmandu", "2024-02-29T18:15:00"),
        ("2024-03-31", BERLIN, "2024-03-31T22:00:00"),
        ("2024-10-27", BERLIN, "2024-10-27T23:00:00"),
        ("2018-11-03", SAO_PAULO, "2018-11-04T03:00:00"),
        (date(2011, 12, 29), APIA, "2011-12-30T10:00:00"),
    ],
)
def test_what_expires_is_kept_through_the_day(
    make_memory: MakeMemory, set_clock: SetClock, day: Any, zone: str, last: str
) -> None:
    m = make_memory(timezone=zone)
    set_clock("2010-01-01")
    [item] = m.add("for now", user_id="u1", infer=False, expiration_date=day)["results"]
    assert m.get(item["id"])["expiration_date"] == str(day)
    set_clock(just_before(last))
    assert seen(m.get_all(user_id="u1")) == seen(m.search("for now", user_id="u1")) == ["for now"]
    set_clock(out(last))
    assert seen(m.get_all(user_id="u1")) == seen(m.search("for now", user_id="u1")) == []
    assert seen(m.get_all(user_id="u1", show_expired=True)) == ["for now"]


def ways_in(m: Memory) -> dict[str, Callable[[Any], Any]]:
    """Every place where the library takes a time, by the name that an error must have."""
    turn = {"role": "user", "content": "x"}

    def add(**more: Any) -> Any:
        return m.add(**{"messages": "x", "user_id": "u1", "infer": False, **more})

    return {
        "timestamp": lambda at: add(timestamp=at),
        "messages[0].timestamp": lambda at: add(messages=[{**turn, "timestamp": at}]),
        "valid_from": lambda at: m.add(facts=[{"text": "x", "valid_from": at}], user_id="u1"),
        "valid_to": lambda at: m.add(facts=[{"text": "x", "valid_to": at}], user_id="u1"),
        "event_date": lambda at: m.add(facts=[{"text": "x", "event_date": at}], user_id="u1"),
        "expiration_date": lambda at: add(expiration_date=at),
        "as_of": lambda at: m.search("x", user_id="u1", as_of=at),
        "known_at": lambda at: m.get_all(user_id="u1", known_at=at),
        "since": lambda at: m.log(user_id="u1", since=at),
        "until": lambda at: m.log(user_id="u1", until=at),
        "created_at": lambda at: m.get_all(user_id="u1", filters={"created_at": {"gte": at}}),
        "valid_to ": lambda at: m.search("x", user_id="u1", filters={"valid_to": {"lt": at}}),
    }


@pytest.mark.parametrize("bad", [*IMPOSSIBLE, *NO_TIMES], ids=repr)
def test_what_is_no_time_is_refused_by_name_and_writes_nothing(
    make_memory: MakeMemory, row_counts: RowCounts, bad: Any
) -> None:
    m = make_memory()
    before = row_counts()
    for name, call in ways_in(m).items():
        with pytest.raises((ValidationError, FilterError)) as caught:
            call(bad)
        assert name.strip().rpartition(".")[2] in str(caught.value), name
        assert isinstance(caught.value, ValueError)
    assert row_counts() == before


@pytest.mark.parametrize(("start", "end"), [("2024", "2023"), ("2024-02-29T12:00", "2024-02-29T12:00")])
def test_what_ends_before_it_begins_is_refused(
    m: Memory, row_counts: RowCounts, start: str, end: str
) -> None:
    before = row_counts()
    with pytest.raises(ValidationError, match="valid_to"):
        m.add(facts=[{"text": "x", "valid_from": start, "valid_to": end}], user_id="u1")
    assert row_counts() == before


# --- the same through the other faces ---------------------------------------------------------------------


@pytest.mark.sqlite
def test_the_async_face_reads_the_same_times(store: str) -> None:
    async def through(zone: str, cases: list[Any]) -> list[str]:
        async with AsyncMemory(store, embedder="none", timezone=zone, tenant=zone) as m:
            found = []
            for number, (told, _, _) in enumerate(cases):
                user = f"u{number}"
                await m.add(facts=[{"text": "x", "valid_from": told}], user_id=user, timestamp=told)
                [item] = (await m.get_all(user_id=user, as_of=told))["results"]
                assert item["observed_at"] == item["valid_from"]
                found.append(item["valid_from"])
            return found

    cases = [*TOLD, *NUMBERS_BEFORE_1970, *OBJECTS]
    for zone in sorted({case[1] for case in cases}):
        there = [case for case in cases if case[1] == zone]
        assert asyncio.run(through(zone, there)) == [out(instant) for _, _, instant in there]


Command = Callable[..., Any]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command on a store of its own, with times read in a zone, and gives the JSON that it prints."""
    monkeypatch.setenv("MNEMIC_EMBEDDER", "none")
    monkeypatch.setenv("MNEMIC_STORE", str(tmp_path / "cli.db"))

    def call(zone: str, *args: str, code: int = 0) -> Any:
        monkeypatch.setenv("MNEMIC_TIMEZONE", zone)
        done = CliRunner().invoke(app, [*args, "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout) if code == 0 else done.stderr

    return call


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("told", "zone", "instant"),
    [
        *TOLD,
        *NUMBERS_BEFORE_1970,
    ],
)
def test_the_command_line_reads_the_same_times(command: Command, told: Any, zone: str, instant: str) -> None:
    typed = str(told)
    command(zone, "add", "note 笔记", "-u", "ann", "--no-infer", "--timestamp", typed)
    [message] = command(zone, "messages", "-u", "ann")["results"]
    assert message["timestamp"] == out(instant)
    for at, found in ((typed, 1), (out(instant), 1), (just_before(instant), 0)):
        assert len(command(zone, "search", "note", "-u", "ann", "--as-of", at)["results"]) == found, at
    [item] = command(zone, "search", "note", "-u", "ann", "--as-of", typed)["results"]
    assert item["observed_at"] == out(instant)
    past = datetime.fromisoformat(out(instant)) < datetime.now(UTC)
    known = command(zone, "search", "note", "-u", "ann", "--known-at", typed)["results"]
    since = json.dumps({"created_at": {"gte": told}})
    kept_since = command(zone, "list", "-u", "ann", "--filter", since, "--include-superseded")["total"]
    logged_since = command(zone, "log", "-u", "ann", "--since", typed, "--event", "ADD")["results"]
    assert (len(known), kept_since, len(logged_since)) == ((0, 1, 1) if past else (1, 0, 0))


@pytest.mark.sqlite
@pytest.mark.parametrize("bad", IMPOSSIBLE, ids=repr)
def test_the_command_line_refuses_what_is_no_time(command: Command, bad: str) -> None:
    calls = {
        "timestamp": ["add", "x", "-u", "ann", "--no-infer", "--timestamp", bad],
        "expiration_date": ["add", "x", "-u", "ann", "--no-infer", "--expires", bad],
        "as_of": ["search", "x", "-u", "ann", "--as-of", bad],
        "known_at": ["search", "x", "-u", "ann", "--known-at", bad],
        "since": ["log", "-u", "ann", "--since", bad],
    }
    for name, args in calls.items():
        assert name in command("UTC", *args, code=1)
    assert command("UTC", "messages", "-u", "ann")["total"] == 0


# --- export and import ------------------------------------------------------------------------------------


def test_a_round_trip_keeps_instants_precision_and_order(make_memory: MakeMemory, tmp_path: Path) -> None:
    cases = [*TOLD, *NUMBERS_BEFORE_1970, *OBJECTS]
    for number, (told, zone, _) in enumerate(cases):
        m = make_memory(timezone=zone, embedder="none")
        fact = {"text": f"事 {number}", "valid_from": told, "valid_to": "9500-02"}
        m.add([{"role": "user", "content": f"m {number}"}], facts=[fact], user_id="u1", timestamp=told)
        m.close()
    m = make_memory(embedder="none", timezone=SYDNEY)
    m.add("for now", user_id="u1", infer=False, expiration_date="2099-02-28")
    file, again = tmp_path / "all.jsonl", tmp_path / "again.jsonl"
    m.export_to(file)
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    versions = {
        version["text"]: version for line in lines if line["line"] == "memory" for version in line["versions"]
    }
    for number, (told, _, instant) in enumerate(cases):
        version = versions[f"事 {number}"]
        parts = {"2023": "year", "2023-03": "month"}
        day = len(str(told)) == 10 and "-" in str(told)[1:]
        precision = parts.get(str(told), "day" if day else "instant")
        assert version["valid_from_precision"] == precision, told
        assert version["valid_to_precision"] == "month"
        assert datetime.fromisoformat(version["valid_from"]) == datetime.fromisoformat(out(instant))

    with Memory(str(tmp_path / "new.db"), embedder="none", timezone="America/St_Johns") as new:
        new.import_from(file)
        new.export_to(again)
        assert [json.loads(line) for line in again.read_text("utf-8").splitlines()][1:] == lines[1:]
        for verb in ("get_all", "messages"):
            assert getattr(new, verb)(user_id="u1", limit=200) == getattr(m, verb)(user_id="u1", limit=200)
        for _, _, instant in cases:
            for at in (out(instant), just_before(instant)):
                asked = {"user_id": "u1", "as_of": at, "top_k": 200}
                assert new.get_all(**asked) == m.get_all(**asked), at
        check = new.check(full=True)
        assert check["sound"], check["faults"]
