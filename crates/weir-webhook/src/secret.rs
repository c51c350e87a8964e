//! The secret that signs the messages of a webhook, and the signature of Standard Webhooks.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A secret of 32 random bytes, shared with the receiver. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret([u8; 32]);

/// The error of a text that is not a webhook secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a webhook secret")]
pub struct InvalidSecret;

const PREFIX: &str = "whsec_";

impl WebhookSecret {
    /// Makes a secret from random bytes.
    pub const fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Parses the text of [`Self::expose`].
    pub fn parse(text: &str) -> Result<Self, InvalidSecret> {
        let body = text.strip_prefix(PREFIX).ok_or(InvalidSecret)?;
        let bytes = STANDARD.decode(body).map_err(|_| InvalidSecret)?;
        bytes.try_into().map(Self).map_err(|_| InvalidSecret)
    }

    /// The secret with the bytes of [`Self::bytes`].
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, InvalidSecret> {
        bytes.try_into().map(Self).map_err(|_| InvalidSecret)
    }

    /// The bytes of the secret.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The text of the secret in the form that receivers' libraries accept.
    pub fn expose(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(self.0))
    }

    /// The signature of a message: `v1,` and the HMAC-SHA256 of `id.timestamp.body`.
    pub fn sign(&self, id: &str, timestamp_s: u64, body: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut context = hmac::Context::with_key(&key);
        context.update(format!("{id}.{timestamp_s}.").as_bytes());
        context.update(body.as_bytes());
        format!("v1,{}", STANDARD.encode(context.sign()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}
