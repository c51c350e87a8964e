//! Queries Sentinels for the address of the primary.
//!
//! All Sentinels are queried at once, and the answer with the newest configuration counts. So one that is cut off together
//! with a previous primary cannot lead clients back to it.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr, RedisConnectionInfo};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::address::{SentinelAddress, Transport, connection};
use crate::error::RedisError;

/// The address of a server that is a primary according to the Sentinels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Primary {
    pub(super) host: String,
    pub(super) port: u16,
}

#[derive(Debug)]
pub(super) struct Sentinels {
    nodes: Vec<Sentinel>,
    name: String,
    settings: RedisConnectionInfo,
    tls: bool,
    transport: Transport,
    /// One query serves all callers that wait meanwhile.
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    answer: Option<Answer>,
    /// The time and the error of the last query.
    asked: Option<(Instant, Option<RedisError>)>,
}

#[derive(Debug)]
struct Sentinel {
    client: redis::Client,
    /// The connection of the last query. It is taken during a query, so a query that is given up closes it.
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// The fields of a primary, and its address.
type Addresses = (HashMap<String, String>, (String, u16));

/// The answer of one Sentinel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    /// The number of the configuration. Each failover has a greater one.
    epoch: u64,
    primary: Primary,
}

const QUERY_TIMEOUT: Duration = Duration::from_millis(400);
/// The time for which further answers are awaited after the first.
const OTHERS_TIMEOUT: Duration = Duration::from_millis(100);
/// The error of a Sentinel that does not know the name.
const UNKNOWN_NAME: &str = "No such master";

impl Sentinels {
    pub(super) fn new(
        address: SentinelAddress,
        transport: Transport,
    ) -> Result<Self, redis::RedisError> {
        let SentinelAddress { sentinels, name, settings, tls } = address;
        let sentinel =
            |info| Ok(Sentinel { client: transport.client(info)?, connection: Mutex::default() });
        let nodes =
            sentinels.into_iter().map(sentinel).collect::<Result<_, redis::RedisError>>()?;
        Ok(Self { nodes, name, settings, tls, transport, known: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The Sentinels and their answer, for a person.
    pub(super) async fn describe(&self) -> String {
        let (answers, _) = self.query_all().await;
        let (answered, count) = (answers.len(), self.nodes.len());
        match newest(answers, None, count) {
            Some(Answer { epoch, primary: Primary { host, port } }) => format!(
                "{answered} of {count} Sentinels answer; `{}` is {host}:{port} (epoch {epoch})",
                self.name
            ),
            None => format!("none of {count} Sentinels answers"),
        }
    }

    /// A client for this server. Nothing is connected yet.
    pub(super) fn client_of(&self, primary: &Primary) -> Result<redis::Client, RedisError> {
        let address = connection("", "localhost", self.tls)?;
        let address = address.set_redis_settings(self.settings.clone());
        let Primary { host, port } = primary.clone();
        let target = match address.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host, port),
        };
        Ok(self.transport.client(address.set_addr(target))?)
    }

    /// The present primary, from an answer that is not older than this. While no Sentinel answers, the last known primary.
    pub(super) async fn primary(&self, age_max: Duration) -> Result<Primary, RedisError> {
        let mut known = self.known.lock().await;
        let fresh = known.asked.as_ref().is_some_and(|(at, _)| at.elapsed() <= age_max);
        if !fresh {
            let (answers, error) = self.query_all().await;
            if let Some(newest) = newest(answers, known.answer.as_ref(), self.nodes.len()) {
                if known.answer.as_ref().is_some_and(|before| before.primary != newest.primary) {
                    let Primary { host, port } = &newest.primary;
                    tracing::warn!(host, port, "the sentinels name another primary of redis");
                }
                known.answer = Some(newest);
            }
            known.asked = Some((Instant::now(), error));
        }
        match (&known.answer, &known.asked) {
            (Some(answer), _) => Ok(answer.primary.clone()),
            (None, Some((_, Some(error)))) => Err(error.clone()),
            (None, _) => Err(RedisError::Away),
        }
    }

    /// Whether a Sentinel knows the name of the primary. An error means that none answered.
    pub(super) async fn know_the_name(&self) -> Result<bool, RedisError> {
        match self.primary(Duration::ZERO).await {
            Ok(_) => Ok(true),
            Err(error) if error.cause().contains(UNKNOWN_NAME) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The answers of all Sentinels that answer in time, and the last error of the others.
    async fn query_all(&self) -> (Vec<Answer>, Option<RedisError>) {
        let queries = self.nodes.iter().map(|sentinel| sentinel.query(&self.name));
        let mut queries: FuturesUnordered<_> = queries.collect();
        let (mut answers, mut error) = (Vec::new(), None);
        let mut deadline = Instant::now() + QUERY_TIMEOUT;
        while let Ok(Some(result)) = timeout_at(deadline, queries.next()).await {
            match result {
                Ok(answer) => {
                    answers.push(answer);
                    deadline = deadline.min(Instant::now() + OTHERS_TIMEOUT);
                }
                Err(failed) => error = Some(failed),
            }
        }
        (answers, error)
    }
}

impl Sentinel {
    async fn query(&self, name: &str) -> Result<Answer, RedisError> {
        let mut slot = self.connection.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let mut both = redis::pipe();
        both.cmd("SENTINEL").arg("MASTER").arg(name);
        // During a failover this answers with the promoted server before the other does.
        both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name);
        let (state, (host, port)): Addresses = both.query_async(&mut connection).await?;
        let epoch = state.get("config-epoch").and_then(|epoch| epoch.parse().ok());
        let epoch = epoch.ok_or(RedisError::BadReply("a sentinel without an epoch"))?;
        *slot = Some(connection);
        Ok(Answer { epoch, primary: Primary { host, port } })
    }

    async fn connect(&self) -> Result<MultiplexedConnection, redis::RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(QUERY_TIMEOUT))
            .set_response_timeout(Some(QUERY_TIMEOUT));
        self.client.get_multiplexed_async_connection_with_config(&config).await
    }
}

/// The answer with the newest configuration, or `None` if it is older than the known one. A majority of the Sentinels can
/// go back to an older number, because their files were possibly lost.
fn newest(answers: Vec<Answer>, known: Option<&Answer>, sentinels: usize) -> Option<Answer> {
    let majority = answers.len() * 2 > sentinels;
    let newest = answers.into_iter().max_by_key(|answer| answer.epoch)?;
    let older = known.is_some_and(|known| newest.epoch < known.epoch);
    (majority || !older).then_some(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(epoch: u64, port: u16) -> Answer {
        Answer { epoch, primary: Primary { host: "host".to_owned(), port } }
    }

    #[test]
    fn newest_configuration_counts() {
        let answers = vec![answer(1, 1), answer(2, 2), answer(1, 1)];
        assert_eq!(newest(answers, None, 3), Some(answer(2, 2)));
        assert_eq!(newest(Vec::new(), None, 3), None);
    }

    #[test]
    fn sentinel_that_is_cut_off_leads_nobody_back() {
        let known = answer(2, 2);
        assert_eq!(newest(vec![answer(1, 1)], Some(&known), 3), None);
        assert_eq!(newest(vec![answer(3, 1)], Some(&known), 3), Some(answer(3, 1)));
        let majority = vec![answer(1, 1), answer(0, 1)];
        assert_eq!(newest(majority, Some(&known), 3), Some(answer(1, 1)), "begun anew");
    }
}
