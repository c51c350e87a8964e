//! The call that resets counters, as if they had never been used.

use std::collections::BTreeMap;

use redis::Cmd;
use weir_domain::counter::{CounterName, CounterPart};
use weir_domain::id::TenantId;

use super::script::number;
use crate::keys;
use crate::placement::{Bucket, Owner};

const SCRIPT: &str = include_str!("script/reset.lua");

/// Builds the call that resets these counters of a namespace; the reply is the number that existed. Both possible places of a
/// counter are emptied, whether or not its limit is a log.
pub(super) fn call(tenant: TenantId, namespace: &str, counters: &[CounterName]) -> Cmd {
    let mut buffer = TenantId::TEXT;
    let bucket = Bucket::of(tenant, namespace);
    let owner = Owner { bucket, tenant: tenant.write(&mut buffer), namespace };
    let mut counter_hashes: BTreeMap<String, Vec<[u8; 12]>> = BTreeMap::new();
    let mut logs = Vec::new();
    for counter in counters {
        let slot = match counter.part {
            CounterPart::Slot(slot) => {
                let mut log = String::new();
                keys::log(&mut log, owner, &counter.rule.to_string(), slot, counter.subject);
                logs.push(log);
                slot
            }
            CounterPart::Block => keys::BLOCK_SLOT,
        };
        let mut counter_hash = String::new();
        keys::counter_hash(&mut counter_hash, owner, counter.subject);
        counter_hashes.entry(counter_hash).or_default().push(keys::counter(counter.rule, slot));
    }
    let counts = std::iter::once(counter_hashes.len()).chain(counter_hashes.values().map(Vec::len));
    let numbers: Vec<u8> = counts.flat_map(|count| number(count as u64)).collect();
    let mut call = redis::cmd("EVAL");
    call.arg(SCRIPT).arg(counter_hashes.len() + logs.len());
    call.arg(counter_hashes.keys().collect::<Vec<_>>()).arg(logs).arg(numbers);
    for name in counter_hashes.values().flatten() {
        call.arg(name.as_slice());
    }
    call
}
