//! Ceilings: the most that one tenant can use of resources that all tenants share.
//!
//! An operator sets a value for a tenant, or a default for all; where neither is set, the value below holds.

use crate::id::RuleId;

/// A resource that is bounded for each tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ceiling {
    /// Checks a second, on all gates together; each check of a batch counts.
    ChecksPerSecond,
    /// Rules, in all namespaces.
    Rules,
    /// Limits that can apply to one check.
    LimitsPerCheck,
    /// API keys that are neither revoked nor expired.
    ApiKeys,
    /// Subjects with a counter in Redis. Estimated and reported; nothing is refused.
    LiveSubjects,
    /// Requests a second to the admin API, for each control plane.
    AdminRequestsPerSecond,
    /// Stored revisions of each rule and each profile; the oldest are removed.
    RevisionsPerRule,
    /// Tests of webhooks a minute.
    WebhookTestsPerMinute,
    /// What-if runs at a time, for each control plane.
    WhatIfRuns,
    /// Days for which statistics are stored; the installation's own setting applies where it is shorter.
    StatisticsDays,
    /// Assignments of customers to plans that have not ended.
    Assignments,
    /// Customers that are counted by name on one day; the smallest beyond are counted together.
    CustomersPerDay,
}

/// A value for some ceilings; the others are not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CeilingValues([Option<u64>; Ceiling::ALL.len()]);

/// A value outside its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCeiling {
    /// The ceiling.
    pub ceiling: Ceiling,
    /// The reason, to follow the name of the field.
    pub reason: String,
}

impl Ceiling {
    /// All ceilings, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::ChecksPerSecond,
        Self::Rules,
        Self::LimitsPerCheck,
        Self::ApiKeys,
        Self::LiveSubjects,
        Self::AdminRequestsPerSecond,
        Self::RevisionsPerRule,
        Self::WebhookTestsPerMinute,
        Self::WhatIfRuns,
        Self::StatisticsDays,
        Self::Assignments,
        Self::CustomersPerDay,
    ];

    /// The name in JSON and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChecksPerSecond => "checks_per_second",
            Self::Rules => "rules",
            Self::LimitsPerCheck => "limits_per_check",
            Self::ApiKeys => "api_keys",
            Self::LiveSubjects => "live_subjects",
            Self::AdminRequestsPerSecond => "admin_requests_per_second",
            Self::RevisionsPerRule => "revisions_per_rule",
            Self::WebhookTestsPerMinute => "webhook_tests_per_minute",
            Self::WhatIfRuns => "what_if_runs",
            Self::StatisticsDays => "statistics_days",
            Self::Assignments => "assignments",
            Self::CustomersPerDay => "customers_per_day",
        }
    }

    /// The ceiling with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ceiling| ceiling.as_str() == name)
    }

    /// The value if none is set.
    pub const fn default_value(self) -> u64 {
        match self {
            Self::ChecksPerSecond => CHECKS_PER_SECOND_MAX,
            // For customers, `weir_customers_per_day` has the same number.
            Self::Rules | Self::CustomersPerDay => 10_000,
            Self::LimitsPerCheck => 64,
            Self::ApiKeys => 100,
            Self::LiveSubjects => 1_000_000,
            Self::AdminRequestsPerSecond => 500,
            Self::RevisionsPerRule => 1_000,
            Self::WebhookTestsPerMinute => 10,
            Self::WhatIfRuns => 1,
            Self::StatisticsDays => 730,
            Self::Assignments => 100_000,
        }
    }

    /// The largest value that can be set; the smallest is 1.
    pub const fn max(self) -> u64 {
        match self {
            Self::ChecksPerSecond => CHECKS_PER_SECOND_MAX,
            Self::Rules | Self::ApiKeys | Self::AdminRequestsPerSecond => 10_000,
            Self::LimitsPerCheck => 64,
            Self::LiveSubjects => 1_000_000_000,
            Self::RevisionsPerRule | Self::CustomersPerDay => 100_000,
            Self::WebhookTestsPerMinute => 600,
            Self::WhatIfRuns => 2,
            Self::StatisticsDays => 3_650,
            Self::Assignments => 1_000_000,
        }
    }
}

/// The id under which statistics count checks that were refused for [`Ceiling::ChecksPerSecond`]; no rule has it.
pub const TENANT_RATE_RULE: RuleId = RuleId::from_u128(u128::MAX);

/// A gate does not reach this rate, so this value is no ceiling.
pub const CHECKS_PER_SECOND_MAX: u64 = 1_000_000;

impl CeilingValues {
    /// Sets or removes one value.
    pub fn set(&mut self, ceiling: Ceiling, value: Option<u64>) -> Result<(), InvalidCeiling> {
        let max = ceiling.max();
        if value.is_some_and(|value| value < 1 || value > max) {
            let reason = format!("must be from 1 to {max}");
            return Err(InvalidCeiling { ceiling, reason });
        }
        self.0[ceiling as usize] = value;
        Ok(())
    }

    /// The value of one ceiling, if it is set.
    pub fn get(&self, ceiling: Ceiling) -> Option<u64> {
        self.0[ceiling as usize]
    }

    /// All values that are set.
    pub fn iter(&self) -> impl Iterator<Item = (Ceiling, u64)> {
        let all = Ceiling::ALL.into_iter();
        all.filter_map(|ceiling| self.get(ceiling).map(|value| (ceiling, value)))
    }

    /// The value in effect. `self` has the tenant's own values, and `defaults` those of the installation.
    pub fn effective(&self, defaults: &Self, ceiling: Ceiling) -> u64 {
        let value = self.get(ceiling).or_else(|| defaults.get(ceiling));
        value.unwrap_or_else(|| ceiling.default_value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenants_own_value_goes_before_the_default() {
        let (mut own, mut defaults) = (CeilingValues::default(), CeilingValues::default());
        assert_eq!(own.effective(&defaults, Ceiling::ApiKeys), 100);
        defaults.set(Ceiling::ApiKeys, Some(7)).expect("in bounds");
        assert_eq!(own.effective(&defaults, Ceiling::ApiKeys), 7);
        own.set(Ceiling::ApiKeys, Some(9)).expect("in bounds");
        assert_eq!(own.effective(&defaults, Ceiling::ApiKeys), 9);
        assert_eq!(own.iter().collect::<Vec<_>>(), [(Ceiling::ApiKeys, 9)]);
    }

    #[test]
    fn values_outside_their_bounds_are_refused_and_the_bound_is_named() {
        let mut values = CeilingValues::default();
        for ceiling in Ceiling::ALL {
            assert_eq!(Ceiling::from_name(ceiling.as_str()), Some(ceiling));
            let (max, default) = (ceiling.max(), ceiling.default_value());
            assert!((1..=max).contains(&default), "{ceiling:?}");
            values.set(ceiling, Some(max)).expect("in bounds");
            for wrong in [0, max + 1] {
                let invalid = values.set(ceiling, Some(wrong)).expect_err("out of bounds");
                assert_eq!(invalid.reason, format!("must be from 1 to {max}"));
            }
            assert_eq!(values.get(ceiling), Some(max), "what is refused changes nothing");
        }
    }
}
