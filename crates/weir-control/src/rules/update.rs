//! `PUT /tenants/{tenant}/rules/{rule}`

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::ceilings::Ceiling;
use weir_domain::id::RuleId;
use weir_domain::rule::carry_slots;
use weir_http::params::Path;
use weir_http::problem::Problem;
use weir_store::{OverrideFilter, Page, RuleRow, RuleWrite};
use weir_wire::problem::ErrorCode;
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::actor::{By, Editor, InNamespaces};
use crate::change::{Change, Object};
use crate::error::ControlError;
use crate::etag::IfMatch;
use crate::input::Input;
use crate::rule_service::{CheckedRule, slots};
use crate::rules::create::room_in_namespace;
use crate::rules::{edited_answer, fit, others};
use crate::state::ControlState;

/// Replace a rule, based on the revision named in `If-Match`.
///
/// Limits whose algorithm is unchanged keep their counters.
#[utoipa::path(put, path = "/tenants/{tenant}/rules/{rule}", operation_id = "rules_update", tag = "rules",
    params(
        ("tenant" = String, Path, description = "`tenant_…`"),
        ("rule" = String, Path, description = "`rule_…`"),
        ("If-Match" = String, Header, description = "The `ETag` last read"),
    ),
    request_body = RuleBody,
    responses(
        (status = 200, description = "Replaced", body = RuleAnswer,
            headers(("ETag" = String, description = "The revision, for `If-Match`"))),
        (status = 409, description = "The name is in use, or existing overrides conflict"),
        (status = 412, description = "Someone else changed this while you were editing"),
        (status = 428, description = "`If-Match` is missing"),
    ))]
pub(crate) async fn update(
    State(control): State<ControlState>,
    By { caller, .. }: By<InNamespaces<Editor>>,
    Path((_, rule)): Path<(String, String)>,
    if_match: IfMatch,
    Input { body, once }: Input<RuleBody>,
) -> Result<Response, ControlError> {
    let rule_id: RuleId = rule.parse().map_err(|_| Problem::not_found())?;
    let checked = CheckedRule::new(body)?;
    caller.namespaces.admit(&checked.body.namespace)?;
    let mut change = control.change("rules.update", caller, once).await?;
    let before = find(&mut change, rule_id).await?;
    let expected = if_match.required()?;
    let row = update_stored(&mut change, &before, &checked, expected, None).await?;
    change.answer(StatusCode::OK, &edited_answer(&before, &row)?).await
}

/// Replaces `before`, if it still has the expected revision, and records it in the audit log. From then on, the rule belongs
/// to the set of rules as code that is given, or stays where it is.
pub(crate) async fn update_stored(
    change: &mut Change,
    before: &RuleRow,
    checked: &CheckedRule,
    expected_revision: u64,
    managed_by: Option<&str>,
) -> Result<RuleRow, ControlError> {
    let row = replace(change, before, checked, expected_revision, managed_by).await?;
    let object = Object::new("rule", &before.id);
    let spec = Some(before.spec.clone());
    change.audit("rule.update", object, spec, Some(row.spec.clone()));
    Ok(row)
}

/// The rule to change.
pub(crate) async fn find(change: &mut Change, rule_id: RuleId) -> Result<RuleRow, ControlError> {
    let found = change.tx.rules().find(change.caller.tenant_id, rule_id).await?;
    let found = found.ok_or_else(Problem::not_found)?;
    change.caller.namespaces.admit(&found.namespace)?;
    Ok(found)
}

/// Replaces `before` with a checked rule, if it still has the expected revision.
pub(crate) async fn replace(
    change: &mut Change,
    before: &RuleRow,
    checked: &CheckedRule,
    expected_revision: u64,
    managed_by: Option<&str>,
) -> Result<RuleRow, ControlError> {
    // The attributes by which an unreadable rule counts are unknown, so the new rule does not reuse its counters.
    let old = CheckedRule::stored(before).ok();
    if old.as_ref().map(|old| old.rule.count_by()) != Some(checked.rule.count_by()) {
        no_overrides(change, before.id).await?;
    }
    let others = others(change, before.id, checked).await?;
    if before.namespace != checked.body.namespace {
        room_in_namespace(change, &others)?;
    }
    fit(change, &others, old.as_ref(), checked)?;
    let slots = match old {
        Some(old) => checked
            .rule
            .slots_after(&old.rule, &slots(before))
            .map_err(|problem| Problem::invalid_field(problem.field, problem.reason))?,
        None => carry_slots(&[], checked.rule.limits(), slots(before).next),
    };
    let write = RuleWrite {
        tenant_id: change.caller.tenant_id,
        id: before.id,
        body: checked.to_stored(&slots)?,
        managed_by: managed_by.map(str::to_owned),
        now: change.now,
    };
    let row = change.tx.rules().update(&write, expected_revision, &change.caller.actor).await?;
    let row = row.ok_or_else(Problem::not_found)?;
    let most = change.ceilings.get(Ceiling::RevisionsPerRule);
    if row.revision > most {
        change.tx.rules().keep_revisions(row.id, most).await?;
    }
    Ok(row)
}

/// Refuses other attributes in `count_by` while the rule has overrides. Overrides name subjects by these attributes and would
/// silently stop applying.
async fn no_overrides(change: &mut Change, rule_id: RuleId) -> Result<(), ControlError> {
    let page = Page { limit: 1, after: None };
    let tenant_id = change.caller.tenant_id;
    let filter = OverrideFilter::of_rule(rule_id);
    let listing = change.tx.overrides().list(tenant_id, &filter, &page).await?;
    if listing.items.is_empty() {
        return Ok(());
    }
    let detail =
        "the rule has overrides, whose subjects are named by its `count_by`; delete them first";
    Err(Problem::new(ErrorCode::Conflict, detail).into())
}
