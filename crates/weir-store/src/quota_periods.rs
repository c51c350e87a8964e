//! The used units of calendar quotas by subject and period, and when the counters of a tenant are read next.

use serde_json::Value;
use time::{Date, OffsetDateTime};
use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{all, signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};
use crate::usage::{date, days};

/// The most rows of a tenant whose periods end at the same time.
pub const QUOTA_PERIODS_MAX: u32 = 10_000;

/// The units of one quota that one subject used in one period.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaPeriodRow {
    /// The rule of the quota.
    pub rule_id: RuleId,
    /// The slot of the quota in its rule.
    pub slot: u16,
    /// The digest that names the counter.
    pub subject_key: u128,
    /// The digest of the values by which the counters of the namespace are spread.
    pub spread: u64,
    /// The namespace of the rule.
    pub namespace: String,
    /// The name of the rule.
    pub rule: String,
    /// The attributes that the rule counts by.
    pub subject: Value,
    /// The name of the quota's period.
    pub period: String,
    /// The first day of the period in the time zone of the quota, in days since 1970-01-01.
    pub starts_on: i32,
    /// The start of the period.
    pub from: Timestamp,
    /// The end of the period.
    pub to: Timestamp,
    /// The units that were used.
    pub used: u64,
    /// The limit at that time.
    pub limit: u64,
    /// The time until which `used` counts; at most `to`.
    pub counted_until: Timestamp,
}

/// Selects ended periods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaPeriodFilter {
    /// The tenant that owns the rules.
    pub tenant_id: TenantId,
    /// The first possible first day, in days since 1970-01-01.
    pub first_day: i32,
    /// The day after the last possible first day.
    pub end_day: i32,
    /// Periods that end later are left out.
    pub now: Timestamp,
    /// Only rules that were in these namespaces.
    pub namespaces: Option<Vec<String>>,
    /// Only this rule.
    pub rule_id: Option<RuleId>,
}

/// The place of a row in a list: namespace, rule, end, rule id, slot, subject key.
pub type QuotaPeriodAfter = (String, String, i64, RuleId, u16, u128);

/// The table of the used units of quotas.
#[derive(Debug)]
pub struct QuotaPeriods<'t> {
    conn: &'t mut PooledConnection,
}

#[derive(Debug)]
struct Stored {
    rule_id: Uuid,
    slot: i32,
    subject_key: Vec<u8>,
    spread: i64,
    namespace: String,
    rule: String,
    subject: Value,
    period: String,
    starts_on: Date,
    period_start: OffsetDateTime,
    period_end: OffsetDateTime,
    used: i64,
    unit_limit: i64,
    counted_until: OffsetDateTime,
}

impl<'t> QuotaPeriods<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Takes up to `most` tenants whose counters are due to be read. `find` includes tenants that were never read. Requires the
    /// service's scope.
    pub async fn take(
        self,
        now: Timestamp,
        find: bool,
        most: u32,
    ) -> Result<Vec<TenantId>, StoreError> {
        let taken = sqlx::query_scalar!(
            r#"-- quota_periods.take
            SELECT tenant AS "tenant!" FROM weir_take_quota_readings($1, $2, $3) tenant"#,
            stored(now),
            find,
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(taken.into_iter().map(|id| TenantId::from_u128(id.as_u128())).collect())
    }

    /// Sets when the counters of a tenant are read next.
    pub async fn read_next(self, tenant_id: TenantId, at: Timestamp) -> Result<(), StoreError> {
        sqlx::query!(
            "-- quota_periods.read_next
            UPDATE quota_readings SET next_at = $2 WHERE tenant_id = $1",
            uuid(tenant_id.to_u128()),
            stored(at),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Writes what was read. A row that counts until a later time remains. Of the rows of a tenant whose periods end at the same
    /// time, no more than [`QUOTA_PERIODS_MAX`] are inserted, the most used ones first.
    pub async fn record(
        self,
        tenant_id: TenantId,
        rows: &[QuotaPeriodRow],
    ) -> Result<(), StoreError> {
        let rule_ids: Vec<_> = rows.iter().map(|row| uuid(row.rule_id.to_u128())).collect();
        let slots: Vec<_> = rows.iter().map(|row| i32::from(row.slot)).collect();
        let keys: Vec<_> = rows.iter().map(|row| row.subject_key.to_be_bytes().to_vec()).collect();
        let spreads: Vec<_> = rows.iter().map(|row| row.spread.cast_signed()).collect();
        let namespaces: Vec<_> = rows.iter().map(|row| row.namespace.clone()).collect();
        let rules: Vec<_> = rows.iter().map(|row| row.rule.clone()).collect();
        let subjects: Vec<_> = rows.iter().map(|row| row.subject.clone()).collect();
        let periods: Vec<_> = rows.iter().map(|row| row.period.clone()).collect();
        let days: Vec<_> = rows.iter().map(|row| date(row.starts_on)).collect();
        let from: Vec<_> = rows.iter().map(|row| stored(row.from)).collect();
        let to: Vec<_> = rows.iter().map(|row| stored(row.to)).collect();
        let used: Vec<_> = rows.iter().map(|row| signed(row.used)).collect();
        let limits: Vec<_> = rows.iter().map(|row| signed(row.limit)).collect();
        let until: Vec<_> = rows.iter().map(|row| stored(row.counted_until)).collect();
        sqlx::query!(
            "-- quota_periods.record
            WITH new AS (
                SELECT * FROM unnest(
                    $2::uuid[], $3::integer[], $4::bytea[], $5::bigint[], $6::text[], $7::text[],
                    $8::jsonb[], $9::text[], $10::date[], $11::timestamptz[], $12::timestamptz[],
                    $13::bigint[], $14::bigint[], $15::timestamptz[]
                ) n (
                    rule_id, slot, subject_key, spread, namespace, rule, subject, period,
                    starts_on, period_start, period_end, used, unit_limit, counted_until
                )
            ),
            updated AS (
                UPDATE quota_periods q
                SET
                    used = n.used,
                    unit_limit = n.unit_limit,
                    counted_until = n.counted_until
                FROM new n
                WHERE q.tenant_id = $1 AND q.period_end = n.period_end AND q.rule_id = n.rule_id
                    AND q.slot = n.slot AND q.subject_key = n.subject_key
                    AND q.counted_until < n.counted_until
            ),
            room AS MATERIALIZED (
                SELECT e.period_end, $16 - (
                    SELECT count(*) FROM quota_periods q
                    WHERE q.tenant_id = $1 AND q.period_end = e.period_end
                ) AS rows_left
                FROM (SELECT DISTINCT period_end FROM new) e
            ),
            missing AS (
                SELECT
                    n.*,
                    row_number() OVER (PARTITION BY n.period_end ORDER BY n.used DESC) AS place
                FROM new n
                WHERE NOT EXISTS (
                    SELECT FROM quota_periods q
                    WHERE q.tenant_id = $1 AND q.period_end = n.period_end
                        AND q.rule_id = n.rule_id AND q.slot = n.slot
                        AND q.subject_key = n.subject_key
                )
            )
            INSERT INTO quota_periods (
                tenant_id, rule_id, slot, subject_key, spread, namespace, rule, subject, period,
                starts_on, period_start, period_end, used, unit_limit, counted_until
            )
            SELECT
                $1, m.rule_id, m.slot, m.subject_key, m.spread, m.namespace, m.rule, m.subject,
                m.period, m.starts_on, m.period_start, m.period_end, m.used, m.unit_limit,
                m.counted_until
            FROM missing m JOIN room r ON r.period_end = m.period_end
            WHERE m.place <= r.rows_left
            ON CONFLICT ON CONSTRAINT quota_periods_tenant_id_pkey DO NOTHING",
            uuid(tenant_id.to_u128()),
            &rule_ids,
            &slots,
            &keys,
            &spreads,
            &namespaces,
            &rules,
            &subjects,
            &periods,
            &days,
            &from,
            &to,
            &used,
            &limits,
            &until,
            i64::from(QUOTA_PERIODS_MAX),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// The rows of periods that ended after `since`, up to `now`, and that do not count until the end.
    pub async fn unfinished(
        self,
        tenant_id: TenantId,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<QuotaPeriodRow>, StoreError> {
        let rows = sqlx::query_as!(
            Stored,
            "-- quota_periods.unfinished
            SELECT
                rule_id, slot, subject_key, spread, namespace, rule, subject, period, starts_on,
                period_start, period_end, used, unit_limit, counted_until
            FROM quota_periods
            WHERE tenant_id = $1 AND period_end > $2 AND period_end <= $3
                AND counted_until < period_end",
            uuid(tenant_id.to_u128()),
            stored(since),
            stored(now),
        )
        .fetch_all(self.conn)
        .await?;
        all(rows)
    }

    /// Lists ended periods, by namespace, rule and end.
    pub async fn list(
        self,
        filter: &QuotaPeriodFilter,
        page: &Page<QuotaPeriodAfter>,
    ) -> Result<Listing<QuotaPeriodRow>, StoreError> {
        let after = page.after.as_ref();
        let rows = sqlx::query_as!(
            Stored,
            r#"-- quota_periods.list
            SELECT
                rule_id, slot, subject_key, spread, namespace, rule, subject, period, starts_on,
                period_start, period_end, used, unit_limit, counted_until
            FROM quota_periods
            WHERE tenant_id = $1 AND starts_on >= $2 AND starts_on < $3 AND period_end <= $4
                AND ($5::text[] IS NULL OR namespace = ANY($5))
                AND ($6::uuid IS NULL OR rule_id = $6)
                AND (
                    $7::text IS NULL
                    OR (namespace COLLATE "C", rule COLLATE "C", period_end, rule_id, slot, subject_key)
                        > ($7, $8, $9::timestamptz, $10::uuid, $11::integer, $12::bytea)
                )
            ORDER BY namespace COLLATE "C", rule COLLATE "C", period_end, rule_id, slot, subject_key
            LIMIT $13"#,
            uuid(filter.tenant_id.to_u128()),
            date(filter.first_day),
            date(filter.end_day),
            stored(filter.now),
            filter.namespaces.as_deref(),
            filter.rule_id.map(|id| uuid(id.to_u128())),
            after.map(|after| after.0.as_str()),
            after.map(|after| after.1.as_str()),
            after.map(|after| stored(Timestamp::from_millis(after.2))),
            after.map(|after| uuid(after.3.to_u128())),
            after.map(|after| i32::from(after.4)),
            after.map(|after| after.5.to_be_bytes().to_vec()),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(all(rows)?))
    }

    /// Whether [`QUOTA_PERIODS_MAX`] rows are stored for an end of these periods, so that others can be missing.
    pub async fn is_full(self, filter: &QuotaPeriodFilter) -> Result<bool, StoreError> {
        let is_full = sqlx::query_scalar!(
            r#"-- quota_periods.is_full
            SELECT EXISTS (
                SELECT FROM quota_periods q
                WHERE q.tenant_id = $1 AND q.period_end IN (
                    SELECT p.period_end FROM quota_periods p
                    WHERE p.tenant_id = $1 AND p.starts_on >= $2 AND p.starts_on < $3
                        AND p.period_end <= $4
                )
                GROUP BY q.period_end
                HAVING count(*) >= $5
            ) AS "is_full!""#,
            uuid(filter.tenant_id.to_u128()),
            date(filter.first_day),
            date(filter.end_day),
            stored(filter.now),
            i64::from(QUOTA_PERIODS_MAX),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(is_full)
    }

    /// The first days of the months in which ended periods began, the newest first, in days since 1970-01-01. The days of the
    /// filter bound the months.
    pub async fn months(self, filter: &QuotaPeriodFilter) -> Result<Vec<i32>, StoreError> {
        let months = sqlx::query_scalar!(
            r#"-- quota_periods.months
            SELECT m.month::date AS "month!"
            FROM generate_series($2::date::timestamp, $3::date::timestamp, interval '1 month') m (month)
            WHERE EXISTS (
                SELECT FROM quota_periods q
                WHERE q.tenant_id = $1 AND q.starts_on >= m.month::date
                    AND q.starts_on < (m.month + interval '1 month')::date
                    AND q.period_end <= $4
                    AND ($5::text[] IS NULL OR q.namespace = ANY($5))
                    AND ($6::uuid IS NULL OR q.rule_id = $6)
            )
            ORDER BY 1 DESC"#,
            uuid(filter.tenant_id.to_u128()),
            date(filter.first_day),
            date(filter.end_day),
            stored(filter.now),
            filter.namespaces.as_deref(),
            filter.rule_id.map(|id| uuid(id.to_u128())),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(months.into_iter().map(days).collect())
    }
}

impl TryFrom<Stored> for QuotaPeriodRow {
    type Error = StoreError;

    fn try_from(row: Stored) -> Result<Self, StoreError> {
        let key = <[u8; 16]>::try_from(row.subject_key)
            .map_err(|_| StoreError::corrupt("a subject key that is not 16 bytes long"))?;
        Ok(Self {
            rule_id: RuleId::from_u128(row.rule_id.as_u128()),
            slot: u16::try_from(row.slot).unwrap_or(u16::MAX),
            subject_key: u128::from_be_bytes(key),
            spread: row.spread.cast_unsigned(),
            namespace: row.namespace,
            rule: row.rule,
            subject: row.subject,
            period: row.period,
            starts_on: days(row.starts_on),
            from: timestamp(row.period_start),
            to: timestamp(row.period_end),
            used: unsigned(row.used),
            limit: unsigned(row.unit_limit),
            counted_until: timestamp(row.counted_until),
        })
    }
}
