//! Rules in JSON: the body of requests, which is stored, and the answer.

mod controls;

use std::collections::BTreeMap;

pub use controls::{Control, controls};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_domain::counted::Counted;
use weir_domain::draft::{
    ConditionDraft, Operand, PriorityDraft, RuleDraft, ScheduleDraft, VariantDraft,
};
use weir_domain::rule::Rule;

use crate::counted::CountedBody;
use crate::limits::LimitBody;
use crate::problem::FieldProblem;
use crate::time::DateTime;
use crate::words::{Action, Consistency, Mode, OnStoreFailure, Op, Over};

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

/// The length of blocks, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged, expecting = "must be a whole number or a list of whole numbers")]
pub enum BlockBody {
    /// All blocks have this length.
    One(u64),
    /// The lengths of blocks that follow one another.
    Several(Vec<u64>),
}

/// The classes of a rule's checks, by the value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PriorityBody {
    /// The attribute whose value is the class; `^[a-z][a-z0-9_.-]{0,63}$`.
    pub attribute: String,
    /// By class, at most 16, the share of each limit that must be left after a check: a number from 0 to 1 with at most three
    /// decimals. Other classes keep nothing free; a check without the attribute counts as the class that keeps most.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, f64>))]
    pub keep: BTreeMap<String, Share>,
}

/// A share in thousandths; in JSON a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share(pub u16);

/// One variant of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct VariantBody {
    /// The name, unique in the rule; `^[a-z0-9][a-z0-9-]{0,62}$`.
    pub name: String,
    /// The share of subjects that have it, 1 to 99. The shares of all variants sum to 100.
    pub percent: u64,
    /// The limits of these subjects. All variants have the same algorithms in the same order.
    pub limits: Vec<LimitBody>,
}

/// The times at which a rule applies, by the clock of the gates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ScheduleBody {
    /// The IANA time zone of `weekly`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// At most 50 entries such as `Mon-Fri 08:00-18:00`, `Sat,Sun 00:00-24:00` or `Fri 22:00-06:00`, which do not overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekly: Vec<String>,
    /// The time from which the rule applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<DateTime>,
    /// The time from which the rule no longer applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime>,
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
            over: body.over.into(),
            priority: body.priority.map(|priority| PriorityDraft {
                attribute: priority.attribute,
                keep: priority.keep.into_iter().map(|(class, share)| (class, share.0)).collect(),
            }),
            enforce_percent: body.enforce_percent,
            variants: body.variants.into_iter().map(VariantDraft::from).collect(),
            active: body.active.map(|active| ScheduleDraft {
                zone: active.zone,
                weekly: active.weekly,
                from: active.from.map(|at| at.0),
                until: active.until.map(|at| at.0),
            }),
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
            over: draft.over.into(),
            priority: draft.priority.map(|priority| PriorityBody {
                attribute: priority.attribute,
                keep: priority
                    .keep
                    .into_iter()
                    .map(|(class, share)| (class, Share(share)))
                    .collect(),
            }),
            enforce_percent: draft.enforce_percent,
            variants: draft.variants.into_iter().map(VariantBody::from).collect(),
            active: draft.active.map(|active| ScheduleBody {
                zone: active.zone,
                weekly: active.weekly,
                from: active.from.map(DateTime),
                until: active.until.map(DateTime),
            }),
        }
    }
}

impl BlockBody {
    /// The body of these lengths; none of an empty list.
    pub fn of(lengths_ms: Vec<u64>) -> Option<Self> {
        match lengths_ms[..] {
            [] => None,
            [only] => Some(Self::One(only)),
            _ => Some(Self::Several(lengths_ms)),
        }
    }

    /// The lengths, the first one first.
    pub fn lengths_ms(&self) -> &[u64] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Several(lengths_ms) => lengths_ms,
        }
    }

    fn into_lengths(self) -> Vec<u64> {
        match self {
            Self::One(only) => vec![only],
            Self::Several(lengths_ms) => lengths_ms,
        }
    }
}

impl TryFrom<f64> for Share {
    type Error = &'static str;

    fn try_from(share: f64) -> Result<Self, &'static str> {
        let thousandths = share * 1000.0;
        let is_whole = (thousandths - thousandths.round()).abs() < 1e-6;
        if !(0.0..=1.0).contains(&share) || !is_whole {
            return Err("must be a number from 0 to 1 with at most three decimals");
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is from 0 to 1000"
        )]
        Ok(Self(thousandths.round() as u16))
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        Self::from(share.0) / 1000.0
    }
}

impl From<VariantBody> for VariantDraft {
    fn from(body: VariantBody) -> Self {
        let limits = body.limits.into_iter().map(Into::into).collect();
        Self { name: body.name, percent: body.percent, limits }
    }
}

impl From<VariantDraft> for VariantBody {
    fn from(draft: VariantDraft) -> Self {
        let limits = draft.limits.into_iter().map(Into::into).collect();
        Self { name: draft.name, percent: draft.percent, limits }
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

#[cfg(test)]
mod tests;
