//! Queries Sentinels for the address of the primary.
//!
//! All Sentinels are queried at once, and the answer with the newest configuration counts. So one that is cut off together
//! with a previous primary cannot lead clients back to it.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::access::{Access, Transport};
use super::address::SentinelAddress;
use super::queried::{QueriedServer, all_in_time};
use super::server_address::ServerAddress;
use crate::error::RedisError;

#[derive(Debug)]
pub(super) struct Sentinels {
    nodes: Vec<QueriedServer>,
    name: String,
    access: Access,
    /// One query serves all callers that wait meanwhile.
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    answer: Option<Answer>,
    /// The time and the error of the last query.
    asked: Option<(Instant, Option<RedisError>)>,
    /// Whether a Sentinel led a failover then.
    moving: bool,
}

/// The fields of a primary, and its address.
type Addresses = (HashMap<String, String>, (String, u16));

/// The answer of one Sentinel.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answer {
    /// The number of the configuration. Each failover has a greater one.
    epoch: u64,
    primary: ServerAddress,
    /// Whether the Sentinel leads a failover.
    moving: bool,
}

/// The error of a Sentinel that does not know the name.
const UNKNOWN_NAME: &str = "No such master";
/// The flag of a primary that a Sentinel is replacing.
const FAILING_OVER: &str = "failover_in_progress";

impl Sentinels {
    pub(super) fn new(
        address: SentinelAddress,
        transport: Transport,
    ) -> Result<Self, redis::RedisError> {
        let SentinelAddress { sentinels, name, settings, tls } = address;
        let sentinel = |info| Ok(QueriedServer::new(transport.client(info)?));
        let nodes =
            sentinels.into_iter().map(sentinel).collect::<Result<_, redis::RedisError>>()?;
        let access = Access { settings, tls, transport };
        Ok(Self { nodes, name, access, known: Mutex::default() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The Sentinels and their answer, for a person.
    pub(super) async fn describe(&self) -> String {
        let (answers, _) = self.query_all().await;
        let (answered, count) = (answers.len(), self.nodes.len());
        match newest(answers, None, count) {
            Some(Answer { epoch, primary, .. }) => format!(
                "{answered} of {count} Sentinels answer; `{}` is {primary} (epoch {epoch})",
                self.name
            ),
            None => format!("none of {count} Sentinels answers"),
        }
    }

    /// A client for this server. Nothing is connected yet.
    pub(super) fn client_of(&self, primary: &ServerAddress) -> Result<redis::Client, RedisError> {
        self.access.client_of(primary)
    }

    /// The present primary, from an answer that is not older than this. While no Sentinel answers, the last known primary.
    pub(super) async fn primary(&self, age_max: Duration) -> Result<ServerAddress, RedisError> {
        let mut known = self.known.lock().await;
        let fresh = known.asked.as_ref().is_some_and(|(at, _)| at.elapsed() <= age_max);
        if !fresh {
            let (answers, error) = self.query_all().await;
            known.moving = answers.iter().any(|answer| answer.moving);
            if let Some(newest) = newest(answers, known.answer.as_ref(), self.nodes.len()) {
                if known.answer.as_ref().is_some_and(|before| before.primary != newest.primary) {
                    let ServerAddress { host, port } = &newest.primary;
                    tracing::warn!(host, port, "the Sentinels report another Redis primary");
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

    /// Whether a Sentinel led a failover when they were last queried.
    pub(super) async fn moving(&self) -> bool {
        self.known.lock().await.moving
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
        all_in_time(self.nodes.iter().map(|sentinel| query(sentinel, &self.name))).await
    }
}

async fn query(sentinel: &QueriedServer, name: &str) -> Result<Answer, RedisError> {
    let mut both = redis::pipe();
    both.cmd("SENTINEL").arg("MASTER").arg(name);
    // During a failover this answers with the promoted server before the other does.
    both.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let (state, (host, port)): Addresses = sentinel.query(&both).await?;
    let epoch = state.get("config-epoch").and_then(|epoch| epoch.parse().ok());
    let epoch = epoch.ok_or(RedisError::BadReply("a sentinel without an epoch"))?;
    let moving = state.get("flags").is_some_and(|flags| flags.contains(FAILING_OVER));
    Ok(Answer { epoch, primary: ServerAddress { host, port }, moving })
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
        let primary = ServerAddress { host: "host".to_owned(), port };
        Answer { epoch, primary, moving: false }
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
