//! The session: the access token is only in this tab's memory, the refresh token in a cookie that scripts cannot
//! read.

use leptos::prelude::*;
use weir_wire::sessions::User;

use crate::browser;

/// The session state; cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    state: RwSignal<SessionState>,
    /// Secrets of keys created since the page was opened, for the tester; never stored.
    secrets: RwSignal<Vec<IssuedSecret>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// The refresh cookie has not been tried yet.
    Unknown,
    SignedOut(SignOutReason),
    SignedIn(SignedIn),
}

/// Why there is no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignOutReason {
    /// This browser has no session.
    NoSession,
    /// The session expired.
    Expired,
    /// The person signed out.
    SignedOut,
}

/// The signed-in person, with their access token and its expiry.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedIn {
    pub user: User,
    pub token: String,
    pub expires_at_ms: i64,
}

/// A key whose secret is known because it was created in this tab.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuedSecret {
    pub tenant_id: String,
    pub key_id: String,
    pub secret: String,
}

impl Session {
    /// Unknown until the refresh cookie has been tried. A browser that never signed in has no cookie, so it is not
    /// tried. One that returns from the provider has a new one.
    pub fn new() -> Self {
        let returns = browser::query().split('&').any(|pair| pair == "session=new");
        let state = if returns || browser::stored(SIGNED_IN_KEY).is_some() {
            SessionState::Unknown
        } else {
            SessionState::SignedOut(SignOutReason::NoSession)
        };
        Self { state: RwSignal::new(state), secrets: RwSignal::new(Vec::new()) }
    }

    pub fn state(self) -> SessionState {
        self.state.get()
    }

    /// Whether the refresh cookie must still be tried; not tracked.
    pub fn is_unknown(self) -> bool {
        self.state.with_untracked(|state| *state == SessionState::Unknown)
    }

    /// The signed-in person, if there is one; not tracked.
    pub fn signed_in(self) -> Option<SignedIn> {
        match self.state.get_untracked() {
            SessionState::SignedIn(signed_in) => Some(signed_in),
            SessionState::Unknown | SessionState::SignedOut(_) => None,
        }
    }

    /// Starts a session, or stores a renewed token.
    pub fn begin(self, user: User, token: String, expires_in_s: u64) {
        browser::store(SIGNED_IN_KEY, "1");
        let lasts_ms = i64::try_from(expires_in_s.saturating_mul(1000)).unwrap_or(i64::MAX);
        self.state.set(SessionState::SignedIn(SignedIn {
            user,
            token,
            expires_at_ms: browser::now_ms().saturating_add(lasts_ms),
        }));
    }

    /// Ends the session.
    pub fn end(self, why: SignOutReason) {
        browser::remove_stored(SIGNED_IN_KEY);
        self.secrets.set(Vec::new());
        self.state.set(SessionState::SignedOut(why));
    }

    /// Stores the secret of a new key.
    pub fn add_secret(self, secret: IssuedSecret) {
        self.secrets.update(|secrets| secrets.push(secret));
    }

    /// Removes the secret of a revoked key.
    pub fn remove_secret(self, key_id: &str) {
        self.secrets.update(|secrets| secrets.retain(|known| known.key_id != key_id));
    }

    /// The newest known secret of a tenant's keys; not tracked.
    pub fn secret(self, tenant_id: &str) -> Option<String> {
        let newest = |secrets: &Vec<IssuedSecret>| {
            let mut known = secrets.iter().rev();
            known.find(|known| known.tenant_id == tenant_id).map(|known| known.secret.clone())
        };
        self.secrets.with_untracked(newest)
    }
}

impl std::fmt::Debug for SignedIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedIn").field("user", &self.user.id).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for IssuedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KnownSecret").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// The local storage key that records that a refresh cookie can exist, so that a first visit sends no request.
const SIGNED_IN_KEY: &str = "weir.signed-in";
