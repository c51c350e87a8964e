//! Members of a tenant.
//!
//! Admins manage all members except owners; owners manage all members. A tenant always has an owner.

use weir_domain::id::UserId;
use weir_http::problem::Problem;
use weir_store::{MemberRole, MemberRow};
use weir_wire::members::Member;
use weir_wire::problem::ErrorCode;

use crate::change::Change;
use crate::error::ControlError;
use crate::tenants;

pub(crate) mod change;
pub(crate) mod leave;
pub(crate) mod list;
pub(crate) mod remove;
pub(crate) mod roles;

/// A member in JSON.
fn member(row: MemberRow) -> Member {
    Member {
        user_id: row.user_id.to_string(),
        email: row.email,
        name: row.name,
        role: tenants::role(row.role),
        created_at: row.created_at.into(),
        last_seen_at: row.last_seen_at.map(Into::into),
    }
}

/// The member that a change is about.
async fn touched(change: &mut Change, user: &str) -> Result<MemberRow, ControlError> {
    let user_id: UserId = user.parse().map_err(|_| Problem::not_found())?;
    let row = change.tx.members().find(change.caller.tenant_id, user_id).await?;
    Ok(row.ok_or_else(Problem::not_found)?)
}

/// Refuses to remove the last owner. Changes of a tenant wait for each other, so two owners cannot leave at once.
async fn keep_an_owner(change: &mut Change, going: &MemberRow) -> Result<(), ControlError> {
    if going.role == MemberRole::Owner
        && change.tx.members().count_owners(change.caller.tenant_id).await? <= 1
    {
        let detail = "this is the only owner: make someone else an owner first";
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    Ok(())
}
