//! Arguments in, reply out: the only Rust that knows positions. The contract heads the script.

use std::sync::LazyLock;

use redis::{Cmd, Value};
use weir_domain::algorithm::{Meter, PeriodBounds, Quota};
use weir_domain::charge::{Group, RuleMeters};
use weir_domain::decide::Decision;
use weir_domain::request::Act;
use weir_domain::time::Micros;

use super::{Answer, Asked};
use crate::error::RedisError;
use crate::keys;

/// The script, joined of its files in order.
pub(super) const SCRIPT: &str = concat!(
    include_str!("script/1_contract.lua"),
    include_str!("script/2_fixed_window.lua"),
    include_str!("script/3_sliding_window_log.lua"),
    include_str!("script/4_sliding_window_counter.lua"),
    include_str!("script/5_bucket.lua"),
    include_str!("script/6_spacing.lua"),
    include_str!("script/7_check.lua"),
);

#[expect(clippy::disallowed_methods, reason = "the one place where the script is registered")]
static HASH: LazyLock<String> = LazyLock::new(|| redis::Script::new(SCRIPT).get_hash().to_owned());

/// How long the record of an idempotency key lives.
const RECORD_MS: u64 = 60_000;
const NUMBERS_PER_LIMIT: usize = 5;

/// Arguments of one call.
#[derive(Debug, Default)]
pub(super) struct Call {
    keys: Vec<String>,
    numbers: Vec<u8>,
    texts: Vec<String>,
    /// How many limits each check has.
    limits: Vec<usize>,
}

/// What a call says.
#[derive(Debug)]
pub(super) enum Reply {
    /// One answer for each check.
    Answers(Vec<Answer>),
    /// The periods of a quota did not hold this time; nothing was done.
    OtherPeriod(Micros),
}

impl Call {
    /// The arguments for `asked`; `clock` is a supplied time, `bounds` resolves calendars.
    pub(super) fn new<'a>(
        asked: impl ExactSizeIterator<Item = &'a Asked>,
        clock: Option<Micros>,
        grace_ms: u64,
        mut bounds: impl FnMut(&Quota) -> PeriodBounds,
    ) -> Self {
        let mut call = Self::default();
        call.push([clock.map_or(0, |now| now.0), grace_ms, asked.len() as u64]);
        for check in asked {
            let act = match check.act {
                Act::Consume => 1,
                Act::Peek => 2,
                Act::Refund => 3,
                Act::Look => 4,
            };
            let rules = check.rules.len() as u64;
            call.push([act, check.cost, rules, u64::from(check.idempotency.is_some())]);
            if let Some(it) = &check.idempotency {
                call.keys.push(keys::idempotency(check.tenant, &it.key));
                let texts = [it.fingerprint.clone(), it.text.clone(), RECORD_MS.to_string()];
                call.texts.extend(texts);
            }
            let mut limits = 0;
            for rule in &check.rules {
                let meters = rule.meters(check.tenant, &mut bounds);
                limits += meters.limits.len();
                call.rule(&meters);
            }
            call.limits.push(limits);
        }
        call
    }

    /// By the script's hash; Redis may have forgotten the script.
    pub(super) fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", &HASH)
    }

    /// With the script itself, which Redis then remembers.
    pub(super) fn by_text(&self) -> Cmd {
        self.command("EVAL", SCRIPT)
    }

    /// Reads the reply to this call.
    pub(super) fn reply(&self, value: Value) -> Result<Reply, RedisError> {
        let Value::Array(items) = value else {
            return Err(RedisError::BadReply("not an array"));
        };
        let mut items = items.into_iter();
        let Some(Value::Int(now)) = items.next() else {
            return Err(RedisError::BadReply("no time"));
        };
        let now = Micros(u64::try_from(now).map_err(|_| RedisError::BadReply("negative time"))?);
        if items.len() == 0 && !self.limits.is_empty() {
            return Ok(Reply::OtherPeriod(now));
        }
        if items.len() != self.limits.len() {
            return Err(RedisError::BadReply("another number of checks"));
        }
        let answers = items.zip(&self.limits).map(|(item, limits)| answer(item, *limits, now));
        Ok(Reply::Answers(answers.collect::<Result<_, _>>()?))
    }

    fn rule(&mut self, meters: &RuleMeters) {
        let group = u64::from(meters.group == Group::Alone);
        let block_ms = meters.block.map_or(0, |(_, block_ms)| block_ms);
        self.push([group, block_ms, meters.limits.len() as u64]);
        if let Some((name, _)) = &meters.block {
            self.keys.push(keys::counter(name));
        }
        for (name, meter) in &meters.limits {
            self.keys.push(keys::counter(name));
            self.meter(meter);
        }
    }

    fn meter(&mut self, meter: &Meter) {
        match meter {
            Meter::FixedWindow(it) => self.push([1, it.limit(), it.window_ms() * 1000, 0]),
            Meter::SlidingWindowLog(it) => {
                let count_denied = u64::from(it.counts_denied());
                self.push([2, it.limit(), it.window_ms() * 1000, count_denied]);
            }
            Meter::SlidingWindowCounter(it) => {
                self.push([3, it.limit(), it.window_ms() * 1000, 0]);
            }
            Meter::TokenBucket(it) => {
                let (per_us, scale) = it.rate();
                self.push([4, it.capacity(), per_us, scale]);
            }
            Meter::LeakyBucket(it) => {
                let (per_us, scale) = it.rate();
                self.push([5, it.capacity(), per_us, scale]);
            }
            Meter::Spacing(it) => self.push([6, it.interval_ms() * 1000, 0, 0]),
            Meter::Quota(it) => {
                let [previous, present, next, end] = it.bounds_us;
                self.push([7, it.limit, previous, present, next, end]);
            }
        }
    }

    fn push<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            #[expect(clippy::cast_precision_loss, reason = "all are below 2^53, by the contract")]
            let number = number as f64;
            self.numbers.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        for key in &self.keys {
            command.arg(key);
        }
        command.arg(self.numbers.as_slice());
        for text in &self.texts {
            command.arg(text);
        }
        command
    }
}

fn answer(item: Value, limits: usize, now: Micros) -> Result<Answer, RedisError> {
    let Value::Array(fields) = item else {
        return Err(RedisError::BadReply("a check that is not an array"));
    };
    match fields.as_slice() {
        [Value::Int(0), numbers @ ..] => {
            let numbers: Option<Vec<i64>> = numbers.iter().map(integer).collect();
            let numbers = numbers.ok_or(RedisError::BadReply("a number that is none"))?;
            Ok(Answer::Decided(now, decisions(&numbers, Some(limits))?))
        }
        [Value::Int(1), Value::BulkString(text), Value::BulkString(numbers)] => {
            let text = String::from_utf8(text.clone());
            let text = text.map_err(|_| RedisError::BadReply("a text that is none"))?;
            let numbers = parse_numbers(numbers).ok_or(RedisError::BadReply("a bad record"))?;
            Ok(Answer::Repeated(now, text, decisions(&numbers, None)?))
        }
        [Value::Int(2)] => Ok(Answer::KeyReused),
        _ => Err(RedisError::BadReply("an unknown kind of answer")),
    }
}

/// `limits` is how many decisions there must be, where that is known.
fn decisions(numbers: &[i64], limits: Option<usize>) -> Result<Vec<Decision>, RedisError> {
    let (chunks, rest) = numbers.as_chunks::<NUMBERS_PER_LIMIT>();
    if !rest.is_empty() || limits.is_some_and(|limits| limits != chunks.len()) {
        return Err(RedisError::BadReply("another number of limits"));
    }
    let decision = |&[allowed, remaining, reset, retry, delay]: &[i64; NUMBERS_PER_LIMIT]| {
        Some(Decision {
            allowed: allowed == 1,
            remaining: u64::try_from(remaining).ok()?,
            reset_after_ms: u64::try_from(reset).ok()?,
            retry_after_ms: if retry == -1 { None } else { Some(u64::try_from(retry).ok()?) },
            delay_ms: u64::try_from(delay).ok()?,
        })
    };
    let all: Option<Vec<_>> = chunks.iter().map(decision).collect();
    all.ok_or(RedisError::BadReply("a negative number"))
}

fn parse_numbers(text: &[u8]) -> Option<Vec<i64>> {
    let text = std::str::from_utf8(text).ok()?;
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|number| number.parse().ok()).collect()
}

const fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}
