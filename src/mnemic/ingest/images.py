"""Images in messages, put into words by a model that sees."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import FetchError, FetchRefusedError, LLMOutputError, LLMRefusedError
from ..models.fetch import Guard
from ..models.llm import LLM, ChatMessage, Image
from ..models.media import IMAGES
from ..prompts import load
from ..records import Message, Rejected, Usage
from .ask import cost_of
from .image_parts import ImagePart, decoded, image_part
from .messages import Heard
from .reply import read_text

# What the strictest of the usual providers takes.
MOST_BYTES = 5_000_000
MOST_IMAGES = 20
# So many are fetched and described at once; each is held in memory meanwhile.
AT_ONCE = 8
FETCH_SECONDS = 15.0
_MOST_CHARS = 1_000
# Of the talk around an image: messages before and after its own, and characters of each.
_BEFORE, _AFTER, _LINE_CHARS = 3, 1, 300
_FREE = Usage()


@dataclass(frozen=True, slots=True)
class Described:
    """What was heard with its images in words, and what that cost."""

    heard: Heard
    usage: Usage


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an image stands: the message among those heard, and the part of its content."""

    message: int
    part: int
    image: ImagePart


def has_images(heard: Heard) -> bool:
    """Whether any message holds an image."""
    return bool(_places(_parts_of(heard)))


async def described(heard: Heard, llm: LLM, guard: Guard, detail: str = "auto") -> Described:
    """What was heard, with a description of each image beside its message's own text: `[image: ...]`, on a line.

    detail: how closely the model looks where a message does not say so. It is asked once for each image, in the
    language of the talk around it. Of a call's images, the first `MOST_IMAGES` are described.

    An image that is not described is listed as rejected, its message's own text stays: `image_refused` (it may not
    be fetched, is too large or no image), `image_not_fetched` (its server failed), `image_not_described` (the model
    refused it or replied with nothing), `too_many_images`. A message without any text left is dropped.

    Raises LLMError or ModelTimeoutError for an outage of the model, MissingDependencyError where images have to be
    fetched and the library for that is not installed. Needs a running event loop where there are images.
    """
    parts = _parts_of(heard)
    places = _places(parts)
    if not places:
        return Described(heard, _FREE)
    began = time.perf_counter()
    seen = await _all_seen(places[:MOST_IMAGES], heard.messages, llm, guard, detail)
    seen += [_Seen(fault=_TOO_MANY)] * (len(places) - len(seen))
    labels: dict[int, dict[int, str]] = {}
    rejected = list(heard.rejected)
    usage = _FREE
    for place, one in zip(places, seen, strict=True):
        usage = usage.plus(one.usage)
        if one.fault is None:
            labels.setdefault(place.message, {})[place.part] = f"[image: {one.words}]"
        else:
            rejected.append(Rejected(one.fault.told, (heard.numbers[place.message],), one.fault.reason))
    kept = [
        (number, _with_labels(message, parts[i], labels.get(i, {})))
        for i, (number, message) in enumerate(zip(heard.numbers, heard.messages, strict=True))
    ]
    kept = [(number, message) for number, message in kept if message.content.strip()]
    rejected.sort(key=lambda one: one.messages)
    found = Heard(tuple(m for _, m in kept), tuple(n for n, _ in kept), tuple(rejected))
    return Described(found, replace(usage, ms=(time.perf_counter() - began) * 1000))


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why an image is not described: as a reason of what is rejected, and in words."""

    reason: str
    told: str


_TOO_MANY = _Fault("too_many_images", f"An add describes at most {MOST_IMAGES} images.")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an image shows, or why that is not known."""

    words: str = ""
    usage: Usage = _FREE
    fault: _Fault | None = None


async def _all_seen(
    places: Sequence[_Place], messages: Sequence[Message], llm: LLM, guard: Guard, detail: str
) -> list[_Seen]:
    """Each image described, some at a time; where one raises, the others are stopped."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(place: _Place) -> _Seen:
        async with gate:
            return await _seen(place.image, _talk(messages, place.message), llm, guard, detail)

    tasks = [asyncio.ensure_future(one(place)) for place in places]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _seen(part: ImagePart, talk: str, llm: LLM, guard: Guard, detail: str) -> _Seen:
    try:
        data, media_type = await _content(part.url, guard)
    except FetchRefusedError as fault:
        return _Seen(fault=_Fault("image_refused", fault.message))
    except FetchError as fault:
        return _Seen(fault=_Fault("image_not_fetched", fault.message))
    image = Image(media_type, data, part.detail or detail)
    usage = Usage(calls=1)
    try:
        completion = await llm.complete(
            [
                ChatMessage("system", "\n\n".join(load("describe").sections.values())),
                ChatMessage("user", talk, (image,)),
            ]
        )
        usage = cost_of(completion)
        return _Seen(_one_line(read_text(completion.text)), usage)
    except (LLMRefusedError, LLMOutputError) as fault:
        return _Seen(usage=usage, fault=_Fault("image_not_described", fault.message))


async def _content(url: str, guard: Guard) -> tuple[bytes, str]:
    if not url:
        raise FetchRefusedError("The image was refused: it has no URL.")
    if url[:5].lower() == "data:":
        return await asyncio.to_thread(decoded, url, MOST_BYTES)
    fetched = await guard.fetch(url, most_bytes=MOST_BYTES, types=IMAGES, timeout=FETCH_SECONDS)
    return fetched.data, fetched.media_type


def _parts_of(heard: Heard) -> list[Sequence[Any]]:
    """The parts of each message's content; none for those that came as a text."""
    return [[] if message.parts is None else json.loads(message.parts) for message in heard.messages]


def _places(parts: Sequence[Sequence[Any]]) -> list[_Place]:
    return [
        _Place(i, j, image)
        for i, of_message in enumerate(parts)
        for j, part in enumerate(of_message)
        if (image := image_part(part)) is not None
    ]


def _with_labels(message: Message, parts: Sequence[Any], labels: Mapping[int, str]) -> Message:
    """A message whose content says what its images show, each on a line where it stands among the texts."""
    if not labels:
        return message
    lines: list[str] = []
    after_text = False
    for i, part in enumerate(parts):
        text = part if isinstance(part, str) else part.get("text")
        if i in labels:
            lines.append(labels[i])
        elif isinstance(text, str) and text.strip():
            if after_text:
                text = f"{lines.pop()} {text}"
            lines.append(text)
        else:
            continue
        after_text = i not in labels
    return replace(message, content="\n".join(lines))


def _talk(messages: Sequence[Message], at: int) -> str:
    """The lines around an image, each as JSON: they are data, and tell the language and what it is about."""
    around = messages[max(0, at - _BEFORE) : at + _AFTER + 1]
    return "\n".join(
        f"{one.role}: {json.dumps(one.content[:_LINE_CHARS], ensure_ascii=False)}"
        for one in around
        if one.content.strip()
    )


def _one_line(text: str) -> str:
    """A description that its brackets can hold, on one line and not longer than is of use."""
    line = " ".join(text.split()).replace("[", "(").replace("]", ")")
    return line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"
