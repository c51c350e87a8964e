//! Tenants.

use weir_domain::id::UserId;
use weir_http::problem::Problem;
use weir_store::{MemberRole, TenantRow, Tx};
use weir_wire::problem::ErrorCode;
use weir_wire::tenants::{Role, Tenant};

use crate::error::ControlError;
use crate::state::ControlState;

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod update;

/// A tenant in JSON.
pub(crate) fn tenant(row: TenantRow, role: Option<MemberRole>) -> Tenant {
    Tenant {
        id: row.id.to_string(),
        name: row.name,
        role: role.map(self::role),
        suspended: row.suspended,
        record_checks: row.record_checks,
        enforcement: row.enforced.into(),
        installation_enforcement: row.installation_enforced.into(),
        created_at: row.created_at.into(),
    }
}

/// Refuses another tenant to a person who belongs to as many tenants as permitted. Operators create tenants for others and
/// are exempt.
pub(crate) async fn room_for_one_more(
    control: &ControlState,
    tx: &mut Tx,
    user_id: UserId,
) -> Result<(), ControlError> {
    tx.users().lock(user_id).await?;
    let user = tx.users().find(user_id).await?.ok_or_else(Problem::unauthenticated)?;
    let most = control.settings.tenants_per_person_max;
    if !user.operator && tx.members().count_of(user_id).await? >= most {
        let detail = format!("a person belongs to at most {most} tenants: leave or delete one");
        return Err(Problem::new(ErrorCode::Conflict, detail).into());
    }
    Ok(())
}

/// A role in JSON.
pub(crate) fn role(role: MemberRole) -> Role {
    match role {
        MemberRole::Viewer => Role::Viewer,
        MemberRole::Editor => Role::Editor,
        MemberRole::Admin => Role::Admin,
        MemberRole::Owner => Role::Owner,
    }
}
