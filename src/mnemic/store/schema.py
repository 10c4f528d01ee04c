"""The tables, one set for SQLite and PostgreSQL.

Every row that belongs to someone begins with its owner: `(owner_id, no)` is the primary key of every owned
table, and `no` comes from the owner's own counter (`owner.seq`). So no statement can reach a row without
naming its owner, rows of one owner lie together, and an owner can be moved to another machine whole.
Instants are integers (microseconds since 1970, UTC). Ids that users see are `uid` columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    FromClause,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    Table,
    UniqueConstraint,
    and_,
    bindparam,
    or_,
    text,
)
from sqlalchemy import Text as AnyText

from ..clock import Instant

tables = MetaData()
# Ordered by code point on every database, whatever the locale of the server.
Text = AnyText().with_variant(AnyText(collation="C"), "postgresql")


def _owner() -> Column[int]:
    return Column("owner_id", Integer, ForeignKey("owner.id"), nullable=False)


meta = Table(
    "meta",
    tables,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

# Who a row belongs to; a missing id is ''. `seq` counts up with every row and change of the owner. Numbers of
# owners and spaces are never used again, so that an index in another process cannot take one for another.
owner = Table(
    "owner",
    tables,
    Column("id", Integer, Identity(), primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("app_id", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("tenant", "user_id", "agent_id", "app_id"),
    Index("owner_agent", "tenant", "agent_id"),
    Index("owner_app", "tenant", "app_id"),
    sqlite_autoincrement=True,
)

# One add() call: the messages in order and the instant they were observed.
episode = Table(
    "episode",
    tables,
    _owner(),
    Column("no", BigInteger, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("observed_at", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("trace_id", Text, nullable=False),
    PrimaryKeyConstraint("owner_id", "no"),
    Index("episode_run", "run_id", "owner_id"),
)
episode_trace = Index("episode_trace", episode.c.owner_id, episode.c.trace_id)

# One verbatim turn. `parts` is the JSON of a content that came as a list of parts.
message = Table(
    "message",
    tables,
    _owner(),
    Column("no", BigInteger, nullable=False),
    Column("uid", Text, nullable=False, unique=True),
    Column("episode_no", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("name", Text),
    Column("content", Text, nullable=False),
    Column("parts", Text),
    Column("said_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner_id", "no"),
    ForeignKeyConstraint(["owner_id", "episode_no"], ["episode.owner_id", "episode.no"]),
    UniqueConstraint("owner_id", "episode_no", "position"),
)

# The identity of one statement. `live_key` is null once it is retired; once superseded, it ends in its number.
memory = Table(
    "memory",
    tables,
    _owner(),
    Column("no", BigInteger, nullable=False),
    Column("uid", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("live_key", Text),
    Column("episode_no", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("role", Text),
    Column("actor_id", Text),
    Column("attributed_to", Text),
    Column("created_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner_id", "no"),
    ForeignKeyConstraint(["owner_id", "episode_no"], ["episode.owner_id", "episode.no"]),
    UniqueConstraint("owner_id", "live_key", "kind"),
)

# The bitemporal record: what the memory said, when that holds, and from when to when the store believed it.
version = Table(
    "version",
    tables,
    _owner(),
    Column("no", BigInteger, nullable=False),
    Column("memory_no", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("metadata", Text),
    Column("categories", Text),
    Column("event_date", Text, nullable=False),
    Column("observed_at", BigInteger, nullable=False),
    Column("valid_from", BigInteger),
    Column("valid_from_precision", Text),
    Column("valid_to", BigInteger),
    Column("valid_to_precision", Text),
    Column("expires_on", Text),
    Column("expires_at", BigInteger),
    Column("tx_from", BigInteger, nullable=False),
    Column("tx_to", BigInteger),
    Column("successor_no", BigInteger),
    Column("extractor", Text, nullable=False),
    Column("prompt", Text),
    Column("model", Text),
    PrimaryKeyConstraint("owner_id", "no"),
    ForeignKeyConstraint(["owner_id", "memory_no"], ["memory.owner_id", "memory.no"]),
    ForeignKeyConstraint(["owner_id", "successor_no"], ["memory.owner_id", "memory.no"]),
    UniqueConstraint("owner_id", "memory_no", "number"),
)
# At most one version of a memory is believed.
version_open = Index(
    "version_open",
    version.c.owner_id,
    version.c.memory_no,
    unique=True,
    sqlite_where=text("tx_to IS NULL"),
    postgresql_where=text("tx_to IS NULL"),
)
# By which the memories that one superseded are found.
version_successor = Index(
    "version_successor",
    version.c.owner_id,
    version.c.successor_no,
    sqlite_where=version.c.successor_no.is_not(None),
    postgresql_where=version.c.successor_no.is_not(None),
)

# Which messages state a memory, and where in them.
support = Table(
    "support",
    tables,
    _owner(),
    Column("memory_no", BigInteger, nullable=False),
    Column("message_no", BigInteger, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    PrimaryKeyConstraint("owner_id", "memory_no", "message_no", "start"),
    ForeignKeyConstraint(["owner_id", "memory_no"], ["memory.owner_id", "memory.no"]),
    ForeignKeyConstraint(["owner_id", "message_no"], ["message.owner_id", "message.no"]),
    Index("support_message", "owner_id", "message_no"),
    sqlite_with_rowid=False,
)

# What a statement says of its speaker in comparable form ("residence" = "shanghai"), by which a later one finds
# the statements it ends.
claim = Table(
    "claim",
    tables,
    _owner(),
    Column("memory_no", BigInteger, nullable=False),
    Column("attribute", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("holds", Boolean, nullable=False),
    Column("changes", Boolean, nullable=False),
    PrimaryKeyConstraint("owner_id", "memory_no", "attribute", "value", "holds", "changes"),
    ForeignKeyConstraint(["owner_id", "memory_no"], ["memory.owner_id", "memory.no"]),
    Index("claim_attribute", "owner_id", "attribute"),
    sqlite_with_rowid=False,
)

# The runs in which a memory was stated; '' for an add without a run.
memory_run = Table(
    "memory_run",
    tables,
    _owner(),
    Column("memory_no", BigInteger, nullable=False),
    Column("run_id", Text, nullable=False),
    PrimaryKeyConstraint("owner_id", "memory_no", "run_id"),
    ForeignKeyConstraint(["owner_id", "memory_no"], ["memory.owner_id", "memory.no"]),
    Index("memory_run_run", "run_id", "owner_id"),
    sqlite_with_rowid=False,
)

# An embedding model the store holds vectors of. `background` is the JSON of its measured cosines.
space = Table(
    "space",
    tables,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", Text, nullable=False),
    Column("dims", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("background", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

# float32, little endian, `space.dims` of them.
vector = Table(
    "vector",
    tables,
    _owner(),
    Column("version_no", BigInteger, nullable=False),
    Column("space_id", Integer, ForeignKey("space.id"), nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("owner_id", "version_no", "space_id"),
    ForeignKeyConstraint(["owner_id", "version_no"], ["version.owner_id", "version.no"]),
)

# Where a version's vector in a space (bound as `space`) is joined to it.
VECTOR_OF_VERSION = and_(
    vector.c.owner_id == version.c.owner_id,
    vector.c.version_no == version.c.no,
    vector.c.space_id == bindparam("space"),
)


def believed(known_at: Instant | None, versions: FromClause = version) -> ColumnElement[bool]:
    """The versions, by their table or an alias of it, that the store believes now, or believed at an instant."""
    v = versions.c
    if known_at is None:
        return v.tx_to.is_(None)
    return and_(v.tx_from <= known_at, or_(v.tx_to.is_(None), v.tx_to > known_at))


# Packed terms of a version (mnemic.text.pack).
terms = Table(
    "terms",
    tables,
    _owner(),
    Column("version_no", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("owner_id", "version_no"),
    ForeignKeyConstraint(["owner_id", "version_no"], ["version.owner_id", "version.no"]),
)

# Packed terms of a message that is no memory itself: it lends lift to the facts it states.
message_terms = Table(
    "message_terms",
    tables,
    _owner(),
    Column("message_no", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("owner_id", "message_no"),
    ForeignKeyConstraint(["owner_id", "message_no"], ["message.owner_id", "message.no"]),
)

# The change sequence: what happened, in commit order per owner. It is history, log and the sign by which
# indexes (of other processes too) know what to read again.
change = Table(
    "change",
    tables,
    _owner(),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("event", Text, nullable=False),
    Column("memory_no", BigInteger),
    Column("opened_no", BigInteger),
    Column("closed_no", BigInteger),
    Column("actor", Text),
    Column("reason", Text),
    Column("trace_id", Text, nullable=False),
    PrimaryKeyConstraint("owner_id", "seq"),
    Index("change_memory", "owner_id", "memory_no", "seq"),
    sqlite_with_rowid=False,
)
# A call is known by its trace id alone.
change_trace = Index("change_trace", change.c.trace_id)

# The first result of a call that was given an idempotency key, for those who call again with it.
replay = Table(
    "replay",
    tables,
    _owner(),
    Column("key", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("trace_id", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("owner_id", "key"),
    Index("replay_trace", "owner_id", "trace_id"),
    Index("replay_at", "owner_id", "at"),
    sqlite_with_rowid=False,
)

# Each step of an add, as compressed JSON: what `trace` shows. Kept for a time only.
trace = Table(
    "trace",
    tables,
    _owner(),
    Column("trace_id", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("owner_id", "trace_id"),
    Index("trace_id", "trace_id"),
    Index("trace_at", "owner_id", "at"),
)

# By these a database is known as a store of ours, of whatever version.
MARKS = (meta, owner, episode, message, memory, version)

OWNED = (
    episode,
    message,
    memory,
    version,
    support,
    claim,
    memory_run,
    vector,
    terms,
    message_terms,
    change,
    replay,
    trace,
)

AnyRow = Row[*tuple[Any, ...]]
# Where a memory lies: (owner_id, no).
Place = tuple[int, int]

_MOST_BOUND = 500
_Bound = TypeVar("_Bound")


def chunks(values: Sequence[_Bound]) -> Iterator[Sequence[_Bound]]:
    """The values in order, in pieces that one statement can bind on every database."""
    return (values[i : i + _MOST_BOUND] for i in range(0, len(values), _MOST_BOUND))
