//! Limits in JSON: one object for each algorithm, distinguished by `algorithm`.

use serde::{Deserialize, Serialize};
use weir_domain::algorithm::{Algorithm, Kind};
use weir_domain::draft::LimitDraft;

use crate::time::DateTime;
use crate::words::Period;

mod times;

/// One limit: an algorithm and its parameters. Units are 1 … 1,000,000,000,000; times are whole
/// milliseconds from 1 to 366 days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "algorithm", rename_all = "snake_case", try_from = "LimitFields")]
pub enum LimitBody {
    /// A number of units in each window aligned to the epoch.
    FixedWindow {
        /// The units that a window admits.
        limit: u64,
        /// The length of the window.
        window_ms: u64,
    },
    /// A number of units in any window, exactly.
    SlidingWindowLog {
        /// The units that any window admits.
        limit: u64,
        /// The length of the window.
        window_ms: u64,
        /// Whether denied checks are counted too, so that repeated attempts extend the denial.
        #[serde(default)]
        count_denied: bool,
    },
    /// A number of units in any window, estimated from two aligned windows.
    SlidingWindowCounter {
        /// The units that any window admits.
        limit: u64,
        /// The length of the window.
        window_ms: u64,
    },
    /// A bucket of tokens that starts full and refills continuously.
    TokenBucket {
        /// The most tokens in the bucket.
        capacity: u64,
        /// The tokens that are added in each interval.
        refill_tokens: u64,
        /// The interval.
        refill_interval_ms: u64,
    },
    /// A queue with a constant outflow. The answer to an admitted request states its `delay_ms`.
    LeakyBucket {
        /// The most units in the queue.
        capacity: u64,
        /// The units that leave in each interval.
        drain_units: u64,
        /// The interval.
        drain_interval_ms: u64,
    },
    /// A minimum time between admitted requests.
    Spacing {
        /// The minimum time.
        interval_ms: u64,
    },
    /// A number of units in each calendar period of a time zone, or, with the period `none`, until the counter is reset.
    Quota {
        /// The units that a period admits.
        limit: u64,
        /// The length of the period.
        period: Period,
        /// The IANA name of the time zone; default `UTC`.
        #[serde(default = "utc")]
        time_zone: String,
        /// The first day of the period; default 1.
        #[serde(default = "first_day")]
        anchor_day: u16,
        /// The end of a quota with the period `none`: from then on it denies all checks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ends_at: Option<DateTime>,
    },
    /// A number of leases that are held at the same time.
    Concurrency {
        /// The most leases at the same time, 1 … 1,000. A check takes one, whatever its cost.
        capacity: u64,
        /// The time after which a lease ends by itself unless it is renewed, 1 … 86,400,000.
        lease_ms: u64,
    },
}

/// Names of the algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "explained at `LimitBody`")]
pub enum AlgorithmName {
    FixedWindow,
    SlidingWindowLog,
    SlidingWindowCounter,
    TokenBucket,
    LeakyBucket,
    Spacing,
    Quota,
    Concurrency,
}

/// All parameters of all algorithms. They are read first, so that each error names the path of its field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitFields {
    algorithm: AlgorithmName,
    limit: Option<u64>,
    window_ms: Option<u64>,
    count_denied: Option<bool>,
    capacity: Option<u64>,
    refill_tokens: Option<u64>,
    refill_interval_ms: Option<u64>,
    drain_units: Option<u64>,
    drain_interval_ms: Option<u64>,
    interval_ms: Option<u64>,
    period: Option<Period>,
    time_zone: Option<String>,
    anchor_day: Option<u16>,
    ends_at: Option<DateTime>,
    lease_ms: Option<u64>,
}

impl TryFrom<LimitFields> for LimitBody {
    type Error = String;

    fn try_from(mut fields: LimitFields) -> Result<Self, String> {
        let algorithm = fields.algorithm;
        let missing = |name: &str| format!("`{name}` is missing for `{}`", algorithm.as_str());
        let need = |value: &mut Option<u64>, name: &str| value.take().ok_or_else(|| missing(name));
        let limit = match algorithm {
            AlgorithmName::FixedWindow => Self::FixedWindow {
                limit: need(&mut fields.limit, "limit")?,
                window_ms: need(&mut fields.window_ms, "window_ms")?,
            },
            AlgorithmName::SlidingWindowLog => Self::SlidingWindowLog {
                limit: need(&mut fields.limit, "limit")?,
                window_ms: need(&mut fields.window_ms, "window_ms")?,
                count_denied: fields.count_denied.take().unwrap_or(false),
            },
            AlgorithmName::SlidingWindowCounter => Self::SlidingWindowCounter {
                limit: need(&mut fields.limit, "limit")?,
                window_ms: need(&mut fields.window_ms, "window_ms")?,
            },
            AlgorithmName::TokenBucket => Self::TokenBucket {
                capacity: need(&mut fields.capacity, "capacity")?,
                refill_tokens: need(&mut fields.refill_tokens, "refill_tokens")?,
                refill_interval_ms: need(&mut fields.refill_interval_ms, "refill_interval_ms")?,
            },
            AlgorithmName::LeakyBucket => Self::LeakyBucket {
                capacity: need(&mut fields.capacity, "capacity")?,
                drain_units: need(&mut fields.drain_units, "drain_units")?,
                drain_interval_ms: need(&mut fields.drain_interval_ms, "drain_interval_ms")?,
            },
            AlgorithmName::Spacing => {
                Self::Spacing { interval_ms: need(&mut fields.interval_ms, "interval_ms")? }
            }
            AlgorithmName::Quota => Self::Quota {
                limit: need(&mut fields.limit, "limit")?,
                period: fields.period.take().ok_or_else(|| missing("period"))?,
                time_zone: fields.time_zone.take().unwrap_or_else(utc),
                anchor_day: fields.anchor_day.take().unwrap_or_else(first_day),
                ends_at: fields.ends_at.take(),
            },
            AlgorithmName::Concurrency => Self::Concurrency {
                capacity: need(&mut fields.capacity, "capacity")?,
                lease_ms: need(&mut fields.lease_ms, "lease_ms")?,
            },
        };
        match fields.left_over() {
            Some(name) => Err(format!("`{name}` is not a parameter of `{}`", algorithm.as_str())),
            None => Ok(limit),
        }
    }
}

impl LimitFields {
    /// A parameter that was given and not used.
    fn left_over(&self) -> Option<&'static str> {
        let given = [
            ("limit", self.limit.is_some()),
            ("window_ms", self.window_ms.is_some()),
            ("count_denied", self.count_denied.is_some()),
            ("capacity", self.capacity.is_some()),
            ("refill_tokens", self.refill_tokens.is_some()),
            ("refill_interval_ms", self.refill_interval_ms.is_some()),
            ("drain_units", self.drain_units.is_some()),
            ("drain_interval_ms", self.drain_interval_ms.is_some()),
            ("interval_ms", self.interval_ms.is_some()),
            ("period", self.period.is_some()),
            ("time_zone", self.time_zone.is_some()),
            ("anchor_day", self.anchor_day.is_some()),
            ("ends_at", self.ends_at.is_some()),
            ("lease_ms", self.lease_ms.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

impl AlgorithmName {
    /// All algorithms, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::FixedWindow,
        Self::SlidingWindowLog,
        Self::SlidingWindowCounter,
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::Spacing,
        Self::Quota,
        Self::Concurrency,
    ];

    /// The name in JSON.
    pub const fn as_str(self) -> &'static str {
        self.kind().name()
    }

    /// The algorithm.
    pub const fn kind(self) -> Kind {
        match self {
            Self::FixedWindow => Kind::FixedWindow,
            Self::SlidingWindowLog => Kind::SlidingWindowLog,
            Self::SlidingWindowCounter => Kind::SlidingWindowCounter,
            Self::TokenBucket => Kind::TokenBucket,
            Self::LeakyBucket => Kind::LeakyBucket,
            Self::Spacing => Kind::Spacing,
            Self::Quota => Kind::Quota,
            Self::Concurrency => Kind::Concurrency,
        }
    }
}

impl From<&Algorithm> for AlgorithmName {
    fn from(algorithm: &Algorithm) -> Self {
        match algorithm.kind() {
            Kind::FixedWindow => Self::FixedWindow,
            Kind::SlidingWindowLog => Self::SlidingWindowLog,
            Kind::SlidingWindowCounter => Self::SlidingWindowCounter,
            Kind::TokenBucket => Self::TokenBucket,
            Kind::LeakyBucket => Self::LeakyBucket,
            Kind::Spacing => Self::Spacing,
            Kind::Quota => Self::Quota,
            Kind::Concurrency => Self::Concurrency,
        }
    }
}

impl LimitBody {
    /// Its algorithm.
    pub const fn algorithm(&self) -> AlgorithmName {
        match self {
            Self::FixedWindow { .. } => AlgorithmName::FixedWindow,
            Self::SlidingWindowLog { .. } => AlgorithmName::SlidingWindowLog,
            Self::SlidingWindowCounter { .. } => AlgorithmName::SlidingWindowCounter,
            Self::TokenBucket { .. } => AlgorithmName::TokenBucket,
            Self::LeakyBucket { .. } => AlgorithmName::LeakyBucket,
            Self::Spacing { .. } => AlgorithmName::Spacing,
            Self::Quota { .. } => AlgorithmName::Quota,
            Self::Concurrency { .. } => AlgorithmName::Concurrency,
        }
    }
}

impl From<LimitBody> for LimitDraft {
    fn from(body: LimitBody) -> Self {
        match body {
            LimitBody::FixedWindow { limit, window_ms } => Self::FixedWindow { limit, window_ms },
            LimitBody::SlidingWindowLog { limit, window_ms, count_denied } => {
                Self::SlidingWindowLog { limit, window_ms, count_denied }
            }
            LimitBody::SlidingWindowCounter { limit, window_ms } => {
                Self::SlidingWindowCounter { limit, window_ms }
            }
            LimitBody::TokenBucket { capacity, refill_tokens, refill_interval_ms } => {
                Self::TokenBucket { capacity, refill_tokens, refill_interval_ms }
            }
            LimitBody::LeakyBucket { capacity, drain_units, drain_interval_ms } => {
                Self::LeakyBucket { capacity, drain_units, drain_interval_ms }
            }
            LimitBody::Spacing { interval_ms } => Self::Spacing { interval_ms },
            LimitBody::Quota { limit, period, time_zone, anchor_day, ends_at } => Self::Quota {
                limit,
                period: period.into(),
                time_zone,
                anchor_day,
                ends_at: ends_at.map(|at| at.0),
            },
            LimitBody::Concurrency { capacity, lease_ms } => {
                Self::Concurrency { capacity, lease_ms }
            }
        }
    }
}

impl From<LimitDraft> for LimitBody {
    fn from(draft: LimitDraft) -> Self {
        match draft {
            LimitDraft::FixedWindow { limit, window_ms } => Self::FixedWindow { limit, window_ms },
            LimitDraft::SlidingWindowLog { limit, window_ms, count_denied } => {
                Self::SlidingWindowLog { limit, window_ms, count_denied }
            }
            LimitDraft::SlidingWindowCounter { limit, window_ms } => {
                Self::SlidingWindowCounter { limit, window_ms }
            }
            LimitDraft::TokenBucket { capacity, refill_tokens, refill_interval_ms } => {
                Self::TokenBucket { capacity, refill_tokens, refill_interval_ms }
            }
            LimitDraft::LeakyBucket { capacity, drain_units, drain_interval_ms } => {
                Self::LeakyBucket { capacity, drain_units, drain_interval_ms }
            }
            LimitDraft::Spacing { interval_ms } => Self::Spacing { interval_ms },
            LimitDraft::Quota { limit, period, time_zone, anchor_day, ends_at } => Self::Quota {
                limit,
                period: period.into(),
                time_zone,
                anchor_day,
                ends_at: ends_at.map(DateTime),
            },
            LimitDraft::Concurrency { capacity, lease_ms } => {
                Self::Concurrency { capacity, lease_ms }
            }
        }
    }
}

fn utc() -> String {
    "UTC".to_owned()
}

const fn first_day() -> u16 {
    1
}

#[cfg(test)]
mod tests {
    use weir_domain::algorithm::Input;

    use super::*;

    #[test]
    fn every_algorithm_has_its_name_and_its_parameters_in_json() {
        assert!(AlgorithmName::ALL.iter().map(|name| name.kind()).eq(Kind::ALL.iter().copied()));
        for name in AlgorithmName::ALL {
            let mut limit = serde_json::json!({ "algorithm": name.as_str() });
            for parameter in name.kind().parameters() {
                limit[parameter.name] = match parameter.input {
                    Input::CountDenied => true.into(),
                    Input::Period => "none".into(),
                    Input::EndsAt => "2026-12-31T00:00:00Z".into(),
                    Input::TimeZone => "UTC".into(),
                    _ => 1.into(),
                };
            }
            let body: LimitBody = serde_json::from_value(limit.clone()).expect("all are there");
            assert_eq!(body.algorithm(), name);
            assert_eq!(serde_json::to_value(&body).expect("it has a form"), limit);
            assert_eq!(LimitBody::from(LimitDraft::from(body.clone())), body);
            let algorithm = Algorithm::parse(body.into()).expect("ones are valid");
            assert_eq!(AlgorithmName::from(&algorithm), name);
        }
    }
}
