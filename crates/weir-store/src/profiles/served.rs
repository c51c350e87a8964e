//! The columns of profiles that gates load.

use uuid::Uuid;
use weir_domain::id::{ProfileId, TenantId};

use crate::connection::PooledConnection;
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::served::{TenantRange, served_rows};

/// A profile as gates load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedProfile {
    /// The profile's id.
    pub id: ProfileId,
    /// The body in the API's format, as text.
    pub spec: Box<str>,
}

#[derive(sqlx::FromRow)]
struct Row {
    tenant_id: Uuid,
    id: Uuid,
    #[sqlx(rename = "spec!")]
    spec: String,
}

served_rows!(
    "profiles",
    r#"r.id, r.spec::text AS "spec!""#,
    Row,
    served -> ServedProfile,
    ProfileId
);

fn served(row: Row) -> ServedProfile {
    ServedProfile { id: ProfileId::from_u128(row.id.as_u128()), spec: row.spec.into() }
}
