//! The running gates, each with the version of the rulebook that it serves.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// `GET /tenants/{tenant}/replicas`, `GET /operator/replicas`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replicas {
    /// The version of the rulebook in the database: a gate at or above it is up to date.
    pub rulebook_version: u64,
    /// The version at which this tenant last changed: a gate at or above it serves the tenant's present rules. For operators, who
    /// ask about all tenants, it is the version in the database.
    pub tenant_version: u64,
    /// The gates seen in the last 15 seconds.
    pub data: Vec<Replica>,
    /// The names of all regions of the installation; empty without regions.
    #[serde(default)]
    pub regions: Vec<String>,
    /// The answers of this tenant's rules while gates do not reach Redis; null while all gates do, and for operators.
    #[serde(default)]
    pub without_redis: Option<WithoutRedis>,
}

/// Gates that do not reach Redis, and the rules that they apply without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WithoutRedis {
    /// The number of these gates.
    pub gates: u64,
    /// The time since when the first of them has reported it; null if none states it.
    pub since: Option<DateTime>,
    /// The checks of the tenant that were answered without Redis since the minute of `since`.
    pub checks: u64,
    /// The enforced rules that allow every check now.
    pub allow: RulesWithoutRedis,
    /// The enforced rules that divide their limits among the gates now.
    pub local: RulesWithoutRedis,
    /// The enforced rules that deny every check now.
    pub deny: RulesWithoutRedis,
}

/// The enforced rules with the same answer while Redis cannot be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RulesWithoutRedis {
    /// The number of rules.
    pub count: u64,
    /// The first three, in the order of namespace and name.
    pub first: Vec<NamedRule>,
}

/// A rule and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamedRule {
    /// `rule_…`
    pub id: String,
    /// The name.
    pub name: String,
}

/// One running gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Replica {
    /// `gate_…`
    pub id: String,
    /// The address at which clients reach it; null for callers below the role `editor`.
    pub address: Option<String>,
    /// The version of the rulebook it serves.
    pub rulebook_version: u64,
    /// The time since its last report, in milliseconds.
    pub age_ms: u64,
    /// The time from which it serves this version.
    pub applied_at: DateTime,
    /// The time from the storage of the change until then, in milliseconds.
    pub applied_after_ms: u64,
    /// The time of its start.
    pub started_at: DateTime,
    /// The release of Weir that it runs; null for releases that do not report it.
    #[serde(default)]
    pub weir_version: Option<String>,
    /// Its region; null in an installation without regions.
    #[serde(default)]
    pub region: Option<String>,
    /// The number of versions of the rulebook, of all tenants, that it does not serve yet.
    #[serde(default)]
    pub versions_behind: u64,
    /// Whether it reaches Redis; null for releases that do not report it.
    #[serde(default)]
    pub redis_up: Option<bool>,
    /// The smoothed duration of its calls of Redis in microseconds, with the wait for their turn; null before the first call.
    #[serde(default)]
    pub redis_round_trip_us: Option<u64>,
    /// Its checks before its last report; null for callers who are not operators of the installation, because it concerns all
    /// tenants, and for releases that do not report it.
    #[serde(default)]
    pub load: Option<GateLoad>,
}

/// The checks of a gate in the interval before its report, and the units and memory that it holds. It concerns all tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GateLoad {
    /// The length of the interval, in milliseconds: about two seconds.
    pub interval_ms: u64,
    /// The number of checks in the interval.
    pub checks: u64,
    /// The number of those that were denied.
    pub denied: u64,
    /// The number of those that were decided without Redis: by leased units or cached denials.
    pub from_memory: u64,
    /// The duration that half of the checks did not exceed, in microseconds; null without checks.
    pub latency_p50_us: Option<u64>,
    /// The duration that 99 % of the checks did not exceed, in microseconds; null without checks.
    pub latency_p99_us: Option<u64>,
    /// The number of counters of which it holds leased units.
    pub leases: u64,
    /// The number of these units.
    pub leased_units: u64,
    /// The resident memory of its process in bytes; null where the operating system does not report it.
    pub memory_bytes: Option<u64>,
}

/// `GET /tenants/{tenant}/replicas/rollouts`, `GET /operator/replicas/rollouts`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rollouts {
    /// The newest changes of this tenant, or of all tenants, that gates serve; the newest first.
    pub data: Vec<Rollout>,
}

/// A change of a tenant, and the gates that serve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Rollout {
    /// The version of the rulebook that published the change.
    pub rulebook_version: u64,
    /// The time of the change; null for changes of earlier releases.
    pub published_at: Option<DateTime>,
    /// The running gates that had started before the change.
    pub gates: Vec<GateRollout>,
}

/// The report of a version by one gate. All times are by the clock of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GateRollout {
    /// `gate_…`
    pub gate_id: String,
    /// The time at which the gate reported this version or a later one; null until then.
    pub reported_at: Option<DateTime>,
    /// The time from the change to the report, in milliseconds. The gate served the change at most this long after it.
    pub after_ms: Option<u64>,
}
