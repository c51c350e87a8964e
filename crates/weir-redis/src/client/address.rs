//! Addresses of Redis: `redis://`, `redis-sentinel://` and `redis-cluster://`, and the same with TLS (`rediss…`).

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo};

use super::access::connection;
use super::server_address::ServerAddress;

/// A valid address.
#[derive(Debug)]
pub(super) enum Address {
    Server(Box<ConnectionInfo>),
    Sentinels(Box<SentinelAddress>),
    Cluster(Box<ClusterAddress>),
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

/// `redis-cluster://[USER:PASSWORD@]HOST[:PORT],…`
#[derive(Debug)]
pub(super) struct ClusterAddress {
    /// Some nodes; they name the others.
    pub(super) seeds: Vec<ServerAddress>,
    /// The credentials of all nodes.
    pub(super) settings: RedisConnectionInfo,
    pub(super) tls: bool,
}

/// The reason why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error(
        "its scheme must be redis, redis-sentinel or redis-cluster, or for TLS rediss, \
         rediss-sentinel or rediss-cluster"
    )]
    Scheme,
    #[error(
        "several hosts need redis-cluster://, or redis-sentinel:// and the name of the primary"
    )]
    SeveralHosts,
    #[error("a cluster has no database but 0: redis-cluster://HOST:PORT,HOST:PORT")]
    Database,
    #[error("a cluster's address takes no parameters: redis-cluster://HOST:PORT,HOST:PORT")]
    NoParameters,
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
const SERVER_PORT: u16 = 6_379;

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
            "redis-cluster" => Ok(Self::Cluster(Box::new(ClusterAddress::parse(rest, false)?))),
            "rediss-cluster" => Ok(Self::Cluster(Box::new(ClusterAddress::parse(rest, true)?))),
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
                let host = with_port(host.trim(), SENTINEL_PORT);
                Ok(connection(&of_sentinels, &host, tls)?)
            })
            .collect::<Result<_, AddressError>>()?;
        // Only the credentials of this address are used.
        let settings = connection(credentials, "localhost", tls)?.redis_settings().clone();
        Ok(Self { sentinels, name: name.to_owned(), settings, tls })
    }
}

impl ClusterAddress {
    fn parse(rest: &str, tls: bool) -> Result<Self, AddressError> {
        if rest.contains('?') {
            return Err(AddressError::NoParameters);
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        if !matches!(database, "" | "0") {
            return Err(AddressError::Database);
        }
        let (credentials, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let seeds = hosts
            .split(',')
            .map(|host| {
                let info = connection("", &with_port(host.trim(), SERVER_PORT), tls)?;
                let (ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) =
                    info.addr()
                else {
                    return Err(AddressError::Scheme);
                };
                Ok(ServerAddress { host: host.clone(), port: *port })
            })
            .collect::<Result<_, _>>()?;
        let settings = connection(credentials, "localhost", tls)?.redis_settings().clone();
        Ok(Self { seeds, settings, tls })
    }
}

/// The host with this port, unless it has one.
fn with_port(host: &str, port: u16) -> String {
    // An address of IPv6 is in brackets.
    let after_address = host.rsplit(']').next().unwrap_or_default();
    if after_address.contains(':') { host.to_owned() } else { format!("{host}:{port}") }
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
    fn nodes_of_a_cluster_share_credentials() {
        for (scheme, tls) in [("redis-cluster", false), ("rediss-cluster", true)] {
            let url = format!("{scheme}://weir:a%2Fb@one,two:7000,[::1]/0");
            let Ok(Address::Cluster(address)) = Address::parse(&url) else { panic!("{url}") };
            let seeds: Vec<_> = address.seeds.iter().map(ToString::to_string).collect();
            assert_eq!(seeds, ["one:6379", "two:7000", "[::1]:6379"]);
            assert_eq!(address.tls, tls);
            assert_eq!(address.settings.username(), Some("weir"));
            assert_eq!(address.settings.password(), Some("a/b"));
        }
    }

    #[test]
    fn wrong_addresses_are_refused_with_the_reason() {
        for url in ["http://one", "one:6379", "sentinel://one/main", ""] {
            assert!(problem(url).contains("scheme must be"), "{url}");
        }
        assert!(problem("redis://one,two").contains("several hosts need redis-cluster"));
        assert!(problem("redis-cluster://one,two/1").contains("no database but 0"));
        assert!(problem("redis-cluster://one?x=1").contains("takes no parameters"));
        for url in ["redis-cluster://,", "redis-cluster://", "rediss-cluster://a:b:c"] {
            assert!(Address::parse(url).is_err(), "{url}");
        }
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
