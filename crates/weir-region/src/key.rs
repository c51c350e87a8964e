//! The keys that sign calls between regions (HMAC-SHA-256). They are derived from the signing keys of the control plane.

use std::fmt;

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A key that signs calls. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct RegionKey([u8; 32]);

/// A text that is not such a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be base64 of 32 bytes, as `weir region-key` prints it")]
pub struct InvalidRegionKey;

/// Keys, of which the first signs and all verify.
#[derive(Clone)]
pub struct RegionKeys(Vec<hmac::Key>);

const SALT: &[u8] = b"weir regions";
const INFO: &[u8] = b"calls between regions, HMAC-SHA-256";

impl RegionKey {
    /// Derives a key. The seed does not follow from it.
    pub fn derive(seed: &[u8]) -> Self {
        let extracted = Salt::new(HKDF_SHA256, SALT).extract(seed);
        let mut key = [0; 32];
        extracted
            .expand(&[INFO], hmac::HMAC_SHA256)
            .and_then(|okm| okm.fill(&mut key))
            .expect("the lengths are those of the algorithm");
        Self(key)
    }

    /// Parses the text of [`Self::expose`].
    pub fn parse(text: &str) -> Result<Self, InvalidRegionKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| InvalidRegionKey)?;
        bytes.try_into().map(Self).map_err(|_| InvalidRegionKey)
    }

    /// The key in base64, for the setting of gates.
    pub fn expose(&self) -> String {
        STANDARD.encode(self.0)
    }
}

impl RegionKeys {
    /// The present key is the first. `None` without keys.
    pub fn new(keys: &[RegionKey]) -> Option<Self> {
        let keys: Vec<_> =
            keys.iter().map(|key| hmac::Key::new(hmac::HMAC_SHA256, &key.0)).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// The signature of a body, in hexadecimal.
    pub fn sign(&self, body: &[u8]) -> String {
        hex::encode(hmac::sign(&self.0[0], body))
    }

    /// Whether one of the keys signed the body. The comparison takes the same time for every signature.
    pub fn verifies(&self, body: &[u8], signature: &str) -> bool {
        let Ok(signature) = hex::decode(signature) else { return false };
        self.0.iter().any(|key| hmac::verify(key, body, &signature).is_ok())
    }
}

impl fmt::Debug for RegionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegionKey(…)")
    }
}

impl fmt::Debug for RegionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RegionKeys({} keys)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_listed_key_verifies_what_it_signed_and_nothing_else() {
        let [old, new] = [1, 2].map(|seed| RegionKey::derive(&[seed; 32]));
        let both = RegionKeys::new(&[new, old.clone()]).expect("keys");
        let old = RegionKeys::new(&[old]).expect("a key");
        assert!(both.verifies(b"call", &old.sign(b"call")), "after a rotation");
        assert!(!old.verifies(b"call", &both.sign(b"call")), "the new key signs");
        assert!(!both.verifies(b"cal1", &both.sign(b"call")));
        for forged in ["", "zz", &"0".repeat(64), &both.sign(b"call")[..62]] {
            assert!(!both.verifies(b"call", forged), "{forged}");
        }
        assert!(RegionKeys::new(&[]).is_none());
    }

    #[test]
    fn text_of_a_key_is_read_again_and_its_debug_form_hides_it() {
        let key = RegionKey::derive(&[7; 32]);
        assert_eq!(RegionKey::parse(&format!(" {}\n", key.expose())), Ok(key.clone()));
        assert_eq!(RegionKey::parse("c2hvcnQ="), Err(InvalidRegionKey));
        assert_eq!(format!("{key:?}"), "RegionKey(…)");
    }
}
