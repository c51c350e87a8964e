//! Trying a request against the rules, and letting a subject start again.

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_domain::overrides::Overrides;
use weir_domain::rulebook::ActiveRule;
use weir_http::problem::Problem;
use weir_redis::error::RedisError;
use weir_store::{OverrideRow, RuleRow};
use weir_wire::overrides::OverrideBody;

use crate::rules::{Checked, slots};
use crate::state::ControlState;

pub(crate) mod meeting;
pub(crate) mod reset;
pub(crate) mod test;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new().routes(routes!(test::test)).routes(routes!(reset::reset))
}

/// A stored rule as a gate holds it, with those of the overrides that are its own.
pub(crate) fn active(row: &RuleRow, overrides: &[OverrideRow]) -> Result<Arc<ActiveRule>, Problem> {
    let rule = Checked::stored(row)?.rule.with_slots(&slots(row).taken);
    let mut parsed = Vec::new();
    for it in overrides.iter().filter(|it| it.rule_id == row.id) {
        let body: OverrideBody =
            serde_json::from_value(it.spec.clone()).map_err(Problem::internal)?;
        let invalid = |fields| Problem::internal(format!("stored override {}: {fields:?}", it.id));
        parsed.push((it.id, body.parse(&rule).map_err(invalid)?, it.expires_at));
    }
    let overrides = Overrides::build(&rule, parsed);
    Ok(Arc::new(ActiveRule { id: row.id, rule, overrides }))
}

/// The counters cannot be asked.
fn redis_away(error: RedisError) -> Problem {
    Problem::unavailable("the counters cannot be asked at the moment").caused_by(error)
}
