//! Checks that the subject of an alert exists: a rule and, for an alert about quotas, a quota of it.

use weir_domain::alert::{Condition, Watched, counts_customers, watchable};
use weir_domain::id::TenantId;
use weir_http::problem::Problem;
use weir_store::Tx;

use crate::error::ControlError;
use crate::rule_service::CheckedRule;

/// Refuses an alert that could never be announced.
pub(super) async fn must_be_there(
    tx: &mut Tx,
    tenant_id: TenantId,
    condition: &Condition,
) -> Result<(), ControlError> {
    let (rule_id, of_quotas, customer) = match condition {
        Condition::Quota { rule_id, customer, .. } => (*rule_id, true, customer.as_ref()),
        Condition::DenialShare { of: Watched::Rule(rule_id), .. } => (*rule_id, false, None),
        Condition::DenialShare { .. } => return Ok(()),
    };
    let row = tx.rules().find(tenant_id, rule_id).await?;
    let row =
        row.ok_or_else(|| Problem::invalid_field("rule_id", "is not a rule of this tenant"))?;
    if of_quotas {
        let rule = CheckedRule::stored(&row)?.rule;
        watchable(&rule).map_err(|reason| Problem::invalid_field("rule_id", reason))?;
        if customer.is_some() {
            let tenant = tx.tenants().find(tenant_id).await?.ok_or_else(Problem::not_found)?;
            counts_customers(&rule, tenant.customer_attribute.as_deref())
                .map_err(|reason| Problem::invalid_field("customer", reason))?;
        }
    }
    Ok(())
}
