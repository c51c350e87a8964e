//! Refuses rules that would make every request of a namespace match too many limits.

use weir_domain::ceilings::Ceiling;
use weir_domain::id::RuleId;
use weir_domain::matching::LIMITS_PER_CHECK_MAX;
use weir_domain::rule::Rule;
use weir_http::problem::Problem;

use crate::change::Change;
use crate::error::ControlError;

/// Checks that the rules without conditions of a namespace have at most as many limits as the tenant's ceiling of limits for
/// each check; enforced and shadow rules count together. The ceiling is [`LIMITS_PER_CHECK_MAX`] or less. `before` is the
/// rule before the edit; an edit that does not add limits is admitted.
pub(crate) async fn fit(
    change: &mut Change,
    before: Option<(RuleId, &Rule)>,
    after: &Rule,
) -> Result<(), ControlError> {
    let own = after.unconditional_limits();
    let same_namespace = |before: &&(RuleId, &Rule)| before.1.namespace() == after.namespace();
    let had =
        before.as_ref().filter(same_namespace).map_or(0, |before| before.1.unconditional_limits());
    if own <= had {
        return Ok(());
    }
    let (tenant, except) = (change.caller.tenant_id, before.map(|(id, _)| id));
    let rules = change.tx.rules();
    let others = rules.unconditional_limits(tenant, after.namespace(), except).await?;
    let ceiling = change.tx.ceilings().of_tenant(tenant).await?.get(Ceiling::LimitsPerCheck);
    let most = ceiling.min(LIMITS_PER_CHECK_MAX as u64);
    if others + own as u64 <= most {
        return Ok(());
    }
    let reason = format!(
        "brings the rules without conditions of this namespace to {} limits, which every request would meet together; the most is {most}",
        others + own as u64
    );
    Err(Problem::invalid_field("limits", reason).into())
}
