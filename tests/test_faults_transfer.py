"""The faults of other memories, section 2.34: export and import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import MakeMemory, tenant_rows
from mnemic import Memory
from mnemic.models.fakes import HashEmbedder

ANN = {"user_id": "ann"}


def everything(m: Memory) -> dict[str, Any]:
    listed = m.get_all(**ANN, show_expired=True, show_deleted=True, include_superseded=True)["results"]
    return {"all": listed, "histories": {item["id"]: m.history(item["id"]) for item in listed}}


def test_five_memories_arrive_with_their_histories_and_a_second_import_skips_them(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    here = make_memory()
    texts = [
        'Ann plays the "cello" 🎻',
        "我住在杭州",
        "Ключ лежит\nпод ковриком",
        "l'été à Nîmes",
        "ERR-7731 is open",
    ]
    ids = [here.add(facts=[text], **ANN, metadata={"n": 1})["results"][0]["id"] for text in texts[:4]]
    here.add(facts=[texts[4]], **ANN, expiration_date="2020-01-01")
    here.update(ids[0], text="Ann plays the viola", actor="ann", reason="她换了乐器")
    here.update(ids[1], metadata={"n": 2})
    here.export_to(tmp_path / "all.jsonl")
    there_path = tmp_path / "new" / "notes.db"
    with Memory(str(there_path), embedder=HashEmbedder()) as there:
        assert there.import_from(tmp_path / "all.jsonl")["added"] == 5
        assert everything(there) == everything(here)
        assert len(everything(there)["all"]) == 5
        before = tenant_rows(there_path, "default")
        again = there.import_from(tmp_path / "all.jsonl", on_conflict="skip")
        assert (again["added"], again["skipped"], again["messages"]) == (0, 5, 0)
        assert tenant_rows(there_path, "default") == before
