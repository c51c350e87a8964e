//! Subjects in JSON: the counters, overrides and denials of one subject across all rules, and the operations on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::LimitAnswer;
use crate::counted::CountedBody;
use crate::overrides::OverrideAnswer;
use crate::regions::RegionLimits;
use crate::simulate::SimulatedPlan;
use crate::stats::DenialEntry;
use crate::time::DateTime;
use crate::words::{Action, Mode};

/// The most rules of one inspection of a subject.
pub const SUBJECT_RULES_MAX: u32 = 200;
/// The most denials of one inspection of a subject.
pub const SUBJECT_DENIALS_MAX: u32 = 50;
/// The most subjects that one list of those near their limit inspects.
pub const NEAR_LIMIT_SUBJECTS_MAX: u32 = 200;
/// The shortest time of a temporary override, in seconds.
pub const FOR_S_MIN: u32 = 60;
/// The longest time of a temporary override, in seconds: 30 days.
pub const FOR_S_MAX: u32 = 30 * 86_400;
/// The factor of a raise that names none.
pub const FACTOR_DEFAULT: u32 = 2;
/// The greatest factor of a raise.
pub const FACTOR_MAX: u32 = 100;

/// `POST /tenants/{tenant}/subjects/inspect`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InspectSubjectBody {
    /// The attributes of the subject. Rules that count by other attributes as well are left out.
    #[cfg_attr(feature = "openapi", schema(example = json!({ "user": "u-17" })))]
    pub attributes: BTreeMap<String, String>,
    /// Only rules of this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whether the answer has the `history` of the denials. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
}

/// The counters of one subject across all rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InspectSubjectAnswer {
    /// The rules that count by the given attributes, in the order of namespace and name; at most 200.
    pub data: Vec<SubjectOfRule>,
    /// Whether more rules than these count the subject.
    pub truncated: bool,
    /// The denied checks of the log, newest first; at most 50. Checks denied by shadow rules are included.
    pub denials: Vec<DenialEntry>,
    /// The time up to which the denials are complete.
    pub as_of: DateTime,
    /// The denials of the last day over time; null unless the request has `history`.
    #[serde(default)]
    pub history: Option<SubjectHistory>,
}

/// The denials of a subject over the last day, as the rules of `data` count them. A check that two of these rules deny counts
/// twice. Gates count the busiest subjects, so the numbers of others are lower bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubjectHistory {
    /// The start of the first step.
    pub start: DateTime,
    /// The length of a step in seconds.
    pub step_s: u32,
    /// The denied checks of each step, at least.
    pub denied: Vec<u64>,
    /// The checks of each step that rules in shadow mode would have denied, at least.
    pub shadow_denied: Vec<u64>,
    /// The most denials of each step that can be missing in `denied` and `shadow_denied` together; 0 if they are exact.
    pub unknown: Vec<u64>,
    /// The time up to which the counts are complete; later ones can still grow.
    pub as_of: DateTime,
    /// The start of the step that contains the time an hour ago, from which `last_hour` counts.
    pub last_hour_from: DateTime,
    /// The rules that denied the subject since `last_hour_from`, or would have in shadow mode, the most denials first.
    pub last_hour: Vec<DenialsOfRule>,
}

/// The denials of a subject by one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DenialsOfRule {
    /// `rule_…`
    pub rule_id: String,
    /// The denied checks, at least.
    pub denied: u64,
    /// The checks that the rule would have denied in shadow mode, at least.
    pub shadow_denied: u64,
}

/// The counters of a subject of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubjectOfRule {
    /// `rule_…`
    pub rule_id: String,
    /// The name of the rule.
    pub rule: String,
    /// The namespace of the rule.
    pub namespace: String,
    /// The mode of the rule.
    pub mode: Mode,
    /// The action that applies to the subject, by an override if there is one.
    pub action: Action,
    /// The attributes that the rule counts by, in order.
    pub count_by: Vec<CountedBody>,
    /// The subject of the rule.
    pub subject: BTreeMap<String, String>,
    /// The override that applies to the subject; null if there is none.
    #[serde(rename = "override")]
    pub exception: Option<OverrideAnswer>,
    /// The plan of the customer that applies to the subject; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The present state of the limits, those of the override if it has limits. A limit that denies with units left blocks the
    /// subject, by `block_ms` of its rule, for `retry_after_ms`. If Redis did not answer, `remaining` and `reset_after_ms` are null.
    pub limits: Vec<LimitAnswer>,
    /// The limits in each region, if the rule is counted in several; `limits` is then the region where least is left. Left out
    /// otherwise. If a region did not answer, `remaining` and `reset_after_ms` are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionLimits>,
}

/// `POST /tenants/{tenant}/subjects/raise`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RaiseSubjectBody {
    /// The rule whose limits are raised.
    pub rule_id: String,
    /// A value for each attribute that the rule counts by.
    pub subject: BTreeMap<String, String>,
    /// The time in seconds after which the present limits apply again: 60 to 2,592,000 (30 days).
    #[cfg_attr(feature = "openapi", schema(minimum = 60, maximum = 2_592_000, example = 3600))]
    pub for_s: u32,
    /// The number by which the units of each limit are multiplied (for spacing, the interval is divided): 2 to 100;
    /// default 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 100))]
    pub factor: Option<u32>,
    /// A text for people; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /tenants/{tenant}/subjects/allow`, and `block`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AllowOrBlockBody {
    /// The rule that allows or denies the subject.
    pub rule_id: String,
    /// A value for each attribute that the rule counts by.
    pub subject: BTreeMap<String, String>,
    /// The time in seconds after which the rule's limits apply again: 60 to 2,592,000 (30 days).
    #[cfg_attr(feature = "openapi", schema(minimum = 60, maximum = 2_592_000, example = 3600))]
    pub for_s: u32,
    /// A text for people; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `POST /tenants/{tenant}/subjects/near-limit`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanNearLimitBody {
    /// The rule whose subjects are inspected. It must count by the customer attribute.
    pub rule_id: String,
    /// The plan as it would be.
    pub plan: SimulatedPlan,
    /// The least used share of a limit, in percent: 1 to 100; default 80.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100))]
    pub percent: Option<u8>,
}

/// The subjects that have used most of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NearLimitAnswer {
    /// The subjects of rules, the greatest used share first.
    pub data: Vec<NearLimit>,
    /// The number of subjects of rules that were inspected, the busiest since `from`; at most 200.
    pub inspected: u32,
    /// Whether these are all subjects with checks since `from`. Gates count only the busiest ones, so others can be near a limit too.
    pub complete: bool,
    /// The start of the time whose subjects were inspected: at least an hour.
    pub from: DateTime,
    /// The time up to which the subjects are known. Their counters are those of now.
    pub as_of: DateTime,
}

/// A subject of a rule, with the limit of which it has used the greatest share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NearLimit {
    /// `rule_…`
    pub rule_id: String,
    /// The name of the rule.
    pub rule: String,
    /// The namespace of the rule.
    pub namespace: String,
    /// The mode of the rule.
    pub mode: Mode,
    /// The attributes that the rule counts by.
    pub subject: BTreeMap<String, String>,
    /// The override that applies to the subject; null if there is none.
    pub override_id: Option<String>,
    /// The plan of the customer that applies to the subject; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The limit.
    pub limit: LimitAnswer,
}
