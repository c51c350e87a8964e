//! The slot map of a cluster: which primary serves which slots.

use redis::Value;

use crate::client::server_address::ServerAddress;
use crate::error::RedisError;
use crate::placement::Bucket;
use crate::slots;

/// The nodes of a cluster and their slots, as one node sees them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SlotMap {
    /// In the order of their slots.
    ranges: Vec<SlotRange>,
    /// Primaries with slots, and their replicas.
    nodes: Vec<ServerAddress>,
    /// The ids of these nodes.
    ids: Vec<String>,
}

/// Slots of one primary, the last one included.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SlotRange {
    first: u16,
    last: u16,
    primary: ServerAddress,
}

const MALFORMED: RedisError = RedisError::BadReply("a slot map that cannot be read");

impl SlotMap {
    /// Reads the reply to `CLUSTER SLOTS`. A node without a host is the one that answered, at `host`. Slots of a primary
    /// without a known host count as not covered.
    pub(super) fn parse(reply: Vec<Value>, host: &str) -> Result<Self, RedisError> {
        let mut map = Self::default();
        for range in reply {
            let Value::Array(range) = range else { return Err(MALFORMED) };
            let [Value::Int(first), Value::Int(last), nodes @ ..] = &range[..] else {
                return Err(MALFORMED);
            };
            let slot = |number: i64| u16::try_from(number).ok().filter(|slot| *slot < slots::COUNT);
            let (first, last) = slot(*first).zip(slot(*last)).ok_or(MALFORMED)?;
            for (at, node) in nodes.iter().enumerate() {
                let (address, id) = node_of(node, host)?;
                let Some(address) = address else { continue };
                if at == 0 {
                    map.ranges.push(SlotRange { first, last, primary: address.clone() });
                }
                map.nodes.push(address);
                map.ids.push(id);
            }
        }
        map.ranges.sort_by_key(|range| range.first);
        map.nodes.sort();
        map.nodes.dedup();
        map.ids.sort();
        map.ids.dedup();
        Ok(map)
    }

    /// The primary of a slot, or `None` if the slot is not covered.
    pub(crate) fn primary_of(&self, slot: u16) -> Option<&ServerAddress> {
        let at = self.ranges.partition_point(|range| range.last < slot);
        let range = self.ranges.get(at).filter(|range| range.first <= slot)?;
        Some(&range.primary)
    }

    /// The primaries that serve buckets, in the order of their first slots.
    pub(crate) fn primaries(&self) -> Vec<ServerAddress> {
        let mut primaries: Vec<ServerAddress> = Vec::new();
        for primary in Bucket::all().filter_map(|bucket| self.primary_of(bucket.slot())) {
            if !primaries.contains(primary) {
                primaries.push(primary.clone());
            }
        }
        primaries
    }

    /// The buckets of a primary.
    pub(crate) fn buckets_of(&self, primary: &ServerAddress) -> impl Iterator<Item = Bucket> {
        Bucket::all().filter(move |bucket| self.primary_of(bucket.slot()) == Some(primary))
    }

    /// The first bucket of a primary.
    pub(crate) fn first_bucket_of(&self, primary: &ServerAddress) -> Option<Bucket> {
        self.buckets_of(primary).next()
    }

    /// The number of buckets of a primary.
    pub(crate) fn bucket_count(&self, primary: &ServerAddress) -> usize {
        self.buckets_of(primary).count()
    }

    /// The number of slots that a primary covers.
    pub(crate) fn covered(&self) -> u16 {
        self.ranges.iter().map(|range| range.last - range.first + 1).sum()
    }

    /// Whether every bucket has a primary.
    pub(crate) fn covers_all_buckets(&self) -> bool {
        Bucket::all().all(|bucket| self.primary_of(bucket.slot()).is_some())
    }

    /// Primaries with slots, and their replicas.
    pub(crate) fn nodes(&self) -> &[ServerAddress] {
        &self.nodes
    }

    /// The slots of the primaries, in the order of the slots.
    pub(super) fn ranges(&self) -> &[SlotRange] {
        &self.ranges
    }

    /// Whether a node is in both maps. Maps of one cluster have nodes in common.
    pub(super) fn shares_a_node_with(&self, other: &Self) -> bool {
        self.ids.iter().any(|id| other.ids.contains(id))
    }
}

/// The address of a node, unless its host is unknown, and its id.
fn node_of(node: &Value, host: &str) -> Result<(Option<ServerAddress>, String), RedisError> {
    let Value::Array(node) = node else { return Err(MALFORMED) };
    let [named, Value::Int(port), rest @ ..] = &node[..] else { return Err(MALFORMED) };
    let port = u16::try_from(*port).map_err(|_| MALFORMED)?;
    let named = match named {
        Value::Nil => "",
        Value::BulkString(name) => std::str::from_utf8(name).map_err(|_| MALFORMED)?,
        Value::SimpleString(name) => name,
        _ => return Err(MALFORMED),
    };
    let host = if named.is_empty() { host } else { named };
    let address = (host != "?").then(|| ServerAddress { host: host.to_owned(), port });
    let id = match rest.first() {
        Some(Value::BulkString(id)) => String::from_utf8_lossy(id).into_owned(),
        Some(Value::SimpleString(id)) => id.clone(),
        _ => String::new(),
    };
    Ok((address, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(reply: &str) -> Result<SlotMap, RedisError> {
        let value = redis::parse_redis_value(reply.as_bytes()).expect("a reply");
        let Value::Array(ranges) = value else { panic!("not an array: {value:?}") };
        SlotMap::parse(ranges, "asked")
    }

    /// A reply with these ranges: the first and last slot, the host, and the id.
    fn reply(ranges: &[(u16, u16, &str, &str)]) -> String {
        let range = |(first, last, host, id): &(u16, u16, &str, &str)| {
            let host = match *host {
                "null" => "$-1\r\n".to_owned(),
                host => format!("${}\r\n{host}\r\n", host.len()),
            };
            let id = format!("${}\r\n{id}\r\n*0\r\n", id.len());
            format!("*3\r\n:{first}\r\n:{last}\r\n*4\r\n{host}:7000\r\n{id}")
        };
        let ranges: Vec<_> = ranges.iter().map(range).collect();
        format!("*{}\r\n{}", ranges.len(), ranges.concat())
    }

    #[test]
    fn slots_belong_to_their_primaries() {
        let ranges = [(8_000, 16_383, "two", "2"), (0, 99, "one", "1"), (101, 7_999, "one", "1")];
        let map = map(&reply(&ranges)).expect("a map");
        let host = |slot| map.primary_of(slot).map(|primary| primary.host.as_str());
        assert_eq!([0, 99, 101, 7_999].map(host), [Some("one"); 4]);
        assert_eq!([8_000, 16_383].map(host), [Some("two"); 2]);
        assert_eq!(host(100), None, "not covered");
        assert_eq!(map.covered(), 16_383);
        assert!(map.covers_all_buckets(), "no bucket has slot 100");
        let primaries = map.primaries();
        assert_eq!(primaries.iter().map(|at| at.host.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        let counts: usize = primaries.iter().map(|primary| map.bucket_count(primary)).sum();
        assert_eq!(counts, 64);
        assert_eq!(map.first_bucket_of(&primaries[1]).map(Bucket::slot), Some(8_064));
    }

    #[test]
    fn node_without_a_host_is_the_one_that_answered_and_an_unknown_one_is_left_out() {
        let ranges = [(0, 1, "", "1"), (2, 3, "null", "2"), (4, 5, "?", "3")];
        let map = map(&reply(&ranges)).expect("a map");
        let host = |slot| map.primary_of(slot).map(|primary| primary.host.as_str());
        assert_eq!([0, 2, 4].map(host), [Some("asked"), Some("asked"), None]);
        assert!(!map.covers_all_buckets());
    }

    #[test]
    fn maps_of_one_cluster_have_nodes_in_common() {
        let of = |ids: &[&str]| {
            let ranges: Vec<_> = ids.iter().map(|id| (0, 1, "host", *id)).collect();
            map(&reply(&ranges)).expect("a map")
        };
        assert!(of(&["a", "b"]).shares_a_node_with(&of(&["b"])));
        assert!(!of(&["a", "b"]).shares_a_node_with(&of(&["c"])));
    }

    #[test]
    fn malformed_replies_are_refused() {
        for text in [
            "*1\r\n:1\r\n",
            "*1\r\n*2\r\n:0\r\n+x\r\n",
            "*1\r\n*3\r\n:0\r\n:16384\r\n*0\r\n",
            "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:70000\r\n",
            "*1\r\n*3\r\n:0\r\n:1\r\n*1\r\n$1\r\na\r\n",
        ] {
            assert!(map(text).is_err(), "{text:?}");
        }
    }
}
