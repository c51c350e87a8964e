//! A request in an address, so that other pages can lead to the test of it: `test?namespace=…&attributes={…}`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_wire::rules::{OperandBody, RuleBody};
use weir_wire::stats::DenialEntry;
use weir_wire::words::Op;

/// The address below the tenant; without a namespace the page's own default stays.
pub fn request_link(namespace: Option<&str>, attributes: &BTreeMap<String, String>) -> String {
    let namespace =
        namespace.map(|namespace| format!("namespace={}&", encoded(namespace))).unwrap_or_default();
    let json = serde_json::to_string(attributes).unwrap_or_default();
    format!("test?{namespace}attributes={}", encoded(&json))
}

/// The attributes of an address, after decoding; none when they cannot be read.
pub fn attributes(text: &str) -> BTreeMap<String, String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// What a request needs to be counted by a rule, as far as the rule says; the rest is left empty, to be filled in.
pub fn sample(rule: &RuleBody) -> BTreeMap<String, String> {
    let counted = rule.count_by.iter().map(|name| (name.clone(), String::new()));
    let conditions = rule.conditions.iter().filter(|it| it.op != Op::Absent).map(|it| {
        let value = match (&it.value, it.op) {
            (Some(OperandBody::One(text)), Op::Equals | Op::Prefix | Op::Suffix) => text.clone(),
            (Some(OperandBody::Many(texts)), _) => texts.first().cloned().unwrap_or_default(),
            _ => String::new(),
        };
        (it.attribute.clone(), value)
    });
    counted.chain(conditions).collect()
}

/// Of all denials of one subject by one rule the newest, and no more than a few.
pub fn each_once(denials: Vec<DenialEntry>) -> Vec<DenialEntry> {
    let mut once: Vec<DenialEntry> = Vec::new();
    for denial in denials {
        let known = |it: &DenialEntry| it.rule_id == denial.rule_id && it.subject == denial.subject;
        if !once.iter().any(known) && once.len() < SHOWN_MAX {
            once.push(denial);
        }
    }
    once
}

/// Everything but letters, digits and `-_.~` as `%XX`.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("a text takes all");
        }
    }
    encoded
}

const SHOWN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_every_value() {
        let subject = BTreeMap::from([("user".to_owned(), "o&n=\"ü\"".to_owned())]);
        assert_eq!(
            request_link(Some("api"), &subject),
            "test?namespace=api&attributes=%7B%22user%22%3A%22o%26n%3D%5C%22%C3%BC%5C%22%22%7D"
        );
        assert_eq!(attributes(r#"{"user":"o&n=\"ü\""}"#), subject);
        assert_eq!(attributes("user=u-17"), BTreeMap::new());
    }

    #[test]
    fn samples_meet_the_conditions_that_name_a_value() {
        let rule = r#"{"name":"r","count_by":["user"],"match":[
            {"attribute":"route","op":"prefix","value":"/v1"},
            {"attribute":"plan","op":"one_of","value":["free","trial"]},
            {"attribute":"ip","op":"cidr","value":"10.0.0.0/8"},
            {"attribute":"bot","op":"absent"}]}"#;
        let sample = sample(&serde_json::from_str(rule).expect("a rule"));
        let sample: Vec<_> = sample.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(sample, [("ip", ""), ("plan", "free"), ("route", "/v1"), ("user", "")]);
    }
    #[test]
    fn whoever_is_denied_again_and_again_is_named_once() {
        let denial = |rule: &str, user: u32| {
            let json = format!(
                r#"{{"id":"d","at":"2026-11-21T10:00:00Z","namespace":"api","rule_id":"{rule}","rule":"{rule}",
                "shadow":false,"subject":{{"user":"u-{user}"}},"cost":1,"retry_after_ms":null,"degraded":false,
                "stands_for":1}}"#
            );
            serde_json::from_str(&json).expect("a denial")
        };
        let denials = vec![denial("a", 1), denial("b", 1), denial("a", 1), denial("a", 2)];
        let once =
            each_once(denials).into_iter().map(|it| (it.rule_id, it.subject["user"].clone()));
        let expected = [("a", "u-1"), ("b", "u-1"), ("a", "u-2")];
        assert!(once.eq(expected.map(|(rule, user)| (rule.to_owned(), user.to_owned()))));
        assert_eq!(each_once((0..20).map(|user| denial("a", user)).collect()).len(), SHOWN_MAX);
    }
}
