//! `POST /operator/password-resets`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use weir_domain::id::AuditId;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::NewAudit;
use weir_wire::second_factors::{IssueReset, IssuedReset};

use crate::actor::Operator;
use crate::error::ControlError;
use crate::names;
use crate::sessions::reset_password::{TOKEN_S, new_token, reset_digest};
use crate::state::ControlState;

/// Issue a token with which a person sets a new password; for operators. It replaces an earlier one.
///
/// The token gives access to the account, so the person's log records it. Accounts of operators are refused: `weir user reset`
/// issues their tokens.
#[utoipa::path(post, path = "/operator/password-resets", operation_id = "operator_password_resets", tag = "operator",
    request_body = IssueReset,
    responses(
        (status = 201, description = "The token, shown once", body = IssuedReset),
        (status = 404, description = "No such account, it is disabled or an operator's, or the caller is not an operator"),
    ))]
pub(crate) async fn issue(
    State(control): State<ControlState>,
    Operator(person): Operator,
    Json(body): Json<IssueReset>,
) -> Result<Response, ControlError> {
    let email = names::email(&body.email)?;
    let token = new_token(&control.random);
    let expires_at = control.clock.now().plus_ms(i64::from(TOKEN_S) * 1000);
    let mut tx = person.begin(&control, "operator.password_reset").await?;
    let digest = reset_digest(&token);
    let issued = tx.password_resets().issue(email.as_str(), &digest, expires_at).await?;
    let user_id = issued.ok_or_else(Problem::not_found)?;
    let entry = NewAudit {
        id: control.id(AuditId::new),
        tenant_id: None,
        actor: person.actor(),
        action: "user.password_reset_issue".to_owned(),
        object_kind: "user".to_owned(),
        object_id: user_id.to_string(),
        before: None,
        after: Some(json!({ "email": email.as_str() })),
        ip: person.origin.ip(),
        request_id: person.origin.request_id.clone(),
    };
    tx.audit().append_about(user_id, &entry);
    tx.commit().await?;
    let body = IssuedReset { token, expires_in_s: TOKEN_S.into() };
    Ok((StatusCode::CREATED, Json(body)).into_response())
}
