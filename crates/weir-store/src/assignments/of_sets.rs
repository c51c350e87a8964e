//! The assignments of sets of rules as code.

use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

use super::{AssignmentRow, Assignments, Row};
use crate::convert::{stored, uuid};
use crate::error::StoreError;

impl Assignments<'_> {
    /// Returns the assignments of a set of rules as code that have not ended, without those of these customers, by customer and
    /// time. There are at most `most`.
    pub async fn of_set(
        self,
        tenant_id: TenantId,
        set: &str,
        without: &[String],
        now: Timestamp,
        most: usize,
    ) -> Result<Vec<AssignmentRow>, StoreError> {
        let rows = query_assignments!(
            "-- assignments.of_set
            SELECT",
            "FROM assignments
            WHERE tenant_id = $1 AND managed_by = $2 AND customer <> ALL($3)
                AND (ends_at IS NULL OR ends_at > $4) AND starts_at IS DISTINCT FROM ends_at
            ORDER BY customer, starts_at
            LIMIT $5",
            uuid(tenant_id.to_u128()),
            set,
            without,
            stored(now),
            i64::try_from(most).unwrap_or(i64::MAX),
        )
        .fetch_all(self.conn)
        .await?;
        Ok(rows.into_iter().map(AssignmentRow::from).collect())
    }

    /// Sets the ends and notes of assignments, which then belong to a set of rules as code.
    pub async fn rewrite_many(
        self,
        tenant_id: TenantId,
        rows: &[AssignmentRow],
        set: &str,
    ) -> Result<(), StoreError> {
        let ids: Vec<_> = rows.iter().map(|row| uuid(row.id.to_u128())).collect();
        let ends: Vec<_> = rows.iter().map(|row| row.ends_at.map(stored)).collect();
        let notes: Vec<_> = rows.iter().map(|row| row.note.clone()).collect();
        sqlx::query!(
            "-- assignments.rewrite_many
            UPDATE assignments
            SET ends_at = new.ends_at, note = new.note, managed_by = $5
            FROM unnest($2::uuid[], $3::timestamptz[], $4::text[]) AS new (id, ends_at, note)
            WHERE assignments.tenant_id = $1 AND assignments.id = new.id",
            uuid(tenant_id.to_u128()),
            &ids,
            &ends as _,
            &notes,
            set,
        )
        .execute(self.conn)
        .await?;
        Ok(())
    }
}
