//! The names of overrides in a request and in a plan.

use std::collections::BTreeMap;

use weir_http::problem::Problem;
use weir_store::OverrideRow;
use weir_wire::apply::{ObjectKind, ObjectName};

/// The subject of a stored override.
pub(in crate::apply) fn subject_of(row: &OverrideRow) -> Result<BTreeMap<String, String>, Problem> {
    serde_json::from_value(row.subject.clone()).map_err(Problem::internal)
}

/// An override in a plan.
pub(in crate::apply) fn named_object(namespace: String, name: String) -> ObjectName {
    ObjectName { kind: ObjectKind::Override, namespace, name }
}

/// The path of an override in the request.
pub(super) fn path(at: usize) -> String {
    format!("overrides[{at}]")
}
