//! Overrides: exceptions for one subject of a rule.

use weir_domain::id::OverrideId;
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OverrideBody as StoredBody, OverrideRow, OverrideSpec, Tx};
use weir_wire::overrides::{OverrideAnswer, OverrideBody};
use weir_wire::problem::FieldProblem;

use crate::actor::Caller;
use crate::answers::to_value;
use crate::error::ControlError;
use crate::rule_service::subject_digest;
use crate::specs::Kind;

pub(crate) mod bulk;
pub(crate) mod read;
pub(crate) mod restore;
pub(crate) mod write;

/// The longest body: five thousand overrides of a few hundred bytes each.
pub(crate) const BULK_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Kind for OverrideSpec {
    const WORD: &'static str = "override";
    const ID: fn(Timestamp, u128) -> OverrideId = OverrideId::new;
    type Answer = OverrideAnswer;

    /// The namespace is that of the rule.
    async fn admit(tx: &mut Tx, caller: &Caller, row: &OverrideRow) -> Result<(), ControlError> {
        if !caller.namespaces.are_restricted() {
            return Ok(());
        }
        let rule = tx.rules().find(caller.tenant_id, row.rule_id).await?;
        let rule = rule.ok_or_else(Problem::not_found)?;
        Ok(caller.namespaces.admit(&rule.namespace)?)
    }

    fn answer(row: &OverrideRow) -> Result<OverrideAnswer, Problem> {
        override_answer(row)
    }
}

/// Checks an override against its rule. Returns its columns.
pub(crate) fn checked(
    body: &OverrideBody,
    rule: &Rule,
    now: Timestamp,
) -> Result<StoredBody, Vec<FieldProblem>> {
    let parsed = body.parse(rule)?;
    let invalid = |field, reason: &str| vec![FieldProblem::new(field, reason)];
    let expires_at = body.expires_at.map(|at| at.0);
    if expires_at.is_some_and(|at| at <= now) {
        return Err(invalid("expires_at", "must be in the future"));
    }
    let rule_id =
        body.rule_id.parse().map_err(|_| invalid("rule_id", "is not a rule of this tenant"))?;
    let value =
        |result: Result<_, Problem>| result.map_err(|_| invalid("body", "cannot be stored"));
    Ok(StoredBody {
        rule_id,
        subject: value(to_value(&body.subject))?,
        subject_digest: subject_digest(parsed.subject_key(rule)),
        spec: value(to_value(body))?,
        reason: body.reason.clone().unwrap_or_default(),
        expires_at,
    })
}

/// An override in JSON.
pub(crate) fn override_answer(row: &OverrideRow) -> Result<OverrideAnswer, Problem> {
    Ok(OverrideAnswer {
        id: row.id.to_string(),
        body: serde_json::from_value(row.spec.clone()).map_err(Problem::internal)?,
        managed_by: row.managed_by.clone(),
        edited: row.edited,
        applied_digest: row.applied_digest.clone(),
        revision: row.revision,
        rulebook_version: row.rulebook_version,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
    })
}
