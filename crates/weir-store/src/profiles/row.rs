//! The columns of a profile.

use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::id::{ProfileId, TenantId};
use weir_domain::time::Timestamp;

use crate::convert::{timestamp, unsigned};

/// A profile.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileRow {
    /// The profile's id.
    pub id: ProfileId,
    /// The tenant that owns the profile.
    pub tenant_id: TenantId,
    /// The name, unique in the tenant.
    pub name: String,
    /// The body in the API's format.
    pub spec: Value,
    /// The set of rules as code to which the profile belongs.
    pub managed_by: Option<String>,
    /// Whether the profile differs from what the last apply of its set wrote.
    pub edited: bool,
    /// The number of writes so far.
    pub revision: u64,
    /// The version of the rulebook from which gates serve the profile; 0 inside the transaction that writes it.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last write.
    pub updated_at: Timestamp,
}

/// The columns as Postgres returns them.
pub(super) struct Row {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) spec: Value,
    pub(super) managed_by: Option<String>,
    pub(super) edited: bool,
    pub(super) revision: i64,
    /// `None` until the change is published.
    pub(super) rulebook_version: Option<i64>,
    pub(super) created_at: OffsetDateTime,
    pub(super) updated_at: OffsetDateTime,
}

/// A statement that returns [`Row`]s: `$head`, the columns, `$tail`.
macro_rules! query_profiles {
    ($head:literal, $tail:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Row,
            $head
                + "
                tenant_id,
                id,
                name,
                spec,
                managed_by,
                coalesce(
                    managed_by IS NOT NULL AND applied_digest <> md5(concat_ws(' ', name, spec)),
                    false
                ) AS \"edited!\",
                revision,
                (
                    SELECT c.rulebook_version FROM tenant_changes c
                    WHERE c.tenant_id = profiles.tenant_id AND c.sequence = profiles.sequence
                ) AS rulebook_version,
                created_at,
                updated_at
                "
                + $tail
            $(, $argument)*
        )
    };
}
pub(super) use query_profiles;

impl From<Row> for ProfileRow {
    fn from(row: Row) -> Self {
        Self {
            id: ProfileId::from_u128(row.id.as_u128()),
            tenant_id: TenantId::from_u128(row.tenant_id.as_u128()),
            name: row.name,
            spec: row.spec,
            managed_by: row.managed_by,
            edited: row.edited,
            revision: unsigned(row.revision),
            rulebook_version: row.rulebook_version.map_or(0, unsigned),
            created_at: timestamp(row.created_at),
            updated_at: timestamp(row.updated_at),
        }
    }
}
