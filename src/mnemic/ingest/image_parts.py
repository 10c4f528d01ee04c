"""Which parts of a message's content are images, in the forms of OpenAI, Anthropic and mem0. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ..errors import FetchRefusedError
from ..models.media import IMAGES, media_type_of, named_media_type

_TYPES = ("image_url", "input_image", "image")
_DETAILS = ("auto", "low", "high")


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image as a message names it: a URL, by http or holding the data; "" for none. detail: if asked for."""

    url: str
    detail: str | None = None


def image_part(part: object) -> ImagePart | None:
    """The image that a part of a content is; None for any other part."""
    if not isinstance(part, Mapping) or part.get("type") not in _TYPES:
        return None
    if part["type"] == "image":
        return ImagePart(_anthropics(part.get("source")))
    named: Any = part.get("image_url")
    holder: Mapping[str, Any] = (
        named if isinstance(named, Mapping) else {"url": named, "detail": part.get("detail")}
    )
    url, detail = holder.get("url"), holder.get("detail")
    return ImagePart(url.strip() if isinstance(url, str) else "", detail if detail in _DETAILS else None)


def _anthropics(source: object) -> str:
    if not isinstance(source, Mapping):
        return ""
    if isinstance(source.get("data"), str):
        return f"data:{source.get('media_type')};base64,{source['data']}"
    url = source.get("url")
    return url.strip() if isinstance(url, str) else ""


def decoded(url: str, most_bytes: int) -> tuple[bytes, str]:
    """The image in a data URL, and its media type by its content.

    Raises FetchRefusedError for one that is not in base64, too large, or none of the formats of `IMAGES`.
    """
    head, comma, text = url.partition(",")
    named, *parameters = head.removeprefix("data:").split(";")
    media_type = named_media_type(named)
    if not comma or "base64" not in [parameter.strip().lower() for parameter in parameters]:
        raise FetchRefusedError("The image's data URL was refused: it is not in base64.")
    if media_type not in IMAGES:
        raise FetchRefusedError(
            f"The image was refused: it is {named[:80]!r}; accepted: {', '.join(sorted(IMAGES))}."
        )
    if len(text) > most_bytes * 4 // 3 + 4:
        raise FetchRefusedError(f"The image was refused: it has more than {most_bytes:,} bytes.")
    if "%" in text:
        text = unquote(text)
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError) as fault:
        raise FetchRefusedError("The image was refused: its base64 is broken.") from fault
    found = media_type_of(data)
    if found is None:
        raise FetchRefusedError(f"The image was refused: its content is none of {', '.join(sorted(IMAGES))}.")
    return data, found
