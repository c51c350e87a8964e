//! The columns of assignments that gates load. Gates learn of an end by the row, so no ids of remaining rows are loaded.

use sqlx::query_as;
use uuid::Uuid;
use weir_domain::customers::{Assignment, PlanRef};
use weir_domain::id::{PlanId, TenantId};
use weir_domain::subject::SubjectKey;
use weir_domain::time::Timestamp;

use crate::connection::PooledConnection;
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::served::TenantRange;

/// An assignment as gates load it.
pub type ServedAssignment = Assignment;

#[derive(sqlx::FromRow)]
struct Row {
    tenant_id: Uuid,
    customer_key: Vec<u8>,
    plan_id: Uuid,
    pinned_revision: i64,
    #[sqlx(rename = "starts_ms!")]
    starts_ms: i64,
    ends_ms: Option<i64>,
}

/// A statement that returns [`Row`]s of `assignments a`. `$with` is the macro that makes it.
macro_rules! served_with {
    ($with:ident!($($first:tt)*), $head:literal, $tail:literal, $($argument:expr),+) => {
        $with!(
            $($first)*
            $head
                + "
                a.tenant_id,
                a.customer_key,
                a.plan_id,
                a.pinned_revision,
                (extract(epoch FROM a.starts_at) * 1000)::bigint AS \"starts_ms!\",
                (extract(epoch FROM a.ends_at) * 1000)::bigint AS ends_ms
                FROM "
                + $tail
                + "
                ORDER BY a.tenant_id",
            $($argument),+
        )
    };
}

/// Returns all assignments of these tenants that have not ended.
pub(crate) async fn of_tenants(
    conn: &mut PooledConnection,
    tenants: TenantRange,
) -> Result<Vec<(TenantId, Assignment)>, StoreError> {
    let rows = served_with!(
        query_as!(Row,),
        "-- assignments.of_rulebook
        SELECT",
        "assignments a
        WHERE a.tenant_id > $1 AND a.tenant_id <= $2 AND (a.ends_at IS NULL OR a.ends_at > now())",
        tenants.after,
        tenants.until
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.iter().map(served).collect())
}

/// The statement that returns all assignments of the customers of whom one changed after version `since` of the rulebook. Those
/// that had ended before are left out.
pub(crate) fn changed_statement(since: i64) -> String {
    served_with!(
        statement!(),
        "-- assignments.of_rulebook_since
        SELECT DISTINCT",
        "tenant_changes c
        JOIN assignments changed
            ON changed.tenant_id = c.tenant_id AND changed.sequence = c.sequence
        JOIN assignments a
            ON a.tenant_id = changed.tenant_id AND a.customer_key = changed.customer_key
        WHERE c.rulebook_version > $1
            AND (a.ends_at IS NULL OR a.ends_at > now() OR a.sequence = changed.sequence)",
        since
    )
}

/// The rows that [`changed_statement`] returned.
pub(crate) fn changed(answers: &mut Answers) -> Result<Vec<(TenantId, Assignment)>, StoreError> {
    Ok(answers.rows::<Row>()?.iter().map(served).collect())
}

fn served(row: &Row) -> (TenantId, Assignment) {
    let mut key = [0; 16];
    // A constraint of the table holds the length.
    key.copy_from_slice(&row.customer_key[..16]);
    let plan = PlanRef {
        plan: PlanId::from_u128(row.plan_id.as_u128()),
        pinned_revision: u32::try_from(row.pinned_revision).unwrap_or(u32::MAX),
    };
    let customer = SubjectKey(u128::from_be_bytes(key));
    let from = Timestamp::from_millis(row.starts_ms);
    let until = row.ends_ms.map(Timestamp::from_millis);
    (TenantId::from_u128(row.tenant_id.as_u128()), Assignment::new(customer, plan, from, until))
}
