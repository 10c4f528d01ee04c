"""Make a mem0 data directory with the mem0ai of the environment this runs in: DIR, and what mem0 says of it.

Run by tests/test_import_mem0.py in an environment of its own. mem0 itself does all the storing; only its two
models are replaced, the embedder by a hash and the LLM by prepared answers. DIR/said.json holds what mem0's own
get_all() and history() return at the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import types
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

DIMS = 8
ENTITY = {"data": "Oslo", "entity_type": "PROPER", "linked_memory_ids": ["m"], "user_id": "ann"}
METADATA = {
    "text": "say \"hi\" and 'bye'\nnext line 🦊",
    "number": 7,
    "float": -1.5,
    "big": 2**70,
    "yes": True,
    "nothing": None,
    "list": [1, "zwei", [3.5, {"vier": None}]],
    "ключ": {"вложенный": "да", "住": "上海"},
    "day": date(2024, 5, 6),
    "moment": datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
    "uuid": UUID(int=7),
    "": "an empty key",
}
# Keys that are mem0's own in one place or another, and here the user's.
CLASHING = {
    "metadata": {"metadata": 1},
    "memory": "mine",
    "score": 4,
    "id": "ours",
    "categories": ["x"],
    "app_id": "an app",
    "kind": "fact",
    "tenant": "other",
    "valid_to": "never",
}
CLASHING_IN_2_ONLY = {"attributed_to": "me", "expiration_date": "2020-01-01", "text_lemmatized": "mine"}


class HashedText:
    """An embedder that needs no model."""

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:DIMS]]

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text) for text in texts]


class PreparedAnswers:
    """An LLM that gives the answers it was prepared with, in order."""

    answers: ClassVar[list[str]] = []

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def generate_response(self, *args: Any, **kwargs: Any) -> str:
        return self.answers.pop(0)


def open_memory(folder: Path, client: Any = None, collection: str = "mem0") -> Any:
    from mem0 import Memory

    where = {"client": client} if client else {"path": str(folder / "qdrant")}
    return Memory.from_config(
        {
            "vector_store": {
                "provider": "qdrant",
                "config": {"collection_name": collection, "embedding_model_dims": DIMS, **where},
            },
            "history_db_path": str(folder / "history.db"),
        }
    )


def replace_models() -> None:
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    here = types.ModuleType("prepared")
    here.HashedText, here.PreparedAnswers = HashedText, PreparedAnswers  # type: ignore[attr-defined]
    sys.modules["prepared"] = here
    EmbedderFactory.provider_to_class["openai"] = "prepared.HashedText"
    config = LlmFactory.provider_to_class["openai"][1]
    LlmFactory.provider_to_class["openai"] = ("prepared.PreparedAnswers", config)


def add(m: Any, text: str, *, name: str | None = None, role: str = "user", **given: Any) -> str:
    message = {"role": role, "content": text, **({"name": name} if name else {})}
    return str(m.add([message], infer=False, **given)["results"][0]["id"])


def fill(m: Any, new: bool) -> None:
    """What both generations can do."""
    oslo = add(m, "I live in Oslo.", user_id="ann", metadata={"since": 2019})
    m.update(oslo, data="I live in Bergen.")
    m.update(oslo, data='I live in "上海" now.\nReally, л\'Шанхай 🏙️')
    add(m, "Ann's cat is called Müsli 🐈", user_id="ann", run_id="chat-1", metadata=METADATA)
    add(m, "I live in Oslo.", user_id="björn", metadata=CLASHING if new else CLASHING | CLASHING_IN_2_ONLY)
    add(m, "我对花生过敏，请记住。", user_id="李雷", agent_id="chef", name="李雷")
    add(m, "I recommended the jazz club.", agent_id="support-bot", role="assistant")
    add(m, "Only this run knows.", run_id="night-shift")
    add(m, "Thanks!", user_id="ann", run_id="chat-1")
    add(m, "thanks!", user_id="ann", run_id="chat-2", metadata={"again": True})
    add(m, "An id that is a number", user_id=42)  # type: ignore[arg-type]
    add(
        m,
        "From the days of Pacific time",
        user_id="ann",
        metadata={"created_at": "2024-03-05T10:00:00-08:00"},
    )
    add(m, "From a time without a zone", user_id="ann", metadata={"created_at": "2024-07-01T12:30:00.25"})
    gone = add(m, "Deleted: a secret crush", user_id="ann")
    m.update(gone, data="Deleted: no crush at all")
    m.delete(gone)
    for text in ("All of Zoë's, one", "All of Zoë's, два"):
        add(m, text, user_id="zoë", name="Zoë")
    m.delete_all(user_id="zoë")
    PreparedAnswers.answers = ["1. Opened the page. 2. Read it."]
    m.add("go", agent_id="browser", memory_type="procedural_memory")


def infer_in_1(m: Any) -> None:
    facts = {"facts": ["Ann plays the cello"]}
    decided = {"memory": [{"id": "0", "text": "Ann plays the cello", "event": "ADD"}]}
    PreparedAnswers.answers = [json.dumps(facts), json.dumps(decided)]
    m.add("I play the cello", user_id="ann", metadata={"source": "chat"})


def fill_as_2(m: Any) -> None:
    said = [
        {"role": "user", "content": "I play the cello & the oboe=both"},
        {"role": "assistant", "content": "好"},
    ]
    facts = [{"id": "0", "text": "Ann plays the cello", "attributed_to": "user"}]
    PreparedAnswers.answers = [json.dumps({"memory": facts})]
    m.add(said, user_id="ann", agent_id="a&b=c%", run_id="chat-3", metadata={"source": "chat"})
    add(m, "A ticket until new year 2999", user_id="ann", expiration_date="2999-12-31")
    past = add(m, "A ticket that has run out", user_id="ann", expiration_date="2020-02-29")
    m.update(past, metadata={"only": "metadata"})
    m.entity_store.insert(vectors=[[0.5] * DIMS], payloads=[ENTITY], ids=[str(UUID(int=1))])


def said_by(m: Any, new: bool) -> dict[str, Any]:
    """All that mem0 gives out, asked for owner by owner, and the history of everything there was."""
    found: dict[str, Any] = {}
    owners = [{"user_id": name} for name in ("ann", "björn", "李雷")]
    owners += [{"agent_id": name} for name in ("support-bot", "browser")] + [{"run_id": "night-shift"}]
    for ids in owners:
        asked = {"filters": ids, "top_k": 1000, "show_expired": True} if new else {**ids, "limit": 1000}
        found.update({item["id"]: item for item in m.get_all(**asked)["results"]})
    listed = m.vector_store.list(**({"top_k": 1000} if new else {"limit": 1000}))[0]
    for uid in {str(point.id) for point in listed} - set(found):  # 1.x cannot list the memories of a number
        found[uid] = m.get(uid)
    ids = [row[0] for row in m.db.connection.execute("SELECT DISTINCT memory_id FROM history")]
    return {"memories": list(found.values()), "history": {uid: m.history(uid) for uid in ids}}


def main(folder: Path) -> None:
    os.environ["MEM0_TELEMETRY"], os.environ["MEM0_DIR"] = "False", str(folder)
    os.environ["OPENAI_API_KEY"] = "none"
    folder.mkdir(parents=True)
    replace_models()
    new = version("mem0ai").startswith("2.")
    m = open_memory(folder)
    client = m.vector_store.client
    fill(m, new)
    (fill_as_2 if new else infer_in_1)(m)
    said = said_by(m, new)
    work = open_memory(folder, client, "work")
    add(work, "Kept in another collection", user_id="ann")
    said["memories"] += work.get_all(**({"filters": {"user_id": "ann"}} if new else {"user_id": "ann"}))[
        "results"
    ]
    leave_telemetry_row(client)
    said["version"] = version("mem0ai")
    (folder / "said.json").write_text(json.dumps(said, ensure_ascii=False), encoding="utf-8")
    client.close()


def leave_telemetry_row(client: Any) -> None:
    """What mem0 writes beside the memories when telemetry is on."""
    from mem0.memory.setup import get_or_create_user_id
    from mem0.vector_stores.qdrant import Qdrant

    get_or_create_user_id(Qdrant("mem0migrations", DIMS, client=client))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
