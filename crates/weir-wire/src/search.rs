//! Search across a tenant in JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `GET /tenants/{tenant}/search`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchAnswer {
    /// The hits: a few of each kind, subjects first.
    pub data: Vec<SearchHit>,
}

/// The kind of a search hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// A subject that rules count.
    Subject,
    /// A rule.
    Rule,
    /// An override.
    Override,
    /// An alert.
    Alert,
    /// A webhook.
    Webhook,
    /// A member of the tenant.
    Member,
    /// An API key.
    Key,
    /// An entry of the audit log.
    Audit,
}

/// A search hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// Its kind.
    pub kind: SearchKind,
    /// Its id, of a member the id of the user; null for a subject.
    pub id: Option<String>,
    /// Its name, of an audit entry the id of its request; null for a subject and an override.
    pub name: Option<String>,
    /// A text that distinguishes it from others: a namespace, the rule of an override, an e-mail address, a URL, the beginning of a
    /// key, the action of an audit entry; for a busy subject its denials of the last day. Empty for an alert, and for a subject that is not
    /// known but can be opened.
    pub detail: String,
    /// The attributes of a subject or of an override; null for others.
    pub subject: Option<BTreeMap<String, String>>,
}
