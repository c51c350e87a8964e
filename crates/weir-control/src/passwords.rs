//! Passwords: the rules for new ones, hashing and verification.
//!
//! Passwords are hashed with Argon2id and the library's parameters (19 MiB, two passes), two at a time and never on the
//! runtime's own threads. A sign-in with an unknown e-mail address costs the same as one with a wrong password. At most 64
//! requests wait for a hash, 16 of them from one network; more are refused at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::network;

mod common;

/// Hashes and verifies passwords, two at a time.
#[derive(Debug, Clone)]
pub struct Passwords {
    permits: Arc<Semaphore>,
    queue: Arc<Mutex<Queue>>,
    dummy: Arc<str>,
}

/// The error when too many requests already wait for a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many passwords are being checked")]
pub struct Busy;

/// Requests that wait for a hash or are being served, by network.
#[derive(Debug, Default)]
struct Queue {
    waiting: usize,
    by_network: HashMap<String, usize>,
}

/// The entry of a request in the queue. Dropping it removes the entry.
struct QueueEntry {
    queue: Arc<Mutex<Queue>>,
    network: String,
}

/// The reason why a password is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedPassword {
    /// Fewer than 8 characters.
    #[error("must have at least 8 characters")]
    Short,
    /// More than 128 characters.
    #[error("must have at most 128 characters")]
    Long,
    /// A password that attackers try first.
    #[error("is too common")]
    Common,
}

const PERMITS: usize = 2;
const WAITING_MAX: usize = 64;
const WAITING_OF_NETWORK_MAX: usize = 16;

impl Passwords {
    /// Prepares for hashing. `salt` is used only for the dummy hash of unknown accounts.
    ///
    /// # Panics
    /// If Argon2 cannot hash at all.
    pub fn new(salt: [u8; 16]) -> Self {
        let dummy = hash_now("the password of nobody", &salt);
        Self {
            permits: Arc::new(Semaphore::new(PERMITS)),
            queue: Arc::default(),
            dummy: dummy.into(),
        }
    }

    /// The stored text of an account without a password. No password matches it.
    pub(crate) const NONE: &str = "";

    /// Whether a password can be set for this e-mail address.
    pub fn accept(password: &str, email: &str) -> Result<(), RefusedPassword> {
        let chars = password.chars().count();
        let lower = password.to_lowercase();
        if chars < 8 {
            Err(RefusedPassword::Short)
        } else if chars > 128 {
            Err(RefusedPassword::Long)
        } else if common::is_common(password) || lower == email.to_lowercase() {
            Err(RefusedPassword::Common)
        } else {
            Ok(())
        }
    }

    /// Returns the text to store for a password. `peer` is the address of the client, if it is known.
    pub async fn hash(
        &self,
        password: String,
        salt: [u8; 16],
        peer: Option<IpAddr>,
    ) -> Result<String, Busy> {
        self.queued(peer, move || hash_now(&password, &salt)).await
    }

    /// Whether the password matches `stored`. `None` stands for an account that does not exist. It takes equally long, and so does
    /// an account without a password.
    pub async fn verify(
        &self,
        password: String,
        stored: Option<String>,
        peer: Option<IpAddr>,
    ) -> Result<bool, Busy> {
        let stored = stored.filter(|stored| stored != Self::NONE);
        let known = stored.is_some();
        let hash = stored.unwrap_or_else(|| self.dummy.to_string());
        // Longer passwords cannot have been set, and hashing them would only take time.
        let plausible = password.chars().count() <= 128;
        let matches = self
            .queued(peer, move || {
                let Ok(hash) = PasswordHash::new(&hash) else { return false };
                plausible && Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
            })
            .await?;
        Ok(known && matches)
    }

    async fn queued<T: Send + 'static>(
        &self,
        peer: Option<IpAddr>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Busy> {
        let entry = QueueEntry::take(&self.queue, peer.map(network::of).unwrap_or_default())?;
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let work = move || {
            // The closure holds both, so a request whose client disconnected counts until its hash is done.
            let _held = (permit, entry);
            work()
        };
        Ok(tokio::task::spawn_blocking(work).await.expect("hashing does not panic"))
    }
}

impl QueueEntry {
    fn take(queue: &Arc<Mutex<Queue>>, network: String) -> Result<Self, Busy> {
        let mut held = lock(queue);
        let of_network = held.by_network.get(&network).copied().unwrap_or_default();
        if held.waiting >= WAITING_MAX || of_network >= WAITING_OF_NETWORK_MAX {
            return Err(Busy);
        }
        held.waiting += 1;
        held.by_network.insert(network.clone(), of_network + 1);
        Ok(Self { queue: Arc::clone(queue), network })
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        let mut held = lock(&self.queue);
        held.waiting -= 1;
        if let Some(count) = held.by_network.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                held.by_network.remove(&self.network);
            }
        }
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hash_now(password: &str, salt: &[u8; 16]) -> String {
    let hash: Result<PasswordHash, _> =
        Argon2::default().hash_password_with_salt(password.as_bytes(), salt);
    hash.expect("the parameters and the salt's length are valid").to_string()
}

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
        let stored = passwords.hash("correct horse".into(), [1; 16], None).await.expect("a place");
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2"), "{stored}");
        let verify = async |password: &str, stored: Option<&String>| {
            passwords.verify(password.into(), stored.cloned(), None).await.expect("a place")
        };
        assert!(verify("correct horse", Some(&stored)).await);
        assert!(!verify("correct  horse", Some(&stored)).await);
        assert!(!verify("the password of nobody", None).await);
    }

    #[tokio::test]
    async fn waiting_requests_are_bounded_in_all_and_by_network() {
        let passwords = Passwords::new([7; 16]);
        let peer = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        let mut entries = Vec::new();
        for _ in 0..WAITING_OF_NETWORK_MAX {
            entries
                .push(QueueEntry::take(&passwords.queue, "10.0.0.1".to_owned()).expect("a place"));
        }
        assert_eq!(passwords.verify("x".into(), None, peer(1)).await, Err(Busy));
        assert_eq!(passwords.verify("x".into(), None, peer(2)).await, Ok(false), "another network");
        while entries.len() < WAITING_MAX {
            let network = entries.len().to_string();
            entries.push(QueueEntry::take(&passwords.queue, network).expect("a place"));
        }
        assert_eq!(passwords.verify("x".into(), None, peer(3)).await, Err(Busy));
        drop(entries);
        assert_eq!(passwords.verify("x".into(), None, peer(1)).await, Ok(false));
        assert!(lock(&passwords.queue).by_network.is_empty());
    }
}
