//! The facts that lists of rules show besides the rules.

use std::collections::HashMap;

use weir_domain::id::{RuleId, TenantId};

use super::Rules;
use crate::convert::{unsigned, uuid};
use crate::error::StoreError;

/// The most overrides of a rule that are counted.
pub const COUNTED_OVERRIDES_MAX: u64 = 1_000;

/// The overrides of a rule, and its last change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleActivity {
    /// The number of overrides; more than [`COUNTED_OVERRIDES_MAX`] are not counted.
    pub overrides: u64,
    /// The label of the person or key that made the last change. `None` if Weir made it, or the revision is no longer
    /// retained.
    pub changed_by: Option<String>,
}

impl Rules<'_> {
    /// Returns the activity of these rules; missing rules are left out.
    pub async fn activity(
        self,
        tenant_id: TenantId,
        ids: &[RuleId],
    ) -> Result<HashMap<RuleId, RuleActivity>, StoreError> {
        let ids: Vec<_> = ids.iter().map(|id| uuid(id.to_u128())).collect();
        let rows = sqlx::query!(
            r#"-- rules.activity
            SELECT
                r.id,
                (
                    SELECT count(*) FROM (
                        SELECT FROM overrides o
                        WHERE o.tenant_id = r.tenant_id AND o.rule_id = r.id
                        LIMIT $3
                    ) counted
                ) AS "overrides!",
                v.actor_label AS "changed_by?"
            FROM rules r
            LEFT JOIN rule_revisions v
                ON v.tenant_id = r.tenant_id AND v.rule_id = r.id AND v.revision = r.revision
            WHERE r.tenant_id = $1 AND r.id = ANY($2)"#,
            uuid(tenant_id.to_u128()),
            &ids,
            i64::try_from(COUNTED_OVERRIDES_MAX).unwrap_or(i64::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        let activity = rows.into_iter().map(|row| {
            let changed_by = row.changed_by.filter(|label| !label.is_empty());
            let activity = RuleActivity { overrides: unsigned(row.overrides), changed_by };
            (RuleId::from_u128(row.id.as_u128()), activity)
        });
        Ok(activity.collect())
    }
}
