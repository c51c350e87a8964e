//! The limits of many subjects of many rules, from their counters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::try_join_all;
use weir_domain::draft::Mode;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::Timestamp;
use weir_http::problem::Problem;
use weir_store::{OverrideRow, RuleRow, Tx};
use weir_wire::check::LimitAnswer;
use weir_wire::limits::AlgorithmName;
use weir_wire::problem::FieldProblem;
use weir_wire::simulate::SimulatedPlan;
use weir_wire::subjects::NearLimit;

use crate::error::ControlError;
use crate::rule_service::{
    CheckedRule, CountersError, Exceptions, RuleSubject, SubjectLimits, active_rule, limits_of,
    override_digests, spread_by,
};
use crate::state::ControlState;

/// The attributes of a subject.
pub(crate) type Subject = BTreeMap<String, String>;

/// Subjects of rules, with the overrides and plans that apply to them.
pub(crate) struct CountedSubjects {
    /// The rules, those of a namespace one after the other.
    rows: Vec<RuleRow>,
    subjects: HashMap<RuleId, Vec<Subject>>,
    exceptions: Exceptions,
}

/// A subject of a rule and its limits.
type SubjectAndLimits = (RuleSubject, Result<SubjectLimits, CountersError>);

impl CountedSubjects {
    /// Rules in the order of their namespaces, and their subjects. Rules that count nothing, because they are off or cannot be read,
    /// are left out. With `changed`, the customers' plans are those of now with this change, which one of the rules must fit.
    pub(crate) async fn load(
        tx: &mut Tx,
        tenant_id: TenantId,
        mut rows: Vec<RuleRow>,
        subjects: HashMap<RuleId, Vec<Subject>>,
        now: Timestamp,
        changed: Option<&SimulatedPlan>,
    ) -> Result<Self, ControlError> {
        rows.retain(|row| {
            CheckedRule::stored(row).is_ok_and(|checked| checked.rule.mode() != Mode::Off)
        });
        let exceptions = Exceptions::from(overrides(tx, tenant_id, &rows, &subjects).await?);
        let customers = |name: &str| {
            subjects.values().flatten().filter_map(|one| one.get(name).cloned()).collect()
        };
        let exceptions = match (changed, rows.first()) {
            (Some(changed), Some(row)) => {
                let rule = CheckedRule::stored(row)?.rule;
                let present = exceptions.with_present_plans(tx, tenant_id, now, customers).await?;
                let changed = present.with_changed_plans(&rule, Some(changed), &[]);
                changed.map_err(|problems| Problem::invalid(of_rule_id(problems)))?
            }
            _ => exceptions.with_plans(tx, tenant_id, now, customers).await?,
        };
        Ok(Self { rows, subjects, exceptions })
    }

    /// The present limits of each subject.
    pub(crate) async fn limits(
        &self,
        control: &ControlState,
        now: Timestamp,
    ) -> Result<Vec<SubjectAndLimits>, ControlError> {
        let by_namespace = self.rows.chunk_by(|one, other| one.namespace == other.namespace);
        let read = by_namespace.map(|rows| self.of_namespace(control, rows, now));
        Ok(try_join_all(read).await?.into_iter().flatten().collect())
    }

    /// The same for these rules, which are of one namespace.
    async fn of_namespace(
        &self,
        control: &ControlState,
        rows: &[RuleRow],
        now: Timestamp,
    ) -> Result<Vec<SubjectAndLimits>, ControlError> {
        let mut inspected = Vec::new();
        for row in rows {
            let active: Arc<ActiveRule> = active_rule(row, &self.exceptions)?;
            // A rule can count by other attributes than an hour ago.
            inspected.extend(self.subjects.get(&row.id).into_iter().flatten().filter_map(
                |subject| {
                    RuleSubject::new((Arc::clone(&active), spread_by(row)), subject, now).ok()
                },
            ));
        }
        let (tenant, namespace) = (rows[0].tenant_id, &rows[0].namespace);
        let limits = limits_of(control, tenant, namespace, &inspected).await;
        Ok(inspected.into_iter().zip(limits).collect())
    }
}

/// The limit of which a subject has used the greatest share, with the share in millionths. Spacing is left out, because each check uses
/// all of it. A limit that was not read counts as unused.
pub(crate) fn fullest(
    subject: &RuleSubject,
    limits: Vec<LimitAnswer>,
) -> Option<(u128, NearLimit)> {
    let share = |limit: &LimitAnswer| u128::from(used(limit)) * 1_000_000 / u128::from(limit.limit);
    let counts = |limit: &LimitAnswer| limit.limit > 0 && limit.algorithm != AlgorithmName::Spacing;
    let limit = limits.into_iter().filter(counts).max_by_key(share)?;
    let ActiveRule { id, rule, .. } = &*subject.active;
    let near = NearLimit {
        rule_id: id.to_string(),
        rule: rule.name().to_owned(),
        namespace: rule.namespace().to_owned(),
        mode: rule.mode().into(),
        override_id: subject.override_id().map(|id| id.to_string()),
        plan_id: subject.plan_id().map(|id| id.to_string()),
        subject: subject.subject.clone(),
        limit,
    };
    Some((share(&near.limit), near))
}

/// The used units of a limit.
pub(crate) fn used(limit: &LimitAnswer) -> u64 {
    limit.limit.saturating_sub(limit.remaining.unwrap_or(limit.limit))
}

/// The overrides that can apply to these subjects of rules.
async fn overrides(
    tx: &mut Tx,
    tenant_id: TenantId,
    rows: &[RuleRow],
    subjects: &HashMap<RuleId, Vec<Subject>>,
) -> Result<Vec<OverrideRow>, ControlError> {
    let mut keys = Vec::new();
    for row in rows {
        let rule = CheckedRule::stored(row)?.rule;
        for subject in subjects.get(&row.id).into_iter().flatten() {
            let digests = override_digests(&rule, subject).into_iter();
            keys.extend(digests.map(|digest| (row.id, digest)));
        }
    }
    Ok(tx.overrides().of_keys(tenant_id, &keys).await?)
}

/// Problems of the rule, which a request names by its id.
fn of_rule_id(problems: Vec<FieldProblem>) -> Vec<FieldProblem> {
    let named = |problem: FieldProblem| {
        if problem.field.starts_with("rule.") {
            let reason = "must count by the `customer_attribute` of the tenant";
            return FieldProblem::new("rule_id", reason);
        }
        problem
    };
    problems.into_iter().map(named).collect()
}
