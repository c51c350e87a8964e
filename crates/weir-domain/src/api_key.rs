//! API keys: `weir_<12 public characters>_<32 secret characters><6 of checksum>`.
//!
//! With the checksum, a malformed key is refused without a look-up. Only the SHA-256 digest is stored: the secret has 190
//! bits of entropy, so a slow hash would add no security.

use std::fmt;

use sha2::{Digest, Sha256};

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PUBLIC_LEN: usize = 12;
const SECRET_LEN: usize = 32;
const CHECKSUM_LEN: usize = 6;
const KEY_LEN: usize = "weir_".len() + PUBLIC_LEN + 1 + SECRET_LEN + CHECKSUM_LEN;

/// The full text of a key, held only while it is made and shown. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeySecret(String);

/// The SHA-256 of a key's text, which is stored and looked up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest(pub [u8; 32]);

/// A group of operations that a key permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Check requests at the data plane.
    Check,
    /// Let limits count as exhausted for a time.
    Exhaust,
    /// Make tokens with which customers read their own usage.
    View,
    /// Read the tenant's configuration and statistics.
    Read,
    /// Read the tenant's audit log.
    Audit,
    /// Change rules and overrides.
    Write,
    /// Manage keys and members too.
    Admin,
}

impl ApiKeySecret {
    /// Makes a key from randomness: one byte for each public and secret character.
    ///
    /// Bytes are mapped to 62 letters by rejection-free scaling of two bytes each, whose bias is
    /// below one in a thousand.
    pub fn generate(random: &[u8; 2 * (PUBLIC_LEN + SECRET_LEN)]) -> Self {
        let mut letters = random.chunks_exact(2).map(|pair| {
            let value = u16::from_le_bytes([pair[0], pair[1]]);
            char::from(BASE62[usize::from(value) * 62 / 65_536])
        });
        let mut text = String::with_capacity(KEY_LEN);
        text.push_str("weir_");
        text.extend(letters.by_ref().take(PUBLIC_LEN));
        text.push('_');
        text.extend(letters);
        let checksum = checksum(text.as_bytes());
        text.extend(checksum.map(char::from));
        Self(text)
    }

    /// The text to show once.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The public part, by which people recognise a key.
    pub fn hint(&self) -> String {
        self.0["weir_".len()..][..PUBLIC_LEN].to_owned()
    }

    /// The digest, which is stored.
    pub fn digest(&self) -> KeyDigest {
        KeyDigest(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for ApiKeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKeySecret(…)")
    }
}

impl KeyDigest {
    /// The digest of a presented key. `None` if its form or checksum is wrong.
    pub fn of_presented(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let well_formed = bytes.len() == KEY_LEN
            && bytes.starts_with(b"weir_")
            && bytes["weir_".len() + PUBLIC_LEN] == b'_';
        if !well_formed {
            return None;
        }
        let (body, check) = bytes.split_at(KEY_LEN - CHECKSUM_LEN);
        (checksum(body) == check).then(|| Self(Sha256::digest(bytes).into()))
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(…)")
    }
}

impl Scope {
    /// All scopes, weakest first.
    pub const ALL: [Self; 7] =
        [Self::Check, Self::Exhaust, Self::View, Self::Read, Self::Audit, Self::Write, Self::Admin];

    /// The name in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Exhaust => "exhaust",
            Self::View => "view",
            Self::Read => "read",
            Self::Audit => "audit",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The scope with this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM_LEN] {
    let mut rest = crc32fast::hash(body);
    let mut letters = [b'0'; CHECKSUM_LEN];
    for letter in letters.iter_mut().rev() {
        *letter = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seed: u8) -> ApiKeySecret {
        let mut random = [0; 88];
        for (i, byte) in random.iter_mut().enumerate() {
            *byte = u8::try_from(i).expect("88 fit a byte").wrapping_mul(37).wrapping_add(seed);
        }
        ApiKeySecret::generate(&random)
    }

    #[test]
    fn presented_key_has_the_digest_of_the_issued_one() {
        let key = sample(1);
        assert_eq!(KeyDigest::of_presented(key.expose()), Some(key.digest()));
        assert_ne!(sample(2).digest(), key.digest());
        assert_eq!(format!("{key:?}"), "ApiKeySecret(…)");
    }

    #[test]
    fn any_changed_character_is_refused_by_the_checksum() {
        let text = sample(3).expose().to_owned();
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).expect("ascii stays ascii");
            assert_eq!(KeyDigest::of_presented(&changed), None, "{changed}");
        }
        for wrong in ["", "weir_", &text[1..], &format!("{text} "), &text.to_lowercase()] {
            assert_eq!(KeyDigest::of_presented(wrong), None, "{wrong}");
        }
    }
}
