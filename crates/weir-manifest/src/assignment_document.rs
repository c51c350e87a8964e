//! Documents `Assignments`: the customers that are on plans.

use std::sync::Arc;

use serde_json::Value;
use weir_wire::apply::ApplyAssignment;

use crate::document::{ASSIGNMENTS, Document, list_without_metadata, parse_all};
use crate::fields::{Fields, join};
use crate::yaml::Misplaced;

/// An assignment of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct AssignmentDocument {
    pub(crate) body: ApplyAssignment,
    /// The fields of the document, which can have thousands of assignments.
    pub(crate) fields: Arc<Fields>,
    /// The position of the entry in `spec`.
    entry: usize,
}

impl AssignmentDocument {
    /// The place of a field of the assignment in its document.
    pub(crate) fn path(&self, field: &str) -> String {
        path(self.entry, field)
    }
}

fn path(entry: usize, field: &str) -> String {
    join(&format!("spec[{entry}]"), field)
}

/// Reads the assignments of a document, or returns everything that is wrong with them.
pub(crate) fn read(document: Document) -> Result<Vec<AssignmentDocument>, Vec<Misplaced>> {
    let Document { metadata, spec, fields } = document;
    let entries = list_without_metadata(&metadata, spec, ASSIGNMENTS, &fields)?;
    let fields = Arc::new(fields);
    let (mut read, mut wrong) = (Vec::new(), Vec::new());
    for (entry, value) in entries.into_iter().enumerate() {
        match body(value, entry, &fields) {
            Ok(body) => read.push(AssignmentDocument { body, fields: Arc::clone(&fields), entry }),
            Err(errors) => wrong.extend(errors),
        }
    }
    if wrong.is_empty() { Ok(read) } else { Err(wrong) }
}

fn body(value: Value, entry: usize, fields: &Fields) -> Result<ApplyAssignment, Vec<Misplaced>> {
    let body: ApplyAssignment = parse_all(value, fields, |field| path(entry, field))?;
    let misplaced = body.problems().into_iter().map(|wrong| {
        let at = fields.position(&path(entry, &wrong.field));
        Misplaced::new(at, format!("`{}` {}", wrong.field, wrong.reason))
    });
    let misplaced: Vec<_> = misplaced.collect();
    if misplaced.is_empty() { Ok(body) } else { Err(misplaced) }
}
