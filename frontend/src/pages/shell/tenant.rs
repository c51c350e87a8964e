//! The tenant in the URL, and its pages.

use leptos::prelude::*;

/// The tenant in the URL, for the pages inside.
#[derive(Debug, Clone, Copy)]
pub struct TenantId(pub(super) Memo<String>);

impl TenantId {
    /// The tenant's id; tracked.
    pub fn get(self) -> String {
        self.0.get()
    }

    /// The tenant's id, for event handlers; not tracked.
    pub fn now(self) -> String {
        self.0.get_untracked()
    }

    /// The URL of one of the tenant's pages; tracked.
    pub fn page(self, page: &str) -> String {
        format!("/t/{}/{page}", self.get())
    }
}

/// The pages of a tenant in the order of the navigation: path and name.
pub(super) const PAGES: [(&str, &str); 13] = [
    ("start", "Get started"),
    ("overview", "Overview"),
    ("live", "Live"),
    ("rules", "Rules"),
    ("overrides", "Overrides"),
    ("test", "Test"),
    ("what-if", "What-if"),
    ("alerts", "Alerts"),
    ("keys", "API keys"),
    ("members", "Members"),
    ("audit", "Audit log"),
    ("gates", "Gates"),
    ("settings", "Settings"),
];
