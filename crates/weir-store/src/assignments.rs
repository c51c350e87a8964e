//! Assignments of customers to plans. Those of a customer do not overlap; an end is an update, never a removal.

mod served;

use std::collections::HashSet;

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{AssignmentId, PlanId, TenantId};
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::convert::{signed, stored, timestamp, unsigned, uuid};
use crate::error::StoreError;
use crate::page::{Listing, Page};

pub use served::ServedAssignment;
pub(crate) use served::{changed, changed_statement, of_tenants};

/// The assignment of a customer to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignmentRow {
    /// The assignment's id.
    pub id: AssignmentId,
    /// The customer.
    pub customer: String,
    /// The plan.
    pub plan_id: PlanId,
    /// The revision of the plan that the customer keeps. 0: the present one.
    pub pinned_revision: u64,
    /// The time from which it applies.
    pub starts_at: Timestamp,
    /// The time from which it does not apply any more.
    pub ends_at: Option<Timestamp>,
    /// A text for people.
    pub note: String,
    /// The address of the customer.
    pub email: Option<String>,
    /// The set of rules as code that it belongs to.
    pub managed_by: Option<String>,
    /// The version of the rulebook from which gates serve it; 0 inside the transaction that writes it.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: Timestamp,
}

/// An assignment to be inserted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAssignment {
    /// The assignment's id.
    pub id: AssignmentId,
    /// The customer.
    pub customer: String,
    /// The digest by which gates find the customer.
    pub customer_key: SubjectKey,
    /// The plan.
    pub plan_id: PlanId,
    /// The time from which it applies.
    pub starts_at: Timestamp,
    /// The time from which it does not apply any more.
    pub ends_at: Option<Timestamp>,
    /// A text for people.
    pub note: String,
    /// The address of the customer.
    pub email: Option<String>,
    /// The set of rules as code that it belongs to.
    pub managed_by: Option<String>,
}

/// The assignments to be listed.
#[derive(Debug, Clone, Default)]
pub struct AssignmentFilter {
    /// Only those of this customer.
    pub customer: Option<String>,
    /// Only those to this plan.
    pub plan_id: Option<PlanId>,
    /// Only those that have not ended at this time.
    pub not_ended_at: Option<Timestamp>,
}

/// The table of assignments.
#[derive(Debug)]
pub struct Assignments<'t> {
    conn: &'t mut PooledConnection,
}

/// The columns as Postgres returns them.
struct Row {
    id: Uuid,
    customer: String,
    plan_id: Uuid,
    pinned_revision: i64,
    starts_at: OffsetDateTime,
    ends_at: Option<OffsetDateTime>,
    note: String,
    email: Option<String>,
    managed_by: Option<String>,
    rulebook_version: Option<i64>,
    created_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_assignments {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                id,
                customer,
                plan_id,
                pinned_revision,
                starts_at,
                ends_at,
                note,
                email,
                managed_by,
                (
                    SELECT c.rulebook_version FROM tenant_changes c
                    WHERE c.tenant_id = assignments.tenant_id AND c.sequence = assignments.sequence
                ) AS rulebook_version,
                created_at
                "
                + $tail
            $(, $argument)*
        )
    };
}

mod of_sets;

impl<'t> Assignments<'t> {
    pub(crate) fn new(conn: &'t mut PooledConnection) -> Self {
        Self { conn }
    }

    /// Inserts assignments.
    pub async fn insert_many(
        self,
        tenant_id: TenantId,
        new: &[NewAssignment],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let column = |value: fn(&NewAssignment) -> Uuid| new.iter().map(value).collect::<Vec<_>>();
        let ids = column(|new| uuid(new.id.to_u128()));
        let plans = column(|new| uuid(new.plan_id.to_u128()));
        let customers: Vec<_> = new.iter().map(|new| new.customer.clone()).collect();
        let keys: Vec<_> = new.iter().map(|new| key_bytes(new.customer_key)).collect();
        let starts: Vec<_> = new.iter().map(|new| stored(new.starts_at)).collect();
        let ends: Vec<_> = new.iter().map(|new| new.ends_at.map(stored)).collect();
        let notes: Vec<_> = new.iter().map(|new| new.note.clone()).collect();
        let emails: Vec<_> = new.iter().map(|new| new.email.clone()).collect();
        let owners: Vec<_> = new.iter().map(|new| new.managed_by.clone()).collect();
        sqlx::query!(
            "-- assignments.insert_many
            INSERT INTO assignments (
                tenant_id,
                id,
                customer,
                customer_key,
                plan_id,
                starts_at,
                ends_at,
                note,
                email,
                managed_by,
                created_at
            )
            SELECT
                $1,
                new.id,
                new.customer,
                new.customer_key,
                new.plan_id,
                new.starts_at,
                new.ends_at,
                new.note,
                new.email,
                new.managed_by,
                $11
            FROM unnest(
                $2::uuid[],
                $3::text[],
                $4::bytea[],
                $5::uuid[],
                $6::timestamptz[],
                $7::timestamptz[],
                $8::text[],
                $9::text[],
                $10::text[]
            ) AS new (
                id, customer, customer_key, plan_id, starts_at, ends_at, note, email, managed_by
            )",
            uuid(tenant_id.to_u128()),
            &ids,
            &customers,
            &keys,
            &plans,
            &starts,
            &ends as _,
            &notes,
            &emails as _,
            &owners as _,
            stored(now),
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Sets the ends of assignments.
    pub async fn end_many(
        self,
        tenant_id: TenantId,
        ends: &[(AssignmentId, Timestamp)],
    ) -> Result<(), StoreError> {
        let ids: Vec<_> = ends.iter().map(|(id, _)| uuid(id.to_u128())).collect();
        let times: Vec<_> = ends.iter().map(|(_, at)| stored(*at)).collect();
        sqlx::query!(
            "-- assignments.end_many
            UPDATE assignments
            SET ends_at = ended.at
            FROM unnest($2::uuid[], $3::timestamptz[]) AS ended (id, at)
            WHERE assignments.tenant_id = $1 AND assignments.id = ended.id",
            uuid(tenant_id.to_u128()),
            &ids,
            &times,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }

    /// Lets all customers on the present revision of a plan keep this revision. Returns their number.
    pub async fn pin_revision(
        self,
        tenant_id: TenantId,
        plan_id: PlanId,
        revision: u64,
    ) -> Result<u64, StoreError> {
        let pinned = sqlx::query!(
            "-- assignments.pin_revision
            UPDATE assignments
            SET pinned_revision = $3
            WHERE tenant_id = $1 AND plan_id = $2 AND pinned_revision = 0
                AND (ends_at IS NULL OR ends_at > now())",
            uuid(tenant_id.to_u128()),
            uuid(plan_id.to_u128()),
            signed(revision),
        )
        .execute(self.conn)
        .await?;
        Ok(pinned.rows_affected())
    }

    /// Returns an assignment.
    pub async fn find(
        self,
        tenant_id: TenantId,
        id: AssignmentId,
    ) -> Result<Option<AssignmentRow>, StoreError> {
        let row = query_assignments!(
            "-- assignments.find
            SELECT",
            "FROM assignments
            WHERE tenant_id = $1 AND id = $2",
            uuid(tenant_id.to_u128()),
            uuid(id.to_u128()),
        )
        .fetch_optional(self.conn)
        .await?;
        Ok(row.map(AssignmentRow::from))
    }

    /// Returns the assignments of these customers that have not ended, by customer and time.
    pub async fn of_customers(
        self,
        tenant_id: TenantId,
        customers: &[SubjectKey],
        now: Timestamp,
    ) -> Result<Vec<AssignmentRow>, StoreError> {
        let keys: HashSet<_> = customers.iter().copied().map(key_bytes).collect();
        let keys: Vec<_> = keys.into_iter().collect();
        let rows = query_assignments!(
            "-- assignments.of_customers
            SELECT",
            "FROM assignments
            WHERE tenant_id = $1 AND customer_key = ANY($2)
                AND (ends_at IS NULL OR ends_at > $3) AND starts_at IS DISTINCT FROM ends_at
            ORDER BY customer, starts_at",
            uuid(tenant_id.to_u128()),
            &keys,
            stored(now),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(AssignmentRow::from).collect())
    }

    /// Lists assignments, newest first.
    pub async fn list(
        self,
        tenant_id: TenantId,
        filter: &AssignmentFilter,
        page: &Page<AssignmentId>,
    ) -> Result<Listing<AssignmentRow>, StoreError> {
        let rows = query_assignments!(
            "-- assignments.list
            SELECT",
            "FROM assignments
            WHERE tenant_id = $1
                AND ($2::uuid IS NULL OR id < $2)
                AND ($3::text IS NULL OR customer = $3)
                AND ($4::uuid IS NULL OR plan_id = $4)
                AND ($5::timestamptz IS NULL OR ends_at IS NULL OR ends_at > $5)
            ORDER BY id DESC
            LIMIT $6",
            uuid(tenant_id.to_u128()),
            page.after.map(|after| uuid(after.to_u128())),
            filter.customer.as_deref(),
            filter.plan_id.map(|id| uuid(id.to_u128())),
            filter.not_ended_at.map(stored),
            page.fetch(),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(page.listing(rows.into_iter().map(AssignmentRow::from).collect()))
    }

    /// Returns the number of assignments of a tenant that have not ended.
    pub async fn count(self, tenant_id: TenantId, now: Timestamp) -> Result<u64, StoreError> {
        let count = sqlx::query_scalar!(
            r#"-- assignments.count
            SELECT count(*) AS "count!"
            FROM assignments
            WHERE tenant_id = $1 AND (ends_at IS NULL OR ends_at > $2)"#,
            uuid(tenant_id.to_u128()),
            stored(now),
        )
        .fetch_one(self.conn)
        .await?;
        Ok(unsigned(count))
    }
}

impl From<Row> for AssignmentRow {
    fn from(row: Row) -> Self {
        Self {
            id: AssignmentId::from_u128(row.id.as_u128()),
            customer: row.customer,
            plan_id: PlanId::from_u128(row.plan_id.as_u128()),
            pinned_revision: unsigned(row.pinned_revision),
            starts_at: timestamp(row.starts_at),
            ends_at: row.ends_at.map(timestamp),
            note: row.note,
            email: row.email,
            managed_by: row.managed_by,
            rulebook_version: row.rulebook_version.map_or(0, unsigned),
            created_at: timestamp(row.created_at),
        }
    }
}

fn key_bytes(key: SubjectKey) -> Vec<u8> {
    key.0.to_be_bytes().to_vec()
}
