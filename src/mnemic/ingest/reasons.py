"""Why a message became no memory, told after the fact by the rules that left it out."""

from __future__ import annotations

from datetime import UTC

from ..records import Message, StoredMessage
from .given import Common
from .messages import Heard
from .statements import extract

ANYONE = Common(metadata=None, expires=(None, None), timestamp=None, tz=UTC)


def why_not_kept(message: StoredMessage, expect: str) -> str:
    """Why no memory states `expect`, which the message holds: the reason of the rule that left it out."""
    heard = Heard((Message(message.role, message.content, message.name),), (0,), ())
    extraction = extract(heard, ANYONE)
    for rejected in extraction.rejected:
        if expect.casefold() in rejected.text.casefold():
            return f"the extractor left it out as {rejected.reason.replace('_', ' ')}: {rejected.text!r}"
    return "the extractor would keep it now, but it was not kept when it was said, or its memory was purged"
