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

    /// The URL of one of the tenant's pages, for event handlers; not tracked.
    pub fn page_now(self, page: &str) -> String {
        format!("/t/{}/{page}", self.now())
    }

    /// The URL of one of the tenant's pages; tracked.
    pub fn page(self, page: &str) -> String {
        format!("/t/{}/{page}", self.get())
    }
}

/// A page of a tenant in the navigation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// The path below the tenant.
    pub(super) path: &'static str,
    pub(super) name: &'static str,
    pub(super) icon: &'static str,
}

const fn page(path: &'static str, name: &'static str, icon: &'static str) -> Page {
    Page { path, name, icon }
}

/// The groups of the navigation with their pages.
pub(super) const GROUPS: [(&str, &[Page]); 5] = [
    (
        "Observe",
        &[
            page("overview", "Overview", "layout-dashboard"),
            page("live", "Live", "zap"),
            page("subjects", "Subjects", "crosshair"),
            page("usage", "Usage", "activity"),
            page("alerts", "Alerts", "bell"),
            page("deferred", "Deferred jobs", "clock"),
        ],
    ),
    (
        "Control",
        &[
            page("rules", "Rules", "shield-half"),
            page("overrides", "Overrides", "split"),
            page("plans", "Plans", "layers"),
            page("customers", "Customers", "book-open"),
        ],
    ),
    ("Lab", &[page("test", "Simulate", "flask-conical"), page("what-if", "Replay", "history")]),
    (
        "Platform",
        &[
            page("keys", "API keys", "key-round"),
            page("proxies", "Proxies", "waypoints"),
            page("gates", "Gates", "server"),
        ],
    ),
    (
        "Tenant",
        &[
            page("members", "Members", "users"),
            page("audit", "Audit log", "scroll-text"),
            page("settings", "Settings", "settings"),
        ],
    ),
];
