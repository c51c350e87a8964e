//! `/reserve`, `/commit` and `/cancel` in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::reservation::{Exhaust, RESERVED_MAX_MS, RESERVED_MIN_MS, ReservationId, Reserve};

use crate::check::{CheckAnswer, Degraded, attributes, default_namespace, one};
use crate::problem::FieldProblem;

/// The time to live of a reservation that names none, in milliseconds.
pub const RESERVED_MS: u64 = 60_000;
/// The most characters of the text of a reservation.
pub const RESERVATION_CHARS_MAX: usize = 4_500;

/// Units to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReserveBody {
    /// The group of rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The attributes of the check.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The estimated units, 1 … 1,000,000,000; default 1.
    #[serde(default = "one")]
    pub cost: u64,
    /// The time after which the units are released if no commit arrives, 1,000 … 600,000; default 60,000.
    #[serde(default = "reserved_ms")]
    pub ttl_ms: u64,
    /// Accept fewer units than `cost`, at least one, if no more are left.
    #[serde(default)]
    pub at_most: bool,
    /// An idempotency key of at most 128 bytes: a repeat within 60 s of an admitted reserve gets its answer and holds nothing more; that
    /// of a denied one is decided anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// The units that were used of a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CommitBody {
    /// The `reservation` of the answer to the reserve.
    pub reservation: String,
    /// The units that were used, 0 … 1,000,000,000. They are taken even if fewer were reserved or are left.
    pub cost: u64,
    /// The namespace of `attributes`; default: that of the reservation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The attributes by which the cost is recorded if the reservation is no longer open.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_attributes"
    )]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub attributes: Option<BTreeMap<String, String>>,
}

/// A reservation of which nothing was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CancelBody {
    /// The `reservation` of the answer to the reserve.
    pub reservation: String,
}

/// Limits to mark as exhausted, because the service behind them requested it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExhaustBody {
    /// The group of rules; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The attributes of the check.
    #[serde(default, deserialize_with = "attributes")]
    pub attributes: BTreeMap<String, String>,
    /// The time for which the limits count as exhausted, 1 … 600,000.
    pub for_ms: u64,
}

/// The answer to a reserve: that of a check, and the reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReserveAnswer {
    /// The limits with the reserved units.
    #[serde(flatten)]
    pub answer: CheckAnswer,
    /// The reservation, for its commit or cancel; null if the reserve was denied.
    pub reservation: Option<String>,
    /// The units that are held at each matching limit: `cost`, fewer with `at_most`, 0 if the reserve was denied.
    pub reserved: u64,
    /// The time at which the units are released if no commit arrives, in milliseconds since 1970; null if the reserve was
    /// denied.
    pub expires_at_ms: Option<u64>,
}

/// The answer to a commit or cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommitAnswer {
    /// The units that each limit took; 0 if no limit matched or Redis could not be reached.
    pub charged: u64,
    /// The reserved units that were not used.
    pub released: u64,
    /// Whether the reservation was no longer open, so that the cost was recorded by `attributes`.
    pub late: bool,
    /// `on_store_failure` answered while Redis could not be reached: this commit (`charged` is 0), or the reserve, which held
    /// nothing.
    pub degraded: Option<Degraded>,
    /// Whether the gate holds the commit in memory, because Redis could not be reached, and sends it when Redis returns.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub buffered: bool,
}

impl ReserveBody {
    /// Returns the request for a reservation with this id, or all problems of its fields.
    pub fn parse(self, id: ReservationId) -> Result<Request, Vec<FieldProblem>> {
        let ttl_ms = self.ttl_ms;
        let at_most = self.at_most;
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: self.cost,
            operation: Operation::Reserve(Reserve { id, ttl_ms, at_most }),
            idempotency_key: self.idempotency_key,
        };
        let parsed = Request::parse(draft).map_err(FieldProblem::list);
        if (RESERVED_MIN_MS..=RESERVED_MAX_MS).contains(&ttl_ms) {
            return parsed;
        }
        let reason = format!("must be from {RESERVED_MIN_MS} to {RESERVED_MAX_MS}");
        let mut wrong = parsed.err().unwrap_or_default();
        wrong.push(FieldProblem::new("ttl_ms", reason));
        Err(wrong)
    }
}

impl ExhaustBody {
    /// Returns the request, or all problems of its fields.
    pub fn parse(self, id: ReservationId) -> Result<Request, Vec<FieldProblem>> {
        let for_ms = self.for_ms;
        let draft = RequestDraft {
            namespace: self.namespace,
            attributes: self.attributes,
            cost: 1,
            operation: Operation::Exhaust(Exhaust { id, for_ms }),
            idempotency_key: None,
        };
        let parsed = Request::parse(draft).map_err(FieldProblem::list);
        if (1..=RESERVED_MAX_MS).contains(&for_ms) {
            return parsed;
        }
        let mut wrong = parsed.err().unwrap_or_default();
        let reason = format!("must be from 1 to {RESERVED_MAX_MS}");
        wrong.push(FieldProblem::new("for_ms", reason));
        Err(wrong)
    }
}

impl CommitBody {
    /// Returns the request that records the cost if the reservation is no longer open, or all problems of its fields.
    /// `namespace` is that of the reservation. `None` if the body has no attributes.
    pub fn record(
        &self,
        namespace: &str,
        key: String,
    ) -> Result<Option<Request>, Vec<FieldProblem>> {
        let Some(attributes) = &self.attributes else {
            let needs = "needs `attributes`, which it belongs to";
            return match self.namespace {
                Some(_) => Err(vec![FieldProblem::new("namespace", needs)]),
                None => Ok(None),
            };
        };
        let draft = RequestDraft {
            namespace: self.namespace.clone().unwrap_or_else(|| namespace.to_owned()),
            attributes: attributes.clone(),
            cost: self.cost,
            operation: Operation::Record,
            idempotency_key: Some(key),
        };
        Request::parse(draft).map(Some).map_err(FieldProblem::list)
    }
}

impl From<CancelBody> for CommitBody {
    fn from(body: CancelBody) -> Self {
        Self { reservation: body.reservation, cost: 0, namespace: None, attributes: None }
    }
}

fn some_attributes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    attributes(deserializer).map(Some)
}

const fn reserved_ms() -> u64 {
    RESERVED_MS
}
