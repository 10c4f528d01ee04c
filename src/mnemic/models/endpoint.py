"""One way to talk to a model's endpoint: address, key, time limit, retries, telling errors."""

from __future__ import annotations

import asyncio
import email.utils
import functools
import importlib
import importlib.util
import json
import os
import random
import re
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from mnemic.checks import masked_url
from mnemic.config import SECRET
from mnemic.errors import ConfigError, MissingDependencyError, ModelError, ModelTimeoutError
from mnemic.models.settings import RunBlocking

from .providers import OPENAI, Provider

if TYPE_CHECKING:
    from openai import APIStatusError

# Servers that want no key ignore this one; the SDK does not send a request without any.
NO_KEY = "no-key"
LONGEST_WAIT = 60.0
_FIRST_WAIT = 0.5
_BACKOFF_LIMIT = 8.0
_TOO_LONG = re.compile(
    r"too (?:large|long)|context (?:length|size|window)|max\w* (?:\w+ )?(?:length|tokens)", re.I
)


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """Where and how to send requests. `option` is the settings' path in messages, as in "embedder".

    api_version: of Azure's older API. secrets: what is never to be seen in a message, beside the key.
    """

    option: str
    base_url: str
    api_key: str = field(repr=False)
    timeout: float
    max_retries: int
    max_concurrency: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_version: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> str:
        """The address for messages."""
        return masked_url(self.base_url)


@dataclass(frozen=True, slots=True)
class Answer:
    """The parsed body of a reply with a success status."""

    body: object


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server understood the request and will not serve it as it is; a changed one may pass.

    `param` is the field the server named, if it did.
    """

    status: int
    message: str
    param: str | None = None

    def names(self, name: str) -> bool:
        """Whether the refusal is about the request field `name`."""
        return self.param == name or re.search(rf"\b{re.escape(name)}\b", self.message) is not None


@dataclass(frozen=True, slots=True)
class _Outage:
    message: str
    wait: float | None = None
    lasting: bool = False


def normalise_base_url(url: str, option: str) -> str:
    """The base URL as the SDK wants it: "/v1" added when there is no path, the name of a route cut off.

    Raises ConfigError naming `option` for what is no http(s) URL.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(
            f"{option}.base_url is {masked_url(url)!r}; accepted: a URL as in 'http://localhost:11434/v1'."
        )
    path = re.sub(r"/(embeddings|chat/completions)$", "", parts.path.rstrip("/"))
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", parts.query, ""))


def resolve_address(
    base_url: str | None,
    api_key: str | None,
    option: str,
    environ: Mapping[str, str],
    provider: Provider = OPENAI,
) -> tuple[str, str]:
    """The base URL and the key to use.

    A key from the environment goes only to the address from the environment or to the provider's own: never to
    a server that the settings name, unless the provider is such a server by nature. Raises ConfigError where
    no address is known, or when a provider that needs a key has none.
    """
    given = base_url or _first(environ, provider.url_names) or provider.base_url
    if given is None:
        names = " and neither is ".join(("", *provider.url_names))
        raise ConfigError(
            f"{option}.base_url is not set{names}, and this provider has no address of its own."
        )
    address = normalise_base_url(given, option)
    is_own = provider.base_url is not None and urlsplit(address).netloc == urlsplit(provider.base_url).netloc
    is_users = provider.base_url is None or not provider.needs_key
    key = api_key or (_first(environ, provider.key_names) if base_url is None or is_own or is_users else None)
    if key is None and provider.needs_key and (is_own or provider.base_url is None):
        names = " or ".join(provider.key_names)
        raise ConfigError(
            f"{option}.api_key is not set and neither is {names}, which {masked_url(address)} needs.",
            suggestion=f"For a server of your own set {option}.base_url.",
        )
    return address, key or NO_KEY


def azure_url(resource: str, api_version: str | None) -> str:
    """Where a resource of Azure speaks OpenAI's protocol: the newer address, or the older with a version."""
    parts = urlsplit(resource)
    if "/openai" in parts.path:
        return resource
    return parts._replace(path="/openai/v1" if api_version is None else "/openai").geturl()


def secrets_of(body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[str, ...]:
    """What of a request's further fields and headers is never to be seen in a message."""
    named = (value for name, value in body.items() if SECRET.search(name) and isinstance(value, str))
    return (*named, *headers.values())


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def retry_wait(attempt: int, asked: float | None, jitter: float) -> float | None:
    """Seconds to wait before the next try, or None when the server asks for longer than is worth waiting.

    attempt: 0 for the first try that failed. asked: what Retry-After says, in seconds. jitter: from [0, 1).
    """
    if asked is not None:
        return max(asked, 0.0) if asked <= LONGEST_WAIT else None
    return min(_FIRST_WAIT * 2.0**attempt, _BACKOFF_LIMIT) * (1 - jitter / 4)


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for, given as a number or an HTTP date. `now`: epoch seconds."""
    if value is None:
        return None
    if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
        return float(value)
    moment = email.utils.parsedate_tz(value)
    return None if moment is None else email.utils.mktime_tz(moment) - now


class Client(Protocol):
    """What sends the requests of one event loop."""

    def post(self, path: str, *, cast_to: type[object], body: dict[str, object]) -> Awaitable[object]:
        """The parsed body of the reply."""
        ...

    def close(self) -> Awaitable[None]:
        """Give back the connections."""
        ...


@dataclass(frozen=True, slots=True)
class SDK:
    """A provider's library: its package, our extra, the module with its errors, and how its client is made.

    Its errors have the names and attributes of those of the `openai` package.
    """

    package: str
    extra: str
    errors: str
    client: Callable[[EndpointConfig], Client]


def openai_client(config: EndpointConfig) -> Client:
    """A client for whatever speaks OpenAI's protocol."""
    import openai

    settings: dict[str, Any] = {
        "base_url": config.base_url,
        "api_key": config.api_key,
        "timeout": config.timeout,
        "max_retries": 0,
        "default_headers": dict(config.headers),
    }
    if config.api_version is not None:
        azure: Client = openai.AsyncAzureOpenAI(api_version=config.api_version, **settings)
        return azure
    client: Client = openai.AsyncOpenAI(**settings)
    return client


OPENAI_SDK = SDK("openai", "openai", "openai", openai_client)


class Endpoint:
    """Posts JSON to one server. Safe from several threads and loops: each loop has its own client."""

    def __init__(
        self,
        config: EndpointConfig,
        error: type[ModelError],
        run_blocking: RunBlocking,
        sdk: SDK = OPENAI_SDK,
    ) -> None:
        if importlib.util.find_spec(sdk.package) is None:
            raise MissingDependencyError(f"The {config.option}", package=sdk.package, extra=sdk.extra)
        self._sdk = sdk
        self._config = config
        self._error = error
        self._run_blocking = run_blocking
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._lines: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = weakref.WeakKeyDictionary()

    async def post(self, path: str, body: Mapping[str, object]) -> Answer | Refusal:
        """Send `body`, trying again after 429, 5xx and lost connections as often as `max_retries` allows.

        Raises the endpoint's error type for an outage, a wrong key or a reply that is no JSON, and
        ModelTimeoutError when the server does not answer within `timeout`.
        """
        attempt = 0
        while True:
            outcome = await self._once(path, body)
            if not isinstance(outcome, _Outage):
                return outcome
            wait = retry_wait(attempt, outcome.wait, random.random())
            if outcome.lasting or wait is None or attempt >= self._config.max_retries:
                raise self._failed(outcome, attempt + 1, wait)
            attempt += 1
            await asyncio.sleep(wait)

    async def _once(self, path: str, body: Mapping[str, object]) -> Answer | Refusal | _Outage:
        line = await self._line()
        errors = importlib.import_module(self._sdk.errors)
        async with line.gate:
            try:
                # The SDK's own limit counts the pause between two reads, so a dribbling server would pass it.
                async with asyncio.timeout(self._config.timeout):
                    return Answer(await line.client.post(path, cast_to=object, body=dict(body)))
            except (TimeoutError, errors.APITimeoutError) as error:
                raise ModelTimeoutError(
                    f"{self._config.place}{path} did not answer within {self._config.timeout:g} s "
                    f"(option {self._config.option}.timeout)."
                ) from error
            except errors.APIStatusError as error:
                return self._judge(error)
            except (errors.APIResponseValidationError, json.JSONDecodeError) as error:
                raise self._error(f"{self._config.place}{path} sent a reply that is no JSON.") from error
            except errors.APIConnectionError as error:
                return _Outage(self._masked(f"cannot be reached: {error.__cause__ or error}"))

    def _judge(self, error: APIStatusError) -> Refusal | _Outage:
        message, param, code = _said(error.body, error.message)
        message = self._masked(message)
        status = error.status_code
        if status in (400, 413, 422) or (status >= 500 and _TOO_LONG.search(message)):
            return Refusal(status, message, param)
        told = f"answered {status}: {message}"
        if status in (408, 409, 429) or status >= 500:
            asked = parse_retry_after(error.response.headers.get("retry-after"), time.time())
            return _Outage(told, wait=asked, lasting=code == "insufficient_quota")
        if status in (401, 403):
            return _Outage(f"{told} (option {self._config.option}.api_key)", lasting=True)
        return _Outage(f"{told} (options {self._config.option}.base_url and .model)", lasting=True)

    def _masked(self, message: str) -> str:
        """A message without the key and whatever else secret was sent."""
        for secret in (self._config.api_key, *self._config.secrets):
            if secret:
                message = message.replace(secret, "***")
        return message

    def _failed(self, outage: _Outage, tries: int, wait: float | None) -> ModelError:
        message = f"{self._config.place} {outage.message}"
        if wait is None:
            message += f" It asks to wait for {outage.wait:g} s."
        if tries > 1:
            message = f"{message.rstrip('.')}. Given up after {tries} tries."
        return self._error(message, details={"base_url": self._config.place, "tries": tries})

    async def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._pid != os.getpid():
                # After a fork the sockets are the parent's: forget them, open our own.
                self._lines = weakref.WeakKeyDictionary()
                self._pid = os.getpid()
            line = self._lines.get(loop)
        if line is None:
            # Off the loop: the SDK takes most of a second to import, its TLS settings some 20 ms to load.
            client = await self._run_blocking(functools.partial(self._sdk.client, self._config))
            with self._lock:
                fresh = _Line(client, asyncio.Semaphore(self._config.max_concurrency))
                line = self._lines.setdefault(loop, fresh)
        return line

    async def close(self) -> None:
        """Close the connections that this loop opened; a later request opens new ones."""
        with self._lock:
            line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            await line.client.close()


@dataclass(frozen=True, slots=True)
class _Line:
    """What belongs to one event loop."""

    client: Client
    gate: asyncio.Semaphore


def _said(body: object, fallback: str) -> tuple[str, str | None, str | None]:
    """Message, named field and code of an error reply, wrapped in "error", in "detail" or not at all."""
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        body = body["error"]
    if not isinstance(body, Mapping):
        return fallback, None, None
    told: Any = body.get("message") or body.get("error") or body.get("detail")
    message = told if isinstance(told, str) else json.dumps(told, default=str) if told else fallback
    param, code = body.get("param"), body.get("code")
    return message[:500], param if isinstance(param, str) else None, str(code) if code is not None else None
