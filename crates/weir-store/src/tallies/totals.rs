//! The totals of several ids at once.

use std::collections::HashMap;

use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};

use super::{Tallies, TallyCounts, TallyRange};
use crate::convert::{stored, unsigned, uuid};
use crate::error::StoreError;

impl Tallies<'_> {
    /// Returns the counts under each of these ids. An id without counts is missing.
    pub async fn totals(
        self,
        tenant_id: TenantId,
        ids: &[RuleId],
        range: TallyRange,
    ) -> Result<HashMap<RuleId, TallyCounts>, StoreError> {
        let ids: Vec<Uuid> = ids.iter().map(|id| uuid(id.to_u128())).collect();
        let rows = sqlx::query!(
            r#"-- tallies.totals
            SELECT
                k.rule_id AS "rule_id!",
                sum(t.allowed)::bigint AS "allowed!",
                sum(t.denied)::bigint AS "denied!",
                sum(t.shadow_denied)::bigint AS "shadow_denied!",
                sum(t.degraded)::bigint AS "degraded!",
                sum(t.refunded)::bigint AS "refunded!",
                sum(t.recorded)::bigint AS "recorded!"
            FROM unnest($2::uuid[]) AS k (rule_id)
            CROSS JOIN LATERAL weir_tallies($1, k.rule_id, $3, $4, $5) t
            GROUP BY 1"#,
            uuid(tenant_id.to_u128()),
            &ids,
            range.resolution.word(),
            stored(range.from),
            stored(range.to),
        )
        .fetch_all(self.conn)
        .await?;
        let counts = rows.into_iter().map(|row| {
            let counts = TallyCounts {
                allowed: unsigned(row.allowed),
                denied: unsigned(row.denied),
                shadow_denied: unsigned(row.shadow_denied),
                degraded: unsigned(row.degraded),
                refunded: unsigned(row.refunded),
                recorded: unsigned(row.recorded),
            };
            (RuleId::from_u128(row.rule_id.as_u128()), counts)
        });
        Ok(counts.collect())
    }
}
