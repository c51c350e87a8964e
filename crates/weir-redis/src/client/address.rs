//! Addresses of Redis: `redis://`, `rediss://`, `redis-sentinel://` and `rediss-sentinel://`.

use redis::{ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo, TlsCertificates};

/// A valid address.
#[derive(Debug)]
pub(super) enum Address {
    Server(Box<ConnectionInfo>),
    Sentinels(Box<SentinelAddress>),
}

/// `redis-sentinel://[USER:PASSWORD@]HOST[:PORT],…/NAME[?sentinel_user=…&sentinel_password=…]`
#[derive(Debug)]
pub(super) struct SentinelAddress {
    /// The Sentinels, with their credentials.
    pub(super) sentinels: Vec<ConnectionInfo>,
    /// The name of the primary.
    pub(super) name: String,
    /// The credentials of the servers.
    pub(super) settings: RedisConnectionInfo,
    /// Whether the servers speak TLS; the Sentinels then do too.
    pub(super) tls: bool,
}

/// The certificates of connections over TLS.
#[derive(Debug)]
pub(super) struct Transport {
    pub(super) authority: Option<Vec<u8>>,
}

/// The reason why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("its scheme must be redis, rediss, redis-sentinel or rediss-sentinel")]
    Scheme,
    #[error("Redis Cluster cannot be used yet: give the address of one server, or of Sentinels")]
    Cluster,
    #[error("several hosts need redis-sentinel:// and the name of the primary")]
    SeveralHosts,
    #[error("the name of the primary is missing: redis-sentinel://HOST,HOST,HOST/NAME")]
    NoName,
    #[error(
        "`{0}` is not a parameter of the address; there are sentinel_user and sentinel_password"
    )]
    Parameter(String),
    #[error("{0}")]
    Redis(#[from] redis::RedisError),
}

const SENTINEL_PORT: u16 = 26_379;

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = url.split_once("://").ok_or(AddressError::Scheme)?;
        match scheme {
            "redis" | "rediss" | "valkey" | "valkeys" | "unix" | "redis+unix" | "valkey+unix" => {
                let hosts = rest.split(['/', '?']).next().unwrap_or_default();
                if hosts.rsplit('@').next().unwrap_or_default().contains(',') {
                    return Err(AddressError::SeveralHosts);
                }
                Ok(Self::Server(Box::new(url.into_connection_info()?)))
            }
            "redis-sentinel" => Ok(Self::Sentinels(Box::new(SentinelAddress::parse(rest, false)?))),
            "rediss-sentinel" => Ok(Self::Sentinels(Box::new(SentinelAddress::parse(rest, true)?))),
            "redis-cluster" | "rediss-cluster" => Err(AddressError::Cluster),
            _ => Err(AddressError::Scheme),
        }
    }
}

impl SentinelAddress {
    fn parse(rest: &str, tls: bool) -> Result<Self, AddressError> {
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() || name.contains('/') {
            return Err(AddressError::NoName);
        }
        let (credentials, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (mut user, mut password) = ("", "");
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sentinel_user", value)) => user = value,
                Some(("sentinel_password", value)) => password = value,
                _ => {
                    let name = parameter.split('=').next().unwrap_or_default();
                    return Err(AddressError::Parameter(name.to_owned()));
                }
            }
        }
        let of_sentinels =
            if password.is_empty() { String::new() } else { format!("{user}:{password}") };
        let sentinels = hosts
            .split(',')
            .map(|host| {
                let host = with_port(host.trim());
                Ok(connection(&of_sentinels, &host, tls)?)
            })
            .collect::<Result<_, AddressError>>()?;
        // Only the credentials of this address are used.
        let settings = connection(credentials, "localhost", tls)?.redis_settings().clone();
        Ok(Self { sentinels, name: name.to_owned(), settings, tls })
    }
}

impl Transport {
    pub(super) fn client(&self, info: ConnectionInfo) -> Result<redis::Client, redis::RedisError> {
        match &self.authority {
            None => redis::Client::open(info),
            Some(authority) => {
                let root_cert = Some(authority.clone());
                redis::Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
        }
    }
}

/// The address of one server, from parts that are still encoded.
pub(super) fn connection(
    credentials: &str,
    host: &str,
    tls: bool,
) -> Result<ConnectionInfo, redis::RedisError> {
    let scheme = if tls { "rediss" } else { "redis" };
    let at = if credentials.is_empty() { "" } else { "@" };
    format!("{scheme}://{credentials}{at}{host}").into_connection_info()
}

/// The host with the port of Sentinels, unless it has one.
fn with_port(host: &str) -> String {
    // An address of IPv6 is in brackets.
    let after_address = host.rsplit(']').next().unwrap_or_default();
    if after_address.contains(':') { host.to_owned() } else { format!("{host}:{SENTINEL_PORT}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentinels(url: &str) -> SentinelAddress {
        match Address::parse(url) {
            Ok(Address::Sentinels(address)) => *address,
            other => panic!("{url}: {other:?}"),
        }
    }

    fn problem(url: &str) -> String {
        Address::parse(url).expect_err("it is wrong").to_string()
    }

    #[test]
    fn sentinels_have_ports_and_credentials_of_their_own() {
        let url = "redis-sentinel://weir:a%2Fb@one,two:7000,[::1],[::2]:7001/main\
                   ?sentinel_user=s&sentinel_password=c%40d";
        let address = sentinels(url);
        let hosts: Vec<_> = address.sentinels.iter().map(|info| info.addr().to_string()).collect();
        assert_eq!(hosts, ["one:26379", "two:7000", "::1:26379", "::2:7001"]);
        assert_eq!((address.name.as_str(), address.tls), ("main", false));
        assert_eq!(address.settings.username(), Some("weir"));
        assert_eq!(address.settings.password(), Some("a/b"));
        for sentinel in &address.sentinels {
            assert_eq!(sentinel.redis_settings().username(), Some("s"));
            assert_eq!(sentinel.redis_settings().password(), Some("c@d"));
        }
        assert!(!format!("{address:?}").contains("c@d"), "passwords are not in logs");
    }

    #[test]
    fn credentials_are_optional_and_tls_is_of_the_scheme() {
        let address = sentinels("rediss-sentinel://one/main");
        assert!(address.tls);
        assert_eq!(address.settings.password(), None);
        assert_eq!(address.sentinels[0].redis_settings().password(), None);
    }

    #[test]
    fn wrong_addresses_are_refused_with_the_reason() {
        for url in ["http://one", "one:6379", "sentinel://one/main", ""] {
            assert!(problem(url).contains("scheme must be"), "{url}");
        }
        assert!(problem("redis://one,two").contains("several hosts need redis-sentinel"));
        assert!(problem("redis-cluster://one,two").contains("Redis Cluster cannot be used yet"));
        for url in ["redis-sentinel://one,two", "redis-sentinel://one/", "redis-sentinel://one/a/b"]
        {
            assert!(problem(url).contains("name of the primary is missing"), "{url}");
        }
        assert!(problem("redis-sentinel://one/main?db=1").contains("`db` is not a parameter"));
        for url in ["redis-sentinel://,/main", "redis-sentinel:///main", "redis-sentinel://a:b:c/m"]
        {
            assert!(Address::parse(url).is_err(), "{url}");
        }
    }
}
