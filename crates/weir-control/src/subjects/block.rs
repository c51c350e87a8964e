//! `POST /tenants/{tenant}/subjects/block`

use axum::extract::State;
use axum::response::Response;
use weir_wire::overrides::OverrideAnswer;
use weir_wire::subjects::BlockSubjectBody;
use weir_wire::words::Action;

use crate::actor::{By, Editor, InNamespaces};
use crate::error::ControlError;
use crate::input::Input;
use crate::state::ControlState;
use crate::subjects::temporary::Target;

/// Block one subject of a rule for some time: an override that denies it. Counters are unchanged.
#[utoipa::path(post, path = "/tenants/{tenant}/subjects/block", operation_id = "subjects_block", tag = "subjects",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = BlockSubjectBody,
    responses(
        (status = 201, description = "The override", body = OverrideAnswer),
        (status = 200, description = "The override, which replaced one that ended no later", body = OverrideAnswer),
        (status = 409, description = "An override of the subject ends later, or the tenant has reached its limit of overrides"),
    ))]
pub(crate) async fn block(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<BlockSubjectBody>,
) -> Result<Response, ControlError> {
    let mut change = control.change("subjects.block", caller, once).await?;
    let target = Target::load(&mut change, &body.rule_id, body.subject, body.for_s).await?;
    target.write(&control, change, None, Some(Action::Deny), body.reason).await
}
