//! The statements with which gates load a table of rules or overrides.

/// Defines `of_rulebook` and `remaining` for a table: its name, its columns beside the tenant, which begin with `r.id`, the
/// row as Postgres returns it, the conversion of that row, and the type of the id.
macro_rules! served_rows {
    ($table:literal, $columns:literal, $row:ident, $convert:ident -> $served:ty, $id:ty) => {
        /// Returns the rows of every tenant, or those that changed after version `since` of the rulebook.
        pub(crate) async fn of_rulebook(
            conn: &mut PooledConnection,
            since: Option<i64>,
        ) -> Result<Vec<(TenantId, $served)>, StoreError> {
            let rows = match since {
                None => {
                    sqlx::query_as!(
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
                            ORDER BY r.tenant_id, r.id",
                    )
                    .fetch_all(conn)
                    .await?
                }
                Some(since) => {
                    sqlx::query_as!(
                        $row,
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
                    .fetch_all(conn)
                    .await?
                }
            };
            let tenant = |row: &$row| TenantId::from_u128(row.tenant_id.as_u128());
            Ok(rows.into_iter().map(|row| (tenant(&row), $convert(row))).collect())
        }

        /// Returns the ids of all rows of the tenants that lost a rule or an override after version `since` of the rulebook.
        pub(crate) async fn remaining(
            conn: &mut PooledConnection,
            since: i64,
        ) -> Result<Vec<(TenantId, $id)>, StoreError> {
            let rows = sqlx::query!(
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
            .fetch_all(conn)
            .await?;
            let rows = rows.into_iter().map(|row| {
                let tenant_id = TenantId::from_u128(row.tenant_id.as_u128());
                (tenant_id, <$id>::from_u128(row.id.as_u128()))
            });
            Ok(rows.collect())
        }
    };
}
pub(crate) use served_rows;
