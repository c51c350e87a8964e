//! The state that the parts of the page share.

use leptos::prelude::*;
use weir_wire::profiles::ProfileAnswer;

/// Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProxiesState {
    /// Fetches the profiles again.
    pub(super) changed: Callback<()>,
    /// The profile in the form; `None` for a new one.
    pub(super) editing: RwSignal<Option<ProfileAnswer>>,
    /// Whether the form is open.
    pub(super) open: RwSignal<bool>,
    /// The profile whose revisions are shown.
    pub(super) history: RwSignal<Option<ProfileAnswer>>,
    /// Whether they are open.
    pub(super) history_open: RwSignal<bool>,
}
