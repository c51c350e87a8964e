//! Tokens with which sign-ups are confirmed. Only digests are stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use weir_wire::sessions::SignUpToken;

use crate::state::Random;

/// A new token.
pub(super) fn new_token(random: &Random) -> SignUpToken {
    SignUpToken(format!("signup_{}", URL_SAFE_NO_PAD.encode(random.bytes::<32>())))
}

/// The digest under which the token of a sign-up is stored.
pub fn signup_digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
