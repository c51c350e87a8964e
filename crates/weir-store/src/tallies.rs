//! Counts of decisions, read as sums over gates from the coarsest suitable table.

use time::OffsetDateTime;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;
use weir_domain::unmatched::RESERVED_RULES;

use crate::connection::PooledConnection;
use crate::convert::{stored, timestamp, unsigned, uuid};
use crate::error::StoreError;

mod counts;
mod degraded;
mod flush;
mod rules;
mod slots;
mod steps;
mod totals;
mod unmatched;

pub use counts::{Counted, TallyCounts};
pub use degraded::DegradedStep;
pub use flush::{DropCount, Flush, TallyRow};
use slots::SlotRow;
pub use steps::{STEP_MS, STEPS_RETAINED_MS, StepRow};
pub use unmatched::UnmatchedTally;

/// The coarsest table that a range is read from. Both ends of the range must be multiples of its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Minutes only.
    Minute,
    /// Hours, and minutes where no hours are rolled up.
    Hour,
    /// Days in UTC, and hours and minutes where no days are rolled up.
    Day,
}

/// The decisions to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyFilter {
    /// The tenant of the decisions.
    pub tenant_id: TenantId,
    /// Only decisions of this rule. `None` counts whole requests.
    pub rule_id: Option<RuleId>,
    /// Only decisions in these namespaces.
    pub namespaces: Option<Vec<String>>,
    /// Only decisions of the gates of this region. An empty one stands for gates without a region.
    pub region: Option<String>,
}

/// A range of time and its resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TallyRange {
    /// The start, inclusive.
    pub from: Timestamp,
    /// The end, exclusive.
    pub to: Timestamp,
    /// The step that both ends are multiples of.
    pub resolution: Resolution,
}

/// The counts of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleTally {
    /// The rule.
    pub rule_id: RuleId,
    /// The rule's namespace and name. `None` if the rule was deleted.
    pub name: Option<(String, String)>,
    /// The rule's decisions.
    pub counts: TallyCounts,
}

/// The tables of counts.
#[derive(Debug)]
pub struct Tallies<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> Tallies<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Returns the counts between each two neighbours of `bounds`, which must ascend.
    pub async fn series(
        self,
        filter: &TallyFilter,
        bounds: &[Timestamp],
        resolution: Resolution,
    ) -> Result<Counted<Vec<TallyCounts>>, StoreError> {
        let bounds: Vec<OffsetDateTime> = bounds.iter().map(|&at| stored(at)).collect();
        let (Some(from), Some(to)) = (bounds.first(), bounds.last()) else {
            return Err(StoreError::corrupt("a series without bounds"));
        };
        let rows = sqlx::query_as!(
            SlotRow,
            r#"-- tallies.series
            SELECT
                f.as_of AS "as_of!",
                f.dropped AS "dropped!",
                s.slot AS "slot?",
                s.allowed AS "allowed?",
                s.denied AS "denied?",
                s.shadow_denied AS "shadow_denied?",
                s.degraded AS "degraded?",
                s.refunded AS "refunded?",
                s.recorded AS "recorded?"
            FROM weir_freshness($4, $5) f
            LEFT JOIN (
                SELECT
                    width_bucket(t.at, $7::timestamptz[]) AS slot,
                    sum(t.allowed)::bigint AS allowed,
                    sum(t.denied)::bigint AS denied,
                    sum(t.shadow_denied)::bigint AS shadow_denied,
                    sum(t.degraded)::bigint AS degraded,
                    sum(t.refunded)::bigint AS refunded,
                    sum(t.recorded)::bigint AS recorded
                FROM weir_tallies($1, $2, $3, $4, $5) t
                WHERE ($6::text[] IS NULL OR t.namespace = ANY($6))
                    AND ($8::text IS NULL OR t.region = $8)
                GROUP BY 1
            ) s ON true"#,
            uuid(filter.tenant_id.to_u128()),
            uuid(rule(filter.rule_id)),
            resolution.word(),
            *from,
            *to,
            filter.namespaces.as_deref(),
            &bounds,
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        slots::series(&rows, bounds.len() - 1)
    }

    /// Lists the rules of a tenant with the most denied (or the most) checks first. Checks denied in shadow mode count only among
    /// rules that denied equally many others.
    pub async fn top_rules(
        self,
        filter: &TallyFilter,
        range: TallyRange,
        most_asked_first: bool,
        limit: u32,
    ) -> Result<Counted<Vec<RuleTally>>, StoreError> {
        let rows = sqlx::query!(
            r#"-- tallies.top_rules
            WITH top AS (
                SELECT k.rule_id, t.*
                FROM weir_counted_rules($1) k CROSS JOIN LATERAL (
                    SELECT
                        sum(t.allowed)::bigint AS allowed,
                        sum(t.denied)::bigint AS denied,
                        sum(t.shadow_denied)::bigint AS shadow_denied,
                        sum(t.degraded)::bigint AS degraded,
                        sum(t.refunded)::bigint AS refunded,
                        sum(t.recorded)::bigint AS recorded
                    FROM weir_tallies($1, k.rule_id, $2, $3, $4) t
                    WHERE ($5::text[] IS NULL OR t.namespace = ANY($5))
                        AND ($9::text IS NULL OR t.region = $9)
                ) t
                WHERE t.allowed IS NOT NULL AND k.rule_id < $8
                ORDER BY
                    CASE WHEN $6 THEN t.allowed + t.denied + t.shadow_denied ELSE t.denied END DESC,
                    t.shadow_denied DESC,
                    t.allowed DESC,
                    k.rule_id
                LIMIT $7
            )
            SELECT
                f.as_of AS "as_of!",
                f.dropped AS "dropped!",
                t.rule_id AS "rule_id?",
                r.namespace AS "namespace?",
                r.name AS "name?",
                t.allowed AS "allowed?",
                t.denied AS "denied?",
                t.shadow_denied AS "shadow_denied?",
                t.degraded AS "degraded?",
                t.refunded AS "refunded?",
                t.recorded AS "recorded?"
            FROM weir_freshness($3, $4) f
            LEFT JOIN top t ON true
            LEFT JOIN rules r ON r.tenant_id = $1 AND r.id = t.rule_id"#,
            uuid(filter.tenant_id.to_u128()),
            range.resolution.word(),
            stored(range.from),
            stored(range.to),
            filter.namespaces.as_deref(),
            most_asked_first,
            i64::from(limit),
            uuid(RESERVED_RULES.to_u128()),
            filter.region.as_deref(),
        )
        .fetch_all(self.conn)
        .await?;
        let first = rows.first().ok_or_else(|| StoreError::corrupt("a list without freshness"))?;
        let as_of = timestamp(first.as_of);
        let dropped = unsigned(first.dropped);
        let counts = rows.into_iter().filter_map(|row| {
            Some(RuleTally {
                rule_id: RuleId::from_u128(row.rule_id?.as_u128()),
                name: row.namespace.zip(row.name),
                counts: TallyCounts {
                    allowed: unsigned(row.allowed?),
                    denied: unsigned(row.denied?),
                    shadow_denied: unsigned(row.shadow_denied?),
                    degraded: unsigned(row.degraded?),
                    refunded: unsigned(row.refunded?),
                    recorded: unsigned(row.recorded?),
                },
            })
        });
        Ok(Counted { counts: counts.collect(), as_of, dropped })
    }

    /// Returns all counts of minutes from `since`, by rule (`None` for whole requests) and minute.
    pub async fn recent(
        self,
        tenant_id: TenantId,
        since: Timestamp,
    ) -> Result<Vec<(Option<RuleId>, Timestamp, TallyCounts)>, StoreError> {
        let rows = sqlx::query!(
            r#"-- tallies.recent
            SELECT
                rule_id,
                minute,
                sum(allowed)::bigint AS "allowed!",
                sum(denied)::bigint AS "denied!",
                sum(shadow_denied)::bigint AS "shadow_denied!",
                sum(degraded)::bigint AS "degraded!",
                sum(refunded)::bigint AS "refunded!",
                sum(recorded)::bigint AS "recorded!"
            FROM tallies_minutes
            WHERE tenant_id = $1 AND minute >= $2
            GROUP BY rule_id, minute"#,
            uuid(tenant_id.to_u128()),
            stored(since),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| {
            let rule_id = row.rule_id.as_u128();
            let counts = TallyCounts {
                allowed: unsigned(row.allowed),
                denied: unsigned(row.denied),
                shadow_denied: unsigned(row.shadow_denied),
                degraded: unsigned(row.degraded),
                refunded: unsigned(row.refunded),
                recorded: unsigned(row.recorded),
            };
            let rule_id = (rule_id != WHOLE_REQUESTS).then(|| RuleId::from_u128(rule_id));
            (rule_id, timestamp(row.minute), counts)
        });
        Ok(rows.collect())
    }
}

impl Resolution {
    fn word(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }
}

/// The value of `rule_id` for counts of whole requests.
const WHOLE_REQUESTS: u128 = 0;

fn rule(id: Option<RuleId>) -> u128 {
    id.map_or(WHOLE_REQUESTS, RuleId::to_u128)
}
