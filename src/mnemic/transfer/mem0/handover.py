"""What was converted, handed to the import of mnemic's own exports, and the report of the whole."""

from __future__ import annotations

from collections import defaultdict
from typing import BinaryIO

from ... import __version__, shapes
from ...clock import Instant
from ...records import Event
from .. import lines
from ..exporting import Writer
from .convert import Converted, OwnerPart
from .records import Left


def write_export(converted: Converted, file: BinaryIO, at: Instant) -> None:
    """Write all owners as an export made at an instant."""
    writer = Writer(file, lines.Header(lines.FORMAT, lines.VERSION, __version__, at))
    for part in converted.parts:
        writer.write(part.owner)
        for records in (part.episodes, part.memories, part.changes):
            for record in records:
                writer.write(record)
    writer.end()


def report(left: Left, converted: Converted, done: shapes.ImportResult) -> shapes.Mem0ImportResult:
    """What came of an import, with what was found for each owner, what was left out, and why."""
    reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in converted.left_out:
        reasons[one.what, one.reason].append(_printable(one.id))
    return shapes.Mem0ImportResult(
        **done,
        files=list(left.files),
        owners=[_owner(part) for part in converted.parts],
        left_out=[
            shapes.LeftOutItem(what=what, reason=reason, count=len(ids), ids=ids)
            for (what, reason), ids in reasons.items()
        ],
        remarks=[
            shapes.RemarkItem(id=remark.id, remark=_printable(remark.text)) for remark in converted.remarks
        ],
    )


def _printable(text: str) -> str:
    """The text without half surrogate pairs, which what was left out may have."""
    return text.encode(errors="replace").decode()


def _owner(part: OwnerPart) -> shapes.Mem0OwnerItem:
    owner = part.owner
    deleted = sum(not memory.live for memory in part.memories)
    item = shapes.Mem0OwnerItem(
        memories=len(part.memories) - deleted,
        deleted=deleted,
        messages=sum(len(episode.messages) for episode in part.episodes),
        changes=sum(change.event != Event.EPISODE for change in part.changes),
    )
    ids = {"user_id": owner.user_id, "agent_id": owner.agent_id, "app_id": owner.app_id}
    item.update({name: value for name, value in ids.items() if value})  # type: ignore[typeddict-item]
    return item
