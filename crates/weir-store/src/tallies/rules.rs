//! Short series of all rules of a tenant at once, for a list of rules.

use std::collections::HashMap;

use time::OffsetDateTime;
use weir_domain::id::RuleId;
use weir_domain::time::Timestamp;
use weir_domain::unmatched::RESERVED_RULES;

use super::{Counted, Resolution, Tallies, TallyCounts, TallyFilter};
use crate::convert::{stored, timestamp, unsigned, uuid};
use crate::error::StoreError;

impl Tallies<'_> {
    /// Returns the counts between each two neighbours of `bounds`, for each rule with decisions.
    pub async fn series_of_rules(
        self,
        filter: &TallyFilter,
        bounds: &[Timestamp],
        resolution: Resolution,
    ) -> Result<Counted<HashMap<RuleId, Vec<TallyCounts>>>, StoreError> {
        let bounds: Vec<OffsetDateTime> = bounds.iter().map(|&at| stored(at)).collect();
        let (Some(from), Some(to)) = (bounds.first(), bounds.last()) else {
            return Err(StoreError::corrupt("a series without bounds"));
        };
        let rows = sqlx::query!(
            r#"-- tallies.series_of_rules
            SELECT
                f.as_of AS "as_of!",
                f.dropped AS "dropped!",
                s.rule_id AS "rule_id?",
                s.slot AS "slot?",
                s.allowed AS "allowed?",
                s.denied AS "denied?",
                s.shadow_denied AS "shadow_denied?",
                s.degraded AS "degraded?",
                s.refunded AS "refunded?",
                s.recorded AS "recorded?"
            FROM weir_freshness($3, $4) f
            LEFT JOIN (
                SELECT k.rule_id, t.*
                FROM weir_counted_rules($1) k CROSS JOIN LATERAL (
                    SELECT
                        width_bucket(t.at, $6::timestamptz[]) AS slot,
                        sum(t.allowed)::bigint AS allowed,
                        sum(t.denied)::bigint AS denied,
                        sum(t.shadow_denied)::bigint AS shadow_denied,
                        sum(t.degraded)::bigint AS degraded,
                        sum(t.refunded)::bigint AS refunded,
                        sum(t.recorded)::bigint AS recorded
                    FROM weir_tallies($1, k.rule_id, $2, $3, $4) t
                    WHERE ($5::text[] IS NULL OR t.namespace = ANY($5))
                        AND ($8::text IS NULL OR t.region = $8)
                    GROUP BY 1
                ) t
                WHERE k.rule_id < $7
            ) s ON true"#,
            uuid(filter.tenant_id.to_u128()),
            resolution.word(),
            *from,
            *to,
            filter.namespaces.as_deref(),
            &bounds,
            uuid(RESERVED_RULES.to_u128()),
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let Some(first) = rows.first() else {
            return Err(StoreError::corrupt("a list without freshness"));
        };
        let as_of = timestamp(first.as_of);
        let dropped = unsigned(first.dropped);
        let mut counts: HashMap<RuleId, Vec<TallyCounts>> = HashMap::new();
        for row in rows {
            let slot = row.slot.and_then(|slot| usize::try_from(slot - 1).ok());
            let Some((rule_id, slot)) = row.rule_id.zip(slot) else { continue };
            let steps = counts
                .entry(RuleId::from_u128(rule_id.as_u128()))
                .or_insert_with(|| vec![TallyCounts::default(); bounds.len() - 1]);
            if let Some(step) = steps.get_mut(slot) {
                *step = TallyCounts {
                    allowed: row.allowed.map_or(0, unsigned),
                    denied: row.denied.map_or(0, unsigned),
                    shadow_denied: row.shadow_denied.map_or(0, unsigned),
                    degraded: row.degraded.map_or(0, unsigned),
                    refunded: row.refunded.map_or(0, unsigned),
                    recorded: row.recorded.map_or(0, unsigned),
                };
            }
        }
        Ok(Counted { counts, as_of, dropped })
    }
}
