//! The controls of a rule in words: one text for each, by which pages and logs compare two versions of a rule.

use weir_domain::algorithm::LimitDraft;
use weir_domain::quantity::short;

use super::{PriorityBody, RuleBody, ScheduleBody, Share, VariantBody};

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
pub fn controls(rule: &RuleBody) -> [Control; 5] {
    let control = |label, text: Option<String>, unset: &str| Control {
        label,
        is_set: text.is_some(),
        text: text.unwrap_or_else(|| unset.to_owned()),
    };
    let percent = rule.enforce_percent.map(|percent| format!("{percent} % of subjects"));
    let variants = (!rule.variants.is_empty())
        .then(|| rule.variants.iter().map(variant).collect::<Vec<_>>().join("; "));
    [
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
            "name": "r", "count_by": ["user"],
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
