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

served_rows!(
    "profiles",
    "",
    {},
    |row| ServedProfile { id: ProfileId::from_u128(row.id.as_u128()), spec: row.spec.into() },
    ServedProfile,
    ProfileId
);
