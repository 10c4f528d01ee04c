"""The parts of a talk, each of which is looked up by itself: one vector of a long talk is near nothing. Pure."""

from __future__ import annotations

from .briefing import Brief, is_user
from .sentences import split

# Characters of a part, and parts of a talk.
_PART = 300
_MOST = 24


def parts_of(brief: Brief) -> list[str]:
    """What the talk says, in pieces of a few sentences, the users' words first; the last of a talk that is long.

    An answer is nothing without its question, so a short message is taken with the one before it.
    """
    pieces: list[tuple[bool, str]] = []
    before = brief.earlier[-1].content if brief.earlier else ""
    for message in brief.messages:
        content = message.content.strip()
        if len(content) < _PART // 4 and before:
            pieces.append((is_user(message), f"{before[-_PART:]}\n{content}"))
        else:
            pieces.extend((is_user(message), part) for part in _cut(content))
        before = content
    ordered = [part for ours, part in pieces if ours][-_MOST:]
    ordered += [part for ours, part in pieces if not ours][: max(0, _MOST - len(ordered))]
    return list(dict.fromkeys(ordered))


def _cut(content: str) -> list[str]:
    """Sentences put together as long as they are short."""
    if len(content) <= _PART:
        return [content]
    parts: list[str] = []
    for sentence in split(content):
        text = content[sentence.start : sentence.end]
        if parts and len(parts[-1]) + len(text) < _PART:
            parts[-1] = f"{parts[-1]} {text}"
        else:
            parts.append(text[: 4 * _PART])
    return parts
