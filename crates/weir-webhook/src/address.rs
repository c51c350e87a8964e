//! The addresses of the public internet. All others are refused, regardless of their present use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !RESERVED_V4.iter().any(|&(network, length)| {
        let shift = 32 - length;
        bits >> shift == Ipv4Addr::from(network).to_bits() >> shift
    })
}

/// Accepts only global unicast addresses that are not special and contain no IPv4 address. Mapped, translated, local,
/// link-local and multicast addresses are all outside of that range.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let global = first & 0xE000 == 0x2000;
    let special = (first == 0x2001 && (second < 0x0200 || second == 0x0DB8))
        || first == 0x2002
        || (first == 0x3FFF && second < 0x1000);
    global && !special
}

const RESERVED_V4: [([u8; 4], u32); 17] = [
    ([0, 0, 0, 0], 8),        // this network
    ([10, 0, 0, 0], 8),       // private
    ([100, 64, 0, 0], 10),    // shared by customers of a carrier
    ([127, 0, 0, 0], 8),      // loopback
    ([168, 63, 129, 16], 32), // a cloud's host, on every machine of it
    ([169, 254, 0, 0], 16),   // link-local, and where clouds keep machines' credentials
    ([172, 16, 0, 0], 12),    // private
    ([192, 0, 0, 0], 24),     // protocols
    ([192, 0, 2, 0], 24),     // documentation
    ([192, 31, 196, 0], 24),  // AS112
    ([192, 88, 99, 0], 24),   // 6to4 relays
    ([192, 168, 0, 0], 16),   // private
    ([198, 18, 0, 0], 15),    // benchmarks
    ([198, 51, 100, 0], 24),  // documentation
    ([203, 0, 113, 0], 24),   // documentation
    ([224, 0, 0, 0], 4),      // multicast
    ([240, 0, 0, 0], 4),      // reserved, and broadcast
];
