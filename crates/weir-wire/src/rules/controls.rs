//! The controls of a rule: their JSON, and one text for each, by which pages and logs compare two versions of a rule.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_domain::algorithm::LimitDraft;
use weir_domain::draft::{PriorityDraft, ScheduleDraft, VariantDraft};
use weir_domain::quantity::short;

use super::RuleBody;
use crate::limits::LimitBody;
use crate::time::DateTime;
use crate::words::Reach;

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
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, f64>))]
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

/// A control of a rule in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The name of the control.
    pub label: &'static str,
    /// Its value.
    pub text: String,
    /// Whether the rule uses it.
    pub is_set: bool,
}

/// The controls of a rule, always in this order.
pub fn controls(rule: &RuleBody) -> [Control; 6] {
    let control = |label, text: Option<String>, unset: &str| Control {
        label,
        is_set: text.is_some(),
        text: text.unwrap_or_else(|| unset.to_owned()),
    };
    let percent = rule.enforce_percent.map(|percent| format!("{percent} % of subjects"));
    let variants = (!rule.variants.is_empty())
        .then(|| rule.variants.iter().map(variant).collect::<Vec<_>>().join("; "));
    let world = (rule.reach == Reach::World).then(|| Reach::World.title().to_lowercase());
    [
        control("Counted in", world, "each region"),
        control("Block after a denial", block(rule), "none"),
        control("Priority", rule.priority.as_ref().map(priority), "none"),
        control("Enforced for", percent, "all subjects"),
        control("Variants", variants, "none"),
        control("Active", rule.active.as_ref().map(schedule), "always"),
    ]
}

/// `1 min, then 10 min (if within 1 d)`.
fn block(rule: &RuleBody) -> Option<String> {
    let lengths = rule.block_ms.as_ref()?.lengths_ms();
    let lengths: Vec<_> = lengths.iter().map(|length_ms| short(*length_ms)).collect();
    let memory = rule.block_memory_ms.map(|ms| format!(" (if within {})", short(ms)));
    Some(lengths.join(", then ") + &memory.unwrap_or_default())
}

/// `by priority: batch leaves 50 % free`.
fn priority(body: &PriorityBody) -> String {
    let class =
        |(class, share): (&String, &Share)| format!("{class} leaves {} free", share.percent());
    let classes: Vec<_> = body.keep.iter().map(class).collect();
    format!("by {}: {}", body.attribute, classes.join(", "))
}

/// `a 50 %: 10 per minute`.
fn variant(body: &VariantBody) -> String {
    let limits: Vec<_> =
        body.limits.iter().map(|limit| LimitDraft::from(limit.clone()).describe()).collect();
    format!("{} {} %: {}", body.name, body.percent, limits.join(" and "))
}

/// `Mon-Fri 08:00-18:00 (Europe/Berlin), until 2027-01-01T00:00:00Z`.
fn schedule(body: &ScheduleBody) -> String {
    let mut parts = Vec::new();
    if !body.weekly.is_empty() {
        let zone = body.zone.as_deref().unwrap_or("UTC");
        parts.push(format!("{} ({zone})", body.weekly.join(", ")));
    }
    parts.extend(body.from.map(|at| format!("from {}", at.text())));
    parts.extend(body.until.map(|at| format!("until {}", at.text())));
    parts.join(", ")
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

    pub(super) fn into_lengths(self) -> Vec<u64> {
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

impl From<PriorityBody> for PriorityDraft {
    fn from(body: PriorityBody) -> Self {
        let keep = body.keep.into_iter().map(|(class, share)| (class, share.0));
        Self { attribute: body.attribute, keep: keep.collect() }
    }
}

impl From<PriorityDraft> for PriorityBody {
    fn from(draft: PriorityDraft) -> Self {
        let keep = draft.keep.into_iter().map(|(class, share)| (class, Share(share)));
        Self { attribute: draft.attribute, keep: keep.collect() }
    }
}

impl From<ScheduleBody> for ScheduleDraft {
    fn from(body: ScheduleBody) -> Self {
        let (from, until) = (body.from.map(|at| at.0), body.until.map(|at| at.0));
        Self { zone: body.zone, weekly: body.weekly, from, until }
    }
}

impl From<ScheduleDraft> for ScheduleBody {
    fn from(draft: ScheduleDraft) -> Self {
        let (from, until) = (draft.from.map(DateTime), draft.until.map(DateTime));
        Self { zone: draft.zone, weekly: draft.weekly, from, until }
    }
}

impl Share {
    /// `50 %`, `12.5 %`.
    pub fn percent(self) -> String {
        match self.0 % 10 {
            0 => format!("{} %", self.0 / 10),
            tenth => format!("{}.{tenth} %", self.0 / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_control_is_one_text() {
        let body: RuleBody = serde_json::from_value(serde_json::json!({
            "name": "r", "count_by": ["user"], "reach": "world",
            "block_ms": [60_000, 600_000], "block_memory_ms": 86_400_000,
            "priority": {"attribute": "class", "keep": {"batch": 0.5, "bulk": 0.125}},
            "enforce_percent": 10,
            "variants": [
                {"name": "a", "percent": 50, "limits": [{"algorithm": "fixed_window", "limit": 5, "window_ms": 1000}]},
            ],
            "active": {"zone": "UTC", "weekly": ["Mon-Fri 08:00-18:00"]},
        }))
        .expect("a body");
        let texts = controls(&body).map(|control| control.text);
        assert_eq!(
            texts,
            [
                "all regions",
                "1 min, then 10 min (if within 1 d)",
                "by class: batch leaves 50 % free, bulk leaves 12.5 % free",
                "10 % of subjects",
                "a 50 %: 5 per second (fixed window)",
                "Mon-Fri 08:00-18:00 (UTC)",
            ]
        );
        let unset = controls(&RuleBody::default());
        assert!(unset.iter().all(|control| !control.is_set), "{unset:?}");
    }
}
