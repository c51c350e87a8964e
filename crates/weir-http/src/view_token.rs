//! Tokens with which a customer of a tenant reads its own usage: signed with Ed25519, valid for at most an hour, and stored nowhere.
//!
//! The control plane signs with a key that is derived from the key of access tokens. Gates have the public key in the rulebook, so
//! they can verify tokens and not make them.

use std::fmt;
use std::fmt::Write as _;

use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;

/// The key pair that signs tokens. `Debug` hides it.
pub struct ViewKey(Ed25519KeyPair);

/// The customer that a token names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The tenant.
    pub tenant: TenantId,
    /// The customer.
    pub customer: String,
    /// The time from which the token is refused.
    pub expires_at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    tenant: String,
    customer: String,
    expires_at_ms: i64,
}

const PREFIX: &str = "view_";
/// A customer has at most 512 bytes, which JSON and base64 make at most 1,400.
const TOKEN_BYTES_MAX: usize = 2_048;
const SALT: &[u8] = b"weir view tokens";
const INFO: &[u8] = b"customers, Ed25519";

impl ViewKey {
    /// Derives a key pair. The seed does not follow from it.
    pub fn derive(seed: &[u8]) -> Self {
        let extracted = Salt::new(HKDF_SHA256, SALT).extract(seed);
        let mut own = [0; 32];
        extracted
            .expand(&[INFO], HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut own))
            .expect("the lengths are those of the algorithm");
        Self(Ed25519KeyPair::from_seed_unchecked(&own).expect("any 32 bytes are a seed"))
    }

    /// The public key as hexadecimal digits.
    pub fn public(&self) -> String {
        self.public_bytes().iter().fold(String::new(), |mut digits, byte| {
            write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
            digits
        })
    }

    /// The public key.
    pub fn public_bytes(&self) -> [u8; 32] {
        self.0.public_key().as_ref().try_into().expect("a key of Ed25519 has 32 bytes")
    }

    /// A token of a customer.
    pub fn sign(&self, viewer: &Viewer) -> String {
        let claims = Claims {
            tenant: viewer.tenant.to_string(),
            customer: viewer.customer.clone(),
            expires_at_ms: viewer.expires_at.as_millis(),
        };
        let claims = serde_json::to_vec(&claims).expect("texts and numbers serialise");
        let signed = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(claims));
        let signature = self.0.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }
}

impl fmt::Debug for ViewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ViewKey")
    }
}

/// A token in its form, whose signature is not verified.
#[derive(Debug)]
pub struct UnverifiedToken<'t> {
    viewer: Viewer,
    signed: &'t str,
    signature: Vec<u8>,
}

impl<'t> UnverifiedToken<'t> {
    /// Parses a token.
    pub fn parse(text: &'t str) -> Option<Self> {
        if text.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let claims = URL_SAFE_NO_PAD.decode(signed.strip_prefix(PREFIX)?).ok()?;
        let claims: Claims = serde_json::from_slice(&claims).ok()?;
        let viewer = Viewer {
            tenant: claims.tenant.parse().ok()?,
            customer: claims.customer,
            expires_at: Timestamp::from_millis(claims.expires_at_ms),
        };
        Some(Self { viewer, signed, signature: URL_SAFE_NO_PAD.decode(signature).ok()? })
    }

    /// The tenant whose keys verify it.
    pub fn tenant(&self) -> TenantId {
        self.viewer.tenant
    }

    /// The customer, if one of these public keys verifies the token and it has not expired.
    pub fn verified(self, keys: &[[u8; 32]], now: Timestamp) -> Option<Viewer> {
        let verifies = |key: &[u8; 32]| {
            let key = UnparsedPublicKey::new(&ED25519, key);
            key.verify(self.signed.as_bytes(), &self.signature).is_ok()
        };
        let is_valid = now < self.viewer.expires_at && keys.iter().any(verifies);
        is_valid.then_some(self.viewer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_names_its_customer_until_it_expires_and_no_other_key_or_byte_does() {
        let key = ViewKey::derive(&[1; 32]);
        let other = ViewKey::derive(&[2; 32]);
        let viewer = Viewer {
            tenant: TenantId::from_u128(5),
            customer: "acme \"\\ü".to_owned(),
            expires_at: Timestamp::from_millis(10_000),
        };
        let token = key.sign(&viewer);
        let read = |text: &str, keys: &[[u8; 32]], now| {
            UnverifiedToken::parse(text)?.verified(keys, Timestamp::from_millis(now))
        };
        let keys = [other.public_bytes(), key.public_bytes()];
        assert_eq!(read(&token, &keys, 9_999), Some(viewer));
        assert_eq!(read(&token, &keys, 10_000), None, "it has expired");
        assert_eq!(read(&token, &keys[..1], 0), None);
        assert_eq!(read(&token, &[], 0), None);
        for at in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).expect("ASCII");
            assert_eq!(read(&forged, &keys, 0), None, "{at}");
        }
        for wrong in ["", "view_", "view_.", "view_e30.", &token[5..], &"x".repeat(5_000)] {
            assert_eq!(read(wrong, &keys, 0), None, "{wrong}");
        }
    }

    #[test]
    fn longest_customer_fits_into_a_token() {
        let key = ViewKey::derive(&[1; 32]);
        let expires_at = Timestamp::from_millis(i64::MAX);
        let customer = "\"".repeat(512);
        let viewer = Viewer { tenant: TenantId::from_u128(u128::MAX), customer, expires_at };
        assert!(UnverifiedToken::parse(&key.sign(&viewer)).is_some());
    }
}
