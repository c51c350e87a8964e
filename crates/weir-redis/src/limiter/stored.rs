//! Reads the counters of windows as they are stored, so that the units of a window that has just ended can still be read.

use std::collections::BTreeMap;

use redis::{Cmd, Value};
use tokio::time::timeout;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_domain::time::Micros;

use super::layout::number;
use super::reset::{TIMEOUT, send};
use crate::client::Client;
use crate::error::RedisError;
use crate::keys;
use crate::placement::{Bucket, Owner};

const SCRIPT: &str = include_str!("script/stored.lua");
/// The most counters that one call reads.
const AT_ONCE: usize = 500;

/// The counter of a window or quota.
#[derive(Debug, Clone, Copy)]
pub struct WindowCounter<'a> {
    /// The namespace of the rule.
    pub namespace: &'a str,
    /// The values by which the counters of the namespace are spread.
    pub spread: SpreadKey,
    /// The subject.
    pub subject: SubjectKey,
    /// The rule.
    pub rule: RuleId,
    /// The slot of the limit in the rule.
    pub slot: u16,
}

/// The stored units of one window, at the time of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowUnits {
    /// The time of the call.
    pub read_at: Micros,
    /// The time at which units were last taken.
    pub taken_at: Micros,
    /// The units of the window that contains `taken_at`. They can exceed its limit.
    pub taken: u64,
}

/// Returns for each counter its units. `None`: there is no such counter. `clock`: `None` stands for that of Redis.
pub(super) async fn run(
    client: &Client,
    tenant: TenantId,
    counters: &[WindowCounter<'_>],
    clock: Option<Micros>,
) -> Result<Vec<Option<WindowUnits>>, RedisError> {
    let mut by_bucket: BTreeMap<Bucket, Vec<usize>> = BTreeMap::new();
    for (at, counter) in counters.iter().enumerate() {
        let bucket = Bucket::of(tenant, counter.namespace, counter.spread);
        by_bucket.entry(bucket).or_default().push(at);
    }
    let mut read = vec![None; counters.len()];
    for (bucket, places) in by_bucket {
        for places in places.chunks(AT_ONCE) {
            let part = places.iter().map(|&at| &counters[at]);
            let call = call(tenant, bucket, part, clock);
            let reply = timeout(TIMEOUT, send(client, bucket, &call));
            let reply = reply.await.map_err(|_| RedisError::Timeout)??;
            let (now, values) = parts(reply)?;
            for (&at, value) in places.iter().zip(values) {
                read[at] = value.and_then(|value| units(&value, now));
            }
        }
    }
    Ok(read)
}

fn call<'a>(
    tenant: TenantId,
    bucket: Bucket,
    counters: impl ExactSizeIterator<Item = &'a WindowCounter<'a>>,
    clock: Option<Micros>,
) -> Cmd {
    let mut buffer = TenantId::TEXT;
    let tenant = tenant.write(&mut buffer);
    let mut call = redis::cmd("EVAL");
    call.arg(SCRIPT).arg(counters.len());
    let mut names = Vec::with_capacity(counters.len());
    for counter in counters {
        let owner = Owner { bucket, tenant, namespace: counter.namespace };
        let mut key = String::new();
        keys::counter_hash(&mut key, owner, counter.subject);
        call.arg(key);
        names.push(keys::counter(counter.rule, counter.slot));
    }
    call.arg(&number(clock.map_or(0, |now| now.0))[..]);
    for name in &names {
        call.arg(&name[..]);
    }
    call
}

/// The time of the call, and the values.
fn parts(reply: Value) -> Result<(Micros, impl Iterator<Item = Option<Vec<u8>>>), RedisError> {
    let reply: Vec<Option<Vec<u8>>> =
        redis::from_redis_value(reply).map_err(redis::RedisError::from)?;
    let mut reply = reply.into_iter();
    let now = reply.next().flatten().and_then(|text| String::from_utf8(text).ok()?.parse().ok());
    let now = now.ok_or_else(|| RedisError::BadReply("stored counters without a time"))?;
    Ok((Micros(now), reply))
}

/// Reads a value as `counter.lua` writes it: expiry, time and units are the first three numbers.
fn units(value: &[u8], read_at: Micros) -> Option<WindowUnits> {
    let whole = |at: usize| {
        let number = f64::from_le_bytes(value.get(at * 8..at * 8 + 8)?.try_into().ok()?);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "numbers of counters are whole, not negative and below 2^53"
        )]
        let number = number as u64;
        Some(number)
    };
    Some(WindowUnits { read_at, taken_at: Micros(whole(1)?), taken: whole(2)? })
}
