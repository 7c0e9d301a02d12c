"""Determines a visitor's address behind trusted reverse proxies, for HTTP requests and WebSockets."""

from __future__ import annotations

from ipaddress import ip_address

from chatui.env import environment


def is_trusted(address: str) -> bool:
    """Whether this is the address of a proxy that the operator listed, by itself or as part of a network."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    # A server that listens on both kinds of address sees an IPv4 peer as ::ffff:10.0.0.1.
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed
    return any(parsed in network for network in environment().trusted_proxies)


def visitor_address(peer: str, forwarded: str) -> str:
    """The visitor's address: ``peer``, unless that is a trusted proxy; then the last address in ``forwarded`` that is not one.

    ``forwarded`` is the value of X-Forwarded-For, to which each proxy appends the address that it saw. Anything further left was written
    by the visitor, who may claim anything, so it is not read.
    """
    hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    address = peer
    while hops and is_trusted(address):
        hop = hops.pop()
        try:
            ip_address(hop)
        except ValueError:
            break  # not an address: only what the nearest proxy saw is known
        address = hop
    return address
