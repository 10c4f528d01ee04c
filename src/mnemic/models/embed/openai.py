"""Embeddings from any endpoint that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio and others."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mnemic.errors import EmbedderError
from mnemic.models.endpoint import (
    NO_KEY,
    OPENAI_SDK,
    Endpoint,
    EndpointConfig,
    Refusal,
    azure_url,
    resolve_address,
    secrets_of,
)
from mnemic.models.litellm import litellm_sdk
from mnemic.models.providers import EMBEDDERS
from mnemic.models.settings import RunBlocking

from .checked import CheckedEmbedder, Purpose
from .config import EmbedderConfig
from .texts import size_of, split_text, spread
from .vectors import Vectors, check_rows, merge_parts

# A text this short (bytes) is never what a server finds too long.
_SHORTEST_SPLIT = 200
_MAX_PIECES = 64
_MAX_SHRINKS = 12
_BATCH_LIMIT = re.compile(
    r"(?<!physical )batch size|number of inputs|inputs? (?:array|list)|per .{0,20}batch", re.I
)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a server takes: so many texts per request, and texts of `split_from` bytes or more only in pieces
    of at most `limit` bytes (None: all texts whole)."""

    batch: int
    limit: int | None = None
    split_from: int = 0

    def pieces(self, text: str) -> list[str]:
        """The text as it has to be sent."""
        if self.limit is None or size_of(text) < self.split_from:
            return [text]
        return spread(split_text(text, self.limit), _MAX_PIECES)

    def shrunk(self, refusal: Refusal, sizes: Sequence[int]) -> Fit | None:
        """What to try after `refusal` of pieces of these `sizes` (bytes); None when nothing is left."""
        held, longest = min(self.batch, len(sizes)), max(sizes)
        about_batch = refusal.status == 413 or _BATCH_LIMIT.search(refusal.message) is not None
        if held > 1 and (about_batch or longest < _SHORTEST_SPLIT):
            return replace(self, batch=-(-held // 2))
        if longest < _SHORTEST_SPLIT:
            return None
        half = -(-longest // 2)
        return replace(self, limit=half, split_from=half + 1)


class OpenAIEmbedder(CheckedEmbedder):
    """One model at one endpoint.

    Sends `model` and `input`, and `dimensions` only when the settings ask for it; a server that refuses that
    field is asked again without it, from then on. A text that the server finds too long is embedded in
    pieces, halved until they fit, whose vectors are averaged by length; what fits is remembered. A batch that
    it finds too big is halved and remembered likewise. Both a bounded number of times.
    """

    def __init__(self, config: EmbedderConfig, run_blocking: RunBlocking) -> None:
        super().__init__(f"{config.provider}:{config.model}", config.dims)
        self._config = config
        self._endpoint = _endpoint(config, run_blocking)
        self._fit = Fit(config.batch_size)
        self._send_dims = config.dims is not None

    async def close(self) -> None:
        """Close this loop's connections; they are opened again when needed."""
        await self._endpoint.close()

    async def _rows(self, texts: list[str], purpose: Purpose) -> object:  # noqa: ARG002
        size = self._fit.batch
        tasks = [
            asyncio.create_task(self._fitted(texts[at : at + size])) for at in range(0, len(texts), size)
        ]
        try:
            return np.vstack(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def _fitted(self, texts: list[str]) -> Vectors:
        """The vectors of one batch, made smaller until the server takes it."""
        fit, split_from = self._fit, self._fit.split_from
        for _ in range(_MAX_SHRINKS):
            parts = [fit.pieces(text) for text in texts]
            flat = [piece for pieces in parts for piece in pieces]
            sizes = [size_of(piece) for piece in flat]
            outcome = await self._in_batches(flat, fit.batch)
            if not isinstance(outcome, Refusal):
                # What comes later is split only when it is as long as what was refused last.
                self._fit = replace(fit, split_from=split_from)
                return merge_parts(outcome, [len(pieces) for pieces in parts], sizes)
            refusal = outcome
            smaller = fit.shrunk(refusal, sizes)
            if smaller is None:
                break
            if smaller.limit != fit.limit:
                split_from = max(sizes)
            fit = smaller
        raise EmbedderError(
            f"The embedder {self.name!r} refused the request: {refusal.status}: {refusal.message}",
            details={"status": refusal.status},
        )

    async def _in_batches(self, pieces: list[str], size: int) -> Vectors | Refusal:
        rows: list[Vectors] = []
        for at in range(0, len(pieces), size):
            outcome = await self._request(pieces[at : at + size])
            if isinstance(outcome, Refusal):
                return outcome
            rows.append(outcome)
        return np.vstack(rows)

    async def _request(self, pieces: list[str]) -> Vectors | Refusal:
        body: dict[str, object] = {**self._config.body, "model": self._config.model, "input": pieces}
        if self._send_dims:
            body["dimensions"] = self._config.dims
        outcome = await self._endpoint.post("/embeddings", body)
        if isinstance(outcome, Refusal) and self._send_dims and outcome.names("dimensions"):
            self._send_dims = False
            del body["dimensions"]
            outcome = await self._endpoint.post("/embeddings", body)
        if isinstance(outcome, Refusal):
            return outcome
        raw = parse_reply(outcome.body, len(pieces), self.name)
        return check_rows(raw, count=len(pieces), dims=self.dims, name=self.name)


def _endpoint(config: EmbedderConfig, run_blocking: RunBlocking) -> Endpoint:
    """Where the provider is reached. Raises ConfigError where its address or key is missing."""
    provider = EMBEDDERS[config.provider]
    headers, sdk = dict(config.headers), OPENAI_SDK
    if provider.adapter == "litellm":
        model = provider.prefix + config.model.removeprefix(provider.prefix)
        base_url, api_key = config.base_url or f"LiteLLM ({model})", config.api_key or NO_KEY
        sdk = litellm_sdk(model, config.base_url)
    else:
        base_url, api_key = resolve_address(config.base_url, config.api_key, "embedder", os.environ, provider)
    if config.provider == "azure_openai":
        base_url = azure_url(base_url, config.api_version)
        headers.setdefault("api-key", api_key)
    settings = EndpointConfig(
        option="embedder",
        base_url=base_url,
        api_key=api_key,
        timeout=config.timeout,
        max_retries=config.max_retries,
        max_concurrency=config.max_concurrency,
        headers=headers,
        api_version=config.api_version,
        secrets=secrets_of(config.body, headers),
    )
    return Endpoint(settings, EmbedderError, run_blocking, sdk)


def parse_reply(body: object, count: int, name: str) -> list[object]:
    """The vectors of an embeddings reply, in the order of the texts that were sent.

    Items are put in order by their `index`; without any, they are taken as they come. A vector is a list of
    numbers or base64 of little-endian float32. Raises EmbedderError for anything but one vector per text.
    """
    wrong = f"The embedder {name!r} was asked for {count} vectors and returned"
    items: Any = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(items, list):
        raise EmbedderError(f"{wrong} no `data` list but {body!r:.200}.")
    if len(items) != count or not all(isinstance(item, Mapping) and "embedding" in item for item in items):
        raise EmbedderError(
            f"{wrong} {len(items)} items in `data`, not one with an `embedding` for each text."
        )
    places = [item.get("index") for item in items]
    if all(place is None for place in places):
        places = list(range(count))
    if set(places) != set(range(count)):
        raise EmbedderError(f"{wrong} items whose `index` is not 0 to {count - 1}: {places!r:.200}.")
    ordered: list[object] = [None] * count
    for place, item in zip(places, items, strict=True):
        ordered[place] = _vector(item["embedding"], wrong)
    return ordered


def _vector(raw: object, wrong: str) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return np.frombuffer(base64.b64decode(raw, validate=True), dtype="<f4")
    except (binascii.Error, ValueError) as error:
        raise EmbedderError(f"{wrong} an `embedding` that is text and no base64 of float32.") from error
