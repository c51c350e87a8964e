//! The tester in JSON: the result of each rule of a namespace for a request, with nothing counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::LimitAnswer;
use crate::rules::ConditionBody;
use crate::words::{Action, Mode};

/// The results of all rules of a namespace for a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestAnswer {
    /// Whether the same check would pass now.
    pub allowed: bool,
    /// The rules that would refuse it, in rule order.
    pub denied_by: Vec<String>,
    /// Every rule of the namespace, enforced ones first; rules that are off come last.
    pub rules: Vec<TestedRule>,
}

/// The result of one rule for the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestedRule {
    /// Its name.
    pub rule: String,
    /// Its id.
    pub rule_id: String,
    /// The mode of the rule.
    pub mode: Mode,
    /// The action of the rule for matching requests, by an override if one applies.
    pub action: Action,
    /// Whether it matches and counts the request.
    pub matches: bool,
    /// The first condition that does not hold.
    pub failed_condition: Option<FailedCondition>,
    /// The attribute it counts by that the request lacks.
    pub missing_attribute: Option<String>,
    /// The subject that the rule counts.
    pub subject: Option<BTreeMap<String, String>>,
    /// The override that applies to this subject.
    pub override_id: Option<String>,
    /// Whether this rule would let the check pass.
    pub would_pass: bool,
    /// The state of its limits now, with nothing taken.
    pub limits: Vec<LimitAnswer>,
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
    /// A value for each attribute the rule counts by.
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
    /// 1 to 20 subjects, each with a value for each attribute the rule counts by.
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
    /// As asked.
    pub subject: BTreeMap<String, String>,
    /// The override that applies to the subject.
    pub override_id: Option<String>,
    /// The action that applies to the subject, by an override if there is one.
    pub action: Action,
    /// The limits as they stand now, with nothing taken; those of the override where it has some.
    pub limits: Vec<LimitAnswer>,
}

/// Subjects that one request can inspect.
pub const INSPECT_MAX: usize = 20;
