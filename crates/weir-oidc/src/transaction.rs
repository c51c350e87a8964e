//! The secrets of one sign-in, which the browser holds in a cookie while it is at the provider.

use std::fmt;

/// The secrets of one sign-in. Each has 43 to 128 letters, digits, `-` and `_`. `Debug` hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The text that the provider returns with the code; it proves that this browser began the sign-in.
    pub state: String,
    /// The text that the ID token contains; it proves that the token was issued for this sign-in.
    pub nonce: String,
    /// The PKCE verifier; it proves to the provider that the code is presented by the client that asked for it.
    pub verifier: String,
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transaction(…)")
    }
}
