//! Texts for plans: the rules that a plan can name, its effects, and the differences between two revisions.

use weir_wire::counted::CountedBody;
use weir_wire::plans::{PlanBody, PlanRule};
use weir_wire::rules::RuleBody;
use weir_wire::words::Action;

use crate::model::difference::Difference;
use crate::model::labels;

/// Whether a plan can name a rule, if customers are named by this attribute.
pub fn fits(rule: &RuleBody, attribute: &str) -> bool {
    let counted = |one: &CountedBody| matches!(one, CountedBody::Plain(name) if name == attribute);
    rule.action == Action::Limit && rule.count_by.iter().any(counted)
}

/// The name of a rule of a plan.
pub fn rule_name(rule: &PlanRule) -> String {
    format!("{} / {}", rule.namespace, rule.rule)
}

/// All differences between two revisions.
pub fn differences(a: &PlanBody, b: &PlanBody) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |label: String, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { label, before, after });
        }
    };
    add("Name".to_owned(), Some(a.name.clone()), Some(b.name.clone()));
    add("Description".to_owned(), Some(a.description.clone()), Some(b.description.clone()));
    let text = |plan: &PlanBody, name: &str| {
        let rule = plan.rules.iter().find(|rule| rule_name(rule) == name)?;
        Some(labels::effect(rule.limits.as_deref(), rule.action))
    };
    let mut names: Vec<_> = a.rules.iter().chain(&b.rules).map(rule_name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (before, after) = (text(a, &name), text(b, &name));
        add(name, before, after);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(count_by: &serde_json::Value, action: &str) -> RuleBody {
        let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }]);
        let limits = if action == "limit" { limits } else { json!([]) };
        let rule = json!({ "name": "r", "count_by": count_by, "action": action, "limits": limits });
        serde_json::from_value(rule).expect("a rule")
    }

    #[test]
    fn a_plan_names_rules_that_count_by_the_customer_as_it_is() {
        let lower = json!([{ "attribute": "org", "as": "lower" }]);
        let all = [
            rule(&json!(["user", "org"]), "limit"),
            rule(&json!(["user"]), "limit"),
            rule(&lower, "limit"),
            rule(&json!(["org"]), "deny"),
            rule(&json!([]), "limit"),
        ];
        assert_eq!(all.map(|rule| fits(&rule, "org")), [true, false, false, false, false]);
    }

    #[test]
    fn rules_are_compared_by_name() {
        let plan = |rules: serde_json::Value| {
            serde_json::from_value::<PlanBody>(json!({ "name": "pro", "rules": rules }))
                .expect("a plan")
        };
        let one = json!({ "namespace": "api", "rule": "a", "action": "allow" });
        let a = plan(json!([one, { "namespace": "api", "rule": "b", "action": "deny" }]));
        let b = plan(json!([{ "namespace": "api", "rule": "c", "action": "deny" }, one]));
        let sides =
            |difference: Difference| (difference.label, difference.before, difference.after);
        let deny = || Some("Deny".to_owned());
        assert_eq!(
            differences(&a, &b).into_iter().map(sides).collect::<Vec<_>>(),
            [("api / b".to_owned(), deny(), None), ("api / c".to_owned(), None, deny())]
        );
    }
}
