//! Revisions: the actor, the time, and the body before and after. Rules and profiles have a table of them each.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::time::Timestamp;

use crate::actor::Actor;
use crate::convert::{timestamp, unsigned};
use crate::error::StoreError;

/// A revision of a rule or of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionRow {
    /// The revision's number, from 1.
    pub revision: u64,
    /// The person, key or system that wrote it.
    pub actor: Actor,
    /// The time of the write.
    pub at: Timestamp,
    /// The body before the write. `None` for the first revision.
    pub before: Option<Value>,
    /// The body after the write.
    pub after: Value,
}

/// The columns as Postgres returns them.
pub(crate) struct Row {
    pub(crate) revision: i64,
    pub(crate) actor_kind: String,
    pub(crate) actor_id: Option<Uuid>,
    pub(crate) actor_label: String,
    pub(crate) at: OffsetDateTime,
    pub(crate) before: Option<Value>,
    pub(crate) after: Value,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_revisions {
    (
        $head:literal $(+ $more:literal)*,
        $tail:literal $(+ $rest:literal)*
        $(, $argument:expr)* $(,)?
    ) => {
        sqlx::query_as!(
            $crate::revisions::Row,
            $head
                $(+ $more)*
                + "
                revision,
                actor_kind,
                actor_id,
                actor_label,
                at,
                before,
                after
                "
                + $tail
                $(+ $rest)*
            $(, $argument)*
        )
    };
}
pub(crate) use query_revisions;

/// Defines the writes of revisions of [`Spec`](crate::Spec): their table, its column of the object's id, and the function that
/// deletes old ones.
macro_rules! revision_writes {
    ($table:literal, $id:literal, $keep:literal) => {
        fn add_revision(
            conn: &mut PooledConnection,
            before: Option<&Value>,
            row: &SpecRow<Self>,
            actor: &Actor,
        ) {
            conn.defer(statement!(
                "-- "
                    + $table
                    + ".insert
                    INSERT INTO "
                    + $table
                    + " (
                        tenant_id,
                        "
                    + $id
                    + ",
                        revision,
                        actor_kind,
                        actor_id,
                        actor_label,
                        at,
                        before,
                        after
                    )
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                uuid(row.tenant_id.to_u128()),
                uuid(row.id.to_u128()),
                signed(row.revision),
                actor.kind(),
                actor.stored_id(),
                actor.label(),
                stored(row.updated_at),
                before,
                row.spec,
            ));
        }

        async fn keep_revisions(
            conn: &mut PooledConnection,
            id: Self::Id,
            most: u64,
        ) -> Result<u64, StoreError> {
            let removed = sqlx::query_scalar!(
                "-- "
                    + $table
                    + ".keep
                SELECT "
                    + $keep
                    + "($1, $2) AS \"removed!\"",
                uuid(id.to_u128()),
                signed(most),
            );
            Ok(unsigned(removed.fetch_one(conn).await?))
        }
    };
}
pub(crate) use revision_writes;

/// Implements [`Revised`](crate::Revised): the kind, the table of its revisions, and the column of the object's id.
macro_rules! revised {
    ($kind:ty, $table:literal, $id:literal) => {
        impl Revised for $kind {
            async fn revisions(
                conn: &mut PooledConnection,
                tenant_id: TenantId,
                id: Self::Id,
                page: &Page<u64>,
            ) -> Result<Listing<RevisionRow>, StoreError> {
                let rows = $crate::revisions::query_revisions!(
                    "-- "
                        + $table
                        + ".list
                    SELECT",
                    "FROM "
                        + $table
                        + "
                    WHERE tenant_id = $1 AND "
                        + $id
                        + " = $2 AND ($3::bigint IS NULL OR revision < $3)
                    ORDER BY revision DESC
                    LIMIT $4",
                    uuid(tenant_id.to_u128()),
                    uuid(id.to_u128()),
                    page.after.map(signed),
                    page.fetch(),
                );
                Ok(page.listing(all(rows.fetch_all(conn).await?)?))
            }

            async fn revision(
                conn: &mut PooledConnection,
                tenant_id: TenantId,
                id: Self::Id,
                revision: u64,
            ) -> Result<Option<RevisionRow>, StoreError> {
                let row = $crate::revisions::query_revisions!(
                    "-- "
                        + $table
                        + ".find
                    SELECT",
                    "FROM "
                        + $table
                        + "
                    WHERE tenant_id = $1 AND "
                        + $id
                        + " = $2 AND revision = $3",
                    uuid(tenant_id.to_u128()),
                    uuid(id.to_u128()),
                    signed(revision),
                );
                row.fetch_optional(conn).await?.map(RevisionRow::try_from).transpose()
            }
        }
    };
}
pub(crate) use revised;

impl TryFrom<Row> for RevisionRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            revision: unsigned(row.revision),
            actor: Actor::from_stored(&row.actor_kind, row.actor_id, row.actor_label)?,
            at: timestamp(row.at),
            before: row.before,
            after: row.after,
        })
    }
}
