//! Overrides in JSON: other limits, or none, for one subject of a rule until a date.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_domain::overrides::{EffectDraft, Override, OverrideDraft};
use weir_domain::rule::Rule;

use crate::limits::LimitBody;
use crate::problem::FieldProblem;
use crate::time::DateTime;
use crate::words::Action;

/// An override in a request: either `limits`, or an `action` of `allow` or `deny`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OverrideBody {
    /// The rule it overrides.
    pub rule_id: String,
    /// A value for each attribute the rule counts by; `*` stands for any.
    pub subject: BTreeMap<String, String>,
    /// The effect that replaces the rule's limits.
    #[serde(default)]
    pub limits: Option<Vec<LimitBody>>,
    /// `allow`: the rule does not limit this subject; `deny`: it refuses it.
    #[serde(default)]
    pub action: Option<Action>,
    /// The time from which the override applies, earlier than `expires_at`; left out: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<DateTime>,
    /// The time from which the rule's own limits apply again.
    #[serde(default)]
    pub expires_at: Option<DateTime>,
    /// A text for people; at most 500 characters.
    #[serde(default)]
    pub reason: Option<String>,
}

/// An override in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OverrideAnswer {
    /// Its id.
    pub id: String,
    /// The override as it was written.
    #[serde(flatten)]
    pub body: OverrideBody,
    /// The set of rules as code that the override belongs to; null if people edit it.
    #[serde(default)]
    pub managed_by: Option<String>,
    /// Whether the override differs from what the last apply of its set wrote.
    #[serde(default)]
    pub edited: bool,
    /// A digest of what the last apply of its set wrote, by which `edited` is found; null if it belongs to no set. The undo of a
    /// deletion sends it.
    #[serde(default)]
    pub applied_digest: Option<String>,
    /// The revision, which rises by one with each change; also the `ETag`.
    pub revision: u64,
    /// The version of the rulebook from which this revision applies.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time of the last change.
    pub updated_at: DateTime,
}

/// `GET /tenants/{tenant}/overrides`: one page of the overrides that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OverridesPage {
    /// The overrides, oldest first.
    pub data: Vec<OverrideAnswer>,
    /// Pass it as `?cursor=` to get the next page; null on the last.
    pub next_cursor: Option<String>,
    /// The number of overrides that match, on all pages. Null after the first page, and if there are too many to count: more than
    /// 100,000, or with `subject` more than 10,000 to search.
    #[serde(default)]
    pub total: Option<u64>,
}

/// A deleted override, with its owner before the deletion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RestoreOverrideBody {
    /// The override.
    #[serde(rename = "override")]
    pub body: OverrideBody,
    /// The `managed_by` of the deleted override.
    #[serde(default)]
    pub managed_by: Option<String>,
    /// The `applied_digest` of the deleted override. Without it, the override counts as its set's last apply wrote it.
    #[serde(default)]
    pub applied_digest: Option<String>,
}

/// Many overrides in one request: all are written, or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkOverridesBody {
    /// Up to 5,000 overrides. An override of a subject that already has one replaces it.
    pub overrides: Vec<OverrideBody>,
    /// The sets of rules as code whose overrides can be changed. If another set owns one that would change, nothing is written
    /// (409). Without this list, those of all sets can be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replace_sets: Option<Vec<String>>,
    /// Whether to answer what would be written and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of a bulk write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkOverridesAnswer {
    /// The number of new overrides.
    pub created: u64,
    /// The number of overrides that replaced another.
    pub updated: u64,
    /// The sets of rules as code that own overrides which changed. The next apply of a set undoes the change.
    #[serde(default)]
    pub replaced_sets: Vec<ReplacedSet>,
    /// The version of the rulebook from which they apply; of a dry run, the version at which the tenant last changed.
    pub rulebook_version: u64,
}

/// A set of rules as code, of which a bulk write changes overrides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReplacedSet {
    /// The name of the set.
    pub set: String,
    /// The number of its overrides that change. Unchanged overrides do not count.
    pub overrides: u64,
}

/// Most overrides that the `total` of a list counts.
pub const OVERRIDES_TOTAL_MAX: u64 = 100_000;
/// Most overrides that are searched to count those with a text in their subject.
pub const OVERRIDES_SEARCHED_MAX: u64 = 10_000;
/// Most overrides of one bulk write.
pub const BULK_OVERRIDES_MAX: usize = 5_000;
/// Most characters of a reason.
pub const REASON_CHARS_MAX: usize = 500;

impl OverrideBody {
    /// The override of `rule`, or all problems of its fields.
    pub fn parse(&self, rule: &Rule) -> Result<Override, Vec<FieldProblem>> {
        let effect = effect_draft(self.limits.as_deref(), self.action)?;
        if let Some(reason) = &self.reason
            && let Err(why) = weir_domain::names::prose(reason, REASON_CHARS_MAX)
        {
            return Err(vec![FieldProblem::new("reason", why)]);
        }
        if self.starts_at.zip(self.expires_at).is_some_and(|(start, end)| end.0 <= start.0) {
            let reason = "must be earlier than `expires_at`";
            return Err(vec![FieldProblem::new("starts_at", reason)]);
        }
        let starts_at = self.starts_at.map(|time| time.0);
        let draft = OverrideDraft { subject: self.subject.clone(), effect, starts_at };
        Override::parse(draft, rule).map_err(FieldProblem::list)
    }
}

/// The effect of an override or a plan in JSON: either limits, or an action of `allow` or `deny`.
pub(crate) fn effect_draft(
    limits: Option<&[LimitBody]>,
    action: Option<Action>,
) -> Result<EffectDraft, Vec<FieldProblem>> {
    match (limits, action) {
        (Some(limits), None | Some(Action::Limit)) => {
            Ok(EffectDraft::Limits(limits.iter().cloned().map(Into::into).collect()))
        }
        (None, Some(Action::Allow)) => Ok(EffectDraft::Allow),
        (None, Some(Action::Deny)) => Ok(EffectDraft::Deny),
        _ => {
            let reason = "must be given alone, or left out for an `action` of `allow` or `deny`";
            Err(vec![FieldProblem::new("limits", reason)])
        }
    }
}
