//! Tenants.

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_store::{MemberRole, TenantRow};
use weir_wire::tenants::{Role, Tenant};

use crate::state::ControlState;

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod update;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new().routes(routes!(list::list, create::create)).routes(routes!(
        read::read,
        update::update,
        delete::delete
    ))
}

/// A tenant in JSON.
pub(crate) fn tenant(row: TenantRow, role: Option<MemberRole>) -> Tenant {
    Tenant {
        id: row.id.to_string(),
        name: row.name,
        role: role.map(self::role),
        suspended: row.suspended,
        record_checks: row.record_checks,
        created_at: row.created_at.into(),
    }
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
