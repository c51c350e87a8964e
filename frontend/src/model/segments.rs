//! The segments of a rule as text: what each one is, and how two variants compare.

use weir_wire::rules::RuleBody;
use weir_wire::stats::{Comparison, SegmentCounts, SegmentKind};

use crate::model::number::grouped;

/// The shares of subjects for which a rule can be enforced at a click.
pub const SHARES: [u64; 4] = [1, 10, 50, 100];

/// Whether the statistics of a rule have segments.
pub fn has_segments(rule: &RuleBody) -> bool {
    rule.priority.is_some() || rule.enforce_percent.is_some() || !rule.variants.is_empty()
}

/// The name of a segment.
pub fn title(segment: &SegmentCounts) -> String {
    let name = segment.name.as_deref().unwrap_or_default();
    match segment.kind {
        SegmentKind::Variant => format!("Variant {name}"),
        SegmentKind::Enforced => "Enforced".to_owned(),
        SegmentKind::Shadow => "Only counted".to_owned(),
        SegmentKind::Class => format!("Class {name}"),
        SegmentKind::OtherClasses => "Other classes".to_owned(),
        SegmentKind::NoClass => "No class".to_owned(),
    }
}

/// How the denied subjects of a variant compare with those of the first one.
pub fn compared(name: &str, first: &str, found: Comparison) -> String {
    let Comparison { ratio, low, high } = found;
    let Some(ratio) = ratio else {
        return format!("{first} denied no subject, {name} did.");
    };
    let high_text = high.map_or_else(|| "any number".to_owned(), times);
    let verdict = match high {
        Some(high) if high < 1.0 => "fewer",
        _ if low > 1.0 => "more",
        _ => {
            return format!(
                "The variants cannot be distinguished yet: {name} denies {} as many subjects as {first} (95 %: {} to {high_text}).",
                times(ratio),
                times(low),
            );
        }
    };
    format!(
        "{name} denies {verdict} subjects: {} as many as {first} (95 %: {} to {high_text}).",
        times(ratio),
        times(low),
    )
}

/// The decided checks of a segment: allowed, and denied or denied if the rule were enforced.
pub fn decided(segment: &SegmentCounts) -> (u64, u64) {
    let counts = &segment.counts;
    (counts.allowed, counts.denied + counts.shadow_denied)
}

/// The rule with the limits of one variant for all subjects.
pub fn adopted(rule: &RuleBody, name: &str) -> Option<RuleBody> {
    let variant = rule.variants.iter().find(|variant| variant.name == name)?;
    Some(RuleBody { limits: variant.limits.clone(), variants: Vec::new(), ..rule.clone() })
}

/// The rule enforced for another share of the subjects.
pub fn enforced_for(rule: &RuleBody, percent: u64) -> RuleBody {
    RuleBody { enforce_percent: (percent < 100).then_some(percent), ..rule.clone() }
}

/// The number of subjects, or a dash.
pub fn subjects(segment: &SegmentCounts) -> String {
    segment.subjects_denied.map_or_else(|| "–".to_owned(), grouped)
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2} ×")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comparison_says_what_the_bounds_allow() {
        let found = |ratio, low, high| compared("b", "a", Comparison { ratio, low, high });
        assert_eq!(
            found(Some(0.5), 0.25, Some(0.9)),
            "b denies fewer subjects: 0.50 × as many as a (95 %: 0.25 × to 0.90 ×)."
        );
        assert!(found(Some(2.0), 1.1, Some(4.0)).starts_with("b denies more subjects: 2.00 ×"));
        assert!(
            found(Some(1.2), 0.8, None).starts_with("The variants cannot be distinguished yet")
        );
        assert_eq!(found(None, 0.5, None), "a denied no subject, b did.");
    }

    #[test]
    fn adopted_variant_and_other_share_are_valid_rules() {
        let window =
            |limit: u64| json!([{"algorithm": "fixed_window", "limit": limit, "window_ms": 1_000}]);
        let rule: RuleBody = serde_json::from_value(json!({
            "name": "compared", "count_by": ["user"], "variants": [
                {"name": "a", "percent": 50, "limits": window(1)}, {"name": "b", "percent": 50, "limits": window(2)},
            ],
        }))
        .expect("a rule");
        let only = adopted(&rule, "b").expect("a variant");
        assert_eq!(
            (only.limits.clone(), only.variants.len()),
            (rule.variants[1].limits.clone(), 0)
        );
        assert!(only.clone().parse().is_ok() && adopted(&rule, "c").is_none());
        let tenth = enforced_for(&only, 10);
        assert_eq!(tenth.enforce_percent, Some(10));
        assert!(tenth.clone().parse().is_ok());
        assert_eq!(enforced_for(&tenth, 100), only);
    }
}
