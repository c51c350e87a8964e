//! Slows down who guesses passwords: ten wrong tries a minute for each account and for each address.
//!
//! In this process's memory, so it holds whatever else is down. A wrong try counts from its start, so that a burst
//! cannot get ahead of its own failures; a right one is taken back. An address that has signed in to an account is not
//! held up by what others try on that account, so nobody can lock a person out of their own.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

use weir_domain::time::Timestamp;

/// The tries of the last minute.
#[derive(Debug, Default)]
pub struct LoginFloor(Mutex<Tries>);

/// Who tries what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    account: String,
    peer: Option<IpAddr>,
}

#[derive(Debug, Default)]
struct Tries {
    accounts: HashMap<String, Window>,
    peers: HashMap<IpAddr, Window>,
    /// When each address last signed in to each account.
    familiar: HashMap<(String, IpAddr), Timestamp>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    begun: Timestamp,
    count: u32,
}

const TRIES_MAX: u32 = 10;
const WINDOW_MS: i64 = 60_000;
/// Bound of each map: beyond it, what is over is forgotten first, then everything.
const ENTRIES_MAX: usize = 20_000;

impl Attempt {
    pub(crate) fn new(account: &str, peer: Option<IpAddr>) -> Self {
        Self { account: account.to_lowercase(), peer: peer.map(network) }
    }
}

impl LoginFloor {
    /// Counts a try, or says after how many seconds there may be one.
    pub(crate) fn admit(&self, attempt: &Attempt, now: Timestamp) -> Result<(), u32> {
        let mut tries = self.lock();
        let tries = &mut *tries;
        let familiar = attempt
            .peer
            .is_some_and(|peer| tries.familiar.contains_key(&(attempt.account.clone(), peer)));
        make_room(&mut tries.accounts, now);
        make_room(&mut tries.peers, now);
        let account = tries.accounts.get(&attempt.account).and_then(|window| window.wait_s(now));
        let peer = attempt.peer.and_then(|peer| tries.peers.get(&peer)?.wait_s(now));
        if let Some(wait_s) = peer.or(account.filter(|_| !familiar)) {
            return Err(wait_s);
        }
        Window::count(&mut tries.accounts, attempt.account.clone(), now);
        if let Some(peer) = attempt.peer {
            Window::count(&mut tries.peers, peer, now);
        }
        Ok(())
    }

    /// The try was right: it does not count, and the address is familiar from now on.
    pub(crate) fn succeeded(&self, attempt: &Attempt, now: Timestamp) {
        let mut tries = self.lock();
        if let Some(window) = tries.accounts.get_mut(&attempt.account) {
            window.count = window.count.saturating_sub(1);
        }
        let Some(peer) = attempt.peer else { return };
        if let Some(window) = tries.peers.get_mut(&peer) {
            window.count = window.count.saturating_sub(1);
        }
        if tries.familiar.len() >= ENTRIES_MAX {
            tries.familiar.clear();
        }
        tries.familiar.insert((attempt.account.clone(), peer), now);
    }

    fn lock(&self) -> MutexGuard<'_, Tries> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Window {
    fn is_over(&self, now: Timestamp) -> bool {
        now.as_millis() - self.begun.as_millis() >= WINDOW_MS
    }

    fn wait_s(&self, now: Timestamp) -> Option<u32> {
        if self.is_over(now) || self.count < TRIES_MAX {
            return None;
        }
        let left_ms = self.begun.as_millis() + WINDOW_MS - now.as_millis();
        Some(u32::try_from((left_ms + 999) / 1000).unwrap_or(1).max(1))
    }

    fn count<K: Eq + Hash>(windows: &mut HashMap<K, Self>, key: K, now: Timestamp) {
        let window = windows.entry(key).or_insert(Self { begun: now, count: 0 });
        if window.is_over(now) {
            *window = Self { begun: now, count: 0 };
        }
        window.count += 1;
    }
}

fn make_room<K: Eq + Hash>(windows: &mut HashMap<K, Window>, now: Timestamp) {
    if windows.len() >= ENTRIES_MAX {
        windows.retain(|_, window| !window.is_over(now));
        if windows.len() >= ENTRIES_MAX {
            windows.clear();
        }
    }
}

/// One customer's share of the address space: an IPv4 address, or a /64 of IPv6.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        },
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn attempt(account: &str, peer: u8) -> Attempt {
        Attempt::new(account, Some(IpAddr::from([10, 0, 0, peer])))
    }

    #[test]
    fn eleventh_wrong_try_on_an_account_waits_out_the_minute() {
        let floor = LoginFloor::default();
        for peer in 0..10 {
            assert_eq!(floor.admit(&attempt("Ada@example.com", peer), NOW), Ok(()));
        }
        let next = attempt("ada@example.com", 99);
        assert_eq!(floor.admit(&next, NOW.plus_ms(15_000)), Err(45));
        assert_eq!(floor.admit(&next, NOW.plus_ms(60_000)), Ok(()));
    }

    #[test]
    fn eleventh_wrong_try_from_an_address_waits_whatever_the_account() {
        let floor = LoginFloor::default();
        for account in 0..10 {
            assert_eq!(floor.admit(&attempt(&format!("{account}@x"), 1), NOW), Ok(()));
        }
        assert_eq!(floor.admit(&attempt("other@x", 1), NOW), Err(60));
        assert_eq!(floor.admit(&attempt("other@x", 2), NOW), Ok(()));
    }

    #[test]
    fn right_tries_do_not_count_and_familiar_addresses_are_not_locked_out_by_others() {
        let floor = LoginFloor::default();
        for _ in 0..50 {
            assert_eq!(floor.admit(&attempt("ada@x", 1), NOW), Ok(()));
            floor.succeeded(&attempt("ada@x", 1), NOW);
        }
        for peer in 2..12 {
            assert_eq!(floor.admit(&attempt("ada@x", peer), NOW), Ok(()));
        }
        assert!(floor.admit(&attempt("ada@x", 50), NOW).is_err());
        assert_eq!(floor.admit(&attempt("ada@x", 1), NOW), Ok(()));
    }
}
