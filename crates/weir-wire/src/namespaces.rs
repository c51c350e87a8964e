//! Namespaces in JSON: their settings.

use serde::{Deserialize, Serialize};
use weir_domain::spread::SpreadBy;

use crate::problem::FieldProblem;

/// `PUT /tenants/{tenant}/namespaces/{namespace}`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NamespaceBody {
    /// The attributes by whose values the counters are spread over the primaries of a Redis cluster; at most 8. Empty: one
    /// primary has all counters of the namespace.
    #[serde(default)]
    pub spread_by: Vec<String>,
}

/// A namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NamespaceAnswer {
    /// The name.
    pub name: String,
    /// The number of its rules.
    pub rules: u64,
    /// The attributes by whose values the counters are spread, sorted.
    pub spread_by: Vec<String>,
    /// The number of writes of the settings, 0 if they were never written; also the `ETag`.
    pub revision: u64,
    /// The version of the rulebook from which gates serve the settings.
    pub rulebook_version: u64,
}

impl NamespaceBody {
    /// Checks the settings and reports everything that is wrong with them.
    pub fn parse(self) -> Result<SpreadBy, Vec<FieldProblem>> {
        SpreadBy::parse(self.spread_by).map_err(FieldProblem::list)
    }
}
