"""The address to count by."""

from __future__ import annotations

import ipaddress
import re
import warnings
from collections.abc import Iterable


def client_address(
    peer: str | None, forwarded_for: Iterable[str], *, trusted_hops: int = 0, ipv6_prefix: int = 64
) -> str:
    """The address of the peer, or as the outermost trusted proxy saw it.

    forwarded_for: the values of `X-Forwarded-For`, in order. They are ignored unless `trusted_hops` states the number of proxies
    before this server that append to the header: anybody can send it.
    ipv6_prefix: the prefix length by which IPv6 addresses are counted; a customer has a /64.
    """
    if trusted_hops < 0 or not 32 <= ipv6_prefix <= 128:
        raise ValueError("trusted_hops: 0 or more; ipv6_prefix: 32 to 128")
    hops = [hop for hop in ",".join(forwarded_for).split(",") if hop.strip()]
    seen = hops[-min(trusted_hops, len(hops))] if hops and trusted_hops else ""
    if hops and trusted_hops == 0:
        _warn("X-Forwarded-For is ignored; set trusted_hops to the number of proxies")
    if len(hops) < trusted_hops:
        _warn("X-Forwarded-For has fewer addresses than trusted_hops, so its client can choose the address by which it counts")
    if seen and (inner := _prefix(seen, 128)) and any(ipaddress.ip_address(inner) in network for network in _PRIVATE):
        _warn("X-Forwarded-For counts a private address, perhaps of a proxy; trusted_hops must be the number of all proxies")
    address = _prefix(seen, ipv6_prefix) or _prefix(peer or "", ipv6_prefix)
    if address is None:
        raise ValueError("the address of the peer is not known here: set trusted_hops to the number of proxies")
    return address


_PRIVATE = [
    ipaddress.ip_network(network)
    for network in ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7", "fe80::/10")
]
"""Addresses of private networks, links and the machine itself."""


def _warn(text: str) -> None:
    begin = " ".join(text.split()[:3]).rstrip(";")
    silence = f'warnings.filterwarnings("ignore", "{begin}") silences this'
    warnings.warn(f"{text} ({silence})", RuntimeWarning, stacklevel=4)


def _prefix(text: str, ipv6_prefix: int) -> str | None:
    """An address without port and zone, IPv6 cut to its prefix; None if it is none."""
    bare = re.sub(r"^\[(.*)\](:\d+)?$", r"\1", text.strip())
    bare = re.sub(r"^(\d+\.\d+\.\d+\.\d+):\d+$", r"\1", bare).partition("%")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    network = ipaddress.IPv6Network((address, ipv6_prefix), strict=False)
    return str(address) if ipv6_prefix == 128 else str(network)
