"""Read what mem0 left at a place, whatever it is: a data directory, a Qdrant directory, a platform's export."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from os import PathLike
from pathlib import Path
from typing import Any

from ...errors import ValidationError
from ...records import Event, Kind
from ...scope import clean_id
from . import fields
from .history import Kept, read_history
from .platform import read_items
from .points import read_points
from .records import Left, LeftMemory, LeftMessage, LeftOut, PastEvent, Remark
from .sqlite import is_sqlite

_STORAGE = "storage.sqlite"
# A collection itself, a Qdrant directory, a directory that holds one: the nearest first.
_COLLECTIONS = (_STORAGE, f"*/{_STORAGE}", f"collection/*/{_STORAGE}", f"*/collection/*/{_STORAGE}")
_HISTORY = "history.db"
NO_OWNER = "it has no user_id, agent_id, app_id or run_id"
NOT_ITS = "only history.db knows it, without a deletion: it may be of another vector store"


@dataclass(slots=True)
class _Found:
    """What is collected while reading."""

    memories: dict[str, LeftMemory] = field(default_factory=dict)
    messages: list[LeftMessage] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def any_memory(self) -> bool:
        return bool(self.memories) or any(one.what == "memory" for one in self.left_out)

    def left(self, files: Iterable[Path]) -> Left:
        return Left(
            tuple(str(file) for file in files),
            tuple(sorted(self.memories.values(), key=lambda memory: (memory.created_at, memory.id))),
            tuple(self.messages),
            tuple(self.left_out),
            tuple(self.remarks),
        )


def read(
    path: str | PathLike[str],
    tz: tzinfo,
    *,
    history: str | PathLike[str] | None = None,
    user_id: str | None = None,
) -> Left:
    """All that mem0 left at a path; nothing of it is changed.

    path: a directory with an embedded Qdrant in or below it, one of its files, or a JSON export.
    history: the history.db that belongs to it, where it is not in, below or beside it.
    user_id: the owner of what names none; without it such things are left out.
    Times without a zone are read in `tz`. Raises `ValidationError` where nothing of mem0's is found, or where
    its files hold what mem0 does not write.
    """
    with _telling_of(path):
        place = _existing(path, "path")
        beside = None if history is None else _existing(history, "history")
        if place.is_file() and not is_sqlite(place):
            return _read_export(place, tz, user_id)
        return _read_directory(place if place.is_dir() else place.parent, beside, tz, user_id)


def _existing(path: Any, name: str) -> Path:
    if not isinstance(path, str | PathLike):
        raise ValidationError(f"{name} must be a path, not {type(path).__name__}.", details={"field": name})
    found = Path(path).expanduser()
    if not found.exists():
        raise ValidationError(f"{name}: there is no {found}.", details={"field": name})
    return found


@contextmanager
def _telling_of(path: object) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise ValidationError(f"{path} cannot be read: {fault}.") from fault


def _read_export(path: Path, tz: tzinfo, user_id: str | None) -> Left:
    found = _Found()
    for number, item in enumerate(read_items(path)):
        uid = str(item.get("id") or f"item {number}")
        try:
            memory, remarks = fields.from_item(item, tz)
        except ValidationError as fault:
            found.left_out.append(LeftOut("memory", fault.message, uid))
        else:
            _take(found, memory, remarks, user_id)
    return found.left([path])


def _read_directory(path: Path, history: Path | None, tz: tzinfo, user_id: str | None) -> Left:
    storages = _storages(path)
    histories = [history] if history else _histories(path, storages)
    if not storages:
        raise _elsewhere(path, bool(histories))
    found, kept = _Found(), _joined([read_history(file, tz) for file in histories])
    for storage in storages:
        _read_collection(storage, kept, found, tz, user_id)
    if not found.any_memory and any(not _was_deleted(events) for events in kept.events.values()):
        raise _elsewhere(path, known=True)
    _read_deleted(kept.events, found, user_id)
    found.messages.extend(kept.messages)
    found.left_out.extend(kept.left_out)
    return found.left([*storages, *histories])


def _elsewhere(path: Path, known: bool) -> ValidationError:
    where = (
        " Its history.db knows some: they lie in mem0's Qdrant directory, by default /tmp/qdrant."
        if known
        else ""
    )
    return ValidationError(
        f"{path} holds no memories in an embedded Qdrant (collection/*/{_STORAGE}).{where}",
        suggestion="Give that directory (and the history.db apart), one above it, or a JSON export.",
    )


def _storages(path: Path) -> list[Path]:
    return next((hits for hits in (sorted(path.glob(each)) for each in _COLLECTIONS) if hits), [])


def _histories(path: Path, storages: Sequence[Path]) -> list[Path]:
    """In the directory, or below it; else in or beside a Qdrant directory that was found."""
    for hits in (sorted(path.glob(_HISTORY)), sorted(path.glob(f"*/{_HISTORY}"))):
        if hits:
            return hits
    qdrants = dict.fromkeys(storage.absolute().parents[2] for storage in storages)
    places = [place / _HISTORY for qdrant in qdrants for place in (qdrant, qdrant.parent)]
    return [place for place in dict.fromkeys(places) if place.is_file()]


def _joined(kept: Sequence[Kept]) -> Kept:
    events: dict[str, tuple[PastEvent, ...]] = {}
    for each in kept:
        for uid, some in each.events.items():
            events[uid] = (*events.get(uid, ()), *some)
    return Kept(
        events,
        of_2=not kept or any(each.of_2 for each in kept),
        messages=tuple(message for each in kept for message in each.messages),
        left_out=tuple(one for each in kept for one in each.left_out),
    )


def _read_collection(storage: Path, kept: Kept, found: _Found, tz: tzinfo, user_id: str | None) -> None:
    name = storage.parent.name
    for uid, payload in _latest(storage).items():
        if not fields.is_memory(payload):
            what = "entity" if fields.is_entity(payload) else "row"
            found.left_out.append(LeftOut(what, f"no memory, in collection {name}", uid))
            continue
        try:
            memory, remarks = fields.from_payload(
                uid, payload, kept.events.get(uid, ()), tz, maybe_of_2=kept.of_2
            )
        except ValidationError as fault:
            found.left_out.append(LeftOut("memory", fault.message, uid))
        else:
            _take(found, memory, remarks, user_id)


def _latest(storage: Path) -> Mapping[str, Mapping[str, Any]]:
    return {point.id: point.payload for point in read_points(storage)}


def _take(found: _Found, memory: LeftMemory, remarks: list[Remark], user_id: str | None) -> None:
    if not memory.has_owner and user_id is not None:
        memory = replace(memory, user_id=user_id)
    if not memory.has_owner:
        found.left_out.append(LeftOut("memory", NO_OWNER, memory.id))
    elif memory.id in found.memories:
        found.left_out.append(LeftOut("memory", "another one has the same id", memory.id))
    else:
        found.memories[memory.id] = memory
        found.remarks.extend(remarks)


def _read_deleted(events: Mapping[str, tuple[PastEvent, ...]], found: _Found, user_id: str | None) -> None:
    """What only the history knows: memories that were deleted. It does not tell whose they were."""
    present = found.memories.keys() | {each.id for each in found.left_out}
    for uid, some in events.items():
        if uid in present:
            continue
        if not _was_deleted(some):
            found.left_out.append(LeftOut("memory", NOT_ITS, uid))
        elif user_id is None:
            found.left_out.append(LeftOut("deleted memory", "history.db does not tell whose it was", uid))
        else:
            _take_deleted(uid, some, found, user_id)


def _was_deleted(events: Iterable[PastEvent]) -> bool:
    return any(event.event == Event.DELETE for event in events)


def _take_deleted(uid: str, events: tuple[PastEvent, ...], found: _Found, user_id: str) -> None:
    texts = list(_texts(events))
    times = [at for event in events for at in (event.created_at, event.at) if at is not None]
    roles = [event.role for event in events if event.role is not None]
    actors = [event.actor_id for event in events if event.actor_id is not None]
    try:
        if not texts or not times:
            raise ValidationError("its text or its time is not known")
        found.memories[uid] = LeftMemory(
            id=clean_id("id", uid),
            text=texts[-1],
            kind=Kind.MESSAGE if roles else Kind.FACT,
            created_at=min(times),
            updated_at=max(times),
            user_id=user_id,
            role=roles[-1] if roles else None,
            actor_id=actors[-1] if actors else None,
            history=events,
            deleted=True,
        )
    except ValidationError as fault:
        found.left_out.append(LeftOut("deleted memory", fault.message, uid))


def _texts(events: Iterable[PastEvent]) -> Iterator[str]:
    for event in events:
        yield from (text for text in (event.old_text, event.new_text) if text is not None)
