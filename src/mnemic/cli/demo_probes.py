"""The second half of `mnemic demo`: questions to the store, each with the stages that led to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from . import show

if TYPE_CHECKING:
    from rich.console import Console

    from mnemic import shapes
    from mnemic.memory import Memory

MAY = "2024-05-15"
HOME = "Where do I live?"
TASTE = "Should I put coriander on the noodles?"
SCORES = (
    "Each question comes with its best answer and the stages on the way to it. A score lies in 0 to 1: dense is"
    " nearness in meaning, lexical is words in common, neighbours is what stands beside it in the chat."
)


def ask_all(console: Console, memory: Memory, questions: Sequence[str]) -> None:
    """All probes, in order."""
    show.title(console, "2. The same fact in other words")
    show.paragraph(console, SCORES)
    ask(console, memory, "How do I feel about chillies?")
    ask(console, memory, "我能吃花生酱吗？", meaning="May I eat peanut butter?")
    show.title(console, "3. A rare error code")
    ask(console, memory, "What was behind ERR-7731 again?")
    old_beside_new(console, memory)
    two_users(console, memory, questions)
    left_out(console, memory)
    change(console, memory)


def ask(console: Console, memory: Memory, query: str, *, meaning: str = "") -> None:
    """Ask as Ann; show the best hit, the stages on its way, what found it, and the second best."""
    best = first(console, memory, "ann", query, meaning=meaning)
    if best is None:
        return
    show.stages(console, memory.why(query, expect=best["memory"], user_id="ann"))
    words = best["score_details"]["words"]
    told = "They share no word: meaning found it."
    show.beside(console, "=>", f"Question and answer share: {', '.join(words)}." if words else told)
    for item in memory.search(query, user_id="ann", top_k=2)["results"][1:]:
        label = f"   Second best, score {item['score'] or 0:.2f}:"
        show.beside(console, label, show.fitting(item["memory"], console.width - len(label) - 1))


def first(
    console: Console, memory: Memory, user_id: str, query: str, *, meaning: str = "", as_of: str | None = None
) -> shapes.MemoryItem | None:
    """Ask, and show the best hit with its score; None where there is none."""
    began = perf_counter()
    found = memory.search(query, user_id=user_id, top_k=1, as_of=as_of, explain=True)
    took = (perf_counter() - began) * 1000
    when = "" if as_of is None else f", as of {as_of}"
    in_english = f" ({meaning})" if meaning else ""
    console.print()
    show.beside(console, f"{user_id} asks{when}:", f"{query}{in_english}")
    if not found["results"]:
        show.beside(console, "=>", found["notice"])
        return None
    best = found["results"][0]
    about = f"said {(best['observed_at'] or '')[:10]}, score {best['score'] or 0:.2f}, found in {took:.0f} ms"
    until = f", held until {best['valid_to'][:10]}" if best["valid_to"] else ""
    show.beside(console, "=>", show.one_line(best["memory"]), show.faint(f"{about}{until}"))
    return best


def old_beside_new(console: Console, memory: Memory) -> None:
    """Ask for what changed: now and then, and what became of the old statement."""
    show.title(console, "4. Old beside new: where Ann lives now, and where she lived in May")
    first(console, memory, "ann", HOME)
    then = first(console, memory, "ann", HOME, as_of=MAY)
    if then is None:
        return
    console.print()
    console.print("Why the answer of May is not the answer now:")
    show.stages(console, memory.why(HOME, expect=then["memory"], user_id="ann"))
    history(console, memory, then["id"])


def history(console: Console, memory: Memory, memory_id: str) -> None:
    """The changes of Ann's memory, oldest first."""
    console.print("Its history:")
    now = memory.get(memory_id, user_id="ann")
    successor = memory.get(now["superseded_by"]) if now is not None and now["superseded_by"] else None
    for entry in memory.history(memory_id, user_id="ann"):
        text = show.one_line(entry["new_memory"] or "")
        if entry["event"] == "SUPERSEDE" and successor is not None:
            text = f"by: {show.one_line(successor['memory'])}"
        why = f"by {entry['actor']}: {entry['reason']}" if entry["actor"] else ""
        show.beside(console, f"   {entry['event']:<10}", text, *([show.faint(why)] if why else []))


def two_users(console: Console, memory: Memory, questions: Sequence[str]) -> None:
    """The same question of two users; then everything that Bob can be shown."""
    show.title(console, "5. Two users with opposite tastes")
    of_ann = first(console, memory, "ann", TASTE)
    first(console, memory, "bob", TASTE)
    seen = [item for query in questions for item in memory.search(query, user_id="bob", top_k=100)["results"]]
    strange = sum(item["user_id"] == "ann" for item in seen)
    told = f"{len(questions)} questions asked as bob give {len(seen)} hits, {strange} of them Ann's."
    console.print()
    show.beside(console, "=>", f"Does Bob see anything of Ann's? {told}")
    if of_ann is not None:
        console.print("   Ann's answer, looked for as bob:")
        show.stages(console, memory.why(TASTE, expect=of_ann["memory"], user_id="bob"))


def left_out(console: Console, memory: Memory) -> None:
    """Follow what was said and is no memory: words of the assistant, and a question."""
    show.title(console, "6. Where did it go? `why` follows a text from message to rank")
    for query, expect in (("Where could I live?", "Suzhou"), ("Do I need a permit?", "residence permit")):
        console.print()
        show.beside(console, "ann asks:", f"{query} And why does {expect!r} not come back?")
        verdict = memory.why(query, expect=expect, user_id="ann")
        show.stages(console, verdict)
        missing, reason = verdict["missing_at"], verdict["reason"].partition(":")[0]
        told = "It does come back." if missing is None else f"First missing at {missing!r}: {reason}."
        show.beside(console, "=>", told)


def change(console: Console, memory: Memory) -> None:
    """Change a memory; what it said before is still there."""
    show.title(console, "7. The cat turns four: `update` makes a version, and the old one stays")
    cat = first(console, memory, "ann", "我的猫叫什么名字？", meaning="What is my cat called?")
    if cat is None:
        return
    three, four = "三岁", "四岁"
    memory.update(
        cat["id"],
        cat["memory"].replace(three, four),
        user_id="ann",
        actor="ann",
        reason=f"three years old ({three}) became four ({four})",
    )
    console.print()
    history(console, memory, cat["id"])
