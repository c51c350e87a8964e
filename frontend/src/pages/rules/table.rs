//! The state of the rule table.

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::stats::RuleSeries;

/// The loaded rules and the selection; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub(super) rules: RwSignal<Vec<RuleAnswer>>,
    /// The ids of the selected rules.
    pub(super) selected: RwSignal<BTreeSet<String>>,
    /// The decisions of the last hour by rule id; `None` while loading.
    pub(super) hour: Memo<BTreeMap<String, RuleSeries>>,
    /// Indexes into `rules`, filtered and sorted.
    pub(super) shown: Memo<Vec<usize>>,
}
