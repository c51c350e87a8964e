//! Rule templates for the most common uses, each with a request that it counts.

use std::collections::BTreeMap;

use weir_wire::check::{CheckBody, CheckMode};
use weir_wire::limits::LimitBody;
use weir_wire::rules::RuleBody;
use weir_wire::words::Period;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    Login,
    Api,
    Email,
    Job,
}

impl Template {
    pub const ALL: [Self; 4] = [Self::Login, Self::Api, Self::Email, Self::Job];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Login => "Login protection",
            Self::Api => "Public API per key",
            Self::Email => "E-mail sending",
            Self::Job => "Expensive job",
        }
    }

    /// The purpose of the template.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Login => "Stops password guessing after 5 attempts per minute.",
            Self::Api => "Customers can burst without affecting each other.",
            Self::Email => "A runaway loop cannot harm your sender reputation.",
            Self::Job => "For reports, exports and model calls. Larger jobs cost more.",
        }
    }

    /// The rule, with a number after its name if the name is taken.
    pub fn rule(self, attempt: u32) -> RuleBody {
        let (namespace, name, count_by) = match self {
            Self::Login => ("login", "login-per-user", "user"),
            Self::Api => ("api", "api-per-key", "customer"),
            Self::Email => ("email", "email-per-account", "account"),
            Self::Job => ("jobs", "jobs-per-team", "team"),
        };
        let name = if attempt < 2 { name.to_owned() } else { format!("{name}-{attempt}") };
        RuleBody {
            namespace: namespace.to_owned(),
            name,
            description: self.reason().to_owned(),
            count_by: vec![count_by.into()],
            limits: self.limits(),
            ..RuleBody::default()
        }
    }

    /// The number of checks, sent at once, of which the rule denies some.
    pub const fn checks_until_denied(self) -> usize {
        match self {
            Self::Login | Self::Job => 8,
            Self::Api => 28,
            Self::Email => 13,
        }
    }

    /// A request that the rule counts.
    pub fn check(self) -> CheckBody {
        let (attributes, cost): (&[(&str, &str)], u64) = match self {
            Self::Login => (&[("user", "u-17"), ("ip", "203.0.113.9")], 1),
            Self::Api => (&[("customer", "c-1042"), ("route", "/v1/search")], 1),
            Self::Email => (&[("account", "a-7"), ("kind", "newsletter")], 1),
            Self::Job => (&[("team", "t-3"), ("job", "yearly-report")], 20),
        };
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        CheckBody {
            namespace: self.rule(1).namespace,
            attributes: attributes.iter().map(owned).collect::<BTreeMap<_, _>>(),
            cost,
            mode: CheckMode::Consume,
            idempotency_key: None,
        }
    }

    fn limits(self) -> Vec<LimitBody> {
        match self {
            Self::Login => {
                vec![LimitBody::SlidingWindowLog {
                    limit: 5,
                    window_ms: 60_000,
                    count_denied: false,
                }]
            }
            Self::Api => vec![LimitBody::TokenBucket {
                capacity: 20,
                refill_tokens: 5,
                refill_interval_ms: 1_000,
            }],
            Self::Email => vec![
                LimitBody::SlidingWindowLog { limit: 10, window_ms: 60_000, count_denied: false },
                LimitBody::Quota {
                    limit: 1_000,
                    period: Period::Day,
                    time_zone: "UTC".to_owned(),
                    anchor_day: 1,
                    ends_at: None,
                },
            ],
            Self::Job => vec![LimitBody::TokenBucket {
                capacity: 100,
                refill_tokens: 100,
                refill_interval_ms: 3_600_000,
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::labels;

    #[test]
    fn every_template_is_a_rule_that_counts_its_own_request() {
        for template in Template::ALL {
            let rule = template.rule(1).parse().expect("a template is a rule");
            assert_eq!(weir_domain::warnings::of_rule(&rule), Vec::<String>::new());
            let check = template.check();
            assert!(check.clone().parse().is_ok(), "{template:?}");
            let body = template.rule(1);
            assert_eq!(body.namespace, check.namespace);
            assert!(
                body.count_by.iter().all(|name| check.attributes.contains_key(name.attribute()))
            );
        }
    }

    #[test]
    fn taken_names_get_a_number() {
        let names = [1, 2, 3].map(|attempt| Template::Login.rule(attempt).name);
        assert_eq!(names, ["login-per-user", "login-per-user-2", "login-per-user-3"]);
    }

    #[test]
    fn templates_read_as_sentences() {
        let sentences = Template::ALL.map(|template| labels::sentence(&template.rule(1)));
        assert_eq!(
            sentences,
            [
                "All requests, for each user: 5 per minute.",
                "All requests, for each customer: bursts of 20, then 5 per second.",
                "All requests, for each account: 10 per minute, and 1,000 per calendar day (UTC).",
                "All requests, for each team: bursts of 100, then 100 per hour.",
            ]
        );
    }
}
