"""Results the way people read them, in 80 columns or whatever the terminal has. Rich is imported when used."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from mnemic import chronicle_shapes, shapes

LONGEST = 400

# What can be done about a text that is missing at a stage of `why`.
ADVICE = {
    "said": "`mnemic messages` shows what was said, `mnemic list` what was kept.",
    "kept": "`mnemic add --fact TEXT` keeps a fact as it is given.",
    "believed": "`mnemic history` of its id tells the rest; `mnemic restore` brings back what was deleted.",
    "eligible": "See --as-of, --include-superseded, --show-expired and --filter.",
    "returned": "A higher --top-k or a lower --threshold lets it through.",
}

# What the log shows of a change that opened and closed no version.
WORDLESS = {
    "EPISODE": "(messages kept)",
    "NONE": "(said again, or out of a run)",
    "REPAIR": "(index rows made anew)",
}

# How much of a day is shown of what was told less exactly.
SHOWN_OF = {"year": 4, "month": 7}

# What a kind of fault is.
FAULTS = {
    "damaged_file": "damage in the database file",
    "other_tokeniser": "another tokeniser made the terms",
    "missing_terms": "texts that cannot be found by their words",
    "wrong_terms": "texts that are found by words not theirs",
    "missing_vector": "versions that cannot be found by their meaning",
    "wrong_vector": "versions with a damaged vector",
    "wrong_key": "memories whose repeats would not be noticed",
    "low_counter": "owners whose next numbers are taken already",
    "stray_index_row": "index rows that belong to nothing",
    "orphan_row": "rows that refer to something that is not there",
    "same_memory_twice": "memories that say the same as another",
    "memory_without_version": "memories without any version",
    "broken_versions": "versions out of order, or that no change tells of",
    "broken_changes": "changes out of order, or of something that is not there",
    "damaged_trace": "traces that cannot be read",
}

# What a terminal would obey rather than show: control characters, and marks that reverse the reading order.
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def as_json(result: object) -> None:
    """Print one JSON document; characters are escaped only where the output cannot hold them."""
    holds_all = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(result, ensure_ascii=not holds_all, indent=2) + "\n")


def hits(found: shapes.SearchResult) -> None:
    """The hits of a search: score, text, and how the score came about where that was asked for."""
    console = make_console()
    for item in found["results"]:
        lines: list[str | Text] = [one_line(item["memory"]), *(faint(line) for line in about(item))]
        if "score_details" in item:
            lines.append(faint(clean(item["score_details"]["reason"])))
        beside(console, f"{item['score'] or 0:.3f}", *lines)
    _notice(console, found)


def memories(listed: shapes.ListResult) -> None:
    """A page of memories, and whether others follow."""
    console = make_console()
    for item in listed["results"]:
        lines: list[str | Text] = [one_line(item["memory"]), *(faint(line) for line in about(item))]
        if "deleted_at" in item:
            lines.append(faint(_deletion(item)))
        beside(console, "-", *lines)
    _footer(console, listed, "memory")


def messages(listed: shapes.MessageList) -> None:
    """Messages word for word with the time and the one who spoke."""
    console = make_console()
    for message in listed["results"]:
        speaker = message["name"] or message["role"]
        console.print(faint(f"{moment(message['timestamp'])}  {clean(speaker)}"))
        beside(console, "", clean(message["content"]))
    if not listed["results"]:
        console.print("No messages under these ids.")
    _footer(console, listed, "message")


def memory(item: shapes.MemoryItem | None) -> None:
    """One memory: every key that has a value, the text word for word."""
    if item is None:
        return
    rows = [(key, _value(value)) for key, value in item.items() if value not in (None, [])]
    pairs(make_console(), rows)


def history(entries: Sequence[shapes.HistoryItem]) -> None:
    """The changes of a memory, or of several, oldest first."""
    console = make_console()
    several = len({entry["memory_id"] for entry in entries}) > 1
    for entry in entries:
        lines = [one_line(entry["new_memory"] or "(deleted)"), *_difference(entry)]
        lines += [faint(entry["memory_id"])] if several else []
        beside(console, f"{moment(entry['updated_at'])}  {entry['event']:<9}", *lines)


def timeline(found: chronicle_shapes.TimelineResult, tz: tzinfo) -> None:
    """A line for each memory: from when to when it held, its text, and the id of what came after it."""
    console = make_console()
    for item in found["results"]:
        began = _day(item["began"], tz)[: SHOWN_OF.get(item["began_precision"] or "", 10)]
        after = "" if item["superseded_by"] is None else f"  -> {item['superseded_by']}"
        label = f"{began:<10} .. {_day(item['ended'], tz):<10}"
        console.print(f"{label}  {one_line(item['memory'])}{clean(after)}", soft_wrap=True)
    _footer(console, found, "memory", pages=found["next"] is not None)


def diff(found: chronicle_shapes.DiffResult) -> None:
    """What is new, what changed, what ended, what was removed and what came back."""
    console = make_console()
    for kind, items in (("added", found["added"]), ("restored", found["restored"])):
        for item in items:
            beside(console, f"{kind:<9}", one_line(item["memory"]), *map(faint, about(item)))
    for change in found["changed"]:
        after, lines = change["after"], [faint(f"was: {one_line(change['before']['memory'])}")]
        told = f"{change['id']}  {', '.join(change['fields'])}"
        beside(
            console,
            f"{'changed':<9}",
            one_line(after["memory"]),
            *(lines if "memory" in change["fields"] else []),
            faint(told),
        )
    for item in found["ended"]:
        beside(console, f"{'ended':<9}", one_line(item["memory"]), *map(faint, about(item)))
    for item in found["removed"]:
        beside(
            console, f"{'removed':<9}", one_line(item["memory"]), faint(item["id"]), faint(_deletion(item))
        )
    if not any(found[kind] for kind in ("added", "restored", "changed", "ended", "removed")):
        console.print("Nothing changed." if not found["truncated"] else "Nothing is shown.")
    elif found["truncated"]:
        console.print(faint("There is more of some kind; a higher --limit shows more."))


def _day(time: str | None, tz: tzinfo) -> str:
    """The day of a time in a zone."""
    return "" if time is None else datetime.fromisoformat(time).astimezone(tz).date().isoformat()


def log(page: shapes.LogPage) -> None:
    """Changes, newest first: what became of which memory, through whom and why."""
    console = make_console()
    for entry in page["results"]:
        ids = (entry["user_id"], entry["agent_id"], entry["app_id"])
        about = [entry["memory_id"] or "", " ".join(one for one in ids if one), f"trace {entry['trace_id']}"]
        first = entry["new_memory"] or WORDLESS.get(entry["event"], "(deleted)")
        lines = [one_line(first), *_difference(entry), faint(clean("  ".join(one for one in about if one)))]
        beside(console, f"{moment(entry['at'])}  {entry['event']:<9}", *lines)
    if not page["results"]:
        console.print("No such change.")
    _footer(console, page, "change")


def _difference(entry: shapes.HistoryItem | shapes.LogItem) -> list[str | Text]:
    """What a change replaced, and who made it and why."""
    lines: list[str | Text] = []
    if entry["old_memory"] is not None and entry["old_memory"] != entry["new_memory"]:
        lines.append(faint(f"was: {one_line(entry['old_memory'])}"))
    if entry["new_metadata"] != entry["old_metadata"]:
        lines.append(faint(f"metadata: {_value(entry['new_metadata'])}"))
    told = [f"by {entry['actor']}" if entry["actor"] else "", entry["reason"] or ""]
    if any(told):
        lines.append(faint(clean(": ".join(part for part in told if part))))
    return lines


def added(result: shapes.AddResult) -> None:
    """What became of an add, a memory at a time."""
    console = make_console()
    for item in result["results"]:
        lines: list[str | Text] = [one_line(item["memory"]), faint(item["id"])]
        if "previous_memory" in item:
            lines.append(faint(f"was: {one_line(item['previous_memory'])}"))
        lines += [faint(f"replaces {closed}") for closed in item.get("supersedes", [])]
        lines += [faint(f"corrects {wrong}") for wrong in item.get("corrects", [])]
        if item.get("unreconciled"):
            lines.append("unreconciled: other memories changed while this was decided")
        beside(console, f"{'kept' if item['event'] == 'NONE' else item['event']:<6}", *lines)
    for rejected in result["rejected"]:
        detail = f": {one_line(rejected['detail'])}" if "detail" in rejected else ""
        words = f"{rejected['reason'].replace('_', ' ')}{detail}"
        beside(console, "not   ", one_line(rejected["text"] or "(no text)"), faint(words))
    for failed in result["failed"]:
        beside(console, "FAILED", one_line(failed["text"]), faint(one_line(failed["reason"])))
    _notice(console, result)
    cost = result["usage"]
    if cost["llm_calls"]:
        asked = count(cost["llm_calls"], "request")
        tokens = f"{cost['tokens_in']:,} tokens in, {cost['tokens_out']:,} out"
        console.print(faint(f"{asked} to a model, {tokens}, {cost['ms']:,.0f} ms"))
        console.print(faint(f"trace {result['trace_id']}"), soft_wrap=True)
    if "trace" in result:
        from .show_steps import trace

        console.print()
        trace(result["trace"])


def moved(result: shapes.ReembedResult) -> None:
    """From where to where, and how many texts were embedded."""
    console = make_console()
    old = result["from_embedder"]
    way = "" if old in (None, result["to_embedder"]) else f" from {clean(str(old))}"
    texts = count(result["embedded"], "text")
    seconds = result["ms"] / 1000
    console.print(f"Moved{way} to {clean(result['to_embedder'])}: {texts} embedded in {seconds:.1f} s.")
    _notice(console, result)


def purged(result: shapes.PurgeResult) -> None:
    """How many rows went, or would go, by table."""
    console = make_console()
    console.print(result["message"])
    counted = result.get("removed", result.get("would_remove", {}))
    pairs(console, [(table, str(many)) for table, many in counted.items()])
    _notice(console, result)


def why(verdict: shapes.WhyResult) -> None:
    """Each stage on a line, then where the text is missing, or its place, and what can be done."""
    console = make_console()
    stages(console, verdict)
    missing = verdict["missing_at"]
    lines: list[str | Text] = []
    if missing is None:
        lines.append(f"It comes back with rank {verdict['rank']}, score {verdict['score'] or 0:.3f}:")
    else:
        lines.append(f"Missing at {missing!r}: {one_line(verdict['reason'])}")
    if verdict["memory"] is not None:
        lines += [one_line(verdict["memory"]), faint(verdict["memory_id"] or "")]
    if missing is None and verdict["score_details"] is not None:
        lines.append(faint(clean(verdict["score_details"]["reason"])))
    if missing in ADVICE:
        lines.append(faint(ADVICE[missing]))
    beside(console, "=>", *lines)


def stages(console: Console, verdict: shapes.WhyResult) -> None:
    """Every stage on one line, with the end of the memory's id; the words in common are left to others."""
    uid = verdict["memory_id"]
    for stage in verdict["stages"]:
        mark = {True: "yes", False: "NO", None: "-"}[stage["passed"]]
        label = f"{stage['stage']:<9}{mark:<4}"
        detail = stage["detail"].partition("; words")[0] if stage["passed"] else stage["detail"]
        detail = detail if uid is None else detail.replace(uid, f"…{uid[-8:]}")
        beside(console, label, fitting(detail, console.width - len(label) - 1))


def undone(result: chronicle_shapes.UndoResult) -> None:
    """What an undo did to each memory, and how it is undone itself."""
    console = make_console()
    words = {"DELETE": "gone again", "RESTORE": "as it was", "NONE": "stays"}
    for one in result["results"]:
        why = f": {one['kept']}" if "kept" in one else ""
        console.print(
            f"{words[one['event']]}  {one['memory']}  ({one['id']}{why})", markup=False, highlight=False
        )
    console.print(
        f"Undone. To take this back: mnemic undo {result['trace_id']}", markup=False, highlight=False
    )


def changed(result: shapes.ChangeResult) -> None:
    """What an update, delete or restore did."""
    console = make_console()
    if "would_delete" in result:
        for memory_id in result["would_delete"]:
            console.print(memory_id)
        console.print(f"Would delete {count(len(result['would_delete']), 'memory')}; deleted none.")
    elif "deleted" in result:
        console.print(f"Deleted {count(result['deleted'], 'memory')}.")
    elif result["event"] == "NONE":
        console.print(f"Nothing to change on {result['id']}.")
    else:
        console.print(f"{result['message']} {result['id']}")


def stats(counted: Mapping[str, Any]) -> None:
    """Counts, a line each."""
    rows = [(key.replace("_", " "), _value(value)) for key, value in counted.items()]
    pairs(make_console(), rows)


def checkup(found: shapes.CheckResult) -> None:
    """What was looked at, each kind of fault with its first places, and what is left to do."""
    console = make_console()
    rows = ", ".join(f"{many:,} {what}" for what, many in found["checked"].items())
    console.print(f"Checked {rows or 'the database file'} in {found['ms'] / 1000:,.1f} s.")
    for fault in found["faults"]:
        left = fault["count"] - fault["mended"]
        told = f"{fault['count']:,} {FAULTS[fault['kind']]}"
        if fault["mended"]:
            told += ": mended" if not left else f": {fault['mended']:,} mended"
        more = [f"and {left - len(fault['places']):,} more"] if 0 < len(fault["places"]) < left else []
        places = [faint(clean(place)) for place in (*fault["places"], *more)] if left else []
        beside(console, f"{fault['kind']:<22}", told, *places)
    console.print(
        "No fault." if not found["faults"] else "All is mended." if found["sound"] else "Faults are left."
    )
    _notice(console, found)


def settings(rows: Sequence[Mapping[str, str]]) -> None:
    """Each setting with its value and where that came from."""
    pairs(make_console(), [(row["name"], f"{clean(row['value'])} ({row['source']})") for row in rows])


def make_console() -> Console:
    """Standard output: wrapped to its width, without any colour where it is no terminal or NO_COLOR is set."""
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()
    # Texts are shown as they are: "[bold]" and ":smile:" are words like others.
    return Console(color_system=None if plain else "auto", markup=False, emoji=False, highlight=False)


def beside(console: Console, label: str, *lines: str | Text) -> None:
    """Print lines with a label to their left, wrapped and aligned, without blanks at their ends."""
    from rich.cells import cell_len
    from rich.text import Text

    lead = f"{label} " if label else "  "
    room = max(20, console.width - cell_len(lead))
    for line in lines:
        text = Text(line) if isinstance(line, str) else line
        for piece in text.wrap(console, room, tab_size=4) or [Text()]:
            piece.rstrip()
            console.print(Text(lead) + piece if piece else "", soft_wrap=True)
            lead = " " * cell_len(lead)


def title(console: Console, text: str) -> None:
    """A line that starts a part."""
    from rich.text import Text

    console.print()
    console.print(Text(text, style="bold"))


def paragraph(console: Console, text: str | Text) -> None:
    """Print text wrapped, from the left edge on."""
    from rich.text import Text

    for piece in (Text(text) if isinstance(text, str) else text).wrap(console, console.width):
        piece.rstrip()
        console.print(piece, soft_wrap=True)


def pairs(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        beside(console, f"{name:<{width}} ", value)


def faint(text: str) -> Text:
    """Text that steps back where the terminal can show that."""
    from rich.text import Text

    return Text(text, style="dim")


def clean(text: str) -> str:
    """The text without anything that a terminal would obey."""
    return COMMANDS.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text as one paragraph, cut where it is long."""
    whole = clean(" ".join(text.split()))
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…"


def fitting(text: str, width: int) -> str:
    """The text as one line of at most so many columns."""
    from rich.text import Text

    line = Text(clean(" ".join(text.split())))
    line.truncate(width, overflow="ellipsis")
    # Half of a wide character that was cut leaves a blank.
    return line.plain.rstrip().replace(" …", "…")


def moment(time: str | None) -> str:
    """A UTC time to the minute."""
    return "" if time is None else f"{time[:10]} {time[11:16]}Z"


def count(number: int, thing: str) -> str:
    """ "1 memory", "2 memories"."""
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"


def about(item: shapes.MemoryItem) -> list[str]:
    """When it was said, by whom, from when to when it holds, and the id of a memory; then what replaced it."""
    speaker = item.get("actor_id") or item.get("attributed_to") or item.get("role")
    since, until = item["valid_from"], item["valid_to"]
    parts = [
        (item["observed_at"] or item["created_at"] or "")[:10],
        clean(speaker) if speaker else "",
        f"from {since[:10]}" if since else "",
        f"until {until[:10]}" if until else "",
        f"kept to {item['expiration_date']}" if "expiration_date" in item else "",
        item["id"],
    ]
    replaced = item["superseded_by"]
    told = "  ".join(part for part in parts if part)
    return [told] if replaced is None else [told, f"replaced by {replaced}"]


def _deletion(item: shapes.MemoryItem) -> str:
    by, reason = item.get("deleted_by"), item.get("deleted_reason")
    told = f"deleted {moment(item.get('deleted_at'))}"
    return clean(f"{told}{f' by {by}' if by else ''}{f': {reason}' if reason else ''}")


def _value(value: Any) -> str:
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _notice(console: Console, result: Mapping[str, Any]) -> None:
    if "notice" in result:
        console.print(result["notice"])


def _footer(console: Console, listed: Mapping[str, Any], thing: str, *, pages: bool = True) -> None:
    _notice(console, listed)
    if listed["truncated"]:
        how = "--all shows all" if pages else "a higher --limit shows more"
        console.print(faint(f"{len(listed['results']):,} of {count(listed['total'], thing)} shown; {how}."))
    if listed["next"] is not None:
        console.print(faint(f"Go on with --cursor {listed['next']}"), soft_wrap=True)
