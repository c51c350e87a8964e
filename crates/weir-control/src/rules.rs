//! Rules of a tenant.

use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use weir_domain::id::RuleId;
use weir_domain::pattern_budget::PatternCost;
use weir_domain::rule::{Rule, Slots};
use weir_domain::warnings;
use weir_http::problem::Problem;
use weir_store::{RuleBody as StoredBody, RuleRow};
use weir_wire::rules::{RuleAnswer, RuleBody};

use crate::change::{Change, to_value};
use crate::error::ControlError;
use crate::state::ControlState;

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod revert;
pub(crate) mod revisions;
mod together;
pub(crate) mod update;

pub(crate) fn routes() -> OpenApiRouter<ControlState> {
    OpenApiRouter::new()
        .routes(routes!(list::list, create::create))
        .routes(routes!(read::read, update::update, delete::delete))
        .routes(routes!(revisions::list))
        .routes(routes!(revert::revert))
}

/// A body that is a rule, checked.
pub(crate) struct Checked {
    pub(crate) body: RuleBody,
    pub(crate) rule: Rule,
}

impl Checked {
    /// Checks a body, or says everything that is wrong with it.
    pub(crate) fn new(body: RuleBody) -> Result<Self, Problem> {
        let rule = body.clone().parse().map_err(Problem::invalid)?;
        Ok(Self { body, rule })
    }

    /// Reads a stored rule back, which was checked when it was stored.
    pub(crate) fn stored(row: &RuleRow) -> Result<Self, Problem> {
        read_stored(row)
            .map_err(|reason| Problem::internal(format!("stored rule {}: {reason}", row.id)))
    }

    /// What is stored of it.
    fn to_stored(&self, slots: &Slots) -> Result<StoredBody, Problem> {
        Ok(StoredBody {
            namespace: self.body.namespace.clone(),
            name: self.body.name.clone(),
            spec: to_value(&self.body)?,
            slots: slots.taken.iter().map(|slot| u32::from(*slot)).collect(),
            next_slot: slots.next.into(),
            patterns: PatternCost::of(&self.rule),
        })
    }
}

/// Refuses a rule whose regular expressions exceed the budget of its tenant or namespace. Changes of rules wait for each
/// other at the version's row, so that two of them cannot exceed it together.
pub(crate) async fn within_pattern_budget(
    change: &mut Change,
    rule_id: RuleId,
    checked: &Checked,
) -> Result<(), ControlError> {
    let cost = PatternCost::of(&checked.rule);
    if cost.patterns == 0 {
        return Ok(());
    }
    let (tenant_id, namespace) = (change.caller.tenant_id, checked.rule.namespace());
    let (in_tenant, in_namespace) =
        change.tx.rules().pattern_costs(tenant_id, namespace, rule_id).await?;
    PatternCost::within(in_tenant.plus(cost), in_namespace.plus(cost))
        .map_err(|over| Problem::invalid_field("match", over.to_string()).into())
}

/// The slots of a stored rule.
pub(crate) fn slots(row: &RuleRow) -> Slots {
    let narrow = |slot: u32| u16::try_from(slot).unwrap_or(u16::MAX);
    Slots { taken: row.slots.iter().copied().map(narrow).collect(), next: narrow(row.next_slot) }
}

/// A rule in JSON, with what its writer should know. One that cannot be read is shown as far as it can be, so that it can
/// be found, reverted and deleted.
pub(crate) fn rule_answer(row: &RuleRow) -> Result<RuleAnswer, Problem> {
    let (body, warnings, unreadable) = match read_stored(row) {
        Ok(Checked { body, rule }) => (body, warnings::of_rule(&rule), None),
        Err(reason) => {
            let missing = || Problem::internal(format!("stored rule {} has no name", row.id));
            let named = json!({ "name": row.name, "namespace": row.namespace });
            let body = RuleBody::readable_part(&row.spec)
                .or_else(|| RuleBody::readable_part(&named))
                .ok_or_else(missing)?;
            (body, Vec::new(), Some(reason))
        }
    };
    Ok(RuleAnswer {
        id: row.id.to_string(),
        rule: body,
        revision: row.revision,
        rulebook_version: row.rulebook_version,
        created_at: row.created_at.into(),
        updated_at: row.updated_at.into(),
        warnings,
        unreadable,
    })
}

/// Reads a stored rule back, or says why it cannot be read.
pub(crate) fn read_stored(row: &RuleRow) -> Result<Checked, String> {
    let body: RuleBody =
        serde_json::from_value(row.spec.clone()).map_err(|error| error.to_string())?;
    Checked::new(body).map_err(|wrong| format!("{:?}", wrong.body("").fields))
}
