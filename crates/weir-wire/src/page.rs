//! One page of a list: the same envelope for every collection.

use serde::{Deserialize, Serialize};

/// Up to `limit` items, and the cursor of the next page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Page<T> {
    /// The items, in the order of the collection.
    pub data: Vec<T>,
    /// Pass it as `?cursor=` to get the next page; null on the last.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A list that is complete.
    pub fn complete(data: Vec<T>) -> Self {
        Self { data, next_cursor: None }
    }
}
