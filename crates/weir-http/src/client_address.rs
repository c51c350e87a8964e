//! The client's address, also behind proxies.
//!
//! A peer's address comes from the socket and cannot be forged. `X-Forwarded-For` can be forged by every client. It counts
//! only when the peer is a trusted proxy, and then the right-most address that is not itself a trusted proxy is the
//! client, because everything to the left of that entry was supplied by the client.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::http::HeaderMap;
use ipnet::IpNet;
use weir_domain::address::of_forwarded_entry;

/// The address of the client that sent a request; an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// The networks of proxies that can name the client of a request. The default trusts none.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

/// A part of the list that is neither an address nor a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidNetwork(pub String);

/// The most networks that a list can have.
pub const TRUSTED_PROXIES_MAX: usize = 64;

impl FromStr for TrustedProxies {
    type Err = InvalidNetwork;

    /// Reads addresses and networks such as `10.0.0.0/8, ::1`, separated by commas.
    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let networks: Vec<IpNet> = parts.map(network).collect::<Result<_, _>>()?;
        if networks.len() > TRUSTED_PROXIES_MAX {
            return Err(InvalidNetwork(format!("{} networks", networks.len())));
        }
        Ok(Self(networks.into()))
    }
}

fn network(text: &str) -> Result<IpNet, InvalidNetwork> {
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    network.map_err(|_| InvalidNetwork(text.to_owned()))
}

impl TrustedProxies {
    /// Whether `address` belongs to a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client behind `peer`. A malformed entry of `X-Forwarded-For` ends the search: the proxy that passed it on
    /// then counts as the client.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> ClientAddress {
        let mut client = peer.to_canonical();
        if !self.contains(client) {
            return ClientAddress(client);
        }
        for value in headers.get_all("x-forwarded-for").iter().rev() {
            for entry in value.to_str().unwrap_or("malformed").rsplit(',') {
                let Some(address) = of_forwarded_entry(entry.trim()) else {
                    return ClientAddress(client);
                };
                client = address;
                if !self.contains(client) {
                    return ClientAddress(client);
                }
            }
        }
        ClientAddress(client)
    }

    /// Whether a trusted proxy says that the client's connection used TLS.
    pub fn used_tls(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        if !self.contains(peer) {
            return false;
        }
        let mut schemes = headers.get_all("x-forwarded-proto").iter();
        let (Some(scheme), None) = (schemes.next(), schemes.next()) else {
            return false;
        };
        scheme.as_bytes().eq_ignore_ascii_case(b"https")
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(trusted: &str, peer: &str, forwarded: &[&'static str]) -> String {
        let trusted: TrustedProxies = trusted.parse().expect("networks");
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_static(value));
        }
        let ClientAddress(address) = trusted.client(peer.parse().expect("an address"), &headers);
        address.to_string()
    }

    #[test]
    fn forwarded_addresses_count_only_from_a_trusted_proxy() {
        assert_eq!(client("", "10.0.0.1", &["192.0.2.7"]), "10.0.0.1");
        assert_eq!(client("10.0.0.0/8", "192.0.2.1", &["192.0.2.7"]), "192.0.2.1");
        assert_eq!(client("10.0.0.0/8", "10.0.0.1", &["192.0.2.7"]), "192.0.2.7");
        assert_eq!(client("10.0.0.0/8", "::ffff:10.0.0.1", &["192.0.2.7:4711"]), "192.0.2.7");
        assert_eq!(client("::1", "::1", &["[2001:db8::7]:80"]), "2001:db8::7");
    }

    #[test]
    fn right_most_untrusted_address_is_the_client() {
        let two = "10.0.0.0/8, 172.16.0.0/12";
        assert_eq!(client(two, "10.0.0.1", &["203.0.113.9, 192.0.2.7, 172.16.0.4"]), "192.0.2.7");
        assert_eq!(client(two, "10.0.0.1", &["203.0.113.9", "192.0.2.7"]), "192.0.2.7");
        assert_eq!(client(two, "10.0.0.1", &["10.0.0.9, 10.0.0.8"]), "10.0.0.9");
        assert_eq!(client(two, "10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn malformed_entry_leaves_the_proxy_that_passed_it_on() {
        for entry in ["", "unknown", "192.0.2.7.", "192.0.2.7, ", "_hidden", "1", "\u{20}"] {
            assert_eq!(client("10.0.0.0/8", "10.0.0.1", &[entry]), "10.0.0.1", "{entry:?}");
        }
        assert_eq!(client("10.0.0.0/8", "10.0.0.1", &["192.0.2.7, x, 10.0.0.2"]), "10.0.0.2");
    }

    #[test]
    fn list_that_is_no_network_is_refused_with_the_part_at_fault() {
        let fault =
            |text: &str| text.parse::<TrustedProxies>().err().map(|InvalidNetwork(part)| part);
        assert_eq!(fault("10.0.0.0/8,, ::1,192.0.2.1"), None);
        assert_eq!(fault("10.0.0.0/8,10.0.0.0/33").as_deref(), Some("10.0.0.0/33"));
        assert_eq!(fault("proxy.example").as_deref(), Some("proxy.example"));
        let many = "10.0.0.1,".repeat(TRUSTED_PROXIES_MAX + 1);
        assert_eq!(fault(&many).as_deref(), Some("65 networks"));
    }

    #[test]
    fn tls_is_what_a_trusted_proxy_says_once() {
        let trusted: TrustedProxies = "10.0.0.0/8".parse().expect("a network");
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-proto", HeaderValue::from_static("HTTPS"));
        assert!(trusted.used_tls(IpAddr::from([10, 0, 0, 1]), &headers));
        assert!(!trusted.used_tls(IpAddr::from([192, 0, 2, 1]), &headers));
        headers.append("x-forwarded-proto", HeaderValue::from_static("http"));
        assert!(!trusted.used_tls(IpAddr::from([10, 0, 0, 1]), &headers));
    }
}
