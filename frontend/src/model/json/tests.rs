//! This reader and that of `serde_json` agree on the JSON of the API.

use std::collections::BTreeMap;
use std::fmt::Debug;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::{RuleAnswer, RuleBody};

use super::*;

/// Every kind of content that serde has in JSON, but for lists instead of objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    number: u64,
    small: u8,
    signed: i32,
    fraction: f64,
    flag: bool,
    text: Box<str>,
    unit: (),
    pair: (u8, String),
    name: Name,
    chosen: Choice,
    some: Option<Vec<Choice>>,
    #[serde(default)]
    absent: Option<u16>,
    map: BTreeMap<String, i64>,
    any: Value,
    #[serde(flatten)]
    rest: Rest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Name(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Plain,
    Holding(i8),
    Pair(u8, u8),
    Fields { value: Option<bool> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Rest {
    left: Option<Choice>,
    right: Alternative,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Alternative {
    One(String),
    Many(Vec<f32>),
}

fn everything() -> Value {
    json!({
        "number": u64::MAX, "small": 255, "signed": -7, "fraction": 0.25, "flag": true, "text": "a\n\"b\"",
        "unit": null, "pair": [3, "three"], "name": "n", "chosen": "plain",
        "some": [{ "holding": -1 }, { "pair": [1, 2] }, { "fields": { "value": null } }],
        "map": { "a": i64::MIN, "b": 2 }, "any": { "x": [1, -1, 1.5, null, { "y": {} }] },
        "left": { "fields": { "value": false } }, "right": [1, 2.5], "unknown": [[]],
    })
}

/// Both readers agree, and agree to read it.
fn assert_read<T: DeserializeOwned + PartialEq + Debug>(value: &Value) {
    let text = value.to_string();
    let expected: T = serde_json::from_str(&text).expect("serde_json reads it");
    assert_eq!(read::<T>(&text).as_ref(), Ok(&expected), "{text}");
    assert_eq!(read_value::<T>(value), Ok(expected));
}

#[test]
fn every_kind_of_content_is_read() {
    assert_read::<Everything>(&everything());
    assert_read::<()>(&Value::Null);
    assert_read::<Option<Alternative>>(&json!("one"));
    assert_read::<f64>(&json!(3));
    assert_read::<f64>(&json!(-3));
}

#[test]
fn what_is_of_another_type_or_absent_is_refused() {
    let wrong = [
        ("number", json!(-1)),
        ("number", json!(1.0)),
        ("number", json!("1")),
        ("small", json!(256)),
        ("signed", json!(u64::MAX)),
        ("fraction", json!("0.25")),
        ("flag", json!(1)),
        ("text", json!(1)),
        ("unit", json!(0)),
        ("pair", json!([3])),
        ("pair", json!({})),
        ("chosen", json!("other")),
        ("chosen", json!({ "other": 1 })),
        ("chosen", json!({})),
        ("chosen", json!(1)),
        ("some", json!({})),
        ("map", json!([])),
        ("right", json!({})),
    ];
    for (field, value) in wrong {
        let mut changed = everything();
        changed[field] = value;
        assert!(serde_json::from_value::<Everything>(changed.clone()).is_err(), "{changed}");
        assert_eq!(read_value::<Everything>(&changed), Err(Unreadable), "{changed}");
    }
    for field in ["number", "pair", "chosen", "right"] {
        let mut less = everything();
        less.as_object_mut().expect("an object").remove(field);
        assert_eq!(read_value::<Everything>(&less), Err(Unreadable), "{field}");
    }
}

#[test]
fn a_text_that_is_no_json_is_refused() {
    for text in ["", "{", "[1,]", "null null", "nul"] {
        assert_eq!(read::<Value>(text), Err(Unreadable), "{text}");
    }
}

#[test]
fn bodies_of_the_api_are_read() {
    let rule = json!({
        "namespace": "public", "name": "api-per-user", "count_by": ["user"], "mode": "shadow",
        "match": [
            { "attribute": "method", "op": "one_of", "value": ["GET", "PUT"] },
            { "attribute": "path", "op": "prefix", "value": "/v1" },
            { "attribute": "user", "op": "exists" },
        ],
        "limits": [
            { "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 },
            { "algorithm": "quota", "limit": 100, "period": "month", "time_zone": "Europe/Berlin", "anchor_day": 3 },
        ],
        "block_ms": 1000,
    });
    assert_read::<RuleBody>(&rule);
    let mut answer = rule.clone();
    for (field, value) in [
        ("id", json!("rule_1")),
        ("revision", json!(3)),
        ("rulebook_version", json!(7)),
        ("created_at", json!("2026-11-21T03:00:00Z")),
        ("updated_at", json!("2026-11-21T03:00:00.125Z")),
    ] {
        answer[field] = value;
    }
    assert_read::<RuleAnswer>(&answer);
    assert_read::<ProfileBody>(&json!({
        "name": "edge", "reads": "forward_auth",
        "attributes": { "ip": { "from": "address" }, "agent": { "from": "header", "name": "user-agent" } },
    }));
    for refused in [json!({ "name": "a", "unknown": 1 }), json!({ "name": "a", "mode": "other" })] {
        assert_eq!(read_value::<RuleBody>(&refused), Err(Unreadable));
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,4}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_tree_is_read_as_itself(tree in tree()) {
        prop_assert_eq!(read::<Value>(&tree.to_string()), Ok(tree));
    }
}
