//! Queries Sentinels for the address of the primary.
//!
//! All Sentinels are queried at once, and the answer with the newest configuration counts. So one that is cut off together
//! with a previous primary cannot lead clients back to it.
//!
//! During a planned failover the previous primary serves on, and the Sentinels notice only once per second that the replica
//! they selected has become the primary. So that replica is asked for its role: what the previous primary admits after the
//! promotion, the new one does not count.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use redis::Role;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::access::{Access, Transport};
use super::address::SentinelAddress;
use super::queried::{QueriedServer, all_in_time};
use super::sentinel_events::SentinelEvents;
use super::server_address::ServerAddress;
use crate::error::RedisError;

#[derive(Debug)]
pub(super) struct Sentinels {
    nodes: Vec<QueriedServer>,
    name: String,
    access: Access,
    /// One query serves all callers that wait meanwhile.
    known: Mutex<Known>,
    events: OnceLock<SentinelEvents>,
}

#[derive(Debug, Default)]
struct Known {
    answer: Option<Answer>,
    /// The time and the error of the last query.
    asked: Option<(Instant, Option<RedisError>)>,
    /// Whether a Sentinel led a failover then.
    moving: bool,
    /// The replica that they selected, and whether it is a primary.
    selected: Option<Selected>,
}

#[derive(Debug)]
struct Selected {
    address: ServerAddress,
    server: QueriedServer,
    promoted: bool,
}

/// The fields of a server.
type Fields = HashMap<String, String>;
/// The fields of a primary, and its address.
type Addresses = (Fields, (String, u16));

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
/// The flag of the replica that a Sentinel selected as the next primary.
const SELECTED: &str = "promoted";

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
        Ok(Self { nodes, name, access, known: Mutex::default(), events: OnceLock::new() })
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

    /// A receiver that sees from now on when a Sentinel begins or ends a failover.
    pub(super) fn events(&self) -> watch::Receiver<()> {
        let clients = || self.nodes.iter().map(QueriedServer::client);
        self.events.get_or_init(|| SentinelEvents::subscribe(clients())).receiver()
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
            self.follow_selected(&mut known).await;
            known.asked = Some((Instant::now(), error));
        }
        let promoted = known.selected.as_ref().filter(|selected| selected.promoted);
        match (promoted, &known.answer, &known.asked) {
            (Some(selected), ..) => Ok(selected.address.clone()),
            (None, Some(answer), _) => Ok(answer.primary.clone()),
            (None, None, Some((_, Some(error)))) => Err(error.clone()),
            (None, None, _) => Err(RedisError::Away),
        }
    }

    /// Finds during a failover whether the replica that the Sentinels selected has become the primary.
    async fn follow_selected(&self, known: &mut Known) {
        if !known.moving {
            known.selected = None;
            return;
        }
        if known.selected.is_none() {
            known.selected = self.query_selected().await;
        }
        if let Some(selected) = &mut known.selected {
            let role = selected.server.query(redis::pipe().cmd("ROLE")).await;
            // Without an answer, it stays what it was.
            if let Ok((role,)) = role {
                selected.promoted = matches!(role, Role::Primary { .. });
            }
        }
    }

    /// The replica that the Sentinel which leads the failover selected. `None` if there is none yet, or if the user of the
    /// Sentinels is not permitted to ask.
    async fn query_selected(&self) -> Option<Selected> {
        let mut command = redis::pipe();
        command.cmd("SENTINEL").arg("REPLICAS").arg(&self.name);
        let queries = self.nodes.iter().map(|sentinel| sentinel.query::<(Vec<Fields>,)>(&command));
        let (answers, _) = all_in_time(queries).await;
        let mut replicas = answers.iter().flat_map(|(replicas,)| replicas);
        let selected = replicas.find(|replica| has_flag(replica, SELECTED))?;
        let port = selected.get("port")?.parse().ok()?;
        let address = ServerAddress { host: selected.get("ip")?.clone(), port };
        let server = QueriedServer::new(self.client_of(&address).ok()?);
        Some(Selected { address, server, promoted: false })
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
    let moving = has_flag(&state, FAILING_OVER);
    Ok(Answer { epoch, primary: ServerAddress { host, port }, moving })
}

fn has_flag(server: &Fields, flag: &str) -> bool {
    server.get("flags").is_some_and(|flags| flags.split(',').any(|present| present == flag))
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
