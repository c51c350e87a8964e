//! Reads the reply of the script, which `layout` describes.

use redis::Value;
use weir_domain::decide::Decision;
use weir_domain::limit::EXACT_MAX;
use weir_domain::reservation::Settlement;
use weir_domain::time::Micros;

use super::layout::{
    DECISION, KEY_REUSED, NOT_OPEN, REPEATED, SETTLED, UNREADABLE, WITHOUT_LIMITS,
};
use super::script::{Encoded, Expected};
use super::script_check::{Answer, FirstAnswer};
use super::source::FOREVER;
use crate::error::RedisError;

const NUMBERS_PER_LIMIT: usize = DECISION.count();
#[expect(clippy::cast_precision_loss, reason = "it is exactly representable")]
const NEVER: f64 = FOREVER as f64;
const CUT_SHORT: RedisError = RedisError::BadReply("cut short");

/// The reply to a call.
#[derive(Debug)]
pub(super) enum ScriptReply {
    /// One answer to each check of each caller.
    Answers(Vec<Vec<Answer>>),
    /// The periods of a quota did not hold this time; nothing was done.
    OtherPeriod(Micros),
}

/// Reads the reply to these callers' checks, of which there is at least one.
pub(super) fn read(all: &[&Encoded], value: Value) -> Result<ScriptReply, RedisError> {
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
        return Ok(ScriptReply::OtherPeriod(now));
    }
    answers.now = now;
    let mut own =
        |encoded: &&Encoded| encoded.expected().iter().map(|&check| answers.next(check)).collect();
    let all = all.iter().map(&mut own).collect::<Result<_, _>>()?;
    if !answers.numbers.is_empty() {
        return Err(RedisError::BadReply("another number of checks"));
    }
    Ok(ScriptReply::Answers(all))
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
        let first = first.ok_or(RedisError::BadReply("another number of checks"))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small code")]
        match first as u64 {
            WITHOUT_LIMITS => {
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
                let decisions = self.decisions(expected.limits, expected.refunds)?;
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
        let at = Some(self.take()?).filter(|at| *at > 0).map(Micros);
        let length = usize::try_from(self.take()?).unwrap_or(usize::MAX).saturating_mul(8);
        let (numbers, rest) = self.numbers.split_at_checked(length).ok_or(CUT_SHORT)?;
        self.numbers = rest;
        let text = self.text()?;
        let mut record = Answers { now: self.now, numbers, texts: std::iter::empty() };
        // The rules have possibly changed since, so the record itself says whether it has a settlement.
        let settled = record.ends_with_settlement();
        let decisions = match length / 8 {
            1 => Ok(Vec::new()),
            count => {
                let count = (count / NUMBERS_PER_LIMIT).saturating_sub(usize::from(settled));
                record.decisions(count, expected.refunds)
            }
        };
        let leased = |_, at| Settlement::Leased { at: Micros(at) };
        let make = settled.then(|| expected.settlement.unwrap_or(leased));
        let settlement = make.map(|make| record.settlement(make)).transpose();
        Ok(match (decisions, String::from_utf8(text), settlement) {
            (Ok(decisions), Ok(text), Ok(None)) => {
                Answer::Repeated(self.now, FirstAnswer { at, text }, decisions)
            }
            (Ok(decisions), Ok(text), Ok(Some(settlement))) => {
                Answer::Settled(self.now, Some(FirstAnswer { at, text }), decisions, settlement)
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

    fn decisions(&mut self, limits: usize, refunds: bool) -> Result<Vec<Decision>, RedisError> {
        if self.numbers.len() < limits.saturating_mul(NUMBERS_PER_LIMIT * 8) {
            return Err(RedisError::BadReply("another number of limits"));
        }
        let mut decisions = Vec::with_capacity(limits);
        for _ in 0..limits {
            let decision = Decision {
                allowed: self.take()? == 1,
                remaining: self.take()?,
                reset_after_ms: self.take()?,
                retry_after_ms: self.take_unless_never()?,
                delay_ms: 0,
                returned: false,
            };
            let last = self.take()?;
            decisions.push(if refunds {
                Decision { returned: last == 1, ..decision }
            } else {
                Decision { delay_ms: last, ..decision }
            });
        }
        Ok(decisions)
    }

    fn ends_with_settlement(&self) -> bool {
        let start = self.numbers.len().saturating_sub(NUMBERS_PER_LIMIT * 8);
        let (now, numbers, texts) = (self.now, &self.numbers[start..], std::iter::empty());
        matches!(Answers { now, numbers, texts }.take(), Ok(SETTLED))
    }

    /// Reads the numbers after the decisions that state what became of a reservation or of leases.
    fn settlement(&mut self, make: fn(u64, u64) -> Settlement) -> Result<Settlement, RedisError> {
        if self.take()? != SETTLED {
            return Err(RedisError::BadReply("no settlement"));
        }
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
