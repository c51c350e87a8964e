//! Encodes the arguments of the script and reads its reply. No other Rust code contains positions. The script begins with the
//! contract.

use std::sync::LazyLock;

use redis::{Cmd, Value};
use smallvec::SmallVec;
use weir_domain::algorithm::{PeriodBounds, Quota, SLACK_US};
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::draft::Over;
use weir_domain::id::TenantId;
use weir_domain::limit::EXACT_MAX;
use weir_domain::request::Operation;
use weir_domain::reservation::Settlement;
use weir_domain::time::Micros;

use super::asked::{Answer, Asked};
use super::source::{ACQUIRE, CONSUME_ONE, FOREVER, SCRIPT, operation};
use crate::error::RedisError;
use crate::keys;
use crate::placement::{Bucket, Owner};

#[expect(clippy::disallowed_methods, reason = "the one place where the script is registered")]
pub(super) static HASH: LazyLock<String> =
    LazyLock::new(|| redis::Script::new(&SCRIPT).get_hash().to_owned());

/// The time to live of the record of an idempotency key, in milliseconds.
const RECORD_MS: u64 = 60_000;
const NUMBERS_PER_LIMIT: usize = 5;
/// The number of keys, checks and limits that are held without an allocation. Most callers have one or two.
const FEW: usize = 4;
/// The first numbers of answers that are not decisions.
const REPEATED: f64 = 2.0;
const KEY_REUSED: f64 = 3.0;
const DECIDED_WITHOUT_LIMITS: f64 = 4.0;
const UNREADABLE: f64 = 5.0;
const NOT_OPEN: f64 = 6.0;
#[expect(clippy::cast_precision_loss, reason = "it is exactly representable")]
const NEVER: f64 = FOREVER as f64;
const CUT_SHORT: RedisError = RedisError::BadReply("cut short");

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
struct Expected {
    limits: usize,
    /// Of an operation on a reservation or on leases: its settlement follows the decisions.
    settlement: Option<fn(u64, u64) -> Settlement>,
}

/// The reply to a call.
#[derive(Debug)]
pub(super) enum Reply {
    /// One answer to each check of each caller.
    Answers(Vec<Vec<Answer>>),
    /// The periods of a quota did not hold this time; nothing was done.
    OtherPeriod(Micros),
}

/// Reads the reply to these callers' checks, of which there is at least one.
pub(super) fn reply(all: &[&Encoded], value: Value) -> Result<Reply, RedisError> {
    let (numbers, texts) = match value {
        Value::Array(items) => {
            let mut items = items.into_iter();
            (items.next(), items)
        }
        numbers => (Some(numbers), Vec::new().into_iter()),
    };
    let Some(Value::BulkString(numbers)) = numbers else {
        return Err(RedisError::BadReply("no numbers"));
    };
    let mut answers = Answers { now: Micros::default(), numbers: &numbers, texts };
    let now = Micros(answers.take()?);
    if answers.numbers.is_empty() {
        return Ok(Reply::OtherPeriod(now));
    }
    answers.now = now;
    let mut own =
        |encoded: &&Encoded| encoded.expected.iter().map(|&check| answers.next(check)).collect();
    let all = all.iter().map(&mut own).collect::<Result<_, _>>()?;
    if !answers.numbers.is_empty() {
        return Err(RedisError::BadReply("another number of checks"));
    }
    Ok(Reply::Answers(all))
}

impl Encoded {
    /// Encodes `asked`; `bounds` resolves calendars.
    pub(super) fn new(asked: &[Asked<'_>], mut bounds: impl FnMut(&Quota) -> PeriodBounds) -> Self {
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

    /// Whether the script would accept the periods at this time.
    pub(super) fn holds_at(&self, now: Micros) -> bool {
        self.from_us <= now.0 && now.0 + SLACK_US < self.until_us
    }

    fn check(&mut self, check: &Asked<'_>, bounds: &mut impl FnMut(&Quota) -> PeriodBounds) {
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
        if consumes_one {
            self.push(&[CONSUME_ONE, check.cost]);
        } else {
            let operation = if acquires { ACQUIRE } else { operation(check.operation) };
            self.push(&[operation, check.cost, rules, hash_count, u64::from(idempotent)]);
        }
        self.holding(check, acquires);
        if let Some(idempotency) = &check.idempotency {
            self.key(|keys| keys::idempotency(keys, owner, &idempotency.key));
            let record_ms = match idempotency.admitted_for {
                None => RECORD_MS.to_string(),
                Some(time) => format!("-{}", time.as_millis().max(1)),
            };
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
            self.limits(owner, rule, bounds);
            self.push(rule.own_cost.as_slice());
        }
        self.expected.push(Expected::of(check));
    }

    /// Writes the numbers of an operation on a reservation or on leases.
    fn holding(&mut self, check: &Asked<'_>, acquires: bool) {
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
        self.numbers.extend_from_slice(&id);
        self.push(&[time, u64::from(at_most)]);
    }

    /// Writes what precedes the limits of a rule.
    fn rule(&mut self, rule: &RuleCharge, counter_hash: u64) {
        let block_ms = rule.active.rule.block_ms();
        let (shadow, limits) = (u64::from(rule.shadow()), rule.limits().len() as u64);
        let debt = u64::from(rule.active.rule.over() == Over::Debt);
        let has_own_cost = u64::from(rule.own_cost.is_some());
        let group = shadow + 2 * debt + 4 * has_own_cost;
        self.push(&[group, block_ms.unwrap_or(0), counter_hash, limits]);
    }

    fn limits(
        &mut self,
        owner: Owner<'_>,
        rule: &RuleCharge,
        bounds: &mut impl FnMut(&Quota) -> PeriodBounds,
    ) {
        let (id, text) = (rule.active.id, rule.active.id_text());
        for limit in rule.limits() {
            let meter = limit.algorithm.meter(&mut *bounds);
            if limit.algorithm.has_own_key() {
                self.key(|keys| keys::limit(keys, owner, text, limit.slot, rule.subject));
            }
            self.numbers.extend_from_slice(&keys::counter(id, limit.slot));
            self.push(&[limit.algorithm.kind().number().into()]);
            self.push(meter.script_parameters().as_slice());
            if let Some((from_us, until_us)) = meter.valid_us() {
                self.from_us = self.from_us.max(from_us);
                self.until_us = self.until_us.min(until_us);
            }
        }
    }

    fn key(&mut self, write: impl FnOnce(&mut String)) {
        write(&mut self.keys);
        self.key_ends.push(self.keys.len());
    }

    fn push(&mut self, numbers: &[u64]) {
        for whole in numbers {
            self.numbers.extend_from_slice(&number(*whole));
        }
    }
}

impl Expected {
    fn of(check: &Asked<'_>) -> Self {
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
        Self { limits, settlement }
    }
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

/// Builds the call of a command that runs `program` for these callers' checks.
pub(super) fn command(
    name: &str,
    program: &str,
    all: &[&Encoded],
    clock: Option<Micros>,
    grace_ms: u64,
) -> Cmd {
    let key_count: usize = all.iter().map(|encoded| encoded.key_ends.len()).sum();
    let checks: usize = all.iter().map(|encoded| encoded.expected.len()).sum();
    let from_us = all.iter().map(|encoded| encoded.from_us).max().unwrap_or(0);
    let until_us = all.iter().map(|encoded| encoded.until_us).min().unwrap_or(EXACT_MAX);
    let mut numbers =
        Vec::with_capacity(40 + all.iter().map(|encoded| encoded.numbers.len()).sum::<usize>());
    numbers.extend([clock.map_or(0, |now| now.0), grace_ms].into_iter().flat_map(number));
    let checks = f64::from(u32::try_from(checks).unwrap_or(u32::MAX));
    if until_us == EXACT_MAX {
        numbers.extend(checks.to_le_bytes());
    } else {
        numbers.extend((-checks).to_le_bytes());
        numbers.extend([from_us, until_us].into_iter().flat_map(number));
    }
    let key_bytes: usize = all.iter().map(|encoded| encoded.keys.len()).sum();
    let mut command =
        Cmd::with_capacity(4 + key_count, 64 + program.len() + key_bytes + numbers.capacity());
    command.arg(name).arg(program).arg(key_count);
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

/// A reply that is read one check after another.
struct Answers<'a, I> {
    now: Micros,
    numbers: &'a [u8],
    texts: I,
}

impl<I: Iterator<Item = Value>> Answers<'_, I> {
    /// Reads the answer to the next check.
    fn next(&mut self, expected: Expected) -> Result<Answer, RedisError> {
        let first = self.numbers.first_chunk().map(|bytes| f64::from_le_bytes(*bytes));
        match first.ok_or(RedisError::BadReply("another number of checks"))? {
            DECIDED_WITHOUT_LIMITS => {
                self.take()?;
                Ok(Answer::Decided(self.now, Vec::new()))
            }
            KEY_REUSED => {
                self.take()?;
                Ok(Answer::KeyReused)
            }
            UNREADABLE => {
                self.take()?;
                let key = self.text()?;
                Ok(Answer::Unreadable(String::from_utf8_lossy(&key).into_owned()))
            }
            NOT_OPEN => {
                self.take()?;
                Ok(Answer::NotOpen)
            }
            REPEATED => self.repeated(expected),
            _ => {
                let decisions = self.decisions(expected.limits)?;
                Ok(match expected.settlement {
                    None => Answer::Decided(self.now, decisions),
                    Some(make) => {
                        Answer::Settled(self.now, None, decisions, self.settlement(make)?)
                    }
                })
            }
        }
    }

    /// Reads a record of an answer. The rest of the reply can be read even if the record is damaged.
    fn repeated(&mut self, expected: Expected) -> Result<Answer, RedisError> {
        self.take()?;
        let length = usize::try_from(self.take()?).unwrap_or(usize::MAX).saturating_mul(8);
        let (numbers, rest) = self.numbers.split_at_checked(length).ok_or(CUT_SHORT)?;
        self.numbers = rest;
        let text = self.text()?;
        let mut record = Answers { now: self.now, numbers, texts: std::iter::empty() };
        let decisions = match length / 8 {
            1 => Ok(Vec::new()),
            count => {
                let settlements = usize::from(expected.settlement.is_some());
                record.decisions((count / NUMBERS_PER_LIMIT).saturating_sub(settlements))
            }
        };
        let settlement = expected.settlement.map(|make| record.settlement(make)).transpose();
        Ok(match (decisions, String::from_utf8(text), settlement) {
            (Ok(decisions), Ok(text), Ok(None)) => Answer::Repeated(self.now, text, decisions),
            (Ok(decisions), Ok(text), Ok(Some(settlement))) => {
                Answer::Settled(self.now, Some(text), decisions, settlement)
            }
            _ => Answer::Unreadable("a record of an idempotency key".to_owned()),
        })
    }

    fn text(&mut self) -> Result<Vec<u8>, RedisError> {
        match self.texts.next() {
            Some(Value::BulkString(text)) => Ok(text),
            _ => Err(RedisError::BadReply("an answer without its text")),
        }
    }

    fn decisions(&mut self, limits: usize) -> Result<Vec<Decision>, RedisError> {
        if self.numbers.len() < limits.saturating_mul(NUMBERS_PER_LIMIT * 8) {
            return Err(RedisError::BadReply("another number of limits"));
        }
        let mut decisions = Vec::with_capacity(limits);
        for _ in 0..limits {
            decisions.push(Decision {
                allowed: self.take()? == 1,
                remaining: self.take()?,
                reset_after_ms: self.take()?,
                retry_after_ms: self.take_unless_never()?,
                delay_ms: self.take()?,
            });
        }
        Ok(decisions)
    }

    /// Reads the numbers after the decisions of a reserve or commit.
    fn settlement(&mut self, make: fn(u64, u64) -> Settlement) -> Result<Settlement, RedisError> {
        self.take()?;
        let settlement = make(self.take()?, self.take()?);
        self.take()?;
        self.take()?;
        Ok(settlement)
    }

    fn take_unless_never(&mut self) -> Result<Option<u64>, RedisError> {
        let (number, rest) = self.numbers.split_first_chunk().ok_or(CUT_SHORT)?;
        if f64::from_le_bytes(*number) == NEVER {
            self.numbers = rest;
            return Ok(None);
        }
        self.take().map(Some)
    }

    /// Reads the next number: whole, from 0 to 2^53.
    fn take(&mut self) -> Result<u64, RedisError> {
        let (number, rest) = self.numbers.split_first_chunk().ok_or(CUT_SHORT)?;
        self.numbers = rest;
        let number = f64::from_le_bytes(*number);
        #[expect(clippy::cast_precision_loss, reason = "it is exactly representable")]
        let fits = (0.0..=EXACT_MAX as f64).contains(&number);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it fits")]
        fits.then_some(number as u64).ok_or(RedisError::BadReply("a number out of bounds"))
    }
}

pub(super) fn number(whole: u64) -> [u8; 8] {
    #[expect(clippy::cast_precision_loss, reason = "all are below 2^53, by the contract")]
    let number = whole as f64;
    number.to_le_bytes()
}
