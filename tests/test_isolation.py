"""Nobody else's rows change what I find, and no argument lets a bound memory out of its ids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import MakeMemory
from mnemic import Memory, NotFoundError, ScopeError, ValidationError

MINE = [
    "Ann moved from Hangzhou to Shanghai in July",
    "她对花生过敏",
    'Ann\'s sister Mara likes "figs" 🦊',
    "The build broke with ERR-7731\nat night",
    "Я живу в Твери",
    "Ann likes figs and chess",
]
QUERIES = [
    "Where does Ann live?",
    "花生",
    "figs",
    "ERR-7731",
    "в Твери",
    "Mara chess night",
    "nothing of the kind",
]


def answers(m: Memory, **scope: Any) -> list[list[tuple[str, float]]]:
    """What each query finds, with scores."""
    found = (m.search(query, top_k=50, **scope)["results"] for query in QUERIES)
    return [[(hit["id"], hit["score"]) for hit in hits] for hits in found]


def assert_same(after: list[list[tuple[str, float]]], before: list[list[tuple[str, float]]]) -> None:
    for hits, known in zip(after, before, strict=True):
        assert [uid for uid, _ in hits] == [uid for uid, _ in known]
        assert [score for _, score in hits] == pytest.approx([score for _, score in known], abs=1e-6)


@pytest.fixture
def mine(m: Memory) -> Memory:
    for text in MINE:
        m.add(text, user_id="me", infer=False)
    return m


WORDS = st.sampled_from([*" ".join(MINE).split(), "figs", "茶", "ERR-1", "x"])
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(MINE),
        st.lists(WORDS, min_size=1, max_size=8).map(" ".join),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30),
    ).filter(str.strip),
    min_size=1,
    max_size=200,
)
SCOPES = st.sampled_from(
    [
        {"user_id": "you"},
        {"user_id": "you", "agent_id": "bot"},
        {"user_id": "me2", "app_id": "app"},
        {"agent_id": "me"},
        {"run_id": "me"},
    ]
)
QUICK = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@QUICK
@given(texts=TEXTS, scope=SCOPES)
def test_other_owners_rows_change_neither_order_nor_scores(
    mine: Memory, texts: list[str], scope: Any
) -> None:
    before = answers(mine, user_id="me")
    added = mine.add(facts=texts, **scope)["results"]
    assert_same(answers(mine, user_id="me"), before)
    mine.delete_all(**scope)
    assert mine.restore(added[0]["id"])["event"] == "RESTORE"
    assert_same(answers(mine, user_id="me"), before)


@QUICK
@given(texts=TEXTS)
def test_other_tenants_rows_change_neither_order_nor_scores(
    mine: Memory, make_memory: MakeMemory, texts: list[str]
) -> None:
    before = answers(mine, user_id="me")
    theirs = make_memory(tenant="third")
    theirs.add(facts=texts, user_id="me")
    assert_same(answers(mine, user_id="me"), before)
    assert_same(answers(make_memory(), user_id="me"), before)
    theirs.reset()
    theirs.close()
    assert_same(answers(mine, user_id="me"), before)


def test_ten_thousand_rows_of_another_user_change_nothing(
    mine: Memory, make_memory: MakeMemory, database: str
) -> None:
    before = answers(mine, user_id="me")
    # The index of a scope is made alike on both databases: on one, thousands suffice.
    batches = 5 if database == "sqlite" else 1
    for batch in range(batches):
        mine.add(facts=[f"Ann likes figs, fact {batch}-{i} 花生" for i in range(2_000)], user_id="you")
    assert mine.get_all(user_id="you", top_k=1)["total"] == batches * 2_000
    assert_same(answers(mine, user_id="me"), before)
    assert_same(answers(make_memory(), user_id="me"), before)
    assert mine.search("Ann likes figs, fact 0-77", user_id="you")["results"][0]["memory"].startswith(
        "Ann likes"
    )
    assert_same(answers(mine, user_id="me"), before)


def test_the_order_in_which_owners_were_stored_does_not_matter(
    make_memory: MakeMemory, memory_with: Any
) -> None:
    first, last = make_memory(), make_memory(tenant="fourth")
    for text in MINE:
        first.add(text, user_id="me", infer=False)
    first.add(facts=MINE, user_id="you")
    last.add(facts=MINE, user_id="you")
    for text in MINE:
        last.add(text, user_id="me", infer=False)
    scores = [[[score for _, score in hits] for hits in answers(m, user_id="me")] for m in (first, last)]
    assert scores[0] == [pytest.approx(each, abs=1e-6) for each in scores[1]]


# --- by id ------------------------------------------------------------------------------------------------

OUTSIDERS: dict[str, Any] = {
    "another tenant": lambda m, make: make(tenant="third"),
    "another user": lambda m, make: m.scoped(user_id="you"),
    "another agent": lambda m, make: m.scoped(agent_id="bot"),
    "the same user with an agent": lambda m, make: m.scoped(user_id="me", agent_id="bot"),
    "another app": lambda m, make: m.scoped(user_id="me", app_id="app"),
    "another run": lambda m, make: m.scoped(user_id="me", run_id="r2"),
}


@pytest.mark.parametrize("outsider", OUTSIDERS)
def test_an_outsider_with_the_id_can_do_nothing(m: Memory, make_memory: MakeMemory, outsider: str) -> None:
    [added] = m.add("my secret", user_id="me", run_id="r1", infer=False)["results"]
    uid = added["id"]
    history = m.history(uid)
    stranger = OUTSIDERS[outsider](m, make_memory)
    assert stranger.get(uid) is None
    assert stranger.history(uid) == []
    for attempt in (
        lambda: stranger.update(uid, text="stolen"),
        lambda: stranger.update(uid, metadata={"x": 1}),
        lambda: stranger.delete(uid),
        lambda: stranger.restore(uid),
    ):
        with pytest.raises(NotFoundError, match=f"^Memory with id {uid} not found"):
            attempt()
    assert m.get(uid)["memory"] == "my secret"
    assert m.history(uid) == history


@pytest.mark.parametrize(
    "guard", [{"user_id": "you"}, {"agent_id": "bot"}, {"run_id": "r2"}, {"app_id": "a"}]
)
def test_ids_of_a_call_guard_the_access(m: Memory, guard: dict[str, str]) -> None:
    [added] = m.add("my secret", user_id="me", run_id="r1", infer=False)["results"]
    uid = added["id"]
    assert m.get(uid, **guard) is None
    assert m.history(uid, **guard) == []
    for verb in ("delete", "restore"):
        with pytest.raises(NotFoundError):
            getattr(m, verb)(uid, **guard)
    with pytest.raises(NotFoundError):
        m.update(uid, text="x", **guard)
    assert m.get(uid, user_id="me", run_id="r1")["memory"] == "my secret"


def test_another_tenant_sees_nothing_at_all(m: Memory, make_memory: MakeMemory) -> None:
    m.add("my secret", user_id="me", run_id="r1", agent_id="a", infer=False)
    stranger = make_memory(tenant="third")
    for scope in ({"user_id": "me"}, {"agent_id": "a"}, {"run_id": "r1"}):
        assert stranger.get_all(**scope, show_deleted=True, show_expired=True)["total"] == 0
        assert stranger.search("secret", **scope)["results"] == []
        assert stranger.messages(**scope)["results"] == []
        assert stranger.trash(**scope)["total"] == 0
        assert stranger.delete_all(**scope)["deleted"] == 0
    assert stranger.stats()["memories"] == 0
    assert m.get_all(user_id="me")["total"] == 1


# --- a bound memory ---------------------------------------------------------------------------------------


@pytest.fixture
def crowd(m: Memory) -> Memory:
    """The same words under many ids."""
    for user in ("me", "you"):
        for run in (None, "r1", "r2"):
            m.add(f"{user} said figs in {run}", user_id=user, run_id=run, infer=False)
    m.add("the bot said figs", agent_id="bot", infer=False)
    return m


WIDER: list[dict[str, Any]] = [
    {"user_id": "you"},
    {"filters": {"user_id": "you"}},
    {"filters": {"user_id": ["me", "you"]}},
    {"filters": {"user_id": {"in": ["you", "me"]}}},
    {"filters": {"AND": [{"user_id": "you"}]}},
    {"filters": {"OR": [{"user_id": "you"}, {"user_id": "me"}]}},
    {"filters": {"OR": [{"user_id": "you"}, {"run_id": "r1"}]}},
    {"filters": {"OR": [{"agent_id": "bot"}, {"user_id": "you"}]}},
    {"filters": {"$or": [{"user_id": "you"}]}},
    {"filters": {"NOT": [{"user_id": "me"}]}},
    {"filters": {"user_id": "*"}},
    {"filters": {"user_id": {"ne": "me"}}},
    {"filters": {"user_id": {"exists": True}}},
    {"filters": {"AND": [{"OR": [{"user_id": "you"}]}]}},
]
NARROWER: list[dict[str, Any]] = [
    {},
    {"user_id": "me"},
    {"run_id": "r1"},
    {"filters": {"user_id": "me"}},
    {"filters": {"run_id": "r1"}},
    {"filters": {"OR": [{"run_id": "r1"}, {"agent_id": "bot"}]}},
    {"filters": {"OR": [{"run_id": "r1"}, {"run_id": "r2"}]}},
    {"filters": {"OR": [{"metadata.user_id": "you"}, {"text": {"contains": "figs"}}]}},
]
READS: dict[str, Any] = {
    "search": lambda m, **how: m.search("figs", **how),
    "why": lambda m, **how: m.why("figs", expect="figs", **how),
    "get_all": lambda m, **how: m.get_all(**how),
    "trash": lambda m, **how: m.trash(**how),
}


@pytest.mark.parametrize("verb", READS)
def test_no_read_of_a_bound_memory_reaches_further(crowd: Memory, verb: str) -> None:
    bound = crowd.scoped(user_id="me")
    for wider in WIDER:
        with pytest.raises(ValidationError):
            pytest.fail(f"{wider} gave {READS[verb](bound, **wider)}")


def test_no_delete_of_a_bound_memory_reaches_further(crowd: Memory) -> None:
    for wider in WIDER:
        with pytest.raises(ValidationError):
            pytest.fail(f"{wider} gave {crowd.scoped(user_id='me').delete_all(**wider)}")
    assert crowd.get_all(user_id="you")["total"] == 3
    assert crowd.get_all(user_id="me")["total"] == 3


@pytest.mark.parametrize("verb", ["search", "get_all"])
def test_a_bound_memory_can_be_narrowed(crowd: Memory, verb: str) -> None:
    for narrower in NARROWER:
        found = READS[verb](crowd.scoped(user_id="me"), **narrower)["results"]
        assert {item["user_id"] for item in found} == {"me"}, narrower


def test_a_bound_memory_works_like_one_with_the_ids_given(crowd: Memory) -> None:
    bound = crowd.scoped(user_id="me", run_id="r1")
    assert bound.get_all() == crowd.get_all(user_id="me", run_id="r1")
    assert bound.search("figs") == crowd.search("figs", user_id="me", run_id="r1")
    assert bound.messages() == crowd.messages(user_id="me", run_id="r1")
    assert bound.stats() == crowd.stats(user_id="me", run_id="r1")
    [added] = bound.add("a new thing", infer=False)["results"]
    item = crowd.get(added["id"])
    assert (item["user_id"], item["run_id"]) == ("me", "r1")
    assert bound.delete_all()["deleted"] == 2
    assert crowd.get_all(user_id="me")["total"] == 2


def test_a_bound_memory_writes_for_no_one_else(crowd: Memory) -> None:
    with pytest.raises(ScopeError, match="user_id"):
        crowd.scoped(user_id="me").add("planted", user_id="you", infer=False)
    with pytest.raises(ScopeError):
        crowd.scoped(user_id="me").scoped(user_id="you")
    with pytest.raises(ScopeError, match="purge"):
        crowd.scoped(user_id="me").reset()
    assert crowd.get_all(user_id="you")["total"] == 3


def test_binding_twice_narrows(crowd: Memory) -> None:
    twice = crowd.scoped(user_id="me").scoped(run_id="r2")
    assert [item["memory"] for item in twice.get_all()["results"]] == ["me said figs in r2"]


def test_stats_of_a_bound_memory_count_its_own(crowd: Memory) -> None:
    assert crowd.scoped(user_id="me").stats()["memories"] == 3
    assert crowd.stats()["memories"] == 7


def test_why_knows_nothing_of_others(crowd: Memory, make_memory: MakeMemory) -> None:
    for stranger in (crowd.scoped(user_id="nobody"), make_memory(tenant="third").scoped(user_id="you")):
        told = stranger.why("figs", expect="said figs")
        assert told["missing_at"] == "said"
        assert "you" not in told["reason"]
    assert crowd.why("figs", expect="you said figs", user_id="me")["missing_at"] == "said"
    assert crowd.why("figs", expect="you said figs", user_id="you")["missing_at"] is None


def test_the_cursor_of_another_users_page_opens_nothing(crowd: Memory) -> None:
    cursor = crowd.get_all(user_id="you", top_k=1)["next"]
    listed = crowd.get_all(user_id="me", cursor=cursor)["results"]
    assert {item["user_id"] for item in listed} <= {"me"}


# --- runs ------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(m: Memory) -> Memory:
    for user in ("me", "you"):
        for run in (None, "r1", "r2"):
            m.add(f"{user} said figs in {run}", user_id=user, run_id=run, infer=False)
    return m


@pytest.mark.parametrize("expect", ["me said figs in r2", "you said figs in r2", "figs in None"])
def test_why_in_a_run_shows_nothing_of_other_runs(runs: Memory, expect: str) -> None:
    for bound in (runs.scoped(user_id="me", run_id="r1"), runs.scoped(run_id="r1")):
        told = bound.why("figs", expect=expect)
        assert told["missing_at"] == "said"
        assert told.get("memory") is None


def test_stats_of_a_run_count_that_run(runs: Memory) -> None:
    assert runs.stats(user_id="me", run_id="r1")["memories"] == 1
    assert runs.stats(run_id="r1")["memories"] == 2
    assert runs.scoped(user_id="me", run_id="r1").stats()["by_kind"] == {"message": 1}
