//! The columns of plans that gates load.

use uuid::Uuid;
use weir_domain::id::{PlanId, TenantId};

use crate::connection::PooledConnection;
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::served::{TenantRange, served_rows};

/// A plan as gates load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedPlan {
    /// The plan's id.
    pub id: PlanId,
    /// The body in the API's format, as text.
    pub spec: Box<str>,
    /// The older revisions that some customers keep, as text.
    pub pinned: Box<str>,
}

served_rows!(
    "plans",
    "r.pinned::text AS \"pinned!\",
                        ",
    { #[sqlx(rename = "pinned!")] pinned: String },
    |row| ServedPlan {
        id: PlanId::from_u128(row.id.as_u128()),
        spec: row.spec.into(),
        pinned: row.pinned.into(),
    },
    ServedPlan,
    PlanId
);
