//! Secrets that must be readable again, unlike passwords and keys: the secret of a webhook signs its messages.
//!
//! They are encrypted (AES-256-GCM) under a key that is not in the database, so a copy of the database alone cannot sign. The
//! owner of a secret is authenticated with it: a secret in another row cannot be opened. The first key seals and all keys
//! open. A secret that was sealed under a key that is no longer listed must be rotated.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_domain::id::{TenantId, WebhookId};

/// A key that seals and opens secrets. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SealingKey([u8; 32]);

/// A text that is not a sealing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be base64 of 32 bytes, as `weir webhook-key` prints it")]
pub struct InvalidSealingKey;

/// Seals with one key and opens with all.
pub struct Sealing {
    sealing: LessSafeKey,
    opening: Vec<LessSafeKey>,
}

const SALT: &[u8] = b"weir sealing";
const INFO: &[u8] = b"webhook secrets, AES-256-GCM";

impl SealingKey {
    /// Derives a key. The seed does not follow from it.
    pub fn derive(seed: &[u8]) -> Self {
        let extracted = Salt::new(HKDF_SHA256, SALT).extract(seed);
        let mut key = [0; 32];
        let expanded = extracted.expand(&[INFO], &AES_256_GCM);
        expanded
            .and_then(|okm| okm.fill(&mut key))
            .expect("the lengths are those of the algorithm");
        Self(key)
    }

    /// Parses the text of [`Self::expose`].
    pub fn parse(text: &str) -> Result<Self, InvalidSealingKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| InvalidSealingKey)?;
        bytes.try_into().map(Self).map_err(|_| InvalidSealingKey)
    }

    /// The key in base64, for the setting of gates.
    pub fn expose(&self) -> String {
        STANDARD.encode(self.0)
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&AES_256_GCM, &self.0);
        LessSafeKey::new(key.expect("the length is that of the algorithm"))
    }
}

impl Sealing {
    /// The present key is the first. `None` without keys.
    pub fn new(keys: &[SealingKey]) -> Option<Self> {
        let sealing = keys.first()?.cipher();
        Some(Self { sealing, opening: keys.iter().map(SealingKey::cipher).collect() })
    }

    /// Seals a secret that belongs to `owner`; `nonce` is random.
    ///
    /// # Panics
    /// If the secret has gigabytes.
    pub fn seal(&self, owner: &str, secret: &[u8], nonce: [u8; NONCE_LEN]) -> Vec<u8> {
        let mut body = secret.to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.sealing
            .seal_in_place_append_tag(unique, Aad::from(owner.as_bytes()), &mut body)
            .expect("a secret is short");
        [nonce.as_slice(), &body].concat()
    }

    /// The secret, if it was sealed for `owner` under one of the keys.
    pub fn open(&self, owner: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>()?;
        self.opening.iter().find_map(|key| {
            let mut body = body.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let opened = key.open_in_place(nonce, Aad::from(owner.as_bytes()), &mut body).ok()?;
            Some(opened.to_vec())
        })
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(…)")
    }
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealing")
    }
}

/// The owner of a webhook's secret. Its secret cannot be moved to another webhook.
pub fn webhook_owner(tenant_id: TenantId, id: WebhookId) -> String {
    format!("{tenant_id} {id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(seed: u8) -> SealingKey {
        SealingKey::derive(&[seed; 32])
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
        assert!(Sealing::new(&[]).is_none());
    }

    #[test]
    fn key_returns_from_its_text_and_is_not_shown() {
        assert_eq!(SealingKey::parse(&key(1).expose()), Ok(key(1)));
        assert_eq!(format!("{:?}", key(1)), "SealingKey(…)");
        for wrong in ["", "AAAA", "not base64"] {
            assert_eq!(SealingKey::parse(wrong), Err(InvalidSealingKey), "{wrong}");
        }
    }
}
