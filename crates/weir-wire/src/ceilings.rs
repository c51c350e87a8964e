//! Ceilings of a tenant in JSON.

use serde::{Deserialize, Serialize};
use weir_domain::ceilings::{Ceiling, CeilingValues};

use crate::problem::FieldProblem;

macro_rules! ceilings {
    ($($(#[$doc:meta])* $field:ident = $variant:ident up to $max:tt,)+) => {
        /// A value for each ceiling; left out or null: not set.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(deny_unknown_fields)]
        pub struct CeilingsBody {
            $(
                $(#[$doc])*
                #[serde(default)]
                #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = $max))]
                pub $field: Option<u64>,
            )+
        }

        impl CeilingsBody {
            /// The values, or all problems of the fields.
            pub fn parse(&self) -> Result<CeilingValues, Vec<FieldProblem>> {
                let mut values = CeilingValues::default();
                let mut wrong = Vec::new();
                for (ceiling, value) in [$((Ceiling::$variant, self.$field)),+] {
                    if let Err(invalid) = values.set(ceiling, value) {
                        wrong.push(FieldProblem::new(ceiling.as_str(), invalid.reason));
                    }
                }
                if wrong.is_empty() { Ok(values) } else { Err(wrong) }
            }

            /// The value of each ceiling.
            pub fn of(value: impl Fn(Ceiling) -> Option<u64>) -> Self {
                Self { $($field: value(Ceiling::$variant)),+ }
            }
        }

        #[cfg(test)]
        const FIELDS: &[(&str, Ceiling, u64)] =
            &[$((stringify!($field), Ceiling::$variant, $max)),+];
    };
}

ceilings! {
    /// Checks per second, on all gates together; each check of a batch counts. A gate enforces its share, at least 1.
    checks_per_second = ChecksPerSecond up to 1_000_000,
    /// Rules in all namespaces.
    rules = Rules up to 10_000,
    /// Limits of one check.
    limits_per_check = LimitsPerCheck up to 64,
    /// API keys that are neither revoked nor expired.
    api_keys = ApiKeys up to 10_000,
    /// Subjects with a counter in Redis: estimated and reported, not enforced.
    live_subjects = LiveSubjects up to 1_000_000_000,
    /// Requests per second to the admin API, for each control plane.
    admin_requests_per_second = AdminRequestsPerSecond up to 10_000,
    /// Retained revisions of each rule and each profile.
    revisions_per_rule = RevisionsPerRule up to 100_000,
    /// Tests of webhooks per minute.
    webhook_tests_per_minute = WebhookTestsPerMinute up to 600,
    /// What-if runs at a time, for each control plane.
    what_if_runs = WhatIfRuns up to 2,
    /// Days for which statistics are retained.
    statistics_days = StatisticsDays up to 3_650,
    /// Assignments of customers to plans that have not ended.
    assignments = Assignments up to 1_000_000,
    /// Customers that are counted by name on one day; the smallest beyond are counted together.
    customers_per_day = CustomersPerDay up to 100_000,
}

/// The ceilings of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TenantCeilings {
    /// The value in force of each.
    pub in_force: CeilingsBody,
    /// The values that an operator set for this tenant.
    pub own: CeilingsBody,
}

/// The ceilings of tenants that have no value of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DefaultCeilings {
    /// The value in force of each.
    pub in_force: CeilingsBody,
    /// The values that an operator set.
    pub set: CeilingsBody,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ceiling_has_a_field_of_its_name_with_its_bounds() {
        let named: Vec<_> =
            FIELDS.iter().map(|&(name, ceiling, max)| (name, ceiling, max)).collect();
        let expected: Vec<_> = Ceiling::ALL
            .iter()
            .map(|ceiling| (ceiling.as_str(), *ceiling, ceiling.max()))
            .collect();
        assert_eq!(named, expected);
    }

    #[test]
    fn every_wrong_value_is_named_with_its_bound() {
        let body = CeilingsBody { api_keys: Some(0), what_if_runs: Some(3), ..Default::default() };
        let wrong = body.parse().expect_err("two are wrong");
        let said: Vec<_> =
            wrong.iter().map(|problem| format!("{} {}", problem.field, problem.reason)).collect();
        assert_eq!(said, ["api_keys must be from 1 to 10000", "what_if_runs must be from 1 to 2"]);
    }
}
