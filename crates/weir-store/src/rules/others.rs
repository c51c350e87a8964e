//! The rules beside one rule of a tenant, as far as they bound it.

use weir_domain::id::{RuleId, TenantId};
use weir_domain::pattern_budget::PatternCost;

use super::Rules;
use crate::convert::{unsigned, uuid};
use crate::error::StoreError;

/// The other rules of a tenant, and the namespace of the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRules {
    /// The number of rules in all namespaces.
    pub in_tenant: u64,
    /// The number of rules in the namespace.
    pub in_namespace: u64,
    /// The number of limits of the namespace's rules that have no condition and are not switched off.
    pub unconditional_limits: u64,
    /// The cost of the regular expressions of all namespaces.
    pub patterns_in_tenant: PatternCost,
    /// The cost of the regular expressions of the namespace.
    pub patterns_in_namespace: PatternCost,
    /// The attributes by which the namespace spreads its counters.
    pub spread_by: Vec<String>,
}

impl Rules<'_> {
    /// Returns the rules beside `except`, which is or will be in this namespace.
    pub async fn others(
        self,
        tenant_id: TenantId,
        namespace: &str,
        except: RuleId,
    ) -> Result<OtherRules, StoreError> {
        let row = sqlx::query!(
            r#"-- rules.others
            SELECT
                count(*) AS "in_tenant!",
                count(*) FILTER (WHERE namespace = $2) AS "in_namespace!",
                coalesce(sum(jsonb_array_length(spec -> 'limits')) FILTER (
                    WHERE namespace = $2 AND spec -> 'match' = '[]'::jsonb AND spec ->> 'mode' <> 'off'
                ), 0)::bigint AS "limits!",
                coalesce(sum(patterns), 0)::bigint AS "patterns!",
                coalesce(sum(pattern_bytes), 0)::bigint AS "bytes!",
                coalesce(sum(patterns) FILTER (WHERE namespace = $2), 0)::bigint AS "near_patterns!",
                coalesce(sum(pattern_bytes) FILTER (WHERE namespace = $2), 0)::bigint AS "near_bytes!",
                (SELECT spread_by FROM namespaces WHERE tenant_id = $1 AND name = $2) AS spread_by
            FROM rules
            WHERE tenant_id = $1 AND id <> $3"#,
            uuid(tenant_id.to_u128()),
            namespace,
            uuid(except.to_u128()),
        )
        .fetch_one(self.conn)
        .await?;
        let cost =
            |patterns, bytes| PatternCost { patterns: unsigned(patterns), bytes: unsigned(bytes) };
        Ok(OtherRules {
            in_tenant: unsigned(row.in_tenant),
            in_namespace: unsigned(row.in_namespace),
            unconditional_limits: unsigned(row.limits),
            patterns_in_tenant: cost(row.patterns, row.bytes),
            patterns_in_namespace: cost(row.near_patterns, row.near_bytes),
            spread_by: row.spread_by.unwrap_or_default(),
        })
    }
}
