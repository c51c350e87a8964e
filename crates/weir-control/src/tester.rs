//! Trying a request against the rules, and letting a subject start again.

use std::collections::BTreeMap;
use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_domain::charge::RuleCharge;
use weir_domain::matching::subject_key;
use weir_domain::overrides::{Active, Effect, Overrides};
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_http::problem::Problem;
use weir_redis::error::RedisError;
use weir_store::{OverrideRow, RuleRow};
use weir_wire::overrides::OverrideBody;

use crate::rules::{Checked, slots};
use crate::state::ControlState;

pub(crate) mod inspect;
pub(crate) mod matched_rule;
pub(crate) mod reset;
pub(crate) mod test;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(test::test))
        .routes(routes!(inspect::inspect))
        .routes(routes!(reset::reset))
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
    Ok(Arc::new(ActiveRule::new(row.id, rule, overrides)))
}

/// The rule met by the subject with these values, whatever its conditions say; `exception` is the override that holds.
pub(crate) fn charge_of(
    active: &Arc<ActiveRule>,
    values: &[&str],
    exception: Option<&Active>,
) -> RuleCharge {
    let override_limits = match exception.map(|it| &it.effect) {
        Some(Effect::Limits(limits)) => Some(limits.clone()),
        _ => None,
    };
    let subject = subject_key(active.rule.count_by(), values);
    RuleCharge { active: active.clone(), subject, override_limits }
}

/// The subject's values in the order of `count_by`.
pub(crate) fn values<'a>(
    rule: &Rule,
    subject: &'a BTreeMap<String, String>,
) -> Result<Vec<&'a str>, Problem> {
    if let Some(name) = subject.keys().find(|name| !rule.count_by().contains(name)) {
        let reason =
            format!("is not counted by; the rule counts by [{}]", rule.count_by().join(", "));
        return Err(Problem::invalid_field(format!("subject.{name}"), reason));
    }
    let value = |name: &String| {
        let missing = || {
            Problem::invalid_field(
                format!("subject.{name}"),
                "must be given: the rule counts by it",
            )
        };
        subject.get(name).map(String::as_str).ok_or_else(missing)
    };
    rule.count_by().iter().map(value).collect()
}

/// The counters cannot be asked.
pub(crate) fn redis_away(error: RedisError) -> Problem {
    Problem::unavailable("the counters cannot be asked at the moment").caused_by(error)
}
