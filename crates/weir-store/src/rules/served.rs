//! The columns of rules that gates load.

use uuid::Uuid;
use weir_domain::id::{RuleId, TenantId};

use super::row::slot;
use crate::connection::PooledConnection;
use crate::convert::unsigned;
use crate::error::StoreError;
use crate::message::{Answers, statement};
use crate::served::{TenantRange, served_rows};

/// A rule as gates load it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedRule {
    /// The rule's id.
    pub id: RuleId,
    /// The counter slot of each limit, in the order of the body.
    pub slots: Vec<u32>,
    /// The body in the API's format, as text.
    pub spec: Box<str>,
    /// The number of the revision.
    pub revision: u64,
}

served_rows!(
    "rules",
    "r.slots, r.revision, ",
    { slots: Vec<i32>, revision: i64 },
    |row| ServedRule {
        id: RuleId::from_u128(row.id.as_u128()),
        slots: row.slots.into_iter().map(slot).collect(),
        spec: row.spec.into(),
        revision: unsigned(row.revision),
    },
    ServedRule,
    RuleId
);
