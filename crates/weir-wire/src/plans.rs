//! Plans and the assignments of customers to them, in JSON.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use weir_domain::email::EmailAddress;
use weir_domain::names;
use weir_domain::overrides::Effect;
use weir_domain::rule::{DESCRIPTION_CHARS_MAX, Rule};

use crate::limits::LimitBody;
use crate::overrides::{REASON_CHARS_MAX, effect_draft};
use crate::problem::FieldProblem;
use crate::time::DateTime;
use crate::words::Action;

/// Most plans of a tenant.
pub const PLANS_PER_TENANT_MAX: u64 = 100;
/// Most rules that a plan names.
pub const RULES_PER_PLAN_MAX: usize = 100;
/// Most older revisions of a plan that customers keep.
pub const PINNED_REVISIONS_MAX: usize = 10;
/// Most assignments of one bulk write.
pub const BULK_ASSIGNMENTS_MAX: usize = 5_000;
/// Most assignments of one customer that have not ended.
pub const ASSIGNMENTS_PER_CUSTOMER_MAX: usize = 8;

/// A plan in a request. It replaces the limits of the rules that it names, for the customers that are on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanBody {
    /// The name, unique in the tenant; `^[a-z0-9][a-z0-9-]{0,62}$`.
    #[cfg_attr(feature = "openapi", schema(example = "pro"))]
    pub name: String,
    /// A text for people; at most 1,000 characters.
    #[serde(default)]
    pub description: String,
    /// The rules that it names, at most 100. All other rules apply as they are.
    #[serde(default)]
    pub rules: Vec<PlanRule>,
}

/// The effect of a plan on a rule: either `limits`, or an `action` of `allow` or `deny`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanRule {
    /// The namespace of the rule; default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The name of the rule, which must count by the customer attribute.
    pub rule: String,
    /// The limits that replace the rule's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<LimitBody>>,
    /// `allow`: the rule does not limit these customers; `deny`: it refuses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
}

/// A plan in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanAnswer {
    /// `plan_…`
    pub id: String,
    /// The plan as it was written.
    #[serde(flatten)]
    pub plan: PlanBody,
    /// The number of assignments to its present revision that have not ended.
    pub customers: u64,
    /// The older revisions that some customers keep.
    pub pinned: Vec<PinnedRevisionCount>,
    /// The set of rules as code that the plan belongs to; null if people edit it.
    #[serde(default)]
    pub managed_by: Option<String>,
    /// Whether the plan differs from what the last apply of its set wrote.
    #[serde(default)]
    pub edited: bool,
    /// The revision, which rises by one with each change; also the `ETag`.
    pub revision: u64,
    /// The version of the rulebook from which this revision applies.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time of the last change.
    pub updated_at: DateTime,
}

/// An older revision of a plan that some customers keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PinnedRevisionCount {
    /// The revision.
    pub revision: u64,
    /// The number of assignments to it that have not ended.
    pub customers: u64,
}

/// The assignment of a customer to a plan in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AssignmentBody {
    /// The customer: the value of the customer attribute in checks.
    #[cfg_attr(feature = "openapi", schema(example = "acme"))]
    pub customer: String,
    /// `plan_…`
    pub plan: String,
    /// The time from which the customer is on the plan, in the future; left out or null: at once, in place of its present plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<DateTime>,
    /// The time from which the customer is not on it any more; left out or null: when its next plan begins, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime>,
    /// A text for people; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The address to which webhooks of kind `customer_email` send; at most 254 bytes. Left out or null: that of the assignment which
    /// ends with the begin of this one. Empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// The assignment of a customer to a plan in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssignmentAnswer {
    /// `assignment_…`
    pub id: String,
    /// The customer.
    pub customer: String,
    /// `plan_…`
    pub plan: String,
    /// The revision of the plan that the customer keeps; null: the present one.
    pub pinned_revision: Option<u64>,
    /// The time from which the customer is on the plan.
    pub from: DateTime,
    /// The time from which it is not on it any more; null: it has no end.
    pub until: Option<DateTime>,
    /// The text for people.
    pub note: String,
    /// The address to which webhooks of kind `customer_email` send; null: none.
    pub email: Option<String>,
    /// The set of rules as code that the assignment belongs to; null if people made it.
    #[serde(default)]
    pub managed_by: Option<String>,
    /// The version of the rulebook from which the assignment applies.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: DateTime,
}

/// Many assignments in one request: all are written, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkAssignmentsBody {
    /// Up to 5,000 assignments, at most one for each customer.
    pub assignments: Vec<AssignmentBody>,
}

/// The result of a bulk write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkAssignmentsAnswer {
    /// The number of assignments.
    pub created: u64,
    /// The version of the rulebook from which they apply.
    pub rulebook_version: u64,
}

impl PlanBody {
    /// All problems of its fields that can be found without its rules.
    pub fn problems(&self) -> Vec<FieldProblem> {
        let problem = |field: &str, result: Result<(), String>| {
            result.err().map(|reason| FieldProblem::new(field, reason))
        };
        let name = problem("name", names::rule(&self.name).map_err(str::to_owned));
        let description = names::prose(&self.description, DESCRIPTION_CHARS_MAX);
        let mut wrong: Vec<_> =
            name.into_iter().chain(problem("description", description)).collect();
        if self.rules.len() > RULES_PER_PLAN_MAX {
            let reason = format!("must hold at most {RULES_PER_PLAN_MAX} rules");
            wrong.push(FieldProblem::new("rules", reason));
        }
        let mut named = HashSet::new();
        for (at, rule) in self.rules.iter().enumerate() {
            if !named.insert((&rule.namespace, &rule.rule)) {
                wrong.push(FieldProblem::new("rule", "is named twice").at(at));
            }
            if let Err(fields) = effect_draft(rule.limits.as_deref(), rule.action) {
                wrong.extend(fields.into_iter().map(|field| field.at(at)));
            }
        }
        wrong
    }
}

impl PlanRule {
    /// Whether it is about this rule.
    pub fn names(&self, rule: &Rule) -> bool {
        *self.rule == *rule.name() && self.namespace == rule.namespace()
    }

    /// Its effect on the rule that it names.
    pub fn effect(&self, rule: &Rule) -> Result<Effect, Vec<FieldProblem>> {
        let draft = effect_draft(self.limits.as_deref(), self.action)?;
        let mut wrong = Vec::new();
        let effect = Effect::parse(draft, rule, &mut wrong);
        if wrong.is_empty() { Ok(effect) } else { Err(FieldProblem::list(wrong)) }
    }
}

impl FieldProblem {
    /// The problem of a field of the rule at this position of a plan.
    #[must_use]
    pub fn at(self, position: usize) -> Self {
        Self { field: format!("rules[{position}].{}", self.field), ..self }
    }
}

impl AssignmentBody {
    /// All problems of its fields that can be found without the plan and the other assignments.
    pub fn problems(&self, now: weir_domain::time::Timestamp) -> Vec<FieldProblem> {
        let mut wrong = customer_problems(&self.customer, self.note.as_deref());
        if let Some(email) = self.email.as_deref().filter(|email| !email.is_empty()) {
            let problem = |reason: &str| FieldProblem::new("email", reason);
            wrong.extend(EmailAddress::parse(email).err().map(problem));
        }
        if self.from.is_some_and(|from| from.0 <= now) {
            let reason = "must be in the future, or left out: at once";
            wrong.push(FieldProblem::new("from", reason));
        }
        let from = self.from.map_or(now, |from| from.0);
        if self.until.is_some_and(|until| until.0 <= from) {
            let reason = "must be later than `from`, and in the future";
            wrong.push(FieldProblem::new("until", reason));
        }
        wrong
    }
}

/// The problems of the customer and the note of an assignment.
pub(crate) fn customer_problems(customer: &str, note: Option<&str>) -> Vec<FieldProblem> {
    let customer = names::value(customer).err().map(|reason| FieldProblem::new("customer", reason));
    let note = names::prose(note.unwrap_or_default(), REASON_CHARS_MAX).err();
    customer.into_iter().chain(note.map(|reason| FieldProblem::new("note", reason))).collect()
}

fn default_namespace() -> String {
    "default".to_owned()
}
