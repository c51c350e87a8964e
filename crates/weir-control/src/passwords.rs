//! Passwords: which are good enough, and how they are kept.
//!
//! Argon2id with the library's parameters (19 MiB, two passes), at most two at a time and never on the runtime's own
//! threads. A login with an unknown e-mail costs the same as one with a wrong password.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

/// Hashes and verifies, two at a time.
#[derive(Debug, Clone)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    dummy: Arc<str>,
}

/// Why a password is not good enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedPassword {
    /// Fewer than 8 characters.
    #[error("must have at least 8 characters")]
    Short,
    /// More than 128 characters.
    #[error("must have at most 128 characters")]
    Long,
    /// One that everybody tries first.
    #[error("is one of the passwords that are tried first")]
    Common,
}

const PERMITS: usize = 2;

impl Passwords {
    /// Ready to hash; `salt` only serves the dummy for unknown accounts.
    ///
    /// # Panics
    /// When Argon2 cannot hash at all.
    pub fn new(salt: [u8; 16]) -> Self {
        let dummy = hash_now("the password of nobody", &salt);
        Self { permits: Arc::new(Semaphore::new(PERMITS)), dummy: dummy.into() }
    }

    /// Whether a password may be set for this e-mail.
    pub fn accept(password: &str, email: &str) -> Result<(), RefusedPassword> {
        let chars = password.chars().count();
        let lower = password.to_lowercase();
        if chars < 8 {
            Err(RefusedPassword::Short)
        } else if chars > 128 {
            Err(RefusedPassword::Long)
        } else if COMMON.contains(&lower.as_str()) || lower == email.to_lowercase() {
            Err(RefusedPassword::Common)
        } else {
            Ok(())
        }
    }

    /// The text to store for a password.
    pub async fn hash(&self, password: String, salt: [u8; 16]) -> String {
        self.with_permit(move || hash_now(&password, &salt)).await
    }

    /// Whether this is the password; `stored` is `None` for an account that does not exist, which takes as long.
    pub async fn verify(&self, password: String, stored: Option<String>) -> bool {
        let known = stored.is_some();
        let hash = stored.unwrap_or_else(|| self.dummy.to_string());
        // Longer ones cannot have been set; hashing them would only cost.
        let plausible = password.chars().count() <= 128;
        let matches = self
            .with_permit(move || {
                let Ok(hash) = PasswordHash::new(&hash) else { return false };
                plausible && Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
            })
            .await;
        known && matches
    }

    async fn with_permit<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let work = move || {
            // Held inside, so that a request that went away still counts until its work is done.
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await.expect("hashing does not panic")
    }
}

fn hash_now(password: &str, salt: &[u8; 16]) -> String {
    let hash: Result<PasswordHash, _> =
        Argon2::default().hash_password_with_salt(password.as_bytes(), salt);
    hash.expect("the parameters and the salt's length are valid").to_string()
}

/// Those of eight and more characters that lead every published list.
const COMMON: [&str; 48] = [
    "password",
    "password1",
    "password12",
    "password123",
    "password1234",
    "passw0rd",
    "p@ssw0rd",
    "12345678",
    "123456789",
    "1234567890",
    "123123123",
    "11111111",
    "00000000",
    "88888888",
    "87654321",
    "987654321",
    "12341234",
    "11223344",
    "123456789a",
    "1234567a",
    "a1234567",
    "a12345678",
    "abcd1234",
    "abc12345",
    "abcdefgh",
    "qwertyui",
    "qwertyuiop",
    "qwerty12",
    "qwerty123",
    "qwerty1234",
    "1q2w3e4r",
    "1q2w3e4r5t",
    "1qaz2wsx",
    "q1w2e3r4",
    "asdfghjkl",
    "zxcvbnm123",
    "iloveyou",
    "iloveyou1",
    "sunshine",
    "princess",
    "football",
    "baseball",
    "superman",
    "trustno1",
    "starwars",
    "welcome1",
    "changeme",
    "letmein1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_counts_characters_and_knows_the_commonest() {
        let accept = |password: &str| Passwords::accept(password, "ada@example.com");
        assert_eq!(accept("short"), Err(RefusedPassword::Short));
        assert_eq!(accept("höhöhöh"), Err(RefusedPassword::Short));
        assert_eq!(accept(&"x".repeat(129)), Err(RefusedPassword::Long));
        assert_eq!(accept("Password123"), Err(RefusedPassword::Common));
        assert_eq!(accept("Ada@Example.com"), Err(RefusedPassword::Common));
        for fine in ["correct horse", " leading blank", &"ü".repeat(128), &"x".repeat(64)] {
            assert_eq!(accept(fine), Ok(()), "{fine}");
        }
    }

    #[tokio::test]
    async fn only_the_password_that_was_set_verifies() {
        let passwords = Passwords::new([7; 16]);
        let stored = passwords.hash("correct horse".into(), [1; 16]).await;
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2"), "{stored}");
        assert!(passwords.verify("correct horse".into(), Some(stored.clone())).await);
        assert!(!passwords.verify("correct  horse".into(), Some(stored)).await);
        assert!(!passwords.verify("the password of nobody".into(), None).await);
    }
}
