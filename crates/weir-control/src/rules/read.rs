//! `GET /tenants/{tenant}/rules/{rule}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::id::RuleId;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_wire::rules::RuleAnswer;

use crate::actor::{By, InNamespaces, Viewer};
use crate::answers::{answer, to_value};
use crate::error::ControlError;
use crate::rules::rule_answer;
use crate::state::ControlState;

/// One rule; its revision is also the `ETag`.
#[utoipa::path(get, path = "/tenants/{tenant}/rules/{rule}", operation_id = "rules_read", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
    ),
    responses((status = 200, description = "The rule", body = RuleAnswer,
        headers(("ETag" = String, description = "The revision, for `If-Match`")))))]
pub(crate) async fn read(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Viewer>>,
    Path((_, rule)): Path<(String, String)>,
) -> Result<Response, ControlError> {
    let rule_id: RuleId = rule.parse().map_err(|_| Problem::not_found())?;
    let mut tx = control.reading("rules.read", &caller).await?;
    let row = tx.rules().find(caller.tenant_id, rule_id).await?.ok_or_else(Problem::not_found)?;
    caller.namespaces.admit(&row.namespace)?;
    Ok(answer(StatusCode::OK, &to_value(&rule_answer(&row)?)?))
}
