//! The views of lists that the members of a tenant share, in JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::problem::FieldProblem;

/// The most views of a tenant.
pub const VIEWS_MAX: usize = 100;
/// The most characters of a name, and of the name of a list.
pub const VIEW_NAME_CHARS_MAX: usize = 64;
/// The most parameters of a view.
pub const VIEW_PARAMETERS_MAX: usize = 32;
/// The most bytes of the names and values of a view's parameters.
pub const VIEW_BYTES_MAX: usize = 2_000;

/// `PUT /tenants/{tenant}/views`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ViewsBody {
    /// All views, at most 100. A list has one view of a name.
    pub views: Vec<SavedView>,
}

/// A view of a list of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SavedView {
    /// The list: `[a-z0-9-]`, 1 to 64 characters.
    pub list: String,
    /// The name, 1 to 64 characters.
    pub name: String,
    /// The parameters of the page's address, at most 32 and 2,000 bytes.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
}

/// The views of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ViewsAnswer {
    /// The views, in the order in which they were written.
    pub views: Vec<SavedView>,
    /// The number of writes, 0 if there was none; also the `ETag`.
    pub revision: u64,
}

impl ViewsBody {
    /// Checks the views and reports everything that is wrong with them.
    pub fn parse(self) -> Result<Vec<SavedView>, Vec<FieldProblem>> {
        if self.views.len() > VIEWS_MAX {
            return Err(vec![FieldProblem::new("views", format!("must be at most {VIEWS_MAX}"))]);
        }
        let mut wrong = Vec::new();
        let mut names = BTreeSet::new();
        for (at, view) in self.views.iter().enumerate() {
            let mut refuse = |field: &str, reason: String| {
                wrong.push(FieldProblem::new(format!("views[{at}].{field}"), reason));
            };
            let of_list = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if !of_length(&view.list) || !view.list.chars().all(of_list) {
                refuse(
                    "list",
                    format!("must be `[a-z0-9-]`, 1 to {VIEW_NAME_CHARS_MAX} characters"),
                );
            }
            let is_plain = view.name.trim() == view.name && !view.name.contains(char::is_control);
            if !of_length(&view.name) || !is_plain {
                refuse(
                    "name",
                    format!(
                        "must be 1 to {VIEW_NAME_CHARS_MAX} characters, without spaces around it"
                    ),
                );
            }
            if !names.insert((&view.list, &view.name)) {
                refuse("name", "must differ from the other names of the list".to_owned());
            }
            let bytes: usize =
                view.query.iter().map(|(name, value)| name.len() + value.len()).sum();
            let has_nul =
                view.query.iter().any(|(name, value)| (name.clone() + value).contains('\0'));
            if view.query.len() > VIEW_PARAMETERS_MAX || bytes > VIEW_BYTES_MAX || has_nul {
                let reason = format!(
                    "must be at most {VIEW_PARAMETERS_MAX} parameters of {VIEW_BYTES_MAX} bytes together, without the character 0"
                );
                refuse("query", reason);
            }
        }
        if wrong.is_empty() { Ok(self.views) } else { Err(wrong) }
    }
}

fn of_length(text: &str) -> bool {
    (1..=VIEW_NAME_CHARS_MAX).contains(&text.chars().count())
}
