use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use weir_domain::draft::Action;
use weir_domain::profile::attributes_of;
use weir_domain::rule::Rule;
use weir_wire::limits::LimitBody;
use weir_wire::words::Mode;

use super::*;
use crate::export::manifest;
use crate::rule_set::RuleSet;

mod shapes;

fn file(text: &str) -> SourceFile {
    SourceFile { name: "limits.yaml".to_owned(), text: text.to_owned() }
}

fn imported(text: &str) -> Import {
    import(&file(text), false).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn left_out(text: &str) -> Vec<String> {
    imported(text).left_out.iter().map(ToString::to_string).collect()
}

/// The attributes that a gate makes of a descriptor.
fn attributes(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let entries = entries.iter().map(|&(key, value)| (key, value.as_bytes()));
    attributes_of(entries, &BTreeMap::new())
}

/// The rules that match a descriptor, each with the values that it counts by.
fn matching<'r>(
    rules: &'r [RuleBody],
    entries: &[(&str, &str)],
) -> Vec<(&'r RuleBody, Vec<String>)> {
    let attributes = attributes(entries);
    let matches = |rule: &Rule| {
        let holds = |at: &weir_domain::condition::Condition| {
            at.holds(attributes.get(at.attribute()).map(String::as_str))
        };
        rule.first_unmet(holds).is_none()
    };
    let counted = |rule: &Rule| {
        let values =
            rule.count_by().iter().map(|counted| attributes.get(&counted.attribute).cloned());
        values.collect::<Option<Vec<_>>>()
    };
    let found = rules.iter().filter_map(|body| {
        let rule = body.clone().parse().expect("an import makes valid rules");
        let counted = if rule.action() == Action::Deny { Some(Vec::new()) } else { counted(&rule) };
        matches(&rule).then_some(counted).flatten().map(|counted| (body, counted))
    });
    found.collect()
}

/// The limit of the only rule that matches a descriptor, and the values that it counts by.
fn limit(rules: &[RuleBody], entries: &[(&str, &str)]) -> Option<(u64, Vec<String>)> {
    let found = matching(rules, entries);
    assert!(found.len() < 2, "{entries:?}: {found:?}");
    let (rule, counted) = found.into_iter().next()?;
    match rule.limits.as_slice() {
        [] => Some((0, counted)),
        [LimitBody::FixedWindow { limit, .. }] => Some((*limit, counted)),
        other => panic!("{other:?}"),
    }
}

const MARKETING: &str = "\
domain: messaging
descriptors:
  - key: message_type
    value: marketing
    rate_limit:
      unit: day
      requests_per_unit: 5
";

#[test]
fn example_of_the_literature_admits_five_marketing_messages_a_day() {
    let Import { rules, domains, left_out, ignored } = imported(MARKETING);
    assert_eq!(domains, [], "the domain is the name of the namespace");
    assert_eq!((rules.len(), left_out.len(), ignored.len()), (1, 0, 0));
    let rule = &rules[0];
    assert_eq!(
        (rule.namespace.as_str(), rule.name.as_str()),
        ("messaging", "message-type-marketing")
    );
    let day = LimitBody::FixedWindow { limit: 5, window_ms: 86_400_000 };
    assert_eq!(rule.limits, [day]);
    assert_eq!(limit(&rules, &[("message_type", "marketing")]), Some((5, Vec::new())));
    for other in [
        &[("message_type", "news")][..],
        &[("message_type", "marketing"), ("to_number", "1")],
        &[("to_number", "1"), ("message_type", "marketing")],
        &[],
    ] {
        assert_eq!(limit(&rules, other), None, "{other:?}");
    }
}

/// As printed in a book, with tabs and `Value`.
#[test]
fn misprints_are_refused_with_their_place() {
    let tabs = MARKETING.replace("  - key", "\t- key");
    let error = import(&file(&tabs), false).expect_err("a tab cannot indent");
    assert_eq!((error.file.as_str(), error.at.line), ("limits.yaml", 3));
    let capital = MARKETING.replace("    value", "    Value");
    let error = import(&file(&capital), false).expect_err("a field is unknown").to_string();
    assert_eq!(error, "limits.yaml:4:5: unknown field `Value`; is it `value`?");
    for (from, to, error) in [
        ("unit: day", "unit: fortnight", "limits.yaml:6:13: must be one of second, minute"),
        ("      unit: day\n", "", "limits.yaml:6:7: `unit` is missing"),
        ("unit: 5", "unit: many", "limits.yaml:7:26: must be a whole number"),
        ("domain: messaging\n", "", "limits.yaml:1:1: `domain` is missing"),
        ("key: message_type", "key: ''", "limits.yaml:3:5: `key` is missing"),
    ] {
        let found = import(&file(&MARKETING.replace(from, to)), false).expect_err(to).to_string();
        assert!(found.starts_with(error), "{found}");
    }
}

/// The examples of the original's README that rules can express.
#[test]
fn examples_of_the_original_decide_as_described() {
    let nested = imported(
        "domain: mongo_cps
descriptors:
  - key: message_type
    value: marketing
    descriptors:
      - key: to_number
        rate_limit: { unit: day, requests_per_unit: 5 }
  - key: to_number
    rate_limit: { unit: day, requests_per_unit: 100 }
  - key: remote_address
    rate_limit: { unit: second, requests_per_unit: 10 }
  - key: remote_address
    value: 50.0.0.5
    rate_limit: { unit: second, requests_per_unit: 0 }
  - key: remote_address
    value: 10.0.0.1
    rate_limit: { unlimited: true }
  - key: generic_key
    value: a
    descriptors:
      - key: generic_key
        value: b
        shadow_mode: true
        rate_limit: { unit: hour, requests_per_unit: 7 }
",
    );
    assert!(nested.left_out.is_empty(), "{:?}", nested.left_out);
    let one = |value: &str| vec![value.to_owned()];
    let ask = |entries: &[(&str, &str)]| limit(&nested.rules, entries);
    assert_eq!(ask(&[("message_type", "marketing"), ("to_number", "1")]), Some((5, one("1"))));
    assert_eq!(ask(&[("to_number", "1")]), Some((100, one("1"))));
    assert_eq!(ask(&[("message_type", "marketing")]), None);
    assert_eq!(ask(&[("remote_address", "1.2.3.4")]), Some((10, one("1.2.3.4"))));
    assert_eq!(ask(&[("remote_address", "50.0.0.5")]), Some((0, Vec::new())));
    assert_eq!(ask(&[("remote_address", "10.0.0.1")]), None);
    assert_eq!(ask(&[("generic_key", "a"), ("generic_key", "b")]), Some((7, Vec::new())));
    assert_eq!(ask(&[("generic_key", "b"), ("generic_key", "a")]), None);
    let shadow: Vec<_> = nested.rules.iter().filter(|rule| rule.mode == Mode::Shadow).collect();
    assert_eq!(shadow.len(), 1);
    let text: String = nested.rules.iter().map(manifest).collect();
    assert_eq!(RuleSet::read(&[file(&text)]).unwrap().rules().len(), nested.rules.len());
}

#[test]
fn pattern_counts_each_value_unless_it_shares_its_threshold() {
    let text = |more: &str| {
        format!(
            "domain: d\ndescriptors:\n  - key: path\n    value: /api/*/x{more}\n    \
             rate_limit: {{ unit: minute, requests_per_unit: 3 }}\n"
        )
    };
    let apart = imported(&text("")).rules;
    let value = [("path", "/api/7/x")];
    assert_eq!(limit(&apart, &value), Some((3, vec!["/api/7/x".to_owned()])));
    assert_eq!(limit(&apart, &[("path", "/api/7/y")]), None);
    let shared = imported(&text("\n    share_threshold: true")).rules;
    assert_eq!(limit(&shared, &value), Some((3, Vec::new())));
}

#[test]
fn quota_mode_reports_and_shadow_mode_precedes_it() {
    for (more, mode) in [
        ("quota_mode: true", Mode::Report),
        ("quota_mode: true\n    shadow_mode: true", Mode::Shadow),
    ] {
        let text = MARKETING.replace("    rate_limit", &format!("    {more}\n    rate_limit"));
        let modes: Vec<_> = imported(&text).rules.iter().map(|rule| rule.mode).collect();
        assert_eq!(modes, [mode]);
    }
}

#[test]
fn settings_without_a_counterpart_are_left_out_or_ignored() {
    let text = MARKETING.replace("    rate_limit", "    metadata: { a: b }\n    rate_limit");
    let found = left_out(&text);
    assert_eq!(found, ["limits.yaml:5:5: `metadata` has no counterpart in a rule"]);
    assert!(imported(&text).rules.is_empty());
    let lossy = import(&file(&text), true).expect("valid");
    assert_eq!((lossy.rules.len(), lossy.left_out.len(), lossy.ignored.len()), (1, 0, 1));
    let beside = "domain: d\ndescriptors:\n  - { key: a, value: x*y*, rate_limit: { unit: day, requests_per_unit: 1 } }\n  - { key: a, rate_limit: { unit: day, requests_per_unit: 2 } }\n";
    assert_eq!(left_out(beside).len(), 1);
    assert!(left_out(beside)[0].starts_with("limits.yaml:4:5: "), "{:?}", left_out(beside));
}

/// A file with one key: each value has its position as its limit, an empty one is the default.
fn values(values: &[&str]) -> String {
    let entry = |(at, value): (usize, &&str)| {
        let value = if value.is_empty() { String::new() } else { format!("value: \"{value}\", ") };
        let limit = format!("rate_limit: {{ unit: day, requests_per_unit: {} }}", at + 1);
        format!("  - {{ key: a, {value}{limit} }}\n")
    };
    let entries: String = values.iter().enumerate().map(entry).collect();
    format!("domain: d\ndescriptors:\n{entries}")
}

#[test]
fn default_beside_many_values_keeps_all_limits() {
    for count in [2, 16, 200, 1_000] {
        let special: Vec<String> = (0..count).map(|n| format!("v{n}")).collect();
        let mut all: Vec<&str> = special.iter().map(String::as_str).collect();
        all.push("");
        let found = imported(&values(&all));
        assert_eq!((found.rules.len(), found.left_out.len()), (count + 1, 0));
        for (at, value) in special.iter().enumerate() {
            let expected = u64::try_from(at + 1).unwrap();
            let limit = limit(&found.rules, &[("a", value)]);
            assert_eq!(limit.map(|(limit, _)| limit), Some(expected), "{value}");
            if count == 1_000 && at == 5 {
                break;
            }
        }
        let other = limit(&found.rules, &[("a", "other")]);
        let expected = u64::try_from(count + 1).unwrap();
        assert_eq!(other, Some((expected, vec!["other".to_owned()])));
    }
}

#[test]
fn patterns_of_one_key_become_rules_of_which_the_first_decides() {
    let found = imported(&values(&["files/*", "top/*", "files/a/*", "*.pdf", "files/x", ""]));
    assert_eq!((found.rules.len(), found.left_out.len()), (6, 0));
    let of = |value| limit(&found.rules, &[("a", value)]).map(|(limit, _)| limit);
    assert_eq!((of("files/1"), of("files/a/1"), of("top/1")), (Some(1), Some(1), Some(2)));
    assert_eq!((of("x.pdf"), of("files/x.pdf"), of("files/x")), (Some(4), Some(1), Some(5)));
    assert_eq!(of("else"), Some(6));
}

/// A descriptor of a generated file.
#[derive(Debug, Clone)]
struct Branch {
    key: &'static str,
    value: &'static str,
    limited: bool,
    below: Vec<Self>,
}

const KEYS: [&str; 2] = ["a", "b"];

/// Siblings with different keys and values.
fn branches(depth: u32) -> BoxedStrategy<Vec<Branch>> {
    let below = if depth == 0 { Just(Vec::new()).boxed() } else { branches(depth - 1) };
    let branch = (0..2_usize, prop_oneof!["", "x", "y"], any::<bool>(), below).prop_map(
        |(key, value, limited, below)| {
            let value = ["", "x", "y"].into_iter().find(|known| *known == value).unwrap_or("");
            Branch { key: KEYS[key], value, limited, below }
        },
    );
    prop::collection::vec(branch, 0..4)
        .prop_map(|mut branches| {
            branches.sort_by_key(|branch| (branch.key, branch.value));
            branches.dedup_by_key(|branch| (branch.key, branch.value));
            branches
        })
        .boxed()
}

/// The file of the branches. Each limit has a number of its own.
fn written(branches: &[Branch], indent: usize, next: &mut u64, text: &mut String) {
    let pad = " ".repeat(indent);
    for branch in branches {
        let _ = writeln!(text, "{pad}- key: {}", branch.key);
        if !branch.value.is_empty() {
            let _ = writeln!(text, "{pad}  value: {}", branch.value);
        }
        *next += 1;
        if branch.limited {
            let _ = writeln!(text, "{pad}  rate_limit: {{ unit: day, requests_per_unit: {next} }}");
        }
        if !branch.below.is_empty() {
            let _ = writeln!(text, "{pad}  descriptors:");
            written(&branch.below, indent + 4, next, text);
        }
    }
}

/// The decision of the original: at each level the branch with the value, else the one without; the limit is that of the
/// last level. Every value of the descriptor is part of the counter's name.
fn model(branches: &[Branch], entries: &[(&str, &str)], next: &mut u64) -> Option<u64> {
    let (first, rest) = entries.split_first()?;
    let find = |value: &str| {
        branches.iter().position(|branch| branch.key == first.0 && branch.value == value)
    };
    let chosen = find(first.1).or_else(|| find(""))?;
    let size = |branch: &Branch| count(std::slice::from_ref(branch));
    *next += branches[..chosen].iter().map(size).sum::<u64>() + 1;
    let branch = &branches[chosen];
    if rest.is_empty() { branch.limited.then_some(*next) } else { model(&branch.below, rest, next) }
}

fn count(branches: &[Branch]) -> u64 {
    branches.iter().map(|branch| 1 + count(&branch.below)).sum()
}

proptest! {
    #[test]
    fn imported_rules_choose_the_limit_of_the_original(
        branches in branches(2),
        asked in prop::collection::vec((0..2_usize, prop_oneof!["x", "y", "z"]), 1..4),
    ) {
        let mut text = "domain: d\ndescriptors:\n".to_owned();
        written(&branches, 2, &mut 0, &mut text);
        let rules = imported(&text).rules;
        let entries: Vec<_> = asked.iter().map(|(key, value)| (KEYS[*key], value.as_str())).collect();
        let wanted = model(&branches, &entries, &mut 0);
        let found = limit(&rules, &entries);
        prop_assert_eq!(found.as_ref().map(|(limit, _)| *limit), wanted, "{}\n{:?}", text, entries);
        if let Some((_, counted)) = found {
            // A condition fixes every value that the rule does not count by.
            let attributes = attributes(&entries);
            let rule = matching(&rules, &entries)[0].0;
            for (name, value) in attributes.iter().filter(|(name, _)| *name != "descriptor") {
                let fixed = rule.conditions.iter().any(|at| {
                    at.attribute == *name && at.op == weir_wire::words::Op::Equals
                });
                prop_assert!(fixed || counted.contains(value), "{}", name);
            }
        }
    }
}

#[test]
fn domain_that_is_no_namespace_gets_a_profile() {
    let text = "domain: EG/default/http\ndescriptors:\n  - { key: a, rate_limit: { unit: day, requests_per_unit: 1 } }\n";
    let Import { rules, domains, .. } = imported(text);
    assert_eq!(rules[0].namespace, "eg-default-http");
    assert_eq!(domains.len(), 1);
    let profile = &domains[0];
    assert_eq!(
        (profile.name.as_str(), profile.namespace.as_str(), profile.domain.as_deref()),
        ("eg-default-http", "eg-default-http", Some("EG/default/http"))
    );
    assert!(profile.clone().parse().is_ok());
}
