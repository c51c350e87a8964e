//! The call that resets counters, as if they had never been used.

use std::collections::BTreeMap;

use redis::Cmd;
use weir_domain::counter::{CounterName, CounterPart};

use super::script::number;
use crate::keys;

const SCRIPT: &str = include_str!("script/reset.lua");

/// Builds the call that resets these counters; the reply is the number that existed. Both possible places of a counter are
/// emptied, whether or not its limit is a log.
pub(super) fn call(counters: &[CounterName]) -> Cmd {
    let mut counter_hashes: BTreeMap<String, Vec<[u8; 12]>> = BTreeMap::new();
    let mut others = Vec::new();
    for counter in counters {
        let (tenant, rule) = (counter.tenant.to_string(), counter.rule.to_string());
        let key = |write: &dyn Fn(&mut String)| {
            let mut key = String::new();
            write(&mut key);
            key
        };
        match counter.part {
            CounterPart::Slot(slot) => {
                let counter_hash = key(&|to| keys::counter_hash(to, &tenant, counter.subject));
                counter_hashes
                    .entry(counter_hash)
                    .or_default()
                    .push(keys::counter(counter.rule, slot));
                others.push(key(&|to| keys::log(to, &tenant, &rule, slot, counter.subject)));
            }
            CounterPart::Block => {
                others.push(key(&|to| keys::block(to, &tenant, &rule, counter.subject)));
            }
        }
    }
    let counts = std::iter::once(counter_hashes.len()).chain(counter_hashes.values().map(Vec::len));
    let numbers: Vec<u8> = counts.flat_map(|count| number(count as u64)).collect();
    let mut call = redis::cmd("EVAL");
    call.arg(SCRIPT).arg(counter_hashes.len() + others.len());
    call.arg(counter_hashes.keys().collect::<Vec<_>>()).arg(others).arg(numbers);
    for name in counter_hashes.values().flatten() {
        call.arg(name.as_slice());
    }
    call
}
