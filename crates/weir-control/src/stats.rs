//! Statistics of a tenant: allowed and denied checks over time, by rule and by subject.

use serde::Deserialize;
use utoipa::IntoParams;
use weir_domain::id::RuleId;
use weir_http::problem::Problem;
use weir_store::TallyCounts;
use weir_wire::stats::Counts;
use weir_wire::time::DateTime;

pub(crate) mod denials;
pub(crate) mod denied_request;
pub(crate) mod events;
pub(crate) mod live;
pub(crate) mod range;
pub(crate) mod rules;
pub(crate) mod series;
pub(crate) mod summary;
pub(crate) mod top;
pub(crate) mod usage;

/// The time of the statistics.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TimeQuery {
    /// The start, RFC 3339; default: an hour before the end.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(crate) from: Option<DateTime>,
    /// The end; default and latest: now.
    #[param(value_type = Option<String>, format = DateTime)]
    pub(crate) to: Option<DateTime>,
}

pub(crate) fn parse_rule(id: Option<String>) -> Result<Option<RuleId>, Problem> {
    let invalid = |_| Problem::invalid_field("rule_id", "must be the id of a rule");
    id.map(|id| id.parse().map_err(invalid)).transpose()
}

pub(crate) fn counts(counts: &TallyCounts) -> Counts {
    Counts {
        allowed: counts.allowed,
        denied: counts.denied,
        shadow_denied: counts.shadow_denied,
        degraded: counts.degraded,
        refunded: counts.refunded,
        recorded: counts.recorded,
    }
}
