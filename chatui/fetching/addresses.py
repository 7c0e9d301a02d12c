"""Decides whether an IP address is public, including IPv4 addresses that are embedded in IPv6 ones."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_IPV4_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::/96"), 0),  # compatible, and the loopback and unspecified addresses
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)
"""IPv6 networks whose addresses embed an IPv4 address, and the number of bits after that address."""
_NOT_PUBLIC_V4 = tuple(
    map(IPv4Network, ("0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15"))
)
"""This network, carrier-grade NAT, Azure's host (a public address that leads to the machine's own settings), protocol assignments (metadata
on some clouds), 6to4 relays and benchmarks. Older versions of Python do not recognize most of them."""
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("64:ff9b:1::/48", "2001::/32", "fec0::/10", "100::/64", "5f00::/16", "3fff::/20")))
"""Local NAT64, Teredo, site-local, discard-only, segment routing and documentation. Not all versions of Python recognize all of them."""


def is_public(address: str) -> bool:
    """Whether this is a public internet address: not private, link-local, loopback, multicast, reserved or for metadata."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return _is_public_v4(found) if isinstance(found, IPv4Address) else _is_public_v6(found)


def _is_public_v4(address: IPv4Address) -> bool:
    is_special = address.is_multicast or address.is_reserved or any(address in network for network in _NOT_PUBLIC_V4)
    return address.is_global and not is_special


def _is_public_v6(address: IPv6Address) -> bool:
    if address.scope_id is not None or any(address in network for network in _NOT_PUBLIC_V6):
        return False
    for network, bits_after in _IPV4_EMBEDDING:
        if address in network:
            return _is_public_v4(IPv4Address(int(address) >> bits_after & 0xFFFFFFFF))
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
