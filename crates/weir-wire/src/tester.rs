//! The tester in JSON: how each rule of a namespace meets a request, with nothing counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::LimitAnswer;
use crate::rules::ConditionBody;
use crate::words::{Action, Mode};

/// How the rules of a namespace meet a request.
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

/// How one rule meets the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestedRule {
    /// Its name.
    pub rule: String,
    /// Its id.
    pub rule_id: String,
    /// Whether it is in force.
    pub mode: Mode,
    /// What it does with requests it matches, by an override if one holds.
    pub action: Action,
    /// Whether it matches and counts the request.
    pub matches: bool,
    /// The first condition that does not hold.
    pub failed_condition: Option<FailedCondition>,
    /// The attribute it counts by that the request lacks.
    pub missing_attribute: Option<String>,
    /// Whom it counts.
    pub subject: Option<BTreeMap<String, String>>,
    /// The override that holds for this subject.
    pub override_id: Option<String>,
    /// Whether this rule would let the check pass.
    pub would_pass: bool,
    /// Its limits as they stand now, with nothing taken.
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
    /// What the request has there; null if nothing.
    pub actual: Option<String>,
}

/// Whose counters of which rule are to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ResetBody {
    /// The rule.
    pub rule_id: String,
    /// A value for each attribute the rule counts by.
    pub subject: BTreeMap<String, String>,
}

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ResetAnswer {
    /// How many counters there were.
    pub counters: u64,
}

/// Which counters of a rule to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InspectBody {
    /// The rule.
    pub rule_id: String,
    /// 1 to 20 subjects, each with a value for each attribute the rule counts by.
    pub subjects: Vec<BTreeMap<String, String>>,
}

/// How the counters of some subjects stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InspectAnswer {
    /// One for each subject, in the order asked.
    pub data: Vec<InspectedSubject>,
}

/// How one subject stands with a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InspectedSubject {
    /// As asked.
    pub subject: BTreeMap<String, String>,
    /// The override that holds for it.
    pub override_id: Option<String>,
    /// What holds for it, by an override if there is one.
    pub action: Action,
    /// The limits as they stand now, with nothing taken; those of the override where it has some.
    pub limits: Vec<LimitAnswer>,
}

/// Most subjects of one look.
pub const INSPECT_MAX: usize = 20;
