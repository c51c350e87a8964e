//! The keys of the tokens with which customers read their own usage.

use std::fmt;
use std::sync::Arc;

use weir_domain::time::Timestamp;
use weir_http::view_token::{UnverifiedToken, ViewKey, Viewer};

use crate::tokens::{SigningKey, UnusableKey};

/// The keys of the tokens of customers. The first signs, all verify. Cheap to clone.
#[derive(Clone)]
pub struct ViewKeys(Arc<Vec<ViewKey>>);

impl ViewKeys {
    /// Derives the keys from those that sign access tokens, the present one first.
    pub fn new(keys: &[SigningKey]) -> Result<Self, UnusableKey> {
        let derived: Result<Vec<_>, _> =
            keys.iter().map(|key| Ok(ViewKey::derive(&key.seed()?))).collect();
        let derived = derived?;
        if derived.is_empty() { Err(UnusableKey::Missing) } else { Ok(Self(Arc::new(derived))) }
    }

    pub(crate) fn sign(&self, viewer: &Viewer) -> String {
        self.0[0].sign(viewer)
    }

    /// The public keys, as the rulebook has them.
    pub(crate) fn public(&self) -> Vec<String> {
        self.0.iter().map(ViewKey::public).collect()
    }

    pub(crate) fn verified(&self, token: UnverifiedToken<'_>, now: Timestamp) -> Option<Viewer> {
        let keys: Vec<_> = self.0.iter().map(ViewKey::public_bytes).collect();
        token.verified(&keys, now)
    }
}

impl fmt::Debug for ViewKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ViewKeys({} keys)", self.0.len())
    }
}
