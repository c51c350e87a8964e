//! Secrets that must be readable again, unlike passwords and keys: the secret of a webhook signs its messages.
//!
//! They are encrypted (AES-256-GCM) under a key derived from the signing keys of access tokens, so a copy of the database
//! alone cannot sign. The owner of a secret is authenticated with it: a secret in another row cannot be opened. The first
//! signing key seals and all keys open. A secret that was sealed under a key that is no longer listed must be rotated.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

use weir_domain::id::{TenantId, WebhookId};

use crate::tokens::{SigningKey, UnusableKey};

/// Seals with one key and opens with all.
pub struct Sealing {
    sealing: LessSafeKey,
    opening: Vec<LessSafeKey>,
}

const SALT: &[u8] = b"weir sealing";
const INFO: &[u8] = b"webhook secrets, AES-256-GCM";

impl Sealing {
    /// Derives the keys from those that sign access tokens, the present one first.
    pub fn new(keys: &[SigningKey]) -> Result<Self, UnusableKey> {
        let mut derived = Vec::new();
        for key in keys {
            derived.push(derive(key)?);
        }
        let sealing = keys.first().ok_or(UnusableKey::Missing).and_then(derive)?;
        Ok(Self { sealing, opening: derived })
    }

    /// Seals a secret that belongs to `owner`; `nonce` is random.
    pub(crate) fn seal(&self, owner: &str, secret: &[u8], nonce: [u8; NONCE_LEN]) -> Vec<u8> {
        let mut body = secret.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.sealing
            .seal_in_place_append_tag(unique, Aad::from(owner.as_bytes()), &mut body)
            .expect("a secret is short");
        [nonce.as_slice(), &body].concat()
    }

    /// The secret, if it was sealed for `owner` under one of the keys.
    pub(crate) fn open(&self, owner: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>()?;
        self.opening.iter().find_map(|key| {
            let mut body = body.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let opened = key.open_in_place(nonce, Aad::from(owner.as_bytes()), &mut body).ok()?;
            Some(opened.to_vec())
        })
    }
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealing")
    }
}

fn derive(key: &SigningKey) -> Result<LessSafeKey, UnusableKey> {
    let seed = key.seed()?;
    let extracted = Salt::new(HKDF_SHA256, SALT).extract(&seed);
    let okm = extracted.expand(&[INFO], &AES_256_GCM).map_err(|_| UnusableKey::Form)?;
    Ok(LessSafeKey::new(UnboundKey::from(okm)))
}

/// The owner of a webhook's secret. Its secret cannot be moved to another webhook.
pub(crate) fn webhook_owner(tenant_id: TenantId, id: WebhookId) -> String {
    format!("{tenant_id} {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32]).expect("any 32 bytes are a seed")
    }

    #[test]
    fn secret_opens_for_its_owner_under_any_of_the_keys() {
        let old = Sealing::new(&[key(1)]).expect("a key");
        let sealed = old.seal("webhook_1", b"secret", [7; NONCE_LEN]);
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        let rotated = Sealing::new(&[key(2), key(1)]).expect("keys");
        assert_eq!(rotated.open("webhook_1", &sealed).as_deref(), Some(b"secret".as_slice()));
        assert_eq!(rotated.open("webhook_2", &sealed), None, "of another");
        assert_eq!(Sealing::new(&[key(2)]).expect("a key").open("webhook_1", &sealed), None);
        let mut bent = sealed.clone();
        bent[14] ^= 1;
        for wrong in [bent.as_slice(), b"", b"short", &sealed[..20]] {
            assert_eq!(rotated.open("webhook_1", wrong), None);
        }
        assert!(Sealing::new(&[]).is_err());
    }
}
