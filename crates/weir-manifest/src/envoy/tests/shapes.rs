//! Files of the shapes in which people publish them: each is read without a loss, and its rules return from a manifest as they
//! were.

use super::*;

/// The whole file, and the number of its rules.
const FILES: [(&str, usize); 12] = [
    ("domain: d\n", 0),
    ("domain: d\ndescriptors:\n", 0),
    ("domain: d\ndescriptors: []\n", 0),
    ("domain: d\ndescriptors: null\n", 0),
    (
        "---\n# A comment.\ndomain: d\ndescriptors:\n- key: a\n  rate_limit:\n    unit: day\n    requests_per_unit: 5\n...\n",
        1,
    ),
    (
        "domain: \"d\"\ndescriptors: [{key: \"a\", rate_limit: {unit: \"day\", requests_per_unit: 5}}]\n",
        1,
    ),
    (
        "{\"domain\": \"d\", \"descriptors\": [{\"key\": \"a\", \"rate_limit\": {\"unit\": \"DAY\", \"requests_per_unit\": 5}}]}",
        1,
    ),
    (
        "name: eg\ndomain: eg/default/http\ndescriptors:\n- key: a\n  value: \"\"\n  rate_limit:\n    requests_per_unit: 5\n    unit: HOUR\n    unlimited: false\n    name: \"\"\n    replaces: []\n  descriptors: []\n  shadow_mode: false\n  detailed_metric: false\n",
        1,
    ),
    (
        "domain: d\ndescriptors:\n- key: a\n  rate_limit: &limit { unit: day, requests_per_unit: 5 }\n- key: b\n  rate_limit: *limit\n",
        2,
    ),
    (
        "domain: d\ndescriptors:\n- &base\n  key: a\n  value: x\n  rate_limit: { unit: day, requests_per_unit: 5 }\n- <<: *base\n  value: y\n",
        2,
    ),
    (
        "domain: d\ndescriptors:\n- key: a\n  rate_limit: &slow { unit: day, requests_per_unit: 5 }\n- key: b\n  rate_limit: { <<: *slow, requests_per_unit: 9 }\n",
        2,
    ),
    (
        "domain: d\ndescriptors:\n- key: a\n  rate_limit: { unit: day, requests_per_unit: 5 }\n---\ndomain: e\ndescriptors:\n- key: a\n  rate_limit: { unit: day, requests_per_unit: 5 }\n",
        2,
    ),
];

/// One descriptor of a file with the domain `d`, and the number of rules.
const DESCRIPTORS: [(&str, usize); 26] = [
    ("key: a", 0),
    ("{ key: a, value: b }", 0),
    ("{ key: a, rate_limit: null }", 0),
    ("{ key: a, rate_limit: ~, descriptors: ~ }", 0),
    ("{ key: a, value: '', rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, value: null, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, value: 80, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, value: true, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, value: !!str 80, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: generic_key, value: default, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: remote_address, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    (
        "{ key: masked_remote_address, value: 10.0.0.0/8, rate_limit: { unit: day, requests_per_unit: 5 } }",
        1,
    ),
    ("{ key: header_match, value: 'x:y', rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: ':path', value: '/v1/*', rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    (
        "{ key: destination_cluster, value: service.default.svc.cluster.local, rate_limit: { unit: day, requests_per_unit: 5 } }",
        1,
    ),
    ("{ key: a, name: people, rate_limit: { unit: day, requests_per_unit: 5, name: people } }", 1),
    ("{ key: a, shadow_mode: true, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    (
        "{ key: a, value: b*, share_threshold: true, rate_limit: { unit: day, requests_per_unit: 5 } }",
        1,
    ),
    (
        "{ key: a, shadow_mode: null, quota_mode: false, rate_limit: { unit: day, requests_per_unit: 5 } }",
        1,
    ),
    (
        "{ key: a, metadata: {}, rate_limit: { unit: day, requests_per_unit: 5, replaces: null } }",
        1,
    ),
    ("{ key: a, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, value_to_metric: true, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, unit: day, rate_limit: { unit: day, requests_per_unit: 5 } }", 1),
    ("{ key: a, descriptors: [{ key: b, rate_limit: { unit: day, requests_per_unit: 5 } }] }", 1),
    (
        "{ key: a, rate_limit: { unit: day, requests_per_unit: 5 }, descriptors: [{ key: b, value: c, rate_limit: { unit: day, requests_per_unit: 5 } }] }",
        2,
    ),
    (
        "{ key: a, descriptors: [{ key: a, descriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 5 } }] }] }",
        1,
    ),
];

/// The limit of a file with one descriptor, and the number of rules.
const LIMITS: [(&str, usize); 12] = [
    ("{ unit: second, requests_per_unit: 5 }", 1),
    ("{ unit: Minute, requests_per_unit: 5 }", 1),
    ("{ unit: HOUR, requests_per_unit: 5 }", 1),
    ("{ unit: week, requests_per_unit: 5 }", 1),
    ("{ unit: month, requests_per_unit: 1_000 }", 1),
    ("{ unit: year, requests_per_unit: 4294967295 }", 1),
    ("{ unit: day, requests_per_unit: 0 }", 1),
    ("{ unit: day }", 1),
    ("{ unlimited: true }", 0),
    ("{ unlimited: true, unit: '', requests_per_unit: 0 }", 0),
    ("{ unlimited: true, unit: UNKNOWN, replaces: [], name: '' }", 0),
    ("{ unlimited: false, unit: day, requests_per_unit: 5, replaces: [] }", 1),
];

fn returns(text: &str, rules: usize) {
    let found = imported(text);
    assert_eq!(found.left_out, [], "{text}");
    assert_eq!(found.rules.len(), rules, "{text}");
    let manifests: String = found.rules.iter().map(manifest).collect();
    let set = RuleSet::read(&[file(&manifests)]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let returned: Vec<_> = set.rules().into_iter().map(|one| one.rule).collect();
    assert_eq!(returned, found.rules, "{text}");
}

#[test]
fn fifty_shapes_are_read_and_their_rules_return_from_manifests() {
    let mut texts: Vec<_> =
        FILES.iter().map(|(text, rules)| ((*text).to_owned(), *rules)).collect();
    let descriptors = DESCRIPTORS
        .iter()
        .map(|(text, rules)| (format!("domain: d\ndescriptors:\n  - {text}\n"), *rules));
    texts.extend(descriptors);
    let limits = LIMITS.iter().map(|(text, rules)| {
        (format!("domain: d\ndescriptors:\n  - key: a\n    rate_limit: {text}\n"), *rules)
    });
    texts.extend(limits);
    assert_eq!(texts.len(), 50);
    for (text, rules) in &texts {
        returns(text, *rules);
        let indented = format!("    {}\n", text.trim_end().replace('\n', "\n    "));
        let map = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: limits\ndata:\n  config.yaml: |\n{indented}"
        );
        returns(&map, *rules);
        let items = format!(
            "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  data: {{ a.yaml: {} }}\n",
            serde_json::json!(text)
        );
        returns(&items, *rules);
    }
}

#[test]
fn errors_in_a_config_map_have_the_places_of_the_outer_file() {
    let map = "apiVersion: v1\nkind: ConfigMap\ndata:\n  one.yaml: |\n\n    domain: d\n    descriptors:\n      - key: a\n        rate_limit: { unit: fortnight }\n";
    let error = import(&file(map), false).expect_err("an unknown unit").to_string();
    assert!(error.starts_with("limits.yaml:9:29: must be one of second"), "{error}");
    let broken = map.replace("unit: fortnight }", "unit: [ }");
    let error = import(&file(&broken), false).expect_err("no YAML");
    assert_eq!(error.at.line, 9, "{error}");
    let quoted =
        "kind: ConfigMap\ndata:\n  one.yaml: \"domain: d\\ndescriptors: [{ kay: a }]\\n\"\n";
    let error = import(&file(quoted), false).expect_err("an unknown field").to_string();
    assert_eq!(error, "limits.yaml:3:13: `one.yaml`, line 2: unknown field `kay`");
    let none = import(&file("kind: ConfigMap\nmetadata: {}\n"), false).expect_err("no data");
    assert_eq!(none.to_string(), "limits.yaml:1:1: the ConfigMap has no `data`");
    // Where case matters, no other case of the same word is proposed.
    let error = import(&file("apiVersion: v1\ndomain: d\n"), false).expect_err("unknown");
    assert_eq!(error.to_string(), "limits.yaml:1:1: unknown field `apiVersion`");
}

#[test]
fn settings_of_metrics_are_ignored_with_a_warning() {
    for name in ["detailed_metric", "value_to_metric"] {
        let text =
            MARKETING.replace("    rate_limit", &format!("    {name}: true\n    rate_limit"));
        let found = imported(&text);
        assert_eq!((found.rules.len(), found.left_out.len()), (1, 0), "{name}");
        let shown: Vec<String> = found.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [format!("limits.yaml:5:5: `{name}` names a metric, and changes no limit")]
        );
    }
}
