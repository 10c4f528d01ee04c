"""Which addresses belong to servers on the public internet. Pure."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

# What `ipaddress` (of some supported Python) calls global, and what is reached from within a network only, or
# is a way round to such an address.
_INNER_V4 = tuple(
    map(
        IPv4Network,
        (
            "192.0.0.0/24",  # protocol assignments; a cloud's metadata
            "192.88.99.0/24",  # relays of 6to4
            "168.63.129.16/32",  # the platform of another cloud, from inside its machines
        ),
    )
)
_UNICAST = IPv6Network("2000::/3")
# IPv4 addresses behind NAT64 and IPv4-mapped ones are outside `_UNICAST` already.
_INNER_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
_NUMERIC = re.compile(r"(?:.*\.)?(?:\d+|0x[\da-f]*)\.?", re.IGNORECASE)


def is_public(address: Address) -> bool:
    """Whether an address is that of a server on the public internet.

    Not so: loopback, private, link-local, shared (CGNAT), multicast, reserved and documentation addresses,
    clouds' own services, and every form of IPv6 that stands for an IPv4 address (mapped, compatible, NAT64,
    6to4, Teredo).
    """
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INNER_V4)
    return address in _UNICAST and not any(address in network for network in _INNER_V6)


def literal_address(host: str) -> Address | None:
    """The address that a host is written as; None for a name.

    Raises ValueError for a number that is no address as everybody writes it: `127.1`, `0x7f000001` and
    `2130706433` mean 127.0.0.1 to some resolvers and something else to others.
    """
    if ":" not in host and not _NUMERIC.fullmatch(host):
        return None
    if "%" in host:
        raise ValueError(f"{host} is an address within one network")
    return ip_address(host)
