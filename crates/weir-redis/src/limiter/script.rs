//! Encodes the arguments of the script by the table of `layout`. `script_reply` reads its reply.

use redis::Cmd;
use smallvec::SmallVec;
use weir_domain::algorithm::{PeriodBounds, Quota, SLACK_US};
use weir_domain::charge::RuleCharge;
use weir_domain::charged::Charged;
use weir_domain::draft::Over;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::limit::EXACT_MAX;
use weir_domain::request::Operation;
use weir_domain::reservation::Settlement;
use weir_domain::time::Micros;

use super::layout::Value::{Flag, Id, Name, Number};
use super::layout::{
    BLOCK_LENGTH, CHARGE_TIME, CHARGED_LEVEL, CHECK, CHECK_REST, HEADER, LIMIT, MORE_OF_RULE,
    MORE_PARAMETERS, PERIODS, Part, RESERVATION, RULE, Value, write,
};
use super::script_check::ScriptCheck;
use super::source::{ACQUIRE, CHARGED, CONSUME_ONE, FUNCTION, kind_number, operation};
use crate::keys;
use crate::placement::{Bucket, Owner};

/// The number of keys, checks and limits that are held without an allocation. Most callers have one or two.
const FEW: usize = 4;
/// The checks of one caller, encoded by the caller's task, so that the batcher only joins them.
#[derive(Debug)]
pub(super) struct Encoded {
    /// The bucket of all its keys.
    pub(super) bucket: Bucket,
    keys: String,
    key_ends: SmallVec<[usize; FEW]>,
    numbers: Vec<u8>,
    texts: Vec<String>,
    /// The numbers that are expected for each check.
    expected: SmallVec<[Expected; FEW]>,
    /// The time for which the periods of its quotas were chosen.
    from_us: u64,
    until_us: u64,
}

/// The decisions that are expected for a check.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) limits: usize,
    /// Of an operation on a reservation or on leases: its settlement follows the decisions.
    pub(super) settlement: Option<fn(u64, u64) -> Settlement>,
    /// Whether the decisions are of a refund.
    pub(super) refunds: bool,
}

impl Encoded {
    /// Encodes `asked`; `bounds` resolves calendars.
    pub(super) fn new(
        asked: &[ScriptCheck<'_>],
        mut bounds: impl FnMut(&Quota) -> PeriodBounds,
    ) -> Self {
        let mut encoded = Self {
            bucket: Bucket::default(),
            keys: String::with_capacity(128 * asked.len()),
            key_ends: SmallVec::new(),
            numbers: Vec::with_capacity((8 * (5 + 4 + 4) + 12) * asked.len()),
            texts: Vec::new(),
            expected: SmallVec::new(),
            from_us: 0,
            until_us: EXACT_MAX,
        };
        for check in asked {
            encoded.check(check, &mut bounds);
        }
        encoded
    }

    /// The same checks, to be decided only while Redis' clock is more than a second before `end`.
    pub(super) fn only_before(self, end: Micros) -> Self {
        Self { until_us: self.until_us.min(end.0), ..self }
    }

    /// The decisions that are expected, for each check.
    pub(super) fn expected(&self) -> &[Expected] {
        &self.expected
    }

    /// Whether the script would accept the periods at this time.
    pub(super) fn holds_at(&self, now: Micros) -> bool {
        self.from_us <= now.0 && now.0 + SLACK_US < self.until_us
    }

    fn check(&mut self, check: &ScriptCheck<'_>, bounds: &mut impl FnMut(&Quota) -> PeriodBounds) {
        let mut buffer = TenantId::TEXT;
        let owner = Owner {
            bucket: check.bucket(),
            tenant: check.tenant.write(&mut buffer),
            namespace: check.namespace,
        };
        self.bucket = owner.bucket;
        let counter_hashes = counter_hashes(check.rules);
        let hash_count = counter_hashes.iter().max().copied().unwrap_or(0);
        let (rules, idempotent) = (check.rules.len() as u64, check.idempotency.is_some());
        let (acquires, consumes_one) = (check.acquires(), check.consumes_one());
        let operation = match () {
            () if consumes_one => CONSUME_ONE,
            () if acquires => ACQUIRE,
            () => operation(check.operation),
        };
        self.part(&CHECK, [Number(operation), Number(check.cost)]);
        if !consumes_one {
            self.part(&CHECK_REST, [Number(rules), Number(hash_count), Flag(idempotent)]);
        }
        if check.operation == Operation::Refund {
            let charged_us = check.charged.map_or(0, |charged| charged.at.0);
            self.part(&CHARGE_TIME, [Number(charged_us)]);
        }
        self.holding(check, acquires);
        if let Some(idempotency) = &check.idempotency {
            self.key(|keys| keys::idempotency(keys, owner, &idempotency.key));
            let record_ms = idempotency.recorded_for.as_millis().to_string();
            let texts = [idempotency.fingerprint.clone(), idempotency.text.clone(), record_ms];
            self.texts.extend(texts);
        }
        let mut written = 0;
        for (rule, &counter_hash) in check.rules.iter().zip(&counter_hashes) {
            if counter_hash > written {
                self.key(|keys| keys::counter_hash(keys, owner, rule.subject));
                written = counter_hash;
            }
        }
        if check.operation.reserves() {
            let mut written = 0;
            for (rule, &counter_hash) in check.rules.iter().zip(&counter_hashes) {
                if counter_hash > written {
                    self.key(|keys| keys::reservations(keys, owner, rule.subject));
                    written = counter_hash;
                }
            }
        }
        if let Operation::Renew(lease) | Operation::Release(lease) = check.operation {
            let rule = lease.rule.to_string();
            self.key(|keys| keys::limit(keys, owner, &rule, lease.slot, lease.subject));
        }
        for (rule, &counter_hash) in check.rules.iter().zip(&counter_hashes) {
            if !consumes_one {
                self.rule(rule, counter_hash);
            }
            self.limits(owner, rule, check.charged, bounds);
            self.more(rule);
        }
        self.expected.push(Expected::of(check));
    }

    /// Writes the numbers of an operation on a reservation or on leases.
    fn holding(&mut self, check: &ScriptCheck<'_>, acquires: bool) {
        let (id, time, at_most) = match check.operation {
            Operation::Reserve(reserve) => (reserve.id.0, reserve.ttl_ms, reserve.at_most),
            Operation::Commit(commit) => (commit.id.0, commit.ends.0, false),
            Operation::Exhaust(exhaust) => (exhaust.id.0, exhaust.for_ms, false),
            Operation::Renew(lease) | Operation::Release(lease) => {
                (lease.id.0, lease.lease_ms * 1000, false)
            }
            _ if acquires => (check.lease_id.0, 0, false),
            _ => return,
        };
        self.part(&RESERVATION, [Id(id), Number(time), Flag(at_most)]);
    }

    /// Writes what precedes the limits of a rule.
    fn rule(&mut self, rule: &RuleCharge, counter_hash: u64) {
        let debt = rule.active.rule.over() == Over::Debt;
        let block_ms = rule.active.rule.block_ms().unwrap_or(0);
        let values = [
            Flag(rule.is_alone()),
            Flag(debt),
            Flag(has_more(rule)),
            Number(block_ms),
            Number(counter_hash),
            Number(rule.limits().len() as u64),
        ];
        self.part(&RULE, values);
    }

    fn limits(
        &mut self,
        owner: Owner<'_>,
        rule: &RuleCharge,
        charged: Option<&Charged>,
        bounds: &mut impl FnMut(&Quota) -> PeriodBounds,
    ) {
        let (id, text) = (rule.active.id, rule.active.id_text());
        for limit in rule.limits() {
            let meter = rule.meter(&limit.algorithm, &mut *bounds);
            if limit.algorithm.has_own_key() {
                self.key(|keys| keys::limit(keys, owner, text, limit.slot, rule.subject));
            }
            let parameters = meter.script_parameters();
            let name = keys::counter(id, limit.slot);
            let kind = kind_number(limit.algorithm.kind(), &parameters);
            if let [first, second, third, more @ ..] = parameters.as_slice() {
                let [first, second, third] = [first, second, third].map(|number| Number(*number));
                self.part(&LIMIT, [Name(name), Number(kind.into()), first, second, third]);
                if let [fourth, fifth] = more {
                    self.part(&MORE_PARAMETERS, [Number(*fourth), Number(*fifth)]);
                }
            }
            if let Some(charged) = charged {
                self.part(&CHARGED_LEVEL, [Number(charged.of(id, limit.slot, &meter).level)]);
            }
            if let Some((from_us, until_us)) = meter.valid_us() {
                self.from_us = self.from_us.max(from_us);
                self.until_us = self.until_us.min(until_us);
            }
        }
    }

    /// Writes what follows the limits of a rule.
    fn more(&mut self, rule: &RuleCharge) {
        if !has_more(rule) {
            return;
        }
        let own_cost = rule.own_cost;
        let blocks = rule.active.rule.blocks();
        let lengths_ms = blocks.map_or(&[][..], |blocks| &blocks.lengths_ms);
        let values = [
            Flag(own_cost.is_some()),
            Number(own_cost.unwrap_or(0)),
            Number(blocks.map_or(0, |blocks| blocks.memory_ms)),
            Number(lengths_ms.len() as u64),
        ];
        self.part(&MORE_OF_RULE, values);
        for length_ms in lengths_ms {
            self.part(&BLOCK_LENGTH, [Number(*length_ms)]);
        }
    }

    fn key(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.keys);
        self.key_ends.push(self.keys.len());
    }

    fn part<const N: usize>(&mut self, part: &Part<N>, values: [Value; N]) {
        write(&mut self.numbers, part, values);
    }
}

impl Expected {
    fn of(check: &ScriptCheck<'_>) -> Self {
        let limits = check.rules.iter().map(|rule| rule.limits().len()).sum();
        let settlement: Option<fn(u64, u64) -> Settlement> = match check.operation {
            Operation::Reserve(_) | Operation::Exhaust(_) => {
                Some(|units, ends| Settlement::Held { units, ends: Micros(ends) })
            }
            Operation::Commit(_) => Some(|units, charged| Settlement::Released { units, charged }),
            Operation::Renew(_) | Operation::Release(_) => {
                Some(|_, at| Settlement::Leased { at: Micros(at) })
            }
            _ if check.acquires() => Some(|_, at| Settlement::Leased { at: Micros(at) }),
            _ => None,
        };
        Self { limits, settlement, refunds: check.operation == Operation::Refund }
    }
}

/// Whether a rule has a `MORE_OF_RULE`.
fn has_more(rule: &RuleCharge) -> bool {
    rule.own_cost.is_some() || rule.active.rule.blocks().is_some()
}

/// The number of each rule's subject hash within the check, from 1 in the order in which the rules need them.
fn counter_hashes(rules: &[RuleCharge]) -> SmallVec<[u64; 2 * FEW]> {
    let mut count = 0;
    let mut counter_hashes = SmallVec::new();
    for rule in rules {
        let before =
            rules.iter().zip(&counter_hashes).find(|(other, _)| other.subject == rule.subject);
        counter_hashes.push(before.map_or_else(
            || {
                count += 1;
                count
            },
            |(_, &counter_hash)| counter_hash,
        ));
    }
    counter_hashes
}

/// Builds the call for these callers' checks. Redis possibly does not have the function.
pub(super) fn command(all: &[&Encoded], clock: Option<Micros>, grace_ms: u64) -> Cmd {
    let key_count: usize = all.iter().map(|encoded| encoded.key_ends.len()).sum();
    let checks: usize = all.iter().map(|encoded| encoded.expected.len()).sum();
    let from_us = all.iter().map(|encoded| encoded.from_us).max().unwrap_or(0);
    let until_us = all.iter().map(|encoded| encoded.until_us).min().unwrap_or(EXACT_MAX);
    let mut numbers =
        Vec::with_capacity(40 + all.iter().map(|encoded| encoded.numbers.len()).sum::<usize>());
    let (now, has_periods) = (clock.map_or(0, |now| now.0), until_us != EXACT_MAX);
    let header = [Number(now), Number(grace_ms), Number(checks as u64), Flag(has_periods)];
    write(&mut numbers, &HEADER, header);
    if has_periods {
        write(&mut numbers, &PERIODS, [Number(from_us), Number(until_us)]);
    }
    let key_bytes: usize = all.iter().map(|encoded| encoded.keys.len()).sum();
    let mut command =
        Cmd::with_capacity(4 + key_count, 64 + FUNCTION.len() + key_bytes + numbers.capacity());
    command.arg("FCALL").arg(FUNCTION.as_str()).arg(key_count);
    for encoded in all {
        let mut begin = 0;
        for &end in &encoded.key_ends {
            command.arg(&encoded.keys[begin..end]);
            begin = end;
        }
        numbers.extend_from_slice(&encoded.numbers);
    }
    command.arg(numbers.as_slice());
    for text in all.iter().flat_map(|encoded| &encoded.texts) {
        command.arg(text);
    }
    command
}

/// The record of a denial that charged these rules, alone, as the script writes and reads it.
pub(super) fn denied(fingerprint: &str, charged: &[RuleId]) -> Vec<u8> {
    const NO_LEASES: [u8; 17] = [0; 17];
    let mut record = [fingerprint.as_bytes(), &NO_LEASES].concat();
    for &rule in charged {
        record.extend_from_slice(&keys::counter(rule, 0)[..10]);
        record.push(CHARGED);
    }
    record
}
