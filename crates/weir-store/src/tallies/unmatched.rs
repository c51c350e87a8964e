//! Counts of checks that no rule counted, by namespace and reason.

use std::collections::BTreeMap;

use uuid::Uuid;
use weir_domain::id::RuleId;
use weir_domain::unmatched::{UNKNOWN_NAMESPACE_RULE, UNMATCHED_RULE, missing_attribute_rule};

use super::{Tallies, TallyFilter, TallyRange, WHOLE_REQUESTS};
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;

/// The checks and records of a namespace that no rule counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnmatchedTally {
    /// All checks and records of the namespace.
    pub checks: u64,
    /// Those that no rule counted although the namespace had rules.
    pub unmatched: u64,
    /// Those that no rule counted because the namespace had none.
    pub unknown: u64,
    /// Of `unmatched`, those that lacked an attribute by which a rule counts, by its name.
    pub missing: BTreeMap<String, u64>,
}

impl Tallies<'_> {
    /// Returns the checks of each namespace that no rule counted. Only attributes by which rules count now have names, at most 1,000.
    pub async fn unmatched(
        self,
        filter: &TallyFilter,
        range: TallyRange,
    ) -> Result<BTreeMap<String, UnmatchedTally>, StoreError> {
        let attributes = sqlx::query_scalar!(
            r#"-- tallies.counted_attributes
            SELECT DISTINCT coalesce(counted ->> 'attribute', counted #>> '{}') AS "name!"
            FROM rules r CROSS JOIN LATERAL jsonb_array_elements(r.spec -> 'count_by') AS counted
            WHERE r.tenant_id = $1
            LIMIT 1000"#,
            uuid(filter.tenant_id.to_u128()),
        )
        .fetch_all(&mut *self.conn)
        .await?;
        let of_attributes = attributes.iter().map(|name| missing_attribute_rule(name).to_u128());
        let ids = [WHOLE_REQUESTS, UNMATCHED_RULE.to_u128(), UNKNOWN_NAMESPACE_RULE.to_u128()];
        let ids: Vec<Uuid> = ids.into_iter().chain(of_attributes).map(uuid).collect();
        let rows = sqlx::query!(
            r#"-- tallies.unmatched
            SELECT
                k.rule_id AS "rule_id!",
                t.namespace AS "namespace!",
                sum(t.allowed + t.denied + t.recorded)::bigint AS "checks!"
            FROM unnest($2::uuid[]) AS k (rule_id)
            CROSS JOIN LATERAL weir_tallies($1, k.rule_id, $3, $4, $5) t
            WHERE ($6::text[] IS NULL OR t.namespace = ANY($6))
                AND ($7::text IS NULL OR t.region = $7)
            GROUP BY 1, 2"#,
            uuid(filter.tenant_id.to_u128()),
            &ids,
            range.resolution.word(),
            stored(range.from),
            stored(range.to),
            filter.namespaces.as_deref(),
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let mut found: BTreeMap<String, UnmatchedTally> = BTreeMap::new();
        for row in rows {
            let rule = RuleId::from_u128(row.rule_id.as_u128());
            let checks = unsigned(row.checks);
            let tally = found.entry(row.namespace).or_default();
            match rule {
                UNMATCHED_RULE => tally.unmatched = checks,
                UNKNOWN_NAMESPACE_RULE => tally.unknown = checks,
                _ if rule.to_u128() == WHOLE_REQUESTS => tally.checks = checks,
                _ => {
                    let name = attributes.iter().find(|name| missing_attribute_rule(name) == rule);
                    tally.missing.extend(name.map(|name| (name.clone(), checks)));
                }
            }
        }
        found.retain(|_, tally| tally.unmatched + tally.unknown > 0);
        Ok(found)
    }
}
