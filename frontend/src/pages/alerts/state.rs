//! The state that the parts of the page share.

use std::collections::BTreeMap;

use leptos::prelude::*;
use weir_wire::alerts::Alert;
use weir_wire::time::DateTime;
use weir_wire::webhooks::{IssuedWebhook, WebhookHealth};

use crate::components::rule_picker::Rules;

/// The rules to choose from; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct AlertTargets {
    pub(super) all: Rules,
    /// Rules with a quota.
    pub(super) quotas: Rules,
    /// The attribute that names the tenant's customers.
    pub(super) customer_attribute: StoredValue<Option<String>>,
}

/// The state of the page; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct AlertsState {
    pub(super) changed: Callback<()>,
    /// The alert being edited.
    pub(super) editing: RwSignal<Option<Alert>>,
    /// Whether the form is open.
    pub(super) form_open: RwSignal<bool>,
    /// A webhook with its secret, until the person confirms that it is stored.
    pub(super) issued: RwSignal<Option<IssuedWebhook>>,
    /// The webhook whose deliveries are shown.
    pub(super) log_of: RwSignal<Option<(String, String)>>,
    /// The results of deliveries by webhook.
    pub(super) health: Memo<BTreeMap<String, WebhookHealth>>,
    /// The time at which each alert fired last.
    pub(super) fired: Memo<BTreeMap<String, DateTime>>,
    /// Incremented when a delivery was added to that log.
    pub(super) deliveries_added: RwSignal<u32>,
}

impl AlertsState {
    /// Opens the form of an alert, or of a new one.
    pub(super) fn edit(self, alert: Option<Alert>) {
        self.editing.set(alert);
        self.form_open.set(true);
    }
}
