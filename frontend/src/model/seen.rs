//! The attributes that gates have seen, and those that rules name.

use std::collections::{BTreeMap, BTreeSet};

use weir_wire::rules::{OperandBody, RuleBody};

/// Names of attributes with their values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownAttributes {
    attributes: BTreeMap<String, BTreeSet<String>>,
}

impl KnownAttributes {
    /// Adds the attributes that a rule compares and counts by.
    pub fn add_rule(&mut self, rule: &RuleBody) {
        for counted in &rule.count_by {
            self.attributes.entry(counted.attribute().to_owned()).or_default();
        }
        for condition in &rule.conditions {
            let values = self.attributes.entry(condition.attribute.clone()).or_default();
            match &condition.value {
                Some(OperandBody::One(value)) => values.extend([value.clone()]),
                Some(OperandBody::Many(several)) => values.extend(several.iter().cloned()),
                None => {}
            }
        }
    }

    /// Adds the attributes of a subject.
    pub fn add_subject(&mut self, subject: &BTreeMap<String, String>) {
        for (name, value) in subject.iter().filter(|(_, value)| !value.is_empty()) {
            self.attributes.entry(name.clone()).or_default().insert(value.clone());
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.attributes.keys().cloned().collect()
    }

    /// Whether all known values of an attribute are addresses or networks of them.
    pub fn are_addresses(&self, attribute: &str) -> bool {
        let is_address = |value: &String| {
            let address = value.split_once('/').map_or(value.as_str(), |(address, _)| address);
            address.parse::<std::net::IpAddr>().is_ok()
        };
        let values = self.attributes.get(attribute);
        values.is_some_and(|values| !values.is_empty() && values.iter().all(is_address))
    }

    /// The known values of an attribute.
    pub fn values(&self, attribute: &str) -> Vec<String> {
        self.attributes.get(attribute).into_iter().flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn attributes_of_rules_and_subjects_are_suggested() {
        let mut seen = KnownAttributes::default();
        let rule = json!({
            "name": "login", "namespace": "api", "count_by": ["user"],
            "match": [
                {"attribute": "route", "op": "equals", "value": "/login"},
                {"attribute": "plan", "op": "one_of", "value": ["pro", "free"]},
                {"attribute": "trial", "op": "exists"},
            ],
            "limits": [{"algorithm": "spacing", "interval_ms": 1000}],
        });
        seen.add_rule(&serde_json::from_value(rule).expect("a rule"));
        let subject = |value: &str| BTreeMap::from([("user".to_owned(), value.to_owned())]);
        seen.add_subject(&subject("u-17"));
        seen.add_subject(&subject(""));
        assert_eq!(seen.names(), ["plan", "route", "trial", "user"]);
        assert_eq!(seen.values("plan"), ["free", "pro"]);
        assert_eq!(seen.values("user"), ["u-17"]);
        assert_eq!(seen.values("unknown"), [""; 0]);
        let ip = |value: &str| BTreeMap::from([("ip".to_owned(), value.to_owned())]);
        seen.add_subject(&ip("192.0.2.7"));
        seen.add_subject(&ip("2001:db8:1:2::/64"));
        assert!(seen.are_addresses("ip") && !seen.are_addresses("user"));
        assert!(!seen.are_addresses("trial"), "nothing is known of it");
    }
}
