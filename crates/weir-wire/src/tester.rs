//! The tester in JSON: the result of each rule of a namespace for a request. A test takes nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::LimitAnswer;
use crate::regions::RegionLimits;
use crate::rules::ConditionBody;
use crate::words::{Action, Mode};

/// The results of all rules of a namespace for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestAnswer {
    /// Whether the check would be allowed now.
    pub allowed: bool,
    /// The rules that would deny it, in rule order.
    pub denied_by: Vec<String>,
    /// All rules of the namespace: first the enforced ones, last those that are off.
    pub rules: Vec<TestedRule>,
}

/// The result of one rule for the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestedRule {
    /// The name of the rule.
    pub rule: String,
    /// The id of the rule.
    pub rule_id: String,
    /// The mode of the rule.
    pub mode: Mode,
    /// The action of the rule for matching requests, by an override if one applies.
    pub action: Action,
    /// Whether the rule matches and counts the request.
    pub matches: bool,
    /// The first condition that does not hold.
    pub failed_condition: Option<FailedCondition>,
    /// The attribute by which the rule counts and that the request lacks.
    pub missing_attribute: Option<String>,
    /// Whether the schedule of the rule excludes the present time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_inactive: bool,
    /// The variant that the subject has; left out if the rule compares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The subject that the rule counts.
    pub subject: Option<BTreeMap<String, String>>,
    /// The override that applies to this subject.
    pub override_id: Option<String>,
    /// The plan of the customer that applies to this subject; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Whether this rule would allow the check.
    pub would_pass: bool,
    /// The present state of its limits.
    pub limits: Vec<LimitAnswer>,
    /// The limits in each region, if the rule is counted in several; `limits` is then the region where least is left. Left out
    /// otherwise. If a region did not answer, `remaining` and `reset_after_ms` are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionLimits>,
}

/// A condition that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FailedCondition {
    /// Its position in `match`, from 0.
    pub position: usize,
    /// The condition.
    pub condition: ConditionBody,
    /// The value that the request has for the attribute; null if it has none.
    pub actual: Option<String>,
}

/// A subject of a rule whose counters are to be reset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ResetBody {
    /// The rule.
    pub rule_id: String,
    /// A value for each attribute by which the rule counts.
    pub subject: BTreeMap<String, String>,
}

/// The result of a reset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResetAnswer {
    /// The number of counters that were reset.
    pub counters: u64,
}

/// The subjects of a rule whose counters are to be inspected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InspectBody {
    /// The rule.
    pub rule_id: String,
    /// 1 to 20 subjects, each with a value for each attribute by which the rule counts.
    pub subjects: Vec<BTreeMap<String, String>>,
}

/// The counters of some subjects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InspectAnswer {
    /// One entry for each subject, in the order of the request.
    pub data: Vec<InspectedSubject>,
}

/// The counters of one subject of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InspectedSubject {
    /// The subject, as in the request.
    pub subject: BTreeMap<String, String>,
    /// The override that applies to the subject.
    pub override_id: Option<String>,
    /// The plan of the customer that applies to the subject; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// The action that applies to the subject, by an override if there is one.
    pub action: Action,
    /// The present state of the limits: those of the override, if it has limits.
    pub limits: Vec<LimitAnswer>,
    /// The limits in each region, if the rule is counted in several; `limits` is then the region where least is left. Left out
    /// otherwise. If a region did not answer, `remaining` and `reset_after_ms` are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<RegionLimits>,
}

/// The most subjects of one inspection.
pub const INSPECT_MAX: usize = 20;
