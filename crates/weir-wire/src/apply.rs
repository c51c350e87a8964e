//! Rules as code: the wanted state of a set of rules, profiles, plans, assignments, overrides and alerts, and the
//! plan that leads to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::audit::AuditActor;
use crate::limits::LimitBody;
use crate::overrides::OverrideBody;
use crate::plans::{BULK_ASSIGNMENTS_MAX, PlanBody};
use crate::profiles::ProfileBody;
use crate::rules::RuleBody;
use crate::time::DateTime;
use crate::words::Action;

mod alert;
mod assignment;

pub use alert::{ApplyAlert, WEBHOOK_CHARS_MAX};
pub use assignment::{ApplyAssignment, Overlap, by_customer, overlaps};

/// Most rules of a set in one request.
pub const APPLY_RULES_MAX: usize = 1_000;
/// Most profiles of a set in one request. A tenant can have no more.
pub const APPLY_PROFILES_MAX: usize = 100;
/// Most plans of a set in one request. A tenant can have no more.
pub const APPLY_PLANS_MAX: usize = 100;
/// Most assignments of a set in one request, as of one bulk write.
pub const APPLY_ASSIGNMENTS_MAX: usize = BULK_ASSIGNMENTS_MAX;
/// Most overrides of a set in one request.
pub const APPLY_OVERRIDES_MAX: usize = 1_000;
/// Most alerts of a set in one request. A tenant can have no more.
pub const APPLY_ALERTS_MAX: usize = 100;
/// Most deletions of a request that names no other number.
pub const ALLOW_DELETES_DEFAULT: u32 = 5;
/// The set of a request that names none.
pub const DEFAULT_SET: &str = "default";

/// `POST /tenants/{tenant}/apply`: the desired state of all objects of a set. All of it is applied, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyBody {
    /// The set, such as the name of a repository: the owner of its objects; `^[a-z0-9][a-z0-9-]{0,62}$`.
    #[serde(default = "default_set")]
    pub set: String,
    /// The rules, at most 1,000. A request has at least one object.
    #[serde(default)]
    pub rules: Vec<ApplyRule>,
    /// The profiles, at most 100.
    #[serde(default)]
    pub profiles: Vec<ApplyProfile>,
    /// The plans, at most 100. A key that is restricted to namespaces cannot apply plans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<ApplyPlan>,
    /// The assignments of customers to plans, at most 5,000. A key that is restricted to namespaces cannot apply assignments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<ApplyAssignment>,
    /// The overrides, at most 1,000.
    #[serde(default)]
    pub overrides: Vec<ApplyOverride>,
    /// The alerts, at most 100. A key that is restricted to namespaces cannot apply alerts.
    #[serde(default)]
    pub alerts: Vec<ApplyAlert>,
    /// Whether objects of the set that are not in the request are deleted.
    #[serde(default)]
    pub prune: bool,
    /// The most objects that `prune` may delete, with all overrides of deleted rules; with more, nothing is applied.
    #[serde(default = "default_allow_deletes")]
    pub allow_deletes: u32,
    /// Whether objects that do not belong to the set may be changed; they then belong to it.
    #[serde(default)]
    pub adopt: bool,
    /// Whether to answer with the plan and change nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The `version` of an earlier plan. If anything that gates serve has changed since, nothing is applied.
    #[serde(default)]
    pub if_version: Option<u64>,
}

/// A desired rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyRule {
    /// The rule. Namespace and name identify it.
    pub rule: RuleBody,
    /// The former name of the rule in its namespace. The rule keeps its id, counters and revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}

/// A desired profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyProfile {
    /// The profile. Its name identifies it.
    pub profile: ProfileBody,
    /// The former name of the profile. The profile keeps its id and revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}

/// A desired plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyPlan {
    /// The plan. Its name identifies it.
    pub plan: PlanBody,
    /// The former name of the plan. The plan keeps its id, customers and revisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}

/// A desired override: either `limits`, or an `action` of `allow` or `deny`. The rule and the subject identify it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyOverride {
    /// The namespace of the rule.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The name of the rule: one of the request, or a stored one.
    pub rule: String,
    /// A value for each attribute the rule counts by; `*` stands for any.
    pub subject: BTreeMap<String, String>,
    /// The effect that replaces the rule's limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<LimitBody>>,
    /// `allow`: the rule does not limit this subject; `deny`: it refuses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The time from which the override applies, earlier than `expires_at`; left out: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<DateTime>,
    /// The time from which the rule's own limits apply again. An override whose time has passed is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime>,
    /// A text for people; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The plan of an apply: what changed, or would change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApplyAnswer {
    /// Whether the plan was applied.
    pub applied: bool,
    /// The version of the rulebook at which the tenant had last changed when the plan was made, for `if_version`.
    pub version: u64,
    /// The version of the rulebook from which gates serve the result.
    pub rulebook_version: u64,
    /// The new objects.
    pub created: Vec<ObjectName>,
    /// The changed objects.
    pub updated: Vec<UpdatedObject>,
    /// The deleted objects. The overrides of a deleted rule come before it, of whichever owner, and no more than 100 in all.
    pub deleted: Vec<ObjectName>,
    /// The number of further overrides of deleted rules.
    #[serde(default)]
    pub deleted_more: u64,
    /// The number of unchanged objects.
    pub unchanged: u64,
    /// Warnings to the authors of rules and profiles that are new or changed.
    pub warnings: Vec<PlanWarning>,
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A rule. Namespace and name identify it.
    Rule,
    /// A profile. The name identifies it.
    Profile,
    /// A plan. The name identifies it.
    Plan,
    /// The assignments of one customer. The customer identifies them.
    Assignment,
    /// An override. The rule and the subject identify it; the name holds both.
    Override,
    /// An alert. The set and the name identify it.
    Alert,
}

/// The identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ObjectName {
    /// The kind.
    pub kind: ObjectKind,
    /// The namespace: empty of a plan and of assignments; of a profile, that of its checks; of an override, that of its rule; of an alert, that of its rule or of the
    /// requests that it watches. Empty for an alert about all requests.
    pub namespace: String,
    /// The name: of an override, the rule and the subject, such as `login user=u-17`; of assignments, the customer.
    pub name: String,
}

/// A changed object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdatedObject {
    /// The kind.
    pub kind: ObjectKind,
    /// `rule_…`, `profile_…`, `plan_…`, `override_…`, `alert_…` or, of the first of the customer, `assignment_…`
    pub id: String,
    /// The namespace.
    pub namespace: String,
    /// The name after the change.
    pub name: String,
    /// The fields that differ. Empty if only the owner changes.
    pub changes: Vec<FieldChange>,
    /// Whether the object did not belong to the set before.
    pub adopted: bool,
    /// The author of the last change before this one; null for overrides, assignments and alerts, whose authors only
    /// the audit log names.
    pub last_changed_by: Option<AuditActor>,
    /// The time of that change.
    pub last_changed_at: DateTime,
}

/// A field of an object that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldChange {
    /// The field.
    pub field: String,
    /// The value before.
    pub before: Value,
    /// The value after.
    pub after: Value,
}

/// A warning about a rule, or about a profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanWarning {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The warning.
    pub text: String,
}

impl ApplyOverride {
    /// An override of the API, whose rule has this namespace and name.
    pub fn of(body: OverrideBody, namespace: String, rule: String) -> Self {
        Self {
            namespace,
            rule,
            subject: body.subject,
            limits: body.limits,
            action: body.action,
            starts_at: body.starts_at,
            expires_at: body.expires_at,
            reason: body.reason,
        }
    }

    /// The override as one of this rule.
    pub fn body(&self, rule_id: String) -> OverrideBody {
        OverrideBody {
            rule_id,
            subject: self.subject.clone(),
            limits: self.limits.clone(),
            action: self.action,
            starts_at: self.starts_at,
            expires_at: self.expires_at,
            reason: self.reason.clone(),
        }
    }

    /// The rule and the subject, as people read them.
    pub fn name(&self) -> String {
        name_of_override(&self.rule, &self.subject)
    }
}

/// The name of an override, such as `login user=u-17`.
pub fn name_of_override(rule: &str, subject: &BTreeMap<String, String>) -> String {
    let values = subject.iter().map(|(attribute, value)| format!(" {attribute}={value}"));
    format!("{rule}{}", values.collect::<String>())
}

impl ApplyAnswer {
    /// The number of objects that the plan creates, changes or deletes.
    pub fn changes(&self) -> usize {
        self.created.len() + self.updated.len() + self.deletions()
    }

    /// The number of objects that the plan deletes.
    pub fn deletions(&self) -> usize {
        let more = usize::try_from(self.deleted_more).unwrap_or(usize::MAX);
        self.deleted.len().saturating_add(more)
    }
}

fn default_namespace() -> String {
    "default".to_owned()
}

fn default_set() -> String {
    DEFAULT_SET.to_owned()
}

const fn default_allow_deletes() -> u32 {
    ALLOW_DELETES_DEFAULT
}
