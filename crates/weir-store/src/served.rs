//! The statements with which gates load a table of rules, overrides or profiles.

use uuid::Uuid;

/// Tenants by their ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TenantRange {
    /// The greatest id before the range.
    pub(crate) after: Uuid,
    /// The greatest id of the range.
    pub(crate) until: Uuid,
}

/// Defines the loads of a table: its name, its columns beside the tenant, which begin with `r.id`, the row as Postgres returns
/// it, the conversion of that row, and the type of the id.
macro_rules! served_rows {
    ($table:literal, $columns:literal, $row:ident, $convert:ident -> $served:ty, $id:ty) => {
        fn of_tenant(row: $row) -> (TenantId, $served) {
            (TenantId::from_u128(row.tenant_id.as_u128()), $convert(row))
        }

        /// Returns all rows of these tenants.
        pub(crate) async fn of_tenants(
            conn: &mut PooledConnection,
            tenants: TenantRange,
        ) -> Result<Vec<(TenantId, $served)>, StoreError> {
            let rows = sqlx::query_as!(
                $row,
                "-- "
                    + $table
                    + ".of_rulebook
                    SELECT
                        r.tenant_id,
                        "
                    + $columns
                    + "
                    FROM "
                    + $table
                    + " r
                    WHERE r.tenant_id > $1 AND r.tenant_id <= $2
                    ORDER BY r.tenant_id, r.id",
                tenants.after,
                tenants.until,
            )
            .fetch_all(conn)
            .await?;
            Ok(rows.into_iter().map(of_tenant).collect())
        }

        /// The statement that returns the rows that changed after version `since` of the rulebook.
        pub(crate) fn changed_statement(since: i64) -> String {
            statement!(
                "-- "
                    + $table
                    + ".of_rulebook_since
                    SELECT
                        r.tenant_id,
                        "
                    + $columns
                    + "
                    FROM tenant_changes c
                    JOIN "
                    + $table
                    + " r ON r.tenant_id = c.tenant_id AND r.sequence = c.sequence
                    WHERE c.rulebook_version > $1
                    ORDER BY r.tenant_id, r.id",
                since,
            )
        }

        /// The rows that [`changed_statement`] returned.
        pub(crate) fn changed(
            answers: &mut Answers,
        ) -> Result<Vec<(TenantId, $served)>, StoreError> {
            Ok(answers.rows::<$row>()?.into_iter().map(of_tenant).collect())
        }

        /// The statement that returns the ids of all rows of the tenants that lost a row after version `since`.
        pub(crate) fn remaining_statement(since: i64) -> String {
            statement!(
                "-- "
                    + $table
                    + ".remaining
                    SELECT
                        r.tenant_id,
                        r.id
                    FROM tenants t
                    JOIN "
                    + $table
                    + " r ON r.tenant_id = t.id
                    WHERE t.version > $1 AND t.removed_version > $1
                    ORDER BY r.tenant_id, r.id",
                since,
            )
        }

        /// The ids that [`remaining_statement`] returned.
        pub(crate) fn remaining(answers: &mut Answers) -> Result<Vec<(TenantId, $id)>, StoreError> {
            let rows = answers.rows::<(Uuid, Uuid)>()?.into_iter();
            let ids = rows.map(|(tenant_id, id)| {
                (TenantId::from_u128(tenant_id.as_u128()), <$id>::from_u128(id.as_u128()))
            });
            Ok(ids.collect())
        }
    };
}
pub(crate) use served_rows;
