//! `PUT /tenants/{tenant}/namespaces/{namespace}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use weir_domain::spread::{SPREAD_NAMESPACES_MAX, SpreadBy};
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{NamespaceWrite, StoreError};
use weir_wire::namespaces::{NamespaceAnswer, NamespaceBody};
use weir_wire::problem::ErrorCode;

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::namespaces::{answer_of, checked_name};
use crate::rule_service::CheckedRule;
use crate::state::ControlState;

/// Replace the settings of a namespace, based on the revision named in `If-Match`: `"0"` the first time.
///
/// A change of `spread_by` resets the counters of the namespace, because they move to other keys. Only rules that do not
/// count by the attributes keep theirs. Until all gates have the new version, a few seconds, a subject can get its
/// limits twice. Every rule must count by all attributes of `spread_by`, or have the consistency `leased`.
#[utoipa::path(put, path = "/tenants/{tenant}/namespaces/{namespace}", operation_id = "namespaces_update", tag = "namespaces",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("namespace" = String, Path, description = "The name"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
    ),
    request_body = NamespaceBody,
    responses(
        (status = 200, description = "Replaced", body = NamespaceAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The tenant has reached its limit of spread namespaces"),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, name)): Path<(String, String)>,
    if_match: IfMatch,
    Input { body, once }: Input<NamespaceBody>,
) -> Result<Response, ControlError> {
    checked_name(&name)?;
    caller.namespaces.admit(&name)?;
    let spread_by = body.parse().map_err(Problem::invalid)?;
    let mut change = control.change("namespaces.update", caller, once).await?;
    let expected = if_match.required()?;
    let tenant_id = change.caller.tenant_id;
    let before = change.tx.namespaces().find(tenant_id, &name).await?;
    if before.revision == 0 && !spread_by.is_spread() {
        // Nothing would differ from a namespace without settings, which has no row.
        if expected != 0 {
            return Err(StoreError::Stale.into());
        }
        return change.answer(StatusCode::OK, &answer_of(before)).await;
    }
    if spread_by.is_spread() {
        if before.spread_by.is_empty() {
            refuse_above_bound(&mut change).await?;
        }
        admit_all_rules(&mut change, &name, &spread_by).await?;
    }
    let write = NamespaceWrite {
        tenant_id,
        name: name.clone(),
        spread_by: spread_by.attributes().to_vec(),
        now: change.now,
    };
    let row = change.tx.namespaces().set(&write, expected).await?;
    let settings = |spread_by: &[String]| Some(json!({ "spread_by": spread_by }));
    let before = settings(&before.spread_by);
    let after = settings(&row.spread_by);
    change.audit("namespace.update", Object::new("namespace", &name), before, after);
    change.answer(StatusCode::OK, &answer_of(row)).await
}

async fn refuse_above_bound(change: &mut Change) -> Result<(), ControlError> {
    let count = change.tx.namespaces().count_spread(change.caller.tenant_id).await?;
    if count < SPREAD_NAMESPACES_MAX {
        return Ok(());
    }
    let detail = format!(
        "the counters of {count} namespaces are spread; {SPREAD_NAMESPACES_MAX} is the most"
    );
    Err(Problem::new(ErrorCode::Conflict, detail).into())
}

/// Refuses attributes by which some rule of the namespace neither counts nor leases. Names the first such rule.
async fn admit_all_rules(
    change: &mut Change,
    name: &str,
    spread_by: &SpreadBy,
) -> Result<(), ControlError> {
    let rows = change.tx.rulebook().namespace(change.caller.tenant_id, name).await?;
    // An unreadable rule is shown as such in the list of rules.
    let rules = rows.rules.iter().filter_map(|row| CheckedRule::stored(row).ok());
    for checked in rules {
        if let Err(wrong) = spread_by.admit(name, &checked.rule) {
            let reason = format!(
                "does not suit the rule `{}`: its `{}` {}",
                checked.rule.name(),
                wrong.field,
                wrong.reason
            );
            return Err(Problem::invalid_field("spread_by", reason).into());
        }
    }
    Ok(())
}
