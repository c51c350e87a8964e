//! The statements with which gates load a table of rules, overrides, profiles or plans.

use uuid::Uuid;
use weir_domain::id::TenantId;

use crate::convert::uuid;

/// Tenants by their ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TenantRange {
    /// The greatest id before the range.
    pub(crate) after: Uuid,
    /// The greatest id of the range.
    pub(crate) until: Uuid,
}

impl TenantRange {
    /// One tenant.
    pub(crate) fn only(tenant_id: TenantId) -> Self {
        let id = tenant_id.to_u128();
        Self { after: uuid(id.saturating_sub(1)), until: uuid(id) }
    }
}

/// Defines the loads of a table: its name, its columns beside the tenant, the id and the body, their types as Postgres returns
/// them, the conversion of a row, and the types of the served object and of its id.
macro_rules! served_rows {
    (
        $table:literal, $columns:literal, { $($(#[$attribute:meta])* $column:ident: $type:ty),* },
        |$one:ident| $convert:expr, $served:ty, $id:ty
    ) => {
        #[derive(sqlx::FromRow)]
        struct Row {
            tenant_id: Uuid,
            id: Uuid,
            $($(#[$attribute])* $column: $type,)*
            #[sqlx(rename = "spec!")]
            spec: String,
        }

        fn of_tenant($one: Row) -> (TenantId, $served) {
            (TenantId::from_u128($one.tenant_id.as_u128()), $convert)
        }

        /// Returns all rows of these tenants.
        pub(crate) async fn of_tenants(
            conn: &mut PooledConnection,
            tenants: TenantRange,
        ) -> Result<Vec<(TenantId, $served)>, StoreError> {
            let rows = sqlx::query_as!(
                Row,
                "-- "
                    + $table
                    + ".of_rulebook
                    SELECT
                        r.tenant_id,
                        r.id,
                        "
                    + $columns
                    + "r.spec::text AS \"spec!\"
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
                        r.id,
                        "
                    + $columns
                    + "r.spec::text AS \"spec!\"
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
            Ok(answers.rows::<Row>()?.into_iter().map(of_tenant).collect())
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
