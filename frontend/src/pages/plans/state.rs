//! The state that the parts of the page share.

use leptos::prelude::*;
use weir_wire::plans::PlanAnswer;

/// Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlansState {
    /// Fetches the plans again.
    pub(super) changed: Callback<()>,
    pub(super) open: RwSignal<OpenPlan>,
}

/// The content of the drawer over the list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OpenPlan {
    Nothing,
    New,
    Edit(Box<PlanAnswer>),
    Revisions(Box<PlanAnswer>),
}

impl OpenPlan {
    pub(super) fn title(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::New => "New plan".to_owned(),
            Self::Edit(before) => format!("Change {}", before.plan.name),
            Self::Revisions(now) => format!("Revisions of {}", now.plan.name),
        }
    }
}
