//! Access tokens: signed with Ed25519, valid for ten minutes, and invalid once their session has ended.
//!
//! A token is verified here from its own content. On every call, a query of the database verifies that its session is live
//! (`actor.rs`). This module does not rely on the library's defaults: it demands algorithm, type, key, issuer, audience and
//! times explicitly, and refuses headers with a key of their own.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weir_domain::id::{SessionId, UserId};
use weir_domain::time::Timestamp;

/// Signs with one key and verifies with all, so that keys can be rotated.
pub struct AccessTokens {
    signing: EncodingKey,
    signing_kid: String,
    verifying: Vec<(String, DecodingKey)>,
    /// Whether a token of an unknown key was reported.
    reported: AtomicBool,
}

/// An Ed25519 key, given as its 32-byte seed. `Debug` hides it.
pub struct SigningKey(Ed25519KeyPair);

/// The reason why a text is not a signing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnusableKey {
    /// Not 32 bytes in base64.
    #[error("must be 32 random bytes in base64, as `openssl rand -base64 32` prints them")]
    Form,
    /// A key so regular that it cannot be random.
    #[error("is not random; make one with `openssl rand -base64 32`")]
    Regular,
    /// No key was given.
    #[error("must hold at least one key")]
    Missing,
}

/// The person and session of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) user_id: UserId,
    pub(crate) session_id: SessionId,
}

/// The lifetime of a token, in seconds.
pub(crate) const LIFETIME_S: u64 = 600;
const LEEWAY_S: u64 = 5;
/// The length of the id of a key: eight bytes in base64.
const KID_LENGTH: usize = 11;
const ISSUER: &str = "weir";
const AUDIENCE: &str = "weir-control";
const TYPE: &str = "at+jwt";

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    sid: String,
    jti: String,
    iat: u64,
    nbf: u64,
    exp: u64,
}

impl AccessTokens {
    /// Takes the keys: the first signs, all verify. Tests at once that signing works.
    pub fn new(keys: &[SigningKey]) -> Result<Self, UnusableKey> {
        let first = keys.first().ok_or(UnusableKey::Missing)?;
        let pkcs8 = first.0.to_pkcs8v1().map_err(|_| UnusableKey::Form)?;
        let verifying =
            keys.iter().map(|key| (key.kid(), DecodingKey::from_ed_der(key.public()))).collect();
        let tokens = Self {
            signing: EncodingKey::from_ed_der(pkcs8.as_ref()),
            signing_kid: first.kid(),
            verifying,
            reported: AtomicBool::new(false),
        };
        let probe = Bearer { user_id: UserId::from_u128(1), session_id: SessionId::from_u128(2) };
        let now = Timestamp::from_millis(1_000_000);
        match tokens.verify(&tokens.sign(probe, "probe", now), now) {
            Some(bearer) if bearer == probe => Ok(tokens),
            _ => Err(UnusableKey::Form),
        }
    }

    /// A token for this session; `token_id` makes it unique.
    pub(crate) fn sign(&self, bearer: Bearer, token_id: &str, now: Timestamp) -> String {
        let now_s = now.as_millis_u64() / 1000;
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: bearer.user_id.to_string(),
            sid: bearer.session_id.to_string(),
            jti: token_id.to_owned(),
            iat: now_s,
            nbf: now_s,
            exp: now_s + LIFETIME_S,
        };
        let header = Header {
            typ: Some(TYPE.to_owned()),
            kid: Some(self.signing_kid.clone()),
            ..Header::new(Algorithm::EdDSA)
        };
        jsonwebtoken::encode(&header, &claims, &self.signing)
            .expect("a valid key signs texts and numbers")
    }

    /// The person and session of a token, or `None` if anything about it is wrong.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Option<Bearer> {
        if token.len() > 2048 {
            return None;
        }
        let header = jsonwebtoken::decode_header(token).ok()?;
        let brings_a_key = header.jku.is_some()
            || header.jwk.is_some()
            || header.x5u.is_some()
            || header.x5c.is_some()
            || header.crit.is_some();
        if brings_a_key || header.alg != Algorithm::EdDSA || header.typ.as_deref() != Some(TYPE) {
            return None;
        }
        let kid = header.kid?;
        let Some((_, key)) = self.verifying.iter().find(|(known, _)| *known == kid) else {
            self.report_unknown(&kid);
            return None;
        };
        let claims = jsonwebtoken::decode::<Claims>(token, key, &validation()).ok()?.claims;
        let now_s = now.as_millis_u64() / 1000;
        let in_time = claims.nbf <= now_s + LEEWAY_S
            && claims.iat <= now_s + LEEWAY_S
            && claims.exp.saturating_add(LEEWAY_S) > now_s
            && claims.exp.saturating_sub(claims.iat) <= LIFETIME_S;
        let bearer =
            Bearer { user_id: claims.sub.parse().ok()?, session_id: claims.sid.parse().ok()? };
        in_time.then_some(bearer)
    }

    /// Logs the first token that names a key of another control plane. Returns whether it was the first.
    fn report_unknown(&self, kid: &str) -> bool {
        // The caller wrote the id, so only a text in the form of an id is logged.
        let is_id = kid.len() == KID_LENGTH && URL_SAFE_NO_PAD.decode(kid).is_ok();
        let first = is_id && !self.reported.swap(true, Ordering::Relaxed);
        if first {
            tracing::warn!(
                kid,
                "a token names an unknown signing key: all control planes need the same WEIR_JWT_KEY"
            );
        }
        first
    }
}

impl fmt::Debug for AccessTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessTokens({} keys)", self.verifying.len())
    }
}

impl SigningKey {
    /// Parses the setting: base64 of 32 random bytes.
    pub fn parse(text: &str) -> Result<Self, UnusableKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| UnusableKey::Form)?;
        let seed: [u8; 32] = bytes.try_into().map_err(|_| UnusableKey::Form)?;
        if is_regular(&seed) { Err(UnusableKey::Regular) } else { Self::from_seed(&seed) }
    }

    /// Makes a key from random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, UnusableKey> {
        Ed25519KeyPair::from_seed_unchecked(seed).map(Self).map_err(|_| UnusableKey::Form)
    }

    fn public(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    /// The bytes from which other keys are derived.
    pub(crate) fn seed(&self) -> Result<Vec<u8>, UnusableKey> {
        let document = self.0.to_pkcs8v1().map_err(|_| UnusableKey::Form)?;
        Ok(document.as_ref().to_vec())
    }

    /// The id of the key: the beginning of the digest of its public half.
    fn kid(&self) -> String {
        let digest = Sha256::digest(self.public());
        URL_SAFE_NO_PAD.encode(&digest[..8])
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

/// Whether a seed is text, a sequence of numbers or a repetition. Fewer than one in 10^11 random keys are.
fn is_regular(seed: &[u8; 32]) -> bool {
    let mut distinct = seed.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let step = seed[1].wrapping_sub(seed[0]);
    let is_row = (step <= 16 || step >= 240)
        && seed.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step);
    let is_text = seed.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    distinct.len() < 16 || is_row || is_text || seed[..16] == seed[16..]
}

/// The settings of the library. Times are compared above with the given clock; the library compares the rest.
fn validation() -> Validation {
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.algorithms = vec![Algorithm::EdDSA];
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
    validation.set_issuer(&[ISSUER]);
    validation.set_audience(&[AUDIENCE]);
    validation
}

#[cfg(test)]
mod tests;
