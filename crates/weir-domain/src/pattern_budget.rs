//! The budget of regular expressions of a tenant: their number and size. Gates hold all of them compiled in memory.

use std::collections::HashMap;
use std::fmt;

use crate::rule::Rule;

/// The most regular expressions in the rules of a namespace, all of which one check can evaluate.
pub const NAMESPACE_PATTERNS_MAX: u64 = 100;
/// The most bytes of the compiled regular expressions of a namespace.
pub const NAMESPACE_PATTERN_BYTES_MAX: u64 = 1 << 20;
/// The most regular expressions in the rules of a tenant.
pub const TENANT_PATTERNS_MAX: u64 = 200;
/// The most bytes of the compiled regular expressions of a tenant.
pub const TENANT_PATTERN_BYTES_MAX: u64 = 4 << 20;

/// The cost of the regular expressions of some rules. A pattern that occurs in two rules counts twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatternCost {
    /// The number of patterns.
    pub patterns: u64,
    /// Bytes once compiled.
    pub bytes: u64,
}

/// The bound that regular expressions exceed. Its display text names the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverBudget {
    owner: &'static str,
    cost: PatternCost,
    most: PatternCost,
}

/// The budget of one tenant, from which rules take their parts in turn.
#[derive(Debug, Clone, Default)]
pub struct PatternBudget {
    tenant: PatternCost,
    namespaces: HashMap<String, PatternCost>,
}

impl PatternBudget {
    /// Takes the cost of a rule. A rule that exceeds the budget takes nothing.
    pub fn take(&mut self, rule: &Rule) -> Result<(), OverBudget> {
        let cost = PatternCost::of(rule);
        if cost.patterns == 0 {
            return Ok(());
        }
        let namespace = self.namespaces.entry(rule.namespace().to_owned()).or_default();
        let in_tenant = self.tenant.plus(cost);
        let in_namespace = namespace.plus(cost);
        PatternCost::check(in_tenant, in_namespace)?;
        (self.tenant, *namespace) = (in_tenant, in_namespace);
        Ok(())
    }
}

impl PatternCost {
    /// The cost of one rule.
    pub fn of(rule: &Rule) -> Self {
        let mut cost = Self::default();
        for bytes in rule.conditions().iter().filter_map(crate::condition::Condition::pattern_bytes)
        {
            cost = cost.plus(Self { patterns: 1, bytes: bytes as u64 });
        }
        cost
    }

    /// The sum of both costs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { patterns: self.patterns + other.patterns, bytes: self.bytes + other.bytes }
    }

    /// Returns an error if the costs exceed the budget of a tenant or of one of its namespaces.
    pub fn check(in_tenant: Self, in_namespace: Self) -> Result<(), OverBudget> {
        let namespace =
            Self { patterns: NAMESPACE_PATTERNS_MAX, bytes: NAMESPACE_PATTERN_BYTES_MAX };
        let tenant = Self { patterns: TENANT_PATTERNS_MAX, bytes: TENANT_PATTERN_BYTES_MAX };
        for (owner, cost, most) in
            [("namespace", in_namespace, namespace), ("tenant", in_tenant, tenant)]
        {
            if cost.patterns > most.patterns || cost.bytes > most.bytes {
                return Err(OverBudget { owner, cost, most });
            }
        }
        Ok(())
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, cost, most } = self;
        if cost.patterns > most.patterns {
            let has = cost.patterns;
            let most = most.patterns;
            write!(f, "would give the {owner} {has} regular expressions: at most {most}")
        } else {
            let has = cost.bytes.div_ceil(1024);
            let most = most.bytes >> 10;
            write!(
                f,
                "would give the {owner} {has} KiB of compiled regular expressions: at most {most} KiB"
            )
        }
    }
}

#[cfg(all(test, feature = "regex"))]
mod tests;
