"""Writing whole episodes, memories and changes under an owner, with numbers from its counter.

All of it happens inside one write transaction. Ids and instants stay as they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, Table, and_, bindparam, delete, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import ValidationError
from ..records import Act, Embedded, Event, Kind, Owner
from ..text.normal import live_key
from ..whole import WholeChange, WholeEpisode, WholeMemory, WholeMessage, WholeOwner, WholeVersion
from . import schema as s
from . import tombstones
from .owners import Numbers, owner_for_write
from .rows import Rows as MemoryRows
from .rows import Values, change_row, claim_rows, insert_all, open_version
from .schema import Place, chunks
from .versions import SET_KEY, not_before, past_key

# Rows that are held before they are written.
HELD = 2_000

TAKEN = (
    "An id in the file, or the place of a message in its episode, is taken in this store by something else;"
    " nothing was imported."
)


# --- What is there already ------------------------------------------------------------------------------------


def owner_id_of(tx: Connection, who: Owner) -> int | None:
    """The number of an owner, None for one that the store does not know."""
    o = s.owner.c
    query = select(o.id).where(
        o.tenant == who.tenant,
        o.user_id == who.user_id,
        o.agent_id == who.agent_id,
        o.app_id == who.app_id,
    )
    found: int | None = tx.execute(query).scalar()
    return found


def places_of(tx: Connection, tenant: str, table: Table, uids: Sequence[str]) -> dict[str, Place]:
    """Where the tenant's memories or messages of some ids lie."""
    mine = select(s.owner.c.id).where(s.owner.c.tenant == tenant)
    c = table.c
    found: dict[str, Place] = {}
    for some in chunks(uids):
        query = select(c.owner_id, c.no, c.uid).where(c.owner_id.in_(mine), c.uid.in_(some))
        found.update({row.uid: (row.owner_id, row.no) for row in tx.execute(query)})
    return found


def episodes_there(tx: Connection, owner_id: int, wanted: Mapping[str, object]) -> dict[str, int]:
    """The numbers of those episodes of an owner that have one of the trace ids."""
    e = s.episode.c
    query = select(e.no, e.trace_id).where(e.owner_id == owner_id)
    return {row.trace_id: row.no for row in tx.execute(query) if row.trace_id in wanted}


def owner_events(tx: Connection, owner_id: int) -> set[tuple[str, str]]:
    """Trace id and event of what happened to the owner rather than to a memory of it."""
    c = s.change.c
    query = select(c.trace_id, c.event).where(c.owner_id == owner_id, c.memory_no.is_(None))
    return {(row.trace_id, row.event) for row in tx.execute(query)}


# --- Writing ------------------------------------------------------------------------------------------------

_SUCCEED = (
    update(s.version)
    .where(s.version.c.owner_id == bindparam("owner"), s.version.c.no == bindparam("version"))
    .values(successor_no=bindparam("successor"))
)
_IDENTITY = ("kind", "live_key", "episode_no", "position", "role", "actor_id", "attributed_to", "created_at")
_REWRITE = (
    update(s.memory)
    .where(s.memory.c.owner_id == bindparam("owner"), s.memory.c.no == bindparam("memory"))
    .values({name: bindparam(f"new_{name}") for name in _IDENTITY})
)


class There(NamedTuple):
    """What an owner of an import has already, by id (trace id for episodes), with the numbers.

    memories: those to be left as they are, and those that stand in for one of the same words. replaced: those
    whose rows give way to the import's.
    """

    episodes: Mapping[str, int]
    messages: Mapping[str, int]
    memories: Mapping[str, int]
    replaced: Mapping[str, int]


@dataclass(slots=True)
class _Held:
    """Rows not yet written; those of the memories' tables are `rest`."""

    episode: list[Values] = field(default_factory=list)
    message: list[Values] = field(default_factory=list)
    message_terms: list[Values] = field(default_factory=list)
    rewritten: list[Values] = field(default_factory=list)
    rest: MemoryRows = field(default_factory=MemoryRows)
    many: int = 0

    def write(self, tx: Connection) -> None:
        insert_all(tx, s.episode, self.episode)
        try:
            insert_all(tx, s.message, self.message)
            insert_all(tx, s.memory, self.rest.memory)
        except IntegrityError:
            # Ids were looked up among the tenant's own only: most likely this one is another tenant's.
            raise ValidationError(TAKEN) from None
        self.rest.memory = []
        insert_all(tx, s.message_terms, self.message_terms)
        if self.rewritten:
            tx.execute(_REWRITE, self.rewritten)
        self.rest.write(tx)


class Placer:
    """Writes what belongs to one owner, in the order in which it comes, and numbers it.

    `finish` must be called at the end. A memory's episode and messages come before it, its changes after it.
    """

    def __init__(self, tx: Connection, tenant: str, owner: WholeOwner, there: There, act: Act) -> None:
        who = Owner(tenant, owner.user_id, owner.agent_id, owner.app_id)
        self._tx = tx
        self._there = there
        self._act = act
        self._numbers = Numbers(owner_for_write(tx, who, owner.created_at))
        self._episodes = dict(there.episodes)
        self._messages = dict(there.messages)
        self._memories = {**there.memories, **there.replaced}
        self._first_versions: dict[str, int] = {}
        self._successors: list[tuple[int, str]] = []
        self._held = _Held()
        # Messages from before whose memory comes or goes: where their terms belong is looked at in the end.
        self._unsettled: set[int] = set()
        self._retired: list[int] = []
        if there.replaced:
            self._clear(sorted(there.replaced.values()))

    @property
    def _owner_id(self) -> int:
        return self._numbers.state.id

    def episode(self, episode: WholeEpisode) -> None:
        """An episode without its messages, unless it is there."""
        if episode.trace_id in self._episodes:
            return
        self._episodes[episode.trace_id] = no = self._numbers.next()
        self._held.episode.append(
            {
                "owner_id": self._owner_id,
                "no": no,
                "run_id": episode.run_id,
                "observed_at": episode.observed_at,
                "created_at": episode.created_at,
                "trace_id": episode.trace_id,
            }
        )
        self._more(1)

    def message(self, message: WholeMessage, trace_id: str, terms: bytes | None) -> None:
        """A new message of an episode; `terms` where it is not a memory word for word."""
        self._messages[message.id] = no = self._numbers.next()
        self._held.message.append(
            {
                "owner_id": self._owner_id,
                "no": no,
                "uid": message.id,
                "episode_no": self._episodes[trace_id],
                "position": message.position,
                "role": message.role,
                "name": message.name,
                "content": message.content,
                "parts": message.parts,
                "said_at": message.said_at,
            }
        )
        if terms is not None:
            self._held.message_terms.append({"owner_id": self._owner_id, "message_no": no, "data": terms})
        self._more(2)

    def memory(self, memory: WholeMemory, embedded: Sequence[Embedded]) -> None:
        """A new memory, or the new rows of one to be replaced; `embedded` has an entry per version."""
        replaced = self._there.replaced.get(memory.id)
        no = self._numbers.next() if replaced is None else replaced
        self._memories[memory.id] = no
        identity = self._identity(memory, no)
        rows = self._held.rest
        if replaced is None:
            rows.memory.append({"owner_id": self._owner_id, "no": no, "uid": memory.id, **identity})
        else:
            new = {f"new_{name}": value for name, value in identity.items()}
            self._held.rewritten.append({"owner": self._owner_id, "memory": no, **new})
        for version, one in zip(memory.versions, embedded, strict=True):
            self._version(version, no, one, memory.id)
        for run_id in memory.runs:
            rows.memory_run.append({"owner_id": self._owner_id, "memory_no": no, "run_id": run_id})
        rows.claim.extend(claim_rows(memory.claims, no, self._owner_id))
        for support in memory.support:
            key = {"owner_id": self._owner_id, "memory_no": no}
            said = self._messages[support.message]
            rows.support.append({**key, "message_no": said, "start": support.start, "end": support.end})
            if memory.kind == Kind.MESSAGE and support.message in self._there.messages:
                self._unsettled.add(said)
        if memory.versions[-1].tx_to is not None:
            self._retired.append(no)
        self._more(5 + 3 * len(memory.versions))

    def change(self, change: WholeChange) -> None:
        """What happened to a memory that was written before, or to the owner."""
        first = 0 if change.memory is None else self._first_versions[change.memory]
        told = Act(change.trace_id, change.at, change.actor, change.reason)
        self._held.rest.change.append(
            change_row(
                self._owner_id,
                self._numbers,
                Event(change.event),
                told,
                None if change.memory is None else self._memories[change.memory],
                opened=None if change.opened is None else first + change.opened - 1,
                closed=None if change.closed is None else first + change.closed - 1,
            )
        )
        self._more(1)

    def finish(self, terms_of: Callable[[str], bytes]) -> None:
        """Write what is held, link successors, and move the owner's counter on. `terms_of`: packed, of a text."""
        self._write()
        links = [
            {"owner": self._owner_id, "version": version_no, "successor": self._memories[uid]}
            for version_no, uid in self._successors
        ]
        if links:
            self._tx.execute(_SUCCEED, links)
        if self._unsettled:
            self._settle_terms(sorted(self._unsettled), terms_of)
            tombstones.retell_messages(self._tx, self._owner_id, sorted(self._unsettled))
        tombstones.retell(self._tx, self._owner_id, self._retired)
        if self._there.replaced or self._unsettled:
            # By this event indexes know that rows which they hold are gone.
            act = not_before(self._tx, self._owner_id, self._act)
            insert_all(
                self._tx, s.change, [change_row(self._owner_id, self._numbers, Event.PURGE, act, None)]
            )
        self._numbers.save(self._tx)

    def _identity(self, memory: WholeMemory, no: int) -> Values:
        last = memory.versions[-1]
        key = None
        if last.tx_to is None:
            key = live_key(last.text, last.event_date)
            key = key if memory.live else past_key(key, no)
        return {
            "kind": memory.kind,
            "live_key": key,
            "episode_no": self._episodes[memory.episode],
            "position": memory.position,
            "role": memory.role,
            "actor_id": memory.actor_id,
            "attributed_to": memory.attributed_to,
            "created_at": memory.created_at,
        }

    def _version(self, version: WholeVersion, memory_no: int, embedded: Embedded, uid: str) -> None:
        no = self._numbers.next()
        self._first_versions.setdefault(uid, no)
        if version.successor is not None:
            self._successors.append((no, version.successor))
        row = {
            "owner_id": self._owner_id,
            "no": no,
            "memory_no": memory_no,
            "number": version.number,
            "text": version.text,
            "metadata": version.metadata,
            "categories": version.categories,
            "event_date": version.event_date,
            "observed_at": version.observed_at,
            "valid_from": version.valid_from,
            "valid_from_precision": version.valid_from_precision,
            "valid_to": version.valid_to,
            "valid_to_precision": version.valid_to_precision,
            "expires_on": version.expires_on,
            "expires_at": version.expires_at,
            "tx_from": version.tx_from,
            "tx_to": version.tx_to,
            "successor_no": None,
            "extractor": version.extractor,
            "prompt": version.prompt,
            "model": version.model,
        }
        open_version(self._held.rest, row, embedded)

    def _more(self, rows: int) -> None:
        self._held.many += rows
        if self._held.many >= HELD:
            self._write()

    def _write(self) -> None:
        self._held.write(self._tx)
        self._held = _Held()

    def _clear(self, memory_nos: Sequence[int]) -> None:
        """Remove what hangs on some memories. The memories stay, since others may be superseded by them."""
        tx, owner_id = self._tx, self._owner_id
        for some in chunks(memory_nos):
            supports = select(s.support.c.message_no).where(
                s.support.c.owner_id == owner_id, s.support.c.memory_no.in_(some)
            )
            self._unsettled.update(tx.execute(supports).scalars())
            v = s.version.c
            versions = select(v.no).where(v.owner_id == owner_id, v.memory_no.in_(some))
            for table in (s.vector, s.terms):
                tx.execute(
                    delete(table).where(table.c.owner_id == owner_id, table.c.version_no.in_(versions))
                )
            for table in (s.change, s.support, s.claim, s.memory_run, s.version):
                tx.execute(delete(table).where(table.c.owner_id == owner_id, table.c.memory_no.in_(some)))
            # Two of them may swap their words: none holds any while they are rewritten.
            tx.execute(SET_KEY, [{"owner": owner_id, "memory": no, "key": None} for no in some])

    def _settle_terms(self, message_nos: Sequence[int], terms_of: Callable[[str], bytes]) -> None:
        """Keep terms for just those of some messages that are no memories word for word."""
        tx, owner_id = self._tx, self._owner_id
        m, t, u = s.message.c, s.message_terms.c, s.support.c
        said_by = s.support.join(
            s.memory, and_(s.memory.c.owner_id == u.owner_id, s.memory.c.no == u.memory_no)
        )
        for some in chunks(message_nos):
            kept = select(u.message_no).select_from(said_by)
            kept = kept.where(u.owner_id == owner_id, u.message_no.in_(some), s.memory.c.kind == Kind.MESSAGE)
            verbatim = set(tx.execute(kept).scalars())
            lending = select(t.message_no).where(t.owner_id == owner_id, t.message_no.in_(some))
            have_terms = set(tx.execute(lending).scalars())
            needless, missing = sorted(verbatim & have_terms), sorted({*some} - verbatim - have_terms)
            tx.execute(delete(s.message_terms).where(t.owner_id == owner_id, t.message_no.in_(needless)))
            said = select(m.no, m.content).where(m.owner_id == owner_id, m.no.in_(missing))
            rows = [
                {"owner_id": owner_id, "message_no": row.no, "data": terms_of(row.content)}
                for row in tx.execute(said)
            ]
            insert_all(tx, s.message_terms, rows)
