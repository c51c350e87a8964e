//! `/check`, `/check/batch`, `/record` and `/refund` in JSON.

mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use weir_domain::charged::Charged;
use weir_domain::request::{DEFAULT_NAMESPACE, Operation, Request, RequestDraft};

use crate::limits::AlgorithmName;
use crate::problem::FieldProblem;
use crate::words::Mode;

pub use self::text::BatchText;

/// The most checks in one batch.
pub const BATCH_MAX: usize = 100;

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckBody {
    /// The group of rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The properties of the request by which rules match and count: at most 32 names
    /// (`^[a-z][a-z0-9_.-]{0,63}$`) with values of at most 512 bytes without control characters.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The units to take, 1 … 1,000,000,000; default 1.
    #[serde(default = "one")]
    pub cost: u64,
    /// `consume` (default), or `peek`: returns the same answer and takes nothing.
    #[serde(default)]
    pub mode: CheckMode,
    /// An idempotency key of at most 128 bytes: a repeat within 60 s of an admitted check gets its answer and takes nothing; that of
    /// a denied one is decided anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Whether an allowed check takes units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckMode {
    /// Decide, and take the units of an allowed check.
    #[default]
    Consume,
    /// Decide, and take nothing.
    Peek,
}

/// Many checks, decided independently and in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchBody {
    /// 1 to 100 checks.
    pub checks: Vec<CheckBody>,
}

/// Units that were used already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordBody {
    /// The group of rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The attributes of the check.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The units that were used, 0 … 1,000,000,000; default 1. They are taken even if fewer are left.
    #[serde(default = "one")]
    pub cost: u64,
    /// An idempotency key of at most 128 bytes: a repeat within 60 s gets the first answer and takes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// A refund of units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RefundBody {
    /// The group of rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The attributes of the check.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The units to return, 1 … 1,000,000,000; default 1.
    #[serde(default = "one")]
    pub cost: u64,
    /// An idempotency key of at most 128 bytes: a repeat within 60 s gets the first answer and returns nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The `charge` of the answer to the check: units return only to the window, bucket or entry that was charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<String>,
}

/// The answer to a check: the same whether allowed (200) or denied (429).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckAnswer {
    /// Whether the request is allowed.
    pub allowed: bool,
    /// The rules that denied the check, in rule order.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub denied_by: Vec<Arc<str>>,
    /// 0 when allowed; on denial the time after which the same check could pass; null if it never can.
    pub retry_after_ms: Option<u64>,
    /// The time for which the caller can repeat this denial by itself for the same check; 0 if it must send the check.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cache_for_ms: u64,
    /// The time to wait before acting: the longest of the leaky buckets.
    pub delay_ms: u64,
    /// `limit` of the limit that decides; null when no enforced limit matched.
    pub limit: Option<u64>,
    /// `remaining` of the limit that decides.
    pub remaining: Option<u64>,
    /// `reset_after_ms` of the limit that decides.
    pub reset_after_ms: Option<u64>,
    /// One entry for each limit of each matching rule, enforced ones first, in rule order.
    pub limits: Vec<LimitAnswer>,
    /// The rules in the mode `report` of which a limit is exceeded; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub over: Vec<Arc<str>>,
    /// The leases of concurrency limits that the check took; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leases: Vec<LeaseAnswer>,
    /// Names what the check charged, for a refund; left out if it charged no enforced limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charge: Option<String>,
    /// The source of the answer while Redis could not be reached.
    pub degraded: Option<Degraded>,
    /// The version of the rulebook by which the check was decided.
    pub rulebook_version: u64,
    /// The reason why no rule decided; left out if rules decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<AnswerCode>,
}

/// The answer to a record: that of a peek of the same cost after it, and the units that were taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordAnswer {
    /// The limits after the record.
    #[serde(flatten)]
    pub answer: CheckAnswer,
    /// The units that each matching limit took; 0 if no limit matched or Redis could not be reached.
    pub charged: u64,
    /// Whether the gate holds the record in memory, because Redis could not be reached, and sends it when Redis returns. If
    /// it is false and `degraded` is set, the record is lost, or Redis possibly ran it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub buffered: bool,
}

/// The reason why no rule decided a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerCode {
    /// Denied: the tenant exceeds its ceiling of checks per second. `limit` is that ceiling.
    TenantRate,
    /// Allowed: limits are turned off for the tenant or for the installation.
    EnforcementOff,
    /// Denied: the queue of the tenant's deferred jobs is full. `limit` is the most jobs that can wait.
    QueueFull,
}

impl AnswerCode {
    /// The code in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TenantRate => "tenant_rate",
            Self::EnforcementOff => "enforcement_off",
            Self::QueueFull => "queue_full",
        }
    }
}

/// The decision of one limit of one matching rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LimitAnswer {
    /// Name of the rule.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub rule: Arc<str>,
    /// Id of the rule.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub rule_id: Arc<str>,
    /// The algorithm of the limit.
    pub algorithm: AlgorithmName,
    /// `enforce`; or `report` or `shadow`: the limit is listed and does not affect whether the check is allowed.
    pub mode: Mode,
    /// Whether this limit lets the check pass.
    pub allowed: bool,
    /// The limit, the capacity, or 1 for spacing.
    pub limit: u64,
    /// Whole units left after this decision; null when Redis could not be reached.
    pub remaining: Option<u64>,
    /// The length of the window, interval or present period, or the time to refill or drain completely; 0 of a quota that never
    /// renews.
    pub window_ms: u64,
    /// The time until the counter is unused again; null when Redis could not be reached, and if the counter never renews.
    pub reset_after_ms: Option<u64>,
    /// The time until this limit would allow the same check; null if it never would.
    pub retry_after_ms: Option<u64>,
    /// The time to wait before acting.
    pub delay_ms: u64,
    /// In the answer to a refund: whether this limit takes units back; if the refund names a charge, whether any were returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refunded: Option<bool>,
}

/// A lease of a concurrency limit, in the answer to a check that passed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseAnswer {
    /// The id, by which the lease is renewed and released.
    pub id: String,
    /// The rule of the limit.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub rule_id: Arc<str>,
    /// The time at which the lease ends by itself, in milliseconds since 1970, by the clock of Redis.
    pub expires_at_ms: u64,
}

/// The source of the answer while Redis could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Degraded {
    /// The rules allowed the check.
    Allow,
    /// A rule denied the check.
    Deny,
    /// The gate decided with its own counters.
    Local,
}

impl Degraded {
    /// The source in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Local => "local",
        }
    }
}

/// The answers of a batch, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BatchAnswer {
    /// One answer for each check.
    pub results: Vec<CheckAnswer>,
}

impl CheckBody {
    /// Returns the request, or all problems of its fields.
    pub fn parse(self) -> Result<Request, Vec<FieldProblem>> {
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: self.cost,
            operation: match self.mode {
                CheckMode::Consume => Operation::Consume,
                CheckMode::Peek => Operation::Peek,
            },
            idempotency_key: self.idempotency_key,
        };
        Request::parse(draft).map_err(FieldProblem::list)
    }

    /// The same request, as an inspection of its counters.
    pub fn parse_look(self) -> Result<Request, Vec<FieldProblem>> {
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: self.cost,
            operation: Operation::Inspect,
            idempotency_key: self.idempotency_key,
        };
        Request::parse(draft).map_err(FieldProblem::list)
    }
}

impl RecordBody {
    /// Returns the request, or all problems of its fields.
    pub fn parse(self) -> Result<Request, Vec<FieldProblem>> {
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: self.cost,
            operation: Operation::Record,
            idempotency_key: self.idempotency_key,
        };
        Request::parse(draft).map_err(FieldProblem::list)
    }
}

impl RecordAnswer {
    /// The answer to a record of this cost, which the gate holds in memory if it is `buffered`.
    pub fn new(cost: u64, answer: CheckAnswer, buffered: bool) -> Self {
        let was_charged =
            answer.degraded.is_none() && answer.code.is_none() && !answer.limits.is_empty();
        Self { answer, charged: if was_charged { cost } else { 0 }, buffered }
    }
}

impl RefundBody {
    /// Returns the request, or all problems of its fields.
    pub fn parse(self) -> Result<Request, Vec<FieldProblem>> {
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: self.cost,
            operation: Operation::Refund,
            idempotency_key: self.idempotency_key,
        };
        let cost = draft.cost;
        let charged = self.charge.as_deref().map(|text| charged(text, cost)).transpose();
        match (Request::parse(draft).map_err(FieldProblem::list), charged) {
            (Ok(request), Ok(None)) => Ok(request),
            (Ok(request), Ok(Some(charged))) => Ok(request.of_charge(charged)),
            (Ok(_), Err(field)) => Err(vec![field]),
            (Err(fields), charged) => Err(fields.into_iter().chain(charged.err()).collect()),
        }
    }
}

/// The charge that a refund of this cost names.
fn charged(text: &str, cost: u64) -> Result<Charged, FieldProblem> {
    match Charged::parse(text) {
        None => Err(FieldProblem::new("charge", "is not the `charge` of an answer")),
        Some(charged) if cost > charged.cost => {
            let reason = format!("must be at most {}, the units of the charge", charged.cost);
            Err(FieldProblem::new("cost", reason))
        }
        Some(charged) => Ok(charged),
    }
}

/// A map of strings. A repeated name is refused, because the second value would silently replace the first.
pub(crate) fn attributes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    struct Attributes;

    impl<'de> Visitor<'de> for Attributes {
        type Value = BTreeMap<String, String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of strings")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut attributes = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                let value = map.next_value()?;
                if attributes.contains_key(&name) {
                    return Err(M::Error::custom(format_args!("`{name}` is given twice")));
                }
                attributes.insert(name, value);
            }
            Ok(attributes)
        }
    }

    deserializer.deserialize_map(Attributes)
}

pub(crate) fn default_namespace() -> String {
    DEFAULT_NAMESPACE.to_owned()
}

pub(crate) const fn one() -> u64 {
    1
}
