//! Keyset pagination: a page starts after the sort key of the last row of the previous page.

/// The requested part of a list.
#[derive(Debug, Clone)]
pub struct Page<A> {
    /// The most rows to return.
    pub limit: u32,
    /// The sort key of the last row of the previous page.
    pub after: Option<A>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing<T> {
    /// The rows, in the list's order.
    pub items: Vec<T>,
    /// Whether another page follows.
    pub more: bool,
}

impl<A> Page<A> {
    /// The number of rows to fetch: one more than `limit`, which shows whether another page follows.
    pub(crate) fn fetch(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// Makes a page of the fetched rows.
    pub(crate) fn listing<T>(&self, mut items: Vec<T>) -> Listing<T> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = items.len() > limit;
        items.truncate(limit);
        Listing { items, more }
    }
}
