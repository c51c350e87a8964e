//! Rules in JSON: the body of requests, which is stored, and the answer.

mod controls;

pub use controls::{BlockBody, Control, PriorityBody, ScheduleBody, Share, VariantBody, controls};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_domain::counted::Counted;
use weir_domain::draft::{ConditionDraft, Operand, RuleDraft};
use weir_domain::rule::Rule;

use crate::counted::CountedBody;
use crate::limits::LimitBody;
use crate::problem::FieldProblem;
use crate::time::DateTime;
use crate::words::{Action, Consistency, Mode, OnStoreFailure, Op, Over, Reach};

/// The most ids in a request for rules; more do not fit into a URL.
pub const RULE_IDS_MAX: usize = 100;

/// A rule in a request. Fields left out have their defaults; unknown ones are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleBody {
    /// The group of rules; `^[a-z0-9][a-z0-9_-]{0,62}$`, default `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// The name, unique in its namespace; `^[a-z0-9][a-z0-9-]{0,62}$`.
    pub name: String,
    /// A text for people; at most 1,000 characters.
    #[serde(default)]
    pub description: String,
    /// The conditions, at most 16, all of which must hold. A rule without conditions matches every request.
    #[serde(default, rename = "match")]
    pub conditions: Vec<ConditionBody>,
    /// The attributes that form the subject; a request that lacks one is not counted by this rule.
    /// At most 8; without any, all requests share one counter.
    #[serde(default)]
    pub count_by: Vec<CountedBody>,
    /// The action for matching requests.
    #[serde(default = "limit")]
    pub action: Action,
    /// The mode of the rule.
    #[serde(default = "enforce")]
    pub mode: Mode,
    /// One to eight limits, all of which must admit a check. Only the action `limit` has limits.
    #[serde(default)]
    pub limits: Vec<LimitBody>,
    /// The time for which the subject is denied after a denial by one of the limits; or a list of up to 10 times, of the first
    /// block, of the second one within `block_memory_ms`, and so on. The last one repeats.
    #[serde(default)]
    pub block_ms: Option<BlockBody>,
    /// The time after the end of a block in which the next one counts as a further one; only with a list in `block_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_memory_ms: Option<u64>,
    /// The answer while Redis cannot be reached.
    #[serde(default = "allow")]
    pub on_store_failure: OnStoreFailure,
    /// The place of the decision: Redis, or a gate with leased units. `approximate` permits a single limit, a `token_bucket` or
    /// `sliding_window_counter`, and no `block_ms`.
    #[serde(default = "exact")]
    pub consistency: Consistency,
    /// The regions that share the counters. Without regions, it changes nothing.
    #[serde(default = "region", skip_serializing_if = "is_region")]
    pub reach: Reach,
    /// The answer to a check that costs more than is left.
    #[serde(default = "deny")]
    pub over: Over,
    /// Classes of checks that leave a share of each limit to others. Not with `spacing`, and only with the consistency `exact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<PriorityBody>,
    /// The share of subjects, 1 to 100, for which the rule is enforced; it is decided as in shadow for the others. A subject is
    /// always on the same side. Needs `count_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforce_percent: Option<u64>,
    /// An experiment: 2 to 4 variants, whose limits replace `limits`. Each subject has one variant. Needs `count_by` and the
    /// consistency `exact`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantBody>,
    /// The times at which the rule applies; null means always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<ScheduleBody>,
}

/// One condition on an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ConditionBody {
    /// The attribute that it compares; `^[a-z][a-z0-9_.-]{0,63}$`.
    pub attribute: String,
    /// The comparison.
    pub op: Op,
    /// The value to compare with: a string; a list of 1 to 1,000 strings for `one_of` and `not_one_of`; a network or a list
    /// of 1 to 1,000 for `cidr` and `not_cidr`; nothing for `exists` and `absent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<OperandBody>,
}

/// The value of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged, expecting = "must be a string or a list of strings")]
pub enum OperandBody {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

/// A rule in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RuleAnswer {
    /// Its id.
    pub id: String,
    /// The rule as it was written, with its defaults.
    #[serde(flatten)]
    pub rule: RuleBody,
    /// The revision, which rises by one with each change; also the `ETag`.
    pub revision: u64,
    /// The version of the rulebook from which this revision applies.
    pub rulebook_version: u64,
    /// The time of creation.
    pub created_at: DateTime,
    /// The time of the last change.
    pub updated_at: DateTime,
    /// In lists: the person or key that made the last change; absent if that revision is no longer retained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
    /// In lists: the number of overrides, of which at most 1,000 are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<u64>,
    /// The set of rules as code to which the rule belongs; absent for a rule that people edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Whether the rule differs from what the last apply of its set wrote, because somebody edited it since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Warnings to the author of the rule, such as a limit that can never deny.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The bound of a rule with the consistency `approximate`, as a sentence; absent for other rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// The reason why the stored rule cannot be read; the body then has its readable fields. Gates apply the last
    /// readable revision. A gate without one denies if `on_store_failure` is `deny`, else it ignores the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

impl RuleBody {
    /// The readable fields of a stored rule that cannot be read as a whole, because a later release wrote it or the row
    /// was edited. `None` if not even its name can be read.
    pub fn readable_part(spec: &Value) -> Option<Self> {
        let spec = spec.as_object()?;
        let mut readable = Map::new();
        readable.insert("name".to_owned(), spec.get("name")?.clone());
        let mut body: Self = serde_json::from_value(Value::Object(readable.clone())).ok()?;
        for (field, value) in spec {
            let mut more = readable.clone();
            more.insert(field.clone(), value.clone());
            if let Ok(read) = serde_json::from_value(Value::Object(more.clone())) {
                (body, readable) = (read, more);
            }
        }
        Some(body)
    }

    /// The rule, or all problems of its fields.
    pub fn parse(self) -> Result<Rule, Vec<FieldProblem>> {
        Rule::parse(self.into()).map_err(FieldProblem::list)
    }
}

impl Default for RuleBody {
    /// A rule of the default namespace without a name and limits.
    fn default() -> Self {
        RuleDraft::default().into()
    }
}

impl From<RuleBody> for RuleDraft {
    fn from(body: RuleBody) -> Self {
        Self {
            namespace: body.namespace,
            name: body.name,
            description: body.description,
            conditions: body.conditions.into_iter().map(ConditionDraft::from).collect(),
            count_by: body.count_by.into_iter().map(Counted::from).collect(),
            action: body.action.into(),
            mode: body.mode.into(),
            limits: body.limits.into_iter().map(Into::into).collect(),
            block_ms: body.block_ms.map_or_else(Vec::new, BlockBody::into_lengths),
            block_memory_ms: body.block_memory_ms,
            on_store_failure: body.on_store_failure.into(),
            consistency: body.consistency.into(),
            reach: body.reach.into(),
            over: body.over.into(),
            priority: body.priority.map(Into::into),
            enforce_percent: body.enforce_percent,
            variants: body.variants.into_iter().map(Into::into).collect(),
            active: body.active.map(Into::into),
        }
    }
}

impl From<RuleDraft> for RuleBody {
    fn from(draft: RuleDraft) -> Self {
        Self {
            namespace: draft.namespace,
            name: draft.name,
            description: draft.description,
            conditions: draft.conditions.iter().map(ConditionBody::from).collect(),
            count_by: draft.count_by.into_iter().map(CountedBody::from).collect(),
            action: draft.action.into(),
            mode: draft.mode.into(),
            limits: draft.limits.into_iter().map(Into::into).collect(),
            block_ms: BlockBody::of(draft.block_ms),
            block_memory_ms: draft.block_memory_ms,
            on_store_failure: draft.on_store_failure.into(),
            consistency: draft.consistency.into(),
            reach: draft.reach.into(),
            over: draft.over.into(),
            priority: draft.priority.map(Into::into),
            enforce_percent: draft.enforce_percent,
            variants: draft.variants.into_iter().map(Into::into).collect(),
            active: draft.active.map(Into::into),
        }
    }
}

impl From<ConditionBody> for ConditionDraft {
    fn from(body: ConditionBody) -> Self {
        let operand = |value| match value {
            OperandBody::One(text) => Operand::One(text),
            OperandBody::Many(texts) => Operand::Many(texts),
        };
        Self { attribute: body.attribute, op: body.op.into(), value: body.value.map(operand) }
    }
}

impl From<&ConditionDraft> for ConditionBody {
    fn from(draft: &ConditionDraft) -> Self {
        let operand = |value: &Operand| match value {
            Operand::One(text) => OperandBody::One(text.clone()),
            Operand::Many(texts) => OperandBody::Many(texts.clone()),
        };
        Self {
            attribute: draft.attribute.clone(),
            op: draft.op.into(),
            value: draft.value.as_ref().map(operand),
        }
    }
}

fn default_namespace() -> String {
    weir_domain::request::DEFAULT_NAMESPACE.to_owned()
}

const fn limit() -> Action {
    Action::Limit
}

const fn enforce() -> Mode {
    Mode::Enforce
}

const fn allow() -> OnStoreFailure {
    OnStoreFailure::Allow
}

const fn deny() -> Over {
    Over::Deny
}

const fn exact() -> Consistency {
    Consistency::Exact
}

const fn region() -> Reach {
    Reach::Region
}

fn is_region(reach: &Reach) -> bool {
    *reach == Reach::Region
}

#[cfg(test)]
mod tests;
