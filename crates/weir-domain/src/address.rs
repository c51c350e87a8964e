//! Addresses as proxies write them.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Reads an entry of `X-Forwarded-For`, with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`,
/// `[2001:db8::1]:80`. An IPv4 address that is mapped to IPv6 becomes the IPv4 address.
pub fn of_forwarded_entry(entry: &str) -> Option<IpAddr> {
    let bracketed = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let with_port = || entry.parse::<SocketAddr>().ok().map(|socket| socket.ip());
    let address: Option<IpAddr> = entry.parse().ok().or_else(with_port).or_else(bracketed);
    address.map(|address| address.to_canonical())
}

/// The first address of the network of `bits` bits, at most 128, that contains an address.
pub(crate) fn ipv6_network(address: Ipv6Addr, bits: u8) -> Ipv6Addr {
    let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}
