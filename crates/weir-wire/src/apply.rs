//! Rules as code: the wanted state of a set of rules and profiles, and the plan that leads to it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::audit::AuditActor;
use crate::profiles::ProfileBody;
use crate::rules::RuleBody;
use crate::time::DateTime;

/// Most rules of a set in one request.
pub const APPLY_RULES_MAX: usize = 1_000;
/// Most profiles of a set in one request. A tenant can have no more.
pub const APPLY_PROFILES_MAX: usize = 100;
/// Most deletions of a request that names no other number.
pub const ALLOW_DELETES_DEFAULT: u32 = 5;
/// The set of a request that names none.
pub const DEFAULT_SET: &str = "default";

/// `POST /tenants/{tenant}/apply`: the wanted state of all rules and profiles of a set. All of it is applied, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ApplyBody {
    /// The set, such as the name of a repository: the owner of its objects; `^[a-z0-9][a-z0-9-]{0,62}$`.
    #[serde(default = "default_set")]
    pub set: String,
    /// The rules, at most 1,000. A request has a rule or a profile.
    #[serde(default)]
    pub rules: Vec<ApplyRule>,
    /// The profiles, at most 100.
    #[serde(default)]
    pub profiles: Vec<ApplyProfile>,
    /// Whether rules and profiles of the set that are not in the request are deleted.
    #[serde(default)]
    pub prune: bool,
    /// The most objects that `prune` may delete; with more, nothing is applied.
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

/// A wanted rule.
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

/// A wanted profile.
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

/// The plan of an apply: what changed, or would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The deleted objects.
    pub deleted: Vec<ObjectName>,
    /// The number of objects that are as wanted.
    pub unchanged: u64,
    /// Warnings to the authors of rules that are new or changed.
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
}

/// The identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ObjectName {
    /// The kind.
    pub kind: ObjectKind,
    /// The namespace: of a profile, that of its checks.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// A changed object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UpdatedObject {
    /// The kind.
    pub kind: ObjectKind,
    /// `rule_…` or `profile_…`
    pub id: String,
    /// The namespace.
    pub namespace: String,
    /// The name after the change.
    pub name: String,
    /// The fields that differ. Empty if only the owner changes.
    pub changes: Vec<FieldChange>,
    /// Whether the object did not belong to the set before.
    pub adopted: bool,
    /// The author of the last change before this one.
    pub last_changed_by: AuditActor,
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

/// A warning about a rule.
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

impl ApplyAnswer {
    /// The number of objects that the plan creates, changes or deletes.
    pub fn changes(&self) -> usize {
        self.created.len() + self.updated.len() + self.deleted.len()
    }
}

fn default_set() -> String {
    DEFAULT_SET.to_owned()
}

const fn default_allow_deletes() -> u32 {
    ALLOW_DELETES_DEFAULT
}
