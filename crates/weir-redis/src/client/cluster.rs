//! Queries the nodes of a cluster for its slot map.
//!
//! All nodes are queried at once, and the answer with the newest configuration counts. So a primary that is cut off from the
//! others cannot lead clients back to it.

mod slot_map;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::access::{Access, Transport};
use super::address::ClusterAddress;
use super::queried::{QueriedServer, all_in_time};
use super::server_address::ServerAddress;
use crate::error::RedisError;

pub(crate) use self::slot_map::SlotMap;

#[derive(Debug)]
pub(super) struct Cluster {
    /// The nodes of the address.
    seeds: Vec<ServerAddress>,
    access: Access,
    /// One query serves all callers that wait meanwhile.
    known: Mutex<Known>,
    /// The number of connections that could lead to any primary.
    turn: AtomicUsize,
}

#[derive(Debug, Default)]
struct Known {
    answer: Option<Answer>,
    /// The time and the error of the last query.
    asked: Option<(Instant, Option<RedisError>)>,
    nodes: HashMap<ServerAddress, QueriedServer>,
}

/// The answer of one node.
#[derive(Debug, Clone)]
struct Answer {
    /// Whether the node considers the cluster able to serve. It does not if it is cut off with a minority.
    serves: bool,
    /// The number of the configuration. Each failover, and most moves of slots, have a greater one.
    epoch: u64,
    map: Arc<SlotMap>,
}

/// The most nodes that are queried.
const NODES_MAX: usize = 256;

impl Cluster {
    pub(super) fn new(address: ClusterAddress, transport: Transport) -> Self {
        let ClusterAddress { seeds, settings, tls } = address;
        let access = Access { settings, tls, transport };
        Self { seeds, access, known: Mutex::default(), turn: AtomicUsize::new(0) }
    }

    /// A client for this node. Nothing is connected yet.
    pub(super) fn client_of(&self, node: &ServerAddress) -> Result<redis::Client, RedisError> {
        self.access.client_of(node)
    }

    /// The slot map, from an answer that is not older than this. While no node answers, the last known map.
    pub(super) async fn map(&self, age_max: Duration) -> Result<Arc<SlotMap>, RedisError> {
        let mut known = self.known.lock().await;
        let fresh = known.asked.as_ref().is_some_and(|(at, _)| at.elapsed() <= age_max);
        if !fresh {
            let (answers, error) = self.query_all(&mut known).await;
            let count = known.nodes.len();
            if let Some(newest) = newest(answers, known.answer.as_ref(), count) {
                if known.answer.as_ref().is_some_and(|before| before.map != newest.map) {
                    let primaries = newest.map.primaries().len();
                    tracing::info!(primaries, "the slot map of Redis changed");
                }
                known.answer = Some(newest);
            }
            known.asked = Some((Instant::now(), error));
        }
        match (&known.answer, &known.asked) {
            (Some(answer), _) => Ok(Arc::clone(&answer.map)),
            (None, Some((_, Some(error)))) => Err(error.clone()),
            (None, _) => Err(RedisError::Away),
        }
    }

    /// Any primary: another one at each call.
    pub(super) async fn any_primary(&self, age_max: Duration) -> Result<ServerAddress, RedisError> {
        let primaries = self.map(age_max).await?.primaries();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let at = turn.checked_rem(primaries.len()).ok_or(RedisError::Away)?;
        primaries.into_iter().nth(at).ok_or(RedisError::Away)
    }

    /// The cluster, for a person.
    pub(super) async fn describe(&self) -> String {
        let Ok(map) = self.map(Duration::ZERO).await else {
            return "no node of the cluster answers".to_owned();
        };
        let primaries = map.primaries();
        let counts: Vec<_> =
            primaries.iter().map(|primary| map.bucket_count(primary).to_string()).collect();
        format!(
            "a cluster of {} nodes; {} primaries serve {} buckets",
            map.nodes().len(),
            primaries.len(),
            counts.join(" + ")
        )
    }

    /// Whether the nodes of the address belong to one cluster, according to those that answer.
    pub(super) async fn is_one(&self) -> Result<bool, RedisError> {
        let mut known = Known::default();
        let (answers, error) = self.query_all(&mut known).await;
        let Some(first) = answers.first() else { return Err(error.unwrap_or(RedisError::Away)) };
        Ok(answers.iter().all(|answer| answer.map.shares_a_node_with(&first.map)))
    }

    /// The answers of all nodes that answer in time, and the last error of the others. The nodes are those of the known map,
    /// and those of the address.
    async fn query_all(&self, known: &mut Known) -> (Vec<Answer>, Option<RedisError>) {
        let of_map = known.answer.iter().flat_map(|answer| answer.map.nodes());
        let wanted: Vec<_> = self.seeds.iter().chain(of_map).take(NODES_MAX).cloned().collect();
        known.nodes.retain(|node, _| wanted.contains(node));
        let mut error = None;
        for node in wanted {
            if known.nodes.contains_key(&node) {
                continue;
            }
            match self.client_of(&node) {
                Ok(client) => _ = known.nodes.insert(node, QueriedServer::new(client)),
                Err(failed) => error = Some(failed),
            }
        }
        let queries = known.nodes.iter().map(|(address, node)| query(node, &address.host));
        let (answers, failed) = all_in_time(queries).await;
        (answers, failed.or(error))
    }
}

async fn query(node: &QueriedServer, host: &str) -> Result<Answer, RedisError> {
    let mut both = redis::pipe();
    both.cmd("CLUSTER").arg("INFO").cmd("CLUSTER").arg("SLOTS");
    let (state, slots): (String, Vec<Value>) = node.query(&both).await?;
    let field = |name| state.lines().find_map(|line| line.trim().strip_prefix(name));
    let epoch = field("cluster_current_epoch:").and_then(|epoch| epoch.parse().ok());
    let epoch = epoch.ok_or(RedisError::BadReply("a cluster without an epoch"))?;
    let serves = field("cluster_state:") == Some("ok");
    Ok(Answer { serves, epoch, map: Arc::new(SlotMap::parse(slots, host)?) })
}

/// The answer with the newest configuration, of those that serve if there are any. `None` if it is older than the known one,
/// unless a majority of the nodes answered: their files were possibly lost.
fn newest(mut answers: Vec<Answer>, known: Option<&Answer>, nodes: usize) -> Option<Answer> {
    if let Some(known) = known {
        // A server of another cluster possibly has an address that a node had before.
        let is_own = |answer: &Answer| answer.map.shares_a_node_with(&known.map);
        if answers.iter().any(is_own) {
            answers.retain(is_own);
        }
    }
    let majority = answers.len() * 2 > nodes;
    // Nodes of one epoch can still differ for some milliseconds. One that has just joined knows few others, and a primary that
    // was replaced while it stalled learns the epoch before it learns of its successor.
    let mut agreeing: HashMap<_, usize> = HashMap::new();
    for answer in &answers {
        *agreeing.entry(answer.map.ranges()).or_default() += 1;
    }
    let newest = answers.iter().max_by_key(|answer| {
        let (map, agreeing) = (&answer.map, agreeing.get(answer.map.ranges()));
        (answer.serves, answer.epoch, map.covered(), agreeing, map.nodes().len())
    })?;
    let older = known.is_some_and(|known| newest.epoch < known.epoch);
    (majority || !older).then(|| newest.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(serves: bool, epoch: u64) -> Answer {
        Answer { serves, epoch, map: Arc::default() }
    }

    fn chosen(answers: &[(bool, u64)], known: Option<u64>, nodes: usize) -> Option<u64> {
        let answers = answers.iter().map(|(serves, epoch)| answer(*serves, *epoch)).collect();
        let known = known.map(|epoch| answer(true, epoch));
        newest(answers, known.as_ref(), nodes).map(|answer| answer.epoch)
    }

    #[test]
    fn newest_configuration_of_nodes_that_serve_counts() {
        assert_eq!(chosen(&[(true, 1), (true, 3), (true, 2)], None, 3), Some(3));
        assert_eq!(chosen(&[(true, 1), (false, 3)], None, 3), Some(1));
        assert_eq!(chosen(&[(false, 1), (false, 3)], None, 3), Some(3));
        assert_eq!(chosen(&[], None, 3), None);
    }

    #[test]
    fn primary_that_is_cut_off_leads_nobody_back() {
        assert_eq!(chosen(&[(false, 1)], Some(2), 3), None);
        assert_eq!(chosen(&[(true, 3)], Some(2), 3), Some(3));
        assert_eq!(chosen(&[(true, 1), (true, 1)], Some(2), 3), Some(1), "begun anew");
    }

    /// An answer that serves, with a range of slots for each of these primaries and its replicas.
    fn answer_of(epoch: u64, ranges: &[&[&str]]) -> Answer {
        let text = |text: &str| Value::BulkString(text.into());
        let node = |name: &&str| Value::Array(vec![text(name), Value::Int(7000), text(name)]);
        let range = |(first, nodes): (i64, &&[&str])| {
            let slots = [Value::Int(first), Value::Int(first)];
            Value::Array(slots.into_iter().chain(nodes.iter().map(node)).collect())
        };
        let reply = (0..).zip(ranges).map(range).collect();
        let map = SlotMap::parse(reply, "asked").expect("a map");
        Answer { map: Arc::new(map), ..answer(true, epoch) }
    }

    #[test]
    fn primary_that_has_not_learnt_of_its_successor_leads_nobody_back() {
        let before = answer_of(1, &[&["a", "x"], &["b", "y"], &["c", "z"]]);
        let stale = Answer { epoch: 2, ..before.clone() };
        // The others know no replica of the new primary yet.
        let after = answer_of(2, &[&["x"], &["b", "y"], &["c", "z"]]);
        for answers in [
            [stale.clone(), after.clone(), after.clone()],
            [after.clone(), after.clone(), stale.clone()],
        ] {
            let newest = newest(answers.into(), Some(&before), 3).expect("an answer");
            assert_eq!(newest.map, after.map);
        }
    }

    #[test]
    fn server_of_another_cluster_at_a_former_address_leads_nobody_there() {
        let known = answer_of(1, &[&["a"], &["b"]]);
        let other = answer_of(9, &[&["f"], &["g"]]);
        let found = newest(vec![other.clone(), known.clone()], Some(&known), 3);
        assert_eq!(found.expect("an answer").map, known.map);
        let found = newest(vec![other.clone(), other.clone()], Some(&known), 3);
        assert_eq!(found.expect("an answer").map, other.map, "begun anew");
    }
}
