"""GET over connections that go only where they may. Imports the HTTP library; `fetch` is the way in."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address

import httpcore2
import httpx2

from mnemic.checks import masked_url

from .addresses import Address, literal_address
from .fetch import NotFetchableError, NotFetchedError, Permits
from .media import TELLING_BYTES, media_type_of, named_media_type

MOST_REDIRECTS = 3
# So many seconds for one of a host's addresses, then the next is tried.
SECONDS_FOR_AN_ADDRESS = 4.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# What asks to come again later, beside all from 500 on.
_LATER = frozenset({408, 425, 429})
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")


async def get(url: str, permits: Permits, most_bytes: int, types: frozenset[str]) -> tuple[bytes, str]:
    """The content of a URL and its media type. Raises NotFetchableError, NotFetchedError."""
    tls = await asyncio.to_thread(_trust)
    backend = _GuardedBackend(permits)
    try:
        async with httpcore2.AsyncConnectionPool(ssl_context=tls, network_backend=backend) as pool:
            target = _read(url)
            for _ in range(MOST_REDIRECTS + 1):
                found = await _get_once(pool, target, most_bytes, types)
                if not isinstance(found, httpx2.URL):
                    return found
                target = found
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as fault:
        raise NotFetchedError(str(fault)[:200] or type(fault).__name__) from fault
    raise NotFetchableError(f"it redirects more than {MOST_REDIRECTS} times")


@lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    """The certificates that are trusted; reading them takes some 60 ms."""
    return httpcore2.default_ssl_context()


async def _get_once(
    pool: httpcore2.AsyncConnectionPool, url: httpx2.URL, most_bytes: int, types: frozenset[str]
) -> tuple[bytes, str] | httpx2.URL:
    """The content, or where it is to be found instead."""
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    headers = [
        (b"Host", url.netloc),
        (b"Accept", ", ".join(sorted(types)).encode()),
        # Content that unpacks into more than its size says is not asked for, nor taken.
        (b"Accept-Encoding", b"identity"),
        (b"User-Agent", b"mnemic"),
    ]
    async with pool.stream("GET", target, headers=headers) as response:
        told = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
        if response.status in _REDIRECTS and "location" in told:
            return _read(told["location"], url)
        _check_head(response.status, told, most_bytes, types)
        return await _body(response, most_bytes, types)


def _read(url: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """A URL, taken from where `base` is if it is relative. Raises NotFetchableError for one that is never fetched."""
    where = "it" if base is None else f"it redirects to {masked_url(url)[:200]!r}, which"
    try:
        read = httpx2.URL(url) if base is None else base.join(url)
    except (httpx2.InvalidURL, UnicodeError):
        # The library's message may quote a password.
        raise NotFetchableError(f"{where} is no URL") from None
    if read.scheme not in ("http", "https"):
        raise NotFetchableError(f"{where} does not begin with http:// or https://")
    if read.userinfo:
        raise NotFetchableError(f"{where} has a user or password in it")
    if read.port is not None and not 0 < read.port < 65536:
        raise NotFetchableError(f"{where} has a port that does not exist")
    host = read.raw_host.decode("ascii")
    try:
        if literal_address(host) is None and not _NAME.fullmatch(host):
            raise NotFetchableError(f"{where} names no host")
    except ValueError as fault:
        raise NotFetchableError(f"{where} has a number for a host that is no usual address") from fault
    return read


def _check_head(status: int, told: dict[str, str], most_bytes: int, types: frozenset[str]) -> None:
    """Raise NotFetchableError or NotFetchedError for an answer whose body is not worth reading."""
    if status in _LATER or status >= 500:
        raise NotFetchedError(f"the server answered {status}")
    if status != 200:
        raise NotFetchableError(f"the server answered {status}")
    named = named_media_type(told.get("content-type", ""))
    if named not in types:
        raise NotFetchableError(f"it is {named[:80]!r}; accepted: {', '.join(sorted(types))}")
    if told.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise NotFetchableError("it is sent compressed, which was not asked for")
    # The HTTP library has made sure that it is a number.
    if int(told.get("content-length", 0)) > most_bytes:
        raise NotFetchableError(f"it has more than {most_bytes:,} bytes")


async def _body(response: httpcore2.Response, most_bytes: int, types: frozenset[str]) -> tuple[bytes, str]:
    data, media_type = bytearray(), ""
    async for chunk in response.aiter_stream():
        data += chunk
        if len(data) > most_bytes:
            raise NotFetchableError(f"it has more than {most_bytes:,} bytes")
        media_type = media_type_of(bytes(data[:TELLING_BYTES])) or ""
        if len(data) >= TELLING_BYTES and media_type not in types:
            break
    if media_type not in types:
        raise NotFetchableError(f"its content is none of {', '.join(sorted(types))}")
    return bytes(data), media_type


class _GuardedBackend(httpcore2.AnyIOBackend):
    """Makes connections to addresses that may be connected to, and hands on no name that could be resolved anew."""

    def __init__(self, permits: Permits) -> None:
        self._permits = permits

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to the first permitted address of a host that takes one."""
        permitted = [address for address in await _addresses(host, port) if self._permits(address, port)]
        if not permitted:
            raise NotFetchableError(f"{host}:{port} is no public web server at port 80 or 443")
        fault: Exception | None = None
        for address in permitted:
            try:
                return await super().connect_tcp(
                    str(address), port, SECONDS_FOR_AN_ADDRESS, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                fault = error
        raise NotFetchedError(f"{host} cannot be reached") from fault


async def _addresses(host: str, port: int) -> list[Address]:
    """The addresses of a host, each once, in the order of preference."""
    literal = literal_address(host)
    if literal is not None:
        return [literal]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as fault:
        raise NotFetchedError(f"{host} cannot be found") from fault
    except UnicodeError as fault:
        raise NotFetchableError(f"{host!r} is no name of a host") from fault
    return [ip_address(text) for text in dict.fromkeys(str(entry[4][0]) for entry in found)]
