//! Lists, page by page: `?limit=` and `?cursor=`.
//!
//! A cursor contains the sort key of the last item and a digest of the list, so that it cannot be used for another tenant or
//! filter.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;
use weir_http::problem::Problem;
use weir_store::Listing;
use weir_wire::page::Page;

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 200;

/// The parameters of every list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
    /// The `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
}

/// One list, with a digest of its content. Cursors of other lists are refused.
#[derive(Debug, Clone)]
pub(crate) struct List {
    digest: [u8; 8],
    limit: u32,
    cursor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Cursor<K>([u8; 8], K);

/// The number of items to answer with.
pub(crate) fn limit(given: Option<u32>) -> Result<u32, Problem> {
    match given.unwrap_or(LIMIT_DEFAULT) {
        limit @ 1..=LIMIT_MAX => Ok(limit),
        _ => Err(Problem::invalid_field("limit", "must be from 1 to 200")),
    }
}

impl List {
    /// `of` contains everything that determines the items of the list and their order.
    pub(crate) fn new(of: &[&str], query: ListQuery) -> Result<Self, Problem> {
        let limit = limit(query.limit)?;
        let mut hasher = Sha256::new();
        for part in of {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let hash: [u8; 32] = hasher.finalize().into();
        let mut digest = [0; 8];
        digest.copy_from_slice(&hash[..8]);
        Ok(Self { digest, limit, cursor: query.cursor })
    }

    /// The page to read from the store. `parse` turns the sort key of the cursor into that of the store.
    pub(crate) fn page<K: DeserializeOwned, A>(
        &self,
        parse: impl FnOnce(K) -> Option<A>,
    ) -> Result<weir_store::Page<A>, Problem> {
        let after = match &self.cursor {
            None => None,
            Some(text) => {
                let refused = || Problem::invalid_field("cursor", "is not a cursor of this list");
                Some(self.key(text).and_then(parse).ok_or_else(refused)?)
            }
        };
        Ok(weir_store::Page { limit: self.limit, after })
    }

    /// The page to answer with.
    pub(crate) fn answer<R, K: Serialize, T>(
        &self,
        listing: Listing<R>,
        key: impl FnOnce(&R) -> K,
        item: impl FnMut(R) -> T,
    ) -> Page<T> {
        let last = listing.items.last().filter(|_| listing.more);
        let next_cursor = last.map(|row| {
            let cursor = serde_json::to_vec(&Cursor(self.digest, key(row)));
            URL_SAFE_NO_PAD.encode(cursor.expect("keys are texts and numbers"))
        });
        Page { data: listing.items.into_iter().map(item).collect(), next_cursor }
    }

    fn key<K: DeserializeOwned>(&self, text: &str) -> Option<K> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let Cursor(digest, key) = serde_json::from_slice::<Cursor<Value>>(&bytes).ok()?;
        if digest != self.digest || has_nul(&key) {
            return None;
        }
        serde_json::from_value(key).ok()
    }
}

/// Whether a text of the key contains the character 0, which no sort key has and Postgres refuses.
fn has_nul(key: &Value) -> bool {
    match key {
        Value::String(text) => text.contains('\0'),
        Value::Array(parts) => parts.iter().any(has_nul),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(limit: Option<u32>, cursor: Option<String>) -> ListQuery {
        ListQuery { limit, cursor }
    }

    #[test]
    fn cursor_comes_back_for_the_same_list_only() {
        let list = List::new(&["rules", "a"], query(Some(2), None)).expect("fine");
        let listing = Listing { items: vec![1u64, 2], more: true };
        let page = list.answer(listing, |key| *key, |item| item * 10);
        assert_eq!(page.data, [10, 20]);
        let cursor = page.next_cursor.expect("there is more");
        let after = |of: &[&str], cursor: &str| {
            let list = List::new(of, query(None, Some(cursor.to_owned()))).expect("fine");
            list.page::<u64, _>(Some).map(|page| page.after)
        };
        assert_eq!(after(&["rules", "a"], &cursor).expect("fits"), Some(2));
        assert!(after(&["rules", "b"], &cursor).is_err(), "another tenant");
        assert!(after(&["rulesa"], &cursor).is_err());
        assert!(after(&["rules", "a"], "rubbish").is_err());
    }

    #[test]
    fn cursor_with_the_character_0_is_refused() {
        let list = List::new(&["rules"], query(None, None)).expect("fine");
        for (key, is_read) in [("a", true), ("a\0", false)] {
            let listing = Listing { items: vec![()], more: true };
            let cursor = list.answer(listing, |()| (key, "rule"), |()| ()).next_cursor;
            let list = List::new(&["rules"], query(None, cursor)).expect("fine");
            assert_eq!(list.page::<(String, String), _>(Some).is_ok(), is_read, "{key:?}");
        }
    }

    #[test]
    fn limit_is_bounded() {
        for wrong in [0, 201, u32::MAX] {
            assert!(List::new(&[], query(Some(wrong), None)).is_err());
        }
    }
}
