//! The input of a limit: the parameters of all algorithms, of which the form shows those of the chosen one.

use weir_wire::limits::{AlgorithmName, LimitBody};
use weir_wire::problem::FieldProblem;
use weir_wire::words::Period;

use super::NOT_WHOLE;
use crate::model::duration::{DurationInput, Unit};
use crate::model::number::parse;

/// The input of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    /// Identifies the row on the page, independent of its position.
    pub row: u32,
    pub algorithm: AlgorithmName,
    /// The limit or the capacity.
    pub units: String,
    /// The window or the interval.
    pub window: DurationInput,
    pub count_denied: bool,
    /// Tokens refilled or units drained per `every`.
    pub rate: String,
    pub every: DurationInput,
    pub period: Period,
    pub time_zone: String,
    pub anchor_day: String,
}

impl LimitRow {
    pub(super) fn new(row: u32) -> Self {
        Self {
            row,
            algorithm: AlgorithmName::SlidingWindowCounter,
            units: "100".to_owned(),
            window: DurationInput { number: "1".to_owned(), unit: Unit::Minutes },
            count_denied: false,
            rate: "10".to_owned(),
            every: DurationInput { number: "1".to_owned(), unit: Unit::Seconds },
            period: Period::Month,
            time_zone: "UTC".to_owned(),
            anchor_day: "1".to_owned(),
        }
    }

    pub(super) fn of(row: u32, limit: &LimitBody) -> Self {
        let mut new = Self::new(row);
        new.algorithm = limit.algorithm();
        match limit {
            LimitBody::FixedWindow { limit, window_ms }
            | LimitBody::SlidingWindowCounter { limit, window_ms } => {
                new.units = limit.to_string();
                new.window = DurationInput::of_ms(*window_ms);
            }
            LimitBody::SlidingWindowLog { limit, window_ms, count_denied } => {
                new.units = limit.to_string();
                new.window = DurationInput::of_ms(*window_ms);
                new.count_denied = *count_denied;
            }
            LimitBody::TokenBucket {
                capacity,
                refill_tokens: rate,
                refill_interval_ms: every_ms,
            }
            | LimitBody::LeakyBucket { capacity, drain_units: rate, drain_interval_ms: every_ms } =>
            {
                new.units = capacity.to_string();
                new.rate = rate.to_string();
                new.every = DurationInput::of_ms(*every_ms);
            }
            LimitBody::Spacing { interval_ms } => new.window = DurationInput::of_ms(*interval_ms),
            LimitBody::Quota { limit, period, time_zone, anchor_day } => {
                new.units = limit.to_string();
                new.period = *period;
                new.time_zone.clone_from(time_zone);
                new.anchor_day = anchor_day.to_string();
            }
        }
        new
    }

    /// The limit to send. A number that cannot be parsed becomes 1 and is a problem below `path`.
    pub(super) fn read(&self, path: &str, wrong: &mut Vec<FieldProblem>) -> LimitBody {
        let mut whole = |name: &str, value: Option<u64>| {
            value.unwrap_or_else(|| {
                wrong.push(FieldProblem::new(format!("{path}.{name}"), NOT_WHOLE));
                1
            })
        };
        let (units, rate) = (parse(&self.units), parse(&self.rate));
        let (window_ms, every_ms) = (self.window.ms(), self.every.ms());
        match self.algorithm {
            AlgorithmName::FixedWindow => LimitBody::FixedWindow {
                limit: whole("limit", units),
                window_ms: whole("window_ms", window_ms),
            },
            AlgorithmName::SlidingWindowLog => LimitBody::SlidingWindowLog {
                limit: whole("limit", units),
                window_ms: whole("window_ms", window_ms),
                count_denied: self.count_denied,
            },
            AlgorithmName::SlidingWindowCounter => LimitBody::SlidingWindowCounter {
                limit: whole("limit", units),
                window_ms: whole("window_ms", window_ms),
            },
            AlgorithmName::TokenBucket => LimitBody::TokenBucket {
                capacity: whole("capacity", units),
                refill_tokens: whole("refill_tokens", rate),
                refill_interval_ms: whole("refill_interval_ms", every_ms),
            },
            AlgorithmName::LeakyBucket => LimitBody::LeakyBucket {
                capacity: whole("capacity", units),
                drain_units: whole("drain_units", rate),
                drain_interval_ms: whole("drain_interval_ms", every_ms),
            },
            AlgorithmName::Spacing => {
                LimitBody::Spacing { interval_ms: whole("interval_ms", window_ms) }
            }
            AlgorithmName::Quota => {
                let day = parse(&self.anchor_day).and_then(|day| u16::try_from(day).ok());
                LimitBody::Quota {
                    limit: whole("limit", units),
                    period: self.period,
                    time_zone: self.time_zone.trim().to_owned(),
                    anchor_day: u16::try_from(whole("anchor_day", day.map(u64::from))).unwrap_or(1),
                }
            }
        }
    }
}
