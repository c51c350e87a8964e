//! `GET /tenants/{tenant}/audit`

use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_http::json::Json;
use weir_http::params::Query;
use weir_http::problem::Problem;
use weir_store::{Actor, AuditFilter, AuditRow};
use weir_wire::audit::{ActorKind, AuditActor, AuditEntry};
use weir_wire::page::Page;
use weir_wire::time::DateTime;

use crate::actor::{Admin, By};
use crate::error::ControlError;
use crate::listing::{List, ListQuery};
use crate::state::ControlState;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Which entries to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// How many items at most.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// What was done, such as `rule.update`; `rule` for all that was done to rules.
    action: Option<String>,
    /// Only what somebody did with this in their e-mail or the name of the key, in any case; at most 256 characters.
    #[param(max_length = 256)]
    actor: Option<String>,
    /// Only entries with this in the name, e-mail or id of the thing, in the address it came from or in the id of the
    /// request, in any case; at most 256 characters.
    #[param(max_length = 256)]
    search: Option<String>,
    /// Not before this time, RFC 3339.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<DateTime>,
    /// Before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<DateTime>,
}

const TEXT_CHARS_MAX: usize = 256;

impl AuditQuery {
    fn filter(&self) -> Result<AuditFilter, Problem> {
        let text = |field, text: &Option<String>| match text.as_deref() {
            Some(it) if it.chars().count() > TEXT_CHARS_MAX || it.contains('\0') => {
                let reason = "must be at most 256 characters, without the character 0";
                Err(Problem::invalid_field(field, reason))
            }
            it => Ok(it.filter(|it| !it.is_empty()).map(str::to_owned)),
        };
        Ok(AuditFilter {
            action: text("action", &self.action)?,
            actor: text("actor", &self.actor)?,
            search: text("search", &self.search)?,
            from: self.from.map(|at| at.0),
            to: self.to.map(|at| at.0),
        })
    }
}

/// Who did what, newest first.
#[utoipa::path(get, path = "/tenants/{tenant}/audit", operation_id = "audit_list", tag = "audit",
    params(("tenant" = String, Path, description = "`tenant_…`"), AuditQuery),
    responses((status = 200, description = "The entries", body = Page<AuditEntry>)))]
pub(crate) async fn list(
    State(control): State<ControlState>,
    By { caller, .. }: By<Admin>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<Page<AuditEntry>>, ControlError> {
    let filter = query.filter()?;
    let of = ["audit", &caller.tenant_id.to_string(), &format!("{filter:?}")];
    let list = List::new(&of, ListQuery { limit: query.limit, cursor: query.cursor })?;
    let page = list.page(|key: String| key.parse().ok())?;
    let mut tx = control.reading("audit.list", &caller).await?;
    let listing = tx.audit().list(caller.tenant_id, &filter, &page).await?;
    Ok(Json(list.answer(listing, |row| row.id.to_string(), entry)))
}

/// Who did something, in JSON.
pub(crate) fn actor(actor: Actor) -> AuditActor {
    match actor {
        Actor::Person { id, email } => {
            AuditActor { kind: ActorKind::Person, id: Some(id.to_string()), name: Some(email) }
        }
        Actor::Key { id, name } => {
            AuditActor { kind: ActorKind::Key, id: Some(id.to_string()), name: Some(name) }
        }
        Actor::System => AuditActor { kind: ActorKind::System, id: None, name: None },
    }
}

fn entry(row: AuditRow) -> AuditEntry {
    AuditEntry {
        id: row.id.to_string(),
        at: row.at.into(),
        actor: actor(row.actor),
        action: row.action,
        object_kind: row.object_kind,
        object_id: row.object_id,
        before: row.before,
        after: row.after,
        ip: row.ip,
        request_id: row.request_id,
    }
}
