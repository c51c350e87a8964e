//! Counts of customers by day.

use time::Date;
use uuid::Uuid;
use weir_domain::id::{PlanId, RuleId, TenantId};
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, unsigned, uuid};
use crate::error::StoreError;
use crate::usage::{date, days};

/// The counts that a gate adds to those of a customer, a day and a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerDayRow {
    /// The tenant.
    pub tenant_id: TenantId,
    /// The customer. Empty: customers beyond a bound, together.
    pub customer: String,
    /// The day of UTC, in days since 1970-01-01.
    pub day: i32,
    /// The rule. `None` counts whole requests.
    pub rule_id: Option<RuleId>,
    /// The counts.
    pub counts: CustomerCounts,
}

/// Counts of a customer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CustomerCounts {
    /// Allowed checks.
    pub allowed: u64,
    /// Denied checks.
    pub denied: u64,
    /// Used units, less refunded ones.
    pub units: i64,
}

/// The counts of a customer on one day for one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerDay {
    /// The day of UTC, in days since 1970-01-01.
    pub day: i32,
    /// The rule. `None` counts whole requests.
    pub rule_id: Option<RuleId>,
    /// The rule's namespace and name. `None` if it was deleted.
    pub name: Option<(String, String)>,
    /// The counts.
    pub counts: CustomerCounts,
}

/// A customer with its plan and the counts of one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomerRow {
    /// The customer.
    pub customer: String,
    /// The id and name of its plan.
    pub plan: Option<(PlanId, String)>,
    /// The counts of whole requests of the day.
    pub counts: CustomerCounts,
}

/// The table of counts of customers.
#[derive(Debug)]
pub struct CustomerDays<'t> {
    conn: &'t mut PooledConnection,
}

impl<'t> CustomerDays<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Adds the counts of a batch of this run of a gate, which must have reported. Returns false, and adds nothing, if the run has added
    /// the batch or a later one before.
    pub async fn count(
        self,
        boot_id: u128,
        batch: u64,
        rows: &[CustomerDayRow],
    ) -> Result<bool, StoreError> {
        let tenants: Vec<Uuid> = rows.iter().map(|row| uuid(row.tenant_id.to_u128())).collect();
        let customers: Vec<String> = rows.iter().map(|row| row.customer.clone()).collect();
        let days: Vec<Date> = rows.iter().map(|row| date(row.day)).collect();
        let rules: Vec<Uuid> = rows.iter().map(|row| uuid(number(row.rule_id))).collect();
        let allowed: Vec<i64> = rows.iter().map(|row| signed(row.counts.allowed)).collect();
        let denied: Vec<i64> = rows.iter().map(|row| signed(row.counts.denied)).collect();
        let units: Vec<i64> = rows.iter().map(|row| row.counts.units).collect();
        let added = sqlx::query_scalar!(
            r#"-- customer_days.count
            SELECT weir_count_customers($1, $2, $3, $4, $5, $6, $7, $8, $9) AS "added!""#,
            uuid(boot_id),
            signed(batch),
            &tenants,
            &customers,
            &days,
            &rules,
            &allowed,
            &denied,
            &units,
        )
        .fetch_one(self.conn)
        .await?;
        Ok(added)
    }

    /// The counts of a customer from one day to another, both included, in the order of days and rules.
    pub async fn of_customer(
        self,
        tenant_id: TenantId,
        customer: &str,
        [first, last]: [i32; 2],
    ) -> Result<Vec<CustomerDay>, StoreError> {
        let rows = sqlx::query!(
            r#"-- customer_days.of_customer
            SELECT
                d.day,
                d.rule_id,
                r.namespace AS "namespace?",
                r.name AS "name?",
                d.allowed,
                d.denied,
                d.units
            FROM customer_days d
            LEFT JOIN rules r ON r.tenant_id = d.tenant_id AND r.id = d.rule_id
            WHERE d.tenant_id = $1 AND d.customer = $2 AND d.day BETWEEN $3 AND $4
            ORDER BY d.day, r.namespace, r.name, d.rule_id"#,
            uuid(tenant_id.to_u128()),
            customer,
            date(first),
            date(last),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| CustomerDay {
            day: days(row.day),
            rule_id: (!row.rule_id.is_nil()).then(|| RuleId::from_u128(row.rule_id.as_u128())),
            name: row.namespace.zip(row.name),
            counts: counts(row.allowed, row.denied, row.units),
        });
        Ok(rows.collect())
    }

    /// Whether customers were counted without their names between two days, both included.
    pub async fn has_others(
        self,
        tenant_id: TenantId,
        [first, last]: [i32; 2],
    ) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar!(
            r#"-- customer_days.has_others
            SELECT EXISTS (
                SELECT FROM customer_days
                WHERE tenant_id = $1 AND customer = '' AND day BETWEEN $2 AND $3
            ) AS "found!""#,
            uuid(tenant_id.to_u128()),
            date(first),
            date(last),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(found)
    }

    /// Up to `most` customers after `after` whose names begin with `prefix`: those that have assignments or counts, in the order of
    /// their bytes.
    pub async fn names(
        self,
        tenant_id: TenantId,
        prefix: &str,
        after: &str,
        most: u32,
    ) -> Result<Vec<String>, StoreError> {
        // Steps from customer to customer by the indexes instead of reading the rows of all days.
        let names = sqlx::query_scalar!(
            r#"-- customer_days.names
            WITH RECURSIVE names (customer, place) AS (
                SELECT
                    LEAST(
                        (
                            SELECT d.customer FROM customer_days d
                            WHERE d.tenant_id = $1 AND d.customer >= $2 AND d.customer > $3
                            ORDER BY d.customer LIMIT 1
                        ),
                        (
                            SELECT a.customer COLLATE "C" FROM assignments a
                            WHERE a.tenant_id = $1 AND a.customer COLLATE "C" >= $2
                                AND a.customer COLLATE "C" > $3
                            ORDER BY a.customer COLLATE "C" LIMIT 1
                        )
                    ),
                    1
                UNION ALL
                SELECT
                    LEAST(
                        (
                            SELECT d.customer FROM customer_days d
                            WHERE d.tenant_id = $1 AND d.customer > n.customer
                            ORDER BY d.customer LIMIT 1
                        ),
                        (
                            SELECT a.customer COLLATE "C" FROM assignments a
                            WHERE a.tenant_id = $1 AND a.customer COLLATE "C" > n.customer
                            ORDER BY a.customer COLLATE "C" LIMIT 1
                        )
                    ),
                    n.place + 1
                FROM names n
                WHERE starts_with(n.customer, $2) AND n.place < $4
            )
            SELECT customer AS "customer!" FROM names WHERE starts_with(customer, $2)"#,
            uuid(tenant_id.to_u128()),
            prefix,
            after,
            i32::try_from(most).unwrap_or(i32::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(names)
    }

    /// The same of those that are on a plan at a time.
    pub async fn names_on_plan(
        self,
        tenant_id: TenantId,
        plan_id: PlanId,
        now: Timestamp,
        [prefix, after]: [&str; 2],
        most: u32,
    ) -> Result<Vec<String>, StoreError> {
        let names = sqlx::query_scalar!(
            r#"-- customer_days.names_on_plan
            SELECT customer FROM assignments
            WHERE tenant_id = $1 AND plan_id = $2
                AND starts_at <= $3 AND (ends_at IS NULL OR ends_at > $3)
                AND starts_with(customer, $4)
                AND customer COLLATE "C" >= $4 AND customer COLLATE "C" > $5
            ORDER BY customer COLLATE "C"
            LIMIT $6"#,
            uuid(tenant_id.to_u128()),
            uuid(plan_id.to_u128()),
            stored(now),
            prefix,
            after,
            i64::from(most),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(names)
    }

    /// Up to `most` customers that were denied on a day, the most denied first.
    pub async fn most_denied(
        self,
        tenant_id: TenantId,
        day: i32,
        prefix: &str,
        most: u32,
    ) -> Result<Vec<String>, StoreError> {
        let names = sqlx::query_scalar!(
            "-- customer_days.most_denied
            SELECT customer FROM customer_days
            WHERE tenant_id = $1 AND day = $2
                AND rule_id = '00000000-0000-0000-0000-000000000000'
                AND denied > 0 AND customer <> '' AND starts_with(customer, $3)
            ORDER BY denied DESC, customer
            LIMIT $4",
            uuid(tenant_id.to_u128()),
            date(day),
            prefix,
            i64::from(most),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(names)
    }

    /// The plans of customers at a time, and their counts of a day, in the order of `names`.
    pub async fn of_names(
        self,
        tenant_id: TenantId,
        names: &[String],
        now: Timestamp,
        day: i32,
    ) -> Result<Vec<CustomerRow>, StoreError> {
        let rows = sqlx::query!(
            r#"-- customer_days.of_names
            SELECT
                n.customer AS "customer!",
                p.id AS "plan_id?",
                p.name AS "plan?",
                coalesce(d.allowed, 0) AS "allowed!",
                coalesce(d.denied, 0) AS "denied!",
                coalesce(d.units, 0) AS "units!"
            FROM unnest($2::text[]) WITH ORDINALITY n (customer, place)
            LEFT JOIN assignments a
                ON a.tenant_id = $1 AND a.customer COLLATE "C" = n.customer
                AND a.starts_at <= $3 AND (a.ends_at IS NULL OR a.ends_at > $3)
            LEFT JOIN plans p ON p.tenant_id = $1 AND p.id = a.plan_id
            LEFT JOIN customer_days d
                ON d.tenant_id = $1 AND d.customer = n.customer AND d.day = $4
                AND d.rule_id = '00000000-0000-0000-0000-000000000000'
            ORDER BY n.place"#,
            uuid(tenant_id.to_u128()),
            names,
            stored(now),
            date(day),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows.into_iter().map(|row| CustomerRow {
            customer: row.customer,
            plan: row.plan_id.map(|id| PlanId::from_u128(id.as_u128())).zip(row.plan),
            counts: counts(row.allowed, row.denied, row.units),
        });
        Ok(rows.collect())
    }

    /// The counts of whole requests of customers from one day to another, both included, with customer and day, in any order.
    pub async fn by_day(
        self,
        tenant_id: TenantId,
        names: &[String],
        [first, last]: [i32; 2],
    ) -> Result<Vec<(String, i32, CustomerCounts)>, StoreError> {
        let rows = sqlx::query!(
            "-- customer_days.by_day
            SELECT customer, day, allowed, denied, units FROM customer_days
            WHERE tenant_id = $1 AND customer = ANY($2) AND day BETWEEN $3 AND $4
                AND rule_id = '00000000-0000-0000-0000-000000000000'",
            uuid(tenant_id.to_u128()),
            names,
            date(first),
            date(last),
        )
        .fetch_all(self.conn)
        .await?;
        let rows = rows
            .into_iter()
            .map(|row| (row.customer, days(row.day), counts(row.allowed, row.denied, row.units)));
        Ok(rows.collect())
    }

    /// Sums the smallest customers beyond the ceiling of their tenant, and deletes days beyond their retention. Returns the number of
    /// deleted rows. Requires the service's scope.
    pub async fn fold(self, days_days: u16) -> Result<u64, StoreError> {
        let deleted = sqlx::query_scalar!(
            r#"-- customer_days.fold
            SELECT weir_fold_customer_days($1) AS "deleted!""#,
            i32::from(days_days),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(deleted))
    }
}

fn counts(allowed: i64, denied: i64, units: i64) -> CustomerCounts {
    CustomerCounts { allowed: unsigned(allowed), denied: unsigned(denied), units }
}

/// The number of a rule. 0 stands for whole requests.
fn number(rule: Option<RuleId>) -> u128 {
    rule.map_or(0, RuleId::to_u128)
}
