//! Accounts of the installation in JSON, as operators see them.

use serde::{Deserialize, Serialize};

use crate::time::DateTime;

/// An account of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Account {
    /// `user_…`
    pub id: String,
    /// The e-mail address of the account.
    pub email: String,
    /// The name of the person.
    pub name: String,
    /// Whether the person is an operator of this installation.
    pub operator: bool,
    /// Whether the account is disabled: nobody can sign in to it.
    pub disabled: bool,
    /// Whether a code is required to sign in.
    pub second_factor: bool,
    /// The number of tenants that the person is a member of.
    pub tenants: u64,
    /// The time at which the account was created.
    pub created_at: DateTime,
    /// The time of a recent request of the person, accurate to five minutes; null if there was none.
    pub last_seen_at: Option<DateTime>,
}
