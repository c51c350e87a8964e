//! An override of one subject that ends by itself. It replaces an override of the same subject only if that ends no later, so
//! nothing that was meant to stay is lost.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use axum::response::Response;
use weir_domain::draft::Action;
use weir_domain::id::RuleId;
use weir_domain::overrides::{Source, override_keys};
use weir_domain::rule::Rule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OverrideRow, RuleRow};
use weir_wire::limits::LimitBody;
use weir_wire::overrides::OverrideBody;
use weir_wire::problem::ErrorCode;
use weir_wire::rules::RuleBody;
use weir_wire::subjects::{FOR_S_MAX, FOR_S_MIN};
use weir_wire::time::DateTime;
use weir_wire::words;

use crate::change::Change;
use crate::error::ControlError;
use crate::overrides::write::{in_force, insert};
use crate::overrides::{checked, override_answer};
use crate::rule_service::{
    CheckedRule, Exceptions, active_rule, subject_digest, subject_of, subject_values,
};
use crate::specs::replace_stored;
use crate::state::ControlState;

/// A subject of a rule, and what applies to it now.
pub(super) struct Target {
    row: RuleRow,
    rule: Rule,
    subject: BTreeMap<String, String>,
    /// The override of exactly this subject, which is replaced.
    own: Option<OverrideRow>,
    /// The overrides whose `*` stands for values of the subject, and the plan of its customer.
    others: Exceptions,
    until: Timestamp,
}

impl Target {
    pub(super) async fn load(
        change: &mut Change,
        rule_id: &str,
        subject: BTreeMap<String, String>,
        for_s: u32,
    ) -> Result<Self, ControlError> {
        if !(FOR_S_MIN..=FOR_S_MAX).contains(&for_s) {
            let reason = format!("must be from {FOR_S_MIN} to {FOR_S_MAX}");
            return Err(Problem::invalid_field("for_s", reason).into());
        }
        let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
        let rule_id: RuleId = rule_id.parse().map_err(|_| missing())?;
        let tenant_id = change.caller.tenant_id;
        let row = change.tx.rules().find(tenant_id, rule_id).await?.ok_or_else(missing)?;
        change.caller.namespaces.admit(&row.namespace)?;
        let rule = CheckedRule::stored(&row)?.rule;
        if rule.action() != Action::Limit {
            return Err(Problem::invalid_field("rule_id", "must be a rule with limits").into());
        }
        let values = subject_values(&rule, &subject)?;
        if let Some((name, _)) = subject.iter().find(|(_, value)| *value == "*") {
            let reason = "must be one value: `*` stands for any";
            return Err(Problem::invalid_field(format!("subject.{name}"), reason).into());
        }
        let keys = override_keys(&rule, &values).into_iter();
        let keys: Vec<_> = keys.map(|key| (rule_id, subject_digest(key))).collect();
        let rows = change.tx.overrides().of_keys(tenant_id, &keys).await?;
        let is_own = |row: &OverrideRow| {
            let stored = subject_of(row.subject.clone());
            subject_values(&rule, &stored).is_ok_and(|stored| stored == values)
        };
        let (own, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_own);
        let until = change.now.plus_ms(i64::from(for_s) * 1000);
        let own = own.into_iter().next();
        if let Some(own) = &own {
            ends_no_later(own, until)?;
        }
        let customers = |name: &str| subject.get(name).cloned().into_iter().collect();
        let others = Exceptions::from(others);
        let others = others.with_plans(&mut change.tx, tenant_id, change.now, customers).await?;
        Ok(Self { row, rule, subject, own, others, until })
    }

    /// The limits that apply to the subject without its own override.
    pub(super) fn limits(&self, now: Timestamp) -> Result<Vec<LimitBody>, ControlError> {
        if let Some(own) = self.own.as_ref().filter(|own| in_force(own, now)) {
            limits_of(own)?;
        }
        let active = active_rule(&self.row, &self.others)?;
        let values = subject_values(&self.rule, &self.subject)?;
        match active.overrides.find(&active.rule, &values, now).map(|found| found.source) {
            Some(Source::Override(id)) => {
                let exception = self.others.overrides.iter().find(|row| row.id == id);
                return exception.map_or_else(|| Ok(Vec::new()), limits_of);
            }
            Some(Source::Plan(plan)) => {
                let planned = self.others.planned(plan, &active.rule);
                return planned.and_then(|planned| planned.limits).ok_or_else(|| {
                    let detail = format!("{} has no limits for the subject: edit it", plan.plan);
                    Problem::new(ErrorCode::Conflict, detail).into()
                });
            }
            None => {}
        }
        let body: RuleBody =
            serde_json::from_value(self.row.spec.clone()).map_err(Problem::internal)?;
        Ok(body.limits)
    }

    /// Writes the override, commits and answers.
    pub(super) async fn write(
        self,
        control: &ControlState,
        mut change: Change,
        limits: Option<Vec<LimitBody>>,
        action: Option<words::Action>,
        reason: Option<String>,
    ) -> Result<Response, ControlError> {
        let body = OverrideBody {
            rule_id: self.row.id.to_string(),
            subject: self.subject,
            limits,
            action,
            starts_at: None,
            expires_at: Some(DateTime(self.until)),
            reason,
        };
        let stored = checked(&body, &self.rule, change.now).map_err(Problem::invalid)?;
        let (status, row) = match self.own {
            None => (StatusCode::CREATED, insert(control, &mut change, stored, None).await?),
            Some(own) => {
                let revision = own.revision;
                let row = replace_stored(&mut change, "update", &own, stored, revision, None);
                (StatusCode::OK, row.await?)
            }
        };
        change.answer(status, &override_answer(&row)?).await
    }
}

/// Refuses to replace an override that ends later or never.
fn ends_no_later(own: &OverrideRow, until: Timestamp) -> Result<(), Problem> {
    let end = match own.expires_at {
        Some(at) if at <= until => return Ok(()),
        Some(at) => format!("ends later, at {}", DateTime(at).text()),
        None => "does not end".to_owned(),
    };
    let detail = format!("the subject has the override {}, which {end}: edit or delete it", own.id);
    Err(Problem::new(ErrorCode::Conflict, detail))
}

/// The limits of an override, unless it allows or denies the subject.
fn limits_of(row: &OverrideRow) -> Result<Vec<LimitBody>, ControlError> {
    let body: OverrideBody = serde_json::from_value(row.spec.clone()).map_err(Problem::internal)?;
    let effect = if body.action == Some(words::Action::Deny) { "denies" } else { "allows" };
    body.limits.ok_or_else(|| {
        let detail = format!("the override {} {effect} the subject: edit or delete it", row.id);
        Problem::new(ErrorCode::Conflict, detail).into()
    })
}
