"""The one way to what a URL from outside names: the guard that keeps it from reaching what only this machine can."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

from mnemic.checks import masked_url
from mnemic.errors import FetchError, FetchRefusedError, MissingDependencyError

from .addresses import is_public

Permits = Callable[[IPv4Address | IPv6Address, int], bool]

PORTS = frozenset({80, 443})
_SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a URL names. media_type: by the content, which is what readers of the content go by."""

    data: bytes = field(repr=False)
    media_type: str


def is_public_server(address: IPv4Address | IPv6Address, port: int) -> bool:
    """Whether a connection goes to a web server on the public internet."""
    return port in PORTS and is_public(address)


class Guard:
    """Fetches by http and https, from no place that `permits` does not permit.

    A name is resolved once for each connection, and the connection goes to an address that was looked at, so a
    name that changes what it stands for gains nothing. Redirects are fetched like any other URL. Nothing is sent
    but a plain GET: no cookies, no credentials, and no proxy of the environment is used, since it would resolve
    the name anew. Safe from several threads and loops; it keeps nothing open.

    permits: says whether a connection to an address and port may be made; by default to public addresses at the
    ports 80 and 443 only.
    """

    def __init__(self, permits: Permits = is_public_server) -> None:
        self._permits = permits

    async def fetch(self, url: str, *, most_bytes: int, types: Collection[str], timeout: float) -> Fetched:
        """What `url` names, if it is of one of the media types `types` and has at most `most_bytes` bytes.

        types: of those that `media_type_of` tells. The server has to name one of them, and the content has to
        begin like one; else no more of it is read. timeout: seconds for everything together.

        Raises FetchRefusedError for a URL that must not be fetched, an answer other than 200 that is not an
        outage, and content of another type or size; FetchError for a server that cannot be found or reached,
        fails or is too slow; MissingDependencyError where httpx2 is not installed. Messages name the URL without
        user, password and query.
        """
        if importlib.util.find_spec("httpx2") is None:
            raise MissingDependencyError("Fetching by URL", package="httpx2", extra="images")
        shown = repr(masked_url(url)[:_SHOWN_CHARS])
        try:
            async with asyncio.timeout(timeout):
                # Off the loop: its first import takes some hundred milliseconds.
                wire = await asyncio.to_thread(importlib.import_module, "mnemic.models.wire")
                data, media_type = await wire.get(url, self._permits, most_bytes, frozenset(types))
                return Fetched(data, media_type)
        except TimeoutError as fault:
            raise FetchError(f"{shown} was not fetched within {timeout:g} s.") from fault
        except NotFetchableError as fault:
            raise FetchRefusedError(f"{shown} was refused: {fault}.") from fault
        except NotFetchedError as fault:
            raise FetchError(f"{shown} could not be fetched: {fault}.") from fault


class NotFetchableError(Exception):
    """Why something must not be fetched, or is not what was asked for."""


class NotFetchedError(Exception):
    """Why something could not be fetched."""
