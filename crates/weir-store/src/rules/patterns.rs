//! The cost of rules' regular expressions.

use weir_domain::id::{RuleId, TenantId};
use weir_domain::pattern_budget::PatternCost;

use super::Rules;
use crate::convert::{unsigned, uuid};
use crate::error::StoreError;

impl Rules<'_> {
    /// Returns the cost of the regular expressions of a tenant's other rules, in total and in one namespace.
    pub async fn pattern_costs(
        self,
        tenant_id: TenantId,
        namespace: &str,
        except: RuleId,
    ) -> Result<(PatternCost, PatternCost), StoreError> {
        let row = sqlx::query!(
            r#"-- rules.pattern_costs
            SELECT
                coalesce(sum(patterns), 0)::bigint AS "patterns!",
                coalesce(sum(pattern_bytes), 0)::bigint AS "bytes!",
                coalesce(sum(patterns) FILTER (WHERE namespace = $2), 0)::bigint AS "near_patterns!",
                coalesce(sum(pattern_bytes) FILTER (WHERE namespace = $2), 0)::bigint AS "near_bytes!"
            FROM rules
            WHERE tenant_id = $1 AND id <> $3 AND patterns > 0"#,
            uuid(tenant_id.to_u128()),
            namespace,
            uuid(except.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        let cost =
            |patterns, bytes| PatternCost { patterns: unsigned(patterns), bytes: unsigned(bytes) };
        Ok((cost(row.patterns, row.bytes), cost(row.near_patterns, row.near_bytes)))
    }
}
