"""How a fact that a model draws changes, corrects, refines, repeats, ends or forgets what is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from conftest import MakeMemory
from mnemic import Memory
from mnemic.models.fakes import ScriptedServer
from talk_with import asked, events, fact, facts, kept, llm_at, meeting, texts


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def m(make_memory: MakeMemory, server: ScriptedServer) -> Memory:
    return make_memory(llm=llm_at(server))


def in_days(days: int) -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)


def test_a_change_closes_the_old_where_the_new_begins(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(m, "Lives in Oslo 住", timestamp="2023-01-01")
    meeting(server, ("Lives in Turku 住", {"Lives in Oslo 住": "changes"}), since="2024-05")
    [new] = m.add("I live in Turku 住 since May", user_id="u1", timestamp="2024-06-03")["results"]
    assert (new["event"], new["supersedes"]) == ("ADD", [old])
    item, successor = m.get(old), m.get(new["id"])
    assert item is not None and successor is not None
    assert (item["valid_to"], item["superseded_by"]) == ("2024-05-01T00:00:00+00:00", new["id"])
    assert successor["valid_from"] == "2024-05-01T00:00:00+00:00"
    assert texts(m) == ["Lives in Turku 住"]
    assert texts(m, as_of="2024-04-01") == ["Lives in Oslo 住"]
    assert [entry["event"] for entry in m.history(old)] == ["ADD", "SUPERSEDE"]


def test_a_change_to_come_leaves_the_present_alone(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Lives in Oslo 住")
    move = in_days(30)
    meeting(server, ("Lives in Turku 住", {"Lives in Oslo 住": "changes"}), since=move.date().isoformat())
    m.add("Next month I move to Turku 住", user_id="u1")
    assert texts(m) == ["Lives in Oslo 住", "Lives in Turku 住"], "both are true: where, and what is planned"
    assert texts(m, as_of=move + timedelta(days=1)) == ["Lives in Turku 住"]
    assert m.check()["sound"]


def test_a_change_that_arrives_late_is_filed_as_past(m: Memory, server: ScriptedServer) -> None:
    [now] = kept(m, "Lives in Oslo 住", timestamp="2024-01-01")
    meeting(server, ("Lives in Turku 住", {"Lives in Oslo 住": "changes"}))
    [late] = m.add("I live in Turku 住 now", user_id="u1", timestamp="2022-01-01")["results"]
    assert "supersedes" not in late
    item = m.get(late["id"])
    assert item is not None
    assert (item["valid_to"], item["superseded_by"]) == ("2024-01-01T00:00:00+00:00", now)
    assert texts(m) == ["Lives in Oslo 住"]
    assert texts(m, as_of="2023-01-01") == ["Lives in Turku 住"]


def test_an_old_talk_ends_nothing_that_was_said_since(m: Memory, server: ScriptedServer) -> None:
    """What is said again by an old talk stays what it was when it was said later too."""
    kept(m, "Lives in Rome 住", timestamp="2023-01-01")
    kept(m, "Lives in Oslo 住", timestamp="2024-01-01")
    meeting(server, ("Lives in Oslo 住", {"Lives in Rome 住": "changes"}))
    [again] = m.add("I live in Oslo 住", user_id="u1", timestamp="2022-01-01")["results"]
    assert again["event"] == "NONE"
    assert "Lives in Oslo 住" in texts(m)
    assert m.check()["sound"]


def test_an_end_told_by_an_old_talk_ends_nothing_and_is_told(m: Memory, server: ScriptedServer) -> None:
    [cat] = kept(m, "Has a cat 猫", timestamp="2024-01-01")
    meeting(server, ("No cat 猫 any more", {"Has a cat 猫": "ends"}))
    [item] = m.add("No cat 猫 any more", user_id="u1", timestamp="2022-01-01")["results"]
    assert (item["id"], item["event"]) == (cat, "NONE")
    assert texts(m) == ["Has a cat 猫"]


def test_an_end_that_was_told_is_not_put_off(m: Memory, server: ScriptedServer) -> None:
    end = in_days(10)
    m.add(facts=[{"text": "Is on leave 假", "valid_to": end}], user_id="u1")
    meeting(server, ("Works again 假", {"Is on leave 假": "changes"}), since=in_days(40).date().isoformat())
    m.add("From next month I work again 假", user_id="u1")
    [leave] = [i for i in m.get_all(user_id="u1")["results"] if i["memory"] == "Is on leave 假"]
    assert leave["valid_to"] == end.isoformat()


def test_a_correction_takes_the_old_back(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(m, "住在北京")
    meeting(server, ("住在上海", {"住在北京": "corrects"}))
    [new] = m.add("其实我住在上海", user_id="u1")["results"]
    assert new["corrects"] == [old]
    assert texts(m) == ["住在上海"]
    assert m.get(old) is None
    [gone] = m.trash(user_id="u1")["results"]
    assert new["id"] in str(gone["deleted_reason"])
    assert m.get_all(user_id="u1", include_superseded=True)["total"] == 1


def test_what_is_refined_keeps_id_metadata_expiry_and_history(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(
        m, "Plays cricket 🏏", metadata={"n": 1, "住": '"q"'}, expiration_date="2199-01-01", run_id="r1"
    )
    meeting(server, ("Plays cricket 🏏 with friends", {"Plays cricket 🏏": "refines"}), category="sports")
    result = m.add("I play cricket 🏏 with friends", user_id="u1", run_id="r2", metadata={"n": 2})
    [new] = result["results"]
    assert (new["id"], new["event"], new["previous_memory"]) == (old, "UPDATE", "Plays cricket 🏏")
    item = m.get(old)
    assert item is not None
    assert (item["memory"], item["version"]) == ("Plays cricket 🏏 with friends", 2)
    assert item["metadata"] == {"n": 1, "住": '"q"'}
    assert item["expiration_date"] == "2199-01-01"
    assert sorted(item["run_ids"]) == ["r1", "r2"]
    assert item["categories"] == ["sports"]
    assert [(e["event"], e["old_memory"], e["new_memory"]) for e in m.history(old)] == [
        ("ADD", None, "Plays cricket 🏏"),
        ("UPDATE", "Plays cricket 🏏", "Plays cricket 🏏 with friends"),
    ]
    assert [hit["id"] for hit in m.search("with friends", user_id="u1")["results"]] == [old]


def test_a_repeat_in_another_run_and_language_widens_the_label(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(m, "Keeps bees, at Zoë's", run_id="r1")
    meeting(server, ("在 Zoë 那里养蜂", {"Keeps bees, at Zoë's": "repeats"}))
    result = m.add("我在 Zoë 那里养蜂", user_id="u1", run_id="r2")
    assert events(result) == [("NONE", "Keeps bees, at Zoë's")]
    assert texts(m, run_id="r1") == texts(m, run_id="r2") == ["Keeps bees, at Zoë's"]
    item = m.get(old)
    assert item is not None
    assert item["version"] == 1
    assert m.get_all(user_id="u1", run_id="r2")["results"][0]["id"] == old


def test_what_ends_leaves_no_successor(m: Memory, server: ScriptedServer) -> None:
    [old] = kept(m, "Has a cat 猫")
    meeting(server, ("The cat 猫 died", {"Has a cat 猫": "ends"}))
    result = m.add("My cat 猫 died yesterday", user_id="u1")
    assert events(result) == [("DELETE", "Has a cat 猫")]
    item = m.get(old)
    assert item is not None
    assert (item["superseded_by"], item["valid_to"] is not None) == (None, True)
    assert texts(m) == []
    assert [entry["event"] for entry in m.history(old)] == ["ADD", "SUPERSEDE"]


def test_what_is_to_be_forgotten_is_deleted_and_never_sent_again(m: Memory, server: ScriptedServer) -> None:
    secret = "Has a tattoo 纹身"
    server.enqueue(facts(fact(secret)))
    [old] = m.add("I have a tattoo 纹身", user_id="u1", run_id="r")["results"]
    meeting(server, ("asked to forget something", {secret: "forgets"}))
    assert events(m.add("Forget what I said of 纹身", user_id="u1", run_id="r")) == [("DELETE", secret)]
    assert m.get(old["id"]) is None
    server.enqueue('{"facts": []}')
    m.add("So what do you know of my 纹身?", user_id="u1", run_id="r")
    last = asked(server)[-1]
    assert last.known == {}
    assert not any("tattoo" in text for text in last.earlier)
    [gone] = m.trash(user_id="u1")["results"]
    assert "forgotten" in str(gone["deleted_reason"])


def test_one_fact_meets_several_memories(m: Memory, server: ScriptedServer) -> None:
    first, second, third = kept(m, "Lives in Oslo 住", "Rents a flat 住", "Likes the sea 住")
    met = {"Lives in Oslo 住": "changes", "Rents a flat 住": "corrects", "Likes the sea 住": "ends"}
    meeting(server, ("Owns a house in Turku 住", met))
    result = m.add("We own a house in Turku 住 now", user_id="u1")
    assert events(result) == [("ADD", "Owns a house in Turku 住"), ("DELETE", "Likes the sea 住")]
    assert (result["results"][0]["supersedes"], result["results"][0]["corrects"]) == ([first], [second])
    assert texts(m) == ["Owns a house in Turku 住"]
    assert m.get(third) is not None
    assert m.check()["sound"]


def test_a_repeat_may_end_another_memory(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Keeps bees 🐝", "Keeps hens 🐝")
    meeting(server, ("Keeps only bees 🐝", {"Keeps bees 🐝": "repeats", "Keeps hens 🐝": "ends"}))
    result = m.add("I only keep bees 🐝", user_id="u1")
    assert events(result) == [("NONE", "Keeps bees 🐝"), ("DELETE", "Keeps hens 🐝")]
    assert texts(m) == ["Keeps bees 🐝"]


HOWS = ("changes", "corrects", "refines", "repeats", "ends", "forgets")


@pytest.mark.sqlite
@pytest.mark.parametrize("first", HOWS)
@pytest.mark.parametrize("second", HOWS)
def test_two_facts_meet_one_memory(m: Memory, server: ScriptedServer, first: str, second: str) -> None:
    [old] = kept(m, "Works as a nurse 护士")
    one, two = "Works as a midwife 护士", "Works at night 护士"
    meeting(server, (one, {"Works as a nurse 护士": first}), (two, {"Works as a nurse 护士": second}))
    result = m.add("a midwife 护士, at night", user_id="u1")
    assert m.check()["sound"]
    everything = {item["memory"] for item in result["results"]}
    for text, how in ((one, first), (two, second)):
        if how in ("changes", "corrects"):
            assert text in texts(m), "nothing takes the place of a fact that was just told"
        if how == "refines":
            assert text in everything
    versions = [entry["new_memory"] for entry in m.history(old)]
    assert versions[0] == "Works as a nurse 护士"
    believed = m.get(old)
    if {first, second} & {"corrects", "forgets"}:
        assert believed is None
    else:
        assert believed is not None


def test_labels_that_were_not_offered_are_void_alone(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Keeps bees 🐝")
    meets = [
        {"memory": "m1", "how": "changes"},
        {"memory": "m1", "how": "forgets"},
        {"memory": "m99", "how": "ends"},
    ]
    told = {
        "text": "Keeps hens 🐝",
        "source": [0],
        "meets": [*meets, {"memory": "0", "how": "ends"}, {"memory": "m1"}],
    }
    server.enqueue(json.dumps({"facts": [told]}))
    result = m.add("I keep hens 🐝 now", user_id="u1", trace=True)
    assert events(result) == [("ADD", "Keeps hens 🐝")]
    assert len(result["results"][0]["supersedes"]) == 1
    [verdict] = result["trace"]["verdicts"]
    assert [remark for remark in verdict["remarks"] if "m1" in remark]
    assert [remark for remark in verdict["remarks"] if "m99" in remark]
    assert m.trash(user_id="u1")["total"] == 0


def test_an_end_of_what_was_not_offered_is_refused(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(facts(fact("No bees any more", meets={"m7": "ends"})))
    result = m.add("I keep no bees any more", user_id="u1")
    assert [(one["reason"], one["detail"]) for one in result["rejected"]] == [("memory_not_offered", "m7")]
    assert texts(m) == []


@pytest.mark.parametrize("how", ["changes", "refines", "corrects", "repeats"])
def test_a_fact_whose_words_are_kept_already_is_that_memory(
    m: Memory, server: ScriptedServer, how: str
) -> None:
    old, live = kept(m, "Lives in Oslo 住", "Lives in Turku 住")
    meeting(server, ("lives in  Turku 住", {"Lives in Oslo 住": how}))
    [item] = [one for one in m.add("Turku 住", user_id="u1")["results"] if one["id"] == live]
    assert item["event"] == "NONE"
    assert ("Lives in Oslo 住" in texts(m)) is (how in ("refines", "repeats"))
    assert m.check()["sound"]
    assert (item.get("supersedes"), item.get("corrects")) == (
        [old] if how == "changes" else None,
        [old] if how == "corrects" else None,
    )


def test_a_refinement_into_the_words_of_an_event_that_is_kept(m: Memory, server: ScriptedServer) -> None:
    """The words are free, but not on the day on which the memory happened."""
    day = {"event_date": "2024-05-03"}
    m.add(facts=[{"text": "Married 婚", **day}, {"text": "Married Ann 婚", **day}], user_id="u1")
    meeting(server, ("Married Ann 婚", {"Married 婚": "refines"}))
    result = m.add("I married Ann 婚", user_id="u1")
    assert [item["event"] for item in result["results"]] == ["NONE"]
    assert texts(m) == ["Married Ann 婚", "Married 婚"]
    assert m.check()["sound"]


def test_another_runs_memories_are_offered_and_its_messages_are_not(
    m: Memory, server: ScriptedServer
) -> None:
    server.enqueue(
        facts(fact("John proposes the plan 计划 with two boats")), '{"facts": []}', '{"facts": []}'
    )
    m.add("John proposed the plan 计划 with two boats", user_id="u1", run_id="r1")
    m.add("Let us take the plan 计划 John proposed last week", user_id="u1", run_id="r2")
    m.add("and the boats?", user_id="u1", run_id="r2")
    other, same = asked(server)[1:]
    assert list(other.known.values()) == ["John proposes the plan 计划 with two boats"]
    assert other.earlier == []
    assert same.earlier == ["Let us take the plan 计划 John proposed last week"]


def test_nobody_elses_memories_or_messages_are_sent(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Keeps bees 🐝", user_id="u2")
    kept(m, "Keeps hens 🐝", agent_id="a1")
    server.enqueue(*['{"facts": []}'] * 3)
    m.add("About bees 🐝", user_id="u2", run_id="r")
    m.add("About hens 🐝", agent_id="a1", user_id="u1", run_id="r")
    m.add("About bees 🐝 and hens", user_id="u1", run_id="r")
    last = asked(server)[-1]
    assert (last.known, last.earlier) == ({}, [])


def test_what_is_sent_of_the_run_is_recent_and_bounded(m: Memory, server: ScriptedServer) -> None:
    server.enqueue(*['{"facts": []}'] * 4)
    old = [{"role": "user", "content": "long ago", "timestamp": "2024-05-01"}]
    m.add(old, user_id="u1", run_id="r")
    near = [{"role": "user", "content": f"turn {i} " + "字" * 2000} for i in range(15)]
    m.add(near, user_id="u1", run_id="r", timestamp="2024-06-01")
    m.add("and now?", user_id="u1", run_id="r", timestamp="2024-06-02")
    earlier = asked(server)[-1].earlier
    assert [text.split(" 字")[0] for text in earlier] == [f"turn {i}" for i in range(5, 15)]
    assert all(len(text) < 700 for text in earlier)
    m.add("it all began here", user_id="u1", run_id="r", timestamp="2024-05-02")
    assert asked(server)[-1].earlier == ["long ago"], "what was said later explains nothing"


def test_a_long_talk_is_looked_up_part_by_part(m: Memory, server: ScriptedServer) -> None:
    kept(m, "Has a sister, Zoë", "Is allergic to peanuts", "Plays the oboe")
    filler = [
        f"Then we talked about item {i} and nothing else of note happened at all. " * 4 for i in range(12)
    ]
    said = [
        *filler[:6],
        "My sister Zoë called. " + filler[6],
        *filler[6:],
        "I can eat peanuts again, not allergic.",
    ]
    server.enqueue('{"facts": []}')
    m.add([{"role": "user", "content": text} for text in said], user_id="u1")
    assert {"Has a sister, Zoë", "Is allergic to peanuts"} <= set(asked(server)[0].known.values())
