"""Fetching by URL, over real sockets: what is refused without a connection, and what comes back from the rest."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.machinery import ModuleSpec
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.errors import FetchError, FetchRefusedError, MissingDependencyError
from mnemic.models import wire
from mnemic.models.addresses import is_public
from mnemic.models.fetch import Fetched, Guard, is_public_server
from mnemic.models.media import IMAGES, media_type_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(100))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(100))
WEBP = b"RIFF\x64\0\0\0WEBPVP8 " + bytes(90)
GIF = b"GIF89a" + bytes(90)

Handler = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every address that a socket was connected to."""
    made: list[Any] = []
    connect = socket.socket.connect

    def recorded(self: socket.socket, address: Any) -> None:
        made.append(address[:2])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", recorded)
    return made


class Resolver:
    """Stands in for DNS: each look-up of a name gives the next of its answers, the last one for ever."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.looked_up: list[str] = []
        self._answers = {name.replace("_", "."): list(told) for name, told in answers.items()}

    def __call__(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> list[Any]:
        self.looked_up.append(host)
        told = self._answers.get(host)
        if told is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        addresses = told.pop(0) if len(told) > 1 else told[0]
        return [
            (socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in addresses
        ]


def permit_loopback(address: IPv4Address | IPv6Address, port: int) -> bool:
    return address.is_loopback


def fetch(guard: Guard, url: str, most_bytes: int = 1000, timeout: float = 20) -> Fetched:
    return asyncio.run(guard.fetch(url, most_bytes=most_bytes, types=IMAGES, timeout=timeout))


@asynccontextmanager
async def serving(
    handler: Handler, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """A server that hands the first line and headers of each request to `handler`; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler((await reader.readuntil(b"\r\n\r\n")).decode(), writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


def fetched_from(
    handler: Handler,
    path: str = "/a.png",
    *,
    guard: Guard | None = None,
    most_bytes: int = 1000,
    timeout: float = 20,
) -> Fetched:
    """What a guard that permits loopback fetches from a server with this handler."""

    async def run() -> Fetched:
        async with serving(handler) as port:
            url = f"http://127.0.0.1:{port}{path}"
            ours = guard or Guard(permit_loopback)
            return await ours.fetch(url, most_bytes=most_bytes, types=IMAGES, timeout=timeout)

    return asyncio.run(run())


def answer(body: bytes = PNG, *, status: int = 200, **headers: str) -> Handler:
    told = {"Content-Type": "image/png", "Content-Length": str(len(body))}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value)

    async def handler(request: str, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body)

    return handler


async def forever(writer: asyncio.StreamWriter) -> None:
    """Leave the answer unfinished until the client is gone."""
    await writer.drain()
    await writer.wait_closed()


# --- what is refused without a connection --------------------------------------------------------------------

REFUSED = [
    "http://169.254.169.254/latest",
    "http://127.0.0.1:9/x.png",
    "http://127.0.0.1/x.png",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.0.1./",
    "http://①②⑦.⓪.⓪.①/",
    "http://１２７.０.０.１/",
    "http://0/",
    "http://0.0.0.0/",
    "http://10.0.0.5/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://240.0.0.1/",
    "http://198.18.0.1/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:93.184.216.34]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::5db8:d822]/",
    "http://[64:ff9b:1::a00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25lo]/",
    "http://[2606:4700::1111%25lo]/",
    "http://[fd00:ec2::254]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "https://93.184.216.34:8443/",
    "http://93.184.216.34:22/",
    "http://93.184.216.34:0/",
    "http://user@93.184.216.34/",
    "http://user:pass@93.184.216.34/",
    "http://:pass@93.184.216.34/",
    "http://93.184.216.34\\@127.0.0.1/",
    "file:///etc/passwd",
    "ftp://93.184.216.34/x.png",
    "gopher://127.0.0.1:6379/_x",
    "data:image/png;base64,iVBORw0KGgo=",
    "javascript:alert(1)",
    "//93.184.216.34/x.png",
    "/etc/passwd",
    "x.png",
    "",
    "http://",
    "http:///x.png",
    "http://ho st/",
    "http://host%00.example/",
    "http://a\nb.example/",
    "http://[::1/",
    "http://93.184.216.34:99999/",
    "http://93.184.216.34:port/",
    "http://" + "a" * 70 + ".example/",
    "http://" + "x" * 70_000,
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED, ids=lambda url: url[:60])
def test_refused_without_a_connection(
    url: str, connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        # Python itself refuses the name before it asks anybody.
        host.encode("idna")
        raise AssertionError(f"{host} was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", no_lookup)
    with pytest.raises(FetchRefusedError):
        fetch(Guard(), url)
    assert connections == []


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:10.0.0.1", "fd00::1", "fe80::1%lo"]
)
def test_a_name_of_an_inner_address_is_refused_without_a_connection(
    address: str, connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(inner_example=[[address]]))
    with pytest.raises(FetchRefusedError, match="no public web server"):
        fetch(Guard(), "http://inner.example/x.png")
    assert connections == []


PUBLIC = ["93.184.216.34", "8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::2004"]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_servers_are_permitted_at_the_webs_ports(address: str) -> None:
    assert is_public_server(ip_address(address), 80)
    assert is_public_server(ip_address(address), 443)
    assert not is_public_server(ip_address(address), 8080)


@given(st.ip_addresses(v=4))
def test_no_form_of_ipv6_stands_for_a_permitted_ipv4_address(address: IPv4Address) -> None:
    bits = int(address)
    forms = [0xFFFF << 32, 0, 0x64FF9B << 96, 0x64FF9B0001 << 80, 0x20010000 << 96]
    found = [IPv6Address(form | bits) for form in forms]
    found += [IPv6Address((0x2002 << 112) | (bits << 80)), IPv6Address(0x64FF9B << 96 | bits)]
    assert not any(map(is_public, found))


@given(st.ip_addresses())
def test_only_global_unicast_addresses_are_public(address: IPv4Address | IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        assert not (
            address.is_private or address.is_multicast or address.is_loopback or address.is_link_local
        )


# --- what the connection goes to -----------------------------------------------------------------------------


def test_the_connection_goes_to_the_address_that_was_looked_at(
    connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver(pictures_example=[["127.0.0.2"], ["127.0.0.1"]])
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    requests: list[str] = []

    async def run(guard: Guard) -> None:
        async def handler(request: str, writer: asyncio.StreamWriter) -> None:
            requests.append(request)
            await answer()(request, writer)

        async with serving(handler, "0.0.0.0") as port:
            wanted = {"most_bytes": 1000, "types": IMAGES, "timeout": 20}
            found = await guard.fetch(f"http://pictures.example:{port}/a.png?size=2", **wanted)  # type: ignore[arg-type]
            assert found == Fetched(PNG, "image/png")
            assert connections == [("127.0.0.2", port)]
            with pytest.raises(FetchRefusedError):
                await guard.fetch(f"http://pictures.example:{port}/a.png", **wanted)  # type: ignore[arg-type]

    asyncio.run(run(Guard(lambda address, port: str(address) == "127.0.0.2")))
    assert resolver.looked_up == ["pictures.example"] * 2
    assert len(connections) == len(requests) == 1
    first, *others = requests[0].splitlines()
    assert first == "GET /a.png?size=2 HTTP/1.1"
    assert {line.partition(":")[0] for line in others if line} == {
        *("Host", "Accept", "Accept-Encoding", "User-Agent")
    }
    assert "Host: pictures.example:" in requests[0]


def test_of_several_addresses_only_permitted_ones_are_tried(
    connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket, "getaddrinfo", Resolver(mixed_example=[["10.0.0.1", "127.0.0.3", "::1", "127.0.0.2"]])
    )

    async def run() -> int:
        async with serving(answer(), "127.0.0.2") as port:
            guard = Guard(lambda address, _: str(address) in ("127.0.0.2", "127.0.0.3"))
            await guard.fetch(f"http://mixed.example:{port}/", most_bytes=1000, types=IMAGES, timeout=20)
            return port

    port = asyncio.run(run())
    assert connections == [("127.0.0.3", port), ("127.0.0.2", port)]


def test_no_proxy_is_asked_to_resolve_the_name(
    connections: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.9:3128")
    assert fetched_from(answer()).data == PNG
    assert [host for host, _ in connections] == ["127.0.0.1"]


def test_the_certificate_has_to_be_that_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = Path(__file__).parent / "data" / "pictures.example.pem"
    told = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    told.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(wire, "_trust", lambda: trust)
    names = {"pictures_example": [["127.0.0.1"]], "other_example": [["127.0.0.1"]]}
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(**names))

    async def run() -> None:
        async with serving(answer(), tls=told) as port:
            for host in ("pictures.example", "other.example"):
                url = f"https://{host}:{port}/a.png"
                guard = Guard(permit_loopback)
                fetched = await guard.fetch(url, most_bytes=1000, types=IMAGES, timeout=20)
                assert (host, fetched.data) == ("pictures.example", PNG)

    with pytest.raises(FetchError, match=r"(?i)certificate|hostname"):
        asyncio.run(run())


# --- redirects -----------------------------------------------------------------------------------------------


def redirecting(*targets: str) -> Handler:
    """Redirects /0 to the first target, /1 to the second and so on; anything else is a picture."""

    async def handler(request: str, writer: asyncio.StreamWriter) -> None:
        path = request.split()[1].removeprefix("/")
        if path.isdigit() and int(path) < len(targets):
            await answer(b"", status=302, Location=targets[int(path)])(request, writer)
        else:
            await answer()(request, writer)

    return handler


def test_a_few_redirects_are_followed() -> None:
    assert fetched_from(redirecting("/1", "2", "/end"), "/0").data == PNG


def test_many_redirects_are_refused() -> None:
    with pytest.raises(FetchRefusedError, match="more than 3 times"):
        fetched_from(redirecting("/1", "/2", "/3", "/4"), "/0")
    with pytest.raises(FetchRefusedError, match="more than 3 times"):
        fetched_from(redirecting("/0"), "/0")


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest",
        "http://127.0.0.1:9/x.png",
        "//10.0.0.1/x.png",
        "http://[::1]/",
        "http://0x7f.1/",
        "http://user:hunter2@127.0.0.1/",
        "file:///etc/passwd",
    ],
)
def test_a_redirect_to_an_inner_address_is_not_followed(target: str, connections: list[Any]) -> None:
    permitted: list[int] = []

    def first_port_only(address: IPv4Address | IPv6Address, port: int) -> bool:
        permitted.append(port)
        return str(address) == "127.0.0.1" and port == permitted[0]

    with pytest.raises(FetchRefusedError) as caught:
        fetched_from(redirecting("/1", target, "/end"), "/0", guard=Guard(first_port_only))
    assert set(connections) == {("127.0.0.1", permitted[0])}
    assert "hunter2" not in str(caught.value)


# --- what comes back -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "named", "media_type"),
    [
        (PNG, "image/png", "image/png"),
        (JPEG, "image/jpg", "image/jpeg"),
        (JPEG, "IMAGE/JPEG; charset=binary", "image/jpeg"),
        (WEBP, "image/webp", "image/webp"),
        (GIF, "image/gif", "image/gif"),
        (WEBP, "image/jpeg", "image/webp"),
    ],
)
def test_the_content_tells_its_type(data: bytes, named: str, media_type: str) -> None:
    assert fetched_from(answer(data, Content_Type=named)) == Fetched(data, media_type)


def test_chunks_and_a_body_without_a_length_are_read() -> None:
    async def chunked(request: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(PNG), 7):
            part = PNG[at : at + 7]
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    assert fetched_from(chunked).data == PNG
    assert fetched_from(answer(Content_Length="")).data == PNG


@pytest.mark.parametrize(
    "named", ["text/html", "image/svg+xml", "application/octet-stream", "", "image/png, text/html"]
)
def test_the_body_of_another_type_is_not_read(named: str) -> None:
    async def head_only(request: str, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {named}\r\nContent-Length: 100\r\n\r\n".encode())
        await forever(writer)

    with pytest.raises(FetchRefusedError, match="accepted: image/gif"):
        fetched_from(head_only)


@pytest.mark.parametrize("content", [b"<html><script>", b"%PDF-1.7 and so on", b"<?xml version='1.0'?><svg>"])
def test_content_that_is_not_what_it_is_named_is_not_read_further(content: bytes) -> None:
    async def lying(request: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 900\r\n\r\n" + content)
        await forever(writer)

    with pytest.raises(FetchRefusedError, match="its content is none of"):
        fetched_from(lying)


@pytest.mark.parametrize("content", [b"", b"\x89PN", b"RIFF", b"x"])
def test_content_too_short_to_be_an_image_is_refused(content: bytes) -> None:
    with pytest.raises(FetchRefusedError, match="its content is none of"):
        fetched_from(answer(content))


def test_a_size_told_beforehand_is_believed_when_it_is_too_large() -> None:
    async def head_only(request: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 1001\r\n\r\n")
        await forever(writer)

    with pytest.raises(FetchRefusedError, match="more than 1,000 bytes"):
        fetched_from(head_only)
    assert len(fetched_from(answer(PNG.ljust(1000, b"\0"))).data) == 1000


def test_an_endless_body_is_left_at_the_limit() -> None:
    async def endless(request: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + PNG)
        while True:
            writer.write(bytes(10_000))
            await writer.drain()

    with pytest.raises(FetchRefusedError, match="more than 50,000 bytes"):
        fetched_from(endless, most_bytes=50_000)


def test_compressed_content_is_refused() -> None:
    with pytest.raises(FetchRefusedError, match="compressed"):
        fetched_from(answer(gzip.compress(bytes(10**6)), Content_Encoding="gzip"), most_bytes=10**6)


@pytest.mark.parametrize("status", [204, 206, 304, 400, 401, 403, 404, 410])
def test_an_answer_without_the_content_is_refused(status: int) -> None:
    with pytest.raises(FetchRefusedError, match=f"the server answered {status}"):
        fetched_from(answer(b"", status=status))


# --- outages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_failing_server_is_an_outage(status: int) -> None:
    with pytest.raises(FetchError, match=f"the server answered {status}"):
        fetched_from(answer(b"", status=status))


async def silent(request: str, writer: asyncio.StreamWriter) -> None:
    await forever(writer)


async def dribbling(request: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n" + PNG)
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("handler", [silent, dribbling])
def test_a_slow_server_is_given_up(handler: Handler) -> None:
    with pytest.raises(FetchError, match=r"within 0\.3 s"):
        fetched_from(handler, timeout=0.3)


async def hangs_up(request: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 500\r\n\r\n" + PNG)


async def babbles(request: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")


async def endless_head(request: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 10_000 + b"\r\n")
        await writer.drain()


@pytest.mark.parametrize(
    "handler",
    [hangs_up, babbles, endless_head, answer(Content_Length="9" * 5000), answer(Content_Length="-1")],
)
def test_a_server_that_speaks_no_http_is_an_outage(handler: Handler) -> None:
    with pytest.raises(FetchError, match="could not be fetched"):
        fetched_from(handler)


def test_a_server_that_is_not_there_is_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FetchError, match="cannot be reached"):
        fetch(Guard(permit_loopback), "http://127.0.0.1:9/x.png")
    monkeypatch.setattr(socket, "getaddrinfo", Resolver())
    with pytest.raises(FetchError, match=r"nowhere\.example cannot be found"):
        fetch(Guard(), "http://nowhere.example/x.png")


def test_messages_hold_no_secrets() -> None:
    secret = "hunter2"
    for url in (
        f"http://me:{secret}@127.0.0.1/",
        f"http://127.0.0.1:9/x?token={secret}",
        f"ftp://h/?a={secret}",
    ):
        with pytest.raises(FetchRefusedError) as caught:
            fetch(Guard(), url)
        assert secret not in str(caught.value) + repr(caught.value.details)
    with pytest.raises(FetchError) as failed:
        fetch(Guard(permit_loopback), f"http://127.0.0.1:9/x?token={secret}")
    assert secret not in str(failed.value)
    assert "http://127.0.0.1:9/x?***" in str(failed.value)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str, package: str | None = None) -> ModuleSpec | None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", none)
    with pytest.raises(MissingDependencyError, match=r"mnemic\[images\]"):
        fetch(Guard(), "http://93.184.216.34/")


@given(st.binary(max_size=40))
def test_a_type_is_told_by_how_content_begins(data: bytes) -> None:
    assert media_type_of(PNG[:8] + data) == "image/png"
    assert media_type_of(WEBP[:12] + data) == "image/webp"
    assert media_type_of(b"<svg" + data) is None
