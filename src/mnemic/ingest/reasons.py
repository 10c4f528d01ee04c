"""Why a message became no memory, told after the fact by the rules that left it out."""

from __future__ import annotations

from ..records import StoredMessage


def why_not_kept(message: StoredMessage, expect: str) -> str:
    """Why no memory states `expect`, which the message holds."""
    if message.role != "user":
        return f"it was said by the {message.role}, whose words are no source of facts about the user"
    return f"no fact was made of the message that holds {expect!r}"
