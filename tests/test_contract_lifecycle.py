"""What becomes of a memory: repeats, changes, deletion, pages, histories."""

from __future__ import annotations

import itertools
import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import MakeMemory
from mnemic import DuplicateError, Memory, NotFoundError, ValidationError


def keep(m: Memory, text: str, **more: Any) -> str:
    more.setdefault("user_id", "u1")
    [item] = m.add(text, infer=False, **more)["results"]
    return item["id"]


def texts(listed: Any) -> list[str]:
    return [item["memory"] for item in listed["results"]]


# --- repeats (2.3) ----------------------------------------------------------------------------------------


def test_a_repeat_gives_the_first_id_and_another_user_gets_his_own(m: Memory) -> None:
    first = keep(m, "Owns a red kayak.")
    [again] = m.add("  owns a  red kayak. ", user_id="u1", infer=False)["results"]
    [other] = m.add("Owns a red kayak.", user_id="u2", infer=False)["results"]
    assert (again["event"], again["id"], again["memory"]) == ("NONE", first, "Owns a red kayak.")
    assert other["event"] == "ADD"
    assert other["id"] != first
    assert m.get_all(user_id="u1")["total"] == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Jürgen wohnt in Köln", unicodedata.normalize("NFD", "JÜRGEN WOHNT IN KÖLN")),
        ("Straße", "STRASSE"),
        ("我住在\u3000上海", "我住在 上海"),
        ("a\tb\nc", "A B C"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
    ],
)
def test_texts_that_differ_in_form_only_are_one(m: Memory, one: str, two: str) -> None:
    assert keep(m, one) == keep(m, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("住在上海", "住在北京"),
        ("Я живу в Твери", "Я живу в Туле"),
        ("x²", "x2"),
        ("C++", "C"),
        ("🦊", "🐝"),
        ("...", "!!!"),
        ("أحب الشاي", "أحب القهوة"),
        ("मुझे चाय पसंद है", "मुझे कॉफ़ी पसंद है"),
    ],
)
def test_texts_that_say_something_else_stay_two(m: Memory, one: str, two: str) -> None:
    assert keep(m, one) != keep(m, two)


def test_the_same_words_of_two_days_stay_two_messages(m: Memory) -> None:
    one = keep(m, "Thanks!", timestamp="2024-05-01T10:00:00Z")
    two = keep(m, "Thanks!", timestamp="2024-05-02T10:00:00Z")
    assert one != two
    assert keep(m, "Thanks!", timestamp="2024-05-02T22:00:00Z") == two


def test_a_repeated_fact_stays_one_whenever_it_is_said(m: Memory) -> None:
    ids = {
        m.add(facts=["Owns a kayak"], user_id="u1", timestamp=day)["results"][0]["id"]
        for day in ("2024-05-01", "2024-05-02")
    }
    assert len(ids) == 1


def test_the_same_text_twice_in_one_call_is_one_memory(m: Memory) -> None:
    added = m.add(facts=["Owns a kayak", "owns a  KAYAK"], user_id="u1")["results"]
    assert [item["event"] for item in added] == ["ADD", "NONE"]
    assert added[0]["id"] == added[1]["id"]


def test_a_repeat_adds_its_run_and_its_message(m: Memory) -> None:
    uid = keep(m, "Owns a kayak", run_id="r1")
    keep(m, "Owns a kayak", run_id="r2")
    assert [m.get_all(run_id=run)["total"] for run in ("r1", "r2")] == [1, 1]
    item = m.get(uid)
    assert item is not None
    assert item["run_ids"] == ["r1", "r2"]
    assert item["source"] is not None
    assert len(item["source"]["message_ids"]) == 2
    assert len(m.history(uid)) == 1


def test_an_update_into_a_live_text_is_refused_and_changes_nothing(m: Memory) -> None:
    cat, dog = keep(m, "Has a cat"), keep(m, "Has a dog")
    with pytest.raises(DuplicateError) as caught:
        m.update(dog, text="has a CAT")
    assert caught.value.existing_id == cat
    assert m.get(dog)["memory"] == "Has a dog"
    assert len(m.history(dog)) == 1


def test_a_text_that_was_updated_away_can_be_added_again(m: Memory) -> None:
    uid = keep(m, "Has a cat")
    m.update(uid, text="Has two cats")
    assert keep(m, "Has a cat") != uid


# --- history (2.15) ---------------------------------------------------------------------------------------


def test_history_tells_add_update_delete_in_order(m: Memory) -> None:
    uid = keep(m, "Has a cat")
    m.update(uid, text="Has two cats", actor="ann", reason="she said so")
    m.delete(uid, actor="bob", reason="cleaning")
    entries = m.history(uid)
    assert [(e["event"], e["old_memory"], e["new_memory"]) for e in entries] == [
        ("ADD", None, "Has a cat"),
        ("UPDATE", "Has a cat", "Has two cats"),
        ("DELETE", "Has two cats", None),
    ]
    times = [e["updated_at"] for e in entries]
    assert None not in times
    assert times == sorted(times)
    assert [e["is_deleted"] for e in entries] == [False, False, True]
    assert [(e["actor"], e["reason"]) for e in entries] == [
        (None, None),
        ("ann", "she said so"),
        ("bob", "cleaning"),
    ]
    assert len({e["id"] for e in entries}) == 3


def test_history_has_the_metadata_before_and_after(m: Memory) -> None:
    uid = keep(m, "Has a cat", metadata={"n": 1})
    m.update(uid, metadata={"n": 2})
    last = m.history(uid)[-1]
    assert (last["old_memory"], last["new_memory"]) == ("Has a cat", "Has a cat")
    assert (last["old_metadata"], last["new_metadata"]) == ({"n": 1}, {"n": 2})


def test_history_goes_on_through_restore(m: Memory, ticking: None) -> None:
    uid = keep(m, "Has a cat")
    m.delete(uid)
    assert m.restore(uid)["event"] == "RESTORE"
    assert [e["event"] for e in m.history(uid)] == ["ADD", "DELETE", "RESTORE"]
    assert m.history(uid)[-1]["new_memory"] == "Has a cat"


# --- metadata (2.16) --------------------------------------------------------------------------------------

GIVEN = {"shelf": "B2", "n": 3, "tags": ["x", "y"], "deep": {"k": None}, "ключ": "значение 🦊", "": 1.5}


def test_metadata_comes_back_as_given_with_types_and_order(m: Memory) -> None:
    item = m.get(keep(m, "a book", metadata=GIVEN))
    assert item is not None
    assert item["metadata"] == GIVEN
    assert list(item["metadata"] or ()) == list(GIVEN)


def test_a_text_update_keeps_metadata_and_a_metadata_update_merges(m: Memory, ticking: None) -> None:
    uid = keep(m, "a book", metadata=GIVEN)
    made = m.get(uid)
    m.update(uid, text="a thick book")
    changed = m.get(uid)
    assert made is not None
    assert changed is not None
    assert changed["metadata"] == GIVEN
    assert changed["created_at"] == made["created_at"]
    assert changed["updated_at"] > made["updated_at"]
    m.update(uid, metadata={"n": 4})
    assert m.get(uid)["metadata"] == {**GIVEN, "n": 4}
    assert m.get(uid)["memory"] == "a thick book"


def test_replacing_metadata_is_a_choice_of_its_own(m: Memory) -> None:
    uid = keep(m, "a book", metadata=GIVEN)
    m.update(uid, metadata={"n": 4}, replace_metadata=True)
    assert m.get(uid)["metadata"] == {"n": 4}
    m.update(uid, metadata={}, replace_metadata=True)
    assert m.get(uid)["metadata"] is None


def test_an_update_that_changes_nothing_writes_no_history(m: Memory) -> None:
    uid = keep(m, "a book", metadata={"n": 1})
    assert m.update(uid, text="a book", metadata={"n": 1})["event"] == "NONE"
    assert len(m.history(uid)) == 1


def test_an_update_is_found_by_its_new_words_only(m: Memory) -> None:
    uid = keep(m, "plays the oboe")
    m.update(uid, text="paints 水墨画")
    assert [r["id"] for r in m.search("水墨画", user_id="u1")["results"]] == [uid]
    assert texts(m.search("oboe", user_id="u1", threshold=0.3)) == []


# --- deletion ---------------------------------------------------------------------------------------------


def test_a_deleted_memory_is_found_nowhere_but_in_trash_and_history(m: Memory) -> None:
    uid = keep(m, "Has a cat")
    m.delete(uid, actor="bob", reason="cleaning")
    assert m.get(uid) is None
    assert texts(m.search("cat", user_id="u1")) == []
    assert m.get_all(user_id="u1")["total"] == 0
    [gone] = m.trash(user_id="u1")["results"]
    assert (gone["id"], gone["memory"], gone["deleted_by"], gone["deleted_reason"]) == (
        uid,
        "Has a cat",
        "bob",
        "cleaning",
    )
    assert gone["deleted_at"]
    [shown] = m.get_all(user_id="u1", show_deleted=True)["results"]
    assert shown["deleted_by"] == "bob"


def test_a_restored_memory_is_back_as_it_was(m: Memory) -> None:
    uid = keep(m, "Has a cat", metadata={"n": 1}, run_id="r")
    before = m.get(uid)
    m.delete(uid)
    m.restore(uid)
    after = m.get(uid)
    assert before is not None
    assert after is not None
    assert {**after, "updated_at": None, "version": 1} == {**before, "updated_at": None}
    assert [r["id"] for r in m.search("cat", user_id="u1")["results"]] == [uid]
    assert m.restore(uid)["event"] == "NONE"


def test_a_restore_into_a_live_text_is_refused(m: Memory) -> None:
    uid = keep(m, "Has a cat")
    m.delete(uid)
    twin = keep(m, "has a cat")
    with pytest.raises(DuplicateError) as caught:
        m.restore(uid)
    assert caught.value.existing_id == twin


@pytest.mark.parametrize("verb", ["delete", "update"])
def test_a_deleted_memory_cannot_be_changed(m: Memory, verb: str) -> None:
    uid = keep(m, "Has a cat")
    m.delete(uid)
    with pytest.raises(NotFoundError):
        getattr(m, verb)(uid, **({"text": "x"} if verb == "update" else {}))


def test_delete_all_takes_only_its_scope(m: Memory) -> None:
    keep(m, "one")
    keep(m, "two", agent_id="a")
    for text in ("one", "two", "three"):
        keep(m, text, user_id="u2")
    assert m.delete_all(user_id="u1")["deleted"] == 2
    assert m.get_all(user_id="u1")["total"] == 0
    assert m.get_all(user_id="u2")["total"] == 3
    assert texts(m.search("three", user_id="u2", top_k=1)) == ["three"]


def test_delete_all_in_a_run_leaves_what_other_runs_said(m: Memory) -> None:
    both, only = keep(m, "both", run_id="r1"), keep(m, "only", run_id="r1")
    keep(m, "both", run_id="r2")
    assert m.delete_all(run_id="r1")["deleted"] == 1
    assert m.get(only) is None
    assert m.get_all(run_id="r1")["total"] == 0
    assert [i["id"] for i in m.get_all(run_id="r2")["results"]] == [both]


def test_a_dry_run_names_what_a_filtered_delete_takes(m: Memory) -> None:
    keep(m, "cheap", metadata={"price": 5})
    dear = keep(m, "dear", metadata={"price": 25})
    condition = {"price": {"gte": 10}}
    assert m.delete_all(user_id="u1", filters=condition, dry_run=True)["would_delete"] == [dear]
    assert m.get_all(user_id="u1")["total"] == 2
    assert m.delete_all(user_id="u1", filters=condition)["deleted"] == 1
    assert texts(m.get_all(user_id="u1")) == ["cheap"]


def test_messages_stay_when_memories_go(m: Memory) -> None:
    uid = keep(m, "Has a cat")
    m.update(uid, text="Has two cats")
    m.delete_all(user_id="u1")
    assert [item["content"] for item in m.messages(user_id="u1")["results"]] == ["Has a cat"]


def test_reset_removes_this_tenant_only_and_the_memory_goes_on(m: Memory) -> None:
    uid = keep(m, "Has a cat")
    m.reset()
    assert m.get(uid) is None
    assert m.messages(user_id="u1")["total"] == 0
    assert keep(m, "Has a cat") != uid
    assert texts(m.search("cat", user_id="u1")) == ["Has a cat"]


# --- pages (2.21) -----------------------------------------------------------------------------------------


def test_pages_show_every_memory_once_while_others_are_added(m: Memory, ticking: None) -> None:
    m.add(facts=[f"memory {i}" for i in range(137)], user_id="u1")
    seen: list[str] = []
    cursor, page = None, 0
    while True:
        listed = m.get_all(user_id="u1", top_k=25, cursor=cursor)
        seen += texts(listed)
        page, cursor = page + 1, listed["next"]
        assert listed["truncated"] == (cursor is not None)
        assert listed["total"] == (137 if page <= 2 else 142)
        if page == 2:
            m.add(facts=[f"late {i}" for i in range(5)], user_id="u1")
        if cursor is None:
            break
    assert page == 6
    assert sorted(seen) == sorted(f"memory {i}" for i in range(137))


def test_the_newest_comes_first_and_one_call_keeps_its_order(m: Memory, ticking: None) -> None:
    keep(m, "old")
    m.add(facts=["a", "b", "c"], user_id="u1")
    assert texts(m.get_all(user_id="u1")) == ["c", "b", "a", "old"]


def test_expiry_is_decided_before_the_limit(m: Memory) -> None:
    m.add(facts=["live 1", "live 2"], user_id="u1")
    m.add(facts=[f"gone {i}" for i in range(61)], user_id="u1", expiration_date="2020-01-01")
    assert sorted(texts(m.get_all(user_id="u1", top_k=2))) == ["live 1", "live 2"]
    assert sorted(texts(m.search("live gone", user_id="u1", top_k=2))) == ["live 1", "live 2"]
    assert m.get_all(user_id="u1")["total"] == 2
    assert m.get_all(user_id="u1", show_expired=True)["total"] == 63


def test_messages_come_in_the_order_said_and_in_pages(m: Memory) -> None:
    turns = [{"role": "user", "content": f"turn {i} 第{i}句"} for i in range(7)]
    m.add(turns, user_id="u1", infer=False, timestamp="2024-01-01T00:00:00Z")
    seen, cursor = [], None
    while True:
        page = m.messages(user_id="u1", limit=3, cursor=cursor)
        seen += [item["content"] for item in page["results"]]
        assert page["total"] == 7
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [turn["content"] for turn in turns]


def test_trash_is_paged_like_a_list(m: Memory) -> None:
    m.add(facts=[f"memory {i}" for i in range(5)], user_id="u1")
    m.delete_all(user_id="u1")
    first = m.trash(user_id="u1", top_k=3)
    rest = m.trash(user_id="u1", top_k=3, cursor=first["next"])
    assert first["total"] == rest["total"] == 5
    assert len({*texts(first), *texts(rest)}) == 5


def test_a_cursor_of_another_verb_is_refused_or_harmless(m: Memory) -> None:
    m.add(facts=["a", "b"], user_id="u1")
    for cursor in ("", "x", "AAAA", "W10=", 5, b"x", "é"):
        with pytest.raises(ValidationError, match="cursor"):
            m.get_all(user_id="u1", cursor=cursor)


# --- facts ------------------------------------------------------------------------------------------------


def test_given_facts_carry_all_that_was_given(m: Memory) -> None:
    added = m.add(
        [{"role": "user", "name": "ann", "content": "I'm allergic to peanuts since 2019."}],
        facts=[
            {
                "text": "Ann is allergic to peanuts",
                "valid_from": "2019",
                "metadata": {"n": 2},
                "categories": ["health"],
                "source": 0,
                "attributed_to": "ann",
            }
        ],
        user_id="ann",
        metadata={"n": 1, "from": "chat"},
    )
    assert added["extractor"] == "given"
    item = m.get(added["results"][0]["id"])
    assert item is not None
    assert item["kind"] == "fact"
    assert item["valid_from"] == "2019-01-01T00:00:00+00:00"
    assert item["metadata"] == {"n": 2, "from": "chat"}
    assert item["categories"] == ["health"]
    assert (item["attributed_to"], item["actor_id"], item["role"]) == ("ann", "ann", "user")
    assert item["source"] is not None
    assert item["source"]["quote"] == "I'm allergic to peanuts since 2019."


def test_a_fact_that_no_longer_holds_is_shown_on_request(m: Memory) -> None:
    m.add(facts=[{"text": "Lived in Ulm", "valid_from": "2010", "valid_to": "2015"}], user_id="u1")
    assert m.get_all(user_id="u1")["total"] == 0
    assert texts(m.get_all(user_id="u1", include_superseded=True)) == ["Lived in Ulm"]
    assert texts(m.get_all(user_id="u1", as_of="2012-06-01")) == ["Lived in Ulm"]
    assert texts(m.search("Ulm", user_id="u1", as_of="2012-06-01")) == ["Lived in Ulm"]
    assert texts(m.search("Ulm", user_id="u1", as_of="2016")) == []


def test_add_tells_its_cost_and_its_trace(m: Memory) -> None:
    added = m.add("one", user_id="u1", infer=False)
    assert added["usage"]["llm_calls"] == 0
    assert added["usage"]["embedded"] == 1
    [message] = m.messages(user_id="u1")["results"]
    assert message["trace_id"] == added["trace_id"]


def test_stats_count_a_scope_and_the_whole_tenant_only(m: Memory) -> None:
    uid = keep(m, "one")
    keep(m, "two")
    keep(m, "three", user_id="u2")
    m.add(facts=["four"], user_id="u2")
    m.delete(uid)
    mine, all_of_us = m.stats(user_id="u1"), m.stats()
    assert (mine["owners"], mine["messages"], mine["memories"], mine["deleted"]) == (1, 2, 1, 1)
    assert (all_of_us["owners"], all_of_us["memories"]) == (2, 3)
    assert all_of_us["by_kind"] == {"message": 2, "fact": 1}
    assert all_of_us["bytes"] > 0
    assert all_of_us["embedder"] == {"name": "fake:hash-64", "dims": 64}


def test_history_times_do_not_go_back_with_the_clock(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    backwards = itertools.count(1_700_000_000_000_000_000, -1_000_000_000)
    monkeypatch.setattr("mnemic.clock.time", SimpleNamespace(time_ns=lambda: next(backwards)))
    m = make_memory()
    [added] = m.add("Has a cat", user_id="u1", infer=False)["results"]
    m.update(added["id"], text="Has two cats")
    m.delete(added["id"])
    times = [entry["updated_at"] for entry in m.history(added["id"])]
    assert times == sorted(times)
