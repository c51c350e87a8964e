//! The statements that are equal for each kind but for the name of its table. The macros of `sqlx` check literals alone.

/// A statement that returns rows of a kind: `$head`, the columns, `$tail`. `$content` is what an apply writes and an edit changes,
/// `$own` the columns that other kinds do not have, and `$columns` makes them of a row.
macro_rules! query_specs {
    (
        ($id:ty, $table:literal, $content:literal, $own:literal),
        |$row:ident| $columns:expr,
        $head:literal $(+ $more:literal)*,
        $tail:literal $(+ $rest:literal)*
        $(, $argument:expr)* $(,)?
    ) => {
        sqlx::query!(
            $head
                $(+ $more)*
                + "
                tenant_id,
                id,
                spec,
                managed_by,
                coalesce(managed_by IS NOT NULL AND applied_digest <> md5("
                + $content
                + "), false) AS \"edited!\",
                revision,
                (
                    SELECT c.rulebook_version FROM tenant_changes c
                    WHERE c.tenant_id = "
                + $table
                + ".tenant_id AND c.sequence = "
                + $table
                + ".sequence
                ) AS rulebook_version,
                created_at,
                updated_at,
                "
                + $own
                + "
                "
                + $tail
                $(+ $rest)*
            $(, $argument)*
        )
        .map(|$row| $crate::specs::SpecRow {
            id: <$id>::from_u128($row.id.as_u128()),
            tenant_id: weir_domain::id::TenantId::from_u128($row.tenant_id.as_u128()),
            spec: $row.spec,
            columns: $columns,
            managed_by: $row.managed_by,
            edited: $row.edited,
            revision: $crate::convert::unsigned($row.revision),
            // None until the change is published.
            rulebook_version: $row.rulebook_version.map_or(0, $crate::convert::unsigned),
            created_at: $crate::convert::timestamp($row.created_at),
            updated_at: $crate::convert::timestamp($row.updated_at),
        })
    };
}
pub(crate) use query_specs;

/// Defines the statements of [`Spec`](super::Spec) that name no column: `$query` is the macro of the kind.
macro_rules! spec_statements {
    ($table:literal, $query:ident) => {
        async fn find(
            conn: &mut PooledConnection,
            tenant_id: TenantId,
            id: Self::Id,
        ) -> Result<Option<SpecRow<Self>>, StoreError> {
            let found = $query!(
                "-- "
                    + $table
                    + ".find
                SELECT",
                "FROM "
                    + $table
                    + "
                WHERE tenant_id = $1 AND id = $2",
                uuid(tenant_id.to_u128()),
                uuid(id.to_u128()),
            );
            Ok(found.fetch_optional(conn).await?)
        }

        async fn delete(
            conn: &mut PooledConnection,
            row: &SpecRow<Self>,
        ) -> Result<bool, StoreError> {
            let deleted = sqlx::query!(
                "-- "
                    + $table
                    + ".delete
                DELETE FROM "
                    + $table
                    + " WHERE tenant_id = $1 AND id = $2 AND revision = $3",
                uuid(row.tenant_id.to_u128()),
                uuid(row.id.to_u128()),
                signed(row.revision),
            );
            Ok(deleted.execute(conn).await?.rows_affected() > 0)
        }
    };
}
pub(crate) use spec_statements;
