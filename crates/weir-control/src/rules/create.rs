//! `POST /tenants/{tenant}/rules`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::RuleId;
use weir_http::problem::Problem;
use weir_store::{OtherRules, RuleRow, RuleWrite};
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::ceilings;
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::input::Input;
use crate::rule_service::CheckedRule;
use crate::rules::{fit, others, rule_answer};
use crate::state::ControlState;

/// Create a rule. Every gate applies it from the `rulebook_version` in the answer.
#[utoipa::path(post, path = "/tenants/{tenant}/rules", operation_id = "rules_create", tag = "rules",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = RuleBody,
    responses(
        (status = 201, description = "Created", body = RuleAnswer),
        (status = 409, description = "The name is in use, or the tenant has reached its limit of rules"),
    ))]
pub(crate) async fn create(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Input { body, once }: Input<RuleBody>,
) -> Result<Response, ControlError> {
    let checked = CheckedRule::new(body)?;
    caller.namespaces.admit(&checked.body.namespace)?;
    let mut change = control.change("rules.create", caller, once).await?;
    let row = insert(&control, &mut change, &checked, None).await?;
    change.answer(StatusCode::CREATED, &rule_answer(&row)?).await
}

/// Inserts a checked rule, which belongs to a set of rules as code if one is given, and records it in the audit log.
pub(crate) async fn insert(
    control: &ControlState,
    change: &mut Change,
    checked: &CheckedRule,
    managed_by: Option<&str>,
) -> Result<RuleRow, ControlError> {
    let rule_id = control.id(RuleId::new);
    let others = others(change, rule_id, checked).await?;
    room(change, &others)?;
    fit(change, &others, None, checked)?;
    let write = RuleWrite {
        tenant_id: change.caller.tenant_id,
        id: rule_id,
        body: checked.to_stored(&checked.rule.first_slots())?,
        managed_by: managed_by.map(str::to_owned),
        now: change.now,
    };
    let row = change.tx.rules().insert(&write, &change.caller.actor).await?;
    let object = Object::new("rule", &row.id);
    change.audit("rule.create", object, None, Some(row.spec.clone()));
    Ok(row)
}

/// Refuses a rule above the bounds. Changes of a tenant wait for each other.
fn room(change: &Change, others: &OtherRules) -> Result<(), ControlError> {
    room_in_namespace(change, others)?;
    if others.in_tenant >= change.settings().rules_per_tenant_max {
        let full = format!("the tenant has {} rules, which is the most", others.in_tenant);
        return Err(Problem::new(ErrorCode::Conflict, full).into());
    }
    let ceiling = change.ceilings.get(Ceiling::Rules);
    if others.in_tenant >= ceiling {
        return Err(ceilings::reached(Ceiling::Rules, ceiling, others.in_tenant).into());
    }
    Ok(())
}

/// Refuses one more rule in a namespace that is full.
pub(crate) fn room_in_namespace(change: &Change, others: &OtherRules) -> Result<(), ControlError> {
    if others.in_namespace < change.settings().rules_per_namespace_max {
        return Ok(());
    }
    let full = format!("the namespace holds {} rules, which is the most", others.in_namespace);
    Err(Problem::new(ErrorCode::Conflict, full).into())
}
