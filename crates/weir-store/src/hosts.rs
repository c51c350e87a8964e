//! The hosts of a database address. Connections go to the first host that accepts writes.
//!
//! The driver knows one host. A pool therefore gets the options of the host in use, and other ones after a failover: when a
//! connection failed, or a server refused a write because it is read-only.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::error::StoreError;
use crate::silences::Silences;

/// The most hosts of an address.
const HOSTS_MAX: usize = 8;
/// The longest that a host can take to connect and to report whether it accepts writes.
const PROBE_TIMEOUT: Duration = Duration::from_millis(900);
/// The time for which the result of an election stands, if it found no host.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The hosts of an address, in order. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    options: Arc<[PgConnectOptions]>,
    /// Whether the server retains prepared statements from one transaction to the next.
    prepares: bool,
    election: Arc<Mutex<Election>>,
}

/// The last election.
#[derive(Debug, Default)]
struct Election {
    at: Option<Instant>,
    /// The index of the host in use. `None` if no host accepted writes.
    winner: Option<usize>,
}

impl Hosts {
    /// Reads an address such as `postgres://user@one:5432,two:5432/weir?target_session_attrs=read-write`.
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let options: Result<Arc<[_]>, _> =
            addresses(url)?.iter().map(|address| options_of(address)).collect();
        let prepares = !url.contains("statement-cache-capacity=0");
        Ok(Self { options: options?, prepares, election: Arc::default() })
    }

    /// The options of each host.
    pub(crate) fn options(&self) -> &[PgConnectOptions] {
        &self.options
    }

    /// Whether statements can be prepared once for many transactions. An address ends this with
    /// `statement-cache-capacity=0`, for poolers that give each transaction another connection.
    pub(crate) fn prepares(&self) -> bool {
        self.prepares
    }

    /// Whether the address names more than one host.
    pub(crate) fn are_several(&self) -> bool {
        self.options.len() > 1
    }

    /// Makes the pool connect to the first host that accepts writes. Does nothing if the host in use has failed no statement
    /// since it was chosen.
    pub(crate) async fn choose(
        &self,
        pool: &PgPool,
        silences: &Silences,
    ) -> Result<(), StoreError> {
        let mut election = self.election.lock().await;
        if let Some(at) = election.at {
            match election.winner {
                Some(_) if !silences.since(at.elapsed()) => return Ok(()),
                None if at.elapsed() < RETRY_AFTER => {
                    return Err(no_host("they were tried just now"));
                }
                _ => {}
            }
        }
        let probes = join_all(self.options.iter().map(probe)).await;
        let former = election.winner;
        election.winner = probes.iter().position(Result::is_ok);
        election.at = Some(Instant::now());
        let Some(winner) = election.winner else {
            let reasons: Vec<_> = probes.into_iter().filter_map(Result::err).collect();
            return Err(no_host(&reasons.join("; ")));
        };
        if former != Some(winner) {
            pool.set_connect_options(self.options[winner].clone());
            // Connections to the former host are closed when they are next acquired.
            silences.note();
            election.at = Some(Instant::now());
        }
        Ok(())
    }
}

/// Connects to a host. The error is the reason why the host cannot be used.
async fn probe(options: &PgConnectOptions) -> Result<(), String> {
    let host = format!("{}:{}", options.get_host(), options.get_port());
    let asking = async {
        let mut connection = PgConnection::connect_with(options).await?;
        let writable = sqlx::query_scalar!(
            r#"-- hosts.probe
            SELECT current_setting('transaction_read_only') = 'off' AS "writable!""#
        )
        .fetch_one(&mut connection)
        .await;
        drop(connection.close_hard().await);
        writable
    };
    match timeout(PROBE_TIMEOUT, asking).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(format!("{host} is read-only")),
        Ok(Err(error)) => Err(format!("{host}: {error}")),
        Err(_) => Err(format!("{host} does not answer")),
    }
}

fn no_host(reasons: &str) -> StoreError {
    StoreError::Unavailable(format!("no host accepts writes: {reasons}").into())
}

/// One address for each host.
fn addresses(url: &str) -> Result<Vec<String>, StoreError> {
    let unreadable = || StoreError::corrupt("the database URL cannot be read");
    let (scheme, rest) = url.split_once("://").ok_or_else(unreadable)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = without_session_attributes(path)?;
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let hosts: Vec<_> = hosts.split(',').collect();
    if hosts.len() > HOSTS_MAX {
        let what = format!("the database URL names {} hosts; the most is {HOSTS_MAX}", hosts.len());
        return Err(StoreError::corrupt(what));
    }
    if hosts.len() > 1 && hosts.contains(&"") {
        return Err(StoreError::corrupt("the database URL has a host without a name"));
    }
    Ok(hosts.into_iter().map(|host| format!("{scheme}://{user}{host}{path}")).collect())
}

/// The path and query without `target_session_attrs`, which the driver does not know. Only its value `read-write` is accepted.
fn without_session_attributes(path: &str) -> Result<String, StoreError> {
    let Some((path, query)) = path.split_once('?') else { return Ok(path.to_owned()) };
    let mut retained = Vec::new();
    for pair in query.split('&') {
        match pair.strip_prefix("target_session_attrs=") {
            None => retained.push(pair),
            Some("read-write" | "primary") => {}
            Some(other) => {
                let what =
                    format!("`target_session_attrs={other}`: only `read-write` is supported");
                return Err(StoreError::corrupt(what));
            }
        }
    }
    let query = retained.join("&");
    Ok(if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") })
}

fn options_of(address: &str) -> Result<PgConnectOptions, StoreError> {
    let options = PgConnectOptions::from_str(address).map_err(|error| StoreError::Corrupt {
        what: "the database URL cannot be read".to_owned(),
        source: Some(Box::new(error)),
    })?;
    // PgBouncer refuses this start-up parameter, and its default in Postgres is the same. Some statements contain their
    // arguments, which belong into no log.
    Ok(options.extra_float_digits(None).disable_statement_logging())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_with_several_hosts_gives_one_for_each() {
        let url = "postgres://a:p%2C@one:1,[::1]:2,three/weir?sslmode=require&target_session_attrs=read-write";
        let hosts = Hosts::parse(url).unwrap();
        let named: Vec<_> =
            hosts.options().iter().map(|host| (host.get_host(), host.get_port())).collect();
        assert_eq!(named, [("one", 1), ("[::1]", 2), ("three", 5432)]);
        assert!(hosts.options().iter().all(|host| host.get_database() == Some("weir")));
        assert!(!Hosts::parse("postgres:///weir?host=/run/postgresql").unwrap().are_several());
    }

    #[test]
    fn unusable_addresses_are_refused_with_the_reason() {
        let many = format!("postgres://{}/weir", ["h"; 9].join(","));
        for (url, reason) in [
            (many.as_str(), "the most is 8"),
            ("postgres://a,,b/weir", "without a name"),
            ("postgres://a/weir?target_session_attrs=standby", "only `read-write`"),
            ("no address", "cannot be read"),
        ] {
            let error = Hosts::parse(url).unwrap_err().to_string();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }
}
