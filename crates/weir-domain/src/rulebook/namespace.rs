//! A namespace of a tenant: the rules that its checks can meet.

use std::sync::Arc;

use super::active_rule::ActiveRule;
use crate::draft::Mode;
use crate::pattern_budget::PatternCost;
use crate::rule_index::RuleIndex;
use crate::rule_parts::RuleParts;
use crate::sample::SamplePlan;
use crate::spread::SpreadBy;

/// A namespace of one tenant.
#[derive(Debug, Default)]
pub struct Namespace {
    /// The rules that are not off: enforced ones before shadow ones, oldest first.
    pub rules: Vec<Arc<ActiveRule>>,
    /// The index that finds the rules that can match. `None` means that every rule is tried.
    pub index: Option<RuleIndex>,
    /// The parts of checks that are recorded for what-if runs. `None` means that no check is recorded.
    pub sample: Option<Arc<SamplePlan>>,
    /// The cost of the regular expressions that one check can evaluate.
    pub patterns: PatternCost,
    /// The attributes by whose values the counters are spread.
    pub spread_by: SpreadBy,
}

impl Namespace {
    /// Rules that are off count only for the attributes that a sample must hold for them.
    pub(super) fn new(
        name: &str,
        mut rules: Vec<Arc<ActiveRule>>,
        sampled: bool,
        parts: &RuleParts,
    ) -> Self {
        let sample = sampled.then(|| {
            let plan = SamplePlan::of_rules(name, rules.iter().map(|active| &active.rule));
            let mut plan = Arc::new(plan);
            parts.share_sample(&mut plan);
            plan
        });
        rules.retain(|active| active.rule.mode() != Mode::Off);
        rules.sort_unstable_by_key(|active| (active.rule.mode() != Mode::Enforce, active.id));
        rules.shrink_to_fit();
        let index = RuleIndex::of(&rules.iter().map(|active| &active.rule).collect::<Vec<_>>());
        let costs = rules.iter().map(|active| PatternCost::of(&active.rule));
        let patterns = costs.fold(PatternCost::default(), PatternCost::plus);
        Self { rules, index, sample, patterns, spread_by: SpreadBy::default() }
    }
}
