//! The call that forgets counters, as if they had never been used.

use std::collections::BTreeMap;

use redis::Cmd;
use weir_domain::counter::{CounterName, CounterPart};

use super::script::number;
use crate::keys;

const SCRIPT: &str = include_str!("script/reset.lua");

/// Forgets these; answered by how many there were. Whether a limit keeps a log is not asked: both of its places are emptied.
pub(super) fn call(counters: &[CounterName]) -> Cmd {
    let mut counter_hashes: BTreeMap<String, Vec<[u8; 12]>> = BTreeMap::new();
    let mut others = Vec::new();
    for it in counters {
        let (tenant, rule) = (it.tenant.to_string(), it.rule.to_string());
        let key = |write: &dyn Fn(&mut String)| {
            let mut key = String::new();
            write(&mut key);
            key
        };
        match it.part {
            CounterPart::Slot(slot) => {
                let counter_hash = key(&|to| keys::counter_hash(to, &tenant, it.subject));
                counter_hashes.entry(counter_hash).or_default().push(keys::counter(it.rule, slot));
                others.push(key(&|to| keys::log(to, &tenant, &rule, slot, it.subject)));
            }
            CounterPart::Block => {
                others.push(key(&|to| keys::block(to, &tenant, &rule, it.subject)));
            }
        }
    }
    let counts = std::iter::once(counter_hashes.len()).chain(counter_hashes.values().map(Vec::len));
    let numbers: Vec<u8> = counts.flat_map(|it| number(it as u64)).collect();
    let mut call = redis::cmd("EVAL");
    call.arg(SCRIPT).arg(counter_hashes.len() + others.len());
    call.arg(counter_hashes.keys().collect::<Vec<_>>()).arg(others).arg(numbers);
    for name in counter_hashes.values().flatten() {
        call.arg(name.as_slice());
    }
    call
}
