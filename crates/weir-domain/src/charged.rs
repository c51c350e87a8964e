//! The charge of a check, which a refund can name: its units return only to the window, bucket or entry that was charged.

use crate::algorithm::{ChargedLimit, Meter, ScriptParameters, TokenBucket};
use crate::id::RuleId;
use crate::limit::{COST_MAX, EXACT_MAX};
use crate::time::Micros;

/// The charge of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charged {
    /// The time of the charge by Redis' clock.
    pub at: Micros,
    /// The same of counters that are not spread, where others are: a gate possibly took their units in advance.
    pub common_at: Option<Micros>,
    /// The units that were taken.
    pub cost: u64,
    /// Of each token bucket: a digest of the counter and its rate, and a bound below its level after the charge.
    pub buckets: Vec<(u32, u64)>,
}

/// The most bytes of a text.
pub const CHARGE_BYTES_MAX: usize = 2_048;

impl Charged {
    /// A charge of these units at this time. Its token buckets are added.
    pub(crate) fn new(at: Micros, cost: u64) -> Self {
        Self { at, common_at: None, cost, buckets: Vec::new() }
    }

    /// Adds a token bucket that is full again after this time, rounded up. `None`: the time is not known.
    pub(crate) fn add_bucket(
        &mut self,
        (rule, slot): (RuleId, u16),
        bucket: TokenBucket,
        reset_after_ms: Option<u64>,
    ) {
        let parameters = Meter::TokenBucket(bucket).script_parameters();
        let level = level(parameters, self.cost, reset_after_ms);
        self.buckets.push((digest(rule, slot, parameters), level));
    }

    /// The charge of the counters that are not spread.
    #[must_use]
    pub fn common(mut self) -> Self {
        self.at = self.common_at.unwrap_or(self.at);
        self
    }

    /// The charge of one limit.
    pub fn of(&self, rule: RuleId, slot: u16, meter: &Meter) -> ChargedLimit {
        let level = match meter {
            Meter::TokenBucket(_) => {
                let digest = digest(rule, slot, meter.script_parameters());
                let own = self.buckets.iter().find(|(of, _)| *of == digest);
                own.map_or(0, |(_, level)| *level)
            }
            _ => 0,
        };
        ChargedLimit { at: self.at, level }
    }

    /// The text by which callers name the charge. It is made for each admitted check, so it is written by hand.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(24 + 24 * self.buckets.len());
        text.push_str("chg");
        push(&mut text, '_', self.at.0);
        push(&mut text, '.', self.cost);
        if let Some(at) = self.common_at {
            push(&mut text, '.', at.0);
        }
        for (digest, level) in &self.buckets {
            push(&mut text, '.', u64::from(*digest));
            push(&mut text, '-', *level);
        }
        text
    }

    /// Parses the text of [`Charged::to_text`].
    pub fn parse(text: &str) -> Option<Self> {
        let number =
            |text: &str| u64::from_str_radix(text, 16).ok().filter(|number| *number <= EXACT_MAX);
        let mut parts = Some(text)
            .filter(|text| text.len() <= CHARGE_BYTES_MAX)?
            .strip_prefix("chg_")?
            .split('.');
        let at = Micros(number(parts.next()?)?);
        let cost = number(parts.next()?).filter(|cost| (1..=COST_MAX).contains(cost))?;
        let mut parts = parts.peekable();
        let common = parts.next_if(|part| !part.contains('-'));
        let bucket = |text: &str| {
            let (digest, level) = text.split_once('-')?;
            Some((u32::from_str_radix(digest, 16).ok()?, number(level)?))
        };
        let common_at = match common {
            Some(text) => Some(Micros(number(text)?)),
            None => None,
        };
        Some(Self { at, common_at, cost, buckets: parts.map(bucket).collect::<Option<_>>()? })
    }
}

/// Writes a number in hexadecimal digits after a character.
fn push(text: &mut String, before: char, number: u64) {
    text.push(before);
    let digits = number.to_be_bytes().into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let zeros = (number.max(1).leading_zeros() / 4) as usize;
    text.extend(
        digits.skip(zeros).map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
    );
}

/// A bound below the level of a bucket after a charge, in the unit of the script. It is exact if the bucket was full of tokens.
fn level(parameters: ScriptParameters, cost: u64, reset_after_ms: Option<u64>) -> u64 {
    let ScriptParameters::Three([_, per_us, scale]) = parameters else { return 0 };
    let ms = reset_after_ms.map_or(0, |ms| ms.saturating_sub(1));
    let drained_later = ms.saturating_mul(1000 * per_us).saturating_add(1);
    drained_later.max(cost.saturating_mul(scale)).min(EXACT_MAX)
}

/// A digest of a counter and of the rate at which it drains (FNV-1a).
fn digest(rule: RuleId, slot: u16, parameters: ScriptParameters) -> u32 {
    let rate = parameters.as_slice().get(1..).unwrap_or_default();
    let numbers = rate.iter().flat_map(|number| number.to_be_bytes());
    let bytes = rule.to_u128().to_be_bytes().into_iter().chain(slot.to_be_bytes()).chain(numbers);
    bytes.fold(0x811C_9DC5, |digest, byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_parsed_as_it_was_and_others_are_not() {
        for buckets in [vec![], vec![(0, 3_000_000), (u32::MAX, EXACT_MAX)]] {
            for common_at in [None, Some(Micros(7))] {
                let (at, buckets) = (Micros(1_763_726_400_000_000), buckets.clone());
                let charged = Charged { at, common_at, cost: 3, buckets };
                assert_eq!(Charged::parse(&charged.to_text()), Some(charged));
            }
        }
        let long = format!("chg_1.1{}", ".1-1".repeat(CHARGE_BYTES_MAX / 4));
        for text in [
            "",
            "chg_",
            "chg_1",
            "chg_1.0",
            "chg_1.x",
            "chg_1.1.x",
            "chg_1.1.1-1.2",
            "resv_1.1",
            &long,
        ] {
            assert_eq!(Charged::parse(text), None, "{text}");
        }
    }
}
