//! The state of the rule list.

use std::collections::{BTreeMap, BTreeSet};

use leptos::prelude::*;
use weir_wire::rules::RuleAnswer;
use weir_wire::stats::RuleSeries;
use weir_wire::words::Mode;

/// The loaded rules and the selection; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct RuleState {
    pub rules: RwSignal<Vec<RuleAnswer>>,
    /// The ids of the selected rules.
    pub(super) selected: RwSignal<BTreeSet<String>>,
    /// The decisions of the last hour by rule id; empty while loading.
    pub(super) hour: Memo<BTreeMap<String, RuleSeries>>,
    /// The rules of the open dialog.
    pub(super) targets: RwSignal<Vec<RuleAnswer>>,
    /// The mode that the dialog offers.
    pub(super) mode: RwSignal<Mode>,
    pub(super) mode_dialog: RwSignal<bool>,
    pub(super) delete_dialog: RwSignal<bool>,
}

impl RuleState {
    /// Rules of which none is selected.
    pub fn new(rules: RwSignal<Vec<RuleAnswer>>, hour: Memo<BTreeMap<String, RuleSeries>>) -> Self {
        Self {
            rules,
            selected: RwSignal::default(),
            hour,
            targets: RwSignal::default(),
            mode: RwSignal::new(Mode::Shadow),
            mode_dialog: RwSignal::new(false),
            delete_dialog: RwSignal::new(false),
        }
    }

    /// The selected rules; tracked.
    pub(super) fn chosen(self) -> Vec<RuleAnswer> {
        let ids = self.selected.get();
        self.rules
            .with(|rules| rules.iter().filter(|rule| ids.contains(&rule.id)).cloned().collect())
    }

    /// Asks whether to change the mode of some rules.
    pub(super) fn ask_mode(self, rules: Vec<RuleAnswer>, mode: Mode) {
        self.targets.set(rules);
        self.mode.set(mode);
        self.mode_dialog.set(true);
    }

    /// Asks whether to delete some rules.
    pub(super) fn ask_delete(self, rules: Vec<RuleAnswer>) {
        self.targets.set(rules);
        self.delete_dialog.set(true);
    }

    /// Whether a rule denied a check in the last hour, or would have; tracked.
    pub(super) fn denies(self, id: &str) -> bool {
        let denies = |series: &RuleSeries| checks(series) > series.allowed.iter().sum();
        self.hour.with(|hour| hour.get(id).is_some_and(denies))
    }
}

/// The denied checks of a rule, without those that shadow mode would have denied.
pub(super) fn denied(series: &RuleSeries) -> u64 {
    series.denied.iter().sum()
}

/// All checks of a rule. Those that shadow mode would have denied are not part of the allowed ones.
pub(super) fn checks(series: &RuleSeries) -> u64 {
    series.allowed.iter().chain(&series.shadow_denied).sum::<u64>() + denied(series)
}
