"""What kind of file some bytes are, told by how they begin. Pure."""

from __future__ import annotations

IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
# So many bytes tell every kind.
TELLING_BYTES = 12

_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type_of(data: bytes) -> str | None:
    """The media type of an image in one of the formats of `IMAGES`; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for beginning, name in _BEGINNINGS if data.startswith(beginning)), None)


def named_media_type(header: str) -> str:
    """A media type as a header names it, without parameters, in lower case and by its registered name."""
    name = header.partition(";")[0].strip().lower()
    return "image/jpeg" if name == "image/jpg" else name
