//! Tags that prove that this installation wrote a text, without a query of the database.
//!
//! HMAC-SHA-256 under keys derived from the signing keys of access tokens. The first key makes tags and all keys verify them,
//! so tags remain valid after a rotation while the old key is listed.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::tokens::{SigningKey, UnusableKey};

/// Makes and verifies tags. Cheap to clone; `Debug` hides the keys.
#[derive(Clone)]
pub struct Macs(Arc<Vec<hmac::Key>>);

const LABEL: &[u8] = b"weir tags, HMAC-SHA-256";
const TAG_BYTES: usize = 16;

impl Macs {
    /// Derives the keys from those that sign access tokens, the present one first.
    pub fn new(keys: &[SigningKey]) -> Result<Self, UnusableKey> {
        let mut derived = Vec::new();
        for key in keys {
            let seed = hmac::Key::new(hmac::HMAC_SHA256, &key.seed()?);
            let secret = hmac::sign(&seed, LABEL);
            derived.push(hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref()));
        }
        if derived.is_empty() { Err(UnusableKey::Missing) } else { Ok(Self(Arc::new(derived))) }
    }

    /// The tag of a text for one purpose, as 22 letters, digits, `-` and `_`.
    pub(crate) fn tag(&self, purpose: &str, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.digest(purpose, text))
    }

    /// The same as bytes: a name that reveals nothing about the text.
    pub(crate) fn digest(&self, purpose: &str, text: &str) -> [u8; TAG_BYTES] {
        digest(&self.0[0], purpose, text)
    }

    /// Whether `tag` is the tag of `text` under one of the keys.
    pub(crate) fn verifies(&self, purpose: &str, text: &str, tag: &str) -> bool {
        use subtle::ConstantTimeEq;
        let Ok(tag) = URL_SAFE_NO_PAD.decode(tag) else { return false };
        self.0.iter().any(|key| digest(key, purpose, text).ct_eq(&tag).into())
    }
}

impl fmt::Debug for Macs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Macs({} keys)", self.0.len())
    }
}

fn digest(key: &hmac::Key, purpose: &str, text: &str) -> [u8; TAG_BYTES] {
    let mut context = hmac::Context::with_key(key);
    // No purpose contains a zero byte, so different pairs give different bytes.
    context.update(purpose.as_bytes());
    context.update(&[0]);
    context.update(text.as_bytes());
    let whole = context.sign();
    *whole.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32]).expect("any 32 bytes are a seed")
    }

    #[test]
    fn tags_hold_for_their_text_and_purpose_under_any_listed_key() {
        let old = Macs::new(&[key(1)]).expect("a key");
        let tag = old.tag("device", "text");
        let rotated = Macs::new(&[key(2), key(1)]).expect("keys");
        assert!(rotated.verifies("device", "text", &tag));
        assert!(!rotated.verifies("refresh", "text", &tag));
        assert!(!rotated.verifies("device", "texts", &tag));
        assert!(!Macs::new(&[key(2)]).expect("a key").verifies("device", "text", &tag));
        for wrong in ["", "x", &tag[1..]] {
            assert!(!rotated.verifies("device", "text", wrong), "{wrong}");
        }
        assert!(Macs::new(&[]).is_err());
    }
}
