"""known_at: what the store knew at an instant is what a search or a list gave then."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import MakeMemory, SetClock
from mnemic import Memory, ValidationError


def pairs(found: Any) -> set[tuple[str, str]]:
    return {(item["id"], item["memory"]) for item in found["results"]}


def known(m: Memory, **more: Any) -> tuple[set[tuple[str, str]], ...]:
    """What search and list give: the (id, text) pairs of each."""
    found = m.search("天 live work", user_id="ann", top_k=100, **more)
    listed = m.get_all(user_id="ann", top_k=100, **more)
    assert listed["total"] == len(listed["results"])
    return pairs(found), pairs(listed)


def test_what_was_known_is_what_was_given_then(m: Memory, set_clock: SetClock) -> None:
    seen: list[tuple[str, Any]] = []

    def note(moment: str) -> None:
        set_clock(moment)
        seen.append((moment, known(m)))

    set_clock("2024-01-01T09:00")
    rome = m.add("I live in Rome. 罗马的\n'天' 🌤", user_id="ann")["results"][0]["id"]
    note("2024-01-02")
    set_clock("2024-02-01T09:00")
    m.add("I moved to Oslo.", user_id="ann")
    note("2024-02-02")
    set_clock("2024-03-01T09:00")
    note_id = m.add("a note on work", user_id="ann", infer=False, expiration_date="2024-03-31")
    [note_id] = [one["id"] for one in note_id["results"]]
    note("2024-03-02")
    set_clock("2024-03-05T09:00")
    m.update(note_id, "a longer note on work 天", user_id="ann")
    note("2024-03-06")
    note("2024-04-02")
    set_clock("2024-05-01T09:00")
    m.delete(rome)
    note("2024-05-02")
    set_clock("2024-06-01T09:00")
    m.restore(rome)
    note("2024-06-02")

    set_clock("2025-01-01")
    assert len({str(sorted(then[1])) for _, then in seen}) >= 4
    for moment, then in seen:
        assert known(m, known_at=moment) == then, moment
    assert known(m, known_at="2023-12-31") == (set(), set())
    assert "by 2023-12-31" in m.search("x", user_id="ann", known_at="2023-12-31")["notice"]
    assert known(m, known_at="2030-01-01") == known(m)


def test_what_was_known_of_another_time(m: Memory, set_clock: SetClock) -> None:
    set_clock("2024-01-10")
    m.add("I work at Acme.", user_id="ann")
    set_clock("2024-06-01")
    m.add("I left Acme and joined Birch.", user_id="ann", timestamp="2024-05-01")
    set_clock("2024-07-01")

    def one(**times: str) -> list[str]:
        return [i["memory"] for i in m.search("Where does Ann work?", user_id="ann", **times)["results"]]

    assert one() == ["I left Acme and joined Birch."]
    assert one(as_of="2024-02-15") == ["I work at Acme."]
    assert one(known_at="2024-05-20") == ["I work at Acme."]
    assert one(known_at="2024-05-20", as_of="2024-05-15") == ["I work at Acme."]
    assert one(as_of="2024-05-15") == ["I left Acme and joined Birch."]
    assert one(known_at="2024-05-20", as_of="2024-01-01") == []


def test_filters_and_reasons_speak_of_what_was_known(m: Memory, set_clock: SetClock) -> None:
    set_clock("2024-01-01")
    added = m.add("first words", user_id="ann", infer=False, metadata={"k": 1})["results"][0]
    set_clock("2024-02-01")
    m.update(added["id"], "other words", metadata={"k": 2}, user_id="ann")
    set_clock("2024-03-01")

    def texts(filters: dict[str, Any], **times: str) -> list[str]:
        asked: dict[str, Any] = {"user_id": "ann", "filters": filters, **times}
        found = [item["memory"] for item in m.search("words", **asked)["results"]]
        assert found == [item["memory"] for item in m.get_all(**asked)["results"]]
        return found

    assert texts({"text": {"contains": "first"}}) == []
    assert texts({"text": {"contains": "first"}}, known_at="2024-01-15") == ["first words"]
    assert texts({"k": 1}, known_at="2024-01-15") == ["first words"]
    assert texts({"k": 2}, known_at="2024-01-15") == []

    early = m.why("words", expect="other words", user_id="ann", known_at="2024-01-15")
    assert (early["missing_at"], "2024-02-01" in early["reason"]) == ("believed", True)
    then = m.why("words", expect="first words", user_id="ann", known_at="2024-01-15")
    assert (then["missing_at"], then["rank"]) == (None, 1)
    item = m.search("words", user_id="ann", known_at="2024-01-15")["results"][0]
    assert "deleted_at" not in item
    assert item["version"] == 1


def test_the_trash_of_today_is_not_what_was_known_then(make_memory: MakeMemory) -> None:
    with pytest.raises(ValidationError, match="show_deleted"):
        make_memory().get_all(user_id="ann", known_at="2024-01-01", show_deleted=True)
    with pytest.raises(ValidationError, match="known_at"):
        make_memory().search("x", user_id="ann", known_at="yesterday-ish")


def test_a_purge_reaches_back(m: Memory, set_clock: SetClock) -> None:
    set_clock("2024-01-01")
    gone = m.add("a secret 秘密", user_id="ann", infer=False)["results"][0]["id"]
    m.add("tea 茶", user_id="ann", infer=False)
    set_clock("2024-02-01")
    assert [len(part) for part in known(m, known_at="2024-01-15")] == [2, 2]
    m.purge(gone)
    assert [{text for _, text in part} for part in known(m, known_at="2024-01-15")] == [
        {"tea 茶"},
        {"tea 茶"},
    ]
