//! The address to count by.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

use crate::options::WrongOption;

/// How an address is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressOptions {
    /// The number of proxies before this server that append to `X-Forwarded-For`. With 0 the header is ignored: anybody can send it.
    pub trusted_hops: usize,
    /// The prefix length by which IPv6 addresses are counted, 32 to 128. A customer has a /64.
    pub ipv6_prefix: u8,
}

impl Default for AddressOptions {
    fn default() -> Self {
        Self { trusted_hops: 0, ipv6_prefix: 64 }
    }
}

/// The address of the peer, or as the outermost trusted proxy saw it.
pub fn client_address(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    options: AddressOptions,
) -> Result<String, WrongOption> {
    if !(32..=128).contains(&options.ipv6_prefix) {
        return Err(WrongOption("ipv6_prefix: 32 to 128"));
    }
    let seen =
        if options.trusted_hops == 0 { None } else { forwarded(headers, options.trusted_hops) };
    let address = seen.or(peer).map(|address| prefix(address, options.ipv6_prefix));
    address.ok_or(WrongOption("trusted_hops: the address of the peer is not known here, so the number of proxies is needed"))
}

/// The address at this position from the right, or the leftmost one of fewer.
fn forwarded(headers: &HeaderMap, hops: usize) -> Option<IpAddr> {
    let values = headers.get_all("x-forwarded-for").into_iter();
    let texts: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let all: Vec<_> = texts
        .iter()
        .flat_map(|text| text.split(','))
        .map(str::trim)
        .filter(|hop| !hop.is_empty())
        .collect();
    address(all.get(all.len().saturating_sub(hops))?)
}

/// An address without port and zone.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = text.parse::<SocketAddr>().map(|address| address.ip());
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let bare = bare.split_once('%').map_or(bare, |(address, _)| address);
    with_port.or_else(|_| bare.parse()).ok()
}

/// The text of an address, IPv6 cut to its prefix.
fn prefix(address: IpAddr, bits: u8) -> String {
    match address.to_canonical() {
        IpAddr::V6(whole) if bits < 128 => {
            let network = whole.to_bits() & (u128::MAX << (128 - bits));
            format!("{}/{bits}", Ipv6Addr::from_bits(network))
        }
        whole => whole.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_address_counts_only_behind_the_stated_number_of_proxies() {
        const PEER: &str = "203.0.113.9";
        let rows: [(&str, &[&str], usize, u8, &str); 14] = [
            (PEER, &["1.1.1.1"], 0, 64, PEER),
            (PEER, &["1.1.1.1, 198.51.100.7"], 1, 64, "198.51.100.7"),
            (PEER, &["1.1.1.1", "198.51.100.7"], 1, 64, "198.51.100.7"),
            (PEER, &["1.1.1.1, 198.51.100.7, 10.0.0.1"], 2, 64, "198.51.100.7"),
            (PEER, &["198.51.100.7"], 3, 64, "198.51.100.7"),
            (PEER, &["garbage"], 1, 64, PEER),
            (PEER, &["01.1.1.1"], 1, 64, PEER),
            (PEER, &[], 1, 64, PEER),
            ("10.0.0.1", &["198.51.100.7:4711"], 1, 64, "198.51.100.7"),
            ("10.0.0.1", &["[2001:db8:1:2:3::9]:443"], 1, 64, "2001:db8:1:2::/64"),
            ("10.0.0.1", &["fe80::1%eth0"], 1, 64, "fe80::/64"),
            ("::ffff:203.0.113.9", &[], 0, 64, PEER),
            ("2001:DB8:0:0:1:0:0:1", &[], 0, 128, "2001:db8::1:0:0:1"),
            ("2001:db8:1234:5678::1", &[], 0, 56, "2001:db8:1234:5600::/56"),
        ];
        for (peer, forwarded, trusted_hops, ipv6_prefix, expected) in rows {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append("x-forwarded-for", value.parse().expect("a value"));
            }
            let options = AddressOptions { trusted_hops, ipv6_prefix };
            let found = client_address(peer.parse().ok(), &headers, options);
            assert_eq!(found.as_deref(), Ok(expected), "{peer} behind {forwarded:?}");
        }
        let options = AddressOptions::default();
        assert!(client_address(None, &HeaderMap::new(), options).is_err());
        let wide = AddressOptions { ipv6_prefix: 31, ..options };
        assert!(client_address(PEER.parse().ok(), &HeaderMap::new(), wide).is_err());
    }
}
