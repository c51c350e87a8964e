//! A request encoded in a link to the tester: `test?namespace=…&attributes={…}&cost=…`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weir_wire::rules::{OperandBody, RuleBody};
use weir_wire::stats::DenialEntry;
use weir_wire::words::Op;

use crate::model::json;

/// The path below the tenant; without a namespace the tester uses its default.
pub fn request_link(
    namespace: Option<&str>,
    attributes: &BTreeMap<String, String>,
    cost: u64,
) -> String {
    let namespace =
        namespace.map(|namespace| format!("namespace={}&", encoded(namespace))).unwrap_or_default();
    let json = serde_json::to_string(attributes).unwrap_or_default();
    let cost = if cost == 1 { String::new() } else { format!("&cost={cost}") };
    format!("test?{namespace}attributes={}{cost}", encoded(&json))
}

/// The link that reproduces a denial. A denial records only the attributes that its rule counts by, so the link names
/// the rule, from whose conditions the tester takes the others.
pub fn denial_link(denial: &DenialEntry) -> String {
    let link = request_link(Some(&denial.namespace), &denial.subject, denial.cost);
    format!("{link}&rule={}", denial.rule_id)
}

/// The attributes of a decoded URL parameter; empty if it is invalid.
pub fn attributes(text: &str) -> BTreeMap<String, String> {
    json::read(text).unwrap_or_default()
}

/// A request that the rule counts, as far as its conditions allow; attributes without a known value are empty.
pub fn sample_request(rule: &RuleBody) -> BTreeMap<String, String> {
    let quantity =
        rule.count_by.iter().map(|counted| (counted.attribute().to_owned(), String::new()));
    let conditions =
        rule.conditions.iter().filter(|condition| condition.op != Op::Absent).map(|condition| {
            let value = match (&condition.value, condition.op) {
                (Some(OperandBody::One(text)), Op::Equals | Op::Prefix | Op::Suffix) => {
                    text.clone()
                }
                (Some(OperandBody::One(network)), Op::Cidr) => address(network),
                (Some(OperandBody::Many(networks)), Op::Cidr) => {
                    networks.first().map(|network| address(network)).unwrap_or_default()
                }
                (Some(OperandBody::Many(texts)), Op::OneOf) => {
                    texts.first().cloned().unwrap_or_default()
                }
                _ => String::new(),
            };
            (condition.attribute.clone(), value)
        });
    quantity.chain(conditions).collect()
}

/// The first address of a network.
fn address(network: &str) -> String {
    network.split('/').next().unwrap_or_default().to_owned()
}

/// The newest denial of each subject and rule, up to a maximum.
pub fn distinct_subjects(denials: Vec<DenialEntry>) -> Vec<DenialEntry> {
    let mut once: Vec<DenialEntry> = Vec::new();
    for denial in denials {
        let known = |known_denial: &DenialEntry| {
            known_denial.rule_id == denial.rule_id && known_denial.subject == denial.subject
        };
        if !once.iter().any(known) && once.len() < SHOWN_MAX {
            once.push(denial);
        }
    }
    once
}

/// Percent-encodes everything except letters, digits and `-_.~`.
pub fn encoded(text: &str) -> String {
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
    fn links_preserve_every_value() {
        let subject = BTreeMap::from([("user".to_owned(), "o&n=\"ü\"".to_owned())]);
        assert_eq!(
            request_link(Some("api"), &subject, 1),
            "test?namespace=api&attributes=%7B%22user%22%3A%22o%26n%3D%5C%22%C3%BC%5C%22%22%7D"
        );
        let nothing = BTreeMap::new();
        assert_eq!(request_link(None, &nothing, 20), "test?attributes=%7B%7D&cost=20");
        assert_eq!(attributes(r#"{"user":"o&n=\"ü\""}"#), subject);
        assert_eq!(attributes("user=u-17"), BTreeMap::new());
    }

    #[test]
    fn sample_requests_match_conditions_with_a_value() {
        let rule = r#"{"name":"r","count_by":["user"],"match":[
            {"attribute":"route","op":"prefix","value":"/v1"},
            {"attribute":"plan","op":"one_of","value":["free","trial"]},
            {"attribute":"ip","op":"cidr","value":"10.0.0.0/8"},
            {"attribute":"bot","op":"absent"}]}"#;
        let sample_request = sample_request(&serde_json::from_str(rule).expect("a rule"));
        let sample_request: Vec<_> =
            sample_request.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            sample_request,
            [("ip", "10.0.0.0"), ("plan", "free"), ("route", "/v1"), ("user", "")]
        );
    }
    #[test]
    fn repeated_denials_of_a_subject_appear_once() {
        let denial = |rule: &str, user: u32| {
            let json = format!(
                r#"{{"id":"d","at":"2026-11-21T10:00:00Z","namespace":"api","rule_id":"{rule}","rule":"{rule}",
                "shadow":false,"subject":{{"user":"u-{user}"}},"cost":1,"retry_after_ms":null,"degraded":false,
                "stands_for":1}}"#
            );
            serde_json::from_str(&json).expect("a denial")
        };
        let denials = vec![denial("a", 1), denial("b", 1), denial("a", 1), denial("a", 2)];
        let once = distinct_subjects(denials)
            .into_iter()
            .map(|denial| (denial.rule_id, denial.subject["user"].clone()));
        let expected = [("a", "u-1"), ("b", "u-1"), ("a", "u-2")];
        assert!(once.eq(expected.map(|(rule, user)| (rule.to_owned(), user.to_owned()))));
        assert_eq!(
            distinct_subjects((0..20).map(|user| denial("a", user)).collect()).len(),
            SHOWN_MAX
        );
    }
}
