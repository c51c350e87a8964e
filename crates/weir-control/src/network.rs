//! The parts of the address space that usually belong to one customer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address, or the /64 of an IPv6 address: the smallest network of one customer.
pub(crate) fn of(peer: IpAddr) -> String {
    match peer.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("{}/64", prefix_v6(v6, 64)),
    }
}

/// The /24 of an IPv4 address, or the /48 of an IPv6 address: usually the largest network of one customer.
pub(crate) fn block_of(peer: IpAddr) -> String {
    match peer.to_canonical() {
        IpAddr::V4(v4) => format!("{}/24", Ipv4Addr::from_bits(v4.to_bits() & !0xFF)),
        IpAddr::V6(v6) => format!("{}/48", prefix_v6(v6, 48)),
    }
}

fn prefix_v6(address: Ipv6Addr, bits: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() >> (128 - bits) << (128 - bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_customer_share_a_network() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(of(address("192.0.2.7")), "192.0.2.7");
        assert_eq!(of(address("::ffff:192.0.2.7")), "192.0.2.7");
        assert_eq!(of(address("2001:db8:1:2:3::4")), "2001:db8:1:2::/64");
        assert_eq!(block_of(address("192.0.2.7")), "192.0.2.0/24");
        assert_eq!(block_of(address("2001:db8:1:2:3::4")), "2001:db8:1::/48");
    }
}
