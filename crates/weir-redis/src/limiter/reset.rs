//! Resets counters, as if they had never been used, and forgets recorded answers.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::time::{sleep, timeout};
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::id::{RuleId, TenantId};

use super::layout::number;
use super::redirect::{Redirect, pause, query_asking};
use super::script::denied;
use super::script_check::Idempotency;
use crate::client::Client;
use crate::error::RedisError;
use crate::keys::{self, INVALIDATION_CHANNEL};
use crate::placement::{Bucket, Owner};

const SCRIPT: &str = include_str!("script/reset.lua");
/// The longest time of one call.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

/// Resets these counters of a namespace, which are in one bucket. Returns the number that existed.
pub(super) async fn run(
    client: &Client,
    tenant: TenantId,
    (namespace, bucket): (&str, Bucket),
    counters: &[CounterName],
) -> Result<u64, RedisError> {
    let call = call(tenant, (namespace, bucket), counters);
    let reset = send(client, bucket, &call);
    let count = timeout(TIMEOUT, reset).await.map_err(|_| RedisError::Timeout)??;
    Ok(redis::from_redis_value(count).map_err(redis::RedisError::from)?)
}

/// Replaces the recorded answer to an idempotency key by that of a denial, which charged only these rules, alone.
pub(super) async fn record_denial(
    client: &Client,
    tenant: TenantId,
    (namespace, bucket): (&str, Bucket),
    idempotency: &Idempotency,
    charged: &[RuleId],
) -> Result<(), RedisError> {
    let (mut buffer, mut record) = (TenantId::TEXT, String::new());
    let owner = Owner { bucket, tenant: tenant.write(&mut buffer), namespace };
    keys::idempotency(&mut record, owner, &idempotency.key);
    let mut calls = Vec::new();
    if !charged.is_empty() {
        let mut note = redis::cmd("HSET");
        note.arg(&record).arg("denied").arg(denied(&idempotency.fingerprint, charged));
        calls.push(note);
    }
    let mut forget = redis::cmd("HDEL");
    forget.arg(&record).arg("fingerprint");
    calls.push(forget);
    let sent = async {
        for call in &calls {
            send(client, bucket, call).await?;
        }
        Ok(())
    };
    timeout(TIMEOUT, sent).await.map_err(|_| RedisError::Timeout)?
}

/// Sends the call, and again while a cluster redirects it: Redis then did nothing.
pub(super) async fn send(client: &Client, bucket: Bucket, call: &Cmd) -> Result<Value, RedisError> {
    let of_bucket = client.clone().of_tag(bucket.tag());
    let (mut target, mut asking, mut pauses) = (of_bucket.clone(), false, 0);
    loop {
        let (mut connection, server) = target.connect(TIMEOUT).await?;
        let result = if asking {
            query_asking(call.clone(), &mut connection).await
        } else {
            call.query_async::<Value>(&mut connection).await
        };
        let error = match result {
            Ok(reply) => return Ok(reply),
            Err(error) => RedisError::from(error),
        };
        match Redirect::of(&error, server.host()).filter(|_| client.is_cluster()) {
            Some(Redirect::Moved(Some(node))) => (target, asking) = (client.at(node), false),
            Some(Redirect::Ask(Some(node))) => (target, asking) = (client.at(node), true),
            Some(_) => {
                sleep(pause(pauses)).await;
                (target, asking, pauses) = (of_bucket.clone(), false, pauses + 1);
            }
            None => return Err(error),
        }
    }
}

/// Builds the call that resets these counters of a namespace; the reply is the number that existed. Both possible places of a
/// counter are emptied, whether or not its limit is a log.
fn call(tenant: TenantId, (namespace, bucket): (&str, Bucket), counters: &[CounterName]) -> Cmd {
    let mut buffer = TenantId::TEXT;
    let owner = Owner { bucket, tenant: tenant.write(&mut buffer), namespace };
    let mut counter_hashes: BTreeMap<String, Vec<[u8; 12]>> = BTreeMap::new();
    let mut messages = BTreeMap::new();
    let mut logs = Vec::new();
    for counter in counters {
        let slot = match counter.part {
            CounterPart::Slot(slot) => {
                let mut log = String::new();
                keys::limit(&mut log, owner, &counter.rule.to_string(), slot, counter.subject);
                logs.push(log);
                slot
            }
            CounterPart::Block => keys::BLOCK_SLOT,
        };
        let mut counter_hash = String::new();
        keys::counter_hash(&mut counter_hash, owner, counter.subject);
        messages.insert(counter_hash.clone(), keys::reset_message(owner.tenant, counter.subject));
        counter_hashes.entry(counter_hash).or_default().push(keys::counter(counter.rule, slot));
    }
    let counts = std::iter::once(counter_hashes.len()).chain(counter_hashes.values().map(Vec::len));
    let numbers: Vec<u8> = counts.flat_map(|count| number(count as u64)).collect();
    let mut call = redis::cmd("EVAL");
    call.arg(SCRIPT).arg(counter_hashes.len() + logs.len());
    call.arg(counter_hashes.keys().collect::<Vec<_>>()).arg(logs).arg(numbers);
    call.arg(INVALIDATION_CHANNEL).arg(messages.into_values().collect::<Vec<_>>());
    for name in counter_hashes.values().flatten() {
        call.arg(name.as_slice());
    }
    call
}
